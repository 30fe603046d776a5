//! Every bug of the catalogue, minimised: from the run that breadth-first search finds, from one of
//! depth-first search and from a random one, with the exact size and the exact end of each.
//!
//! Runs from depth-first search and random ones come down to the length of a breadth-first one. That
//! a breadth-first run is a shortest one is checked against the classic search with a growing bound
//! on the depth.

use allways::{
    Bound, Checkable, Engine, MinimiseOptions, Options, Replayed, RunSize, SavedRun, Search,
    Violation,
};
use allways_catalogue::{entries, find};
use std::time::Duration;

/// A bug, and what its runs become.
struct Row {
    system: &'static str,
    bug: &'static str,
    /// The number of events, from wherever it is minimised.
    events: usize,
    bfs: End,
    dfs: End,
    walk: End,
}

/// The number of switches between nodes, and what the property reads at the end.
type End = (usize, &'static [&'static str]);

/// A bug whose runs all end alike.
const fn alike(system: &'static str, bug: &'static str, events: usize, end: End) -> Row {
    Row { system, bug, events, bfs: end, dfs: end, walk: end }
}

/// The write of a client is over, and it reads that there was none.
const FORGOTTEN: &[&str] = &["client 3: Write('A') → Written, then Read → Read('\\0')"];

/// Each client reads what the other wrote.
const CROSSED: &[&str] = &[
    "client 3: Write('A') → Written, then Read → Read('B'); client 4: Write('B') → Written, then Read → Read('A') (begun after the first of client 3)",
];

/// The write is over, and a read misses it.
const MISSED: &[&str] = &[
    "Operations { writes_begun: 1, writes_ended: 1, read: Wrong { returned: 0, oldest: 1, newest: 1 } }",
];

/// One client has had the lock, the other waits for ever.
const SECOND_WAITS: &[&str] = &["None", "None", "Some(Done)", "Some(Requesting)"];

/// Nodes 2 and 3 have joined, and do not know of each other.
const STRANGERS: &[&str] = &["(true, {2, 3})", "(false, {2, 3})", "(true, {0})", "(true, {0, 1})"];

const TWO_LEARNT: &[&str] = &["{}", "{}", "{}", "{10, 20}"];
const TWO_LEARNT_LATE: &[&str] = &["{}", "{}", "{}", "{}", "{}", "{}", "{10, 20}"];

const FIRST_TRANSACTION: &str = "[Transaction { epoch: 1, leader: 0 }]";
const SECOND_TRANSACTION: &str = "[Transaction { epoch: 2, leader: 1 }]";

