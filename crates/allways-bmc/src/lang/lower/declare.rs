//! Declarations: constants, processes, variables and their initial values.

use super::{Global, Group, Lowered, Lowerer, Member, Mode, Reported, Symbol};
use crate::lang::ast::{self, Action, Declaration, Declared, Initial, Name, Place, Statement};
use crate::lang::diagnostic::{Diagnostic, did_you_mean};
use crate::lang::limits::{MAX_ELEMENTS, MAX_PROCESSES, MAX_VALUES};
use crate::program::{Kind, Role, VarId, Variable};

impl<'a> Lowerer<'a, '_> {
    /// Everything that is declared.
    pub(super) fn declare(&mut self, tree: &ast::Source<'a>, constants: &[(String, i64)]) {
        self.mode = Mode::Constant;
        self.constants(tree, constants);
        self.groups(tree);
        for declaration in &tree.variables {
            self.shared(declaration);
        }
        for (place, value, _) in &tree.initial {
            let _ = self.initial(place, value);
        }
        for range in tree.processes.iter().filter_map(|process| process.replicas.as_ref()) {
            let _ = self.fresh(range.name);
        }
        self.locals(tree);
    }

    fn constants(&mut self, tree: &ast::Source<'a>, constants: &[(String, i64)]) {
        let names = || tree.constants.iter().map(|(name, _)| name.text);
        for (name, _) in constants {
            if !names().any(|known| known == name) {
                let all: Vec<_> = names().take(10).map(|name| format!("`{name}`")).collect();
                let help = did_you_mean(name, names())
                    .or((!all.is_empty()).then(|| format!("there are {}", all.join(", "))));
                let message = format!("there is no constant `{name}`");
                self.report(Diagnostic::nowhere(message).maybe_help(help));
            }
        }
        self.later.extend(tree.constants.iter().map(|(name, _)| name.text));
        let variables = tree.variables.iter().flat_map(|declaration| &declaration.variables);
        self.later.extend(variables.map(|declared| declared.name.text));
        for (name, expr) in &tree.constants {
            // What is declared is looked at even if it is not used.
            let declared = self.constant(expr);
            let given = constants.iter().rev().find(|(known, _)| known == name.text);
            let value = given.map_or(declared, |(_, value)| Ok(*value));
            if let Ok(value) = value
                && value.unsigned_abs() >= 1 << 62
            {
                let message = format!("the constant `{}` is too large", name.text);
                self.report(Diagnostic::new(message, name.span(), format!("it is {value}")));
            }
            self.global(*name, value.map_or(Symbol::Broken, Symbol::Constant));
        }
    }

    /// Declares a name for everything.
    fn global(&mut self, name: Name<'a>, symbol: Symbol) {
        if let Some(before) = self.globals.get(name.text) {
            let span = before.span.clone();
            self.twice(name, span);
        } else {
            self.globals.insert(name.text, Global { symbol, span: name.span() });
        }
    }

    fn twice(&mut self, name: Name<'a>, before: std::ops::Range<usize>) -> Reported {
        let message = format!("the name `{}` is declared twice", name.text);
        let diagnostic = Diagnostic::new(message, name.span(), "here again")
            .related(before, "it is declared here first");
        self.report(diagnostic.help("choose another name"))
    }

    /// Makes sure that a name for a number means nothing else here.
    pub(super) fn fresh(&mut self, name: Name<'a>) -> Lowered<()> {
        let local = self.process.and_then(|process| self.members[process].locals.get(name.text));
        let known = local.map(|(_, span)| span.clone());
        let known = known.or(self.globals.get(name.text).map(|global| global.span.clone()));
        let bound = self.bound.iter().any(|(bound, _)| *bound == name.text);
        if known.is_none() && !bound {
            return Ok(());
        }
        let message = format!("`{}` would hide another `{0}`", name.text);
        let mut diagnostic = Diagnostic::new(message, name.span(), "the inner one");
        if let Some(span) = known {
            diagnostic = diagnostic.related(span, "the outer one");
        }
        Err(self.report(diagnostic.help("choose another name")))
    }

    fn groups(&mut self, tree: &ast::Source<'a>) {
        for (source, process) in tree.processes.iter().enumerate() {
            let mut replicas = None;
            if let Some(range) = &process.replicas {
                match self.range(range) {
                    Ok(range) => replicas = Some(range),
                    Err(Reported) => {
                        self.global(process.name, Symbol::Broken);
                        continue;
                    }
                }
            }
            let first = self.members.len();
            let numbers = replicas.clone().unwrap_or(0..1);
            let count = usize::try_from(numbers.end - numbers.start).unwrap_or(usize::MAX);
            if count.saturating_add(first) > MAX_PROCESSES {
                let message = format!("there are more than {MAX_PROCESSES} processes");
                let label = format!("{count} of them are here");
                self.report(Diagnostic::new(message, process.name.span(), label));
                self.global(process.name, Symbol::Broken);
                continue;
            }
            for number in numbers {
                let name = match &replicas {
                    Some(_) => format!("{}[{number}]", process.name.text),
                    None => process.name.text.to_owned(),
                };
                self.members.push(Member { name, ..Member::default() });
            }
            self.global(process.name, Symbol::Processes(self.groups.len()));
            self.groups.push(Group { name: process.name.text, replicas, first, source });
        }
    }

    fn shared(&mut self, declaration: &Declaration<'a>) {
        let kind = match &declaration.kind {
            Some(kind) => self.kind(kind),
            None => {
                // Free, or held by one of the processes.
                let bits = (usize::BITS - self.members.len().leading_zeros()).max(1) as u8;
                Ok(Kind::Int { bits, signed: false })
            }
        };
        let role = if declaration.kind.is_some() { Role::Data } else { Role::Lock };
        for declared in &declaration.variables {
            if role == Role::Lock && declared.initial.is_some() {
                let message = "a mutex has no initial value";
                let diagnostic = Diagnostic::new(message, declared.name.span(), "this one has");
                self.report(diagnostic.help("it is free at the start"));
            }
            let symbol = match &kind {
                Ok(kind) => self.declared(declared, *kind, role),
                Err(Reported) => Symbol::Broken,
            };
            self.global(declared.name, symbol);
        }
    }

    /// Makes a variable.
    fn declared(&mut self, declared: &Declared<'a>, kind: Kind, role: Role) -> Symbol {
        match self.new_variable(declared, kind, role) {
            Ok(id) => Symbol::Variable(id),
            Err(Reported) => Symbol::Broken,
        }
    }

    fn new_variable(&mut self, declared: &Declared<'a>, kind: Kind, role: Role) -> Lowered<VarId> {
        let mut length = None;
        if let Some(expr) = &declared.length {
            let elements = self.constant(expr)?;
            if !(1..=MAX_ELEMENTS).contains(&elements) {
                let message = format!("an array has 1 to {MAX_ELEMENTS} elements, not {elements}");
                let diagnostic = Diagnostic::new(message, expr.span.clone(), "its length");
                return Err(self.report(diagnostic));
            }
            length = u32::try_from(elements).ok();
        }
        let mut initial = self.initial_values(declared, kind, length)?;
        if role == Role::Lock {
            initial.fill(Some(0));
        }
        let values: usize = self.variables.iter().map(|variable| variable.initial.len()).sum();
        if values + initial.len() > MAX_VALUES {
            let message = format!(
                "the program is too large: its variables have more than {MAX_VALUES} values"
            );
            return Err(self.too_large(message));
        }
        let name = match self.process {
            Some(process) => format!("{}.{}", self.members[process].name, declared.name.text),
            None => declared.name.text.to_owned(),
        };
        let span = declared.name.span();
        let owner = self.process;
        self.variables.push(Variable { name, owner, kind, length, initial, role, span });
        Ok(VarId(self.variables.len() as u32 - 1))
    }

    fn initial_values(
        &mut self,
        declared: &Declared<'a>,
        kind: Kind,
        length: Option<u32>,
    ) -> Lowered<Vec<Option<i64>>> {
        let count = length.unwrap_or(1) as usize;
        match &declared.initial {
            None => Ok(vec![Some(0); count]),
            Some(Initial::One(value)) => Ok(vec![self.initial_value(value, kind)?; count]),
            Some(Initial::List(values, span)) => {
                let name = declared.name.text;
                if length.is_none() {
                    let message = format!("`{name}` is no array");
                    let diagnostic = Diagnostic::new(message, span.clone(), "this is a list");
                    let help = format!("declare it as `{name}[{}]`", values.len());
                    return Err(self.report(diagnostic.help(help)));
                }
                if values.len() != count {
                    let message =
                        format!("`{name}` has {count} elements, but the list has {}", values.len());
                    let label = "one value for each element is needed";
                    return Err(self.report(Diagnostic::new(message, span.clone(), label)));
                }
                values.iter().map(|value| self.initial_value(value, kind)).collect()
            }
        }
    }

    fn initial_value(&mut self, value: &ast::Value<'a>, kind: Kind) -> Lowered<Option<i64>> {
        match value {
            ast::Value::Any(_) => Ok(None),
            ast::Value::Expr(expr) => self.constant_of(expr, kind).map(Some),
        }
    }

    /// An assignment of an `init` block.
    fn initial(&mut self, place: &Place<'a>, value: &ast::Value<'a>) -> Lowered<()> {
        let cell = self.in_mode(Mode::Property, |lowerer| lowerer.cell(place))?;
        let id = cell.variable();
        if self.variable(id).role == Role::Lock {
            let message = format!("the mutex `{}` cannot be assigned", place.name.text);
            let diagnostic = Diagnostic::new(message, place.span.clone(), "this is a mutex");
            return Err(self.report(diagnostic.help("it is free at the start")));
        }
        let at = match &place.index {
            Some(index) => usize::try_from(self.constant(index)?).unwrap_or(usize::MAX),
            None => 0,
        };
        let value = self.initial_value(value, self.variable(id).kind)?;
        if let Some(initial) = self.variables[id.0 as usize].initial.get_mut(at) {
            *initial = value;
        }
        Ok(())
    }

    /// The variables of all processes.
    fn locals(&mut self, tree: &ast::Source<'a>) {
        for group in 0..self.groups.len() {
            let Group { source, first, .. } = self.groups[group];
            let source = &tree.processes[source];
            let mut declarations = Vec::new();
            collect(&source.body, &mut declarations);
            let numbers = self.groups[group].replicas.clone().unwrap_or(0..1);
            for (process, number) in (first..).zip(numbers) {
                self.process = Some(process);
                if let Some(range) = &source.replicas {
                    self.bound.push((range.name.text, number));
                }
                for declaration in &declarations {
                    self.local_variables(process, declaration);
                }
                self.bound.clear();
                self.process = None;
            }
        }
    }

    fn local_variables(&mut self, process: usize, declaration: &Declaration<'a>) {
        let Some(kind) = &declaration.kind else { return };
        let kind = self.kind(kind);
        for declared in &declaration.variables {
            let name = declared.name;
            let before = self.members[process].locals.get(name.text);
            if let Some((_, span)) = before {
                let span = span.clone();
                self.twice(name, span);
                continue;
            }
            if self.fresh(name).is_err() {
                self.members[process].locals.insert(name.text, (Symbol::Broken, name.span()));
                continue;
            }
            let symbol = match &kind {
                Ok(kind) => self.declared(declared, *kind, Role::Data),
                Err(Reported) => Symbol::Broken,
            };
            self.members[process].locals.insert(name.text, (symbol, name.span()));
        }
    }
}

/// All declarations among statements.
fn collect<'s, 'a>(block: &'s [Statement<'a>], found: &mut Vec<&'s Declaration<'a>>) {
    for statement in block {
        match &statement.action {
            Action::Declare(declaration) => found.push(declaration),
            Action::If(arms, otherwise) => {
                arms.iter().for_each(|(.., block)| collect(block, found));
                collect(otherwise.as_deref().unwrap_or_default(), found);
            }
            Action::Either(blocks) => blocks.iter().for_each(|block| collect(block, found)),
            Action::While(_, block) | Action::Atomic(block) | Action::Block(block) => {
                collect(block, found);
            }
            _ => {}
        }
    }
}
