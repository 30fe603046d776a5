//! Threads that insert words into one hash table: the indexer of Flanagan and Godefroid ("Dynamic partial-order reduction for model checking
//! software", POPL 2005), also in the thesis, section 4.6.
//!
//! The table has 128 places. Each thread has four words, and puts each at the first free place from its hash value on. A place is taken
//! by comparing and exchanging in one step, so no word is lost: in the end each is in the table once.
//!
//! Whether two threads ever look at the same place cannot be seen in the code, only in a run. With up to eleven threads no two of them do, and one
//! execution stands for all of them. From twelve on, each thread meets words of another one at three places, and who is first makes
//! a difference at each: 8 executions, 64, 512 and so on.

use crate::together::together;
use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::{Checkable, Error};
use allways_threads::Program;
use allways_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};

pub(crate) const ENTRY: Entry = Entry {
    name: "indexer",
    about: "threads that insert words into one hash table (Flanagan and Godefroid 2005)",
    parameters: &[Parameter {
        name: "threads",
        about: "how many threads insert four words each",
        kind: Kind::Number { default: 12, min: 1, max: 32 },
    }],
    bugs: &[Bug {
        name: TWO_STEPS,
        about: "whether a place is free is one step, to take it is another, and a word is lost",
        defaults: &[("threads", "12")],
    }],
    make,
    live: crate::LivePart::NONE,
};

const TWO_STEPS: &str = "two-steps";

const SIZE: usize = 128;
/// How many words each thread has.
const WORDS: usize = 4;

/// Zero is no word: a place with it is free.
type Table = Vec<AtomicUsize>;

fn words(thread: usize) -> impl Iterator<Item = usize> {
    (1..=WORDS).map(move |number| number * 11 + thread)
}

/// Puts a word at a place, if that is free.
fn put(place: &AtomicUsize, word: usize, two_steps: bool) -> bool {
    if !two_steps {
        return place.compare_exchange(0, word, SeqCst, SeqCst).is_ok();
    }
    let is_free = place.load(SeqCst) == 0;
    if is_free {
        place.store(word, SeqCst);
    }
    is_free
}

fn index(threads: usize, two_steps: bool) {
    let table: Table = (0..SIZE).map(|_| AtomicUsize::new(0)).collect();
    let names = (0..threads).map(|number| format!("indexer {number}"));
    let (table, _) = together(names, table, move |table, number| {
        for word in words(number) {
            let mut place = word * 7 % SIZE;
            while !put(&table[place], word, two_steps) {
                place = (place + 1) % SIZE;
            }
        }
    });
    let mut found: Vec<usize> = table.into_iter().map(AtomicUsize::into_inner).collect();
    found.retain(|word| *word != 0);
    found.sort_unstable();
    let mut expected: Vec<usize> = (0..threads).flat_map(words).collect();
    expected.sort_unstable();
    let (all, left) = (expected.len(), found.len());
    assert!(found == expected, "a word is lost: {left} of {all} are in the table");
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let threads = parameters.number("threads");
    let two_steps = parameters.bug() == Some(TWO_STEPS);
    Ok(Box::new(Program::new(move || index(threads, two_steps))))
}

#[cfg(test)]
mod tests {
    use crate::tests::{executions, threads};
    use allways::Cause;

    fn at(threads: &str) -> u64 {
        executions("indexer", &[("threads", threads)])
    }

    /// The numbers of "Optimal dynamic partial order reduction" (POPL 2014), table 1.
    #[test]
    fn each_thread_from_the_twelfth_on_has_three_conflicts() {
        assert_eq!(["1", "11", "12", "13", "15"].map(at), [1, 1, 8, 64, 4_096]);
    }

    #[test]
    fn who_looks_first_and_takes_then_may_overwrite() {
        let violation = threads("indexer", &[("bug", "two-steps")]).violation.unwrap();
        assert_eq!(violation.cause, Cause::Panic);
        assert!(violation.property.contains("a word is lost: 47 of 48"), "{violation}");
        threads("indexer", &[("bug", "two-steps"), ("threads", "11")]).assert_holds();
    }
}
