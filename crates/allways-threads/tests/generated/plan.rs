//! Random programs as plain data: small enough to run them every way.
//!
//! A program is about few kinds of things at once, so that its threads meet often. What a thread does is a list of
//! operations; some of them hold something while others happen.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::subsequence;
use proptest::strategy::Union;

/// How many there are of each.
pub const ATOMICS: usize = 2;
pub const MUTEXES: usize = 2;
pub const CELLS: usize = 2;

/// A program. The first thread is the main thread.
#[derive(Clone, Debug)]
pub struct Plan {
    pub threads: Vec<Body>,
    pub channels: Vec<Channel>,
    /// How many threads it takes to open the barrier.
    pub barrier: usize,
}

/// What a thread does.
#[derive(Clone, Debug)]
pub struct Body {
    pub ops: Vec<Op>,
    /// Who spawns it.
    pub parent: usize,
    /// Whether that is the first thing that its parent does; otherwise it is an operation, or the last thing.
    pub early: bool,
    /// Of which channels it gets a sender: a bit for each.
    pub sends: u8,
    /// Whether it returns the ends of channels that it has left.
    pub returns: bool,
}

/// A channel.
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    /// `None` if there is no limit.
    pub capacity: Option<usize>,
    /// The thread that gets the receiver.
    pub owner: usize,
}

/// An operation. Objects are numbers; what does not make sense where it stands does nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    Load(usize),
    Store(usize, u8),
    Add(usize),
    Exchange(usize, u8, u8),
    /// Reads until it is this.
    Spin(usize, u8),
    /// Reads until it is this, so often at most.
    Retry(usize, u8, u8),
    Lock(usize, Vec<Op>),
    TryLock(usize, Vec<Op>),
    Read(Vec<Op>),
    TryRead(Vec<Op>),
    Write(Vec<Op>),
    TryWrite(Vec<Op>),
    /// Waits for the condition of the mutex that was locked last.
    Wait,
    WaitTimeout,
    NotifyOne(usize),
    NotifyAll(usize),
    Barrier,
    Send(usize, u8),
    TrySend(usize, u8),
    Recv(usize),
    TryRecv(usize),
    RecvTimeout(usize),
    /// Tries to send until there is room. Where messages are handed over it just sends: the first run of a check, which is made again, does not know that
    /// somebody tries, and would be seen to end there.
    Offer(usize, u8),
    /// Tries to receive until there is something.
    Poll(usize),
    CloneSender(usize),
    DropSender(usize),
    DropReceiver(usize),
    /// Makes a cell that is written once, and does this meanwhile.
    Once(usize, Vec<Op>),
    OnceGet(usize),
    Park,
    ParkTimeout,
    /// Of a child, or of the parent.
    Unpark(usize),
    Choose(u8),
    Spawn(usize),
    Join(usize),
    IsFinished(usize),
    RaceRead,
    RaceWrite,
    /// If what the thread saw last is this.
    If(u8, Box<Op>),
}

impl Plan {
    /// Whether a thread is another one, or spawns it, or spawns one that does, and so on.
    pub fn leads_to(&self, thread: usize, other: usize) -> bool {
        thread == other || other != 0 && self.leads_to(thread, self.threads[other].parent)
    }
}

/// What a program is about.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Topic {
    Atomics,
    Loops,
    Mutexes,
    Tries,
    Locks,
    Conditions,
    Barriers,
    Channels,
    Once,
    Parking,
    Choices,
    Ends,
    Cells,
}

const TOPICS: [Topic; 13] = [
    Topic::Atomics,
    Topic::Loops,
    Topic::Mutexes,
    Topic::Tries,
    Topic::Locks,
    Topic::Conditions,
    Topic::Barriers,
    Topic::Channels,
    Topic::Once,
    Topic::Parking,
    Topic::Choices,
    Topic::Ends,
    Topic::Cells,
];

fn body(topics: &[Topic], depth: u32) -> BoxedStrategy<Vec<Op>> {
    match depth {
        0 => Just(Vec::new()).boxed(),
        _ => vec(op(topics, depth - 1), 0..=2).boxed(),
    }
}

