//! What it takes to divide threads into components: who touches what, and what others are told by an event.
//!
//! A *group* is a process; where there is just one, its main thread is a group, and each thread that this spawns, with all that come of it, is another. Groups are what components are
//! made of. Who touches which object is not known beforehand. It is learnt from the runs: as soon as an object that somebody writes is touched by a second group, it
//! is *shared*, and all that was explored before is explored again, with that in mind.
//!
//! **What others are told.** What an event does to a shared object has to be told in full, or else two runs would be taken for one in which others find something else there. It is
//! known of the network: what is sent is bytes. It is known of mutexes that have nothing in them, whose giving back is a step of its own as soon as they are shared. Of all else it is not, so threads that
//! share such things have to be in one component.
//!
//! **Giving and taking.** A message is put into a place by one who sends and taken out of it by one who receives. The latter can do nothing to the former. So that is not *sharing* a place, but giving and taking what is in it,
//! unless somebody looks into the place before there is something: from then on places of that channel are objects like others. In the same way the end of a stream is given by those who drop
//! their sockets. How many these are has to be told, too, so making another one for the same stream is an event.

use super::Runtime;
use super::lessons::Learnt;
use super::log::{digest, mix};
use super::names::Names;
use super::network::Called;
use super::op::{Kind, NONE, Op};
use super::rules::{Can, Look, part};
use crate::machine::otherwise;
use crate::sync::EMPTY;
use crate::words;
use allways::Error;
use allways::machine::Shown;
use std::panic::Location;
use std::sync::atomic::Ordering::SeqCst;

/// There are no more groups.
pub(super) const MOST_GROUPS: u32 = 128;

/// Where a thread comes from: how manieth it is of its parent, or of all processes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub parent: u32,
    pub index: u32,
}

/// Where a thread comes from, in all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descent {
    /// A number that stands for that, and is the same in every check of the program.
    pub key: u64,
    process: u32,
    /// Which of those it comes from whom the main thread has spawned, counted from one.
    branch: u32,
}

/// Numbers that stand for threads and objects, and are the same in every check of the program.
#[derive(Clone, Default)]
pub(super) struct Origins {
    pub threads: Vec<Descent>,
    pub objects: Vec<u64>,
    /// For each object, the one that it is a part of, or itself.
    pub wholes: Vec<u32>,
}

impl Origins {
    pub fn add_thread(&mut self, Origin { parent, index }: Origin) -> u64 {
        let descent = match parent {
            NONE => Descent { key: mix(u64::from(index)), process: index, branch: 0 },
            _ => {
                let Descent { key, process, branch } = self.threads[parent as usize];
                let branch = if branch == 0 { index + 1 } else { branch };
                Descent { key: mix(key ^ mix(1 << 40 | u64::from(index))), process, branch }
            }
        };
        self.threads.push(descent);
        descent.key
    }
}

/// Which groups touch which objects. In different runs, an object may be different things (whoever makes it may have made others before), which
/// have nothing to do with each other: what it is is part of what is kept.
#[derive(Default)]
pub(super) struct Touching {
    /// For each object, what it is, a bit for each group that writes it, and for each that reads it.
    objects: Vec<Vec<(Thing, [u128; 2])>>,
    /// The channels of which somebody looked into a place before there was something.
    polled: Vec<bool>,
}

/// What an object is: what it is called, and which processes it is between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Thing(pub u64);

/// What is kept of an object that is this.
fn of_thing<T: Clone + Default>(
    of: &mut Vec<Vec<(Thing, T)>>,
    object: u32,
    thing: Thing,
) -> &mut T {
    let all = slot(of, object);
    let place = all.iter().position(|(other, _)| *other == thing).unwrap_or_else(|| {
        all.push((thing, T::default()));
        all.len() - 1
    });
    &mut all[place].1
}

fn slot<T: Clone + Default>(of: &mut Vec<T>, index: u32) -> &mut T {
    let index = index as usize;
    if index >= of.len() {
        of.resize(index + 1, T::default());
    }
    &mut of[index]
}

/// The groups that share an object.
fn sharers([writers, readers]: [u128; 2]) -> u128 {
    let all = writers | readers;
    if writers == 0 || all.count_ones() < 2 { 0 } else { all }
}

