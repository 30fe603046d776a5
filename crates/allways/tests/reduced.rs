//! Partial order reduction on small systems, each made for one way in which it could go wrong: against the
//! classic search, which follows everything.

use allways::Por;
use allways::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// What a handler may do, as a table: in a state, on something, this.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct Act {
    next: Option<u8>,
    sends: Vec<(usize, u8)>,
    set: Vec<u8>,
    cancel: Vec<u8>,
    outputs: Vec<u8>,
    stutter: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum On {
    Start,
    Message(u8),
    Timer(u8),
    Call(u8),
    Restart,
}

/// The rules of a node: in this state, on this, one of these.
type Rules = &'static [(u8, On, &'static [fn(&mut Act)])];

#[derive(Clone)]
struct Table {
    state: u8,
    rules: Rules,
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state
    }
}

impl Eq for Table {}

impl std::hash::Hash for Table {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        self.state.hash(hasher);
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.state)
    }
}

impl Table {
    fn handle(&mut self, on: On, cx: &mut Cx<'_, Self>) {
        let rule = self.rules.iter().find(|(state, what, _)| (*state, *what) == (self.state, on));
        let Some((_, _, acts)) = rule else { return };
        let chosen = if acts.len() > 1 { cx.choose(acts.len()) } else { 0 };
        let mut act = Act::default();
        acts[chosen](&mut act);
        self.state = act.next.unwrap_or(self.state);
        act.sends.into_iter().for_each(|(to, msg)| cx.send(to, msg));
        act.cancel.iter().for_each(|timer| cx.cancel_timer(timer));
        act.set.into_iter().for_each(|timer| cx.set_timer(timer));
        act.outputs.into_iter().for_each(|output| cx.output(output));
        if act.stutter {
            cx.stutter();
        }
    }
}

impl Node for Table {
    type Msg = u8;
    type Timer = u8;
    type Call = u8;
    type Output = u8;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.handle(On::Start, cx);
    }

    fn on_message(&mut self, _: Id, msg: u8, cx: &mut Cx<'_, Self>) {
        self.handle(On::Message(msg), cx);
    }

    fn on_timer(&mut self, timer: u8, cx: &mut Cx<'_, Self>) {
        self.handle(On::Timer(timer), cx);
    }

    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        self.handle(On::Call(call), cx);
    }

    fn persisted(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn on_restart(&mut self, cx: &mut Cx<'_, Self>) {
        self.handle(On::Restart, cx);
    }
}

fn nodes(rules: &[Rules]) -> System<Table> {
    System::new(rules.iter().map(|&rules| Table { state: 0, rules }))
}

/// What properties see of a node: its state, through this.
type Seen8 = fn(u8) -> u8;
const PARTS: [Seen8; 4] = [|state| state, |state| state & 1, |state| state & 2, |state| state / 3];

fn classic() -> Options {
    let (engine, search) = (Engine::Global, Search::Classic);
    Options { engine, search, threads: 1, minimise: false, ..Options::default() }
}

/// All reduced searches that preserve one of these.
fn reduced(pors: &[Por]) -> Vec<(String, Options)> {
    let mut all = Vec::new();
    for &por in pors {
        for search in [Search::Bfs, Search::Dfs] {
            for (threads, exact) in [(1, false), (3, false), (1, true)] {
                let name = format!("{por:?}, {search:?}, {threads} threads, exact {exact}");
                let por = Some(por);
                all.push((name, Options { search, threads, exact, por, ..classic() }));
            }
        }
    }
    all
}

type Views = BTreeSet<Vec<u8>>;

