//! From tokens to a tree: declarations, processes and properties.
//!
//! A parser by hand that descends. After an error it goes on behind the next `;` or `}`, so that several errors are found
//! at once. How deep it descends is bounded: no source makes it overflow the stack.

mod expr;
mod statement;

use super::ast::{
    Base, Declaration, Declared, Expr, Initial, KindName, Name, Place, Process, Property, Range,
    SUM, Source, Value,
};
use super::diagnostic::{Diagnostic, did_you_mean};
use super::lex::{Tok, Token};
use super::limits::MAX_NESTING;
use crate::program::{Claim, Span};

/// What could be parsed; otherwise an error has been reported.
type Parsed<T> = Result<T, Reported>;

/// An error has been reported.
#[derive(Debug)]
struct Reported;

/// The words that begin a declaration outside processes and cannot be in one.
const OUTSIDE: &[&str] = &["process", "always", "never", "reachable", "init"];

/// Parses the tokens of a source; the last is [`Tok::End`].
pub fn parse<'a>(tokens: Vec<Token<'a>>, diagnostics: &mut Vec<Diagnostic>) -> Source<'a> {
    assert_eq!(tokens.last().map(|token| token.tok), Some(Tok::End), "the end is a token");
    let mut parser = Parser { tokens, at: 0, depth: 0, silent: false, diagnostics };
    let mut source = Source::default();
    while parser.tok() != Tok::End {
        let before = parser.at;
        if parser.item(&mut source).is_err() {
            parser.recover();
            // A `}` that closes nothing has been reported.
            parser.take("}");
        }
        if parser.at == before {
            parser.at += 1;
        }
    }
    source
}

