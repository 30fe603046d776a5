//! Whether the parts of a program fit together: kinds, ranges, places.

use allways_bmc::program::{Binary, ExprId, Kind, Node, Program, Role, Unary};
use proptest::prelude::*;

/// Fails if they do not.
pub fn check(program: &Program) -> Result<(), TestCaseError> {
    for process in &program.processes {
        for instruction in &process.code {
            let inputs = &instruction.inputs;
            let mut conditions = vec![instruction.guard];
            conditions.extend(instruction.next.iter().map(|(condition, _)| *condition));
            conditions.extend(instruction.checks.iter().map(|check| check.bad));
            conditions.extend(instruction.updates.iter().map(|update| update.when));
            for condition in conditions {
                prop_assert_eq!(expr(program, inputs, condition)?, Kind::Bool);
            }
            for update in &instruction.updates {
                let variable = program.variable(update.variable);
                prop_assert_eq!(expr(program, inputs, update.value)?, variable.kind);
                prop_assert_eq!(variable.length.is_some(), update.index.is_some());
                if let Some(index) = update.index {
                    prop_assert_ne!(expr(program, inputs, index)?, Kind::Bool);
                }
            }
            let last = instruction.next.last();
            prop_assert_eq!(last.and_then(|next| program.exprs.constant(next.0)), Some(1));
            let end = process.code.len();
            prop_assert!(instruction.next.iter().all(|(_, to)| *to as usize <= end));
        }
    }
    for property in &program.properties {
        prop_assert_eq!(expr(program, &[], property.condition)?, Kind::Bool);
    }
    for variable in &program.variables {
        let (least, most) = variable.kind.range();
        prop_assert_eq!(variable.initial.len(), variable.length.unwrap_or(1) as usize);
        for value in variable.initial.iter().flatten() {
            prop_assert!((least..=most).contains(value));
        }
        prop_assert!(variable.role == Role::Data || most >= program.processes.len() as i64);
    }
    Ok(())
}

/// The kind of an expression, of which all parts fit together.
fn expr(program: &Program, inputs: &[Kind], id: ExprId) -> Result<Kind, TestCaseError> {
    let kind = program.exprs.kind(id);
    let of = |id| expr(program, inputs, id);
    match program.exprs.node(id) {
        Node::Const(value) => {
            let (least, most) = kind.range();
            prop_assert!((least..=most).contains(&value));
        }
        Node::Var(variable) => {
            prop_assert_eq!(program.variable(variable).kind, kind);
            prop_assert_eq!(program.variable(variable).length, None);
        }
        Node::Element(variable, index) => {
            prop_assert_eq!(program.variable(variable).kind, kind);
            prop_assert!(program.variable(variable).length.is_some());
            prop_assert_ne!(of(index)?, Kind::Bool);
        }
        Node::Input(place) => prop_assert_eq!(inputs.get(place as usize), Some(&kind)),
        Node::At(process, location) => {
            let code = &program.processes[process as usize].code;
            prop_assert!(location as usize <= code.len() && kind == Kind::Bool);
        }
        Node::Unary(Unary::Cast, a) => {
            of(a)?;
        }
        Node::Unary(operator, a) => {
            prop_assert_eq!(of(a)?, kind);
            prop_assert_eq!(operator == Unary::Not, kind == Kind::Bool);
        }
        Node::Binary(Binary::And | Binary::Or, a, b) => {
            prop_assert_eq!((of(a)?, of(b)?, kind), (Kind::Bool, Kind::Bool, Kind::Bool));
        }
        Node::Binary(Binary::Equal, a, b) => {
            prop_assert_eq!((of(a)?, kind), (of(b)?, Kind::Bool));
        }
        Node::Binary(Binary::Less, a, b) => {
            prop_assert_eq!((of(a)?, kind), (of(b)?, Kind::Bool));
            prop_assert_ne!(of(a)?, Kind::Bool);
        }
        Node::Binary(Binary::ShiftLeft | Binary::ShiftRight, a, b) => {
            prop_assert_eq!(of(a)?, kind);
            prop_assert!(kind != Kind::Bool && of(b)? != Kind::Bool);
        }
        Node::Binary(_, a, b) => {
            prop_assert_eq!((of(a)?, of(b)?), (kind, kind));
            prop_assert_ne!(kind, Kind::Bool);
        }
        Node::If(a, b, c) => {
            prop_assert_eq!((of(a)?, of(b)?, of(c)?), (Kind::Bool, kind, kind));
        }
    }
    Ok(kind)
}
