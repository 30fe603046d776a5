//! How to check: the engine, its search, and the bounds. Every knob is also an environment variable.

use super::components::Components;
use super::progress::Progress;
use crate::error::Error;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A way to explore.
///
/// ```
/// assert_eq!("global".parse(), Ok(allways::Engine::Global));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// Picks one that fits.
    #[default]
    Auto,
    /// Stateful search over global states.
    Global,
    /// Dynamic partial-order reduction: runs, of which as few as possible differ only in the order of
    /// independent events.
    Dpor,
    /// Model checking without the network: local states of each node apart, combined only where a
    /// property could be violated.
    Lmc,
    /// Dynamic interface reduction: what a component does that others cannot tell of is explored once for all that they may do.
    Dir,
    /// Seeded random runs.
    Walk,
}

impl FromStr for Engine {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "auto" => Ok(Engine::Auto),
            "global" => Ok(Engine::Global),
            "dpor" => Ok(Engine::Dpor),
            "lmc" => Ok(Engine::Lmc),
            "dir" => Ok(Engine::Dir),
            "walk" => Ok(Engine::Walk),
            _ => Err(Error::Options(format!(
                "there is no engine `{text}`; choose auto, global, dpor, lmc, dir or walk"
            ))),
        }
    }
}

/// Which combinations of local states engine `lmc` makes.
///
/// ```
/// assert_eq!("general".parse(), Ok(allways::Combine::General));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Combine {
    /// All of them.
    General,
    /// Only combinations of distinct views, and of those only what violates a property.
    #[default]
    Views,
}

impl FromStr for Combine {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "general" => Ok(Combine::General),
            "views" => Ok(Combine::Views),
            _ => Err(Error::Options(format!(
                "local states cannot be combined by `{text}`; choose general or views"
            ))),
        }
    }
}

/// The order in which engine `global` explores.
///
/// ```
/// assert_eq!("dfs".parse(), Ok(allways::Search::Dfs));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Search {
    /// Breadth-first: the shortest counterexample.
    #[default]
    Bfs,
    /// Depth-first: the least memory.
    Dfs,
    /// Depth-first on whole cloned global states, handlers executed at every step: the baseline
    /// and the oracle.
    Classic,
}

impl FromStr for Search {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "bfs" => Ok(Search::Bfs),
            "dfs" => Ok(Search::Dfs),
            "classic" => Ok(Search::Classic),
            _ => Err(Error::Options(format!(
                "there is no search `{text}`; choose bfs, dfs or classic"
            ))),
        }
    }
}

/// Which runs engine `dpor` leaves out.
///
/// A trace is what all runs have in common that differ only in the order of independent events. All of them but
/// `naive` perform at least one run of each trace, if no bound is reached; all but `none` leave out other
/// runs of it.
///
/// ```
/// assert_eq!("source".parse(), Ok(allways::Reduction::Source));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reduction {
    /// No run: all orders of all events.
    None,
    /// The simplest one of the paper on DPOR-DS: branches off where two dependent events could have come in the other order; what
    /// comes then is arbitrary. **It may miss** what another event makes impossible, and never says that it is complete.
    Naive,
    /// The same, with what was missed, and the other order is forced. It looks at all pairs of events of each run.
    Force,
    /// DPOR-DS: makes the same runs as `force`, and looks only at the pairs of events that are new in a run.
    Ds,
    /// Source sets and sleep sets.
    Source,
    /// The same, and states are remembered: a run ends where it meets a state from which everything was explored, if
    /// nothing of what was found there could have come before what has led to it.
    Cached,
    /// Source sets, sleep sets and wakeup trees: one run of each trace.
    #[default]
    Optimal,
}

/// All reductions with their names.
const REDUCTIONS: [(Reduction, &str, &str); 7] = [
    (Reduction::None, "none", "dpor none"),
    (Reduction::Naive, "naive", "dpor naive"),
    (Reduction::Force, "force", "dpor force"),
    (Reduction::Ds, "ds", "dpor ds"),
    (Reduction::Source, "source", "dpor source"),
    (Reduction::Cached, "cached", "dpor cached"),
    (Reduction::Optimal, "optimal", "dpor optimal"),
];

impl Reduction {
    /// What engine `dpor` with it is called.
    pub(crate) fn engine_name(self) -> &'static str {
        let known = REDUCTIONS.iter().find(|(reduction, ..)| *reduction == self);
        known.map_or("dpor", |(.., engine)| engine)
    }

    /// Whether there are states in which none of its runs stands.
    pub(crate) fn passes_by(self) -> bool {
        self != Reduction::None
    }
}

