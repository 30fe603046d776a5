//! What programs can do, found by an explorer that shares no code with the library.
//!
//! It goes from state to state, and a state knows what every thread has seen. Everything that others could notice is
//! a step of its own, also what the checker takes together.

use super::ends::Channel;
use crate::plan::{ATOMICS, CELLS, MUTEXES, Op, Plan};
use crate::run::{Seen, code};
use std::collections::{BTreeSet, HashSet};

/// What a thread has to do.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Todo<'p> {
    /// An operation, and the mutex that was locked last.
    Do(&'p Op, Option<usize>),
    Retry(usize, u8, u8),
    Unlock(usize),
    EndRead,
    EndWrite,
    /// Waits for a notification, or long enough.
    Notified(usize, bool),
    /// And whether it has waited too long, if it may.
    Relock(usize, Option<bool>),
    /// Waits until so many have arrived, of which it may be the last.
    Arrived(usize, bool),
    /// Waits until this message is received.
    Received(usize, u64),
    /// Waits for a sender, or long enough.
    Handed(usize, bool),
    OnceDone(usize),
    Spawn(usize),
    Join(usize),
    DropSenders(usize),
    DropReceiver(usize),
    End,
}

#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Actor<'p> {
    /// The next one is the last.
    pub todo: Vec<Todo<'p>>,
    pub has_ended: bool,
    spawned: Vec<bool>,
    pub joined: Vec<bool>,
    pub senders: Vec<usize>,
    pub receivers: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Once {
    Empty,
    Busy,
    Done(u8),
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct State<'p> {
    pub actors: Vec<Actor<'p>>,
    seen: Seen,
    atomics: [u8; ATOMICS],
    is_locked: [bool; MUTEXES],
    values: [u8; MUTEXES],
    waiting: [Vec<usize>; MUTEXES],
    readers: usize,
    writes: bool,
    value: u8,
    arrived: usize,
    pub channels: Vec<Channel>,
    cells: [Once; CELLS],
    tokens: Vec<bool>,
}

/// What was seen in all runs; whether two threads can access the cell at once.
pub struct Found {
    pub seen: BTreeSet<Seen>,
    pub races: bool,
}

/// Explores a program, unless that takes too many states.
pub fn explore(plan: &Plan, most: usize) -> Option<Found> {
    let mut known = HashSet::new();
    let mut open = vec![State::start(plan)];
    known.insert(open[0].clone());
    let mut found = Found { seen: BTreeSet::new(), races: false };
    while let Some(state) = open.pop() {
        found.races |= state.races();
        let mut next = Vec::new();
        for actor in 0..state.actors.len() {
            state.steps(plan, actor, &mut next);
        }
        if next.is_empty() {
            found.seen.insert(state.seen.clone());
        }
        for state in next {
            if known.insert(state.clone()) {
                open.push(state);
            }
        }
        if known.len() > most {
            return None;
        }
    }
    Some(found)
}

impl<'p> State<'p> {
    fn start(plan: &'p Plan) -> Self {
        let mut state = State {
            actors: vec![Actor::default(); plan.threads.len()],
            seen: vec![Vec::new(); plan.threads.len()],
            atomics: [0; ATOMICS],
            is_locked: [false; MUTEXES],
            values: [0; MUTEXES],
            waiting: [const { Vec::new() }; MUTEXES],
            readers: 0,
            writes: false,
            value: 0,
            arrived: 0,
            channels: plan.channels.iter().map(Channel::new).collect(),
            cells: [Once::Empty; CELLS],
            tokens: vec![false; plan.threads.len()],
        };
        let channels = plan.channels.len();
        state.begin(plan, 0, vec![1; channels], vec![true; channels]);
        state
    }

