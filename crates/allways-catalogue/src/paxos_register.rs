//! A register on single-decree Paxos: the example of Stateright (`examples/paxos.rs`), step for
//! step, so that the counts can be compared.
//!
//! The first nodes are servers, the others clients. A client writes its own letter at one server
//! and, once that is done, reads at the next. A server that is asked to write starts a ballot of
//! its own, once: it asks the other servers to prepare, takes over the value accepted under the
//! highest ballot that it hears of, has it accepted by a majority and tells the others what was
//! decided. Whoever asked for the decided write is told so; a server that knows the decision
//! answers reads with it and ignores everything else. A client whose value was not decided waits
//! for ever: the register can be written once.
//!
//! A server does its own preparing and accepting at once instead of sending itself messages. It
//! keeps what it was told even when nothing depends on it any more, as the example does.
//!
//! What clients do is the history that must be linearizable.

use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::linear::{History, Linear, Operation, Register, RegisterOp, RegisterRet};
use allways::prelude::*;
use allways::{Checkable, Error, Kinds};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const ENTRY: Entry = Entry {
    name: "paxos-register",
    about: "clients write and read a register on single-decree Paxos (as Stateright's example)",
    parameters: &[
        Parameter {
            name: "servers",
            about: "how many servers there are",
            kind: Kind::Number { default: 3, min: 1, max: 7 },
        },
        Parameter {
            name: "clients",
            about: "how many clients there are",
            kind: Kind::Number { default: 2, min: 1, max: 6 },
        },
    ],
    bugs: &[
        Bug {
            name: STALE_READ,
            about: "a server answers a read with what it has accepted, decided or not",
            defaults: &[("servers", "3"), ("clients", "1")],
        },
        Bug {
            name: IGNORE_PROMISE,
            about: "a server accepts under a lower ballot than it has promised",
            defaults: &[("servers", "3"), ("clients", "2")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

const STALE_READ: &str = "stale-read";
const IGNORE_PROMISE: &str = "ignore-promise";

/// A round, and the server whose ballot it is.
type Ballot = (u32, Id);
/// A request to write: its number, who asks, and the value.
type Proposal = (RequestId, Id, char);
type RequestId = usize;
type Accepted = Option<(Ballot, Proposal)>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum PaxosRegister {
    Server(Server),
    Client(Client),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Server {
    /// The highest ballot that it takes part in.
    ballot: Ballot,
    /// What it was asked to write, and later what it has proposed instead.
    proposal: Option<Proposal>,
    /// Who has prepared for its ballot, and what they had accepted.
    prepared: BTreeMap<Id, Accepted>,
    /// Who has accepted its proposal.
    accepts: BTreeSet<Id>,
    accepted: Accepted,
    decided: bool,
    /// How many servers there are.
    servers: usize,
    bug: Option<&'static str>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Client {
    /// The request that it waits for.
    waits: Option<RequestId>,
    /// How many requests it has made.
    requests: usize,
    /// How many servers there are.
    servers: usize,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
enum Msg {
    Put(RequestId, char),
    PutOk(RequestId),
    Get(RequestId),
    GetOk(RequestId, char),
    Prepare(Ballot),
    Prepared(Ballot, Accepted),
    Accept(Ballot, Proposal),
    Accepted(Ballot),
    Decided(Ballot, Proposal),
}

impl Server {
    fn new(servers: usize, bug: Option<&'static str>) -> Self {
        Server {
            ballot: (0, Id::new(0)),
            proposal: None,
            prepared: BTreeMap::new(),
            accepts: BTreeSet::new(),
            accepted: None,
            decided: false,
            servers,
            bug,
        }
    }

    fn majority(&self) -> usize {
        self.servers / 2 + 1
    }

    fn tell_servers(&self, msg: &Msg, cx: &mut Cx<'_, PaxosRegister>) {
        for server in cx.peers().take_while(|peer| peer.index() < self.servers) {
            cx.send(server, msg.clone());
        }
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, PaxosRegister>) {
        match msg {
            Msg::Get(request) => self.on_get(from, request, cx),
            _ if self.decided => {}
            Msg::Put(request, value) if self.proposal.is_none() => {
                self.on_put((request, from, value), cx);
            }
            Msg::Prepare(ballot) if ballot > self.ballot => {
                self.ballot = ballot;
                cx.send(from, Msg::Prepared(ballot, self.accepted));
            }
            Msg::Prepared(ballot, accepted) if ballot == self.ballot => {
                self.on_prepared(from, accepted, cx);
            }
            Msg::Accept(ballot, proposal) if self.may_accept(ballot) => {
                self.ballot = ballot;
                self.accepted = Some((ballot, proposal));
                cx.send(from, Msg::Accepted(ballot));
            }
            Msg::Accepted(ballot) if ballot == self.ballot => self.on_accepted(from, cx),
            Msg::Decided(ballot, proposal) => {
                self.ballot = ballot;
                self.accepted = Some((ballot, proposal));
                self.decided = true;
            }
            _ => {}
        }
    }

    /// A server that does not know the decision must not answer: another may know it.
    fn on_get(&self, from: Id, request: RequestId, cx: &mut Cx<'_, PaxosRegister>) {
        if self.decided || self.bug == Some(STALE_READ) {
            let value = self.accepted.map_or(char::default(), |(_, (_, _, value))| value);
            cx.send(from, Msg::GetOk(request, value));
        }
    }

    fn may_accept(&self, ballot: Ballot) -> bool {
        ballot >= self.ballot || self.bug == Some(IGNORE_PROMISE)
    }

    /// Starts a ballot of its own, and prepares for it.
    fn on_put(&mut self, proposal: Proposal, cx: &mut Cx<'_, PaxosRegister>) {
        self.proposal = Some(proposal);
        self.ballot = (self.ballot.0 + 1, cx.id());
        self.tell_servers(&Msg::Prepare(self.ballot), cx);
        self.on_prepared(cx.id(), self.accepted, cx);
    }

    /// When a majority has prepared: proposes, and accepts its own proposal.
    fn on_prepared(&mut self, from: Id, accepted: Accepted, cx: &mut Cx<'_, PaxosRegister>) {
        self.prepared.insert(from, accepted);
        if self.prepared.len() != self.majority() {
            return;
        }
        let highest = self.prepared.values().flatten().max().map(|(_, proposal)| *proposal);
        let Some(proposal) = highest.or(self.proposal) else { return };
        self.proposal = Some(proposal);
        self.accepted = Some((self.ballot, proposal));
        self.tell_servers(&Msg::Accept(self.ballot, proposal), cx);
        self.on_accepted(cx.id(), cx);
    }

    /// When a majority has accepted: decides, and answers whoever asked for what was decided.
    fn on_accepted(&mut self, from: Id, cx: &mut Cx<'_, PaxosRegister>) {
        self.accepts.insert(from);
        let Some(proposal) = self.proposal else { return };
        if self.accepts.len() == self.majority() {
            self.decided = true;
            self.tell_servers(&Msg::Decided(self.ballot, proposal), cx);
            cx.send(proposal.1, Msg::PutOk(proposal.0));
        }
    }
}

impl Client {
    /// Makes the next request: the first is a write, the second a read.
    fn request(&mut self, cx: &mut Cx<'_, PaxosRegister>) {
        let index = cx.id().index();
        let server = (index + self.requests) % self.servers;
        let request = (self.requests + 1) * index;
        if self.requests == 0 {
            let value = char::from(b'A' + (index - self.servers) as u8);
            cx.output(Operation::Invoke(RegisterOp::Write(value)));
            cx.send(server, Msg::Put(request, value));
        } else {
            cx.output(Operation::Invoke(RegisterOp::Read));
            cx.send(server, Msg::Get(request));
        }
        self.waits = Some(request);
        self.requests += 1;
    }

    fn on_message(&mut self, msg: Msg, cx: &mut Cx<'_, PaxosRegister>) {
        match msg {
            Msg::PutOk(request) if self.waits == Some(request) => {
                cx.output(Operation::Return(RegisterRet::Written));
                self.request(cx);
            }
            Msg::GetOk(request, value) if self.waits == Some(request) => {
                cx.output(Operation::Return(RegisterRet::Read(value)));
                self.waits = None;
            }
            _ => {}
        }
    }
}

impl Node for PaxosRegister {
    type Msg = Msg;
    type Timer = Never;
    type Call = Never;
    type Output = Operation<Register<char>>;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        if let PaxosRegister::Client(client) = self {
            client.request(cx);
        }
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        match self {
            PaxosRegister::Server(server) => server.on_message(from, msg, cx),
            PaxosRegister::Client(client) => client.on_message(msg, cx),
        }
    }
}

fn operation(seen: &Seen<'_, PaxosRegister>) -> Option<(Id, Operation<Register<char>>)> {
    match seen {
        Seen::Output { node, output } => Some((*node, (*output).clone())),
        _ => None,
    }
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let servers = parameters.number("servers");
    let server = Server::new(servers, parameters.bug());
    let client = Client { waits: None, requests: 0, servers };
    let mut nodes = vec![PaxosRegister::Server(server); servers];
    nodes.resize(servers + parameters.number("clients"), PaxosRegister::Client(client));
    let system = System::new(nodes)
        .observe(Linear::new(Register(char::default()), operation))
        .always_observed("linearizable", History::<Register<char>>::is_linearizable)
        .sometimes_observed("value chosen", |history: &History<Register<char>>| {
            let some = |ret: &_| matches!(ret, RegisterRet::Read(v) if *v != char::default());
            history.completed().any(|(_, _, ret)| some(ret))
        });
    Ok(Box::new(system.expect_kinds()))
}

#[cfg(test)]
mod tests {
    use crate::tests::{classic, counts};

    /// The counts of Stateright 0.31.
    #[test]
    fn counts_are_those_of_stateright() {
        assert_eq!(counts("paxos-register", &[("clients", "1")]), (265, 482));
        assert_eq!(counts("paxos-register", &[("servers", "2")]), (111, 137));
        assert_eq!(counts("paxos-register", &[("servers", "2"), ("clients", "3")]), (211, 262));
        assert_eq!(counts("paxos-register", &[]), (16_668, 32_971));
    }

    #[test]
    fn one_server_decides_alone() {
        classic("paxos-register", &[("servers", "1")]).assert_holds();
    }

    #[test]
    fn a_stale_read_is_not_linearizable() {
        classic("paxos-register", &[("bug", super::STALE_READ)]).assert_violated("linearizable");
        // Of two servers both must accept before either decides: no read is stale.
        let two = [("bug", super::STALE_READ), ("servers", "2")];
        classic("paxos-register", &two).assert_holds();
    }

    #[test]
    fn a_broken_promise_is_not_linearizable() {
        let broken = [("bug", super::IGNORE_PROMISE)];
        classic("paxos-register", &broken).assert_violated("linearizable");
        let one = [("bug", super::IGNORE_PROMISE), ("clients", "1")];
        classic("paxos-register", &one).assert_holds();
    }
}
