//! Tasks: exact numbers of executions, what goes wrong, and that all reductions see the same.

use allways::{Cause, Engine, Options, Outcome, Reduction, Trouble, Verdict};
use allways_threads::future::sync::{Mutex, Notify, Semaphore, mpsc, oneshot};
use allways_threads::future::time::{Duration, sleep, timeout};
use allways_threads::future::{Either, block_on, join, race, spawn, task};
use allways_threads::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use allways_threads::sync::{Arc, Mutex as BlockingMutex};
use allways_threads::{Program, thread};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

const SECOND: Duration = Duration::from_secs(1);

fn explore(main: impl Fn() + Send + Sync + 'static, reduction: Reduction) -> Outcome {
    let options = Options { engine: Engine::Dpor, reduction, ..Options::default() };
    Program::new(main).try_check(&options).unwrap()
}

/// The number of executions of a program that holds.
fn executions(main: impl Fn() + Send + Sync + 'static) -> u64 {
    let outcome = explore(main, Reduction::Optimal);
    outcome.assert_holds();
    assert!(outcome.complete);
    assert_eq!(outcome.statistics.blocked_runs, Some(0));
    outcome.statistics.runs.unwrap()
}

/// All that may come of a program: by trying everything, and with each reduction. The number of executions of the best.
fn results<R: Ord + Clone + Debug + Send + 'static>(
    main: impl Fn() -> R + Send + Sync + 'static,
) -> (BTreeSet<R>, u64) {
    let main = std::sync::Arc::new(main);
    let [all, source, optimal] =
        [Reduction::None, Reduction::Source, Reduction::Optimal].map(|reduction| {
            let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
            let (main, into) = (std::sync::Arc::clone(&main), std::sync::Arc::clone(&seen));
            let outcome = explore(
                move || {
                    let result = main();
                    into.lock().unwrap().insert(result);
                },
                reduction,
            );
            outcome.assert_holds();
            assert!(outcome.complete);
            let seen = seen.lock().unwrap().clone();
            (seen, outcome.statistics.runs.unwrap(), outcome.statistics.blocked_runs)
        });
    assert_eq!(all.0, source.0);
    assert_eq!(all.0, optimal.0);
    assert_eq!(optimal.2, Some(0));
    (optimal.0, optimal.1)
}

fn violated(main: impl Fn() + Send + Sync + 'static) -> Outcome {
    let outcome = explore(main, Reduction::Optimal);
    assert_eq!(outcome.verdict, Verdict::Violated);
    outcome
}

fn trouble(outcome: &Outcome) -> Option<Trouble> {
    match outcome.violation.as_ref().unwrap().cause {
        Cause::Trouble(trouble) => Some(trouble),
        _ => None,
    }
}

#[test]
fn two_tasks_and_one_message() {
    let main = || {
        block_on(async {
            let (sender, receiver) = oneshot::channel();
            let sends = spawn(async move { sender.send(7).unwrap() });
            let receives = spawn(async move { receiver.await.unwrap() });
            sends.await.unwrap();
            receives.await.unwrap()
        })
    };
    assert_eq!(results(main), (BTreeSet::from([7]), 8));
}

#[test]
fn mutual_exclusion() {
    let main = |tasks: usize, joins: bool| {
        move || {
            let counter = Arc::new(Mutex::new(0));
            let spawn = |_| {
                let counter = Arc::clone(&counter);
                spawn(async move { *counter.lock().await += 1 })
            };
            let all: Vec<_> = (0..tasks).map(spawn).collect();
            if joins {
                block_on(async {
                    for task in all {
                        task.await.unwrap();
                    }
                    assert_eq!(*counter.lock().await, tasks);
                });
            }
        }
    };
    assert_eq!([1, 2, 3, 4].map(|tasks| executions(main(tasks, false))), [1, 4, 24, 192]);
    assert_eq!([1, 2, 3].map(|tasks| executions(main(tasks, true))), [2, 16, 192]);
}