const ROWS: &[Row] = &[
    alike("accumulator", "forward-first", 3, (2, &["None", "Some(0)", "Some(1)"])),
    Row {
        system: "accumulator",
        bug: "forward-sum",
        events: 5,
        bfs: (2, &["None", "Some(3)", "Some(4)"]),
        dfs: (2, &["None", "Some(3)", "Some(4)"]),
        walk: (2, &["None", "Some(4)", "Some(5)"]),
    },
    alike("chain", "overtaking", 3, (1, &["[1, 2]", "[2]"])),
    alike("chord", "any-predecessor", 16, (9, &["Some(1)", "None", "Some(0)"])),
    alike("chord", "any-successor", 13, (8, &["Some(0)", "Some(0)", "Some(1)"])),
    alike("lock", "duplicate-grants", 8, (5, SECOND_WAITS)),
    Row {
        system: "lock",
        bug: "lost-release",
        events: 7,
        bfs: (5, SECOND_WAITS),
        dfs: (5, &["None", "None", "Some(Requesting)", "Some(Done)"]),
        walk: (5, SECOND_WAITS),
    },
    alike("lock", "no-fencing", 8, (3, &["[]", "[2, 1]", "[]", "[]"])),
    alike("lock", "unpersisted-token", 6, (2, &["None", "None", "Some(1)", "Some(1)"])),
    Row {
        system: "one-paxos",
        bug: "acceptor-init",
        events: 13,
        bfs: (8, &["Some('B')", "Some('A')", "None"]),
        dfs: (7, &["None", "Some('B')", "Some('A')"]),
        walk: (9, &["Some('A')", "None", "Some('B')"]),
    },
    Row {
        system: "one-paxos",
        bug: "empty-change",
        events: 19,
        bfs: (13, &["Some('A')", "Some('B')", "None"]),
        dfs: (13, &["Some('A')", "Some('B')", "None"]),
        walk: (13, &["None", "Some('B')", "Some('A')"]),
    },
    Row {
        system: "one-paxos",
        bug: "hasty-change",
        events: 17,
        bfs: (11, &["Some('A')", "Some('B')", "None"]),
        dfs: (10, &["Some('B')", "Some('A')", "None"]),
        walk: (11, &["None", "Some('A')", "Some('B')"]),
    },
    alike("overlay", "kept-sibling", 9, (5, &["({1, 2}, {})", "({2}, {2})", "({}, {})"])),
    alike("overlay", "late-sibling", 10, (5, &["({1, 2}, {})", "({2}, {2})", "({}, {1})"])),
    alike("overlay", "restless-parent", 14, (8, &["None", "Some(2)", "Some(1)"])),
    Row {
        system: "pam",
        bug: "forgetful-recovery",
        events: 12,
        bfs: (7, &["Some('A')", "Some('B')", "None"]),
        dfs: (7, &["Some('A')", "Some('B')", "None"]),
        walk: (6, &["Some('A')", "Some('B')", "None"]),
    },
    alike("pam", "first-promise", 13, (8, &["Some('A')", "Some('B')", "None"])),
    alike("pastry", "few-leaves", 18, (13, STRANGERS)),
    alike("pastry", "hasty-join", 3, (2, &["(true, {})", "(true, {0})"])),
    alike("pastry", "no-timestamps", 10, (7, &["(true, {1, 2})", "(true, {0})", "(true, {0})"])),
    Row {
        system: "paxos",
        bug: "last-promise",
        events: 18,
        bfs: (7, &["Some('A')", "Some('B')", "None"]),
        dfs: (6, &["Some('B')", "Some('A')", "None"]),
        walk: (6, &["Some('A')", "None", "Some('B')"]),
    },
    alike("paxos-register", "stale-read", 8, (7, FORGOTTEN)),
    alike("paxos-register", "ignore-promise", 17, (12, CROSSED)),
    Row {
        system: "paxos-roles",
        bug: "last-accepted",
        events: 24,
        bfs: (12, TWO_LEARNT_LATE),
        dfs: (11, TWO_LEARNT_LATE),
        walk: (13, TWO_LEARNT_LATE),
    },
    alike("paxos-roles", "promiscuous-acceptor", 10, (6, TWO_LEARNT)),
    alike("primary-backup", "lost-commit", 10, (6, &["['a']", "[]", "['b']"])),
    alike("primary-backup", "missed-start", 11, (7, &["['a']", "['b']", "[]"])),
    alike("primary-backup", "split-brain", 5, (3, &["['a']", "['b']", "[]"])),
    alike("register", "minority-read", 8, (6, MISSED)),
    alike("register", "return-concurrent", 6, (4, MISSED)),
    Row {
        system: "two-phase-commit",
        bug: "majority-commits",
        events: 7,
        bfs: (4, &["None", "Some(Committed)", "Some(Prepared)", "Some(Aborted)"]),
        dfs: (4, &["None", "Some(Prepared)", "Some(Committed)", "Some(Aborted)"]),
        walk: (4, &["None", "Some(Prepared)", "Some(Committed)", "Some(Aborted)"]),
    },
    Row {
        system: "two-phase-commit",
        bug: "unilateral-abort",
        events: 7,
        bfs: (3, &["None", "Some(Aborted)", "Some(Committed)"]),
        dfs: (3, &["None", "Some(Committed)", "Some(Aborted)"]),
        walk: (3, &["None", "Some(Committed)", "Some(Aborted)"]),
    },
    Row {
        system: "zab",
        bug: "any-log",
        events: 31,
        bfs: (19, &["[]", "[]", FIRST_TRANSACTION, SECOND_TRANSACTION, "[]"]),
        dfs: (19, &["[]", "[]", "[]", SECOND_TRANSACTION, FIRST_TRANSACTION]),
        walk: (20, &["[]", "[]", "[]", SECOND_TRANSACTION, FIRST_TRANSACTION]),
    },
    alike("zab", "stale-epoch", 11, (8, &["Some(1)", "Some(1)", "None"])),
];

