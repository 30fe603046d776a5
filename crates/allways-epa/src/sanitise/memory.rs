//! Which object an address belongs to (algorithm 4 of the thesis, lines 5 to 14).
//!
//! Objects that are there now are kept sorted by address; what is at an address is the last object that begins at or before
//! it. An object that is put where others are takes their place: they must have ended in a way that was not seen. So there
//! is at most one object at each address, and a reused address is another object.
//!
//! Memory that was given back stays known until another object takes its place, because pointers to it can still be in
//! registers and in data: a program may pass them on or compare them, and they would differ from run to run.

use crate::trace::TraceError;
use allways_epa_format::Program;
use std::collections::BTreeMap;

/// Where an object comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ObjectKind {
    /// A global variable or a function.
    Global,
    /// A variable of a function that was called.
    Stack,
    /// Memory that was allocated.
    Heap,
    /// An address that nobody was seen to allocate.
    Unknown,
}

/// Something that has addresses for some time. [`super::Sanitised::object_name`] is its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object {
    /// Where it comes from.
    pub kind: ObjectKind,
    /// Its first address in this run.
    pub base: u64,
    /// How many bytes it has.
    pub bytes: u64,
    /// The thread that made it (or met it, if it is unknown): a place in [`super::Sanitised::threads`]. Globals have none.
    pub thread: Option<u32>,
    /// How many objects this thread had made before (or met before, if it is unknown); of a global, which one it is.
    pub index: u32,
    /// The index of the record with which it begins.
    pub from: u64,
    /// The index of the record with which it ends.
    pub to: u64,
}

/// Of an object that has not ended.
const LIVE: u64 = u64::MAX;

/// What is at each address now.
#[derive(Debug)]
pub(crate) struct Memory {
    /// All objects that ever were.
    pub(crate) objects: Vec<Object>,
    here: BTreeMap<u64, Entry>,
    /// Variables of functions that were left since somebody asked, if anybody does.
    pub(crate) left: Option<Vec<u32>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    bytes: u64,
    object: u32,
}

impl Memory {
    /// The globals of a program.
    pub(crate) fn new(program: &Program, addresses: &[u64]) -> Result<Self, TraceError> {
        let mut memory = Memory { objects: Vec::new(), here: BTreeMap::new(), left: None };
        for (index, (global, &base)) in program.globals.iter().zip(addresses).enumerate() {
            let index = number(index)?;
            let kind = ObjectKind::Global;
            let object =
                Object { kind, base, bytes: global.bytes, thread: None, index, from: 0, to: LIVE };
            // Several names for one place are one object, and what was linked to nothing is none.
            if base != 0 && !memory.here.contains_key(&base) {
                memory.put(object)?;
            } else {
                memory.add(object)?;
            }
        }
        Ok(memory)
    }

    /// A new object, which is at no address that is looked up here.
    pub(crate) fn add(&mut self, object: Object) -> Result<u32, TraceError> {
        let id = number(self.objects.len())?;
        self.objects.push(object);
        Ok(id)
    }

    /// A new object begins at record `now`, in the place of all that were there.
    pub(crate) fn make(
        &mut self,
        kind: ObjectKind,
        (base, bytes): (u64, u64),
        (thread, index): (u32, u32),
        now: u64,
    ) -> Result<u32, TraceError> {
        self.clear(base, bytes, now);
        self.put(Object { kind, base, bytes, thread: Some(thread), index, from: now, to: LIVE })
    }

    fn put(&mut self, object: Object) -> Result<u32, TraceError> {
        let id = self.add(object)?;
        self.here.insert(object.base, Entry { bytes: object.bytes, object: id });
        Ok(id)
    }

    /// Whether memory was allocated at this address, and not given back since.
    pub(crate) fn is_there(&self, address: u64) -> bool {
        self.here.get(&address).is_some_and(|entry| {
            let object = &self.objects[entry.object as usize];
            object.kind == ObjectKind::Heap && object.to == LIVE
        })
    }

    /// Nothing is left at these addresses.
    pub(crate) fn clear(&mut self, base: u64, bytes: u64, now: u64) {
        let end = base.saturating_add(bytes.max(1));
        // From above, so that one look-up finds that there is nothing, as it is almost always.
        while let Some((&other, entry)) = self.here.range(..end).next_back() {
            if other < base && other.saturating_add(entry.bytes) <= base {
                return;
            }
            let object = entry.object;
            self.here.remove(&other);
            self.finish(object, now);
        }
    }

    fn finish(&mut self, object: u32, now: u64) {
        let to = &mut self.objects[object as usize].to;
        if *to == LIVE {
            *to = now;
        }
    }

    /// Memory is given back. Its addresses remain known until they are used again.
    pub(crate) fn free(&mut self, address: u64, now: u64) -> Option<u32> {
        let object = self.here.get(&address)?.object;
        if self.objects[object as usize].kind != ObjectKind::Heap {
            return None;
        }
        self.finish(object, now);
        Some(object)
    }

    /// A variable of a function that is left: its addresses are not known any more.
    pub(crate) fn leave(&mut self, object: u32, now: u64) {
        self.left.iter_mut().for_each(|left| left.push(object));
        self.finish(object, now);
        let base = self.objects[object as usize].base;
        if self.here.get(&base).is_some_and(|entry| entry.object == object) {
            self.here.remove(&base);
        }
    }

    /// The object that an address is in, and how far; also the one that ends there, if no other begins there.
    #[inline]
    pub(crate) fn find(&self, address: u64) -> Option<(u32, u64)> {
        let (&base, entry) = self.here.range(..=address).next_back()?;
        let offset = address - base;
        // Where memory that was given back begins, memory that is there may end; the former is but a memory.
        if offset == 0
            && self.objects[entry.object as usize].to != LIVE
            && let Some((before, ends)) = self.here.range(..base).next_back()
            && address - before == ends.bytes
            && self.objects[ends.object as usize].to == LIVE
        {
            return Some((ends.object, ends.bytes));
        }
        (offset <= entry.bytes).then_some((entry.object, offset))
    }

    /// The object that an address was in before a record, and how far. It looks at all objects, so it is not for every record.
    pub(crate) fn find_before(&self, address: u64, record: u64) -> Option<(u32, u64)> {
        let objects = self.objects.iter().enumerate().rev().map(|(id, object)| (id as u32, object));
        // Of those that were there before, the last was there then: at each time at most one is at an address.
        objects.filter(|(_, object)| object.kind != ObjectKind::Unknown).find_map(|(id, object)| {
            let is_before = object.thread.is_none() || object.from < record;
            let offset = address.checked_sub(object.base)?;
            (is_before && offset < object.bytes.max(1)).then_some((id, offset))
        })
    }

    /// The trace ends with this record.
    pub(crate) fn end(&mut self, last: u64) {
        for object in &mut self.objects {
            if object.to == LIVE {
                object.to = last;
            }
        }
    }
}

/// Objects are numbered with 32 bits.
pub(crate) fn number(count: usize) -> Result<u32, TraceError> {
    u32::try_from(count).map_err(|_| TraceError::TooManyObjects)
}