/// The views that a search meets, and the views in which it finds a terminal state.
fn met(build: &dyn Fn() -> System<Table>, seen: Seen8, options: &Options) -> (Views, Views) {
    let (views, ends) = (Arc::new(Mutex::<Views>::default()), Arc::new(Mutex::<Views>::default()));
    let (all, stuck) = (Arc::clone(&views), Arc::clone(&ends));
    let part = move || view(move |node: &Table| seen(node.state));
    let system = build()
        .always("record", part(), move |states| {
            all.lock().unwrap().insert(states.to_vec());
            true
        })
        .never_stuck("record the end", view(|node: &Table| node.state), move |states| {
            stuck.lock().unwrap().insert(states.to_vec());
            true
        });
    let outcome = system.try_check(options).unwrap();
    assert_eq!(outcome.verdict, Verdict::Holds, "{outcome}");
    (views.lock().unwrap().clone(), ends.lock().unwrap().clone())
}

/// Every reduced search meets what it preserves: all views, all terminal states, every vector of views that is bad.
#[track_caller]
fn preserves(build: impl Fn() -> System<Table>, seen: Seen8) {
    let (views, ends) = met(&build, seen, &classic());
    for (name, options) in reduced(&[Por::Views]) {
        let (found, terminal) = met(&build, seen, &options);
        assert_eq!((&found, &terminal), (&views, &ends), "{name}");
    }
    for (name, options) in reduced(&[Por::Terminals]) {
        assert_eq!(&met(&build, seen, &options).1, &ends, "{name}");
    }
    let part = move || view(move |node: &Table| seen(node.state));
    for bad in &views {
        for (name, options) in reduced(&[Por::Needed, Por::Invariant, Por::Terminals]) {
            let never = bad.clone();
            let system = build().always("never", part(), move |states| states != never);
            let verdict = system.try_check(&options).unwrap().verdict;
            assert_eq!(verdict, Verdict::Violated, "always, {bad:?}, {name}");
            let once = bad.clone();
            let system = build().sometimes("once", part(), move |states| states == once);
            let verdict = system.try_check(&options).unwrap().verdict;
            assert_eq!(verdict, Verdict::Holds, "sometimes, {bad:?}, {name}");
        }
    }
}

#[test]
fn a_state_met_with_less_used_up_passes_that_on() {
    // The first way to state 1 uses up call 1; the second, longer one does not: so call 1 may still
    // come in state 3, which state 1 leads to.
    const RULES: Rules = &[
        (0, On::Call(1), &[|a| a.next = Some(1)]),
        (0, On::Call(2), &[|a| a.next = Some(2)]),
        (2, On::Call(4), &[|a| a.next = Some(1)]),
        (1, On::Call(3), &[|a| a.next = Some(3)]),
        (3, On::Call(1), &[|a| a.next = Some(4)]),
    ];
    let build = || nodes(&[RULES]).call(0, 1).call(0, 2).call(0, 3).call(0, 4);
    preserves(build, |state| state);
    preserves(build, |state| u8::from(state == 4));
}

#[test]
fn a_timer_that_was_cancelled_does_not_fire() {
    // The call cancels the timer. Were it to fire all the same, both orders would lead to state 3.
    const RULES: Rules = &[
        (0, On::Start, &[|a| a.set = vec![0]]),
        (0, On::Timer(0), &[|a| a.next = Some(1)]),
        (0, On::Call(0), &[|a| (a.next, a.cancel) = (Some(2), vec![0])]),
        (1, On::Call(0), &[|a| (a.next, a.cancel) = (Some(3), vec![0])]),
        (2, On::Timer(0), &[|a| a.next = Some(3)]),
    ];
    for seen in PARTS {
        preserves(|| nodes(&[RULES]).call(0, 0), seen);
    }
}

#[test]
fn a_timer_that_may_not_fire_any_more_is_not_possible() {
    // Two timers, one of which may fire.
    const RULES: Rules = &[
        (0, On::Start, &[|a| a.set = vec![0, 1]]),
        (0, On::Timer(0), &[|a| a.next = Some(1)]),
        (0, On::Timer(1), &[|a| a.next = Some(2)]),
        (1, On::Timer(1), &[|a| a.next = Some(3)]),
        (2, On::Timer(0), &[|a| a.next = Some(3)]),
    ];
    for bound in [1, 2] {
        for seen in PARTS {
            preserves(|| nodes(&[RULES]).timers(bound), seen);
        }
    }
}

