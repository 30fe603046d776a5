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
    /// By which number the program knows it.
    handle: Option<u64>,
    /// The thread that it has joined since its last instruction.
    has_joined: Option<u32>,
}

/// Numbers below this are no addresses, whatever they are kept in.
const LOWEST: u64 = 4096;

/// Neither are numbers from this on: no program has addresses of more than 48 bits.
const HIGHEST: u64 = 1 << 48;

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
            Record::Event(Event::Allocate { address, bytes, .. }) if address != 0 => {
                self.make(thread, ObjectKind::Heap, address, bytes, now)?;
            }
            Record::Event(Event::Create { thread: created, .. }) => {
                let created = self.names.create(thread, created);
                self.threads[thread as usize].created = Some(created);
                let count = self.threads.len().max(created as usize + 1);
                self.threads.resize_with(count, State::default);
            }
            Record::Event(Event::Handle { handle, .. }) => {
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
            }
        }
        Ok(())
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
        if let Some(known) = self.thread_with(address) {
            return Ok(Value::Thread(known));
        }
        match self.memory.find(address) {
            Some((object, offset)) => Ok(self.place(object, offset)),
            None => self.unknown(thread, address, now),
        }
    }

    /// What a number of 64 bits means to a thread: it can be an address, as data is copied in words. It is taken for one if it
    /// is in an object or where one ends, or where programs have their stacks and libraries.
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
        // The highest addresses of x86-64 and of AArch64, as far down as they are random.
        match word >> 40 {
            0x7e | 0x7f | 0xfe | 0xff => self.unknown(thread, word, now),
            _ => Ok(Value::Number(word)),
        }
    }

    /// What an argument of a call means, if the call ended that.
    pub(crate) fn remembered(&self, thread: u32, argument: usize, raw: u64) -> Option<Value> {
        let State { scopes, has_joined, .. } = &self.threads[thread as usize];
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
