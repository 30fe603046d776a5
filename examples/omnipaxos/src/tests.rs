use crate::identity_tests::{CUT, SMALL};
use crate::system::ENTRY;
use allways::{Engine, Options};

#[test]
fn small_clusters_hold() {
    for (set, states) in [(SMALL, 24_037), (CUT, 10_694)] {
        let options = Options { engine: Engine::Global, ..Options::default() };
        let outcome = ENTRY.build(set).unwrap().check_with(&options).unwrap();
        assert!(outcome.assert_holds().complete);
        assert_eq!(outcome.statistics.unique_states, Some(states), "{set:?}");
    }
}
