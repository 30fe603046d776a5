//! Outcomes: a verdict, how complete it is and why, the statistics, and for a violation a run.

mod advice;
pub(crate) mod changes;
pub(crate) mod coverage;
pub(crate) mod goal;
pub(crate) mod ledger;
pub(crate) mod minimise;
pub(crate) mod past;
pub(crate) mod piles;
pub(crate) mod render;
pub(crate) mod replay;
pub(crate) mod replayed;
pub(crate) mod report;
pub(crate) mod saved;
pub(crate) mod shown;
pub(crate) mod story;
pub(crate) mod tell;
pub(crate) mod warnings;

use crate::model::property::PropertyKind;
pub use crate::model::run_event::{RunEvent, RunEventKind};
use coverage::Coverage;
use goal::Goal;
use minimise::Minimised;
use render::text::TextOptions;
use std::fmt;
use std::time::Duration;
use story::Story;

/// What a check says.
///
/// ```
/// assert_eq!(allways::Verdict::Holds.to_string(), "holds");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every property holds, as far as the outcome's completeness says.
    Holds,
    /// A property is violated.
    Violated,
    /// A budget ran out before anything could be said.
    Inconclusive,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Holds => "holds",
            Verdict::Violated => "violated",
            Verdict::Inconclusive => "inconclusive",
        })
    }
}

/// What kept a search from going on.
///
/// ```
/// assert_eq!(allways::Bound::Depth.to_string(), "depth");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// Longer runs exist.
    Depth,
    /// The number of states.
    States,
    /// The time.
    Seconds,
    /// The memory.
    Memory,
    /// The number of runs.
    Runs,
    /// The reduction, which may leave out runs that matter: `naive` of engine `dpor`.
    Reduction,
    /// The number of preemptions.
    Preemptions,
    /// Somebody asked it to stop.
    Interrupt,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bound::Depth => "depth",
            Bound::States => "states",
            Bound::Seconds => "seconds",
            Bound::Memory => "memory",
            Bound::Runs => "runs",
            Bound::Reduction => "reduction",
            Bound::Preemptions => "preemptions",
            Bound::Interrupt => "interrupt",
        })
    }
}

/// A sequence of events from the start.
///
/// ```
/// let run = allways::Run::default();
/// assert!(run.events.is_empty());
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Run {
    /// Which initial state, where nodes choose while they start; otherwise zero.
    pub start: usize,
    /// What each node chose while it started, in order; empty where none did.
    pub start_choices: Vec<Vec<u32>>,
    /// What happens, in order.
    pub events: Vec<RunEvent>,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(self.events.len()))
    }
}

impl Run {
    /// The run as a list of its last events.
    fn text(&self, last: usize) -> String {
        let width = self.events.len().to_string().len();
        let mut text = String::new();
        for (node, choices) in self.start_choices.iter().enumerate() {
            if !choices.is_empty() {
                text += &format!("  {:>width$}. node {node} starts, choosing {choices:?}\n", 0);
            }
        }
        let left_out = self.events.len().saturating_sub(last);
        if left_out > 0 {
            text += &format!("  … and {} events before these:\n", grouped(left_out as u64));
        }
        for (index, event) in self.events.iter().enumerate().skip(left_out) {
            text += &format!("  {:>width$}. {event}\n", index + 1);
        }
        text
    }
}

/// Why something is a violation.
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::Cell;
/// let outcome = System::new([Cell(0)])
///     .call(0, 7)
///     .always("stays zero", view(|c: &Cell| c.0), |cells| cells[0] == 0)
///     .check();
/// assert_eq!(outcome.violation.unwrap().cause, allways::Cause::Always);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cause {
    /// An `always` property does not hold in the last global state of the run.
    Always,
    /// The last global state of the run is terminal and not allowed to be.
    Stuck,
    /// No reachable global state satisfies a `sometimes` property; there is no run to show.
    NeverReached,
    /// A handler panicked on the last event of the run, or a thread after it.
    Panic,
    /// Threads have got into trouble.
    Trouble(Trouble),
}

/// What threads get into, whatever they compute.
///
/// ```
/// assert_eq!(allways::Trouble::LostWakeUp.to_string(), "lost wake-up");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Trouble {
    /// Nothing can happen any more, and some threads wait for each other, or for what never comes.
    Deadlock,
    /// A deadlock of a thread that was to be woken before it began to wait.
    LostWakeUp,
    /// Threads take step after step and get nowhere.
    Livelock,
    /// Two threads access a cell at the same time, and one of them writes it.
    DataRace,
    /// A thread locks what it holds already.
    DoubleLock,
    /// A process has ended with a thread that nobody joined.
    LeakedThread,
}

