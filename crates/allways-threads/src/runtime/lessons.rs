//! What was learnt from runs, in a form that outlives the process: a check that goes on from a log begins with all that was known when the log was written.
//!
//! **What there is to learn.** What has to be a step of its own, who touches which object, which threads there are, and whether a thread goes round. Whatever changes what machines explore is counted
//! ([`Register::lessons`]), and all is explored again. What does not, as that a *first* group touches an object, is learnt all the same: the second one makes it shared, and it may come in another
//! process. So it has to be in the log before anything is that came of the run in which it was seen.
//!
//! **The journal** has each of these things once, in the order in which they were learnt. It grows while the lock is held under which the thing itself becomes known, so nobody acts on something that is not in the journal;
//! and what is learnt together (an object is shared, so giving it back is a step) is in it together.
//!
//! **As numbers**, each lesson stands by itself, and is made of content: threads and objects are told by where they come from. To learn something twice, or in another order, makes no difference. The numbers
//! that threads and objects then have may differ from those that they had, and mean nothing outside of a process.
//!
//! **The key** stands for what machines go by: two machines with the same key explore the same. It is a sum over lessons, whatever order they came in, with one summand for each object that is shared, made of who shares it.

use super::log::mix;
use super::names::{Known, Names, Own, Register, Site};
use super::op::NONE;
use super::parted::Thing;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::sync::atomic::Ordering::SeqCst;

/// No thread makes more objects or threads, and nothing has more parts, in what is read from elsewhere.
const MOST: u64 = 1 << 24;

/// So many processes there may be in it.
const MOST_PROCESSES: u64 = 1 << 16;

/// Something that was learnt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Learnt {
    /// Giving back an object is a step, or beginning to wait for one who hands over through it.
    Tried(u32),
    /// The end of a thread is an event.
    Watched(u32),
    /// Lazy values do not stay in one place.
    Lazies,
    /// Places of a channel are objects like others.
    Polled(u32),
    /// The main thread of the only process spawns this one, which is a group.
    Spawned(u32),
    /// A group touches an object that is this.
    Touched { object: u32, thing: Thing, group: u32, writes: bool },
    /// After this past, whether a thread goes round.
    Round(u64, bool),
}

/// See the module.
#[derive(Default)]
pub(super) struct Journal {
    all: Vec<Learnt>,
    pub key: u64,
}

/// What an object comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lineage {
    /// It stands for a thread.
    Own(u32, Own),
    /// It is the so manieth that a thread makes.
    Made(u32, u32),
    /// It is the so manieth part of another.
    Part(u32, u32),
    /// It has a place of its own.
    Placed,
    /// It stands for all lazy values.
    Lazies,
}

/// What the summands of the key differ in.
fn summand(kind: u64, of: u64) -> u64 {
    mix(mix(kind) ^ of)
}

impl Known {
    /// Learns something, unless it is known. Says whether it changes what machines go by.
    pub fn learn(&mut self, learnt: Learnt) -> bool {
        let object_key = |known: &Self, object: u32| known.origins.objects[object as usize];
        let thread_key = |known: &Self, thread: u32| known.origins.threads[thread as usize].key;
        let change = match learnt {
            Learnt::Tried(object) => {
                let was = std::mem::replace(&mut self.tried[object as usize], true);
                (!was).then(|| summand(0, object_key(self, object)))
            }
            Learnt::Watched(thread) => {
                let was = std::mem::replace(&mut self.watched[thread as usize], true);
                (!was).then(|| summand(1, thread_key(self, thread)))
            }
            Learnt::Lazies => self.make_lazies().then(|| summand(2, 0)),
            Learnt::Polled(channel) => {
                let is_new = self.touching.poll(channel);
                is_new.then(|| summand(3, object_key(self, channel)))
            }
            Learnt::Spawned(thread) => {
                let was = std::mem::replace(&mut self.spawned[thread as usize], true);
                (!was).then(|| summand(4, thread_key(self, thread)))
            }
            Learnt::Touched { object, thing, group, writes } => {
                let key = object_key(self, object);
                let shared = |sharers: u128| match sharers {
                    0 => 0,
                    _ => {
                        let who = mix(sharers as u64 ^ mix((sharers >> 64) as u64));
                        summand(5, mix(key ^ mix(thing.0)) ^ who)
                    }
                };
                let touched = self.touching.touch((object, thing), group, writes);
                touched.map(|[before, now]| shared(now).wrapping_sub(shared(before)))
            }
            Learnt::Round(..) => Some(0),
        };
        if let Some(change) = change {
            self.journal.all.push(learnt);
            self.journal.key = self.journal.key.wrapping_add(change);
        }
        change.is_some_and(|change| change != 0)
    }

