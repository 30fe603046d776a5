//! A program as everything below the language sees it: variables, and processes that are lists of instructions.
//!
//! This is the transition system of the thesis' section 4.5.1. A state is a value for each variable and, for each
//! process, the location where it stands (its program counter). At each location of a process but the last is one
//! [`Instruction`]; so a process has at most one enabled transition, up to what the instruction's inputs are. An
//! instruction is performed in one go: everything that it says is an expression over the state *before* it and over its
//! inputs.
//!
//! What an expression means, so that the interpreter, the circuits and SMT-LIB agree:
//! - A value of `Kind::Int { bits, signed }` is a whole number within its range; arithmetic wraps around (two's
//!   complement). Operands have the kind of the result, but for comparisons, shifts and casts.
//! - Division and remainder truncate towards zero, as in Rust; what is divided by zero is 0, and the remainder is what
//!   was divided. The most negative number divided by -1 wraps around.
//! - A shift takes its right operand as a number that is not negative (a negative one counts as too far); what is
//!   shifted too far is 0, or -1 if a negative number is shifted to the right.
//! - Reading an array outside its range gives 0 (or `false`), and writing there does nothing; that this happens is a
//!   [`Check`] of its own.
//! - Neither operand of `And` and `Or` has effects, so it does not matter which are evaluated.

mod expr;
mod fold;

pub use expr::{Binary, ExprId, Exprs, Kind, Node, Unary};
use rustc_hash::FxHashMap;
use std::fmt;
use std::ops::Range;

/// A place in the source: from which byte to which.
pub type Span = Range<usize>;

/// A place in [`Program::variables`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VarId(pub u32);

/// Where a process stands: a place in [`Process::code`], or its length at the end.
pub type Location = u32;

/// A concurrent program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// What it is called.
    pub name: String,
    /// All variables: shared ones, and those of each process.
    pub variables: Vec<Variable>,
    /// The processes. Replicated ones are there several times.
    pub processes: Vec<Process>,
    /// What is to be checked, in the order of the source; what instructions check of themselves is in [`Instruction::checks`].
    pub properties: Vec<Property>,
    /// All expressions.
    pub exprs: Exprs,
    /// Where lines of the source end; empty if there is no source.
    pub lines: Vec<usize>,
}

/// A variable or an array of them.
#[derive(Clone, Debug)]
pub struct Variable {
    /// How it is called in reports: `x`, or `P[2].y` for one of a process.
    pub name: String,
    /// The process that it belongs to; `None` if it is shared.
    pub owner: Option<usize>,
    /// Its kind, or that of its elements.
    pub kind: Kind,
    /// How many elements it has; `None` if it is no array.
    pub length: Option<u32>,
    /// The value of each element at the start (of the variable, if it is no array); `None` if that may be any.
    pub initial: Vec<Option<i64>>,
    /// What it is for.
    pub role: Role,
    /// Where it is declared.
    pub span: Span,
}

/// What a variable is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It holds data.
    Data,
    /// It is a lock: 0 if nobody holds it, one more than the number of the process that does.
    Lock,
}

/// One process.
#[derive(Clone, Debug)]
pub struct Process {
    /// How it is called: `P`, or `P[2]` if it is replicated.
    pub name: String,
    /// Its instructions; it starts at the first.
    pub code: Vec<Instruction>,
}

/// What a process does in one go at a location.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Whether it can be performed at all (`await`, `lock`, `assume`), over the state and the inputs.
    pub guard: ExprId,
    /// What changes. Of several updates of one variable or element the last counts.
    pub updates: Vec<Update>,
    /// Where the process goes on: at the first place whose condition holds. The last condition is `true`.
    pub next: Vec<(ExprId, Location)>,
    /// The kinds of its inputs: values that may be any of their kind ([`Node::Input`]).
    pub inputs: Vec<Kind>,
    /// What must hold when it is performed.
    pub checks: Vec<Check>,
    /// The instruction as a person reads it, in one line: `x = B[a]`.
    pub text: String,
    /// Where it is.
    pub span: Span,
}

