//! What the threads of a global search share, and what each of them does alike in any order of
//! exploration: insert, test properties, report.

use crate::engine::budget::Budget;
use crate::engine::commute::Mark;
use crate::engine::expand::{Candidate, Expander, Expansion, Touches};
use crate::engine::goals::{Goals, Sightings};
use crate::engine::por::sleep::{self, Follow, Sleeping};
use crate::engine::por::{Met, Plan, Reducer};
use crate::engine::{FoundWhat, Terminal, nothing_left, panicked};
use crate::error::Error;
use crate::model::property::PropertyKind;
use crate::model::step::guarded;
use crate::outcome::Bound;
use crate::space::exact::ExactSet;
use crate::space::symmetry::Symmetry;
use crate::space::table::{Insert, Session, Table};
use crate::space::{EventId, Initial, Space};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The way to a global state, as far as is remembered.
#[derive(Clone, Default, Debug)]
pub(crate) struct Path {
    /// For each state from the initial one on, these bits of its fingerprint.
    pub tags: Vec<u64>,
    /// Which bits those are.
    pub mask: u64,
    /// The fingerprint of the last state.
    pub end: u64,
    /// What the handler says that panics on the last event, if it ends so.
    pub panic: Option<String>,
}

impl Path {
    /// What is remembered of a state with this fingerprint.
    pub fn tag(&self, fingerprint: u64) -> u64 {
        fingerprint & self.mask
    }

    /// The same way and one step on.
    pub fn then(mut self, fingerprint: u64) -> Self {
        self.tags.push(self.tag(fingerprint));
        self.end = fingerprint;
        self
    }

    /// One more than the number of events.
    fn len(&self) -> usize {
        self.tags.len() + usize::from(self.panic.is_some())
    }
}

/// What all threads of a search share.
pub(crate) struct Shared<'a> {
    pub space: &'a dyn Space,
    pub budget: &'a Budget,
    pub threads: usize,
    pub groups: Option<&'a [Vec<usize>]>,
    /// What a reduced search preserves, if it is one.
    pub por: Option<&'a Plan>,
    /// What sleeps in which state of a reduced search, if anything may.
    sleeping: Option<Sleeping>,
    pub table: Table,
    pub exact: Option<ExactSet>,
    /// Set when the search is over: nobody need go on.
    pub over: AtomicBool,
    /// Set when a violation was found, but a shorter one may be in the same level.
    violated: AtomicBool,
    /// Whether a level is finished after a violation was found in it.
    finish_level: bool,
    pub generated: AtomicU64,
    /// How many of them were not followed: see [`commute`](crate::engine::commute).
    pub asleep: AtomicU64,
    /// How many steps a reduction has left out: see [`por`](crate::engine::por).
    pub left_out: AtomicU64,
    /// What would have been generated beyond the depth bound.
    pub probed: AtomicU64,
    /// How many initial states there are.
    pub initial: AtomicU64,
    pub depth: AtomicU64,
    pub stack_pushes: AtomicU64,
    pub lookups: AtomicU64,
    pub misses: AtomicU64,
    /// How many states were expanded.
    pub expanded: AtomicU64,
    /// Breadth-first: how many states were looked at, at the depth bound too.
    pub looked_at: AtomicU64,
    /// How many terminal states were judged, and how many not: see [`Terminal`].
    pub terminal: AtomicU64,
    pub withheld: AtomicU64,
    /// Breadth-first: how many states there are at each depth, where all are known.
    pub levels: Mutex<Vec<u64>>,
    pub goals: Sightings<Path>,
    memo_bytes: AtomicU64,
    ends: Mutex<Ends>,
    witnessed: Vec<AtomicBool>,
}

/// How the search ended, as far as it has.
#[derive(Default)]
pub(crate) struct Ends {
    pub error: Option<Error>,
    pub violation: Option<(FoundWhat, Path)>,
    pub witnesses: Vec<Option<Path>>,
    pub bound: Option<Bound>,
}