impl Trouble {
    /// All of them.
    ///
    /// ```
    /// assert_eq!(allways::Trouble::ALL.len(), 6);
    /// ```
    pub const ALL: [Trouble; 6] = [
        Trouble::Deadlock,
        Trouble::LostWakeUp,
        Trouble::Livelock,
        Trouble::DataRace,
        Trouble::DoubleLock,
        Trouble::LeakedThread,
    ];

    /// What it is called.
    ///
    /// ```
    /// assert_eq!(allways::Trouble::DataRace.name(), "data race");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Trouble::Deadlock => "deadlock",
            Trouble::LostWakeUp => "lost wake-up",
            Trouble::Livelock => "livelock",
            Trouble::DataRace => "data race",
            Trouble::DoubleLock => "double lock",
            Trouble::LeakedThread => "leaked thread",
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A property that does not hold, with the run that shows it.
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::Cell;
/// let outcome = System::new([Cell(0)])
///     .call(0, 7)
///     .always("stays zero", view(|c: &Cell| c.0), |cells| cells[0] == 0)
///     .check();
/// let violation = outcome.violation.unwrap();
/// assert_eq!(violation.property, "stays zero");
/// assert_eq!(violation.run.to_string(), "  1. node 0 is called: 7\n");
/// assert_eq!(violation.reads, ["7"]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The property's name, or the panic's message.
    pub property: String,
    /// Why it is a violation.
    pub cause: Cause,
    /// The run that ends in it.
    pub run: Run,
    /// What the property read at the end: a view of each node, or an observer's state. For threads, where each that is in trouble stands.
    pub reads: Vec<String>,
}

/// A `sometimes` property that holds somewhere, with a run to there.
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::Cell;
/// let outcome = System::new([Cell(0)])
///     .call(0, 7)
///     .sometimes("seven", view(|c: &Cell| c.0), |cells| cells[0] == 7)
///     .check();
/// assert_eq!(outcome.witnesses[0].property, "seven");
/// assert_eq!(outcome.witnesses[0].run.events.len(), 1);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// The property's name.
    pub property: String,
    /// A run after which it holds.
    pub run: Run,
    /// The run told in full, unless it is too long for that.
    pub story: Option<Story>,
}

