//! Breadth-first search: level by level, so that the first violation found has a shortest run.
//!
//! A level is a list of chunks; threads take chunks, expand their states in batches and put what is
//! new into chunks of the next level. Within a batch all candidates are listed first, each table
//! slot prefetched as it becomes known, and inserted after that: by then the slots have arrived.
//!
//! Shortest: all states of a level are tested before any of the next is made, so a violation of
//! length n is found before any of length n + 1. (Whether a state is stuck is known only when it is
//! expanded, so where that matters a level is finished even after a violation was found behind one
//! of its states.) Complete: every state that is inserted is expanded
//! exactly once, by the thread whose insertion came first.

use super::frontier::{Chunk, Cursor, Level, Output, Read, TAG_MASK};
use super::worker::{Path, Shared, Worker};
use crate::engine::commute::Mark;
use crate::engine::expand::{Candidate, Touches};
use crate::error::Error;
use crate::outcome::Bound;
use crate::space::table::Session;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// So many states are expanded together.
const TOGETHER: usize = 64;

/// Runs the search to its end.
pub(crate) fn search(shared: &Shared<'_>) -> Result<(), Error> {
    let level = Level::default();
    let mut workers: Vec<Breadth<'_>> =
        (0..shared.threads).map(|_| Breadth::new(shared, &level)).collect();
    let first = &mut workers[0];
    let output = &mut first.output;
    first.worker.start(|vector, fingerprint| output.push_initial(fingerprint, vector, &level))?;
    first.output.seal(&level);
    let mut depth = 0;
    while !shared.is_over() {
        let chunks = level.take();
        if chunks.is_empty() {
            break;
        }
        shared.depth.store(depth, Relaxed);
        let frontier = chunks.iter().map(|chunk| chunk.count).sum();
        shared.pulse(frontier, level.bytes());
        shared.levels.lock().unwrap_or_else(PoisonError::into_inner).push(frontier);
        let todo = Todo::new(chunks);
        let probe = depth >= shared.budget.max_depth;
        if todo.chunks.len() == 1 || workers.len() == 1 {
            let first = &mut workers[0];
            shared.guard(|| first.level(&todo, frontier, probe));
        } else {
            std::thread::scope(|scope| {
                for worker in &mut workers {
                    scope.spawn(|| shared.guard(|| worker.level(&todo, frontier, probe)));
                }
            });
        }
        shared.end_level();
        if probe {
            break;
        }
        depth += 1;
    }
    Ok(())
}

/// The chunks of a level, to be taken one at a time.
struct Todo {
    chunks: Vec<Mutex<Option<Chunk>>>,
    taken: AtomicUsize,
}

impl Todo {
    fn new(chunks: Vec<Chunk>) -> Self {
        let chunks = chunks.into_iter().map(|chunk| Mutex::new(Some(chunk))).collect();
        Todo { chunks, taken: AtomicUsize::new(0) }
    }

    fn take(&self) -> Option<Chunk> {
        let chunk = self.chunks.get(self.taken.fetch_add(1, Relaxed))?;
        chunk.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// One thread of the search.
struct Breadth<'a> {
    worker: Worker<'a>,
    level: &'a Level,
    output: Output,
    batch: Batch,
    next: Vec<u32>,
}

/// States that are expanded together.
#[derive(Default)]
struct Batch {
    /// The vectors, one after the other.
    words: Vec<u32>,
    states: Vec<Member>,
    candidates: Vec<Candidate>,
}

#[derive(Clone, Copy)]
struct Member {
    /// Where the vector begins in `words`.
    words: usize,
    fingerprint: u64,
    mark: Mark,
    /// The place of the state in the log.
    place: u64,
}

impl Batch {
    fn clear(&mut self) {
        self.words.clear();
        self.states.clear();
        self.candidates.clear();
    }

    fn vector(&self, state: usize) -> &[u32] {
        let end = self.states.get(state + 1).map_or(self.words.len(), |next| next.words);
        &self.words[self.states[state].words..end]
    }

    fn candidates_of(&self, state: usize) -> &[Candidate] {
        let first = self.candidates.partition_point(|c| (c.parent as usize) < state);
        let end = self.candidates.partition_point(|c| c.parent as usize <= state);
        &self.candidates[first..end]
    }
}

impl<'a> Breadth<'a> {
    fn new(shared: &'a Shared<'a>, level: &'a Level) -> Self {
        Breadth {
            worker: Worker::new(shared),
            level,
            output: Output::new(),
            batch: Batch::default(),
            next: Vec::new(),
        }
    }

