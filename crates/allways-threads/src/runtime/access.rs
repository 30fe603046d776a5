//! How a thread does something that others can see: it says what, stops, and is told what was decided.

use super::fiber::Stop;
use super::op::{Kind, NONE, Op};
use super::thread::Waits;
use super::{current, round};
use std::panic::Location;

/// What a thread that goes on is told: the event that this is, and what was decided. It leaves nothing on the stack that would be different in the
/// next round of a loop that only reads: it fits into a register, and does not name the event of one that has only read.
#[derive(Clone, Copy)]
pub(crate) struct Granted(pub(super) u64);

impl Granted {
    pub(super) const SUCCEEDED: u64 = 1 << 63;
    pub(super) const ENDING: u64 = 1 << 62;

    /// The event; [`NONE`] if the thread is to end, or has only read.
    pub fn event(self) -> u32 {
        self.0 as u32
    }

    /// The event, also if it has only read, as long as it is the one at hand; [`NONE`] if the thread is to end.
    pub fn event_at_hand(self) -> u32 {
        match current() {
            Some(runtime) if !self.is_ending() => runtime.event,
            _ => NONE,
        }
    }

    /// Which of the alternatives it is.
    pub fn alternative(self) -> u32 {
        (self.0 >> 32) as u32 & (u32::MAX >> 2)
    }

    /// Whether the thread got what it wanted.
    pub fn succeeded(self) -> bool {
        self.0 & Self::SUCCEEDED != 0
    }

    /// Whether the thread is to end, and is cleaning up: nothing was decided.
    pub fn is_ending(self) -> bool {
        self.0 & Self::ENDING != 0
    }

    /// Which message, arrival and the like it is about.
    pub fn value(self) -> u64 {
        if let Some(trial) = current().and_then(|runtime| runtime.trial.as_ref()) {
            return trial.value;
        }
        let event = if self.event() == NONE { self.event_at_hand() } else { self.event() };
        let entry = current().and_then(|runtime| runtime.log.entries.get(event as usize));
        entry.map_or(0, |entry| entry.value)
    }
}

/// A thread is about to do something, and goes on when it may.
pub(crate) fn access(op: Op) -> Granted {
    access_since(op, NONE)
}

/// The same for one that has gone round [since](round::since) an event.
pub(crate) fn access_since(op: Op, since: u32) -> Granted {
    let Some(runtime) = current() else { outside(&op) };
    if runtime.is_ending || runtime.skipped.is_some() || std::thread::panicking() {
        return runtime.access_at_the_end(op.at);
    }
    // What is tried out has not happened.
    if runtime.trial.is_some() {
        return access_on_trial(&op);
    }
    if since != NONE {
        let argument = u64::from(since);
        let spin = Op { kind: Kind::Spin, object: NONE, argument, said: 0, at: op.at };
        if !decide(spin) {
            return runtime.access_at_the_end(op.at);
        }
    }
    if !decide(op) {
        return runtime.access_at_the_end(op.at);
    }
    let Some(runtime) = current() else { outside(&op) };
    let entry = &runtime.log.entries[runtime.event as usize];
    let thread = &mut runtime.population.threads[runtime.running as usize];
    let only_reads = thread.rounds.note(runtime.event, entry, &runtime.touching.footprints);
    let succeeded = if entry.succeeded { Granted::SUCCEEDED } else { 0 };
    let has_nothing = only_reads && (entry.op.kind == Kind::Load || !entry.succeeded);
    let event = if has_nothing { NONE } else { runtime.event };
    Granted(succeeded | u64::from(runtime.alternative) << 32 | u64::from(event))
}

/// The same for one that is tried out.
#[cold]
fn access_on_trial(op: &Op) -> Granted {
    let known = current().and_then(|runtime| runtime.trial.as_ref()?.goes_round);
    if let Some(goes_round) = known {
        round::conclude(goes_round);
    }
    match round::read_silently(op) {
        Some((succeeded, _)) => {
            let succeeded = if succeeded { Granted::SUCCEEDED } else { 0 };
            Granted(succeeded | u64::from(NONE))
        }
        None => {
            round::conclude(false);
            Granted(Granted::SUCCEEDED | Granted::ENDING | u64::from(NONE))
        }
    }
}

/// The thread that runs is about to do something: says whether it has, or is to end.
#[inline]
fn decide(op: Op) -> bool {
    let Some(runtime) = current() else { return false };
    if !runtime.goes_straight_on(&op) {
        let thread = &mut runtime.population.threads[runtime.running as usize];
        thread.pending = Some(op);
        return stop(thread.stop);
    }
    true
}

/// The thread that runs stops, and goes on some time; says whether it does so to live.
#[inline]
pub(super) fn stop(stop: Stop) -> bool {
    // Safety: it is that of the thread that runs.
    unsafe { stop.stop() };
    current().is_some_and(|runtime| !runtime.is_ending)
}

/// The thread that runs waits for something that is no decision: it goes on in the event with which that comes. Says whether it has come; it has
/// not if the thread is to end.
pub(crate) fn wait(waits: Waits, at: &'static Location<'static>) -> bool {
    let Some(runtime) = current() else { return false };
    if runtime.skipped.is_some() || runtime.is_cleaning_up() {
        runtime.access_at_the_end(at);
        return false;
    }
    if runtime.trial.is_some() {
        round::conclude(false);
        return false;
    }
    let thread = runtime.running_thread();
    (thread.waits, thread.waits_at) = (waits, Some(at));
    let has_come = stop(thread.stop);
    if !has_come && let Some(runtime) = current() {
        runtime.access_at_the_end(at);
    }
    has_come
}

#[cold]
fn outside(op: &Op) -> ! {
    let at = op.at;
    panic!(
        "{at}: something that was made in a check is used by a thread that the check does not control"
    )
}
