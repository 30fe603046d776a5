//! What orders the steps of a trace: which step comes after which others whatever happens, and which critical sections
//! exclude each other.
//!
//! A *point* is a step that has to do with order. Everything else is an access, or nothing, and comes between two points
//! of its thread. A *section* is what a thread does from taking a lock until it gives it back; one that is not over when the
//! trace ends has no end. Sections of locks that only one thread takes are left out.
//!
//! A number can be another lock after the lock was made anew; it is one then. In other memory a lock has another number.
//!
//! What orders steps of different threads is said so that it holds in every run, and not only in this one:
//!
//! - At a barrier it is known who meets whom only if as many threads use it as meet there: then each round has all of them. If it
//!   is not known how many meet, or there are more threads than that, nothing is taken for granted.
//! - What is received from a channel as the k-th was sent as the k-th. In a run in which it is another one, two sends have changed places
//!   before: to send is to write to the channel, so that is found as a pair that can be reversed.

use crate::step::{Action, Event, Step};
use rustc_hash::{FxHashMap, FxHashSet};

/// From taking a lock until giving it back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Section {
    pub lock: u32,
    pub thread: u32,
    /// Whether others may hold the lock as well, if they share it.
    pub shared: bool,
    /// The step that takes the lock.
    pub begin: u32,
    /// The step that gives it back; [`OPEN`] if there is none.
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

/// The end of a section that has none: no step comes after it.
pub(super) const OPEN: u32 = u32::MAX;

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
    condition: u32,
    begin: u32,
    depth: u32,
}

/// A barrier: who arrives and who leaves, in the order of the trace.
#[derive(Default)]
struct Barrier {
    /// How many meet.
    count: Option<u64>,
    arrived: FxHashMap<u32, Vec<u32>>,
    left: FxHashMap<u32, Vec<u32>>,
}

