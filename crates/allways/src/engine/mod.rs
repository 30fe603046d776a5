//! Ways to explore. Each engine ends in [`Findings`]; what becomes of them is written once, here.

pub(crate) mod apply;
pub(crate) mod auto;
pub(crate) mod budget;
pub(crate) mod classic;
pub(crate) mod commute;
pub(crate) mod components;
pub(crate) mod dir;
pub(crate) mod dpor;
pub(crate) mod expand;
pub(crate) mod global;
pub(crate) mod goals;
pub(crate) mod lmc;
pub(crate) mod machine;
pub(crate) mod options;
pub(crate) mod plain;
pub(crate) mod por;
pub(crate) mod progress;
pub(crate) mod random;
pub(crate) mod schedule;
pub(crate) mod walk;
mod watch;

use crate::error::Error;
use crate::model::node::Node;
use crate::model::property::PropertyKind;
use crate::model::step::guarded;
use crate::model::system::System;
use crate::model::tally::Tally;
use crate::model::world::World;
use crate::outcome::coverage::Coverage;
use crate::outcome::minimise::{MinimiseOptions, Minimised};
use crate::outcome::piles::piles_up;
use crate::outcome::replay::confirm;
use crate::outcome::replayed::Replayed;
use crate::outcome::saved::SavedRun;
use crate::outcome::story::Story;
use crate::outcome::tell::{MAX_TOLD, Shows, confirm_and_tell, tell_violation};
use crate::outcome::warnings::{Facts, warnings};
use crate::outcome::{Bound, Cause, Outcome, Run, Statistics, Verdict, Violation, Witness};
use budget::Budget;
use components::Components;
use goals::GoalFound;
use options::{Engine, Options, Schedule, Search};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What an engine has found when it ends.
#[derive(Default)]
pub(crate) struct Findings {
    pub violation: Option<Found>,
    /// For each property: a run to a state where its test is true, if it is a `sometimes`.
    pub witnesses: Vec<Option<Run>>,
    /// What ended the search early, if anything did.
    pub bound: Option<Bound>,
    /// Set when all there was to find was found before everything was explored.
    pub stopped_early: bool,
    pub statistics: Statistics,
    /// What handlers were seen to do, if the engine knows.
    pub tally: Option<Tally>,
    /// What was seen of the properties that name their conjuncts.
    pub goals: Vec<GoalFound<Run>>,
    /// For each property, whether what it reads was the same in every state met; empty if that is
    /// not known.
    pub constant: Vec<bool>,
    pub terminal: Terminal,
}

/// What became of the terminal states, where a `never_stuck` property wants to know.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Terminal {
    /// How many were judged.
    pub judged: u64,
    /// How many states were not, since only the bound on timers makes them look terminal.
    pub withheld: u64,
}

/// A violation, not yet confirmed.
pub(crate) struct Found {
    pub what: FoundWhat,
    pub run: Run,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FoundWhat {
    /// The `always` property with this number is false.
    Always(usize),
    /// The state is terminal, and the `never_stuck` property with this number forbids it.
    Stuck(usize),
    /// The last event panics with this message.
    Panic(String),
    /// Something else that no property speaks of, and what it is.
    Failed(Cause, String),
}

impl<N: Node> System<N> {
    /// Checks the system with the default options, as the environment changes them. A check that
    /// takes long says so on standard error, every ten seconds.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let outcome = System::new([Cell(0), Cell(0)]).call(0, 7).check();
    /// assert_eq!(outcome.verdict, Verdict::Holds);
    /// ```
    ///
    /// # Panics
    ///
    /// With one clear sentence if the system cannot be checked (see [`Error`]). A violation is not
    /// a panic: see [`Outcome::assert_holds`].
    #[track_caller]
    pub fn check(&self) -> Outcome {
        match checked_by_the_environment(|options| self.try_check(options)) {
            Ok(outcome) => outcome,
            Err(error) => panic!("{error}"),
        }
    }

