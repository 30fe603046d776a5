use allways::{Engine, Options};
use allways_threads::sync::{Arc, Mutex};
use allways_threads::{Program, thread};
fn main() {
    let options = Options { engine: Engine::Dpor, ..Options::default() };
    let (n, times) = (4, 2);
    let outcome = Program::new(move || {
        let counter = Arc::new(Mutex::new(0));
        let spawn = |_| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || (0..times).for_each(|_| *counter.lock().unwrap() += 1))
        };
        let all: Vec<_> = (0..n).map(spawn).collect();
        all.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*counter.lock().unwrap(), n * times);
    })
    .try_check(&options)
    .unwrap();
    println!("{:?} {:?}", outcome.statistics.runs, outcome.statistics.transitions);
}
