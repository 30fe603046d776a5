//! Hints, as in `std::hint`.

/// Says that a thread spins. In a check this is not needed: a loop that only reads is noticed, and goes on when something that it read has changed.
///
/// ```
/// allways_threads::hint::spin_loop();
/// ```
#[inline]
#[track_caller]
pub fn spin_loop() {
    match crate::runtime::current() {
        Some(runtime) => runtime.idle(std::panic::Location::caller()),
        None => std::hint::spin_loop(),
    }
}

pub use std::hint::black_box;
