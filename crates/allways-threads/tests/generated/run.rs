//! Programs, carried out by threads under control.
//!
//! What each thread sees is written down where the checker does not see it, each thread in a place of its own. It is collected when the
//! main thread's stack is cleared: at its end, or when a run is over in which it waits for ever. (The
//! program is a server, so that it may.)

use crate::plan::{ATOMICS, CELLS, MUTEXES, Op, Plan};
use allways::{Engine, Options, Outcome, Reduction};
use allways_threads::sync::atomic::{AtomicU8, Ordering::SeqCst};
use allways_threads::sync::mpsc::{self, RecvTimeoutError, TryRecvError, TrySendError};
use allways_threads::sync::{
    Arc, Barrier, Condvar, Mutex, MutexGuard, OnceLock, RaceCell, RwLock, TryLockError,
};
use allways_threads::thread::{self, JoinHandle, Thread};
use allways_threads::{Program, rand};
use std::array::from_fn;
use std::collections::BTreeSet;
use std::time::Duration;

/// What the threads of a run have seen, one after the other.
pub type Seen = Vec<Vec<u8>>;

/// What stands for what is not a value.
pub mod code {
    pub const UNEQUAL: u8 = 100;
    pub const LOCKED: u8 = 200;
    pub const FULL: u8 = 203;
    pub const NO_RECEIVER: u8 = 204;
    pub const NO_SENDERS: u8 = 205;
    pub const EMPTY: u8 = 206;
    pub const LATE: u8 = 207;
    pub const NOT_MADE: u8 = 208;
    /// The thread has come to its end.
    pub const END: u8 = 255;
}

/// What the checker does not see.
pub type Shared<T> = std::sync::Arc<std::sync::Mutex<T>>;

/// What all threads share.
struct World {
    plan: Arc<Plan>,
    atomics: [AtomicU8; ATOMICS],
    mutexes: [Mutex<u8>; MUTEXES],
    conditions: [Condvar; MUTEXES],
    lock: RwLock<u8>,
    barrier: Barrier,
    cells: [OnceLock<u8>; CELLS],
    race: RaceCell<u8>,
    seen: Shared<Seen>,
}

/// Hands in what was seen when it is dropped.
struct Collector {
    seen: Shared<Seen>,
    into: Shared<BTreeSet<Seen>>,
}

impl Drop for Collector {
    fn drop(&mut self) {
        let seen = self.seen.lock().unwrap().clone();
        self.into.lock().unwrap().insert(seen);
    }
}

enum Sending {
    Free(mpsc::Sender<u8>),
    Bound(mpsc::SyncSender<u8>),
}

impl Sending {
    fn copy(&self) -> Self {
        match self {
            Sending::Free(sender) => Sending::Free(sender.clone()),
            Sending::Bound(sender) => Sending::Bound(sender.clone()),
        }
    }
}

/// The ends of channels that a thread has: for each channel.
#[derive(Default)]
struct Ends {
    senders: Vec<Vec<Sending>>,
    receivers: Vec<Option<mpsc::Receiver<u8>>>,
}

type Handle = JoinHandle<Option<Ends>>;

/// The mutex that was locked last, and its guard.
type Held<'a, 'w> = Option<(usize, &'a mut Option<MutexGuard<'w, u8>>)>;

struct Actor {
    number: usize,
    parent: Option<Thread>,
    handles: Vec<Option<Handle>>,
    spawned: Vec<bool>,
    ends: Ends,
}

impl Actor {
    fn new(number: usize, parent: Option<Thread>, ends: Ends, plan: &Plan) -> Self {
        let handles = plan.threads.iter().map(|_| None).collect();
        let spawned = vec![false; plan.threads.len()];
        Actor { number, parent, handles, spawned, ends }
    }

    fn run(mut self, world: &Arc<World>) -> Option<Ends> {
        let plan = Arc::clone(&world.plan);
        let children = || 1..plan.threads.len();
        for child in children().filter(|&child| plan.threads[child].early) {
            self.spawn(world, child);
        }
        for op in &plan.threads[self.number].ops {
            self.perform(world, op, None);
        }
        children().for_each(|child| self.spawn(world, child));
        children().for_each(|child| self.join(child));
        let ends = std::mem::take(&mut self.ends);
        if self.number != 0 && plan.threads[self.number].returns {
            self.see(world, code::END);
            return Some(ends);
        }
        for (senders, receiver) in ends.senders.into_iter().zip(ends.receivers) {
            drop(senders);
            drop(receiver);
        }
        self.see(world, code::END);
        None
    }

