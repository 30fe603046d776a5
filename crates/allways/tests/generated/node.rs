//! The node that a plan describes, and the system of such nodes.

use crate::plan::{Input, Kind, ObserverPlan, Plan, Rule};
use allways::prelude::*;
use std::collections::BTreeSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex};

/// A node whose behaviour is a table. The table is the same in all states of all nodes (they look
/// themselves up by their id), so it takes no part in comparisons.
#[derive(Clone)]
pub struct TableNode {
    pub state: u8,
    plan: Arc<Plan>,
}

impl PartialEq for TableNode {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state
    }
}

impl Eq for TableNode {}

impl Hash for TableNode {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.state.hash(hasher);
    }
}

impl fmt::Debug for TableNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.state)
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Msg {
    pub kind: u8,
    /// How many more hops what follows from this message may take.
    pub hops: u8,
}

impl TableNode {
    fn follow(&mut self, rule: &Rule, from: Id, hops: Option<u8>, cx: &mut Cx<'_, Self>) {
        let chosen = if rule.len() > 1 { cx.choose(rule.len()) } else { 0 };
        let alternative = &rule[chosen];
        assert!(!(alternative.panic && self.plan.panics), "the rule says so");
        self.state = alternative.next.unwrap_or(self.state);
        if let Some(hops) = hops {
            for &(to, kind) in &alternative.sends {
                let to = if to < cx.nodes() { Id::new(to) } else { from };
                cx.send(to, Msg { kind, hops });
            }
        }
        if let Some(timer) = alternative.cancel {
            cx.cancel_timer(&timer);
        }
        if let Some(timer) = alternative.set {
            cx.set_timer(timer);
        }
        for &output in &alternative.outputs {
            cx.output(output);
        }
        if alternative.stutter {
            cx.stutter();
        }
    }

    fn handle(&mut self, input: Input, cx: &mut Cx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        let rule = plan.rule(cx.id().index(), self.state, input);
        self.follow(rule, cx.id(), Some(plan.hops), cx);
    }
}

impl Node for TableNode {
    type Msg = Msg;
    type Timer = u8;
    type Call = u8;
    type Output = u8;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        self.follow(plan.start(cx.id().index()), cx.id(), Some(plan.hops), cx);
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        let rule = plan.rule(cx.id().index(), self.state, Input::Message(msg.kind));
        self.follow(rule, from, msg.hops.checked_sub(1), cx);
    }

    fn on_timer(&mut self, timer: u8, cx: &mut Cx<'_, Self>) {
        self.handle(Input::Timer(timer), cx);
    }

    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        self.handle(Input::Call(call), cx);
    }

    fn persisted(&self) -> Option<Self> {
        let state = self.plan.persisted[usize::from(self.state)]?;
        Some(TableNode { state, plan: Arc::clone(&self.plan) })
    }

    fn on_restart(&mut self, cx: &mut Cx<'_, Self>) {
        self.handle(Input::Restart, cx);
    }
}

impl Observer<TableNode> for ObserverPlan {
    type State = u8;

    fn start(&self) -> u8 {
        0
    }

    fn wants(&self, seen: &Seen<'_, TableNode>) -> bool {
        match seen {
            Seen::Output { .. } => self.outputs,
            Seen::Delivery { msg, .. } => self.deliveries_of == Some(msg.kind),
            Seen::Call { .. } => self.calls,
            Seen::Crash { .. } | Seen::Restart { .. } => self.crashes,
            Seen::Timer { .. } => false,
        }
    }

    /// The order of what it sees matters: the counter is sometimes moved, sometimes turned round.
    fn observe(&self, state: &mut u8, seen: Seen<'_, TableNode>) {
        *state = match seen {
            Seen::Output { node, output } => *state + output + node.index() as u8,
            Seen::Delivery { node, .. } => 2 * *state + 1 + node.index() as u8,
            Seen::Call { call, .. } => *state + call + 1,
            _ => 2 * *state + 1,
        } % 3;
    }
}

/// The system that a plan describes, without properties.
pub fn system(plan: &Plan) -> System<TableNode> {
    let shared = Arc::new(plan.clone());
    let nodes = plan.nodes.iter().map(|_| TableNode { state: 0, plan: Arc::clone(&shared) });
    let network = match plan.network.kind {
        Kind::Unordered => Network::unordered(),
        Kind::Duplicating => Network::duplicating(),
        Kind::Ordered => Network::ordered(),
    };
    let network = network.drops(plan.network.drops).duplications(plan.network.duplications);
    let mut faults = Faults::none().crashes(plan.faults.crashes);
    if plan.faults.restarts {
        faults = faults.restarts();
    }
    let last = plan.nodes.len() - 1;
    if let Some(cut) = &plan.faults.cut {
        faults = match plan.faults.is_link && last > 0 {
            true => faults.link(0, last).partition([cut.clone()]).partitions(2),
            false => faults.partition([cut.clone()]),
        };
    }
    let mut system = System::new(nodes).network(network).faults(faults).timers(plan.timer_bound);
    if let Some(kind) = plan.faults.greeting {
        system = system.reconnect(Msg { kind, hops: plan.hops });
    }
    let system = plan.scripts.iter().fold(system, |system, script| match script[..] {
        [(node, call)] => system.call(node, call),
        _ => system.calls_in_sequence(script.iter().copied()),
    });
    match &plan.observer {
        Some(observer) => system.observe(observer.clone()),
        None => system,
    }
}

/// What properties were asked about: a complete engine asks about everything reachable.
#[derive(Clone, Default)]
pub struct Record {
    views: Arc<Mutex<BTreeSet<Vec<u8>>>>,
    observed: Arc<Mutex<BTreeSet<u8>>>,
}

/// All views of the nodes, and all states of the observer.
pub type Recorded = (BTreeSet<Vec<u8>>, BTreeSet<u8>);

impl Record {
    /// The system with properties that always hold, and record what they are asked about.
    pub fn of(&self, plan: &Plan) -> System<TableNode> {
        let views = Arc::clone(&self.views);
        let system = system(plan).always("record", state(), move |states| {
            views.lock().unwrap().insert(states.to_vec());
            true
        });
        if plan.observer.is_none() {
            return system;
        }
        let observed = Arc::clone(&self.observed);
        system.always_observed("record the observer", move |state: &u8| {
            observed.lock().unwrap().insert(*state);
            true
        })
    }

    pub fn take(&self) -> Recorded {
        let views = std::mem::take(&mut *self.views.lock().unwrap());
        (views, std::mem::take(&mut *self.observed.lock().unwrap()))
    }
}

/// The view that all properties read.
pub fn state() -> allways::View<TableNode, u8> {
    view(|node: &TableNode| node.state)
}
