//! Depth-first search: least memory, for the stack holds only what branches off the current path.
//!
//! This is the thesis's algorithm 3 (decomposition-based stateful search) on vectors. Selective
//! hashing (lines 26 and 27) is the business of [`Aux`](crate::Aux): auxiliary fields are in no
//! fingerprint. Selective push-on-stack (line 32): a state reached by the only transition of its
//! parent never goes on the stack; it is expanded next, in hand. The trail is the algorithm's
//! CE-stack: it remembers the steps to every state on the stack or in hand, also those that were
//! not pushed.
//!
//! It departs from the algorithm in that all successors of a state are inserted at once, and that
//! a few states are expanded together: then their table slots arrive while others are being
//! computed. Every state that is inserted is expanded exactly once, which is all that completeness
//! needs. Threads that run dry are given the oldest half of somebody's stack: the states nearest to
//! the start, behind which most is left to find.

use super::worker::{Path, Shared, Worker};
use crate::engine::commute::Mark;
use crate::engine::expand::{Candidate, Touches};
use crate::error::Error;
use crate::outcome::Bound;
use crate::space::table::Session;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};

/// So many states are expanded together.
const TOGETHER: usize = 16;
/// A trail longer than this is worth a look for gaps.
const LONG_TRAIL: usize = 1 << 12;
/// The bounds are looked at after so many states.
const PULSE: u64 = 1_024;

/// Runs the search to its end.
pub(crate) fn search(shared: &Shared<'_>) -> Result<(), Error> {
    let pool = Pool::default();
    let mut first = Depth::new(shared, &pool);
    let mut tasks = Vec::new();
    first.worker.start(|vector, fingerprint| {
        let words = vector.to_vec();
        tasks.push(Task { words, fingerprint, mark: Mark::NONE, before: Vec::new() });
    })?;
    pool.give(tasks);
    if shared.threads == 1 {
        shared.guard(|| first.run());
        return Ok(());
    }
    std::thread::scope(|scope| {
        scope.spawn(|| shared.guard(|| first.run()));
        for _ in 1..shared.threads {
            scope.spawn(|| shared.guard(|| Depth::new(shared, &pool).run()));
        }
    });
    Ok(())
}

/// A state to be expanded by whoever has nothing to do.
struct Task {
    words: Vec<u32>,
    fingerprint: u64,
    mark: Mark,
    /// The fingerprints of the states before it.
    before: Vec<u64>,
}

/// Tasks that nobody has taken yet.
#[derive(Default)]
struct Pool {
    inside: Mutex<Waiting>,
    changed: Condvar,
    /// How many threads wait: then it is worth giving something away.
    hungry: AtomicUsize,
}

#[derive(Default)]
struct Waiting {
    tasks: Vec<Task>,
    waiting: usize,
    done: bool,
}

impl Pool {
    fn give(&self, tasks: Vec<Task>) {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.tasks.extend(tasks);
        self.changed.notify_all();
    }

    /// A task; `None` when there will never be another.
    fn take(&self, shared: &Shared<'_>) -> Option<Task> {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.waiting += 1;
        self.hungry.fetch_add(1, Relaxed);
        loop {
            if shared.is_over() || (inside.waiting == shared.threads && inside.tasks.is_empty()) {
                inside.done = true;
            }
            if inside.done {
                self.changed.notify_all();
                self.hungry.fetch_sub(1, Relaxed);
                return None;
            }
            if let Some(task) = inside.tasks.pop() {
                inside.waiting -= 1;
                self.hungry.fetch_sub(1, Relaxed);
                return Some(task);
            }
            // Wakes up now and then to see whether the search is over.
            let wait = std::time::Duration::from_millis(20);
            inside = match self.changed.wait_timeout(inside, wait) {
                Ok((guard, _)) => guard,
                Err(error) => error.into_inner().0,
            };
        }
    }
}

/// One thread of the search.
struct Depth<'a> {
    worker: Worker<'a>,
    pool: &'a Pool,
    /// The vectors of the stack, one after the other.
    words: Vec<u32>,
    /// Vectors that go there next.
    fresh: Vec<u32>,
    stack: Vec<Entry>,
    /// The fingerprints of the states before the task in hand.
    origin: Vec<u64>,
    trail: Vec<Trail>,
    /// At this length the trail is worth a look for gaps.
    look_for_gaps: usize,
    pushes: u64,
    /// States expanded since the bounds were looked at.
    since: u64,
}

