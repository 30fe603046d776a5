//! Engine `lmc`: model checking without the network (Guerraoui and Yabandeh, "Model Checking a Networked
//! System Without the Network").
//!
//! For each node the set of its local states is explored, with one network for all that only grows: every
//! event is tried on every state of its node, once ([`graph`]; the paper's figures 8 and 9). Then
//! combinations of local states are checked against the properties, as far as they differ in what the properties
//! read ([`combine`]). Only if one violates is it asked whether a real run leads there: its *validity*.
//! The paper answers this for one combination at a time by going through all sequences of events
//! that lead to its parts. Here one search answers it for all at once: what it cannot tell apart is made one
//! ([`reduce`]), steps that take nothing away are taken at once ([`safe`]), and what is left is
//! searched in the classic way ([`product`]). A run that it finds is replayed before it is reported.
//!
//! **Why it is sound.** A violation is a run ([`lift`]), replayed on the reference semantics.
//!
//! **Why it is complete.** Every step of every run is an edge of a local graph, by induction on the run: its
//! node's state is one of the graph's, and its event was put into the network by the steps before. What is kept
//! beside the states (how often counted events were used, places on channels) forbids only what no run does:
//! see [`counting`] and [`graph`]. Conversely, a path of the product is a run, or the messages that it uses too often are counted and it is
//! not a path any more. So in the end a combination of views is reachable if and only if the product
//! reaches it, and reducing preserves that ([`reduce`], [`safe`]). `holds, complete` is said only when the graphs are closed (nothing is left to be tried) and the
//! product was searched to its end for everything that violates. Combinations are looked at again from
//! the beginning each time the graphs have grown much, and at the end, so that nothing that was
//! rejected stays so when a new step or message makes it possible; the paper's shortcuts (ignored self-loops,
//! verification on new states only, simplified histories) are not taken.
//!
//! **Where it does not apply.** Observers see the steps of all nodes in one order, a terminal state is a matter of
//! the network, and so are partitions, and on ordered networks all that
//! disturbs the order: there the engine says so and `global` goes on,
//! on the same local space. So it does if
//! it would have to count a message that may be sent any number of times.

mod combine;
mod components;
mod counting;
mod graph;
mod lift;
mod product;
mod prune;
mod reduce;
mod safe;
mod share;

use super::budget::Budget;
use super::options::{Combine, Options};
use super::{Findings, Found, FoundWhat, nothing_left};
use crate::error::Error;
use crate::model::network::NetworkKind;
use crate::model::node::Node;
use crate::model::property::PropertyKind;
use crate::model::system::System;
use crate::outcome::{Bound, Run, Statistics};
use crate::space::local::{LocalSpace, SpaceOptions};
use crate::space::{EventId, Initial, Space};
use combine::{Aim, Hit, Label, Sought, Tested};
use graph::{Caps, Graphs};
use lift::Lifted;
use product::Product;
use reduce::Reduced;
use share::share;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// So many pairs of states and events are tried before combinations are looked at for the first time,
/// and then four times as many as the last time.
const FIRST_LOOK: u64 = 2_000;

/// Before the local states are all known, a search for a run meets no more states than this: it is to find
/// what is near, and what is not there it need not prove.
const EARLY_STATES: u64 = 5_000;
/// How many claims about steps that may be taken at once are looked into, for each node; and how many of them early.
const CLAIMS: usize = 400_000;
const EARLY_CLAIMS: usize = 20_000;

/// So often only that is counted which a path uses too often; after that, all that any circle uses.
const FEW_REFINEMENTS: u32 = 10;

