//! The catalogue through every engine and search: exact counts, every bug, symmetry, random runs
//! and bounds.
//!
//! Counts are equal to Stateright's and TLC's where they have the same model. What is too slow
//! without optimisation runs in release builds only.

use allways::{Bound, Cause, Engine, Options, Outcome, Search, Verdict};
use allways_catalogue::{entries, find};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

type Set<'a> = &'a [(&'a str, &'a str)];

const OPTIMISED: bool = !cfg!(debug_assertions);

fn check(name: &str, set: Set<'_>, options: &Options) -> Outcome {
    let system = find(name).unwrap().build(set).unwrap();
    system.check_with(options).unwrap_or_else(|error| panic!("{name} {set:?}: {error}"))
}

fn global(search: Search, threads: usize) -> Options {
    Options { engine: Engine::Global, search, threads, ..Options::default() }
}

fn walk(seed: u64, threads: usize) -> Options {
    Options { engine: Engine::Walk, seed, threads, ..Options::default() }
}

/// Breadth-first and depth-first, with one thread and with three, by fingerprints and exactly.
fn stateful() -> Vec<Options> {
    let mut all = Vec::new();
    for search in [Search::Bfs, Search::Dfs] {
        for threads in [1, 3] {
            for exact in [false, true] {
                all.push(Options { exact, ..global(search, threads) });
            }
        }
    }
    all
}

fn unique(outcome: &Outcome) -> u64 {
    outcome.statistics.unique_states.unwrap()
}

fn generated(outcome: &Outcome) -> u64 {
    outcome.statistics.generated_states.unwrap()
}

#[track_caller]
fn holds_with(outcome: &Outcome, counts: (u64, u64), what: &str) {
    outcome.assert_holds();
    assert!(outcome.complete && outcome.bounded_by.is_none(), "{what}\n{outcome}");
    assert_eq!((unique(outcome), generated(outcome)), counts, "{what}");
}

/// Every stateful search has these numbers of unique and generated states.
#[track_caller]
fn counts(name: &str, set: Set<'_>, expected: (u64, u64)) {
    for options in stateful() {
        let Options { search, threads, exact, .. } = options;
        let what = format!("{name} {set:?}, {search:?}, {threads} threads, exact {exact}");
        let outcome = check(name, set, &options);
        holds_with(&outcome, expected, &what);
        let collision = outcome.statistics.collision_probability.unwrap();
        assert_eq!(collision == 0.0, exact || expected.0 == 1, "{what}");
    }
}

/// The same, and the classic search has them too.
#[track_caller]
fn counts_of_all(name: &str, set: Set<'_>, expected: (u64, u64)) {
    counts(name, set, expected);
    let outcome = check(name, set, &global(Search::Classic, 1));
    holds_with(&outcome, expected, &format!("{name} {set:?}, classic"));
}

/// The same as [`counts`] with optimisation; without, one breadth-first and one depth-first search.
#[track_caller]
fn counts_of_large(name: &str, set: Set<'_>, expected: (u64, u64)) {
    if OPTIMISED {
        return counts(name, set, expected);
    }
    for search in [Search::Bfs, Search::Dfs] {
        let outcome = check(name, set, &global(search, 2));
        holds_with(&outcome, expected, &format!("{name} {set:?}, {search:?}"));
    }
}

mod exact_counts {
    use super::*;

    #[test]
    fn two_phase_commit() {
        counts_of_all("two-phase-commit", &[("rms", "1")], (12, 20));
        counts_of_all("two-phase-commit", &[("rms", "3")], (288, 1_146));
        counts_of_all("two-phase-commit", &[("rms", "5")], (8_832, 58_146));
    }

    #[test]
    fn two_phase_commit_with_seven_resource_managers() {
        counts_of_large("two-phase-commit", &[("rms", "7")], (296_448, 2_744_706));
    }

