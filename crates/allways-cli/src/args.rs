//! The arguments: what there is, what it is called, and the help that a newcomer works from.

use allways::{Engine, Options, Search, parse_bytes, parse_seconds};
use clap::{ArgAction, Args, Parser, Subcommand};
use std::sync::Arc;
use std::time::Duration;

/// More threads than this help nobody.
const MAX_THREADS: u64 = 1024;

const EXIT_CODES: &str = "\
Exit codes:
  0  every property holds
  1  a property is violated
  2  wrong usage or input: nothing was checked
  3  inconclusive: a bound was reached, and no violation was found until then";

const HELP: &str = "\
Examples:
  allways list                                  what there is to check
  allways check paxos                           check a system as it is
  allways check paxos --set bug=last-promise    bring back a known mistake, and see its run
  allways check zab --max-seconds 60            stop after a minute with what is known by then
  allways check --help                          engines, bounds, exit codes";

const LIST_HELP: &str = "\
Examples:
  allways list                                  all systems
  allways list paxos                            one of them
  allways list --json | jq '.systems[].name'

What is listed:
  parameters  with their defaults and ranges; change one with `check SYSTEM --set name=value`
  bugs        known mistakes; bring one back with `check SYSTEM --set bug=NAME`, and the other
              parameters default to the smallest that show it
  properties  `always` holds in every reachable global state, `sometimes` in at least one,
              `never stuck` allows a global state without successors only where it says so

Exit codes:
  0  listed
  2  wrong usage or input";

const CHECK_HELP: &str = "\
Engines:
  auto     picks one that fits
  global   stateful search over global states; complete, unless a bound ends it
  walk     seeded random runs; finds violations, never proves that there are none

Searches of engine global:
  bfs      breadth-first: the shortest run to a violation
  dfs      depth-first: the least memory
  classic  depth-first on whole cloned global states: slow, the baseline

Examples:
  allways check paxos                           check it with everything at its default
  allways check paxos --witnesses               show how what is possible becomes true
  allways check paxos --set bug=last-promise    a known mistake, with the smallest system to show it
  allways check paxos --set nodes=3 --set proposals=2 --max-seconds 60 --max-memory 2G
  allways check paxos-register --set clients=3 --search dfs --exact
  allways check two-phase-commit --set rms=9 --symmetry
  allways check zab --set bug=any-log --engine walk --runs 100000 --seed 7
  allways check tree --json                     the outcome for programs
  ALLWAYS_THREADS=1 allways check register      a flag given by its environment variable

Ctrl-C stops the search with what it has (inconclusive); a second Ctrl-C kills it.
";

/// Checks distributed systems as they are implemented: every order of messages, every crash.
#[derive(Parser)]
#[command(
    name = "allways",
    version,
    after_help = format!("{HELP}\n\n{EXIT_CODES}"),
    arg_required_else_help = true,
    subcommand_required = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Shows the systems, their parameters with defaults, their bugs and their properties.
    #[command(after_help = LIST_HELP)]
    List(ListArgs),
    /// Checks a system: runs it every way it can run and says whether its properties hold.
    #[command(after_help = format!("{CHECK_HELP}\n{EXIT_CODES}"))]
    Check(Box<CheckArgs>),
}

#[derive(Args)]
pub(crate) struct ListArgs {
    /// Only this system.
    pub system: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// The system to check; `allways list` shows all.
    pub system: String,

    /// Set a parameter of the system; may be given more than once.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,

    #[command(flatten)]
    how: How,
    #[command(flatten)]
    bounds: Bounds,

    /// Print exactly one JSON object on standard output.
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Print the verdict line only, and no progress.
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,

    /// Show the run to each `sometimes` property that holds.
    #[arg(long, help_heading = "Output")]
    pub witnesses: bool,

    /// Show progress on standard error, a line a second, even where that is no terminal.
    #[arg(long, help_heading = "Output", conflicts_with = "quiet")]
    pub progress: bool,
}

#[derive(Args)]
#[command(next_help_heading = "How to search")]
struct How {
    /// The engine: auto, global or walk.
    #[arg(long, env = "ALLWAYS_ENGINE", default_value = "auto")]
    engine: Engine,

    /// The order in which engine global explores: bfs, dfs or classic.
    #[arg(long, env = "ALLWAYS_SEARCH", default_value = "bfs")]
    search: Search,