/// What a search did. A number that an engine does not have is `None`.
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::Cell;
/// let statistics = System::new([Cell(0), Cell(0)]).call(0, 7).check().statistics;
/// assert_eq!((statistics.unique_states, statistics.depth), (Some(3), Some(2)));
/// assert_eq!(statistics.runs, None); // only engines `dpor`, `dir` and `walk` have any
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Distinct global states. Engine `dir` with states: points, each of which stands for many of them.
    pub unique_states: Option<u64>,
    /// Global states generated: the initial ones and one for each transition.
    pub generated_states: Option<u64>,
    /// Steps of global states, including those that lead to a state met before.
    pub transitions: Option<u64>,
    /// Transitions that were counted but not followed, since a step of another node commutes with
    /// them and the state is met the other way.
    pub asleep: Option<u64>,
    /// Steps that a partial order reduction did not follow.
    pub left_out: Option<u64>,
    /// How often user handlers ran to find out what a step does.
    pub handler_executions: Option<u64>,
    /// How often they ran again for the determinism guard.
    pub guard_executions: Option<u64>,
    /// How often they ran again to rebuild states of nodes that are [`Rebuilt`](crate::Rebuilt).
    pub replayed_handlers: Option<u64>,
    /// How often a local step was looked up.
    pub memo_lookups: Option<u64>,
    /// How many of those did not find it remembered by their thread.
    pub memo_misses: Option<u64>,
    /// Distinct local states of all nodes together. Engine `dir` with states: configurations of all components together.
    pub local_states: Option<u64>,
    /// Distinct messages, calls and timers.
    pub local_events: Option<u64>,
    /// Runs carried out. Engine `dir`: local traces of all components together.
    pub runs: Option<u64>,
    /// Engine `dpor`: runs that were given up, since all that could happen was explored elsewhere. Engine `dir`: runs of components that do not end in a
    /// complete local trace.
    pub blocked_runs: Option<u64>,
    /// Engine `dpor` with reduction `cached`: runs that ended in a state from which everything was explored before.
    pub joined_runs: Option<u64>,
    /// Engine `dir`: how many of its [runs](Statistics::runs) were in the log from which the check went on, if it has one.
    pub resumed_runs: Option<u64>,
    /// Engine `dir`: the components, if they were asked for, as [`Components`](crate::Components) are written.
    pub components: Option<String>,
    /// Engine `dir`: distinct skeletons, that is what components can tell of the runs of the whole system.
    pub global_skeletons: Option<u64>,
    /// Engine `dir`: skeletons within components that consist of components, on all levels, if there are such.
    pub inner_skeletons: Option<u64>,
    /// Engine `dir`: distinct local skeletons of all components together, each of which was explored. Of components within components, as often as they were explored.
    pub local_skeletons: Option<u64>,
    /// Engine `dir`: traces of the whole system that the local ones cover, of which [`Statistics::runs`] is the number.
    pub covered_traces: Option<u128>,
    /// Engine `dir`: how long all its threads together were at work. Waiting for each other is no work.
    pub work_time: Option<Duration>,
    /// Engine `dir`, if it was [to be compared](crate::Options::compare_plain): traces that were explored plainly after the check, on one thread.
    pub plain_runs: Option<u64>,
    /// How long these took.
    pub plain_time: Option<Duration>,
    /// Combinations of local states checked.
    pub system_states: Option<u64>,
    /// Of the combinations of local states that violate a property, how many were shown to be in no run.
    pub rejected: Option<u64>,
    /// States of the searches for runs to such combinations.
    pub validity_states: Option<u64>,
    /// The length of the longest run explored.
    pub depth: Option<u64>,
    /// Distinct global states that were met but not expanded when the search ended.
    pub frontier: Option<u64>,
    /// Breadth-first: how many distinct global states there are after so many events, from none on,
    /// as far as all of them are known. Otherwise empty.
    pub levels: Vec<u64>,
    /// States that a depth-first search had to push on its stack.
    pub stack_pushes: Option<u64>,
    /// How long it took.
    pub elapsed: Duration,
    /// Time spent in user code, where it was measured.
    pub user_time: Option<Duration>,
    /// The most memory that the process has had.
    pub peak_memory_bytes: Option<u64>,
    /// The probability that two global states were taken for one.
    pub collision_probability: Option<f64>,
}

impl Statistics {
    /// Engine `dir`: how many traces of the whole system each local trace stands for, on average.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let options = Options { engine: Engine::Dir, ..Options::default() };
    /// let outcome = System::new([Cell(0), Cell(0)]).call(0, 7).try_check(&options).unwrap();
    /// assert_eq!(outcome.statistics.covered_traces, Some(1));
    /// assert_eq!(outcome.statistics.reduction_ratio(), Some(0.5)); // each node has a local one
    /// ```
    pub fn reduction_ratio(&self) -> Option<f64> {
        let (covered, runs) = self.covered_traces.zip(self.runs)?;
        (runs > 0).then(|| covered as f64 / runs as f64)
    }

    /// Engine `dir`: how long a local trace takes, all that is done for it included, divided by how long a trace takes in [plain exploration](crate::Options::compare_plain). What counts
    /// is how long threads were [at work](Statistics::work_time), all together.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let options = Options { engine: Engine::Dir, compare_plain: true, ..Options::default() };
    /// let outcome = System::new([Cell(0), Cell(0)]).call(0, 7).try_check(&options).unwrap();
    /// assert_eq!(outcome.statistics.plain_runs, Some(1));
    /// assert!(outcome.statistics.run_time_ratio().unwrap() > 0.0);
    /// ```
    pub fn run_time_ratio(&self) -> Option<f64> {
        let a_trace =
            |time: Duration, traces: u64| (traces > 0).then(|| time.as_secs_f64() / traces as f64);
        let local = a_trace(self.work_time?, self.runs?)?;
        let plain = a_trace(self.plain_time?, self.plain_runs?)?;
        (plain > 0.0).then(|| local / plain)
    }

