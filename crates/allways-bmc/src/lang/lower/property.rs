//! Properties, and what only they can say: variables of processes, and where a process stands.

use super::code::Listed;
use super::expr::Value;
use super::{Lowered, Lowerer, Mode, Reported, Symbol};
use crate::lang::ast::{self, Name, Place};
use crate::lang::diagnostic::{Diagnostic, did_you_mean};
use crate::program::{Kind, Node, Property};
use rustc_hash::FxHashMap;

impl<'a> Lowerer<'a, '_> {
    /// All properties.
    pub(super) fn properties(&mut self, tree: &ast::Source<'a>) -> Vec<Property> {
        let mut properties = Vec::new();
        let mut known: FxHashMap<&str, Name<'_>> = FxHashMap::default();
        // Without labels, what is said of them makes no sense.
        let complete = self.diagnostics.is_empty();
        self.unreachable = false;
        for property in &tree.properties {
            if let Some(before) = known.insert(property.name.text, property.name) {
                let message = format!("the property `{}` is there twice", property.name.text);
                let diagnostic = Diagnostic::new(message, property.name.span(), "here again")
                    .related(before.span(), "it is here first");
                self.report(diagnostic);
            }
            if self.stopped || !complete {
                continue;
            }
            self.begin();
            let condition = self
                .in_mode(Mode::Property, |lowerer| lowerer.typed(&property.condition, Kind::Bool));
            if let Ok(condition) = condition {
                properties.push(Property {
                    name: property.name.text.to_owned(),
                    claim: property.claim,
                    condition,
                    span: property.span.clone(),
                });
            }
        }
        properties
    }

    /// The process that is meant; `None` if there is none, where nothing is ever evaluated.
    fn member(&mut self, place: &Place<'a>) -> Lowered<(usize, bool)> {
        let name = place.name.text;
        if self.mode != Mode::Property {
            let message = "other processes are only visible in properties";
            let diagnostic = Diagnostic::new(message, place.span.clone(), "this is a process");
            return Err(self.report(diagnostic.help("use a `shared` variable instead")));
        }
        let group = match self.globals.get(name).map(|global| global.symbol) {
            Some(Symbol::Processes(group)) => &self.groups[group],
            Some(Symbol::Broken) => return Err(Reported),
            Some(_) => {
                let message = format!("`{name}` is no process");
                let diagnostic = Diagnostic::new(message, place.name.span(), "it has no parts");
                return Err(self.report(diagnostic));
            }
            None => {
                let message = format!("there is no process `{name}`");
                let help = did_you_mean(name, self.groups.iter().map(|group| group.name));
                let diagnostic = Diagnostic::new(message, place.name.span(), "no such process");
                return Err(self.report(diagnostic.maybe_help(help)));
            }
        };
        let first = group.first;
        let (from, to) = match (&group.replicas, &place.index) {
            (None, None) => return Ok((first, true)),
            (Some(range), Some(_)) => (range.start, range.end),
            (Some(range), None) => {
                let (start, last) = (range.start, range.end - 1);
                let message = format!("there are several `{name}`: which one?");
                let label = format!("`{name}[{start}]` to `{name}[{last}]`");
                let help =
                    format!("write `{name}[{start}]`, or `forall k in {start}..{}: …`", last + 1);
                let diagnostic = Diagnostic::new(message, place.span.clone(), label);
                return Err(self.report(diagnostic.help(help)));
            }
            (None, Some(_)) => {
                let message = format!("there is only one `{name}`");
                let span = place.name.span().end..place.span.end;
                let diagnostic = Diagnostic::new(message, span, "it has no number");
                return Err(self.report(diagnostic.help(format!("write `{name}`"))));
            }
        };
        let Some(index) = &place.index else { return Err(Reported) };
        let number = self.constant(index)?;
        if (from..to).contains(&number) {
            return Ok((first + usize::try_from(number - from).unwrap_or(0), true));
        }
        if self.is_dead() {
            return Ok((first, false));
        }
        let message = format!("there is no `{name}[{number}]`");
        let label = format!("there are `{name}[{from}]` to `{name}[{}]`", to - 1);
        Err(self.report(Diagnostic::new(message, index.span.clone(), label)))
    }

    /// `P[0].t`
    pub(super) fn local(&mut self, process: &Place<'a>, place: &Place<'a>) -> Lowered<Value> {
        let (process, _) = self.member(process)?;
        let member = &self.members[process];
        let name = place.name.text;
        match member.locals.get(name) {
            Some((Symbol::Variable(id), _)) => {
                let id = *id;
                let cell = self.cell_of(id, place)?;
                self.read(&cell).map(Value::Expr)
            }
            Some(_) => Err(Reported),
            None => {
                let mut names: Vec<_> = member.locals.keys().copied().collect();
                names.sort_unstable();
                let help = match did_you_mean(name, names.iter().copied()) {
                    Some(help) => help,
                    None if self.globals.contains_key(name) => format!("write `{name}` alone"),
                    None if names.is_empty() => "it has no variables of its own".to_owned(),
                    None => format!("it has {}", names.map_to_text()),
                };
                let message = format!("`{}` has no variable `{name}`", member.name);
                let diagnostic = Diagnostic::new(message, place.name.span(), "no such variable");
                Err(self.report(diagnostic.help(help)))
            }
        }
    }

    /// `P[0]@label`
    pub(super) fn at(&mut self, process: &Place<'a>, label: Option<Name<'a>>) -> Lowered<Value> {
        let (process, exists) = self.member(process)?;
        let location = match label {
            Some(label) => self.location(process, label)?,
            None => self.members[process].end,
        };
        if !exists {
            return Ok(Value::Expr(self.exprs.truth(false)));
        }
        let at = Node::At(process as u32, location);
        Ok(Value::Expr(self.exprs.intern(at, Kind::Bool)))
    }
}