    #[test]
    fn paxos_register() {
        counts_of_all("paxos-register", &[("clients", "1")], (265, 482));
        counts_of_all("paxos-register", &[("servers", "2"), ("clients", "3")], (211, 262));
        counts("paxos-register", &[("clients", "2")], (16_668, 32_971));
    }

    #[test]
    fn paxos_register_with_three_clients() {
        counts_of_large("paxos-register", &[("clients", "3")], (1_194_428, 2_420_477));
    }

    #[test]
    fn tree() {
        counts_of_all("tree", &[], (9, 12));
    }

    #[test]
    fn accumulator() {
        counts_of_all("accumulator", &[], (114, 175));
        let outcome = check("accumulator", &[("replicas", "3")], &global(Search::Classic, 1));
        let expected = (unique(&outcome), generated(&outcome));
        counts("accumulator", &[("replicas", "3")], expected);
    }

    #[test]
    fn chain() {
        counts_of_all("chain", &[], (56, 106));
        counts_of_all("chain", &[("nodes", "3"), ("messages", "9")], (220, 496));
    }

    #[test]
    fn chord() {
        counts_of_all("chord", &[("nodes", "2")], (304, 749));
        counts_of_all("chord", &[("timeouts", "2"), ("fingers", "0")], (6_350, 19_197));
    }

    #[test]
    fn pam() {
        counts_of_all("pam", &[("nodes", "2")], (293, 520));
        counts_of_all("pam", &[("nodes", "2"), ("self", "network")], (2_063, 4_834));
    }

    #[test]
    fn pastry() {
        counts_of_all("pastry", &[("nodes", "2")], (58, 88));
        counts_of_all("pastry", &[("timeouts", "0")], (128, 233));
    }

    #[test]
    fn overlay() {
        counts_of_all("overlay", &[], (14_033, 37_441));
        let all_move = [("nodes", "4"), ("moves", "3")];
        counts_of_all("overlay", &all_move, (7_154, 14_074));
    }

    #[test]
    fn one_paxos() {
        counts_of_all("one-paxos", &[("last-suspects", "0")], (20, 35));
        counts_of_all("one-paxos", &[], (5_732, 18_917));
    }

    #[test]
    fn lock() {
        let crash = [("crashes", "1"), ("drops", "0"), ("duplications", "0")];
        counts_of_all("lock", &crash, (6_674, 15_351));
        let duplication = [("crashes", "0"), ("drops", "0"), ("duplications", "1")];
        counts_of_all("lock", &duplication, (365, 677));
        let drop = [("clients", "1"), ("crashes", "0"), ("drops", "1"), ("duplications", "0")];
        counts_of_all("lock", &drop, (206, 507));
    }

    #[test]
    fn primary_backup() {
        counts_of_all("primary-backup", &[("nodes", "2")], (232, 322));
        counts_of_all("primary-backup", &[("partitions", "0")], (5_238, 17_717));
        counts_of_all("primary-backup", &[("values", "1")], (5_168, 15_057));
    }

    #[test]
    fn paxos() {
        counts_of_all("paxos", &[], (3_381, 13_361));
        counts_of_all("paxos", &[("nodes", "2"), ("proposals", "2")], (1_125, 3_437));
        counts_of_all("paxos", &[("proposals", "0")], (1, 1));
    }

    #[test]
    fn paxos_roles() {
        counts_of_all("paxos-roles", &[("proposers", "2"), ("acceptors", "2")], (324, 733));
        counts_of_all("paxos-roles", &[("proposers", "1")], (228, 524));
    }

    #[test]
    fn register() {
        counts_of_all("register", &[], (1_807, 6_823));
        counts_of_all("register", &[("history", "counted")], (3_628, 10_519));
    }

    #[test]
    fn zab() {
        let sizes = [("leaders", "2"), ("followers", "2")];
        counts_of_all("zab", &sizes, (1_918, 4_493));
        counts_of_all("zab", &[("leaders", "1")], (88, 130));
    }

