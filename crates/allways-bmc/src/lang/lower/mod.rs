//! From the tree to the program: what names and kinds mean, and the instructions.
//!
//! One [`Lowerer`] goes over the tree once, in the order in which things depend on each other: constants, the number of
//! processes, variables, the code of each process (a replicated one once for each replica, in which its number is a
//! constant), properties. What is wrong is reported and left out, and the next thing is looked at.

mod code;
mod declare;
mod expr;
mod index;
mod operator;
mod perform;
mod property;
mod step;

use super::ast::{self, Name};
use super::diagnostic::{Diagnostic, did_you_mean};
use super::lex::{Tok, Token};
use super::limits::{MAX_DIAGNOSTICS, MAX_EXPRESSIONS, MAX_TEXT, MAX_WORK};
use crate::program::{ExprId, Exprs, Instruction, Location, Program, Span, VarId, Variable};
use rustc_hash::{FxHashMap, FxHashSet};
use step::Step;

/// What could be lowered; otherwise an error has been reported.
type Lowered<T> = Result<T, Reported>;

/// An error has been reported.
#[derive(Debug)]
struct Reported;

/// Lowers a tree; `tokens` are those that it was made of.
pub fn lower<'a>(
    name: &str,
    source: &'a str,
    tokens: &[Token<'a>],
    tree: &ast::Source<'a>,
    constants: &[(String, i64)],
) -> Result<Program, Vec<Diagnostic>> {
    let mut exprs = Exprs::default();
    let step = Step::new(&mut exprs);
    let mut lowerer = Lowerer {
        source,
        tokens,
        exprs,
        variables: Vec::new(),
        globals: FxHashMap::default(),
        later: FxHashSet::default(),
        groups: Vec::new(),
        members: Vec::new(),
        bound: Vec::new(),
        process: None,
        mode: Mode::Constant,
        step,
        unreachable: false,
        code: Vec::new(),
        pending: Vec::new(),
        instructions: 0,
        work: 0,
        stopped: false,
        diagnostics: Vec::new(),
        known: FxHashSet::default(),
    };
    lowerer.declare(tree, constants);
    let processes = lowerer.processes(tree);
    let properties = lowerer.properties(tree);
    if !lowerer.diagnostics.is_empty() {
        return Err(lowerer.diagnostics);
    }
    let Lowerer { variables, exprs, .. } = lowerer;
    let ends = source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    let lines = ends.map(|(end, _)| end).collect();
    Ok(Program { name: name.to_owned(), variables, processes, properties, exprs, lines })
}

/// What is known while a tree is lowered.
struct Lowerer<'a, 't> {
    source: &'a str,
    tokens: &'t [Token<'a>],
    exprs: Exprs,
    variables: Vec<Variable>,
    globals: FxHashMap<&'a str, Global>,
    /// The names of all constants and shared variables, declared so far or not.
    later: FxHashSet<&'a str>,
    groups: Vec<Group<'a>>,
    members: Vec<Member<'a>>,
    /// The numbers of replicas and quantifiers that are visible.
    bound: Vec<(&'a str, i64)>,
    /// Of which process the code is.
    process: Option<usize>,
    mode: Mode,
    /// The instruction that is being made.
    step: Step,
    /// This code is never reached: its condition is a constant.
    unreachable: bool,
    code: Vec<Instruction>,
    /// Which places in which instructions go on at the next instruction.
    pending: Vec<(usize, usize)>,
    instructions: usize,
    work: usize,
    /// There is no point in going on.
    stopped: bool,
    diagnostics: Vec<Diagnostic>,
    known: FxHashSet<(String, usize)>,
}

/// A name that is visible everywhere.
struct Global {
    symbol: Symbol,
    span: Span,
}

/// What a name means.
#[derive(Clone, Copy)]
enum Symbol {
    Constant(i64),
    Variable(VarId),
    /// A place in the groups of processes.
    Processes(usize),
    /// Its declaration is wrong: what follows from that is not reported.
    Broken,
}

/// A process of the source.
struct Group<'a> {
    name: &'a str,
    /// Which replicas there are.
    replicas: Option<std::ops::Range<i64>>,
    /// The process that is its first replica.
    first: usize,
    /// Its place in the source.
    source: usize,
}

/// What a process has.
#[derive(Default)]
struct Member<'a> {
    /// What it is called in reports.
    name: String,
    /// Its variables, with their places.
    locals: FxHashMap<&'a str, (Symbol, Span)>,
    labels: FxHashMap<&'a str, (Location, Span)>,
    end: Location,
}

/// Where an expression is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Only constants are visible.
    Constant,
    /// In the code of a process: what is read is checked.
    Code,
    /// In a property: processes are visible, and nothing is checked.
    Property,
}