    fn see(&self, world: &World, value: u8) {
        world.seen.lock().unwrap()[self.number].push(value);
    }

    fn spawn(&mut self, world: &Arc<World>, child: usize) {
        let Some(body) = world.plan.threads.get(child).filter(|_| child != 0) else { return };
        if body.parent != self.number || std::mem::replace(&mut self.spawned[child], true) {
            return;
        }
        let mut ends = Ends::default();
        for (index, channel) in world.plan.channels.iter().enumerate() {
            let copied = body.sends >> index & 1 == 1;
            let sender = self.ends.senders[index].first().filter(|_| copied).map(Sending::copy);
            ends.senders.push(sender.into_iter().collect());
            let leads = world.plan.leads_to(child, channel.owner);
            ends.receivers.push(self.ends.receivers[index].take_if(|_| leads));
        }
        let child_world = Arc::clone(world);
        let actor = Actor::new(child, Some(thread::current()), ends, &world.plan);
        self.handles[child] = Some(thread::spawn(move || actor.run(&child_world)));
    }

    fn join(&mut self, child: usize) {
        let Some(handle) = self.handles.get_mut(child).and_then(Option::take) else { return };
        if let Some(ends) = handle.join().unwrap() {
            for (own, other) in self.ends.senders.iter_mut().zip(ends.senders) {
                own.extend(other);
            }
            for (own, other) in self.ends.receivers.iter_mut().zip(ends.receivers) {
                *own = own.take().or(other);
            }
        }
    }

