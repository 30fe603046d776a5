//! Random programs of tasks: what may come of them is the same, whether everything is tried or as little as possible. The rules of who hinders and who
//! touches what are many, and each looks right on its own; this is how we know that they are right together.
//!
//! `PROGRAMS`, `RUNS` and `SEED` in the environment try more, larger and other programs.

use allways::{Engine, Options, Reduction, Verdict};
use allways_threads::Program;
use allways_threads::future::sync::{Mutex, Notify, Semaphore, mpsc, oneshot};
use allways_threads::future::time::{Duration, timeout};
use allways_threads::future::{Either, block_on, join, race, spawn, task};
use allways_threads::sync::Arc;
use allways_threads::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::collections::BTreeSet;

/// What a task does.
#[derive(Clone, Copy, Debug)]
enum Do {
    Lock,
    TryLock,
    Acquire,
    Send,
    TrySend,
    Receive,
    TryReceive,
    Notified,
    NotifyOne,
    NotifyWaiters,
    Add,
    Yield,
    /// Both at once, in either of two ways.
    RaceNotifiedReceive,
    JoinLockNotified,
    AbortOther,
    Close,
    JoinChild,
    AbortChild,
    Closed,
    SendFreely,
    ReceiveFreely,
    Answer,
    AwaitAnswer,
}

const ALL: [Do; 23] = [
    Do::Lock,
    Do::TryLock,
    Do::Acquire,
    Do::Send,
    Do::TrySend,
    Do::Receive,
    Do::TryReceive,
    Do::Notified,
    Do::NotifyOne,
    Do::NotifyWaiters,
    Do::Add,
    Do::Yield,
    Do::RaceNotifiedReceive,
    Do::JoinLockNotified,
    Do::AbortOther,
    Do::Close,
    Do::JoinChild,
    Do::AbortChild,
    Do::Closed,
    Do::SendFreely,
    Do::ReceiveFreely,
    Do::Answer,
    Do::AwaitAnswer,
];

struct Shared {
    mutex: Mutex<u32>,
    semaphore: Semaphore,
    notify: Notify,
    number: AtomicU32,
    sender: mpsc::Sender<u32>,
    receiver: Mutex<mpsc::Receiver<u32>>,
    free_sender: mpsc::UnboundedSender<u32>,
    free_receiver: Mutex<mpsc::UnboundedReceiver<u32>>,
    answer: Mutex<Option<oneshot::Sender<u32>>>,
    answered: Mutex<Option<oneshot::Receiver<u32>>>,
}

async fn perform(what: Do, id: u32, shared: &Arc<Shared>, abort: &task::AbortHandle) -> u32 {
    match what {
        Do::Lock => {
            let mut guard = shared.mutex.lock().await;
            *guard = *guard * 4 + id;
            *guard
        }
        Do::TryLock => shared.mutex.try_lock().map_or(99, |mut guard| {
            *guard = *guard * 4 + id;
            *guard
        }),
        Do::Acquire => {
            let permit = shared.semaphore.acquire().await.unwrap();
            let before = shared.number.load(SeqCst);
            drop(permit);
            before
        }
        Do::Send => shared.sender.send(id).await.map_or(98, |()| 0),
        Do::TrySend => match shared.sender.try_send(id) {
            Ok(()) => 0,
            Err(mpsc::error::TrySendError::Full(_)) => 97,
            Err(mpsc::error::TrySendError::Closed(_)) => 96,
        },
        Do::Receive => match shared.receiver.try_lock() {
            Ok(mut receiver) => receiver.recv().await.unwrap_or(95),
            Err(_) => 94,
        },
        Do::TryReceive => match shared.receiver.try_lock() {
            Ok(mut receiver) => receiver.try_recv().unwrap_or(93),
            Err(_) => 92,
        },
        Do::Notified => {
            shared.notify.notified().await;
            0
        }
        Do::NotifyOne => {
            shared.notify.notify_one();
            0
        }
        Do::NotifyWaiters => {
            shared.notify.notify_waiters();
            0
        }
        Do::Add => shared.number.fetch_add(1, SeqCst),
        Do::Yield => {
            task::yield_now().await;
            0
        }
        Do::RaceNotifiedReceive => {
            let receives = async { shared.semaphore.acquire().await.map(drop) };
            match race(shared.notify.notified(), receives).await {
                Either::Left(()) => 1,
                Either::Right(_) => 2,
            }
        }
        Do::JoinLockNotified => {
            let lock = async {
                let mut guard = shared.mutex.lock().await;
                *guard = *guard * 4 + id;
                *guard
            };
            join(lock, shared.notify.notified()).await.0
        }
        Do::AbortOther => {
            abort.abort();
            0
        }
        Do::JoinChild => {
            let other = Arc::clone(shared);
            spawn(async move { other.number.fetch_add(1, SeqCst) }).await.unwrap()
        }
        Do::AbortChild => {
            let other = Arc::clone(shared);
            let child = spawn(async move {
                other.number.fetch_add(1, SeqCst);
                other.notify.notified().await;
                vec![other.number.fetch_add(1, SeqCst)]
            });
            child.abort();
            child.await.map_or(91, |all| all[0])
        }
        Do::Closed => {
            shared.sender.closed().await;
            0
        }
        Do::SendFreely => shared.free_sender.send(id).map_or(90, |()| 0),
        Do::ReceiveFreely => match shared.free_receiver.try_lock() {
            Ok(mut receiver) => receiver.recv().await.unwrap_or(89),
            Err(_) => 88,
        },
        Do::Answer => {
            let answer = shared.answer.lock().await.take();
            answer.map_or(87, |answer| answer.send(id).map_or(86, |()| 0))
        }
        Do::AwaitAnswer => {
            let answered = shared.answered.lock().await.take();
            match answered {
                Some(answered) => answered.await.unwrap_or(85),
                None => 84,
            }
        }
        Do::Close => match shared.receiver.try_lock() {
            Ok(mut receiver) => {
                receiver.close();
                1
            }
            Err(_) => 0,
        },
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % n
    }
}

