//! The task that owns a node.
//!
//! It waits until something happens, takes a batch of messages, timers and calls, and lets the node
//! handle them one after the other. Then, in this order: what the node has persisted is written to disk
//! if it has changed, the messages of the batch are sent, outputs are given out, calls are answered. So
//! nothing is ever said that a crash could make the node forget, and a batch costs one write.

use crate::coin::Coin;
use crate::colour::{Colours, Record};
use crate::control::{Asked, Reply, Request, Status};
use crate::disk::Disk;
use crate::error::cannot;
use crate::runtime::{After, Hear};
use crate::timers::Timers;
use crate::transport::{InOrder, MAX_FRAME, Transport, count};
use crate::wire::{self, Header, Key};
use crate::{Error, LiveNode, Statistics};
use allways::{Id, Input, handle};
use std::collections::VecDeque;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// So many messages are handled before what they led to is written and sent.
const BATCH: usize = 64;
/// A frame may be so many bytes longer than the last without being moved.
pub(crate) const SLACK: usize = 64;

/// The task that owns a node.
pub(crate) struct Task<N: LiveNode> {
    pub id: Id,
    /// What the node is and what carries its messages, in words.
    pub label: String,
    pub nodes: usize,
    pub node: N,
    pub deployment: u64,
    pub incarnation: u64,
    pub transport: Transport,
    pub key: Option<Key>,
    /// The timers as handlers see them.
    pub pending: Vec<N::Timer>,
    pub timers: Timers<N::Timer>,
    pub after: After<N::Timer>,
    /// Messages to oneself: each with its header, as if it had come from the network.
    pub loopback: VecDeque<(Header, N::Msg)>,
    /// What the batch has sent so far: destination, sequence number and frame.
    pub outbox: Vec<(Id, u64, Vec<u8>)>,
    pub outputs: Vec<N::Output>,
    pub hear: Hear<N::Output>,
    /// Calls of the batch that wait for an answer.
    pub replies: Vec<oneshot::Sender<Reply>>,
    /// The number of the last message to each node.
    pub sequences: Vec<u64>,
    /// How large the next frame probably becomes: as large as the last, and a little.
    pub room: usize,
    pub in_order: InOrder,
    pub colours: Colours,
    pub coin: Coin,
    pub drop: f64,
    pub disk: Option<Disk>,
    /// What is on disk.
    pub written: Option<Vec<u8>>,
    pub counts: Statistics,
}