    /// Engine `dir`: how many times the work it would have been to [explore plainly](crate::Options::compare_plain) all that it covers: the reduction ratio divided by the run-time
    /// ratio.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let options = Options { engine: Engine::Dir, compare_plain: true, ..Options::default() };
    /// let outcome = System::new([Cell(0), Cell(0)]).call(0, 7).try_check(&options).unwrap();
    /// let statistics = outcome.statistics;
    /// let [reduction, run_time] = [statistics.reduction_ratio(), statistics.run_time_ratio()];
    /// assert_eq!(statistics.speed_up(), Some(reduction.unwrap() / run_time.unwrap()));
    /// ```
    pub fn speed_up(&self) -> Option<f64> {
        Some(self.reduction_ratio()? / self.run_time_ratio()?)
    }

    /// Adds what a second search after this one has cost, over the same local space.
    pub(crate) fn add(&mut self, second: &Statistics) {
        let add = |one: &mut Option<u64>, other: Option<u64>| {
            *one = one.zip(other).map(|(one, other)| one + other);
        };
        add(&mut self.unique_states, second.unique_states);
        add(&mut self.generated_states, second.generated_states);
        add(&mut self.transitions, second.transitions);
        add(&mut self.left_out, second.left_out);
        add(&mut self.memo_lookups, second.memo_lookups);
        add(&mut self.memo_misses, second.memo_misses);
        add(&mut self.stack_pushes, second.stack_pushes);
        self.handler_executions = second.handler_executions;
        self.guard_executions = second.guard_executions;
        self.replayed_handlers = second.replayed_handlers;
        self.local_states = second.local_states;
        self.local_events = second.local_events;
        self.user_time = second.user_time;
        self.frontier = second.frontier;
        self.depth = self.depth.max(second.depth);
        self.collision_probability = self
            .collision_probability
            .zip(second.collision_probability)
            .map(|(one, other)| one + other);
    }
}

/// What a check ends in.
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::Cell as N;
/// let outcome = System::new([N(0)])
///     .call(0, 7)
///     .always("stays zero", view(|n: &N| n.0), |views| views[0] == 0)
///     .check();
/// assert_eq!(outcome.verdict, Verdict::Violated);
/// assert_eq!(outcome.violation.unwrap().run.events.len(), 1);
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// What the check says.
    pub verdict: Verdict,
    /// Whether every reachable combination of the views was checked.
    pub complete: bool,
    /// What bounded the search, if anything did.
    pub bounded_by: Option<Bound>,
    /// The engine that ran, with its search.
    pub engine: String,
    /// What other engines had reached that ran beside it, in words.
    pub beside: Vec<String>,
    /// The names of the system's properties, with their kinds.
    pub properties: Vec<(String, PropertyKind)>,
    /// The property that does not hold, if one does not.
    pub violation: Option<Violation>,
    /// By how much the run of the violation was minimised; `None` if nobody tried.
    pub minimised: Option<Minimised>,
    /// The run of the violation told in full, unless there is none or it is too long for that
    /// (more than 2,000 events: see [`System::story`](crate::System::story)).
    pub story: Option<Story>,
    /// Where `sometimes` properties hold.
    pub witnesses: Vec<Witness>,
    /// What came of each `sometimes` property.
    pub goals: Vec<Goal>,
    /// What handlers were seen to do, if the engine knows.
    pub coverage: Option<Coverage>,
    /// What makes the outcome say less than one may think.
    pub warnings: Vec<String>,
    /// What piles up in flight, if a bound stopped the search and something does.
    pub(crate) piles_up: Option<String>,
    /// Whether threads were checked, and no nodes.
    pub(crate) of_threads: bool,
    /// What the search did.
    pub statistics: Statistics,
}

/// An outcome shows at most this many steps of a run; nobody reads more, and all are in its story.
const MAX_SHOWN: usize = 200;

impl fmt::Display for Outcome {
    /// What a person wants to know: what is violated and the run that shows it, as a diagram of
    /// 100 columns, or that nothing is; then the statistics.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&TextOptions::default()))
    }
}

impl Outcome {
    /// An outcome of a checker of one's own, which says nothing yet: that it is inconclusive.
    ///
    /// ```
    /// use allways::{Outcome, Verdict};
    /// let mut outcome = Outcome::new("my checker");
    /// outcome.verdict = Verdict::Holds;
    /// assert_eq!(outcome.engine, "my checker");
    /// ```
    pub fn new(engine: impl Into<String>) -> Self {
        Outcome {
            verdict: Verdict::Inconclusive,
            complete: false,
            bounded_by: None,
            engine: engine.into(),
            beside: Vec::new(),
            properties: Vec::new(),
            violation: None,
            minimised: None,
            story: None,
            witnesses: Vec::new(),
            goals: Vec::new(),
            coverage: None,
            warnings: Vec::new(),
            piles_up: None,
            of_threads: false,
            statistics: Statistics::default(),
        }
    }

