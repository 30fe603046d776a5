//! Cells: variables that are no arrays, and elements of arrays, one by one.

use crate::program::{Program, VarId};

/// Where the cells of each variable are.
pub(crate) struct Cells {
    first: Vec<usize>,
    /// Of each cell, its variable.
    pub variable: Vec<VarId>,
}

impl Cells {
    pub fn new(program: &Program) -> Self {
        let mut cells = Cells { first: Vec::new(), variable: Vec::new() };
        for (place, variable) in program.variables.iter().enumerate() {
            cells.first.push(cells.variable.len());
            let count = variable.length.unwrap_or(1) as usize;
            cells.variable.extend(std::iter::repeat_n(VarId(place as u32), count));
        }
        cells
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.variable.len()
    }

    /// The first cell of a variable.
    pub fn of(&self, variable: VarId) -> usize {
        self.first[variable.0 as usize]
    }
}
