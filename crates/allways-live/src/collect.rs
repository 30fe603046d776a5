//! Taking snapshots: asking all nodes to record, and collecting the records.
//!
//! Why what comes out is consistent is told in [`crate::colour`]. This part asks, waits and checks:
//! over TCP until every envelope that was sent before the cut has come in, over UDP for a short
//! grace, after which what has not come in counts as lost.

use crate::colour::Record;
use crate::control::{Control, Request, Status};
use crate::error::cannot;
use crate::wire::Key;
use crate::{DriverCall, Error, LiveNode, Statistics};
use allways::{Id, Local, Snapshot};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How long datagrams that crossed the cut may take.
const GRACE: Duration = Duration::from_millis(20);
/// How long to wait for what was sent over a stream before the cut; whatever is missing then was
/// lost with a connection.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The control ports of all nodes of a deployment.
///
/// ```
/// # use allways_live::{Controls, Live, sample::Account};
/// # use allways::Id;
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let bound = Live::new(Id::new(0), Account(100)).bind().await.unwrap();
/// let (address, control) = (bound.address(), bound.control_address());
/// let running = bound.start(1, vec![address]).await.unwrap();
///
/// let mut controls = Controls::connect(&[control], None).await.unwrap();
/// let snapshot = controls.snapshot().await.unwrap().decode::<Account>().unwrap();
/// assert_eq!(snapshot.locals[0].node, Account(100));
/// controls.stop().await;
/// # running.ended().await.unwrap();
/// # });
/// ```
pub struct Controls {
    key: Option<Key>,
    addresses: Vec<SocketAddr>,
    /// A connection that failed is made again when it is needed.
    controls: Vec<Option<Control>>,
    /// The number of the last snapshot.
    number: u64,
}

impl Controls {
    /// Connects to the nodes at these addresses, which are in the order of their numbers.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let nobody = "127.0.0.1:1".parse().unwrap();
    /// assert!(allways_live::Controls::connect(&[nobody], None).await.is_err());
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// If a node cannot be reached, or is another than it should be.
    pub async fn connect(addresses: &[SocketAddr], key: Option<Key>) -> Result<Self, Error> {
        let mut controls = Controls::later(addresses, key);
        controls.all_status().await?;
        Ok(controls)
    }

    /// Connects when something is asked.
    pub(crate) fn later(addresses: &[SocketAddr], key: Option<Key>) -> Self {
        let controls = addresses.iter().map(|_| None).collect();
        Controls { key, addresses: addresses.to_vec(), controls, number: 0 }
    }

    /// The same nodes, over connections of their own.
    pub(crate) fn again(&self) -> Self {
        Controls::later(&self.addresses, self.key.clone())
    }

    /// How many nodes there are.
    ///
    /// ```no_run
    /// # fn of(controls: allways_live::Controls) {
    /// assert_eq!(controls.nodes(), 3);
    /// # }
    /// ```
    pub fn nodes(&self) -> usize {
        self.addresses.len()
    }

    async fn control(&mut self, node: usize) -> Result<&mut Control, Error> {
        if self.controls[node].is_none() {
            let (address, nodes) = (self.addresses[node], self.addresses.len());
            let mut control = Control::connect(address, self.key.clone()).await?;
            let Status { id, nodes: has, .. } = control.status().await?;
            if (id, has) != (node, nodes) {
                return Err(Error::new(format!(
                    "the node at {address} is node {id} of {has}, not node {node} of {nodes}"
                )));
            }
            self.controls[node] = Some(control);
        }
        self.controls[node].as_mut().ok_or_else(|| Error::new("not connected"))
    }

    /// What comes of an exchange with a node; after one that failed, the connection is made anew.
    fn after<T>(&mut self, node: usize, result: Result<T, Error>) -> Result<T, Error> {
        if result.is_err() {
            self.controls[node] = None;
        }
        result
    }

