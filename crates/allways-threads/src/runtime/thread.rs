//! A thread of a run.

use super::op::{NONE, Op};
use corosensei::{Coroutine, Yielder, stack::DefaultStack};
use std::any::Any;
use std::ptr::null;

/// A thread, as far as it is there.
pub(crate) struct Thread {
    /// Whether it is one of this run.
    pub is_present: bool,
    pub has_ended: bool,
    pub parent: u32,
    pub process: u32,
    pub name: Option<String>,
    /// The event that spawned it.
    pub born: u32,
    /// How many events it has had.
    pub steps: u32,
    /// How many threads it has spawned, and how many objects it has made.
    pub children: u32,
    pub objects: u32,
    /// Whether somebody waited for its end.
    pub is_joined: bool,
    /// What it is about to do.
    pub pending: Option<Op>,
    /// What it keeps for itself, by the address of its key.
    pub locals: Vec<(usize, Box<dyn Any>)>,
    pub coroutine: Option<Coroutine<(), (), (), DefaultStack>>,
    pub yielder: *const Yielder<(), ()>,
}

impl Default for Thread {
    fn default() -> Self {
        Thread {
            is_present: false,
            has_ended: false,
            parent: NONE,
            process: 0,
            name: None,
            born: NONE,
            steps: 0,
            children: 0,
            objects: 0,
            is_joined: false,
            pending: None,
            locals: Vec::new(),
            coroutine: None,
            yielder: null(),
        }
    }
}

impl Thread {
    /// Is spawned by an event.
    pub fn begin(
        &mut self,
        parent: u32,
        process: u32,
        name: Option<String>,
        born: u32,
        coroutine: Coroutine<(), (), (), DefaultStack>,
    ) {
        self.is_present = true;
        (self.parent, self.process, self.name, self.born) = (parent, process, name, born);
        self.coroutine = Some(coroutine);
    }

    /// Is none of this run any more.
    pub fn forget(&mut self) {
        let locals = std::mem::take(&mut self.locals);
        *self = Thread { locals, ..Thread::default() };
        self.locals.clear();
    }
}