    /// A thread begins, with these ends of channels.
    fn begin(&mut self, plan: &'p Plan, me: usize, senders: Vec<usize>, receivers: Vec<bool>) {
        let count = plan.threads.len();
        let early = (1..count).filter(|&child| plan.threads[child].early);
        let mut todo: Vec<Todo<'p>> = early.map(Todo::Spawn).collect();
        todo.extend(plan.threads[me].ops.iter().map(|op| Todo::Do(op, None)));
        todo.extend((1..count).map(Todo::Spawn));
        todo.extend((1..count).map(Todo::Join));
        if me == 0 || !plan.threads[me].returns {
            for channel in 0..plan.channels.len() {
                todo.extend([Todo::DropSenders(channel), Todo::DropReceiver(channel)]);
            }
        }
        todo.push(Todo::End);
        todo.reverse();
        let (spawned, joined) = (vec![false; count], vec![false; count]);
        self.actors[me] = Actor { todo, has_ended: false, spawned, joined, senders, receivers };
        self.settle(plan, me);
    }

    pub fn see(&mut self, me: usize, value: u8) {
        self.seen[me].push(value);
    }

    fn push_all(&mut self, me: usize, body: &'p [Op], held: Option<usize>) {
        let ops = body.iter().rev().map(|op| Todo::Do(op, held));
        self.actors[me].todo.extend(ops);
    }

    /// Does what a thread does for itself.
    fn settle(&mut self, plan: &'p Plan, me: usize) {
        while let Some(todo) = self.actors[me].todo.last().cloned() {
            let is_local = match todo {
                Todo::Do(Op::If(value, op), held) => {
                    self.actors[me].todo.pop();
                    if self.seen[me].last() == Some(value) {
                        self.actors[me].todo.push(Todo::Do(op, held));
                    }
                    continue;
                }
                Todo::Spawn(child) | Todo::Do(&Op::Spawn(child), _) => {
                    self.actors[me].todo.pop();
                    self.spawn(plan, me, child);
                    continue;
                }
                Todo::Do(&Op::CloneSender(c), _) => {
                    if self.has_sender(me, c) {
                        self.actors[me].senders[c] += 1;
                        self.channels[c].senders += 1;
                    }
                    true
                }
                Todo::Do(Op::Wait | Op::WaitTimeout, held) => held.is_none(),
                Todo::Do(
                    &(Op::Send(c, _) | Op::TrySend(c, _) | Op::Offer(c, _) | Op::DropSender(c)),
                    _,
                ) => !self.has_sender(me, c),
                Todo::Do(&(Op::Recv(c) | Op::TryRecv(c) | Op::RecvTimeout(c) | Op::Poll(c)), _) => {
                    !self.has_receiver(me, c)
                }
                Todo::Do(&Op::DropReceiver(c), _) | Todo::DropReceiver(c) => {
                    !self.has_receiver(me, c)
                }
                Todo::DropSenders(c) => !self.has_sender(me, c),
                Todo::Do(&Op::Unpark(0), _) => me == 0,
                Todo::Do(&(Op::Unpark(child) | Op::Join(child) | Op::IsFinished(child)), _) => {
                    !self.has_handle(me, child)
                }
                Todo::Join(child) => !self.has_handle(me, child),
                _ => false,
            };
            if !is_local {
                return;
            }
            self.actors[me].todo.pop();
        }
    }

    pub fn has_sender(&self, me: usize, channel: usize) -> bool {
        self.actors[me].senders.get(channel).is_some_and(|&count| count > 0)
    }

    pub fn has_receiver(&self, me: usize, channel: usize) -> bool {
        self.actors[me].receivers.get(channel).is_some_and(|&has| has)
    }

    fn has_handle(&self, me: usize, child: usize) -> bool {
        let actor = &self.actors[me];
        child < actor.spawned.len() && actor.spawned[child] && !actor.joined[child]
    }

    fn spawn(&mut self, plan: &'p Plan, me: usize, child: usize) {
        let Some(body) = plan.threads.get(child) else { return };
        if body.parent != me || std::mem::replace(&mut self.actors[me].spawned[child], true) {
            return;
        }
        let (mut senders, mut receivers) = (Vec::new(), Vec::new());
        for (index, channel) in plan.channels.iter().enumerate() {
            let copied = body.sends >> index & 1 == 1 && self.has_sender(me, index);
            senders.push(copied.into());
            self.channels[index].senders += usize::from(copied);
            let moved = self.has_receiver(me, index) && plan.leads_to(child, channel.owner);
            receivers.push(moved);
            self.actors[me].receivers[index] &= !moved;
        }
        self.begin(plan, child, senders, receivers);
    }

