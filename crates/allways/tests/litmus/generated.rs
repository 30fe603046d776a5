//! Litmus systems of which nobody has counted the traces by hand.

use super::has_traces;
use super::naive::explore;
use super::program::{Program, Takes, Wire};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;

/// Systems with more runs than this are left out.
const MAX_RUNS: u64 = 3_000;

/// The same systems each time, unless `PROPTEST_CASES` asks for another number of them.
fn cases() -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let default = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if asked {
        default
    } else {
        ProptestConfig { cases: 100, rng_seed: RngSeed::Fixed(1), ..default }
    }
}

/// Where a message comes from.
#[derive(Clone, Copy, Debug)]
enum From {
    Call,
    Start,
    /// Who takes an earlier message sends it, always, or in a second alternative.
    Message(Index, bool),
}

fn programs() -> impl Strategy<Value = Program> {
    let from = prop_oneof![
        Just(From::Call),
        Just(From::Start),
        any::<Index>().prop_map(|before| From::Message(before, false)),
        any::<Index>().prop_map(|before| From::Message(before, false)),
        any::<Index>().prop_map(|before| From::Message(before, true)),
    ];
    let wire = prop_oneof![
        3 => Just(Wire::Unordered),
        1 => Just(Wire::Ordered),
        1 => Just(Wire::Duplicating),
    ];
    let takes = prop_oneof![
        3 => Just(Takes::All),
        1 => Just(Takes::EachOnce),
        2 => (1..3usize).prop_map(Takes::First),
    ];
    let nodes = prop::collection::vec(takes, 1..4);
    let messages = prop::collection::vec((from, any::<Index>(), any::<Index>()), 1..8);
    (wire, nodes, messages).prop_map(|(wire, takes, messages)| {
        let nodes = takes.len();
        let mut program = Program::new(nodes).wire(wire);
        program.takes = takes;
        if wire == Wire::Duplicating {
            // What is taken again and again never ends.
            let once = |takes: &mut Takes| {
                if *takes == Takes::All {
                    *takes = Takes::EachOnce;
                }
            };
            program.takes.iter_mut().for_each(once);
        }
        for (number, (from, to, by)) in messages.into_iter().enumerate() {
            let (msg, to) = (number as u8, to.index(nodes));
            program = match from {
                From::Message(before, second) if number > 0 => {
                    let before = before.index(number) as u8;
                    let alternatives =
                        program.answers.entry(before).or_insert_with(|| vec![vec![]]);
                    if second && alternatives.len() == 1 {
                        alternatives.push(vec![]);
                    }
                    alternatives[usize::from(second)].push((to, msg));
                    program
                }
                From::Start => program.start(by.index(nodes), to, msg),
                _ => program.call(to, msg),
            };
        }
        program
    })
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn generated_systems(program in programs()) {
        let known = explore(&program, MAX_RUNS);
        prop_assume!(known.runs <= MAX_RUNS);
        has_traces(&program, known.traces);
    }
}
