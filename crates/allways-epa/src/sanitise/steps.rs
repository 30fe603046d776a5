//! Accesses to memory and synchronisation, for the check of reversibility.
//!
//! That check asks which accesses of different threads depend on each other, so here an object has one number for all threads
//! and for the whole trace, also if it is unknown: each eight bytes of unknown memory are an object. An access that goes
//! over the end of an object is several steps, one for each object that it touches.
//!
//! What functions do that are not instrumented is said by `effects.rs`, with the record of the call, which comes when it has returned.
//!
//! Channels and owners that are counted are accessed as well, by events rather than by instructions, at places of their own.
//! Who sends writes the end of the queue and who receives its beginning: so two who send depend on each other, and one who
//! sends and one who receives do not. Who sends also reads whether there is a receiver, which the end of the receiver
//! writes. One of several owners that gives something up reads that others are left, and the last one writes: two of which
//! neither is the last can come in any order. Such an access has the site of the call that it belongs to.
//!
//! Accesses to what a thread has on its stack and no other ever touches are left out. No access of another thread can depend
//! on them, so they are in no pair that could be reversed; and they are most of all accesses.

use super::effects::{Effects, Guessed, Target, Touch, is_constant};
use super::identity::identified;
use super::memory::{ObjectKind, number};
use super::tracker::{LOWEST, Tracker, UNKNOWN_BYTES};
use crate::step::{Action, Place, Step};
use crate::trace::{Trace, TraceError};
use allways_epa_format::{Event, Opcode, Program, Record, Site};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// No access has more bytes than this.
const LARGEST: u64 = 1 << 32;

/// Which memory an instruction accesses: the place of the address among its values, and whether it is written.
pub(crate) fn accesses(opcode: Opcode) -> &'static [(usize, bool)] {
    match opcode {
        Opcode::Load | Opcode::AtomicLoad => &[(1, false)],
        Opcode::Store | Opcode::AtomicStore => &[(1, true)],
        Opcode::AtomicUpdate => &[(1, false), (1, true)],
        Opcode::Copy => &[(1, false), (0, true)],
        Opcode::Set => &[(0, true)],
        _ => &[],
    }
}

/// How many bytes an instruction accesses.
fn bytes(site: &Site, values: &[u64]) -> u64 {
    match site.opcode {
        Opcode::Copy | Opcode::Set => values.get(2).copied().unwrap_or(0),
        _ => site.bytes.into(),
    }
}

/// The accesses of a trace, and what had to be guessed for them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Accesses {
    /// The accesses to memory and the synchronisation, in the order of the trace.
    pub steps: Vec<Step>,
    /// Calls of functions of which nobody knows what they do to memory: they are taken to read and write what they are given.
    pub guessed: Vec<Guessed>,
}

/// The accesses to memory and the synchronisation of a trace, in its order, as [`accesses_of`] finds them.
pub fn steps(trace: &Trace) -> Result<Vec<Step>, TraceError> {
    Ok(accesses_of(trace, &[])?.steps)
}

