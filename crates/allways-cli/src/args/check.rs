//! The arguments of `allways check`. Each flag is an environment variable too.

use super::Color;
use super::values::{at_least_one, preemptions, setting, threads, truth, whole};
use allways::{
    Combine, Components, Engine, Error, Options, Por, Reduction, Schedule, Search, parse_bytes,
    parse_por, parse_seconds,
};
use clap::{ArgAction, Args, ValueHint};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(super) const HELP: &str = "\
Engines:
  auto     picks one that fits
  global   stateful search over global states; complete, unless a bound ends it
  dpor     runs, of which as few as possible differ only in the order of independent events; needs
           little memory, and is complete unless a bound ends it, but ends only if all runs do
  lmc      local states of each node apart, on a network that only grows; combined only where a
           property could be violated, and then it is asked whether a run leads there; complete,
           unless a bound ends it; where it cannot decide, it says so and global goes on
  dir      components one by one, against what others can tell of them: what happens within one is
           not multiplied by what happens within others; complete unless a bound ends it, but ends
           only if all runs do; with --stateful it remembers states of components in place of runs
  walk     seeded random runs; finds violations, never proves that there are none

Programs of threads have no states to remember. They are explored by engine dpor, which auto is for
them, with reduction none, source or optimal, by dir, or by walk. What is wanted of them is that no
thread panics or gets into trouble: a deadlock, a lost wake-up, a livelock, a data race, a lock that
is taken twice, a thread that nobody joins.

Searches of engine global:
  bfs      breadth-first: the shortest run to a violation
  dfs      depth-first: the least memory
  classic  depth-first on whole cloned global states: slow, the baseline

Reductions of engine dpor:
  none     no run is left out
  naive    branches off where two dependent events could have come in the other order; may miss some
  force    the same, and the other order is forced; misses none
  ds       DPOR-DS: the same runs as force, found with less work
  source   source sets and sleep sets
  cached   the same, and a run ends where it meets a state from which everything was explored; needs
           more memory, and often by far the least time
  optimal  source sets, sleep sets and wakeup trees: one run for each trace

Schedules of threads in engine walk:
  random   each thread that can go on is equally likely, at each step
  pct      by priorities that are drawn at random, and changed at a few random steps: what takes
           DEPTH steps in a certain order to go wrong is found with a probability that is known;
           pct:DEPTH, or 3 if nothing is said

Combinations of local states in engine lmc:
  general  all of them
  views    those that differ in what a property reads, and of these only what violates it

Examples:
  allways check paxos                           check it with everything at its default
  allways check paxos --witnesses               show how what is possible becomes true
  allways check paxos --set bug=last-promise    a known mistake, with the smallest system to show it
  allways check paxos --set nodes=3 --set proposals=2 --max-seconds 60 --max-memory 2G
  allways check paxos-register --set clients=3 --search dfs --exact
  allways check two-phase-commit --set rms=9 --symmetry
  allways check zab --set bug=any-log --engine walk --runs 100000 --seed 7
  allways check register --set bases=2 --engine dpor --reduction source
  allways check paxos --set proposals=2 --engine lmc
  allways check accumulator --set replicas=3 --engine dir
  allways check accumulator --engine dir --components 0,1/2 --stateful
  allways check chord --engine dir --resume chord.log    as often as it takes
  allways check multi-paxos --set nodes=3 --engine dir --resume paxos.log
  allways check dining --set bug=same-order     threads that wait for each other
  allways check bounded-buffer --set items=2 --preemptions 2
  allways check dining --set philosophers=4,bug=same-order --engine walk --schedule pct:3
  allways check tree --json                     the outcome for programs
  allways check tree --coverage --junit tree.xml
  allways check register --set bug=minority-read --save out
  ALLWAYS_THREADS=1 allways check register      a flag given by its environment variable

