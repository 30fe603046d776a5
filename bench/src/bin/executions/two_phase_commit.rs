//! Two-phase commit by messages: a coordinator asks its managers to prepare, each votes as it
//! likes, and the coordinator decides: to abort at the first "no", to commit when all say "yes".

use crate::actor::{Actor, World};

/// The coordinator is process 0.
const COORDINATOR: usize = 0;

/// What they send each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Msg {
    Prepare,
    Vote(bool),
    Decision(bool),
}

/// The coordinator or a manager.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TwoPhaseCommit {
    Coordinator {
        managers: usize,
        /// It commits when so many have voted "yes".
        needed: usize,
        yes: usize,
        decided: bool,
    },
    Manager {
        voted: Option<bool>,
        decision: Option<bool>,
    },
}

/// A coordinator and its managers. With the bug it commits although one vote is missing.
pub fn two_phase_commit(managers: usize, bug: bool) -> Vec<TwoPhaseCommit> {
    let manager = TwoPhaseCommit::Manager { voted: None, decision: None };
    let needed = managers - usize::from(bug);
    let mut processes = vec![manager; managers + 1];
    processes[COORDINATOR] =
        TwoPhaseCommit::Coordinator { managers, needed, yes: 0, decided: false };
    processes
}

impl Actor for TwoPhaseCommit {
    type Msg = Msg;
    /// A manager's vote and what it was told.
    type View = Option<(bool, bool)>;

    fn start(&mut self, world: &mut dyn World<Msg>) {
        if let TwoPhaseCommit::Coordinator { managers, .. } = self {
            (1..=*managers).for_each(|manager| world.send(manager, Msg::Prepare));
        }
    }

    fn tag(msg: Msg) -> u32 {
        match msg {
            Msg::Prepare => 0,
            Msg::Vote(_) => 1,
            Msg::Decision(_) => 2,
        }
    }

    fn wants(&self, tag: u32) -> bool {
        match self {
            TwoPhaseCommit::Coordinator { decided, .. } => tag == 1 && !decided,
            TwoPhaseCommit::Manager { voted, decision } => match tag {
                0 => voted.is_none(),
                2 => decision.is_none(),
                _ => false,
            },
        }
    }

    fn receive(&mut self, _: usize, msg: Msg, world: &mut dyn World<Msg>) {
        match (self, msg) {
            (TwoPhaseCommit::Coordinator { managers, needed, yes, decided }, Msg::Vote(vote)) => {
                *yes += usize::from(vote);
                if !vote || *yes == *needed {
                    *decided = true;
                    (1..=*managers).for_each(|manager| world.send(manager, Msg::Decision(vote)));
                }
            }
            (TwoPhaseCommit::Manager { voted, .. }, Msg::Prepare) => {
                let vote = world.choose(2) == 1;
                *voted = Some(vote);
                world.send(COORDINATOR, Msg::Vote(vote));
            }
            (TwoPhaseCommit::Manager { decision, .. }, Msg::Decision(told)) => {
                *decision = Some(told);
            }
            _ => {}
        }
    }

    fn done(&self) -> bool {
        match self {
            TwoPhaseCommit::Coordinator { decided, .. } => *decided,
            TwoPhaseCommit::Manager { voted, decision } => voted.is_some() && decision.is_some(),
        }
    }

    fn most(&self) -> usize {
        match self {
            TwoPhaseCommit::Coordinator { managers, .. } => *managers,
            TwoPhaseCommit::Manager { .. } => 2,
        }
    }

    fn view(&self) -> Self::View {
        match *self {
            TwoPhaseCommit::Manager { voted, decision } => voted.zip(decision),
            TwoPhaseCommit::Coordinator { .. } => None,
        }
    }

    /// Nobody that has voted "no" is told to commit, and all are told the same.
    fn holds(views: &[Self::View]) -> bool {
        let mut told = views.iter().flatten();
        let first = told.clone().next();
        told.all(|&(vote, decision)| {
            (vote || !decision) && first.is_none_or(|first| first.1 == decision)
        })
    }
}
