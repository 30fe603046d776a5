//! Minimising: a run that shows the same violation with fewer events, then with fewer switches
//! between nodes, then with smaller choices.
//!
//! Fewer events, in this order (`fewer.rs`, `search.rs`):
//!
//! 1. Delta debugging over the partial order: leave out stretches of the run, whole nodes, chains of
//!    messages, an event with all that follows from it, single events and pairs. What is left is
//!    carried out again: each event if it can happen, and the run ends as soon as it violates. In a
//!    second round an event that cannot happen as it was is replaced by the one most like it, so
//!    that numbers which shift (ballots, epochs) do not stand in the way.
//! 2. Breadth-first search over the events of the run alone: they span a small part of the space,
//!    and the shortest run within it is found exactly.
//! 3. Breadth-first search with engine `global`, up to a number of states and to one event less
//!    than the run has. Where that covers everything, the run is known to be a shortest one. For a
//!    long run this comes first too.
//!
//! Fewer switches (`order.rs`) are found by best-first search over the orders of the same events,
//! smaller choices (`choices.rs`) by trying them. Each candidate is carried out on
//! [`World`](crate::model::world::World), and what is returned is replayed once more from its
//! description. The bounds count candidates and states, so that the result does not depend on the
//! clock; the bound on time is a safety net.

mod bench;
mod choices;
mod fewer;
mod order;
mod search;

use super::replay::confirm;
use super::replayed::Target;
use super::{Run, RunEvent, RunEventKind, Violation, grouped};
use crate::engine::options::Options;
use crate::engine::panicked;
use crate::error::Error;
use crate::model::node::Node;
use crate::model::step::guarded;
use crate::model::system::System;
use crate::model::world::World;
use bench::{Bench, Course};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Runs of more events than this are not worth taking apart if a search from nothing finds a short
/// one.
const LONG: usize = 100;

/// How far to go in making a run smaller.
///
/// ```
/// use allways::MinimiseOptions;
/// let options = MinimiseOptions { max_candidates: 500, ..MinimiseOptions::default() };
/// assert_eq!(options.max_time.as_secs(), 5);
/// ```
#[derive(Clone, Debug)]
pub struct MinimiseOptions {
    /// Look for fewer events; otherwise only for fewer switches and smaller choices.
    pub fewer_events: bool,
    /// About so many candidates are tried.
    pub max_candidates: u64,
    /// About so many global states are looked at in searches for a shorter run.
    pub max_states: u64,
    /// No longer than this, whatever is left to try: a safety net, since where it is reached the
    /// result depends on the clock.
    pub max_time: Duration,
    /// Set to true to make it stop with what it has.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Default for MinimiseOptions {
    fn default() -> Self {
        MinimiseOptions {
            fewer_events: true,
            max_candidates: 20_000,
            max_states: 300_000,
            max_time: Duration::from_secs(5),
            stop: None,
        }
    }
}

impl MinimiseOptions {
    /// For the end of a check: cheap, all the more if the run is a shortest one.
    pub(crate) fn within_a_check(options: &Options, is_shortest: bool) -> Self {
        MinimiseOptions {
            fewer_events: !is_shortest,
            max_candidates: 5_000,
            max_states: if is_shortest { 5_000 } else { 50_000 },
            max_time: Duration::from_secs(2),
            stop: options.stop.clone(),
        }
    }
}

/// How large a run is: what [`System::minimise`] makes smaller, the first part first.
///
/// ```
/// use allways::{Run, RunSize};
/// assert_eq!(RunSize::of(&Run::default()), RunSize { events: 0, switches: 0, choices: 0 });
/// assert!(RunSize { events: 3, switches: 2, choices: 0 } < RunSize { events: 4, switches: 1, choices: 0 });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RunSize {
    /// The number of events.
    pub events: usize,
    /// How often an event is at another node than the event before it. What the network does by
    /// itself is at none.
    pub switches: usize,
    /// The sum of everything that was chosen, while starting and later.
    pub choices: u64,
}

impl RunSize {
    /// The size of a run.
    ///
    /// ```
    /// use allways::{Run, RunSize};
    /// assert_eq!(RunSize::of(&Run::default()).events, 0);
    /// ```
    pub fn of(run: &Run) -> Self {
        let lane = |event: &RunEvent| event.node.filter(|_| event.kind != RunEventKind::Drop);
        let pairs = run.events.windows(2);
        let chosen = run.start_choices.iter().chain(run.events.iter().map(|event| &event.choices));
        RunSize {
            events: run.events.len(),
            switches: pairs.filter(|pair| lane(&pair[0]) != lane(&pair[1])).count(),
            choices: chosen.flatten().map(|&choice| u64::from(choice)).sum(),
        }
    }
}

