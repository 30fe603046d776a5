//! A system that can be deployed and checked while it runs, whatever its nodes are.
//!
//! [`Repeated`] makes one of a [`System`]: its nodes run as [`Instances`], its driver's scripts are
//! carried out in one instance after the other, and every instance that a snapshot has is a system
//! that starts there, with what is left of the scripts.
//!
//! In each instance the live driver carries out the scripts that begin at one node, chosen at random;
//! the scripts of the others are what may still come. So the running system is mostly free of
//! contention, and the check looks for what contention would do to the states that it is in.

use crate::coin::Coin;
use crate::instances::{Calls, Instances, indices, project};
use crate::process::serve;
use crate::{Error, Live, LiveNode, Protocol, Recorded};
use allways::{Checkable, Id, Network, Snapshot, System};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// So many messages may be dropped in a check of a system over TCP that drops messages.
const DROPS: u8 = 3;

/// How the nodes of a deployment speak with each other: what a check has to reckon with.
///
/// ```
/// use allways_live::{Circumstances, Protocol};
/// let lossy = Circumstances { protocol: Protocol::Tcp, drops: true };
/// assert_ne!(lossy, Circumstances::default());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Circumstances {
    /// What carries messages. Over UDP, the network is as the system declares it; over TCP, it is
    /// ordered.
    pub protocol: Protocol,
    /// Whether messages are dropped on purpose.
    pub drops: bool,
}

/// A call that the driver makes: the node, and what is asked of it, encoded.
///
/// ```no_run
/// # fn of(calls: Vec<allways_live::DriverCall>) {
/// for allways_live::DriverCall { node, .. } in calls {
///     println!("node {node} is called");
/// }
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DriverCall {
    /// The node that is called.
    pub node: usize,
    pub(crate) call: Vec<u8>,
}

/// Something to check: a system that starts where a snapshot was taken.
///
/// ```no_run
/// # fn of(cases: Vec<allways_live::Case>) {
/// for case in cases {
///     println!("instance {}: {:?}", case.instance, case.system.property_names());
/// }
/// # }
/// ```
pub struct Case {
    /// The instance that it is about.
    pub instance: u64,
    /// What [`Deployable::continued`] needs to make the system again: JSON.
    pub snapshot: String,
    /// The system.
    pub system: Box<dyn Checkable>,
}

/// What online checking has to know about a system. See [`Repeated`] for how to get one.
///
/// ```
/// use allways::prelude::*;
/// use allways_live::sample::{Account, Transfer};
/// use allways_live::{Deployable, Repeated};
/// let system = System::new([Account(5), Account(5)]).call(0, Transfer { to: 1, amount: 3 });
/// let deployable: Box<dyn Deployable> = Box::new(Repeated::new(system).unwrap());
/// assert_eq!(deployable.nodes(), 2);
/// ```
pub trait Deployable: Send + Sync {
    /// How many nodes a deployment has.
    fn nodes(&self) -> usize;

    /// Runs the node with this number as this process: see [`serve`](crate::serve).
    ///
    /// # Errors
    ///
    /// If it cannot be started, or fails.
    fn run(
        &self,
        node: usize,
        place: Place,
    ) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

    /// The calls that the driver makes in this instance, in order; the seed decides between many.
    fn calls(&self, instance: u64, seed: u64) -> Vec<DriverCall>;

    /// The first instance that a snapshot knows nothing about.
    ///
    /// # Errors
    ///
    /// If the snapshot is of other nodes.
    fn next_instance(&self, recorded: &Recorded) -> Result<u64, Error>;

    /// What to check from a snapshot: what is small first, then what happened last.
    ///
    /// # Errors
    ///
    /// If the snapshot is of other nodes.
    fn cases(&self, recorded: &Recorded, circumstances: Circumstances) -> Result<Vec<Case>, Error>;

    /// The system of a [`Case`] again.
    ///
    /// # Errors
    ///
    /// If this is no snapshot of this system.
    fn continued(&self, snapshot: &str) -> Result<Box<dyn Checkable>, Error>;
}

/// Where a node listens and what else it needs: see [`Live`].
///
/// ```
/// let place = allways_live::Place::default();
/// assert_eq!(place.drop, 0.0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Where to listen for messages and for control; otherwise on ports that the system chooses.
    pub listen: Option<(std::net::SocketAddr, std::net::SocketAddr)>,
    /// What carries messages.
    pub protocol: Protocol,
    /// Where the state is kept.
    pub directory: Option<std::path::PathBuf>,
    /// What the node is, in words: see [`Live::label`].
    pub label: String,
    /// The key that all share.
    pub key: Option<crate::Key>,
    /// With which probability messages are dropped.
    pub drop: f64,
    /// What coins depend on.
    pub seed: Option<u64>,
}

