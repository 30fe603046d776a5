//! What is known at each record of a trace: which objects there are, in which functions threads are, and who is called what.
//!
//! Each record is given to [`Tracker::before`], then its values are looked up, then it is given to [`Tracker::after`]. What
//! a record makes is there before its values are looked up, and what it ends is there until they are.

use super::memory::{Memory, ObjectKind, number};
use super::scopes::Scopes;
use super::threads::Names;
use super::value::{ObjectName, Value};
use crate::trace::{Trace, TraceError};
use allways_epa_format::{Event, Opcode, Record};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What is known at a record.
#[derive(Debug)]
pub(crate) struct Tracker<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) memory: Memory,
    pub(crate) names: Names,
    threads: Vec<State>,
    /// Threads by the numbers that the program knows them by. A number is used again once its thread was joined. Whoever reads
    /// it to join that thread does so before, and who has it next says so after that, each with a stamp: so the last is meant.
    handles: FxHashMap<u64, u32>,
    /// The function of each site.
    functions: Vec<u32>,
}

/// What is known of a thread.
#[derive(Debug, Default)]
struct State {
    scopes: Scopes,
    /// How many objects it has made.
    made: u32,
    /// Addresses that it has met and that nobody was seen to allocate.
    unknown: BTreeMap<u64, u32>,
    /// The thread that it created last.
    created: Option<u32>,
    /// When it created a thread, if it did since its last instruction.
    created_at: Option<u64>,
    /// By which number the program knows it.
    handle: Option<u64>,
    /// The thread that it has joined since its last instruction.
    has_joined: Option<u32>,
    /// The areas in which it has met addresses: see [`area`].
    areas: u8,
    /// The functions of libraries that it is in and that may keep memory for themselves: how many functions of the program it was in when
    /// it entered each.
    libraries: Vec<usize>,
}

impl State {
    /// Whether the innermost function is one of a library that may keep memory for itself.
    fn in_library(&self) -> bool {
        self.libraries.last() == Some(&self.scopes.depth())
    }

    /// Leaves the functions of libraries that the thread cannot be in any more: an instruction of the function that called them says so, also
    /// if they were left by an exception.
    fn leave_libraries(&mut self) {
        let depth = self.scopes.depth();
        while self.libraries.last().is_some_and(|&entered| entered >= depth) {
            self.libraries.pop();
        }
    }
}

/// Numbers below this are no addresses, whatever they are kept in.
pub(crate) const LOWEST: u64 = 4096;

/// Neither are numbers from this on: no program has addresses of more than 48 bits.
const HIGHEST: u64 = 1 << 48;

/// The area of stacks and libraries that an address is in, as a bit; 0 if it is in none.
///
/// A number of 64 bits that is in no object is taken for the address of memory that nobody was seen to allocate only if it is in such an area, and if the
/// thread, or who created it, has met an address there: a variable on its stack, memory, a global, the number of a thread, or any pointer. So a program of
/// a machine with addresses of 47 bits keeps numbers of 48 bits, and one in which no address was met there keeps all.
///
/// Areas are 2 TiB, no less, for a reason: where in them stacks and libraries are is random, within 1 TiB and some GiB below the end of all addresses, and
/// differs between runs. Numbers do not. Were a number taken for an address if it is closer than that to a known one, it would be an address in one run
/// and none in the next, and runs without a fault would differ. The area in which something is is the same in every run.
fn area(address: u64) -> u8 {
    match address >> 41 {
        // The highest addresses of x86-64, and of AArch64.
        0x3f => 1,
        0x7f => 2,
        _ => 0,
    }
}

/// How many bytes an unknown object has.
pub(crate) const UNKNOWN_BYTES: u64 = 8;

impl<'a> Tracker<'a> {
    pub(crate) fn new(trace: &'a Trace) -> Result<Self, TraceError> {
        let names = Names::new(trace)?;
        let mut known = FxHashMap::<&str, u32>::default();
        let functions = trace.program.sites.iter().map(|site| {
            let next = known.len() as u32;
            *known.entry(&site.function).or_insert(next)
        });
        let functions = functions.collect();
        let mut threads = Vec::new();
        threads.resize_with(trace.streams.len(), State::default);
        let areas = trace.addresses.iter().fold(0, |areas, address| areas | area(*address));
        threads.iter_mut().for_each(|state: &mut State| state.areas = areas);
        let memory = Memory::new(&trace.program, &trace.addresses)?;
        Ok(Tracker { trace, memory, names, threads, handles: FxHashMap::default(), functions })
    }

