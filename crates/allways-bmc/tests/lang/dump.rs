//! A program as text, short enough to compare.

use allways_bmc::program::{Binary, ExprId, Instruction, Node, Program, Unary};

/// An expression.
pub fn expr(program: &Program, id: ExprId) -> String {
    let sub = |id| expr(program, id);
    let name = |id| program.variable(id).name.clone();
    let kind = program.exprs.kind(id);
    match program.exprs.node(id) {
        Node::Const(value) if kind.bits() == 1 && !kind.to_string().contains('<') => {
            (value == 1).to_string()
        }
        Node::Const(value) => value.to_string(),
        Node::Var(id) => name(id),
        Node::Element(id, index) => format!("{}[{}]", name(id), sub(index)),
        Node::Input(number) => format!("${number}"),
        Node::At(process, location) => {
            format!("{}@{location}", program.processes[process as usize].name)
        }
        Node::Unary(op, a) => match op {
            Unary::Not => format!("!{}", sub(a)),
            Unary::Negate => format!("-{}", sub(a)),
            Unary::Complement => format!("~{}", sub(a)),
            Unary::Cast => format!("{kind}({})", sub(a)),
        },
        Node::Binary(op, a, b) => {
            let op = match op {
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
            format!("({} {op} {})", sub(a), sub(b))
        }
        Node::If(c, a, b) => format!("({} ? {} : {})", sub(c), sub(a), sub(b)),
    }
}

/// An instruction, without what it does not have.
pub fn instruction(program: &Program, instruction: &Instruction) -> String {
    let show = |id| expr(program, id);
    let mut parts = vec![format!("`{}`", instruction.text)];
    if !instruction.inputs.is_empty() {
        let kinds: Vec<_> = instruction.inputs.iter().map(ToString::to_string).collect();
        parts.push(format!("any {}", kinds.join(" ")));
    }
    if program.exprs.constant(instruction.guard) != Some(1) {
        parts.push(format!("when {}", show(instruction.guard)));
    }
    for update in &instruction.updates {
        let index = update.index.map_or(String::new(), |index| format!("[{}]", show(index)));
        let name = &program.variable(update.variable).name;
        let mut text = format!("{name}{index} = {}", show(update.value));
        if program.exprs.constant(update.when) != Some(1) {
            text += &format!(" if {}", show(update.when));
        }
        parts.push(text);
    }
    for check in &instruction.checks {
        parts.push(format!("{} {}", check.what, show(check.bad)));
    }
    let next: Vec<_> = (instruction.next.iter())
        .map(|(condition, location)| match program.exprs.constant(*condition) {
            Some(1) => location.to_string(),
            _ => format!("{location} if {}", show(*condition)),
        })
        .collect();
    parts.push(format!("-> {}", next.join(", ")));
    parts.join("; ")
}

/// All processes.
pub fn code(program: &Program) -> String {
    let mut text = String::new();
    for process in &program.processes {
        text += &format!("{}\n", process.name);
        for (location, code) in process.code.iter().enumerate() {
            text += &format!("  {location} {}\n", instruction(program, code));
        }
    }
    text
}

/// All variables.
pub fn variables(program: &Program) -> String {
    let mut text = String::new();
    for variable in &program.variables {
        let length = variable.length.map_or(String::new(), |length| format!("[{length}]"));
        let initial: Vec<_> = (variable.initial.iter())
            .map(|value| value.map_or("*".to_owned(), |value| value.to_string()))
            .collect();
        let (kind, name) = (variable.kind, &variable.name);
        text += &format!("{:?} {kind} {name}{length} = {}\n", variable.role, initial.join(" "));
    }
    text
}

/// All properties.
pub fn properties(program: &Program) -> String {
    let mut text = String::new();
    for property in &program.properties {
        let (claim, name) = (property.claim, &property.name);
        text += &format!("{claim:?} {name}: {}\n", expr(program, property.condition));
    }
    text
}