impl<'a> Shared<'a> {
    pub fn new(
        space: &'a dyn Space,
        budget: &'a Budget,
        threads: usize,
        exact: bool,
        groups: Option<&'a [Vec<usize>]>,
        por: Option<&'a Plan>,
        breadth_first: bool,
    ) -> Self {
        let properties = space.layout().properties.len();
        Shared {
            space,
            budget,
            threads,
            groups,
            por,
            sleeping: por.filter(|plan| plan.sleeps).map(|_| Sleeping::new()),
            table: Table::new(threads),
            exact: exact.then(ExactSet::new),
            over: AtomicBool::new(false),
            violated: AtomicBool::new(false),
            finish_level: breadth_first
                && space.layout().properties.iter().any(|(k, _)| *k == PropertyKind::NeverStuck),
            generated: AtomicU64::new(0),
            asleep: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
            probed: AtomicU64::new(0),
            initial: AtomicU64::new(0),
            depth: AtomicU64::new(0),
            stack_pushes: AtomicU64::new(0),
            lookups: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            expanded: AtomicU64::new(0),
            looked_at: AtomicU64::new(0),
            terminal: AtomicU64::new(0),
            withheld: AtomicU64::new(0),
            levels: Mutex::default(),
            goals: Sightings::new(space),
            memo_bytes: AtomicU64::new(0),
            ends: Mutex::new(Ends { witnesses: vec![None; properties], ..Ends::default() }),
            witnessed: (0..properties).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    fn ends(&self) -> std::sync::MutexGuard<'_, Ends> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn into_ends(self) -> (Ends, Sightings<Path>) {
        (self.ends.into_inner().unwrap_or_else(PoisonError::into_inner), self.goals)
    }

    /// Whether there is a property that forbids terminal states.
    pub fn watches_stuck(&self) -> bool {
        let mut properties = self.space.layout().properties.iter();
        properties.any(|(kind, _)| *kind == PropertyKind::NeverStuck)
    }

    /// How many distinct states there are so far.
    pub fn unique(&self) -> u64 {
        self.exact.as_ref().map_or_else(|| self.table.len(), ExactSet::len)
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// Does the work of one thread. If it panics, it was code of the system outside of its handlers
    /// (or the checker's own): the search cannot go on, but everybody is told.
    pub fn guard(&self, work: impl FnOnce()) {
        if let Err(message) = guarded(work) {
            self.fail(panicked(message));
        }
    }

    /// The search cannot go on.
    pub fn fail(&self, error: Error) {
        self.ends().error.get_or_insert(error);
        self.over.store(true, Relaxed);
    }

    /// A violation, unless one was found already that is no longer than this one.
    pub fn violate(&self, what: FoundWhat, path: Path) {
        let mut ends = self.ends();
        let shorter = |(_, known): &(FoundWhat, Path)| path.len() < known.len();
        if ends.violation.as_ref().is_none_or(shorter) {
            ends.violation = Some((what, path));
        }
        // A state of this level that is stuck has a shorter run than what was found behind
        // another state of it.
        self.violated.store(true, Relaxed);
        if !self.finish_level {
            self.over.store(true, Relaxed);
        }
    }

    /// A level has ended.
    pub fn end_level(&self) {
        if self.violated.load(Relaxed) {
            self.over.store(true, Relaxed);
        }
    }

    /// Whether something is known to have been left out.
    pub fn is_bounded(&self) -> bool {
        self.ends().bound.is_some()
    }

    /// Something kept the search from covering everything; `stop` if it is to end.
    pub fn bounded(&self, bound: Bound, stop: bool) {
        self.ends().bound.get_or_insert(bound);
        if stop {
            self.over.store(true, Relaxed);
        }
    }

    fn witness(&self, property: usize, path: Path) {
        if self.witnessed[property].swap(true, Relaxed) {
            return;
        }
        self.ends().witnesses[property] = Some(path);
        // Only if there is nothing left to refute or to find.
        let properties = self.space.layout().properties.iter().zip(&self.witnessed);
        if nothing_left(properties.map(|((kind, _), seen)| (*kind, seen.load(Relaxed)))) {
            self.over.store(true, Relaxed);
        }
    }

    /// Tells progress and stops the search if a bound is reached.
    pub fn pulse(&self, frontier: u64, stored: u64) {
        let states = self.unique();
        let memory = stored
            + self.table.bytes()
            + self.exact.as_ref().map_or(0, ExactSet::bytes)
            + self.sleeping.as_ref().map_or(0, Sleeping::bytes)
            + self.memo_bytes.load(Relaxed);
        let progress = &self.budget.progress;
        progress.states.store(states, Relaxed);
        progress.generated.store(self.generated.load(Relaxed), Relaxed);
        progress.depth.store(self.depth.load(Relaxed), Relaxed);
        progress.frontier.store(frontier, Relaxed);
        progress.memory.store(memory, Relaxed);
        if let Some(bound) = self.budget.reached(states, memory) {
            self.bounded(bound, true);
        }
    }
}

/// One thread of a search.
pub(crate) struct Worker<'a> {
    pub shared: &'a Shared<'a>,
    pub expander: Expander<'a>,
    symmetry: Option<Symmetry<'a>>,
    reducer: Option<Reducer<'a>>,
    /// For each candidate of a batch in a reduced search, what sleeps behind it.
    sleeps: Vec<Box<[EventId]>>,
    next: Vec<u32>,
    found: Vec<u32>,
    sorted: Vec<u32>,
    /// Whether there is a property that forbids terminal states.
    pub watches_stuck: bool,
    terminal: Terminal,
    told_bytes: u64,
    goals: Option<Goals>,
}

/// A state that turned out to be new.
pub(crate) struct New<'w> {
    /// Its vector, if it had to be made to find out.
    vector: Option<&'w [u32]>,
    /// What need not be followed from it, then.
    mark: Mark,
    pub fingerprint: u64,
}

