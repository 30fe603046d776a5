//! The catalogue through reduced searches: every bug, every correct system, symmetry, and exact counts.
//!
//! A reduced search has to give the verdict of the search that follows everything, and to follow little. The
//! counts say how little; one that changes tells that what is followed has changed.

use allways::{Cause, Engine, Options, Outcome, Por, PropertyKind, Search, Verdict};
use allways_catalogue::{entries, find};

type Set<'a> = &'a [(&'a str, &'a str)];

const ALL: [Por; 4] = [Por::Needed, Por::Invariant, Por::Terminals, Por::Views];

fn reduced(por: Por, search: Search, threads: usize) -> Options {
    let (engine, por) = (Engine::Global, Some(por));
    Options { engine, search, threads, por, minimise: false, ..Options::default() }
}

fn check(name: &str, set: Set<'_>, options: &Options) -> Outcome {
    let system = find(name).unwrap().build(set).unwrap();
    system.check_with(options).unwrap_or_else(|error| panic!("{name} {set:?}: {error}"))
}

/// What can be preserved: not the invariant alone where terminal states matter.
fn pors(name: &str, set: Set<'_>) -> Vec<Por> {
    let properties = find(name).unwrap().build(set).unwrap().property_names();
    let stuck = properties.iter().any(|(_, kind)| *kind == PropertyKind::NeverStuck);
    ALL.into_iter().filter(|por| !stuck || *por != Por::Invariant).collect()
}

/// The reduced searches for a system, each with what it is.
fn searches(name: &str, set: Set<'_>) -> Vec<(String, Options)> {
    let mut all = Vec::new();
    for por in pors(name, set) {
        for (search, threads) in [(Search::Bfs, 1), (Search::Bfs, 3), (Search::Dfs, 1)] {
            let what = format!("{name} {set:?}, {por:?}, {search:?}, {threads} threads");
            all.push((what, reduced(por, search, threads)));
        }
    }
    all
}

/// Bugs that take a while to find.
const DEAR: [(&str, &str); 4] = [
    ("paxos", "last-promise"),
    ("paxos-register", "ignore-promise"),
    ("paxos-roles", "last-accepted"),
    ("zab", "any-log"),
];