struct Parser<'a, 'd> {
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: u32,
    /// What follows from an error that was already reported is not.
    silent: bool,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl<'a> Parser<'a, '_> {
    fn tok(&self) -> Tok<'a> {
        self.tokens[self.at].tok
    }

    fn after(&self, places: usize) -> Tok<'a> {
        self.tokens[(self.at + places).min(self.tokens.len() - 1)].tok
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span.clone()
    }

    /// Where the token before this one ends.
    fn end(&self) -> usize {
        self.at.checked_sub(1).map_or(0, |before| self.tokens[before].span.end)
    }

    fn bump(&mut self) {
        if self.tok() != Tok::End {
            self.at += 1;
        }
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.tok(), Tok::Sign(here) if here == sign)
    }

    fn is_one(&self, signs: &[&str]) -> bool {
        matches!(self.tok(), Tok::Sign(here) if signs.contains(&here))
    }

    /// Goes past this sign, if it is here.
    fn take(&mut self, sign: &str) -> bool {
        let here = self.is(sign);
        if here {
            self.bump();
        }
        here
    }

    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        if !self.silent {
            self.diagnostics.push(diagnostic);
        }
        Reported
    }

    /// What is here, as messages name it.
    fn found(&self) -> String {
        match self.tok() {
            Tok::Name(name) => format!("`{name}`"),
            Tok::Number(number) => format!("`{number}`"),
            Tok::Sign(sign) => format!("`{sign}`"),
            Tok::End => "the end of the source".to_owned(),
        }
    }

    fn expected(&self, what: &str) -> Diagnostic {
        let message = format!("expected {what}, found {}", self.found());
        Diagnostic::new(message, self.span(), format!("expected {what}"))
    }

    fn expect(&mut self, sign: &str) -> Parsed<Span> {
        let span = self.span();
        if self.take(sign) {
            return Ok(span);
        }
        let mut diagnostic = self.expected(&format!("`{sign}`"));
        if sign == ";" {
            // It belongs behind what is before it, which may be lines above.
            let end = self.end();
            let message = format!("expected `;`, found {}", self.found());
            diagnostic = Diagnostic::new(message, end.saturating_sub(1)..end, "")
                .help("put a `;` behind this");
        }
        if self.is("=") && sign == ")" {
            diagnostic = diagnostic.help("compare with `==`");
        }
        if self.is_one(&["=", "+", "-"]) && sign == ";" {
            diagnostic = diagnostic.help("an assignment is `x = x + 1;`, and is no expression");
        }
        Err(self.report(diagnostic))
    }

    /// Goes past a `>`, which may be the first character of a longer sign; says where it ends.
    fn expect_greater(&mut self) -> Parsed<usize> {
        let rest = match self.tok() {
            Tok::Sign(">>") => ">",
            Tok::Sign(">=") => "=",
            _ => return self.expect(">").map(|span| span.end),
        };
        let token = &mut self.tokens[self.at];
        token.tok = Tok::Sign(rest);
        token.span.start += 1;
        Ok(token.span.start)
    }

    fn name(&mut self, what: &str) -> Parsed<Name<'a>> {
        let Tok::Name(text) = self.tok() else {
            let mut diagnostic = self.expected(what);
            if let Tok::Sign(word) = self.tok()
                && word.bytes().all(|byte| byte.is_ascii_lowercase())
            {
                diagnostic = diagnostic.help(format!("`{word}` is a keyword, and no name"));
            }
            return Err(self.report(diagnostic));
        };
        let start = self.span().start;
        self.bump();
        Ok(Name { text, start })
    }

    /// Does something one level deeper.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_NESTING {
            return Err(self.too_deep(self.span()));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Reports that something is nested too deep, and gives up.
    fn too_deep(&mut self, span: Span) -> Reported {
        let message = "this is nested too deep";
        let label = format!("more than {MAX_NESTING} levels");
        let reported = self.report(Diagnostic::new(message, span, label));
        self.silent = true;
        self.at = self.tokens.len() - 1;
        reported
    }

    /// Goes behind the next `;` or block, or up to a `}` or what can only be outside.
    fn recover(&mut self) {
        let mut open = 0_u32;
        loop {
            match self.tok() {
                Tok::End => return,
                Tok::Sign("{") => open += 1,
                Tok::Sign("}") if open == 0 => return,
                Tok::Sign("}") if open == 1 => return self.bump(),
                Tok::Sign("}") => open -= 1,
                Tok::Sign(";") if open == 0 => return self.bump(),
                Tok::Sign(word) if OUTSIDE.contains(&word) && open == 0 => return,
                _ => {}
            }
            self.bump();
        }
    }

    fn item(&mut self, source: &mut Source<'a>) -> Parsed<()> {
        let start = self.span().start;
        let Tok::Sign(word) = self.tok() else { return Err(self.strange_item()) };
        match word {
            "const" => {
                self.bump();
                let name = self.name("the constant's name")?;
                self.expect("=")?;
                let value = self.expr()?;
                self.expect(";")?;
                source.constants.push((name, value));
            }
            "shared" => {
                self.bump();
                if !self.is_kind() {
                    let help = "write `shared uint<4> x;`: the kind comes first";
                    let diagnostic = self.expected("a kind: `bool`, `int<…>` or `uint<…>`");
                    return Err(self.report(diagnostic.help(help)));
                }
                let declaration = self.declaration()?;
                source.variables.push(declaration);
            }
            "mutex" => {
                self.bump();
                let variables = self.declared()?;
                source.variables.push(Declaration { kind: None, variables });
            }
            "init" => {
                self.bump();
                self.initial(source)?;
            }
            "process" => {
                self.bump();
                let process = self.process()?;
                source.processes.push(process);
            }
            "always" | "never" | "reachable" => {
                let claim = match word {
                    "always" => Claim::Always,
                    "never" => Claim::Never,
                    _ => Claim::Reachable,
                };
                self.bump();
                let property = self.property(claim, start)?;
                source.properties.push(property);
            }
            _ => return Err(self.strange_item()),
        }
        Ok(())
    }

    fn strange_item(&mut self) -> Reported {
        let mut diagnostic = self.expected("a declaration");
        let words = ["const", "shared", "mutex", "init", "process", "always", "never", "reachable"];
        if self.is("}") {
            let message = "this `}` closes nothing";
            diagnostic = Diagnostic::new(message, self.span(), "there is no `{` for it");
        } else if self.is(";") {
            diagnostic = diagnostic.help("delete this `;`");
        } else if self.is_kind() {
            let help = "variables outside processes are `shared`: write `shared` before the kind";
            diagnostic = diagnostic.help(help);
        } else if let Tok::Name(name) = self.tok()
            && let Some(help) = did_you_mean(name, words)
        {
            diagnostic = diagnostic.help(help);
        } else {
            diagnostic = diagnostic.help(
                "a program is made of `const`, `shared`, `mutex`, `init`, `process`, `always`, `never` and `reachable`",
            );
        }
        self.report(diagnostic)
    }

    fn is_kind(&self) -> bool {
        self.is_one(&["bool", "int", "uint"])
    }

    fn kind(&mut self) -> Parsed<KindName<'a>> {
        let start = self.span().start;
        let base = match self.tok() {
            Tok::Sign("bool") => Base::Bool,
            Tok::Sign("int") => Base::Signed,
            Tok::Sign("uint") => Base::Unsigned,
            _ => {
                let diagnostic = self.expected("a kind: `bool`, `int<…>` or `uint<…>`");
                return Err(self.report(diagnostic));
            }
        };
        self.bump();
        let mut width = None;
        let mut end = self.end();
        if base != Base::Bool && self.take("<") {
            width = Some(Box::new(self.operators(SUM)?));
            end = self.expect_greater()?;
        }
        Ok(KindName { base, width, span: start..end })
    }

    /// `uint<4> x = 0, y;`
    fn declaration(&mut self) -> Parsed<Declaration<'a>> {
        let kind = Some(self.kind()?);
        let variables = self.declared()?;
        Ok(Declaration { kind, variables })
    }

    /// `x = 0, y[3];`
    fn declared(&mut self) -> Parsed<Vec<Declared<'a>>> {
        let mut variables = Vec::new();
        loop {
            let name = self.name("the variable's name")?;
            let mut length = None;
            if self.take("[") {
                length = Some(self.expr()?);
                self.expect("]")?;
            }
            let initial = if self.take("=") { Some(self.initial_value()?) } else { None };
            variables.push(Declared { name, length, initial });
            if !self.take(",") {
                break;
            }
        }
        self.expect(";")?;
        Ok(variables)
    }

    fn initial_value(&mut self) -> Parsed<Initial<'a>> {
        let start = self.span().start;
        if !self.take("{") {
            return Ok(Initial::One(self.value()?));
        }
        let mut values = Vec::new();
        while !self.is("}") {
            values.push(self.value()?);
            if !self.take(",") {
                break;
            }
        }
        self.expect("}")?;
        Ok(Initial::List(values, start..self.end()))
    }

    /// `{ x = 3; B[2] = 7; }`
    fn initial(&mut self, source: &mut Source<'a>) -> Parsed<()> {
        let open = self.expect("{")?;
        while !self.is("}") {
            if self.tok() == Tok::End || self.is_one(OUTSIDE) {
                return Err(self.unclosed(open));
            }
            let set = self.set();
            match set {
                Ok(set) => source.initial.push(set),
                Err(Reported) => self.recover(),
            }
        }
        self.bump();
        Ok(())
    }

    fn set(&mut self) -> Parsed<(Place<'a>, Value<'a>, Span)> {
        if !matches!(self.tok(), Tok::Name(_)) {
            let diagnostic = self.expected("an assignment");
            let help = "an `init` block is made of assignments of constants: `x = 3;`";
            return Err(self.report(diagnostic.help(help)));
        }
        let place = self.place()?;
        self.expect("=")?;
        let value = self.value()?;
        let span = place.span.start..self.end();
        self.expect(";")?;
        Ok((place, value, span))
    }

    fn unclosed(&mut self, open: Span) -> Reported {
        let mut diagnostic = Diagnostic::new("this `{` is never closed", open, "it is opened here");
        if self.tok() != Tok::End {
            diagnostic = diagnostic.related(self.span(), "this cannot be inside");
        }
        let reported = self.report(diagnostic.help("close it with `}`"));
        self.silent |= self.tok() == Tok::End;
        reported
    }

    fn process(&mut self) -> Parsed<Process<'a>> {
        let name = self.name("the process's name")?;
        let mut replicas = None;
        if self.take("[") {
            replicas = Some(self.range()?);
            self.expect("]")?;
        }
        let body = self.block()?;
        Ok(Process { name, replicas, body })
    }

    /// `i in 0..N`
    fn range(&mut self) -> Parsed<Range<'a>> {
        let name = self.name("a name for the number")?;
        if !self.is("in") {
            let diagnostic = self.expected("`in`");
            return Err(self.report(diagnostic.help("a range is `i in 0..4`")));
        }
        self.bump();
        let from = Box::new(self.expr()?);
        self.expect("..")?;
        let to = Box::new(self.expr()?);
        Ok(Range { name, from, to })
    }

    fn property(&mut self, claim: Claim, start: usize) -> Parsed<Property<'a>> {
        let named = matches!((self.tok(), self.after(1)), (Tok::Name(_), Tok::Sign(":")));
        if !named {
            let diagnostic = self.expected("the property's name and `:`");
            return Err(self.report(diagnostic.help("give it a name: `always small: x < 4;`")));
        }
        let name = self.name("the property's name")?;
        self.expect(":")?;
        let condition = self.expr()?;
        let span = start..self.end();
        self.expect(";")?;
        Ok(Property { claim, name, condition, span })
    }

    /// An expression or `*`.
    fn value(&mut self) -> Parsed<Value<'a>> {
        let span = self.span();
        if self.take("*") { Ok(Value::Any(span)) } else { self.expr().map(Value::Expr) }
    }

    /// A variable or an element.
    fn place(&mut self) -> Parsed<Place<'a>> {
        let name = self.name("a variable")?;
        let mut index = None;
        if self.take("[") {
            index = Some(Box::new(self.expr()?));
            self.expect("]")?;
        }
        Ok(Place { name, index, span: name.start..self.end() })
    }

    fn expr(&mut self) -> Parsed<Expr<'a>> {
        self.deeper(Self::ternary)
    }
}