    /// How many threads to use; 0 for as many as there are cores.
    #[arg(long, value_name = "N", env = "ALLWAYS_THREADS", default_value = "0")]
    #[arg(value_parser = threads, allow_negative_numbers = true)]
    threads: usize,

    /// Keep whole global states instead of fingerprints: no collision can hide a state.
    #[arg(long, env = "ALLWAYS_EXACT", action = ArgAction::SetTrue, value_parser = truth)]
    exact: bool,

    /// Explore global states that differ only in which interchangeable node is which once.
    #[arg(long, env = "ALLWAYS_SYMMETRY", action = ArgAction::SetTrue, value_parser = truth)]
    symmetry: bool,

    /// Re-execute steps under other auxiliary values, to find out whether those matter.
    #[arg(long, env = "ALLWAYS_VERIFY_AUX", action = ArgAction::SetTrue, value_parser = truth)]
    verify_aux: bool,

    /// Where the random runs of engine walk start from.
    #[arg(long, value_name = "N", env = "ALLWAYS_SEED", default_value_t = Options::default().seed)]
    #[arg(value_parser = whole, allow_negative_numbers = true)]
    seed: u64,
}

#[derive(Args)]
#[command(next_help_heading = "Bounds")]
struct Bounds {
    /// How many random runs engine walk makes.
    #[arg(long, value_name = "N", env = "ALLWAYS_RUNS", default_value_t = Options::default().runs)]
    #[arg(value_parser = at_least_one, allow_negative_numbers = true)]
    runs: u64,

    /// No runs of more events than this.
    #[arg(long, value_name = "N", env = "ALLWAYS_MAX_DEPTH")]
    #[arg(value_parser = whole, allow_negative_numbers = true)]
    max_depth: Option<u64>,

    /// About so many distinct global states.
    #[arg(long, value_name = "N", env = "ALLWAYS_MAX_STATES")]
    #[arg(value_parser = whole, allow_negative_numbers = true)]
    max_states: Option<u64>,

    /// No longer than this many seconds; 0.5 is one such number.
    #[arg(long, value_name = "S", env = "ALLWAYS_MAX_SECONDS")]
    #[arg(value_parser = parse_seconds, allow_negative_numbers = true)]
    max_seconds: Option<Duration>,

    /// About so much memory for what is stored: 4096, 64K, 512M, 2G.
    #[arg(long, value_name = "BYTES", env = "ALLWAYS_MAX_MEMORY")]
    #[arg(value_parser = parse_bytes, allow_negative_numbers = true)]
    max_memory: Option<u64>,
}

impl CheckArgs {
    /// The options that these arguments ask for.
    pub fn options(&self) -> Options {
        let (how, bounds) = (&self.how, &self.bounds);
        Options {
            engine: how.engine,
            search: how.search,
            threads: how.threads,
            max_depth: bounds.max_depth,
            max_states: bounds.max_states,
            max_time: bounds.max_seconds,
            max_memory: bounds.max_memory,
            exact: how.exact,
            symmetry: how.symmetry,
            verify_aux: how.verify_aux,
            seed: how.seed,
            runs: bounds.runs,
            progress: Some(Arc::default()),
            ..Options::default()
        }
    }

    /// The parameters that are set.
    pub fn settings(&self) -> Vec<(&str, &str)> {
        self.set.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(format!("`{text}` is not of the form NAME=VALUE")),
    }
}

fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| match text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty() {
        true => format!("`{text}` is too large: {} is the largest", u64::MAX),
        false => format!("`{text}` is not a whole number"),
    })
}

fn at_least_one(text: &str) -> Result<u64, String> {
    match whole(text)? {
        0 => Err("`0` is too few: it is at least 1".to_owned()),
        number => Ok(number),
    }
}

fn threads(text: &str) -> Result<usize, String> {
    match whole(text)? {
        number if number <= MAX_THREADS => Ok(number as usize),
        _ => Err(format!("`{text}` is too many: it is a number from 0 to {MAX_THREADS}")),
    }
}

fn truth(text: &str) -> Result<bool, String> {
    match text {
        "1" | "true" | "yes" | "on" => Ok(true),
        "" | "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(format!("`{text}` is neither true nor false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn settings_need_a_name_and_a_value() {
        assert_eq!(setting("nodes=3"), Ok(("nodes".to_owned(), "3".to_owned())));
        assert!(setting("nodes").is_err() && setting("=3").is_err() && setting("nodes=").is_err());
    }
}
