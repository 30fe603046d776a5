//! The programs of table 1 of "Optimal dynamic partial order reduction" (Abdulla, Aronis, Jonsson, Sagonas, POPL 2014).

use crate::executions;
use allways_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use allways_threads::sync::{Arc, Mutex};
use allways_threads::thread;

/// Runs a thread for each number and waits for them all.
fn threads<S: Send + Sync + 'static>(n: usize, shared: S, body: fn(&S, usize)) {
    let shared = Arc::new(shared);
    let spawn = |id| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || body(&shared, id))
    };
    let all: Vec<_> = (0..n).map(spawn).collect();
    all.into_iter().for_each(|thread| thread.join().unwrap());
}

pub fn writers_threads(n: usize) {
    threads(n, AtomicUsize::new(0), |x, id| x.store(id, SeqCst));
}

fn writers(n: usize) -> u64 {
    executions(move || writers_threads(n))
}

pub fn readers_threads(n: usize) {
    threads(n + 1, AtomicUsize::new(0), |x, id| match id {
        0 => x.store(1, SeqCst),
        _ => {
            x.load(SeqCst);
        }
    });
}

fn readers(n: usize) -> u64 {
    executions(move || readers_threads(n))
}

fn array(n: usize) -> Vec<AtomicUsize> {
    (0..n).map(|_| AtomicUsize::new(0)).collect()
}

pub fn last_zero_threads(n: usize) {
    threads(n + 1, array(n + 1), |array, id| match id {
        0 => {
            let mut i = array.len() - 1;
            while array[i].load(SeqCst) != 0 {
                i -= 1;
            }
        }
        j => {
            let before = array[j - 1].load(SeqCst);
            array[j].store(before + 1, SeqCst);
        }
    });
}

fn last_zero(n: usize) -> u64 {
    executions(move || last_zero_threads(n))
}

pub fn indexer_threads(n: usize) {
    const SIZE: usize = 128;
    const MAX: usize = 4;
    threads(n, array(SIZE), |table, id| {
        for m in 1..=MAX {
            let w = m * 11 + id;
            let mut h = (w * 7) % SIZE;
            while table[h].compare_exchange(0, w, SeqCst, SeqCst).is_err() {
                h = (h + 1) % SIZE;
            }
        }
    });
}

fn indexer(n: usize) -> u64 {
    executions(move || indexer_threads(n))
}

pub fn filesystem_threads(n: usize) {
    const BLOCKS: usize = 26;
    const INODES: usize = 32;
    struct Disk {
        inodes: Vec<Mutex<usize>>,
        blocks: Vec<Mutex<bool>>,
    }
    let disk = Disk {
        inodes: (0..INODES).map(|_| Mutex::new(0)).collect(),
        blocks: (0..BLOCKS).map(|_| Mutex::new(false)).collect(),
    };
    threads(n, disk, |disk, id| {
        let i = id % INODES;
        let mut inode = disk.inodes[i].lock().unwrap();
        if *inode == 0 {
            let mut b = (i * 2) % BLOCKS;
            loop {
                let mut busy = disk.blocks[b].lock().unwrap();
                if !*busy {
                    *busy = true;
                    *inode = b + 1;
                    break;
                }
                drop(busy);
                b = (b + 1) % BLOCKS;
            }
        }
    });
}

fn filesystem(n: usize) -> u64 {
    executions(move || filesystem_threads(n))
}

pub fn locked_threads(n: usize, times: usize) {
    let counter = Arc::new(Mutex::new(0));
    let spawn = |_| {
        let counter = Arc::clone(&counter);
        thread::spawn(move || (0..times).for_each(|_| *counter.lock().unwrap() += 1))
    };
    let all: Vec<_> = (0..n).map(spawn).collect();
    all.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*counter.lock().unwrap(), n * times);
}

fn locked(n: usize, times: usize) -> u64 {
    executions(move || locked_threads(n, times))
}

#[test]
fn writers_of_one_variable() {
    assert_eq!([1, 2, 3, 4, 5].map(writers), [1, 2, 6, 24, 120]);
}

#[test]
fn readers_and_a_writer() {
    assert_eq!([1, 2, 4, 8].map(readers), [2, 4, 16, 256]);
}

#[test]
fn the_last_zero() {
    assert_eq!([2, 5].map(last_zero), [5, 64]);
    assert_eq!(last_zero(10), 3_328);
}

#[test]
fn an_index_of_hashes() {
    assert_eq!([11, 12, 15].map(indexer), [1, 8, 4_096]);
}

#[test]
fn a_file_system() {
    assert_eq!([14, 16, 18, 19].map(filesystem), [2, 8, 32, 64]);
}

#[test]
fn a_counter_with_a_lock() {
    assert_eq!(locked(3, 2), 90);
}
