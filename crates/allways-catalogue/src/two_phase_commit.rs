//! Two-phase commit: Lamport's `TwoPhase` (Gray and Lamport, "Consensus on Transaction Commit").
//!
//! Node 0 is the transaction manager, the others are resource managers. A resource manager
//! prepares, or chooses to abort, on its own; the manager commits once all are prepared, or aborts
//! at any time, and tells all resource managers. The actions that nobody asks for (prepare, choose
//! to abort, commit, abort) are timers, pending exactly while the action is enabled, so the timers
//! say nothing that the state does not.
//!
//! Messages form a set and are never consumed, as in the specification. TLC and Stateright count a
//! delivery that changes nothing as a generated state if the specification enables it. So do the
//! handlers here, with [`Cx::stutter`]: the transaction manager receives `Prepared` only until it
//! has decided, a resource manager receives a decision at any time.

use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::prelude::*;
use allways::{Checkable, Error, Kinds, Rename, Renaming};
use std::collections::BTreeSet;

pub(crate) const ENTRY: Entry = Entry {
    name: "two-phase-commit",
    about: "a transaction manager and its resource managers commit or abort together",
    parameters: &[Parameter {
        name: "rms",
        about: "how many resource managers there are",
        kind: Kind::Number { default: 3, min: 1, max: 16 },
    }],
    bugs: &[
        Bug {
            name: MAJORITY_COMMITS,
            about: "the transaction manager commits once a majority is prepared",
            defaults: &[("rms", "3")],
        },
        Bug {
            name: UNILATERAL_ABORT,
            about: "a resource manager that is prepared may still choose to abort",
            defaults: &[("rms", "2")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

const MAJORITY_COMMITS: &str = "majority-commits";
const UNILATERAL_ABORT: &str = "unilateral-abort";

const TM: Id = Id::new(0);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Manager {
    Transaction {
        decision: Option<Decision>,
        prepared: BTreeSet<Id>,
        /// It may commit when this many are prepared.
        needed: usize,
    },
    Resource {
        state: Resource,
        /// The bug: being prepared is no promise.
        unilateral: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Decision {
    Commit,
    Abort,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Resource {
    Working,
    Prepared,
    Committed,
    Aborted,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
enum Msg {
    Prepared,
    Decided(Decision),
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Kinds)]
enum Timer {
    /// A resource manager prepares.
    Prepare,
    /// A resource manager chooses to abort.
    ChooseAbort,
    /// The transaction manager commits.
    Commit,
    /// The transaction manager aborts.
    Abort,
}

impl Manager {
    /// What the properties read: the state of a resource manager.
    fn resource(&self) -> Option<Resource> {
        match self {
            Manager::Transaction { .. } => None,
            Manager::Resource { state, .. } => Some(*state),
        }
    }
}

impl Node for Manager {
    type Msg = Msg;
    type Timer = Timer;
    type Call = Never;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        match self {
            Manager::Transaction { .. } => cx.set_timer(Timer::Abort),
            Manager::Resource { .. } => {
                cx.set_timer(Timer::Prepare);
                cx.set_timer(Timer::ChooseAbort);
            }
        }
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        match (self, msg) {
            (Manager::Transaction { decision: None, prepared, needed }, Msg::Prepared) => {
                cx.stutter();
                prepared.insert(from);
                if prepared.len() >= *needed {
                    cx.set_timer(Timer::Commit);
                }
            }
            (Manager::Resource { state, .. }, Msg::Decided(decision)) => {
                cx.stutter();
                cx.cancel_timers();
                *state = match decision {
                    Decision::Commit => Resource::Committed,
                    Decision::Abort => Resource::Aborted,
                };
            }
            _ => {}
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match self {
            Manager::Transaction { decision, .. } => {
                let made = match timer {
                    Timer::Commit => Decision::Commit,
                    _ => Decision::Abort,
                };
                *decision = Some(made);
                cx.cancel_timers();
                cx.broadcast(Msg::Decided(made));
            }
            Manager::Resource { state, unilateral } if timer == Timer::Prepare => {
                *state = Resource::Prepared;
                if !*unilateral {
                    cx.cancel_timers();
                }
                cx.send(TM, Msg::Prepared);
            }
            Manager::Resource { state, .. } => {
                *state = Resource::Aborted;
                cx.cancel_timers();
            }
        }
    }
}

impl Rename for Manager {
    fn rename(&self, renaming: &Renaming) -> Self {
        let mut renamed = self.clone();
        if let Manager::Transaction { prepared, .. } = &mut renamed {
            *prepared = prepared.rename(renaming);
        }
        renamed
    }
}

impl Rename for Msg {
    fn rename(&self, _: &Renaming) -> Self {
        self.clone()
    }
}

impl Rename for Timer {
    fn rename(&self, _: &Renaming) -> Self {
        self.clone()
    }
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let rms = parameters.number("rms");
    let needed = match parameters.bug() {
        Some(MAJORITY_COMMITS) => rms / 2 + 1,
        _ => rms,
    };
    let unilateral = parameters.bug() == Some(UNILATERAL_ABORT);
    let tm = Manager::Transaction { decision: None, prepared: BTreeSet::new(), needed };
    let rm = Manager::Resource { state: Resource::Working, unilateral };
    let nodes = std::iter::once(tm).chain(std::iter::repeat_n(rm, rms));
    let all = |wanted: Resource| {
        move |states: &[Option<Resource>]| states.iter().flatten().all(|state| *state == wanted)
    };
    let system = System::new(nodes)
        .network(Network::duplicating())
        .interchangeable(1..=rms)
        .always("consistent", view(Manager::resource), |states| {
            let some = |wanted: Resource| states.contains(&Some(wanted));
            !(some(Resource::Committed) && some(Resource::Aborted))
        })
        .sometimes("all committed", view(Manager::resource), all(Resource::Committed))
        .sometimes("all aborted", view(Manager::resource), all(Resource::Aborted));
    Ok(Box::new(system.expect_kinds()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{classic, counts};

    /// The counts of Stateright 0.31.
    #[test]
    fn counts_are_those_of_stateright() {
        assert_eq!(counts("two-phase-commit", &[("rms", "1")]), (12, 20));
        assert_eq!(counts("two-phase-commit", &[]), (288, 1_146));
        assert_eq!(counts("two-phase-commit", &[("rms", "5")]), (8_832, 58_146));
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
    fn seven_resource_managers() {
        assert_eq!(counts("two-phase-commit", &[("rms", "7")]), (296_448, 2_744_706));
    }

    #[test]
    fn both_bugs_break_consistency_with_as_few_as_they_say() {
        for bug in ENTRY.bugs {
            classic("two-phase-commit", &[("bug", bug.name)]).assert_violated("consistent");
            let rms: usize = bug.defaults[0].1.parse().unwrap();
            let fewer = (rms - 1).to_string();
            let outcome = classic("two-phase-commit", &[("bug", bug.name), ("rms", &fewer)]);
            assert_eq!(outcome.verdict, Verdict::Holds, "{}", bug.name);
        }
    }

    #[test]
    fn renaming_changes_who_is_prepared_and_nothing_else() {
        let tm = |prepared: [usize; 2]| Manager::Transaction {
            decision: None,
            prepared: prepared.map(Id::new).into(),
            needed: 3,
        };
        let swap = Renaming::swap(4, 2, 3);
        assert_eq!(tm([1, 2]).rename(&swap), tm([1, 3]));
        let rm = Manager::Resource { state: Resource::Prepared, unilateral: false };
        assert_eq!(rm.rename(&swap), rm);
    }
}