type After<T> = Arc<dyn Fn(&T) -> Duration + Send + Sync>;

/// A system whose nodes decide again and again.
///
/// ```
/// use allways::prelude::*;
/// use allways_live::Repeated;
/// use allways_live::sample::{Account, Transfer};
/// let system = System::new([Account(5), Account(5)]).call(0, Transfer { to: 1, amount: 3 });
/// let repeated = Repeated::new(system).unwrap();
/// # let _ = repeated;
/// ```
pub struct Repeated<N: LiveNode> {
    system: System<N>,
    after: Option<After<N::Timer>>,
    configure: fn(&mut N, &N),
}

impl<N: LiveNode> Repeated<N> {
    /// Of this system: its nodes, its network, its driver's scripts, and of its properties those
    /// that must always hold.
    ///
    /// ```
    /// # use allways_live::{Repeated, sample::Account};
    /// # use allways::System;
    /// assert!(Repeated::new(System::new([Account(5)])).is_ok());
    /// ```
    ///
    /// # Errors
    ///
    /// If a check could not start in the middle of it: it has observers, for example.
    pub fn new(system: System<N>) -> Result<Self, Error> {
        let system = system.only_always();
        let nodes = system.nodes().iter().map(|node| Instances::new(node.clone()));
        let up = |node| allways::Local { node, timers: vec![], fires_left: None, up: true };
        let snapshot = Snapshot { locals: nodes.map(up).collect(), envelopes: vec![] };
        let (snapshot, _) = project(&snapshot, 0)?;
        let started = system.clone().starting_at(snapshot);
        let options = allways::Options { max_depth: Some(0), ..allways::Options::default() };
        started.try_check(&options).map_err(|error| Error::new(error.to_string()))?;
        Ok(Repeated { system, after: None, configure: |_, _| {} })
    }

    /// How long after it is set a timer fires.
    ///
    /// ```
    /// # use allways_live::{Repeated, sample::Account};
    /// # use allways::System;
    /// use std::time::Duration;
    /// let repeated = Repeated::new(System::new([Account(5)])).unwrap();
    /// let repeated = repeated.timers(|_| Duration::from_secs(1));
    /// # let _ = repeated;
    /// ```
    #[must_use]
    pub fn timers(mut self, after: impl Fn(&N::Timer) -> Duration + Send + Sync + 'static) -> Self {
        self.after = Some(Arc::new(after));
        self
    }

    /// What of a state is configuration: given a state and the node as the system has it, makes the
    /// state one of that node. So a saved run can be replayed with another configuration.
    ///
    /// ```
    /// # use allways_live::{Repeated, sample::Account};
    /// # use allways::System;
    /// let repeated = Repeated::new(System::new([Account(5)])).unwrap();
    /// let repeated = repeated.configured(|_state, _node| {}); // there is none
    /// # let _ = repeated;
    /// ```
    #[must_use]
    pub fn configured(mut self, configure: fn(&mut N, &N)) -> Self {
        self.configure = configure;
        self
    }

    fn decode(&self, recorded: &Recorded) -> Result<Snapshot<Instances<N>>, Error> {
        let snapshot = recorded.decode::<Instances<N>>()?;
        let (has, nodes) = (snapshot.locals.len(), self.system.size());
        match has == nodes {
            true => Ok(snapshot),
            false => Err(Error::new(format!(
                "the deployment has {has} nodes, but the system has {nodes}"
            ))),
        }
    }

    /// What is left of the scripts when these calls were made, each with its number.
    fn left(&self, made: &Calls<N>) -> Vec<(usize, Calls<N>)> {
        let mut made = made.clone();
        let mut left = Vec::new();
        for (number, script) in self.system.scripts().iter().enumerate() {
            let mut rest = Vec::new();
            for call in script {
                // A call that was made is one of some script; which does not matter.
                match made.iter().position(|other| other == call) {
                    Some(at) if rest.is_empty() => drop(made.remove(at)),
                    _ => rest.push(call.clone()),
                }
            }
            if !rest.is_empty() {
                left.push((number, rest));
            }
        }
        left
    }

    fn system(&self, mut continued: Continued<N>) -> System<N> {
        for (local, node) in continued.snapshot.locals.iter_mut().zip(self.system.nodes()) {
            (self.configure)(&mut local.node, node);
        }
        let scripts = self.left(&continued.made).into_iter();
        let scripts = scripts.filter(|(number, _)| continued.scripts.contains(number));
        let mut system = self.system.clone();
        if let Some(drops) = continued.ordered {
            system = system.network(Network::ordered().drops(drops));
        }
        system
            .with_scripts(scripts.map(|(_, script)| script).collect())
            .starting_at(continued.snapshot)
    }

