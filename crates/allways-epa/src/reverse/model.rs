//! What orders the steps of a trace: which step comes after which others whatever happens, and which critical sections
//! exclude each other.
//!
//! A *point* is a step that has to do with order. Everything else is an access, or nothing, and comes between two points
//! of its thread. A *section* is what a thread does from taking a lock until it gives it back. What follows is left out of
//! the sections, because it is order and not choice, or nothing at all:
//!
//! - Sections that are not over when the trace ends. All steps of the trace are to be ordered, so sections that exclude
//!   such a one cannot come after it: they come before it, always.
//! - Sections of locks that only one thread takes.
//!
//! An address can be another lock after its memory was given back; it is one then.

use crate::step::{Action, Event, Step};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// From taking a lock until giving it back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Section {
    pub lock: u32,
    pub thread: u32,
    /// Whether others may hold the lock as well, if they share it.
    pub shared: bool,
    /// The step that takes the lock.
    pub begin: u32,
    /// The step that gives it back.
    pub end: u32,
}

impl Section {
    pub fn excludes(&self, other: &Section) -> bool {
        self.lock == other.lock && self.thread != other.thread && !(self.shared && other.shared)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Takes the lock of this section.
    Begin(u32),
    /// Gives it back.
    End(u32),
    /// Comes before or after others.
    Other,
}

/// A step that has to do with order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub step: u32,
    pub thread: u32,
    pub role: Role,
}

/// The sections of a lock in one thread, as they come.
#[derive(Clone, Default, Debug)]
pub(super) struct OfThread {
    pub thread: u32,
    pub all: Vec<u32>,
    pub exclusive: Vec<u32>,
}

/// Which steps come before a step.
pub(super) type Before = FxHashMap<u32, Vec<u32>>;

pub(super) struct Model {
    pub threads: usize,
    /// In the order of the trace.
    pub points: Vec<Point>,
    /// Order between threads that is there whatever happens.
    pub before: Before,
    pub sections: Vec<Section>,
    /// By lock, then by thread.
    pub locks: Vec<Vec<OfThread>>,
    /// By thread: from where to where it holds a lock, one after the other.
    pub holding: Vec<Vec<(u32, u32)>>,
}

/// The end of a section that has none.
const OPEN: u32 = u32::MAX;

impl Model {
    pub fn new(steps: &[Step]) -> Result<Model, String> {
        if steps.len() >= OPEN as usize {
            return Err("the trace has too many steps to look for reversible pairs".to_owned());
        }
        let mut builder = Builder::default();
        for (at, step) in steps.iter().enumerate() {
            builder.step(at as u32, step, steps.len())?;
        }
        Ok(builder.finish(steps))
    }
}

/// Who holds a lock: how often the thread has taken it, and the section since the first time.
struct Holder {
    thread: u32,
    section: u32,
    depth: u32,
}

/// A thread that waits for a condition variable: since when, and how often it had taken the lock.
struct Waiting {
    condition: u64,
    begin: u32,
    depth: u32,
}

/// A barrier: who has arrived, round by round, and in which round each thread is.
#[derive(Default)]
struct Barrier {
    arrived: Vec<u32>,
    left: bool,
    round: usize,
    rounds: FxHashMap<usize, Vec<u32>>,
    of_thread: FxHashMap<u32, usize>,
}

/// A trace may have so many threads without steps.
const MAX_IDLE: usize = 1 << 16;

#[derive(Default)]
struct Builder {
    last: Vec<Option<u32>>,
    numbers: FxHashMap<u64, u32>,
    created: FxHashMap<u64, u32>,
    before: Before,
    candidates: Vec<u32>,
    lock_at: BTreeMap<u64, u32>,
    allocated: FxHashMap<u64, u64>,
    holders: Vec<Vec<Holder>>,
    sections: Vec<Section>,
    waiting: FxHashMap<u32, Waiting>,
    /// Who wakes those who wait for a condition variable: thread and step.
    wakers: FxHashMap<u64, Vec<(u32, u32)>>,
    /// Who has waited: condition variable, thread, from which step to which.
    woken: Vec<(u64, u32, u32, u32)>,
    barriers: FxHashMap<u64, Barrier>,
}

impl Builder {
    fn step(&mut self, at: u32, step: &Step, count: usize) -> Result<(), String> {
        let thread = step.thread;
        if thread as usize >= self.last.len() {
            // Some threads may have no steps, but a number that is much too large would take much memory.
            if thread as usize >= count.max(MAX_IDLE) {
                return Err(format!("step {at} is of thread {thread}, which cannot be"));
            }
            self.last.resize(thread as usize + 1, None);
        }
        if let Action::Event(event) = step.action {
            self.event(at, thread, event)?;
        }
        self.last[thread as usize] = Some(at);
        Ok(())
    }

