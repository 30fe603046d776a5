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
//! A process with too many states is followed once more with nothing known at all, by which its states are its locations. If all
//! this takes too much work, it is given up: then everything matters.

use super::Cells;
use super::access::{Access, Accesses, accesses};
use super::known::{Scratch, Values};
use crate::program::{ExprId, Instruction, Location, Program, VarId};
use crate::solve::Stop;
use rustc_hash::{FxHashMap, FxHashSet};

/// So many values in all states of one process, and no more.
const MAX_VALUES: usize = 200_000;

/// So many expressions, values and cells are looked at, and no more: some tenths of a second.
const MAX_WORK: u64 = 10_000_000;

/// After so many rounds nothing is known of any cell any more, by which one or two more rounds are the last.
const MAX_ROUNDS: usize = 10;

/// Cells in a row: the first, and how many.
pub(super) type Span = (usize, usize);

/// An instruction: its process and its location.
pub(super) type Place = (usize, usize);

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
    /// Who writes what.
    pub(super) writers: FxHashMap<Span, Vec<Place>>,
    /// By variable: the spans that are written.
    pub(super) written: Vec<Vec<Span>>,
    /// By process and location: from where one gets there.
    pub(super) before: Vec<Vec<Vec<usize>>>,
}

/// Who writes a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    Nobody,
    One(usize),
    Several,
}

impl<'a> Footprints<'a> {
    /// What is touched in so many steps; nothing, if that is too much work.
    pub fn new(program: &'a Program, depth: usize, stop: &Stop) -> Option<Self> {
        let cells = Cells::new(program);
        let mut walker = Walker {
            program,
            accesses: Accesses::new(program),
            checked: checked(program),
            scratch: Scratch::new(program),
            writers: vec![Writer::Nobody; cells.count()],
            cells,
            depth,
            work: 0,
            stop,
        };
        let mut is_coarse = vec![false; program.processes.len()];
        let mut rounds = 0;
        loop {
            if rounds == MAX_ROUNDS {
                is_coarse.fill(true);
            }
            let mut touched = Vec::new();
            for (process, is_coarse) in is_coarse.iter_mut().enumerate() {
                touched.push(walker.walk(process, is_coarse).ok()?);
            }
            if !walker.note(&touched) {
                return Some(Self::found(program, walker.cells, touched));
            }
            rounds += 1;
        }
    }

    /// How many cells there are.
    pub fn cell_count(&self) -> usize {
        self.cells.count()
    }

    fn found(program: &'a Program, cells: Cells, touched: Vec<Vec<Option<Touched>>>) -> Self {
        let mut writers: FxHashMap<Span, Vec<Place>> = FxHashMap::default();
        let mut written: Vec<Vec<Span>> = vec![Vec::new(); program.variables.len()];
        let mut before: Vec<Vec<Vec<usize>>> = Vec::new();
        for (process, locations) in touched.iter().enumerate() {
            before.push(vec![Vec::new(); locations.len() + 1]);
            for (location, at) in locations.iter().enumerate() {
                let Some(at) = at else { continue };
                for span in at.writes.iter().filter(|(_, count)| *count > 0) {
                    writers.entry(*span).or_insert_with(|| {
                        written[cells.variable[span.0].0 as usize].push(*span);
                        Vec::new()
                    });
                    writers.entry(*span).or_default().push((process, location));
                }
                for next in &at.next {
                    before[process][*next as usize].push(location);
                }
            }
        }
        Footprints { program, cells, touched, writers, written, before }
    }
}

/// By process and location: what the guard and the checks of an instruction read.
fn checked(program: &Program) -> Vec<Vec<Vec<Access>>> {
    let of = |instruction: &Instruction| {
        if instruction.checks.is_empty() {
            return Vec::new();
        }
        let roots = instruction.checks.iter().map(|check| check.bad).chain([instruction.guard]);
        accesses(&program.exprs, roots)
    };
    program.processes.iter().map(|process| process.code.iter().map(of).collect()).collect()
}

/// It is too much work, or somebody says that it is enough.
struct TooMuch;

struct Walker<'a> {
    program: &'a Program,
    cells: Cells,
    accesses: Accesses,
    scratch: Scratch,
    /// By process and location: what checks read.
    checked: Vec<Vec<Vec<Access>>>,
    /// By cell.
    writers: Vec<Writer>,
    depth: usize,
    /// What was done so far.
    work: u64,
    stop: &'a Stop,
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

    fn walk(
        &mut self,
        process: usize,
        is_coarse: &mut bool,
    ) -> Result<Vec<Option<Touched>>, TooMuch> {
        if !*is_coarse {
            if let Some(touched) = self.follow(process, false)? {
                return Ok(touched);
            }
            *is_coarse = true;
        }
        // Its states are its locations: there are not too many.
        self.follow(process, true)?.ok_or(TooMuch)
    }

    /// Counts work.
    fn does(&mut self, work: usize) -> Result<(), TooMuch> {
        self.work += work as u64;
        match self.work > MAX_WORK || self.stop.is_due() {
            true => Err(TooMuch),
            false => Ok(()),
        }
    }

    /// Follows a process; nothing, if there are too many states. `is_coarse`: nothing is known of any cell.
    fn follow(
        &mut self,
        process: usize,
        is_coarse: bool,
    ) -> Result<Option<Vec<Option<Touched>>>, TooMuch> {
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
                self.check(process, location, &values, at);
                if self.value(&values, instruction.guard) == Some(0) {
                    continue;
                }
                self.read(process, location, &values, at);
                let next = self.perform(process, instruction, &values, at);
                let places = self.places(&values, instruction);
                at.next.extend(&places);
                for place in places {
                    if seen.len() >= most {
                        return Ok(None);
                    }
                    if seen.insert((place, next.clone())) {
                        after.push((place, next.clone()));
                    }
                }
                let work = self.scratch.evaluated() + 3 * values.len() + at.next.len();
                self.does(work)?;
            }
            now = after;
        }
        // There is no step left, but checks are of states.
        for (location, values) in now {
            if (location as usize) < code.len() {
                self.scratch.start();
                let at = touched[location as usize].get_or_insert_default();
                self.check(process, location, &values, at);
                let work = self.scratch.evaluated();
                self.does(work)?;
            }
        }
        Ok(Some(touched))
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
    fn check(&mut self, process: usize, location: Location, values: &Values, at: &mut Touched) {
        let accesses = std::mem::take(&mut self.checked[process][location as usize]);
        for access in &accesses {
            match self.touch(*access, values) {
                Ok(span) => at.checked.insert(span),
                Err(other) => at.counters.insert(other),
            };
        }
        self.checked[process][location as usize] = accesses;
    }

    fn read(&mut self, process: usize, location: Location, values: &Values, at: &mut Touched) {
        let accesses = std::mem::take(&mut self.accesses.0[process][location as usize]);
        for access in &accesses {
            match self.touch(*access, values) {
                Ok(span) => at.reads.insert(span),
                Err(other) => at.counters.insert(other),
            };
        }
        self.accesses.0[process][location as usize] = accesses;
    }

    /// The cells that are read, or whose program counter is.
    fn touch(&mut self, access: Access, values: &Values) -> Result<Span, usize> {
        match access {
            Access::Variable(variable) => Ok((self.cells.of(variable), 1)),
            Access::Element(variable, index) => Ok(self.span(values, variable, Some(index))),
            Access::Location(other) => Err(other as usize),
        }
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
            for (cell, known) in next.iter_mut().enumerate().skip(span.0).take(span.1) {
                *known = match is_certain || *known == value {
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
