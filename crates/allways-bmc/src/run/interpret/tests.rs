//! Steps, initial states and runs.

use super::*;
use crate::program::{Binary, Node, Process, Role, Update, VarId, Variable};

const BOOL: Kind = Kind::Bool;
const U2: Kind = Kind::Int { bits: 2, signed: false };
const I3: Kind = Kind::Int { bits: 3, signed: true };

fn variable(name: &str, length: Option<u32>, initial: Vec<Option<i64>>) -> Variable {
    let name = name.to_string();
    Variable { name, owner: None, kind: I3, length, initial, role: Role::Data, span: 0..0 }
}

fn instruction(program: &mut Program, updates: Vec<Update>, next: Location) -> Instruction {
    let always = program.exprs.truth(true);
    Instruction {
        guard: always,
        updates,
        next: vec![(always, next)],
        inputs: Vec::new(),
        checks: Vec::new(),
        text: String::new(),
        span: 0..0,
    }
}

/// A program with variables `x` and `B[3]`, and one process with one instruction that has these updates: each with
/// whether it happens, `None` for `x` or the index of an element, and the value.
fn updating(updates: &[(bool, Option<i64>, i64)]) -> Program {
    let mut program = Program::default();
    program.variables.push(variable("x", None, vec![Some(0)]));
    program.variables.push(variable("B", Some(3), vec![Some(0); 3]));
    let mut made = Vec::new();
    for (when, index, value) in updates {
        made.push(Update {
            variable: VarId(u32::from(index.is_some())),
            index: index.map(|index| program.exprs.number(index, I3)),
            when: program.exprs.truth(*when),
            value: program.exprs.number(*value, I3),
        });
    }
    let only = instruction(&mut program, made, 1);
    program.processes.push(Process { name: "P".to_string(), code: vec![only] });
    program
}

/// The values after the only step.
fn after(program: &Program) -> Vec<i64> {
    let mut interpreter = Interpreter::new(program);
    let initial = interpreter.initial_states(1).unwrap().remove(0);
    interpreter.step(&initial, 0, &[]).unwrap().values
}

#[test]
fn the_last_update_counts() {
    assert_eq!(after(&updating(&[(true, None, 1), (true, None, 2)])), [2, 0, 0, 0]);
    assert_eq!(after(&updating(&[(true, None, 1), (false, None, 2)])), [1, 0, 0, 0]);
    assert_eq!(after(&updating(&[(true, Some(1), 1), (true, Some(1), -1)])), [0, 0, -1, 0]);
}

#[test]
fn what_does_not_happen_changes_nothing() {
    assert_eq!(after(&updating(&[(false, None, 1), (false, Some(0), 1)])), [0; 4]);
}

#[test]
fn writes_outside_an_array_change_nothing() {
    assert_eq!(after(&updating(&[(true, Some(3), 1), (true, Some(-1), 1)])), [0; 4]);
    assert_eq!(after(&updating(&[(true, Some(0), 1), (true, Some(2), 3)])), [0, 1, 0, 3]);
}

#[test]
fn all_of_an_instruction_is_over_the_state_before() {
    // x, B[x] = 2, x: with x = 1 before, it is B[1] that becomes 1.
    let mut program = updating(&[(true, None, 2)]);
    program.variables[0].initial = vec![Some(1)];
    let x = program.exprs.intern(Node::Var(VarId(0)), I3);
    let when = program.exprs.truth(true);
    let update = Update { variable: VarId(1), index: Some(x), when, value: x };
    program.processes[0].code[0].updates.push(update);
    assert_eq!(after(&program), [2, 0, 1, 0]);
}

#[test]
fn no_step_without_the_guard_or_at_the_end_or_with_other_inputs() {
    // await input == 2 && x == 0; x = 1
    let mut program = updating(&[(true, None, 1)]);
    let input = program.exprs.intern(Node::Input(0), U2);
    let two = program.exprs.number(2, U2);
    let is_two = program.exprs.equal(input, two);
    let x = program.exprs.intern(Node::Var(VarId(0)), I3);
    let zero = program.exprs.number(0, I3);
    let is_zero = program.exprs.equal(x, zero);
    program.processes[0].code[0].guard = program.exprs.and(is_two, is_zero);
    program.processes[0].code[0].inputs = vec![U2];
    let mut interpreter = Interpreter::new(&program);
    let initial = interpreter.initial_states(1).unwrap().remove(0);
    for inputs in [&[][..], &[0], &[1], &[3], &[6], &[-2], &[2, 2]] {
        assert_eq!(interpreter.step(&initial, 0, inputs), None, "{inputs:?}");
    }
    assert_eq!(interpreter.step(&initial, 1, &[]), None);
    let end = interpreter.step(&initial, 0, &[2]).unwrap();
    assert_eq!(end, State { values: vec![1, 0, 0, 0], locations: vec![1] });
    assert_eq!(interpreter.step(&end, 0, &[2]), None);
    assert_eq!(interpreter.step(&end, 0, &[]), None);
    let successors = interpreter.successors(&initial, 4).unwrap();
    assert_eq!(successors, [(Step { process: 0, inputs: vec![2] }, end)]);
    assert!(interpreter.successors(&initial, 3).is_err());
}