impl<'a> Worker<'a> {
    pub fn new(shared: &'a Shared<'a>) -> Self {
        Worker {
            shared,
            expander: Expander::new(shared.space, shared.exact.is_some()),
            symmetry: shared.groups.map(|groups| Symmetry::new(shared.space, groups)),
            reducer: shared.por.map(|plan| Reducer::new(plan, shared.space.layout())),
            sleeps: Vec::new(),
            next: Vec::new(),
            found: Vec::new(),
            sorted: Vec::new(),
            watches_stuck: shared.watches_stuck(),
            terminal: Terminal::default(),
            told_bytes: 0,
            goals: Goals::new(shared.space),
        }
    }

    /// Appends everything that may happen in `vector` and must be followed to `candidates`.
    #[inline]
    pub fn expand(
        &mut self,
        vector: &[u32],
        fingerprint: u64,
        mark: Mark,
        parent: u32,
        candidates: &mut Vec<Candidate>,
    ) -> Result<Expansion, Error> {
        let Some(reducer) = &mut self.reducer else {
            return self.expander.expand(vector, fingerprint, mark, parent, candidates);
        };
        let first = candidates.len();
        // A mark tells what is followed elsewhere, which a reduction does not promise.
        let found = self.expander.expand(vector, fingerprint, Mark::NONE, parent, candidates)?;
        let follow = match &self.shared.sleeping {
            Some(sleeping) => sleeping.expand(fingerprint),
            None => Follow::default(),
        };
        let met = Met { vector, witnessed: &self.shared.witnessed, follow: &follow };
        reducer.reduce(&mut self.expander, met, first, candidates, &mut self.sleeps);
        Ok(found)
    }

    /// Whether fingerprints alone decide what is new; otherwise vectors must be made first.
    pub fn by_fingerprint(&self) -> bool {
        self.symmetry.is_none() && self.shared.exact.is_none()
    }

    /// Whether candidates are inserted in batches, within a session. Where events sleep, a state is
    /// inserted while its sleep set is held, which nobody must wait for within a session.
    pub fn opens_sessions(&self) -> bool {
        self.by_fingerprint() && self.shared.sleeping.is_none()
    }

