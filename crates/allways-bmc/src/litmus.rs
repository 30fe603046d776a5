//! Litmus programs: few random instructions a process, over few shared variables, with a state that takes a certain
//! order of them and one that no order leads to. Made from a number, as source, for tests and for measurements.
//!
//! - `reachable found`: values at the end of a random run. Of many such runs it is one whose values none of them has
//!   seen early.
//! - `never absent`: some processes stand in a ring. Each of them first reads a flag of the next one, and later sets
//!   its own, to something that depends on everything else. That all of them read `true` cannot be: each would have
//!   to read after the next one has set its flag, which is after the next one has read, and so on around the ring.
//!   All of them but any one can be.

use crate::lang::compile;
use crate::program::{Program, VarId};
use crate::run::{Interpreter, State};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::fmt::Write;

/// The values of `found` are there within so many steps.
pub const STEPS: usize = 20;

/// How many processes are in the ring, if there are so many.
const RING: usize = 4;

/// How many instructions of a process in the ring set its flag at the end.
const BEFORE: usize = 3;

/// How many runs are looked at for one whose end is far away.
const RUNS: usize = 64;

/// The source of a program with so many processes, but at least 1 and at most 64. For the same numbers it is always
/// the same.
///
/// ```
/// use allways_bmc::{Model, check::Options, lang::compile, litmus};
/// let source = litmus::source(3, 1);
/// let model = Model::new(compile("litmus", &source, &[]).unwrap());
/// let options = Options { depth: litmus::STEPS, ..Options::default() };
/// let checked = model.check(&options, &|_| ()).unwrap();
/// assert!(checked.outcome.violation.is_none());
/// ```
pub fn source(processes: usize, seed: u64) -> String {
    let processes = processes.clamp(1, 64);
    let mut writer = Writer {
        random: Random(seed ^ (processes as u64) << 56),
        shared: processes.div_ceil(2) as u64 + 1,
    };
    let mut text = format!(
        "// A litmus program: random instructions of {processes} processes, made from the seed {seed}.\n"
    );
    // Of a few programs one is good enough; that none of so many is has not been seen.
    let mut all = (0..1000).map(|_| writer.program(processes));
    let good = all.find(|program| is_tight(&compiled(program), processes.min(RING)));
    text.push_str(&good.unwrap_or_else(|| writer.program(processes)));
    let found = writer.found(&compiled(&text));
    let _ = write!(text, "\nreachable found: {found};\n");
    let ring: Vec<String> =
        (0..processes.min(RING)).map(|process| format!("P{process}.seen")).collect();
    let _ = writeln!(text, "never absent: {};", ring.join(" && "));
    text
}

fn compiled(text: &str) -> Program {
    match compile("litmus", text, &[]) {
        Ok(program) => program,
        Err(found) => panic!("a litmus program does not compile: {found:?}\n{text}"),
    }
}

/// Whether, if the processes of the ring set their flags one after the other, all but the first find one set, whichever
/// that first one is.
fn is_tight(program: &Program, ring: usize) -> bool {
    let mut interpreter = Interpreter::new(program);
    (0..ring).all(|first| {
        let mut state = initial(&interpreter);
        for process in (0..ring).map(|later| (first + ring - later) % ring) {
            for _ in 0..BEFORE {
                state = interpreter.step(&state, process, &[]).expect("no instruction waits");
            }
        }
        let mut variables = program.variables.iter().enumerate();
        variables.all(|(number, variable)| {
            let place = interpreter.layout().range(VarId(number as u32)).start;
            let is_asked = variable.owner.is_some_and(|process| process != first);
            !is_asked || !variable.name.ends_with(".seen") || state.values[place] != 0
        })
    })
}

fn initial(interpreter: &Interpreter<'_>) -> State {
    interpreter.initial_states(1).expect("all values are given").remove(0)
}

/// Pseudo-random numbers: splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number less than this one.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

struct Writer {
    random: Random,
    /// How many shared variables there are, but for the array.
    shared: u64,
}

impl Writer {
    /// All but the properties.
    fn program(&mut self, processes: usize) -> String {
        let shared: Vec<String> = (0..self.shared).map(|variable| format!("x{variable}")).collect();
        let elements: Vec<String> =
            (0..4).map(|_| (self.random.below(7) + 1).to_string()).collect();
        let ring = processes.min(RING);
        let mut text = format!(
            "shared uint<4> {};\nshared uint<4> a[4] = {{{}}};\nshared bool ring[{ring}];\n",
            shared.join(", "),
            elements.join(", ")
        );
        for process in 0..processes {
            let _ = write!(
                text,
                "\nprocess P{process} {{\n    uint<4> r = {}, s = {};\n",
                self.random.below(4),
                self.random.below(4)
            );
            let mut left = 4 + self.random.below(3);
            if process < ring {
                let _ = writeln!(text, "    bool seen;\n");
                let before = self.random.below(2);
                left -= 2 + before;
                self.instructions(&mut text, before);
                let next = (process + 1) % ring;
                let _ = writeln!(text, "    seen = ring[{next}];");
                let between = 1 - before;
                left -= between;
                self.instructions(&mut text, between);
                let condition = self.condition();
                let _ = writeln!(text, "    ring[{process}] = {condition};");
            } else {
                text.push('\n');
            }
            self.instructions(&mut text, left - 1);
            let _ =
                writeln!(text, "    {} = {} + {};\n}}", self.shared(), self.shared(), self.local());
        }
        text
    }

