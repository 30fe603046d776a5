//! Random systems as plain data: small enough to explore whole, and shrunk by shrinking numbers.
//!
//! What a node does on an event is a *rule*, decoded from one random number; zero decodes to doing
//! nothing, so shrinking a plan removes behaviour rule by rule. Messages carry the number of hops
//! that they have left, and timers are bounded, so that the space is finite.

use proptest::collection::vec;
use proptest::prelude::*;
use std::fmt;

/// How many kinds of messages there are.
pub const KINDS: u8 = 3;
/// How many timers a node has.
pub const TIMERS: u8 = 2;
/// How many calls the driver can make.
pub const CALLS: u8 = 2;
/// Rules for each state: one for each message, timer and call, and one for a restart.
const RULES: usize = (KINDS + TIMERS + CALLS) as usize + 1;
const MAX_STATES: usize = 4;

/// Everything that is random about a system.
#[derive(Clone, Debug)]
pub struct Plan {
    pub nodes: Vec<Table>,
    /// How far a message sent on anything but a message goes.
    pub hops: u8,
    /// What survives a crash, by state.
    pub persisted: Vec<Option<u8>>,
    /// Whether rules may panic.
    pub panics: bool,
    pub network: NetworkPlan,
    pub faults: FaultsPlan,
    /// The driver's scripts: which node is called with what.
    pub scripts: Vec<Vec<(usize, u8)>>,
    pub timer_bound: u32,
    pub observer: Option<ObserverPlan>,
    pub properties: PropertiesPlan,
}

/// The rules of one node.
#[derive(Clone)]
pub struct Table {
    start: Rule,
    pub rules: Vec<Vec<Rule>>,
}

/// What a node does on an event: one of these, as it chooses.
pub type Rule = Vec<Alternative>;

/// One thing that a node may do on an event.
#[derive(Clone, PartialEq, Default)]
pub struct Alternative {
    pub next: Option<u8>,
    /// To whom (if there is no such node: back to the sender) and what.
    pub sends: Vec<(usize, u8)>,
    pub set: Option<u8>,
    pub cancel: Option<u8>,
    pub outputs: Vec<u8>,
    pub stutter: bool,
    pub panic: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    Unordered,
    Duplicating,
    Ordered,
}

#[derive(Clone, Debug)]
pub struct NetworkPlan {
    pub kind: Kind,
    pub drops: u8,
    pub duplications: u8,
}

#[derive(Clone, Debug)]
pub struct FaultsPlan {
    pub crashes: u8,
    pub restarts: bool,
    /// A group of nodes that may be cut off.
    pub cut: Option<Vec<usize>>,
    /// Whether the link between the first and the last node may fail, too, and all this twice.
    pub is_link: bool,
    /// What nodes are told when they can reach each other again.
    pub greeting: Option<u8>,
}

/// What the observer, a counter modulo three, is fed with.
#[derive(Clone, Debug)]
pub struct ObserverPlan {
    pub outputs: bool,
    pub deliveries_of: Option<u8>,
    pub calls: bool,
    pub crashes: bool,
}

/// What the properties say about the state of the first and the last node.
#[derive(Clone, Debug)]
pub struct PropertiesPlan {
    pub forbidden: (u8, u8),
    pub wanted: (u8, u8),
    pub allowed_at_end: Vec<u8>,
}

/// What a node handles.
#[derive(Clone, Copy)]
pub enum Input {
    Message(u8),
    Timer(u8),
    Call(u8),
    Restart,
}

impl Plan {
    /// What a node does when it starts.
    pub fn start(&self, node: usize) -> &Rule {
        &self.nodes[node].start
    }

    /// What a node does on an event.
    pub fn rule(&self, node: usize, state: u8, input: Input) -> &Rule {
        let rule = match input {
            Input::Message(kind) => kind,
            Input::Timer(timer) => KINDS + timer,
            Input::Call(call) => KINDS + TIMERS + call,
            Input::Restart => KINDS + TIMERS + CALLS,
        };
        &self.nodes[node].rules[usize::from(state)][usize::from(rule)]
    }

    /// The same, but on an unordered network where nothing goes wrong and nobody observes.
    pub fn plain(mut self) -> Self {
        self.network = NetworkPlan { kind: Kind::Unordered, drops: 0, duplications: 0 };
        self.faults =
            FaultsPlan { crashes: 0, restarts: false, cut: None, is_link: false, greeting: None };
        self.observer = None;
        self.panics = false;
        self
    }
}

/// Random systems.
pub fn plan() -> impl Strategy<Value = Plan> {
    plan_of(1..=3)
}

/// Random systems of more nodes, which have less to do each.
pub fn wide_plan() -> impl Strategy<Value = Plan> {
    plan_of(4..=6).prop_map(|mut plan| {
        plan.hops = plan.hops.min(1);
        plan
    })
}

