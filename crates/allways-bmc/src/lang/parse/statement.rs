//! Statements.

use super::{OUTSIDE, Parsed, Parser, Reported};
use crate::lang::ast::{Action, Statement, Value};
use crate::lang::diagnostic::{Diagnostic, did_you_mean};
use crate::lang::lex::{KEYWORDS, Tok};
use crate::program::Span;

impl<'a> Parser<'a, '_> {
    /// `{ … }`
    pub(super) fn block(&mut self) -> Parsed<Vec<Statement<'a>>> {
        self.deeper(Self::block_inside)
    }

    fn block_inside(&mut self) -> Parsed<Vec<Statement<'a>>> {
        let open = self.expect("{")?;
        let mut statements = Vec::new();
        while !self.is("}") {
            if self.tok() == Tok::End || self.is_one(OUTSIDE) {
                return Err(self.unclosed(open));
            }
            let before = self.at;
            let unclosed = self.diagnostics.len();
            match self.statement() {
                Ok(statement) => statements.push(statement),
                Err(Reported) => {
                    // What is outside comes next: the inner block was not closed, and neither is this one.
                    let outside = self.is_one(OUTSIDE);
                    if outside && self.diagnostics.len() > unclosed {
                        return Err(Reported);
                    }
                    self.recover();
                }
            }
            if self.at == before {
                self.bump();
            }
        }
        self.bump();
        Ok(statements)
    }

    fn statement(&mut self) -> Parsed<Statement<'a>> {
        let mut labels = Vec::new();
        while matches!((self.tok(), self.after(1)), (Tok::Name(_), Tok::Sign(":")))
            && self.after(2) != Tok::Sign("=")
        {
            labels.push(self.name("a label")?);
            self.bump();
        }
        let start = self.span().start;
        let mut span = None;
        let action = match self.tok() {
            Tok::Sign("bool" | "int" | "uint") => {
                let declaration = self.declaration()?;
                span = Some(start..self.end());
                Action::Declare(declaration)
            }
            Tok::Sign("if") => self.conditional(&mut span)?,
            Tok::Sign("while") => {
                self.bump();
                let condition = self.condition()?;
                span = Some(start..self.end());
                Action::While(condition, self.block()?)
            }
            Tok::Sign("either") => {
                self.bump();
                span = Some(start..self.end());
                let mut branches = vec![self.block()?];
                while self.take("or") {
                    branches.push(self.block()?);
                }
                Action::Either(branches)
            }
            Tok::Sign("atomic") => {
                self.bump();
                Action::Atomic(self.block()?)
            }
            Tok::Sign("{") => Action::Block(self.block()?),
            Tok::Sign(word @ ("await" | "assume" | "assert")) => {
                self.bump();
                let condition = self.expr()?;
                span = Some(self.semicolon(start)?);
                if word == "assert" { Action::Assert(condition) } else { Action::Await(condition) }
            }
            Tok::Sign(word @ ("lock" | "unlock")) => {
                self.bump();
                let place = self.place()?;
                span = Some(self.semicolon(start)?);
                if word == "lock" { Action::Lock(place) } else { Action::Unlock(place) }
            }
            Tok::Sign("skip") => {
                self.bump();
                span = Some(self.semicolon(start)?);
                Action::Skip
            }
            Tok::Name(_) => {
                let place = match self.after(1) {
                    Tok::Sign("=" | "[") => self.place()?,
                    _ => return Err(self.strange_statement()),
                };
                if self.is("[") {
                    return Err(self.dimensions());
                }
                if !self.is("=") {
                    let diagnostic = self.expected("`=`");
                    return Err(self.report(diagnostic.help("an assignment is `a[0] = 1;`")));
                }
                self.bump();
                let value = self.value()?;
                span = Some(self.semicolon(start)?);
                Action::Assign(place, value)
            }
            _ => return Err(self.strange_statement()),
        };
        let span = span.unwrap_or(start..self.end());
        Ok(Statement { labels, action, span })
    }

    /// The statement up to here, with a semicolon behind it.
    fn semicolon(&mut self, start: usize) -> Parsed<Span> {
        let span = start..self.end();
        self.expect(";")?;
        Ok(span)
    }

    fn conditional(&mut self, span: &mut Option<Span>) -> Parsed<Action<'a>> {
        let mut arms = Vec::new();
        loop {
            let start = self.span().start;
            self.bump();
            let condition = self.condition()?;
            let head = start..self.end();
            span.get_or_insert(head.clone());
            arms.push((condition, head, self.block()?));
            if !self.take("else") {
                return Ok(Action::If(arms, None));
            }
            if !self.is("if") {
                return Ok(Action::If(arms, Some(self.block()?)));
            }
        }
    }

    /// `(…)` or `(*)`
    fn condition(&mut self) -> Parsed<Value<'a>> {
        if !self.is("(") {
            let diagnostic = self.expected("`(`").help("put the condition in parentheses");
            return Err(self.report(diagnostic));
        }
        self.bump();
        let value = self.value()?;
        self.expect(")")?;
        Ok(value)
    }

    fn strange_statement(&mut self) -> Reported {
        let mut diagnostic = self.expected("a statement");
        match (self.tok(), self.after(1), self.after(2)) {
            (Tok::Sign(word @ ("shared" | "const" | "mutex")), ..) => {
                let message = format!("`{word}` cannot be inside a process");
                let help = match word {
                    "shared" => {
                        "move it outside, or leave out `shared` for a variable of the process"
                    }
                    _ => "move it outside",
                };
                let label = "it belongs outside";
                diagnostic = Diagnostic::new(message, self.span(), label).help(help);
            }
            (Tok::Sign(";"), ..) => {
                diagnostic = diagnostic.help("a statement that does nothing is `skip;`");
            }
            (Tok::Sign("else"), ..) => {
                diagnostic = diagnostic.help("`else` follows the block of an `if`");
            }
            (Tok::Sign("or"), ..) => {
                diagnostic = diagnostic.help("`or` follows a block of an `either`");
            }
            (Tok::Name(name), Tok::Sign("==" | ":"), _) => {
                diagnostic = diagnostic.help(format!("assign with `{name} = …;`"));
            }
            (Tok::Name(name), Tok::Sign(sign @ ("+" | "-")), Tok::Sign(second))
                if second == sign || second == "=" =>
            {
                diagnostic = diagnostic.help(format!("write `{name} = {name} {sign} 1;`"));
            }
            (Tok::Sign("}"), ..) => {
                diagnostic = diagnostic.help("behind a label is a statement, for example `skip;`");
            }
            (Tok::Name(name), ..) => {
                if let Some(help) = did_you_mean(name, KEYWORDS.iter().copied()) {
                    diagnostic = diagnostic.help(help);
                } else if self.after(1) == Tok::Sign("(") {
                    diagnostic = diagnostic.help("there are no functions");
                } else {
                    let help = format!("an assignment is `{name} = …;`");
                    diagnostic = diagnostic.help(help);
                }
            }
            _ => {}
        }
        self.report(diagnostic)
    }
}
