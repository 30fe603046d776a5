//! What the one who leads the threads does: lets them live through a run, go on by an event, and end.

use super::fiber::{self, Fiber, Job};
use super::log::Entry;
use super::op::{Kind, NONE, Op};
use super::rules::Can;
use super::thread::{Thread, Waits};
use super::{CURRENT, MAX_CAUGHT, Runtime};
use allways::Error;
use std::rc::Rc;

impl Runtime {
    /// Whether the thread that runs does what is next in a run that is repeated: then it need not stop.
    #[inline]
    pub(super) fn goes_straight_on(&mut self, op: &Op) -> bool {
        if !self.is_repeating || !self.ready.is_empty() {
            return false;
        }
        let Some(entry) = self.log.entries.get(self.lived) else { return false };
        if entry.thread != self.running || !entry.op.is_same(op) || self.event_wakes() {
            return false;
        }
        self.begin_event(entry.thread, entry.alternative);
        true
    }

    /// Whether somebody may have waited for the event at hand.
    pub(super) fn event_wakes(&self) -> bool {
        let kind = |event: u32| self.log.entries.get(event as usize).map(|entry| entry.op.kind);
        kind(self.event).is_some_and(Kind::may_wake)
    }

    pub(super) fn create(
        &mut self,
        number: u32,
        (parent, process): (u32, u32),
        name: Option<String>,
        came_after: &[u32],
        job: Option<Rc<dyn Job>>,
    ) {
        let threads = &mut self.population.threads;
        while threads.len() <= number as usize {
            threads.push(Thread::default());
        }
        let fiber = match self.idle.pop() {
            Some(fiber) => fiber,
            None => match fiber::take(self.stack_size) {
                Ok(fiber) => fiber,
                Err(error) => {
                    let why = format!("there is no room for the stack of a thread: {error}");
                    self.error.get_or_insert(Error::System(why));
                    return;
                }
            },
        };
        threads[number as usize].begin(parent, process, name, came_after, fiber, job);
        self.present.push(number);
        self.ready.push(number);
    }

    /// Gives up the run and starts again. Its events stay in the log, to be repeated.
    pub(super) fn start_again(&mut self) {
        self.end_threads();
        for number in self.present.drain(..) {
            self.population.threads[number as usize].forget();
        }
        self.epoch += 1;
        self.made.clear();
        self.scopes.clear();
        self.lazies.clear();
        self.clocks.clear();
        self.has_time_passed = false;
        (self.event, self.lived) = (NONE, 0);
        self.failure = None;
        (self.skipped, self.idled) = (None, 0);
        for process in 0..self.mains.len() {
            let number = self.population.names.root(process);
            self.create(number, (NONE, process as u32), None, &[], None);
        }
        self.run_ready();
    }

    /// Forgets all but the first so many events.
    pub fn go_back(&mut self, len: usize) {
        if len < self.log.len() {
            self.log.truncate(len);
            if self.lived > len {
                self.lived = usize::MAX;
            }
        }
    }

    /// The threads have to live through the run again, also if nothing has happened in it.
    pub fn give_up(&mut self) {
        self.lived = usize::MAX;
    }

    /// Lets the threads live through the run, unless they have.
    pub fn live(&mut self) -> Result<(), Error> {
        while self.lived != self.log.len() || self.is_spoilt {
            if self.lived > self.log.len() || std::mem::take(&mut self.is_spoilt) {
                self.start_again();
            }
            self.is_repeating = true;
            while self.lived < self.log.len() && self.error.is_none() && !self.is_spoilt {
                let Entry { thread, alternative, op, .. } = self.log.entries[self.lived];
                match self.pending_of(thread) {
                    Some(pending) if pending.is_same(&op) => self.go_on(thread, alternative),
                    other => self.diverged(thread, &op, other),
                }
            }
            self.is_repeating = false;
            if let Some(error) = &self.error {
                return Err(error.clone());
            }
        }
        Ok(())
    }

    pub(super) fn pending_of(&self, thread: u32) -> Option<Op> {
        let thread = self.population.threads.get(thread as usize)?;
        thread.pending.filter(|_| thread.is_present && !thread.has_ended)
    }