fn plan_of(nodes: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Plan> {
    let most = *nodes.end();
    let sizes = (nodes, 2..=MAX_STATES as u8);
    let rule = prop_oneof![1 => Just(0), 3 => any::<u64>()];
    let tables = vec((any::<u64>(), vec(rule, MAX_STATES * RULES)), most);
    let hops = prop_oneof![2 => Just(0u8), 3 => Just(1), 1 => Just(2)];
    let behaviour = (hops, vec(proptest::option::of(0..4u8), MAX_STATES), rarely());
    let network = (0..3usize, rarely(), rarely()).prop_map(|(kind, drop, duplicate)| NetworkPlan {
        kind: [Kind::Unordered, Kind::Duplicating, Kind::Ordered][kind],
        drops: drop.into(),
        duplications: duplicate.into(),
    });
    let crashes = prop_oneof![3 => Just(0u8), 1 => Just(1), 1 => Just(2)];
    let cut = prop_oneof![3 => Just(None), 1 => (1..1usize << most).prop_map(Some)];
    let scripts = vec(vec((0..most, 0..CALLS), 1..=2), 1..=2);
    let observer = prop_oneof![
        1 => Just(None),
        1 => (any::<bool>(), proptest::option::of(0..KINDS), any::<bool>(), any::<bool>())
            .prop_map(|(outputs, deliveries_of, calls, crashes)| {
                Some(ObserverPlan { outputs, deliveries_of, calls, crashes })
            }),
    ];
    let pair = || (0..4u8, 0..4u8);
    let properties = (pair(), pair(), vec(0..4u8, 0..4));
    let healing = (rarely(), proptest::option::of(0..KINDS));
    let rest = (crashes, any::<bool>(), cut, scripts, 1..=2u32, observer, properties, healing);
    (sizes, tables, behaviour, network, rest).prop_map(
        |((nodes, states), tables, (hops, persisted, panics), network, rest)| {
            let (crashes, restarts, cut, mut scripts, timer_bound, observer, properties, healing) =
                rest;
            let (is_link, greeting) = healing;
            for (node, _) in scripts.iter_mut().flatten() {
                *node %= nodes;
            }
            let cut = cut.map(|bits| (0..nodes).filter(|node| bits >> node & 1 == 1).collect());
            let (forbidden, wanted, allowed_at_end) = properties;
            Plan {
                nodes: tables[..nodes].iter().map(|(s, r)| table(*s, r, nodes, states)).collect(),
                hops,
                persisted: persisted.into_iter().map(|p| p.map(|p| p % states)).collect(),
                panics,
                network,
                faults: FaultsPlan { crashes, restarts, cut, is_link, greeting },
                scripts,
                timer_bound,
                observer,
                properties: PropertiesPlan {
                    forbidden: (forbidden.0 % states, forbidden.1 % states),
                    wanted: (wanted.0 % states, wanted.1 % states),
                    allowed_at_end,
                },
            }
        },
    )
}

fn rarely() -> impl Strategy<Value = bool> {
    prop_oneof![4 => Just(false), 1 => Just(true)]
}

fn table(start: u64, rules: &[u64], nodes: usize, states: u8) -> Table {
    let by_state = rules.chunks(RULES).take(states.into());
    Table {
        start: decode(start, nodes, states),
        rules: by_state
            .map(|rules| rules.iter().map(|&rule| decode(rule, nodes, states)).collect())
            .collect(),
    }
}

/// A rule from a random number; nothing happens on zero.
fn decode(number: u64, nodes: usize, states: u8) -> Rule {
    if number == 0 {
        return vec![Alternative::default()];
    }
    let mut bits = number;
    // SplitMix64.
    let mut below = |bound: u64| {
        bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = bits;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    };
    let alternatives = [1, 1, 1, 1, 1, 1, 2, 2, 3][below(9) as usize];
    let mut alternative = || Alternative {
        next: (below(4) > 0).then(|| below(states.into()) as u8),
        sends: (0..[0, 0, 0, 1, 1, 1, 2][below(7) as usize])
            .map(|_| (below(nodes as u64 + 1) as usize, below(KINDS.into()) as u8))
            .collect(),
        set: (below(5) == 0).then(|| below(TIMERS.into()) as u8),
        cancel: (below(6) == 0).then(|| below(TIMERS.into()) as u8),
        outputs: (0..[0, 0, 0, 1, 2][below(5) as usize]).map(|_| below(3) as u8).collect(),
        stutter: below(8) == 0,
        panic: below(10) == 0,
    };
    (0..alternatives).map(|_| alternative()).collect()
}

impl fmt::Debug for Alternative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.next.map(|next| format!("-> {next}")));
        parts.extend(self.sends.iter().map(|(to, kind)| format!("send {kind} to {to}")));
        parts.extend(self.set.map(|timer| format!("set {timer}")));
        parts.extend(self.cancel.map(|timer| format!("cancel {timer}")));
        parts.extend(self.outputs.iter().map(|output| format!("output {output}")));
        parts.extend(self.stutter.then(|| "stutter".to_owned()));
        parts.extend(self.panic.then(|| "panic if panics".to_owned()));
        write!(f, "{{{}}}", parts.join(", "))
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        let idle = vec![Alternative::default()];
        if self.start != idle {
            map.entry(&"start", &self.start);
        }
        for (state, rules) in self.rules.iter().enumerate() {
            for (rule, alternatives) in rules.iter().enumerate().filter(|(_, a)| **a != idle) {
                let (timer, call) = (KINDS as usize, (KINDS + TIMERS) as usize);
                let input = match rule {
                    kind if kind < timer => format!("message {kind}"),
                    rule if rule < call => format!("timer {}", rule - timer),
                    rule if rule + 1 < RULES => format!("call {}", rule - call),
                    _ => "restart".to_owned(),
                };
                map.entry(&format!("{input} in {state}"), alternatives);
            }
        }
        map.finish()
    }
}
