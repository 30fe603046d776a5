//! Tasks in a check.

use super::JoinError;
use crate::future::executor::{drive, may_block, register};
use crate::handle::{Handle, read};
use crate::runtime::awaits::{Registration, Role};
use crate::runtime::fiber::Job;
use crate::runtime::op::{Kind, Op};
use crate::runtime::{Waits, access, current, wait};
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;
use std::task::{Context, Poll};

/// A task under control.
pub(super) struct Led<T> {
    /// What stands for it.
    pub task: Handle,
    thread: u32,
    /// What stands for its end, where somebody wants to know of that.
    end: u32,
    packet: Packet<T>,
    pub is_taken: bool,
    registration: Registration,
    at: &'static Location<'static>,
}

/// Where a task leaves what it returns.
struct Packet<T>(Rc<Left<T>>);
// Safety: what is in it is only used by threads under control, which all run on one thread of the operating system.
unsafe impl<T> Send for Packet<T> {}
// Safety: as above.
unsafe impl<T> Sync for Packet<T> {}

struct Left<T> {
    result: RefCell<Option<Result<T, JoinError>>>,
    /// Whether nobody wants it.
    is_detached: Cell<bool>,
}

/// What a task does.
struct Run<F: Future> {
    future: RefCell<Option<F>>,
    left: Rc<Left<F::Output>>,
    task: u32,
    end: u32,
    at: &'static Location<'static>,
}

pub(super) fn spawn<F: Future + 'static>(
    future: F,
    at: &'static Location<'static>,
) -> Led<F::Output> {
    let task = Handle::new("task", at, None);
    let left = Rc::new(Left { result: RefCell::new(None), is_detached: Cell::new(false) });
    let packet = Packet(Rc::clone(&left));
    let Some(runtime) = current() else { unreachable!("a task under control outside of a check") };
    let end = runtime.make_part(task.object(), 0, "end of the task");
    let run = Run { future: RefCell::new(Some(future)), left, task: task.object(), end, at };
    let thread = runtime.spawn(None, at, Rc::new(run));
    let record = &mut runtime.population.threads[thread as usize];
    (record.role, record.task) = (Role::Task, Some([task.object(), end]));
    Led { task, thread, end, packet, is_taken: false, registration: Registration::NONE, at }
}

impl<F: Future> Job for Run<F> {
    fn run(&self) {
        let Some(future) = self.future.borrow_mut().take() else { return };
        let result = drive(future, self.task, self.at).ok_or(JoinError(None));
        *self.left.result.borrow_mut() = Some(result);
        if current().is_some_and(|runtime| runtime.population.names.is_tried(self.end)) {
            access(Op { kind: Kind::Store, object: self.end, argument: 0, said: 0, at: self.at });
        }
        if self.left.is_detached.get() {
            let result = self.left.result.borrow_mut().take();
            drop(result);
        }
    }
}

impl<T> Led<T> {
    /// Whether the task has ended, and the event in which that was found out.
    #[inline(always)]
    pub fn has_ended(&self, at: &'static Location<'static>) -> (u32, bool) {
        let Some(runtime) = current() else { return (u32::MAX, true) };
        // Whether it has ended matters now, so its end has to be an event.
        runtime.population.names.try_to_take(self.end);
        let granted = read(Op { kind: Kind::Load, object: self.end, argument: 0, said: 0, at });
        let has_ended = current().is_none_or(|runtime| runtime.is_stored(self.end));
        (granted.event_at_hand(), granted.is_ending() || has_ended)
    }

    /// Waits until the task has ended, which is no event.
    fn wait(&self) {
        if let Some(runtime) = current()
            && !runtime.join(self.thread)
            && wait(Waits::Task(self.thread), self.at)
            && let Some(runtime) = current()
        {
            runtime.join(self.thread);
        }
    }

    pub fn poll(&mut self, cx: &Context<'_>) -> Poll<Result<T, JoinError>> {
        assert!(!self.is_taken, "a task is awaited that was awaited before");
        if may_block(cx) {
            self.wait();
        } else if !self.registration.has_come() {
            let (event, has_ended) = self.has_ended(self.at);
            if !has_ended {
                register(&mut self.registration, event, cx, self.at);
                return Poll::Pending;
            }
        }
        self.registration.clear();
        self.is_taken = true;
        let result = self.packet.0.result.borrow_mut().take();
        // There is nothing while threads end.
        Poll::Ready(result.unwrap_or(Err(JoinError(None))))
    }
}

impl<T> Drop for Led<T> {
    fn drop(&mut self) {
        self.registration.clear();
        if self.is_taken || !std::mem::needs_drop::<T>() {
            return;
        }
        if current().is_none_or(|runtime| runtime.skips(self.at)) {
            return;
        }
        // Who drops what the task returns depends on which comes first, its end or this.
        if self.has_ended(self.at).1 {
            let result = self.packet.0.result.borrow_mut().take();
            drop(result);
        } else {
            self.packet.0.is_detached.set(true);
        }
    }
}
