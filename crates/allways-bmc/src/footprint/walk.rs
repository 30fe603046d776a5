//! Each process on its own: what it touches where.
//!
//! A process is followed from its beginning through all that it may do in so many steps, with the value of each cell
//! where that is known. Not known are inputs, initial values that may be any, and cells that another process may
//! write: these may be anything at any time. Who may write what is not known before; so at first nobody writes anything, and
//! what processes are then seen to write is not known to the others in the next round, until nothing is new.
//!
//! Why it misses nothing: take a run of the program and the first step that is not among what was followed, or that
//! touches a cell which it was not seen to touch. All steps before it wrote only what their processes were seen to write. So a cell
//! of which the process thinks to know the value was written by nobody else so far, and has this value: what
//! the process did since its beginning was followed, and this step with it.
//!
//! A process with too many states is followed once more with nothing known at all, by which its states are its locations.

use super::Cells;
use super::access::{Access, Accesses, accesses};
use super::known::{Scratch, Values};
use crate::program::{ExprId, Instruction, Location, Program, VarId};
use rustc_hash::FxHashSet;

/// So many values in all states of one process, and no more.
const MAX_VALUES: usize = 200_000;

/// After so many rounds nothing is known of any cell any more, by which one or two more rounds are the last.
const MAX_ROUNDS: usize = 10;

/// Cells in a row: the first, and how many.
pub(super) type Span = (usize, usize);

/// What is touched at one location.
#[derive(Clone, Default)]
pub(super) struct Touched {
    pub reads: FxHashSet<Span>,
    pub writes: FxHashSet<Span>,
    /// Whose program counters are read.
    pub counters: FxHashSet<usize>,
    pub next: FxHashSet<Location>,
    /// What the guard and the checks read, whether it is performed or not.
    pub checked: FxHashSet<Span>,
}

/// What each process touches, by location; nothing where it never gets.
pub(crate) struct Footprints<'a> {
    pub(super) program: &'a Program,
    pub(super) cells: Cells,
    pub(super) touched: Vec<Vec<Option<Touched>>>,
}

/// Who writes a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    Nobody,
    One(usize),
    Several,
}

impl<'a> Footprints<'a> {
    /// What is touched in so many steps.
    pub fn new(program: &'a Program, depth: usize) -> Self {
        let cells = Cells::new(program);
        let mut walker = Walker {
            program,
            accesses: Accesses::new(program),
            scratch: Scratch::new(program),
            writers: vec![Writer::Nobody; cells.count()],
            cells,
            depth,
        };
        let mut is_coarse = vec![false; program.processes.len()];
        let mut rounds = 0;
        loop {
            if rounds == MAX_ROUNDS {
                is_coarse.fill(true);
            }
            let touched: Vec<_> = (0..program.processes.len())
                .map(|process| walker.walk(process, &mut is_coarse[process]))
                .collect();
            if !walker.note(&touched) {
                return Footprints { program, cells: walker.cells, touched };
            }
            rounds += 1;
        }
    }
}

struct Walker<'a> {
    program: &'a Program,
    cells: Cells,
    accesses: Accesses,
    scratch: Scratch,
    /// By cell.
    writers: Vec<Writer>,
    depth: usize,
}

