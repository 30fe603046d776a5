//! Multi-Paxos on nodes of several threads: as services that have it inside are built, on a small scale.
//!
//! Ballot 1 is the first node's, and ballot 2 the last one's. Their proposers ask all for promises; who has those of a majority proposes, for one decree after the other,
//! the value that was accepted under the highest ballot, or its own if there is none, and tells everybody what a majority has accepted. Refusals are answers
//! too: who can have no majority any more gives up, so a run has an end.
//!
//! A node has a thread for each node that it receives from. It puts requests in a queue under a lock, for the acceptor, a thread that answers them, and sends answers into
//! a channel, for the proposer, a thread that waits for those to its own requests. Proposer and acceptor have the state of the node in common, under a lock. What they
//! send they send while they hold it. Every node is a learner as well: it has learned no two values of the same decree.
//!
//! Nodes share nothing. Others cannot see who comes first at the queue, nor, mostly, who has the lock of the state first. This is what dynamic
//! interface reduction is for (section 5 of the DEMETER paper, which bounds ballots to 2 and decrees to 1).

use crate::mesh::{Ears, Frame, Mouth, Queue, name};
use crate::together::spawn;
use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::{Checkable, Error};
use allways_threads::Program;
use allways_threads::sync::{Arc, Mutex, MutexGuard, mpsc};

