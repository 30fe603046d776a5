//! What the sockets of one side share: who may use it, and how it is set.

use crate::handle::Handle;
use crate::runtime::current;
use crate::runtime::network::Called;
use crate::runtime::op::Kind;
use crate::sync::{Mutex, MutexGuard};
use std::panic::Location;
use std::sync::PoisonError;

/// Something that threads may set and look at, each with an event.
pub(super) struct Setting<T> {
    handle: Handle,
    value: std::sync::Mutex<T>,
}

impl<T: Clone> Setting<T> {
    pub fn new(value: T, called: Called, at: &'static Location<'static>) -> Self {
        let handle = Handle::new("options of the socket", at, None);
        if let Some(runtime) = current() {
            runtime.call(handle.object(), called);
        }
        Setting { handle, value: std::sync::Mutex::new(value) }
    }

    pub fn get(&self, at: &'static Location<'static>) -> T {
        self.handle.access(Kind::Load, 0, at);
        self.value.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set(&self, at: &'static Location<'static>, f: impl FnOnce(&mut T)) {
        self.handle.access(Kind::Swap, 0, at);
        f(&mut self.value.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The reading or the writing side of a stream: those who use it take turns, where there may be several.
pub(super) struct Side<T> {
    turn: Mutex<()>,
    state: std::sync::Mutex<T>,
}

impl<T> Side<T> {
    pub fn new(
        what: &'static str,
        state: T,
        called: Called,
        at: &'static Location<'static>,
    ) -> Self {
        let turn = Mutex::called(what, (), at);
        if let Some(runtime) = current() {
            runtime.call(turn.handle.object(), called);
        }
        Side { turn, state: std::sync::Mutex::new(state) }
    }

    /// Waits for its turn, which lasts as long as the guard.
    pub fn turn(&self, at: &'static Location<'static>) -> MutexGuard<'_, ()> {
        self.turn.lock_at(at).unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the state, or changes it, for a moment. Whoever does has a turn, or is the only one.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes something for those who come after, also while somebody has a turn.
    pub fn set(&self, at: &'static Location<'static>, f: impl FnOnce(&mut T)) {
        self.turn.handle.access(Kind::Swap, 0, at);
        self.with(f);
    }

    /// Looks at what was set.
    pub fn get<R>(&self, at: &'static Location<'static>, f: impl FnOnce(&T) -> R) -> R {
        self.turn.handle.access(Kind::Load, 0, at);
        self.with(|state| f(state))
    }
}
