//! Several futures at once.

use super::executor::Watch;
use crate::rand;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What came first.
///
/// ```
/// use allways_threads::future::{Either, block_on, race};
/// assert_eq!(block_on(race(async { 1 }, async { "one" })), Either::Left(1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Either<A, B> {
    /// The first of two.
    Left(A),
    /// The second of two.
    Right(B),
}

impl<T> Either<T, T> {
    /// What it is, whichever it is.
    ///
    /// ```
    /// use allways_threads::future::{block_on, race};
    /// assert_eq!(block_on(race(async { 1 }, async { 2 })).into_inner(), 1);
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            Either::Left(value) | Either::Right(value) => value,
        }
    }
}

/// Waits for the first of two: see [`race`] and [`select`].
///
/// ```
/// use allways_threads::future::{Race, block_on, race};
/// let race: Race<_, _> = race(async { 1 }, async { 2 });
/// assert_eq!(block_on(race).into_inner(), 1);
/// ```
#[must_use = "futures do nothing unless they are awaited"]
#[derive(Debug)]
pub struct Race<A, B> {
    /// None when it is over.
    both: Option<(A, B)>,
    is_fair: bool,
}

/// Waits for the first of two, and drops the other. The first is polled first, as in `tokio::select!` with `biased`.
///
/// ```
/// use allways_threads::future::{Either, block_on, race};
/// let first = block_on(race(async { 1 }, std::future::pending::<()>()));
/// assert_eq!(first, Either::Left(1));
/// ```
pub fn race<A: Future, B: Future>(a: A, b: B) -> Race<A, B> {
    Race { both: Some((a, b)), is_fair: false }
}

/// Waits for the first of two, and drops the other. Which is polled first is a random choice, each time they are polled, as in `tokio::select!`; in a check, both are
/// tried. A [`race`] has fewer runs.
///
/// ```
/// use allways_threads::{Program, future::{block_on, select}};
/// let check = Program::new(|| assert!(block_on(select(async { 1 }, async { 2 })).into_inner() < 3));
/// assert_eq!(check.check().assert_holds().statistics.runs, Some(2));
/// ```
pub fn select<A: Future, B: Future>(a: A, b: B) -> Race<A, B> {
    Race { both: Some((a, b)), is_fair: true }
}

impl<A: Future, B: Future> Future for Race<A, B> {
    type Output = Either<A::Output, B::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let second_first = self.is_fair && rand::coin();
        let _watch = Watch::begin();
        // Safety: neither future is moved out of where it is pinned; both are dropped there.
        let this = unsafe { self.get_unchecked_mut() };
        let Some((a, b)) = &mut this.both else { panic!("a race is awaited that is over") };
        // Safety: as above.
        let (mut a, mut b) = unsafe { (Pin::new_unchecked(a), Pin::new_unchecked(b)) };
        let mut result = Poll::Pending;
        for left in [!second_first, second_first] {
            if result.is_pending() {
                result = match left {
                    true => a.as_mut().poll(cx).map(Either::Left),
                    false => b.as_mut().poll(cx).map(Either::Right),
                };
            }
        }
        if result.is_ready() {
            this.both = None;
        }
        result
    }
}

/// Waits for both.
///
/// ```
/// use allways_threads::future::{block_on, join};
/// assert_eq!(block_on(join(async { 1 }, async { 2 })), (1, 2));
/// ```
pub async fn join<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (std::pin::pin!(a), std::pin::pin!(b));
    let (mut left, mut right) = (None, None);
    std::future::poll_fn(move |cx| {
        let _watch = Watch::begin();
        if left.is_none()
            && let Poll::Ready(value) = a.as_mut().poll(cx)
        {
            left = Some(value);
        }
        if right.is_none()
            && let Poll::Ready(value) = b.as_mut().poll(cx)
        {
            right = Some(value);
        }
        match (left.take(), right.take()) {
            (Some(left), Some(right)) => Poll::Ready((left, right)),
            (some, other) => {
                (left, right) = (some, other);
                Poll::Pending
            }
        }
    })
    .await
}