/// A change of one variable or one element.
#[derive(Clone, Debug)]
pub struct Update {
    /// Which variable.
    pub variable: VarId,
    /// Which element, if it is an array.
    pub index: Option<ExprId>,
    /// Whether it happens at all.
    pub when: ExprId,
    /// What it becomes.
    pub value: ExprId,
}

/// What an instruction checks of itself. It is violated in a state where the process stands before the instruction, for
/// inputs with which its guard holds, if `bad` does.
#[derive(Clone, Debug)]
pub struct Check {
    /// What it checks.
    pub what: Checked,
    /// When it is violated, over the state before the instruction and its inputs.
    pub bad: ExprId,
    /// Where it is.
    pub span: Span,
}

/// What a [`Check`] checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checked {
    /// An `assert`.
    Assertion,
    /// An array's index is within its range.
    Index,
    /// A lock is unlocked by the process that holds it.
    Unlock,
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Checked::Assertion => "assertion",
            Checked::Index => "index",
            Checked::Unlock => "unlocking",
        })
    }
}

/// A property of states.
#[derive(Clone, Debug)]
pub struct Property {
    /// What it is called.
    pub name: String,
    /// What is claimed of the condition.
    pub claim: Claim,
    /// The condition, over the state.
    pub condition: ExprId,
    /// Where it is.
    pub span: Span,
}

/// What a property claims of its condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// It holds in every reachable state.
    Always,
    /// It holds in no reachable state.
    Never,
    /// It holds in some reachable state.
    Reachable,
}

/// Something to look for: a state that violates a property or a check of an instruction, or that shows one to be reachable.
#[derive(Clone, Debug)]
pub struct Goal {
    /// The property's name, or what is checked where: `assertion of P[0]: x < 3`.
    pub name: String,
    /// What it comes from.
    pub origin: Origin,
    /// The condition of a state to look for, over the state and the inputs below.
    pub target: ExprId,
    /// Values that may be any of their kinds: inputs of an instruction that is checked.
    pub inputs: Vec<Kind>,
    /// Where it is.
    pub span: Span,
}

/// What a [`Goal`] comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A property, by its place in [`Program::properties`].
    Property(usize),
    /// A check: of which process, at which location, which one.
    Check(usize, Location, usize),
}

impl Program {
    /// Everything that is to be looked for: of the properties first, then of the instructions.
    pub fn goals(&mut self) -> Vec<Goal> {
        let Program { processes, properties, exprs, lines, .. } = self;
        let mut goals = Vec::new();
        for (place, property) in properties.iter().enumerate() {
            let target = match property.claim {
                Claim::Always => exprs.not(property.condition),
                Claim::Never | Claim::Reachable => property.condition,
            };
            let (name, span) = (property.name.clone(), property.span.clone());
            let origin = Origin::Property(place);
            goals.push(Goal { name, origin, target, inputs: Vec::new(), span });
        }
        for (number, process) in processes.iter().enumerate() {
            for (location, instruction) in process.code.iter().enumerate() {
                for (number_of_check, check) in instruction.checks.iter().enumerate() {
                    let at = Node::At(number as u32, location as Location);
                    let at = exprs.intern(at, Kind::Bool);
                    let fails = exprs.and(instruction.guard, check.bad);
                    let place = match lines.partition_point(|end| *end < check.span.start) {
                        0 if lines.is_empty() => String::new(),
                        before => format!(" in line {}", before + 1),
                    };
                    let (what, text) = (check.what, &instruction.text);
                    goals.push(Goal {
                        name: format!("{what} of {}{place}: {text}", process.name),
                        origin: Origin::Check(number, location as Location, number_of_check),
                        target: exprs.and(at, fails),
                        inputs: instruction.inputs.clone(),
                        span: check.span.clone(),
                    });
                }
            }
        }
        // Two that are called the same would be taken for each other.
        let mut names: FxHashMap<String, u32> = FxHashMap::default();
        for goal in &mut goals {
            let count = names.entry(goal.name.clone()).or_default();
            *count += 1;
            if *count > 1 {
                goal.name = format!("{} ({count})", goal.name);
            }
        }
        goals
    }

    /// The variable with this number.
    pub fn variable(&self, id: VarId) -> &Variable {
        &self.variables[id.0 as usize]
    }
}