    /// Lets a thread do what it is about to do, as the rules have it.
    pub fn perform(&mut self, thread: u32, alternative: u32, op: &Op, can: &Can) {
        let linked = self.rules(&[]).linked(op);
        let event = self.log.len() as u32;
        let mut value = can.value;
        match op.kind {
            Kind::Unlock | Kind::EndRead | Kind::EndWrite | Kind::Wait | Kind::OnceDone => {
                self.log.release(op.argument as u32, event, &[], event);
            }
            Kind::WokenOrLate if !can.succeeds => {
                self.log.release(op.argument as u32, event, &[], event);
            }
            Kind::NotifyOne | Kind::NotifyAll => {
                let waiting = self.rules(&[]).waiting(op.object);
                value = waiting.get(alternative as usize).map_or(u64::MAX, |&w| u64::from(w));
                for (index, waited) in waiting.into_iter().enumerate() {
                    if op.kind == Kind::NotifyAll || index == alternative as usize {
                        self.log.release(waited, event, &[], event);
                    }
                }
            }
            Kind::Release | Kind::ReleaseAll | Kind::Leave | Kind::PollReceive => {
                for queued in self.rules(&[]).let_through(op, can.succeeds) {
                    self.log.release(queued, event, &[], event);
                }
            }
            _ => {}
        }
        let entry = Entry {
            thread,
            alternative,
            op: *op,
            footprint: can.footprint,
            linked,
            before: NONE,
            step_before: NONE,
            needs: 0,
            came_after: 0,
            released: NONE,
            released_more: (0, 0),
            value,
            clock: 0,
            succeeded: can.succeeds,
        };
        let came_after = &self.population.threads[thread as usize].came_after;
        self.log.push(entry, came_after, can.needs);
        if can.taken != NONE {
            let taken = self.log.entries[can.taken as usize];
            if taken.released_more.0 != taken.released_more.1 {
                let more = self.log.released_more(&taken).to_vec();
                self.log.need(&more);
            }
        }
        self.go_on(thread, alternative);
        if self.is_spoilt {
            // If that goes wrong, it is said.
            let _ = self.live();
        }
    }

    /// The next event of the log is one of this thread.
    #[inline]
    pub(super) fn begin_event(&mut self, thread: u32, alternative: u32) {
        self.event = self.lived as u32;
        self.alternative = alternative;
        self.idled = 0;
        self.lived += 1;
        if self.has_time_passed {
            self.tick(thread, self.log.entries[self.event as usize].footprint);
        }
        self.population.threads[thread as usize].came_after.clear();
    }

    /// Lets a thread go on with the next event of the log, and if the run is repeated, with those that follow.
    pub(super) fn go_on(&mut self, thread: u32, alternative: u32) {
        self.begin_event(thread, alternative);
        self.resume(thread);
        if self.event_wakes() {
            self.wake();
        }
        self.run_ready();
    }

    /// Lets those go on who have waited for the event at hand.
    pub(super) fn wake(&mut self) {
        let event = self.event;
        let entry = self.log.entries[event as usize];
        for index in 0..self.present.len() {
            let number = self.present[index];
            let has_come = match self.population.threads[number as usize].waits {
                Waits::Notified(waited) => self.log.entries[waited as usize].released == event,
                Waits::Barrier { object, last } => {
                    entry.op.kind == Kind::Arrive
                        && entry.op.object == object
                        && entry.value == last
                }
                Waits::Received { channel, number } => {
                    entry.op.object == channel
                        && match entry.op.kind {
                            Kind::DropReceiver => true,
                            Kind::Receive | Kind::TryReceive | Kind::ReceiveOrLate => {
                                entry.succeeded && entry.value == number
                            }
                            _ => false,
                        }
                }
                Waits::Nothing | Waits::Thread(_) | Waits::Task(_) => false,
            };
            if has_come {
                let thread = &mut self.population.threads[number as usize];
                thread.waits = Waits::Nothing;
                thread.came_after.push(event);
                thread.clock = thread.clock.max(entry.clock);
                self.ready.push(number);
            }
        }
    }

    pub(super) fn run_ready(&mut self) {
        let mut next = 0;
        while next < self.ready.len() && self.failure.is_none() {
            let thread = self.ready[next];
            next += 1;
            self.resume(thread);
        }
        self.ready.clear();
    }

    /// A thread has ended: those who wait for that go on.
    pub(super) fn wake_joiners(&mut self, ended: u32) {
        for index in 0..self.present.len() {
            let number = self.present[index];
            let thread = &mut self.population.threads[number as usize];
            if matches!(thread.waits, Waits::Thread(other) | Waits::Task(other) if other == ended) {
                thread.waits = Waits::Nothing;
                self.ready.push(number);
            }
        }
    }

