use super::*;

/// Engines that execute steps twice: the classic search executes them every time anyway.
fn guarded(system: &System<Rascal>) -> Vec<(&'static str, Result<Outcome, Error>)> {
    let engines = engines().into_iter().filter(|(name, _)| *name != "classic");
    engines.map(|(name, options)| (name, system.try_check(&options))).collect()
}

#[track_caller]
fn is_missed_by_none(at: At, mischief: Mischief) {
    for (name, result) in guarded(&rascals(at, mischief)) {
        let error = result.map(|outcome| outcome.to_string()).unwrap_err();
        let Error::NonDeterministic { node, state, event, difference } = &error else {
            panic!("{name}: {error}");
        };
        assert!(state.starts_with("Rascal {"), "{name}: {state}");
        match at {
            At::Call => assert_eq!((*node, &**event), (0, "call Ping"), "{name}"),
            At::Message => assert_eq!((*node, &**event), (1, "message Ping from 0"), "{name}"),
            At::Timer => assert_eq!((*node, &**event), (0, "timer Ping"), "{name}"),
            _ => assert_eq!(event, "restart", "{name}"),
        }
        assert!(difference.contains("the second time"), "{name}: {difference}");
        let sentence = format!("the handler of node {node} is not deterministic: on {event} ");
        assert!(error.to_string().starts_with(&sentence), "{name}: {error}");
    }
}

#[test]
fn a_handler_that_differs_is_named_with_its_state_and_event() {
    for at in [At::Call, At::Message, At::Timer, At::Restart] {
        is_missed_by_none(at, Mischief::Tosses);
    }
}

#[test]
fn a_handler_that_offers_other_choices_is_too() {
    is_missed_by_none(At::Call, Mischief::TossesChoices);
    is_missed_by_none(At::Message, Mischief::TossesChoices);
}

#[test]
fn a_start_that_differs_is_named() {
    for (name, result) in guarded(&rascals(At::Start, Mischief::Tosses)) {
        assert!(matches!(result, Err(Error::NonDeterministic { .. })), "{name}: {result:?}");
    }
}

/// The replay of the run starts anew, in a state that the search has never seen.
#[test]
fn a_start_that_differs_is_no_internal_error() {
    for (name, options) in engines() {
        let before = COIN.load(Relaxed);
        let later = move |coins: &[u32]| coins[0] > before + 1;
        let system = rascals(At::Start, Mischief::Tosses);
        let system = system.always("later", view(|n: &Rascal| n.coin), later);
        let result = system.try_check(&options);
        assert!(!matches!(result, Err(Error::Internal(_))), "{name}: {result:?}");
    }
}

#[test]
fn the_guard_can_be_turned_off() {
    let options = Options { determinism_guard: false, threads: 1, ..Options::default() };
    let outcome = rascals(At::Call, Mischief::Tosses).try_check(&options).unwrap();
    assert_eq!(outcome.statistics.guard_executions, Some(0));
    let options = Options { determinism_guard: true, ..options };
    let outcome = rascals(At::Crash, Mischief::Tosses).faults(Faults::none());
    let outcome = outcome.try_check(&options).unwrap();
    assert!(outcome.statistics.guard_executions.unwrap() > 0);
}