    fn event(&mut self, at: u32, thread: u32, event: Event) -> Result<(), String> {
        match event {
            Event::Begin { thread: number, .. } => {
                self.numbers.insert(number, thread);
                if let Some(&create) = self.created.get(&number) {
                    self.order(create, at);
                }
            }
            Event::End { .. } => {}
            Event::Create { thread: number, .. } => {
                self.created.insert(number, at);
            }
            Event::Join { thread: number, .. } => {
                let joined = self.numbers.get(&number).copied();
                if let Some(end) = joined.and_then(|joined| self.last[joined as usize]) {
                    self.order(end, at);
                }
            }
            Event::Lock { address, .. } => self.take(at, thread, address, false, 1)?,
            Event::LockShared { address, .. } => self.take(at, thread, address, true, 1)?,
            Event::Unlock { address, .. } => {
                self.give(at, thread, address, false)?;
            }
            Event::WaitBegin { condition, lock, .. } => {
                let depth = self.give(at, thread, lock, true)?;
                self.waiting.insert(thread, Waiting { condition, begin: at, depth });
            }
            Event::WaitEnd { condition, lock, .. } => {
                let waiting = self.waiting.remove(&thread).filter(|w| w.condition == condition);
                let Some(Waiting { begin, depth, .. }) = waiting else {
                    return Err(format!("step {at} ends to wait without having begun to"));
                };
                self.woken.push((condition, thread, begin, at));
                self.take(at, thread, lock, false, depth)?;
            }
            Event::Signal { condition, .. } => {
                self.wakers.entry(condition).or_default().push((thread, at));
            }
            Event::Broadcast { condition, .. } => {
                self.wakers.entry(condition).or_default().push((thread, at));
            }
            Event::BarrierEnter { address, .. } => {
                self.barriers.entry(address).or_default().enter(at, thread);
            }
            Event::BarrierLeave { address, .. } => {
                let barrier = self.barriers.entry(address).or_default();
                self.before.entry(at).or_default().extend(barrier.leave(thread));
            }
            Event::Allocate { address, bytes, .. } => {
                self.allocated.insert(address, bytes);
                return Ok(());
            }
            Event::Free { address, .. } => {
                let bytes = self.allocated.remove(&address).unwrap_or(0);
                let range = address..address.saturating_add(bytes);
                let gone: Vec<u64> = self.lock_at.range(range).map(|(&lock, _)| lock).collect();
                for lock in gone {
                    self.lock_at.remove(&lock);
                }
                return Ok(());
            }
            Event::Handle { .. } | Event::Injected | Event::Exit { .. } => return Ok(()),
            Event::Library { .. } | Event::Release { .. } => return Ok(()),
            Event::Barrier { .. } | Event::Renew { .. } => return Ok(()),
            Event::Send { .. } | Event::Receive { .. } => return Ok(()),
        }
        self.candidates.push(at);
        Ok(())
    }

    fn order(&mut self, first: u32, second: u32) {
        self.before.entry(second).or_default().push(first);
    }

    fn lock(&mut self, address: u64) -> usize {
        let next = self.holders.len() as u32;
        let lock = *self.lock_at.entry(address).or_insert(next);
        if lock == next {
            self.holders.push(Vec::new());
        }
        lock as usize
    }

    fn take(
        &mut self,
        at: u32,
        thread: u32,
        address: u64,
        shared: bool,
        depth: u32,
    ) -> Result<(), String> {
        let lock = self.lock(address);
        let holders = &mut self.holders[lock];
        if let Some(holder) = holders.iter_mut().find(|holder| holder.thread == thread) {
            holder.depth += depth;
            return Ok(());
        }
        let section = Section { lock: lock as u32, thread, shared, begin: at, end: OPEN };
        let other = holders.iter().map(|holder| self.sections[holder.section as usize]);
        if let Some(other) = { other }.find(|other| section.excludes(other)) {
            return Err(format!(
                "step {at} takes the lock at {address:#x}, which thread {} has since step {}",
                other.thread, other.begin
            ));
        }
        holders.push(Holder { thread, section: self.sections.len() as u32, depth });
        self.sections.push(section);
        Ok(())
    }

