//! A replicated accumulator: the DEMETER paper's example (figure 1).
//!
//! The client, node 0, chooses one of two sequences of numbers and sends it to node 1, the primary.
//! The primary adds each number to its sum and forwards it to the secondaries, the nodes after it,
//! which add it to theirs. Every server writes a checkpoint of its sum once, at any time: an
//! internal action, here a timer, that nobody else can see. So the orders of sums and checkpoints
//! within a server multiply over the servers, unless a checker looks at each server by itself (the
//! paper's section 2.3).
//!
//! The properties keep to that: those that relate two servers read only the sums, and whether a
//! checkpoint is one that the server may have written is for each server to say.

use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::prelude::*;
use allways::{Checkable, Error, Kinds};
use std::collections::VecDeque;

pub(crate) const ENTRY: Entry = Entry {
    name: "accumulator",
    about: "servers that sum up a client's numbers and write checkpoints (DEMETER paper, figure 1)",
    parameters: &[
        Parameter {
            name: "replicas",
            about: "how many servers there are, the primary among them",
            kind: Kind::Number { default: 2, min: 1, max: 4 },
        },
        Parameter {
            name: "numbers",
            about: "how many numbers the client sends",
            kind: Kind::Number { default: 2, min: 1, max: 6 },
        },
    ],
    bugs: &[
        Bug {
            name: FORWARD_FIRST,
            about: "the primary forwards a number before it adds it to its own sum",
            defaults: &[("replicas", "2"), ("numbers", "1")],
        },
        Bug {
            name: FORWARD_SUM,
            about: "the primary forwards its sum in place of the number",
            defaults: &[("replicas", "2"), ("numbers", "2")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

const FORWARD_FIRST: &str = "forward-first";
const FORWARD_SUM: &str = "forward-sum";

const PRIMARY: Id = Id::new(1);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Accumulator {
    Client {
        /// How many numbers it sends.
        numbers: usize,
        chosen: Option<usize>,
    },
    Server(Server),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Server {
    sum: u32,
    checkpoint: Option<u32>,
    /// Numbers forwarded but not yet added; used by a bug only.
    pending: VecDeque<u32>,
    forward: Forward,
}

/// How the primary forwards.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Forward {
    AddedNumber,
    NumberFirst,
    Sum,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Kinds)]
enum Timer {
    /// Write a checkpoint.
    Checkpoint,
    /// Add the first number that is pending.
    Add,
}

/// The client's part begins.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
struct Choose;

/// The client's sequences: 1, 2, 3, ... and 1, 3, 4, ...
fn sequence(chosen: usize) -> impl Iterator<Item = u32> {
    let second = if chosen == 0 { 2 } else { 3 };
    std::iter::once(1).chain(second..)
}

/// The sums on the way through the first `numbers` numbers of a sequence, zero among them.
fn sums(chosen: usize, numbers: usize) -> Vec<u32> {
    let steps = sequence(chosen).take(numbers).scan(0, |sum, n| {
        *sum += n;
        Some(*sum)
    });
    std::iter::once(0).chain(steps).collect()
}

/// The sums that a server has had when its sum is `sum`; `None` if no sequence leads to it.
///
/// Sequences share no sums but the first two, so there is only one way to each.
fn passed(sum: u32, numbers: usize) -> Option<Vec<u32>> {
    (0..2).find_map(|chosen| {
        let mut sums = sums(chosen, numbers);
        let at = sums.iter().position(|other| *other == sum)?;
        sums.truncate(at + 1);
        Some(sums)
    })
}

impl Accumulator {
    fn server(&self) -> Option<&Server> {
        match self {
            Accumulator::Client { .. } => None,
            Accumulator::Server(server) => Some(server),
        }
    }

    /// The sum of a server.
    fn sum(&self) -> Option<u32> {
        self.server().map(|server| server.sum)
    }

    /// Whether the checkpoint, if there is one, is a sum that the server has had.
    fn checkpoint_fits(&self, numbers: usize) -> bool {
        let written = self.server().and_then(|server| Some((server.sum, server.checkpoint?)));
        written.is_none_or(|(sum, checkpoint)| {
            passed(sum, numbers).is_none_or(|passed| passed.contains(&checkpoint))
        })
    }
}

impl Server {
    fn receive(&mut self, number: u32, cx: &mut Cx<'_, Accumulator>) {
        if cx.id() != PRIMARY {
            self.sum += number;
            return;
        }
        let forwarded = match self.forward {
            Forward::AddedNumber => {
                self.sum += number;
                number
            }
            Forward::NumberFirst => {
                self.pending.push_back(number);
                cx.set_timer(Timer::Add);
                number
            }
            Forward::Sum => {
                self.sum += number;
                self.sum
            }
        };
        for secondary in PRIMARY.index() + 1..cx.nodes() {
            cx.send(secondary, forwarded);
        }
    }

    fn add_pending(&mut self, cx: &mut Cx<'_, Accumulator>) {
        self.sum += self.pending.pop_front().unwrap_or_default();
        if !self.pending.is_empty() {
            cx.set_timer(Timer::Add);
        }
    }
}

impl Node for Accumulator {
    type Msg = u32;
    type Timer = Timer;
    type Call = Choose;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        if self.server().is_some() {
            cx.set_timer(Timer::Checkpoint);
        }
    }

    fn on_call(&mut self, Choose: Choose, cx: &mut Cx<'_, Self>) {
        if let Accumulator::Client { numbers, chosen } = self {
            let choice = cx.choose(2);
            *chosen = Some(choice);
            for number in sequence(choice).take(*numbers) {
                cx.send(PRIMARY, number);
            }
        }
    }

    fn on_message(&mut self, _: Id, number: u32, cx: &mut Cx<'_, Self>) {
        if let Accumulator::Server(server) = self {
            server.receive(number, cx);
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        if let Accumulator::Server(server) = self {
            match timer {
                Timer::Checkpoint => server.checkpoint = Some(server.sum),
                Timer::Add => server.add_pending(cx),
            }
        }
    }
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let numbers = parameters.number("numbers");
    let forward = match parameters.bug() {
        Some(FORWARD_FIRST) => Forward::NumberFirst,
        Some(FORWARD_SUM) => Forward::Sum,
        _ => Forward::AddedNumber,
    };
    let client = Accumulator::Client { numbers, chosen: None };
    let server = Server { sum: 0, checkpoint: None, pending: VecDeque::new(), forward };
    let servers = vec![Accumulator::Server(server); parameters.number("replicas")];
    let system = System::new(std::iter::once(client).chain(servers))
        .network(Network::ordered())
        .call(0, Choose)
        .always("sums are of a sequence", view(Accumulator::sum), move |sums| {
            sums.iter().flatten().all(|sum| passed(*sum, numbers).is_some())
        })
        .always("no secondary is ahead", view(Accumulator::sum), |sums| {
            sums.iter().flatten().all(|sum| Some(*sum) <= sums[PRIMARY.index()])
        })
        .always(
            "checkpoints are of the past",
            view(move |node: &Accumulator| node.checkpoint_fits(numbers)),
            |fits| fits.iter().all(|fits| *fits),
        )
        .sometimes("all done", view(Accumulator::sum), move |sums| {
            let done = |sum: &u32| passed(*sum, numbers).is_some_and(|p| p.len() == numbers + 1);
            sums.iter().flatten().all(done)
        });
    Ok(Box::new(system.expect_kinds()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{classic, counts};

    #[test]
    fn sums_of_both_sequences() {
        assert_eq!(sums(0, 4), [0, 1, 3, 6, 10]);
        assert_eq!(sums(1, 4), [0, 1, 4, 8, 13]);
        assert_eq!(passed(8, 6), Some(vec![0, 1, 4, 8]));
        assert_eq!(passed(6, 2), None);
    }

    /// What [`passed`] relies on.
    #[test]
    fn sequences_share_no_sums_but_the_first_two() {
        let (a, b) = (sums(0, 6), sums(1, 6));
        assert!(a[2..].iter().all(|sum| !b.contains(sum)));
    }

    #[test]
    fn a_checkpoint_must_be_of_the_past() {
        let fits = |sum, checkpoint| {
            let (pending, forward) = (VecDeque::new(), Forward::AddedNumber);
            let checkpoint = Some(checkpoint);
            Accumulator::Server(Server { sum, checkpoint, pending, forward }).checkpoint_fits(6)
        };
        assert!(fits(4, 4) && fits(4, 1) && fits(4, 0));
        assert!(!fits(4, 3) && !fits(4, 8));
    }

    /// Until the client chooses, each server has its checkpoint or not. After that, each server has
    /// received so many numbers, a secondary no more than the primary, and its checkpoint is not
    /// written or one of as many sums as numbers received and one more.
    fn closed_form(replicas: u32, numbers: u64) -> u64 {
        let secondary = |p: u64| (0..=p).map(|q| q + 2).sum::<u64>();
        let chosen = (0..=numbers).map(|p| (p + 2) * secondary(p).pow(replicas - 1)).sum::<u64>();
        2u64.pow(replicas) + 2 * chosen
    }

    #[test]
    fn counts_have_a_closed_form() {
        assert_eq!(counts("accumulator", &[]), (114, 175));
        for (replicas, numbers) in [(1, 1), (1, 6), (2, 2), (2, 6), (3, 2), (4, 1)] {
            let set = [("replicas", &*replicas.to_string()), ("numbers", &*numbers.to_string())];
            assert_eq!(counts("accumulator", &set).0, closed_form(replicas, numbers), "{set:?}");
        }
    }

    #[test]
    fn both_bugs_put_a_secondary_ahead() {
        for bug in ENTRY.bugs {
            let outcome = classic("accumulator", &[("bug", bug.name)]);
            outcome.assert_violated("no secondary is ahead");
        }
        classic("accumulator", &[("bug", FORWARD_FIRST), ("replicas", "1")]).assert_holds();
        classic("accumulator", &[("bug", FORWARD_SUM), ("numbers", "1")]).assert_holds();
    }
}
