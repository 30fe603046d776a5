//! A deployment: how many replicas, what they are asked to do, and what may go wrong.

use crate::disk::Broken;
use crate::properties;
use crate::raft::Raft;
use crate::replica::{Propose, Replica};
use allways::Checkable;
use allways::prelude::*;

/// What is deployed, and within which bounds it is checked.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Which library.
    pub version: Version,
    /// How many replicas.
    pub nodes: usize,
    /// How often the election timeout passes at each, at most.
    pub timeouts: u32,
    /// How often more it may pass at the first. Replicas are alike, so this is any one of them.
    pub more_timeouts: u32,
    /// How many commands replicas are asked to propose: the first replica, the second, and so on.
    pub proposals: usize,
    /// How many crashes there are at most, of any replicas. What has crashed may restart.
    pub crashes: u8,
    /// What lies between them.
    pub network: Network,
    /// What the deployment gets wrong.
    pub broken: Option<Broken>,
    /// What must hold.
    pub required: Required,
}

/// What must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Required {
    /// All of Raft's properties. They fail before the application notices anything.
    All,
    /// Only what the application notices: that committed entries agree, and stay.
    Agreement,
}

impl Default for Deployment {
    /// The smallest that shows what is wrong with raftbare 0.2.2.
    fn default() -> Self {
        Deployment {
            version: Version::Raftbare,
            nodes: 3,
            timeouts: 1,
            more_timeouts: 1,
            proposals: 0,
            crashes: 0,
            network: Network::ordered(),
            broken: None,
            required: Required::All,
        }
    }
}

/// A library under test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// raftbare 0.2.2, the last under this name.
    Raftbare,
    /// noraft 0.4.0, the last before the repair.
    Noraft04,
    /// noraft 0.5.0, repaired: in what handles events, one line has changed.
    Noraft05,
}

impl Deployment {
    /// Ready to be checked.
    pub fn checkable(&self) -> Box<dyn Checkable> {
        match self.version {
            Version::Raftbare => Box::new(self.system::<raftbare::Node>()),
            Version::Noraft04 => Box::new(self.system::<noraft_0_4::Node>()),
            Version::Noraft05 => Box::new(self.system::<noraft_0_5::Node>()),
        }
    }

    /// The system of these replicas, whose library is `R` whatever `version` says.
    pub fn system<R: Raft>(&self) -> System<Replica<R>> {
        let replicas = (0..self.nodes).map(|id| {
            let more = if id == 0 { self.more_timeouts } else { 0 };
            Replica::new(id, self.nodes, self.timeouts + more, self.broken)
        });
        let mut system = System::new(replicas)
            .network(self.network)
            .faults(Faults::none().crashes(self.crashes).restarts())
            .sometimes("an entry is committed", view(|n: &Replica<R>| n.told.len()), |told| {
                told.iter().any(|&entries| entries > 0)
            });
        // Others than the leader hear of it with the next message that it sends.
        if self.timeouts + self.more_timeouts > 1 || self.proposals > 0 {
            system = system.sometimes(
                "an entry is committed by all",
                view(|n: &Replica<R>| n.told.len()),
                |told| told.iter().all(|&entries| entries > 0),
            );
        }
        for proposal in 0..self.proposals {
            system = system.call(proposal % self.nodes, Propose);
        }
        match self.required {
            Required::All => properties::agreement(properties::of_raft(system)),
            Required::Agreement => properties::agreement(system),
        }
    }
}