/// Sees some calls, and how many of them it counts.
#[derive(Clone)]
struct Calls {
    wanted: &'static [u8],
    most: u8,
}

impl Observer<Table> for Calls {
    type State = u8;

    fn start(&self) -> u8 {
        0
    }

    fn wants(&self, seen: &Seen<'_, Table>) -> bool {
        matches!(seen, Seen::Call { call, .. } if self.wanted.contains(call))
    }

    fn observe(&self, state: &mut u8, _: Seen<'_, Table>) {
        *state = (*state + 1).min(self.most);
    }
}

#[test]
fn a_call_of_which_only_an_observer_could_see_anything_stays_if_the_observer_has_seen_enough() {
    // In state 2 call 1 changes nothing, and the observer does not move: it is no step, and the call may
    // come later. In state 1 it has been made already.
    const RULES: Rules = &[
        (0, On::Call(1), &[|a| a.next = Some(1)]),
        (0, On::Call(2), &[|a| a.next = Some(2)]),
        (1, On::Call(2), &[|a| a.next = Some(2)]),
        (2, On::Call(3), &[|a| a.next = Some(3)]),
        (3, On::Call(1), &[|a| a.next = Some(4)]),
    ];
    for network in [Network::unordered(), Network::duplicating(), Network::ordered()] {
        for most in [0, 1, 2] {
            for seen in PARTS {
                let observer = Calls { wanted: &[1], most };
                let system = || nodes(&[RULES]).call(0, 1).call(0, 2).call(0, 3);
                let build = || system().network(network).observe(observer.clone());
                preserves(build, seen);
            }
        }
    }
}

#[test]
fn a_message_that_changes_nothing_is_taken_from_its_queue() {
    const SENDS: Rules = &[(0, On::Start, &[|a| a.sends = vec![(1, 0), (1, 1), (1, 0)]])];
    const TAKES: Rules = &[
        (0, On::Message(1), &[|a| a.next = Some(1)]),
        (1, On::Message(0), &[|a| a.next = Some(2)]),
        (0, On::Call(0), &[|a| a.next = Some(3)]),
        (1, On::Call(0), &[|a| (a.next, a.sends) = (Some(3), vec![(0, 0)])]),
        (3, On::Message(1), &[|a| a.next = Some(1)]),
    ];
    for network in [Network::unordered(), Network::ordered(), Network::ordered().drops(1)] {
        for seen in PARTS {
            preserves(|| nodes(&[SENDS, TAKES]).network(network).call(1, 0), seen);
        }
    }
}

#[test]
fn a_choice_some_of_whose_alternatives_change_nothing() {
    // What call 1 may do is less in state 0 than in state 1, and other things.
    const RULES: Rules = &[
        (0, On::Call(1), &[|_| (), |a| a.next = Some(2), |a| a.stutter = true]),
        (0, On::Call(2), &[|a| a.next = Some(1), |_| ()]),
        (1, On::Call(1), &[|a| a.next = Some(3), |_| (), |a| a.sends = vec![(1, 0)]]),
        (2, On::Call(2), &[|a| a.next = Some(3), |a| a.next = Some(4)]),
        (3, On::Call(3), &[|a| a.next = Some(4), |a| a.next = Some(2), |a| a.stutter = true]),
        (2, On::Call(3), &[|a| a.stutter = true, |a| a.next = Some(5)]),
    ];
    const OTHER: Rules = &[(0, On::Message(0), &[|a| a.next = Some(1), |a| a.next = Some(2)])];
    for network in [Network::unordered(), Network::ordered()] {
        for seen in PARTS {
            let system = || nodes(&[RULES, OTHER]).network(network);
            preserves(|| system().call(0, 1).call(0, 2).call(0, 3), seen);
        }
    }
}