    #[test]
    fn larger_systems() {
        counts_of_large("chord", &[], (26_896, 95_469));
        counts_of_large("lock", &[], (50_930, 136_235));
        counts_of_large("one-paxos", &[("last-suspects", "2")], (258_692, 877_529));
        let old_acceptor_leads =
            [("last-suspects", "0"), ("first-suspects", "1"), ("second-suspects", "1")];
        counts_of_large("one-paxos", &old_acceptor_leads, (508_204, 1_997_017));
        counts_of_large("overlay", &[("moves", "2")], (64_122, 166_965));
        counts_of_large("pam", &[], (33_429, 97_215));
        counts_of_large("pastry", &[], (77_018, 224_414));
        counts_of_large("pastry", &[("nodes", "4"), ("timeouts", "0")], (34_928, 130_013));
        counts_of_large("primary-backup", &[], (29_751, 96_386));
        counts_of_large("zab", &[], (86_395, 298_360));
        counts_of_large("zab", &[("history", "counted")], (316_738, 1_146_046));
        counts_of_large("paxos-roles", &[], (57_084, 197_494));
        counts_of_large("paxos-roles", &[("history", "counted")], (459_945, 1_384_843));
    }
}

/// A bug of the catalogue, what it violates, and the length of the shortest run that shows it.
struct Known {
    name: &'static str,
    bug: &'static str,
    property: &'static str,
    shortest: usize,
    cost: Cost,
}

/// What it takes to find a bug.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cost {
    /// Every search finds it at once.
    Cheap,
    /// The classic search needs optimisation.
    Dear,
    /// The classic search takes too long.
    VeryDear,
}

const fn known(
    name: &'static str,
    bug: &'static str,
    property: &'static str,
    shortest: usize,
    cost: Cost,
) -> Known {
    Known { name, bug, property, shortest, cost }
}

const DISJOINT: &str = "children and siblings are disjoint";

const BUGS: &[Known] = &[
    known("accumulator", "forward-first", "no secondary is ahead", 3, Cost::Cheap),
    known("accumulator", "forward-sum", "no secondary is ahead", 5, Cost::Cheap),
    known("chain", "overtaking", "in order", 3, Cost::Cheap),
    known("chord", "any-predecessor", "no key is kept by two", 16, Cost::Cheap),
    known("chord", "any-successor", "one ring in order", 13, Cost::Cheap),
    known("lock", "duplicate-grants", "every client gets its turn", 8, Cost::Cheap),
    known("lock", "lost-release", "every client gets its turn", 7, Cost::Cheap),
    known("lock", "no-fencing", "writes in the order of tokens", 8, Cost::Cheap),
    known("lock", "unpersisted-token", "one client a token", 6, Cost::Cheap),
    known("one-paxos", "acceptor-init", "agreement", 13, Cost::Cheap),
    known("one-paxos", "empty-change", "agreement", 19, Cost::Dear),
    known("one-paxos", "hasty-change", "agreement", 17, Cost::Dear),
    known("overlay", "kept-sibling", DISJOINT, 9, Cost::Cheap),
    known("overlay", "late-sibling", DISJOINT, 10, Cost::Cheap),
    known("overlay", "restless-parent", "no two nodes are each other's parent", 14, Cost::Cheap),
    known("pam", "forgetful-recovery", "agreement", 12, Cost::Cheap),
    known("pam", "first-promise", "agreement", 13, Cost::Cheap),
    known("pastry", "few-leaves", "one root a key", 18, Cost::Cheap),
    known("pastry", "hasty-join", "one root a key", 3, Cost::Cheap),
    known("pastry", "no-timestamps", "one root a key", 10, Cost::Cheap),
    known("paxos", "last-promise", "agreement", 18, Cost::VeryDear),
    known("paxos-register", "stale-read", "linearizable", 8, Cost::Cheap),
    known("paxos-register", "ignore-promise", "linearizable", 17, Cost::Dear),
    known("paxos-roles", "last-accepted", "agreement", 24, Cost::VeryDear),
    known("paxos-roles", "promiscuous-acceptor", "agreement", 10, Cost::Cheap),
    known("primary-backup", "lost-commit", "agreement", 10, Cost::Cheap),
    known("primary-backup", "missed-start", "agreement", 11, Cost::Cheap),
    known("primary-backup", "split-brain", "agreement", 5, Cost::Cheap),
    known("register", "minority-read", "regular", 8, Cost::Cheap),
    known("register", "return-concurrent", "regular", 6, Cost::Cheap),
    known("two-phase-commit", "majority-commits", "consistent", 7, Cost::Cheap),
    known("two-phase-commit", "unilateral-abort", "consistent", 7, Cost::Cheap),
    known("zab", "any-log", "agreement", 31, Cost::Dear),
    known("zab", "stale-epoch", "one leader an epoch", 11, Cost::Cheap),
];

