//! A server: the crate with a wrapper around it that hands it events and sends what it wants sent. This is all that a check needs.

use crate::disk::{Disk, Value};
use crate::fingerprint::{Before, Since};
use crate::version::{entries, outgoing};
use allways::{Cx, Encoded, Id, Rebuild, Rebuilt};
use omnipaxos::ballot_leader_election::Ballot;
use omnipaxos::messages::Message;
use omnipaxos::messages::ballot_leader_election::{BLEMessage, HeartbeatMsg, HeartbeatReply};
use omnipaxos::messages::sequence_paxos::{PaxosMessage, PaxosMsg};
use omnipaxos::util::{LogEntry, NodeId};
use omnipaxos::{ClusterConfig, OmniPaxos, ServerConfig};
use std::fmt;

/// A server of the cluster.
pub struct Server {
    pub omni: OmniPaxos<Value, Disk>,
    pub disk: Disk,
    takes_over: bool,
    /// The round of heartbeats in which it waits for replies.
    round: u32,
    /// What it has decided.
    pub decided: Vec<u32>,
    /// Whether it ever took back what it had decided.
    pub takes_back: bool,
    /// What there is to its state beside what is stored.
    pub since: Since,
}

/// What goes from server to server.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Msg {
    /// A message of the crate: it is neither `Eq` nor `Hash`, so its text tells it apart from others.
    Paxos(Encoded<PaxosMessage<Value>>),
    /// The connection is there again.
    Reconnected,
}

/// What servers are asked to do.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Call {
    Append(u32),
}

/// The server takes over as leader.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TakeOver;

/// In the crate, nodes are counted from one.
pub fn pid(id: Id) -> NodeId {
    id.index() as NodeId + 1
}

impl Server {
    /// One of so many servers that has not started before, and whether it ever takes over.
    pub fn new(pid: NodeId, nodes: usize, takes_over: bool) -> Self {
        let disk = Disk::default();
        let cluster = ClusterConfig {
            configuration_id: 1,
            nodes: (1..=nodes as NodeId).collect(),
            flexible_quorum: None,
        };
        let server = ServerConfig {
            pid,
            // A tick is a timeout, and nothing is sent again: links do not lose single messages.
            election_tick_timeout: 1,
            resend_message_tick_timeout: u64::MAX,
            buffer_size: 1,
            ..ServerConfig::default()
        };
        let omni = cluster.build_for_server(server, disk.clone()).expect("this is a cluster");
        let (decided, since) = (Vec::new(), Since::default());
        Server { omni, disk, takes_over, round: 0, decided, takes_back: false, since }
    }

    /// Sends what the crate wants sent. Heartbeats go nowhere: who leads is up to [`Server::take_over`].
    fn send(&mut self, cx: &mut Cx<'_, Rebuilt<Self>>) -> Vec<PaxosMessage<Value>> {
        let mut sent = Vec::new();
        for message in outgoing(&mut self.omni) {
            match message {
                Message::SequencePaxos(message) => {
                    let to = message.to as usize - 1;
                    cx.send(to, Msg::Paxos(Encoded::by_debug(message.clone())));
                    sent.push(message);
                }
                Message::BLE(BLEMessage { msg: HeartbeatMsg::Request(request), .. }) => {
                    self.round = request.round;
                }
                Message::BLE(_) => {}
            }
        }
        let decided = self.omni.read_decided_suffix(0).unwrap_or_default();
        let decided = decided.iter().filter_map(|entry| match entry {
            LogEntry::Decided(value) | LogEntry::Undecided(value) => Some(value.0),
            _ => None,
        });
        let decided: Vec<u32> = decided.collect();
        self.takes_back |= !decided.starts_with(&self.decided);
        self.decided = decided;
        sent
    }

