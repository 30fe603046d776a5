//! Making the run of a violation smaller: fewer preemptions, then fewer events, then fewer switches.
//!
//! A run of threads is hard to read for each time that a thread is stopped although it could go on. So runs with fewer preemptions are
//! [searched](super::bounded) for first, with none, then with one, and so on. Then what does not happen before the end is left out, if the violation shows without it, and
//! what is left is put in an order in which threads go on as long as they can. Everything is carried out again.

use super::bounded;
use super::follow::{Failure, Followed, follow};
use crate::engine::budget::Budget;
use crate::engine::machine::{Machine, Machines, Told};
use crate::engine::options::Options;
use crate::engine::{Found, FoundWhat};
use crate::error::Error;
use crate::outcome::minimise::{MinimiseOptions, Minimised, RunSize};
use crate::outcome::{Cause, Run, Violation};
use crate::trace::order::{Order, Touch};
use std::time::Instant;

/// So many preemptions are looked for at most.
const MOST_PREEMPTIONS: u32 = 3;

/// A run, and what is known of it.
struct Candidate {
    run: Run,
    order: Order,
    preemptions: u32,
}

struct Bench<'s, S: Machines> {
    system: &'s S,
    machine: S::Machine,
    found: Failure,
    candidates: u64,
    options: &'s MinimiseOptions,
    begin: Instant,
}

/// See [`super::minimise`].
pub(super) fn minimise<S: Machines>(
    system: &S,
    violation: &Violation,
    options: &MinimiseOptions,
) -> Result<(Violation, Minimised), Error> {
    let found = Failure { cause: violation.cause.clone(), message: violation.property.clone() };
    let begin = Instant::now();
    let machine = system.make()?;
    let mut bench = Bench { system, machine, found, candidates: 0, options, begin };
    let Some(mut best) = bench.carry_out(&violation.run)? else {
        let why = "the run does not show the violation that it is said to show";
        return Err(Error::Run(why.to_owned()));
    };
    let (before, preemptions) = (RunSize::of(&best.run), best.preemptions);
    if options.fewer_events {
        best = bench.fewer_preemptions(best)?;
        best = bench.only_the_past(best)?;
    }
    best = bench.fewer_switches(best)?;
    let Followed { failure, .. } = follow(&mut bench.machine, &best.run)?;
    let reads = bench.machine.reads()?;
    let message = failure.map_or_else(|| violation.property.clone(), |failure| failure.message);
    let after = RunSize::of(&best.run);
    let smaller = Violation { run: best.run, reads, property: message, ..violation.clone() };
    let out_of_time = bench.is_out_of_time();
    let minimised = Minimised {
        before,
        after,
        preemptions: Some([preemptions, best.preemptions]),
        candidates: bench.candidates,
        states: 0,
        is_shortest: false,
        out_of_time,
    };
    Ok((smaller, minimised))
}

