//! The motivating example of the thesis: all runs of it, and all projections on `y`.

use allways_bmc::check::{Options, all};
use allways_bmc::{Model, Projection, lang};
use std::collections::BTreeSet;

/// The program with two more properties: that all is done, and that `y` was written.
fn model() -> Model {
    let source = include_str!("../programs/figure13.pbmc");
    let source = format!(
        "{source}\nreachable done: First@end && Second@end && Third@end;\nreachable written: y != 0;"
    );
    Model::new(lang::compile("figure13.pbmc", &source, &[]).unwrap())
}

/// Who moves in each run, in order.
fn runs(property: &str, projection: Projection, order: bool) -> Vec<Vec<usize>> {
    let model = model();
    let goal = model.goals().iter().find(|goal| goal.name == property).unwrap();
    let options = Options { depth: 4, projection, order, ..Options::default() };
    let found = all(model.program(), goal, &options, 1_000).unwrap();
    let runs = found.iter().map(|found| found.run.steps.iter().map(|step| step.process).collect());
    let mut runs: Vec<Vec<usize>> = runs.collect();
    runs.sort();
    runs
}

#[test]
fn there_are_twelve_orders_of_the_four_instructions() {
    let runs = runs("done", Projection::Off, false);
    assert_eq!(runs.len(), 12);
    assert!(runs.iter().all(|run| run.len() == 4));
}

#[test]
fn three_projections_on_y_show_all_that_it_can_become() {
    for projection in [Projection::Reads, Projection::Live] {
        // Third alone, First before it, and both First and Second before it.
        let runs = runs("written", projection, true);
        assert_eq!(runs, [vec![0, 1, 2, 2], vec![0, 2, 2], vec![2, 2]]);
    }
}

#[test]
fn without_one_order_of_independent_steps_the_last_is_there_twice() {
    let runs = runs("written", Projection::Live, false);
    assert_eq!(runs, [vec![0, 1, 2, 2], vec![0, 2, 2], vec![1, 0, 2, 2], vec![2, 2]]);
    // As sets of steps they are three.
    let sets: BTreeSet<Vec<usize>> = runs
        .into_iter()
        .map(|mut run| {
            run.sort_unstable();
            run
        })
        .collect();
    assert_eq!(sets.len(), 3);
}