#[test]
fn messages_wait_for_room() {
    let main = |room: usize, messages: usize| {
        move || {
            let (sender, mut receiver) = mpsc::channel(room);
            spawn(async move {
                for n in 0..messages {
                    sender.send(n).await.unwrap();
                }
            });
            block_on(async {
                for n in 0..messages {
                    assert_eq!(receiver.recv().await, Some(n));
                }
            });
        }
    };
    let with_room = |room| [1, 2, 3, 4].map(|messages| executions(main(room, messages)));
    assert_eq!(with_room(1), [2, 8, 32, 128]);
    assert_eq!(with_room(2), [2, 4, 12, 36]);
    assert_eq!(with_room(3), [2, 4, 8, 20]);
}

/// Ready when the flag is set, and keeps its waker or not.
struct Flag<'a> {
    is_set: &'a AtomicBool,
    waker: Option<&'a BlockingMutex<Option<Waker>>>,
}

impl Future for Flag<'_> {
    type Output = ();
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(waker) = self.waker {
            *waker.lock().unwrap() = Some(cx.waker().clone());
        }
        if self.is_set.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending }
    }
}

fn flag(keeps: bool) -> impl Fn() + Send + Sync + 'static {
    move || {
        let shared = Arc::new((AtomicBool::new(false), BlockingMutex::new(None::<Waker>)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.0.store(true, SeqCst);
            let waker = other.1.lock().unwrap().take();
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        block_on(Flag { is_set: &shared.0, waker: keeps.then_some(&shared.1) });
        thread.join().unwrap();
    }
}

#[test]
fn a_future_that_keeps_no_waker() {
    assert_eq!(executions(flag(true)), 3);
    let outcome = violated(flag(false));
    assert_eq!(trouble(&outcome), Some(Trouble::LostWakeUp));
    let reads = &outcome.violation.as_ref().unwrap().reads;
    assert!(reads[0].contains("nobody has kept its waker"), "{reads:?}");
}

#[test]
fn a_waker_that_is_kept_too_late() {
    let outcome = violated(|| {
        let shared = Arc::new((AtomicBool::new(false), BlockingMutex::new(None::<Waker>)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.0.store(true, SeqCst);
            let waker = other.1.lock().unwrap().take();
            waker.into_iter().for_each(Waker::wake);
        });
        block_on(std::future::poll_fn(|cx| {
            if shared.0.load(SeqCst) {
                return Poll::Ready(());
            }
            *shared.1.lock().unwrap() = Some(cx.waker().clone());
            Poll::Pending
        }));
        thread.join().unwrap();
    });
    assert_eq!(trouble(&outcome), Some(Trouble::LostWakeUp));
}

#[test]
fn what_may_take_too_long() {
    let main = || {
        let (sender, receiver) = oneshot::channel();
        spawn(async move { sender.send(7) });
        block_on(timeout(SECOND, receiver)).ok().map(Result::unwrap)
    };
    // The message is there at once, or comes before it is too late. Or it is too late, and the message comes before that is noticed; between that and the
    // end of the receiver; or after that.
    assert_eq!(results(main), (BTreeSet::from([None, Some(7)]), 5));
}

#[test]
fn the_loser_is_dropped() {
    let main = || {
        let (sender, receiver) = oneshot::channel::<u32>();
        let (other, never) = oneshot::channel::<u32>();
        spawn(async move { sender.send(7) });
        block_on(async {
            match race(receiver, never).await {
                Either::Left(result) => assert_eq!(result, Ok(7)),
                Either::Right(_) => unreachable!(),
            }
            assert!(other.is_closed());
        });
    };
    assert_eq!(executions(main), 2);
}

#[test]
fn tasks_that_await_each_other() {
    let outcome = violated(|| {
        let (first, second) = (oneshot::channel::<()>(), oneshot::channel::<()>());
        let one = spawn(async move {
            first.1.await.unwrap();
            second.0.send(()).unwrap();
        });
        let other = spawn(async move {
            second.1.await.unwrap();
            first.0.send(()).unwrap();
        });
        block_on(async {
            one.await.unwrap();
            other.await.unwrap();
        });
    });
    assert_eq!(trouble(&outcome), Some(Trouble::Deadlock));
    let violation = outcome.violation.as_ref().unwrap();
    assert!(violation.property.contains("main, task 1 and task 2 wait for ever"), "{violation:?}");
    assert!(violation.reads[1].contains("awaits a message from channel 0 of"), "{violation:?}");
}

#[test]
fn threads_and_tasks() {
    let main = |senders: usize| {
        move || {
            let (sender, mut receiver) = mpsc::unbounded_channel();
            let spawn_thread = |id| {
                let sender = sender.clone();
                thread::spawn(move || sender.send(id).unwrap())
            };
            let threads: Vec<_> = (0..senders).map(spawn_thread).collect();
            drop(sender);
            let mut all = Vec::new();
            block_on(async {
                while let Some(id) = receiver.recv().await {
                    all.push(id);
                }
            });
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            all
        }
    };
    assert_eq!(results(main(1)), (BTreeSet::from([vec![0]]), 4));
    assert_eq!(results(main(2)), (BTreeSet::from([vec![0, 1], vec![1, 0]]), 28));
    assert_eq!(executions(move || assert_eq!(main(3)().len(), 3)), 284);
}

#[test]
fn tasks_that_nobody_waits_for() {
    let main = || {
        let (sender, mut receiver) = mpsc::unbounded_channel::<u32>();
        let kept = sender.clone();
        spawn(async move {
            while receiver.recv().await.is_some() {}
            drop(kept);
        });
        sender.send(1).unwrap();
    };
    assert_eq!(executions(main), 4);
    // It cannot be dropped where it blocks.
    let outcome = violated(|| {
        spawn(async { thread::park() });
    });
    assert_eq!(trouble(&outcome), Some(Trouble::Deadlock));
    // Threads are joined as ever.
    let outcome = violated(|| {
        spawn(std::future::pending::<()>());
        thread::spawn(|| ());
    });
    assert_eq!(trouble(&outcome), Some(Trouble::LeakedThread));
}

#[test]
fn tasks_that_are_aborted() {
    let main = || {
        let begun = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&begun);
        let task = spawn(async move {
            other.fetch_add(1, SeqCst);
            task::yield_now().await;
            other.fetch_add(1, SeqCst);
        });
        task.abort();
        let result = block_on(task).is_ok();
        (begun.load(SeqCst), result)
    };
    let all = BTreeSet::from([(0, false), (1, false), (2, true)]);
    assert_eq!(results(main), (all, 6));
}