/// The accesses to memory and the synchronisation of a trace, in its order. Threads are places in [`Trace::streams`].
/// That memory is given back is a write to all of it. Accesses to what only one thread has on its stack are left out. Functions that
/// are `fine` touch nothing that matters.
///
/// ```
/// use allways_epa::format::Program;
/// use allways_epa::sanitise::accesses_of;
/// use allways_epa::trace::Trace;
/// let trace = Trace {
///     program: Program::default(),
///     addresses: Vec::new(),
///     streams: Vec::new(),
///     incomplete: Vec::new(),
/// };
/// let found = accesses_of(&trace, &["harmless".to_owned()])?;
/// assert!(found.steps.is_empty() && found.guessed.is_empty());
/// # Ok::<(), allways_epa::trace::TraceError>(())
/// ```
pub fn accesses_of(trace: &Trace, fine: &[String]) -> Result<Accesses, TraceError> {
    let mut effects = Effects::new(trace, fine);
    let mut pass = Pass {
        tracker: Tracker::new(trace)?,
        states: FxHashMap::default(),
        shared: Vec::new(),
        unknown: FxHashMap::default(),
        parts: FxHashMap::default(),
        last: vec![None; trace.streams.len()],
        unplaced: vec![Vec::new(); trace.streams.len()],
        dead: BTreeMap::new(),
        steps: Vec::new(),
    };
    pass.tracker.memory.left = Some(Vec::new());
    let mut merged = trace.merged();
    let mut now = 0;
    while let Some((place, number, record)) = merged.next()? {
        let thread = place as u32;
        pass.tracker.before(thread, record, now)?;
        pass.leave(thread, number, record);
        match record {
            Record::Event(
                Event::Handle { .. } | Event::Injected | Event::Exit { .. } | Event::Library { .. },
            ) => {}
            // Who uses memory that another may have given back depends on when that was.
            Record::Event(event @ Event::Free { address, .. }) => {
                if let Some((object, 0)) = pass.tracker.memory.find(address)
                    && pass.tracker.is_given_back(thread, address)
                {
                    let bytes = pass.tracker.memory.objects[object as usize].bytes;
                    let action = Action::Write(Place { object, offset: 0, bytes });
                    pass.steps.push(Step { thread, record: number, site: None, action });
                }
                let action = Action::Event(event);
                pass.steps.push(Step { thread, record: number, site: None, action });
            }
            Record::Event(event) => {
                pass.standard(thread, number, event)?;
                let action = Action::Event(identified(&pass.tracker.memory, event));
                pass.steps.push(Step { thread, record: number, site: None, action });
            }
            Record::Instruction { site, values } => {
                let known = &trace.program.sites[site as usize];
                pass.performed(thread, site);
                for &(place, is_write) in accesses(known.opcode) {
                    let Some(&address) = values.get(place) else { continue };
                    // Nothing comes between the two parts of an update; and whoever writes depends on all that who reads does.
                    if known.opcode == Opcode::AtomicUpdate && !is_write {
                        continue;
                    }
                    let step = Template { thread, record: number, site, is_write };
                    pass.access(step, address, bytes(known, values))?;
                }
                if known.opcode == Opcode::Call {
                    for touch in effects.of(site, known, values) {
                        let step = Template { thread, record: number, site, is_write: false };
                        pass.touch(&trace.program, step, &touch)?;
                    }
                }
            }
        }
        pass.tracker.after(thread, record, now);
        pass.leave(thread, number, record);
        now += 1;
    }
    let Pass { tracker, shared, mut steps, .. } = pass;
    let objects = tracker.memory.objects;
    steps.retain(|step| match step.action {
        Action::Read(place) | Action::Write(place) => {
            let object = place.object as usize;
            objects[object].kind != ObjectKind::Stack || shared.get(object) == Some(&true)
        }
        Action::Event(_) => true,
    });
    Ok(Accesses { steps, guessed: effects.guessed() })
}

/// Most of a step.
#[derive(Clone, Copy)]
struct Template {
    thread: u32,
    record: u64,
    site: u32,
    is_write: bool,
}

/// A part of a channel or of something with owners that events access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Part {
    /// Where messages are added.
    Tail,
    /// Where messages are taken.
    Head,
    /// Whether there are owners left; of a channel, a receiver.
    Owners,
}

struct Pass<'a> {
    tracker: Tracker<'a>,
    /// Of objects on a stack, whether a thread other than its own has touched it.
    shared: Vec<bool>,
    /// Unknown objects by their address divided by eight.
    unknown: FxHashMap<u64, u32>,
    /// What libraries have once.
    states: FxHashMap<(String, u64), u32>,
    /// What stands for a part of a channel or of something with owners, by where that is: the object if it is known, otherwise
    /// none, and the place in it.
    parts: FxHashMap<(Option<u32>, u64, Part), u32>,
    /// The site of the last instruction of each thread.
    last: Vec<Option<u32>>,
    /// Steps of each thread that get the site of the call that they belong to, when it has returned.
    unplaced: Vec<Vec<usize>>,
    /// Variables of functions that were left, by their addresses.
    dead: BTreeMap<u64, u32>,
    steps: Vec<Step>,
}

