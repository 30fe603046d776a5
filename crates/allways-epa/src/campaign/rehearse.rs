//! Runs without a fault, as many at once as there will be with one.
//!
//! What a run takes depends on what else the machine does, and most of that are the other runs. So before the first fault as many runs as will
//! be under way at once are made without any, within the same limits of memory and room; each is compared with the golden one, as those with faults will be.
//! What they take at most is what limits are made of. That they look the same from outside is needed as well: silent data corruption is judged by what is
//! printed, so of a program that does not always print the same it cannot be told.

use super::golden::Golden;
use super::limits::{Limits, Used};
use super::process::{Target, run};
use super::{Difference, Seen};
use crate::trace::Trace;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

/// What runs without a fault took, and how they differed from the golden one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rehearsal {
    /// What each took at most.
    pub used: Used,
    /// One that looked otherwise from outside.
    pub seen: Option<Seen>,
    /// How the trace of one differed.
    pub difference: Option<Difference>,
}

/// Runs a program so many times at once without a fault. `None` if it was stopped. `seen` is what the golden run looked like.
pub fn rehearse(
    target: &Target,
    golden: &Golden,
    seen: Seen,
    limits: &Limits,
    threads: usize,
    stop: &AtomicBool,
) -> Result<Option<Rehearsal>, String> {
    let rehearsal = Mutex::new(Rehearsal::default());
    let one = || -> Result<bool, String> {
        let Some(run) = run(target, None, limits, stop)? else { return Ok(false) };
        let judgement = Trace::gather(&run.trace()).and_then(|trace| golden.judgement(&trace));
        let mut told = rehearsal.lock().unwrap_or_else(PoisonError::into_inner);
        told.used = told.used.max(run.used);
        if run.seen != seen {
            told.seen.get_or_insert(run.seen);
        }
        match judgement {
            Ok(judgement) => {
                if let Some(difference) = judgement.difference {
                    told.difference.get_or_insert(difference);
                }
                Ok(true)
            }
            // Whoever ended in another way need not have a trace that can be read.
            Err(_) if told.seen.is_some() => Ok(true),
            Err(error) => Err(error.to_string()),
        }
    };
    let done: Vec<Result<bool, String>> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(one)).collect();
        let join = |one: std::thread::ScopedJoinHandle<'_, Result<bool, String>>| {
            one.join().unwrap_or_else(|_| Err("a run without a fault could not be judged".into()))
        };
        all.into_iter().map(join).collect()
    });
    let is_done = done.into_iter().collect::<Result<Vec<bool>, String>>()?;
    let told = rehearsal.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(is_done.into_iter().all(|done| done).then_some(told))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::Ended;
    use super::super::tests::{program, streams};
    use super::*;
    use allways_epa_format::{ADDRESSES_FILE, PROGRAM_FILE, stream_name};
    use std::fs;

    /// As many runs as are asked for, each as the golden one; what they took at most is known, and so is what differs.
    #[test]
    fn as_many_runs_as_will_be_at_once_are_compared() {
        let here = std::env::temp_dir().join(format!("allways-rehearse-{}", std::process::id()));
        let trace = here.join("trace");
        fs::create_dir_all(&trace).unwrap();
        fs::write(trace.join(PROGRAM_FILE), program().to_bytes()).unwrap();
        fs::write(trace.join(ADDRESSES_FILE), 0x5000_u64.to_le_bytes()).unwrap();
        for (thread, stream) in (0..).zip(streams()) {
            fs::write(trace.join(stream_name(thread)), stream).unwrap();
        }
        let golden = Golden::new(Trace::gather(&trace).unwrap()).unwrap();
        let rehearsed = |script: &str| {
            let script =
                format!("cp \"$0\"/trace/* \"$ALLWAYS_TRACE\"; echo x >> \"$0\"/runs; {script}");
            let arguments = vec!["-c".into(), script.into(), here.clone().into_os_string()];
            let target = Target { executable: "/bin/sh".into(), arguments };
            let stop = AtomicBool::new(false);
            let limits = Limits::GOLDEN;
            let alone = run(&target, None, &limits, &stop).unwrap().unwrap();
            fs::write(here.join("runs"), "").unwrap();
            rehearse(&target, &golden, alone.seen, &limits, 3, &stop).unwrap().unwrap()
        };
        let same = rehearsed("sleep 0.1; echo 3");
        assert_eq!((same.seen, &same.difference), (None, &None));
        assert!(same.used.time >= std::time::Duration::from_millis(50), "{same:?}");
        assert!(same.used.bytes > 0 && same.used.memory > 0, "{same:?}");
        assert_eq!(fs::read_to_string(here.join("runs")).unwrap().lines().count(), 3);
        // Each prints its own number, or ends with another status, or has another trace.
        assert!(rehearsed("echo $$").seen.is_some());
        let ended = rehearsed("[ -e \"$0\"/again ] && exit 4; touch \"$0\"/again").seen.unwrap();
        assert_eq!(ended.ended, Ended::Exited(4));
        let other = rehearsed("rm \"$ALLWAYS_TRACE\"/thread-2");
        assert_eq!(other.difference.unwrap().threads, ["T_0_1"]);
        fs::remove_dir_all(&here).unwrap();
    }
}
