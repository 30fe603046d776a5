//! Small random programs, without a source: processes with loops, branches, arrays, inputs and locks.
//!
//! A program is made from a plan of plain numbers and lists, so that what fails gets smaller: whatever the numbers are,
//! [`Plan::program`] makes a program of them that fits together. Other tests include this file by its path:
//!
//! ```ignore
//! #[path = "generated/sample.rs"]
//! mod sample;
//! ```

// Not every test uses everything.
#![allow(dead_code)]

#[path = "build.rs"]
mod build;
#[path = "plan.rs"]
mod plan;
#[path = "show.rs"]
mod show;

use allways_bmc::program::Program;
use plan::Plan;
use proptest::prelude::*;
use std::fmt;

/// A random program, which is readable in reports.
#[derive(Clone)]
pub struct Sample {
    /// The program.
    pub program: Program,
}

impl fmt::Debug for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&show::program(&self.program))
    }
}

/// How large programs are.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// At most this many processes, and at least two.
    pub processes: usize,
    /// At most this many instructions of each process, and at least two.
    pub instructions: usize,
    /// Whether instructions may ask where processes stand. Properties always may.
    pub at: bool,
}

impl Default for Size {
    fn default() -> Self {
        Size { processes: 3, instructions: 5, at: true }
    }
}

/// Programs of the usual size.
pub fn programs() -> impl Strategy<Value = Sample> {
    programs_of(Size::default())
}

/// Programs of this size.
pub fn programs_of(size: Size) -> impl Strategy<Value = Sample> {
    plan::plans(size).prop_map(move |plan: Plan| Sample { program: plan.program(size) })
}