impl Known {
    fn check(&self, options: &Options) -> Outcome {
        check(self.name, &[("bug", self.bug)], options)
    }

    /// With how many threads to look for it.
    fn threads(&self) -> Vec<usize> {
        if OPTIMISED || self.cost < Cost::VeryDear { vec![1, 3] } else { vec![2] }
    }

    /// Checks that a search finds it; returns the length of the run.
    #[track_caller]
    fn is_found_by(&self, options: &Options) -> usize {
        let outcome = self.check(options);
        // Which of the properties that a bug violates several threads come upon first in the depth is chance.
        let by_chance = options.search == Search::Dfs && options.threads > 1;
        let violation = match &outcome.violation {
            Some(violation) if by_chance => violation,
            _ => outcome.assert_violated(self.property),
        };
        assert_eq!(outcome.verdict, Verdict::Violated);
        assert!(!outcome.complete);
        assert!(matches!(violation.cause, Cause::Always | Cause::Stuck), "{outcome}");
        assert!(!violation.reads.is_empty(), "{outcome}");
        violation.run.events.len()
    }
}

mod bugs_and_defaults {
    use super::*;

    #[test]
    fn every_bug_is_known_here() {
        let listed: Vec<_> = entries()
            .iter()
            .filter(|entry| !entry.is_of_threads())
            .flat_map(|entry| entry.bugs.iter().map(|bug| (entry.name, bug.name)))
            .collect();
        assert!(listed.iter().all(|bug| BUGS.iter().any(|known| (known.name, known.bug) == *bug)));
        assert_eq!(listed.len(), BUGS.len());
    }

    #[test]
    fn breadth_first_search_finds_every_bug_with_a_shortest_run() {
        for known in BUGS {
            for threads in known.threads() {
                let length = known.is_found_by(&global(Search::Bfs, threads));
                assert_eq!(length, known.shortest, "{} {}", known.name, known.bug);
            }
        }
    }

    #[test]
    fn depth_first_search_finds_every_bug() {
        for known in BUGS {
            for threads in known.threads() {
                let length = known.is_found_by(&global(Search::Dfs, threads));
                assert!(length >= known.shortest, "{} {}", known.name, known.bug);
            }
        }
    }

    #[test]
    fn no_run_within_a_smaller_depth_shows_a_bug() {
        let most = if OPTIMISED { Cost::Dear } else { Cost::Cheap };
        for known in BUGS.iter().filter(|known| known.cost <= most) {
            let shortest = known.shortest;
            let within = |depth: usize| Options {
                max_depth: Some(depth as u64),
                ..global(Search::Classic, 1)
            };
            let outcome = known.check(&within(shortest - 1));
            assert_eq!(outcome.violation, None, "{} {}", known.name, known.bug);
            assert_eq!(outcome.bounded_by, Some(Bound::Depth), "{} {}", known.name, known.bug);
            assert_eq!(known.is_found_by(&within(shortest)), shortest);
        }
    }

