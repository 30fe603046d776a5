//! Partial order reduction on small systems, each made for one way in which it could go wrong: against the
//! classic search, which follows everything.

mod commuting;
mod drawn;
mod faults;
mod first;
mod goals;
mod observed;
mod panics;
mod products;
mod random;
mod single;
mod sleeping;

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
    panic: bool,
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
        assert!(!act.panic, "it panics");
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
