//! Single-decree Paxos with proposers, acceptors and one learner; each proposer proposes once.

use crate::actor::{Actor, World};

/// A ballot is its proposer's number and one; a value is the ballot that it was first proposed
/// with. Zero is none.
type Ballot = u8;

/// What they send each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Msg {
    Prepare(Ballot),
    /// With the highest ballot accepted, and its value.
    Promise(Ballot, Accepted),
    Accept(Accepted),
    Accepted(Accepted),
}

/// A ballot and its value.
type Accepted = (Ballot, u8);

/// How many there are. Proposers come first, then acceptors, then the learner.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sizes {
    pub proposers: usize,
    pub acceptors: usize,
}

impl Sizes {
    fn majority(self) -> usize {
        self.acceptors / 2 + 1
    }

    fn learner(self) -> usize {
        self.proposers + self.acceptors
    }
}

/// A process in its role.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Paxos {
    sizes: Sizes,
    role: Role,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Role {
    Proposer {
        ballot: Ballot,
        promises: usize,
        highest: Accepted,
    },
    Acceptor {
        promised: Ballot,
        accepted: Accepted,
        /// The bug: it accepts whatever it has promised.
        promiscuous: bool,
    },
    /// Who has accepted what; the first value that a majority has; whether another had one too.
    Learner {
        votes: Vec<(Ballot, usize)>,
        learned: Option<u8>,
        disagrees: bool,
    },
}

/// The processes. With the bug, the first acceptor accepts everything.
pub fn paxos(sizes: Sizes, bug: bool) -> Vec<Paxos> {
    let proposers = (1..=sizes.proposers as Ballot).map(|ballot| Role::Proposer {
        ballot,
        promises: 0,
        highest: (0, 0),
    });
    let acceptors = (0..sizes.acceptors).map(|number| Role::Acceptor {
        promised: 0,
        accepted: (0, 0),
        promiscuous: bug && number == 0,
    });
    let learner = Role::Learner { votes: Vec::new(), learned: None, disagrees: false };
    let roles = proposers.chain(acceptors).chain([learner]);
    roles.map(|role| Paxos { sizes, role }).collect()
}

/// The kind of a message and its ballot, in a tag.
const PREPARE: u32 = 0;
const PROMISE: u32 = 1;
const ACCEPT: u32 = 2;
const ACCEPTED: u32 = 3;

impl Actor for Paxos {
    type Msg = Msg;
    /// What the learner has learned, and whether it has also learned something else.
    type View = (Option<u8>, bool);

    fn start(&mut self, world: &mut dyn World<Msg>) {
        if let Role::Proposer { ballot, .. } = self.role {
            self.to_acceptors(Msg::Prepare(ballot), world);
        }
    }

    fn tag(msg: Msg) -> u32 {
        let (kind, ballot) = match msg {
            Msg::Prepare(ballot) => (PREPARE, ballot),
            Msg::Promise(ballot, _) => (PROMISE, ballot),
            Msg::Accept((ballot, _)) => (ACCEPT, ballot),
            Msg::Accepted((ballot, _)) => (ACCEPTED, ballot),
        };
        kind << 8 | u32::from(ballot)
    }

    fn wants(&self, tag: u32) -> bool {
        let (kind, ballot) = (tag >> 8, (tag & 0xff) as Ballot);
        match &self.role {
            Role::Proposer { promises, .. } => kind == PROMISE && *promises < self.sizes.majority(),
            Role::Acceptor { promised, promiscuous, .. } => match kind {
                PREPARE => ballot > *promised,
                ACCEPT => ballot >= *promised || *promiscuous,
                _ => false,
            },
            Role::Learner { votes, .. } => {
                let votes = votes.iter().filter(|vote| vote.0 == ballot).count();
                kind == ACCEPTED && votes < self.sizes.majority()
            }
        }
    }

    fn receive(&mut self, from: usize, msg: Msg, world: &mut dyn World<Msg>) {
        let majority = self.sizes.majority();
        match (&mut self.role, msg) {
            (Role::Proposer { ballot, promises, highest }, Msg::Promise(_, accepted)) => {
                *promises += 1;
                *highest = accepted.max(*highest);
                if *promises == majority {
                    let value = if highest.0 == 0 { *ballot } else { highest.1 };
                    let accept = Msg::Accept((*ballot, value));
                    self.to_acceptors(accept, world);
                }
            }
            (Role::Acceptor { promised, accepted, .. }, Msg::Prepare(ballot)) => {
                *promised = ballot;
                world.send(from, Msg::Promise(ballot, *accepted));
            }
            (Role::Acceptor { accepted, .. }, Msg::Accept(proposal)) => {
                *accepted = proposal.max(*accepted);
                world.send(self.sizes.learner(), Msg::Accepted(proposal));
            }
            (Role::Learner { votes, learned, disagrees }, Msg::Accepted((ballot, value))) => {
                votes.push((ballot, from));
                if votes.iter().filter(|vote| vote.0 == ballot).count() == majority {
                    *disagrees |= learned.is_some_and(|learned| learned != value);
                    learned.get_or_insert(value);
                }
            }
            _ => {}
        }
    }

    fn done(&self) -> bool {
        let last = self.sizes.proposers as Ballot;
        match &self.role {
            Role::Proposer { promises, .. } => *promises == self.sizes.majority(),
            Role::Acceptor { promised, accepted, promiscuous } => {
                *promised == last && accepted.0 == last && !promiscuous
            }
            Role::Learner { votes, .. } => votes.len() == self.sizes.majority() * last as usize,
        }
    }

    fn most(&self) -> usize {
        match self.role {
            Role::Proposer { .. } => self.sizes.acceptors,
            Role::Acceptor { .. } => 2 * self.sizes.proposers,
            Role::Learner { .. } => self.sizes.acceptors * self.sizes.proposers,
        }
    }

    fn view(&self) -> Self::View {
        match self.role {
            Role::Learner { learned, disagrees, .. } => (learned, disagrees),
            _ => (None, false),
        }
    }

    fn holds(views: &[Self::View]) -> bool {
        views.iter().all(|view| !view.1)
    }
}

impl Paxos {
    fn to_acceptors(&self, msg: Msg, world: &mut dyn World<Msg>) {
        let first = self.sizes.proposers;
        (first..first + self.sizes.acceptors).for_each(|acceptor| world.send(acceptor, msg));
    }
}