    /// What a record makes. `now` is its index.
    pub(crate) fn before(
        &mut self,
        thread: u32,
        record: Record<'_>,
        now: u64,
    ) -> Result<(), TraceError> {
        match record {
            Record::Event(Event::Library { enters: true }) => {
                let state = &mut self.threads[thread as usize];
                state.libraries.push(state.scopes.depth());
            }
            Record::Event(Event::Library { enters: false }) => {
                self.threads[thread as usize].libraries.pop();
            }
            // What a library keeps for itself is allocated by whichever thread comes first: it is no object of the program.
            // But what was there before is not there any more.
            Record::Event(Event::Allocate { address, bytes, .. }) if self.in_library(thread) => {
                self.memory.clear(address, bytes, now);
            }
            Record::Event(Event::Allocate { address, bytes, .. }) if address != 0 => {
                self.make(thread, ObjectKind::Heap, address, bytes, now)?;
            }
            Record::Event(Event::Create { thread: created, .. }) => {
                let created = self.names.create(thread, created);
                let state = &mut self.threads[thread as usize];
                state.created = Some(created);
                state.created_at = Some(now);
                let count = self.threads.len().max(created as usize + 1);
                self.threads.resize_with(count, State::default);
                let areas = self.threads[thread as usize].areas;
                self.threads[created as usize].areas |= areas;
            }
            Record::Event(Event::Handle { handle, .. }) => {
                self.threads[thread as usize].areas |= area(handle);
                let known = self.threads[thread as usize].created.unwrap_or(thread);
                let state = &mut self.threads[known as usize];
                // A thread that has said so itself may have ended since, and the number may be another's.
                if known == thread || state.handle.is_none() {
                    state.handle = Some(handle);
                    self.handles.insert(handle, known);
                }
            }
            Record::Event(Event::Join { thread: joined, .. }) => {
                self.threads[thread as usize].has_joined = self.names.place(joined);
            }
            Record::Event(_) => {}
            Record::Instruction { site, values } => {
                let function = self.functions[site as usize];
                let scopes = &mut self.threads[thread as usize].scopes;
                match (self.trace.program.sites[site as usize].opcode, values) {
                    (Opcode::Enter, _) => scopes.enter(function),
                    (Opcode::Landing | Opcode::Call, _) => {
                        scopes.unwind(function, |object| self.memory.leave(object, now));
                    }
                    (Opcode::Alloca, &[address, bytes, ..]) if address != 0 => {
                        let object = self.make(thread, ObjectKind::Stack, address, bytes, now)?;
                        self.threads[thread as usize].scopes.push(object);
                    }
                    _ => {}
                }
                if self.trace.program.sites[site as usize].opcode != Opcode::Enter {
                    self.threads[thread as usize].leave_libraries();
                }
            }
        }
        Ok(())
    }

    /// Whether a thread is in a function of a library that may keep memory for itself.
    pub(crate) fn in_library(&self, thread: u32) -> bool {
        self.threads[thread as usize].in_library()
    }

    /// Whether memory that is given back is an object of the program. It is not if nobody saw it being allocated: a library did, or
    /// the program had not begun. Then whose turn it is to give it back is no matter of the program either.
    pub(crate) fn is_given_back(&self, thread: u32, address: u64) -> bool {
        !self.in_library(thread) && self.memory.is_there(address)
    }

    /// What a record ends.
    pub(crate) fn after(&mut self, thread: u32, record: Record<'_>, now: u64) {
        let scopes = &mut self.threads[thread as usize].scopes;
        match record {
            Record::Event(Event::Free { address, .. }) => {
                scopes.freed.extend(self.memory.free(address, now));
            }
            Record::Event(Event::End { .. }) => {
                scopes.leave_all(|object| self.memory.leave(object, now));
            }
            Record::Event(_) => {}
            Record::Instruction { site, .. } => {
                scopes.freed.clear();
                scopes.returned.clear();
                self.threads[thread as usize].has_joined = None;
                self.threads[thread as usize].created_at = None;
                if self.trace.program.sites[site as usize].opcode == Opcode::Return {
                    let function = self.functions[site as usize];
                    let scopes = &mut self.threads[thread as usize].scopes;
                    scopes.leave(function, |object| self.memory.leave(object, now));
                }
            }
        }
    }

