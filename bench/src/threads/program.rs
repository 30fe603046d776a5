//! The programs.
//!
//! Five of them are those of table 1 of "Optimal dynamic partial order reduction" (Abdulla, Aronis,
//! Jonsson, Sagonas, POPL 2014) and of the papers before it, where their numbers of executions stand.

use super::tool::Tool;
use std::sync::Arc;

/// A program with its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Program {
    /// Threads that add to a counter under a lock, each so many times.
    Counter {
        /// How many threads.
        threads: usize,
        /// How often each.
        times: usize,
    },
    /// One thread looks for the last zero of an array, others each write one of its elements.
    LastZero(usize),
    /// One thread writes an atomic, so many read it.
    Readers(usize),
    /// So many threads write an atomic.
    Writers(usize),
    /// Philosophers take the fork to the left, then that to the right; the last one the other way
    /// round.
    Philosophers(usize),
    /// Threads put words into a table of hashes without locks.
    Indexer(usize),
    /// Threads give blocks of a disk to files, under locks.
    FileSystem(usize),
    /// Philosophers all of whom take the fork to the left first: with two of them, two locks that are
    /// taken in opposite orders.
    Deadlock(usize),
}

/// The size of the indexer's table.
const TABLE: usize = 128;

/// How many words each thread of the indexer has.
const WORDS: usize = 4;

/// How many blocks a disk has.
const BLOCKS: usize = 26;

/// How many files a disk has.
const FILES: usize = 32;

impl Program {
    /// The one of this name and size.
    pub fn parse(name: &str, size: &str) -> Option<Self> {
        let numbers: Option<Vec<usize>> = size.split('x').map(|n| n.parse().ok()).collect();
        Some(match (name, &numbers?[..]) {
            ("counter", &[threads, times]) => Program::Counter { threads, times },
            ("lastzero", &[n]) => Program::LastZero(n),
            ("readers", &[n]) => Program::Readers(n),
            ("writers", &[n]) => Program::Writers(n),
            ("philosophers", &[n]) => Program::Philosophers(n),
            ("indexer", &[n]) => Program::Indexer(n),
            ("filesystem", &[n]) => Program::FileSystem(n),
            ("deadlock", &[n]) => Program::Deadlock(n),
            _ => return None,
        })
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Program::Counter { .. } => "counter",
            Program::LastZero(_) => "lastzero",
            Program::Readers(_) => "readers",
            Program::Writers(_) => "writers",
            Program::Philosophers(_) => "philosophers",
            Program::Indexer(_) => "indexer",
            Program::FileSystem(_) => "filesystem",
            Program::Deadlock(_) => "deadlock",
        }
    }

    /// Its size, in words.
    pub fn size(self) -> String {
        match self {
            Program::Counter { threads, times } => format!("{threads}x{times}"),
            Program::LastZero(n)
            | Program::Readers(n)
            | Program::Writers(n)
            | Program::Philosophers(n)
            | Program::Indexer(n)
            | Program::FileSystem(n)
            | Program::Deadlock(n) => n.to_string(),
        }
    }

    /// How many threads it has, with the main one.
    pub fn threads(self) -> usize {
        match self {
            Program::Counter { threads, .. } => threads + 1,
            Program::LastZero(n) | Program::Readers(n) => n + 2,
            Program::Writers(n)
            | Program::Philosophers(n)
            | Program::Indexer(n)
            | Program::FileSystem(n)
            | Program::Deadlock(n) => n + 1,
        }
    }

    /// What its main thread does.
    pub fn run<T: Tool>(self) {
        match self {
            Program::Counter { threads, times } => counter::<T>(threads, times),
            Program::LastZero(n) => last_zero::<T>(n),
            Program::Readers(n) => readers::<T>(n),
            Program::Writers(n) => writers::<T>(n),
            Program::Philosophers(n) => philosophers::<T>(n, true),
            Program::Indexer(n) => indexer::<T>(n),
            Program::FileSystem(n) => file_system::<T>(n),
            Program::Deadlock(n) => philosophers::<T>(n, false),
        }
    }
}

/// Runs a thread for each number and waits for them all.
fn threads<T: Tool, S: Send + Sync + 'static>(
    n: usize,
    shared: &Arc<S>,
    body: impl Fn(&S, usize) + Copy + Send + 'static,
) {
    let spawn = |id| {
        let shared = Arc::clone(shared);
        T::spawn(move || body(&shared, id))
    };
    let all: Vec<_> = (0..n).map(spawn).collect();
    all.into_iter().for_each(T::join);
}

fn atomics<T: Tool>(n: usize) -> Arc<Vec<T::Atomic>> {
    Arc::new((0..n).map(|_| T::atomic(0)).collect())
}

fn locks<T: Tool>(n: usize) -> Vec<T::Lock> {
    (0..n).map(|_| T::mutex(0)).collect()
}

fn counter<T: Tool>(n: usize, times: usize) {
    let counter = Arc::new(T::mutex(0));
    threads::<T, _>(n, &counter, move |counter, _| {
        for _ in 0..times {
            *T::lock(counter) += 1;
        }
    });
    assert_eq!(*T::lock(&counter), n * times);
}

fn last_zero<T: Tool>(n: usize) {
    threads::<T, _>(n + 1, &atomics::<T>(n + 1), |array, id| match id {
        0 => {
            let mut i = array.len() - 1;
            while T::load(&array[i]) != 0 {
                i -= 1;
            }
        }
        j => {
            let before = T::load(&array[j - 1]);
            T::store(&array[j], before + 1);
        }
    });
}

fn readers<T: Tool>(n: usize) {
    threads::<T, _>(n + 1, &Arc::new(T::atomic(0)), |x, id| match id {
        0 => T::store(x, 1),
        _ => {
            T::load(x);
        }
    });
}

fn writers<T: Tool>(n: usize) {
    threads::<T, _>(n, &Arc::new(T::atomic(0)), |x, id| T::store(x, id));
}

fn philosophers<T: Tool>(n: usize, last_is_different: bool) {
    threads::<T, _>(n, &Arc::new(locks::<T>(n)), move |forks, id| {
        let (left, right) = (id, (id + 1) % forks.len());
        let swap = last_is_different && id + 1 == forks.len();
        let (first, second) = if swap { (right, left) } else { (left, right) };
        let mut first = T::lock(&forks[first]);
        let mut second = T::lock(&forks[second]);
        *first += 1;
        *second += 1;
    });
}

fn indexer<T: Tool>(n: usize) {
    threads::<T, _>(n, &atomics::<T>(TABLE), |table, id| {
        for m in 1..=WORDS {
            let word = m * 11 + id;
            let mut hash = (word * 7) % TABLE;
            while !T::claim(&table[hash], word) {
                hash = (hash + 1) % TABLE;
            }
        }
    });
}

fn file_system<T: Tool>(n: usize) {
    let disk = Arc::new((locks::<T>(FILES), locks::<T>(BLOCKS)));
    threads::<T, _>(n, &disk, |(files, blocks), id| {
        let number = id % FILES;
        let mut file = T::lock(&files[number]);
        if *file == 0 {
            let mut block = (number * 2) % BLOCKS;
            loop {
                let mut busy = T::lock(&blocks[block]);
                if *busy == 0 {
                    *busy = 1;
                    *file = block + 1;
                    break;
                }
                drop(busy);
                block = (block + 1) % BLOCKS;
            }
        }
    });
}
