//! A register on single-decree Paxos for Stateright, with Stateright's own clients, register and
//! linearizability tester, and the collections that its own example uses.

use stateright::Expectation;
use stateright::actor::register::{RegisterActor, RegisterMsg};
use stateright::actor::{Actor, ActorModel, Id, Network, Out, majority, model_peers};
use stateright::semantics::LinearizabilityTester;
use stateright::semantics::register::Register;
use stateright::util::{HashableHashMap, HashableHashSet};
use std::borrow::Cow;

type Request = u64;
type Value = char;
type Ballot = (u32, Id);
type Proposal = (Request, Id, Value);
type Accepted = Option<(Ballot, Proposal)>;
type Msg = RegisterMsg<Request, Value, Paxos>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Paxos {
    Prepare(Ballot),
    Prepared(Ballot, Accepted),
    Accept(Ballot, Proposal),
    Accepted(Ballot),
    Decided(Ballot, Proposal),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    ballot: Ballot,
    proposal: Option<Proposal>,
    prepares: HashableHashMap<Id, Accepted>,
    accepts: HashableHashSet<Id>,
    accepted: Accepted,
    decided: bool,
}

#[derive(Clone)]
pub struct Server {
    peers: Vec<Id>,
}

impl Server {
    fn majority(&self) -> usize {
        majority(self.peers.len() + 1)
    }
}

impl Actor for Server {
    type Msg = Msg;
    type State = State;
    type Timer = ();
    type Random = ();
    type Storage = ();

    fn on_start(&self, _: Id, _: &Option<()>, _: &mut Out<Self>) -> State {
        State {
            ballot: (0, Id::from(0)),
            proposal: None,
            prepares: HashableHashMap::default(),
            accepts: HashableHashSet::default(),
            accepted: None,
            decided: false,
        }
    }

    fn on_msg(&self, id: Id, state: &mut Cow<State>, src: Id, msg: Msg, out: &mut Out<Self>) {
        use RegisterMsg::{Get, GetOk, Internal, Put, PutOk};
        if state.decided {
            if let (Get(request), Some((_, (_, _, value)))) = (msg, state.accepted) {
                out.send(src, GetOk(request, value));
            }
            return;
        }
        match msg {
            Put(request, value) if state.proposal.is_none() => {
                let state = state.to_mut();
                state.proposal = Some((request, src, value));
                state.ballot = (state.ballot.0 + 1, id);
                state.prepares = HashableHashMap::default();
                state.prepares.insert(id, state.accepted);
                state.accepts = HashableHashSet::default();
                out.broadcast(&self.peers, &Internal(Paxos::Prepare(state.ballot)));
            }
            Internal(Paxos::Prepare(ballot)) if state.ballot < ballot => {
                state.to_mut().ballot = ballot;
                out.send(src, Internal(Paxos::Prepared(ballot, state.accepted)));
            }
            Internal(Paxos::Prepared(ballot, accepted)) if ballot == state.ballot => {
                let state = state.to_mut();
                state.prepares.insert(src, accepted);
                if state.prepares.len() == self.majority() {
                    let latest = state.prepares.values().max().copied().flatten();
                    let proposal = latest.map(|(_, proposal)| proposal).or(state.proposal);
                    let proposal = proposal.expect("whoever prepares has a proposal");
                    state.proposal = Some(proposal);
                    state.accepted = Some((ballot, proposal));
                    state.accepts.insert(id);
                    out.broadcast(&self.peers, &Internal(Paxos::Accept(ballot, proposal)));
                }
            }
            Internal(Paxos::Accept(ballot, proposal)) if state.ballot <= ballot => {
                let state = state.to_mut();
                state.ballot = ballot;
                state.accepted = Some((ballot, proposal));
                out.send(src, Internal(Paxos::Accepted(ballot)));
            }
            Internal(Paxos::Accepted(ballot)) if ballot == state.ballot => {
                let state = state.to_mut();
                state.accepts.insert(src);
                if state.accepts.len() == self.majority() {
                    state.decided = true;
                    let proposal = state.proposal.expect("whoever is accepted has a proposal");
                    out.broadcast(&self.peers, &Internal(Paxos::Decided(ballot, proposal)));
                    out.send(proposal.1, PutOk(proposal.0));
                }
            }
            Internal(Paxos::Decided(ballot, proposal)) => {
                let state = state.to_mut();
                state.ballot = ballot;
                state.accepted = Some((ballot, proposal));
                state.decided = true;
            }
            _ => {}
        }
    }
}

/// Three servers and this many clients, each of which writes once and then reads.
pub fn model(
    clients: usize,
) -> ActorModel<RegisterActor<Server>, (), LinearizabilityTester<Id, Register<Value>>> {
    const SERVERS: usize = 3;
    ActorModel::new((), LinearizabilityTester::new(Register(Value::default())))
        .actors(
            (0..SERVERS).map(|server| {
                RegisterActor::Server(Server { peers: model_peers(server, SERVERS) })
            }),
        )
        .actors((0..clients).map(|_| RegisterActor::Client { put_count: 1, server_count: SERVERS }))
        .init_network(Network::new_unordered_nonduplicating([]))
        .property(Expectation::Always, "linearizable", |_, state| {
            state.history.serialized_history().is_some()
        })
        .property(Expectation::Sometimes, "value chosen", |_, state| {
            state.network.iter_deliverable().any(|envelope| {
                matches!(envelope.msg, RegisterMsg::GetOk(_, value) if *value != Value::default())
            })
        })
        .record_msg_in(RegisterMsg::record_returns)
        .record_msg_out(RegisterMsg::record_invocations)
}