pub(crate) const ENTRY: Entry = Entry {
    name: "multi-paxos",
    about: "Multi-Paxos on nodes with a thread for each role, and queues of messages (threads)",
    parameters: &[
        Parameter {
            name: "nodes",
            about: "how many nodes there are",
            kind: Kind::Number { default: 2, min: 2, max: 3 },
        },
        Parameter {
            name: "ballots",
            about: "how many ballots there are, each of another node",
            kind: Kind::Number { default: 2, min: 1, max: 2 },
        },
        Parameter {
            name: "decrees",
            about: "how many decrees are voted on in a ballot, one after the other",
            kind: Kind::Number { default: 1, min: 1, max: MOST_DECREES as u64 },
        },
    ],
    bugs: &[
        Bug {
            name: FIRST_PROMISE,
            about: "a proposer takes the value of the first promise that it gets, not of the highest ballot",
            defaults: &[("nodes", "3"), ("ballots", "2"), ("decrees", "1")],
        },
        Bug {
            name: TWO_LOCKS,
            about: "a node unlocks its state between looking at it and a promise, or accepting",
            defaults: &[("nodes", "2"), ("ballots", "2"), ("decrees", "1")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

const FIRST_PROMISE: &str = "first-promise";
const TWO_LOCKS: &str = "two-locks";

/// As many as fit in a message.
const MOST_DECREES: usize = 3;

#[derive(Clone, Copy)]
struct Sizes {
    nodes: usize,
    ballots: usize,
    decrees: usize,
    bug: Option<&'static str>,
}

/// Zero is before all ballots.
type Ballot = u8;
type Value = u8;

/// Under which ballot something was accepted for a decree, and what.
type Accepted = (Ballot, Value);

enum Request {
    Prepare(Ballot),
    Accept {
        ballot: Ballot,
        decree: usize,
        value: Value,
    },
    Learn {
        decree: usize,
        value: Value,
    },
    /// The sender will ask nothing more, and has not got all its decrees through.
    GiveUp,
}

enum Answer {
    /// What has been accepted for each decree; or a refusal.
    Promise(Option<[Accepted; MOST_DECREES]>),
    Accepted {
        decree: usize,
        is_accepted: bool,
    },
}

type Answers = mpsc::Receiver<Answer>;

enum Message {
    Request(Request),
    Answer(Answer),
}

impl From<Request> for Frame {
    fn from(request: Request) -> Frame {
        let [kind, a, b, c] = match request {
            Request::Prepare(ballot) => [0, ballot, 0, 0],
            Request::Accept { ballot, decree, value } => [1, ballot, decree as u8, value],
            Request::Learn { decree, value } => [2, decree as u8, value, 0],
            Request::GiveUp => [3, 0, 0, 0],
        };
        [kind, a, b, c, 0, 0, 0, 0]
    }
}

impl From<Answer> for Frame {
    fn from(answer: Answer) -> Frame {
        match answer {
            Answer::Promise(None) => [4; 8],
            Answer::Promise(Some([(a, v), (b, w), (c, x)])) => [5, a, v, b, w, c, x, 0],
            Answer::Accepted { decree, is_accepted } => {
                [6, decree as u8, u8::from(is_accepted), 0, 0, 0, 0, 0]
            }
        }
    }
}

impl From<Frame> for Message {
    fn from([kind, a, b, c, d, e, f, _]: Frame) -> Message {
        let request = match kind {
            0 => Request::Prepare(a),
            1 => Request::Accept { ballot: a, decree: b.into(), value: c },
            2 => Request::Learn { decree: a.into(), value: b },
            3 => Request::GiveUp,
            4 => return Message::Answer(Answer::Promise(None)),
            5 => return Message::Answer(Answer::Promise(Some([(a, b), (c, d), (e, f)]))),
            _ => {
                let (decree, is_accepted) = (a.into(), b == 1);
                return Message::Answer(Answer::Accepted { decree, is_accepted });
            }
        };
        Message::Request(request)
    }
}

/// What the roles of a node have in common.
struct State {
    promised: Ballot,
    accepted: [Accepted; MOST_DECREES],
    learned: [Option<Value>; MOST_DECREES],
    mouth: Mouth,
}

impl State {
    fn learn(&mut self, decree: usize, value: Value) {
        let before = *self.learned[decree].get_or_insert(value);
        assert_eq!(before, value, "agreement: only one value is learned of decree {decree}");
    }
}

/// What the threads of a node share.
struct Node {
    sizes: Sizes,
    state: Mutex<State>,
    requests: Queue<Request>,
}

impl Node {
    /// The ballot of a node that has one.
    fn ballot(id: usize, sizes: Sizes) -> Option<Ballot> {
        match id {
            0 => Some(1),
            _ if id + 1 == sizes.nodes && sizes.ballots == 2 => Some(2),
            _ => None,
        }
    }

    /// What a process does.
    fn run(id: usize, sizes: Sizes) {
        let ears = Ears::of(id, sizes.nodes);
        let state = State {
            promised: 0,
            accepted: Default::default(),
            learned: Default::default(),
            mouth: Mouth::of(id, sizes.nodes),
        };
        let node = Arc::new(Node { sizes, state: Mutex::new(state), requests: Queue::new() });
        let (to_proposer, answers) = mpsc::channel();
        let receivers = ears.hear({
            let node = Arc::clone(&node);
            move |from, frame| match Message::from(frame) {
                Message::Request(request) => node.requests.push(from, request),
                Message::Answer(answer) => to_proposer.send(answer).expect("it is kept"),
            }
        });
        let own = Node::ballot(id, sizes);
        // Some answers come when nobody waits for them any more, so they have a place to go to for as long as they come.
        let proposer = spawn("proposer", {
            let node = Arc::clone(&node);
            move || {
                if let Some(ballot) = own {
                    node.propose(ballot, &answers);
                }
                answers
            }
        });
        let acceptor = spawn("acceptor", {
            let node = Arc::clone(&node);
            move || node.answer(sizes.ballots - usize::from(own.is_some()))
        });
        acceptor.join().expect("it does not panic");
        let answers = proposer.join().expect("it does not panic");
        node.state().mouth.close();
        receivers.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
        drop(answers);
    }

    #[track_caller]
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics")
    }

    /// The acceptor: answers requests until so many ballots of others are over.
    fn answer(&self, mut ballots: usize) {
        while ballots > 0 {
            let (from, request) = self.requests.pop();
            match request {
                Request::Prepare(ballot) => {
                    let (mut state, promise) = self.promise(self.state(), ballot);
                    state.mouth.tell(from, Answer::Promise(promise).into());
                }
                Request::Accept { ballot, decree, value } => {
                    let (mut state, is_accepted) = self.accept(self.state(), ballot, decree, value);
                    state.mouth.tell(from, Answer::Accepted { decree, is_accepted }.into());
                }
                Request::Learn { decree, value } => {
                    self.state().learn(decree, value);
                    ballots -= usize::from(decree + 1 == self.sizes.decrees);
                }
                Request::GiveUp => ballots -= 1,
            }
        }
    }

    /// Promises to accept nothing under a lower ballot, unless a higher one has such a promise; says what it has accepted before.
    fn promise<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        ballot: Ballot,
    ) -> (MutexGuard<'a, State>, Option<[Accepted; MOST_DECREES]>) {
        if ballot < state.promised {
            return (state, None);
        }
        let accepted = state.accepted;
        let mut state = self.keep(state);
        state.promised = ballot;
        (state, Some(accepted))
    }

    /// Accepts a value, unless a higher ballot has a promise; says whether it has.
    fn accept<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        ballot: Ballot,
        decree: usize,
        value: Value,
    ) -> (MutexGuard<'a, State>, bool) {
        if ballot < state.promised {
            return (state, false);
        }
        let mut state = self.keep(state);
        state.promised = ballot;
        state.accepted[decree] = (ballot, value);
        (state, true)
    }

    /// What was looked at is still so when it is changed.
    fn keep<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if self.sizes.bug != Some(TWO_LOCKS) {
            return state;
        }
        drop(state);
        self.state()
    }

    /// The proposer: gets its decrees through, or gives up.
    fn propose(&self, ballot: Ballot, answers: &Answers) {
        let is_through = self.prepare(ballot, answers).is_some_and(|promises| {
            (0..self.sizes.decrees).all(|decree| {
                let accepted = promises.iter().map(|promise| promise[decree]);
                let (before, value) = match self.sizes.bug {
                    Some(FIRST_PROMISE) => promises[0][decree],
                    _ => accepted.max().expect("a majority is somebody"),
                };
                let own = 10 * ballot + decree as Value;
                self.get_through(ballot, decree, if before == 0 { own } else { value }, answers)
            })
        });
        if !is_through {
            self.state().mouth.tell_all(Request::GiveUp.into());
        }
    }

    /// The first phase: the promises of a majority, if it can have them.
    fn prepare(&self, ballot: Ballot, answers: &Answers) -> Option<Vec<[Accepted; MOST_DECREES]>> {
        let own = {
            let mut state = self.state();
            state.mouth.tell_all(Request::Prepare(ballot).into());
            self.promise(state, ballot).1
        };
        let mut promises = Vec::from_iter(own);
        for _ in 1..self.sizes.nodes {
            let Ok(Answer::Promise(promise)) = answers.recv() else {
                unreachable!("nothing else was asked for")
            };
            promises.extend(promise);
            if self.is_majority(promises.len()) {
                return Some(promises);
            }
        }
        None
    }

    /// The second phase: whether a majority accepts a value. If so, everybody is told.
    fn get_through(&self, ballot: Ballot, decree: usize, value: Value, answers: &Answers) -> bool {
        let mut state = self.state();
        state.mouth.tell_all(Request::Accept { ballot, decree, value }.into());
        let (state, own) = self.accept(state, ballot, decree, value);
        drop(state);
        let (mut yes, mut answered) = (usize::from(own), 1);
        while !self.is_majority(yes) && answered < self.sizes.nodes {
            // What comes late from before the last majority does not matter.
            if let Ok(Answer::Accepted { decree: about, is_accepted }) = answers.recv()
                && about == decree
            {
                answered += 1;
                yes += usize::from(is_accepted);
            }
        }
        if self.is_majority(yes) {
            let mut state = self.state();
            state.learn(decree, value);
            state.mouth.tell_all(Request::Learn { decree, value }.into());
        }
        self.is_majority(yes)
    }

    fn is_majority(&self, nodes: usize) -> bool {
        nodes > self.sizes.nodes / 2
    }
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let sizes = Sizes {
        nodes: parameters.number("nodes"),
        ballots: parameters.number("ballots"),
        decrees: parameters.number("decrees"),
        bug: parameters.bug(),
    };
    let add = |program: Program, id| program.process(name(id), move || Node::run(id, sizes));
    Ok(Box::new((0..sizes.nodes).fold(Program::of_processes().binds_first(), add)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{executions, threads};
    use allways::Cause;

    #[test]
    fn requests_come_before_or_after_the_acceptor_waits_for_them() {
        // To promise, to accept, to learn: each comes after the answer to the one before.
        assert_eq!(executions("multi-paxos", &[("ballots", "1")]), 1 << 3);
    }

    #[test]
    fn two_ballots_agree() {
        assert_eq!(executions("multi-paxos", &[]), 2_752);
        assert_eq!(executions("multi-paxos", &[("nodes", "3"), ("ballots", "1")]), 896);
    }

    #[test]
    fn bugs_show() {
        for bug in [FIRST_PROMISE, TWO_LOCKS] {
            let violation = threads("multi-paxos", &[("bug", bug)]).violation.unwrap();
            assert_eq!(violation.cause, Cause::Panic);
            assert!(violation.property.contains("agreement"), "{violation}");
        }
    }
}