    /// Gives a lock back once, or as often as it was taken; how often it was given back.
    fn give(&mut self, at: u32, thread: u32, address: u64, all: bool) -> Result<u32, String> {
        let lock = self.lock(address);
        let holders = &mut self.holders[lock];
        let Some(place) = holders.iter().position(|holder| holder.thread == thread) else {
            return Err(format!(
                "step {at} gives back the lock at {address:#x}, which its thread does not have"
            ));
        };
        let given = if all { holders[place].depth } else { 1 };
        holders[place].depth -= given;
        if holders[place].depth == 0 {
            let holder = holders.swap_remove(place);
            self.sections[holder.section as usize].end = at;
        }
        Ok(given)
    }

    /// One who was woken goes on after whoever woke it. It is known who that was only if there is but one who wakes anybody there; the
    /// wait need not have begun before: who comes later, and finds what it was to wait for, does not wait.
    fn wake(&mut self) {
        for (condition, thread, begin, at) in std::mem::take(&mut self.woken) {
            let wakers = self.wakers.get(&condition).map_or(&[][..], Vec::as_slice);
            let mut others = wakers.iter().filter(|(other, _)| *other != thread);
            if let (Some(&(_, waker)), None) = (others.next(), others.next())
                && (begin..at).contains(&waker)
            {
                self.order(waker, at);
            }
        }
    }

    fn finish(mut self, steps: &[Step]) -> Model {
        self.wake();
        let mut locks: Vec<Vec<OfThread>> = Vec::new();
        locks.resize_with(self.holders.len(), Vec::new);
        let (open, closed): (Vec<Section>, Vec<Section>) =
            self.sections.iter().partition(|section| section.end == OPEN);
        for (number, section) in closed.iter().enumerate() {
            let lock = &mut locks[section.lock as usize];
            let place = lock.iter().position(|of| of.thread == section.thread);
            let place = place.unwrap_or_else(|| {
                lock.push(OfThread { thread: section.thread, ..OfThread::default() });
                lock.len() - 1
            });
            lock[place].all.push(number as u32);
            if !section.shared {
                lock[place].exclusive.push(number as u32);
            }
        }
        for section in open {
            for of in &locks[section.lock as usize] {
                let numbers = if section.shared { &of.exclusive } else { &of.all };
                if let Some(&last) = numbers.last().filter(|_| of.thread != section.thread) {
                    self.order(closed[last as usize].end, section.begin);
                }
            }
        }
        for lock in &mut locks {
            let contended = lock.len() > 1 && lock.iter().any(|of| !of.exclusive.is_empty());
            if !contended {
                lock.clear();
            }
        }
        let mut holding = vec![Vec::<(u32, u32)>::new(); self.last.len()];
        let mut roles: FxHashMap<u32, Role> = FxHashMap::default();
        for (number, section) in closed.iter().enumerate() {
            if locks[section.lock as usize].is_empty() {
                continue;
            }
            roles.insert(section.begin, Role::Begin(number as u32));
            roles.insert(section.end, Role::End(number as u32));
            let holding = &mut holding[section.thread as usize];
            match holding.last_mut().filter(|last| section.begin < last.1) {
                Some(last) => last.1 = last.1.max(section.end),
                None => holding.push((section.begin, section.end)),
            }
        }
        let mut ordered: FxHashSet<u32> = self.before.keys().copied().collect();
        ordered.extend(self.before.values().flatten());
        // The last step of a thread that has no end is none of the candidates.
        self.candidates.extend(&ordered);
        self.candidates.sort_unstable();
        self.candidates.dedup();
        let points = self.candidates.iter().filter_map(|&step| {
            let role = roles.get(&step).copied();
            let role = role.or_else(|| ordered.contains(&step).then_some(Role::Other))?;
            Some(Point { step, thread: steps[step as usize].thread, role })
        });
        let points = points.collect();
        let threads = self.last.len();
        Model { threads, points, before: self.before, sections: closed, locks, holding }
    }
}

impl Barrier {
    fn enter(&mut self, at: u32, thread: u32) {
        if self.left {
            self.left = false;
            self.rounds.insert(self.round, std::mem::take(&mut self.arrived));
            self.round += 1;
        }
        self.arrived.push(at);
        self.of_thread.insert(thread, self.round);
    }

    /// Who arrived in the round of this thread. A round has all its arrivals when the first leaves, and each leaves once.
    fn leave(&mut self, thread: u32) -> Vec<u32> {
        let Some(round) = self.of_thread.remove(&thread) else { return Vec::new() };
        if round == self.round {
            self.left = true;
            return self.arrived.clone();
        }
        // Rounds that everybody has left are not needed any more.
        let arrived = self.rounds.get(&round).cloned().unwrap_or_default();
        if !self.of_thread.values().any(|&other| other == round) {
            self.rounds.remove(&round);
        }
        arrived
    }
}
