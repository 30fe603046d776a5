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
    first.worker.start(|start, new| {
        let path = Path { start, ordinals: Vec::new() };
        tasks.push(Task { words: new.vector.to_vec(), fingerprint: new.fingerprint, path });
    })?;
    pool.give(tasks);
    if shared.threads == 1 {
        first.run();
        return Ok(());
    }
    std::thread::scope(|scope| {
        scope.spawn(|| first.run());
        for _ in 1..shared.threads {
            scope.spawn(|| Depth::new(shared, &pool).run());
        }
    });
    Ok(())
}

/// A state to be expanded by whoever has nothing to do.
struct Task {
    words: Vec<u32>,
    fingerprint: u64,
    path: Path,
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
    stack: Vec<Entry>,
    /// Where the task in hand came from.
    origin: Path,
    trail: Vec<Trail>,
    pushes: u64,
}

/// A state to be expanded.
#[derive(Clone, Copy)]
struct Entry {
    words: usize,
    fingerprint: u64,
    /// The parent on the trail, and the ordinal of the step from there.
    trail: u32,
    ordinal: u32,
}

/// A state that was expanded and still has successors to be expanded.
#[derive(Clone, Copy)]
struct Trail {
    parent: u32,
    ordinal: u32,
    depth: u32,
}

/// The states of a batch, their vectors and what they may lead to.
#[derive(Default)]
struct Batch {
    words: Vec<u32>,
    states: Vec<Member>,
    candidates: Vec<Candidate>,
}