    #[test]
    fn every_default_holds() {
        for entry in entries() {
            // Threads have no global states.
            let options = match entry.is_of_threads() {
                true => Options::default(),
                false => global(Search::Bfs, 0),
            };
            let outcome = check(entry.name, &[], &options);
            outcome.assert_holds();
            assert!(outcome.complete, "{}\n{outcome}", entry.name);
            let system = entry.build(&[]).unwrap();
            let sometimes = system
                .property_names()
                .into_iter()
                .filter(|(_, kind)| *kind == allways::PropertyKind::Sometimes);
            assert_eq!(outcome.witnesses.len(), sometimes.count(), "{}", entry.name);
        }
    }
}

/// What carrying the history as auxiliary state saves: the thesis's table 5.
mod counted_history {
    use super::*;

    #[track_caller]
    fn costs_at_least_two_fifths_more(name: &str, sizes: Set<'_>, verdict: Verdict) {
        let counted: Vec<_> = sizes.iter().copied().chain([("history", "counted")]).collect();
        for search in [Search::Bfs, Search::Dfs] {
            let [free, counted] = [sizes, &counted].map(|set| check(name, set, &global(search, 2)));
            assert_eq!((free.verdict, counted.verdict), (verdict, verdict), "{name} {sizes:?}");
            let property = |outcome: &Outcome| outcome.violation.clone().map(|v| v.property);
            assert_eq!(property(&free), property(&counted));
            if verdict == Verdict::Holds {
                let (free, counted) = (unique(&free), unique(&counted));
                assert!(5 * counted >= 7 * free, "{name} {sizes:?}: {free}, {counted}");
            }
        }
    }

    #[test]
    fn paxos_roles() {
        let sizes = [("proposers", "2"), ("acceptors", "2")];
        costs_at_least_two_fifths_more("paxos-roles", &sizes, Verdict::Holds);
        let sizes = [("proposers", "1"), ("acceptors", "3")];
        costs_at_least_two_fifths_more("paxos-roles", &sizes, Verdict::Holds);
        let bug = [("bug", "promiscuous-acceptor")];
        costs_at_least_two_fifths_more("paxos-roles", &bug, Verdict::Violated);
        costs_at_least_two_fifths_more("paxos-roles", &[], Verdict::Holds);
    }

    #[test]
    fn register() {
        costs_at_least_two_fifths_more("register", &[], Verdict::Holds);
        costs_at_least_two_fifths_more("register", &[("bases", "2")], Verdict::Holds);
        for bug in ["minority-read", "return-concurrent"] {
            costs_at_least_two_fifths_more("register", &[("bug", bug)], Verdict::Violated);
        }
    }

    #[test]
    fn zab() {
        let sizes = [("leaders", "2"), ("followers", "2")];
        costs_at_least_two_fifths_more("zab", &sizes, Verdict::Holds);
    }

    #[test]
    fn the_history_is_auxiliary_indeed() {
        for name in ["paxos-roles", "register", "zab"] {
            let set: Set<'_> = match name {
                "paxos-roles" => &[("proposers", "2"), ("acceptors", "2")],
                "zab" => &[("leaders", "2"), ("followers", "2")],
                _ => &[],
            };
            let options = Options { verify_aux: true, ..global(Search::Bfs, 2) };
            check(name, set, &options).assert_holds();
        }
    }
}

mod symmetry {
    use super::*;

    fn symmetric(search: Search, threads: usize) -> Options {
        Options { symmetry: true, ..global(search, threads) }
    }

    /// The numbers are those of the orbits: enumerated by a program that shares nothing with this.
    #[track_caller]
    fn orbits(rms: &str, orbits: u64) {
        for search in [Search::Bfs, Search::Dfs] {
            for (threads, exact) in [(1, false), (3, false), (1, true)] {
                let options = Options { exact, ..symmetric(search, threads) };
                let outcome = check("two-phase-commit", &[("rms", rms)], &options);
                outcome.assert_holds();
                assert!(outcome.complete);
                assert_eq!(unique(&outcome), orbits, "{search:?}, {threads} threads");
                let witnesses: Vec<_> =
                    outcome.witnesses.iter().map(|witness| &*witness.property).collect();
                assert_eq!(witnesses, ["all committed", "all aborted"]);
            }
        }
    }