/// What it takes to search for a bug.
#[derive(PartialEq, Eq)]
enum Cost {
    /// Every search takes seconds without optimisation.
    Cheap,
    /// The classic search takes longer.
    Dear,
    /// The classic search takes much longer even with optimisation.
    VeryDear,
    /// So does breadth-first search without.
    Dearest,
}

impl Row {
    fn cost(&self) -> Cost {
        match self.bug {
            "last-accepted" => Cost::Dearest,
            "last-promise" => Cost::VeryDear,
            "empty-change" | "hasty-change" | "ignore-promise" | "any-log" => Cost::Dear,
            _ => Cost::Cheap,
        }
    }

    fn build(&self) -> Box<dyn Checkable> {
        find(self.system).unwrap().build(&[("bug", self.bug)]).unwrap()
    }

    /// Minimises what an engine finds, and compares.
    #[track_caller]
    fn minimised(&self, options: &Options, expected: End) {
        let system = self.build();
        let options = Options { threads: 1, minimise: false, ..options.clone() };
        let mut outcome = system.check_with(&options).unwrap();
        let found = outcome.violation.take().unwrap();
        let (smaller, summary) = system.minimise(&found, &unhurried()).unwrap();
        let what = format!("{} bug={}, {}:\n{smaller}", self.system, self.bug, outcome.engine);
        let size = RunSize::of(&smaller.run);
        assert_eq!((size.events, size.switches), (self.events, expected.0), "{what}");
        assert_eq!(smaller.reads, expected.1, "{what}");
        assert_eq!((summary.before, summary.after), (RunSize::of(&found.run), size), "{what}");
        assert!(summary.after <= summary.before && !summary.out_of_time, "{what}");
        // It violates, as replaying it says once more.
        outcome.violation = Some(smaller);
        let saved = SavedRun::new(self.system, [("bug", self.bug)], &outcome).unwrap();
        let violation = saved.violation.clone();
        assert_eq!(system.replay(&saved), Ok(Replayed::StillViolates { violation }), "{what}");
    }
}

/// Bounds that do not depend on the clock.
fn unhurried() -> MinimiseOptions {
    MinimiseOptions {
        max_states: 50_000,
        max_time: Duration::from_secs(3_600),
        ..MinimiseOptions::default()
    }
}

fn global(search: Search) -> Options {
    Options { engine: Engine::Global, search, threads: 1, ..Options::default() }
}

fn walk() -> Options {
    Options { engine: Engine::Walk, threads: 1, seed: 0, runs: 100_000, ..Options::default() }
}

#[test]
fn every_bug_has_a_row() {
    // How runs of threads are made smaller is another matter.
    let listed: Vec<_> = entries()
        .iter()
        .filter(|entry| !entry.is_of_threads())
        .flat_map(|entry| entry.bugs.iter().map(|bug| (entry.name, bug.name)))
        .collect();
    let mut rows: Vec<_> = ROWS.iter().map(|row| (row.system, row.bug)).collect();
    rows.sort_by_key(|row| listed.iter().position(|bug| bug == row));
    assert_eq!(rows, listed);
}

