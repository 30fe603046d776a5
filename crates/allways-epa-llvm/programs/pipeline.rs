//! A pipeline over channels, and workers that meet at a barrier: one thread makes numbers, the next squares them, and the
//! first thread adds them up as they come; then each worker adds up a part of a table of its own, waits for the others, and takes the sum of
//! its neighbour. Whatever threads do at the same time, the results are the same. Arguments: how many numbers, how many workers.

use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Barrier, Condvar, Mutex, RwLock};
use std::thread;

fn squares(count: u64, offset: &Arc<RwLock<u64>>) -> Vec<u64> {
    let (make, made) = channel();
    let (square, squared) = sync_channel(2);
    let producer = thread::spawn(move || {
        for number in 0..count {
            make.send(number).unwrap();
        }
    });
    let shared = Arc::clone(offset);
    let stage = thread::spawn(move || {
        for number in made {
            square.send(number * number + *shared.read().unwrap()).unwrap();
        }
    });
    let mut results = Vec::new();
    while let Ok(number) = squared.recv() {
        results.push(number);
    }
    producer.join().unwrap();
    stage.join().unwrap();
    results
}

fn neighbours(table: &[u64], workers: usize) -> Vec<u64> {
    let each = table.len().div_ceil(workers);
    let barrier = Barrier::new(workers);
    let sums: Vec<Mutex<u64>> = (0..workers).map(|_| Mutex::new(0)).collect();
    let taken: Vec<Mutex<u64>> = (0..workers).map(|_| Mutex::new(0)).collect();
    thread::scope(|scope| {
        for worker in 0..workers {
            let (barrier, sums, taken) = (&barrier, &sums, &taken);
            let part =
                &table[(worker * each).min(table.len())..((worker + 1) * each).min(table.len())];
            scope.spawn(move || {
                *sums[worker].lock().unwrap() = part.iter().sum();
                barrier.wait();
                let neighbour = *sums[(worker + 1) % workers].lock().unwrap();
                *taken[worker].lock().unwrap() = neighbour;
            });
        }
    });
    taken.into_iter().map(|sum| sum.into_inner().unwrap()).collect()
}

/// Whoever is woken was there first, since the other one needs the lock.
fn handed_over(value: u64) -> u64 {
    let shared = Arc::new((Mutex::new(None), Condvar::new()));
    let (lock, changed) = &*shared;
    let mut held = lock.lock().unwrap();
    let other = Arc::clone(&shared);
    let giver = thread::spawn(move || {
        let (lock, changed) = &*other;
        *lock.lock().unwrap() = Some(value + 1);
        changed.notify_one();
    });
    let got = loop {
        match held.take() {
            Some(value) => break value,
            None => held = changed.wait(held).unwrap(),
        }
    };
    drop(held);
    giver.join().unwrap();
    got
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().unwrap_or(1));
    let count: usize = arguments.next().unwrap_or(8);
    let workers: usize = arguments.next().unwrap_or(3).max(1);
    let offset = Arc::new(RwLock::new(0));
    *offset.write().unwrap() = 1;
    let table = squares(count as u64, &offset);
    let taken = neighbours(&table, workers);
    println!("squares: {table:?}, neighbours: {taken:?}, handed over: {}", handed_over(taken[0]));
}