/// What came of making a run smaller: see [`System::minimise`].
///
/// ```
/// use allways::prelude::*;
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(u8);
/// # impl Node for N { type Msg = (); type Timer = Never; type Call = u8; type Output = Never;
/// #   fn on_message(&mut self, _: Id, _: (), _: &mut Cx<'_, Self>) {}
/// #   fn on_call(&mut self, call: u8, _: &mut Cx<'_, Self>) { self.0 += call; } }
/// let system = System::new([N(0)])
///     .call(0, 1)
///     .call(0, 7)
///     .always("small", view(|n: &N| n.0), |views| views[0] < 5);
/// let options = Options { engine: Engine::Walk, ..Options::default() };
/// let minimised = system.try_check(&options).unwrap().minimised.unwrap();
/// assert_eq!(minimised.after.events, 1);
/// assert!(minimised.is_shortest);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Minimised {
    /// The size of the run as it was found.
    pub before: RunSize,
    /// Its size now.
    pub after: RunSize,
    /// Of threads, how often one was stopped that could have gone on: as it was found, and now. Fewer of these are worth more events.
    pub preemptions: Option<[u32; 2]>,
    /// How many candidates were carried out.
    pub candidates: u64,
    /// How many global states were looked at in searches for a shorter run.
    pub states: u64,
    /// Whether it is known that no run with fewer events shows the violation.
    pub is_shortest: bool,
    /// Whether time ran out, or somebody said stop, before everything was tried.
    pub out_of_time: bool,
}

impl Minimised {
    /// What became of a run, by whoever has a way of their own to make it smaller.
    ///
    /// ```
    /// use allways::{Minimised, Run, RunSize};
    /// let size = RunSize::of(&Run::default());
    /// assert!(!Minimised::new(size, size).is_smaller());
    /// ```
    pub fn new(before: RunSize, after: RunSize) -> Self {
        Minimised {
            before,
            after,
            preemptions: None,
            candidates: 0,
            states: 0,
            is_shortest: false,
            out_of_time: false,
        }
    }

    /// Whether the run is smaller than it was.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let system = System::new([Cell(0)])
    ///     .call(0, 1)
    ///     .call(0, 7)
    ///     .always("small", view(|c: &Cell| c.0), |cells| cells[0] < 5);
    /// let outcome = system.check();
    /// assert!(!outcome.minimised.unwrap().is_smaller()); // breadth-first, it was a shortest run
    /// ```
    pub fn is_smaller(&self) -> bool {
        let [before, after] = self.preemptions.unwrap_or_default();
        (after, self.after) < (before, self.before)
    }
}

impl fmt::Display for Minimised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = (&self.before, &self.after);
        let mut parts = Vec::new();
        let count = |number: usize, one: &str, many: &str| {
            format!("{} {}", grouped(number as u64), if number == 1 { one } else { many })
        };
        if let Some([before, after]) = self.preemptions.filter(|[before, after]| before != after) {
            let preemptions = count(after as usize, "preemption", "preemptions");
            parts.push(format!("{preemptions} instead of {before}"));
        }
        let events = count(after.events, "event", "events");
        parts.push(match before.events == after.events {
            true => format!("{events} as before"),
            false => format!("{events} instead of {}", grouped(before.events as u64)),
        });
        if before.switches != after.switches {
            let switches = count(after.switches, "switch", "switches");
            parts.push(format!("{switches} instead of {}", grouped(before.switches as u64)));
        }
        if before.choices != after.choices {
            let (was, is) = (grouped(before.choices), grouped(after.choices));
            parts.push(format!("choices that add up to {is} instead of {was}"));
        }
        write!(f, "{}", parts.join(", "))?;
        if self.is_shortest {
            write!(f, "; no run is shorter")?;
        }
        let candidates = if self.candidates == 1 { "candidate" } else { "candidates" };
        write!(f, "; {} {candidates} tried", grouped(self.candidates))?;
        if self.states > 0 {
            let states = if self.states == 1 { "state" } else { "states" };
            write!(f, ", {} {states} searched", grouped(self.states))?;
        }
        if self.out_of_time {
            write!(f, "; stopped before everything was tried")?;
        }
        Ok(())
    }
}