impl Pass<'_> {
    /// A function that is left gives back what it has on the stack, which is a write to it, as of memory that is freed: another
    /// thread that uses it may come too late.
    fn leave(&mut self, thread: u32, record: u64, by: Record<'_>) {
        let memory = &mut self.tracker.memory;
        let Some(left) = &mut memory.left else { return };
        for object in left.drain(..) {
            let site = match by {
                Record::Instruction { site, .. } => Some(site),
                Record::Event(_) => None,
            };
            let super::Object { base, bytes, .. } = memory.objects[object as usize];
            let action = Action::Write(Place { object, offset: 0, bytes });
            self.steps.push(Step { thread, record, site, action });
            self.dead.insert(base, object);
        }
    }

    /// The accesses of an event that is about a channel or an owner.
    fn standard(&mut self, thread: u32, record: u64, event: Event) -> Result<(), TraceError> {
        let (address, accesses): (u64, &[(Part, bool)]) = match event {
            Event::Send { channel, .. } => (channel, &[(Part::Owners, false), (Part::Tail, true)]),
            Event::Receive { channel, .. } => (channel, &[(Part::Head, true)]),
            Event::Release { address, last: true, .. } => (address, &[(Part::Owners, true)]),
            Event::Release { address, last: false, .. } => (address, &[(Part::Owners, false)]),
            _ => return Ok(()),
        };
        for &(part, is_write) in accesses {
            let place = Place { object: self.part(address, part)?, offset: 0, bytes: 1 };
            let action = if is_write { Action::Write(place) } else { Action::Read(place) };
            self.unplaced[thread as usize].push(self.steps.len());
            let site = self.last[thread as usize];
            self.steps.push(Step { thread, record, site, action });
        }
        Ok(())
    }

    /// A thread has performed an instruction. The first call outside of the standard library that returns is the one in which
    /// the thread has sent, received or given up something.
    fn performed(&mut self, thread: u32, site: u32) {
        self.last[thread as usize] = Some(site);
        if self.unplaced[thread as usize].is_empty() {
            return;
        }
        let known = &self.tracker.trace.program.sites[site as usize];
        let name = known.function.trim_start_matches('<');
        let is_library =
            ["std::", "core::", "alloc::"].iter().any(|library| name.starts_with(library));
        if known.opcode != Opcode::Call || is_library {
            return;
        }
        for step in self.unplaced[thread as usize].drain(..) {
            self.steps[step].site = Some(site);
        }
    }

    /// The object that stands for a part of what is at an address.
    fn part(&mut self, address: u64, part: Part) -> Result<u32, TraceError> {
        let memory = &mut self.tracker.memory;
        let known = memory.find(address);
        let key =
            known.map_or((None, address, part), |(object, offset)| (Some(object), offset, part));
        if let Some(&object) = self.parts.get(&key) {
            return Ok(object);
        }
        let object = memory.add(super::Object {
            kind: ObjectKind::Unknown,
            base: address,
            bytes: 1,
            thread: None,
            index: number(self.parts.len())?,
            from: 0,
            to: 0,
        })?;
        self.parts.insert(key, object);
        Ok(object)
    }

    fn access(&mut self, step: Template, mut address: u64, bytes: u64) -> Result<(), TraceError> {
        // Nobody accesses so much at once: what says so was made wrong, and to follow it would take for ever.
        let mut left = if bytes > LARGEST { 0 } else { bytes };
        while left > 0 {
            let (object, offset, room) = self.place(address)?;
            let bytes = left.min(room);
            let place = Place { object, offset, bytes };
            let Template { thread, record, site, is_write } = step;
            let action = if is_write { Action::Write(place) } else { Action::Read(place) };
            self.steps.push(Step { thread, record, site: Some(site), action });
            let known = &self.tracker.memory.objects[object as usize];
            if known.kind == ObjectKind::Stack && known.thread != Some(thread) {
                let object = object as usize;
                self.shared.resize(self.shared.len().max(object + 1), false);
                self.shared[object] = true;
            }
            left -= bytes;
            let Some(next) = address.checked_add(bytes) else { return Ok(()) };
            address = next;
        }
        Ok(())
    }

    /// An access of a call.
    fn touch(
        &mut self,
        program: &Program,
        step: Template,
        touch: &Touch,
    ) -> Result<(), TraceError> {
        let address = match &touch.target {
            Target::State(name, key) => return self.state(step, name, *key, touch),
            // Nothing is at such addresses.
            Target::Address(address) if *address < LOWEST => return Ok(()),
            Target::Address(address) => *address,
        };
        let bytes = match touch.bytes {
            Some(bytes) => bytes,
            None => match self.tracker.memory.find(address) {
                Some((object, offset)) => {
                    self.tracker.memory.objects[object as usize].bytes - offset
                }
                None => UNKNOWN_BYTES,
            },
        };
        // A write is enough where both are done: it depends on all that a read does, and two steps could come apart.
        let is_write = touch.writes && !is_constant(program, &self.tracker, address);
        if is_write || touch.reads {
            self.access(Template { is_write, ..step }, address, bytes)?;
        }
        Ok(())
    }

    /// An access to something that a library has once.
    fn state(
        &mut self,
        step: Template,
        name: &str,
        key: u64,
        touch: &Touch,
    ) -> Result<(), TraceError> {
        let known = (name.to_owned(), key);
        let object = match self.states.get(&known) {
            Some(&object) => object,
            None => {
                let object = self.tracker.memory.add(super::Object {
                    kind: ObjectKind::Unknown,
                    base: 0,
                    bytes: UNKNOWN_BYTES,
                    thread: None,
                    index: number(self.states.len())?,
                    from: 0,
                    to: 0,
                })?;
                self.states.insert(known, object);
                object
            }
        };
        let place = Place { object, offset: 0, bytes: UNKNOWN_BYTES };
        let Template { thread, record, site, .. } = step;
        if touch.writes || touch.reads {
            let action = if touch.writes { Action::Write(place) } else { Action::Read(place) };
            self.steps.push(Step { thread, record, site: Some(site), action });
        }
        Ok(())
    }

    /// The object at an address, how far the address is in it, and how many of its bytes follow.
    fn place(&mut self, address: u64) -> Result<(u32, u64, u64), TraceError> {
        let memory = &mut self.tracker.memory;
        if let Some((object, offset)) = memory.find(address) {
            let room = memory.objects[object as usize].bytes - offset;
            if room > 0 {
                return Ok((object, offset, room));
            }
        }
        // What was there last, if it was on a stack.
        if let Some((&base, &object)) = self.dead.range(..=address).next_back()
            && let Some(room) = memory.objects[object as usize].bytes.checked_sub(address - base)
            && room > 0
        {
            return Ok((object, address - base, room));
        }
        let base = address / UNKNOWN_BYTES * UNKNOWN_BYTES;
        let offset = address - base;
        if let Some(&object) = self.unknown.get(&base) {
            return Ok((object, offset, UNKNOWN_BYTES - offset));
        }
        let object = memory.add(super::Object {
            kind: ObjectKind::Unknown,
            base,
            bytes: UNKNOWN_BYTES,
            thread: None,
            index: number(self.unknown.len())?,
            from: 0,
            to: 0,
        })?;
        self.unknown.insert(base, object);
        Ok((object, offset, UNKNOWN_BYTES - offset))
    }
}
