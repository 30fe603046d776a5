//! What programs of threads have in common: some threads, each with a number and a name, and somebody who waits for all of them.

use allways_threads::sync::Arc;
use allways_threads::thread;

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
        let thread = thread::Builder::new().name(name).spawn(move || body(&shared, number));
        threads.push(thread.expect("there is memory for one more thread"));
    }
    let results = threads.into_iter().map(|thread| thread.join().expect("no thread panics"));
    let results = results.collect();
    (Arc::into_inner(shared).expect("every thread has ended"), results)
}