#[test]
fn the_first_place_whose_condition_holds_is_next() {
    let mut program = updating(&[]);
    let x = program.exprs.intern(Node::Var(VarId(0)), I3);
    let always = program.exprs.truth(true);
    let mut next = Vec::new();
    for (bound, to) in [(-1, 5), (2, 6)] {
        let bound = program.exprs.number(bound, I3);
        next.push((program.exprs.intern(Node::Binary(Binary::Less, x, bound), BOOL), to));
    }
    next.push((always, 7));
    program.processes[0].code[0].next = next;
    program.variables[0].initial = vec![None];
    let mut interpreter = Interpreter::new(&program);
    let mut seen = Vec::new();
    for state in interpreter.initial_states(8).unwrap() {
        seen.push((state.values[0], interpreter.step(&state, 0, &[]).unwrap().locations[0]));
    }
    let expected = [(-4, 5), (-3, 5), (-2, 5), (-1, 6), (0, 6), (1, 6), (2, 7), (3, 7)];
    assert_eq!(seen, expected);
}

#[test]
fn unknown_initial_values_are_enumerated() {
    let mut program = updating(&[]);
    program.variables[1].initial = vec![Some(1), None, Some(2)];
    program.variables[0].initial = vec![None];
    let interpreter = Interpreter::new(&program);
    let states = interpreter.initial_states(64).unwrap();
    assert_eq!(states.len(), 64);
    assert!(states.iter().all(|state| interpreter.is_initial(state)));
    assert_eq!(states[1].values, [-4, 1, -3, 2]);
    let limit = TooMany { what: "initial states", limit: 63 };
    assert_eq!(interpreter.initial_states(63), Err(limit));
    let mut other = states[0].clone();
    other.values[1] = 2;
    assert!(!interpreter.is_initial(&other));
    other.values[1] = 1;
    other.values[2] = 4;
    assert!(!interpreter.is_initial(&other));
    assert!(!interpreter.is_initial(&State { values: vec![0], locations: vec![0] }));
}

#[test]
fn inputs_are_combined() {
    let pairs = any_of(&[BOOL, U2], 8).unwrap();
    assert_eq!(pairs.len(), 8);
    assert_eq!(pairs[0], [0, 0]);
    assert_eq!(pairs[4], [1, 0]);
    assert_eq!(any_of(&[], 1), Ok(vec![vec![]]));
    assert!(any_of(&[BOOL, U2], 7).is_err());
    let wide = Kind::Int { bits: 32, signed: false };
    assert!(any_of(&[wide; 9], usize::MAX).is_err());
}

#[test]
fn a_run_says_where_it_is_stuck() {
    let mut program = updating(&[(true, None, 1)]);
    let second = instruction(&mut program, Vec::new(), 2);
    program.processes[0].code.push(second);
    let mut interpreter = Interpreter::new(&program);
    let initial = interpreter.initial_states(1).unwrap().remove(0);
    let step = Step { process: 0, inputs: Vec::new() };
    let states = interpreter.replay(&initial, &[step.clone(), step.clone()]).unwrap();
    assert_eq!(states.len(), 3);
    assert_eq!(states[2].locations, [2]);
    let stuck = interpreter.replay(&initial, &[step.clone(), step.clone(), step]).unwrap_err();
    assert_eq!(stuck, Stuck { step: 2, states });
    assert_eq!(stuck.to_string(), "step 3 cannot be performed");
}

#[test]
fn places_of_elements() {
    let mut program = updating(&[]);
    program.variables.insert(1, variable("none", Some(0), Vec::new()));
    let layout = Layout::new(&program);
    assert_eq!(layout.len(), 4);
    assert_eq!(layout.variable(0), (VarId(0), 0));
    assert_eq!(layout.variable(1), (VarId(2), 0));
    assert_eq!(layout.variable(3), (VarId(2), 2));
    assert_eq!(layout.element(VarId(1), 0), None);
    assert_eq!(layout.element(VarId(2), 2), Some(3));
    assert_eq!(layout.element(VarId(2), 3), None);
    assert_eq!(layout.element(VarId(2), -1), None);
}
