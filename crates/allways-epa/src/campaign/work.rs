//! Many runs at once: one for each core, until all faults were tried or somebody says stop.
//!
//! Each fault is a run of its own, and no run knows of another; so they are handed out one by one to whoever is free. What was found is
//! written at once, by one at a time.

use super::journal::{Finding, Writer};
use super::limits::Limits;
use super::outcome::Outcome;
use super::process::{Target, run};
use super::{Difference, Judgement, Seen};
use allways_epa_format::{Fault, NO_ROOM};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Says what the trace in a directory says, compared with that of the golden run.
pub type Judge<'a> = &'a (dyn Fn(&Path) -> Judgement + Sync);

/// What all runs of a campaign have in common.
pub struct Work<'a> {
    /// What is run.
    pub target: &'a Target,
    /// What the golden run looked like.
    pub golden: Seen,
    /// What a run may take.
    pub limits: Limits,
    /// How many at once; 0 is as many as there are cores.
    pub threads: usize,
    /// Set to true to stop: runs that are under way are not waited for, and count for nothing.
    pub stop: &'a AtomicBool,
    /// Compares traces.
    pub judge: Judge<'a>,
}

/// How many runs there are at once, of how many were asked for: 0 is as many as there are cores.
pub fn at_once(threads: usize) -> usize {
    match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}

impl Work<'_> {
    /// Tries one fault, which is number `number` of its kind. `None` if it was stopped.
    pub fn try_one(&self, number: u64, fault: &Fault) -> Result<Option<Finding>, String> {
        let Some(run) = run(self.target, Some(fault), &self.limits, self.stop)? else {
            return Ok(None);
        };
        // What is missing for want of room would be taken for the work of the fault.
        let missing = crate::trace::incomplete(&run.trace()).map_err(|error| error.to_string())?;
        if let Some(reason) = missing.iter().find(|reason| reason.ends_with(NO_ROOM)) {
            return Err(format!("the trace of a run with a fault is incomplete: {reason}"));
        }
        let Judgement { injected, difference } = (self.judge)(&run.trace());
        let outcome = Outcome::new(&self.golden, &run.seen, difference.is_some());
        let deviated = difference.is_some();
        // What differs although nothing was made wrong did not come from there.
        let propagated =
            injected && difference.as_ref().is_some_and(|found| found.is_propagated(fault));
        let Difference { mut entered, threads, objects, .. } = difference.unwrap_or_default();
        if let Some(entered) = entered.as_mut().filter(|entered| entered.thread == fault.thread) {
            entered.site.get_or_insert(fault.site);
        }
        let (fault, ended) = (fault.clone(), run.seen.ended);
        Ok(Some(Finding {
            number,
            fault,
            outcome,
            deviated,
            propagated,
            injected,
            ended,
            entered,
            threads,
            objects,
        }))
    }

    /// Tries all these faults. What is found is written, and `done` is told.
    pub(super) fn try_all(
        &self,
        faults: &[(u64, Fault)],
        writer: Writer,
        done: &(dyn Fn(&Finding) + Sync),
    ) -> Result<(), String> {
        let threads = at_once(self.threads);
        let next = AtomicUsize::new(0);
        let writer = Mutex::new(writer);
        let failed: Mutex<Option<String>> = Mutex::new(None);
        let has_failed = AtomicBool::new(false);
        let work = || {
            while !self.stop.load(Relaxed) && !has_failed.load(Relaxed) {
                let Some((number, fault)) = faults.get(next.fetch_add(1, Relaxed)) else { return };
                let found = self.try_one(*number, fault).and_then(|finding| {
                    let Some(finding) = finding else { return Ok(()) };
                    writer.lock().unwrap_or_else(PoisonError::into_inner).write(&finding)?;
                    done(&finding);
                    Ok(())
                });
                if let Err(complaint) = found {
                    has_failed.store(true, Relaxed);
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    failed.get_or_insert(complaint);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..threads.min(faults.len()) {
                scope.spawn(work);
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(complaint) => Err(complaint),
            None => Ok(()),
        }
    }
}