impl FromStr for Reduction {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        let known = REDUCTIONS.iter().find(|(_, name, _)| *name == text);
        known.map(|(reduction, ..)| *reduction).ok_or_else(|| {
            Error::Options(format!(
                "there is no reduction `{text}`; choose none, naive, force, ds, source, cached or optimal"
            ))
        })
    }
}

/// How engine `walk` chooses among the threads that can go on.
///
/// ```
/// use allways::Schedule;
/// assert_eq!("random".parse(), Ok(Schedule::Random));
/// assert_eq!("pct".parse(), Ok(Schedule::Pct(3)));
/// assert_eq!("pct:2".parse(), Ok(Schedule::Pct(2)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Schedule {
    /// Each equally likely, at each step.
    #[default]
    Random,
    /// Probabilistic concurrency testing: by priorities that are drawn at random, and changed at so many random steps less one. What it takes
    /// so many ordered steps to go wrong is found with a probability that is known.
    Pct(u32),
}

impl FromStr for Schedule {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || {
            let why = format!("there is no schedule `{text}`; choose random, pct or pct:DEPTH");
            Error::Options(why)
        };
        match text.split_once(':') {
            None if text == "random" => Ok(Schedule::Random),
            None if text == "pct" => Ok(Schedule::Pct(3)),
            Some(("pct", depth)) => match depth.parse() {
                Ok(depth) if depth > 0 => Ok(Schedule::Pct(depth)),
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }
}

/// What a partial order reduction in engine `global` preserves; what it preserves less, it leaves
/// out more.
///
/// ```
/// assert_eq!("views".parse(), Ok(allways::Por::Views));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Por {
    /// What the properties need: terminal states if one is a `never_stuck`, otherwise the invariant.
    #[default]
    Needed,
    /// Whether `always` properties hold and `sometimes` properties are reached, and whether a
    /// handler panics.
    Invariant,
    /// That, and all terminal states.
    Terminals,
    /// All reachable combinations of views and observer states, and all terminal states.
    Views,
}

impl FromStr for Por {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "needed" => Ok(Por::Needed),
            "invariant" => Ok(Por::Invariant),
            "terminals" => Ok(Por::Terminals),
            "views" => Ok(Por::Views),
            _ => Err(Error::Options(format!(
                "a reduction cannot preserve `{text}`; choose needed, invariant, terminals, views or off"
            ))),
        }
    }
}

/// How to check a system.
///
/// ```
/// use allways::{Options, Search};
/// let options = Options { search: Search::Dfs, threads: 2, ..Options::default() };
/// assert!(!options.exact);
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The engine.
    pub engine: Engine,
    /// The order in which engine `global` explores.
    pub search: Search,
    /// In engine `global`, follow only one order of events that commute, as long as this is
    /// preserved; `None` to follow all.
    pub por: Option<Por>,
    /// Which runs engine `dpor` leaves out.
    pub reduction: Reduction,
    /// How engine `walk` chooses among threads.
    pub schedule: Schedule,
    /// In engine `dpor`, only runs in which a thread that could go on is stopped at most so often, and all of those.
    pub preemptions: Option<u32>,
    /// Which combinations of local states engine `lmc` makes.
    pub combine: Combine,
    /// Which nodes are one component in engine `dir`: each by itself unless said. No other engine takes it.
    pub components: Components,
    /// Whether engine `dir` remembers in which states components may be, in place of traces. No other engine takes it.
    pub stateful: bool,
    /// Whether engine `dir`, if it is stateful, leaves out points that another covers, all of whose sets of states are larger: fewer points, each of which costs more.
    pub antichains: bool,
    /// A file in which engine `dir` writes down what it has done. If there is such a file, the check goes on from it. No other engine takes it.
    pub resume: Option<PathBuf>,
    /// Whether engine `dir` explores plainly for a while after a check that holds, to tell how long a trace takes without components:
    /// see [`Statistics::run_time_ratio`](crate::Statistics::run_time_ratio). That takes about a tenth of the time of the check, which does not count as its own. No other engine takes it.
    pub compare_plain: bool,
    /// What the system is called, with its parameters: a check goes on only from the file of one with the same title.
    pub title: Option<String>,
    /// How many threads to use; zero for as many as there are cores.
    pub threads: usize,
    /// No runs longer than this.
    pub max_depth: Option<u64>,
    /// About so many distinct global states: looked at between batches of work.
    pub max_states: Option<u64>,
    /// No more runs than this, in engines `dpor` and `dir`.
    pub max_runs: Option<u64>,
    /// No longer than this.
    pub max_time: Option<Duration>,
    /// About so many bytes of memory, as the engine counts what it stores: looked at between batches
    /// of work. The classic search counts its states without what they point to.
    pub max_memory: Option<u64>,
    /// Keep whole global states instead of fingerprints: no collision can hide a state.
    pub exact: bool,
    /// Explore global states that differ only in which interchangeable node is which once.
    pub symmetry: bool,
    /// After the search, re-execute steps under differing auxiliary values.
    pub verify_aux: bool,
    /// Re-execute a sample of the steps and compare.
    pub determinism_guard: bool,
    /// Make the run of a violation smaller before it is reported: see
    /// [`System::minimise`](crate::System::minimise).
    pub minimise: bool,
    /// Where random runs start from.
    pub seed: u64,
    /// How many random runs engine `walk` makes.
    pub runs: u64,
    /// Set to true to make the search stop with what it has.
    pub stop: Option<Arc<AtomicBool>>,
    /// Told how far the search has come.
    pub progress: Option<Arc<Progress>>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            engine: Engine::Auto,
            search: Search::Bfs,
            por: None,
            reduction: Reduction::Optimal,
            schedule: Schedule::Random,
            preemptions: None,
            combine: Combine::Views,
            components: Components::default(),
            stateful: false,
            antichains: false,
            resume: None,
            compare_plain: false,
            title: None,
            threads: 0,
            max_depth: None,
            max_states: None,
            max_runs: None,
            max_time: None,
            max_memory: None,
            exact: false,
            symmetry: false,
            verify_aux: false,
            determinism_guard: true,
            minimise: true,
            seed: 0,
            runs: 10_000,
            stop: None,
            progress: None,
        }
    }
}