impl<S: Machines> Bench<'_, S> {
    fn is_out_of_time(&self) -> bool {
        use std::sync::atomic::Ordering::Relaxed;
        self.begin.elapsed() >= self.options.max_time
            || self.candidates >= self.options.max_candidates
            || self.options.stop.as_ref().is_some_and(|stop| stop.load(Relaxed))
    }

    /// Carries a run out, up to where it shows the violation; `None` if it does not.
    fn carry_out(&mut self, run: &Run) -> Result<Option<Candidate>, Error> {
        self.candidates += 1;
        let machine = &mut self.machine;
        // It may have to be taught what is a step.
        follow(machine, run)?;
        machine.restart(run.start)?;
        let mut order = Order::new();
        let (mut preemptions, mut last) = (0, None);
        let mut possible = Vec::new();
        let mut run = run.clone();
        for at in 0..run.events.len() {
            let Some(transition) = machine.transition(&run.events[at])? else { return Ok(None) };
            machine.possible(&mut possible)?;
            let could_go_on = possible.iter().any(|other| Some(other.process) == last);
            preemptions += u32::from(could_go_on && last != Some(transition.process));
            last = Some(transition.process);
            let performed = machine.perform(transition)?;
            let footprints = machine.footprints();
            order.push(Touch {
                process: transition.process,
                created_by: performed.created_by,
                needs: machine.needs(at),
                reads: footprints.reads(performed.footprint),
                writes: footprints.writes(performed.footprint),
            });
            // It may be told otherwise where it comes elsewhere.
            run.events[at] = machine.describe(at)?;
            if performed.failed {
                let (cause, message) = machine.failure()?;
                let is_it = Failure { cause, message }.is_like(&self.found);
                run.events.truncate(at + 1);
                return Ok(is_it.then_some(Candidate { run, order, preemptions }));
            }
        }
        machine.possible(&mut possible)?;
        let wrong = match possible.is_empty() {
            true => machine.wrong_end()?,
            false => machine.endless()?,
        };
        let is_it =
            wrong.is_some_and(|(cause, message)| Failure { cause, message }.is_like(&self.found));
        Ok(is_it.then_some(Candidate { run, order, preemptions }))
    }

    /// Looks for a run with fewer preemptions.
    fn fewer_preemptions(&mut self, best: Candidate) -> Result<Candidate, Error> {
        for preemptions in 0..best.preemptions.min(MOST_PREEMPTIONS + 1) {
            if self.is_out_of_time() {
                break;
            }
            let rest = self.options.max_candidates.saturating_sub(self.candidates);
            let options = Options {
                max_runs: Some(rest),
                max_time: Some(self.options.max_time.saturating_sub(self.begin.elapsed())),
                stop: self.options.stop.clone(),
                ..Options::default()
            };
            let budget = Budget::new(&options);
            let (findings, _) = bounded::search(self.system.make()?, preemptions, &budget)?;
            self.candidates += findings.statistics.runs.unwrap_or(0);
            let Some(Found { what, run }) = findings.violation else { continue };
            let failure = match what {
                FoundWhat::Panic(message) => Failure { cause: Cause::Panic, message },
                FoundWhat::Failed(cause, message) => Failure { cause, message },
                FoundWhat::Always(_) | FoundWhat::Stuck(_) => continue,
            };
            if failure.is_like(&self.found)
                && let Some(smaller) = self.carry_out(&run)?
            {
                return Ok(smaller);
            }
        }
        Ok(best)
    }

    /// Leaves out what does not happen before the last event.
    fn only_the_past(&mut self, best: Candidate) -> Result<Candidate, Error> {
        let Some(last) = best.run.events.len().checked_sub(1) else { return Ok(best) };
        let kept = |&event: &usize| event == last || best.order.before(event, last);
        let events = (0..=last).filter(kept).map(|event| best.run.events[event].clone()).collect();
        let run = Run { events, ..best.run.clone() };
        if run.events.len() == best.run.events.len() || self.is_out_of_time() {
            return Ok(best);
        }
        Ok(self.carry_out(&run)?.unwrap_or(best))
    }

    /// Puts the events in an order in which each process goes on as long as it can.
    fn fewer_switches(&mut self, best: Candidate) -> Result<Candidate, Error> {
        let len = best.run.events.len();
        let order = &best.order;
        let process = |event: usize| order.process(event);
        let mut done = vec![false; len];
        let mut arranged = Vec::with_capacity(len);
        let ready = |event: usize, done: &[bool]| {
            !done[event] && (0..event).all(|before| done[before] || !order.before(before, event))
        };
        // How far a process gets from here.
        let stretch = |event: usize, done: &[bool]| {
            let mut done = done.to_vec();
            let mut length = 0;
            let of_process = (event..len).filter(|&other| process(other) == process(event));
            for next in of_process {
                if !ready(next, &done) {
                    break;
                }
                done[next] = true;
                length += 1;
            }
            length
        };
        while arranged.len() < len {
            let last = arranged.last().map(|&event: &usize| process(event));
            let next = (0..len).filter(|&event| ready(event, &done)).max_by_key(|&event| {
                let goes_on = Some(process(event)) == last;
                (goes_on, stretch(event, &done), std::cmp::Reverse(event))
            });
            let Some(next) = next else { return Ok(best) };
            done[next] = true;
            arranged.push(next);
        }
        let events = arranged.iter().map(|&event| best.run.events[event].clone()).collect();
        let run = Run { events, ..best.run.clone() };
        // Threads are numbered as they come, which may be otherwise now: then it is another run, or none.
        if RunSize::of(&run) >= RunSize::of(&best.run) || self.is_out_of_time() {
            return Ok(best);
        }
        Ok(self.carry_out(&run)?.unwrap_or(best))
    }
}