    async fn status(&mut self, node: usize) -> Result<Status, Error> {
        // A node that has restarted since is asked over a new connection.
        if let Some(control) = &mut self.controls[node] {
            let result = control.status().await;
            if let Ok(status) = self.after(node, result) {
                return Ok(status);
            }
        }
        let result = self.control(node).await?.status().await;
        self.after(node, result)
    }

    async fn all_status(&mut self) -> Result<Vec<Status>, Error> {
        let mut all = Vec::new();
        for node in 0..self.nodes() {
            all.push(self.status(node).await?);
        }
        Ok(all)
    }

    /// What each node says that it is, and over what it speaks; empty if it says nothing: see
    /// [`Live::label`](crate::Live::label).
    ///
    /// ```no_run
    /// # async fn of(mut controls: allways_live::Controls) -> Result<(), allways_live::Error> {
    /// println!("{:?}", controls.labels().await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If a node cannot be reached.
    pub async fn labels(&mut self) -> Result<Vec<String>, Error> {
        Ok(self.all_status().await?.into_iter().map(|status| status.label).collect())
    }

    /// What all nodes together have counted since they started last.
    ///
    /// ```no_run
    /// # async fn of(mut controls: allways_live::Controls) -> Result<(), allways_live::Error> {
    /// println!("{} messages dropped", controls.statistics().await?.dropped);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If a node cannot be reached.
    pub async fn statistics(&mut self) -> Result<Statistics, Error> {
        let mut sum = Statistics::default();
        for status in self.all_status().await? {
            sum += status.statistics;
        }
        Ok(sum)
    }

    /// Calls a node; returns when it has handled the call.
    ///
    /// ```no_run
    /// # use allways_live::sample::{Account, Transfer};
    /// # async fn of(mut controls: allways_live::Controls) -> Result<(), allways_live::Error> {
    /// controls.call::<Account>(0, &Transfer { to: 1, amount: 10 }).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the node cannot be reached, or the call is none of its own.
    pub async fn call<N: LiveNode>(&mut self, node: usize, call: &N::Call) -> Result<(), Error> {
        let call = postcard::to_stdvec(call).map_err(cannot("encode the call"))?;
        self.call_encoded(node, call).await
    }

    /// Makes a call of a driver.
    ///
    /// ```no_run
    /// # use allways_live::{Controls, Deployable};
    /// # async fn of(mut controls: Controls, system: &dyn Deployable) -> Result<(), allways_live::Error> {
    /// for call in system.calls(1, 7) {
    ///     controls.drive(&call).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Controls::call`].
    pub async fn drive(&mut self, call: &DriverCall) -> Result<(), Error> {
        self.call_encoded(call.node, call.call.clone()).await
    }

    async fn call_encoded(&mut self, node: usize, call: Vec<u8>) -> Result<(), Error> {
        let result = self.control(node).await?.ask(&Request::Call(call)).await;
        self.after(node, result).map(drop)
    }

    /// Asks all nodes to end in good order. One that cannot be reached has ended.
    ///
    /// ```no_run
    /// # async fn of(mut controls: allways_live::Controls) {
    /// controls.stop().await;
    /// # }
    /// ```
    pub async fn stop(&mut self) {
        for node in 0..self.nodes() {
            if let Ok(control) = self.control(node).await {
                let _ = control.ask(&Request::Stop).await;
            }
        }
    }