/// A channel: what is sent and what is received, in the order of the trace.
#[derive(Default)]
struct Channel {
    sent: Vec<u32>,
    received: Vec<u32>,
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
    /// What is at an address: a lock, a condition variable, a barrier or a channel.
    here: FxHashMap<u64, u32>,
    holders: Vec<Vec<Holder>>,
    sections: Vec<Section>,
    waiting: FxHashMap<u32, Waiting>,
    /// Who wakes those who wait for a condition variable: thread and step.
    wakers: FxHashMap<u32, Vec<(u32, u32)>>,
    /// Who has waited: condition variable, thread, from which step to which.
    woken: Vec<(u32, u32, u32, u32)>,
    barriers: FxHashMap<u32, Barrier>,
    /// The barrier at which each thread has arrived last.
    arrived: FxHashMap<u32, u32>,
    /// How many meet at barriers of which it is not known where they are.
    counts: FxHashSet<u64>,
    channels: FxHashMap<u32, Channel>,
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
                let condition = self.thing(condition);
                let depth = self.give(at, thread, lock, true)?;
                self.waiting.insert(thread, Waiting { condition, begin: at, depth });
            }
            // It is what the thread has begun to wait for, also if another has ended that since.
            Event::WaitEnd { lock, .. } => {
                let waiting = self.waiting.remove(&thread);
                let Some(Waiting { condition, begin, depth }) = waiting else {
                    return Err(format!("step {at} ends to wait without having begun to"));
                };
                self.woken.push((condition, thread, begin, at));
                self.take(at, thread, lock, false, depth)?;
            }
            Event::Signal { condition, .. } | Event::Broadcast { condition, .. } => {
                let condition = self.thing(condition);
                self.wakers.entry(condition).or_default().push((thread, at));
            }
            Event::Barrier { address: 0, count, .. } => {
                self.counts.insert(count);
                return Ok(());
            }
            Event::Barrier { address, count, .. } => {
                let barrier = self.thing(address);
                self.barriers.entry(barrier).or_default().count = Some(count);
                return Ok(());
            }
            Event::BarrierEnter { address, .. } => {
                let barrier = self.thing(address);
                self.arrived.insert(thread, barrier);
                let barrier = self.barriers.entry(barrier).or_default();
                barrier.arrived.entry(thread).or_default().push(at);
            }
            // It is the barrier at which the thread has arrived: who leaves first may already have ended it.
            Event::BarrierLeave { .. } => {
                if let Some(barrier) = self.arrived.remove(&thread) {
                    let barrier = self.barriers.entry(barrier).or_default();
                    barrier.left.entry(thread).or_default().push(at);
                }
            }
            Event::Send { channel, .. } => {
                let channel = self.thing(channel);
                self.channels.entry(channel).or_default().sent.push(at);
            }
            Event::Receive { channel, .. } => {
                let channel = self.thing(channel);
                self.channels.entry(channel).or_default().received.push(at);
            }
            Event::Renew { address, .. } => {
                self.here.remove(&address);
                return Ok(());
            }
            // What is locked has a number of its own in each memory (`identity.rs`).
            Event::Allocate { .. } | Event::Free { .. } => return Ok(()),
            Event::Handle { .. } | Event::Injected | Event::Exit { .. } => return Ok(()),
            Event::Library { .. } | Event::Release { .. } => return Ok(()),
        }
        self.candidates.push(at);
        Ok(())
    }

    fn order(&mut self, first: u32, second: u32) {
        self.before.entry(second).or_default().push(first);
    }

    /// What is at an address: a number that nothing else has.
    fn thing(&mut self, address: u64) -> u32 {
        let next = self.holders.len() as u32;
        let thing = *self.here.entry(address).or_insert(next);
        if thing == next {
            self.holders.push(Vec::new());
        }
        thing
    }

    fn take(
        &mut self,
        at: u32,
        thread: u32,
        address: u64,
        shared: bool,
        depth: u32,
    ) -> Result<(), String> {
        let lock = self.thing(address);
        let holders = &mut self.holders[lock as usize];
        if let Some(holder) = holders.iter_mut().find(|holder| holder.thread == thread) {
            holder.depth += depth;
            return Ok(());
        }
        let section = Section { lock, thread, shared, begin: at, end: OPEN };
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
        let lock = self.thing(address);
        let holders = &mut self.holders[lock as usize];
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

    /// Everybody arrives at a barrier before anybody leaves it, round by round.
    fn meet(&mut self) {
        let mut unknown = self.counts.iter();
        let usual = match (unknown.next(), unknown.next()) {
            (Some(&count), None) => Some(count),
            _ => None,
        };
        for Barrier { count, arrived, left } in std::mem::take(&mut self.barriers).into_values() {
            // With others among them, a round is of whoever comes first.
            if count.or(usual) != Some(arrived.len() as u64) {
                continue;
            }
            for left in left.values() {
                for (round, &leave) in left.iter().enumerate() {
                    for enter in arrived.values().filter_map(|enters| enters.get(round)) {
                        self.order(*enter, leave);
                    }
                }
            }
        }
    }

    /// What is received was sent.
    fn receive(&mut self) {
        for Channel { sent, received } in std::mem::take(&mut self.channels).into_values() {
            for (&send, receive) in sent.iter().zip(received) {
                self.order(send, receive);
            }
        }
    }

    fn finish(mut self, steps: &[Step]) -> Model {
        self.wake();
        self.meet();
        self.receive();
        // Of one thread there is the order of the thread; what comes later in the trace comes before nothing.
        for (&at, sources) in &mut self.before {
            let thread = steps[at as usize].thread;
            sources.retain(|&source| source < at && steps[source as usize].thread != thread);
        }
        self.before.retain(|_, sources| !sources.is_empty());
        let mut locks: Vec<Vec<OfThread>> = Vec::new();
        locks.resize_with(self.holders.len(), Vec::new);
        let sections = std::mem::take(&mut self.sections);
        for (number, section) in sections.iter().enumerate() {
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
        for lock in &mut locks {
            let contended = lock.len() > 1 && lock.iter().any(|of| !of.exclusive.is_empty());
            if !contended {
                lock.clear();
            }
        }
        let mut holding = vec![Vec::<(u32, u32)>::new(); self.last.len()];
        let mut roles: FxHashMap<u32, Role> = FxHashMap::default();
        for (number, section) in sections.iter().enumerate() {
            if locks[section.lock as usize].is_empty() {
                continue;
            }
            roles.insert(section.begin, Role::Begin(number as u32));
            if section.end != OPEN {
                roles.insert(section.end, Role::End(number as u32));
            }
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
        Model { threads, points, before: self.before, sections, locks, holding }
    }
}