    /// What a person wants to know, with the run shown like this.
    fn text(&self, options: &TextOptions) -> String {
        let mut text = match (&self.violation, self.verdict) {
            (Some(violation), _) => self.violated(violation, options),
            (None, Verdict::Holds) if self.complete => "holds, complete\n".to_owned(),
            (None, Verdict::Holds) => "holds; stopped as soon as that was known\n".to_owned(),
            (None, _) => format!(
                "inconclusive: bounded by {}; no violation in what was covered\n",
                self.bounded_by.map_or_else(|| "nothing".to_owned(), |bound| bound.to_string())
            ),
        };
        let heading = self.violation.as_ref().map_or_else(String::new, Violation::heading);
        // The heading has said that already.
        for line in self.advice().iter().filter(|line| !heading.ends_with(line.as_str())) {
            text += &format!("{line}\n");
        }
        for warning in &self.warnings {
            text += &format!("warning: {warning}\n");
        }
        let statistics = &self.statistics;
        let mut parts = vec![self.engine.clone()];
        let mut part = |number: Option<u64>, what: &str| {
            parts.extend(number.map(|number| format!("{} {what}", grouped(number))));
        };
        let has_points = self.engine == "dir stateful";
        let has_components = statistics.global_skeletons.is_some();
        part(statistics.unique_states, if has_points { "points" } else { "states" });
        part(statistics.generated_states, "generated");
        part(statistics.global_skeletons, "global skeletons");
        part(statistics.runs, if has_components { "local traces" } else { "runs" });
        // More than that is not a number to read.
        part(statistics.covered_traces.and_then(|it| it.try_into().ok()), "traces covered");
        part(statistics.depth, "deep");
        part(statistics.local_states, if has_points { "configurations" } else { "local states" });
        part(statistics.handler_executions, "handler executions");
        parts.push(format!("{:.3} s", statistics.elapsed.as_secs_f64()));
        text + &parts.join(", ") + "\n"
    }

    fn violated(&self, violation: &Violation, options: &TextOptions) -> String {
        let mut text = match &self.story {
            Some(story) => {
                let options = TextOptions { last: Some(MAX_SHOWN), ..*options };
                format!("{}\n\n{}\n", violation.heading(), story.text(&options))
            }
            None => violation.text(MAX_SHOWN),
        };
        if let Some(minimised) = self.minimised.as_ref().filter(|m| m.is_smaller()) {
            text += &format!("minimised: {minimised}\n");
        }
        text
    }
}

impl Violation {
    /// Whether threads violate something, and no nodes.
    pub(crate) fn is_of_threads(&self) -> bool {
        let is_thread = |event: &RunEvent| event.kind == RunEventKind::Thread;
        matches!(self.cause, Cause::Trouble(_)) || self.run.events.iter().any(is_thread)
    }

    /// What is violated, in one line.
    fn heading(&self) -> String {
        let name = &self.property;
        match self.cause {
            Cause::Always => format!("violated: always `{name}`"),
            Cause::Stuck => format!("violated: never stuck `{name}`"),
            Cause::NeverReached => {
                format!("violated: sometimes `{name}`: no reachable state satisfies it")
            }
            Cause::Panic => format!("violated: a panic: {name}"),
            Cause::Trouble(trouble) => format!("violated: {trouble}: {name}"),
        }
    }

    /// The last events of the run as a list, and what the property reads.
    fn text(&self, last: usize) -> String {
        let mut text = format!("{}\n{}", self.heading(), self.run.text(last));
        for (node, read) in self.reads.iter().enumerate() {
            text += &match self.reads.len() {
                // What threads have come to says itself who it is about.
                _ if self.is_of_threads() => match read.as_str() {
                    "" => String::new(),
                    read => format!("  {read}\n"),
                },
                1 => format!("  it reads {read}\n"),
                _ => format!("  node {node}: {read}\n"),
            };
        }
        text
    }
}

impl fmt::Display for Violation {
    /// The run as a list, one event a line; an [`Outcome`] shows it as a diagram.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(self.run.events.len()))
    }
}

/// A number with a comma between each three digits.
///
/// ```
/// assert_eq!(allways::grouped(1194428), "1,194,428");
/// ```
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