    #[test]
    fn one_state_of_each_orbit_is_explored() {
        orbits("1", 12);
        orbits("3", 80);
        orbits("5", 314);
        // Less than a hundredth of 296,448.
        orbits("7", 920);
    }

    /// Two states make an orbit, but for those in which both clients are alike: no message was
    /// delivered or lost, both have asked once or, where they may ask again, both twice, and
    /// the server or the storage may be down, or have been.
    #[test]
    fn clients_of_a_lock_are_interchangeable_whatever_goes_wrong() {
        for (crashes, drops, duplications, states, alike) in
            [("0", "0", "1", 365, 1), ("1", "0", "0", 6_674, 2 * 4), ("0", "1", "0", 31_064, 2)]
        {
            let set = [("crashes", crashes), ("drops", drops), ("duplications", duplications)];
            for search in [Search::Bfs, Search::Dfs] {
                let outcome = check("lock", &set, &symmetric(search, 2));
                assert!(outcome.assert_holds().complete);
                assert_eq!(unique(&outcome), (states + alike) / 2, "{set:?}, {search:?}");
            }
        }
    }

    #[test]
    fn shortest_runs_stay_shortest() {
        let rms = [("rms", "3")];
        let length = |options: &Options| {
            let outcome = check("two-phase-commit", &rms, options);
            outcome.witnesses.iter().map(|w| w.run.events.len()).collect::<Vec<_>>()
        };
        assert_eq!(length(&symmetric(Search::Bfs, 1)), length(&global(Search::Bfs, 1)));
    }

    #[test]
    fn the_bugs_are_found_and_their_runs_replay() {
        for known in BUGS.iter().filter(|known| known.name == "two-phase-commit") {
            for threads in [1, 3] {
                let length = known.is_found_by(&symmetric(Search::Bfs, threads));
                assert_eq!(length, known.shortest, "{}", known.bug);
                known.is_found_by(&symmetric(Search::Dfs, threads));
            }
            for rms in ["4", "5"] {
                let set = [("bug", known.bug), ("rms", rms)];
                for search in [Search::Bfs, Search::Dfs] {
                    let outcome = check("two-phase-commit", &set, &symmetric(search, 1));
                    outcome.assert_violated(known.property);
                }
            }
        }
    }

    #[test]
    fn systems_without_interchangeable_nodes_refuse() {
        let tree = find("tree").unwrap().build(&[]).unwrap();
        let error = tree.check_with(&symmetric(Search::Bfs, 1)).unwrap_err();
        let sentence = "symmetry cannot be used: the system declares no nodes interchangeable";
        assert_eq!(error.to_string(), sentence);
    }
}

mod random_runs {
    use super::*;

    fn all_of(outcome: &Outcome) -> impl PartialEq + std::fmt::Debug + use<> {
        let statistics = &outcome.statistics;
        (
            outcome.verdict,
            outcome.bounded_by,
            outcome.violation.clone(),
            [
                statistics.unique_states,
                statistics.generated_states,
                statistics.transitions,
                statistics.runs,
                statistics.depth,
            ],
        )
    }

    /// All runs are made, so the threads have the same to do between them.
    #[test]
    fn a_seed_repeats_its_outcome_whatever_the_number_of_threads() {
        for (name, set) in [
            ("paxos", &[][..]),
            ("two-phase-commit", &[]),
            ("zab", &[("leaders", "2"), ("followers", "2")]),
            ("paxos-register", &[]),
            ("tree", &[]),
            ("lock", &[]),
            ("primary-backup", &[]),
        ] {
            for seed in [0, 7] {
                let with = |threads| Options { runs: 100, ..walk(seed, threads) };
                let once = check(name, set, &with(1));
                assert_eq!(once.verdict, Verdict::Inconclusive, "{name}");
                assert_eq!(once.bounded_by, Some(Bound::Runs));
                assert!(!once.complete);
                assert_eq!(once.statistics.runs, Some(100));
                for threads in [1, 3, 3] {
                    let again = check(name, set, &with(threads));
                    assert_eq!(all_of(&again), all_of(&once), "{name}, {threads} threads");
                }
            }
        }
    }