    fn level(&mut self, todo: &Todo, frontier: u64, probe: bool) {
        while let Some(chunk) = todo.take() {
            if self.worker.shared.is_over() {
                break;
            }
            if let Err(error) = self.chunk(&chunk, probe) {
                self.worker.shared.fail(error);
            }
            self.level.release(chunk);
            self.worker.tell_bytes(0);
            self.worker.shared.pulse(frontier, self.level.bytes());
        }
        self.output.seal(self.level);
    }

    fn chunk(&mut self, chunk: &Chunk, probe: bool) -> Result<(), Error> {
        let shared = self.worker.shared;
        let mut cursor = Cursor::default();
        let mut batch = std::mem::take(&mut self.batch);
        loop {
            batch.clear();
            let session = (self.worker.opens_sessions() && !probe)
                .then(|| shared.table.session(TOGETHER * 32, shared.threads));
            let unlisted = self.fill(chunk, &mut cursor, session.as_ref(), probe, &mut batch)?;
            if batch.states.is_empty() || shared.is_over() {
                break;
            }
            shared.looked_at.fetch_add(batch.states.len() as u64, Relaxed);
            let generated = batch.candidates.len() as u64 + unlisted;
            if probe {
                shared.probed.fetch_add(generated, Relaxed);
                self.probe(&batch)?;
            } else {
                shared.generated.fetch_add(generated, Relaxed);
                shared.expanded.fetch_add(batch.states.len() as u64, Relaxed);
                self.insert(&batch, session)?;
            }
        }
        self.batch = batch;
        Ok(())
    }

    /// Reads and expands a few states; returns how many steps are counted without being candidates.
    fn fill(
        &mut self,
        chunk: &Chunk,
        cursor: &mut Cursor,
        session: Option<&Session<'_>>,
        probe: bool,
        batch: &mut Batch,
    ) -> Result<u64, Error> {
        let (mut unlisted, mut asleep) = (0, 0);
        while batch.states.len() < TOGETHER {
            let words = batch.words.len();
            let Some(read) = chunk.next(cursor, &mut batch.words) else { break };
            let Read { place, fingerprint, mark } = read;
            // What lies beyond the depth bound is all looked at.
            let mark = if probe { Mark::NONE } else { mark };
            batch.states.push(Member { words, fingerprint, mark, place });
        }
        let mut candidates = std::mem::take(&mut batch.candidates);
        for index in 0..batch.states.len() {
            let Member { fingerprint, place, mark, .. } = batch.states[index];
            let (vector, first) = (batch.vector(index), candidates.len());
            let number = index as u32;
            let expansion =
                self.worker.expand(vector, fingerprint, mark, number, &mut candidates)?;
            unlisted += expansion.stutters + expansion.asleep;
            asleep += expansion.asleep;
            let found = &candidates[first..];
            if let Some(session) = session {
                self.worker.prefetch(found, session);
            }
            if !expansion.goes_on && self.worker.watches_stuck || expansion.panics {
                let (goes_on, depth) = (expansion.goes_on, self.worker.shared.depth.load(Relaxed));
                let path = || path(self.level, place, fingerprint);
                self.worker.judge_expansion(vector, found, goes_on, depth, path)?;
            }
        }
        batch.candidates = candidates;
        self.worker.shared.asleep.fetch_add(asleep, Relaxed);
        Ok(unlisted)
    }

    /// At the depth bound: looks whether anything lies beyond.
    fn probe(&mut self, batch: &Batch) -> Result<(), Error> {
        // Once something is found there, the rest of the level is still judged, not probed.
        for (index, state) in batch.states.iter().enumerate() {
            if self.worker.shared.is_bounded() {
                break;
            }
            let candidates = batch.candidates_of(index);
            if self.worker.leads_on(batch.vector(index), state.fingerprint, candidates, None)? {
                self.worker.shared.bounded(Bound::Depth, false);
            }
        }
        Ok(())
    }

    fn insert(&mut self, batch: &Batch, session: Option<Session<'a>>) -> Result<(), Error> {
        let Breadth { worker, level, output, next, .. } = self;
        let level: &Level = level;
        let parent_of = |parent: u32| {
            (batch.vector(parent as usize), batch.states[parent as usize].fingerprint)
        };
        worker.insert_batch(&batch.candidates, parent_of, session, |worker, index, new| {
            let candidate = &batch.candidates[index];
            let parent = &batch.states[candidate.parent as usize];
            next.clear();
            let mark = worker.write(&new, parent_of(candidate.parent), candidate, next)?;
            output.push(new.fingerprint, next, mark, parent.place, level);
            if candidate.touches == Touches::Reads {
                let path = || path(level, parent.place, parent.fingerprint).then(new.fingerprint);
                worker.judge(next, path)?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// The way to the state at this place of the log, which has this fingerprint.
fn path(level: &Level, place: u64, fingerprint: u64) -> Path {
    Path { tags: level.log.tags(place), mask: TAG_MASK, end: fingerprint, panic: None }
}