/// Why a search ends before its end.
pub(crate) enum Stop {
    Error(Error),
    Bound(Bound),
    /// This engine cannot decide it.
    FallBack(&'static str),
}

/// Runs the search; returns the name of the engine that has answered, too.
pub(crate) fn search<N: Node>(
    system: &System<N>,
    options: &Options,
    budget: &Budget,
) -> Result<(String, Findings), Error> {
    let refused =
        [(options.symmetry, "symmetry"), (options.verify_aux, "verifying auxiliary fields")];
    if let Some((_, what)) = refused.iter().find(|(is_asked, _)| *is_asked) {
        let why = format!(
            "engine lmc looks at local states that no run may reach: {what} cannot be had with it; use engine global"
        );
        return Err(Error::Options(why));
    }
    let why = match does_not_apply(system) {
        Some(why) => why,
        None => match by_itself(system, options, budget) {
            Err(Stop::FallBack(why)) => why,
            other => return named(options, other),
        },
    };
    let instead = format!("{}, since lmc cannot decide it: {why}", super::global::name(options));
    Ok((instead, super::global::search(system, options, budget)?))
}

fn named(options: &Options, found: Result<Findings, Stop>) -> Result<(String, Findings), Error> {
    let bound = match found {
        Ok(findings) => return Ok((name(options).to_owned(), findings)),
        Err(Stop::Error(error)) => return Err(error),
        Err(Stop::Bound(bound)) => bound,
        Err(Stop::FallBack(_)) => Bound::Interrupt,
    };
    Ok((name(options).to_owned(), Findings { bound: Some(bound), ..Findings::default() }))
}

/// Runs the search without another engine that goes on where it cannot: then it is inconclusive.
pub(crate) fn itself<N: Node>(
    system: &System<N>,
    options: &Options,
    budget: &Budget,
) -> Result<(String, Findings), Error> {
    named(options, by_itself(system, options, budget))
}

fn by_itself<N: Node>(
    system: &System<N>,
    options: &Options,
    budget: &Budget,
) -> Result<Findings, Stop> {
    let watch = SpaceOptions {
        determinism_guard: options.determinism_guard,
        verify_aux: false,
        symmetry: false,
        // Nothing is known by its fingerprint alone.
        exact: true,
    };
    let space = LocalSpace::new(system, watch)?;
    match explore(&space, options, budget) {
        // User code may fail where no run leads; if it fails where one does, `global` will say so.
        Err(Stop::Error(Error::Panicked { .. } | Error::Choices { .. } | Error::System(_))) => {
            Err(Stop::FallBack("code of the system fails in a state that may not be reachable"))
        }
        other => other,
    }
}

fn name(options: &Options) -> &'static str {
    match options.combine {
        Combine::Views => "lmc views",
        Combine::General => "lmc general",
    }
}

/// Why this engine cannot check a system, if it cannot.
pub(crate) fn does_not_apply<N: Node>(system: &System<N>) -> Option<&'static str> {
    let ordered = system.network.kind == NetworkKind::Ordered;
    let duplicates = system.network.duplications > 0;
    let reasons = [
        (!system.observers.is_empty(), "observers see the steps of all nodes in one order"),
        (
            system.properties.iter().any(|p| p.kind == PropertyKind::NeverStuck),
            "never_stuck asks what is terminal, which depends on the network",
        ),
        (system.faults.partitions > 0 && !system.faults.cuts.is_empty(), "the network may part"),
        (ordered && duplicates, "a copy of a message in order comes out of order"),
        (system.explores_drops(), "messages may be dropped"),
        (ordered && system.faults.crashes > 0, "what a node that is down is sent in order is lost"),
    ];
    reasons.iter().find(|(applies, _)| *applies).map(|(_, why)| *why)
}

/// What became of a path to what is sought, if there is one; and how many states the search for it has met.
type Validity = (Option<Lifted>, u64);