impl Options {
    /// The defaults, changed by the environment: `ALLWAYS_ENGINE`, `ALLWAYS_SEARCH`, `ALLWAYS_POR`,
    /// `ALLWAYS_REDUCTION`, `ALLWAYS_SCHEDULE`, `ALLWAYS_PREEMPTIONS`, `ALLWAYS_COMBINE`, `ALLWAYS_COMPONENTS`, `ALLWAYS_STATEFUL`, `ALLWAYS_ANTICHAINS`, `ALLWAYS_RESUME`, `ALLWAYS_COMPARE_PLAIN`, `ALLWAYS_THREADS`, `ALLWAYS_MAX_DEPTH`, `ALLWAYS_MAX_STATES`, `ALLWAYS_MAX_RUNS`,
    /// `ALLWAYS_MAX_SECONDS`, `ALLWAYS_MAX_MEMORY` (bytes, or with a suffix `K`, `M`, `G`), `ALLWAYS_EXACT`,
    /// `ALLWAYS_SYMMETRY`, `ALLWAYS_VERIFY_AUX`, `ALLWAYS_MINIMISE`, `ALLWAYS_SEED`, `ALLWAYS_RUNS`.
    /// `ALLWAYS_SAVE` is no option of a check: see [`Outcome::assert_holds`](crate::Outcome::assert_holds).
    ///
    /// ```no_run
    /// // As if `ALLWAYS_MAX_SECONDS=60` stood before the command.
    /// let options = allways::Options::from_env().unwrap();
    /// assert_eq!(options.max_time.unwrap().as_secs(), 60);
    /// ```
    ///
    /// # Errors
    ///
    /// If a variable has a value that makes no sense, or one that begins with `ALLWAYS_` is none of
    /// these: most likely it is misspelt. Names that begin with `ALLWAYS_TEST_` are yours.
    pub fn from_env() -> Result<Self, Error> {
        let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
        Options::from_variables(names, |name| std::env::var(name).ok())
    }

