//! Engine `dir` against engines `global` and `dpor` on small systems, one phenomenon each, on all networks, with and without crashes, however they are divided: the
//! same combinations of views are asked about, and as many traces are covered.

use allways::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// What it is about, and what the node has met.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Scripted {
    scene: u8,
    met: Vec<u8>,
}

impl Node for Scripted {
    type Msg = u8;
    type Timer = u8;
    type Call = u8;
    type Output = u8;

    #[allow(clippy::collapsible_match, reason = "a choice is no guard: it is made once")]
    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        self.met.push(call);
        match (self.scene, cx.id().index()) {
            // Somebody may tell one of a pair something, while the other chooses what to tell a third.
            (1, 2) => {
                if cx.choose(2) == 1 {
                    cx.send(0, 1);
                }
            }
            (1, 1) => {
                let what = cx.choose(2) as u8;
                cx.send(3, 2 + what);
            }
            // The same the other way round.
            (2, 2) => {
                if cx.choose(2) == 1 {
                    cx.send(1, 1);
                }
            }
            (2, 0) => {
                let what = cx.choose(2) as u8;
                cx.send(3, 2 + what);
            }
            // Something, and something that comes of it by a detour.
            (3, 0) => {
                cx.send(1, 1);
                cx.send(2, 2);
            }
            // The same twice.
            (4, 0) => {
                cx.send(1, 1);
                cx.send(1, 1);
            }
            (4, 2) => cx.send(1, 1),
            // Each waits for the other's first word, unless it speaks first.
            (5, node) => {
                if cx.choose(2) == 1 {
                    cx.send(1 - node, 1);
                }
            }
            // Two who are asked at once.
            (6, 0) => {
                cx.send(1, 1);
                cx.send(2, 1);
            }
            _ => {}
        }
    }

    fn on_message(&mut self, from: Id, msg: u8, cx: &mut Cx<'_, Self>) {
        self.met.push(10 * (1 + from.index() as u8) + msg);
        match (self.scene, cx.id().index(), msg) {
            (3, 2, 2) => cx.send(1, 3),
            (3, 1, 3) => cx.send(3, self.met.len() as u8),
            (4, 1, 1) if self.met.len() == 2 => cx.send(2, 4),
            (5, node, 1) if self.met.len() < 3 => cx.send(1 - node, 1),
            (6, 1 | 2, 1) => {
                cx.set_timer(1);
                cx.send(3, 2);
            }
            (6, 3, 2) if self.met.len() == 2 => cx.send(0, 3),
            _ => {}
        }
    }

    fn on_timer(&mut self, timer: u8, cx: &mut Cx<'_, Self>) {
        self.met.push(90 + timer);
        cx.send(0, 5);
    }

    fn persisted(&self) -> Option<Self> {
        Some(Scripted { scene: self.scene, met: vec![200] })
    }
}

type Views = BTreeSet<Vec<Vec<u8>>>;

fn scene(scene: u8, network: &Network, faults: &Faults) -> (System<Scripted>, Arc<Mutex<Views>>) {
    let nodes = if scene == 5 { 2 } else { 4 };
    let seen = Arc::new(Mutex::new(Views::new()));
    let into = Arc::clone(&seen);
    let mut system = System::new(std::iter::repeat_n(Scripted { scene, met: Vec::new() }, nodes))
        .network(*network)
        .faults(faults.clone())
        .timers(1)
        .always("record", view(|it: &Scripted| it.met.clone()), move |all| {
            into.lock().unwrap().insert(all.to_vec());
            true
        });
    let calls: &[usize] = match scene {
        1 => &[2, 1],
        2 => &[2, 0],
        4 => &[0, 2],
        5 => &[0, 1],
        _ => &[0],
    };
    for &node in calls {
        system = system.call(node, 0);
    }
    (system, seen)
}

fn agrees(number: u8, network: &Network, faults: &Faults) {
    let (system, seen) = scene(number, network, faults);
    let check = |options: &Options| {
        seen.lock().unwrap().clear();
        let outcome = system.try_check(options).unwrap();
        assert_ne!(outcome.verdict, Verdict::Violated);
        (outcome, seen.lock().unwrap().clone())
    };
    let with = |engine| Options { engine, threads: 1, ..Options::default() };
    let (_, expected) = check(&with(Engine::Global));
    let most = if cfg!(debug_assertions) { 100 } else { 20_000 };
    let (plain, _) = check(&Options { max_runs: Some(most), ..with(Engine::Dpor) });
    if !plain.complete {
        return;
    }
    let all: &[&str] = match number {
        5 => &["each", "0,1", "(0/1)"],
        _ => &[
            "each",
            "0,1",
            "0,2",
            "1,2",
            "1,3",
            "0,1/2,3",
            "0,1,2",
            "(0/1)/(2/3)",
            "(0/1/2)/3",
            "((0/1)/3)/2",
        ],
    };
    for components in all {
        for threads in [1, 3] {
            let components = components.parse().unwrap();
            let (outcome, views) = check(&Options { threads, components, ..with(Engine::Dir) });
            let what = format!(
                "{number} {network:?} {faults:?} {:?} {threads}",
                outcome.statistics.components
            );
            assert!(outcome.complete, "{what}");
            assert_eq!(views, expected, "{what}");
            let runs = plain.statistics.runs.map(u128::from);
            assert_eq!(outcome.statistics.covered_traces, runs, "{what}");
        }
    }
}

fn agrees_everywhere(number: u8) {
    let networks = [
        Network::unordered(),
        Network::unordered().duplications(1),
        Network::ordered(),
        Network::ordered().drops(1),
    ];
    let faults =
        [Faults::none(), Faults::none().crashes(1).restarts(), Faults::none().partition([vec![0]])];
    for network in &networks {
        for faults in &faults {
            agrees(number, network, faults);
        }
    }
}

#[test]
fn who_chooses_while_the_other_of_a_pair_may_be_told() {
    agrees_everywhere(1);
}

#[test]
fn who_chooses_while_the_other_of_a_pair_may_be_told_the_other_way_round() {
    agrees_everywhere(2);
}

#[test]
fn something_and_what_comes_of_it_by_a_detour() {
    agrees_everywhere(3);
}

#[test]
fn the_same_twice() {
    agrees_everywhere(4);
}

#[test]
fn each_waits_for_the_other() {
    agrees_everywhere(5);
}

#[test]
fn two_who_are_asked_at_once() {
    agrees_everywhere(6);
}