/// What is known of an aim when one more of its boxes was searched: a run counts, whatever became of the others.
fn together(
    known: Result<Validity, Bound>,
    more: Result<Validity, Bound>,
) -> Result<Validity, Bound> {
    let is_run = |found: &Result<Validity, Bound>| matches!(found, Ok((Some(Lifted::Run(..)), _)));
    let ((first, states), (second, more)) = match (known, more) {
        (known, Err(_)) if is_run(&known) => return known,
        (Err(_), more) if is_run(&more) => return more,
        (known, more) => (known?, more?),
    };
    let lifted = match (first, second) {
        (Some(Lifted::Overused(mut events)), Some(Lifted::Overused(others))) => {
            events.extend(others);
            Some(Lifted::Overused(events))
        }
        (Some(run @ Lifted::Run(..)), _) | (_, Some(run @ Lifted::Run(..))) => Some(run),
        (first, second) => first.or(second),
    };
    Ok((lifted, states + more))
}

/// What has been found so far.
struct Search<'a> {
    space: &'a dyn Space,
    options: &'a Options,
    budget: &'a Budget,
    threads: usize,
    violation: Option<Found>,
    witnesses: Vec<Option<Run>>,
    /// What the last look has counted.
    look: Look,
}

#[derive(Default, Clone)]
struct Look {
    /// Combinations that were made, if that is known, and of them those that violate a property.
    system_states: Option<u64>,
    violating: u64,
    /// States of the searches for validity.
    validity_states: u64,
    /// What paths that are no runs use too often.
    overused: Vec<EventId>,
}

fn explore(space: &dyn Space, options: &Options, budget: &Budget) -> Result<Findings, Stop> {
    let vectors = match space.initial()? {
        Initial::Vectors(vectors) => vectors,
        Initial::Panicked(message) => {
            let violation = Found { what: FoundWhat::Panic(message), run: Run::default() };
            return Ok(Findings { violation: Some(violation), ..Findings::default() });
        }
    };
    let mut search = Search {
        space,
        options,
        budget,
        threads: options.thread_count().max(1),
        violation: None,
        witnesses: vec![None; space.layout().properties.len()],
        look: Look::default(),
    };
    let (bound, rounds) = search.run(&vectors)?;
    Ok(search.findings(bound, rounds))
}