/// Operations, the simplest first.
fn op(topics: &[Topic], depth: u32) -> BoxedStrategy<Op> {
    let mut all: Vec<(u32, BoxedStrategy<Op>)> = Vec::new();
    let body = || body(topics, depth);
    for &topic in topics {
        match topic {
            Topic::Atomics => {
                let atomic = || 0..ATOMICS;
                all.push((2, atomic().prop_map(Op::Load).boxed()));
                all.push((2, (atomic(), 1..3u8).prop_map(|(a, v)| Op::Store(a, v)).boxed()));
                all.push((1, atomic().prop_map(Op::Add).boxed()));
                let exchange = (atomic(), 0..2u8, 1..3u8);
                all.push((2, exchange.prop_map(|(a, e, n)| Op::Exchange(a, e, n)).boxed()));
            }
            Topic::Loops => {
                let pair = || (0..ATOMICS, 0..3u8);
                all.push((2, (0..ATOMICS, 1..3u8).prop_map(|(a, v)| Op::Store(a, v)).boxed()));
                all.push((1, pair().prop_map(|(a, v)| Op::Spin(a, v)).boxed()));
                let retry = (pair(), 2..5u8);
                all.push((1, retry.prop_map(|((a, v), n)| Op::Retry(a, v, n)).boxed()));
            }
            Topic::Mutexes => {
                let lock = (0..MUTEXES, body());
                all.push((4, lock.prop_map(|(m, body)| Op::Lock(m, body)).boxed()));
            }
            Topic::Tries => {
                let lock = || (0..MUTEXES, body());
                all.push((2, lock().prop_map(|(m, body)| Op::Lock(m, body)).boxed()));
                all.push((3, lock().prop_map(|(m, body)| Op::TryLock(m, body)).boxed()));
            }
            Topic::Locks => {
                all.push((2, body().prop_map(Op::Read).boxed()));
                all.push((2, body().prop_map(Op::Write).boxed()));
                all.push((1, body().prop_map(Op::TryRead).boxed()));
                all.push((1, body().prop_map(Op::TryWrite).boxed()));
            }
            Topic::Conditions => {
                let waits = || {
                    let how = prop_oneof![Just(Op::Wait), Just(Op::WaitTimeout)];
                    (0..MUTEXES, how).prop_map(|(m, wait)| Op::Lock(m, vec![wait]))
                };
                let notifies = || {
                    let both = [Op::NotifyOne as fn(usize) -> Op, Op::NotifyAll];
                    (0..MUTEXES, 0..2usize).prop_map(move |(c, how)| both[how](c))
                };
                all.push((3, waits().boxed()));
                all.push((3, notifies().boxed()));
                let held = (0..MUTEXES, notifies(), body());
                let held = held.prop_map(|(m, notify, mut body)| {
                    body.insert(0, notify);
                    Op::Lock(m, body)
                });
                all.push((1, held.boxed()));
            }
            Topic::Barriers => all.push((3, Just(Op::Barrier).boxed())),
            Topic::Channels => {
                let sent = || (0..2usize, 0..3u8);
                all.push((5, sent().prop_map(|(c, v)| Op::Send(c, v)).boxed()));
                all.push((2, sent().prop_map(|(c, v)| Op::TrySend(c, v)).boxed()));
                for op in [Op::Recv, Op::TryRecv, Op::RecvTimeout, Op::DropSender] {
                    all.push((2, (0..2usize).prop_map(op).boxed()));
                }
                all.push((1, sent().prop_map(|(c, v)| Op::Offer(c, v)).boxed()));
                for op in [Op::CloneSender, Op::DropReceiver, Op::Poll] {
                    all.push((1, (0..2usize).prop_map(op).boxed()));
                }
            }
            Topic::Once => {
                let once = (0..CELLS, body());
                all.push((3, once.prop_map(|(o, body)| Op::Once(o, body)).boxed()));
                all.push((2, (0..CELLS).prop_map(Op::OnceGet).boxed()));
            }
            Topic::Parking => {
                all.push((3, (0..4usize).prop_map(Op::Unpark).boxed()));
                all.push((2, Just(Op::Park).boxed()));
                all.push((2, Just(Op::ParkTimeout).boxed()));
            }
            Topic::Choices => all.push((2, (2..4u8).prop_map(Op::Choose).boxed())),
            Topic::Ends => {
                for op in [Op::Spawn, Op::Join, Op::IsFinished] {
                    all.push((2, (1..4usize).prop_map(op).boxed()));
                }
            }
            Topic::Cells => {
                all.push((1, Just(Op::RaceRead).boxed()));
                all.push((1, Just(Op::RaceWrite).boxed()));
            }
        }
    }
    let simple = Union::new_weighted(all);
    let condition = (0..3u8, simple.clone()).prop_map(|(v, op)| Op::If(v, Box::new(op)));
    prop_oneof![8 => simple, 1 => condition].boxed()
}

/// Random programs.
pub fn plan() -> impl Strategy<Value = Plan> {
    let topics = prop_oneof![
        1 => subsequence(&TOPICS[..], 1),
        3 => subsequence(&TOPICS[..], 2),
        3 => subsequence(&TOPICS[..], 3),
    ];
    let sizes = prop_oneof![Just((2usize, 5usize)), Just((3, 3)), Just((4, 2))];
    (topics.no_shrink(), sizes).prop_flat_map(|(topics, (threads, most))| {
        let places = (0..4usize, prop_oneof![4 => Just(true), 1 => Just(false)]);
        let thread = (vec(op(&topics, 2), 0..=most), places, 0..4u8, any::<bool>());
        let capacity = prop_oneof![2 => Just(None), 3 => (0..3usize).prop_map(Some)];
        let channel =
            (capacity, 0..threads).prop_map(|(capacity, owner)| Channel { capacity, owner });
        let most = if topics.contains(&Topic::Channels) { 2 } else { 0 };
        let channels = vec(channel, most.min(1)..=most);
        (vec(thread, threads), channels, 2..=3usize).prop_map(|(threads, channels, barrier)| {
            let body = |(index, thread): (usize, _)| {
                let (ops, (parent, early), sends, returns) = thread;
                Body { ops, parent: parent % index.max(1), early, sends, returns }
            };
            let threads = threads.into_iter().enumerate().map(body).collect();
            Plan { threads, channels, barrier }
        })
    })
}
