//! Several explore: parts of the search for `source` and `optimal` are given away to whoever has nothing to do.
//!
//! Each member of the team has a machine of its own and searches as if it were alone, below a *root*: a point of the run above which it only
//! repeats what is given. When somebody is hungry, a member gives away all branches that wait at the highest point of its run
//! where some do, one task each, and from there on its own root is below that point. Points above roots belong to all: they are [`Node`]s, with what sleeps there: all that was
//! explored from there *or given away*, in this order. A race that asks for something at such a point is looked at by whoever finds it, and if it is wanted, it becomes
//! one more task.
//!
//! **Why nothing is lost, and nothing done twice.** The tasks from a node, in the order in which they were given, are what a search by
//! one would explore from there one after the other: in each, those before it sleep, and those after it do not. So no trace is
//! performed twice. A search by one may rely on what those that sleep have found: what they may begin (and do not have in it) is
//! not wanted, since they have asked for all that wakes them, and what they asked for is followed. Here they may still be at work, and what
//! they ask for cannot be put below a branch that somebody else explores. So what sleeps and is *foreign* keeps nothing from being explored but what it begins itself, as in `source`: then
//! all that can be explored from a point and does not begin with something foreign is explored by whoever is there, whatever others
//! find. (With `optimal` a run may end in vain for that, where something foreign is not woken.) What has slept since the root, this one has explored wholly, and
//! nothing of it was given away, or the point where it sleeps would not be its own.
//!
//! Numbers of processes and objects must mean the same to all machines; footprints do not, and are taken apart to be passed on.

use super::explore::Move;
use crate::engine::Findings;
use crate::engine::machine::footprint::Footprints;
use crate::engine::machine::{Machine, Object, Transition};
use crate::error::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A move as everybody understands it.
#[derive(Clone, Debug)]
pub(super) struct Passed {
    transition: Transition,
    writes: Box<[Object]>,
    reads: Box<[Object]>,
}

impl Passed {
    pub fn from(what: Move, footprints: &Footprints) -> Self {
        Passed {
            transition: what.transition,
            writes: footprints.writes(what.footprint).into(),
            reads: footprints.reads(what.footprint).into(),
        }
    }

    pub fn to<M: Machine>(&self, machine: &mut M) -> Move {
        let footprint = machine.intern(&self.writes, &self.reads);
        Move { transition: self.transition, footprint }
    }
}

/// A point of runs that belongs to all.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// What was explored from here or given away, in this order.
    asleep: Mutex<Vec<Passed>>,
    /// How many these are.
    count: AtomicUsize,
}

impl Node {
    pub fn new(asleep: Vec<Passed>) -> Self {
        Node { count: AtomicUsize::new(asleep.len()), asleep: Mutex::new(asleep) }
    }

    /// How many sleep here.
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// What sleeps here; whoever has it may add something.
    pub fn asleep(&self) -> MutexGuard<'_, Vec<Passed>> {
        self.asleep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds something that is given away.
    pub fn add(&self, asleep: &mut Vec<Passed>, what: Passed) {
        asleep.push(what);
        self.count.store(asleep.len(), Relaxed);
    }
}

/// Something to be explored: a branch at a node.
pub(super) struct Task {
    /// How the run gets there.
    pub prefix: Vec<Transition>,
    /// The nodes on the way, the one where it branches off last.
    pub nodes: Vec<Arc<Node>>,
    /// How many slept there before it.
    pub asleep: usize,
    /// The branch, and the tree below it: its moves with their depths, the first of which is zero.
    pub tree: Vec<(usize, Passed)>,
}

/// What the members of a team share.
pub(super) struct Team {
    state: Mutex<State>,
    changed: Condvar,
    /// How many have nothing to do.
    hungry: AtomicUsize,
    over: AtomicBool,
    /// How many runs all have made.
    pub runs: AtomicU64,
}

struct State {
    tasks: Vec<Task>,
    /// How many members have something to do, and how many wait for something.
    busy: usize,
    waiting: usize,
    /// Set when a member has found out that all must be explored again.
    is_stale: bool,
    ends: Vec<Findings>,
    error: Option<Error>,
}

impl Team {
    /// A team of which one member is at work.
    pub fn new() -> Self {
        Team {
            state: Mutex::new(State {
                tasks: Vec::new(),
                busy: 1,
                waiting: 0,
                is_stale: false,
                ends: Vec::new(),
                error: None,
            }),
            changed: Condvar::new(),
            hungry: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            runs: AtomicU64::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is nothing more to do for anybody.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// Ends it for all.
    pub fn end(&self) {
        // Under the lock, or one who is about to wait would not be told.
        let state = self.state();
        self.over.store(true, Relaxed);
        drop(state);
        self.changed.notify_all();
    }

    /// Whether somebody has nothing to do, and nothing is there to be taken.
    #[inline]
    pub fn is_hungry(&self) -> bool {
        self.hungry.load(Relaxed) > 0
    }

    /// Counts those who are hungry.
    fn count_hungry(&self, state: &State) {
        self.hungry.store(state.waiting.saturating_sub(state.tasks.len()), Relaxed);
    }

    /// Gives something away.
    pub fn give(&self, tasks: impl IntoIterator<Item = Task>) {
        let mut state = self.state();
        state.tasks.extend(tasks);
        self.count_hungry(&state);
        drop(state);
        self.changed.notify_all();
    }

    /// Something to do, for one who has just ended what he had, or has just come; nothing if all is done.
    pub fn take(&self, was_busy: bool) -> Option<Task> {
        let mut state = self.state();
        state.busy -= usize::from(was_busy);
        loop {
            if self.is_over() {
                return None;
            }
            if let Some(task) = state.tasks.pop() {
                state.busy += 1;
                self.count_hungry(&state);
                return Some(task);
            }
            if state.busy == 0 {
                drop(state);
                self.end();
                return None;
            }
            state.waiting += 1;
            self.count_hungry(&state);
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
            self.count_hungry(&state);
        }
    }

    /// A member has come to an end.
    pub fn leave(&self, ended: Result<(Findings, bool), Error>) {
        let mut state = self.state();
        match ended {
            Ok((findings, is_stale)) => {
                state.is_stale |= is_stale;
                state.ends.push(findings);
            }
            Err(error) => {
                state.error.get_or_insert(error);
                drop(state);
                self.end();
            }
        }
    }

    /// What came of it all, and whether it has to be explored again.
    pub fn finish(self) -> Result<(Findings, bool), Error> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = state.error {
            return Err(error);
        }
        let all = state.ends.into_iter().reduce(both).unwrap_or_default();
        Ok((all, state.is_stale))
    }
}

/// What two members have found, where there are no properties.
fn both(mut a: Findings, b: Findings) -> Findings {
    let add = |a: Option<u64>, b: Option<u64>| Some(a.unwrap_or(0) + b.unwrap_or(0));
    let (sum, other) = (&mut a.statistics, &b.statistics);
    sum.runs = add(sum.runs, other.runs);
    sum.blocked_runs = add(sum.blocked_runs, other.blocked_runs);
    sum.transitions = add(sum.transitions, other.transitions);
    sum.depth = sum.depth.max(other.depth);
    a.violation = a.violation.or(b.violation);
    // Whoever was told to stop by others has reached no bound.
    a.bound = a.bound.or(b.bound);
    a
}
