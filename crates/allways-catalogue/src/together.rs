//! What programs of threads have in common: threads with names; several of them, each with a number, and somebody who waits for all.

use allways_threads::sync::Arc;
use allways_threads::thread;

/// Begins a thread with a name.
#[track_caller]
pub(crate) fn spawn<R: Send + 'static>(
    name: impl Into<String>,
    body: impl FnOnce() -> R + Send + 'static,
) -> thread::JoinHandle<R> {
    let thread = thread::Builder::new().name(name.into()).spawn(body);
    thread.expect("there is memory for one more thread")
}

/// Runs as many threads as there are names, each with its number, and waits for them all; gives back what they shared, and what each of them
/// has come to.
#[track_caller]
pub(crate) fn together<S: Send + Sync + 'static, R: Send + 'static>(
    names: impl IntoIterator<Item = String>,
    shared: S,
    body: impl Fn(&S, usize) -> R + Clone + Send + 'static,
) -> (S, Vec<R>) {
    let shared = Arc::new(shared);
    let mut threads = Vec::new();
    for (number, name) in names.into_iter().enumerate() {
        let (shared, body) = (Arc::clone(&shared), body.clone());
        threads.push(spawn(name, move || body(&shared, number)));
    }
    let results = threads.into_iter().map(|thread| thread.join().expect("no thread panics"));
    let results = results.collect();
    (Arc::into_inner(shared).expect("every thread has ended"), results)
}
