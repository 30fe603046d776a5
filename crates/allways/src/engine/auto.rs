//! Engine `auto`: a portfolio. `global` begins; it answers small systems at once, and its runs are shortest. If
//! it has met many states and is not done, `lmc` starts beside it, and with three threads or more `dpor`, too. The
//! first conclusive answer counts, and the outcome says what the others had reached.
//!
//! Where the others cannot apply (or a special search was asked for), `global` stays alone. Each engine has a
//! local space of its own: `lmc` enters local states that no run reaches, which must not count as covered.

use super::budget::Budget;
use super::options::{Options, Reduction, Search};
use super::progress::Progress;
use super::{Findings, dpor, global, lmc, panicked};
use crate::error::Error;
use crate::model::node::Node;
use crate::model::step::guarded;
use crate::model::system::System;
use crate::outcome::{Bound, grouped};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// So many states `global` meets alone.
pub(crate) const ALONE: u64 = 1_000_000;
/// How often it is looked whether it has.
const EVERY: Duration = Duration::from_millis(20);

/// What an engine is called and what it has found.
pub(crate) type Named = (String, Findings);

/// Runs the portfolio; returns what the others had reached, too.
pub(crate) fn search<N: Node>(
    system: &System<N>,
    options: &Options,
    budget: &Budget,
    alone: u64,
) -> Result<(Named, Vec<String>), Error> {
    let is_plain = options.search == Search::Bfs
        && options.por.is_none()
        && !(options.symmetry || options.exact || options.verify_aux);
    if !is_plain || lmc::does_not_apply(system).is_some() {
        return Ok((
            (global::name(options).to_owned(), global::search(system, options, budget)?),
            Vec::new(),
        ));
    }
    // Set when somebody else has won, or nobody can any more.
    let (stop_global, stop_others) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let winner: Mutex<Option<Named>> = Mutex::default();
    let reached: Mutex<Vec<String>> = Mutex::default();
    let (done, is_done) = channel::<()>();
    let race = |run: &dyn Fn(&Budget) -> Result<Named, Error>, what: fn(&Progress) -> String| {
        let progress = Arc::<Progress>::default();
        let budget = budget.beside(Arc::clone(&stop_others), Arc::clone(&progress));
        // What fails beside `global` fails there, too, if it is real.
        let found = guarded(|| run(&budget)).ok().and_then(Result::ok);
        match found
            .filter(|(name, findings)| is_conclusive(findings) && !name.starts_with("global"))
        {
            Some(found) => {
                winner.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(found);
                stop_global.store(true, Relaxed);
                stop_others.store(true, Relaxed);
            }
            None => reached.lock().unwrap_or_else(PoisonError::into_inner).push(what(&progress)),
        }
    };
    let one = Options { threads: 1, ..options.clone() };
    let with_dpor = options.thread_count() >= 3 && options.max_states.is_none();
    let dpor = Options { reduction: Reduction::Cached, ..one.clone() };
    let dpor = || {
        let name = dpor.reduction.engine_name();
        race(&|budget| Ok((name.to_owned(), dpor::search(system, &dpor, budget)?)), |progress| {
            format!("{} runs of dpor were done", grouped(progress.runs()))
        });
    };
    let lmc = || {
        race(&|budget| lmc::itself(system, &one, budget), |progress| {
            let (states, rounds) = (progress.states(), progress.depth());
            format!("lmc had found {} local states in {rounds} rounds", grouped(states))
        });
    };
    let (dpor, lmc) = (&dpor, &lmc);
    let global = std::thread::scope(|scope| {
        scope.spawn(move || {
            while budget.progress.states() < alone {
                if is_done.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
            if with_dpor {
                scope.spawn(dpor);
            }
            lmc();
        });
        // Dropped whatever happens: the others must not wait for what never comes.
        let _done = done;
        let budget = budget.beside(Arc::clone(&stop_global), Arc::clone(&budget.progress));
        let found = guarded(|| global::search(system, options, &budget))
            .unwrap_or_else(|message| Err(panicked(message)));
        // Without memory to go on, the others may still come to an end.
        let waits = matches!(&found, Ok(findings) if findings.bound == Some(Bound::Memory));
        if !waits {
            stop_others.store(true, Relaxed);
        }
        found
    });
    let name = global::name(options).to_owned();
    let mut reached = reached.into_inner().unwrap_or_else(PoisonError::into_inner);
    let winner = winner.into_inner().unwrap_or_else(PoisonError::into_inner);
    match (winner, global) {
        (Some(winner), Ok(findings)) if !is_conclusive(&findings) => {
            let states = findings.statistics.unique_states.unwrap_or_default();
            let depth = findings.statistics.depth.unwrap_or_default();
            let what = format!("{name} had met {} states, to depth {depth}", grouped(states));
            reached.insert(0, what);
            Ok((winner, reached))
        }
        (_, global) => Ok(((name, global?), reached)),
    }
}

fn is_conclusive(findings: &Findings) -> bool {
    findings.violation.is_some() || findings.bound.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// A node that counts by itself.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Counter(u64);

    impl Node for Counter {
        type Msg = Never;
        type Timer = ();
        type Call = Never;
        type Output = Never;

        fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
            cx.set_timer(());
        }

        fn on_message(&mut self, _: Id, _: Never, _: &mut Cx<'_, Self>) {}

        fn on_timer(&mut self, (): (), cx: &mut Cx<'_, Self>) {
            self.0 += 1;
            cx.set_timer(());
        }
    }

    /// Each counts up to a bound: many global states, few local ones.
    fn counters(nodes: usize, to: u32) -> System<Counter> {
        System::new(vec![Counter(0); nodes]).timers(to).always(
            "no further",
            view(move |c: &Counter| c.0 <= u64::from(to)),
            |all| all.iter().all(|&is_fine| is_fine),
        )
    }

    #[test]
    fn a_small_system_is_answered_by_global_alone() {
        let options = Options::default();
        let system = counters(2, 3);
        let ((name, findings), beside) =
            search(&system, &options, &Budget::new(&options), ALONE).unwrap();
        assert_eq!((&*name, beside.len()), ("global bfs", 0));
        assert_eq!(findings.statistics.unique_states, Some(16));
    }

    #[test]
    fn whoever_comes_first_answers() {
        // 13 nodes with 8 states each: far too many for anything but local states.
        for threads in [1, 3] {
            let options = Options { threads, ..Options::default() };
            let system = counters(13, 7);
            let ((name, findings), beside) =
                search(&system, &options, &Budget::new(&options), 1_000).unwrap();
            // These nodes do not touch each other, so `dpor` needs one run.
            assert!(["lmc views", "dpor cached"].contains(&&*name), "{name}");
            assert!(is_conclusive(&findings) && findings.violation.is_none());
            assert!(beside[0].starts_with("global bfs had met"), "{beside:?}");
        }
    }

    #[test]
    fn what_lmc_cannot_decide_is_left_to_global() {
        let system = counters(2, 3).never_stuck("fine", view(|_: &Counter| ()), |_| true);
        let options = Options::default();
        let ((name, _), beside) = search(&system, &options, &Budget::new(&options), 0).unwrap();
        assert_eq!((&*name, beside.len()), ("global bfs", 0));
    }
}
