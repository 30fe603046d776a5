//! Numbers for threads and objects that mean the same in every run, and to everybody who explores.
//!
//! A thread is the so manieth that its parent has spawned, an object the so manieth that a thread has made: so
//! neither depends on the order of what is independent. Each gets a small number when it is met for
//! the first time, and keeps it for the whole exploration. Several explore at the same time, each with a copy of what it has met;
//! new numbers are given out under one lock.

use super::lessons::{Journal, Learnt, Lineage, from_here};
use super::log::mix;
use super::op::NONE;
use super::parted::{Descent, Origin, Origins, Parted, Touching};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An object that stands for a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Own {
    /// What it waits for when it parks.
    Token,
    /// Its end, if that has to be an event.
    End,
}

/// A place that is the same in all runs, and has an object of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Site {
    /// A static, by its address in memory.
    Static(usize),
    /// An address of the network, for streams or for datagrams.
    Address { datagrams: bool, at: SocketAddr },
    /// All addresses of a process together, at a port.
    Everywhere { datagrams: bool, process: u32, port: u16 },
    /// What the network has lost.
    Losses,
}

impl Site {
    /// A number that stands for it, wherever the program is in memory.
    fn key(self) -> u64 {
        let at = |text: &[u8]| crate::runtime::log::digest(text);
        match self {
            Site::Static(place) => mix(from_here(place)),
            Site::Address { datagrams, at: address } => {
                mix(at(address.to_string().as_bytes()) ^ u64::from(datagrams))
            }
            Site::Everywhere { datagrams, process, port } => {
                let datagrams = u64::from(datagrams);
                mix(u64::from(process) << 32 | u64::from(port) << 1 | datagrams)
            }
            Site::Losses => 1,
        }
    }
}

/// What has to be a step of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lesson {
    /// Giving back a mutex, since somebody tries to take it; or beginning to wait for one who hands over, since somebody tries to.
    Tried(u32),
    /// The end of a thread, since somebody asks for it.
    Watched(u32),
    /// Making another socket for the same stream, since those at the other end are told of it.
    Copies,
}

/// The numbers that were given out.
#[derive(Default)]
pub(crate) struct Register {
    known: Mutex<Known>,
    /// How often something was learnt that changes what is independent.
    pub(super) lessons: AtomicU64,
    rounds: Mutex<Rounds>,
}

/// After what has happened to it a thread was found to be where it was, or not to be.
#[derive(Default)]
struct Rounds {
    known: BTreeMap<u64, bool>,
    /// Whether they are in the journal: nobody needs them there unless the program is divided.
    are_told: bool,
}

/// So many of these are kept.
const MOST_ROUNDS: usize = 1 << 22;

#[derive(Default)]
pub(super) struct Known {
    /// For each thread, its children.
    children: Vec<Vec<u32>>,
    /// For each thread, the objects that it makes.
    objects: Vec<Vec<u32>>,
    /// For each thread, what stands for itself.
    pub(super) own: Vec<[u32; 2]>,
    /// For each object, its parts.
    parts: Vec<Vec<u32>>,
    /// Objects that have a place of their own.
    pub(super) placed: BTreeMap<Site, u32>,
    roots: Vec<u32>,
    /// What stands for all lazy values, if they do not stay in one place.
    pub(super) lazies: Option<u32>,
    /// For each object, whether somebody tries to take it, or to hand something over through it.
    pub(super) tried: Vec<bool>,
    /// For each thread, whether somebody asks if it has ended.
    pub(super) watched: Vec<bool>,
    /// For each thread, whether it is known to be the first of a group of its own.
    pub(super) spawned: Vec<bool>,
    pub(super) origins: Origins,
    /// For each thread and for each object, what it comes from.
    pub(super) descents: Vec<Origin>,
    pub(super) lineages: Vec<Lineage>,
    pub(super) touching: Touching,
    pub(super) journal: Journal,
}

impl Known {
    fn new_thread(&mut self, origin: Origin) -> u32 {
        let key = self.origins.add_thread(origin);
        let thread = self.children.len() as u32;
        self.descents.push(origin);
        self.children.push(Vec::new());
        self.objects.push(Vec::new());
        let own = [Own::Token, Own::End].map(|own| {
            let key = mix(key ^ mix(OWN + own as u64));
            self.new_object(key, Lineage::Own(thread, own))
        });
        self.own.push(own);
        self.watched.push(false);
        self.spawned.push(false);
        thread
    }