    /// A thread as numbers: its process, and how manieth child each is from there on.
    fn write_thread(&self, mut thread: u32, into: &mut Vec<u64>) {
        let mut path = Vec::new();
        while thread != NONE {
            let origin = self.descents[thread as usize];
            path.push(u64::from(origin.index));
            thread = origin.parent;
        }
        into.push(path.len() as u64);
        into.extend(path.iter().rev());
    }

    /// An object as numbers: which part of which part, and so on, of what.
    fn write_object(&self, mut object: u32, into: &mut Vec<u64>) {
        while let Lineage::Part(of, index) = self.lineages[object as usize] {
            into.extend([0, u64::from(index)]);
            object = of;
        }
        match self.lineages[object as usize] {
            Lineage::Part(..) => {}
            Lineage::Own(thread, own) => {
                into.extend([1, own as u64]);
                self.write_thread(thread, into);
            }
            Lineage::Made(thread, index) => {
                into.extend([2, u64::from(index)]);
                self.write_thread(thread, into);
            }
            Lineage::Lazies => into.push(3),
            Lineage::Placed => {
                let mut sites = self.placed.iter();
                if let Some((site, _)) = sites.find(|(_, other)| **other == object) {
                    into.push(4);
                    site.write(into);
                }
            }
        }
    }

    /// A lesson as numbers.
    fn write(&self, learnt: Learnt) -> Vec<u64> {
        let mut into = Vec::new();
        match learnt {
            Learnt::Tried(object) => {
                into.push(0);
                self.write_object(object, &mut into);
            }
            Learnt::Watched(thread) => {
                into.push(1);
                self.write_thread(thread, &mut into);
            }
            Learnt::Lazies => into.push(2),
            Learnt::Polled(channel) => {
                into.push(3);
                self.write_object(channel, &mut into);
            }
            Learnt::Spawned(thread) => {
                into.push(4);
                self.write_thread(thread, &mut into);
            }
            Learnt::Touched { object, thing, group, writes } => {
                into.extend([5, thing.0, u64::from(group), u64::from(writes)]);
                self.write_object(object, &mut into);
            }
            Learnt::Round(past, goes_round) => into.extend([6, past, u64::from(goes_round)]),
        }
        into
    }

    fn read_thread(&mut self, from: &mut Numbers<'_>) -> Option<u32> {
        let len = from.next(MOST)?;
        if len == 0 || len > from.0.len() as u64 {
            return None;
        }
        let mut thread = self.root(from.next(MOST_PROCESSES)? as usize);
        for _ in 1..len {
            thread = self.child(thread, from.next(MOST)? as u32);
        }
        Some(thread)
    }

    fn read_object(&mut self, from: &mut Numbers<'_>) -> Option<u32> {
        let mut parts = Vec::new();
        let whole = loop {
            match from.next(5)? {
                0 => parts.push(from.next(MOST)?),
                1 => {
                    let own = match from.next(2)? {
                        0 => Own::Token,
                        _ => Own::End,
                    };
                    let thread = self.read_thread(from)?;
                    break self.own[thread as usize][own as usize];
                }
                2 => {
                    let index = from.next(MOST)?;
                    let thread = self.read_thread(from)?;
                    break self.object(thread, index as u32);
                }
                3 => {
                    self.learn(Learnt::Lazies);
                    break self.lazies?;
                }
                _ => {
                    let site = Site::read(from)?;
                    break self.placed(site);
                }
            }
        };
        Some(parts.iter().rev().fold(whole, |of, &part| self.part(of, part)))
    }

    /// The lesson that numbers are.
    fn read(&mut self, from: &mut Numbers<'_>) -> Option<Learnt> {
        Some(match from.next(7)? {
            0 => Learnt::Tried(self.read_object(from)?),
            1 => Learnt::Watched(self.read_thread(from)?),
            2 => Learnt::Lazies,
            3 => Learnt::Polled(self.read_object(from)?),
            4 => Learnt::Spawned(self.read_thread(from)?),
            5 => {
                let thing = Thing(from.any()?);
                let group = from.next(u64::from(super::parted::MOST_GROUPS))? as u32;
                let writes = from.next(2)? == 1;
                Learnt::Touched { object: self.read_object(from)?, thing, group, writes }
            }
            _ => Learnt::Round(from.any()?, from.next(2)? == 1),
        })
    }
}

