//! PAM, a plain Paxos for one decree, as the DEMETER paper checks it (section 5): nodes crash and
//! recover, and the two mistakes that were found in it can be brought back.
//!
//! It is the basic protocol of "The Part-Time Parliament", without a leader that lasts and without
//! shortcuts: a node that is called begins a ballot (`Prepare`), asks all to vote once a majority has
//! promised (`Begin`), and tells all once a majority has voted (`Passed`). Unlike in `paxos`, votes
//! go to the leader alone, so a decree is passed when the leader knows. The first node may begin
//! another ballot when its timer fires, as long as no decree is passed.
//!
//! What a node has in its ledger survives a crash: how many ballots it has begun, what it has
//! promised, its vote and the decree. What it does as a leader is lost: a leader that crashes gives
//! up, and promises and votes that come after it has restarted change nothing.
//!
//! What a node tells itself it handles in the same step. With `self=network` that goes through the
//! network like everything else, as in `paxos`: there are more orders then, which nobody else sees.

use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::prelude::*;
use allways::{Checkable, Error, Kinds};
use std::collections::BTreeSet;

pub(crate) const ENTRY: Entry = Entry {
    name: "pam",
    about: "Paxos for one decree with crashes and recovery (DEMETER paper, section 5)",
    parameters: &[
        Parameter {
            name: "nodes",
            about: "how many nodes there are",
            kind: Kind::Number { default: 3, min: 2, max: 5 },
        },
        Parameter {
            name: "proposers",
            about: "how many of them propose a decree, at most all",
            kind: Kind::Number { default: 2, min: 1, max: 5 },
        },
        Parameter {
            name: "crashes",
            about: "how many crashes there may be",
            kind: Kind::Number { default: 1, min: 0, max: 3 },
        },
        Parameter {
            name: "retries",
            about: "how often the first node may begin another ballot",
            kind: Kind::Number { default: 0, min: 0, max: 3 },
        },
        Parameter {
            name: "self",
            about: "how a node tells itself something: in the same step, or through the network",
            kind: Kind::Word(&["direct", "network"]),
        },
    ],
    bugs: &[
        Bug {
            name: FORGETFUL_RECOVERY,
            about: "a node that restarts has lost what it has promised and its vote",
            defaults: &[("nodes", "3"), ("proposers", "2"), ("crashes", "1"), ("retries", "0")],
        },
        Bug {
            name: FIRST_PROMISE,
            about: "a leader takes the first vote that it is told of, not that of the highest ballot",
            defaults: &[("nodes", "3"), ("proposers", "2"), ("crashes", "0"), ("retries", "1")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

const FORGETFUL_RECOVERY: &str = "forgetful-recovery";
const FIRST_PROMISE: &str = "first-promise";

/// Zero is below all.
type Ballot = usize;
type Decree = char;
type Vote = (Ballot, Decree);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Pam {
    /// How many ballots it has begun.
    tried: usize,
    /// The highest ballot that it has promised to.
    promised: Ballot,
    /// The last vote that it has cast.
    vote: Option<Vote>,
    /// What was passed, as far as it knows.
    decree: Option<Decree>,
    /// Everything above is in the ledger, this is not.
    leader: Leader,
    retries: usize,
    direct: bool,
    bug: Option<&'static str>,
}

/// What a node does as a leader.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Leader {
    Idle,
    /// It waits for promises to its ballot.
    Preparing {
        wanted: Decree,
        promised_by: BTreeSet<Id>,
        /// The vote that it will follow.
        taken: Option<Vote>,
    },
    /// It waits for votes.
    Polling {
        wanted: Decree,
        asked: Decree,
        voted_by: BTreeSet<Id>,
    },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
enum Msg {
    Prepare(Ballot),
    /// With the last vote of the node that promises.
    Promise(Ballot, Option<Vote>),
    Begin(Ballot, Decree),
    Voted(Ballot),
    Passed(Decree),
}

/// A ballot takes too long.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Kinds)]
struct Retry;

/// Propose this decree.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
struct Propose(Decree);

impl Pam {
    fn new(retries: usize, direct: bool, bug: Option<&'static str>) -> Self {
        let leader = Leader::Idle;
        let (promised, vote, decree) = (0, None, None);
        Pam { tried: 0, promised, vote, decree, leader, retries, direct, bug }
    }

    /// The last ballot that it has begun: no two nodes have one in common.
    fn ballot(&self, cx: &Cx<'_, Self>) -> Ballot {
        cx.id().index() + 1 + (self.tried - 1) * cx.nodes()
    }

    /// Whether a message is about the ballot that it leads.
    fn leads(&self, ballot: Ballot, cx: &Cx<'_, Self>) -> bool {
        self.leader != Leader::Idle && ballot == self.ballot(cx)
    }

    fn tell(&mut self, to: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        match to == cx.id() && self.direct {
            true => self.on_message(to, msg, cx),
            false => cx.send(to, msg),
        }
    }

    fn tell_all(&mut self, msg: &Msg, cx: &mut Cx<'_, Self>) {
        cx.broadcast(msg.clone());
        self.tell(cx.id(), msg.clone(), cx);
    }

    fn begin_ballot(&mut self, wanted: Decree, cx: &mut Cx<'_, Self>) {
        self.tried += 1;
        self.leader = Leader::Preparing { wanted, promised_by: BTreeSet::new(), taken: None };
        if self.tried <= self.retries {
            cx.set_timer(Retry);
        }
        self.tell_all(&Msg::Prepare(self.ballot(cx)), cx);
    }

    fn on_prepare(&mut self, from: Id, ballot: Ballot, cx: &mut Cx<'_, Self>) {
        if ballot > self.promised {
            self.promised = ballot;
            self.tell(from, Msg::Promise(ballot, self.vote), cx);
        }
    }

    fn on_promise(&mut self, from: Id, ballot: Ballot, vote: Option<Vote>, cx: &mut Cx<'_, Self>) {
        let leads = self.leads(ballot, cx);
        let Leader::Preparing { wanted, promised_by, taken } = &mut self.leader else { return };
        if !leads {
            return;
        }
        promised_by.insert(from);
        *taken = match self.bug == Some(FIRST_PROMISE) {
            true => taken.or(vote),
            false => vote.max(*taken),
        };
        if promised_by.len() >= cx.majority() {
            let (wanted, asked) = (*wanted, taken.map_or(*wanted, |(_, decree)| decree));
            self.leader = Leader::Polling { wanted, asked, voted_by: BTreeSet::new() };
            self.tell_all(&Msg::Begin(ballot, asked), cx);
        }
    }

    fn on_begin(&mut self, from: Id, ballot: Ballot, decree: Decree, cx: &mut Cx<'_, Self>) {
        let again = self.vote.is_some_and(|(last, _)| last == ballot);
        if ballot >= self.promised && !again {
            self.promised = ballot;
            self.vote = Some((ballot, decree));
            self.tell(from, Msg::Voted(ballot), cx);
        }
    }

    fn on_voted(&mut self, from: Id, ballot: Ballot, cx: &mut Cx<'_, Self>) {
        let leads = self.leads(ballot, cx);
        let Leader::Polling { asked, voted_by, .. } = &mut self.leader else { return };
        if !leads {
            return;
        }
        voted_by.insert(from);
        if voted_by.len() >= cx.majority() {
            let decree = *asked;
            cx.broadcast(Msg::Passed(decree));
            self.pass(decree, cx);
        }
    }

    /// A decree is passed: there is nothing left to lead.
    fn pass(&mut self, decree: Decree, cx: &mut Cx<'_, Self>) {
        self.decree.get_or_insert(decree);
        self.leader = Leader::Idle;
        cx.cancel_timers();
    }
}

impl Node for Pam {
    type Msg = Msg;
    type Timer = Retry;
    type Call = Propose;
    type Output = Never;

    fn on_call(&mut self, Propose(decree): Propose, cx: &mut Cx<'_, Self>) {
        self.begin_ballot(decree, cx);
    }

    fn on_timer(&mut self, Retry: Retry, cx: &mut Cx<'_, Self>) {
        if let Leader::Preparing { wanted, .. } | Leader::Polling { wanted, .. } = self.leader {
            self.begin_ballot(wanted, cx);
        }
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        match msg {
            Msg::Prepare(ballot) => self.on_prepare(from, ballot, cx),
            Msg::Promise(ballot, vote) => self.on_promise(from, ballot, vote, cx),
            Msg::Begin(ballot, decree) => self.on_begin(from, ballot, decree, cx),
            Msg::Voted(ballot) => self.on_voted(from, ballot, cx),
            Msg::Passed(decree) => self.pass(decree, cx),
        }
    }

    fn persisted(&self) -> Option<Self> {
        let mut ledger = Pam { leader: Leader::Idle, ..self.clone() };
        if self.bug == Some(FORGETFUL_RECOVERY) {
            (ledger.promised, ledger.vote) = (0, None);
        }
        Some(ledger)
    }

    fn on_restart(&mut self, _: &mut Cx<'_, Self>) {}
}

/// Whether only decrees were passed whose node has begun a ballot.
fn only_proposed(nodes: &[(bool, Option<Decree>)]) -> bool {
    let begun = nodes.iter().zip('A'..).filter(|((tried, _), _)| *tried);
    let proposed: Vec<Decree> = begun.map(|(_, decree)| decree).collect();
    nodes.iter().filter_map(|(_, decree)| *decree).all(|decree| proposed.contains(&decree))
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let (nodes, proposers) = (parameters.number("nodes"), parameters.number("proposers"));
    if proposers > nodes {
        return Err(Error::System(format!(
            "`proposers={proposers}` is too many: only {nodes} nodes can propose"
        )));
    }
    let direct = parameters.word("self") == "direct";
    let retries = |node| if node == 0 { parameters.number("retries") } else { 0 };
    let node = |id| Pam::new(retries(id), direct, parameters.bug());
    let crashes = parameters.number("crashes") as u8;
    let mut system = System::new((0..nodes).map(node))
        .faults(Faults::none().crashes(crashes).restarts())
        .always("agreement", view(|n: &Pam| n.decree), |decrees| {
            decrees.iter().flatten().all_equal()
        })
        .always("only what was proposed", view(|n: &Pam| (n.tried > 0, n.decree)), only_proposed)
        .sometimes("all know", view(|n: &Pam| n.decree), |decrees| {
            decrees.iter().all(Option::is_some)
        });
    for (node, decree) in (0..proposers).zip('A'..) {
        system = system.call(node, Propose(decree));
    }
    Ok(Box::new(system.expect_kinds()))
}

#[cfg(test)]
mod tests {
    use crate::tests::{classic, counts};
    use allways::{Options, Outcome};

    /// The outcome of breadth-first search.
    fn check(set: &[(&str, &str)]) -> Outcome {
        let system = crate::find("pam").unwrap().build(set).unwrap();
        system.check_with(&Options::default()).unwrap()
    }

    #[test]
    fn nodes_that_crash_agree() {
        assert_eq!(counts("pam", &[("nodes", "2")]), (293, 520));
        assert_eq!(counts("pam", &[("nodes", "2"), ("crashes", "0")]), (61, 77));
        assert_eq!(counts("pam", &[("proposers", "1")]), (445, 1_131));
        let outcome = check(&[]);
        assert!(outcome.assert_holds().complete);
        assert_eq!(outcome.statistics.unique_states, Some(33_429));
    }

    #[test]
    fn what_a_node_tells_itself_may_go_through_the_network() {
        let network = ("self", "network");
        assert_eq!(counts("pam", &[network, ("proposers", "1")]), (1_565, 4_259));
        assert_eq!(counts("pam", &[network, ("nodes", "2")]), (2_063, 4_834));
    }

    #[test]
    fn so_they_do_with_another_ballot() {
        let outcome = check(&[("retries", "1"), ("crashes", "0")]);
        assert!(outcome.assert_holds().complete);
        assert_eq!(outcome.statistics.unique_states, Some(145_439));
    }

    #[test]
    fn only_nodes_propose() {
        let pam = crate::find("pam").unwrap();
        let error = pam.build(&[("nodes", "2"), ("proposers", "3")]).err().unwrap();
        assert!(error.to_string().contains("only 2 nodes can propose"), "{error}");
    }

    /// The paper's runs have 27 and 43 events, which are not those of this system.
    #[test]
    fn who_forgets_or_takes_the_first_promise_breaks_agreement() {
        for (bug, length) in [("forgetful-recovery", 12), ("first-promise", 13)] {
            let outcome = check(&[("bug", bug)]);
            assert_eq!(outcome.assert_violated("agreement").run.events.len(), length, "{bug}");
        }
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
    fn through_the_network_that_takes_longer() {
        for (bug, length) in [("forgetful-recovery", 20), ("first-promise", 24)] {
            let outcome = check(&[("bug", bug), ("self", "network")]);
            assert_eq!(outcome.assert_violated("agreement").run.events.len(), length, "{bug}");
        }
    }

    #[test]
    fn a_bug_needs_a_crash_or_another_ballot_and_two_proposers_and_three_nodes() {
        for (bug, needs) in [("forgetful-recovery", "crashes"), ("first-promise", "retries")] {
            for set in [(needs, "0"), ("proposers", "1"), ("nodes", "2")] {
                classic("pam", &[("bug", bug), set]).assert_holds();
            }
        }
    }
}
