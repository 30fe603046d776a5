//! Spaces that are small enough to count by hand.

use super::*;
use crate::program::{
    Binary, Claim, ExprId, Instruction, Kind, Node, Process, Property, Role, Update, VarId,
    Variable,
};

const U3: Kind = Kind::Int { bits: 3, signed: false };

/// A program with the variable `x`, which is 0 at the start.
fn counter() -> (Program, ExprId) {
    let mut program = Program::default();
    program.variables.push(Variable {
        name: "x".to_string(),
        owner: None,
        kind: U3,
        length: None,
        initial: vec![Some(0)],
        role: Role::Data,
        span: 0..0,
    });
    let x = program.exprs.intern(Node::Var(VarId(0)), U3);
    (program, x)
}

/// `x = x + by`, then to the location.
fn add(program: &mut Program, by: ExprId, next: u32) -> Instruction {
    let always = program.exprs.truth(true);
    let x = program.exprs.intern(Node::Var(VarId(0)), U3);
    let value = program.exprs.intern(Node::Binary(Binary::Add, x, by), U3);
    Instruction {
        guard: always,
        updates: vec![Update { variable: VarId(0), index: None, when: always, value }],
        next: vec![(always, next)],
        inputs: Vec::new(),
        checks: Vec::new(),
        text: "x += by".to_string(),
        span: 0..0,
    }
}

/// Processes that add 1 this often.
fn adding(times: &[u32]) -> Program {
    let (mut program, _) = counter();
    let one = program.exprs.number(1, U3);
    for times in times {
        let code = (1..=*times).map(|next| add(&mut program, one, next)).collect();
        program.processes.push(Process { name: "P".to_string(), code });
    }
    program
}

/// That `x` is one of these, each as a goal.
fn goals(program: &mut Program, values: &[i64]) -> Vec<Goal> {
    let x = program.exprs.intern(Node::Var(VarId(0)), U3);
    for value in values {
        let value = program.exprs.number(*value, U3);
        let condition = program.exprs.equal(x, value);
        let (name, claim) = (String::new(), Claim::Reachable);
        program.properties.push(Property { name, claim, condition, span: 0..0 });
    }
    program.goals()
}

#[test]
fn levels_and_shortest_runs() {
    let mut program = adding(&[2, 1]);
    let goals = goals(&mut program, &[0, 2, 3, 4]);
    let all = enumerate(&program, &goals, 10, 100).unwrap();
    // Where both stand says what x is: 3 * 2 states.
    assert_eq!(all.levels, [1, 2, 2, 1]);
    assert_eq!((all.end, all.depth(), all.states()), (End::Exhausted, 3, 6));
    let steps: Vec<_> = (0..4).map(|goal| all.steps(goal)).collect();
    assert_eq!(steps, [Some(0), Some(2), Some(3), None]);
    assert_eq!(all.steps(4), None);
}

#[test]
fn a_space_ends_at_the_depth_only_if_there_is_more() {
    let program = adding(&[2, 1]);
    let end = |depth| enumerate(&program, &[], depth, 100).unwrap().end;
    assert_eq!((end(2), end(3), end(4)), (End::Depth, End::Exhausted, End::Exhausted));
    let all = enumerate(&program, &[], 0, 100).unwrap();
    assert_eq!((all.levels, all.end), (vec![1], End::Depth));
}

#[test]
fn too_many_states_end_the_search() {
    let mut program = adding(&[2, 1]);
    let goals = goals(&mut program, &[1, 3]);
    let all = enumerate(&program, &goals, 10, 4).unwrap();
    // The fifth state is found after two steps, so only up to one step all are known.
    assert_eq!((all.end, all.depth()), (End::Limit, 1));
    assert_eq!((all.steps(0), all.steps(1)), (Some(1), None));
    program.variables[0].initial = vec![None];
    let too_many = TooMany { what: "initial states", limit: 7 };
    assert_eq!(enumerate(&program, &goals, 10, 7).unwrap_err(), too_many);
}

#[test]
fn a_loop_is_a_finite_space() {
    let mut program = adding(&[1]);
    let one = program.exprs.number(3, U3);
    let looping = add(&mut program, one, 0);
    program.processes[0].code = vec![looping];
    let goals = goals(&mut program, &[1]);
    let all = enumerate(&program, &goals, 100, 100).unwrap();
    // 0, 3, 6, 1, 4, 7, 2, 5
    assert_eq!((all.end, all.depth(), all.steps(0)), (End::Exhausted, 7, Some(3)));
    assert_eq!(runs(&program, 20, 100), Ok(1));
}

#[test]
fn goals_with_inputs_and_unknown_values() {
    let (mut program, x) = counter();
    program.variables[0].initial = vec![None];
    let input = program.exprs.intern(Node::Input(0), U3);
    let mut only = add(&mut program, input, 1);
    only.inputs = vec![U3];
    only.guard = program.exprs.equal(x, input);
    let five = program.exprs.number(5, U3);
    let bad = program.exprs.equal(input, five);
    let what = crate::program::Checked::Assertion;
    only.checks.push(crate::program::Check { what, bad, span: 0..0 });
    program.processes.push(Process { name: "P".to_string(), code: vec![only] });
    let goals = program.goals();
    let all = enumerate(&program, &goals, 3, 100).unwrap();
    let found = all.found[0].as_ref().unwrap();
    assert_eq!((found.state.values[0], &found.inputs[..]), (5, &[5][..]));
    assert!(found.run.steps.is_empty());
    // One input each for eight values.
    assert_eq!(all.levels, [8, 4]);
    assert_eq!(runs(&program, 3, 100), Ok(8));
}

#[test]
fn runs_are_counted() {
    assert_eq!(runs(&adding(&[2, 1]), 10, 100), Ok(3));
    assert_eq!(runs(&adding(&[2, 2, 2]), 10, 100), Ok(90));
    // Two of three processes, in order; or one of them twice.
    assert_eq!(runs(&adding(&[2, 2, 2]), 2, 100), Ok(9));
    assert_eq!(runs(&adding(&[2, 2, 2]), 0, 100), Ok(1));
    // 40! / (20!)^2
    assert_eq!(runs(&adding(&[20, 20]), 40, 1000), Ok(137_846_528_820));
    assert!(runs(&adding(&[20, 20]), 40, 5).is_err());
    let mut count = 0;
    each_run(&adding(&[2, 2, 2]), 10, 90, |run, states| {
        assert_eq!((run.steps.len(), states.len()), (6, 7));
        count += 1;
    })
    .unwrap();
    assert_eq!(count, 90);
    let too_many = each_run(&adding(&[2, 2, 2]), 10, 89, |_, _| {});
    assert_eq!(too_many, Err(TooMany { what: "runs", limit: 89 }));
}

#[test]
fn without_steps_there_is_one_run() {
    let program = adding(&[]);
    assert_eq!(runs(&program, 5, 10), Ok(1));
    let all = enumerate(&program, &[], 5, 10).unwrap();
    assert_eq!((all.end, all.levels), (End::Exhausted, vec![1]));
}