/// A state to be expanded.
#[derive(Clone, Copy)]
struct Entry {
    words: usize,
    fingerprint: u64,
    mark: Mark,
    /// The parent on the trail.
    trail: u32,
}

/// A state that was expanded and still has successors to be expanded.
#[derive(Clone, Copy)]
struct Trail {
    parent: u32,
    depth: u32,
    fingerprint: u64,
}

/// States that are expanded together, and what they may lead to.
#[derive(Default)]
struct Batch {
    /// The vectors of those that were in hand; the others are still on the stack.
    words: Vec<u32>,
    states: Vec<Member>,
    candidates: Vec<Candidate>,
    /// For each state its own place on the trail, once it has one.
    own: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Member {
    in_hand: bool,
    words: (usize, usize),
    fingerprint: u64,
    mark: Mark,
    trail: u32,
    candidates: (usize, usize),
}

impl Batch {
    fn clear(&mut self) {
        self.words.clear();
        self.states.clear();
        self.candidates.clear();
        self.own.clear();
    }

    /// Adds a state in hand, whose vector is all of `words` from `start` on.
    fn add(&mut self, start: usize, fingerprint: u64, mark: Mark, trail: u32) {
        let words = (start, self.words.len());
        let candidates = (0, 0);
        self.states.push(Member { in_hand: true, words, fingerprint, mark, trail, candidates });
    }

    fn vector<'v>(&'v self, stack: &'v [u32], state: &Member) -> &'v [u32] {
        let words = if state.in_hand { &self.words } else { stack };
        &words[state.words.0..state.words.1]
    }
}

/// The start of the trail: the task itself.
const ORIGIN: u32 = 0;
const NOWHERE: u32 = u32::MAX;

impl<'a> Depth<'a> {
    fn new(shared: &'a Shared<'a>, pool: &'a Pool) -> Self {
        Depth {
            worker: Worker::new(shared),
            pool,
            words: Vec::new(),
            fresh: Vec::new(),
            stack: Vec::new(),
            origin: Vec::new(),
            trail: Vec::new(),
            look_for_gaps: LONG_TRAIL,
            pushes: 0,
            since: 0,
        }
    }

    fn run(&mut self) {
        while let Some(task) = self.pool.take(self.worker.shared) {
            if let Err(error) = self.task(task) {
                self.worker.shared.fail(error);
            }
        }
        self.worker.shared.stack_pushes.fetch_add(self.pushes, Relaxed);
    }

    fn task(&mut self, task: Task) -> Result<(), Error> {
        let shared = self.worker.shared;
        self.words.clear();
        self.stack.clear();
        self.trail.clear();
        let depth = task.before.len() as u32;
        self.origin = task.before;
        self.trail.push(Trail { parent: NOWHERE, depth, fingerprint: task.fingerprint });
        let (mut batch, mut hand) = (Batch::default(), Batch::default());
        batch.words.extend_from_slice(&task.words);
        batch.add(0, task.fingerprint, task.mark, NOWHERE);
        while !shared.is_over() {
            self.fill(&mut batch);
            if batch.states.is_empty() {
                break;
            }
            self.since += batch.states.len() as u64;
            self.expand(&mut batch, &mut hand)?;
            batch.clear();
            std::mem::swap(&mut batch, &mut hand);
            self.forget_trail(&mut batch);
            if self.since >= PULSE {
                self.since = 0;
                let stack = self.words.capacity() * 4 + self.stack.capacity() * size_of::<Entry>();
                let trail = self.trail.capacity() * size_of::<Trail>();
                self.worker.tell_bytes((stack + trail) as u64);
                shared.pulse(self.stack.len() as u64, 0);
            }
            if shared.threads > 1 && self.pool.hungry.load(Relaxed) > 0 && self.stack.len() > 1 {
                self.share();
            }
        }
        Ok(())
    }