#[test]
fn a_step_that_can_be_undone_from_another_start() {
    // From one initial state there is no way from state 2 back to state 1; from the other there is.
    const RULES: Rules = &[
        (
            0,
            On::Start,
            &[
                |a| (a.next, a.sends) = (Some(1), vec![(1, 0)]),
                |a| (a.next, a.sends) = (Some(1), vec![(1, 1)]),
                |a| (a.next, a.sends) = (Some(4), vec![(0, 9)]),
            ],
        ),
        (1, On::Message(0), &[|a| (a.next, a.sends) = (Some(2), vec![(1, 0)])]),
        (2, On::Message(1), &[|a| (a.next, a.sends) = (Some(1), vec![(1, 1)])]),
        (1, On::Message(2), &[|a| a.next = Some(3)]),
        (2, On::Message(2), &[|a| a.next = Some(3)]),
        (4, On::Message(9), &[|a| a.next = Some(5)]),
    ];
    const OTHER: Rules = &[
        (0, On::Message(0), &[|a| (a.next, a.sends) = (Some(1), vec![(0, 0)])]),
        (1, On::Message(0), &[|a| (a.next, a.sends) = (Some(0), vec![(0, 1)])]),
        (0, On::Message(1), &[|a| (a.next, a.sends) = (Some(1), vec![(0, 0)])]),
        (1, On::Message(1), &[|a| (a.next, a.sends) = (Some(0), vec![(0, 1)])]),
    ];
    const THIRD: Rules =
        &[(0, On::Call(0), &[|a| a.next = Some(3)]), (3, On::Call(1), &[|a| a.next = Some(6)])];
    for seen in PARTS {
        preserves(|| nodes(&[RULES, OTHER, THIRD]).call(2, 0).call(2, 1), seen);
    }
}

/// Sees what nodes output, the first two in order. It has few states, so that products tell something of it.
#[derive(Clone)]
struct FirstOutputs;

impl Observer<Table> for FirstOutputs {
    type State = Vec<u8>;

    fn start(&self) -> Vec<u8> {
        Vec::new()
    }

    fn wants(&self, seen: &Seen<'_, Table>) -> bool {
        matches!(seen, Seen::Output { .. })
    }

    fn observe(&self, state: &mut Vec<u8>, seen: Seen<'_, Table>) {
        if let (Seen::Output { output, .. }, 0..2) = (seen, state.len()) {
            state.push(*output);
        }
    }
}

/// What an observer sees of outputs in a search, while properties see this of the nodes.
fn outputs(build: &dyn Fn() -> System<Table>, seen: Seen8, options: &Options) -> Views {
    let met = Arc::new(Mutex::<Views>::default());
    let all = Arc::clone(&met);
    let system = build()
        .observe(FirstOutputs)
        .always("seen", view(move |node: &Table| seen(node.state)), |_| true)
        .always_observed("record", move |outputs: &Vec<u8>| {
            all.lock().unwrap().insert(outputs.clone());
            true
        });
    assert_eq!(system.try_check(options).unwrap().verdict, Verdict::Holds);
    met.lock().unwrap().clone()
}

/// Every reduced search meets what an observer may see of outputs: these.
#[track_caller]
fn preserves_outputs(build: impl Fn() -> System<Table>, expected: &[&[u8]]) {
    let expected: Views = expected.iter().map(|outputs| outputs.to_vec()).collect();
    for seen in PARTS {
        assert_eq!(outputs(&build, seen, &classic()), expected);
        for (name, options) in reduced(&[Por::Views]) {
            assert_eq!(outputs(&build, seen, &options), expected, "{name}");
        }
    }
    for history in &expected {
        for (name, options) in reduced(&[Por::Needed, Por::Terminals]) {
            let system = || build().observe(FirstOutputs);
            let never = history.clone();
            let system_never = system().always_observed("never", move |s: &Vec<u8>| *s != never);
            let verdict = system_never.try_check(&options).unwrap().verdict;
            assert_eq!(verdict, Verdict::Violated, "{history:?}, {name}");
            let once = history.clone();
            let system_once = system().sometimes_observed("once", move |s: &Vec<u8>| *s == once);
            let verdict = system_once.try_check(&options).unwrap().verdict;
            assert_eq!(verdict, Verdict::Holds, "{history:?}, {name}");
        }
    }
}

