//! What programs are made from: numbers and lists that mean something whatever they are.

use super::Size;
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;

/// A program.
#[derive(Clone, Debug)]
pub struct Plan {
    pub variables: Vec<Declared>,
    pub arrays: Vec<(Declared, u8)>,
    pub lock: bool,
    pub processes: Vec<ProcessPlan>,
    /// Which claim (of three), and about what; with two conditions it is harder to find what is looked for.
    pub properties: Vec<(u8, Term, Option<Term>)>,
}

/// A variable: which kind, and its value at the start, if that is known.
pub type Declared = (u8, Option<i8>);

/// A process: its own variable, and its code.
#[derive(Clone, Debug)]
pub struct ProcessPlan {
    pub own: Option<Declared>,
    pub code: Vec<InstructionPlan>,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct InstructionPlan {
    pub guard: Option<Term>,
    pub updates: Vec<UpdatePlan>,
    /// Under which condition to go where.
    pub branch: Option<(Term, u8)>,
    /// Where to go otherwise; the next instruction if there is nothing.
    pub jump: Option<u8>,
    /// Which kind the input has.
    pub input: Option<u8>,
    pub assertion: Option<Term>,
    /// `true` takes the lock, `false` gives it back.
    pub lock: Option<bool>,
}

/// An update.
#[derive(Clone, Debug)]
pub struct UpdatePlan {
    pub variable: u8,
    pub index: Term,
    pub when: Option<Term>,
    pub value: Term,
}

/// An expression, of whatever kind is wanted.
#[derive(Clone, Debug)]
pub enum Term {
    Number(i8),
    /// A variable, and which element if it is an array.
    Variable(u8, Box<Term>),
    Input,
    At(u8, u8),
    Unary(u8, Box<Term>),
    Binary(u8, Box<Term>, Box<Term>),
    /// A comparison of two values of some kind.
    Compare(u8, u8, Box<Term>, Box<Term>),
    /// A value of some kind, as another one.
    Cast(u8, Box<Term>),
    If(Box<Term>, Box<Term>, Box<Term>),
}

fn number() -> impl Strategy<Value = i8> {
    -4..8_i8
}

fn variable() -> impl Strategy<Value = Term> + Clone {
    let index = (0..3_i8).prop_map(|index| Box::new(Term::Number(index)));
    (any::<u8>(), index).prop_map(|(which, index)| Term::Variable(which, index))
}

fn at() -> impl Strategy<Value = Term> + Clone {
    (0..3_u8, 0..6_u8).prop_map(|(process, location)| Term::At(process, location))
}

fn leaf() -> impl Strategy<Value = Term> + Clone {
    prop_oneof![
        3 => number().prop_map(Term::Number),
        5 => variable(),
        1 => Just(Term::Input),
        1 => at(),
    ]
}

fn term() -> impl Strategy<Value = Term> + Clone {
    leaf().prop_recursive(3, 8, 3, |inner| {
        let inner = inner.prop_map(Box::new).boxed();
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            2 => (any::<u8>(), inner.clone()).prop_map(|(v, index)| Term::Variable(v, index)),
            1 => (any::<u8>(), inner.clone()).prop_map(|(o, a)| Term::Unary(o, a)),
            5 => (any::<u8>(), two.clone()).prop_map(|(o, (a, b))| Term::Binary(o, a, b)),
            2 => (any::<u8>(), any::<u8>(), two)
                .prop_map(|(o, kind, (a, b))| Term::Compare(o, kind, a, b)),
            1 => (any::<u8>(), inner.clone()).prop_map(|(kind, a)| Term::Cast(kind, a)),
            1 => (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| Term::If(a, b, c)),
        ]
    })
}

/// A condition that is likely to hold in some states and not in others.
fn condition() -> impl Strategy<Value = Term> + Clone {
    let compare = (any::<u8>(), any::<u8>(), variable(), leaf());
    prop_oneof![
        3 => compare.prop_map(|(o, kind, a, b)| Term::Compare(o, kind, Box::new(a), Box::new(b))),
        1 => term(),
    ]
}

fn declared() -> impl Strategy<Value = Declared> {
    (any::<u8>(), weighted(0.85, number()))
}

/// What a variable becomes: often somewhat more than another one, so that loops count.
fn value() -> impl Strategy<Value = Term> {
    let sum = (variable(), prop_oneof![Just(Term::Number(1)), leaf()]);
    prop_oneof![
        2 => term(),
        1 => sum.prop_map(|(a, b)| Term::Binary(0, Box::new(a), Box::new(b))),
    ]
}

fn update() -> impl Strategy<Value = UpdatePlan> {
    (any::<u8>(), leaf(), weighted(0.25, condition()), value())
        .prop_map(|(variable, index, when, value)| UpdatePlan { variable, index, when, value })
}

fn instruction() -> impl Strategy<Value = InstructionPlan> {
    let updates =
        prop_oneof![1 => vec(update(), 0..1), 5 => vec(update(), 1..2), 2 => vec(update(), 2..3)];
    let branch = weighted(0.25, (condition(), 0..6_u8));
    (
        weighted(0.12, condition()),
        updates,
        branch,
        weighted(0.2, 0..6_u8),
        weighted(0.15, any::<u8>()),
        weighted(0.2, condition()),
        weighted(0.25, proptest::bool::weighted(0.4)),
    )
        .prop_map(|(guard, updates, branch, jump, input, assertion, lock)| InstructionPlan {
            guard,
            updates,
            branch,
            jump,
            input,
            assertion,
            lock,
        })
}

fn process(instructions: usize) -> impl Strategy<Value = ProcessPlan> {
    (weighted(0.4, declared()), vec(instruction(), 2..=instructions.max(2)))
        .prop_map(|(own, code)| ProcessPlan { own, code })
}

/// Plans of programs of this size.
pub fn plans(size: Size) -> impl Strategy<Value = Plan> {
    (
        vec(declared(), 1..=3),
        vec((declared(), 1..4_u8), 0..=1),
        any::<bool>(),
        vec(process(size.instructions), 2..=size.processes.max(2)),
        vec((0..3_u8, condition(), weighted(0.7, prop_oneof![condition(), at()])), 2..=3),
    )
        .prop_map(|(variables, arrays, lock, processes, properties)| Plan {
            variables,
            arrays,
            lock,
            processes,
            properties,
        })
}
