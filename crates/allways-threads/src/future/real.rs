//! Running futures outside of a check: each task is a thread of the operating system, which parks while its future is not ready.

use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

/// Locks what nobody panics in.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What wakes a thread that runs a future.
pub(super) struct Token {
    /// Known when it has begun.
    thread: OnceLock<Thread>,
    is_woken: AtomicBool,
    is_aborted: AtomicBool,
}

impl Token {
    /// Of a thread that has not begun.
    pub fn new() -> Arc<Self> {
        let (is_woken, is_aborted) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Token { thread: OnceLock::new(), is_woken, is_aborted })
    }

    /// Of this thread.
    pub fn here() -> Arc<Self> {
        Token::new()
    }

    pub fn abort(self: &Arc<Self>) {
        self.is_aborted.store(true, SeqCst);
        self.wake_by_ref();
    }
}

impl Wake for Token {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, SeqCst);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// Runs a future on this thread. `None` if it was aborted: then it is dropped here.
pub(super) fn drive<F: Future>(future: F, token: &Arc<Token>) -> Option<F::Output> {
    token.thread.get_or_init(thread::current);
    let waker = Waker::from(Arc::clone(token));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if token.is_aborted.load(SeqCst) {
            return None;
        }
        if let Poll::Ready(value) = future.as_mut().poll(&mut cx) {
            return Some(value);
        }
        while !token.is_woken.swap(false, SeqCst) {
            thread::park();
        }
    }
}

/// Permits that are given in the order in which they were asked for.
#[derive(Default)]
pub(super) struct Gate {
    pub left: usize,
    next: u64,
    queue: VecDeque<(u64, Waker)>,
    /// Those who need not queue any more, and whether they have got a permit.
    let_through: BTreeMap<u64, bool>,
    /// How often all were let through.
    pub all: u64,
}

impl Gate {
    pub fn new(left: usize) -> Self {
        Gate { left, ..Gate::default() }
    }

    pub fn try_acquire(&mut self) -> bool {
        let is_left = self.left > 0;
        self.left -= usize::from(is_left);
        is_left
    }

    /// Takes a permit, or queues for one; `ticket` is for one who queues.
    pub fn acquire(&mut self, ticket: &mut Option<u64>, cx: &Context<'_>) -> bool {
        let Some(number) = *ticket else {
            if self.try_acquire() {
                return true;
            }
            *ticket = Some(self.next);
            self.queue.push_back((self.next, cx.waker().clone()));
            self.next += 1;
            return false;
        };
        if self.let_through.remove(&number).is_some() {
            *ticket = None;
            return true;
        }
        if let Some((_, waker)) = self.queue.iter_mut().find(|(other, _)| *other == number) {
            waker.clone_from(cx.waker());
        }
        false
    }

    /// Gives a permit to the first who queues, who is to be woken; or back, if not more than so many are there.
    #[must_use]
    pub fn release(&mut self, most: usize) -> Option<Waker> {
        match self.queue.pop_front() {
            Some((number, waker)) => {
                self.let_through.insert(number, true);
                Some(waker)
            }
            None => {
                self.left = (self.left + 1).min(most);
                None
            }
        }
    }

    /// Lets all through who queue: they are to be woken.
    #[must_use]
    pub fn release_all(&mut self) -> Vec<Waker> {
        self.all += 1;
        let queue = std::mem::take(&mut self.queue);
        self.let_through.extend(queue.iter().map(|(number, _)| (*number, false)));
        queue.into_iter().map(|(_, waker)| waker).collect()
    }

    /// Does not queue any more. If it has got a permit that goes to the next.
    #[must_use]
    pub fn leave(&mut self, ticket: &mut Option<u64>, most: usize) -> Option<Waker> {
        let number = ticket.take()?;
        match self.let_through.remove(&number) {
            Some(true) => self.release(most),
            Some(false) => None,
            None => {
                self.queue.retain(|(other, _)| *other != number);
                None
            }
        }
    }
}

/// When whom to wake.
#[derive(Default)]
struct Timers {
    all: Mutex<BTreeMap<(Instant, u64), Waker>>,
    changed: Condvar,
}

fn timers() -> &'static Timers {
    static TIMERS: OnceLock<&'static Timers> = OnceLock::new();
    TIMERS.get_or_init(|| {
        let timers: &Timers = Box::leak(Box::default());
        thread::spawn(|| timers.run());
        timers
    })
}

impl Timers {
    fn run(&self) {
        let mut all = lock(&self.all);
        loop {
            let first = all.first_key_value().map(|((when, _), _)| *when);
            let rest = first.map(|when| when.saturating_duration_since(Instant::now()));
            all = match rest {
                None => self.changed.wait(all).unwrap_or_else(PoisonError::into_inner),
                Some(rest) if rest.is_zero() => {
                    let due = all.pop_first();
                    drop(all);
                    if let Some((_, waker)) = due {
                        waker.wake();
                    }
                    lock(&self.all)
                }
                Some(rest) => {
                    let waited = self.changed.wait_timeout(all, rest);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

/// A place among those who are woken at some time.
pub(super) struct Timer {
    when: Instant,
    number: u64,
}

impl Timer {
    pub fn new(when: Instant) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Timer { when, number: NEXT.fetch_add(1, SeqCst) }
    }

    pub fn when(&self) -> Instant {
        self.when
    }

    /// Has somebody woken then.
    pub fn set(&self, waker: Waker) {
        let timers = timers();
        lock(&timers.all).insert((self.when, self.number), waker);
        timers.changed.notify_one();
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        lock(&timers().all).remove(&(self.when, self.number));
    }
}
