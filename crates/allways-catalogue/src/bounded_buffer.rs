//! A bounded buffer: producers and consumers that share a ring with a mutex and two condition variables.
//!
//! Each producer puts its items into the ring, one after the other, and waits while there is no room. The consumers take all of them, each its share, and wait
//! while there is nothing. Who puts an item in wakes one consumer, who takes one out wakes one producer. Between being woken and
//! having the mutex again, another thread may have come first: so whoever was woken looks again before it goes on.
//!
//! Everything happens while the mutex is held. So an execution is an order in which threads lock it, with whom each notification wakes, and
//! nothing else: they can be counted without running anything, and the tests do.
//!
//! The bugs are the two of every textbook. The buffer is Hoare's ("Monitors: an operating system structuring concept", 1974), whose monitors handed
//! the lock to who was woken; that one has to look again is what Mesa changed (Lampson and Redell, 1980).

use crate::together::together;
use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::{Checkable, Error};
use allways_threads::Program;
use allways_threads::sync::{Condvar, Mutex, MutexGuard};

pub(crate) const ENTRY: Entry = Entry {
    name: "bounded-buffer",
    about: "producers and consumers that share a ring with a mutex and two condition variables",
    parameters: &[
        Parameter {
            name: "producers",
            about: "how many threads put items in",
            kind: Kind::Number { default: 2, min: 1, max: 4 },
        },
        Parameter {
            name: "consumers",
            about: "how many threads take items out",
            kind: Kind::Number { default: 2, min: 1, max: 4 },
        },
        Parameter {
            name: "items",
            about: "how many items each producer puts in",
            kind: Kind::Number { default: 1, min: 1, max: 8 },
        },
        Parameter {
            name: "capacity",
            about: "how many items there is room for",
            kind: Kind::Number { default: 1, min: 1, max: 8 },
        },
    ],
    bugs: &[
        Bug {
            name: IF_INSTEAD_OF_WHILE,
            about: "who was woken does not look again, and may take what is not there",
            defaults: &[("producers", "1"), ("consumers", "2"), ("items", "2"), ("capacity", "1")],
        },
        Bug {
            name: ONE_CONDITION,
            about: "one condition variable for both sides, and a notification may wake the wrong one",
            defaults: &[("producers", "1"), ("consumers", "2"), ("items", "2"), ("capacity", "1")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

const IF_INSTEAD_OF_WHILE: &str = "if-instead-of-while";
const ONE_CONDITION: &str = "one-condition";

#[derive(Clone, Copy)]
struct Sizes {
    producers: usize,
    consumers: usize,
    items: usize,
    capacity: usize,
}

impl Sizes {
    /// How many items a consumer takes: all get the same, or one more.
    fn share(self, consumer: usize) -> usize {
        let all = self.producers * self.items;
        all / self.consumers + usize::from(consumer < all % self.consumers)
    }
}

/// The producer, and the number of the item.
type Item = (usize, usize);

struct Ring {
    places: Vec<Option<Item>>,
    /// Where the oldest item is, and how many there are.
    first: usize,
    len: usize,
}

impl Ring {
    fn put(&mut self, item: Item) {
        let capacity = self.places.len();
        let place = &mut self.places[(self.first + self.len) % capacity];
        assert!(place.is_none(), "an item is put in where there is one");
        *place = Some(item);
        self.len += 1;
    }

    fn take(&mut self) -> Item {
        let item =
            self.places[self.first].take().expect("an item is taken out where there is none");
        self.first = (self.first + 1) % self.places.len();
        self.len -= 1;
        item
    }
}

struct Buffer {
    ring: Mutex<Ring>,
    has_items: Condvar,
    /// The same as `has_items` if there is only one.
    has_room: Option<Condvar>,
    looks_again: bool,
}

impl Buffer {
    fn new(capacity: usize, bug: Option<&str>) -> Self {
        let places = vec![None; capacity];
        Buffer {
            ring: Mutex::new(Ring { places, first: 0, len: 0 }),
            has_items: Condvar::new(),
            has_room: match bug {
                Some(ONE_CONDITION) => None,
                _ => Some(Condvar::new()),
            },
            looks_again: bug != Some(IF_INSTEAD_OF_WHILE),
        }
    }

    fn has_room(&self) -> &Condvar {
        self.has_room.as_ref().unwrap_or(&self.has_items)
    }

    /// Waits as long as something is so.
    fn wait_while<'a>(
        &self,
        condition: &Condvar,
        mut ring: MutexGuard<'a, Ring>,
        is_so: fn(&Ring) -> bool,
    ) -> MutexGuard<'a, Ring> {
        while is_so(&ring) {
            ring = condition.wait(ring).unwrap();
            if !self.looks_again {
                break;
            }
        }
        ring
    }

    fn put(&self, item: Item) {
        let ring = self.ring.lock().unwrap();
        let mut ring = self.wait_while(self.has_room(), ring, |ring| ring.len == ring.places.len());
        ring.put(item);
        self.has_items.notify_one();
    }

    fn take(&self) -> Item {
        let ring = self.ring.lock().unwrap();
        let mut ring = self.wait_while(&self.has_items, ring, |ring| ring.len == 0);
        let item = ring.take();
        self.has_room().notify_one();
        item
    }
}

/// What the process does: all items go through the buffer.
fn pass(sizes: Sizes, bug: Option<&str>) {
    let producers = (0..sizes.producers).map(|number| format!("producer {number}"));
    let consumers = (0..sizes.consumers).map(|number| format!("consumer {number}"));
    let buffer = Buffer::new(sizes.capacity, bug);
    let (_, taken) =
        together(producers.chain(consumers), buffer, move |buffer, number| {
            match number.checked_sub(sizes.producers) {
                None => {
                    (0..sizes.items).for_each(|item| buffer.put((number, item)));
                    Vec::new()
                }
                Some(consumer) => (0..sizes.share(consumer)).map(|_| buffer.take()).collect(),
            }
        });
    // Of each producer, a consumer takes earlier items first.
    let is_in_order = |taken: &Vec<Item>| {
        let of = |producer| taken.iter().filter(move |(other, _)| *other == producer);
        (0..sizes.producers).all(|producer| of(producer).is_sorted())
    };
    assert!(taken.iter().all(is_in_order), "items are taken out of order: {taken:?}");
    let mut all = taken.concat();
    all.sort_unstable();
    let put = (0..sizes.producers).flat_map(|p| (0..sizes.items).map(move |item| (p, item)));
    assert!(all.into_iter().eq(put), "every item is taken once: {taken:?}");
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let sizes = Sizes {
        producers: parameters.number("producers"),
        consumers: parameters.number("consumers"),
        items: parameters.number("items"),
        capacity: parameters.number("capacity"),
    };
    let bug = parameters.bug();
    Ok(Box::new(Program::new(move || pass(sizes, bug))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{executions, threads};
    use allways::{Cause, Trouble};

    /// What a thread is about to do.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Phase {
        /// It locks the mutex as soon as it can.
        Locks,
        /// It waits to be notified.
        Waits,
    }

    /// What happens when everything happens under one mutex: for each thread, how often it still puts or takes, and its phase.
    #[derive(Clone)]
    struct Monitor {
        left: Vec<(usize, Phase)>,
        producers: usize,
        len: usize,
        capacity: usize,
    }

    impl Monitor {
        fn new(sizes: Sizes) -> Self {
            let producers = (0..sizes.producers).map(|_| sizes.items);
            let consumers = (0..sizes.consumers).map(|consumer| sizes.share(consumer));
            let left = producers.chain(consumers).map(|left| (left, Phase::Locks)).collect();
            Monitor { left, producers: sizes.producers, len: 0, capacity: sizes.capacity }
        }

        /// How many orders of locking the mutex there are, with whom each notification wakes.
        fn orders(&self) -> u64 {
            let locks = |thread: &usize| {
                let (left, phase) = self.left[*thread];
                left > 0 && phase == Phase::Locks
            };
            let next: Vec<usize> = (0..self.left.len()).filter(locks).collect();
            if next.is_empty() {
                assert!(self.left.iter().all(|(left, _)| *left == 0), "threads wait for ever");
                return 1;
            }
            next.into_iter().map(|thread| self.after(thread)).sum()
        }

        /// The same, if this thread is the next to lock it.
        fn after(&self, thread: usize) -> u64 {
            let mut then = self.clone();
            let puts = thread < self.producers;
            if self.len == if puts { self.capacity } else { 0 } {
                then.left[thread].1 = Phase::Waits;
                return then.orders();
            }
            then.len = if puts { self.len + 1 } else { self.len - 1 };
            then.left[thread].0 -= 1;
            let others = if puts { self.producers..self.left.len() } else { 0..self.producers };
            let waiting: Vec<usize> =
                others.filter(|other| self.left[*other].1 == Phase::Waits).collect();
            let woken = |&other: &usize| {
                let mut then = then.clone();
                then.left[other].1 = Phase::Locks;
                then.orders()
            };
            if waiting.is_empty() { then.orders() } else { waiting.iter().map(woken).sum() }
        }
    }

    #[test]
    fn an_execution_is_an_order_of_locking_and_of_waking() {
        // Producers, consumers, items and capacity, and how many there are.
        let counted = [
            ([1, 1, 1, 1], 2),
            ([1, 1, 4, 1], 128),
            ([1, 1, 4, 2], 96),
            ([2, 1, 1, 1], 16),
            ([1, 2, 2, 1], 32),
            ([1, 2, 3, 2], 264),
            ([2, 2, 1, 1], 64),
            ([2, 2, 1, 2], 60),
        ];
        for ([producers, consumers, items, capacity], expected) in counted {
            let sizes = Sizes { producers, consumers, items, capacity };
            assert_eq!(Monitor::new(sizes).orders(), expected);
            let set = [
                ("producers", &*producers.to_string()),
                ("consumers", &*consumers.to_string()),
                ("items", &*items.to_string()),
                ("capacity", &*capacity.to_string()),
            ];
            assert_eq!(executions("bounded-buffer", &set), expected, "{set:?}");
        }
    }

    #[test]
    fn who_does_not_look_again_takes_what_is_not_there() {
        let violation = threads("bounded-buffer", &[("bug", IF_INSTEAD_OF_WHILE)]).violation;
        let violation = violation.unwrap();
        assert_eq!(violation.cause, Cause::Panic);
        let what = "an item is taken out where there is none";
        assert!(violation.property.contains(what), "{violation}");
    }

    #[test]
    fn a_notification_may_wake_the_wrong_side() {
        let violation = threads("bounded-buffer", &[("bug", ONE_CONDITION)]).violation.unwrap();
        assert_eq!(violation.cause, Cause::Trouble(Trouble::Deadlock), "{violation}");
    }

    #[test]
    fn each_bug_needs_all_that_it_says() {
        for bug in ENTRY.bugs {
            for (parameter, shows) in bug.defaults.iter().filter(|(_, shows)| *shows != "1") {
                let fewer = (shows.parse::<u8>().unwrap() - 1).to_string();
                let set = [("bug", bug.name), (parameter, &*fewer)];
                threads("bounded-buffer", &set).assert_holds();
            }
        }
    }
}
