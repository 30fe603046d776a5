//! Reduction `cached` of engine `dpor`: what is saved, and what must not be lost, one phenomenon at a time.

#[path = "reduced/drawn.rs"]
mod drawn;

use allways::prelude::*;
use drawn::{Drawn, drawn};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

fn dpor(reduction: Reduction) -> Options {
    Options { engine: Engine::Dpor, reduction, minimise: false, ..Options::default() }
}

/// Remembers the last message; passes those below ten on to the next node, one less.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Last(u8);

impl Node for Last {
    type Msg = u8;
    type Timer = Never;
    type Call = u8;
    type Output = Never;

    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        self.on_message(cx.id(), call, cx);
    }

    fn on_message(&mut self, _: Id, msg: u8, cx: &mut Cx<'_, Self>) {
        self.0 = msg;
        if msg > 0 && msg < 10 {
            let next = (cx.id().index() + 1) % cx.nodes();
            cx.send(Id::new(next), msg - 1);
        }
    }
}

fn nodes(count: usize) -> System<Last> {
    System::new((0..count).map(|_| Last(200)))
}

#[test]
fn what_follows_a_state_is_explored_once() {
    // A state is which messages came, and the last of them: 1 + k * 2^(k-1). From each, whatever is left may come.
    for messages in 2..=6u8 {
        let system = (0..messages).fold(nodes(1), |system, message| system.call(0, 100 + message));
        let outcome = system.try_check(&dpor(Reduction::Cached)).unwrap();
        assert!(outcome.complete);
        let states = 1 + u64::from(messages) * (1 << (messages - 1));
        assert_eq!(outcome.statistics.unique_states, Some(states));
        let (came, steps) = (0..u64::from(messages), |came: u64| {
            let ways: u64 = (0..came).fold(1, |ways, i| ways * (u64::from(messages) - i) / (i + 1));
            ways * came.max(1) * (u64::from(messages) - came)
        });
        assert_eq!(outcome.statistics.transitions, Some(came.map(steps).sum()));
        let ends = u64::from(messages);
        assert_eq!(outcome.statistics.runs, Some(ends));
    }
}

type Views = BTreeSet<Vec<u8>>;

/// What is met of these bits, and of all bits where nothing can happen but faults.
fn met(seed: u64, mask: u8, crashes: u8, options: &Options) -> (Views, Views) {
    let (views, ends) = (Arc::new(Mutex::<Views>::default()), Arc::new(Mutex::<Views>::default()));
    let (all, stuck) = (Arc::clone(&views), Arc::clone(&ends));
    let system = drawn(seed).faults(Faults::none().crashes(crashes)).always(
        "record",
        view(move |node: &Drawn| node.bits & mask),
        move |bits| {
            all.lock().unwrap().insert(bits.to_vec());
            true
        },
    );
    // Terminal states are judged only where somebody asks for them, and change what is explored.
    let system = match seed % 2 {
        0 => system,
        _ => system.never_stuck("record the end", view(|node: &Drawn| node.bits), move |bits| {
            stuck.lock().unwrap().insert(bits.to_vec());
            true
        }),
    };
    let outcome = system.try_check(options).unwrap();
    assert_eq!(outcome.verdict, Verdict::Holds);
    (views.lock().unwrap().clone(), ends.lock().unwrap().clone())
}

/// Everything that the search over states meets is met.
#[track_caller]
fn is_complete(seed: u64) {
    let search = Options {
        engine: Engine::Global,
        search: Search::Dfs,
        threads: 1,
        ..dpor(Reduction::Cached)
    };
    for (mask, crashes) in [(0xff, 0), (1, 0), (6, 1)] {
        let expected = met(seed, mask, crashes, &search);
        let found = met(seed, mask, crashes, &dpor(Reduction::Cached));
        assert!(found == expected, "{seed}, {mask}, {crashes} crashes: {found:?}, {expected:?}");
    }
}

#[test]
fn everything_is_met() {
    // More of them in a release build: few systems show each mistake that can be made here.
    let systems = if cfg!(debug_assertions) { 200 } else { 3_000 };
    (0..systems).for_each(is_complete);
}

/// What node 0 does with a message depends on whether `e` came before: it tells the observer, or changes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Three(u8);

impl Node for Three {
    type Msg = ();
    type Timer = Never;
    type Call = char;
    type Output = ();

    fn on_call(&mut self, call: char, cx: &mut Cx<'_, Self>) {
        match (call, self.0) {
            // Node 1 may send to node 0, and forgets whether it did.
            ('c', _) => {
                self.0 = 1;
                if cx.choose(2) == 1 {
                    cx.send(Id::new(0), ());
                }
            }
            ('e', 0) => self.0 = 1,
            ('f', 1 | 3) => self.0 = 2,
            ('u', 0) => {
                self.0 = 1;
                cx.output(());
            }
            _ => {}
        }
    }

    /// At node 0: before `e` it only tells the observer, after `e` it tells nobody.
    fn on_message(&mut self, _: Id, (): (), cx: &mut Cx<'_, Self>) {
        match self.0 {
            0 => cx.output(()),
            1 => self.0 = 3,
            _ => {}
        }
    }
}

/// Two when node 0 says something after node 2; what node 0 says before that changes nothing.
struct After;

impl Observer<Three> for After {
    type State = u8;
    fn start(&self) -> u8 {
        0
    }
    fn wants(&self, seen: &Seen<'_, Three>) -> bool {
        matches!(seen, Seen::Output { .. })
    }
    fn observe(&self, state: &mut u8, seen: Seen<'_, Three>) {
        if let Seen::Output { node, .. } = seen {
            *state = match (*state, node.index()) {
                (0, 2) => 1,
                (1, 0) => 2,
                (other, _) => other,
            };
        }
    }
}

fn observed(options: &Options) -> BTreeSet<u8> {
    let all = Arc::new(Mutex::<BTreeSet<u8>>::default());
    let record = Arc::clone(&all);
    let system = System::new((0..3).map(|_| Three(0)))
        .call(1, 'c')
        .call(2, 'u')
        .call(0, 'f')
        .call(0, 'e')
        .observe(After)
        .always_observed("record", move |state: &u8| {
            record.lock().unwrap().insert(*state);
            true
        });
    let outcome = system.try_check(options).unwrap();
    assert!(outcome.complete);
    all.lock().unwrap().clone()
}

#[test]
fn what_makes_a_race_of_the_run_possible_comes_behind() {
    for reduction in [Reduction::Source, Reduction::Optimal, Reduction::Cached] {
        assert_eq!(observed(&dpor(reduction)), BTreeSet::from([0, 1, 2]), "{reduction:?}");
    }
}