    /// The initial states: calls `each` with each that is new, and its fingerprint.
    pub fn start(&mut self, mut each: impl FnMut(&[u32], u64)) -> Result<(), Error> {
        let vectors = match self.shared.space.initial()? {
            Initial::Vectors(vectors) => vectors,
            Initial::Panicked(message) => {
                self.shared.violate(FoundWhat::Panic(message), Path::default());
                return Ok(());
            }
        };
        for vector in vectors {
            self.shared.generated.fetch_add(1, Relaxed);
            self.shared.initial.fetch_add(1, Relaxed);
            self.check_blindness(&vector)?;
            let (vector, fingerprint) = self.representative(vector)?;
            if self.insert(fingerprint, &vector) {
                each(&vector, fingerprint);
                self.judge(&vector, || {
                    Path { mask: u64::MAX, ..Path::default() }.then(fingerprint)
                })?;
            }
        }
        Ok(())
    }

    fn representative(&mut self, vector: Vec<u32>) -> Result<(Vec<u32>, u64), Error> {
        match &mut self.symmetry {
            Some(symmetry) => {
                let found = symmetry.representative(&vector)?;
                Ok((self.expander.settled(found.vector), found.fingerprint))
            }
            None => {
                let fingerprint =
                    self.shared.space.layout().fingerprint(self.shared.space, &vector);
                Ok((vector, fingerprint))
            }
        }
    }

    /// Inserts one state; true if it is new.
    fn insert(&mut self, fingerprint: u64, vector: &[u32]) -> bool {
        if let Some(exact) = &self.shared.exact {
            self.expander.layout().plain(vector, &mut self.sorted);
            return exact.insert(fingerprint, &self.sorted);
        }
        loop {
            let session = self.shared.table.session(1, self.shared.threads);
            match session.insert(fingerprint) {
                Insert::New => {
                    self.shared.table.add_len(1);
                    return true;
                }
                Insert::Known => return false,
                Insert::Full => {
                    drop(session);
                    self.shared.table.grow_segment_of(fingerprint);
                }
            }
        }
    }

    /// Asks for the slots of candidates.
    #[inline]
    pub fn prefetch(&self, candidates: &[Candidate], session: &Session<'_>) {
        for candidate in candidates {
            session.prefetch(candidate.fingerprint);
        }
    }