    /// The witness kept is that of the run with the least number.
    #[test]
    fn a_seed_repeats_its_witnesses_whatever_the_number_of_threads() {
        let set = [("leaders", "2"), ("followers", "2")];
        for seed in 0..50 {
            let with = |threads| Options { runs: 100, ..walk(seed, threads) };
            let once = check("zab", &set, &with(1));
            assert_eq!(check("zab", &set, &with(1)).witnesses, once.witnesses, "seed {seed}");
            assert_eq!(check("zab", &set, &with(3)).witnesses, once.witnesses, "seed {seed}");
        }
    }

    /// Threads may have begun runs after the one that violates; what is reported stays the same.
    #[test]
    fn a_seed_repeats_its_violation_whatever_the_number_of_threads() {
        for (name, bug) in [
            ("two-phase-commit", "majority-commits"),
            ("register", "return-concurrent"),
            ("accumulator", "forward-sum"),
        ] {
            for seed in [1, 2] {
                let set = [("bug", bug)];
                let once = check(name, &set, &walk(seed, 1));
                assert_eq!(all_of(&check(name, &set, &walk(seed, 1))), all_of(&once));
                for _ in 0..3 {
                    let again = check(name, &set, &walk(seed, 3));
                    assert_eq!(again.violation, once.violation, "{name} {seed}");
                }
            }
        }
    }

    #[test]
    fn bugs_that_are_easy_are_found() {
        for known in BUGS.iter().filter(|known| {
            !["last-promise", "last-accepted", "any-log", "ignore-promise"].contains(&known.bug)
        }) {
            // A bug may violate several properties, and a random run may meet another one first.
            let outcome = known.check(&walk(3, 2));
            let violation = outcome.violation.as_ref().expect(known.bug);
            let length = violation.run.events.len();
            let same = violation.property == known.property;
            assert!(!same || length >= known.shortest, "{} {}", known.name, known.bug);
        }
    }

    #[test]
    fn seeds_differ() {
        let runs = |seed| {
            let outcome = check("paxos", &[], &Options { runs: 20, ..walk(seed, 1) });
            (unique(&outcome), generated(&outcome))
        };
        assert_ne!(runs(1), runs(2));
    }

    #[test]
    fn no_more_is_met_than_there_is() {
        let outcome = check("two-phase-commit", &[], &Options { runs: 2_000, ..walk(5, 3) });
        assert!((200..=288).contains(&unique(&outcome)), "{outcome}");
        assert!(outcome.statistics.depth.unwrap() > 0);
    }
}

mod bounds {
    use super::*;

    fn engines() -> Vec<Options> {
        let mut all = Vec::new();
        for threads in [1, 3] {
            all.push(global(Search::Bfs, threads));
            all.push(global(Search::Dfs, threads));
            all.push(Options { exact: true, ..global(Search::Bfs, threads) });
            all.push(walk(0, threads));
        }
        all.push(global(Search::Classic, 1));
        all
    }