    /// Whether two threads are about to access the cell, and one of them writes.
    fn races(&self) -> bool {
        let about_to = |op: &Op| {
            let is_it = |actor: &&Actor<'_>| {
                actor
                    .todo
                    .last()
                    .is_some_and(|todo| matches!(todo, Todo::Do(other, _) if *other == op))
            };
            self.actors.iter().filter(is_it).count()
        };
        let writers = about_to(&Op::RaceWrite);
        writers > 1 || writers == 1 && about_to(&Op::RaceRead) > 0
    }

    /// Adds the states that a thread can lead to.
    fn steps(&self, plan: &'p Plan, me: usize, into: &mut Vec<Self>) {
        let Some(todo) = self.actors[me].todo.last().cloned() else { return };
        let first = into.len();
        let mut next = self.clone();
        next.actors[me].todo.pop();
        match todo {
            Todo::Do(op, held) => next.perform(plan, (op, held), me, into),
            Todo::Retry(a, value, most) => {
                if next.atomics[a] == value || most <= 1 {
                    next.see(me, (next.atomics[a] == value).into());
                } else {
                    next.actors[me].todo.push(Todo::Retry(a, value, most - 1));
                }
                into.push(next);
            }
            Todo::Unlock(m) => {
                next.is_locked[m] = false;
                into.push(next);
            }
            Todo::EndRead => {
                next.readers -= 1;
                into.push(next);
            }
            Todo::EndWrite => {
                next.writes = false;
                into.push(next);
            }
            Todo::Notified(m, may_be_late) => {
                let waits = next.waiting[m].contains(&me);
                if !waits || may_be_late {
                    next.waiting[m].retain(|&other| other != me);
                    let is_late = may_be_late.then_some(waits);
                    next.actors[me].todo.push(Todo::Relock(m, is_late));
                    into.push(next);
                }
            }
            Todo::Relock(m, is_late) => {
                if !std::mem::replace(&mut next.is_locked[m], true) {
                    next.seen[me].extend(is_late.map(u8::from));
                    next.see(me, next.values[m]);
                    into.push(next);
                }
            }
            Todo::Arrived(count, is_last) => {
                if next.arrived >= count {
                    next.see(me, is_last.into());
                    into.push(next);
                }
            }
            Todo::Received(c, number) => next.after_sent(me, c, number, into),
            Todo::Handed(c, may_be_late) => next.after_waiting(me, c, may_be_late, into),
            Todo::OnceDone(o) => {
                next.cells[o] = Once::Done(me as u8);
                next.see(me, me as u8);
                into.push(next);
            }
            Todo::Join(child) => next.join(me, child, into),
            Todo::DropSenders(c) => {
                next.drop_sender(me, c);
                next.actors[me].todo.push(Todo::DropSenders(c));
                into.push(next);
            }
            Todo::DropReceiver(c) => {
                next.drop_receiver(me, c);
                into.push(next);
            }
            Todo::End => {
                next.see(me, code::END);
                next.actors[me].has_ended = true;
                into.push(next);
            }
            Todo::Spawn(_) => unreachable!("it is no step"),
        }
        into[first..].iter_mut().for_each(|state| state.settle(plan, me));
    }

    fn perform(
        mut self,
        plan: &'p Plan,
        (op, held): (&'p Op, Option<usize>),
        me: usize,
        into: &mut Vec<Self>,
    ) {
        match *op {
            Op::Load(a) => self.see(me, self.atomics[a]),
            Op::Store(a, value) => self.atomics[a] = value,
            Op::Add(a) => {
                self.see(me, self.atomics[a]);
                self.atomics[a] += 1;
            }
            Op::Exchange(a, expected, new) if self.atomics[a] == expected => {
                self.see(me, expected);
                self.atomics[a] = new;
            }
            Op::Exchange(a, ..) => self.see(me, code::UNEQUAL + self.atomics[a]),
            Op::Spin(a, value) if self.atomics[a] == value => self.see(me, value),
            Op::Spin(..) => return,
            Op::Retry(a, value, most) => self.actors[me].todo.push(Todo::Retry(a, value, most)),
            Op::Lock(m, ref body) | Op::TryLock(m, ref body) => {
                if !std::mem::replace(&mut self.is_locked[m], true) {
                    self.see(me, self.values[m]);
                    self.values[m] += 1;
                    self.actors[me].todo.push(Todo::Unlock(m));
                    self.push_all(me, body, Some(m));
                } else if matches!(op, Op::TryLock(..)) {
                    self.see(me, code::LOCKED);
                } else {
                    return;
                }
            }
            Op::Read(ref body) | Op::TryRead(ref body) => {
                if !self.writes {
                    self.readers += 1;
                    self.see(me, self.value);
                    self.actors[me].todo.push(Todo::EndRead);
                    self.push_all(me, body, None);
                } else if matches!(op, Op::TryRead(..)) {
                    self.see(me, code::LOCKED);
                } else {
                    return;
                }
            }
            Op::Write(ref body) | Op::TryWrite(ref body) => {
                if !self.writes && self.readers == 0 {
                    self.writes = true;
                    self.see(me, self.value);
                    self.value += 1;
                    self.actors[me].todo.push(Todo::EndWrite);
                    self.push_all(me, body, None);
                } else if matches!(op, Op::TryWrite(..)) {
                    self.see(me, code::LOCKED);
                } else {
                    return;
                }
            }
            Op::Wait | Op::WaitTimeout => {
                let Some(m) = held else { return };
                self.is_locked[m] = false;
                self.waiting[m].push(me);
                let may_be_late = *op == Op::WaitTimeout;
                self.actors[me].todo.push(Todo::Notified(m, may_be_late));
            }
            Op::NotifyOne(c) => {
                let waiting = self.waiting[c].len();
                for index in 0..waiting {
                    let mut next = self.clone();
                    next.waiting[c].remove(index);
                    into.push(next);
                }
                if waiting > 0 {
                    return;
                }
            }
            Op::NotifyAll(c) => self.waiting[c].clear(),
            Op::Barrier => {
                self.arrived += 1;
                let last = self.arrived.next_multiple_of(plan.barrier);
                self.actors[me].todo.push(Todo::Arrived(last, self.arrived == last));
            }
            Op::Send(..) | Op::TrySend(..) | Op::Offer(..) => return self.send(op, me, into),
            Op::Recv(c) | Op::TryRecv(c) | Op::RecvTimeout(c) | Op::Poll(c) => {
                return self.receive(op, me, c, into);
            }
            Op::DropSender(c) => self.drop_sender(me, c),
            Op::DropReceiver(c) => self.drop_receiver(me, c),
            Op::Once(o, ref body) => match self.cells[o] {
                Once::Empty => {
                    self.cells[o] = Once::Busy;
                    self.actors[me].todo.push(Todo::OnceDone(o));
                    self.push_all(me, body, None);
                }
                Once::Busy => return,
                Once::Done(value) => self.see(me, value),
            },
            Op::OnceGet(o) => {
                let value = match self.cells[o] {
                    Once::Done(value) => value,
                    _ => code::NOT_MADE,
                };
                self.see(me, value);
            }
            Op::Park if !self.tokens[me] => return,
            Op::Park | Op::ParkTimeout => self.tokens[me] = false,
            Op::Unpark(0) => self.tokens[plan.threads[me].parent] = true,
            Op::Unpark(child) => self.tokens[child] = true,
            Op::Choose(n) => {
                for value in 0..n {
                    let mut next = self.clone();
                    next.see(me, value);
                    into.push(next);
                }
                return;
            }
            Op::Join(child) => return self.join(me, child, into),
            Op::IsFinished(child) => self.see(me, self.actors[child].has_ended.into()),
            Op::RaceRead | Op::RaceWrite => {}
            Op::Spawn(_) | Op::CloneSender(_) | Op::If(..) => unreachable!("it is no step"),
        }
        into.push(self);
    }
}
