//! Makes a program of a plan.

use super::Size;
use super::plan::{Declared, InstructionPlan, Plan, Term};
use super::show;
use allways_bmc::program::{
    Binary, Check, Checked, Claim, ExprId, Instruction, Kind, Location, Node, Process, Program,
    Property, Role, Unary, Update, VarId, Variable,
};

/// All kinds that variables have.
const KINDS: [Kind; 6] = [
    Kind::Int { bits: 2, signed: false },
    Kind::Int { bits: 1, signed: false },
    Kind::Int { bits: 3, signed: false },
    Kind::Int { bits: 2, signed: true },
    Kind::Int { bits: 3, signed: true },
    Kind::Bool,
];

/// Operators of numbers, the plain ones more than once.
const OPERATORS: [Binary; 13] = [
    Binary::Add,
    Binary::Add,
    Binary::Subtract,
    Binary::Multiply,
    Binary::Divide,
    Binary::Remainder,
    Binary::BitAnd,
    Binary::BitOr,
    Binary::BitXor,
    Binary::ShiftLeft,
    Binary::ShiftRight,
    Binary::Add,
    Binary::Subtract,
];

fn kind(which: u8) -> Kind {
    KINDS[usize::from(which) % KINDS.len()]
}

fn kind_of_number(which: u8) -> Kind {
    KINDS[usize::from(which) % (KINDS.len() - 1)]
}

impl Plan {
    /// The program.
    pub fn program(&self, size: Size) -> Program {
        let mut program = Program { name: "sample".to_string(), ..Program::default() };
        for (place, declared) in self.variables.iter().enumerate() {
            program.variables.push(variable(format!("x{place}"), None, *declared, None));
        }
        for (place, (declared, length)) in self.arrays.iter().enumerate() {
            let name = format!("B{place}");
            program.variables.push(variable(name, None, *declared, Some(u32::from(*length))));
        }
        for (number, process) in self.processes.iter().enumerate() {
            let own =
                process.own.map(|own| variable(format!("P{number}.y"), Some(number), own, None));
            program.variables.extend(own);
        }
        if self.lock {
            let number = (2, Some(0));
            let lock = variable("lock".to_string(), None, number, None);
            program.variables.push(Variable { role: Role::Lock, ..lock });
        }
        let lengths: Vec<usize> = self.processes.iter().map(|process| process.code.len()).collect();
        for (number, process) in self.processes.iter().enumerate() {
            let mut code = Vec::new();
            for (location, planned) in process.code.iter().enumerate() {
                let mut builder = Builder::new(&mut program, &lengths, Some(number), size.at);
                code.push(builder.instruction(location, planned));
            }
            program.processes.push(Process { name: format!("P{number}"), code });
        }
        for (place, (claim, condition, other)) in self.properties.iter().enumerate() {
            let claim = [Claim::Never, Claim::Always, Claim::Reachable][usize::from(*claim) % 3];
            let mut builder = Builder::new(&mut program, &lengths, None, true);
            let mut condition = builder.term(condition, Kind::Bool);
            if let Some(other) = other {
                let other = builder.term(other, Kind::Bool);
                condition = match claim {
                    Claim::Always => program.exprs.or(condition, other),
                    Claim::Never | Claim::Reachable => program.exprs.and(condition, other),
                };
            }
            let name = format!("property {place}");
            program.properties.push(Property { name, claim, condition, span: 0..0 });
        }
        program
    }
}

fn variable(
    name: String,
    owner: Option<usize>,
    declared: Declared,
    length: Option<u32>,
) -> Variable {
    let kind = kind(declared.0);
    let count = length.unwrap_or(1) as usize;
    // Elements differ from each other. Of an array only the first one is unknown: there would be too many states.
    let known =
        |element: usize| Some(kind.wrap(i64::from(declared.1.unwrap_or(0)) + element as i64));
    let mut initial: Vec<Option<i64>> = (0..count).map(known).collect();
    if declared.1.is_none() {
        initial[0] = None;
    }
    Variable { name, owner, kind, length, initial, role: Role::Data, span: 0..0 }
}

/// Makes the expressions of one instruction or property.
struct Builder<'a> {
    program: &'a mut Program,
    /// How many instructions each process has.
    lengths: &'a [usize],
    process: Option<usize>,
    at: bool,
    input: Option<Kind>,
    /// Variables that may be read; arrays too.
    readable: Vec<VarId>,
    /// When an index is outside its array.
    outside: Vec<ExprId>,
}