    /// Inserts candidates of parents and calls `each` for every one that is new, with its index.
    pub fn insert_batch<'v>(
        &mut self,
        candidates: &[Candidate],
        parent_of: impl Fn(u32) -> (&'v [u32], u64),
        session: Option<Session<'a>>,
        mut each: impl FnMut(&mut Self, usize, New<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if let Some(sleeping) = &self.shared.sleeping {
            return self.insert_sleeping(sleeping, candidates, each);
        }
        let Some(session) = session else {
            return self.insert_whole(candidates, parent_of, each);
        };
        // First all insertions, with nothing else in between, then what comes of them.
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        self.insert_fingerprints(candidates, session, &mut found);
        for &index in &found {
            let fingerprint = candidates[index as usize].fingerprint;
            each(self, index as usize, New { vector: None, mark: Mark::NONE, fingerprint })?;
        }
        self.found = found;
        Ok(())
    }

    /// Writes the vector of a new state, a candidate of `parent`, behind what `out` has already;
    /// returns what need not be followed from it.
    #[inline]
    pub fn write(
        &mut self,
        new: &New<'_>,
        (parent, fingerprint): (&[u32], u64),
        candidate: &Candidate,
        out: &mut Vec<u32>,
    ) -> Result<Mark, Error> {
        match new.vector {
            None => self.expander.make(parent, fingerprint, candidate, out),
            Some(vector) => {
                out.extend_from_slice(vector);
                Ok(new.mark)
            }
        }
    }

    /// Inserts the fingerprints of candidates; notes in `found` which of them are new.
    fn insert_fingerprints(
        &mut self,
        candidates: &[Candidate],
        mut session: Session<'a>,
        found: &mut Vec<u32>,
    ) {
        let table = &self.shared.table;
        for (index, candidate) in candidates.iter().enumerate() {
            if candidate.touches == Touches::Panic {
                continue;
            }
            let mut insert = session.insert(candidate.fingerprint);
            while insert == Insert::Full {
                // Growing waits for all sessions, this one too.
                drop(session);
                table.grow_segment_of(candidate.fingerprint);
                session = table.session(0, 0);
                insert = session.insert(candidate.fingerprint);
            }
            if insert == Insert::New {
                found.push(index as u32);
            }
        }
        drop(session);
        table.add_len(found.len() as u64);
    }

    /// The same in a search where events sleep: a state may have to be expanded once more.
    fn insert_sleeping(
        &mut self,
        sleeping: &Sleeping,
        candidates: &[Candidate],
        mut each: impl FnMut(&mut Self, usize, New<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (index, candidate) in candidates.iter().enumerate() {
            if candidate.touches == Touches::Panic {
                continue;
            }
            let fingerprint = candidate.fingerprint;
            // Of a new state in which nothing sleeps nothing is stored. If it is known, whoever inserted it
            // held its part before, so it is met below with what sleeps in it.
            if self.sleeps[index].is_empty() && self.insert(fingerprint, &[]) {
                each(self, index, New { vector: None, mark: Mark::NONE, fingerprint })?;
                continue;
            }
            let mut part = sleeping.part(fingerprint);
            let is_new = self.insert(fingerprint, &[]);
            let again = sleep::meet(&mut part, fingerprint, &self.sleeps[index], is_new);
            drop(part);
            if is_new || again {
                each(self, index, New { vector: None, mark: Mark::NONE, fingerprint })?;
            }
        }
        Ok(())
    }

    /// The same where vectors, not fingerprints, decide what is new.
    fn insert_whole<'v>(
        &mut self,
        candidates: &[Candidate],
        parent_of: impl Fn(u32) -> (&'v [u32], u64),
        mut each: impl FnMut(&mut Self, usize, New<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (index, candidate) in candidates.iter().enumerate() {
            if candidate.touches == Touches::Panic {
                continue;
            }
            let (parent, parent_fingerprint) = parent_of(candidate.parent);
            let mut next = std::mem::take(&mut self.next);
            next.clear();
            let mut mark = self.expander.make(parent, parent_fingerprint, candidate, &mut next)?;
            if self.symmetry.is_some() && candidate.touches == Touches::Reads {
                self.check_blindness(&next)?;
            }
            let mut fingerprint = candidate.fingerprint;
            if self.symmetry.is_some() {
                (next, fingerprint) = self.representative(next)?;
                // What is expanded is not the state that was met.
                mark = Mark::NONE;
            }
            if self.insert(fingerprint, &next) {
                each(self, index, New { vector: Some(&next), mark, fingerprint })?;
            }
            self.next = next;
        }
        Ok(())
    }

    /// Properties must not tell interchangeable nodes apart: exchanging any two changes nothing.
    fn check_blindness(&mut self, vector: &[u32]) -> Result<(), Error> {
        let Some(symmetry) = &mut self.symmetry else { return Ok(()) };
        let layout = self.expander.layout();
        for other in symmetry.exchanged(vector)? {
            for property in 0..layout.properties.len() {
                let here = self.expander.memo.test(property, layout, vector)?;
                if here != self.expander.memo.test(property, layout, &other)? {
                    let name = self.shared.space.property_name(property);
                    return Err(tells_apart(&name));
                }
            }
            if let Some(goals) = &mut self.goals
                && let Some(name) = goals.differ(self.shared.space, vector, &other)?
            {
                return Err(tells_apart(&name));
            }
        }
        Ok(())
    }

    /// Tests the properties in a new state.
    #[inline]
    pub fn judge(&mut self, vector: &[u32], path: impl Fn() -> Path) -> Result<(), Error> {
        let layout = self.expander.layout();
        for (property, (kind, _)) in layout.properties.iter().enumerate() {
            match kind {
                PropertyKind::Always => {
                    if !self.expander.memo.test(property, layout, vector)? {
                        self.shared.violate(FoundWhat::Always(property), path());
                    }
                }
                PropertyKind::Sometimes => {
                    if !self.shared.witnessed[property].load(Relaxed)
                        && self.expander.memo.test(property, layout, vector)?
                    {
                        self.shared.witness(property, path());
                    }
                }
                PropertyKind::NeverStuck => {}
            }
        }
        match &self.goals {
            None => Ok(()),
            Some(_) => self.look_at_goals(vector, path),
        }
    }

    /// Notes which conjuncts of the goals are true in a new state.
    #[cold]
    fn look_at_goals(&mut self, vector: &[u32], path: impl Fn() -> Path) -> Result<(), Error> {
        let Some(goals) = &mut self.goals else { return Ok(()) };
        let shared = self.shared;
        goals.look(shared.space, vector, |goal, combination| {
            if !shared.goals.knows(goal, combination) {
                let path = path();
                shared.goals.report(goal, combination, (0, path.len() as u64 - 1), path);
            }
        })
    }

    /// Reports the panics among candidates, and the state if it is stuck and must not be.
    pub fn judge_expansion(
        &mut self,
        vector: &[u32],
        candidates: &[Candidate],
        goes_on: bool,
        depth: u64,
        path: impl Fn() -> Path,
    ) -> Result<(), Error> {
        let looks_terminal = !goes_on && self.watches_stuck;
        if looks_terminal && self.expander.is_withheld(vector) {
            self.terminal.withheld += 1;
        } else if looks_terminal {
            self.terminal.judged += 1;
            let layout = self.expander.layout();
            for (property, (kind, _)) in layout.properties.iter().enumerate() {
                if *kind == PropertyKind::NeverStuck
                    && !self.expander.memo.test(property, layout, vector)?
                {
                    self.shared.violate(FoundWhat::Stuck(property), path());
                }
            }
        }
        // At the depth bound, a run that ends in a panic is longer than the bound.
        if depth >= self.shared.budget.max_depth {
            return Ok(());
        }
        for candidate in candidates.iter().filter(|c| c.touches == Touches::Panic) {
            let message = self.expander.panic_message(vector, candidate)?;
            let path = Path { panic: Some(message.clone()), ..path() };
            self.shared.violate(FoundWhat::Panic(message), path);
        }
        Ok(())
    }

    /// Whether some candidate of a state leads to a state that is not known.
    ///
    /// `session` is the one that this thread holds, if it holds one: it must not open another, which
    /// could wait for somebody who waits for the first.
    pub fn leads_on(
        &mut self,
        vector: &[u32],
        fingerprint: u64,
        candidates: &[Candidate],
        session: Option<&Session<'_>>,
    ) -> Result<bool, Error> {
        for candidate in candidates {
            if candidate.touches == Touches::Panic {
                return Ok(true);
            }
            if self.by_fingerprint() {
                let known = match session {
                    Some(session) => session.contains(candidate.fingerprint),
                    None => self.shared.table.session(0, 0).contains(candidate.fingerprint),
                };
                if !known {
                    return Ok(true);
                }
                continue;
            }
            let mut next = std::mem::take(&mut self.next);
            self.expander.apply(vector, fingerprint, candidate, &mut next)?;
            let (next, fingerprint) = self.representative(next)?;
            let known = match &self.shared.exact {
                Some(exact) => {
                    self.expander.layout().plain(&next, &mut self.sorted);
                    exact.contains(fingerprint, &self.sorted)
                }
                None => self.shared.table.session(0, 0).contains(fingerprint),
            };
            self.next = next;
            if !known {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Tells how many bytes this thread uses: its memory of steps, and `more`.
    pub fn tell_bytes(&mut self, more: u64) {
        let bytes = self.expander.memo.bytes() + more;
        self.shared.memo_bytes.fetch_add(bytes.wrapping_sub(self.told_bytes), Relaxed);
        self.told_bytes = bytes;
    }
}

fn tells_apart(property: &str) -> Error {
    Error::System(format!(
        "property `{property}` tells nodes apart that are declared interchangeable"
    ))
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.shared.lookups.fetch_add(self.expander.memo.lookups, Relaxed);
        self.shared.misses.fetch_add(self.expander.memo.misses, Relaxed);
        let left_out = self.reducer.as_ref().map_or(0, |reducer| reducer.left_out);
        self.shared.left_out.fetch_add(left_out, Relaxed);
        self.shared.terminal.fetch_add(self.terminal.judged, Relaxed);
        self.shared.withheld.fetch_add(self.terminal.withheld, Relaxed);
    }
}
