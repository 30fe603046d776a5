//! A replicated database: nodes of several threads elect a primary, whose workers change the database at the same time, and which ships its
//! log to the others. It is what the replication manager of Berkeley DB does with its example `ex_rep_mgr`, on a small scale.
//!
//! At first every node stands for election. Once a node has heard from all, it votes for the one with the highest number; the one that has a majority of votes is the
//! primary, and starts its workers. A worker changes the database, writes a record into the log, and ships the record to the secondaries, all while the
//! database is locked. So records arrive in the order of the log. A secondary has a thread for each node that it receives from, which
//! puts records in a queue, and one that takes them from there and applies them to its own database. On every node one more thread writes a
//! checkpoint of the database, once. In the end each secondary reports its log, and the primary compares it with its own.
//!
//! Nodes share nothing. Most of what may come first or second is a node's own affair: who has the lock of its election,
//! of its queue or of its database. All that others can see is the order in which workers write. This is what dynamic interface
//! reduction is for (section 5 of the DEMETER paper).

use crate::mesh::{Ears, Frame, Mouth, Queue, name};
use crate::together::spawn;
use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::{Checkable, Error};
use allways_threads::Program;
use allways_threads::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::collections::BTreeSet;

pub(crate) const ENTRY: Entry = Entry {
    name: "replicated-kv",
    about: "nodes of several threads that elect a primary, whose workers' changes are shipped to the others (threads)",
    parameters: &[
        Parameter {
            name: "nodes",
            about: "how many nodes there are",
            kind: Kind::Number { default: 2, min: 2, max: 3 },
        },
        Parameter {
            name: "workers",
            about: "how many threads of the primary change the database",
            kind: Kind::Number { default: 2, min: 1, max: 3 },
        },
        Parameter {
            name: "writes",
            about: "how often each of them does",
            kind: Kind::Number { default: 1, min: 1, max: 2 },
        },
        Parameter {
            name: "checkpoints",
            about: "whether there is a thread on each node that writes a checkpoint",
            kind: Kind::Number { default: 1, min: 0, max: 1 },
        },
    ],
    bugs: &[
        Bug {
            name: OWN_VOTE,
            about: "a node votes before it has heard from all, and its own vote is enough for it",
            defaults: &[("nodes", "2"), ("workers", "1"), ("writes", "1"), ("checkpoints", "0")],
        },
        Bug {
            name: SHIPPED_LATER,
            about: "records are shipped after the database is unlocked, in another order",
            defaults: &[("nodes", "2"), ("workers", "2"), ("writes", "1"), ("checkpoints", "0")],
        },
        Bug {
            name: TWO_STEPS,
            about: "the database is unlocked between a record of the log and the change that it is about",
            defaults: &[("nodes", "2"), ("workers", "1"), ("writes", "1"), ("checkpoints", "1")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

const OWN_VOTE: &str = "own-vote";
const SHIPPED_LATER: &str = "shipped-later";
const TWO_STEPS: &str = "two-steps";

#[derive(Clone, Copy)]
struct Sizes {
    nodes: usize,
    workers: usize,
    writes: usize,
    checkpoints: usize,
    bug: Option<&'static str>,
}

/// What is written under the only key there is.
type Value = u8;

enum Message {
    /// The sender can be voted for.
    Stand,
    /// The sender votes for the receiver.
    Vote,
    /// The next record of the log.
    Record(Value),
    /// There are no more records.
    End,
    /// The log of a secondary.
    Report(Vec<Value>),
}

impl Message {
    fn to_frame(&self) -> Frame {
        let mut frame = Frame::default();
        match self {
            Message::Stand => frame[0] = 1,
            Message::Vote => frame[0] = 2,
            Message::Record(value) => frame[..2].copy_from_slice(&[3, *value]),
            Message::End => frame[0] = 4,
            Message::Report(log) => {
                frame[..2].copy_from_slice(&[5, log.len() as u8]);
                frame[2..][..log.len()].copy_from_slice(log);
            }
        }
        frame
    }

    fn from_frame(frame: Frame) -> Self {
        match frame[0] {
            1 => Message::Stand,
            2 => Message::Vote,
            3 => Message::Record(frame[1]),
            4 => Message::End,
            _ => Message::Report(frame[2..][..frame[1] as usize].to_vec()),
        }
    }
}

#[derive(Default)]
struct Election {
    standing: BTreeSet<usize>,
    /// How many have voted for this node.
    votes: usize,
}

#[derive(Default)]
struct Database {
    log: Vec<Value>,
    value: Value,
}

/// What the threads of one node share.
struct Node {
    id: usize,
    sizes: Sizes,
    election: Mutex<Election>,
    has_changed: Condvar,
    records: Queue<Message>,
    database: Mutex<Database>,
    mouth: Mutex<Mouth>,
}

impl Node {
    /// What a process does.
    fn run(id: usize, sizes: Sizes) {
        let ears = Ears::of(id, sizes.nodes);
        let node = Arc::new(Node {
            id,
            sizes,
            election: Mutex::new(Election { standing: BTreeSet::from([id]), votes: 0 }),
            has_changed: Condvar::new(),
            records: Queue::new(),
            database: Mutex::new(Database::default()),
            mouth: Mutex::new(Mouth::of(id, sizes.nodes)),
        });
        let receivers = ears.hear({
            let node = Arc::clone(&node);
            move |from, frame| node.receive(from, Message::from_frame(frame))
        });
        node.tell_all(&Message::Stand);
        let elected = node.elect();
        let mut threads = Vec::new();
        let mut start = |role: String, body: fn(&Node, usize), number| {
            let node = Arc::clone(&node);
            threads.push(spawn(role, move || body(&node, number)));
        };
        if elected == id {
            (0..sizes.workers).for_each(|w| start(format!("worker {w}"), Node::work, w));
        } else {
            start("applier".to_owned(), Node::apply, elected);
        }
        (0..sizes.checkpoints).for_each(|c| start("checkpoint".to_owned(), Node::write_out, c));
        threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
        if elected == id {
            node.tell_all(&Message::End);
        }
        node.mouth.lock().expect("nobody panics").close();
        receivers.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
        if elected == id {
            assert!(node.records.is_empty(), "{} is the primary, and so is another", name(id));
        }
    }

    #[track_caller]
    fn tell(&self, to: usize, message: &Message) {
        self.mouth.lock().expect("nobody panics").tell(to, message.to_frame());
    }

    #[track_caller]
    fn tell_all(&self, message: &Message) {
        self.mouth.lock().expect("nobody panics").tell_all(message.to_frame());
    }

    fn receive(&self, from: usize, message: Message) {
        match message {
            Message::Stand | Message::Vote => {
                let mut election = self.election.lock().expect("nobody panics");
                match message {
                    Message::Stand => drop(election.standing.insert(from)),
                    _ => election.votes += 1,
                }
                self.has_changed.notify_one();
            }
            Message::Record(_) | Message::End => self.records.push(from, message),
            Message::Report(log) => {
                let database = self.database.lock().expect("nobody panics");
                assert_eq!(log, database.log, "{} has the log of the primary", name(from));
            }
        }
    }

    /// Who becomes the primary. If this node does, it has a majority by then.
    fn elect(&self) -> usize {
        let (nodes, is_wrong) = (self.sizes.nodes, self.sizes.bug == Some(OWN_VOTE));
        let mut election = self.election.lock().expect("nobody panics");
        while election.standing.len() < nodes && !is_wrong {
            election = self.has_changed.wait(election).expect("nobody panics");
        }
        let elected = *election.standing.last().expect("the node itself stands");
        if elected == self.id {
            election.votes += 1;
            while election.votes <= nodes / 2 && !is_wrong {
                election = self.has_changed.wait(election).expect("nobody panics");
            }
        } else {
            drop(election);
            self.tell(elected, &Message::Vote);
        }
        elected
    }

    /// A change of the database: the log has it, and then the value is the new one.
    fn change<'a>(
        &'a self,
        mut database: MutexGuard<'a, Database>,
        value: Value,
    ) -> MutexGuard<'a, Database> {
        database.log.push(value);
        if self.sizes.bug == Some(TWO_STEPS) {
            drop(database);
            database = self.database.lock().expect("nobody panics");
        }
        database.value = value;
        database
    }

    /// A worker of the primary.
    fn work(&self, worker: usize) {
        for write in 0..self.sizes.writes {
            let value = (1 + worker * self.sizes.writes + write) as Value;
            let database = self.database.lock().expect("nobody panics");
            let database = self.change(database, value);
            if self.sizes.bug == Some(SHIPPED_LATER) {
                drop(database);
            }
            self.tell_all(&Message::Record(value));
        }
    }

    /// The thread of a secondary that applies what the primary ships.
    fn apply(&self, primary: usize) {
        loop {
            let (from, message) = self.records.pop();
            assert_eq!(from, primary, "{} takes another for the primary", name(self.id));
            let database = self.database.lock().expect("nobody panics");
            let Message::Record(value) = message else {
                let report = Message::Report(database.log.clone());
                drop(database);
                return self.tell(primary, &report);
            };
            drop(self.change(database, value));
        }
    }

    /// The thread that writes a checkpoint: at no time is the database anything but what its log says.
    fn write_out(&self, _: usize) {
        let database = self.database.lock().expect("nobody panics");
        let said = database.log.last().copied().unwrap_or_default();
        assert_eq!(database.value, said, "{} has what its log says", name(self.id));
    }
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let sizes = Sizes {
        nodes: parameters.number("nodes"),
        workers: parameters.number("workers"),
        writes: parameters.number("writes"),
        checkpoints: parameters.number("checkpoints"),
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
    fn nobody_else_knows_when_a_checkpoint_is_written() {
        let at = |workers, checkpoints| {
            executions("replicated-kv", &[("workers", workers), ("checkpoints", checkpoints)])
        };
        // Before, between and after the records; at the secondary also after the log is reported.
        assert_eq!(at("1", "1"), 2 * 3 * at("1", "0"));
        assert_eq!(at("2", "1"), 3 * 4 * at("2", "0"));
    }

    #[test]
    fn bugs_show() {
        for (bug, what) in [
            (OWN_VOTE, "is the primary, and so is another"),
            (SHIPPED_LATER, "server 0 has the log of the primary"),
            (TWO_STEPS, "has what its log says"),
        ] {
            let violation = threads("replicated-kv", &[("bug", bug)]).violation.unwrap();
            assert_eq!(violation.cause, Cause::Panic);
            assert!(violation.property.contains(what), "{violation}");
        }
    }
}
