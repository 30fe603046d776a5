//! Tasks outside of a check: the same code runs for real, with tasks and plain threads that wake each other. What is tested is what comes of it, since nobody
//! decides here who goes first.

use allways_threads::future::sync::{Mutex, Notify, Semaphore, mpsc, oneshot};
use allways_threads::future::time::{Duration, sleep, timeout};
use allways_threads::future::{Either, block_on, join, race, spawn, task};
use allways_threads::sync::Arc;
use allways_threads::thread;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn channels_between_tasks_and_threads() {
    for room in [1, 3, 100] {
        let (sender, mut receiver) = mpsc::channel(room);
        let threads = [0, 1, 2].map(|id| {
            let sender = sender.clone();
            thread::spawn(move || block_on(send_all(sender, id)))
        });
        let tasks = [3, 4].map(|id| spawn(send_all(sender.clone(), id)));
        drop(sender);
        let mut next = [0; 5];
        block_on(async {
            while let Some((id, n)) = receiver.recv().await {
                assert_eq!(n, std::mem::replace(&mut next[id], n + 1));
            }
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(next, [200; 5]);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

async fn send_all(sender: mpsc::Sender<(usize, usize)>, id: usize) {
    for n in 0..200 {
        sender.send((id, n)).await.unwrap();
    }
}

#[test]
fn a_mutex_and_permits() {
    let shared = Arc::new((Mutex::new(0), Semaphore::new(2)));
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let shared = Arc::clone(&shared);
            spawn(async move {
                for _ in 0..200 {
                    let _permit = shared.1.acquire().await.unwrap();
                    let mut counter = shared.0.lock().await;
                    let before = *counter;
                    task::yield_now().await;
                    *counter = before + 1;
                }
            })
        })
        .collect();
    block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*shared.0.lock().await, 1_600);
    });
    let _both = [(); 2].map(|()| shared.1.try_acquire().unwrap());
    assert!(shared.1.try_acquire().is_err());
}

#[test]
fn plain_threads_wake_tasks() {
    let notify = Arc::new(Notify::new());
    let (sender, receiver) = oneshot::channel();
    let other = Arc::clone(&notify);
    let task = spawn(async move { join(other.notified(), receiver).await.1.unwrap() });
    let thread = thread::spawn(move || {
        notify.notify_one();
        sender.send(7).unwrap();
    });
    assert_eq!(block_on(task).unwrap(), 7);
    thread.join().unwrap();
}

#[test]
fn what_comes_first() {
    block_on(async {
        let (sender, receiver) = oneshot::channel();
        spawn(async move { sender.send(7) });
        assert_eq!(race(receiver, sleep(LONG)).await, Either::Left(Ok(7)));
        let (_sender, mut receiver) = mpsc::unbounded_channel::<u32>();
        assert!(timeout(Duration::from_millis(5), receiver.recv()).await.is_err());
    });
}

#[test]
fn a_task_that_is_aborted_drops_what_it_has() {
    let (sender, receiver) = oneshot::channel::<()>();
    let task = spawn(async move {
        sleep(LONG).await;
        drop(sender);
    });
    task.abort();
    block_on(async {
        assert!(task.await.unwrap_err().is_cancelled());
        assert!(receiver.await.is_err());
    });
}