    /// Takes states off the stack until the batch has enough. Their vectors stay where they are
    /// until they have been expanded.
    ///
    /// States are expanded in the order in which they are taken, and their places on the trail are
    /// new then, so along the stack these places only ever grow.
    fn fill(&mut self, batch: &mut Batch) {
        let mut end = self.words.len();
        while batch.states.len() < TOGETHER {
            let Some(entry) = self.stack.pop() else { break };
            let Entry { words: start, fingerprint, mark, trail } = entry;
            let (words, candidates) = ((start, end), (0, 0));
            let in_hand = false;
            batch.states.push(Member { in_hand, words, fingerprint, mark, trail, candidates });
            end = start;
        }
    }

    fn expand(&mut self, batch: &mut Batch, hand: &mut Batch) -> Result<(), Error> {
        let shared = self.worker.shared;
        let session = self
            .worker
            .opens_sessions()
            .then(|| shared.table.session(TOGETHER * 64, shared.threads));
        let (mut generated, mut asleep, mut deepest) = (0, 0, 0);
        let mut expanded = 0;
        let mut candidates = std::mem::take(&mut batch.candidates);
        for index in 0..batch.states.len() {
            let state = &batch.states[index];
            let vector = batch.vector(&self.words, state);
            let depth = self.depth(state);
            deepest = deepest.max(depth);
            let first = candidates.len();
            let at_bound = depth >= shared.budget.max_depth;
            // What lies beyond the depth bound is all looked at.
            let mark = if at_bound { Mark::NONE } else { state.mark };
            let expansion = self.worker.expand(
                vector,
                state.fingerprint,
                mark,
                index as u32,
                &mut candidates,
            )?;
            let found = &candidates[first..];
            if let (Some(session), false) = (&session, at_bound) {
                self.worker.prefetch(found, session);
            }
            if !expansion.goes_on && self.worker.watches_stuck || expansion.panics {
                let path = self.path_of(state);
                let goes_on = expansion.goes_on;
                self.worker.judge_expansion(vector, found, goes_on, depth, || path.clone())?;
            }
            asleep += expansion.asleep;
            let steps = found.len() as u64 + expansion.stutters + expansion.asleep;
            if !at_bound {
                generated += steps;
                expanded += 1;
            } else {
                // At the depth bound: only look whether anything lies beyond.
                shared.probed.fetch_add(steps, Relaxed);
                if !shared.is_bounded()
                    && self.worker.leads_on(vector, state.fingerprint, found, session.as_ref())?
                {
                    shared.bounded(Bound::Depth, false);
                }
                candidates.truncate(first);
            }
            batch.states[index].candidates = (first, candidates.len());
        }
        batch.candidates = candidates;
        if deepest > shared.depth.load(Relaxed) {
            shared.depth.fetch_max(deepest, Relaxed);
        }
        shared.generated.fetch_add(generated, Relaxed);
        shared.asleep.fetch_add(asleep, Relaxed);
        shared.expanded.fetch_add(expanded, Relaxed);
        self.insert(batch, hand, session)
    }

    fn insert(
        &mut self,
        batch: &mut Batch,
        hand: &mut Batch,
        session: Option<Session<'a>>,
    ) -> Result<(), Error> {
        let mut own = std::mem::take(&mut batch.own);
        own.resize(batch.states.len(), NOWHERE);
        let batch = &*batch;
        let Depth { worker, words, fresh, stack, trail, origin, pushes, .. } = self;
        // Those on the stack that are expanded now begin here.
        let taken = batch.states.iter().rev().find(|state| !state.in_hand);
        let base = taken.map_or(words.len(), |state| state.words.0);
        fresh.clear();
        let parent_of = |parent: u32| {
            let state = &batch.states[parent as usize];
            (batch.vector(words, state), state.fingerprint)
        };
        worker.insert_batch(&batch.candidates, parent_of, session, |worker, index, new| {
            let candidate = &batch.candidates[index];
            let parent = &batch.states[candidate.parent as usize];
            let place = &mut own[candidate.parent as usize];
            if *place == NOWHERE {
                *place = match parent.trail {
                    NOWHERE => ORIGIN,
                    before => {
                        let depth = trail[before as usize].depth + 1;
                        let fingerprint = parent.fingerprint;
                        trail.push(Trail { parent: before, depth, fingerprint });
                        trail.len() as u32 - 1
                    }
                };
            }
            let own = *place;
            let alone = parent.candidates.1 - parent.candidates.0 == 1;
            let to = if alone { &mut hand.words } else { &mut *fresh };
            let start = to.len();
            let mark = worker.write(&new, parent_of(candidate.parent), candidate, to)?;
            if candidate.touches == Touches::Reads {
                worker.judge(&to[start..], || path_on(trail, origin, own).then(new.fingerprint))?;
            }
            let fingerprint = new.fingerprint;
            if alone {
                hand.add(start, fingerprint, mark, own);
            } else {
                *pushes += 1;
                stack.push(Entry { words: base + start, fingerprint, mark, trail: own });
            }
            Ok(())
        })?;
        words.truncate(base);
        words.extend_from_slice(fresh);
        Ok(())
    }

