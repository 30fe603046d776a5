//! What each thread has for itself.

use crate::runtime::current;
use std::cell::{Cell, RefCell};
use std::fmt;

/// Declares variables of which each thread has its own, as `std::thread_local!`.
///
/// ```
/// use std::cell::Cell;
/// allways_threads::thread_local! {
///     static COUNT: Cell<u32> = Cell::new(1);
///     static OTHER: Cell<u32> = const { Cell::new(2) };
/// }
/// COUNT.set(COUNT.get() + OTHER.get());
/// assert_eq!(COUNT.get(), 3);
/// ```
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = const $init:block $(; $($rest:tt)*)?) => {
        $crate::thread_local!($(#[$meta])* $vis static $name: $type = $init $(; $($rest)*)?);
    };
    ($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $init:expr $(; $($rest:tt)*)?) => {
        $(#[$meta])*
        $vis static $name: $crate::thread::LocalKey<$type> = {
            ::std::thread_local! { static REAL: $type = $init; }
            fn make() -> $type {
                $init
            }
            $crate::thread::LocalKey::new(&REAL, make)
        };
        $($crate::thread_local!($($rest)*);)?
    };
}

/// A variable of which each thread has its own: see [`thread_local!`](crate::thread_local).
///
/// ```
/// allways_threads::thread_local!(static COUNT: std::cell::Cell<u32> = std::cell::Cell::new(1));
/// assert_eq!(COUNT.with(|count| count.get()), 1);
/// ```
pub struct LocalKey<T: 'static> {
    real: &'static std::thread::LocalKey<T>,
    make: fn() -> T,
}

/// A variable that cannot be accessed any more: its thread is ending.
///
/// ```
/// # allways_threads::thread_local!(static COUNT: u32 = 1);
/// assert!(COUNT.try_with(|count| *count).is_ok());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessError;

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a variable of a thread cannot be accessed any more")
    }
}

impl std::error::Error for AccessError {}

#[allow(missing_docs, reason = "each is what it is in std")]
impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(real: &'static std::thread::LocalKey<T>, make: fn() -> T) -> Self {
        LocalKey { real, make }
    }

    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        match self.try_with(f) {
            Ok(result) => result,
            Err(error) => panic!("{error}"),
        }
    }

    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let Some(runtime) = current() else {
            return self.real.try_with(f).map_err(|_| AccessError);
        };
        let key = std::ptr::from_ref(self).addr();
        let thread = runtime.running_thread();
        if thread.has_lost_locals || thread.dropped.contains(&key) {
            return Err(AccessError);
        }
        let place = thread.locals.iter().position(|(other, _)| *other == key);
        if place.is_none() {
            // It may need others.
            let value = Box::new((self.make)());
            let Some(runtime) = current() else { return Err(AccessError) };
            runtime.running_thread().keep_local(key, value);
        }
        let Some(runtime) = current() else { return Err(AccessError) };
        let locals = &runtime.running_thread().locals;
        let value = locals.iter().find(|(other, _)| *other == key);
        let value: *const T = match value.and_then(|(_, value)| value.downcast_ref::<T>()) {
            Some(value) => value,
            None => return Err(AccessError),
        };
        // Safety: it is in a box that stays where it is until the thread drops it at its end, when none of its functions runs but what drops it.
        Ok(f(unsafe { &*value }))
    }
}

#[allow(missing_docs, reason = "each is what it is in std")]
impl<T: 'static> LocalKey<Cell<T>> {
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

#[allow(missing_docs, reason = "each is what it is in std")]
impl<T: 'static> LocalKey<RefCell<T>> {
    pub fn with_borrow<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| f(&cell.borrow()))
    }

    pub fn with_borrow_mut<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    pub fn set(&'static self, value: T) {
        self.with(|cell| *cell.borrow_mut() = value);
    }

    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalKey { .. }")
    }
}
