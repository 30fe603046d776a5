//! Runs a future on a thread: polls it, and waits until it is woken.

use super::real;
use crate::handle::Handle;
use crate::runtime::awaits::{ANY_TIME, Awaiting, Registration, Role, Token, because};
use crate::runtime::fiber::Job;
use crate::runtime::op::{Kind, Op};
use crate::runtime::{access, current};
use std::cell::RefCell;
use std::panic::Location;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Runs a future on this thread, and waits for what comes of it.
///
/// In a check, tasks that were [spawned](super::spawn) meanwhile go on when this has returned. Those that still await something when all threads
/// have ended are given up there, as when a runtime is shut down. It is no mistake that nobody waits for a task.
///
/// ```
/// let seven = allways_threads::future::block_on(async { 7 });
/// assert_eq!(seven, 7);
/// ```
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let at = Location::caller();
    let result = match current() {
        None => real::drive(future, &real::Token::here()),
        Some(_) => drive(future, Handle::new("future", at, None).object(), at),
    };
    match result {
        Some(value) => value,
        None => unreachable!("nobody can abort this"),
    }
}

/// What a thread awaited before it began to poll another future.
struct Outer(Awaiting);

impl Outer {
    fn replace(inner: Awaiting) -> Self {
        let replace = |inner| {
            let awaiting = &mut current()?.running_thread().awaiting;
            Some(std::mem::replace(awaiting, inner))
        };
        Outer(replace(inner).unwrap_or_default())
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        if let Some(runtime) = current() {
            runtime.running_thread().awaiting = std::mem::take(&mut self.0);
        }
    }
}

/// Runs a future on the thread under control that runs. `None` if it was aborted: then it is dropped here.
pub(super) fn drive<F: Future>(
    future: F,
    object: u32,
    at: &'static Location<'static>,
) -> Option<F::Output> {
    let runtime = current()?;
    let awaiting = Awaiting::new(Arc::new(Token { epoch: runtime.epoch, object, at }));
    let waker = awaiting.waker();
    let _outer = Outer::replace(awaiting);
    let mut future = pin!(future);
    let runtime = current()?;
    if runtime.population.names.is_tried(object) {
        // It may be aborted before it has begun.
        runtime.running_thread().awaiting.is_woken = true;
        if !goes_on(object, at) {
            return None;
        }
    }
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(value);
        }
        if !goes_on(object, at) {
            return None;
        }
    }
}

/// What the thread that runs polls is not ready: waits until it is to be polled again, unless it is aborted.
fn goes_on(object: u32, at: &'static Location<'static>) -> bool {
    let Some(runtime) = current() else { return false };
    let may_be_aborted = runtime.population.names.is_tried(object);
    let last = runtime.lived_by(runtime.running());
    let thread = runtime.running_thread();
    // What tells the rounds of a loop apart may be in the heap, where futures are kept: a loop that awaits is not taken for one that only reads.
    thread.rounds.clear();
    let awaiting = &mut thread.awaiting;
    let at = awaiting.at.take().unwrap_or(at);
    let is_woken = std::mem::take(&mut awaiting.is_woken);
    if is_woken && !may_be_aborted && awaiting.quiet_since.replace(last) != Some(last) {
        // Whatever it does next, others may do something before.
        return true;
    }
    let wakes = thread.wakes();
    let mut list = Vec::new();
    if !is_woken {
        list.extend(thread.awaiting.awaited());
    }
    if is_woken || wakes.is_some() {
        list.push(ANY_TIME);
    }
    let argument = runtime.population.awaited.number(&list);
    drop(list);
    let granted = access(Op { kind: Kind::Resume, object, argument, said: 0, at });
    assert!(!granted.is_ending(), "a future is awaited by a thread that is cleaning up");
    let Some(runtime) = current() else { return false };
    match granted.value() {
        because::ABORTED => return false,
        because::WOKEN => {}
        because::ANY_TIME => {
            if let Some(wakes) = wakes.filter(|_| !is_woken) {
                runtime.pass(Duration::from_nanos(wakes).saturating_sub(runtime.time()));
                runtime.running_thread().wake_sleepers();
            }
        }
        event => runtime.running_thread().awaiting.come(event as u32),
    }
    true
}

/// Whether the thread that runs may block instead of finding nothing.
pub(super) fn may_block(cx: &Context<'_>) -> bool {
    current().is_some_and(|runtime| runtime.may_block(cx.waker()))
}

/// Looks at whether what is polled meanwhile is ready.
pub(super) struct Watch(());

impl Watch {
    pub fn begin() -> Self {
        Self::add(1);
        Watch(())
    }

    fn add(more: i32) {
        if let Some(runtime) = current() {
            let watchers = &mut runtime.running_thread().awaiting.watchers;
            *watchers = watchers.saturating_add_signed(more);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        Self::add(-1);
    }
}

/// A future under control has found nothing in an event: its task is to poll it again when that may be otherwise.
pub(super) fn register(
    registration: &mut Registration,
    event: u32,
    cx: &Context<'_>,
    at: &'static Location<'static>,
) {
    let Some(runtime) = current() else { return };
    let waker = cx.waker();
    if runtime.running_thread().awaiting.is_own(waker) {
        registration.set(event, at);
    } else if !waker.will_wake(Waker::noop()) {
        let waker = waker.clone();
        ring(event, at, || waker.wake());
    }
}

/// Waits for something in the place of a task, and then does something. That is a thread of its own: whoever awaits it may be polled by others by then.
pub(super) fn ring(event: u32, at: &'static Location<'static>, then: impl FnOnce() + 'static) {
    let Some(runtime) = current() else { return };
    let bell = Rc::new(Bell { event, at, then: RefCell::new(Some(then)) });
    let thread = runtime.spawn(None, at, bell);
    runtime.population.threads[thread as usize].role = Role::Bell;
}

struct Bell<F> {
    event: u32,
    at: &'static Location<'static>,
    then: RefCell<Option<F>>,
}

impl<F: FnOnce()> Job for Bell<F> {
    fn run(&self) {
        let object = Handle::new("waker", self.at, None).object();
        let Some(runtime) = current() else { return };
        let argument = runtime.population.awaited.number(&[self.event]);
        access(Op { kind: Kind::Resume, object, argument, said: 0, at: self.at });
        let then = self.then.borrow_mut().take();
        if let Some(then) = then {
            then();
        }
    }
}
