//! What a check is told that it could not see.

use allways::{Options, Outcome};
use allways_threads::sync::atomic::{AtomicU32, Ordering::SeqCst};
use allways_threads::sync::{Arc, Condvar, Mutex, mpsc};
use allways_threads::{Program, thread};

fn refused(program: &Program) -> String {
    program.try_check(&Options::default()).unwrap_err().to_string()
}

#[test]
fn what_is_made_outside_is_refused() {
    let outside = Arc::new(AtomicU32::new(0));
    let used = Arc::clone(&outside);
    let error = refused(&Program::new(move || {
        used.store(0, SeqCst);
        let other = Arc::clone(&used);
        let thread = thread::spawn(move || other.store(other.load(SeqCst) + 1, SeqCst));
        used.store(used.load(SeqCst) + 1, SeqCst);
        thread.join().unwrap();
    }));
    let what = "thread `main` uses something of allways_threads that was made outside of the check";
    assert!(error.contains("outside.rs:") && error.contains(what), "{error}");
    // Outside of a check it is what it was.
    outside.store(7, SeqCst);
    assert_eq!(outside.load(SeqCst), 7);
    let mutex = Arc::new(Mutex::new(0));
    let error = refused(&Program::new(move || drop(mutex.lock())));
    assert!(error.contains(what), "{error}");
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let error = refused(&Program::new(move || pair.1.notify_one()));
    assert!(error.contains(what), "{error}");
    let (sender, receiver) = mpsc::sync_channel(1);
    let error = refused(&Program::new(move || sender.send(1).unwrap()));
    assert!(error.contains(what), "{error}");
    assert!(receiver.recv().is_err());
}

/// Two threads that lose an increment, and what the main thread has meanwhile.
fn racy<K>(keep: impl Fn(thread::JoinHandle<()>) -> K + Send + Sync + 'static) -> Outcome {
    Program::new(move || {
        let number = Arc::new(AtomicU32::new(0));
        let increment = |number: &AtomicU32| number.store(number.load(SeqCst) + 1, SeqCst);
        let other = Arc::clone(&number);
        let thread = thread::spawn(move || increment(&other));
        increment(&number);
        let _kept = keep(thread);
        assert_eq!(number.load(SeqCst), 2, "an increment is lost");
    })
    .check()
}

struct Joins(Option<thread::JoinHandle<()>>);

impl Drop for Joins {
    fn drop(&mut self) {
        self.0.take().unwrap().join().unwrap();
    }
}

struct Sends(mpsc::Sender<u32>, #[allow(dead_code)] mpsc::Receiver<u32>);

impl Drop for Sends {
    fn drop(&mut self) {
        self.0.send(1).unwrap();
    }
}

#[test]
fn destructors_unwrap_what_they_get_while_a_thread_panics() {
    for outcome in [
        racy(|thread| Joins(Some(thread))),
        racy(|thread| {
            thread.join().unwrap();
            let (sender, receiver) = mpsc::channel();
            Sends(sender, receiver)
        }),
    ] {
        let violation = outcome.violation.unwrap();
        assert!(violation.property.contains("an increment is lost"), "{violation}");
    }
}

#[test]
fn destructors_unwrap_what_they_get_when_a_run_is_given_up() {
    let program = Program::new(|| {
        let number = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&number);
        let _joins = Joins(Some(thread::spawn(move || {
            other.fetch_add(1, SeqCst);
            other.fetch_add(1, SeqCst);
        })));
        number.fetch_add(1, SeqCst);
        number.fetch_add(1, SeqCst);
    });
    for options in [
        Options { preemptions: Some(0), ..Options::default() },
        Options { max_depth: Some(2), ..Options::default() },
        Options { max_runs: Some(1), ..Options::default() },
    ] {
        program.try_check(&options).unwrap().assert_not_violated();
    }
}