/// For each task what it does, and whether that may take too long. The last of them is no task but the main thread, and does not wait for ever.
type Tasks = Vec<Vec<(Do, bool)>>;

fn random_tasks(random: &mut Random) -> Tasks {
    let mut one = |most| {
        (0..1 + random.below(most))
            .map(|_| (ALL[random.below(ALL.len() as u64) as usize], random.below(3) == 0))
            .collect::<Vec<_>>()
    };
    match one(2).len() {
        1 => vec![one(2), one(2), one(1)],
        _ => vec![one(3), one(2)],
    }
}

/// What each task has seen so far, and whether it came to its end.
type Seen = Vec<(Vec<u32>, bool)>;

/// Notes what the tasks have seen when the last of them is gone.
struct Note {
    seen: std::sync::Mutex<Seen>,
    into: std::sync::Arc<std::sync::Mutex<BTreeSet<Seen>>>,
}

impl Drop for Note {
    fn drop(&mut self) {
        let seen = std::mem::take(self.seen.get_mut().unwrap());
        self.into.lock().unwrap().insert(seen);
    }
}

fn main_of(tasks: &Tasks, into: &std::sync::Arc<std::sync::Mutex<BTreeSet<Seen>>>) {
    let (sender, receiver) = mpsc::channel(1);
    let (free_sender, free_receiver) = mpsc::unbounded_channel();
    let (answer, answered) = oneshot::channel();
    let shared = Arc::new(Shared {
        mutex: Mutex::new(0),
        semaphore: Semaphore::new(1),
        notify: Notify::new(),
        number: AtomicU32::new(0),
        sender,
        receiver: Mutex::new(receiver),
        free_sender,
        free_receiver: Mutex::new(free_receiver),
        answer: Mutex::new(Some(answer)),
        answered: Mutex::new(Some(answered)),
    });
    // Who of several is the last to drop what is in an `Arc` is hidden from the checker, and senders matter. So it is always this one.
    let kept = Arc::clone(&shared);
    spawn(async move {
        std::future::pending::<()>().await;
        drop(kept);
    });
    let note = std::sync::Arc::new(Note {
        seen: std::sync::Mutex::new(vec![(Vec::new(), false); tasks.len()]),
        into: std::sync::Arc::clone(into),
    });
    // What is learnt on the way is learnt at once.
    let does = |which: fn(&Do) -> bool| tasks.iter().flatten().any(|(what, _)| which(what));
    let nobody = spawn(async {}).abort_handle();
    if does(|what| matches!(what, Do::NotifyWaiters)) {
        shared.notify.notify_waiters();
    }
    let mut before = None;
    for (id, what) in tasks.iter().cloned().enumerate() {
        let (note, shared) = (std::sync::Arc::clone(&note), Arc::clone(&shared));
        let abort = before.take().unwrap_or_else(|| nobody.clone());
        let is_main = id + 1 == tasks.len();
        let does_all = async move {
            for (what, may_be_late) in what {
                let does = perform(what, id as u32 + 1, &shared, &abort);
                let seen = match may_be_late || is_main {
                    true => timeout(Duration::from_secs(1), does).await.unwrap_or(1_000),
                    false => does.await,
                };
                note.seen.lock().unwrap()[id].0.push(seen);
            }
            note.seen.lock().unwrap()[id].1 = true;
        };
        if is_main {
            block_on(does_all);
            break;
        }
        let task = spawn(does_all);
        if does(|what| matches!(what, Do::AbortOther)) {
            // It has begun, or not.
            before = Some(task.abort_handle());
        }
    }
}