    fn perform<'w>(&mut self, world: &'w Arc<World>, op: &Op, held: Held<'_, 'w>) {
        match op {
            Op::Load(a) => self.see(world, world.atomics[*a].load(SeqCst)),
            Op::Store(a, value) => world.atomics[*a].store(*value, SeqCst),
            Op::Add(a) => self.see(world, world.atomics[*a].fetch_add(1, SeqCst)),
            Op::Exchange(a, expected, new) => {
                let result = world.atomics[*a].compare_exchange(*expected, *new, SeqCst, SeqCst);
                self.see(world, result.unwrap_or_else(|value| code::UNEQUAL + value));
            }
            Op::Spin(a, value) => {
                while world.atomics[*a].load(SeqCst) != *value {}
                self.see(world, *value);
            }
            Op::Retry(a, value, most) => {
                let mut found = false;
                for _ in 0..*most {
                    found = world.atomics[*a].load(SeqCst) == *value;
                    if found {
                        break;
                    }
                }
                self.see(world, found.into());
            }
            Op::Lock(m, body) => {
                let guard = world.mutexes[*m].lock().unwrap();
                self.hold(world, *m, guard, body);
            }
            Op::TryLock(m, body) => match world.mutexes[*m].try_lock() {
                Ok(guard) => self.hold(world, *m, guard, body),
                Err(error) => self.fail(world, &error),
            },
            Op::Read(body) => {
                let guard = world.lock.read().unwrap();
                self.see(world, *guard);
                self.perform_all(world, body);
            }
            Op::TryRead(body) => match world.lock.try_read() {
                Ok(guard) => {
                    self.see(world, *guard);
                    self.perform_all(world, body);
                }
                Err(error) => self.fail(world, &error),
            },
            Op::Write(body) => {
                let mut guard = world.lock.write().unwrap();
                self.see(world, *guard);
                *guard += 1;
                self.perform_all(world, body);
            }
            Op::TryWrite(body) => match world.lock.try_write() {
                Ok(mut guard) => {
                    self.see(world, *guard);
                    *guard += 1;
                    self.perform_all(world, body);
                }
                Err(error) => self.fail(world, &error),
            },
            Op::Wait => {
                let Some((m, guard)) = held else { return };
                let waited = world.conditions[m].wait(guard.take().unwrap()).unwrap();
                self.see(world, *waited);
                *guard = Some(waited);
            }
            Op::WaitTimeout => {
                let Some((m, guard)) = held else { return };
                let waits = guard.take().unwrap();
                let (waited, result) =
                    world.conditions[m].wait_timeout(waits, Duration::from_millis(1)).unwrap();
                self.see(world, result.timed_out().into());
                self.see(world, *waited);
                *guard = Some(waited);
            }
            Op::NotifyOne(c) => world.conditions[*c].notify_one(),
            Op::NotifyAll(c) => world.conditions[*c].notify_all(),
            Op::Barrier => {
                let is_leader = world.barrier.wait().is_leader();
                self.see(world, is_leader.into());
            }
            Op::Send(..) | Op::TrySend(..) | Op::Offer(..) => self.send(world, op),
            Op::Recv(c) | Op::TryRecv(c) | Op::RecvTimeout(c) | Op::Poll(c) => {
                self.receive(world, op, *c);
            }
            Op::CloneSender(c) => {
                if let Some(senders) = self.ends.senders.get_mut(*c)
                    && let Some(first) = senders.first()
                {
                    senders.push(first.copy());
                }
            }
            Op::DropSender(c) => drop(self.ends.senders.get_mut(*c).and_then(Vec::pop)),
            Op::DropReceiver(c) => drop(self.ends.receivers.get_mut(*c).and_then(Option::take)),
            Op::Once(o, body) => {
                let value = *world.cells[*o].get_or_init(|| {
                    self.perform_all(world, body);
                    self.number as u8
                });
                self.see(world, value);
            }
            Op::OnceGet(o) => {
                let value = world.cells[*o].get().copied();
                self.see(world, value.unwrap_or(code::NOT_MADE));
            }
            Op::Park => thread::park(),
            Op::ParkTimeout => thread::park_timeout(Duration::from_millis(1)),
            Op::Unpark(0) => self.parent.iter().for_each(Thread::unpark),
            Op::Unpark(child) => {
                if let Some(handle) = self.handles.get(*child).and_then(Option::as_ref) {
                    handle.thread().unpark();
                }
            }
            Op::Choose(n) => self.see(world, rand::below(u64::from(*n)) as u8),
            Op::Spawn(child) => self.spawn(world, *child),
            Op::Join(child) => self.join(*child),
            Op::IsFinished(child) => {
                if let Some(handle) = self.handles.get(*child).and_then(Option::as_ref) {
                    let is_finished = handle.is_finished();
                    self.see(world, is_finished.into());
                }
            }
            Op::RaceRead => drop(world.race.get()),
            Op::RaceWrite => world.race.set(1),
            Op::If(value, op) => {
                let last = world.seen.lock().unwrap()[self.number].last().copied();
                if last == Some(*value) {
                    self.perform(world, op, held);
                }
            }
        }
    }

    fn perform_all(&mut self, world: &Arc<World>, body: &[Op]) {
        body.iter().for_each(|op| self.perform(world, op, None));
    }

    /// Has a mutex, and changes what is in it.
    fn hold<'w>(
        &mut self,
        world: &'w Arc<World>,
        mutex: usize,
        mut guard: MutexGuard<'w, u8>,
        body: &[Op],
    ) {
        self.see(world, *guard);
        *guard += 1;
        let mut guard = Some(guard);
        for op in body {
            self.perform(world, op, Some((mutex, &mut guard)));
        }
    }

    fn fail<T>(&self, world: &World, error: &TryLockError<T>) {
        assert!(matches!(error, TryLockError::WouldBlock), "{error}");
        self.see(world, code::LOCKED);
    }

    fn send(&self, world: &World, op: &Op) {
        let (Op::Send(c, value) | Op::TrySend(c, value) | Op::Offer(c, value)) = op else { return };
        let value = self.number as u8 * 10 + value;
        let Some(sender) = self.ends.senders.get(*c).and_then(|all| all.first()) else { return };
        let hands_over = world.plan.channels[*c].capacity == Some(0);
        let result = match (sender, op) {
            (Sending::Bound(sender), Op::TrySend(..)) => match sender.try_send(value) {
                Ok(()) => 1,
                Err(TrySendError::Full(_)) => code::FULL,
                Err(TrySendError::Disconnected(_)) => code::NO_RECEIVER,
            },
            (Sending::Bound(sender), Op::Offer(..)) if !hands_over => loop {
                match sender.try_send(value) {
                    Ok(()) => break 1,
                    Err(TrySendError::Full(_)) => {}
                    Err(TrySendError::Disconnected(_)) => break code::NO_RECEIVER,
                }
            },
            (Sending::Bound(sender), _) => sender.send(value).map_or(code::NO_RECEIVER, |()| 1),
            (Sending::Free(sender), _) => sender.send(value).map_or(code::NO_RECEIVER, |()| 1),
        };
        self.see(world, result);
    }

    fn receive(&self, world: &World, op: &Op, channel: usize) {
        let Some(Some(receiver)) = self.ends.receivers.get(channel) else { return };
        let result = match op {
            Op::Recv(_) => receiver.recv().unwrap_or(code::NO_SENDERS),
            Op::TryRecv(_) => receiver.try_recv().unwrap_or_else(|error| match error {
                TryRecvError::Empty => code::EMPTY,
                TryRecvError::Disconnected => code::NO_SENDERS,
            }),
            Op::Poll(_) => loop {
                match receiver.try_recv() {
                    Ok(value) => break value,
                    Err(TryRecvError::Empty) => {}
                    Err(TryRecvError::Disconnected) => break code::NO_SENDERS,
                }
            },
            _ => receiver.recv_timeout(Duration::from_millis(1)).unwrap_or_else(
                |error| match error {
                    RecvTimeoutError::Timeout => code::LATE,
                    RecvTimeoutError::Disconnected => code::NO_SENDERS,
                },
            ),
        };
        self.see(world, result);
    }
}

