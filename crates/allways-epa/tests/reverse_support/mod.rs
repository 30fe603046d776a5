//! Traces for tests, and what can be reversed in them by brute force.
//!
//! How far each thread has come decides which locks are held and what has happened. So the places of all threads are
//! the whole state, and all beginnings of runs of a small trace can be walked: a pair can be reversed if a state can be reached that has the
//! second step behind it and the first ahead, whatever can be done from there. This knows
//! nothing of clocks, windows or solvers.
#![allow(dead_code)] // Each test uses its own part.

use allways_epa::step::{Action, Event, Place, Step};
use std::collections::{HashMap, HashSet};

/// A trace that is written down.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub steps: Vec<Step>,
    records: HashMap<u32, u64>,
}

impl Trace {
    pub fn add(&mut self, thread: u32, action: Action) -> usize {
        let record = self.records.entry(thread).or_default();
        self.steps.push(Step { thread, record: *record, site: None, action });
        *record += 1;
        self.steps.len() - 1
    }

    pub fn event(&mut self, thread: u32, event: Event) -> usize {
        self.add(thread, Action::Event(event))
    }

    pub fn read(&mut self, thread: u32, object: u32) -> usize {
        self.add(thread, Action::Read(Place { object, offset: 0, bytes: 4 }))
    }

    pub fn write(&mut self, thread: u32, object: u32) -> usize {
        self.add(thread, Action::Write(Place { object, offset: 0, bytes: 4 }))
    }

    pub fn begin(&mut self, thread: u32) -> usize {
        let parent = (thread > 0).then_some(0);
        self.event(thread, Event::Begin { thread: thread.into(), parent, child: 0, stamp: 0 })
    }

    /// A thread is created by another, and begins.
    pub fn create(&mut self, thread: u32, new: u32) {
        self.event(thread, Event::Create { stamp: 0, thread: new.into() });
        self.begin(new);
    }

    /// A thread ends, and another joins it.
    pub fn join(&mut self, thread: u32, ended: u32) {
        self.event(ended, Event::End { stamp: 0 });
        self.event(thread, Event::Join { stamp: 0, thread: ended.into() });
    }

    pub fn lock(&mut self, thread: u32, address: u64) -> usize {
        self.event(thread, Event::Lock { stamp: 0, address })
    }

    pub fn lock_shared(&mut self, thread: u32, address: u64) -> usize {
        self.event(thread, Event::LockShared { stamp: 0, address })
    }

    pub fn unlock(&mut self, thread: u32, address: u64) -> usize {
        self.event(thread, Event::Unlock { stamp: 0, address })
    }

    pub fn wait_begin(&mut self, thread: u32, condition: u64, lock: u64) -> usize {
        self.event(thread, Event::WaitBegin { stamp: 0, condition, lock })
    }

    pub fn wait_end(&mut self, thread: u32, condition: u64, lock: u64) -> usize {
        self.event(thread, Event::WaitEnd { stamp: 0, condition, lock })
    }

    pub fn signal(&mut self, thread: u32, condition: u64) -> usize {
        self.event(thread, Event::Signal { stamp: 0, condition })
    }

    pub fn enter(&mut self, thread: u32, address: u64) -> usize {
        self.event(thread, Event::BarrierEnter { stamp: 0, address })
    }

    pub fn leave(&mut self, thread: u32, address: u64) -> usize {
        self.event(thread, Event::BarrierLeave { stamp: 0, address })
    }
}

/// Whether two steps depend on each other.
pub fn dependent(one: &Step, other: &Step) -> bool {
    let place = |step: &Step| match step.action {
        Action::Read(place) => Some((place, false)),
        Action::Write(place) => Some((place, true)),
        Action::Event(_) => None,
    };
    let (Some((p, p_writes)), Some((q, q_writes))) = (place(one), place(other)) else {
        return false;
    };
    one.thread != other.thread
        && p.object == q.object
        && (p_writes || q_writes)
        && (p.offset..p.offset + p.bytes).any(|byte| (q.offset..q.offset + q.bytes).contains(&byte))
}

/// All beginnings of runs of a small trace.
pub struct Orders {
    /// The steps of each thread.
    threads: Vec<Vec<usize>>,
    /// Steps that have to be done before a step.
    before: Vec<Vec<usize>>,
    /// By thread and how far it has come: the locks that it holds, and whether it shares them.
    held: Vec<Vec<HashMap<u64, bool>>>,
    steps: Vec<Step>,
}

