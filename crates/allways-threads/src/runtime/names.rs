//! Numbers for threads and objects that mean the same in every run, and to everybody who explores.
//!
//! A thread is the so manieth that its parent has spawned, an object the so manieth that a thread has made: so
//! neither depends on the order of what is independent. Each gets a small number when it is met for
//! the first time, and keeps it for the whole exploration. Several explore at the same time, each with a copy of what it has met;
//! new numbers are given out under one lock.

use super::log::mix;
use super::op::NONE;
use super::parted::{Descent, Origin, Origins, Parted, Touching};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An object that stands for a thread.
#[derive(Clone, Copy)]
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
    /// A number that stands for it. Those of statics are others in another process of the operating system.
    fn key(self) -> u64 {
        let at = |text: &[u8]| crate::runtime::log::digest(text);
        match self {
            Site::Static(place) => mix(place as u64),
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
    /// After what has happened to it a thread was found to be where it was, or not to be.
    rounds: Mutex<BTreeMap<u64, bool>>,
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
    own: Vec<[u32; 2]>,
    /// For each object, its parts.
    parts: Vec<Vec<u32>>,
    /// Objects that have a place of their own.
    placed: BTreeMap<Site, u32>,
    roots: Vec<u32>,
    /// What stands for all lazy values, if they do not stay in one place.
    lazies: Option<u32>,
    /// For each object, whether somebody tries to take it, or to hand something over through it.
    tried: Vec<bool>,
    /// For each thread, whether somebody asks if it has ended.
    watched: Vec<bool>,
    pub(super) origins: Origins,
    pub(super) touching: Touching,
}

impl Known {
    fn new_thread(&mut self, origin: Origin) -> u32 {
        let key = self.origins.add_thread(origin);
        self.children.push(Vec::new());
        self.objects.push(Vec::new());
        let own = [0, 1].map(|which| self.new_object(mix(key ^ mix(OWN + which))));
        self.own.push(own);
        self.watched.push(false);
        self.children.len() as u32 - 1
    }

    fn new_object(&mut self, key: u64) -> u32 {
        self.origins.objects.push(key);
        self.parts.push(Vec::new());
        self.tried.push(false);
        self.parts.len() as u32 - 1
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
        };
        names.learn();
        names
    }

    pub(super) fn register(&self) -> MutexGuard<'_, Known> {
        // Nobody panics while it is locked.
        self.register.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over what others have learnt.
    fn learn(&mut self) {
        let lessons = self.register.lessons.load(SeqCst);
        let known = self.register();
        let (tried, watched, lazies) = (known.tried.clone(), known.watched.clone(), known.lazies);
        let parted = self.parted.is_some().then(|| known.touching.parted());
        drop(known);
        self.parted = parted;
        (self.tried, self.watched, self.lessons) = (tried, watched, lessons);
        self.lazies = lazies;
    }

    /// The main thread of a process.
    pub fn root(&mut self, process: usize) -> u32 {
        let mut known = self.register();
        while known.roots.len() <= process {
            let process = known.roots.len() as u32;
            let thread = known.new_thread(Origin { parent: NONE, index: process });
            known.roots.push(thread);
        }
        let root = known.roots[process];
        drop(known);
        if self.known_descent(root).is_none() {
            self.origins();
        }
        root
    }

    /// The so manieth child of a thread.
    pub fn child(&mut self, parent: u32, index: u32) -> u32 {
        if let Some(child) = known(&self.children, parent, index as usize) {
            return child;
        }
        let mut known = self.register();
        while known.children[parent as usize].len() <= index as usize {
            let index = known.children[parent as usize].len() as u32;
            let thread = known.new_thread(Origin { parent, index });
            known.children[parent as usize].push(thread);
            // It may be a group of its own.
            let is_group = self.parted.is_some() && known.roots == [parent];
            self.register.lessons.fetch_add(u64::from(is_group), SeqCst);
        }
        let child = known.children[parent as usize][index as usize];
        drop(known);
        self.origins();
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
        let mut known = self.register();
        while known.objects[maker as usize].len() <= index as usize {
            let index = known.objects[maker as usize].len() as u64;
            let key = known.origins.threads[maker as usize].key;
            let object = known.new_object(mix(key ^ mix(MADE + index)));
            known.objects[maker as usize].push(object);
        }
        let object = known.objects[maker as usize][index as usize];
        drop(known);
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
        let mut known = self.register();
        while known.parts[object as usize].len() as u64 <= part {
            let index = known.parts[object as usize].len() as u64;
            let key = known.origins.objects[object as usize];
            let new = known.new_object(mix(key ^ mix(PART + index)));
            known.parts[object as usize].push(new);
        }
        let number = known.parts[object as usize][part as usize];
        drop(known);
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
        let mut known = self.register();
        let object = match known.placed.get(&site) {
            Some(&object) => object,
            None => {
                let object = known.new_object(mix(PLACED ^ site.key()));
                known.placed.insert(site, object);
                object
            }
        };
        drop(known);
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
            let mut known = self.register();
            if known.lazies.is_none() {
                known.lazies = Some(known.new_object(mix(PLACED)));
                self.register.lessons.fetch_add(1, SeqCst);
            }
        }
    }

    /// Whether a thread goes round, after what has happened to it, if that is known.
    pub fn known_round(&self, past: u64) -> Option<bool> {
        // Nobody panics while it is locked.
        let rounds = self.register.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever cannot be told apart from others is taken to go on.
        rounds.get(&past).copied().or((rounds.len() >= MOST_ROUNDS).then_some(false))
    }

    /// Notes it. Whoever found out first is right.
    pub fn add_round(&self, past: u64, goes_round: bool) {
        let mut rounds = self.register.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        if rounds.len() < MOST_ROUNDS {
            rounds.entry(past).or_insert(goes_round);
        }
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
            let was = std::mem::replace(&mut self.register().watched[thread as usize], true);
            self.register.lessons.fetch_add(u64::from(!was), SeqCst);
        }
    }

    #[inline]
    pub fn is_tried(&self, object: u32) -> bool {
        self.tried.get(object as usize).copied().unwrap_or(false)
    }

    /// Somebody tries to take a mutex, or to hand over a message through a channel.
    pub fn try_to_take(&mut self, object: u32) {
        if !self.is_tried(object) {
            let was = std::mem::replace(&mut self.register().tried[object as usize], true);
            self.register.lessons.fetch_add(u64::from(!was), SeqCst);
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
