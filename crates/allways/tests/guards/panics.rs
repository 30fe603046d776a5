use super::*;

#[track_caller]
fn is_violated(at: At, mischief: Mischief, message: &str) {
    let (kind, shortest) = step_of(at);
    for (name, violation) in violations(&rascals(at, mischief)) {
        assert_eq!(violation.cause, Cause::Panic, "{name}");
        let property = &violation.property;
        assert!(property.starts_with(message), "{name}: {property}");
        // It says where.
        assert!(property.contains(".rs:"), "{name}: {property}");
        let events = &violation.run.events;
        assert_eq!(events.last().map(|event| event.kind), kind, "{name}\n{violation}");
        assert!(events.len() >= shortest, "{name}\n{violation}");
        if name.starts_with("bfs") {
            assert_eq!(events.len(), shortest, "{name}\n{violation}");
        }
    }
}

#[test]
fn of_handlers_are_violations_with_a_run() {
    for at in HANDLERS.into_iter().chain([At::Crash]) {
        is_violated(at, Mischief::Panics, &format!("boom at {at:?} at "));
    }
}

#[test]
fn without_text_are_violations_too() {
    is_violated(At::Message, Mischief::PanicsWithoutText, "a value that is not text at ");
}

#[test]
fn choosing_from_nothing_is_one() {
    let message = "choose(0): there is nothing to choose from at ";
    for at in HANDLERS {
        is_violated(at, Mischief::ChoosesNothing, message);
    }
}

#[test]
fn sending_to_nobody_is_one() {
    let message = "to node 2, but the system has 2 nodes at ";
    for at in HANDLERS {
        for (name, violation) in violations(&rascals(at, Mischief::SendsToNobody)) {
            assert_eq!(violation.cause, Cause::Panic, "{name}");
            assert!(violation.property.contains(message), "{name}: {}", violation.property);
        }
    }
}

#[test]
fn after_a_choice_are_found() {
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Gambler;
    impl Node for Gambler {
        type Msg = Never;
        type Timer = Never;
        type Call = ();
        type Output = Never;
        fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
            match msg {}
        }
        fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
            assert!((cx.choose(2), cx.choose(3)) != (1, 2), "lost");
        }
    }
    for (name, violation) in violations(&System::new([Gambler]).call(0, ())) {
        assert_eq!(violation.run.events[0].choices, [1, 2], "{name}");
    }
}
