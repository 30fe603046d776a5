//! A key-value server with a replica: processes with threads inside, which talk over streams.
//!
//! The primary has a thread for each client. A put changes the store and hands what has changed to one more thread, both
//! while the store is locked; that thread passes all changes on to the replica, one after the other, and only when the replica has one
//! does its client get an answer. So what was put can be read from the replica, by whoever knows that it was put, and in the
//! end both have the same. The replica has a thread for what comes from the primary, and one for each client that reads.
//!
//! Every client puts a value of its own, all of them under the same key, and then reads that key from the replica.

use crate::together::spawn;
use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::{Checkable, Error};
use allways_threads::Program;
use allways_threads::net::{TcpListener, TcpStream};
use allways_threads::sync::{Arc, Mutex, mpsc};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};

pub(crate) const ENTRY: Entry = Entry {
    name: "kv-server",
    about: "a key-value server with a thread for each client, and a replica that clients read from (threads)",
    parameters: &[
        Parameter {
            name: "clients",
            about: "how many clients there are",
            kind: Kind::Number { default: 2, min: 1, max: 4 },
        },
        Parameter {
            name: "puts",
            about: "how many values each client puts, one after the other",
            kind: Kind::Number { default: 1, min: 1, max: 3 },
        },
        Parameter {
            name: "reads",
            about: "how often each client reads from the replica after that",
            kind: Kind::Number { default: 1, min: 0, max: 2 },
        },
    ],
    bugs: &[
        Bug {
            name: EARLY_ANSWER,
            about: "a client gets its answer before the replica has what it put",
            defaults: &[("clients", "1"), ("puts", "1"), ("reads", "1")],
        },
        Bug {
            name: PASSED_ON_LATER,
            about: "changes are handed on after the store is unlocked, in another order",
            defaults: &[("clients", "2"), ("puts", "1"), ("reads", "0")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

const EARLY_ANSWER: &str = "early-answer";
const PASSED_ON_LATER: &str = "passed-on-later";

const PRIMARY: &str = "primary:6000";
const REPLICA: &str = "replica:6000";
/// Where the replica hears from the primary.
const CHANGES: &str = "replica:6001";
const KEY: &str = "key";

#[derive(Clone, Copy)]
struct Sizes {
    clients: usize,
    puts: usize,
    reads: usize,
    bug: Option<&'static str>,
}

type Store = BTreeMap<String, String>;

/// What was put, and who is to be told that the replica has it.
struct Change {
    key: String,
    value: String,
    done: mpsc::Sender<()>,
}

/// A stream of lines, both ways.
struct Lines {
    read: BufReader<TcpStream>,
    written: TcpStream,
}

impl Lines {
    fn new(stream: TcpStream) -> Self {
        let written = stream.try_clone().expect("there is room for one more");
        Lines { read: BufReader::new(stream), written }
    }

    fn connect(address: &str) -> Self {
        Lines::new(TcpStream::connect(address).expect("whoever is there listens"))
    }

    fn write(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.written.write_all(line.as_bytes()).expect("whoever is there reads to the end");
    }

    /// The next line, if there is one.
    fn next(&mut self) -> Option<String> {
        let mut line = String::new();
        self.read.read_line(&mut line).expect("lines arrive");
        line.pop()?;
        Some(line)
    }

    fn ask(&mut self, line: &str) -> String {
        self.write(line);
        self.next().expect("every line is answered")
    }
}

fn client(sizes: Sizes, client: usize) {
    let mut primary = Lines::connect(PRIMARY);
    for put in 0..sizes.puts {
        assert_eq!(primary.ask(&format!("put {KEY} {client}.{put}")), "ok");
    }
    if sizes.reads > 0 {
        let mut replica = Lines::connect(REPLICA);
        for _ in 0..sizes.reads {
            let read = replica.ask(&format!("get {KEY}"));
            // Somebody else's may have come after its own, but none of its own before the last.
            let last = format!("{client}.{}", sizes.puts - 1);
            let is_old =
                read == "nothing" || read.starts_with(&format!("{client}.")) && read != last;
            assert!(!is_old, "client {client} has put {last:?}, and reads {read:?}");
        }
    }
}

/// Accepts as many as there are clients, with a thread for each.
fn serve(
    listener: &TcpListener,
    clients: usize,
    answer: impl Fn(&str) -> String + Clone + Send + 'static,
) {
    let threads: Vec<_> = (0..clients)
        .map(|connection| {
            let (stream, _) = listener.accept().expect("somebody connects");
            let answer = answer.clone();
            spawn(format!("connection {connection}"), move || {
                let mut lines = Lines::new(stream);
                while let Some(line) = lines.next() {
                    let answer = answer(&line);
                    lines.write(&answer);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
}

fn primary(sizes: Sizes) {
    let listener = TcpListener::bind(PRIMARY).expect("the address is its own");
    let mut replica = Lines::connect(CHANGES);
    let store = Arc::new(Mutex::new(Store::new()));
    let (changes, changed) = mpsc::channel::<Change>();
    let passes_on = spawn("replication", move || {
        for Change { key, value, done } in changed {
            assert_eq!(replica.ask(&format!("{key} {value}")), "ok");
            // Whoever does not wait does not mind.
            let _ = done.send(());
        }
        replica
    });
    serve(&listener, sizes.clients, {
        let (store, changes) = (Arc::clone(&store), changes.clone());
        move |line| put(line, &store, &changes, sizes.bug)
    });
    drop(changes);
    let mut replica = passes_on.join().expect("it does not panic");
    let store = store.lock().expect("nobody panics");
    replica.write(&format!("end {}", store.get(KEY).expect("it was put")));
}

fn put(
    line: &str,
    store: &Mutex<Store>,
    changes: &mpsc::Sender<Change>,
    bug: Option<&str>,
) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let ["put", key, value] = words[..] else { return "what?".to_owned() };
    let (done, is_done) = mpsc::channel();
    let change = Change { key: key.to_owned(), value: value.to_owned(), done };
    {
        let mut store = store.lock().expect("nobody panics");
        store.insert(key.to_owned(), value.to_owned());
        if bug == Some(PASSED_ON_LATER) {
            drop(store);
        }
        changes.send(change).expect("it is passed on as long as there are clients");
    }
    if bug != Some(EARLY_ANSWER) {
        is_done.recv().expect("the replica gets it");
    }
    "ok".to_owned()
}

fn replica(sizes: Sizes) {
    let [for_changes, for_clients] =
        [CHANGES, REPLICA].map(|address| TcpListener::bind(address).expect("it is its own"));
    let store = Arc::new(Mutex::new(Store::new()));
    let changes = spawn("changes", {
        let store = Arc::clone(&store);
        move || {
            let (stream, _) = for_changes.accept().expect("the primary connects");
            let mut primary = Lines::new(stream);
            while let Some(line) = primary.next() {
                let (key, value) = line.split_once(' ').expect("a line has a key and a value");
                let mut store = store.lock().expect("nobody panics");
                if key == "end" {
                    let own = store.get(KEY).map(String::as_str);
                    assert_eq!(own, Some(value), "the replica has what the primary has");
                    break;
                }
                store.insert(key.to_owned(), value.to_owned());
                drop(store);
                primary.write("ok");
            }
        }
    });
    let readers = if sizes.reads > 0 { sizes.clients } else { 0 };
    serve(&for_clients, readers, move |line| {
        let key = line.trim_start_matches("get ");
        let store = store.lock().expect("nobody panics");
        store.get(key).cloned().unwrap_or_else(|| "nothing".to_owned())
    });
    changes.join().expect("it does not panic");
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let sizes = Sizes {
        clients: parameters.number("clients"),
        puts: parameters.number("puts"),
        reads: parameters.number("reads"),
        bug: parameters.bug(),
    };
    let mut program = Program::of_processes()
        .binds_first()
        .process("primary", move || primary(sizes))
        .process("replica", move || replica(sizes));
    for number in 0..sizes.clients {
        program = program.process(format!("client {number}"), move || client(sizes, number));
    }
    Ok(Box::new(program))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{executions, threads};
    use allways::Cause;

    #[test]
    fn clients_come_put_and_read_in_any_order() {
        for ([clients, puts, reads], expected) in [
            (["1", "1", "1"], 1),
            (["1", "3", "2"], 1),
            // In which order they connect, and in which they put.
            (["2", "1", "0"], 2 * 2),
            // If who put first connects first to the replica, it reads before the other's put, or before or after the other reads;
            // if not, before or after the other reads.
            (["2", "1", "1"], 2 * 2 * (3 + 2)),
        ] {
            let set = [("clients", clients), ("puts", puts), ("reads", reads)];
            assert_eq!(executions("kv-server", &set), expected, "{set:?}");
        }
    }

    #[test]
    fn bugs_show() {
        for (bug, what) in [
            (EARLY_ANSWER, "client 0 has put \"0.0\", and reads \"nothing\""),
            (PASSED_ON_LATER, "the replica has what the primary has"),
        ] {
            let violation = threads("kv-server", &[("bug", bug)]).violation.unwrap();
            assert_eq!(violation.cause, Cause::Panic);
            assert!(violation.property.contains(what), "{violation}");
        }
    }
}