#[test]
fn an_observer_tells_the_order_of_what_two_nodes_output() {
    const FIRST: Rules = &[
        (0, On::Call(0), &[|a| (a.next, a.outputs) = (Some(1), vec![1])]),
        (1, On::Call(1), &[|a| a.next = Some(2)]),
        (2, On::Call(2), &[|a| (a.next, a.outputs) = (Some(3), vec![2])]),
    ];
    const SECOND: Rules = &[
        (0, On::Call(0), &[|a| a.next = Some(1)]),
        (1, On::Call(1), &[|a| (a.next, a.outputs) = (Some(2), vec![3])]),
        (0, On::Call(1), &[|a| a.next = Some(3)]),
    ];
    let build = || {
        let system = nodes(&[FIRST, SECOND]).call(0, 0).call(0, 1).call(0, 2);
        system.call(1, 0).call(1, 1)
    };
    preserves_outputs(build, &[&[], &[1], &[3], &[1, 2], &[1, 3], &[3, 1]]);
    for seen in PARTS {
        preserves(|| build().observe(FirstOutputs), seen);
    }
}

#[test]
fn an_observer_tells_the_order_of_what_one_node_outputs() {
    // Both orders lead to the same state.
    const RULES: Rules = &[
        (0, On::Call(1), &[|a| (a.next, a.outputs) = (Some(1), vec![1])]),
        (0, On::Call(2), &[|a| (a.next, a.outputs) = (Some(2), vec![2])]),
        (1, On::Call(2), &[|a| (a.next, a.outputs) = (Some(3), vec![2])]),
        (2, On::Call(1), &[|a| (a.next, a.outputs) = (Some(3), vec![1])]),
    ];
    let build = || nodes(&[RULES]).call(0, 1).call(0, 2);
    preserves_outputs(build, &[&[], &[1], &[2], &[1, 2], &[2, 1]]);
}

#[test]
fn what_a_node_outputs_tells_what_came_before() {
    // Both orders lead to the same state, but call 2 outputs something else after call 1.
    const RULES: Rules = &[
        (0, On::Call(1), &[|a| a.next = Some(1)]),
        (0, On::Call(2), &[|a| (a.next, a.outputs) = (Some(2), vec![1])]),
        (1, On::Call(2), &[|a| (a.next, a.outputs) = (Some(3), vec![3])]),
        (2, On::Call(1), &[|a| a.next = Some(3)]),
    ];
    preserves_outputs(|| nodes(&[RULES]).call(0, 1).call(0, 2), &[&[], &[1], &[3]]);
    preserves_outputs(|| nodes(&[RULES]).call(0, 2).call(0, 1), &[&[], &[1], &[3]]);
}

#[test]
fn a_step_that_no_property_sees_and_that_is_undone_does_not_come_first_for_ever() {
    const TURNS: Rules = &[
        (0, On::Start, &[|a| a.sends = vec![(0, 0), (1, 0)]]),
        (0, On::Message(0), &[|a| (a.next, a.sends) = (Some(4), vec![(0, 0)])]),
        (4, On::Message(0), &[|a| (a.next, a.sends) = (Some(0), vec![(0, 0)])]),
    ];
    const MOVES: Rules = &[
        (0, On::Message(0), &[|a| a.next = Some(1)]),
        (0, On::Call(0), &[|a| a.next = Some(2)]),
        (1, On::Call(0), &[|a| a.next = Some(3)]),
    ];
    for seen in [PARTS[0], PARTS[1], PARTS[2], |state| state & 3] {
        preserves(|| nodes(&[TURNS, MOVES]).call(1, 0), seen);
    }
}