    /// The options from variables with these names.
    fn from_variables(
        names: impl Iterator<Item = String>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Error> {
        let mut options = Options::default();
        // Every variable that is read is known: so the list is right whatever is read.
        let mut known = OTHER_VARIABLES.to_vec();
        fn number<T: FromStr>(name: &str, text: &str) -> Result<T, Error> {
            text.parse().map_err(|_| Error::Options(format!("{name}={text} is not a number")))
        }
        fn flag(name: &str, text: &str) -> Result<bool, Error> {
            match text {
                "1" | "true" | "yes" | "on" => Ok(true),
                "" | "0" | "false" | "no" | "off" => Ok(false),
                _ => Err(Error::Options(format!("{name}={text} is neither true nor false"))),
            }
        }
        macro_rules! read {
            ($name:literal, $text:ident, $body:expr) => {
                known.push($name);
                if let Some($text) = variable($name).as_deref() {
                    $body
                }
            };
        }
        read!("ALLWAYS_ENGINE", t, options.engine = t.parse()?);
        read!("ALLWAYS_SEARCH", t, options.search = t.parse()?);
        read!("ALLWAYS_POR", t, options.por = parse_por(t)?);
        read!("ALLWAYS_REDUCTION", t, options.reduction = t.parse()?);
        read!("ALLWAYS_SCHEDULE", t, options.schedule = t.parse()?);
        read!(
            "ALLWAYS_PREEMPTIONS",
            t,
            options.preemptions = Some(number("ALLWAYS_PREEMPTIONS", t)?)
        );
        read!("ALLWAYS_COMBINE", t, options.combine = t.parse()?);
        read!("ALLWAYS_COMPONENTS", t, options.components = t.parse()?);
        read!("ALLWAYS_STATEFUL", t, options.stateful = flag("ALLWAYS_STATEFUL", t)?);
        read!("ALLWAYS_ANTICHAINS", t, options.antichains = flag("ALLWAYS_ANTICHAINS", t)?);
        read!("ALLWAYS_RESUME", t, options.resume = Some(PathBuf::from(t)));
        read!("ALLWAYS_COMPARE_PLAIN", t, {
            options.compare_plain = flag("ALLWAYS_COMPARE_PLAIN", t)?;
        });
        read!("ALLWAYS_THREADS", t, options.threads = number("ALLWAYS_THREADS", t)?);
        read!("ALLWAYS_MAX_DEPTH", t, options.max_depth = Some(number("ALLWAYS_MAX_DEPTH", t)?));
        read!("ALLWAYS_MAX_STATES", t, options.max_states = Some(number("ALLWAYS_MAX_STATES", t)?));
        read!("ALLWAYS_MAX_RUNS", t, options.max_runs = Some(number("ALLWAYS_MAX_RUNS", t)?));
        read!("ALLWAYS_MAX_SECONDS", t, options.max_time = Some(parse_seconds(t)?));
        read!("ALLWAYS_MAX_MEMORY", t, options.max_memory = Some(parse_bytes(t)?));
        read!("ALLWAYS_EXACT", t, options.exact = flag("ALLWAYS_EXACT", t)?);
        read!("ALLWAYS_SYMMETRY", t, options.symmetry = flag("ALLWAYS_SYMMETRY", t)?);
        read!("ALLWAYS_VERIFY_AUX", t, options.verify_aux = flag("ALLWAYS_VERIFY_AUX", t)?);
        read!("ALLWAYS_MINIMISE", t, options.minimise = flag("ALLWAYS_MINIMISE", t)?);
        read!("ALLWAYS_SEED", t, options.seed = number("ALLWAYS_SEED", t)?);
        read!("ALLWAYS_RUNS", t, options.runs = number("ALLWAYS_RUNS", t)?);
        for name in names {
            refuse_unknown(&name, &known)?;
        }
        Ok(options)
    }

    /// The number of threads that zero stands for.
    pub(crate) fn thread_count(&self) -> usize {
        match self.threads {
            0 => cores(),
            threads => threads,
        }
    }
}

/// Reads what a reduction is to preserve; `off` for no reduction, `on` for what the properties need.
///
/// ```
/// use allways::{Por, parse_por};
/// assert_eq!(parse_por("views"), Ok(Some(Por::Views)));
/// assert_eq!(parse_por("off"), Ok(None));
/// ```
///
/// # Errors
///
/// If the text is none of these.
pub fn parse_por(text: &str) -> Result<Option<Por>, Error> {
    match text {
        "" | "0" | "false" | "no" | "off" => Ok(None),
        "1" | "true" | "yes" | "on" => Ok(Some(Por::Needed)),
        _ => text.parse().map(Some),
    }
}

/// Variables that mean something to the command line or to reports, but are no options of a check.
const OTHER_VARIABLES: &[&str] = &[
    "ALLWAYS_COLOR",
    "ALLWAYS_COVERAGE",
    "ALLWAYS_JSON",
    "ALLWAYS_JUNIT",
    "ALLWAYS_NO_COMPARE_PLAIN",
    "ALLWAYS_NO_MINIMISE",
    "ALLWAYS_PROGRESS",
    "ALLWAYS_QUIET",
    "ALLWAYS_SAVE",
    "ALLWAYS_SET",
    "ALLWAYS_PROPERTY",
    "ALLWAYS_WITNESSES",
];

/// A variable that looks like one of these but is none is misspelt.
fn refuse_unknown(name: &str, known: &[&str]) -> Result<(), Error> {
    if !name.starts_with("ALLWAYS_") || name.starts_with("ALLWAYS_TEST_") || known.contains(&name) {
        return Ok(());
    }
    let nearest = known.iter().map(|other| (differences(name, other), other)).min();
    Err(Error::Options(match nearest {
        Some((differences, near)) if differences <= 4 => {
            format!("{name} is not a variable of Allways; did you mean {near}?")
        }
        _ => format!(
            "{name} is not a variable of Allways; names of your own may begin with ALLWAYS_TEST_"
        ),
    }))
}

/// How many characters must be added, removed or replaced to make one word of another.
fn differences(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    // For each beginning of the other word, how far it is from what was read of the first.
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (read, a) in one.chars().enumerate() {
        let before = std::mem::replace(&mut row, vec![read + 1]);
        for (at, &b) in other.iter().enumerate() {
            let replaced = before[at] + usize::from(a != b);
            row.push(replaced.min(before[at + 1] + 1).min(row[at] + 1));
        }
    }
    row[other.len()]
}

/// Reads a number of seconds, possibly with a fraction.
///
/// ```
/// assert_eq!(allways::parse_seconds("1.5").unwrap().as_millis(), 1500);
/// assert!(allways::parse_seconds("soon").is_err());
/// ```
///
/// # Errors
///
/// If the text is no such number.
pub fn parse_seconds(text: &str) -> Result<Duration, Error> {
    let seconds = text.parse::<f64>().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    seconds.ok_or_else(|| Error::Options(format!("`{text}` is not a number of seconds")))
}

/// Reads a number of bytes: `4096`, `64K`, `512M`, `2G`.
///
/// ```
/// assert_eq!(allways::parse_bytes("2K").unwrap(), 2048);
/// assert!(allways::parse_bytes("lots").is_err());
/// ```
///
/// # Errors
///
/// If the text is no such number.
pub fn parse_bytes(text: &str) -> Result<u64, Error> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    bytes.ok_or_else(|| {
        Error::Options(format!("`{text}` is not a number of bytes; write 4096, 64K, 512M or 2G"))
    })
}

