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
