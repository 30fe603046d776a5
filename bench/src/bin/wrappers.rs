//! What the types of `allways-threads` cost outside of a check, where they wrap those of `std`: the same work with both, in turns, in the
//! same run.
//!
//! ```text
//! wrappers            eleven rounds of each
//! wrappers --quick    one round of each
//! ```
//!
//! Each round does the work with `std` and with the wrapper, one after the other, the wrapper first in every other round. What is printed is the
//! time of one operation with `std`, the median of the ratios, and the lowest and the highest of those of `std` to itself, done twice in the
//! same way: what is between these is noise.

use std::hint::black_box;
use std::time::Instant;

/// One piece of work, so many times.
type Work = fn(u64);

macro_rules! both {
    ($($name:literal: |$times:ident| $body:block)*) => {
        /// All work: its name, with `std`, and with the wrapper.
        fn works() -> Vec<(&'static str, Work, Work)> {
            vec![$(($name, with_std::work(with_std::place($name)), wrapped::work(wrapped::place($name)))),*]
        }
        mod with_std {
            use super::black_box;
            use std::sync::atomic::{AtomicU64, Ordering::{Relaxed, SeqCst}};
            use std::sync::{Arc, Condvar, Mutex, OnceLock, RwLock, mpsc};
            use std::{thread, time::Instant};
            both!(@works $($name: |$times| $body)*);
        }
        mod wrapped {
            use super::black_box;
            use allways_threads::sync::atomic::{AtomicU64, Ordering::{Relaxed, SeqCst}};
            use allways_threads::sync::{Arc, Condvar, Mutex, OnceLock, RwLock, mpsc};
            use allways_threads::{thread, time::Instant};
            both!(@works $($name: |$times| $body)*);
        }
    };
    (@works $($name:literal: |$times:ident| $body:block)*) => {
        const NAMES: &[&str] = &[$($name),*];
        pub fn place(name: &str) -> usize {
            NAMES.iter().position(|other| *other == name).unwrap_or_default()
        }
        pub fn work(place: usize) -> super::Work {
            let works: &[super::Work] = &[$(|$times: u64| $body),*];
            works[place]
        }
    };
}

both! {
    "atomic load": |times| {
        let atomic = AtomicU64::new(1);
        let atomic = black_box(&atomic);
        let mut sum = 0u64;
        for _ in 0..times {
            sum = sum.wrapping_add(atomic.load(Relaxed));
        }
        black_box(sum);
    }
    "atomic add": |times| {
        let atomic = AtomicU64::new(0);
        for _ in 0..times {
            black_box(&atomic).fetch_add(1, SeqCst);
        }
    }
    "mutex": |times| {
        let mutex = Mutex::new(0u64);
        for _ in 0..times {
            if let Ok(mut guard) = black_box(&mutex).lock() {
                *guard += 1;
            }
        }
    }
    "read lock": |times| {
        let lock = RwLock::new(1u64);
        let mut sum = 0u64;
        for _ in 0..times {
            sum += black_box(&lock).read().map_or(0, |guard| *guard);
        }
        black_box(sum);
    }
    "cell written once": |times| {
        let cell = OnceLock::new();
        let mut sum = 0u64;
        for _ in 0..times {
            sum += black_box(&cell).get_or_init(|| 1u64);
        }
        black_box(sum);
    }
    "channel": |times| {
        let (sender, receiver) = mpsc::channel();
        for n in 0..times {
            let _ = sender.send(n);
            let _ = black_box(receiver.recv());
        }
    }
    "clock": |times| {
        for _ in 0..times / 4 {
            black_box(Instant::now());
        }
    }
    "mutex, two threads": |times| {
        let mutex = Arc::new(Mutex::new(0u64));
        let spawn = |_| {
            let mutex = Arc::clone(&mutex);
            thread::spawn(move || {
                for _ in 0..times / 8 {
                    if let Ok(mut guard) = mutex.lock() {
                        *guard += 1;
                    }
                }
            })
        };
        let threads: Vec<_> = (0..2).map(spawn).collect();
        for thread in threads {
            let _ = thread.join();
        }
    }
    "condition, two threads": |times| {
        let pair = Arc::new((Mutex::new(0u64), Condvar::new()));
        let rounds = times / 400;
        let turns = move |pair: &(Mutex<u64>, Condvar), own: u64| {
            let Ok(mut turn) = pair.0.lock() else { return };
            for _ in 0..rounds {
                while *turn % 2 != own {
                    match pair.1.wait(turn) {
                        Ok(guard) => turn = guard,
                        Err(_) => return,
                    }
                }
                *turn += 1;
                pair.1.notify_one();
            }
        };
        let other = Arc::clone(&pair);
        let thread = thread::spawn(move || turns(&other, 1));
        turns(&pair, 0);
        let _ = thread.join();
    }
}

/// So often each is done in a round.
const TIMES: u64 = 2_000_000;

fn seconds(work: Work) -> f64 {
    let begin = Instant::now();
    work(black_box(TIMES));
    begin.elapsed().as_secs_f64()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let rounds = if quick { 1 } else { 11 };
    println!("| | std ns | wrapper to std | std to std |");
    println!("|---|---:|---:|---:|");
    for (name, with_std, wrapped) in works() {
        let (mut plain, mut ratios, mut noise) = (vec![], vec![], vec![]);
        for round in 0..rounds {
            let (std, wrapper) = match round % 2 {
                0 => {
                    let std = seconds(with_std);
                    (std, seconds(wrapped))
                }
                _ => {
                    let wrapper = seconds(wrapped);
                    (seconds(with_std), wrapper)
                }
            };
            noise.push(seconds(with_std) / std);
            ratios.push(wrapper / std);
            plain.push(std * 1e9 / TIMES as f64);
        }
        let (ratio, std) = (median(&mut ratios), median(&mut plain));
        noise.sort_by(f64::total_cmp);
        let (low, high) = (noise[0], noise[noise.len() - 1]);
        println!("| {name} | {std:.2} | {ratio:.2} | {low:.2} to {high:.2} |");
    }
}
