//! The functions that a thread is in, and what each has on the stack (algorithm 4 of the thesis, lines 15 to 20).
//!
//! A function is left when it returns, when an exception arrives in one that called it, when a thread jumps out of it
//! (`longjmp`), and when the thread ends. Only the first writes a record of its own. So whenever a record tells in which
//! function a thread is, those above that one are left. If a function calls itself and an exception passes through
//! it, the innermost is taken for the one in which it arrives; that is put right with the next return.
//!
//! An argument of a call can point to memory that the call gives back, and the record of the call comes when it has returned:
//! at that time another thread may have got this memory. So a call gets what its arguments meant when the function was
//! entered, and memory that a function without records of its own has given back is that which was there before.

use super::value::Value;

/// The functions that a thread is in.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    frames: Vec<Frame>,
    /// What is on the stack.
    objects: Vec<u32>,
    /// The arguments of all functions, as they were written and what they meant.
    arguments: Vec<(u64, Value)>,
    /// The arguments of the function that has just returned.
    pub(crate) returned: Vec<(u64, Value)>,
    /// What was given back since the last instruction.
    pub(crate) freed: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    function: u32,
    objects: usize,
    arguments: usize,
}

impl Scopes {
    /// A function is entered.
    pub(crate) fn enter(&mut self, function: u32) {
        let (objects, arguments) = (self.objects.len(), self.arguments.len());
        self.frames.push(Frame { function, objects, arguments });
    }

    /// How many functions the thread is in.
    pub(crate) fn depth(&self) -> usize {
        self.frames.len()
    }

    /// An argument of the function that was entered last.
    pub(crate) fn argument(&mut self, raw: u64, value: Value) {
        self.arguments.push((raw, value));
    }

    /// Something is put on the stack.
    pub(crate) fn push(&mut self, object: u32) {
        self.objects.push(object);
    }

    /// The thread is in this function: leaves those above it, if it is there at all.
    pub(crate) fn unwind(&mut self, function: u32, left: impl FnMut(u32)) {
        if self.frames.last().is_some_and(|frame| frame.function == function) {
            return;
        }
        let Some(place) = self.frames.iter().rposition(|frame| frame.function == function) else {
            return;
        };
        self.cut(place + 1, left);
    }

    /// This function returns.
    pub(crate) fn leave(&mut self, function: u32, mut left: impl FnMut(u32)) {
        self.unwind(function, &mut left);
        let Some(frame) = self.frames.last() else { return };
        if frame.function != function {
            return;
        }
        self.returned.clear();
        self.returned.extend_from_slice(&self.arguments[frame.arguments..]);
        self.cut(self.frames.len() - 1, left);
    }

    /// All functions are left, and what was on the stack before any was entered ends as well.
    pub(crate) fn leave_all(&mut self, left: impl FnMut(u32)) {
        self.frames.clear();
        self.arguments.clear();
        self.objects.drain(..).rev().for_each(left);
    }

    /// Leaves all functions but the outermost so many.
    fn cut(&mut self, keep: usize, left: impl FnMut(u32)) {
        let Some(&Frame { objects, arguments, .. }) = self.frames.get(keep) else { return };
        self.frames.truncate(keep);
        self.arguments.truncate(arguments);
        self.objects.drain(objects..).rev().for_each(left);
    }
}