/// Numbers that are being read.
pub(super) struct Numbers<'n>(&'n [u64]);

impl Numbers<'_> {
    fn any(&mut self) -> Option<u64> {
        let (&next, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(next)
    }

    /// One that is less than this.
    fn next(&mut self, below: u64) -> Option<u64> {
        self.any().filter(|&next| next < below)
    }
}

impl Site {
    fn write(self, into: &mut Vec<u64>) {
        match self {
            Site::Static(place) => into.extend([0, from_here(place)]),
            Site::Address { datagrams, at: SocketAddr::V4(at) } => {
                let ip = u64::from(at.ip().to_bits());
                into.extend([1, u64::from(datagrams), ip, u64::from(at.port())]);
            }
            Site::Address { datagrams, at: SocketAddr::V6(at) } => {
                let ip = at.ip().to_bits();
                into.extend([2, u64::from(datagrams), (ip >> 64) as u64, ip as u64]);
                into.extend([u64::from(at.port()), at.flowinfo().into(), at.scope_id().into()]);
            }
            Site::Everywhere { datagrams, process, port } => {
                into.extend([3, u64::from(datagrams), u64::from(process), u64::from(port)]);
            }
            Site::Losses => into.push(4),
        }
    }

    fn read(from: &mut Numbers<'_>) -> Option<Self> {
        let port = |from: &mut Numbers<'_>| u16::try_from(from.any()?).ok();
        let number = |from: &mut Numbers<'_>| u32::try_from(from.any()?).ok();
        Some(match from.next(5)? {
            0 => Site::Static(to_there(from.any()?)),
            1 => {
                let datagrams = from.next(2)? == 1;
                let ip = Ipv4Addr::from_bits(number(from)?);
                let at = SocketAddr::V4(SocketAddrV4::new(ip, port(from)?));
                Site::Address { datagrams, at }
            }
            2 => {
                let datagrams = from.next(2)? == 1;
                let ip = u128::from(from.any()?) << 64 | u128::from(from.any()?);
                let (ip, port) = (Ipv6Addr::from_bits(ip), port(from)?);
                let (flow, scope) = (number(from)?, number(from)?);
                let at = SocketAddr::V6(SocketAddrV6::new(ip, port, flow, scope));
                Site::Address { datagrams, at }
            }
            3 => {
                let datagrams = from.next(2)? == 1;
                Site::Everywhere { datagrams, process: number(from)?, port: port(from)? }
            }
            _ => Site::Losses,
        })
    }
}

/// Something that is at the same distance from all other statics wherever the program is in memory.
static HERE: u8 = 0;

/// How far a place is from it.
pub(super) fn from_here(place: usize) -> u64 {
    place.wrapping_sub(&raw const HERE as usize) as u64
}

/// The place that is so far from it.
fn to_there(distance: u64) -> usize {
    (&raw const HERE as usize).wrapping_add(distance as usize)
}

impl Register {
    /// Learns what was learnt in another process. Says whether that is something that can be learnt at all.
    pub fn learn(&self, lesson: &[u64]) -> bool {
        let mut from = Numbers(lesson);
        let mut known = self.known();
        let before = known.journal.key;
        let read = known.read(&mut from).filter(|_| from.0.is_empty());
        let round = match read {
            Some(Learnt::Round(past, goes_round)) => Some((past, goes_round)),
            Some(learnt) => {
                known.learn(learnt);
                None
            }
            None => None,
        };
        let is_lesson = known.journal.key != before;
        drop(known);
        self.lessons.fetch_add(u64::from(is_lesson), SeqCst);
        if let Some((past, goes_round)) = round {
            self.add_round(past, goes_round, true);
        }
        read.is_some()
    }
}

impl Names {
    /// Learns something that others have to know. What comes of it for oneself comes when one [asks](Names::take_stale).
    pub(super) fn tell(&self, learnt: Learnt) {
        let is_lesson = self.register().learn(learnt);
        self.register.lessons.fetch_add(u64::from(is_lesson), SeqCst);
    }