/// How many cores there are. To find out takes longer than a small check, so it is found out once.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, |cores| cores.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_changes_the_defaults() {
        let of = |name: &'static str, value: &'static str| {
            let names = std::iter::once(name.to_owned());
            Options::from_variables(names, move |n| (n == name).then(|| value.to_owned()))
        };
        assert_eq!(of("ALLWAYS_MAX_MEMORY", "1M").unwrap().max_memory, Some(1 << 20));
        assert_eq!(of("ALLWAYS_SEARCH", "classic").unwrap().search, Search::Classic);
        assert!(of("ALLWAYS_EXACT", "1").unwrap().exact);
        let error = of("ALLWAYS_THREADS", "two").unwrap_err();
        assert_eq!(error.to_string(), "ALLWAYS_THREADS=two is not a number");
    }

    #[test]
    fn a_variable_that_is_misspelt_is_refused() {
        let of = |name: &str| Options::from_variables([name.to_owned()].into_iter(), |_| None);
        let error = of("ALLWAYS_MAX_STATE").unwrap_err();
        assert_eq!(
            error.to_string(),
            "ALLWAYS_MAX_STATE is not a variable of Allways; did you mean ALLWAYS_MAX_STATES?"
        );
        let error = of("ALLWAYS_FAVOURITE_COLOUR").unwrap_err();
        assert_eq!(
            error.to_string(),
            "ALLWAYS_FAVOURITE_COLOUR is not a variable of Allways; names of your own may begin with ALLWAYS_TEST_"
        );
        for fine in ["ALLWAYS_RUNS", "ALLWAYS_QUIET", "ALLWAYS_TEST_SIZE", "PATH"] {
            assert!(of(fine).is_ok(), "{fine}");
        }
    }

    #[test]
    fn differences_count_what_is_added_removed_or_replaced() {
        assert_eq!(differences("kitten", "sitting"), 3);
        assert_eq!((differences("", "abc"), differences("abc", "")), (3, 3));
        assert_eq!(differences("same", "same"), 0);
    }
}