#[test]
fn a_future_is_dropped_by_its_own_task() {
    struct Noted(Arc<BlockingMutex<Option<thread::ThreadId>>>);
    impl Drop for Noted {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = Some(thread::current().id());
        }
    }
    let main = || {
        let dropped_by = Arc::new(BlockingMutex::new(None));
        let (sender, id) = oneshot::channel();
        let noted = Noted(Arc::clone(&dropped_by));
        let task = spawn(async move {
            let _noted = noted;
            sender.send(thread::current().id()).unwrap();
            std::future::pending::<()>().await;
        });
        block_on(async {
            let id = id.await.unwrap();
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
            assert_eq!(*dropped_by.lock().unwrap(), Some(id));
        });
    };
    assert_eq!(executions(main), 4);
}

/// What tells rounds apart may be in a future in the heap, so they are run one by one, and it is said that not all were.
#[test]
fn loops_that_await() {
    let bounded = |main: fn()| {
        let options = Options { engine: Engine::Dpor, max_depth: Some(30), ..Options::default() };
        let outcome = Program::new(main).try_check(&options).unwrap();
        assert_eq!(outcome.verdict, Verdict::Inconclusive, "{outcome}");
    };
    bounded(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        spawn(async move { other.store(true, SeqCst) });
        block_on(async {
            while !flag.load(SeqCst) {
                task::yield_now().await;
            }
        });
    });
    bounded(|| {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        spawn(async move { sender.send(1) });
        block_on(async { while timeout(SECOND, receiver.recv()).await.is_err() {} });
    });
}