Ctrl-C (or SIGTERM) stops the search with what it has: inconclusive, exit code 3. A second one
ends the process at once, exit code 130.
";

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// The system to check; `allways list` shows all. It need not be named where there is only one.
    pub system: Option<String>,

    /// Set a parameter of the system; may be given more than once, or several with commas.
    #[arg(long, value_name = "NAME=VALUE", env = "ALLWAYS_SET")]
    #[arg(value_parser = setting, value_delimiter = ',')]
    pub set: Vec<(String, String)>,

    /// Check this property only; may be given more than once. Without it, all of them.
    #[arg(long, value_name = "NAME", env = "ALLWAYS_PROPERTY")]
    pub property: Vec<String>,

    #[command(flatten)]
    how: How,
    #[command(flatten)]
    bounds: Bounds,

    #[command(flatten)]
    pub output: Output,
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Print exactly one JSON object on standard output.
    #[arg(long, env = "ALLWAYS_JSON", action = ArgAction::SetTrue, value_parser = truth)]
    pub json: bool,

    /// Print the verdict line only, and no progress.
    #[arg(long, short, env = "ALLWAYS_QUIET", action = ArgAction::SetTrue, value_parser = truth)]
    pub quiet: bool,

    /// Show the run to each `sometimes` property that holds.
    #[arg(long, env = "ALLWAYS_WITNESSES", action = ArgAction::SetTrue, value_parser = truth)]
    pub witnesses: bool,

    /// Show progress on standard error, a line a second, even where that is no terminal.
    #[arg(long, env = "ALLWAYS_PROGRESS", action = ArgAction::SetTrue, value_parser = truth)]
    pub progress: bool,

    /// Show which messages, timers, calls, handlers and choices were seen, and which never.
    #[arg(long, env = "ALLWAYS_COVERAGE", action = ArgAction::SetTrue, value_parser = truth)]
    pub coverage: bool,

    /// Keep the run of a violation (run.json) and a page to look through (report.html) in this
    /// directory; with --witnesses, also a page for each `sometimes` property that holds.
    #[arg(long, value_name = "DIR", env = "ALLWAYS_SAVE", value_hint = ValueHint::DirPath)]
    pub save: Option<PathBuf>,

    /// Write the outcome as JUnit XML, for CI: a test for each property.
    #[arg(long, value_name = "FILE", env = "ALLWAYS_JUNIT", value_hint = ValueHint::FilePath)]
    pub junit: Option<PathBuf>,

    /// Show the run of a violation as the search found it, not minimised.
    #[arg(long, env = "ALLWAYS_NO_MINIMISE", action = ArgAction::SetTrue, value_parser = truth)]
    pub no_minimise: bool,

    /// The same the other way round, as the library has it.
    #[arg(long, hide = true, env = "ALLWAYS_MINIMISE", default_value = "true")]
    #[arg(action = ArgAction::Set, value_parser = truth)]
    minimise: bool,

    /// Colour the text: auto, always or never. Auto is on a terminal, unless NO_COLOR is set.
    #[arg(long, value_name = "WHEN", env = "ALLWAYS_COLOR", default_value = "auto")]
    pub color: Color,
}

#[derive(Args)]
#[command(next_help_heading = "How to search")]
struct How {
    /// The engine: auto, global, dpor, lmc, dir or walk.
    #[arg(long, env = "ALLWAYS_ENGINE", default_value = "auto")]
    engine: Engine,

    /// The order in which engine global explores: bfs, dfs or classic.
    #[arg(long, env = "ALLWAYS_SEARCH", default_value = "bfs")]
    search: Search,

    /// Which runs engine dpor leaves out: none, naive, force, ds, source, cached or
    /// optimal.
    #[arg(long, env = "ALLWAYS_REDUCTION", default_value = "optimal")]
    reduction: Reduction,

    /// How engine walk chooses among the threads that can go on: random, pct or pct:DEPTH.
    #[arg(long, env = "ALLWAYS_SCHEDULE", default_value = "random")]
    schedule: Schedule,

    /// Which combinations of local states engine lmc makes: general or views.
    #[arg(long, env = "ALLWAYS_COMBINE", default_value = "views")]
    combine: Combine,

    /// Which nodes are one component each in engine dir: 0,1/2 are nodes 0 and 1, and node 2. 0-3 are
    /// nodes 0 to 3, and (0,1/2)/3 has a component that consists of components. Nodes that
    /// are not named are components by themselves, as all are with each, or if nothing is said; with auto,
    /// those go together that are seen to exchange much.
    #[arg(long, value_name = "NODES/NODES|auto|each", env = "ALLWAYS_COMPONENTS")]
    components: Option<Components>,

