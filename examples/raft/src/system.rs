//! The system, its parameters and its bugs: what the command line offers.

use crate::node::{Bounded, Bounds, Means};
use crate::peer::Mistake;
use crate::properties::with_properties;
use allways::prelude::*;
use allways::{Error, Rebuilt};
use allways_cli::{Bug, Entry, Kind, Parameter, Parameters};

/// All that can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// How many nodes.
    pub nodes: usize,
    /// How far they go.
    pub bounds: Bounds,
    /// How often one of them may crash, and start again.
    pub crashes: u8,
    /// The network between them.
    pub network: Network,
    /// What is wrong with the deployment.
    pub mistake: Option<Mistake>,
    /// How states are told apart and rebuilt.
    pub means: Means,
}

impl Setup {
    /// The nodes, their network and their faults, without properties.
    pub fn nodes(&self) -> System<Rebuilt<Bounded>> {
        let node = |n| Bounded::node(n, self.nodes, self.bounds, self.mistake, self.means);
        System::new((0..self.nodes).map(node))
            .network(self.network)
            .faults(Faults::none().crashes(self.crashes).restarts())
    }

    /// The system, and what must hold.
    pub fn system(&self) -> System<Rebuilt<Bounded>> {
        with_properties(self.nodes())
    }
}

const FORGETS_VOTE: &str = "forgets-vote";
const UNSYNCED_ENTRIES: &str = "unsynced-entries";
const UNSTORED_COMMIT: &str = "unstored-commit";

/// For the command line.
pub static RAFT: Entry = Entry::new(
    "raft",
    "the raft crate, version 0.7, as it is published",
    &[
        Parameter {
            name: "nodes",
            about: "how many nodes",
            kind: Kind::Number { default: 3, min: 1, max: 5 },
        },
        Parameter {
            name: "terms",
            about: "no node stands for election in a later term",
            kind: Kind::Number { default: 1, min: 1, max: 9 },
        },
        Parameter {
            name: "proposals",
            about: "a leader takes no more once this many are in its log",
            kind: Kind::Number { default: 1, min: 0, max: 8 },
        },
        Parameter {
            name: "heartbeats",
            about: "how often each node may send heartbeats",
            kind: Kind::Number { default: 0, min: 0, max: 8 },
        },
        Parameter {
            name: "crashes",
            about: "how often a node may crash, and start again from its disk",
            kind: Kind::Number { default: 0, min: 0, max: 4 },
        },
        Parameter {
            name: "network",
            about: "any order and loss, the same with messages twice, or queues",
            kind: Kind::Word(&["unordered", "duplicating", "ordered"]),
        },
        Parameter {
            name: "drops",
            about: "how many messages an ordered network may lose",
            kind: Kind::Number { default: 0, min: 0, max: 4 },
        },
        Parameter {
            name: "identity",
            about: "what tells states of a node apart",
            kind: Kind::Word(&["fingerprint", "history"]),
        },
        Parameter {
            name: "checkpoints",
            about: "whether states are rebuilt from copies",
            kind: Kind::Word(&["on", "off"]),
        },
        Parameter {
            name: "keeps",
            about: "how many values of nodes each thread keeps to rebuild states from",
            kind: Kind::Number { default: 8192, min: 1, max: 1 << 20 },
        },
    ],
    &[
        Bug {
            name: FORGETS_VOTE,
            about: "after a restart a node does not know for whom it has voted",
            defaults: &[("terms", "1"), ("proposals", "0"), ("crashes", "1")],
        },
        Bug {
            name: UNSTORED_COMMIT,
            about: "entries are applied, but not how far they are committed is stored",
            defaults: &[("nodes", "1"), ("terms", "1"), ("proposals", "0"), ("crashes", "1")],
        },
        Bug {
            name: UNSYNCED_ENTRIES,
            about: "entries are acknowledged before they are safe from a crash",
            defaults: &[("terms", "2"), ("proposals", "0"), ("crashes", "1")],
        },
    ],
    |set| Ok(Box::new(setup(set)?.system())),
);

fn setup(set: &Parameters) -> Result<Setup, Error> {
    let drops = set.number("drops") as u8;
    let network = match set.word("network") {
        "ordered" => Network::ordered().drops(drops),
        _ if drops > 0 => {
            let reason = "on a network without order, a message that is lost is one that is not delivered yet: `drops` is for `network=ordered`";
            return Err(Error::System(reason.to_owned()));
        }
        "duplicating" => Network::duplicating(),
        _ => Network::unordered(),
    };
    Ok(Setup {
        nodes: set.number("nodes"),
        bounds: Bounds {
            terms: set.number("terms") as u64,
            proposals: set.number("proposals"),
            heartbeats: set.number("heartbeats"),
        },
        crashes: set.number("crashes") as u8,
        network,
        mistake: match set.bug() {
            Some(FORGETS_VOTE) => Some(Mistake::ForgetsVote),
            Some(UNSYNCED_ENTRIES) => Some(Mistake::UnsyncedEntries),
            Some(UNSTORED_COMMIT) => Some(Mistake::UnstoredCommit),
            _ => None,
        },
        means: Means {
            fingerprints: set.word("identity") == "fingerprint",
            checkpoints: set.word("checkpoints") == "on",
            keeps: set.number("keeps"),
        },
    })
}