    /// Takes a consistent global snapshot. The system runs on.
    ///
    /// ```no_run
    /// # use allways_live::sample::Account;
    /// # async fn of(mut controls: allways_live::Controls) -> Result<(), allways_live::Error> {
    /// let snapshot = controls.snapshot().await?.decode::<Account>()?;
    /// println!("{:?}", snapshot.locals);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If a node cannot be reached, or crashes meanwhile: the snapshot is given up, and the next may
    /// succeed.
    pub async fn snapshot(&mut self) -> Result<Recorded, Error> {
        let known = self.all_status().await?.iter().map(|status| status.colour).max();
        self.number = self.number.max(known.unwrap_or(0)) + 1;
        let number = self.number;
        for node in 0..self.nodes() {
            let result = self.control(node).await?.ask(&Request::Record(number)).await;
            self.after(node, result)?;
        }
        let start = Instant::now();
        let (records, missing) = loop {
            let records = self.collect(number).await?;
            let waited = start.elapsed();
            match missing(&records) {
                // Nobody can tell; those that crossed the cut are not far.
                None if waited >= GRACE => break (records, 0),
                Some(0) => break (records, 0),
                Some(missing) if waited >= MAX_WAIT => break (records, missing),
                _ => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        };
        let status = self.all_status().await?;
        let restarted = |(status, record): (&Status, &Record)| {
            (status.incarnation != record.incarnation).then_some(status.id)
        };
        if let Some(node) = status.iter().zip(&records).find_map(restarted) {
            return Err(Error::new(format!("node {node} restarted during the snapshot")));
        }
        Ok(Recorded { number, missing, records })
    }

    async fn collect(&mut self, number: u64) -> Result<Vec<Record>, Error> {
        let mut records = Vec::new();
        for node in 0..self.nodes() {
            let result = self.control(node).await?.collect(number).await;
            let record = self.after(node, result)?;
            records.push(record.ok_or_else(|| {
                Error::new(format!("node {node} has no record for snapshot {number}"))
            })?);
        }
        Ok(records)
    }
}

/// Between how many pairs of nodes something that was sent before the cut has not come in; nothing
/// if that cannot be told.
fn missing(records: &[Record]) -> Option<usize> {
    let mut missing = 0;
    for (to, receiver) in records.iter().enumerate() {
        let received = receiver.received.as_ref()?;
        for (from, sender) in records.iter().enumerate() {
            let sent = sender.sent[to];
            // Nothing sent by this incarnation is nothing to wait for.
            missing += usize::from(sent.1 > 0 && received[from] < sent);
        }
    }
    Some(missing)
}

/// A snapshot as the nodes have recorded it.
///
/// ```no_run
/// # use allways_live::sample::Account;
/// # async fn of(mut controls: allways_live::Controls) -> Result<(), allways_live::Error> {
/// let recorded: allways_live::Recorded = controls.snapshot().await?;
/// let snapshot = recorded.decode::<Account>()?;
/// # let _ = snapshot;
/// # Ok(())
/// # }
/// ```
pub struct Recorded {
    /// Its number, counted from one.
    pub number: u64,
    /// Over TCP: between how many pairs of nodes something was lost with a connection.
    pub missing: usize,
    records: Vec<Record>,
}

impl Recorded {
    /// The snapshot, for those who know what the nodes are.
    ///
    /// ```no_run
    /// # use allways_live::{Recorded, sample::Account};
    /// # fn of(recorded: Recorded) -> Result<(), allways_live::Error> {
    /// let total: u64 = recorded.decode::<Account>()?.locals.iter().map(|local| local.node.0).sum();
    /// # let _ = total;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the nodes are others.
    pub fn decode<N: LiveNode>(&self) -> Result<Snapshot<N>, Error> {
        let other = |node: usize| {
            move |_| {
                Error::new(format!(
                    "node {node} is of another kind: its state makes no sense (a system that is watched has nodes of type `Instances`)"
                ))
            }
        };
        let (mut locals, mut envelopes) = (Vec::new(), Vec::new());
        for (node, record) in self.records.iter().enumerate() {
            let (state, timers) = postcard::from_bytes(&record.local).map_err(other(node))?;
            locals.push(Local { node: state, timers, fires_left: None, up: true });
            for (from, msg) in &record.late {
                let msg = postcard::from_bytes(msg).map_err(other(node))?;
                envelopes.push((*from, Id::new(node), msg));
            }
        }
        Ok(Snapshot { locals, envelopes })
    }
}
