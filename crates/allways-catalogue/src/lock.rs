//! A lock service with fencing tokens: a server that crashes, clients that ask again, and a network
//! that loses and duplicates.
//!
//! Node 0 is the server, node 1 the storage that the lock protects, the others are clients. Each
//! client wants one turn: it asks the server for the lock, writes to the storage once it is
//! granted, and releases the lock once the storage has acknowledged. Whatever a client waits for, it
//! asks for it again when its timer fires.
//!
//! Any node may crash. Clients and the storage have persisted everything. The server persists its
//! token and whose turn is over; who holds the lock and who waits for it is lost. So after a restart
//! the server may grant the lock while a client from before still believes that it holds it. That is
//! why every grant has a higher token than the one before, and why the storage rejects a write with
//! a lower token than it has seen. A client whose write is rejected asks for the lock again.
//!
//! In reality a client asks again and again. Here it does so as often as can be needed: once for
//! each message that may be dropped and, while it waits for the lock, once for each crash. For that
//! every client gets its turn is judged where nothing can happen any more, and a client that could
//! always ask again would never let it come to that. A request of a client that waits already
//! changes nothing, so it stays in flight, and is there when the server has forgotten the first.
//!
//! That tokens are what makes such a lock safe is from Kleppmann, "How to do distributed locking"
//! (2016). There a lease runs out; here a crash ends it. The bugs are ours.

use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::prelude::*;
use allways::{Checkable, Error, Rename, Renaming};
use std::collections::BTreeSet;

