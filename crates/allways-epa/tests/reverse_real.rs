//! The check against programs that are really run, in every order: what threads read decides what they do next.
//!
//! This asks for what the check is there for. If it says of one run that nothing can be reversed, then in every run of the program each
//! thread does the same and reads the same, as far as it gets: a run may still end in a deadlock, before the end of all
//! threads. If it says how something can be reversed, the program can really be run in this way, up to the reversal, and so far everybody reads
//! what they read in the first run.

mod reverse_support;

use allways_epa::reverse::{Options, Reversibility, check};
use allways_epa::step::{Action, Step};
use proptest::prelude::*;
use reverse_support::Trace;
use std::collections::HashSet;

/// What a thread does. It has a number, which is 0 at first.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// Adds a variable to the number.
    Read(usize),
    /// Writes the number and one more to a variable.
    Write(usize),
    /// Takes a lock, or gives it back.
    Toggle(usize),
    /// Leaves out the next, if the number is odd.
    SkipIfOdd,
    /// Leaves out the next, unless the number is 0.
    SkipUnlessZero,
}

const LOCKS: usize = 2;

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0..2_usize).prop_map(Op::Read),
        3 => (0..2_usize).prop_map(Op::Write),
        6 => (0..LOCKS).prop_map(Op::Toggle),
        1 => Just(Op::SkipIfOdd),
        1 => Just(Op::SkipUnlessZero),
    ]
}

/// What a thread has done: which operation, and its number afterwards.
type History = Vec<(usize, u64)>;

/// The state of a run, with all that was done.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    at: Vec<usize>,
    number: Vec<u64>,
    memory: [u64; 2],
    holder: [Option<usize>; LOCKS],
    histories: Vec<History>,
}

impl State {
    fn new(threads: usize) -> Self {
        State {
            at: vec![0; threads],
            number: vec![0; threads],
            memory: [0; 2],
            holder: [None; LOCKS],
            histories: vec![History::new(); threads],
        }
    }

    /// What a thread does next: what is left out is passed by.
    fn next(&self, programs: &[Vec<Op>], thread: usize) -> Option<(usize, Op)> {
        let mut at = self.at[thread];
        loop {
            let op = *programs[thread].get(at)?;
            let number = self.number[thread];
            at += match op {
                Op::SkipIfOdd => 1 + usize::from(number % 2 == 1),
                Op::SkipUnlessZero => 1 + usize::from(number != 0),
                op => return Some((at, op)),
            };
        }
    }

    /// Does it; nothing is done if the thread has to wait or has ended.
    fn step(&mut self, programs: &[Vec<Op>], thread: usize) -> Option<Op> {
        let (at, op) = self.next(programs, thread)?;
        match op {
            Op::Read(variable) => self.number[thread] += self.memory[variable],
            Op::Write(variable) => self.memory[variable] = self.number[thread] + 1,
            Op::Toggle(lock) => match self.holder[lock] {
                None => self.holder[lock] = Some(thread),
                Some(holder) if holder == thread => self.holder[lock] = None,
                Some(_) => return None,
            },
            Op::SkipIfOdd | Op::SkipUnlessZero => {}
        }
        self.at[thread] = at + 1;
        self.histories[thread].push((at, self.number[thread]));
        Some(op)
    }
}

/// What threads have done at the ends of all runs.
fn ends(programs: &[Vec<Op>]) -> HashSet<Vec<History>> {
    let mut ends = HashSet::new();
    let mut seen = HashSet::new();
    let mut pending = vec![State::new(programs.len())];
    while let Some(state) = pending.pop() {
        let mut is_end = true;
        for thread in 0..programs.len() {
            let mut next = state.clone();
            if next.step(programs, thread).is_some() {
                is_end = false;
                if seen.insert(next.clone()) {
                    pending.push(next);
                }
            }
        }
        if is_end {
            ends.insert(state.histories);
        }
    }
    ends
}

/// One run: its trace, and what threads have done; nothing if it does not come to the end of all threads.
fn run(programs: &[Vec<Op>], schedule: &[usize]) -> Option<(Vec<Step>, Vec<History>)> {
    let mut state = State::new(programs.len());
    let mut trace = Trace::default();
    let mut turn = 0;
    loop {
        let first = schedule.get(turn).copied().unwrap_or(0);
        turn += 1;
        let mut threads = (0..programs.len()).map(|next| (first + next) % programs.len());
        let done = threads.find_map(|thread| {
            let held = state.holder;
            state.step(programs, thread).map(|op| (thread, op, held))
        });
        let Some((thread, op, held)) = done else {
            let is_over = (0..programs.len()).all(|thread| state.next(programs, thread).is_none());
            return is_over.then_some((trace.steps, state.histories));
        };
        let id = thread as u32;
        match op {
            Op::Read(variable) => drop(trace.read(id, variable as u32)),
            Op::Write(variable) => drop(trace.write(id, variable as u32)),
            Op::Toggle(lock) if held[lock].is_none() => drop(trace.lock(id, lock as u64)),
            Op::Toggle(lock) => drop(trace.unlock(id, lock as u64)),
            Op::SkipIfOdd | Op::SkipUnlessZero => {}
        }
    }
}

fn is_beginning(one: &History, of: &History) -> bool {
    one.len() <= of.len() && one[..] == of[..one.len()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn programs_do_what_the_check_says(
        programs in prop::collection::vec(prop::collection::vec(op(), 1..7), 2..4),
        schedule in prop::collection::vec(0..3_usize, 0..20),
    ) {
        let Some((steps, golden)) = run(&programs, &schedule) else { return Ok(()) };
        match check(&steps, &Options::default()).map_err(TestCaseError::fail)? {
            Reversibility::Never { .. } => {
                for end in ends(&programs) {
                    for (one, golden) in end.iter().zip(&golden) {
                        prop_assert!(is_beginning(one, golden), "{end:?} instead of {golden:?}");
                    }
                }
            }
            Reversibility::Possible(witness) => {
                let mut state = State::new(programs.len());
                for &at in &witness.order {
                    let thread = steps[at].thread as usize;
                    prop_assert!(state.step(&programs, thread).is_some(), "a thread has to wait");
                    if at == witness.second {
                        break;
                    }
                    let done = &state.histories[thread];
                    prop_assert!(is_beginning(done, &golden[thread]), "something else is read");
                }
                let is_done = |at: usize| {
                    let Step { thread, record, .. } = steps[at];
                    state.histories[thread as usize].len() as u64 > record
                };
                prop_assert!(is_done(witness.second) && !is_done(witness.first));
                let is_access = |at: usize| !matches!(steps[at].action, Action::Event(_));
                prop_assert!(is_access(witness.first) && is_access(witness.second));
            }
        }
    }
}