/// All reduced searches find a bug, with a run that is not shorter than the shortest. Where it violates more
/// than one property, a search may find another one first.
#[track_caller]
fn is_found(name: &str, bug: &str) {
    let set = [("bug", bug)];
    let whole = Options { engine: Engine::Global, minimise: false, ..Options::default() };
    let whole = check(name, &set, &whole).violation.unwrap();
    for (what, options) in searches(name, &set) {
        let outcome = check(name, &set, &options);
        assert_eq!(outcome.verdict, Verdict::Violated, "{what}");
        let violation = outcome.violation.unwrap();
        assert!(matches!(violation.cause, Cause::Always | Cause::Stuck), "{what}");
        assert!(violation.run.events.len() >= whole.run.events.len(), "{what}");
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
fn every_reduced_search_finds_every_bug() {
    let mut found = 0;
    for entry in entries().iter().filter(|entry| !entry.is_of_threads()) {
        for bug in entry.bugs.iter().filter(|bug| !DEAR.contains(&(entry.name, bug.name))) {
            is_found(entry.name, bug.name);
            found += 1;
        }
    }
    assert_eq!(found, 30);
}

/// The others of [`DEAR`] take more than some seconds in one of these searches, even with optimisation.
#[test]
#[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
fn every_reduced_search_finds_what_lies_deep() {
    is_found("paxos-register", "ignore-promise");
}

/// All reduced searches hold where the whole search does, with the same witnesses, and meet no more.
#[track_caller]
fn holds(name: &str, set: Set<'_>) {
    let whole = Options { engine: Engine::Global, minimise: false, ..Options::default() };
    let whole = check(name, set, &whole);
    whole.assert_holds();
    let names = |outcome: &Outcome| -> Vec<String> {
        let mut names: Vec<_> = outcome.witnesses.iter().map(|w| w.property.clone()).collect();
        names.sort();
        names
    };
    for (what, options) in searches(name, set) {
        let outcome = check(name, set, &options);
        outcome.assert_holds();
        assert_eq!(outcome.complete, whole.complete, "{what}");
        assert_eq!(names(&outcome), names(&whole), "{what}");
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
fn small_correct_systems_hold() {
    holds("accumulator", &[]);
    holds("chain", &[("nodes", "3"), ("messages", "9")]);
    holds("chord", &[("timeouts", "2"), ("fingers", "0")]);
    holds("chord", &[("nodes", "4"), ("fingers", "0")]);
    let lock = |crashes, drops, duplications| {
        [("clients", "1"), ("crashes", crashes), ("drops", drops), ("duplications", duplications)]
    };
    holds("lock", &lock("1", "0", "1"));
    holds("lock", &lock("0", "1", "0"));
    holds("lock", &lock("1", "1", "0"));
    holds("one-paxos", &[("last-suspects", "0"), ("proposals", "3")]);
    holds("one-paxos", &[("last-suspects", "2")]);
    holds(
        "one-paxos",
        &[("last-suspects", "0"), ("first-suspects", "1"), ("second-suspects", "1")],
    );
    holds("overlay", &[("nodes", "4"), ("moves", "3")]);
    holds("overlay", &[("nodes", "4"), ("degree", "1"), ("moves", "3")]);
    holds("pam", &[("nodes", "2"), ("crashes", "2"), ("retries", "1")]);
    holds("pam", &[("crashes", "0"), ("retries", "1")]);
    holds("pam", &[("proposers", "1"), ("self", "network")]);
    holds("pastry", &[("nodes", "2"), ("timeouts", "2")]);
    holds("pastry", &[("nodes", "4"), ("timeouts", "0")]);
    holds("paxos", &[("nodes", "2"), ("proposals", "2")]);
    holds("paxos", &[("proposals", "0")]);
    holds("paxos-register", &[("clients", "1")]);
    holds("paxos-register", &[("servers", "2"), ("clients", "3")]);
    holds("paxos-roles", &[("acceptors", "2")]);
    holds("paxos-roles", &[("acceptors", "2"), ("learners", "2")]);
    holds("paxos-roles", &[("acceptors", "2"), ("history", "counted")]);
    holds("primary-backup", &[("nodes", "2")]);
    holds("primary-backup", &[("nodes", "2"), ("partitions", "0")]);
    holds("register", &[("bases", "2")]);
    holds("register", &[("bases", "2"), ("history", "counted")]);
    holds("tree", &[]);
    holds("two-phase-commit", &[("rms", "1")]);
    holds("two-phase-commit", &[("rms", "4")]);
    holds("zab", &[("leaders", "2"), ("followers", "2")]);
    holds("zab", &[("leaders", "1")]);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
fn every_default_holds() {
    for entry in entries().iter().filter(|entry| !entry.is_of_threads()) {
        holds(entry.name, &[]);
    }
}

mod symmetry {
    use super::*;

    /// With symmetry and without, with a reduction and without: one verdict.
    #[track_caller]
    fn one_verdict(name: &str, set: Set<'_>, expected: Verdict) {
        for (what, options) in searches(name, set) {
            for symmetry in [false, true] {
                for por in [None, options.por] {
                    let outcome = check(name, set, &Options { symmetry, por, ..options.clone() });
                    assert_eq!(outcome.verdict, expected, "{what}, {symmetry}, {por:?}");
                }
            }
        }
    }

    #[test]
    fn resource_managers_take_each_others_place_in_a_reduced_search() {
        for rms in ["2", "3", "4"] {
            one_verdict("two-phase-commit", &[("rms", rms)], Verdict::Holds);
        }
        for bug in ["majority-commits", "unilateral-abort"] {
            one_verdict("two-phase-commit", &[("bug", bug)], Verdict::Violated);
            one_verdict("two-phase-commit", &[("bug", bug), ("rms", "4")], Verdict::Violated);
        }
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
    fn clients_of_a_lock_take_each_others_place_in_a_reduced_search() {
        let duplication = [("crashes", "0"), ("drops", "0"), ("duplications", "1")];
        one_verdict("lock", &duplication, Verdict::Holds);
        let crash = [("crashes", "1"), ("drops", "0"), ("duplications", "0")];
        one_verdict("lock", &crash, Verdict::Holds);
        for bug in ["duplicate-grants", "lost-release", "no-fencing", "unpersisted-token"] {
            one_verdict("lock", &[("bug", bug)], Verdict::Violated);
        }
    }

    #[test]
    fn a_reduced_search_has_no_more_orbits() {
        for rms in ["3", "5"] {
            for por in ALL {
                let unique = |por| {
                    let options =
                        Options { symmetry: true, por, ..reduced(Por::Views, Search::Bfs, 1) };
                    let outcome = check("two-phase-commit", &[("rms", rms)], &options);
                    outcome.statistics.unique_states.unwrap()
                };
                assert!(unique(Some(por)) <= unique(None), "{rms}, {por:?}");
            }
        }
    }
}

mod exact_counts {
    use super::*;

    fn unique(name: &str, set: Set<'_>, options: &Options) -> u64 {
        let outcome = check(name, set, options);
        outcome.assert_holds();
        assert!(outcome.complete, "{name} {set:?}");
        outcome.statistics.unique_states.unwrap()
    }

    fn whole(name: &str, set: Set<'_>) -> u64 {
        let options = reduced(Por::Views, Search::Bfs, 1);
        unique(name, set, &Options { por: None, ..options })
    }

    /// The unique states of breadth-first search with one thread: what is needed, invariant,
    /// terminals, views. The last number is that of the search that follows everything.
    #[track_caller]
    fn counts(name: &str, set: Set<'_>, [expected @ .., all]: [u64; 5]) -> [u64; 5] {
        let found = ALL.map(|por| unique(name, set, &reduced(por, Search::Bfs, 1)));
        let plain = whole(name, set);
        assert_eq!((found, plain), (expected, all), "{name} {set:?}");
        [found[0], found[1], found[2], found[3], plain]
    }

    #[test]
    fn tree() {
        counts("tree", &[], [7, 7, 6, 6, 9]);
    }

    #[test]
    fn chain() {
        counts("chain", &[], [56, 56, 56, 56, 56]);
    }

    #[test]
    fn one_paxos() {
        counts("one-paxos", &[], [129, 129, 683, 2_193, 5_732]);
    }

    #[test]
    fn overlay() {
        counts("overlay", &[], [1_678, 1_678, 2_514, 9_489, 14_033]);
    }

    #[test]
    fn chord() {
        counts("chord", &[], [17_195, 17_195, 22_145, 26_896, 26_896]);
    }

    #[test]
    fn pam() {
        counts("pam", &[], [977, 977, 16_161, 22_995, 33_429]);
    }

    #[test]
    fn pastry() {
        counts("pastry", &[], [5_451, 5_451, 10_859, 16_994, 77_018]);
    }

    #[test]
    fn two_phase_commit() {
        counts("two-phase-commit", &[("rms", "3")], [67, 67, 130, 251, 288]);
        counts("two-phase-commit", &[("rms", "5")], [415, 415, 1_626, 8_051, 8_832]);
    }

    #[test]
    fn register() {
        counts("register", &[], [536, 536, 359, 374, 1_807]);
    }

    #[test]
    fn register_with_four_bases() {
        let [.., views, all] =
            counts("register", &[("bases", "4")], [2_889, 2_889, 1_262, 1_386, 22_184]);
        assert!(12 * views <= all);
    }

    #[test]
    fn paxos_roles() {
        let [_, invariant, .., all] =
            counts("paxos-roles", &[], [1_388, 1_388, 7_061, 13_218, 57_084]);
        assert!(40 * invariant <= all);
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
    fn paxos_roles_with_two_learners() {
        let [_, invariant, .., all] =
            counts("paxos-roles", &[("learners", "2")], [1_380, 1_380, 24_198, 119_879, 948_516]);
        assert!(500 * invariant <= all);
    }
}
