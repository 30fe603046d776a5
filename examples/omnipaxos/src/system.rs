//! The deployment: servers, links that may fail, who is called and what must hold.

use crate::fingerprint::Fingerprint;
use crate::server::{Call, Msg, Server, short};
use crate::version::ABOUT;
use allways::prelude::*;
use allways::{Checkable, Rebuilt, View};
use allways_cli::{Entry, Kind, Parameter, Parameters};
use std::fmt;

/// As many servers as the crate is about.
const NODES: usize = 3;

/// What must hold of all servers together, and of each by itself.
pub const AGREEMENT: &str = "decided prefixes agree";
pub const KEEPING: &str = "nobody takes back what it has decided";

/// The system on the command line.
pub const ENTRY: Entry = Entry::new(
    "omnipaxos",
    ABOUT,
    &[
        Parameter {
            name: "leaders",
            about: "how many of the servers ever take over",
            kind: Kind::Number { default: 2, min: 1, max: NODES as u64 },
        },
        Parameter {
            name: "elections",
            about: "how often each of those does at most",
            kind: Kind::Number { default: 1, min: 1, max: 5 },
        },
        Parameter {
            name: "proposals",
            about: "how many values are appended, each at another server",
            kind: Kind::Number { default: 2, min: 0, max: NODES as u64 },
        },
        Parameter {
            name: "cuts",
            about: "how many links fail, and are there again",
            kind: Kind::Number { default: 1, min: 0, max: 9 },
        },
        Parameter {
            name: "identity",
            about: "what tells states apart",
            kind: Kind::Word(&["fingerprint", "history"]),
        },
    ],
    &[],
    |set| Ok(Box::new(system(set)) as Box<dyn Checkable>),
);

/// What a reader wants to see of a server.
fn show(server: &Server, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let stored = server.disk.0.borrow();
    let log: Vec<u32> = stored.log.iter().map(|value| value.0).collect();
    f.debug_struct("Server")
        .field("promised", &format_args!("{}", short(server.omni.get_promise())))
        .field("accepted", &format_args!("{}", short(stored.accepted_round.unwrap_or_default())))
        .field("log", &log)
        .field("decided", &server.decided)
        .field("waiting", &server.since.waiting)
        .finish()
}

fn system(set: &Parameters) -> System<Rebuilt<Server>> {
    let leaders = set.number("leaders");
    let servers = (0..NODES).map(|node| {
        let takes_over = node < leaders;
        let server = Rebuilt::new(move || Server::new(node as u64 + 1, NODES, takes_over));
        match set.word("identity") {
            "history" => server.show(show),
            _ => server.fingerprint(Fingerprint::of).show(show),
        }
    });
    let links = Faults::none().link(0, 1).link(0, 2).link(1, 2);
    let mut system = System::new(servers)
        .network(Network::ordered())
        .faults(links.partitions(set.number("cuts") as u8))
        .reconnect(Msg::Reconnected)
        .timers(set.number("elections") as u32)
        .always(AGREEMENT, decided(), |decided| {
            decided.iter().all(|one| {
                decided.iter().all(|other| one.starts_with(other) || other.starts_with(one))
            })
        })
        .always(
            KEEPING,
            view(|server: &Rebuilt<Server>| server.with(|server| server.takes_back)),
            |takes_back| !takes_back.contains(&true),
        );
    for node in 0..set.number("proposals") {
        system = system.call(node, Call::Append(7 + node as u32));
    }
    match set.number("proposals") {
        0 => system,
        _ => system.sometimes("all decide", decided(), |decided| {
            decided.iter().all(|decided| !decided.is_empty())
        }),
    }
}

fn decided() -> View<Rebuilt<Server>, Vec<u32>> {
    view(|server: &Rebuilt<Server>| server.with(|server| server.decided.clone()))
}