#[test]
fn what_is_sent_whenever_something_happens_may_come_more_than_once() {
    const SENDER: Rules = &[(0, On::Call(0), &[|a| a.sends = vec![(1, 0)]])];
    const COUNTS: Rules = &[
        (0, On::Message(0), &[|a| a.next = Some(1)]),
        (1, On::Message(0), &[|a| a.next = Some(2)]),
    ];
    for network in [Network::unordered(), Network::ordered()] {
        for seen in PARTS {
            let system = || nodes(&[SENDER, COUNTS]).network(network);
            preserves(|| system().call(0, 0).call(0, 0), seen);
        }
    }
}

#[test]
fn two_steps_that_put_messages_into_one_queue() {
    const SENDER: Rules = &[
        (0, On::Call(0), &[|a| a.sends = vec![(1, 0)]]),
        (0, On::Call(1), &[|a| a.sends = vec![(1, 1)]]),
        (0, On::Call(2), &[|a| a.sends = vec![(2, 0)]]),
    ];
    const OTHER: Rules = &[
        (0, On::Message(0), &[|a| a.next = Some(1)]),
        (1, On::Message(1), &[|a| (a.next, a.sends) = (Some(2), vec![(2, 1)])]),
        (0, On::Message(1), &[|a| a.next = Some(3)]),
        (3, On::Message(0), &[|a| (a.next, a.sends) = (Some(4), vec![(2, 1)])]),
    ];
    for network in [Network::unordered(), Network::ordered(), Network::ordered().duplications(1)] {
        for seen in PARTS {
            let system = || nodes(&[SENDER, OTHER, OTHER]).network(network);
            preserves(|| system().call(0, 0).call(0, 1).call(0, 2), seen);
        }
    }
}

#[test]
fn a_lost_message_ends_a_run_and_a_doubled_one_goes_on() {
    const SENDER: Rules = &[
        (0, On::Start, &[|a| a.sends = vec![(1, 0), (2, 0)]]),
        (0, On::Message(1), &[|a| a.next = Some(1)]),
        (1, On::Message(1), &[|a| a.next = Some(2)]),
    ];
    const ANSWERS: Rules = &[
        (0, On::Message(0), &[|a| (a.next, a.sends) = (Some(1), vec![(0, 1)])]),
        (1, On::Message(0), &[|a| (a.next, a.sends) = (Some(3), vec![(0, 1)])]),
    ];
    for (drops, duplications) in [(1, 0), (0, 1), (1, 1), (2, 0)] {
        for network in [Network::unordered(), Network::ordered()] {
            let network = network.drops(drops).duplications(duplications);
            for seen in [PARTS[0], PARTS[1]] {
                let build = || nodes(&[SENDER, ANSWERS, ANSWERS]).network(network);
                preserves(build, seen);
            }
        }
    }
}

#[test]
fn a_node_that_crashes_forgets_what_it_has_not_sent() {
    const RULES: Rules = &[
        (0, On::Call(0), &[|a| (a.next, a.set) = (Some(1), vec![0])]),
        (1, On::Timer(0), &[|a| (a.next, a.sends) = (Some(2), vec![(1, 0)])]),
        (1, On::Restart, &[|a| a.next = Some(3)]),
        (3, On::Call(1), &[|a| a.next = Some(4)]),
        (2, On::Call(1), &[|a| a.next = Some(5)]),
    ];
    const OTHER: Rules = &[(0, On::Message(0), &[|a| a.next = Some(1)])];
    for faults in [Faults::none().crashes(1), Faults::none().crashes(1).restarts()] {
        for seen in PARTS {
            let system = || nodes(&[RULES, OTHER]).faults(faults.clone());
            preserves(|| system().call(0, 0).call(0, 1), seen);
        }
    }
}

