//! Programs as a person reads them, to see what failed.

use allways_bmc::program::{Binary, ExprId, Instruction, Node, Program, Unary};
use std::fmt::Write;

/// A whole program.
pub fn program(program: &Program) -> String {
    let mut text = String::new();
    for variable in &program.variables {
        let length = variable.length.map_or(String::new(), |length| format!("[{length}]"));
        let initial = variable.initial.iter().map(|value| match value {
            Some(value) => value.to_string(),
            None => "?".to_string(),
        });
        let initial: Vec<String> = initial.collect();
        let (name, kind) = (&variable.name, variable.kind);
        let _ = writeln!(text, "\n  {kind} {name}{length} = {}", initial.join(", "));
    }
    for process in &program.processes {
        let _ = writeln!(text, "  process {}", process.name);
        for (location, instruction) in process.code.iter().enumerate() {
            let _ = write!(text, "    {location}: {}", instruction.text);
            for check in &instruction.checks {
                let bad = expr(program, check.bad);
                let _ = write!(text, " [{} fails if {bad}]", check.what);
            }
            text.push('\n');
        }
    }
    for property in &program.properties {
        let condition = expr(program, property.condition);
        let _ = writeln!(text, "  {}: {:?} {condition}", property.name, property.claim);
    }
    text.replace("\n\n", "\n")
}

/// An instruction in one line.
pub fn instruction(program: &Program, location: usize, instruction: &Instruction) -> String {
    let mut parts = Vec::new();
    let constant = |id: ExprId| program.exprs.constant(id);
    for (place, kind) in instruction.inputs.iter().enumerate() {
        parts.push(format!("{kind} in{place}"));
    }
    if constant(instruction.guard) != Some(1) {
        parts.push(format!("await {}", expr(program, instruction.guard)));
    }
    for update in &instruction.updates {
        let mut text = String::new();
        if constant(update.when) != Some(1) {
            let _ = write!(text, "if {}: ", expr(program, update.when));
        }
        text.push_str(&program.variable(update.variable).name);
        if let Some(index) = update.index {
            let _ = write!(text, "[{}]", expr(program, index));
        }
        let _ = write!(text, " = {}", expr(program, update.value));
        parts.push(text);
    }
    for (condition, to) in &instruction.next {
        match constant(*condition) {
            Some(1) if *to as usize == location + 1 => {}
            Some(1) => parts.push(format!("goto {to}")),
            _ => parts.push(format!("if {} goto {to}", expr(program, *condition))),
        }
    }
    if parts.is_empty() { "skip".to_string() } else { parts.join("; ") }
}

/// An expression.
pub fn expr(program: &Program, id: ExprId) -> String {
    let of = |id| expr(program, id);
    match program.exprs.node(id) {
        Node::Const(value) => value.to_string(),
        Node::Var(variable) => program.variable(variable).name.clone(),
        Node::Element(array, index) => format!("{}[{}]", program.variable(array).name, of(index)),
        Node::Input(place) => format!("in{place}"),
        Node::At(process, location) => format!("P{process}@{location}"),
        Node::Unary(Unary::Cast, a) => format!("{}({})", program.exprs.kind(id), of(a)),
        Node::Unary(operator, a) => {
            let sign = match operator {
                Unary::Not => "!",
                Unary::Negate => "-",
                _ => "~",
            };
            format!("{sign}{}", of(a))
        }
        Node::Binary(operator, a, b) => {
            let sign = match operator {
                Binary::And => "&&",
                Binary::Or => "||",
                Binary::Add => "+",
                Binary::Subtract => "-",
                Binary::Multiply => "*",
                Binary::Divide => "/",
                Binary::Remainder => "%",
                Binary::BitAnd => "&",
                Binary::BitOr => "|",
                Binary::BitXor => "^",
                Binary::ShiftLeft => "<<",
                Binary::ShiftRight => ">>",
                Binary::Equal => "==",
                Binary::Less => "<",
            };
            format!("({} {sign} {})", of(a), of(b))
        }
        Node::If(a, b, c) => format!("({} ? {} : {})", of(a), of(b), of(c)),
    }
}