#[test]
fn loops_that_count() {
    let main = || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        spawn(async move { other.store(true, SeqCst) });
        block_on(async {
            let mut tries = 0;
            while !flag.load(SeqCst) && tries < 5 {
                tries += 1;
                task::yield_now().await;
            }
            tries
        })
    };
    // The store comes before one of six loads, or after all.
    assert_eq!(results(main), (BTreeSet::from([0, 1, 2, 3, 4, 5]), 7));
    let clock = || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        spawn(async move { other.store(true, SeqCst) });
        block_on(async {
            let begin = allways_threads::time::Instant::now();
            let mut end = begin;
            while !flag.load(SeqCst) && end - begin < SECOND * 5 {
                sleep(SECOND).await;
                end = allways_threads::time::Instant::now();
            }
            (end - begin).as_secs()
        })
    };
    assert_eq!(results(clock), (BTreeSet::from([0, 1, 2, 3, 4, 5]), 7));
}

/// Polls another future with a waker of its own.
struct Relayed<F>(F);

struct Relay(Waker);

impl std::task::Wake for Relay {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.wake_by_ref();
    }
}

impl<F: Future + Unpin> Future for Relayed<F> {
    type Output = F::Output;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let waker = Waker::from(std::sync::Arc::new(Relay(cx.waker().clone())));
        Pin::new(&mut self.0).poll(&mut Context::from_waker(&waker))
    }
}

#[test]
fn wakers_of_others() {
    let main = || {
        let (sender, receiver) = oneshot::channel();
        spawn(async move { sender.send(7) });
        block_on(Relayed(receiver)).unwrap()
    };
    assert_eq!(results(main), (BTreeSet::from([7]), 2));
    let late = || {
        let (sender, receiver) = oneshot::channel();
        spawn(async move { sender.send(7) });
        let late = Box::pin(timeout(SECOND, receiver));
        block_on(Relayed(late)).ok().map(Result::unwrap)
    };
    assert_eq!(results(late), (BTreeSet::from([None, Some(7)]), 7));
}

#[test]
fn a_future_within_a_future() {
    let main = || {
        let (sender, receiver) = oneshot::channel();
        let (other, inner) = oneshot::channel();
        spawn(async move {
            sender.send(1).unwrap();
            other.send(2).unwrap();
        });
        // While the inner one is waited for, the outer one is woken.
        let waits = async { block_on(inner).unwrap() };
        block_on(join(receiver, waits)).0.unwrap()
    };
    assert_eq!(results(main), (BTreeSet::from([1]), 4));
}

#[test]
fn notifications() {
    let one = |tasks: usize| {
        move || {
            let notify = Arc::new(Notify::new());
            for _ in 0..tasks {
                let notify = Arc::clone(&notify);
                spawn(async move { notify.notified().await });
            }
            for _ in 0..tasks {
                notify.notify_one();
            }
        }
    };
    assert_eq!([1, 2, 3].map(|tasks| executions(one(tasks))), [2, 10, 78]);
    let all = || {
        let notify = Arc::new(Notify::new());
        let other = Arc::clone(&notify);
        let ready = Arc::new(AtomicBool::new(false));
        let is_ready = Arc::clone(&ready);
        let task = spawn(async move {
            let notified = other.notified();
            if !is_ready.load(SeqCst) {
                notified.await;
            }
        });
        ready.store(true, SeqCst);
        notify.notify_waiters();
        block_on(task).unwrap();
    };
    assert_eq!(executions(all), 8);
    let outcome = violated(|| {
        let notify = Arc::new(Notify::new());
        let other = Arc::clone(&notify);
        let task = spawn(async move { other.notified().await });
        notify.notify_waiters();
        block_on(task).unwrap();
    });
    assert_eq!(trouble(&outcome), Some(Trouble::Deadlock));
}

#[test]
fn permits() {
    let main = |permits: usize, tasks: usize| {
        move || {
            let semaphore = Arc::new(Semaphore::new(permits));
            let inside = Arc::new(AtomicUsize::new(0));
            for _ in 0..tasks {
                let (semaphore, inside) = (Arc::clone(&semaphore), Arc::clone(&inside));
                spawn(async move {
                    let _permit = semaphore.acquire().await.unwrap();
                    assert!(inside.fetch_add(1, SeqCst) < permits);
                    inside.fetch_sub(1, SeqCst);
                });
            }
        }
    };
    assert_eq!([1, 2, 3].map(|permits| executions(main(permits, 2))), [4, 24, 24]);
}