    /// Checks the system.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let system = System::new([Cell(0), Cell(0)]).call(0, 7);
    /// let options = Options { max_depth: Some(1), ..Options::default() };
    /// let outcome = system.try_check(&options).unwrap();
    /// assert_eq!(outcome.verdict, Verdict::Inconclusive);
    /// assert!(System::<Cell>::new([]).try_check(&options).is_err()); // no nodes
    /// ```
    ///
    /// # Errors
    ///
    /// If the system or the options make no sense, or user code breaks the rules: see [`Error`].
    pub fn try_check(&self, options: &Options) -> Result<Outcome, Error> {
        guarded(|| self.checked(options)).unwrap_or_else(|message| Err(panicked(message)))
    }

    fn checked(&self, options: &Options) -> Result<Outcome, Error> {
        self.validate()?;
        let budget = Budget::new(options);
        if options.por.is_some()
            && (matches!(options.engine, Engine::Walk | Engine::Dpor | Engine::Lmc | Engine::Dir)
                || options.search == Search::Classic)
        {
            let what = "a partial order reduction needs engine global and search bfs or dfs";
            return Err(Error::Options(what.to_owned()));
        }
        refuse_by_dir(options)?;
        let for_threads = [
            (options.preemptions.is_some(), "a bound on preemptions"),
            (options.schedule != Schedule::Random, "a schedule by priorities (pct)"),
        ];
        if let Some((_, what)) = for_threads.iter().find(|(is_asked, _)| *is_asked) {
            let why = format!("{what} is for programs of threads; this is a system of nodes");
            return Err(Error::Options(why));
        }
        let mut beside = Vec::new();
        let (name, findings) = match (options.engine, options.search) {
            (Engine::Dpor, _) => {
                (options.reduction.engine_name().to_owned(), dpor::search(self, options, &budget)?)
            }
            (Engine::Lmc, _) => lmc::search(self, options, &budget)?,
            (Engine::Dir, _) if options.stateful => {
                ("dir stateful".to_owned(), dir::stateful::search(self, options, &budget)?)
            }
            (Engine::Dir, _) => ("dir".to_owned(), dir::search(self, options, &budget)?),
            (Engine::Walk, _) => ("walk".to_owned(), walk::search(self, options, &budget)?),
            (_, Search::Classic) => {
                ("global classic".to_owned(), classic::search(self, options, &budget)?)
            }
            (Engine::Auto, _) => {
                let (named, others) = auto::search(self, options, &budget, auto::ALONE)?;
                beside = others;
                named
            }
            _ => (global::name(options).to_owned(), global::search(self, options, &budget)?),
        };
        let mut outcome = conclude(self, &name, findings, options, &budget)?;
        plain::compare(&mut outcome, options, |options, budget| {
            dpor::search(self, options, budget)
        })?;
        Ok(Outcome { beside, ..outcome })
    }
}

/// Refuses what engine `dir` cannot do, and what only it can where another was asked for.
fn refuse_by_dir(options: &Options) -> Result<(), Error> {
    let needs_dir = [
        (options.stateful, "remembering states of components (stateful)"),
        (options.components != Components::default(), "a division into components (components)"),
        (options.antichains, "leaving out points that others cover (antichains)"),
        (options.resume.is_some(), "going on from a log (resume)"),
        (options.compare_plain, "comparing with plain exploration (compare plain)"),
    ];
    let asked = |what: &[(bool, &'static str)]| {
        what.iter().find(|(is_asked, _)| *is_asked).map(|(_, what)| *what)
    };
    if options.engine != Engine::Dir {
        return match asked(&needs_dir) {
            Some(what) => Err(Error::Options(format!("{what} is for engine dir only"))),
            None => Ok(()),
        };
    }
    if options.antichains && !options.stateful {
        let why = "engine dir has points that others cover (antichains) only if it remembers states: make it stateful";
        return Err(Error::Options(why.to_owned()));
    }
    if options.stateful && options.resume.is_some() {
        let why = "engine dir keeps a log of traces, not of states: a check cannot go on from one (resume) if it is stateful";
        return Err(Error::Options(why.to_owned()));
    }
    if options.stateful && options.compare_plain {
        let why = "how long a trace takes is compared with plain exploration (compare plain), and engine dir has no traces if it is stateful";
        return Err(Error::Options(why.to_owned()));
    }
    if options.stateful && (options.components.is_nested() || options.components.is_auto()) {
        let why = "components of components, and components that are found out, are for engine dir without states (stateful): with them, name components of one level, as 0,1/2";
        return Err(Error::Options(why.to_owned()));
    }
    let refused = [
        (options.symmetry, "symmetry"),
        (options.verify_aux, "verifying auxiliary fields"),
        (options.exact && !options.stateful, "whole states (exact)"),
        (options.max_states.is_some() && !options.stateful, "a bound on states (max states)"),
    ];
    match asked(&refused) {
        Some(what) => {
            let states = options.exact || options.max_states.is_some();
            let or = if states && !options.stateful { ", or be stateful" } else { "" };
            let why = format!(
                "engine dir looks at components one by one, not at global states: {what} cannot be had with it; use engine global{or}"
            );
            Err(Error::Options(why))
        }
        None => Ok(()),
    }
}

/// Checks with the default options, as the environment changes them. If that takes long, it is said on standard error.
pub(crate) fn checked_by_the_environment(
    check: impl FnOnce(&Options) -> Result<Outcome, Error> + Send,
) -> Result<Outcome, Error> {
    let mut options = Options::from_env()?;
    let progress = Arc::clone(options.progress.get_or_insert_default());
    // Not by `eprintln`: what a test prints is kept back until it ends.
    let to = std::io::stderr();
    let hint = match options.max_time {
        Some(_) => "",
        None => "; ALLWAYS_MAX_SECONDS=60 would bound it",
    };
    watch::during(&progress, watch::SILENCE, hint, to, || check(&options))
}

/// A system whose node type is forgotten: what a catalogue of systems holds.
///
/// ```
/// use allways::prelude::*;
/// use allways::Checkable;
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N;
/// # impl Node for N { type Msg = (); type Timer = Never; type Call = Never; type Output = Never;
/// #   fn on_message(&mut self, _: Id, _: (), _: &mut Cx<'_, Self>) {} }
/// let systems: Vec<Box<dyn Checkable>> = vec![Box::new(System::new([N]))];
/// let outcome = systems[0].check_with(&Options::default()).unwrap();
/// assert_eq!(outcome.verdict, Verdict::Holds);
/// ```
pub trait Checkable: Send + Sync {
    /// Checks the system: see [`System::try_check`].
    ///
    /// # Errors
    ///
    /// See [`Error`].
    fn check_with(&self, options: &Options) -> Result<Outcome, Error>;

    /// The names of the properties with their kinds.
    fn property_names(&self) -> Vec<(String, PropertyKind)>;

    /// Whether it is a program of threads, and no system of nodes: it has no states to speak of, and its properties are
    /// that no thread panics or gets into [`Trouble`](crate::Trouble).
    fn is_of_threads(&self) -> bool {
        false
    }

    /// The same system with some of its properties only, by their names: see [`System::only`].
    ///
    /// # Errors
    ///
    /// [`Error::System`] if it has no property of that name.
    fn only(&self, names: &[String]) -> Result<Box<dyn Checkable>, Error> {
        let names = names.join("`, `");
        Err(Error::System(format!(
            "there is no property `{names}`: a program of threads has none to choose from"
        )))
    }

    /// The same system, of which whatever a property reads is told (by the name of the property), and nothing is judged: to compare what engines see of it. Programs of
    /// threads have nothing to read.
    #[doc(hidden)]
    fn watched(&self, _: ReadsSeen) -> Option<Box<dyn Checkable>> {
        None
    }

    /// Carries out a saved run: see [`System::replay`].
    ///
    /// # Errors
    ///
    /// See [`Error`].
    fn replay(&self, saved: &SavedRun) -> Result<Replayed, Error>;

    /// Tells a run in full: see [`System::story`].
    ///
    /// # Errors
    ///
    /// See [`Error`].
    fn story(&self, run: &Run) -> Result<Story, Error>;

    /// Tells the run of a violation in full: see [`System::violation_story`].
    ///
    /// # Errors
    ///
    /// See [`Error`].
    fn violation_story(&self, violation: &Violation) -> Result<Story, Error>;

    /// Makes the run of a violation smaller: see [`System::minimise`].
    ///
    /// # Errors
    ///
    /// See [`Error`].
    fn minimise(
        &self,
        violation: &Violation,
        options: &MinimiseOptions,
    ) -> Result<(Violation, Minimised), Error>;
}

/// Is told the name of a property, and what it reads.
#[doc(hidden)]
pub type ReadsSeen = Arc<dyn Fn(&str, &dyn std::fmt::Debug) + Send + Sync>;

impl<N: Node> Checkable for System<N> {
    fn only(&self, names: &[String]) -> Result<Box<dyn Checkable>, Error> {
        let unknown = names.iter().find(|name| !self.properties().any(|(it, _)| it == *name));
        match unknown {
            None => Ok(Box::new(self.clone().only(names))),
            Some(name) => {
                let all: Vec<String> = self.properties().map(|(it, _)| format!("`{it}`")).collect();
                let all = all.join(", ");
                Err(Error::System(format!("there is no property `{name}`, only {all}")))
            }
        }
    }

    fn watched(&self, seen: ReadsSeen) -> Option<Box<dyn Checkable>> {
        let mut system = self.clone();
        for property in &mut system.properties {
            let (name, seen) = (property.name.clone(), Arc::clone(&seen));
            property.reads.replace_test(Arc::new(move |reads| {
                seen(&name, &reads);
                true
            }));
            property.kind = PropertyKind::Always;
            property.conjuncts.clear();
        }
        Some(Box::new(system))
    }

    fn check_with(&self, options: &Options) -> Result<Outcome, Error> {
        self.try_check(options)
    }

    fn property_names(&self) -> Vec<(String, PropertyKind)> {
        self.properties().map(|(name, kind)| (name.to_owned(), kind)).collect()
    }

    fn replay(&self, saved: &SavedRun) -> Result<Replayed, Error> {
        System::replay(self, saved)
    }

    fn story(&self, run: &Run) -> Result<Story, Error> {
        System::story(self, run)
    }

    fn violation_story(&self, violation: &Violation) -> Result<Story, Error> {
        System::violation_story(self, violation)
    }

    fn minimise(
        &self,
        violation: &Violation,
        options: &MinimiseOptions,
    ) -> Result<(Violation, Minimised), Error> {
        System::minimise(self, violation, options)
    }
}

/// Turns findings into an outcome: confirms the violation by replay and settles the verdict.
fn conclude<N: Node>(
    system: &System<N>,
    engine: &str,
    findings: Findings,
    options: &Options,
    budget: &Budget,
) -> Result<Outcome, Error> {
    let Findings { violation, witnesses, bound, stopped_early, mut statistics, .. } = findings;
    let mut violation = match violation {
        Some(Found { what, mut run }) => {
            let (cause, property) = match &what {
                FoundWhat::Always(property) => (Cause::Always, Some(*property)),
                FoundWhat::Stuck(property) => (Cause::Stuck, Some(*property)),
                FoundWhat::Panic(_) => (Cause::Panic, None),
                FoundWhat::Failed(cause, _) => (cause.clone(), None),
            };
            let reads = confirm(system, &run, &cause, property)?;
            run.start_choices = World::start_choices(system, run.start)?;
            let property = match what {
                FoundWhat::Always(property) | FoundWhat::Stuck(property) => {
                    system.properties[property].name.clone()
                }
                FoundWhat::Panic(message) | FoundWhat::Failed(_, message) => message,
            };
            Some(Violation { property, cause, run, reads })
        }
        None => None,
    };
    let complete = bound.is_none() && violation.is_none() && !stopped_early;
    let mut found = Vec::new();
    for (index, property) in system.properties.iter().enumerate() {
        if property.kind != PropertyKind::Sometimes {
            continue;
        }
        match witnesses.get(index).cloned().flatten() {
            Some(mut run) => {
                let shows = Shows { cause: &Cause::Always, property: Some(index) };
                let (_, story) = confirmed(system, &run, shows)?;
                run.start_choices = World::start_choices(system, run.start)?;
                found.push(Witness { property: property.name.clone(), run, story });
            }
            None if complete && violation.is_none() => {
                violation = Some(Violation {
                    property: property.name.clone(),
                    cause: Cause::NeverReached,
                    run: Run::default(),
                    reads: Vec::new(),
                });
            }
            None => {}
        }
    }
    let verdict = match (&violation, bound) {
        (Some(_), _) => Verdict::Violated,
        (None, Some(_)) => Verdict::Inconclusive,
        (None, None) => Verdict::Holds,
    };
    let goals = goals::conclude(system, findings.goals, &found, &findings.constant)?;
    let coverage = findings.tally.map(|tally| Coverage::new(system, tally));
    // A bound on random runs is no reason to look for what makes a search endless.
    let no_search = [Bound::Runs, Bound::Reduction];
    let endless = bound.is_some_and(|bound| !no_search.contains(&bound)) && violation.is_none();
    let piles_up = if endless { piles_up(system)? } else { None };
    statistics.elapsed = budget.started.elapsed();
    statistics.peak_memory_bytes = peak_memory();
    let minimised = match &mut violation {
        // Without events there is nothing to leave out.
        Some(violation) if options.minimise && !violation.run.events.is_empty() => {
            // All runs that are shorter were looked at, unless it was stopped within a level.
            let is_shortest = engine == "global bfs" && bound.is_none();
            let options = MinimiseOptions::within_a_check(options, is_shortest);
            // A violation is worth more than a small one: what keeps it from becoming smaller (user
            // code that fails where the search has not been) is no reason not to report it.
            system.minimise(violation, &options).ok().map(|(smaller, mut minimised)| {
                *violation = smaller;
                minimised.is_shortest |= is_shortest;
                minimised
            })
        }
        _ => None,
    };
    let story = match &violation {
        Some(violation) if violation.run.events.len() <= MAX_TOLD => match violation.cause {
            Cause::NeverReached => None,
            _ => Some(tell_violation(system, violation)?),
        },
        _ => None,
    };
    let facts = Facts {
        complete,
        // With states, what happens within components is no step of the whole.
        transitions: (statistics.transitions).filter(|_| {
            !options.stateful || statistics.local_states <= Some(system.nodes.len() as u64)
        }),
        violation: violation.as_ref(),
        story: story.as_ref(),
        coverage: coverage.as_ref(),
        constant: &findings.constant,
        bound,
        terminal: findings.terminal,
    };
    let warnings = warnings(system, &facts)?;
    Ok(Outcome {
        verdict,
        complete,
        bounded_by: bound,
        engine: engine.to_owned(),
        beside: Vec::new(),
        properties: system.property_names(),
        violation,
        minimised,
        story,
        witnesses: found,
        goals,
        coverage,
        warnings,
        piles_up,
        of_threads: false,
        statistics,
    })
}

/// Confirms by replay that a run shows what it should, and tells it if it is not too long; returns
/// also what the property reads at its end.
fn confirmed<N: Node>(
    system: &System<N>,
    run: &Run,
    shows: Shows<'_>,
) -> Result<(Vec<String>, Option<Story>), Error> {
    if run.events.len() > MAX_TOLD {
        return Ok((confirm(system, run, shows.cause, shows.property)?, None));
    }
    let (reads, story) = confirm_and_tell(system, run, shows)?;
    Ok((reads, Some(story)))
}

/// The most memory that this process has had, where the system tells. Many small checks ask once in a while.
pub(crate) fn peak_memory() -> Option<u64> {
    static LAST: Mutex<Option<(Instant, Option<u64>)>> = Mutex::new(None);
    const FRESH: Duration = Duration::from_millis(20);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match *last {
        Some((when, known)) if when.elapsed() < FRESH => known,
        _ => {
            let now = peak_memory_now();
            *last = Some((Instant::now(), now));
            now
        }
    }
}

fn peak_memory_now() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// What to say of a panic that is neither a handler's nor a property's.
pub(crate) fn panicked(message: String) -> Error {
    let what = "code outside of handlers and properties (Hash, Eq, Clone, Debug or Rename of the system's types, or the checker itself)";
    Error::Panicked { what: what.to_owned(), message }
}

/// Whether a search may stop: nothing is left that more states could refute or witness. Asked with
/// the kind of each property and whether it was witnessed.
pub(crate) fn nothing_left(
    mut properties: impl ExactSizeIterator<Item = (PropertyKind, bool)>,
) -> bool {
    properties.len() > 0
        && properties.all(|(kind, witnessed)| kind == PropertyKind::Sometimes && witnessed)
}