    /// A check of a system with 57,084 states ends at this bound.
    #[track_caller]
    fn ends_at(bound: Bound, change: impl Fn(&mut Options)) {
        for mut options in engines() {
            change(&mut options);
            let outcome = check("paxos-roles", &[], &options);
            let what = format!("{options:?}\n{outcome}");
            // Random runs are cut off at the depth bound, and there is always another.
            let walked = options.engine == Engine::Walk && bound == Bound::Depth;
            let expected = if walked { Bound::Runs } else { bound };
            assert_eq!(outcome.verdict, Verdict::Inconclusive, "{what}");
            assert_eq!(outcome.bounded_by, Some(expected), "{what}");
            assert!(!outcome.complete && outcome.violation.is_none(), "{what}");
            let statistics = &outcome.statistics;
            assert!((1..50_000).contains(&statistics.unique_states.unwrap()), "{what}");
            assert!(statistics.generated_states.unwrap() >= 1, "{what}");
            assert!(statistics.transitions.is_some() && statistics.depth.is_some(), "{what}");
            assert!(statistics.handler_executions.is_some(), "{what}");
            assert!(statistics.elapsed > Duration::ZERO, "{what}");
            if let Some(depth) = options.max_depth {
                assert!(statistics.depth.unwrap() <= depth, "{what}");
            }
        }
    }

    #[test]
    fn the_number_of_states() {
        for most in [0, 1, 1_000] {
            ends_at(Bound::States, |options| options.max_states = Some(most));
        }
    }

    #[test]
    fn the_depth() {
        for most in [0, 1, 6] {
            ends_at(Bound::Depth, |options| {
                options.max_depth = Some(most);
                options.runs = 50;
            });
        }
    }

    #[test]
    fn the_memory() {
        for most in [0, 1, 64 << 10] {
            ends_at(Bound::Memory, |options| options.max_memory = Some(most));
        }
    }

    #[test]
    fn the_time() {
        for most in [Duration::ZERO, Duration::from_nanos(1)] {
            ends_at(Bound::Seconds, |options| options.max_time = Some(most));
        }
    }

    #[test]
    fn somebody_says_stop() {
        ends_at(Bound::Interrupt, |options| {
            options.stop = Some(Arc::new(AtomicBool::new(true)));
        });
    }

    #[test]
    fn the_number_of_runs() {
        let outcome = check("paxos-roles", &[], &Options { runs: 3, ..walk(0, 2) });
        assert_eq!(outcome.bounded_by, Some(Bound::Runs));
        assert_eq!(outcome.statistics.runs, Some(3));
    }

    #[test]
    fn what_fits_is_complete() {
        for mut options in stateful() {
            options.max_states = Some(288);
            options.max_memory = Some(1 << 30);
            options.max_time = Some(Duration::from_secs(3_600));
            options.stop = Some(Arc::default());
            let outcome = check("two-phase-commit", &[], &options);
            holds_with(&outcome, (288, 1_146), &format!("{options:?}"));
            options.max_states = Some(287);
            let outcome = check("two-phase-commit", &[], &options);
            // A search that meets the last state and the bound at once may be either.
            match outcome.bounded_by {
                Some(bound) => assert_eq!(bound, Bound::States, "{options:?}"),
                None => assert!(outcome.complete && unique(&outcome) == 288, "{options:?}"),
            }
        }
    }

    /// Ten events reach everything; only breadth-first search need notice.
    #[test]
    fn a_depth_beyond_which_nothing_lies_is_no_bound() {
        for threads in [1, 3] {
            let within = |depth| {
                let options = Options { max_depth: Some(depth), ..global(Search::Bfs, threads) };
                check("two-phase-commit", &[], &options)
            };
            let outcome = within(10);
            assert!(outcome.assert_holds().complete);
            assert_eq!(unique(&outcome), 288);
            assert_eq!(within(9).bounded_by, Some(Bound::Depth));
        }
    }

    #[test]
    fn a_complete_outcome_counts_every_transition() {
        let options = Options { max_depth: Some(10), ..global(Search::Bfs, 1) };
        holds_with(&check("two-phase-commit", &[], &options), (288, 1_146), "bfs");
    }

    #[test]
    fn a_violation_within_a_bound_is_found() {
        for threads in [1, 3] {
            let options = Options { max_depth: Some(7), ..global(Search::Bfs, threads) };
            let set = [("bug", "majority-commits")];
            check("two-phase-commit", &set, &options).assert_violated("consistent");
        }
    }
}