    /// In engine dir, remember in which states components may be, in place of traces.
    #[arg(long, env = "ALLWAYS_STATEFUL", action = ArgAction::SetTrue, value_parser = truth)]
    stateful: bool,

    /// In engine dir with --stateful, leave out points that another covers: all of its sets of states are
    /// larger. Fewer points where such sets overlap, but each costs more.
    #[arg(long, env = "ALLWAYS_ANTICHAINS", action = ArgAction::SetTrue, value_parser = truth)]
    antichains: bool,

    /// In engine dir, write down in FILE what is done; if there is such a file, go on from it. Whenever the check was
    /// interrupted, and however, it goes on where it was.
    #[arg(long, value_name = "FILE", env = "ALLWAYS_RESUME")]
    resume: Option<PathBuf>,

    /// After a check by engine dir, do not explore plainly for a while to tell how long a trace takes without
    /// components: no run-time ratio, no speed-up.
    #[arg(long, env = "ALLWAYS_NO_COMPARE_PLAIN", action = ArgAction::SetTrue, value_parser = truth)]
    no_compare_plain: bool,

    /// The same the other way round, as the library has it.
    #[arg(long, hide = true, env = "ALLWAYS_COMPARE_PLAIN", default_value = "true")]
    #[arg(action = ArgAction::Set, value_parser = truth)]
    compare_plain: bool,

    /// Follow only one order of events that commute, in engine global. WHAT is preserved: needed (the
    /// default: what the properties need), invariant, terminals or views; or off.
    #[arg(long, value_name = "WHAT", env = "ALLWAYS_POR", value_parser = por)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "needed")]
    por: Option<Reduced>,

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

    /// No more runs than this, in engines dpor and dir.
    #[arg(long, value_name = "N", env = "ALLWAYS_MAX_RUNS")]
    #[arg(value_parser = whole, allow_negative_numbers = true)]
    max_runs: Option<u64>,

    /// Only runs in which a thread that could go on is stopped at most this often, and all of these; in engine dpor,
    /// for programs of threads.
    #[arg(long, value_name = "N", env = "ALLWAYS_PREEMPTIONS")]
    #[arg(value_parser = preemptions, allow_negative_numbers = true)]
    preemptions: Option<u32>,

    /// No runs of more events than this; engines dpor and dir stop at 1,000 and walk at 10,000 if nothing is said.
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

impl How {
    /// Whether to tell how long a trace takes without components: where there are components and traces, unless it is not wanted.
    fn compares_plain(&self) -> bool {
        let has_traces = self.engine == Engine::Dir && !self.stateful;
        has_traces && self.compare_plain && !self.no_compare_plain
    }
}

/// What a reduction is to preserve, if there is to be one.
#[derive(Clone, Copy)]
struct Reduced(Option<Por>);

fn por(text: &str) -> Result<Reduced, Error> {
    parse_por(text).map(Reduced)
}

impl CheckArgs {
    /// The options that these arguments ask for.
    pub fn options(&self) -> Options {
        let (how, bounds) = (&self.how, &self.bounds);
        Options {
            engine: how.engine,
            search: how.search,
            reduction: how.reduction,
            schedule: how.schedule,
            preemptions: bounds.preemptions,
            combine: how.combine,
            components: how.components.clone().unwrap_or_default(),
            stateful: how.stateful,
            antichains: how.antichains,
            resume: how.resume.clone(),
            compare_plain: how.compares_plain(),
            por: how.por.and_then(|reduced| reduced.0),
            threads: how.threads,
            max_depth: bounds.max_depth,
            max_states: bounds.max_states,
            max_runs: bounds.max_runs,
            max_time: bounds.max_seconds,
            max_memory: bounds.max_memory,
            exact: how.exact,
            symmetry: how.symmetry,
            verify_aux: how.verify_aux,
            seed: how.seed,
            runs: bounds.runs,
            minimise: self.output.minimise && !self.output.no_minimise,
            progress: Some(Arc::default()),
            ..Options::default()
        }
    }

    /// The parameters that are set.
    pub fn settings(&self) -> Vec<(&str, &str)> {
        self.set.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}
