use super::*;

#[track_caller]
fn are_too_many(mischief: Mischief, expected: &str) {
    for at in HANDLERS {
        for (name, error) in errors(&rascals(at, mischief)) {
            let Error::Choices { node, state, event, limit } = &error else {
                panic!("{name}: {error}");
            };
            assert_eq!(limit, expected, "{name}");
            assert!(state.starts_with("Rascal {"), "{name}: {state}");
            match at {
                At::Start => assert_eq!(*node, 0),
                At::Call => assert_eq!((*node, &**event), (0, "call Ping")),
                At::Message => assert_eq!((*node, &**event), (1, "message Ping from 0")),
                At::Timer => assert_eq!((*node, &**event), (0, "timer Ping")),
                _ => assert_eq!(event, "restart"),
            }
            assert!(error.to_string().contains(&format!("node {node} ")), "{error}");
        }
    }
}

#[test]
fn without_end() {
    are_too_many(Mischief::ChoosesForEver, "it chose 1000 times");
}

#[test]
fn with_too_many_results() {
    are_too_many(Mischief::ChoosesAmongTooMany, "its choices have more than 100000 results");
    let error = rascals(At::Call, Mischief::ChoosesTooMuch).try_check(&Options::default());
    assert!(matches!(error, Err(Error::Choices { .. })));
}
