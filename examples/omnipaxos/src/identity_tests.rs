//! The fingerprint is a claim about somebody else's code, so it is tested.

use crate::system::{AGREEMENT, ENTRY, KEEPING};
use allways::{Checkable, Engine, Options};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

pub type Set<'a> = &'a [(&'a str, &'a str)];

pub const SMALL: Set<'static> =
    &[("leaders", "2"), ("elections", "1"), ("proposals", "1"), ("cuts", "0")];
pub const CUT: Set<'static> =
    &[("leaders", "1"), ("elections", "1"), ("proposals", "1"), ("cuts", "1")];

fn global() -> Options {
    Options { engine: Engine::Global, ..Options::default() }
}

/// The system with a property that never fails, so that everything is looked at.
fn system(set: Set<'_>) -> Box<dyn Checkable> {
    ENTRY.build(set).unwrap().only(&[AGREEMENT.to_owned()]).unwrap()
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
        assert!(expected.iter().any(|(name, _)| name == KEEPING));
        assert!(expected.len() > 5, "{expected:?}");
        assert_eq!(reads(set, "fingerprint"), expected);
    }
}

/// Nor can it be told which history led to a state.
#[test]
fn the_fingerprint_is_not_refuted() {
    for set in [SMALL, CUT] {
        let outcome = system(set).check_with(&Options { verify_aux: true, ..global() }).unwrap();
        assert!(outcome.assert_holds().complete);
    }
}