    /// Makes it the leader of a new round, as if it had heard from enough others that are without one. Safety must not
    /// depend on who is elected, and when, so any server may be at any time.
    fn take_over(&mut self, me: Id) {
        let peer = if pid(me) == 1 { 2 } else { 1 };
        let promised = self.omni.get_promise();
        let reply = HeartbeatReply {
            round: self.round,
            ballot: Ballot::with(1, promised.n, 0, peer),
            leader: Ballot::with(1, u32::MAX, 0, peer),
            happy: false,
        };
        let (from, to) = (peer, pid(me));
        let reply = BLEMessage { from, to, msg: HeartbeatMsg::Reply(reply) };
        self.omni.handle_incoming(Message::BLE(reply));
        self.omni.tick();
    }
}

impl Rebuild for Server {
    type Msg = Msg;
    type Timer = TakeOver;
    type Call = Call;
    type Output = allways::Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Rebuilt<Self>>) {
        if self.takes_over {
            cx.set_timer(TakeOver);
        }
        self.send(cx);
    }

    fn on_timer(&mut self, TakeOver: TakeOver, cx: &mut Cx<'_, Rebuilt<Self>>) {
        cx.set_timer(TakeOver);
        self.take_over(cx.id());
        self.send(cx);
        self.since.took_over();
    }

    fn on_call(&mut self, Call::Append(value): Call, cx: &mut Cx<'_, Rebuilt<Self>>) {
        // Without a reconfiguration nothing is refused.
        let _ = self.omni.append(Value(value));
        let sent = self.send(cx);
        self.since.appended(&[value], &sent, &self.disk);
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Rebuilt<Self>>) {
        let before = Before::of(self);
        match msg {
            Msg::Reconnected => {
                self.omni.reconnected(pid(from));
                let sent = self.send(cx);
                self.since.reconnected(before, &sent);
            }
            Msg::Paxos(message) => {
                self.omni.handle_incoming(Message::SequencePaxos((*message).clone()));
                let sent = self.send(cx);
                self.since.received(before, &message, &sent, &self.disk);
            }
        }
    }
}

/// A ballot in short: `2.1` is the second one, of server 1.
pub fn short(ballot: Ballot) -> String {
    format!("{}.{}", ballot.n, ballot.pid)
}

impl fmt::Debug for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Msg::Paxos(message) = self else { return f.write_str("Reconnected") };
        let values = |values: &[Value]| -> Vec<u32> { values.iter().map(|it| it.0).collect() };
        match &message.msg {
            PaxosMsg::PrepareReq(it) => write!(f, "PrepareReq({})", short(it.n)),
            PaxosMsg::Prepare(it) => {
                let accepted = short(it.n_accepted);
                write!(
                    f,
                    "Prepare({}, accepted {accepted}, decided {})",
                    short(it.n),
                    it.decided_idx
                )
            }
            PaxosMsg::Promise(it) => {
                let accepted = short(it.n_accepted);
                write!(
                    f,
                    "Promise({}, accepted {accepted}, decided {}",
                    short(it.n),
                    it.decided_idx
                )?;
                match entries(&message.msg) {
                    Some(entries) => write!(f, ", {entries})"),
                    None => f.write_str(")"),
                }
            }
            PaxosMsg::AcceptSync(it) => {
                let entries = entries(&message.msg).unwrap_or_default();
                write!(f, "AcceptSync({}, decided {}, {entries})", short(it.n), it.decided_idx)
            }
            PaxosMsg::AcceptDecide(it) => {
                let values = values(&it.entries);
                write!(f, "AcceptDecide({}, decided {}, {values:?})", short(it.n), it.decided_idx)
            }
            PaxosMsg::Accepted(it) => write!(f, "Accepted({}, {})", short(it.n), it.accepted_idx),
            PaxosMsg::NotAccepted(it) => write!(f, "NotAccepted({})", short(it.n)),
            PaxosMsg::Decide(it) => write!(f, "Decide({}, {})", short(it.n), it.decided_idx),
            PaxosMsg::ProposalForward(all) => write!(f, "ProposalForward({:?})", values(all)),
            other => write!(f, "{other:?}"),
        }
    }
}