impl<'a> Builder<'a> {
    fn new(
        program: &'a mut Program,
        lengths: &'a [usize],
        process: Option<usize>,
        at: bool,
    ) -> Self {
        // A process sees what is shared and what is its own; a property sees everything, locks as well.
        let is_readable = |variable: &Variable| match process {
            None => true,
            Some(_) if variable.role == Role::Lock => false,
            Some(_) => variable.owner.is_none() || variable.owner == process,
        };
        let variables = program.variables.iter().enumerate();
        let readable = variables.filter(|(_, variable)| is_readable(variable));
        let readable = readable.map(|(place, _)| VarId(place as u32)).collect();
        Builder { program, lengths, process, at, input: None, readable, outside: Vec::new() }
    }

    fn instruction(&mut self, location: usize, planned: &InstructionPlan) -> Instruction {
        let always = self.program.exprs.truth(true);
        let end = self.lengths[self.process.unwrap_or(0)];
        let to = |place: u8| (usize::from(place) % (end + 1)) as Location;
        self.input = planned.input.map(kind);
        let mut guard = planned.guard.as_ref().map_or(always, |guard| self.term(guard, Kind::Bool));
        let mut updates = Vec::new();
        for update in &planned.updates {
            let target = self.readable[usize::from(update.variable) % self.readable.len()];
            let when = update.when.as_ref().map_or(always, |when| self.term(when, Kind::Bool));
            let value = self.term(&update.value, self.program.variable(target).kind);
            let index = self.index(target, &update.index);
            updates.push(Update { variable: target, index, when, value });
        }
        let mut next = Vec::new();
        if let Some((condition, place)) = &planned.branch {
            next.push((self.term(condition, Kind::Bool), to(*place)));
        }
        next.push((always, planned.jump.map_or(location as Location + 1, to)));
        let mut checks = Vec::new();
        if let Some(assertion) = &planned.assertion {
            let holds = self.term(assertion, Kind::Bool);
            checks.push((Checked::Assertion, self.program.exprs.not(holds)));
        }
        self.outside.truncate(2);
        checks.extend(self.outside.drain(..).map(|outside| (Checked::Index, outside)));
        if let Some(take) = planned.lock {
            self.lock(take, &mut guard, &mut updates, &mut checks);
        }
        let checks =
            checks.into_iter().map(|(what, bad)| Check { what, bad, span: 0..0 }).collect();
        let inputs = self.input.into_iter().collect();
        let mut made =
            Instruction { guard, updates, next, inputs, checks, text: String::new(), span: 0..0 };
        made.text = show::instruction(self.program, location, &made);
        made
    }

    /// Takes the lock or gives it back, if there is one.
    fn lock(
        &mut self,
        take: bool,
        guard: &mut ExprId,
        updates: &mut Vec<Update>,
        checks: &mut Vec<(Checked, ExprId)>,
    ) {
        let is_lock = |variable: &Variable| variable.role == Role::Lock;
        let Some(place) = self.program.variables.iter().position(is_lock) else { return };
        let (variable, kind) = (VarId(place as u32), self.program.variables[place].kind);
        let exprs = &mut self.program.exprs;
        let always = exprs.truth(true);
        let lock = exprs.intern(Node::Var(variable), kind);
        let free = exprs.number(0, kind);
        let mine = exprs.number(self.process.unwrap_or(0) as i64 + 1, kind);
        let (from, to) = if take { (free, mine) } else { (mine, free) };
        let expected = exprs.equal(lock, from);
        if take {
            *guard = exprs.and(expected, *guard);
        } else {
            checks.push((Checked::Unlock, exprs.not(expected)));
        }
        updates.push(Update { variable, index: None, when: always, value: to });
    }

    /// The index of an element, if the variable is an array.
    fn index(&mut self, variable: VarId, index: &Term) -> Option<ExprId> {
        let length = i64::from(self.program.variable(variable).length?);
        // Of the kind of what is read, or of one that has indices outside.
        let kind = match index {
            Term::Variable(which, _) => self.kind_of(*which),
            Term::Number(_) => KINDS[0],
            _ => KINDS[4],
        };
        let index = self.term(index, kind);
        let exprs = &mut self.program.exprs;
        let (least, most) = kind.range();
        let mut outside = exprs.truth(false);
        if most >= length {
            let last = exprs.number(length - 1, kind);
            outside = exprs.intern(Node::Binary(Binary::Less, last, index), Kind::Bool);
        }
        if least < 0 {
            let zero = exprs.number(0, kind);
            let negative = exprs.intern(Node::Binary(Binary::Less, index, zero), Kind::Bool);
            outside = exprs.or(negative, outside);
        }
        if let Some(index) = exprs.constant(index) {
            outside = exprs.truth(!(0..length).contains(&index));
        }
        if exprs.constant(outside) != Some(0) && !self.outside.contains(&outside) {
            self.outside.push(outside);
        }
        Some(index)
    }

