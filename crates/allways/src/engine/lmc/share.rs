//! Independent pieces of work, shared among threads.

use super::Stop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// What comes of all pieces, in their order; or what stopped the first that did not come to its end. After
/// that no new piece is begun.
pub(super) fn share<T: Send>(
    threads: usize,
    pieces: usize,
    work: impl Fn(usize) -> Result<T, Stop> + Sync,
) -> Result<Vec<T>, Stop> {
    let next = AtomicUsize::new(0);
    let is_over = AtomicBool::new(false);
    let done = Mutex::new(Vec::with_capacity(pieces));
    let one = || {
        while !is_over.load(Relaxed) {
            let piece = next.fetch_add(1, Relaxed);
            if piece >= pieces {
                break;
            }
            let result = work(piece);
            if result.is_err() {
                is_over.store(true, Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((piece, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(pieces) {
            scope.spawn(one);
        }
        one();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(piece, _)| *piece);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Bound;

    #[test]
    fn all_pieces_come_back_in_order() {
        for threads in [1, 3] {
            let done = share(threads, 100, |piece| Ok(piece * 2)).ok().unwrap();
            assert_eq!(done, (0..100).map(|piece| piece * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_stop_stops_all() {
        let result = share(2, 1_000, |piece| match piece {
            7 => Err(Stop::Bound(Bound::Seconds)),
            _ => Ok(()),
        });
        assert!(matches!(result, Err(Stop::Bound(Bound::Seconds))));
    }
}