#[test]
fn from_breadth_first_search() {
    for row in ROWS.iter().filter(|row| row.cost() != Cost::Dearest) {
        row.minimised(&global(Search::Bfs), row.bfs);
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
fn from_breadth_first_search_that_takes_long() {
    for row in ROWS.iter().filter(|row| row.cost() == Cost::Dearest) {
        row.minimised(&global(Search::Bfs), row.bfs);
    }
}

#[test]
fn from_depth_first_search() {
    for row in ROWS {
        row.minimised(&global(Search::Dfs), row.dfs);
    }
}

#[test]
fn from_random_runs() {
    for row in ROWS {
        row.minimised(&walk(), row.walk);
    }
}

#[test]
fn a_check_minimises_what_it_reports() {
    for row in ROWS.iter().filter(|row| row.cost() == Cost::Cheap) {
        for options in [global(Search::Bfs), global(Search::Dfs), global(Search::Classic), walk()] {
            let outcome = row.build().check_with(&options).unwrap();
            let violation = outcome.violation.as_ref().unwrap();
            let minimised = outcome.minimised.as_ref().unwrap();
            assert_eq!(violation.run.events.len(), row.events, "{} {}", row.system, row.bug);
            assert_eq!(minimised.after, RunSize::of(&violation.run), "{} {}", row.system, row.bug);
            let told = outcome.to_string().contains("\nminimised: ");
            assert_eq!(told, minimised.after < minimised.before, "{outcome}");
            let as_found = Options { minimise: false, ..options };
            let outcome = row.build().check_with(&as_found).unwrap();
            assert_eq!(outcome.minimised, None);
            let found = outcome.violation.unwrap();
            assert_eq!(minimised.before, RunSize::of(&found.run), "{} {}", row.system, row.bug);
        }
    }
}

/// The violation that the classic search finds within a depth; `None` says that there is none, not
/// that it was not looked for.
fn within(row: &Row, depth: usize) -> Option<Violation> {
    let options =
        Options { max_depth: Some(depth as u64), minimise: false, ..global(Search::Classic) };
    let outcome = row.build().check_with(&options).unwrap();
    let bound = outcome.bounded_by;
    assert!(outcome.violation.is_some() || bound == Some(Bound::Depth), "{outcome}");
    outcome.violation
}

#[test]
fn nothing_shorter_is_met_by_the_classic_search_as_its_depth_grows() {
    for row in ROWS.iter().filter(|row| row.cost() == Cost::Cheap) {
        for depth in 0..row.events {
            assert_eq!(within(row, depth), None, "{} {}", row.system, row.bug);
        }
        let violation = within(row, row.events).unwrap();
        assert_eq!(violation.run.events.len(), row.events, "{} {}", row.system, row.bug);
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
fn nothing_shorter_is_met_by_the_classic_search_in_larger_systems() {
    for row in ROWS.iter().filter(|row| row.cost() == Cost::Dear) {
        assert_eq!(within(row, row.events - 1), None, "{} {}", row.system, row.bug);
        let violation = within(row, row.events).unwrap();
        assert_eq!(violation.run.events.len(), row.events, "{} {}", row.system, row.bug);
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
fn nothing_shorter_is_met_by_breadth_first_search_in_the_largest_systems() {
    for row in ROWS.iter().filter(|row| matches!(row.cost(), Cost::VeryDear | Cost::Dearest)) {
        let depth = Some(row.events as u64 - 1);
        let options = Options { max_depth: depth, ..global(Search::Bfs) };
        let outcome = row.build().check_with(&options).unwrap();
        assert_eq!(outcome.violation, None, "{} {}", row.system, row.bug);
        assert_eq!(outcome.bounded_by, Some(Bound::Depth), "{} {}", row.system, row.bug);
    }
}

#[test]
fn a_run_that_does_not_violate_is_refused() {
    let row = &ROWS[0];
    let system = row.build();
    let mut violation = system.check_with(&global(Search::Bfs)).unwrap().violation.unwrap();
    violation.run.events.pop();
    let error = system.minimise(&violation, &unhurried()).unwrap_err().to_string();
    assert_eq!(
        error,
        "the run does not violate what it is said to violate: it can be carried out, but shows no violation"
    );
}

#[test]
fn nothing_is_tried_where_nothing_may_be() {
    for row in ROWS.iter().filter(|row| row.cost() == Cost::Cheap) {
        let system = row.build();
        let options = Options { minimise: false, ..walk() };
        let found = system.check_with(&options).unwrap().violation.unwrap();
        let none = MinimiseOptions { max_candidates: 0, max_states: 0, ..unhurried() };
        let (smaller, summary) = system.minimise(&found, &none).unwrap();
        assert_eq!(smaller.run, found.run);
        assert_eq!((summary.candidates, summary.states), (0, 0));
        let no_time = MinimiseOptions { max_time: Duration::ZERO, ..unhurried() };
        let (smaller, summary) = system.minimise(&found, &no_time).unwrap();
        assert_eq!(smaller.run, found.run);
        assert!(summary.out_of_time, "{summary}");
        assert!(summary.to_string().ends_with("; stopped before everything was tried"));
    }
}