    /// The kind of a variable, or that of some number if it is a `bool`.
    fn kind_of(&self, which: u8) -> Kind {
        let variable = self.readable[usize::from(which) % self.readable.len()];
        match self.program.variable(variable).kind {
            Kind::Bool => KINDS[0],
            kind => kind,
        }
    }

    /// An expression as one of another kind.
    fn cast(&mut self, expr: ExprId, wanted: Kind) -> ExprId {
        if self.program.exprs.kind(expr) == wanted {
            return expr;
        }
        self.program.exprs.intern(Node::Unary(Unary::Cast, expr), wanted)
    }

    /// The expression, of the kind that is wanted.
    fn term(&mut self, term: &Term, wanted: Kind) -> ExprId {
        match term {
            Term::Number(value) => self.program.exprs.number(i64::from(*value), wanted),
            Term::Variable(which, index) => {
                let variable = self.readable[usize::from(*which) % self.readable.len()];
                let node = match self.index(variable, index) {
                    Some(index) => Node::Element(variable, index),
                    None => Node::Var(variable),
                };
                let kind = self.program.variable(variable).kind;
                let expr = self.program.exprs.intern(node, kind);
                self.cast(expr, wanted)
            }
            Term::Input => match self.input {
                Some(kind) => {
                    let expr = self.program.exprs.intern(Node::Input(0), kind);
                    self.cast(expr, wanted)
                }
                None => self.program.exprs.number(1, wanted),
            },
            Term::At(process, location) if self.at => {
                let process = usize::from(*process) % self.lengths.len();
                let location = usize::from(*location) % (self.lengths[process] + 1);
                let node = Node::At(process as u32, location as Location);
                let expr = self.program.exprs.intern(node, Kind::Bool);
                self.cast(expr, wanted)
            }
            Term::At(..) => self.program.exprs.number(0, wanted),
            Term::Unary(which, a) => {
                let a = self.term(a, wanted);
                let operator = match wanted {
                    Kind::Bool => return self.program.exprs.not(a),
                    Kind::Int { .. } if which % 2 == 0 => Unary::Negate,
                    Kind::Int { .. } => Unary::Complement,
                };
                self.program.exprs.intern(Node::Unary(operator, a), wanted)
            }
            Term::Binary(which, a, b) if wanted == Kind::Bool => {
                let (a, b) = (self.term(a, wanted), self.term(b, wanted));
                match which % 2 {
                    0 => self.program.exprs.and(a, b),
                    _ => self.program.exprs.or(a, b),
                }
            }
            Term::Binary(which, a, b) => {
                let operator = OPERATORS[usize::from(*which) % OPERATORS.len()];
                let shifts = matches!(operator, Binary::ShiftLeft | Binary::ShiftRight);
                let a = self.term(a, wanted);
                let b = self.term(b, if shifts { kind_of_number(*which) } else { wanted });
                self.program.exprs.intern(Node::Binary(operator, a, b), wanted)
            }
            Term::Compare(which, of, a, b) => {
                let equals = which % 2 == 0;
                let of = match a.as_ref() {
                    Term::Variable(variable, _) => self.kind_of(*variable),
                    _ if equals => kind(*of),
                    _ => kind_of_number(*of),
                };
                let (a, b) = (self.term(a, of), self.term(b, of));
                let expr = if equals || a == b {
                    self.program.exprs.equal(a, b)
                } else {
                    self.program.exprs.intern(Node::Binary(Binary::Less, a, b), Kind::Bool)
                };
                self.cast(expr, wanted)
            }
            Term::Cast(of, a) => {
                let a = self.term(a, kind(*of));
                self.cast(a, wanted)
            }
            Term::If(condition, then, otherwise) => {
                let condition = self.term(condition, Kind::Bool);
                let (then, otherwise) = (self.term(then, wanted), self.term(otherwise, wanted));
                self.program.exprs.either(condition, then, otherwise)
            }
        }
    }
}