impl Touching {
    /// A group touches an object that is this. `None` if that is known; otherwise who shared it before, and who does now.
    pub fn touch(
        &mut self,
        (object, thing): (u32, Thing),
        group: u32,
        writes: bool,
    ) -> Option<[u128; 2]> {
        let touched = of_thing(&mut self.objects, object, thing);
        let before = *touched;
        touched[usize::from(!writes)] |= 1 << group;
        (*touched != before).then(|| [sharers(before), sharers(*touched)])
    }

    /// Somebody has looked into a place of a channel before there was something. Says whether that is new.
    pub fn poll(&mut self, channel: u32) -> bool {
        !std::mem::replace(slot(&mut self.polled, channel), true)
    }

    /// What is known, for one who explores.
    pub fn parted(&self) -> Parted {
        let groups = |&(thing, touched): &(Thing, [u128; 2])| {
            let all = sharers(touched);
            (thing, (0..MOST_GROUPS).filter(|group| all >> group & 1 == 1).collect())
        };
        let shared = self.objects.iter().map(|things| things.iter().map(groups).collect());
        let shared = shared.collect();
        Parted { shared, polled: self.polled.clone(), noted: self.objects.clone() }
    }
}

/// What one who explores knows of who touches what.
#[derive(Default)]
pub(super) struct Parted {
    /// For each object, the groups that share it.
    shared: Vec<Vec<(Thing, Box<[u32]>)>>,
    polled: Vec<bool>,
    /// What it has noted itself, beside what it knew when it began.
    noted: Vec<Vec<(Thing, [u128; 2])>>,
}

impl Names {
    pub fn is_divided(&self) -> bool {
        self.parted.is_some()
    }

    /// The groups that share an object that is this, if any do.
    fn sharers(&self, object: u32, thing: Thing) -> &[u32] {
        let shared = self.parted.as_ref().and_then(|parted| parted.shared.get(object as usize));
        let groups = shared.and_then(|all| all.iter().find(|(other, _)| *other == thing));
        groups.map_or(&[], |(_, groups)| groups)
    }

    /// Whether places of a channel are objects like others.
    fn is_polled(&self, channel: u32) -> bool {
        let parted = self.parted.as_ref();
        parted.and_then(|it| it.polled.get(channel as usize)).is_some_and(|&polled| polled)
    }

    /// Somebody has looked into a place of a channel before there was something.
    fn poll(&mut self, channel: u32) {
        if !self.is_polled(channel) {
            self.tell(Learnt::Polled(channel));
        }
    }

    /// A group touches an object.
    fn note(&mut self, (object, thing): (u32, Thing), group: u32, writes: bool, takes: bool) {
        let Some(parted) = &mut self.parted else { return };
        let (bit, how) = (1_u128 << group, usize::from(!writes));
        let noted = of_thing(&mut parted.noted, object, thing);
        if noted[how] & bit != 0 {
            return;
        }
        noted[how] |= bit;
        let mut known = self.register();
        let mut lessons = known.learn(Learnt::Touched { object, thing, group, writes });
        if lessons && takes {
            // Both are known at once: whoever knows that it is shared knows that giving it back is a step.
            lessons |= known.learn(Learnt::Tried(object));
        }
        drop(known);
        self.register.lessons.fetch_add(u64::from(lessons), SeqCst);
    }

    /// Takes over the numbers that stand for threads and objects in all checks.
    pub(super) fn learn_origins(&mut self) {
        let known = self.register();
        let lacks = self.origins.objects.len() < known.origins.objects.len();
        let all = lacks.then(|| known.origins.clone());
        drop(known);
        if let Some(all) = all {
            self.origins = all;
        }
    }

    /// The number that stands for an object in all checks.
    pub fn object_key(&self, object: u32) -> u64 {
        let known = self.origins.objects.get(object as usize).copied();
        known.or_else(|| self.register().origins.objects.get(object as usize).copied()).unwrap_or(0)
    }

    /// The number that stands for a thread in all checks.
    pub fn thread_key(&self, thread: u32) -> u64 {
        self.known_descent(thread).map_or(0, |descent| descent.key)
    }

