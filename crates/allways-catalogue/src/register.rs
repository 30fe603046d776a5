//! A regular register with one writer and one reader, in the style of Attiya, Bar-Noy and Dolev.
//!
//! The register is kept by base objects, of which fewer than half may fail to answer. To write,
//! the writer sends the value with the next timestamp to all of them and waits until a majority
//! has acknowledged it. To read, the reader queries all of them and returns the value with the
//! highest timestamp that a majority reports.
//!
//! The register must be regular: a read returns the value of the last write that ended before the
//! read began, or of a write concurrent with it. A monitor sees when operations begin and end. The
//! bug `return-concurrent` is one of the specification, not of the protocol: a read that ends after
//! a concurrent write must then return what that has written, which only some reads do.
//!
//! The roles, the sizes and the bug are those of the thesis's section 3.5 (table 4): Register (5)
//! to (7) and Faulty-Register (5) and (6). The bug `minority-read`, one of the protocol, is ours.

use crate::history::{self, History};
use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::prelude::*;
use allways::{Checkable, Error, Kinds};
use std::collections::BTreeSet;

pub(crate) const ENTRY: Entry = Entry {
    name: "register",
    about: "a regular register kept by base objects, with one writer and one reader (ABD)",
    parameters: &[
        Parameter {
            name: "bases",
            about: "how many base objects keep the register",
            kind: Kind::Number { default: 3, min: 1, max: 7 },
        },
        Parameter {
            name: "writes",
            about: "how many values are written, one after the other",
            kind: Kind::Number { default: 1, min: 1, max: 3 },
        },
        history::PARAMETER,
    ],
    bugs: &[
        Bug {
            name: "minority-read",
            about: "the reader returns one answer too early",
            defaults: &[("bases", "3"), ("writes", "1")],
        },
        Bug {
            name: "return-concurrent",
            about: "the property demands that a read sees every write that ends before it does",
            defaults: &[("bases", "1"), ("writes", "1")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

/// The node that writes.
const WRITER: usize = 0;
/// The node that reads.
const READER: usize = 1;
/// The first base object.
const FIRST_BASE: usize = 2;

/// Timestamp and value in one: the k-th write writes k. At first the register holds zero.
type Stamp = u8;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Kinds)]
enum Msg {
    Write(Stamp),
    WriteAck(Stamp),
    Read,
    ReadAck(Stamp),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Kinds)]
enum Call {
    Write,
    Read,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Reply {
    Written,
    Returned(Stamp),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Register {
    role: Role,
    history: History<Msg>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Role {
    Writer {
        /// The last write begun.
        stamp: Stamp,
        /// Who has acknowledged it; `None` once a majority has.
        acks: Option<BTreeSet<Id>>,
    },
    Reader {
        /// How many base objects have to answer.
        quorum: usize,
        read: Reading,
    },
    Base(Stamp),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Reading {
    Idle,
    Waiting { answers: BTreeSet<Id>, highest: Stamp },
    Done,
}

impl Node for Register {
    type Msg = Msg;
    type Timer = Never;
    type Call = Call;
    type Output = Reply;

    /// Begins an operation. A writer that is busy ignores the call: it stays where it is until
    /// the write before it has ended.
    fn on_call(&mut self, call: Call, cx: &mut Cx<'_, Self>) {
        match (&mut self.role, call) {
            (Role::Writer { stamp, acks: acks @ None }, Call::Write) => {
                *stamp += 1;
                *acks = Some(BTreeSet::new());
                send_to_bases(Msg::Write(*stamp), cx);
            }
            (Role::Reader { read: read @ Reading::Idle, .. }, Call::Read) => {
                *read = Reading::Waiting { answers: BTreeSet::new(), highest: 0 };
                send_to_bases(Msg::Read, cx);
            }
            _ => {}
        }
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        let handled = match (&mut self.role, msg) {
            (Role::Writer { stamp, acks }, Msg::WriteAck(of)) => {
                of == *stamp && on_write_ack(acks, from, cx)
            }
            (Role::Reader { quorum, read }, Msg::ReadAck(stamp)) => {
                read.on_read_ack(from, stamp, *quorum, cx)
            }
            (Role::Base(held), Msg::Write(stamp)) => {
                *held = stamp.max(*held);
                cx.send(from, Msg::WriteAck(stamp));
                true
            }
            (Role::Base(held), Msg::Read) => {
                cx.send(from, Msg::ReadAck(*held));
                true
            }
            _ => false,
        };
        if handled {
            *self.history = Some((from, msg));
        }
    }
}

fn send_to_bases(msg: Msg, cx: &mut Cx<'_, Register>) {
    for base in FIRST_BASE..cx.nodes() {
        cx.send(base, msg);
    }
}

fn majority(bases: usize) -> usize {
    bases / 2 + 1
}

/// Whether the acknowledgement was still waited for.
fn on_write_ack(acks: &mut Option<BTreeSet<Id>>, from: Id, cx: &mut Cx<'_, Register>) -> bool {
    let Some(acked) = acks else { return false };
    acked.insert(from);
    if acked.len() >= majority(cx.nodes() - FIRST_BASE) {
        *acks = None;
        cx.output(Reply::Written);
    }
    true
}

impl Reading {
    /// Whether the answer was still waited for.
    fn on_read_ack(
        &mut self,
        from: Id,
        stamp: Stamp,
        quorum: usize,
        cx: &mut Cx<'_, Register>,
    ) -> bool {
        let Reading::Waiting { answers, highest } = self else { return false };
        answers.insert(from);
        *highest = stamp.max(*highest);
        if answers.len() >= quorum {
            cx.output(Reply::Returned(*highest));
            *self = Reading::Done;
        }
        true
    }
}

/// Watches operations begin and end.
struct Monitor {
    /// A read must also see the writes that end during it.
    return_concurrent: bool,
}

/// What the monitor has seen.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Operations {
    writes_begun: Stamp,
    writes_ended: Stamp,
    read: Read,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Read {
    NotBegun,
    /// It may return no value older than this.
    Begun {
        oldest: Stamp,
    },
    /// It has returned a value that it may return.
    Ended,
    /// It has returned a value that it may not return.
    Wrong {
        returned: Stamp,
        oldest: Stamp,
        newest: Stamp,
    },
}

impl Observer<Register> for Monitor {
    type State = Operations;

    fn start(&self) -> Operations {
        Operations { writes_begun: 0, writes_ended: 0, read: Read::NotBegun }
    }

    fn wants(&self, seen: &Seen<'_, Register>) -> bool {
        matches!(seen, Seen::Call { .. } | Seen::Output { .. })
    }

    fn observe(&self, state: &mut Operations, seen: Seen<'_, Register>) {
        match seen {
            Seen::Call { call: Call::Write, .. } => state.begin_write(),
            Seen::Call { call: Call::Read, .. } => {
                state.read = Read::Begun { oldest: state.writes_ended };
            }
            Seen::Output { output: Reply::Written, .. } => {
                state.writes_ended = state.writes_begun;
            }
            Seen::Output { output: Reply::Returned(stamp), .. } => {
                state.end_read(*stamp, self.return_concurrent);
            }
            _ => {}
        }
    }
}

impl Operations {
    /// A call to a writer that is busy begins nothing.
    fn begin_write(&mut self) {
        if self.writes_begun == self.writes_ended {
            self.writes_begun += 1;
        }
    }

    fn end_read(&mut self, returned: Stamp, return_concurrent: bool) {
        let Read::Begun { mut oldest } = self.read else { return };
        if return_concurrent {
            oldest = self.writes_ended;
        }
        let newest = self.writes_begun;
        self.read = if (oldest..=newest).contains(&returned) {
            Read::Ended
        } else {
            Read::Wrong { returned, oldest, newest }
        };
    }
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let bases = parameters.number("bases");
    let quorum = match parameters.bug() {
        Some("minority-read") => (majority(bases) - 1).max(1),
        _ => majority(bases),
    };
    let mut roles = vec![Role::Base(0); FIRST_BASE + bases];
    roles[WRITER] = Role::Writer { stamp: 0, acks: None };
    roles[READER] = Role::Reader { quorum, read: Reading::Idle };
    let nodes = roles.into_iter().map(|role| Register { role, history: history::new(parameters) });
    let return_concurrent = parameters.bug() == Some("return-concurrent");
    let mut system = System::new(nodes)
        .observe(Monitor { return_concurrent })
        .always_observed("regular", |seen: &Operations| !matches!(seen.read, Read::Wrong { .. }))
        .sometimes_observed("read and written", |seen: &Operations| {
            seen.read == Read::Ended && seen.writes_ended > 0
        })
        .call(READER, Call::Read);
    for _ in 0..parameters.number("writes") {
        system = system.call(WRITER, Call::Write);
    }
    Ok(Box::new(system.expect_kinds()))
}

#[cfg(test)]
mod tests {
    use allways::{Options, Outcome, Search, Verdict};

    fn check(set: &[(&str, &str)]) -> Outcome {
        let options = Options { search: Search::Classic, ..Options::default() };
        crate::find("register").unwrap().build(set).unwrap().check_with(&options).unwrap()
    }

    fn holds_with(set: &[(&str, &str)], states: u64) {
        let outcome = check(set);
        assert_eq!(outcome.verdict, Verdict::Holds, "{set:?}");
        assert!(outcome.complete, "{set:?}");
        assert_eq!(outcome.statistics.unique_states, Some(states), "{set:?}");
    }

    #[test]
    fn is_regular_and_a_counted_history_only_costs_states() {
        holds_with(&[], 1_807);
        holds_with(&[("history", "counted")], 3_628);
    }

    #[test]
    fn is_regular_at_other_sizes() {
        holds_with(&[("bases", "1")], 20);
        holds_with(&[("bases", "2")], 180);
        holds_with(&[("bases", "4")], 22_184);
        holds_with(&[("bases", "1"), ("writes", "3")], 88);
        holds_with(&[("bases", "2"), ("writes", "2")], 647);
    }

    #[test]
    fn a_read_need_not_return_what_a_concurrent_write_has_written() {
        for bases in ["1", "2", "3", "4"] {
            let outcome = check(&[("bug", "return-concurrent"), ("bases", bases)]);
            assert_eq!(outcome.violation.unwrap().property, "regular");
        }
        let outcome = check(&[("bug", "return-concurrent")]);
        assert_eq!(outcome.violation.unwrap().run.events.len(), 6);
    }

    #[test]
    fn a_read_from_a_minority_is_not_regular() {
        let outcome = check(&[("bug", "minority-read")]);
        assert_eq!(outcome.violation.unwrap().property, "regular");
        let outcome = check(&[("bug", "minority-read"), ("bases", "2")]);
        assert_eq!(outcome.verdict, Verdict::Holds);
    }
}
