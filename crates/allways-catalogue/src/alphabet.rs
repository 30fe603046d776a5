//! A client and a server for letters of the alphabet, as in Leungwattanakit and others, "Modular software model checking for distributed
//! systems" (2014), table 2.
//!
//! The client has a producer and a consumer thread for each connection. The producer connects and sends numbers, a line each; the consumer
//! reads the answers. The server has a thread for each connection, which answers the number `n` with the `n`th letter of the alphabet, on a line of
//! its own. With `choices=client` each producer sends one of two patterns of numbers; with `choices=server` each answer
//! may be an upper-case letter; with `choices=both` both.
//!
//! Connections are independent of each other but for the order in which they come, so that is all that executions differ in, beside the choices: `c!`
//! for `c` connections.

use crate::together::spawn;
use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::{Checkable, Error};
use allways_threads::net::{TcpListener, TcpStream};
use allways_threads::sync::{Arc, Mutex};
use allways_threads::{Program, rand};
use std::io::{BufRead, BufReader, Write};

pub(crate) const ENTRY: Entry = Entry {
    name: "alphabet",
    about: "a client with producers and consumers, and a server with a thread for each connection, for letters (threads)",
    parameters: &[
        Parameter {
            name: "connections",
            about: "how many connections the client makes",
            kind: Kind::Number { default: 2, min: 1, max: 6 },
        },
        Parameter {
            name: "messages",
            about: "how many numbers are sent over each",
            kind: Kind::Number { default: 2, min: 1, max: 8 },
        },
        Parameter {
            name: "choices",
            about: "who makes choices: which numbers are sent, which case the letters have",
            kind: Kind::Word(&["none", "client", "server", "both"]),
        },
        Parameter {
            name: "short-reads",
            about: "how many reads may return less than there is, for each direction of a connection",
            kind: Kind::Number { default: 0, min: 0, max: 2 },
        },
    ],
    bugs: &[
        Bug {
            name: SHARED_ANSWER,
            about: "all threads of the server build their answers in one place",
            defaults: &[("connections", "2"), ("messages", "1"), ("choices", "none")],
        },
        Bug {
            name: ONE_READ,
            about: "the server takes what one read returns for a line",
            defaults: &[("connections", "1"), ("messages", "1"), ("short-reads", "1")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

const SHARED_ANSWER: &str = "shared-answer";
const ONE_READ: &str = "one-read";

const ADDRESS: &str = "server:2600";
const LETTERS: usize = 26;

#[derive(Clone, Copy)]
struct Sizes {
    connections: usize,
    messages: usize,
    /// Whether the client, and the server, make choices.
    choices: [bool; 2],
    bug: Option<&'static str>,
}

fn letter(number: usize) -> char {
    char::from(b'a' + (number % LETTERS) as u8)
}

/// What a producer sends: numbers of two digits and more are there, so that half of a line is a number too.
fn pattern(sizes: Sizes, connection: usize) -> Vec<usize> {
    let is_other = sizes.choices[0] && rand::coin();
    let first = 10 + connection * sizes.messages;
    let numbers = (first..first + sizes.messages).map(|number| number % LETTERS);
    if is_other { numbers.rev().collect() } else { numbers.collect() }
}

fn client(sizes: Sizes) {
    let producers: Vec<_> = (0..sizes.connections)
        .map(|connection| {
            spawn(format!("producer {connection}"), move || produce(sizes, connection))
        })
        .collect();
    producers.into_iter().for_each(|producer| producer.join().expect("it does not panic"));
}

/// Sends numbers, while another thread reads the answers.
fn produce(sizes: Sizes, connection: usize) {
    let numbers = pattern(sizes, connection);
    let mut stream = TcpStream::connect(ADDRESS).expect("the server listens");
    let answers = stream.try_clone().expect("there is room for one more");
    let consumer = spawn(format!("consumer {connection}"), {
        let numbers = numbers.clone();
        move || consume(sizes, answers, &numbers)
    });
    for number in numbers {
        // In one piece: what is written at once may be read at once.
        stream.write_all(format!("{number}\n").as_bytes()).expect("the server listens to the end");
    }
    consumer.join().expect("it does not panic");
}

fn consume(sizes: Sizes, stream: TcpStream, numbers: &[usize]) {
    let mut lines = BufReader::new(stream).lines();
    for &number in numbers {
        let line = lines.next().expect("all is answered").expect("answers arrive");
        let fits = |line: &str| match sizes.choices[1] {
            true => line.eq_ignore_ascii_case(&letter(number).to_string()),
            false => line == letter(number).to_string(),
        };
        assert!(fits(&line), "letter {number} is {:?}, not {line:?}", letter(number));
    }
}

fn server(sizes: Sizes) {
    let listener = TcpListener::bind(ADDRESS).expect("the address is its own");
    let answer = Arc::new(Mutex::new(String::new()));
    let threads: Vec<_> = (0..sizes.connections)
        .map(|connection| {
            let (stream, _) = listener.accept().expect("somebody connects");
            let answer = Arc::clone(&answer);
            spawn(format!("connection {connection}"), move || serve(sizes, stream, &answer))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
}

fn serve(sizes: Sizes, stream: TcpStream, shared: &Mutex<String>) {
    let mut answers = stream.try_clone().expect("there is room for one more");
    let mut requests = BufReader::new(stream);
    for _ in 0..sizes.messages {
        let mut line = String::new();
        match sizes.bug {
            Some(ONE_READ) => {
                let read = requests.fill_buf().expect("requests arrive");
                line = String::from_utf8_lossy(read).into_owned();
                let len = line.len();
                requests.consume(len);
            }
            _ => drop(requests.read_line(&mut line).expect("requests arrive")),
        }
        let number = line.trim_end().parse().expect("each line is a number");
        let letter = letter(number);
        let is_upper = sizes.choices[1] && rand::coin();
        let letter = if is_upper { letter.to_ascii_uppercase() } else { letter };
        let answer = match sizes.bug {
            Some(SHARED_ANSWER) => {
                *shared.lock().expect("nobody panics") = format!("{letter}\n");
                shared.lock().expect("nobody panics").clone()
            }
            _ => format!("{letter}\n"),
        };
        answers.write_all(answer.as_bytes()).expect("the client listens to the end");
    }
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let choices = parameters.word("choices");
    let sizes = Sizes {
        connections: parameters.number("connections"),
        messages: parameters.number("messages"),
        choices: ["client", "server"].map(|who| choices == who || choices == "both"),
        bug: parameters.bug(),
    };
    let short_reads = parameters.number("short-reads");
    let program = Program::of_processes()
        .binds_first()
        .short_reads(u32::try_from(short_reads).unwrap_or(u32::MAX))
        .process("client", move || client(sizes))
        .process("server", move || server(sizes));
    Ok(Box::new(program))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{executions, threads};
    use allways::Cause;

    #[test]
    fn connections_come_in_any_order() {
        for (connections, expected) in [("1", 1), ("2", 2), ("3", 6), ("4", 24)] {
            for messages in ["1", "2", "4"] {
                let set = [("connections", connections), ("messages", messages)];
                assert_eq!(executions("alphabet", &set), expected, "{set:?}");
            }
        }
    }

    #[test]
    fn each_choice_doubles() {
        // Each of two producers once; the server for each of four answers.
        for (choices, expected) in [("client", 2 * 4), ("server", 2 * 16), ("both", 2 * 64)] {
            assert_eq!(executions("alphabet", &[("choices", choices)]), expected);
        }
    }

    #[test]
    fn whoever_reads_lines_does_not_mind_short_reads() {
        let set = [("connections", "1"), ("messages", "2"), ("short-reads", "1")];
        assert!(executions("alphabet", &set) > 1);
    }

    #[test]
    fn bugs_show() {
        for (bug, what) in [(SHARED_ANSWER, "letter"), (ONE_READ, "letter 10 is 'k', not \"b\"")] {
            let violation = threads("alphabet", &[("bug", bug)]).violation.unwrap();
            assert_eq!(violation.cause, Cause::Panic);
            assert!(violation.property.contains(what), "{violation}");
        }
    }
}