    /// Lets a thread run until it stops.
    pub(super) fn resume(&mut self, number: u32) {
        let thread = &mut self.population.threads[number as usize];
        let Some(fiber) = &mut thread.fiber else { return };
        let fiber: *mut Fiber = &raw mut **fiber;
        thread.pending = None;
        thread.runs = true;
        let outer = std::mem::replace(&mut self.running, number);
        let this: *mut Runtime = self;
        let before = CURRENT.replace(this);
        // Safety: fibers are boxed, and that of a thread that runs is not dropped.
        unsafe { Fiber::resume(fiber) };
        CURRENT.set(before);
        // Safety: the threads have stopped, and `this` is `self`.
        let this = unsafe { &mut *this };
        debug_assert!(this.trial.is_none(), "what is tried out is concluded");
        this.running = outer;
        let thread = &mut this.population.threads[number as usize];
        thread.runs = false;
        if thread.has_ended {
            this.idle.extend(thread.fiber.take());
            if !this.is_ending {
                this.wake_joiners(number);
            }
        }
    }

    /// Ends all threads of a run that is given up.
    pub(super) fn end_threads(&mut self) {
        self.ready.clear();
        let is_broken = self.failure.is_some() || self.error.is_some();
        self.is_ending = true;
        for index in 0..self.present.len() {
            let number = self.present[index];
            self.end_thread(number, is_broken);
        }
        self.free_kept(is_broken);
        self.is_ending = false;
    }

    /// Ends a thread: what it has on its stack is dropped, unless the run went wrong. If another one panics meanwhile, the run is not over, but this
    /// thread is.
    pub(super) fn end_thread(&mut self, number: u32, is_broken: bool) {
        if self.population.threads[number as usize].runs {
            // It is ending, and needs this one to end first.
            return;
        }
        let was_ending = std::mem::replace(&mut self.is_ending, true);
        for _ in 0..MAX_CAUGHT {
            let thread = &mut self.population.threads[number as usize];
            if thread.fiber.is_none() || !thread.has_begun || is_broken {
                break;
            }
            thread.ends_inside = std::thread::panicking();
            self.resume(number);
        }
        let thread = &mut self.population.threads[number as usize];
        let has_begun = thread.has_begun;
        match thread.fiber.take() {
            // What is on the stack is never used again, and never dropped.
            Some(fiber) if has_begun => self.idle.push(fiber.abandon()),
            fiber => self.idle.extend(fiber),
        }
        self.population.threads[number as usize].job = None;
        self.is_ending = was_ending;
    }

    /// While threads are ending, one of them needs what others have: those end first.
    pub fn end_holders(&mut self, object: u32) {
        let taken = |entry: &&Entry| entry.op.object == object && entry.released == NONE;
        let entries = self.log.entries.iter().rev().filter(taken);
        let mut holders: Vec<u32> = entries.map(|entry| entry.thread).collect();
        holders.dedup();
        holders.retain(|&holder| !self.is_borrowed(holder));
        for holder in holders {
            self.end_thread(holder, false);
        }
    }

    /// Whether one that runs may borrow from the stack of a thread, which must stay then.
    fn is_borrowed(&self, thread: u32) -> bool {
        let threads = &self.population.threads;
        let parent = |&thread: &u32| Some(threads[thread as usize].parent).filter(|&it| it != NONE);
        self.scopes.iter().any(|&(_, scoped)| {
            threads[scoped as usize].runs
                && std::iter::successors(Some(scoped), parent).any(|it| it == thread)
        })
    }

    #[cold]
    pub(super) fn diverged(&mut self, thread: u32, before: &Op, now: Option<Op>) {
        let what = |op: &Op| format!("{:?} at {}", op.kind, op.at);
        let now = now.map_or_else(|| "nothing more".to_owned(), |op| what(&op));
        let difference =
            format!("once it did {}, and {now} when the same run was repeated", what(before));
        self.running = thread;
        self.diverge(difference);
        self.running = NONE;
    }

    #[cold]
    pub(super) fn diverge(&mut self, difference: String) {
        let name = self.thread_name(self.running);
        self.error.get_or_insert(Error::System(format!(
            "thread `{name}` is not deterministic: {difference}; does it use a clock, random numbers or threads that are not allways_threads', or something that outlives a run?"
        )));
    }
}