impl Walker<'_> {
    /// Notes who writes what; whether anything is new.
    fn note(&mut self, touched: &[Vec<Option<Touched>>]) -> bool {
        let mut is_new = false;
        for (process, locations) in touched.iter().enumerate() {
            for &(first, count) in locations.iter().flatten().flat_map(|at| &at.writes) {
                for writer in &mut self.writers[first..first + count] {
                    let both = match *writer {
                        Writer::Nobody => Writer::One(process),
                        Writer::One(other) if other == process => continue,
                        _ => Writer::Several,
                    };
                    is_new |= *writer != both;
                    *writer = both;
                }
            }
        }
        is_new
    }

    /// Whether only this process writes a cell, as far as was seen.
    fn is_own(&self, process: usize, cell: usize) -> bool {
        match self.writers[cell] {
            Writer::Nobody => true,
            Writer::One(writer) => writer == process,
            Writer::Several => false,
        }
    }

    fn walk(&mut self, process: usize, is_coarse: &mut bool) -> Vec<Option<Touched>> {
        if !*is_coarse {
            if let Some(touched) = self.follow(process, false) {
                return touched;
            }
            *is_coarse = true;
        }
        // Its states are its locations: there are not too many.
        self.follow(process, true).unwrap_or_default()
    }

    /// Follows a process; nothing, if there are too many states. `is_coarse`: nothing is known of any cell.
    fn follow(&mut self, process: usize, is_coarse: bool) -> Option<Vec<Option<Touched>>> {
        let program = self.program;
        let code = &program.processes[process].code;
        let mut touched: Vec<Option<Touched>> = vec![None; code.len()];
        let initial: Values = match is_coarse {
            true => Values::new(),
            false => self.initial(process),
        };
        let most = if is_coarse { usize::MAX } else { MAX_VALUES / initial.len().max(1) };
        let mut seen: FxHashSet<(Location, Values)> = FxHashSet::default();
        let mut now = vec![(0, initial)];
        for _ in 0..self.depth {
            if now.is_empty() {
                break;
            }
            let mut after = Vec::new();
            for (location, values) in now {
                let Some(instruction) = code.get(location as usize) else { continue };
                self.scratch.start();
                let at = touched[location as usize].get_or_insert_default();
                self.check(instruction, &values, at);
                if self.value(&values, instruction.guard) == Some(0) {
                    continue;
                }
                self.read(process, location, &values, at);
                let next = self.perform(process, instruction, &values, at);
                let places = self.places(&values, instruction);
                at.next.extend(&places);
                for place in places {
                    if seen.insert((place, next.clone())) {
                        after.push((place, next.clone()));
                    }
                }
                if seen.len() > most {
                    return None;
                }
            }
            now = after;
        }
        // There is no step left, but checks are of states.
        for (location, values) in now {
            let Some(instruction) = code.get(location as usize) else { continue };
            self.scratch.start();
            self.check(instruction, &values, touched[location as usize].get_or_insert_default());
        }
        Some(touched)
    }

    /// What a process knows at its beginning.
    fn initial(&self, process: usize) -> Values {
        let initial = self.program.variables.iter().flat_map(|variable| &variable.initial);
        let own = initial.enumerate();
        own.map(|(cell, value)| value.filter(|_| self.is_own(process, cell))).collect()
    }

    fn value(&mut self, values: &Values, expr: ExprId) -> Option<i64> {
        self.scratch.value(self.program, &self.cells, values, expr)
    }

    /// The cells that a variable is, or an element of it.
    fn span(&mut self, values: &Values, variable: VarId, index: Option<ExprId>) -> Span {
        let first = self.cells.of(variable);
        let Some(index) = index else { return (first, 1) };
        let length = self.program.variable(variable).length.unwrap_or(1);
        match self.value(values, index) {
            None => (first, length as usize),
            Some(index) if (0..i64::from(length)).contains(&index) => (first + index as usize, 1),
            // Outside there is nothing.
            Some(_) => (first, 0),
        }
    }

    /// What is read to find out whether a check fails.
    fn check(&mut self, instruction: &Instruction, values: &Values, at: &mut Touched) {
        if instruction.checks.is_empty() {
            return;
        }
        let roots = instruction.checks.iter().map(|check| check.bad).chain([instruction.guard]);
        for access in accesses(&self.program.exprs, roots) {
            match access {
                Access::Variable(variable) => {
                    at.checked.insert((self.cells.of(variable), 1));
                }
                Access::Element(variable, index) => {
                    at.checked.insert(self.span(values, variable, Some(index)));
                }
                Access::Location(other) => {
                    at.counters.insert(other as usize);
                }
            }
        }
    }

    fn read(&mut self, process: usize, location: Location, values: &Values, at: &mut Touched) {
        let accesses = std::mem::take(&mut self.accesses.0[process][location as usize]);
        for access in &accesses {
            match *access {
                Access::Variable(variable) => {
                    at.reads.insert((self.cells.of(variable), 1));
                }
                Access::Element(variable, index) => {
                    at.reads.insert(self.span(values, variable, Some(index)));
                }
                Access::Location(other) => {
                    at.counters.insert(other as usize);
                }
            }
        }
        self.accesses.0[process][location as usize] = accesses;
    }

    /// The values after an instruction.
    fn perform(
        &mut self,
        process: usize,
        instruction: &Instruction,
        values: &Values,
        at: &mut Touched,
    ) -> Values {
        let mut next = values.clone();
        for update in &instruction.updates {
            let when = self.value(values, update.when);
            if when == Some(0) {
                continue;
            }
            let span = self.span(values, update.variable, update.index);
            at.writes.insert(span);
            if values.is_empty() {
                continue;
            }
            let value = self.value(values, update.value);
            let is_certain = when.is_some() && span.1 == 1;
            for cell in span.0..span.0 + span.1 {
                next[cell] = match is_certain || next[cell] == value {
                    true if self.is_own(process, cell) => value,
                    _ => None,
                };
            }
        }
        next
    }

    /// Where a process may go on.
    fn places(&mut self, values: &Values, instruction: &Instruction) -> Vec<Location> {
        let mut places = Vec::new();
        for &(condition, place) in &instruction.next {
            match self.value(values, condition) {
                Some(0) => {}
                None => places.push(place),
                Some(_) => {
                    places.push(place);
                    break;
                }
            }
        }
        places
    }
}
