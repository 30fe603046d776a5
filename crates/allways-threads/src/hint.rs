//! Hints, as in `std::hint`.

/// Says that a thread spins. In a check this is not needed: a loop that only reads is noticed, and goes on when something that it read has changed.
///
/// ```
/// allways_threads::hint::spin_loop();
/// ```
#[inline]
pub fn spin_loop() {
    if crate::runtime::current().is_none() {
        std::hint::spin_loop();
    }
}

pub use std::hint::black_box;
