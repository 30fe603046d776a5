use super::*;

#[track_caller]
fn is_named(system: &System<Set>, what: &str, says: &str) {
    for (name, error) in errors(system) {
        let Error::Panicked { what: who, message } = &error else { panic!("{name}: {error}") };
        assert!(who.contains(what), "{name}: {who}");
        assert!(message.starts_with(says), "{name}: {message}");
        assert!(error.to_string().contains(" panicked: boom"), "{name}: {error}");
    }
}

#[test]
fn a_view() {
    let boom = view(|set: &Set| {
        assert!(set.0.is_empty(), "boom in the view");
        0
    });
    let system = sets(2).call(0, 1).always("watched", boom.clone(), |_| true);
    is_named(&system, "`watched`", "boom in the view");
    let system = sets(2).call(0, 1).never_stuck("watched", boom, |_| true);
    is_named(&system, "`watched`", "boom in the view");
}

#[test]
fn a_predicate() {
    let boom = |sizes: &[usize]| {
        assert!(sizes != [1, 1], "boom in the predicate");
        true
    };
    let system = sets(2).call(0, 1).always("watched", size(), boom);
    is_named(&system, "`watched`", "boom in the predicate");
    let system = sets(2).call(0, 1).never_stuck("watched", size(), boom);
    is_named(&system, "`watched`", "boom in the predicate");
    let system = sets(2)
        .call(0, 1)
        .sometimes("watched", size(), |sizes| {
            assert!(sizes != [1, 1], "boom in the predicate");
            false
        })
        .always("fine", size(), |_| true);
    is_named(&system, "`watched`", "boom in the predicate");
}

#[test]
fn an_observer() {
    for at in ["start", "wants", "observe"] {
        let outputs = Outputs { panics_at: Some(at) };
        let system = sets(2).call(0, 1).observe(outputs);
        is_named(&system, "an observer", &format!("boom at {at}"));
    }
}

#[test]
fn a_predicate_on_an_observer() {
    let system = sets(2).call(0, 1).observe(Outputs::default());
    let system = system.always_observed("watched", |n: &u64| {
        assert!(*n == 0, "boom in the predicate");
        true
    });
    is_named(&system, "`watched`", "boom in the predicate");
}
