//! Systems drawn at random in which it matters how often a message was sent: each copy moves its node on, several
//! are sent at once and by several steps, messages are duplicated, calls are equal, and nodes crash. Compared with engine `global`.

use allways::prelude::*;
use allways::{Bound, View};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Systems with more global states than this are left out.
const MAX_STATES: u64 = 2_000;
const SYSTEMS: u64 = if cfg!(debug_assertions) { 150 } else { 1_500 };

/// A node that goes on by one state with most of what it is told.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Chain {
    state: u8,
    seed: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Msg {
    kind: u64,
    /// How many more hops what follows from it may take.
    hops: u64,
}

const CALL: u64 = 10;
const TIMER: u64 = 20;
const RESTART: u64 = 30;

/// Numbers below a bound that look as if drawn at random.
fn draw(seed: u64, what: &[u64], below: u64) -> u64 {
    let mut x = seed;
    for word in what {
        x = (x ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x = (x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x ^= x >> 32;
    }
    x % below
}

impl Chain {
    fn states(&self) -> u64 {
        3 + draw(self.seed, &[1], 4)
    }

    /// What an input does in each state is drawn once for all.
    fn handle(&mut self, input: u64, hops: Option<u64>, cx: &mut Cx<'_, Self>) {
        let (seed, before) = (self.seed, u64::from(self.state));
        let me = cx.id().index() as u64;
        let lot = |what: u64, below| draw(seed, &[me, before, input, what], below);
        if lot(2, 5) == 0 {
            return;
        }
        let loops = draw(seed, &[3], 3) == 0;
        let next = match (lot(4, 6), before + 1 < self.states()) {
            (0, _) => lot(5, self.states()),
            (_, true) => before + 1,
            (_, false) if loops => 0,
            (_, false) => before,
        };
        self.state = next as u8;
        let says = if input < CALL { next > before && lot(6, 3) == 0 } else { lot(6, 3) > 0 };
        if let (true, Some(hops)) = (says, hops) {
            let (to, kind) = (lot(7, cx.nodes() as u64) as usize, lot(8, 2));
            for _ in 0..[1, 1, 2, 2, 3][lot(9, 5) as usize] {
                cx.send(to, Msg { kind, hops });
            }
        }
        if input >= CALL && lot(10, 4) == 0 {
            cx.set_timer(());
        }
    }

    fn hops(&self) -> u64 {
        draw(self.seed, &[11], 2)
    }
}

impl Node for Chain {
    type Msg = Msg;
    type Timer = ();
    type Call = ();
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        let lot = draw(self.seed, &[12, cx.id().index() as u64], 4);
        // One of them does not know how to begin.
        if lot == 0 && cx.choose(2) == 1 {
            self.state = 1;
        }
        if lot < 2 {
            self.handle(CALL + 1, Some(self.hops()), cx);
        }
    }

    fn on_message(&mut self, _: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        self.handle(msg.kind, msg.hops.checked_sub(1), cx);
    }

    fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        self.handle(CALL, Some(self.hops()), cx);
    }

    fn on_timer(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        self.handle(TIMER, Some(self.hops()), cx);
    }

    fn persisted(&self) -> Option<Self> {
        let lot = |what| draw(self.seed, &[what, u64::from(self.state)], 3);
        let after = (u64::from(self.state) + 1) % self.states();
        match lot(13) {
            0 => Some(Chain { state: after as u8, ..self.clone() }),
            1 => Some(self.clone()),
            _ => None,
        }
    }

    fn on_restart(&mut self, cx: &mut Cx<'_, Self>) {
        self.handle(RESTART, Some(self.hops()), cx);
    }
}

/// The system with this number.
fn drawn(number: u64) -> System<Chain> {
    let seed = draw(number, &[number, 7], u64::MAX);
    let nodes = 2 + draw(seed, &[14], 2);
    let crashes = draw(seed, &[15], 4).saturating_sub(1) as u8;
    let system = System::new(vec![Chain { state: 0, seed }; nodes as usize])
        .timers(1 + draw(seed, &[16], 2) as u32)
        .network(Network::unordered().duplications(draw(seed, &[21], 6).saturating_sub(3) as u8))
        .faults(Faults::none().crashes(crashes.min(2)).restarts());
    (0..1 + draw(seed, &[17], 3)).fold(system, |system, script| {
        let node = draw(seed, &[18, script / 2], nodes) as usize;
        let calls = 1 + draw(seed, &[19, script / 2], 2) as usize;
        system.calls_in_sequence(vec![(node, ()); calls])
    })
}

/// Some states look alike.
fn seen(number: u64) -> View<Chain, u64> {
    view(move |node: &Chain| match draw(number, &[20, u64::from(node.state)], 3) {
        0 => u64::from(node.state % 2),
        _ => u64::from(node.state),
    })
}

/// All views that are reachable, if there are not too many states.
fn reachable(number: u64) -> Option<BTreeSet<Vec<u64>>> {
    let met: Arc<Mutex<BTreeSet<Vec<u64>>>> = Arc::default();
    let record = Arc::clone(&met);
    let outcome = drawn(number)
        .always("record", seen(number), move |views| {
            record.lock().unwrap().insert(views.to_vec());
            true
        })
        .try_check(&global())
        .unwrap();
    outcome.complete.then(|| met.lock().unwrap().clone())
}

fn global() -> Options {
    let max_states = Some(MAX_STATES);
    Options { engine: Engine::Global, threads: 1, max_states, ..Options::default() }
}

#[test]
fn drawn_systems_reach_the_same_and_come_to_the_same_verdict() {
    let (mut compared, mut by_itself, mut late, mut violated) = (0, 0, 0, 0);
    for number in 0..SYSTEMS {
        let Some(reachable) = reachable(number) else { continue };
        compared += 1;
        let max_time = Some(Duration::from_secs(2));
        let threads = 1 + number as usize % 2;
        let lmc = Options {
            engine: Engine::Lmc,
            threads,
            max_time,
            minimise: false,
            ..Options::default()
        };
        // Many sets of views, some of them never met: each is many boxes.
        for set in 0..6 {
            let is_in = move |v: &[u64]| draw(number + set, v, 60) <= set;
            let system = drawn(number)
                .always("kept out", seen(number), move |v| !is_in(v))
                .sometimes("got in", seen(number), move |v| draw(number ^ set, v, 9) == 0);
            let expected = !reachable.iter().any(|v| is_in(v));
            let wish = reachable.iter().any(|v| draw(number ^ set, v, 9) == 0);
            let outcome = system.try_check(&lmc).unwrap();
            if outcome.bounded_by == Some(Bound::Seconds) {
                late += 1;
                continue;
            }
            by_itself += usize::from(outcome.engine.starts_with("lmc"));
            violated += usize::from(!expected);
            let holds = outcome.violation.as_ref().is_none_or(|v| v.property != "kept out");
            assert_eq!(holds, expected, "system {number}, set {set}, {}", outcome.engine);
            if expected {
                assert_eq!(!outcome.witnesses.is_empty(), wish, "system {number}, set {set}");
            }
        }
    }
    println!("{compared} systems, {by_itself} checks by lmc, {violated} violated, {late} late");
    assert!(compared * 2 > SYSTEMS, "{compared}");
    assert!(by_itself as u64 > 4 * compared, "{by_itself} of {compared}");
    assert!(late < 10 && violated > 20, "{late} {violated}");
}