    /// The object that one is a part of, or itself.
    fn whole(&self, object: u32) -> u32 {
        self.origins.wholes.get(object as usize).copied().unwrap_or(object)
    }

    /// How many threads the main thread of the only process is known to spawn.
    fn branches(&self) -> usize {
        self.children_of_root()
    }
}

impl Runtime {
    /// How many groups there are, as far as is known.
    pub fn groups(&self) -> usize {
        match self.processes() {
            1 => 1 + self.population.names.branches(),
            many => many as usize,
        }
    }

    /// The group of a thread.
    pub fn group(&self, thread: u32) -> u32 {
        let known = self.population.names.known_descent(thread);
        match (known, self.processes()) {
            (Some(descent), 1) => descent.branch,
            (Some(descent), _) => descent.process,
            (None, _) => 0,
        }
    }

    /// What an object is in this run.
    fn thing(&self, object: u32) -> Thing {
        let whole = self.population.names.whole(object);
        let Some(made) = self.population.made.get(whole as usize) else { return Thing(0) };
        let called = match made.called {
            None => 0,
            Some(Called::Address(_)) => 1,
            Some(Called::Port(process, port)) => mix(u64::from(process) << 16 | u64::from(port)),
            Some(Called::Between(ends)) => {
                let end = |(process, port)| mix(u64::from(process) << 16 | u64::from(port));
                mix(end(ends[0]) ^ mix(end(ends[1])))
            }
        };
        Thing(mix(called ^ digest(made.what.as_bytes())))
    }

    /// The groups that share an object, if any do.
    pub fn sharers(&self, object: u32) -> &[u32] {
        self.population.names.sharers(object, self.thing(object))
    }

    /// If making another socket is to be an event, what others are told by that: which one it is. It is about to be made.
    pub fn said_by_copy(&mut self, at: &'static Location<'static>) -> Option<u64> {
        let is_told = self.population.names.tells_copies() && !self.skips(at);
        is_told.then(|| self.next_made())
    }

    /// What stands for what the thread that runs makes next.
    pub fn next_made(&mut self) -> u64 {
        let running = self.running;
        let made = self.population.threads[running as usize].objects;
        mix(self.population.names.thread_key(running) ^ mix(u64::from(made)))
    }

    /// The group that receives from a channel of the network, if that can be told from what it is.
    fn receiver(&self, channel: u32) -> Option<u32> {
        if self.processes() == 1 {
            return None;
        }
        match self.population.made.get(channel as usize)?.called? {
            Called::Between([_, (to, _)]) => Some(to),
            Called::Port(at, _) => Some(at),
            Called::Address(_) => None,
        }
    }

    /// What others are told by a step that is possible after the run without some events.
    pub fn shown(
        &mut self,
        thread: u32,
        alternative: u32,
        op: &Op,
        without: &[u32],
        into: &mut Shown,
    ) -> Result<(), Error> {
        let Look::Can(can) = self.rules(without).look(thread, op) else {
            return Err(otherwise());
        };
        if self.has_time_passed {
            let what = "engine dir does not follow clocks from one component to another, and time passes here (a sleep, a timeout): use engine dpor";
            return Err(Error::Options(what.to_owned()));
        }
        let thread_key = self.population.names.thread_key(thread);
        let object_key = match op.object {
            NONE => 0,
            object => self.population.names.object_key(object),
        };
        let how = u64::from(alternative) << 9 | u64::from(can.succeeds) << 8 | op.kind as u64;
        into.shared = mix(mix(thread_key ^ mix(how)) ^ mix(object_key ^ mix(op.said)));
        into.is_opaque = !self.tells_all(op);
        if self.processes() > 1 {
            self.hand_on(op, &can, without, object_key, into);
        }
        Ok(())
    }

