//! The commands of `allways` for deployments of `raftbare` and `noraft`:
//!
//! ```text
//! cargo run --release -p check-raftbare -- check --save out
//! cargo run --release -p check-raftbare -- replay out/run.json
//! cargo run --release -p check-raftbare -- check --set version=noraft-0.5.0
//! cargo run --release -p check-raftbare -- check --set bug=forgets-vote
//! ```

use allways::Network;
use allways_cli::{Bug, Entry, Kind, Parameter};
use check_raftbare::{Broken, Deployment, Required, Version};

static SYSTEMS: &[Entry] = &[Entry::new(
    "raftbare",
    "replicas of the Raft library raftbare, as published, or of noraft, its later name",
    &[
        Parameter {
            name: "version",
            about: "which release",
            kind: Kind::Word(&["raftbare-0.2.2", "noraft-0.4.0", "noraft-0.5.0"]),
        },
        Parameter {
            name: "nodes",
            about: "how many replicas",
            kind: Kind::Number { default: 3, min: 1, max: 5 },
        },
        Parameter {
            name: "timeouts",
            about: "how often the election timeout passes at each replica",
            kind: Kind::Number { default: 1, min: 0, max: 9 },
        },
        Parameter {
            name: "more-timeouts",
            about: "how often more it passes at the first replica",
            kind: Kind::Number { default: 1, min: 0, max: 9 },
        },
        Parameter {
            name: "proposals",
            about: "how many replicas are asked to propose a command, from the first on",
            kind: Kind::Number { default: 0, min: 0, max: 9 },
        },
        Parameter {
            name: "crashes",
            about: "how many crashes there are; what crashed may restart",
            kind: Kind::Number { default: 0, min: 0, max: 9 },
        },
        Parameter {
            name: "network",
            about: "ordered: first in, first out; unordered: any order, and loss; duplicating: any number of times, too",
            kind: Kind::Word(&["ordered", "unordered", "duplicating"]),
        },
        Parameter {
            name: "drops",
            about: "how many messages get lost on an ordered network",
            kind: Kind::Number { default: 0, min: 0, max: 9 },
        },
        Parameter {
            name: "required",
            about: "all of Raft's properties, or only that committed entries agree and stay",
            kind: Kind::Word(&["all", "agreement"]),
        },
    ],
    &[
        Bug {
            name: "forgets-vote",
            about: "the deployment does not write votes to the disk",
            defaults: &[("version", "noraft-0.5.0"), ("more-timeouts", "0"), ("crashes", "1")],
        },
        Bug {
            name: "forgets-log",
            about: "the deployment does not write entries to the disk",
            defaults: &[("version", "noraft-0.5.0"), ("crashes", "1")],
        },
    ],
    |set| {
        let deployment = Deployment {
            version: match set.word("version") {
                "noraft-0.4.0" => Version::Noraft04,
                "noraft-0.5.0" => Version::Noraft05,
                _ => Version::Raftbare,
            },
            nodes: set.number("nodes"),
            timeouts: set.number("timeouts") as u32,
            more_timeouts: set.number("more-timeouts") as u32,
            proposals: set.number("proposals"),
            crashes: set.number("crashes") as u8,
            network: match set.word("network") {
                "unordered" => Network::unordered(),
                "duplicating" => Network::duplicating(),
                _ => Network::ordered().drops(set.number("drops") as u8),
            },
            broken: set.bug().map(|bug| match bug {
                "forgets-vote" => Broken::ForgetsVote,
                _ => Broken::ForgetsLog,
            }),
            required: match set.word("required") {
                "agreement" => Required::Agreement,
                _ => Required::All,
            },
        };
        Ok(deployment.checkable())
    },
)];

fn main() -> std::process::ExitCode {
    allways_cli::main(SYSTEMS)
}
