//! Random numbers. In a check they are choices, and all of them are made.

use crate::runtime::op::{Kind, NONE, Op};
use crate::runtime::{access, current};
use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::ops::{Bound, RangeBounds};
use std::panic::Location;

/// So many results a choice may have in a check.
pub const MOST: u64 = 1 << 16;

/// A number below `n`, which is not zero.
///
/// ```
/// assert!(allways_threads::rand::below(3) < 3);
/// ```
///
/// # Panics
///
/// If `n` is zero, or larger than [`MOST`] in a check.
#[track_caller]
pub fn below(n: u64) -> u64 {
    assert!(n > 0, "there is no number below zero to choose");
    if current().is_none() {
        return real() % n;
    }
    assert!(n <= MOST, "{n} results are too many to try them all; choose from at most {MOST}");
    chosen(n, Location::caller())
}

/// The same in a check, by somebody who says where.
pub(crate) fn chosen(n: u64, at: &'static Location<'static>) -> u64 {
    if n == 1 {
        return 0;
    }
    u64::from(
        access(Op { kind: Kind::Choose, object: NONE, argument: n, said: 0, at }).alternative(),
    )
}

/// Either of two.
///
/// ```
/// let _: bool = allways_threads::rand::coin();
/// ```
#[track_caller]
pub fn coin() -> bool {
    below(2) == 1
}

/// One of several, if there are any.
///
/// ```
/// assert!(allways_threads::rand::choose(&[1, 2]).is_some());
/// assert_eq!(allways_threads::rand::choose::<u8>(&[]), None);
/// ```
#[track_caller]
pub fn choose<T>(from: &[T]) -> Option<&T> {
    if from.is_empty() {
        return None;
    }
    from.get(below(from.len() as u64) as usize)
}

/// A number in a range, as `rand::random_range`.
///
/// ```
/// assert!((3..=5).contains(&allways_threads::rand::random_range(3..=5)));
/// ```
///
/// # Panics
///
/// If the range is empty, or has more than [`MOST`] numbers in a check.
#[track_caller]
pub fn random_range(range: impl RangeBounds<u64>) -> u64 {
    let first = match range.start_bound() {
        Bound::Included(&first) => first,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let count = match range.end_bound() {
        Bound::Included(&last) => last.checked_sub(first).map(|more| more.saturating_add(1)),
        Bound::Excluded(&end) => end.checked_sub(first),
        Bound::Unbounded => Some(u64::MAX - first),
    };
    match count {
        None | Some(0) => panic!("there is nothing to choose in an empty range"),
        Some(count) => first + below(count),
    }
}

/// Whether something happens that happens with this probability; in a check, both.
///
/// ```
/// assert!(allways_threads::rand::random_bool(1.0));
/// ```
#[track_caller]
pub fn random_bool(probability: f64) -> bool {
    if probability <= 0.0 || probability >= 1.0 {
        return probability >= 1.0;
    }
    match current() {
        Some(_) => coin(),
        None => (real() >> 11) as f64 / ((1u64 << 53) as f64) < probability,
    }
}

/// A random number of this thread, outside of a check.
fn real() -> u64 {
    thread_local! {
        static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(0u8));
    }
    // SplitMix64.
    let state = STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(state);
    let mut mixed = state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