impl Orders {
    pub fn new(steps: &[Step]) -> Self {
        let count = steps.iter().map(|step| step.thread as usize + 1).max().unwrap_or(0);
        let mut threads = vec![Vec::new(); count];
        let mut held = vec![vec![HashMap::new()]; count];
        let mut before = vec![Vec::new(); steps.len()];
        let event = |at: usize| match steps[at].action {
            Action::Event(event) => Some(event),
            _ => None,
        };
        let all = 0..steps.len();
        for at in all.clone() {
            let thread = steps[at].thread as usize;
            threads[thread].push(at);
            let mut locks = held[thread].last().unwrap().clone();
            match event(at) {
                Some(Event::Begin { thread: number, .. }) => before[at].extend(all.clone().filter(
                    |&other| matches!(event(other), Some(Event::Create { thread, .. }) if thread == number),
                )),
                Some(Event::Join { thread: number, .. }) => before[at]
                    .extend(all.clone().filter(|&other| u64::from(steps[other].thread) == number)),
                Some(Event::Lock { address, .. }) => drop(locks.insert(address, false)),
                Some(Event::LockShared { address, .. }) => drop(locks.insert(address, true)),
                Some(Event::Unlock { address, .. }) => drop(locks.remove(&address)),
                Some(Event::WaitBegin { lock, .. }) => drop(locks.remove(&lock)),
                Some(Event::WaitEnd { lock, condition, .. }) => {
                    locks.insert(lock, false);
                    let mine = (0..at).filter(|&other| steps[other].thread as usize == thread);
                    let begin = mine.max().unwrap();
                    // It is known who it was if there is but one.
                    let wakers = all.clone().filter(|&other| match event(other) {
                        Some(
                            Event::Signal { condition: c, .. } | Event::Broadcast { condition: c, .. },
                        ) => c == condition && steps[other].thread as usize != thread,
                        _ => false,
                    });
                    if let [waker] = wakers.collect::<Vec<_>>()[..]
                        && (begin..at).contains(&waker)
                    {
                        before[at].push(waker);
                    }
                }
                Some(Event::BarrierLeave { address, .. }) => {
                    // If as many threads use it as meet there, a round is how often a thread was there.
                    let is_enter = |at: usize| matches!(event(at), Some(Event::BarrierEnter { address: a, .. }) if a == address);
                    let users: HashSet<u32> =
                        all.clone().filter(|&o| is_enter(o)).map(|o| steps[o].thread).collect();
                    let count = all.clone().find_map(|other| match event(other) {
                        Some(Event::Barrier { address: a, count, .. }) if a == address => Some(count),
                        _ => None,
                    });
                    let round = |at: usize| {
                        let thread = steps[at].thread;
                        (0..=at).filter(|&o| steps[o].thread == thread && is_enter(o)).count()
                    };
                    if count == Some(users.len() as u64) {
                        before[at].extend(
                            all.clone()
                                .filter(|&other| is_enter(other) && round(other) == round(at)),
                        );
                    }
                }
                Some(Event::Receive { channel, .. }) => {
                    let is_send = |at: usize| matches!(event(at), Some(Event::Send { channel: c, .. }) if c == channel);
                    let is_receive = |at: usize| matches!(event(at), Some(Event::Receive { channel: c, .. }) if c == channel);
                    let received = (0..at).filter(|&other| is_receive(other)).count();
                    before[at].extend(all.clone().filter(|&other| is_send(other)).nth(received));
                }
                _ => {}
            }
            held[thread].push(locks);
        }
        Orders { threads, before, held, steps: steps.to_vec() }
    }

    fn is_done(&self, state: &[usize], at: usize) -> bool {
        let thread = self.steps[at].thread as usize;
        self.threads[thread][..state[thread]].contains(&at)
    }

    /// Whether a thread can do its next step.
    fn can(&self, state: &[usize], thread: usize) -> bool {
        let Some(&at) = self.threads[thread].get(state[thread]) else { return false };
        if !self.before[at].iter().all(|&other| self.is_done(state, other)) {
            return false;
        }
        let after = &self.held[thread][state[thread] + 1];
        (0..self.threads.len()).filter(|&other| other != thread).all(|other| {
            let theirs = &self.held[other][state[other]];
            theirs.iter().all(|(lock, shared)| match after.get(lock) {
                Some(mine) => *mine && *shared,
                None => true,
            })
        })
    }

    /// The states that can be reached.
    fn states(&self) -> HashSet<Vec<usize>> {
        let mut reached = HashSet::new();
        let mut pending = vec![vec![0; self.threads.len()]];
        while let Some(state) = pending.pop() {
            if !reached.insert(state.clone()) {
                continue;
            }
            for thread in 0..self.threads.len() {
                if self.can(&state, thread) {
                    let mut next = state.clone();
                    next[thread] += 1;
                    pending.push(next);
                }
            }
        }
        let end: Vec<usize> = self.threads.iter().map(Vec::len).collect();
        assert!(reached.contains(&end), "the trace itself is no order");
        reached
    }

    /// All pairs of steps that depend on each other, and whether each can be reversed.
    pub fn pairs(&self) -> Vec<(usize, usize, bool)> {
        let states = self.states();
        let mut pairs = Vec::new();
        for second in 0..self.steps.len() {
            for first in 0..second {
                if dependent(&self.steps[first], &self.steps[second]) {
                    let reversed = states
                        .iter()
                        .any(|state| self.is_done(state, second) && !self.is_done(state, first));
                    pairs.push((first, second, reversed));
                }
            }
        }
        pairs
    }

    /// Whether this is the beginning of a run.
    pub fn has(&self, order: &[usize]) -> bool {
        let mut state = vec![0; self.threads.len()];
        for &at in order {
            let thread = self.steps[at].thread as usize;
            if self.threads[thread].get(state[thread]) != Some(&at) || !self.can(&state, thread) {
                return false;
            }
            state[thread] += 1;
        }
        true
    }
}