    fn new_object(&mut self, key: u64, lineage: Lineage) -> u32 {
        self.origins.wholes.push(self.origins.objects.len() as u32);
        self.origins.objects.push(key);
        self.lineages.push(lineage);
        self.parts.push(Vec::new());
        self.tried.push(false);
        self.parts.len() as u32 - 1
    }

    /// The main thread of a process.
    pub(super) fn root(&mut self, process: usize) -> u32 {
        while self.roots.len() <= process {
            let process = self.roots.len() as u32;
            let thread = self.new_thread(Origin { parent: NONE, index: process });
            self.roots.push(thread);
        }
        self.roots[process]
    }

    /// The so manieth child of a thread.
    pub(super) fn child(&mut self, parent: u32, index: u32) -> u32 {
        while self.children[parent as usize].len() <= index as usize {
            let index = self.children[parent as usize].len() as u32;
            let thread = self.new_thread(Origin { parent, index });
            self.children[parent as usize].push(thread);
        }
        self.children[parent as usize][index as usize]
    }

    /// The so manieth object that a thread makes.
    pub(super) fn object(&mut self, maker: u32, index: u32) -> u32 {
        while self.objects[maker as usize].len() <= index as usize {
            let index = self.objects[maker as usize].len() as u32;
            let key = self.origins.threads[maker as usize].key;
            let key = mix(key ^ mix(MADE + u64::from(index)));
            let object = self.new_object(key, Lineage::Made(maker, index));
            self.objects[maker as usize].push(object);
        }
        self.objects[maker as usize][index as usize]
    }

    /// A part of an object.
    pub(super) fn part(&mut self, object: u32, part: u64) -> u32 {
        while self.parts[object as usize].len() as u64 <= part {
            let index = self.parts[object as usize].len() as u32;
            let key = self.origins.objects[object as usize];
            let key = mix(key ^ mix(PART + u64::from(index)));
            let new = self.new_object(key, Lineage::Part(object, index));
            self.origins.wholes[new as usize] = self.origins.wholes[object as usize];
            self.parts[object as usize].push(new);
        }
        self.parts[object as usize][part as usize]
    }

    /// The object at a place that is the same in all runs.
    pub(super) fn placed(&mut self, site: Site) -> u32 {
        match self.placed.get(&site) {
            Some(&object) => object,
            None => {
                let object = self.new_object(mix(PLACED ^ site.key()), Lineage::Placed);
                self.placed.insert(site, object);
                object
            }
        }
    }

    /// Makes what stands for all lazy values. Says whether it was not there.
    pub(super) fn make_lazies(&mut self) -> bool {
        let is_new = self.lazies.is_none();
        if is_new {
            self.lazies = Some(self.new_object(mix(PLACED), Lineage::Lazies));
        }
        is_new
    }

    /// Learns which threads of the only process are groups of their own: those that its main thread spawns. Says how many of these were not known.
    fn learn_groups(&mut self) -> u64 {
        let Some(&root) = self.roots.first() else { return 0 };
        let all = self.children[root as usize].clone();
        let is_new = |&thread: &u32| !self.spawned[thread as usize];
        let new: Vec<u32> = all.into_iter().filter(is_new).collect();
        new.into_iter().map(|thread| u64::from(self.learn(Learnt::Spawned(thread)))).sum()
    }
}

impl Register {
    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        // Nobody panics while it is locked.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rounds(&self) -> MutexGuard<'_, Rounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes whether a thread goes round after what has happened to it. Whoever found out first is right. From the first that is to be told on, all are.
    pub(super) fn add_round(&self, past: u64, goes_round: bool, is_told: bool) {
        let mut rounds = self.rounds();
        if is_told {
            self.tell_rounds(&mut rounds);
        }
        if rounds.known.len() < MOST_ROUNDS && !rounds.known.contains_key(&past) {
            rounds.known.insert(past, goes_round);
            if rounds.are_told {
                // Before the lock is given back, so before anybody makes use of it.
                self.known().learn(Learnt::Round(past, goes_round));
            }
        }
    }

    /// From now on they are in the journal.
    fn tell_rounds(&self, rounds: &mut Rounds) {
        if !std::mem::replace(&mut rounds.are_told, true) {
            let mut known = self.known();
            for (&past, &goes_round) in &rounds.known {
                known.learn(Learnt::Round(past, goes_round));
            }
        }
    }
}

