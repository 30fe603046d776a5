//! `sometimes` properties: the second search.

use super::*;

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