    /// What was learnt by all, as numbers, from the so manieth on.
    pub fn lessons(&self, from: usize, into: &mut Vec<Vec<u64>>) {
        let known = self.register();
        let new = known.journal.all.iter().skip(from);
        into.extend(new.map(|&learnt| known.write(learnt)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// One who explores, with a register of his own.
    fn names() -> Names {
        let mut names = Names::new(Arc::default());
        names.divide(true);
        names
    }

    fn all(names: &Names) -> Vec<Vec<u64>> {
        let mut all = Vec::new();
        names.lessons(0, &mut all);
        all
    }

    /// Something of each kind.
    fn taught() -> Names {
        let mut names = names();
        let root = names.root(0);
        let child = names.child(root, 1);
        let grandchild = names.child(child, 0);
        let made = names.object(grandchild, 3);
        let part = names.part(made, 2);
        let part = names.part(part, 1);
        let token = names.own(child, Own::Token);
        names.try_to_take(made);
        names.watch(grandchild);
        names.move_lazies();
        names.tell(Learnt::Polled(made));
        let lazies = names.register().lazies.unwrap();
        let sites = [
            Site::Static(&raw const HERE as usize + 5),
            Site::Address { datagrams: true, at: "127.0.0.1:80".parse().unwrap() },
            Site::Address { datagrams: false, at: "[::1]:80".parse().unwrap() },
            Site::Everywhere { datagrams: true, process: 0, port: 9 },
            Site::Losses,
        ];
        let placed = sites.map(|site| names.placed(site));
        let things = [part, token, lazies].into_iter().chain(placed);
        for (index, object) in things.enumerate() {
            for group in 0..2 {
                let (thing, writes) = (Thing(u64::MAX - index as u64), group == 0);
                names.tell(Learnt::Touched { object, thing, group, writes });
            }
        }
        names.tell(Learnt::Touched { object: made, thing: Thing(1), group: 127, writes: true });
        names.add_round(77, true);
        names.add_round(u64::MAX, false);
        assert!(names.take_stale());
        names
    }

    #[test]
    fn what_was_learnt_is_known_in_another_process_in_whatever_order_it_comes() {
        let taught = taught();
        let lessons = all(&taught);
        let mut kinds: Vec<u64> = lessons.iter().map(|lesson| lesson[0]).collect();
        kinds.dedup();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds, [0, 1, 2, 3, 4, 5, 6]);
        let mut backwards = lessons.clone();
        backwards.reverse();
        for lessons in [&lessons, &backwards] {
            let mut other = names();
            for lesson in lessons.iter().chain(lessons) {
                assert!(other.register.learn(lesson), "{lesson:?}");
            }
            assert!(other.take_stale());
            assert_eq!(other.learnt(), taught.learnt());
            let mut again = all(&other);
            assert_eq!(again.len(), lessons.len());
            again.sort();
            let mut lessons = lessons.clone();
            lessons.sort();
            assert_eq!(again, lessons);
            assert_eq!(
                (other.known_round(77), other.known_round(u64::MAX)),
                (Some(true), Some(false))
            );
            // Nothing is left to be learnt, so nothing has to be explored again.
            for lesson in &lessons {
                assert!(other.register.learn(lesson));
            }
            assert!(!other.take_stale());
        }
    }

    #[test]
    fn the_key_tells_what_machines_go_by() {
        let mut names = names();
        let root = names.root(0);
        let object = names.object(root, 0);
        let touch = |group, writes| Learnt::Touched { object, thing: Thing(1), group, writes };
        let none = names.learnt();
        let key = |names: &mut Names, learnt| {
            names.tell(learnt);
            (names.take_stale(), names.learnt())
        };
        // Nobody explores otherwise because of the first one.
        assert_eq!(key(&mut names, touch(0, false)), (false, none));
        assert_eq!(key(&mut names, touch(1, false)), (false, none));
        let (is_stale, three) = key(&mut names, touch(2, true));
        assert!(is_stale && three != none);
        let (is_stale, four) = key(&mut names, touch(3, false));
        assert!(is_stale && four != three && four != none);
        assert_eq!(key(&mut names, touch(3, true)), (false, four));
        assert_eq!(key(&mut names, Learnt::Round(1, true)), (false, four));
        assert_ne!(key(&mut names, Learnt::Tried(object)).1, four);
    }

    #[test]
    fn what_is_no_lesson_teaches_nothing() {
        for lesson in all(&taught()) {
            for len in 0..lesson.len() {
                assert!(!names().register.learn(&lesson[..len]), "{lesson:?} {len}");
            }
            assert!(!names().register.learn(&[&lesson[..], &[0]].concat()));
            for at in 0..lesson.len() {
                for other in [lesson[at] ^ 1, lesson[at].wrapping_add(7) & 0xFF, u64::MAX] {
                    let mut lesson = lesson.clone();
                    lesson[at] = other;
                    // It may be another lesson; whatever it is, it is taken or left.
                    let names = names();
                    let is_one = names.register.learn(&lesson);
                    assert!(is_one || all(&names).len() < 2);
                }
            }
        }
    }
}