impl Search<'_> {
    /// Explores and looks; returns the bound that ended it, and how many rounds there were.
    fn run(&mut self, vectors: &[Vec<u32>]) -> Result<(Option<Bound>, u64), Stop> {
        let mut caps = Caps::default();
        let mut refined = 0;
        let (mut looks, mut next_look) = (0, FIRST_LOOK);
        'anew: loop {
            let mut graphs = Graphs::new(self.space, vectors, caps.clone())?;
            // A bound on the length of runs says which events come first; otherwise those of others do.
            graphs.local_events = if self.options.max_depth.is_some() { u32::MAX } else { 0 };
            loop {
                let (is_settled, bound) = self.round(&mut graphs)?;
                let is_closed = is_settled && bound.is_none() && !graphs.release();
                if !is_closed && bound.is_none() && graphs.pairs < next_look {
                    continue;
                }
                // With a bound on the length of runs, what lies within it counts.
                let is_final = bound.is_some_and(|bound| bound != Bound::Depth);
                if !is_final && let Some(higher) = counting::higher_caps(&graphs)? {
                    caps = higher;
                    continue 'anew;
                }
                if !is_closed
                    && bound.is_none()
                    && let Some(more) = counting::count_growing(&graphs, looks)?
                {
                    caps = more;
                    continue 'anew;
                }
                let is_last = is_closed || bound.is_some();
                match self.look(&graphs, is_last) {
                    Ok(()) => {}
                    // What was found counts, what was not does not.
                    Err(Stop::Bound(bound)) => return Ok((Some(bound), graphs.rounds)),
                    Err(stop) => return Err(stop),
                }
                if self.violation.is_some() || self.nothing_left() {
                    return Ok((None, graphs.rounds));
                }
                if !is_final && !self.look.overused.is_empty() {
                    refined += 1;
                    let all_circles = refined > FEW_REFINEMENTS;
                    caps = counting::count(&graphs, &self.look.overused, all_circles)?;
                    continue 'anew;
                }
                if is_last {
                    return Ok((bound, graphs.rounds));
                }
                looks += 1;
                next_look = graphs.pairs.saturating_mul(4);
            }
        }
    }

    /// One round of exploring: whether nothing is left to do, and the bound that was reached.
    fn round(&self, graphs: &mut Graphs<'_>) -> Result<(bool, Option<Bound>), Stop> {
        if graphs.rounds >= self.budget.max_depth {
            return Ok(match graphs.is_settled() {
                true => (true, None),
                false => (false, Some(Bound::Depth)),
            });
        }
        let is_settled = match graphs.round(self.threads, self.budget) {
            Ok(is_settled) => is_settled,
            Err(Stop::Bound(bound)) => return Ok((false, Some(bound))),
            Err(stop) => return Err(stop),
        };
        let progress = &self.budget.progress;
        progress.states.store(graphs.size() as u64, Relaxed);
        progress.generated.store(graphs.pairs, Relaxed);
        progress.depth.store(graphs.rounds, Relaxed);
        Ok((is_settled, None))
    }

    fn nothing_left(&self) -> bool {
        let properties = self.space.layout().properties.iter().zip(&self.witnesses);
        nothing_left(properties.map(|((kind, _), witness)| (*kind, witness.is_some())))
    }

    /// Looks at the combinations of all local states known, and for runs to those that matter.
    fn look(&mut self, graphs: &Graphs<'_>, is_last: bool) -> Result<(), Stop> {
        let mut look = Look::default();
        let mut tested = Tested::default();
        let mut aims = combine::panics(graphs);
        for (property, (kind, _)) in self.space.layout().properties.iter().enumerate() {
            let sought = *kind == PropertyKind::Sometimes;
            if sought && self.witnesses[property].is_some() {
                continue;
            }
            let combined = combine::property(graphs, property, sought, &mut tested, self.budget)?;
            if !sought {
                look.violating += combined.combinations;
            }
            aims.extend(combined.aims);
        }
        look.system_states =
            Some(look.violating).filter(|_| self.options.combine == Combine::Views);
        self.look = look;
        let mut bound = None;
        for (aim, found) in aims.iter().zip(self.validity(graphs, &aims, is_last)?) {
            let (path, states) = match found {
                Ok(found) => found,
                // What the others have found counts all the same.
                Err(stopped) => {
                    bound = Some(stopped);
                    continue;
                }
            };
            self.look.validity_states += states;
            if let (Hit::Test(..), Some(system_states)) = (aim.hit, &mut self.look.system_states) {
                // Each was tested.
                *system_states += states;
            }
            match (path, aim.what) {
                (None, _) => {}
                (Some(Lifted::Overused(events)), _) => self.look.overused.extend(events),
                (Some(Lifted::Run(run, _)), Sought::Property(property, true)) => {
                    self.witnesses[property] = Some(run);
                }
                (Some(Lifted::Run(run, _)), Sought::Property(property, false)) => {
                    let what = FoundWhat::Always(property);
                    self.violation.get_or_insert(Found { what, run });
                }
                (Some(Lifted::Run(run, message)), Sought::Panic) => {
                    let message = message.unwrap_or_default();
                    self.violation.get_or_insert(Found { what: FoundWhat::Panic(message), run });
                }
            }
        }
        if let (Some(bound), None) = (bound, &self.violation) {
            return Err(Stop::Bound(bound));
        }
        if self.options.combine == Combine::General && is_last && self.look.overused.is_empty() {
            let all = combine::general(graphs, &mut tested, self.threads, self.budget)?;
            self.look.system_states = Some(all.system_states);
            self.look.violating = all.violating;
        }
        Ok(())
    }

    /// Searches for all aims, box by box: with less to look for, more is alike. Boxes are shared among threads.
    fn validity(
        &self,
        graphs: &Graphs<'_>,
        aims: &[Aim],
        is_last: bool,
    ) -> Result<Vec<Result<Validity, Bound>>, Stop> {
        let started = Instant::now();
        let threads = self.threads.min(aims.len().max(1));
        let within = (self.threads / threads).max(1);
        let reduced =
            share(threads, aims.len(), |aim| Ok(reduce::reduce(graphs, &aims[aim], within)))?;
        let boxes: Vec<(usize, Option<Label>)> = aims
            .iter()
            .enumerate()
            .flat_map(|(aim, what)| what.boxes().into_iter().map(move |side| (aim, side)))
            .collect();
        let is_found: Vec<AtomicBool> = aims.iter().map(|_| AtomicBool::new(false)).collect();
        let found = share(self.threads, boxes.len(), |number| {
            let (aim, side) = boxes[number];
            // Early on, looking must not take longer than exploring.
            let is_late = !is_last && started.elapsed() > self.budget.started.elapsed() / 4;
            if is_late || is_found[aim].load(Relaxed) {
                return Ok(Ok((None, 0)));
            }
            match self.one_box(graphs, &reduced[aim], aims[aim].hit, side, is_last) {
                Ok(found) => {
                    let is_run = matches!(found.0, Some(Lifted::Run(..)));
                    is_found[aim].fetch_or(is_run, Relaxed);
                    Ok(Ok(found))
                }
                Err(Stop::Bound(bound)) => Ok(Err(bound)),
                Err(stop) => Err(stop),
            }
        })?;
        let mut all: Vec<Result<Validity, Bound>> = aims.iter().map(|_| Ok((None, 0))).collect();
        for ((aim, _), found) in boxes.iter().zip(found) {
            let known = &mut all[*aim];
            *known = together(std::mem::replace(known, Ok((None, 0))), found);
        }
        Ok(all)
    }

    /// Searches for one box of an aim, or for all that a property says.
    fn one_box(
        &self,
        graphs: &Graphs<'_>,
        all: &Reduced,
        hit: Hit,
        side: Option<Label>,
        is_last: bool,
    ) -> Result<Validity, Stop> {
        if let Some(bound) = self.budget.reached(graphs.size() as u64, graphs.memory()) {
            return Err(Stop::Bound(bound));
        }
        let (most, max_claims) = match is_last {
            true => (u64::MAX, CLAIMS),
            false => (EARLY_STATES, EARLY_CLAIMS),
        };
        let only = side.map(|side| all.only(graphs, side));
        let reduced = only.as_ref().unwrap_or(all);
        let mut product = Product::new(graphs, reduced, hit, max_claims, self.budget)?;
        let found = product.search(most, &mut Tested::default(), self.budget)?;
        let lifted = match found.path {
            Some((start, path)) => Some(lift::lift(graphs, reduced, start, &path)?),
            None => None,
        };
        Ok((lifted, found.states))
    }

    fn findings(self, bound: Option<Bound>, rounds: u64) -> Findings {
        let costs = self.space.costs();
        let stopped_early = self.nothing_left();
        let rejected = match (&self.violation, bound) {
            (None, None) => Some(self.look.violating),
            _ => None,
        };
        let statistics = Statistics {
            handler_executions: Some(costs.handler_executions),
            guard_executions: Some(costs.guard_executions),
            replayed_handlers: Some(costs.replayed_handlers),
            local_states: Some(costs.local_states),
            local_events: Some(costs.local_events),
            system_states: self.look.system_states,
            rejected,
            validity_states: Some(self.look.validity_states),
            depth: Some(rounds),
            user_time: Some(Duration::from_nanos(costs.user_nanos)),
            ..Statistics::default()
        };
        Findings {
            violation: self.violation,
            witnesses: self.witnesses,
            bound: if stopped_early { None } else { bound },
            stopped_early,
            statistics,
            ..Findings::default()
        }
    }
}