    fn case(&self, instance: u64, continued: Continued<N>) -> Result<Case, Error> {
        let snapshot = serde_json::to_string(&continued)
            .map_err(|error| Error::new(format!("a state cannot be written as JSON: {error}")))?;
        Ok(Case { instance, snapshot, system: Box::new(self.system(continued)) })
    }
}

/// A snapshot of one instance with what a check from there is to do, as it is saved.
#[derive(Serialize, Deserialize)]
#[serde(bound = "N: LiveNode")]
struct Continued<N: LiveNode> {
    snapshot: Snapshot<N>,
    /// The calls that were made before.
    made: Calls<N>,
    /// The numbers of the scripts that may go on.
    scripts: Vec<usize>,
    /// Over TCP: how many messages may be dropped.
    ordered: Option<u8>,
}

// By hand: a derive would ask that `N` itself can be cloned, which it can, and its parts, too.
impl<N: LiveNode> Clone for Continued<N> {
    fn clone(&self) -> Self {
        Continued {
            snapshot: self.snapshot.clone(),
            made: self.made.clone(),
            scripts: self.scripts.clone(),
            ordered: self.ordered,
        }
    }
}

impl<N: LiveNode> Deployable for Repeated<N> {
    fn nodes(&self) -> usize {
        self.system.size()
    }

    fn run(
        &self,
        node: usize,
        place: Place,
    ) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send>> {
        let initial = self.system.nodes().get(node).cloned();
        let after = self.after.clone();
        Box::pin(async move {
            let initial = initial.ok_or_else(|| Error::new(format!("there is no node {node}")))?;
            let mut live = Live::new(Id::new(node), Instances::new(initial)).placed(place);
            if let Some(after) = after {
                live = live.timers(move |(_, timer)| after(timer));
            }
            serve(live).await
        })
    }

    fn calls(&self, instance: u64, seed: u64) -> Vec<DriverCall> {
        let mut coin = Coin::new(seed ^ instance.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let scripts = self.system.scripts();
        let owners: BTreeSet<Id> = scripts.iter().filter_map(|s| Some(s.first()?.0)).collect();
        let owners: Vec<Id> = owners.into_iter().collect();
        if owners.is_empty() {
            return Vec::new();
        }
        let owner = owners[coin.below(owners.len())];
        let mut queues: Vec<_> = scripts
            .iter()
            .filter(|script| script.first().is_some_and(|(node, _)| *node == owner))
            .map(|script| script.iter())
            .collect();
        let mut calls = Vec::new();
        while !queues.is_empty() {
            let at = coin.below(queues.len());
            match queues[at].next() {
                None => drop(queues.swap_remove(at)),
                Some((node, call)) => {
                    if let Ok(call) = postcard::to_stdvec(&(instance, call)) {
                        calls.push(DriverCall { node: node.index(), call });
                    }
                }
            }
        }
        calls
    }

    fn next_instance(&self, recorded: &Recorded) -> Result<u64, Error> {
        Ok(indices(&self.decode(recorded)?).last().map_or(0, |last| last + 1))
    }

    fn cases(&self, recorded: &Recorded, circumstances: Circumstances) -> Result<Vec<Case>, Error> {
        let snapshot = self.decode(recorded)?;
        let ordered = (circumstances.protocol == Protocol::Tcp).then_some(if circumstances.drops {
            DROPS
        } else {
            0
        });
        let (mut small, mut large) = (Vec::new(), Vec::new());
        for index in indices(&snapshot).into_iter().rev() {
            let (snapshot, made) = project(&snapshot, index)?;
            let left: Vec<usize> = self.left(&made).into_iter().map(|(number, _)| number).collect();
            let of = |scripts: Vec<usize>| Continued {
                snapshot: snapshot.clone(),
                made: made.clone(),
                scripts,
                ordered,
            };
            if left.len() <= 1 {
                small.push(self.case(index, of(left))?);
                continue;
            }
            for script in &left {
                small.push(self.case(index, of(vec![*script]))?);
            }
            large.push(self.case(index, of(left))?);
        }
        small.append(&mut large);
        Ok(small)
    }

    fn continued(&self, snapshot: &str) -> Result<Box<dyn Checkable>, Error> {
        let continued: Continued<N> = serde_json::from_str(snapshot)
            .map_err(|error| Error::new(format!("this is no snapshot of this system: {error}")))?;
        Ok(Box::new(self.system(continued)))
    }
}