#[test]
fn what_sleeps_in_a_state_wakes_up_when_the_state_is_met_another_way() {
    // Three nodes that count, and one whose steps lead together: many ways to every state.
    const COUNTS: Rules = &[
        (0, On::Call(0), &[|a| a.next = Some(1)]),
        (0, On::Call(1), &[|a| a.next = Some(2)]),
        (1, On::Call(1), &[|a| (a.next, a.sends) = (Some(3), vec![(3, 0)])]),
        (2, On::Call(0), &[|a| (a.next, a.sends) = (Some(3), vec![(3, 0)])]),
    ];
    const GATHERS: Rules = &[
        (0, On::Message(0), &[|a| a.next = Some(1), |a| a.next = Some(2)]),
        (1, On::Message(0), &[|a| a.next = Some(2)]),
        (2, On::Message(0), &[|a| a.next = Some(3), |a| a.next = Some(1)]),
    ];
    let build = || {
        let system = nodes(&[COUNTS, COUNTS, COUNTS, GATHERS]);
        (0..3).fold(system, |system, node| system.call(node, 0).call(node, 1))
    };
    for seen in [PARTS[1], PARTS[2]] {
        let (views, ends) = met(&build, seen, &classic());
        for por in [Por::Views, Por::Terminals] {
            for (name, options) in reduced(&[por]) {
                let (found, terminal) = met(&build, seen, &options);
                assert!(por != Por::Views || found == views, "{name}");
                assert_eq!(terminal, ends, "{name}");
            }
        }
    }
}

#[test]
fn a_second_search_looks_for_what_the_first_has_not_witnessed() {
    // Nothing forbids anything, so the first search follows next to nothing.
    const RULES: Rules = &[
        (0, On::Call(0), &[|a| a.next = Some(1)]),
        (1, On::Call(1), &[|a| a.next = Some(2)]),
        (0, On::Call(1), &[|a| a.next = Some(3)]),
    ];
    let state = || view(|node: &Table| node.state);
    for (name, options) in reduced(&[Por::Needed, Por::Invariant, Por::Terminals, Por::Views]) {
        let system = || nodes(&[RULES, RULES]).call(0, 0).call(0, 1).call(1, 0).call(1, 1);
        let outcome = system()
            .always("small", state(), |states| states.iter().all(|state| *state < 9))
            .sometimes("near", state(), |states| states == [0, 0])
            .sometimes("far", state(), |states| states == [2, 3])
            .sometimes_all(
                "both",
                state(),
                [
                    conjunct("first", |states: &[u8]| states[0] == 3),
                    conjunct("second", |states: &[u8]| states[1] == 2),
                ],
            )
            .try_check(&options)
            .unwrap();
        assert_eq!(outcome.verdict, Verdict::Holds, "{name}\n{outcome}");
        assert!(outcome.complete, "{name}");
        let mut witnessed: Vec<_> = outcome.witnesses.iter().map(|w| &*w.property).collect();
        witnessed.sort_unstable();
        assert_eq!(witnessed, ["both", "far", "near"], "{name}");
        for goal in &outcome.goals {
            assert!(goal.reached.is_some() && goal.nearest.is_none(), "{name}: {goal:?}");
            let known = goal.conjuncts.iter().all(|conjunct| conjunct.first_true.is_some());
            assert!(known, "{name}: {goal:?}");
        }
    }
}

#[test]
fn what_is_true_in_some_state_is_not_said_never_to_be() {
    const RULES: Rules =
        &[(0, On::Call(0), &[|a| a.next = Some(1)]), (1, On::Call(1), &[|a| a.next = Some(2)])];
    for (name, options) in reduced(&[Por::Needed, Por::Invariant, Por::Terminals, Por::Views]) {
        let system = nodes(&[RULES, RULES]).call(0, 0).call(0, 1).call(1, 0);
        let parts = [
            conjunct("first", |states: &[u8]| states[0] == 2),
            conjunct("second", |states: &[u8]| states[1] == 4),
        ];
        let state = view(|node: &Table| node.state);
        let outcome = system.sometimes_all("never", state, parts).try_check(&options).unwrap();
        assert_eq!(outcome.verdict, Verdict::Violated, "{name}\n{outcome}");
        assert!(!outcome.to_string().contains("`first` is never true"), "{name}\n{outcome}");
    }
}