#[test]
fn who_drops_what_a_task_returns() {
    let main = || {
        let (sender, mut receiver) = mpsc::unbounded_channel::<u32>();
        drop(spawn(async move { sender }));
        block_on(async { assert_eq!(receiver.recv().await, None) });
    };
    assert_eq!(executions(main), 3);
}

#[test]
fn a_waker_that_outlives_its_task() {
    let main = || {
        let kept = Arc::new(BlockingMutex::new(None::<Waker>));
        let keeps = Arc::clone(&kept);
        let task = spawn(async move {
            let keep = std::future::poll_fn(|cx| {
                *keeps.lock().unwrap() = Some(cx.waker().clone());
                Poll::Ready(())
            });
            keep.await;
        });
        block_on(task).unwrap();
        let waker = kept.lock().unwrap().take();
        waker.unwrap().wake();
    };
    assert_eq!(executions(main), 2);
}

#[test]
fn awaits_that_block() {
    let explore = |main: fn()| {
        let outcome = Program::new(main).plain_awaits().check();
        assert!(outcome.assert_holds().complete);
        outcome.statistics.runs.unwrap()
    };
    let locks = || {
        let counter = Arc::new(Mutex::new(0));
        let spawn = |_| {
            let counter = Arc::clone(&counter);
            spawn(async move { *counter.lock().await += 1 })
        };
        let all = [0, 1, 2].map(spawn);
        block_on(async {
            for task in all {
                task.await.unwrap();
            }
            assert_eq!(*counter.lock().await, 3);
        });
    };
    // As many as there are orders, as with threads.
    assert_eq!(explore(locks), 6);
    let sends = || {
        let (sender, mut receiver) = mpsc::channel(1);
        for id in 0..3 {
            let sender = sender.clone();
            spawn(async move { sender.send(id).await.unwrap() });
        }
        drop(sender);
        block_on(async { while receiver.recv().await.is_some() {} });
    };
    assert_eq!(explore(sends), 6);
    let outcome = Program::new(|| {
        let mutex = Mutex::new(());
        block_on(async {
            let _guard = mutex.lock().await;
            let _again = mutex.lock().await;
        });
    })
    .plain_awaits()
    .check();
    assert_eq!(trouble(&outcome), Some(Trouble::Deadlock));
}

#[test]
fn random_schedules() {
    let options = Options { engine: Engine::Walk, max_runs: Some(200), ..Options::default() };
    let outcome = Program::new(|| {
        let (sender, mut receiver) = mpsc::channel(1);
        spawn(async move {
            for n in 0..3 {
                let _ = sender.send(n).await;
            }
        });
        block_on(async { while let Ok(Some(_)) = timeout(SECOND, receiver.recv()).await {} });
    })
    .try_check(&options)
    .unwrap();
    assert!(outcome.violation.is_none(), "{outcome}");
}

/// Looks at a flag, within futures that are kept in the heap.
fn is_set(flag: &AtomicBool) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
    Box::pin(async { flag.load(SeqCst) })
}

#[test]
fn loops_that_count_in_the_heap() {
    let main = |is_nested: bool| {
        move || {
            let flag = Arc::new(AtomicBool::new(false));
            let other = Arc::clone(&flag);
            spawn(async move { other.store(true, SeqCst) });
            let rounds: Pin<Box<dyn Future<Output = u32>>> = Box::pin(async move {
                for round in 0..4 {
                    if if is_nested { is_set(&flag).await } else { flag.load(SeqCst) } {
                        return round;
                    }
                    task::yield_now().await;
                }
                4
            });
            block_on(rounds)
        }
    };
    assert_eq!(results(main(false)), (BTreeSet::from([0, 1, 2, 3, 4]), 5));
    assert_eq!(results(main(true)), (BTreeSet::from([0, 1, 2, 3, 4]), 5));
}