pub(crate) const ENTRY: Entry = Entry {
    name: "lock",
    about: "a lock service with fencing tokens; crashes, lost and duplicated messages",
    parameters: &[
        Parameter {
            name: "clients",
            about: "how many clients want the lock, each once",
            kind: Kind::Number { default: 2, min: 1, max: 5 },
        },
        Parameter {
            name: "crashes",
            about: "how often a node may crash",
            kind: Kind::Number { default: 1, min: 0, max: 3 },
        },
        Parameter {
            name: "drops",
            about: "how many messages the network may lose",
            kind: Kind::Number { default: 0, min: 0, max: 3 },
        },
        Parameter {
            name: "duplications",
            about: "how many messages the network may deliver twice",
            kind: Kind::Number { default: 1, min: 0, max: 3 },
        },
    ],
    bugs: &[
        Bug {
            name: DUPLICATE_GRANTS,
            about: "the server forgets whose turn is over, and grants a duplicated request again",
            defaults: &[("clients", "2"), ("crashes", "0"), ("drops", "0"), ("duplications", "1")],
        },
        Bug {
            name: LOST_RELEASE,
            about: "a client does not wait until its release is acknowledged, and it may be lost",
            defaults: &[("clients", "2"), ("crashes", "0"), ("drops", "1"), ("duplications", "0")],
        },
        Bug {
            name: NO_FENCING,
            about: "the storage accepts a write with an older token",
            defaults: &[("clients", "2"), ("crashes", "1"), ("drops", "0"), ("duplications", "0")],
        },
        Bug {
            name: UNPERSISTED_TOKEN,
            about: "the server does not persist its token, and grants the same one again",
            defaults: &[("clients", "2"), ("crashes", "1"), ("drops", "0"), ("duplications", "0")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

const DUPLICATE_GRANTS: &str = "duplicate-grants";
const LOST_RELEASE: &str = "lost-release";
const NO_FENCING: &str = "no-fencing";
const UNPERSISTED_TOKEN: &str = "unpersisted-token";

const SERVER: Id = Id::new(0);
const STORAGE: Id = Id::new(1);
const FIRST_CLIENT: usize = 2;

/// What a grant is known by; zero is before all of them.
type Token = u8;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Msg {
    /// A client wants the lock.
    Request,
    Grant(Token),
    /// The turn of a client is over.
    Release,
    Released,
    Write(Token),
    Written(Token),
    Rejected(Token),
}

/// A client has waited long enough to ask again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Retry;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Process {
    Server(Server),
    Storage(Storage),
    Client(Client),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Server {
    /// Of the last grant.
    token: Token,
    /// Whose turn is over.
    served: BTreeSet<Id>,
    holder: Option<Id>,
    /// Who waits for the lock, in this order.
    waiting: Vec<Id>,
    duplicate_grants: bool,
    unpersisted_token: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Storage {
    /// The tokens of the writes that were accepted, in this order.
    accepted: Vec<Token>,
    no_fencing: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Client {
    phase: Phase,
    /// Of the last grant.
    token: Token,
    /// How often it may still ask again for what it waits for.
    retries: u8,
    at_most: Retries,
    lost_release: bool,
}

/// How often a client may ask again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Retries {
    /// For the lock.
    lock: u8,
    /// For an acknowledgement.
    acknowledgement: u8,
}

/// What a client waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    /// The grant.
    Requesting,
    /// The storage's acknowledgement: it believes that it holds the lock.
    Writing,
    /// The server's acknowledgement.
    Releasing,
    Done,
}

impl Node for Process {
    type Msg = Msg;
    type Timer = Retry;
    type Call = Never;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        if let Process::Client(client) = self {
            client.enter(Phase::Requesting, cx);
        }
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        match self {
            Process::Server(server) => server.on_message(from, msg, cx),
            Process::Storage(storage) => storage.on_message(from, msg, cx),
            Process::Client(client) => client.on_message(msg, cx),
        }
    }

    fn on_timer(&mut self, Retry: Retry, cx: &mut Cx<'_, Self>) {
        if let Process::Client(client) = self {
            client.retries -= 1;
            client.ask(cx);
        }
    }

    fn persisted(&self) -> Option<Self> {
        let mut survivor = self.clone();
        if let Process::Server(server) = &mut survivor {
            server.holder = None;
            server.waiting.clear();
            if server.unpersisted_token {
                server.token = 0;
            }
        }
        Some(survivor)
    }

    fn on_restart(&mut self, cx: &mut Cx<'_, Self>) {
        if let Process::Client(client) = self {
            client.ask(cx);
        }
    }
}

impl Server {
    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Process>) {
        match msg {
            Msg::Request if self.served.contains(&from) && !self.duplicate_grants => {}
            Msg::Request => match self.holder {
                None => self.grant(from, cx),
                // The grant may be lost.
                Some(holder) if holder == from => cx.send(from, Msg::Grant(self.token)),
                Some(_) if self.waiting.contains(&from) => {}
                Some(_) => self.waiting.push(from),
            },
            Msg::Release => {
                self.served.insert(from);
                self.waiting.retain(|&client| client != from);
                if self.holder == Some(from) {
                    self.holder = None;
                    if !self.waiting.is_empty() {
                        let next = self.waiting.remove(0);
                        self.grant(next, cx);
                    }
                }
                cx.send(from, Msg::Released);
            }
            _ => {}
        }
    }

    fn grant(&mut self, client: Id, cx: &mut Cx<'_, Process>) {
        self.token += 1;
        self.holder = Some(client);
        cx.send(client, Msg::Grant(self.token));
    }
}

impl Storage {
    /// A write that was accepted before is acknowledged again: the acknowledgement may be lost.
    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Process>) {
        let Msg::Write(token) = msg else { return };
        let highest = self.accepted.iter().max();
        let known = self.accepted.contains(&token);
        if !known && (self.no_fencing || highest.is_none_or(|highest| token > *highest)) {
            self.accepted.push(token);
        }
        let answer = match self.accepted.contains(&token) {
            true => Msg::Written(token),
            false => Msg::Rejected(token),
        };
        cx.send(from, answer);
    }
}

impl Client {
    fn on_message(&mut self, msg: Msg, cx: &mut Cx<'_, Process>) {
        match (self.phase, msg) {
            // A token that it has used is one from before a rejection.
            (Phase::Requesting, Msg::Grant(token)) if token > self.token => {
                self.token = token;
                self.enter(Phase::Writing, cx);
            }
            (Phase::Writing, Msg::Written(token)) if token == self.token => {
                self.enter(Phase::Releasing, cx);
                if self.lost_release {
                    self.enter(Phase::Done, cx);
                }
            }
            (Phase::Writing, Msg::Rejected(token)) if token == self.token => {
                self.enter(Phase::Requesting, cx);
            }
            (Phase::Releasing, Msg::Released) => {
                self.enter(Phase::Done, cx);
            }
            _ => {}
        }
    }

    fn enter(&mut self, phase: Phase, cx: &mut Cx<'_, Process>) {
        self.phase = phase;
        self.retries = match phase {
            Phase::Requesting => self.at_most.lock,
            Phase::Writing | Phase::Releasing => self.at_most.acknowledgement,
            Phase::Done => 0,
        };
        cx.cancel_timers();
        self.ask(cx);
    }

    /// Asks for what it waits for.
    fn ask(&self, cx: &mut Cx<'_, Process>) {
        match self.phase {
            Phase::Requesting => cx.send(SERVER, Msg::Request),
            Phase::Writing => cx.send(STORAGE, Msg::Write(self.token)),
            Phase::Releasing => cx.send(SERVER, Msg::Release),
            Phase::Done => {}
        }
        if self.retries > 0 {
            cx.set_timer(Retry);
        }
    }
}

impl Process {
    /// The last token that a client was granted.
    fn token(&self) -> Option<Token> {
        match self {
            Process::Client(client) if client.token > 0 => Some(client.token),
            _ => None,
        }
    }

    /// The tokens in the order in which the storage has accepted them.
    fn accepted(&self) -> Vec<Token> {
        match self {
            Process::Storage(storage) => storage.accepted.clone(),
            _ => Vec::new(),
        }
    }

    /// What a client waits for.
    fn phase(&self) -> Option<Phase> {
        match self {
            Process::Client(client) => Some(client.phase),
            _ => None,
        }
    }
}

impl Rename for Process {
    fn rename(&self, renaming: &Renaming) -> Self {
        let mut renamed = self.clone();
        if let Process::Server(server) = &mut renamed {
            server.served = server.served.rename(renaming);
            server.holder = server.holder.rename(renaming);
            server.waiting = server.waiting.rename(renaming);
        }
        renamed
    }
}

impl Rename for Msg {
    fn rename(&self, _: &Renaming) -> Self {
        *self
    }
}

impl Rename for Retry {
    fn rename(&self, _: &Renaming) -> Self {
        *self
    }
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let budget = |name: &str| parameters.number(name) as u8;
    let (crashes, drops) = (budget("crashes"), budget("drops"));
    // A crash of the server loses who waits for the lock, and nothing else that was asked for.
    let at_most = Retries { lock: drops + crashes, acknowledgement: drops };
    Ok(Box::new(system(parameters, at_most)))
}

fn system(parameters: &Parameters, at_most: Retries) -> System<Process> {
    let budget = |name: &str| parameters.number(name) as u8;
    let has = |bug: &str| parameters.bug() == Some(bug);
    let clients = parameters.number("clients");
    let (crashes, drops) = (budget("crashes"), budget("drops"));
    let server = Process::Server(Server {
        token: 0,
        served: BTreeSet::new(),
        holder: None,
        waiting: Vec::new(),
        duplicate_grants: has(DUPLICATE_GRANTS),
        unpersisted_token: has(UNPERSISTED_TOKEN),
    });
    let storage = Process::Storage(Storage { accepted: Vec::new(), no_fencing: has(NO_FENCING) });
    let client = Process::Client(Client {
        phase: Phase::Requesting,
        token: 0,
        retries: 0,
        at_most,
        lost_release: has(LOST_RELEASE),
    });
    let nodes = [server, storage].into_iter().chain(std::iter::repeat_n(client, clients));
    let holders = |phases: &[Option<Phase>]| {
        phases.iter().filter(|phase| **phase == Some(Phase::Writing)).count()
    };
    let mut system = System::new(nodes)
        .network(Network::unordered().drops(drops).duplications(budget("duplications")))
        .faults(Faults::none().crashes(crashes).restarts())
        .interchangeable(FIRST_CLIENT..FIRST_CLIENT + clients)
        .always("one client a token", view(Process::token), |tokens| {
            let mut seen = BTreeSet::new();
            tokens.iter().flatten().all(|token| seen.insert(token))
        })
        .always("writes in the order of tokens", view(Process::accepted), |accepted| {
            accepted[STORAGE.index()].is_sorted()
        })
        // Only a server that has forgotten its holder grants the lock to another.
        .always("one holder, and one more a crash", view(Process::phase), move |phases| {
            holders(phases) <= 1 + usize::from(crashes)
        })
        .never_stuck("every client gets its turn", view(Process::phase), |phases| {
            phases.iter().flatten().all(|phase| *phase == Phase::Done)
        });
    if crashes > 0 && clients > 1 {
        system = system
            .sometimes("two holders", view(Process::phase), move |phases| holders(phases) == 2);
    }
    system
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{classic, counts};

    /// Clients, crashes, drops and duplications.
    fn sizes(sizes: [&str; 4]) -> [(&'static str, &str); 4] {
        let [clients, crashes, drops, duplications] = sizes;
        [
            ("clients", clients),
            ("crashes", crashes),
            ("drops", drops),
            ("duplications", duplications),
        ]
    }

    #[test]
    fn everything_holds_under_each_fault() {
        assert_eq!(counts("lock", &sizes(["2", "0", "0", "0"])), (45, 65));
        assert_eq!(counts("lock", &sizes(["2", "0", "0", "1"])), (365, 677));
        assert_eq!(counts("lock", &sizes(["3", "0", "0", "1"])), (4_123, 9_673));
        assert_eq!(counts("lock", &sizes(["1", "0", "1", "0"])), (206, 507));
        assert_eq!(counts("lock", &sizes(["2", "1", "0", "0"])), (6_674, 15_351));
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
    fn everything_holds_under_all_faults() {
        assert_eq!(counts("lock", &[]), (50_930, 136_235));
        assert_eq!(counts("lock", &sizes(["1", "1", "1", "1"])), (16_228, 62_585));
        assert_eq!(counts("lock", &sizes(["2", "0", "1", "0"])), (31_064, 134_375));
    }

    #[test]
    fn each_bug_breaks_what_it_should_and_needs_all_that_it_says() {
        let properties = [
            (DUPLICATE_GRANTS, "every client gets its turn"),
            (LOST_RELEASE, "every client gets its turn"),
            (NO_FENCING, "writes in the order of tokens"),
            (UNPERSISTED_TOKEN, "one client a token"),
        ];
        assert_eq!(ENTRY.bugs.len(), properties.len());
        for (bug, (name, property)) in ENTRY.bugs.iter().zip(properties) {
            assert_eq!(bug.name, name);
            classic("lock", &[("bug", name)]).assert_violated(property);
            for (parameter, shows) in bug.defaults.iter().filter(|(_, shows)| *shows != "0") {
                let fewer = (shows.parse::<u8>().unwrap() - 1).to_string();
                classic("lock", &[("bug", name), (parameter, &fewer)]).assert_holds();
            }
        }
    }

    /// For each fault, the last line has what [`make`] allows.
    #[test]
    fn a_client_that_asks_too_rarely_is_stuck() {
        let check = |faults: [&str; 4], lock, acknowledgement| {
            let parameters = ENTRY.parameters(&sizes(faults)).unwrap();
            let options = Options { search: Search::Classic, ..Options::default() };
            let system = system(&parameters, Retries { lock, acknowledgement });
            system.try_check(&options).unwrap()
        };
        let crash = ["2", "1", "0", "0"];
        check(crash, 0, 0).assert_violated("every client gets its turn");
        check(crash, 1, 0).assert_holds();
        let drop = ["1", "0", "1", "0"];
        check(drop, 0, 1).assert_violated("every client gets its turn");
        check(drop, 1, 0).assert_violated("every client gets its turn");
        check(drop, 1, 1).assert_holds();
    }

    #[test]
    fn a_crash_leaves_the_server_its_token_and_whose_turn_is_over() {
        let server = Process::Server(Server {
            token: 7,
            served: [Id::new(2)].into(),
            holder: Some(Id::new(3)),
            waiting: vec![Id::new(4)],
            duplicate_grants: false,
            unpersisted_token: false,
        });
        let Some(Process::Server(survivor)) = server.persisted() else { unreachable!() };
        assert_eq!((survivor.token, survivor.served), (7, [Id::new(2)].into()));
        assert_eq!((survivor.holder, survivor.waiting), (None, vec![]));
    }
}