/// A run of the program.
fn main(plan: &Arc<Plan>, into: &Shared<BTreeSet<Seen>>) {
    let seen = Shared::new(vec![Vec::new(); plan.threads.len()].into());
    let _collector = Collector { seen: Shared::clone(&seen), into: Shared::clone(into) };
    let mut ends = Ends::default();
    for channel in &plan.channels {
        let (sender, receiver) = match channel.capacity {
            None => {
                let (sender, receiver) = mpsc::channel();
                (Sending::Free(sender), receiver)
            }
            Some(capacity) => {
                let (sender, receiver) = mpsc::sync_channel(capacity);
                (Sending::Bound(sender), receiver)
            }
        };
        ends.senders.push(vec![sender]);
        ends.receivers.push(Some(receiver));
    }
    let world = Arc::new(World {
        plan: Arc::clone(plan),
        atomics: from_fn(|_| AtomicU8::new(0)),
        mutexes: from_fn(|_| Mutex::new(0)),
        conditions: from_fn(|_| Condvar::new()),
        lock: RwLock::new(0),
        barrier: Barrier::new(plan.barrier),
        cells: from_fn(|_| OnceLock::new()),
        race: RaceCell::new(0),
        seen,
    });
    Actor::new(0, None, ends, plan).run(&world);
}

/// What was seen in all runs of a program, and what the checker says.
pub fn explore(plan: &Plan, reduction: Reduction, max_runs: u64) -> (BTreeSet<Seen>, Outcome) {
    explore_with(plan, &options(reduction, max_runs))
}

/// The same, with at most so many preemptions.
pub fn explore_bounded(plan: &Plan, most: u32, max_runs: u64) -> (BTreeSet<Seen>, Outcome) {
    let preemptions = Some(most);
    explore_with(plan, &Options { preemptions, ..options(Reduction::Optimal, max_runs) })
}

fn explore_with(plan: &Plan, options: &Options) -> (BTreeSet<Seen>, Outcome) {
    let into = Shared::<BTreeSet<Seen>>::default();
    let outcome = {
        let (plan, into) = (Arc::new(plan.clone()), Shared::clone(&into));
        let program = Program::of_processes().server("program", move || main(&plan, &into));
        program.try_check(options).unwrap()
    };
    let seen = std::mem::take(&mut *into.lock().unwrap());
    (seen, outcome)
}

/// What the checker says of a program whose threads must not wait for ever.
pub fn check(plan: &Plan, reduction: Reduction, max_runs: u64) -> Outcome {
    let plan = Arc::new(plan.clone());
    let into = Shared::<BTreeSet<Seen>>::default();
    Program::new(move || main(&plan, &into)).try_check(&options(reduction, max_runs)).unwrap()
}

/// How to explore.
pub fn options(reduction: Reduction, max_runs: u64) -> Options {
    let engine = Engine::Dpor;
    let max_runs = Some(max_runs);
    Options { engine, reduction, max_runs, threads: 1, minimise: false, ..Options::default() }
}
