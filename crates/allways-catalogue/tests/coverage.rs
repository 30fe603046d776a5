//! What the systems of the catalogue cover with their default parameters, and that nothing about
//! them is worth a warning.

use allways::{Engine, Options, Outcome, Search};

fn check(name: &str, options: &Options) -> Outcome {
    let system = allways_catalogue::find(name).unwrap().build(&[]).unwrap();
    system.check_with(options).unwrap()
}

/// Small enough for the classic search.
const SMALL: [&str; 7] =
    ["accumulator", "chain", "one-paxos", "paxos", "paxos-register", "tree", "two-phase-commit"];

#[test]
fn what_is_never_taken_is_known() {
    // Threads have no handlers to cover.
    for entry in allways_catalogue::entries().iter().filter(|entry| !entry.is_of_threads()) {
        let expected: &[&str] = match entry.name {
            // A bug only sets it.
            "accumulator" => &["timer `Add` is never set"],
            // Nobody tries again by default.
            "pam" => &["timer `Retry` is never set"],
            _ => &[],
        };
        let outcome = check(entry.name, &Options::default());
        assert!(outcome.complete, "{}\n{outcome}", entry.name);
        let coverage = outcome.coverage.unwrap();
        assert_eq!(coverage.never(), expected, "{}", entry.name);
    }
}

#[test]
fn nothing_is_worth_a_warning() {
    for entry in allways_catalogue::entries() {
        let outcome = check(entry.name, &Options::default());
        assert_eq!(outcome.warnings, [""; 0], "{}", entry.name);
    }
}

#[test]
fn every_search_covers_the_same() {
    for name in SMALL {
        let expected = check(name, &Options::default()).coverage;
        for search in [Search::Dfs, Search::Classic] {
            let options = Options { search, ..Options::default() };
            assert_eq!(check(name, &options).coverage, expected, "{name} {search:?}");
        }
    }
}

#[test]
fn enough_random_runs_cover_every_kind() {
    for name in SMALL {
        let options = Options { engine: Engine::Walk, runs: 500, ..Options::default() };
        let (walked, all) = (check(name, &options), check(name, &Options::default()));
        let never = |outcome: Outcome| outcome.coverage.unwrap().never();
        assert_eq!(never(walked), never(all), "{name}");
    }
}
