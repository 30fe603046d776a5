//! The example of the thesis' section 4.2, and what the two projections differ in.

use super::*;
use crate::program::{Instruction, Kind, Process, Program, Role, Update, Variable};
use crate::run::each_run;

const U4: Kind = Kind::Int { bits: 4, signed: false };

fn program(variables: &[(&str, &[i64])]) -> Program {
    let mut program = Program::default();
    for (name, values) in variables {
        program.variables.push(Variable {
            name: name.to_string(),
            owner: None,
            kind: U4,
            length: (values.len() > 1).then_some(values.len() as u32),
            initial: values.iter().copied().map(Some).collect(),
            role: Role::Data,
            span: 0..0,
        });
    }
    program
}

fn var(program: &mut Program, variable: u32) -> ExprId {
    program.exprs.intern(Node::Var(VarId(variable)), U4)
}

/// Adds an instruction to the last process.
fn assign(program: &mut Program, variable: u32, index: Option<ExprId>, value: ExprId, when: bool) {
    let always = program.exprs.truth(true);
    let when = program.exprs.truth(when);
    let process = program.processes.last_mut().unwrap();
    let next = vec![(always, process.code.len() as u32 + 1)];
    let updates = vec![Update { variable: VarId(variable), index, when, value }];
    let (inputs, checks, text) = (Vec::new(), Vec::new(), String::new());
    let made = Instruction { guard: always, updates, next, inputs, checks, text, span: 0..0 };
    process.code.push(made);
}

fn process(program: &mut Program) {
    program.processes.push(Process { name: "P".to_string(), code: Vec::new() });
}

fn run_of(program: &Program, processes: &[usize]) -> Run {
    let initial = Interpreter::new(program).initial_states(1).unwrap().remove(0);
    let step = |process: &usize| Step { process: *process, inputs: Vec::new() };
    Run { initial, steps: processes.iter().map(step).collect() }
}

fn both(program: &Program, run: &Run, onto: Cell) -> (Vec<usize>, Vec<usize>) {
    let mut interpreter = Interpreter::new(program);
    let onto = BTreeSet::from([onto]);
    let projection = projection(&mut interpreter, run, &onto).unwrap();
    (projection, live(&mut interpreter, run, &onto).unwrap())
}

/// `a = 1`, `B[b] = 7` and `x = B[a]; y = x`, each by a process; a is 0 at first, b is 1.
fn example() -> Program {
    let mut program =
        program(&[("a", &[0]), ("b", &[1]), ("x", &[0]), ("y", &[0]), ("B", &[10, 11])]);
    let (one, seven) = (program.exprs.number(1, U4), program.exprs.number(7, U4));
    process(&mut program);
    assign(&mut program, 0, None, one, true);
    process(&mut program);
    let b = var(&mut program, 1);
    assign(&mut program, 4, Some(b), seven, true);
    process(&mut program);
    let a = var(&mut program, 0);
    let element = program.exprs.intern(Node::Element(VarId(4), a), U4);
    assign(&mut program, 2, None, element, true);
    let x = var(&mut program, 2);
    assign(&mut program, 3, None, x, true);
    program
}

#[test]
fn the_example_has_three_projections() {
    let program = example();
    assert_eq!(crate::run::runs(&program, 4, 100), Ok(12));
    let mut all = BTreeSet::new();
    each_run(&program, 4, 100, |run, states| {
        let (projection, live) = both(&program, run, Cell::Value(3));
        assert_eq!(projection, live);
        let who: Vec<usize> = live.iter().map(|step| run.steps[*step].process).collect();
        all.insert((who, states.last().unwrap().values[3]));
    })
    .unwrap();
    // What the first two processes do is independent: there are three projections, and one of them in two orders.
    let expected =
        [(vec![0, 1, 2, 2], 7), (vec![0, 2, 2], 11), (vec![1, 0, 2, 2], 7), (vec![2, 2], 10)];
    assert_eq!(all, BTreeSet::from(expected));
}

#[test]
fn accesses_are_those_of_this_state() {
    let program = example();
    let mut interpreter = Interpreter::new(&program);
    let run = run_of(&program, &[0, 2]);
    let states = interpreter.replay(&run.initial, &run.steps).unwrap();
    for (state, element) in [(&states[0], 4), (&states[1], 5)] {
        let accesses = interpreter.accesses(state, &run.steps[1]).unwrap();
        let reads = [Cell::Value(0), Cell::Value(element), Cell::Location(2)];
        assert_eq!(accesses.reads, BTreeSet::from(reads));
        assert_eq!(accesses.writes, BTreeSet::from([Cell::Value(2), Cell::Location(2)]));
        assert_eq!(accesses.writes, accesses.may_write);
    }
    // The first process is at its end.
    assert_eq!(interpreter.accesses(&states[1], &run.steps[0]), None);
}

#[test]
fn what_is_overwritten_is_not_live() {
    // a = 1 and a = 2 by two processes.
    let mut program = program(&[("a", &[0])]);
    for value in [1, 2] {
        let value = program.exprs.number(value, U4);
        process(&mut program);
        assign(&mut program, 0, None, value, true);
    }
    let run = run_of(&program, &[0, 1]);
    assert_eq!(both(&program, &run, Cell::Value(0)), (vec![0, 1], vec![1]));
    assert_eq!(both(&program, &run, Cell::Location(0)), (vec![0], vec![0]));
}

#[test]
fn what_does_not_happen_writes_nothing() {
    // `if (false) a = 1`, and B[2] = 1 where there is no such element.
    let mut program = program(&[("a", &[0]), ("B", &[0, 0])]);
    let (one, two) = (program.exprs.number(1, U4), program.exprs.number(2, U4));
    process(&mut program);
    assign(&mut program, 0, None, one, false);
    process(&mut program);
    assign(&mut program, 1, Some(two), one, true);
    let run = run_of(&program, &[0, 1]);
    assert_eq!(both(&program, &run, Cell::Value(0)), (vec![0], vec![]));
    for element in [1, 2] {
        assert_eq!(both(&program, &run, Cell::Value(element)), (vec![], vec![]));
    }
}

#[test]
fn with_a_step_those_before_it_of_its_process_are_kept() {
    // b = 1; a = 1: the second needs the first only to get there.
    let mut program = program(&[("a", &[0]), ("b", &[0])]);
    let one = program.exprs.number(1, U4);
    process(&mut program);
    assign(&mut program, 1, None, one, true);
    assign(&mut program, 0, None, one, true);
    let run = run_of(&program, &[0, 0]);
    assert_eq!(both(&program, &run, Cell::Value(0)), (vec![0, 1], vec![0, 1]));
    assert_eq!(both(&program, &run, Cell::Value(1)), (vec![0], vec![0]));
}

#[test]
fn a_run_that_cannot_be_performed_has_no_projection() {
    let program = example();
    let run = run_of(&program, &[0, 0]);
    let stuck = live(&mut Interpreter::new(&program), &run, &BTreeSet::new());
    assert_eq!(stuck.unwrap_err().step, 1);
}

#[test]
fn conditions_read_where_processes_stand() {
    let mut program = example();
    let at = program.exprs.intern(Node::At(1, 0), Kind::Bool);
    let run = run_of(&program, &[]);
    let reads = Interpreter::new(&program).read_by(&run.initial, &[], at);
    assert_eq!(reads, BTreeSet::from([Cell::Location(1)]));
}
