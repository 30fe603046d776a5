//! Threads that allocate blocks for files: the file system of Flanagan and Godefroid ("Dynamic partial-order reduction for model checking
//! software", POPL 2005), a simplified part of Frangipani; also in the thesis, section 4.6.
//!
//! There are 32 inodes and 26 blocks, each with a lock of its own. A thread locks its inode and, if that has no block yet, looks
//! for a free one, each block locked while it is looked at. Every thread has another inode and begins to look at another block, twice the number of its
//! inode. From the fourteenth thread on that begins again at block zero.
//!
//! So with up to thirteen threads no two of them lock the same, and one execution stands for all of them. Each further thread has one conflict, with the
//! one that began at the same block: 2 executions, 4, 8 and so on. More than 26 threads would look for a block for ever.

use crate::together::together;
use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::{Checkable, Error};
use allways_threads::Program;
use allways_threads::sync::Mutex;

pub(crate) const ENTRY: Entry = Entry {
    name: "filesystem",
    about: "threads that allocate blocks for files (Flanagan and Godefroid 2005)",
    parameters: &[Parameter {
        name: "threads",
        about: "how many threads write a file each",
        kind: Kind::Number { default: 16, min: 1, max: BLOCKS as u64 },
    }],
    bugs: &[Bug {
        name: UNLOCKED_BETWEEN,
        about: "a block is unlocked between looking whether it is free and taking it",
        defaults: &[("threads", "14")],
    }],
    make,
    live: crate::LivePart::NONE,
};

const UNLOCKED_BETWEEN: &str = "unlocked-between";

const INODES: usize = 32;
const BLOCKS: usize = 26;

struct Disk {
    /// The block of each inode, if it has one.
    inodes: Vec<Mutex<Option<usize>>>,
    /// Whether each block is taken.
    busy: Vec<Mutex<bool>>,
}

impl Disk {
    fn new() -> Self {
        Disk {
            inodes: (0..INODES).map(|_| Mutex::new(None)).collect(),
            busy: (0..BLOCKS).map(|_| Mutex::new(false)).collect(),
        }
    }

    /// Takes a block, if it is free.
    fn take(&self, block: usize, unlocked_between: bool) -> bool {
        let mut busy = self.busy[block].lock().unwrap();
        let is_free = !*busy;
        if is_free && unlocked_between {
            drop(busy);
            busy = self.busy[block].lock().unwrap();
        }
        *busy = true;
        is_free
    }

    /// Gives an inode a block.
    fn allocate(&self, inode: usize, unlocked_between: bool) {
        let mut own = self.inodes[inode].lock().unwrap();
        if own.is_some() {
            return;
        }
        let mut block = inode * 2 % BLOCKS;
        while !self.take(block, unlocked_between) {
            block = (block + 1) % BLOCKS;
        }
        *own = Some(block);
    }
}

fn write(threads: usize, unlocked_between: bool) {
    let names = (0..threads).map(|number| format!("writer {number}"));
    let (disk, _) = together(names, Disk::new(), move |disk, number| {
        disk.allocate(number % INODES, unlocked_between);
    });
    let mut is_used = [false; BLOCKS];
    for inode in disk.inodes.into_iter().take(threads) {
        let block = inode.into_inner().unwrap().expect("every inode has a block");
        assert!(!is_used[block], "block {block} is in two files");
        is_used[block] = true;
    }
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let threads = parameters.number("threads");
    let unlocked_between = parameters.bug() == Some(UNLOCKED_BETWEEN);
    Ok(Box::new(Program::new(move || write(threads, unlocked_between))))
}

#[cfg(test)]
mod tests {
    use crate::tests::{executions, threads};
    use allways::Cause;

    fn at(threads: &str) -> u64 {
        executions("filesystem", &[("threads", threads)])
    }

    /// The numbers of "Optimal dynamic partial order reduction" (POPL 2014), table 1.
    #[test]
    fn each_thread_from_the_fourteenth_on_has_one_conflict() {
        assert_eq!(["1", "13", "14", "16", "18", "19"].map(at), [1, 1, 2, 8, 32, 64]);
    }

    #[test]
    fn who_unlocks_between_looking_and_taking_may_take_what_is_taken() {
        let violation = threads("filesystem", &[("bug", "unlocked-between")]).violation.unwrap();
        assert_eq!(violation.cause, Cause::Panic);
        assert!(violation.property.contains("block 0 is in two files"), "{violation}");
        threads("filesystem", &[("bug", "unlocked-between"), ("threads", "13")]).assert_holds();
    }
}