#[derive(Clone, Copy)]
struct Member {
    words: (usize, usize),
    fingerprint: u64,
    trail: u32,
    ordinal: u32,
    candidates: (usize, usize),
    /// Its place on the trail, once it has one.
    own: u32,
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
            stack: Vec::new(),
            origin: Path::default(),
            trail: Vec::new(),
            pushes: 0,
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
        let depth = task.path.ordinals.len() as u32;
        self.origin = task.path;
        self.trail.push(Trail { parent: NOWHERE, ordinal: 0, depth });
        let mut batch = Batch::default();
        let mut hand = Batch::default();
        self.add(&mut batch, &task.words, task.fingerprint, NOWHERE, 0);
        let mut since = 0;
        while !shared.is_over() {
            self.fill(&mut batch);
            if batch.states.is_empty() {
                break;
            }
            since += batch.states.len() as u64;
            self.expand(&mut batch, &mut hand)?;
            std::mem::swap(&mut batch, &mut hand);
            hand.words.clear();
            hand.states.clear();
            hand.candidates.clear();
            self.forget_trail(&mut batch);
            if since >= PULSE {
                since = 0;
                self.worker.tell_bytes();
                let stored = self.words.capacity() * 4 + self.stack.capacity() * size_of::<Entry>();
                shared.pulse(self.stack.len() as u64, stored as u64);
            }
            if shared.threads > 1 && self.pool.hungry.load(Relaxed) > 0 && self.stack.len() > 1 {
                self.share();
            }
        }
        Ok(())
    }

    /// Adds a state to a batch.
    fn add(&self, batch: &mut Batch, words: &[u32], fingerprint: u64, trail: u32, ordinal: u32) {
        let start = batch.words.len();
        batch.words.extend_from_slice(words);
        let words = (start, batch.words.len());
        let own = NOWHERE;
        batch.states.push(Member { words, fingerprint, trail, ordinal, candidates: (0, 0), own });
    }

    /// Takes states off the stack until the batch has enough.
    fn fill(&mut self, batch: &mut Batch) {
        while batch.states.len() < TOGETHER {
            let Some(entry) = self.stack.pop() else { break };
            self.add(
                batch,
                &self.words[entry.words..],
                entry.fingerprint,
                entry.trail,
                entry.ordinal,
            );
            self.words.truncate(entry.words);
        }
        // States further down the trail last, so that the trail grows in order.
        batch.states.sort_by_key(|state| state.trail.wrapping_add(1));
    }

    fn expand(&mut self, batch: &mut Batch, hand: &mut Batch) -> Result<(), Error> {
        let shared = self.worker.shared;
        let probe_at = shared.budget.max_depth;
        let session = self
            .worker
            .by_fingerprint()
            .then(|| shared.table.session(TOGETHER * 64, shared.threads));
        let mut generated = 0;
        let mut probes = Vec::new();
        for index in 0..batch.states.len() {
            let Member { words, fingerprint, .. } = batch.states[index];
            let vector = &batch.words[words.0..words.1];
            let first = batch.candidates.len();
            let expansion = self.worker.expander.expand(
                vector,
                fingerprint,
                index as u32,
                &mut batch.candidates,
            )?;
            let found = &batch.candidates[first..];
            if let Some(session) = &session {
                for candidate in found {
                    session.prefetch(candidate.fingerprint);
                }
            }
            let depth = self.depth(&batch.states[index]);
            shared.depth.fetch_max(depth, Relaxed);
            if !expansion.goes_on || expansion.panics {
                let path = self.path_of(&batch.states[index]);
                self.worker.judge_expansion(vector, found, expansion.goes_on, || path.clone())?;
            }
            if depth >= probe_at {
                let candidates = batch.candidates.split_off(first);
                probes.push((index, candidates));
            } else {
                generated += found.len() as u64 + expansion.stutters;
            }
            batch.states[index].candidates = (first, batch.candidates.len());
        }
        shared.generated.fetch_add(generated, Relaxed);
        self.insert(batch, hand, session)?;
        for (index, candidates) in probes {
            let Member { words, fingerprint, .. } = batch.states[index];
            let vector = &batch.words[words.0..words.1];
            if self.worker.leads_on(vector, fingerprint, &candidates)? {
                shared.bounded(Bound::Depth, false);
            }
        }
        Ok(())
    }

    fn insert(
        &mut self,
        batch: &mut Batch,
        hand: &mut Batch,
        session: Option<Session<'a>>,
    ) -> Result<(), Error> {
        let Batch { words: all, states, candidates } = batch;
        let parents: Vec<((usize, usize), u64)> =
            states.iter().map(|state| (state.words, state.fingerprint)).collect();
        let parent_of = |parent: u32| {
            let (words, fingerprint) = parents[parent as usize];
            (&all[words.0..words.1], fingerprint)
        };
        let Depth { worker, words, stack, trail, origin, pushes, .. } = self;
        worker.insert_batch(candidates, parent_of, session, |worker, index, new| {
            let candidate = &candidates[index];
            let parent = &mut states[candidate.parent as usize];
            if parent.own == NOWHERE {
                parent.own = match parent.trail {
                    NOWHERE => ORIGIN,
                    before => {
                        let depth = trail[before as usize].depth + 1;
                        trail.push(Trail { parent: before, ordinal: parent.ordinal, depth });
                        trail.len() as u32 - 1
                    }
                };
            }
            let (own, ordinal) = (parent.own, (index - parent.candidates.0) as u32);
            if candidate.touches == Touches::Reads {
                worker.judge(new.vector, || path_on(trail, origin, own).then(ordinal))?;
            }
            let only = parent.candidates.1 - parent.candidates.0 == 1;
            if only {
                let start = hand.words.len();
                hand.words.extend_from_slice(new.vector);
                let words = (start, hand.words.len());
                let fingerprint = new.fingerprint;
                let (candidates, trail) = ((0, 0), own);
                let own = NOWHERE;
                hand.states.push(Member { words, fingerprint, trail, ordinal, candidates, own });
            } else {
                *pushes += 1;
                let (start, fingerprint) = (words.len(), new.fingerprint);
                words.extend_from_slice(new.vector);
                stack.push(Entry { words: start, fingerprint, trail: own, ordinal });
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Drops what is on the trail and nobody's ancestor any more.
    fn forget_trail(&mut self, hand: &mut Batch) {
        let top = self.stack.last().map_or(ORIGIN, |entry| entry.trail);
        let needed = hand.states.iter().map(|state| state.trail).fold(top, u32::max);
        self.trail.truncate(needed as usize + 1);
        // States expanded together leave gaps below the top: close them now and then.
        if self.trail.len() > LONG_TRAIL.max(8 * self.stack.len()) {
            self.close_gaps(hand);
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
                let Trail { parent, ordinal, depth } = self.trail[at];
                let parent = if parent == NOWHERE { NOWHERE } else { place[parent as usize] };
                self.trail[kept as usize] = Trail { parent, ordinal, depth };
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
            NOWHERE => self.origin.clone(),
            trail => path_on(&self.trail, &self.origin, trail).then(state.ordinal),
        }
    }

    /// Gives the older half of the stack away.
    fn share(&mut self) {
        let half = self.stack.len() / 2;
        let mut tasks = Vec::new();
        for index in 0..half {
            let entry = self.stack[index];
            let end = self.stack[index + 1].words;
            let path = path_on(&self.trail, &self.origin, entry.trail).then(entry.ordinal);
            let words = self.words[entry.words..end].to_vec();
            tasks.push(Task { words, fingerprint: entry.fingerprint, path });
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
fn path_on(trail: &[Trail], origin: &Path, mut at: u32) -> Path {
    let mut ordinals = Vec::new();
    while at != ORIGIN {
        ordinals.push(trail[at as usize].ordinal);
        at = trail[at as usize].parent;
    }
    let mut path = origin.clone();
    path.ordinals.extend(ordinals.into_iter().rev());
    path
}
