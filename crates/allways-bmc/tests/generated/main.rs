//! Random programs: what enumeration and projections of runs say of them fits together.
//!
//! `PROPTEST_CASES` sets how many programs are generated.

mod kinds;
mod sample;

use allways_bmc::program::{Checked, Node, Origin};
use allways_bmc::run::interpret::any_of;
use allways_bmc::run::{
    Cell, End, Interpreter, Run, State, Step, TooMany, each_run, enumerate, runs, slice,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{FileFailurePersistence, RngSeed, TestRunner};
use sample::{Size, programs, programs_of};
use std::collections::BTreeSet;

/// More states or runs than this are not looked at.
const LIMIT: usize = 5_000;

fn cases(count: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    // The same programs each time, unless more are asked for.
    let (cases, rng_seed) = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => (default.cases, RngSeed::Random),
        None => (count, RngSeed::Fixed(1)),
    };
    // The seed of a failure is kept beside this file, to be tried first the next time.
    let failures = FileFailurePersistence::WithSource("regressions");
    ProptestConfig {
        cases,
        rng_seed,
        failure_persistence: Some(Box::new(failures)),
        max_shrink_iters: 20_000,
        ..default
    }
}

/// A run of as many steps as there are choices, or until nothing can be done: each number chooses the next step.
fn run_by(interpreter: &mut Interpreter<'_>, first: usize, choices: &[usize]) -> Run {
    let initial = interpreter.initial_states(LIMIT).expect("few initial states");
    let initial = initial[first % initial.len()].clone();
    let mut run = Run { initial: initial.clone(), steps: Vec::new() };
    let mut state = initial;
    for choice in choices {
        let mut successors = interpreter.successors(&state, LIMIT).expect("few inputs");
        if successors.is_empty() {
            break;
        }
        let (step, after) = successors.swap_remove(choice % successors.len());
        run.steps.push(step);
        state = after;
    }
    run
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn programs_fit_together(sample in programs()) {
        kinds::check(&sample.program)?;
    }

    /// What is found is there, and it is not there any earlier.
    #[test]
    fn goals_are_found_as_early_as_possible(
        sample in programs_of(Size { processes: 2, ..Size::default() }),
        depth in 0..5_usize,
    ) {
        let mut program = sample.program;
        let goals = program.goals();
        let all = enumerate(&program, &goals, depth, LIMIT).expect("few initial states");
        prop_assert!(all.depth() <= depth);
        let mut interpreter = Interpreter::new(&program);
        for (goal, found) in goals.iter().zip(&all.found) {
            let Some(found) = found else { continue };
            prop_assert!(interpreter.is_initial(&found.run.initial));
            let states = interpreter.replay(&found.run.initial, &found.run.steps);
            let states = states.map_err(|stuck| TestCaseError::fail(stuck.to_string()))?;
            prop_assert_eq!(states.last(), Some(&found.state));
            prop_assert_eq!(interpreter.evaluate(&found.state, &found.inputs, goal.target), 1);
            if let Origin::Check(process, _, _) = goal.origin {
                // What is checked of an instruction is checked when it can be performed.
                let step = interpreter.step(&found.state, process, &found.inputs);
                prop_assert!(step.is_some());
            }
        }

        // The same by trying all runs. Whether a goal's inputs exist is asked of each input here.
        let mut earliest = vec![None; goals.len()];
        let mut states_seen = BTreeSet::new();
        let mut count = 0_u128;
        let with = |_: &Run, states: &[State]| {
            count += 1;
            for (place, state) in states.iter().enumerate() {
                if !states_seen.insert((place, state.clone())) {
                    continue;
                }
                for (goal, earliest) in goals.iter().zip(&mut earliest) {
                    let inputs = any_of(&goal.inputs, LIMIT);
                    let mut inputs = inputs.expect("few inputs").into_iter();
                    let holds = |inputs: Vec<i64>| {
                        interpreter.evaluate(state, &inputs, goal.target) != 0
                    };
                    if earliest.is_none_or(|earliest| place < earliest) && inputs.any(holds) {
                        *earliest = Some(place);
                    }
                }
            }
        };
        match each_run(&program, depth, LIMIT, with) {
            Ok(()) => {
                let found: Vec<_> = (0..goals.len()).map(|goal| all.steps(goal)).collect();
                prop_assert_eq!(found, earliest);
                let states: BTreeSet<_> = states_seen.into_iter().map(|(_, state)| state).collect();
                prop_assert_eq!(all.states(), states.len());
                prop_assert_eq!(runs(&program, depth, LIMIT), Ok(count));
            }
            Err(TooMany { .. }) => prop_assert!(runs(&program, depth, usize::MAX).unwrap() > 1),
        }
    }

    /// With no more states there is nothing more to be found.
    #[test]
    fn a_space_without_more_states_stays_so(sample in programs(), depth in 0..8_usize) {
        let mut program = sample.program;
        let goals = program.goals();
        let less = enumerate(&program, &goals, depth, LIMIT).expect("few initial states");
        let more = enumerate(&program, &goals, depth + 3, LIMIT).expect("few initial states");
        prop_assert!(more.levels.starts_with(&less.levels) || less.end == End::Limit);
        match less.end {
            End::Exhausted => {
                prop_assert_eq!(&less.levels, &more.levels);
                prop_assert_eq!(&less.found, &more.found);
                prop_assert_eq!(more.end, End::Exhausted);
            }
            End::Depth => {
                prop_assert_eq!(less.depth(), depth);
                prop_assert!(more.depth() > depth || more.end == End::Limit);
            }
            End::Limit => prop_assert_eq!(more.end, End::Limit),
        }
    }

    /// What is kept of a run can be performed alone, and the values that matter are the same at its end.
    #[test]
    fn projections_keep_what_matters(
        sample in programs(),
        first in any::<usize>(),
        choices in proptest::collection::vec(any::<usize>(), 0..25),
        onto in proptest::collection::vec(any::<usize>(), 0..4),
    ) {
        let program = sample.program;
        let mut interpreter = Interpreter::new(&program);
        let run = run_by(&mut interpreter, first, &choices);
        let values = interpreter.layout().len();
        let onto: BTreeSet<Cell> = onto
            .into_iter()
            .map(|cell| cell % (values + program.processes.len()))
            .map(|cell| if cell < values { Cell::Value(cell) } else { Cell::Location(cell - values) })
            .collect();
        let states = interpreter.replay(&run.initial, &run.steps).expect("it was performed");
        let end = &states[run.steps.len()];

        let projection = slice::projection(&mut interpreter, &run, &onto).expect("performed");
        let live = slice::live(&mut interpreter, &run, &onto).expect("performed");
        prop_assert!(live.iter().all(|step| projection.contains(step)));
        for kept in [&projection, &live] {
            let less = run.only(kept);
            let states = interpreter.replay(&less.initial, &less.steps);
            let states = states.map_err(|stuck| TestCaseError::fail(stuck.to_string()))?;
            for cell in &onto {
                match *cell {
                    Cell::Value(place) => {
                        prop_assert_eq!(states[kept.len()].values[place], end.values[place]);
                    }
                    Cell::Location(process) => {
                        prop_assert_eq!(
                            states[kept.len()].locations[process],
                            end.locations[process]
                        );
                    }
                }
            }
        }
        // Once more changes nothing.
        let less = run.only(&live);
        let again = slice::live(&mut interpreter, &less, &onto).expect("performed");
        prop_assert_eq!(again, (0..live.len()).collect::<Vec<_>>());
        if onto.is_empty() {
            prop_assert!(projection.is_empty());
        }
    }

    /// What is not written by a step stays as it is, and with other values of what it does not read it does the same.
    #[test]
    fn steps_read_and_write_no_more_than_they_say(
        sample in programs(),
        first in any::<usize>(),
        choices in proptest::collection::vec(any::<usize>(), 1..12),
        others in proptest::collection::vec(any::<i64>(), 16),
    ) {
        let program = sample.program;
        let mut interpreter = Interpreter::new(&program);
        let mut run = run_by(&mut interpreter, first, &choices);
        let Some(Step { process, inputs }) = run.steps.pop() else { return Ok(()) };
        let states = interpreter.replay(&run.initial, &run.steps).expect("it was performed");
        let before = &states[run.steps.len()];
        let step = Step { process, inputs };
        let accesses = interpreter.accesses(before, &step).expect("it was performed");
        let after = interpreter.step(before, step.process, &step.inputs).expect("the same");
        prop_assert!(accesses.writes.is_subset(&accesses.may_write));

        let mut other = before.clone();
        for (place, value) in other.values.iter_mut().enumerate() {
            if !accesses.reads.contains(&Cell::Value(place)) {
                let kind = program.variable(interpreter.layout().variable(place).0).kind;
                *value = kind.wrap(others[place % others.len()]);
            }
        }
        for (place, location) in other.locations.iter_mut().enumerate() {
            if !accesses.reads.contains(&Cell::Location(place)) {
                *location = u32::from(others[place] % 2 == 0);
            }
        }
        let same = interpreter.step(&other, step.process, &step.inputs);
        let same = same.ok_or_else(|| TestCaseError::fail("it cannot be performed"))?;
        for place in 0..after.values.len() {
            if accesses.writes.contains(&Cell::Value(place)) {
                prop_assert_eq!(same.values[place], after.values[place]);
            } else {
                prop_assert_eq!(before.values[place], after.values[place]);
                prop_assert_eq!(other.values[place], same.values[place]);
            }
        }
        prop_assert_eq!(same.locations[process], after.locations[process]);
    }
}

