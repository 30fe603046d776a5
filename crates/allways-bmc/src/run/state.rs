//! Concrete states: one number for each variable and each element, and where the processes stand.

use crate::program::{Location, Program, VarId};
use std::fmt;
use std::ops::Range;

/// A state of a program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct State {
    /// The values of all variables, arrays element by element; [`Layout`] says which is where.
    pub values: Vec<i64>,
    /// Where each process stands.
    pub locations: Vec<Location>,
}

/// Where the elements of each variable are in [`State::values`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Where each variable begins, and at the end where the last one ends.
    starts: Vec<usize>,
}

impl Layout {
    /// The layout of a program's states.
    pub fn new(program: &Program) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        for variable in &program.variables {
            end += variable.length.map_or(1, |length| length as usize);
            starts.push(end);
        }
        Layout { starts }
    }

    /// How many values a state has.
    pub fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Whether a state has no values at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the elements of a variable are.
    pub fn range(&self, variable: VarId) -> Range<usize> {
        let place = variable.0 as usize;
        self.starts[place]..self.starts[place + 1]
    }

    /// Where an element of a variable is; `None` if it has no such element.
    pub fn element(&self, variable: VarId, index: i64) -> Option<usize> {
        let range = self.range(variable);
        let index = usize::try_from(index).ok()?;
        (index < range.len()).then(|| range.start + index)
    }

    /// Which variable a place of [`State::values`] belongs to, and which element of it is there.
    pub fn variable(&self, place: usize) -> (VarId, usize) {
        // Arrays without elements begin where the next variable does: the last one that begins here has the element.
        let variable = self.starts.partition_point(|start| *start <= place) - 1;
        (VarId(variable as u32), place - self.starts[variable])
    }
}

/// There are more of something than was allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMany {
    /// Of what.
    pub what: &'static str,
    /// How many were allowed.
    pub limit: usize,
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {} {}", self.limit, self.what)
    }
}

impl std::error::Error for TooMany {}
