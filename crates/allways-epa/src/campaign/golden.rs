//! The run without a fault, and comparisons with it.
//!
//! Everything that a campaign asks of traces is asked here. The golden trace is sanitised once, and compared with by all threads.

use super::journal::Entered;
use super::limits::Limits;
use super::outcome::Ended;
use super::plan::Candidates;
use super::process::{Run, Target, run};
use super::{Difference, Judgement};
use crate::compare::{DeviationKind, NodeKind, compare};
use crate::sanitise::Sanitised;
use crate::trace::{Trace, TraceError, is_running};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Runs a program once without a fault. `None` if it was stopped.
pub fn record(target: &Target, stop: &AtomicBool) -> Result<Option<(Run, Trace)>, String> {
    record_within(target, &Limits::GOLDEN, stop)
}

/// The same within limits.
pub fn record_within(
    target: &Target,
    limits: &Limits,
    stop: &AtomicBool,
) -> Result<Option<(Run, Trace)>, String> {
    let Some(run) = run(target, None, limits, stop)? else { return Ok(None) };
    let name = target.executable.display();
    match run.seen.ended {
        Ended::Exited(_) => {}
        Ended::Killed(signal) => {
            let said = run.complaint();
            let said = if said.is_empty() { said } else { format!(": {said}") };
            return Err(format!(
                "{name} was ended by signal {signal} although nothing was made wrong{said}"
            ));
        }
        Ended::TookTooMuch => {
            return Err(format!("{name} takes too much memory although nothing was made wrong"));
        }
        Ended::TimedOut | Ended::WroteTooMuch => {
            let time = limits.time.as_secs_f64();
            return Err(format!(
                "{name} does not end within {time} s (--timeout), or writes without end, although nothing was made wrong"
            ));
        }
    }
    let trace = Trace::gather(&run.trace()).map_err(|error| match error {
        TraceError::NoTrace(_) => format!(
            "{name} left no trace: it is not instrumented; give its source, or instrument it with allways-instrument"
        ),
        error => error.to_string(),
    })?;
    // The process exited, but the program did not see it.
    if is_running(&run.trace()).map_err(|error| error.to_string())? {
        return Err(format!(
            "of {name} nothing can be said: it executed another program in its place, or ended by a system call of its own, \
             so the trace is not one of all that it did; instrument that other program, or let it end by itself"
        ));
    }
    trace.require_complete().map_err(|error| format!("of {name} nothing can be said: {error}"))?;
    Ok(Some((run, trace)))
}

/// The golden trace, ready to be compared with.
#[derive(Debug)]
pub struct Golden {
    /// As it was recorded.
    pub trace: Trace,
    sanitised: Sanitised,
}

impl Golden {
    /// Of this trace.
    pub fn new(trace: Trace) -> Result<Self, TraceError> {
        let sanitised = Sanitised::new(&trace)?;
        Ok(Golden { trace, sanitised })
    }

    /// Where faults can happen in it.
    pub fn candidates(&self) -> Result<Candidates, String> {
        let streams = self.trace.streams.iter().map(|stream| stream.bytes.as_slice());
        Candidates::new(&self.trace.program, streams).map_err(|error| error.to_string())
    }

    /// What another trace says.
    pub fn judgement(&self, trace: &Trace) -> Result<Judgement, TraceError> {
        let sanitised = Sanitised::new(trace)?;
        let (injected, difference) = (sanitised.injected.is_some(), self.difference(&sanitised));
        Ok(Judgement { injected, difference })
    }

    fn difference(&self, sanitised: &Sanitised) -> Option<Difference> {
        let comparison = compare(&self.sanitised, sanitised);
        if comparison.is_same {
            return None;
        }
        let entered =
            comparison.first.map(|first| Entered { thread: first.thread, site: first.site });
        // How many records threads have says nothing: an exit cuts off those that still run, each at any place.
        let control = comparison.threads.iter().any(|thread| {
            let kind = thread.first.as_ref().map(|first| first.kind);
            thread.control.is_some() || kind.is_some_and(|kind| kind != DeviationKind::Value)
        });
        let sites = comparison.spread.nodes.iter().filter_map(|node| match node.kind {
            NodeKind::Instruction(site) => Some((site, node.count)),
            _ => None,
        });
        let sites = sites.collect();
        let reached = comparison.threads.into_iter().filter(|thread| thread.first.is_some());
        let objects = comparison
            .spread
            .nodes
            .into_iter()
            .filter(|node| matches!(node.kind, NodeKind::Object(_)));
        Some(Difference {
            entered,
            threads: reached.map(|thread| thread.name).collect(),
            objects: objects.map(|node| node.label).collect(),
            sites,
            control,
        })
    }

    /// What the trace in a directory says. One that cannot be read differs: a run without a fault leaves one that can.
    pub fn judge(&self, directory: &Path) -> Judgement {
        let judged = Trace::gather(directory).and_then(|trace| self.judgement(&trace));
        let unread = || Judgement { injected: true, difference: Some(Difference::default()) };
        judged.unwrap_or_else(|_| unread())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::program;
    use super::*;
    use crate::trace::Stream;
    use allways_epa_format::{Event, Fault, Record};

    /// The first thread computes this and that, and then exits while the other has come so far.
    fn trace(values: [u64; 2], is_faulty: bool, other: u64) -> Trace {
        let put = |bytes: &mut Vec<u8>, value| {
            Record::Instruction { site: 1, values: &[value, 1, 2] }.put(bytes);
        };
        let (mut first, mut second) = (Vec::new(), Vec::new());
        Event::Begin { thread: 0, parent: None, child: 0, stamp: 1 }.put(&mut first);
        Event::Create { stamp: 2, thread: 1 }.put(&mut first);
        if is_faulty {
            Event::Injected.put(&mut first);
        }
        values.into_iter().for_each(|value| put(&mut first, value));
        Event::Exit { status: 0 }.put(&mut first);
        Event::Begin { thread: 1, parent: Some(0), child: 0, stamp: 3 }.put(&mut second);
        (0..other).for_each(|value| put(&mut second, value));
        let streams = [first, second].into_iter().zip(0..);
        let streams = streams.map(|(bytes, thread)| Stream { thread, bytes }).collect();
        Trace { program: program(), addresses: vec![0x1000], streams, incomplete: Vec::new() }
    }

    /// A thread that is cut off by the exit of the process in each run at another place is not reached by an error in another one.
    #[test]
    fn an_exit_does_not_propagate_an_error() {
        let golden = Golden::new(trace([3, 3], false, 5)).unwrap();
        let fault: Fault = "bitflip thread=T_0 site=1 occurrence=0 detail=0".parse().unwrap();
        for other in [0, 2, 5, 9] {
            let judgement = golden.judgement(&trace([2, 3], true, other)).unwrap();
            let difference = judgement.difference.unwrap();
            assert!(judgement.injected);
            assert_eq!(difference.threads, ["T_0"], "{other}");
            assert!(!difference.control && !difference.is_propagated(&fault), "{other}");
            let further = golden.judgement(&trace([2, 2], true, other)).unwrap();
            assert!(further.difference.unwrap().is_propagated(&fault), "{other}");
        }
        assert_eq!(golden.judgement(&trace([3, 3], false, 1)).unwrap(), Judgement::default());
    }
}
