//! Reductions `force` and `ds` of engine `dpor` against the oracle: the same views, observer states and verdicts.

use super::*;
use allways::Reduction;

/// A system with more runs than this is left out.
const MAX_RUNS: u64 = 300;

fn dpor(reduction: Reduction, max_depth: Option<u64>) -> Options {
    let engine = Engine::Dpor;
    Options { engine, reduction, max_depth, max_runs: Some(MAX_RUNS), ..as_found() }
}

fn agrees(plan: &Plan) -> Result<(), TestCaseError> {
    let bounded = Options { max_states: Some(MAX_STATES), ..classic() };
    let (recorded, all) = explore(plan, &bounded)?;
    prop_assume!(all.complete);
    let judged = check(&with_properties(plan, [true; 3]), &bounded)?;
    // With a bound on depth that is never reached, branches are told apart in another way. Systems whose runs never
    // end are left out.
    for max_depth in [Some(60), None] {
        for reduction in [Reduction::Ds, Reduction::Force] {
            let options = dpor(reduction, max_depth);
            let (seen, outcome) = explore(plan, &options)?;
            prop_assume!(outcome.complete);
            prop_assert_eq!(&seen, &recorded, "{:?}, depth {:?}", reduction, max_depth);
            let outcome = check(&with_properties(plan, [true; 3]), &options)?;
            prop_assert_eq!(outcome.verdict, judged.verdict, "{:?}", reduction);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases().cases / 3, ..cases() })]

    #[test]
    fn ds_and_force_meet_the_same_views_and_come_to_the_same_verdict(plan in plan()) {
        agrees(&Plan { panics: false, ..plan })?;
    }

    #[test]
    fn ds_and_force_agree_where_nothing_goes_wrong(plan in plan().prop_map(Plan::plain)) {
        agrees(&plan)?;
    }
}