/// The programs are not all alike: enough goals are reached, and enough are not; spaces end, and do not.
#[test]
fn programs_are_worth_it() {
    let same = ProptestConfig { rng_seed: RngSeed::Fixed(1), ..cases(1) };
    let mut runner = TestRunner::new(same);
    let mut found = [0; 9];
    let (mut not_found, mut exhausted, mut open, mut limit) = (0, 0, 0, 0);
    let mut checks = [0; 3];
    let (mut elements, mut inputs, mut conditions, mut back, mut less) = (0, 0, 0, 0, 0);
    for _ in 0..300 {
        let mut program = programs().new_tree(&mut runner).unwrap().current().program;
        let goals = program.goals();
        let all = enumerate(&program, &goals, 8, LIMIT).unwrap();
        for (goal, reached) in goals.iter().zip(&all.found) {
            match reached {
                Some(reached) => found[reached.run.steps.len()] += 1,
                None => not_found += 1,
            }
            if let (Origin::Check(process, location, check), Some(_)) = (goal.origin, reached) {
                checks[match program.processes[process].code[location as usize].checks[check].what {
                    Checked::Assertion => 0,
                    Checked::Index => 1,
                    Checked::Unlock => 2,
                }] += 1;
            }
        }
        match all.end {
            End::Exhausted => exhausted += 1,
            End::Depth => open += 1,
            End::Limit => limit += 1,
        }
        for (location, instruction) in
            program.processes.iter().flat_map(|process| process.code.iter().enumerate())
        {
            let exprs = &program.exprs;
            inputs += usize::from(!instruction.inputs.is_empty());
            back += usize::from(instruction.next.iter().any(|(_, to)| *to as usize <= location));
            for update in &instruction.updates {
                conditions += usize::from(exprs.constant(update.when).is_none());
                let dynamic = |index| !matches!(exprs.node(index), Node::Const(_));
                elements += usize::from(update.index.is_some_and(dynamic));
            }
        }
        let mut interpreter = Interpreter::new(&program);
        let run = run_by(&mut interpreter, 0, &[1; 8]);
        let onto = BTreeSet::from([Cell::Value(0)]);
        let projection = slice::projection(&mut interpreter, &run, &onto).unwrap();
        less += usize::from(slice::live(&mut interpreter, &run, &onto).unwrap() != projection);
    }
    println!("found after {found:?} steps, {not_found} not; checks {checks:?}");
    println!("{exhausted} exhausted, {open} open, {limit} with too many states");
    println!(
        "{elements} elements, {inputs} inputs, {conditions} conditions, {back} back, {less} smaller"
    );
    assert!(found.iter().skip(1).sum::<usize>() >= 200 && not_found >= 200);
    assert!(found[3..7].iter().all(|count| *count > 0));
    assert!(exhausted >= 20 && open >= 20 && limit <= 150);
    assert!(checks.iter().all(|count| *count >= 10));
    assert!([elements, inputs, conditions, back].iter().all(|count| *count >= 50) && less >= 5);
}
