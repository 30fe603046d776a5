//! The commands of `allways` for a system of one's own:
//!
//! ```text
//! cargo run --release -p own-system -- check tokens --progress
//! cargo run --release -p own-system -- check tokens --set bug=no-check --save out
//! cargo run --release -p own-system -- replay out/run.json
//! ```

use allways_cli::{Bug, Entry, Kind, Parameter};

static SYSTEMS: &[Entry] = &[Entry::new(
    "tokens",
    "nodes that give tokens away",
    &[
        Parameter {
            name: "nodes",
            about: "how many nodes",
            kind: Kind::Number { default: 4, min: 1, max: 8 },
        },
        Parameter {
            name: "calls",
            about: "how often each is asked to give",
            kind: Kind::Number { default: 2, min: 0, max: 9 },
        },
    ],
    &[Bug {
        name: "no-check",
        about: "gives away what it does not have",
        defaults: &[("nodes", "1"), ("calls", "2")],
    }],
    |set| {
        let checks = set.bug() != Some("no-check");
        Ok(Box::new(own_system::system(set.number("nodes"), set.number("calls"), checks)))
    },
)];

fn main() -> std::process::ExitCode {
    allways_cli::main(SYSTEMS)
}