impl<'a> Lowerer<'a, '_> {
    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        let start = diagnostic.span.as_ref().map_or(usize::MAX, |span| span.start);
        if !self.stopped && self.known.insert((diagnostic.message.clone(), start)) {
            self.diagnostics.push(diagnostic);
            self.stopped |= self.diagnostics.len() >= MAX_DIAGNOSTICS;
        }
        Reported
    }

    /// Counts what is done, so that it ends.
    fn work(&mut self, amount: usize) -> Lowered<()> {
        if self.stopped {
            return Err(Reported);
        }
        self.work += amount;
        let message = if self.exprs.len() > MAX_EXPRESSIONS {
            format!("the program is too large: it has more than {MAX_EXPRESSIONS} expressions")
        } else if self.work > MAX_WORK {
            "the program is too large: too much is repeated".to_owned()
        } else {
            return Ok(());
        };
        Err(self.too_large(message))
    }

    /// Reports that the program is too large, and gives up.
    fn too_large(&mut self, message: String) -> Reported {
        let help = "use fewer processes, shorter ranges or smaller atomic blocks";
        let reported = self.report(Diagnostic::nowhere(message).help(help));
        self.stopped = true;
        reported
    }

    /// Whether what is lowered is never evaluated: what would be wrong with its values is not.
    fn is_dead(&self) -> bool {
        self.unreachable || self.exprs.constant(self.step.path) == Some(0)
    }

    fn truth(&mut self) -> ExprId {
        self.exprs.truth(true)
    }

    fn in_mode<T>(&mut self, mode: Mode, inner: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.mode, mode);
        let result = inner(self);
        self.mode = before;
        result
    }

    /// The source at a place, in one line and without comments.
    fn text(&self, span: &Span) -> String {
        let first = self.tokens.partition_point(|token| token.span.start < span.start);
        let mut text = String::new();
        let mut end = span.start;
        for token in &self.tokens[first..] {
            if token.span.end > span.end || token.tok == Tok::End {
                break;
            }
            if text.len() > MAX_TEXT {
                text.push_str(" …");
                break;
            }
            if token.span.start > end && !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&self.source[token.span.clone()]);
            end = token.span.end;
        }
        text
    }

    /// What the name means here.
    fn resolve(&mut self, name: Name<'a>) -> Lowered<Symbol> {
        if let Some((_, value)) = self.bound.iter().rev().find(|(bound, _)| *bound == name.text) {
            return Ok(Symbol::Constant(*value));
        }
        let local = self.process.and_then(|process| self.members[process].locals.get(name.text));
        let global = self.globals.get(name.text).map(|global| global.symbol);
        match local.map(|(symbol, _)| *symbol).or(global) {
            None => Err(self.unknown(name)),
            Some(Symbol::Broken) => Err(Reported),
            Some(Symbol::Variable(_)) if self.mode == Mode::Constant => {
                let message = format!("`{}` is no constant", name.text);
                let label = "a constant is needed here";
                Err(self.report(Diagnostic::new(message, name.span(), label)))
            }
            Some(symbol @ (Symbol::Constant(_) | Symbol::Variable(_))) => Ok(symbol),
            Some(Symbol::Processes(_)) => {
                let message = format!("`{}` is a process, and has no value", name.text);
                let diagnostic = Diagnostic::new(message, name.span(), "this is a process");
                let help = "its variables are `P.x` or `P[0].x`, and where it stands is `P@label`";
                Err(self.report(diagnostic.help(help)))
            }
        }
    }

    fn unknown(&mut self, name: Name<'a>) -> Reported {
        let owner = self.members.iter().find(|member| member.locals.contains_key(name.text));
        let help = match owner {
            Some(owner) if self.mode == Mode::Property => {
                Some(format!("the variable of a process is `{}.{}`", owner.name, name.text))
            }
            Some(owner) => Some(format!("`{}` is a variable of `{}` only", name.text, owner.name)),
            None if self.later.contains(name.text) => {
                Some("a constant can only use constants that are declared before it".to_owned())
            }
            None => did_you_mean(name.text, self.visible()),
        };
        let message = format!("unknown name `{}`", name.text);
        let diagnostic = Diagnostic::new(message, name.span(), "nothing is called so here");
        self.report(diagnostic.maybe_help(help))
    }

    /// The names that have a value here.
    fn visible(&self) -> Vec<&'a str> {
        let mut names: Vec<&'a str> = self.bound.iter().map(|(name, _)| *name).collect();
        let constant = self.mode == Mode::Constant;
        let fits = |symbol: &Symbol| match symbol {
            Symbol::Constant(_) => true,
            Symbol::Processes(_) => self.mode == Mode::Property,
            Symbol::Variable(_) | Symbol::Broken => !constant,
        };
        names.extend(self.globals.iter().filter(|(_, g)| fits(&g.symbol)).map(|(name, _)| *name));
        if let Some(process) = self.process.filter(|_| !constant) {
            names.extend(self.members[process].locals.keys().copied());
        }
        names.sort_unstable();
        names
    }

    fn variable(&self, id: VarId) -> &Variable {
        &self.variables[id.0 as usize]
    }
}
