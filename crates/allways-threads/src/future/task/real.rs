//! Tasks outside of a check.

use super::JoinError;
use crate::future::real;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

pub(super) struct Real<T> {
    pub token: Arc<real::Token>,
    end: Mutex<End<T>>,
}

struct End<T> {
    has_ended: bool,
    result: Option<Result<T, JoinError>>,
    waker: Option<Waker>,
}

pub(super) fn spawn<F>(future: F) -> Arc<Real<F::Output>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let end = Mutex::new(End { has_ended: false, result: None, waker: None });
    let real = Arc::new(Real { token: real::Token::new(), end });
    let other = Arc::clone(&real);
    std::thread::spawn(move || {
        let driven = catch_unwind(AssertUnwindSafe(|| real::drive(future, &other.token)));
        let result = match driven {
            Ok(driven) => driven.ok_or(JoinError(None)),
            Err(panic) => Err(JoinError(Some(panic))),
        };
        let mut end = real::lock(&other.end);
        (end.has_ended, end.result) = (true, Some(result));
        let waker = end.waker.take();
        drop(end);
        if let Some(waker) = waker {
            waker.wake();
        }
    });
    real
}

impl<T> Real<T> {
    pub fn has_ended(&self) -> bool {
        real::lock(&self.end).has_ended
    }

    pub fn poll(&self, cx: &Context<'_>) -> Poll<Result<T, JoinError>> {
        let mut end = real::lock(&self.end);
        if let Some(result) = end.result.take() {
            return Poll::Ready(result);
        }
        assert!(!end.has_ended, "a task is awaited that was awaited before");
        end.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}
