//! The DEMETER paper's replicated accumulator as its figure 1 has it: processes with threads, which talk over streams.
//!
//! The client chooses one of two sequences of numbers and sends it to the primary, which adds each number to its sum and forwards it to the
//! secondaries, which add it to theirs. In every server a second thread writes a checkpoint of the sum, once. Sum and checkpoint are critical
//! sections of the same lock, and nobody outside of a server can tell in which order they came. So there are `n + 1` orders in each of
//! `m` servers, and `(n + 1)^m` executions for each sequence (the paper's section 2.3): 18 in all for two servers, two numbers and two
//! sequences.

use crate::together::spawn;
use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::{Checkable, Error};
use allways_threads::net::{TcpListener, TcpStream};
use allways_threads::sync::{Arc, Mutex};
use allways_threads::{Program, rand};
use std::io::{self, Read, Write};

pub(crate) const ENTRY: Entry = Entry {
    name: "accumulator-threads",
    about: "a client and servers that sum up its numbers, with a checkpoint thread each (DEMETER paper, figure 1)",
    parameters: &[
        Parameter {
            name: "replicas",
            about: "how many servers there are, the primary among them",
            kind: Kind::Number { default: 2, min: 1, max: 6 },
        },
        Parameter {
            name: "numbers",
            about: "how many numbers the client sends",
            kind: Kind::Number { default: 2, min: 1, max: 6 },
        },
        Parameter {
            name: "sequences",
            about: "how many sequences of numbers the client chooses from",
            kind: Kind::Number { default: 2, min: 1, max: 2 },
        },
    ],
    bugs: &[
        Bug {
            name: FORWARD_SUM,
            about: "the primary forwards its sum in place of the number",
            defaults: &[("replicas", "2"), ("numbers", "2"), ("sequences", "1")],
        },
        Bug {
            name: LOST_NUMBER,
            about: "the checkpoint takes the sum away while it is written, and puts it back later",
            defaults: &[("replicas", "1"), ("numbers", "1"), ("sequences", "1")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

const FORWARD_SUM: &str = "forward-sum";
const LOST_NUMBER: &str = "lost-number";

const PORT: u16 = 7_000;

/// The primary, and the secondaries after it.
fn name(server: usize) -> String {
    match server {
        0 => "primary".to_owned(),
        secondary => format!("secondary {secondary}"),
    }
}

/// The client's sequences: 1, 2, 3, ... and 1, 3, 4, ...
fn sequence(chosen: usize, numbers: usize) -> Vec<u32> {
    let second = if chosen == 0 { 2 } else { 3 };
    std::iter::once(1).chain(second..).take(numbers).collect()
}

fn connect(server: usize) -> TcpStream {
    TcpStream::connect((&*name(server), PORT)).expect("all servers listen")
}

fn send(stream: &mut TcpStream, number: u32) {
    stream.write_all(&number.to_be_bytes()).expect("whom it sends to listens to the end");
}

/// The next number, if there is one.
fn receive(stream: &mut TcpStream) -> Option<u32> {
    let mut bytes = [0; 4];
    match stream.read_exact(&mut bytes) {
        Ok(()) => Some(u32::from_be_bytes(bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
        Err(error) => panic!("a number does not arrive: {error}"),
    }
}

fn client(numbers: usize, sequences: usize) {
    let chosen = if sequences == 1 { 0 } else { rand::below(sequences as u64) as usize };
    let mut primary = connect(0);
    for number in sequence(chosen, numbers) {
        send(&mut primary, number);
    }
}

#[derive(Clone, Copy)]
struct Server {
    server: usize,
    replicas: usize,
    numbers: usize,
    sequences: usize,
    bug: Option<&'static str>,
}

impl Server {
    fn run(self) {
        let listener = TcpListener::bind((&*name(self.server), PORT)).expect("it is its own");
        let sum = Arc::new(Mutex::new(0));
        let checkpoint = spawn("checkpoint", {
            let sum = Arc::clone(&sum);
            move || self.write_checkpoint(&sum)
        });
        let forwarded_to = if self.server == 0 { 1..self.replicas } else { 0..0 };
        let mut secondaries: Vec<TcpStream> = forwarded_to.map(connect).collect();
        let (mut from, _) = listener.accept().expect("somebody connects");
        let mut received = Vec::new();
        while let Some(number) = receive(&mut from) {
            received.push(number);
            let sum = {
                let mut sum = sum.lock().expect("nobody panics");
                *sum += number;
                *sum
            };
            let forwarded = if self.bug == Some(FORWARD_SUM) { sum } else { number };
            secondaries.iter_mut().for_each(|secondary| send(secondary, forwarded));
        }
        let checkpoint = checkpoint.join().expect("it does not panic");
        self.judge(&received, *sum.lock().expect("nobody panics"), checkpoint);
    }

    /// What is written.
    fn write_checkpoint(self, sum: &Mutex<u32>) -> u32 {
        if self.bug != Some(LOST_NUMBER) {
            return *sum.lock().expect("nobody panics");
        }
        let taken = std::mem::take(&mut *sum.lock().expect("nobody panics"));
        *sum.lock().expect("nobody panics") = taken;
        taken
    }

    /// In the end a server has received what the client sent, and its checkpoint is a sum that it has had.
    fn judge(self, received: &[u32], sum: u32, checkpoint: u32) {
        let sent = (0..self.sequences).map(|chosen| sequence(chosen, self.numbers));
        assert!(
            sent.into_iter().any(|sent| sent == received),
            "the client never sends {received:?}"
        );
        assert_eq!(sum, received.iter().sum::<u32>(), "the sum of {received:?}");
        let mut had = (0..=received.len()).map(|len| received[..len].iter().sum::<u32>());
        assert!(had.any(|had| had == checkpoint), "{checkpoint} was never a sum of {received:?}");
    }
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let [replicas, numbers, sequences] =
        ["replicas", "numbers", "sequences"].map(|name| parameters.number(name));
    let bug = parameters.bug();
    let mut program =
        Program::of_processes().binds_first().process("client", move || client(numbers, sequences));
    for server in 0..replicas {
        let it = Server { server, replicas, numbers, sequences, bug };
        program = program.process(name(server), move || it.run());
    }
    Ok(Box::new(program))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{executions, threads};
    use allways::Cause;

    fn counted(replicas: u64, numbers: u64, sequences: u64) -> u64 {
        let [replicas, numbers, sequences] = [replicas, numbers, sequences].map(|n| n.to_string());
        let set = [("replicas", &*replicas), ("numbers", &*numbers), ("sequences", &*sequences)];
        executions("accumulator-threads", &set)
    }

    #[test]
    fn the_paper_counts_eighteen_executions() {
        assert_eq!(executions("accumulator-threads", &[]), 18);
    }

    #[test]
    fn orders_within_servers_multiply() {
        for numbers in 1..=6 {
            for replicas in 1..=6 {
                let expected = (numbers + 1u64).pow(replicas as u32);
                // The larger ones take long unless optimised.
                if expected <= 1_000 || !cfg!(debug_assertions) {
                    assert_eq!(counted(replicas, numbers, 1), expected, "{replicas}, {numbers}");
                }
            }
        }
        assert_eq!(counted(3, 2, 2), 54);
    }

    #[test]
    fn bugs_show() {
        for (bug, what) in
            [(FORWARD_SUM, "the client never sends [1, 3]"), (LOST_NUMBER, "the sum of [1]")]
        {
            let violation = threads("accumulator-threads", &[("bug", bug)]).violation.unwrap();
            assert_eq!(violation.cause, Cause::Panic);
            assert!(violation.property.contains(what), "{violation}");
        }
    }
}
