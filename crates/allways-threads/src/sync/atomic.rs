//! Atomics. Under control, all of them are sequentially consistent, whatever ordering is asked for.

use crate::handle::Handle;
use crate::runtime::current;
use crate::runtime::op::Kind;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::Ordering::SeqCst;
pub use std::sync::atomic::{Ordering, compiler_fence};

/// Tells what is in an atomic after the event at hand.
#[inline]
fn report(value: u64) {
    if let Some(runtime) = current() {
        runtime.report(value);
    }
}

/// An atomic fence. Under control it does nothing: all accesses are sequentially consistent.
///
/// ```
/// use allways_threads::sync::atomic::{Ordering, fence};
/// fence(Ordering::SeqCst);
/// ```
#[inline]
pub fn fence(order: Ordering) {
    std::sync::atomic::fence(order);
}

macro_rules! atomic {
    ($name:ident, $type:ty, $bits:expr, $sample:literal, $fetches:tt) => {
        #[doc = concat!("The atomic of `", stringify!($type), "`, as in `std::sync::atomic`.")]
        ///
        /// ```
        #[doc = concat!("use allways_threads::sync::atomic::{", stringify!($name), ", Ordering};")]
        #[doc = concat!("let it = ", stringify!($name), "::new(", $sample, ");")]
        #[doc = concat!("assert_eq!(it.load(Ordering::SeqCst), ", $sample, ");")]
        /// ```
        pub struct $name {
            handle: Handle,
            inner: std::sync::atomic::$name,
        }

        #[allow(missing_docs, reason = "each is what it is in std")]
        impl $name {
            #[track_caller]
            #[inline]
            pub fn new(value: $type) -> Self {
                let initial = Some(($bits)(value));
                let handle = Handle::new("atomic", Location::caller(), initial);
                $name { handle, inner: std::sync::atomic::$name::new(value) }
            }

            #[track_caller]
            #[inline(always)]
            pub fn load(&self, order: Ordering) -> $type {
                if self.handle.is_under_control() {
                    return self.load_in_check(Location::caller());
                }
                self.inner.load(order)
            }

            /// Out of the way of those who are in no check.
            #[cold]
            #[inline(never)]
            fn load_in_check(&self, at: &'static Location<'static>) -> $type {
                self.handle.read(Kind::Load, 0, at);
                let value = self.inner.load(SeqCst);
                report(($bits)(value));
                value
            }

            #[track_caller]
            #[inline]
            pub fn store(&self, value: $type, order: Ordering) {
                if self.handle.is_under_control() {
                    self.handle.access(Kind::Store, 0, Location::caller());
                    report(($bits)(value));
                    return self.inner.store(value, SeqCst);
                }
                self.inner.store(value, order)
            }

            #[track_caller]
            #[inline]
            pub fn swap(&self, value: $type, order: Ordering) -> $type {
                if self.handle.is_under_control() {
                    self.handle.access(Kind::Swap, 0, Location::caller());
                    report(($bits)(value));
                    return self.inner.swap(value, SeqCst);
                }
                self.inner.swap(value, order)
            }

            #[track_caller]
            #[inline(always)]
            pub fn compare_exchange(
                &self,
                expected: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                if self.handle.is_under_control() {
                    let expected_bits = ($bits)(expected);
                    self.handle.read(Kind::Exchange, expected_bits, Location::caller());
                    let result = self.inner.compare_exchange(expected, new, SeqCst, SeqCst);
                    let now = match result {
                        Ok(_) => new,
                        Err(other) => other,
                    };
                    report(($bits)(now));
                    return result;
                }
                self.inner.compare_exchange(expected, new, success, failure)
            }

            /// Under control it never fails without a reason.
            #[track_caller]
            #[inline(always)]
            pub fn compare_exchange_weak(
                &self,
                expected: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                if self.handle.is_under_control() {
                    return self.compare_exchange(expected, new, success, failure);
                }
                self.inner.compare_exchange_weak(expected, new, success, failure)
            }

            #[track_caller]
            #[inline]
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut f: impl FnMut($type) -> Option<$type>,
            ) -> Result<$type, $type> {
                if !self.handle.is_under_control() {
                    return self.inner.fetch_update(set, fetch, f);
                }
                let mut before = self.load(fetch);
                while let Some(next) = f(before) {
                    match self.compare_exchange_weak(before, next, set, fetch) {
                        done @ Ok(_) => return done,
                        Err(now) => before = now,
                    }
                }
                Err(before)
            }

            #[inline]
            pub fn get_mut(&mut self) -> &mut $type {
                self.handle.renew();
                self.inner.get_mut()
            }

            #[inline]
            pub fn into_inner(self) -> $type {
                self.inner.into_inner()
            }

            atomic!(@fetches $type, $bits, $fetches);
        }

        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                $name::new(Default::default())
            }
        }

        impl From<$type> for $name {
            #[track_caller]
            fn from(value: $type) -> Self {
                $name::new(value)
            }
        }

        impl fmt::Debug for $name {
            /// Does not count as an access.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.inner.fmt(f)
            }
        }
    };
    (@fetches $type:ty, $bits:expr, [$($fetch:ident $apply:expr),*]) => {
        $(
            #[track_caller]
            #[inline]
            pub fn $fetch(&self, value: $type, order: Ordering) -> $type {
                if self.handle.is_under_control() {
                    self.handle.access(Kind::Swap, 0, Location::caller());
                    let before = self.inner.$fetch(value, SeqCst);
                    let apply: fn($type, $type) -> $type = $apply;
                    report(($bits)(apply(before, value)));
                    return before;
                }
                self.inner.$fetch(value, order)
            }
        )*
    };
}

macro_rules! integer {
    ($name:ident, $type:ty) => {
        atomic!(
            $name,
            $type,
            |value: $type| value as u64,
            "7",
            [
                fetch_add | a,
                b | a.wrapping_add(b),
                fetch_sub | a,
                b | a.wrapping_sub(b),
                fetch_and | a,
                b | a & b,
                fetch_nand | a,
                b | !(a & b),
                fetch_or | a,
                b | a | b,
                fetch_xor | a,
                b | a ^ b,
                fetch_max | a,
                b | a.max(b),
                fetch_min | a,
                b | a.min(b)
            ]
        );
    };
}

integer!(AtomicI8, i8);
integer!(AtomicI16, i16);
integer!(AtomicI32, i32);
integer!(AtomicI64, i64);
integer!(AtomicIsize, isize);
integer!(AtomicU8, u8);
integer!(AtomicU16, u16);
integer!(AtomicU32, u32);
integer!(AtomicU64, u64);
integer!(AtomicUsize, usize);
atomic!(
    AtomicBool,
    bool,
    u64::from,
    "true",
    [
        fetch_and | a,
        b | a & b,
        fetch_nand | a,
        b | !(a & b),
        fetch_or | a,
        b | a | b,
        fetch_xor | a,
        b | a ^ b
    ]
);
