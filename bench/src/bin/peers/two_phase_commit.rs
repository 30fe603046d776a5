//! Two-phase commit for Stateright: the actions of Lamport's `TwoPhase` on one shared state.

use stateright::{Model, Property};
use std::collections::BTreeSet;

/// The number of resource managers.
pub struct TwoPhaseCommit(pub usize);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    resources: Vec<Resource>,
    decision: Option<Decision>,
    prepared: Vec<bool>,
    messages: BTreeSet<Message>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Resource {
    Working,
    Prepared,
    Committed,
    Aborted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Decision {
    Commit,
    Abort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Message {
    Prepared(usize),
    Decided(Decision),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    Decide(Decision),
    HearPrepared(usize),
    Prepare(usize),
    ChooseToAbort(usize),
    Obey(usize, Decision),
}

impl Model for TwoPhaseCommit {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            resources: vec![Resource::Working; self.0],
            decision: None,
            prepared: vec![false; self.0],
            messages: BTreeSet::new(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let open = state.decision.is_none();
        if open {
            if state.prepared.iter().all(|&prepared| prepared) {
                actions.push(Action::Decide(Decision::Commit));
            }
            actions.push(Action::Decide(Decision::Abort));
        }
        for rm in 0..self.0 {
            if open && state.messages.contains(&Message::Prepared(rm)) {
                actions.push(Action::HearPrepared(rm));
            }
            if state.resources[rm] == Resource::Working {
                actions.push(Action::Prepare(rm));
                actions.push(Action::ChooseToAbort(rm));
            }
            for decision in [Decision::Commit, Decision::Abort] {
                if state.messages.contains(&Message::Decided(decision)) {
                    actions.push(Action::Obey(rm, decision));
                }
            }
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        match action {
            Action::Decide(decision) => {
                next.decision = Some(decision);
                next.messages.insert(Message::Decided(decision));
            }
            Action::HearPrepared(rm) => next.prepared[rm] = true,
            Action::Prepare(rm) => {
                next.resources[rm] = Resource::Prepared;
                next.messages.insert(Message::Prepared(rm));
            }
            Action::ChooseToAbort(rm) | Action::Obey(rm, Decision::Abort) => {
                next.resources[rm] = Resource::Aborted;
            }
            Action::Obey(rm, Decision::Commit) => next.resources[rm] = Resource::Committed,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        fn all(state: &State, wanted: Resource) -> bool {
            state.resources.iter().all(|&resource| resource == wanted)
        }
        vec![
            Property::sometimes("all abort", |_, state| all(state, Resource::Aborted)),
            Property::sometimes("all commit", |_, state| all(state, Resource::Committed)),
            Property::always("consistent", |_, state: &State| {
                !(state.resources.contains(&Resource::Aborted)
                    && state.resources.contains(&Resource::Committed))
            }),
        ]
    }
}