/// What the keys of different kinds of objects differ in.
const OWN: u64 = 1 << 40;
const MADE: u64 = 2 << 40;
const PART: u64 = 3 << 40;
const PLACED: u64 = 4 << 40;

/// What one of those who explore knows of the numbers.
pub(crate) struct Names {
    pub(super) register: Arc<Register>,
    children: Vec<Vec<u32>>,
    objects: Vec<Vec<u32>>,
    own: Vec<[u32; 2]>,
    parts: Vec<Vec<u32>>,
    placed: BTreeMap<Site, u32>,
    lazies: Option<u32>,
    tried: Vec<bool>,
    watched: Vec<bool>,
    lessons: u64,
    pub(super) origins: Origins,
    pub(super) parted: Option<Parted>,
    /// Whether making another socket for the same stream is an event.
    copies: bool,
    /// What stands for all that it has learnt.
    learnt: u64,
    /// Whether the threads of a single process are divided.
    is_single: bool,
}

/// What is known at a place of a table of tables.
#[inline]
fn known(tables: &[Vec<u32>], of: u32, index: usize) -> Option<u32> {
    let known = tables.get(of as usize)?.get(index).copied()?;
    (known != NONE).then_some(known)
}

/// Notes it.
fn note(tables: &mut Vec<Vec<u32>>, of: u32, index: usize, number: u32) {
    let of = of as usize;
    if of >= tables.len() {
        tables.resize(of + 1, Vec::new());
    }
    if index >= tables[of].len() {
        tables[of].resize(index + 1, NONE);
    }
    tables[of][index] = number;
}

impl Names {
    pub fn new(register: Arc<Register>) -> Self {
        let mut names = Names {
            register,
            children: Vec::new(),
            objects: Vec::new(),
            own: Vec::new(),
            parts: Vec::new(),
            placed: BTreeMap::new(),
            lazies: None,
            tried: Vec::new(),
            watched: Vec::new(),
            lessons: 0,
            origins: Origins::default(),
            parted: None,
            copies: false,
            learnt: 0,
            is_single: false,
        };
        names.learn();
        names
    }