impl<N: Node> System<N> {
    /// Makes the run of a violation smaller: fewer events first, then fewer switches between nodes,
    /// then smaller choices. What is returned violates the same property for the same cause, a panic
    /// with the same message, and is never larger.
    ///
    /// ```
    /// use allways::prelude::*;
    /// use allways::MinimiseOptions;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(u8);
    /// # impl Node for N { type Msg = (); type Timer = Never; type Call = u8; type Output = Never;
    /// #   fn on_message(&mut self, _: Id, _: (), _: &mut Cx<'_, Self>) {}
    /// #   fn on_call(&mut self, call: u8, _: &mut Cx<'_, Self>) { self.0 += call; } }
    /// let system = System::new([N(0)])
    ///     .calls_in_sequence([(0, 1), (0, 1)])
    ///     .call(0, 7)
    ///     .always("small", view(|n: &N| n.0), |views| views[0] < 5);
    /// let options = Options { search: Search::Dfs, minimise: false, ..Options::default() };
    /// let violation = system.try_check(&options).unwrap().violation.unwrap();
    /// let (smaller, minimised) = system.minimise(&violation, &MinimiseOptions::default()).unwrap();
    /// assert_eq!(smaller.run.to_string(), "  1. node 0 is called: 7\n");
    /// assert!(minimised.to_string().starts_with("1 event"));
    /// ```
    ///
    /// # Errors
    ///
    /// If the run does not violate what it is said to violate, or the system makes no sense.
    pub fn minimise(
        &self,
        violation: &Violation,
        options: &MinimiseOptions,
    ) -> Result<(Violation, Minimised), Error> {
        guarded(|| {
            self.validate()?;
            minimise(self, violation, options)
        })
        .unwrap_or_else(|message| Err(panicked(message)))
    }
}

fn minimise<N: Node>(
    system: &System<N>,
    violation: &Violation,
    options: &MinimiseOptions,
) -> Result<(Violation, Minimised), Error> {
    let target = Target::of(system, violation)?;
    let before = RunSize::of(&violation.run);
    let (mut bench, course) = match Bench::new(system, violation, target, options)? {
        Some(found) => found,
        None => {
            // A node panics while it starts: nothing happens before.
            let run = Run::default();
            let smaller = Violation { run, ..violation.clone() };
            let after = RunSize::of(&smaller.run);
            return Ok((smaller, summary(before, after, true)));
        }
    };
    let mut is_shortest = course.moves.is_empty();
    let mut best = course;
    if options.fewer_events && best.moves.len() > LONG {
        let half = options.max_states / 2;
        (best, is_shortest) = search::anywhere(&mut bench, best, half);
    }
    if options.fewer_events && !is_shortest {
        best = fewer::events(&mut bench, best);
        best = search::among_events(&mut bench, best);
        (best, is_shortest) = search::anywhere(&mut bench, best, options.max_states);
    }
    best = order::fewer_switches(&mut bench, best);
    best = choices::smaller(&mut bench, best);
    let smaller = described(system, violation, &bench, &best)?;
    // The original, if the description of the other can be read in a way that does not violate.
    let (smaller, after) = match smaller {
        Some(smaller) if RunSize::of(&smaller.run) <= before => {
            let after = RunSize::of(&smaller.run);
            (smaller, after)
        }
        _ => (violation.clone(), before),
    };
    let is_shortest = is_shortest && after.events <= best.moves.len();
    let mut minimised = summary(before, after, is_shortest);
    minimised.candidates = bench.limits.candidates;
    minimised.states = bench.limits.states;
    minimised.out_of_time = bench.limits.out_of_time;
    Ok((smaller, minimised))
}

fn summary(before: RunSize, after: RunSize, is_shortest: bool) -> Minimised {
    Minimised {
        before,
        after,
        preemptions: None,
        candidates: 0,
        states: 0,
        is_shortest,
        out_of_time: false,
    }
}

/// A violation with the run that was found, replayed from its description; `None` if that can be
/// read in a way that does not violate.
fn described<N: Node>(
    system: &System<N>,
    violation: &Violation,
    bench: &Bench<'_, N>,
    course: &Course<N>,
) -> Result<Option<Violation>, Error> {
    let run = Run {
        start: course.start,
        start_choices: World::start_choices(system, course.start)?,
        events: course.moves.iter().map(|m| m.describe(system)).collect(),
    };
    let property = match bench.target {
        Target::Always(property) | Target::Stuck(property) => Some(property),
        Target::Panic => None,
    };
    match confirm(system, &run, &violation.cause, property) {
        Ok(reads) => Ok(Some(Violation { run, reads, ..violation.clone() })),
        Err(_) => Ok(None),
    }
}
