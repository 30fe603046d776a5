use allways::{Engine, Options};
use allways_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use allways_threads::sync::{Arc, Mutex};
use allways_threads::{Program, thread};

fn time(name: &str, main: impl Fn() + Send + Sync + 'static + Clone) {
    let options = Options { engine: Engine::Dpor, ..Options::default() };
    let begin = std::time::Instant::now();
    let mut runs = 0;
    while begin.elapsed().as_secs_f64() < 1.5 {
        let outcome = Program::new(main.clone()).try_check(&options).unwrap();
        runs += outcome.statistics.runs.unwrap();
    }
    println!("{name}: {:.0}/s", runs as f64 / begin.elapsed().as_secs_f64());
}

fn main() {
    let locked = |n: usize, times: usize| {
        move || {
            let counter = Arc::new(Mutex::new(0));
            let spawn = |_| {
                let counter = Arc::clone(&counter);
                thread::spawn(move || (0..times).for_each(|_| *counter.lock().unwrap() += 1))
            };
            let all: Vec<_> = (0..n).map(spawn).collect();
            all.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(*counter.lock().unwrap(), n * times);
        }
    };
    let which = std::env::args().nth(1).unwrap_or_default();
    if which.is_empty() || which == "locked" {
        time("locked 3 2", locked(3, 2));
        time("locked 4 2", locked(4, 2));
    }
    if which.is_empty() || which == "zero" {
        time("last zero 10", move || {
            let n = 10;
            let array: Arc<Vec<AtomicUsize>> =
                Arc::new((0..=n).map(|_| AtomicUsize::new(0)).collect());
            let spawn = |id| {
                let array = Arc::clone(&array);
                thread::spawn(move || match id {
                    0 => {
                        let mut i = array.len() - 1;
                        while array[i].load(SeqCst) != 0 {
                            i -= 1;
                        }
                    }
                    j => {
                        let before: usize = array[j - 1].load(SeqCst);
                        array[j].store(before + 1, SeqCst);
                    }
                })
            };
            let all: Vec<_> = (0..=n).map(spawn).collect();
            all.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
}