    fn make(
        &mut self,
        thread: u32,
        kind: ObjectKind,
        base: u64,
        bytes: u64,
        now: u64,
    ) -> Result<u32, TraceError> {
        let state = &mut self.threads[thread as usize];
        let object = self.memory.make(kind, (base, bytes), (thread, state.made), now)?;
        state.made += 1;
        Ok(object)
    }

    /// What an address means to a thread.
    #[inline]
    pub(crate) fn pointer(
        &mut self,
        thread: u32,
        address: u64,
        now: u64,
    ) -> Result<Value, TraceError> {
        if !(LOWEST..HIGHEST).contains(&address) {
            return Ok(Value::Number(address));
        }
        self.threads[thread as usize].areas |= area(address);
        if let Some(known) = self.thread_with(address) {
            return Ok(Value::Thread(known));
        }
        match self.memory.find(address) {
            Some((object, offset)) => Ok(self.place(object, offset)),
            None => self.unknown(thread, address, now),
        }
    }

    /// What a number of 64 bits means to a thread: it can be an address, as data is copied in words. It is taken for one if it
    /// is in an object or where one ends, or where the thread knows that the program has stacks and libraries ([`area`]).
    #[inline]
    pub(crate) fn word(&mut self, thread: u32, word: u64, now: u64) -> Result<Value, TraceError> {
        if !(LOWEST..HIGHEST).contains(&word) {
            return Ok(Value::Number(word));
        }
        if let Some(known) = self.thread_with(word) {
            return Ok(Value::Thread(known));
        }
        if let Some((object, offset)) = self.memory.find(word) {
            return Ok(self.place(object, offset));
        }
        match self.threads[thread as usize].areas & area(word) {
            0 => Ok(Value::Number(word)),
            _ => self.unknown(thread, word, now),
        }
    }

    /// What an argument of a call means, if the call ended that.
    pub(crate) fn remembered(&self, thread: u32, argument: usize, raw: u64) -> Option<Value> {
        let State { scopes, has_joined, created_at, .. } = &self.threads[thread as usize];
        if let Some(joined) = *has_joined
            && self.threads.get(joined as usize).is_some_and(|state| state.handle == Some(raw))
        {
            return Some(Value::Thread(joined));
        }
        if let Some(&(entered, value)) = scopes.returned.get(argument)
            && entered == raw
        {
            return Some(value);
        }
        // A thread that was created may have given back what it was given before the call that created it has returned.
        if let Some(created_at) = *created_at
            && let Some((object, offset)) = self.memory.find_before(raw, created_at)
        {
            return Some(self.place(object, offset));
        }
        scopes.freed.iter().rev().find_map(|&object| {
            let freed = &self.memory.objects[object as usize];
            let offset = raw.checked_sub(freed.base)?;
            (offset < freed.bytes.max(1)).then(|| self.place(object, offset))
        })
    }

    /// An argument of the function that the thread has entered.
    pub(crate) fn argument(&mut self, thread: u32, raw: u64, value: Value) {
        self.threads[thread as usize].scopes.argument(raw, value);
    }

    /// The thread that the program knows by this number.
    #[inline]
    fn thread_with(&self, handle: u64) -> Option<u32> {
        if self.handles.is_empty() {
            return None;
        }
        self.handles.get(&handle).copied()
    }

    fn place(&self, object: u32, offset: u64) -> Value {
        let object = &self.memory.objects[object as usize];
        let index = object.index;
        let object = match object.thread {
            Some(thread) => ObjectName::Made { thread, index },
            None => ObjectName::Global(index),
        };
        Value::Place { object, offset }
    }

    /// An address that nobody was seen to allocate. Each thread has names of its own for these, in the order in which it meets
    /// them, because which thread meets one first depends on the schedule.
    fn unknown(&mut self, thread: u32, address: u64, now: u64) -> Result<Value, TraceError> {
        let state = &mut self.threads[thread as usize];
        let met = state.unknown.range(..=address).next_back();
        if let Some((&base, &index)) = met
            && address - base < UNKNOWN_BYTES
        {
            let object = ObjectName::Unknown { thread, index };
            return Ok(Value::Place { object, offset: address - base });
        }
        let index = number(state.unknown.len())?;
        state.unknown.insert(address, index);
        self.memory.add(super::Object {
            kind: ObjectKind::Unknown,
            base: address,
            bytes: UNKNOWN_BYTES,
            thread: Some(thread),
            index,
            from: now,
            to: u64::MAX,
        })?;
        Ok(Value::Place { object: ObjectName::Unknown { thread, index }, offset: 0 })
    }
}