    pub(super) fn register(&self) -> MutexGuard<'_, Known> {
        self.register.known()
    }

    /// From now on, who touches what is of interest; and which threads there are, if they are all of one process.
    pub fn divide(&mut self, is_single: bool) {
        self.parted = Some(Parted::default());
        self.is_single = is_single;
        let groups = if is_single { self.register().learn_groups() } else { 0 };
        self.register.lessons.fetch_add(groups, SeqCst);
        self.register.tell_rounds(&mut self.register.rounds());
        self.learn();
        self.learn_origins();
    }

    /// What stands for all that it goes by of what was learnt: see [`lessons`](super::lessons).
    pub fn learnt(&self) -> u64 {
        self.learnt
    }

    /// Takes over what others have learnt.
    fn learn(&mut self) {
        let lessons = self.register.lessons.load(SeqCst);
        let known = self.register();
        let (tried, watched, lazies) = (known.tried.clone(), known.watched.clone(), known.lazies);
        let parted = self.parted.is_some().then(|| known.touching.parted());
        let learnt = known.journal.key;
        drop(known);
        (self.parted, self.learnt) = (parted, learnt);
        (self.tried, self.watched, self.lessons) = (tried, watched, lessons);
        self.lazies = lazies;
    }

    /// The main thread of a process.
    pub fn root(&mut self, process: usize) -> u32 {
        let root = self.register().root(process);
        if self.known_descent(root).is_none() {
            self.learn_origins();
        }
        root
    }

    /// The so manieth child of a thread.
    pub fn child(&mut self, parent: u32, index: u32) -> u32 {
        if let Some(child) = known(&self.children, parent, index as usize) {
            return child;
        }
        let mut known = self.register();
        let child = known.child(parent, index);
        // It may be a group of its own.
        let groups = if self.is_single { known.learn_groups() } else { 0 };
        drop(known);
        self.register.lessons.fetch_add(groups, SeqCst);
        self.learn_origins();
        note(&mut self.children, parent, index as usize, child);
        child
    }

    /// The so manieth object that a thread makes.
    #[inline]
    pub fn object(&mut self, maker: u32, index: u32) -> u32 {
        match known(&self.objects, maker, index as usize) {
            Some(object) => object,
            None => self.new_object(maker, index),
        }
    }

    #[cold]
    fn new_object(&mut self, maker: u32, index: u32) -> u32 {
        let object = self.register().object(maker, index);
        note(&mut self.objects, maker, index as usize, object);
        object
    }

    /// A part of an object.
    #[inline]
    pub fn part(&mut self, object: u32, part: u64) -> u32 {
        match known(&self.parts, object, part as usize) {
            Some(part) => part,
            None => self.new_part(object, part),
        }
    }

    #[cold]
    fn new_part(&mut self, object: u32, part: u64) -> u32 {
        let number = self.register().part(object, part);
        if self.is_divided() {
            self.learn_origins();
        }
        note(&mut self.parts, object, part as usize, number);
        number
    }

    /// What stands for a thread.
    pub fn own(&mut self, thread: u32, own: Own) -> u32 {
        if self.own.len() <= thread as usize {
            let own = self.register().own.clone();
            self.own = own;
        }
        self.own[thread as usize][own as usize]
    }

    /// The object at a place that is the same in all runs.
    pub fn placed(&mut self, site: Site) -> u32 {
        if let Some(&object) = self.placed.get(&site) {
            return object;
        }
        let object = self.register().placed(site);
        self.placed.insert(site, object);
        object
    }

    /// What stands for all lazy values, if they do not stay in one place.
    pub fn lazies(&self) -> Option<u32> {
        self.lazies
    }

    /// A lazy value does not outlive its run: where it is says nothing in another run.
    pub fn move_lazies(&mut self) {
        if self.lazies.is_none() {
            self.tell(Learnt::Lazies);
        }
    }

    /// Whether a thread goes round, after what has happened to it, if that is known.
    pub fn known_round(&self, past: u64) -> Option<bool> {
        let rounds = self.register.rounds();
        // Whoever cannot be told apart from others is taken to go on.
        let known = rounds.known.get(&past).copied();
        known.or((rounds.known.len() >= MOST_ROUNDS).then_some(false))
    }

    /// Notes it.
    pub fn add_round(&self, past: u64, goes_round: bool) {
        self.register.add_round(past, goes_round, false);
    }

    /// How manieth child of its parent a thread is.
    pub fn index(&self, parent: u32, child: u32) -> u32 {
        let children = &self.children[parent as usize];
        children.iter().position(|&other| other == child).map_or(0, |index| index as u32)
    }

    #[inline]
    pub fn is_watched(&self, thread: u32) -> bool {
        self.watched.get(thread as usize).copied().unwrap_or(false)
    }

    /// Somebody asks if a thread has ended.
    pub fn watch(&mut self, thread: u32) {
        if !self.is_watched(thread) {
            self.tell(Learnt::Watched(thread));
        }
    }

    #[inline]
    pub fn is_tried(&self, object: u32) -> bool {
        self.tried.get(object as usize).copied().unwrap_or(false)
    }

    /// Somebody tries to take a mutex, or to hand over a message through a channel.
    pub fn try_to_take(&mut self, object: u32) {
        if !self.is_tried(object) {
            self.tell(Learnt::Tried(object));
        }
    }

    /// Forgets what was learnt: a run that is followed says itself what is a step.
    pub fn forget(&mut self) {
        self.tried.clear();
        self.watched.clear();
        self.copies = false;
    }

    /// Where a thread comes from, if that was asked before.
    pub(super) fn known_descent(&self, thread: u32) -> Option<Descent> {
        self.origins.threads.get(thread as usize).copied()
    }

    /// How many threads the first process is known to spawn itself.
    pub(super) fn children_of_root(&self) -> usize {
        let known = self.register();
        known.roots.first().map_or(0, |&root| known.children[root as usize].len())
    }

    /// Whether making another socket for the same stream is an event.
    pub fn tells_copies(&self) -> bool {
        self.parted.is_some() || self.copies
    }

    /// Is taught something by a run that is followed; says whether it was not known.
    pub fn be_taught(&mut self, lesson: Lesson) -> bool {
        let (known, number) = match lesson {
            Lesson::Copies => return !std::mem::replace(&mut self.copies, true),
            Lesson::Tried(object) => (&mut self.tried, object as usize),
            Lesson::Watched(thread) => (&mut self.watched, thread as usize),
        };
        if known.len() <= number {
            known.resize(number + 1, false);
        }
        !std::mem::replace(&mut known[number], true)
    }

    /// Whether somebody has learnt something since this was last asked. A run that has begun goes on as it began.
    pub fn take_stale(&mut self) -> bool {
        let is_stale = self.register.lessons.load(SeqCst) != self.lessons;
        if is_stale {
            self.learn();
        }
        is_stale
    }
}
