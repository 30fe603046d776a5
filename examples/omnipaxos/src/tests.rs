use crate::system::ENTRY;
use allways::{Engine, Options, Outcome};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

type Set<'a> = &'a [(&'a str, &'a str)];

const SMALL: Set<'static> =
    &[("leaders", "2"), ("elections", "1"), ("proposals", "1"), ("cuts", "0")];
const CUT: Set<'static> =
    &[("leaders", "1"), ("elections", "1"), ("proposals", "1"), ("cuts", "1")];

fn check(set: Set<'_>, options: &Options) -> Outcome {
    ENTRY.build(set).unwrap().check_with(options).unwrap()
}

fn global() -> Options {
    Options { engine: Engine::Global, ..Options::default() }
}

#[test]
fn small_clusters_hold() {
    for (set, states) in [(SMALL, 0), (CUT, 0)] {
        let outcome = check(set, &global());
        assert!(outcome.assert_holds().complete);
        assert_eq!(outcome.statistics.unique_states, Some(states), "{set:?}");
    }
}

/// What properties read of all states.
fn reads(set: Set<'_>, identity: &str) -> BTreeSet<(String, String)> {
    let all = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&all);
    let set = [set, &[("identity", identity)]].concat();
    let watched =
        ENTRY.build(&set).unwrap().watched(Arc::new(move |name: &str, it: &dyn Debug| {
            seen.lock().unwrap().insert((name.to_owned(), format!("{it:?}")));
        }));
    let outcome = watched.unwrap().check_with(&global()).unwrap();
    assert!(outcome.complete, "{outcome}");
    std::mem::take(&mut *all.lock().unwrap())
}

/// A fingerprint that left out what matters would hide some.
#[test]
fn the_same_can_be_reached_by_history_alone() {
    for set in [SMALL, CUT] {
        let expected = reads(set, "history");
        assert!(expected.len() > 2, "{expected:?}");
        assert_eq!(reads(set, "fingerprint"), expected);
    }
}

/// Nor can it be told apart which history led to a state.
#[test]
fn the_fingerprint_is_not_refuted() {
    for set in [SMALL, CUT] {
        let outcome = check(set, &Options { verify_aux: true, ..global() });
        assert!(outcome.assert_holds().complete);
    }
}