    /// Drops what is on the trail and nobody's ancestor any more.
    fn forget_trail(&mut self, hand: &mut Batch) {
        let top = self.stack.last().map_or(ORIGIN, |entry| entry.trail);
        let needed = hand.states.iter().map(|state| state.trail).fold(top, u32::max);
        self.trail.truncate(needed as usize + 1);
        // States expanded together leave gaps below the top: close them when there may be as many as
        // there was trail the last time.
        if self.trail.len() > self.look_for_gaps {
            self.close_gaps(hand);
            self.look_for_gaps = LONG_TRAIL.max(2 * self.trail.len());
        }
    }

    fn close_gaps(&mut self, hand: &mut Batch) {
        let mut place = vec![NOWHERE; self.trail.len()];
        place[ORIGIN as usize] = ORIGIN;
        let tips = self.stack.iter().map(|entry| entry.trail);
        for mut at in tips.chain(hand.states.iter().map(|state| state.trail)) {
            while place[at as usize] == NOWHERE {
                place[at as usize] = 0;
                at = self.trail[at as usize].parent;
            }
        }
        let mut kept = 0;
        for at in 0..self.trail.len() {
            if place[at] != NOWHERE {
                // A parent comes before its children, so it has its new place already.
                let Trail { parent, depth, fingerprint } = self.trail[at];
                let parent = if parent == NOWHERE { NOWHERE } else { place[parent as usize] };
                self.trail[kept as usize] = Trail { parent, depth, fingerprint };
                place[at] = kept;
                kept += 1;
            }
        }
        self.trail.truncate(kept as usize);
        for entry in &mut self.stack {
            entry.trail = place[entry.trail as usize];
        }
        for state in &mut hand.states {
            state.trail = place[state.trail as usize];
        }
    }

    fn depth(&self, state: &Member) -> u64 {
        match state.trail {
            NOWHERE => u64::from(self.trail[ORIGIN as usize].depth),
            trail => u64::from(self.trail[trail as usize].depth) + 1,
        }
    }

    fn path_of(&self, state: &Member) -> Path {
        match state.trail {
            NOWHERE => path_on(&self.trail, &self.origin, ORIGIN),
            trail => path_on(&self.trail, &self.origin, trail).then(state.fingerprint),
        }
    }

    /// Gives the older half of the stack away.
    fn share(&mut self) {
        let half = self.stack.len() / 2;
        let mut tasks = Vec::new();
        for index in 0..half {
            let entry = self.stack[index];
            let end = self.stack[index + 1].words;
            let before = path_on(&self.trail, &self.origin, entry.trail).tags;
            let words = self.words[entry.words..end].to_vec();
            let Entry { fingerprint, mark, .. } = entry;
            tasks.push(Task { words, fingerprint, mark, before });
        }
        let cut = self.stack[half].words;
        self.words.drain(..cut);
        self.stack.drain(..half);
        for entry in &mut self.stack {
            entry.words -= cut;
        }
        // Taken from the back: the oldest first.
        tasks.reverse();
        self.pool.give(tasks);
    }
}

/// The way to a state on the trail.
fn path_on(trail: &[Trail], origin: &[u64], at: u32) -> Path {
    let mut tags = Vec::new();
    let mut place = at;
    while place != NOWHERE {
        tags.push(trail[place as usize].fingerprint);
        place = trail[place as usize].parent;
    }
    tags.extend(origin.iter().rev());
    tags.reverse();
    Path { tags, mask: u64::MAX, end: trail[at as usize].fingerprint, panic: None }
}