impl<N: LiveNode> Task<N> {
    pub async fn run(
        mut self,
        first: Input<N>,
        mut calls: mpsc::Receiver<Asked>,
        mut others: mpsc::Receiver<Asked>,
    ) -> Result<N, Error> {
        self.step(first);
        self.settle().await?;
        loop {
            let idle = self.loopback.is_empty();
            let deadline = self.timers.next();
            // Whoever asks comes first: one request at a time, so that nobody else waits long.
            tokio::select! {
                biased;
                Some((request, place)) = others.recv() => {
                    if let Request::Stop = request {
                        self.transport.drain().await;
                        tracing::info!(node = self.id.index(), "the node ends");
                        let _ = place.send(Reply::Done);
                        return Ok(self.node);
                    }
                    let reply = self.answer(&request);
                    let _ = place.send(reply);
                }
                Some((request, place)) = calls.recv(), if !self.transport.is_backlogged() => {
                    self.call(&request, place);
                }
                () = std::future::ready(()), if !idle => {}
                () = self.transport.ready(), if idle => {}
                () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)),
                    if idle && deadline.is_some() => {}
            }
            self.take_loopback();
            self.take_network();
            self.take_timers();
            self.settle().await?;
        }
    }

    fn call(&mut self, request: &Request, place: oneshot::Sender<Reply>) {
        let decoded = match request {
            Request::Call(bytes) => postcard::from_bytes(bytes).ok(),
            _ => None,
        };
        match decoded {
            Some(call) => {
                self.counts.calls += 1;
                self.step(Input::Call(call));
                self.replies.push(place);
            }
            None => {
                self.counts.malformed += 1;
                let _ = place.send(Reply::Refused("this is no call of this node".to_owned()));
            }
        }
    }

    /// Answers what changes nothing but the colour. The state is settled: what it says was said.
    fn answer(&mut self, request: &Request) -> Reply {
        match request {
            Request::Record(number) => {
                self.reach(*number);
                Reply::Done
            }
            Request::Collect(number) => {
                let mut record = self.colours.record(*number).cloned();
                if let Some(record) = &mut record {
                    let places = self.in_order.places().to_vec();
                    record.received = self.transport.is_ordered().then_some(places);
                }
                Reply::Record(record)
            }
            Request::Status => Reply::Status(Status {
                id: self.id.index(),
                label: self.label.clone(),
                nodes: self.nodes,
                incarnation: self.incarnation,
                colour: self.colours.current(),
                statistics: self.counts,
            }),
            Request::Call(_) | Request::Stop => Reply::Refused("not here".to_owned()),
        }
    }

    /// Records the state for the snapshot of this number, unless that is done.
    fn reach(&mut self, number: u64) {
        let before = self.colours.current();
        self.colours.reach(number, || Record {
            incarnation: self.incarnation,
            local: postcard::to_stdvec(&(&self.node, &self.pending)).unwrap_or_default(),
            late: Vec::new(),
            sent: self.sequences.iter().map(|&last| (self.incarnation, last)).collect(),
            received: None,
        });
        self.counts.snapshots += u64::from(self.colours.current() > before);
    }

    fn take_loopback(&mut self) {
        // A message to oneself may be handled in the batch that sends it: a crash then loses both.
        for _ in 0..self.loopback.len().min(BATCH) {
            let Some((header, msg)) = self.loopback.pop_front() else { return };
            self.in_order.advances(&header);
            self.deliver(header, msg);
        }
    }

    fn take_network(&mut self) {
        self.transport.flush();
        for _ in 0..BATCH {
            let Some(frame) = self.transport.take(&mut self.counts) else { return };
            let key = self.key.as_ref();
            let decoded =
                wire::decode::<Option<N::Msg>>(key, self.id, self.deployment, self.nodes, frame);
            match decoded {
                Err(refused) => count(refused, &mut self.counts),
                Ok((header, msg)) => {
                    let newer = self.in_order.advances(&header);
                    match msg {
                        Some(msg) if newer || !self.transport.is_ordered() => {
                            self.deliver(header, msg);
                        }
                        // What comes too late on a stream is lost; a greeting has said what it says.
                        _ => {}
                    }
                }
            }
        }
    }

    fn deliver(&mut self, header: Header, msg: N::Msg) {
        self.reach(header.colour);
        if self.colours.is_late(header.colour) {
            let bytes = postcard::to_stdvec(&msg).unwrap_or_default();
            self.colours.late(header.colour, header.from, &bytes);
        }
        self.counts.handled += 1;
        self.step(Input::Message { from: header.from, msg });
    }

    fn take_timers(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let now = Instant::now();
        for _ in 0..BATCH {
            let Some(timer) = self.timers.due(now) else { return };
            self.counts.timers += 1;
            self.step(Input::Timer(timer));
        }
    }

    /// Lets the node handle one input. What it sends carries the colour that it has now.
    fn step(&mut self, input: Input<N>) {
        let coin = &mut self.coin;
        let mut choose = |sides| coin.below(sides);
        let handled =
            handle(&mut self.node, self.id, self.nodes, &mut self.pending, input, &mut choose);
        if !self.pending.is_empty() || self.timers.next().is_some() {
            self.timers.keep(&self.pending, Instant::now(), &self.after);
        }
        self.outputs.extend(handled.outputs);
        for (to, msg) in handled.sends {
            self.send(to, msg);
        }
    }

    fn send(&mut self, to: Id, msg: N::Msg) {
        if to != self.id && self.drop > 0.0 && self.coin.lands(self.drop) {
            self.counts.dropped += 1;
            return;
        }
        let sequence = &mut self.sequences[to.index()];
        let header = Header {
            deployment: self.deployment,
            from: self.id,
            incarnation: self.incarnation,
            sequence: *sequence + 1,
            colour: self.colours.current(),
        };
        if to == self.id {
            *sequence += 1;
            self.loopback.push_back((header, msg));
            return;
        }
        match wire::encode(self.key.as_ref(), to, &header, &Some(&msg), self.room) {
            Ok(frame) if frame.len() <= MAX_FRAME => {
                *sequence += 1;
                self.room = frame.len() + SLACK;
                self.outbox.push((to, header.sequence, frame));
            }
            Ok(frame) => {
                self.counts.oversized += 1;
                tracing::error!(%to, bytes = frame.len(), "a message is too large to be sent");
            }
            Err(error) => {
                self.counts.malformed += 1;
                tracing::error!(%to, %error, "a message cannot be encoded");
            }
        }
    }

    /// Makes what the batch has done last, then known.
    async fn settle(&mut self) -> Result<(), Error> {
        self.persist().await?;
        for (to, sequence, frame) in self.outbox.drain(..) {
            self.transport.send(to, frame, sequence, &mut self.counts);
        }
        for output in self.outputs.drain(..) {
            (self.hear)(&output);
        }
        for place in self.replies.drain(..) {
            let _ = place.send(Reply::Done);
        }
        Ok(())
    }

    async fn persist(&mut self) -> Result<(), Error> {
        let Some(disk) = &self.disk else { return Ok(()) };
        let kept = (self.incarnation, self.node.persisted());
        let bytes = postcard::to_stdvec(&kept).map_err(cannot("encode the state"))?;
        if self.written.as_ref() == Some(&bytes) {
            return Ok(());
        }
        let disk = disk.clone();
        // Not here: others run on this thread, too.
        let written = tokio::task::spawn_blocking(move || disk.write(&bytes).map(|()| bytes));
        let written = written.await.map_err(cannot("write the state"))?;
        self.written = Some(written.map_err(cannot("write the state"))?);
        self.counts.persisted += 1;
        Ok(())
    }
}
