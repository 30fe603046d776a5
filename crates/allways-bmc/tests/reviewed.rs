//! What went wrong once.

use allways::{Checkable, MinimiseOptions, Replayed, SavedRun, Verdict};
use allways_bmc::check::{Options, all, smt2};
use allways_bmc::{Model, Projection, Theory, lang};
use std::collections::BTreeSet;

fn model(source: &str) -> Model {
    Model::new(lang::compile("test.pbmc", source, &[]).unwrap())
}

#[test]
fn a_proof_takes_nothing_for_granted_of_short_runs() {
    let model = model(
        "shared uint<4> x; process P { x = 1; } process Q { skip; skip; } never one: x == 1;",
    );
    for projection in [Projection::Off, Projection::Reads, Projection::Live] {
        let options = Options { depth: 3, from: 2, prove: true, projection, ..Options::default() };
        let outcome = model.check(&options, &|_| ()).unwrap().outcome;
        assert_eq!(outcome.verdict, Verdict::Violated, "{projection:?}");
    }
}

/// The violation of a program is still one when it is replayed and minimised.
fn is_replayed(model: &Model) {
    let outcome = model.check(&Options::default(), &|_| ()).unwrap().outcome;
    assert_eq!(outcome.verdict, Verdict::Violated);
    let saved = SavedRun::new("test.pbmc", [("N", "1")], &outcome).unwrap();
    let saved = SavedRun::from_json(&saved.to_json()).unwrap();
    let replayed = model.replay(&saved).unwrap();
    assert!(matches!(replayed, Replayed::StillViolates { .. }), "{replayed}");
    model.minimise(&saved.violation, &MinimiseOptions::default()).unwrap();
    assert!(outcome.story.unwrap().ending.unwrap().cause.is_some());
}

#[test]
fn of_two_indices_in_one_instruction_it_is_known_which() {
    is_replayed(&model(
        "shared uint<4> x, i = 1, j = 9, a[4], b[4]; process P { x = a[i] + b[j]; }",
    ));
}

#[test]
fn inputs_by_which_a_check_fails_are_saved() {
    is_replayed(&model(
        "shared bool a[4]; process P { uint<32> i; atomic { i = *; assume i > 100000; a[i] = true; } }",
    ));
    is_replayed(&model(
        "shared int<32> free[1500] = *, x; process P { x = free[7]; } never small: x == -70000;",
    ));
}

#[test]
fn what_is_claimed_now_counts() {
    let source = "shared uint<4> x; process P { x = 2; } never two: x == 2;";
    let outcome = model(source).check(&Options::default(), &|_| ()).unwrap().outcome;
    let saved = SavedRun::new("test.pbmc", [("N", "1")], &outcome).unwrap();
    let turned = model(&source.replace("never", "reachable"));
    assert!(matches!(turned.replay(&saved).unwrap(), Replayed::NoLongerViolates { .. }));
    assert!(turned.minimise(&saved.violation, &MinimiseOptions::default()).is_err());
}

#[test]
fn no_run_is_found_twice() {
    let model = model(
        "shared uint<4> x, y; process P { x = 1; } process Q { y = *; } reachable it: x == 1 && y != 3;",
    );
    let options = Options { depth: 2, projection: Projection::Off, ..Options::default() };
    let found = all(model.program(), &model.goals()[0], &options, 1_000).unwrap();
    let different: BTreeSet<_> = found.iter().map(|witness| witness.run.steps.clone()).collect();
    // P alone, and Q before or after it with each of 15 values.
    assert_eq!((found.len(), different.len()), (31, 31));
}

#[test]
fn writes_to_one_array_do_not_double_a_formula() {
    let size = |writes: usize| {
        let writes: String = (0..writes).map(|n| format!("a[{n}] = true;")).collect();
        let source =
            format!("shared bool a[64]; process P {{ atomic {{ {writes} }} }} never first: a[0];");
        let model = model(&source);
        let options = Options { depth: 1, ..Options::default() };
        smt2(model.program(), &model.goals()[0], &options, Theory::Integers).len()
    };
    assert!(size(60) < 8 * size(15), "{} {}", size(15), size(60));
}