/// All that may come of a program, and in how many runs; nothing if there are too many.
fn results(tasks: &Tasks, reduction: Reduction, is_plain: bool) -> Option<(BTreeSet<Seen>, u64)> {
    let max_runs = Some(number("RUNS", 1_000));
    let options = Options { engine: Engine::Dpor, reduction, max_runs, ..Options::default() };
    let into = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let (to, what) = (std::sync::Arc::clone(&into), tasks.clone());
    let mut program = Program::new(move || main_of(&what, &to));
    if is_plain {
        program = program.plain_awaits();
    }
    let outcome = program
        .try_check(&options)
        .unwrap_or_else(|error| panic!("{tasks:?} {reduction:?} {is_plain}: {error}"));
    if outcome.verdict != Verdict::Holds {
        assert_eq!(outcome.verdict, Verdict::Inconclusive, "{tasks:?} {outcome}");
        return None;
    }
    if reduction == Reduction::Optimal {
        assert_eq!(outcome.statistics.blocked_runs, Some(0), "{tasks:?}");
    }
    let seen = into.lock().unwrap().clone();
    Some((seen, outcome.statistics.runs.unwrap()))
}

/// A number from the environment: more programs, larger ones, other ones.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |n| n.parse().unwrap())
}

#[test]
fn all_reductions_see_the_same() {
    let (mut compared, mut interesting, mut runs) = (0, 0, [0; 4]);
    let programs = number("PROGRAMS", 60);
    let mut random = Random(number("SEED", 7));
    for _ in 0..programs {
        let tasks = random_tasks(&mut random);
        let Some(none) = results(&tasks, Reduction::None, false) else { continue };
        let all =
            [(Reduction::Optimal, false), (Reduction::Source, false), (Reduction::Optimal, true)];
        let fewer = all.map(|(reduction, is_plain)| {
            let fewer = results(&tasks, reduction, is_plain);
            fewer.unwrap_or_else(|| panic!("{tasks:?}: {reduction:?} takes more runs than all"))
        });
        let [optimal, source, plain] = &fewer;
        compared += 1;
        interesting += u64::from(none.0.len() > 1);
        for (total, more) in runs.iter_mut().zip([none.1, optimal.1, source.1, plain.1]) {
            *total += more;
        }
        let aborts = tasks.iter().flatten().any(|(what, _)| matches!(what, Do::AbortOther));
        match aborts {
            // That a task may be aborted is learnt on the way, and what was seen until then counts for nothing.
            true => assert_eq!(ended(&none.0), ended(&optimal.0), "{tasks:?}"),
            false => assert_eq!(none.0, optimal.0, "{tasks:?}"),
        }
        // Runs that are given up are seen, too.
        assert_eq!(ended(&none.0), ended(&source.0), "{tasks:?}");
        assert_eq!(ended(&none.0), ended(&plain.0), "{tasks:?}");
    }
    println!("{compared} of {programs} compared, {interesting} with several results, {runs:?}");
    assert!(compared * 2 > programs && interesting * 3 > compared);
}

/// Where all tasks came to their ends.
fn ended(all: &BTreeSet<Seen>) -> BTreeSet<&Seen> {
    all.iter().filter(|seen| seen.iter().all(|(_, has_ended)| *has_ended)).collect()
}