    /// So many instructions.
    fn instructions(&mut self, text: &mut String, mut left: u64) {
        while left > 0 {
            left -= 1;
            let _ = match self.random.below(10) {
                0 if left > 0 => {
                    left -= 1;
                    let (condition, then) = (self.condition(), self.assignment());
                    writeln!(text, "    if ({condition}) {{\n        {then}\n    }}")
                }
                _ => writeln!(text, "    {}", self.assignment()),
            };
        }
    }

    /// One of an own variable, a shared one, or an element.
    fn assignment(&mut self) -> String {
        let (local, shared) = (self.local(), self.shared());
        let constant = self.random.below(7) + 1;
        match self.random.below(8) {
            0 => format!("{local} = {shared};"),
            1 | 2 => format!("{local} = {shared} + {constant};"),
            3 => format!("{local} = a[{} as uint<2>];", self.local()),
            4 => format!("a[{local} as uint<2>] = {shared} + {constant};"),
            5 => format!("{shared} = {} + {local};", self.shared()),
            6 => format!("{shared} = {constant};"),
            _ => format!("{shared} = {local} + {constant};"),
        }
    }

    fn condition(&mut self) -> String {
        let operator = ["==", "!=", "<="][self.random.below(3) as usize];
        format!("{} {operator} {}", self.local(), self.shared())
    }

    fn local(&mut self) -> &'static str {
        ["r", "s"][self.random.below(2) as usize]
    }

    fn shared(&mut self) -> String {
        format!("x{}", self.random.below(self.shared))
    }

    /// Values of shared variables after some run.
    fn found(&mut self, program: &Program) -> String {
        let first = self.random.below(self.shared) as usize;
        let count = (self.shared as usize).min(4);
        let chosen: Vec<usize> =
            (0..count).map(|next| (first + next) % self.shared as usize).collect();
        let mut seen: FxHashMap<Vec<i64>, usize> = FxHashMap::default();
        let mut ends = Vec::new();
        for _ in 0..RUNS {
            let run = self.run(program, &chosen);
            for (steps, values) in run.iter().enumerate() {
                let first = seen.entry(values.clone()).or_insert(steps);
                *first = steps.min(*first);
            }
            ends.extend(run.last().cloned());
        }
        // Rather no variable that is as at the start, then as far away as possible.
        let unchanged = |values: &Vec<i64>| values.iter().filter(|value| **value == 0).count();
        let best = |values: &Vec<i64>| (unchanged(values), Reverse(seen[values]));
        let values = ends.into_iter().min_by_key(best).unwrap_or_default();
        let is: Vec<String> = chosen
            .iter()
            .zip(values)
            .map(|(variable, value)| format!("x{variable} == {value}"))
            .collect();
        is.join(" && ")
    }

    /// The values of some variables at the start and after each step of a random run.
    fn run(&mut self, program: &Program, chosen: &[usize]) -> Vec<Vec<i64>> {
        let mut interpreter = Interpreter::new(program);
        let mut state = initial(&interpreter);
        // The shared variables are declared first.
        let values =
            |state: &State| chosen.iter().map(|variable| state.values[*variable]).collect();
        let mut all = vec![values(&state)];
        for _ in 0..STEPS {
            let mut able: Vec<usize> = (0..program.processes.len()).collect();
            able.retain(|process| interpreter.instruction(&state, *process).is_some());
            if able.is_empty() {
                break;
            }
            let process = able[self.random.below(able.len() as u64) as usize];
            state = interpreter.step(&state, process, &[]).expect("no instruction waits");
            all.push(values(&state));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{End, enumerate};

    #[test]
    fn all_but_one_can_be_seen() {
        for processes in 1..=12 {
            for seed in 0..5 {
                let text = source(processes, seed);
                assert!(is_tight(&compiled(&text), processes.min(RING)), "{text}");
            }
        }
    }

    /// All states of small programs, one by one: `found` is there within the steps, and `absent` is not there at all.
    #[test]
    fn found_and_absent() {
        for processes in [1, 2, 3] {
            for seed in 0..20 {
                let text = source(processes, seed);
                let mut program = compile("litmus", &text, &[]).unwrap();
                let goals = program.goals();
                assert_eq!(goals.len(), 2, "no index is out of range:\n{text}");
                let all = enumerate(&program, &goals, STEPS, 200_000).unwrap();
                assert!(all.steps(0).is_some_and(|steps| steps <= STEPS), "{text}");
                assert_eq!(all.steps(1), None, "{text}");
                assert_eq!(all.end, End::Exhausted, "{text}");
            }
        }
    }

    #[test]
    fn each_process_has_four_to_six_instructions() {
        for seed in 0..20 {
            let text = source(8, seed);
            let program = compile("litmus", &text, &[]).unwrap();
            for process in &program.processes {
                assert!((4..=6).contains(&process.code.len()), "{}:\n{text}", process.name);
            }
        }
    }

    #[test]
    fn numbers_of_processes_have_limits() {
        assert_eq!(source(0, 3).matches("process P").count(), 1);
        assert_eq!(source(1000, 3).matches("process P").count(), 64);
        assert_ne!(source(4, 1), source(4, 2));
        assert_eq!(source(4, 1), source(4, 1));
    }
}