    /// What a step gives and takes.
    fn hand_on(&mut self, op: &Op, can: &Can, without: &[u32], key: u64, into: &mut Shown) {
        let is_polled = |runtime: &Runtime| runtime.population.names.is_polled(op.object);
        let message = mix(key ^ mix(can.value));
        if op.kind.sends() && can.succeeds {
            if let Some(receiver) = self.receiver(op.object) {
                into.to.push((receiver, mix(message ^ op.said)));
                if !is_polled(self) {
                    let place = self.rules(without).place(op.object, can.value, op.argument);
                    into.passed.push(place);
                }
            }
        } else if op.kind.receives() && can.succeeds {
            if self.receiver(op.object).is_some() && !is_polled(self) {
                let place = self.rules(without).place(op.object, can.value, op.argument);
                into.passed.push(place);
            }
        } else if op.kind.receives() && can.value == u64::MAX && self.receiver(op.object).is_some()
        {
            // The end: it is given by the last of those who drop their sockets. Nothing will come into the place any more.
            let senders = self.population.made[op.object as usize].senders.iter();
            into.passed.extend(senders.map(|sender| sender.own));
            if !is_polled(self) {
                let (received, _) = self.rules(without).count(op.object, part::HEAD);
                let place = self.rules(without).place(op.object, received, op.argument);
                into.passed.push(place);
            }
        } else if matches!(op.kind, Kind::DropSender | Kind::Copy)
            && let Some(Called::Between([_, (peer, _)])) =
                self.population.made[op.object as usize].called
        {
            into.to.push((peer, mix(key ^ mix(op.kind as u64 ^ op.said))));
        }
    }

    /// Whether all that comes of an access for others is known.
    fn tells_all(&self, op: &Op) -> bool {
        let what = if op.object == NONE { "" } else { self.what(op.object) };
        let is_channel = matches!(what, "stream" | "listener" | "datagram socket");
        match op.kind {
            Kind::Send | Kind::TrySend => is_channel && op.said != 0,
            Kind::Receive | Kind::TryReceive | Kind::ReceiveOrLate => is_channel,
            Kind::LookForReceiver | Kind::DropReceiver => is_channel,
            Kind::DropSender | Kind::Copy => what == "socket",
            Kind::Load => matches!(what, "address" | "losses"),
            Kind::Swap => what == "losses" || what == "address" && op.said != 0,
            Kind::Lock if what == "address" => op.said != 0,
            Kind::Lock | Kind::TryLock | Kind::Unlock => {
                what == "mutex" && self.population.made[op.object as usize].initial == Some(EMPTY)
            }
            Kind::Choose | Kind::Spin => true,
            _ => false,
        }
    }

    /// Notes who touches what, of the event that has just happened.
    pub fn note_touched(&mut self, passed: &[u32]) {
        let Some(&entry) = self.log.entries.last() else { return };
        let group = self.group(entry.thread);
        if group >= MOST_GROUPS {
            let what = "engine dir divides a program into at most 128 processes or threads: use engine dpor";
            self.error.get_or_insert(Error::Options(what.to_owned()));
            return;
        }
        let footprints = &self.touching.footprints;
        let writes = footprints.writes(entry.footprint).iter().map(|&object| (object, true));
        let reads = footprints.reads(entry.footprint).iter().map(|&object| (object, false));
        let both: Vec<(u32, bool)> = writes.chain(reads).collect();
        let takes = matches!(entry.op.kind, Kind::Lock | Kind::TryLock | Kind::Unlock);
        for (object, writes) in both.into_iter().filter(|(object, _)| !passed.contains(object)) {
            let thing = self.thing(object);
            let takes = takes && object == entry.op.object;
            self.population.names.note((object, thing), group, writes, takes);
        }
        let names = &mut self.population.names;
        let finds_nothing = !entry.succeeded && entry.value != u64::MAX;
        if entry.op.kind.receives() && finds_nothing {
            names.poll(entry.op.object);
        }
    }

    /// What there is to say about how a group has come to its end: see [`Machine::ended`](allways::machine::Machine::ended).
    pub fn ended(&mut self, group: u32) -> u64 {
        let mut all = 0_u64;
        for index in 0..self.present.len() {
            let thread = self.present[index];
            let process = self.population.threads[thread as usize].process;
            if self.group(thread) != group || self.process(process).serves {
                continue;
            }
            let key = self.population.names.thread_key(thread);
            if let Some((_, text)) = words::waiting(self, thread) {
                all = all.wrapping_add(mix(key ^ digest(text.as_bytes())) | 1);
            } else if words::is_leaked(self, thread) {
                all = all.wrapping_add(mix(key) | 1);
            }
        }
        all
    }
}
