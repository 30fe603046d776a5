//! Expressions: precedence climbing, with what has one precedence in one flat list.

use super::{Parsed, Parser, Reported};
use crate::lang::ast::{COMPARISON, Expr, Op, Shape, UnaryOp};
use crate::lang::diagnostic::Diagnostic;
use crate::lang::lex::Tok;
use crate::lang::limits::MAX_HEIGHT;
use crate::program::Span;

impl<'a> Parser<'a, '_> {
    /// An expression of these parts, unless it is too deep.
    fn made(&mut self, shape: Shape<'a>, span: Span) -> Parsed<Expr<'a>> {
        let below = match &shape {
            Shape::Number(_) | Shape::Truth(_) => 0,
            Shape::Place(place) | Shape::At(place, _) => {
                place.index.as_ref().map_or(0, |index| index.height)
            }
            Shape::Local(process, place) => {
                let indices = [&process.index, &place.index];
                indices.iter().filter_map(|i| i.as_ref()).map(|i| i.height).max().unwrap_or(0)
            }
            Shape::Unary(_, inner) => inner.height,
            Shape::Cast(inner, kinds) => {
                let widths = kinds.iter().filter_map(|kind| kind.width.as_ref());
                widths.map(|width| width.height).fold(inner.height, u32::max)
            }
            Shape::Chain(first, rest) => {
                rest.iter().map(|(_, expr)| expr.height).fold(first.height, u32::max)
            }
            Shape::Ternary(parts) => parts.iter().map(|part| part.height).max().unwrap_or(0),
            Shape::Quantified(_, range, inner) => {
                inner.height.max(range.from.height).max(range.to.height)
            }
        };
        if below >= MAX_HEIGHT {
            return Err(self.too_deep(span));
        }
        Ok(Expr { shape, span, height: below + 1 })
    }

    pub(super) fn ternary(&mut self) -> Parsed<Expr<'a>> {
        let condition = self.operators(0)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let then = self.expr()?;
        self.expect(":")?;
        let otherwise = self.expr()?;
        let span = condition.span.start..otherwise.span.end;
        self.made(Shape::Ternary(Box::new([condition, then, otherwise])), span)
    }

    /// Operators of at least this precedence.
    pub(super) fn operators(&mut self, least: u8) -> Parsed<Expr<'a>> {
        let mut left = self.cast()?;
        while let Tok::Sign(sign) = self.tok()
            && let Some((mut op, precedence)) = Op::of(sign)
            && precedence >= least
        {
            // All operators of this precedence, in one list.
            let mut rest = Vec::new();
            loop {
                let at = self.span();
                self.bump();
                let right = self.deeper(|parser| parser.operators(precedence + 1))?;
                rest.push((op, right));
                match self.tok() {
                    Tok::Sign(sign) => match Op::of(sign) {
                        Some((next, same)) if same == precedence => op = next,
                        _ => break,
                    },
                    _ => break,
                }
                if precedence == COMPARISON {
                    return Err(self.chained(at));
                }
            }
            let end = rest.last().map_or(left.span.end, |(_, expr)| expr.span.end);
            let span = left.span.start..end;
            left = self.made(Shape::Chain(Box::new(left), rest), span)?;
        }
        Ok(left)
    }

    fn chained(&mut self, first: Span) -> Reported {
        let message = "comparisons cannot follow each other";
        let diagnostic = Diagnostic::new(message, self.span(), "the second comparison")
            .related(first, "the first")
            .help("write `a < b && b < c`, or put one of them in parentheses");
        self.report(diagnostic)
    }

    fn cast(&mut self) -> Parsed<Expr<'a>> {
        let inner = self.unary()?;
        let mut kinds = Vec::new();
        while self.take("as") {
            kinds.push(self.kind()?);
        }
        let Some(last) = kinds.last() else { return Ok(inner) };
        let span = inner.span.start..last.span.end;
        self.made(Shape::Cast(Box::new(inner), kinds), span)
    }

    fn unary(&mut self) -> Parsed<Expr<'a>> {
        let op = match self.tok() {
            Tok::Sign("!") => UnaryOp::Not,
            Tok::Sign("-") => UnaryOp::Negate,
            Tok::Sign("~") => UnaryOp::Complement,
            _ => return self.primary(),
        };
        let start = self.span().start;
        self.bump();
        let inner = self.deeper(Self::unary)?;
        let span = start..inner.span.end;
        self.made(Shape::Unary(op, Box::new(inner)), span)
    }

    fn primary(&mut self) -> Parsed<Expr<'a>> {
        let span = self.span();
        match self.tok() {
            Tok::Number(number) => {
                self.bump();
                self.made(Shape::Number(number), span)
            }
            Tok::Sign(word @ ("true" | "false")) => {
                self.bump();
                self.made(Shape::Truth(word == "true"), span)
            }
            Tok::Sign("(") => self.parenthesised(),
            Tok::Sign("forall" | "exists") => self.quantified(),
            Tok::Name(_) => self.path(),
            _ => Err(self.no_expression()),
        }
    }

    fn parenthesised(&mut self) -> Parsed<Expr<'a>> {
        let start = self.span().start;
        self.bump();
        let mut inner = self.expr()?;
        self.expect(")")?;
        inner.span = start..self.end();
        Ok(inner)
    }

    fn quantified(&mut self) -> Parsed<Expr<'a>> {
        let start = self.span().start;
        let all = self.is("forall");
        self.bump();
        let range = self.range()?;
        self.expect(":")?;
        let inner = Box::new(self.expr()?);
        let span = start..inner.span.end;
        self.made(Shape::Quantified(all, range, inner), span)
    }

    /// `x`, `a[1]`, `P[0].t`, `P[0]@label`
    fn path(&mut self) -> Parsed<Expr<'a>> {
        let first = self.place()?;
        let start = first.span.start;
        let shape = if self.take(".") {
            let local = self.place()?;
            Shape::Local(first, local)
        } else if self.take("@") {
            let label = if self.take("end") { None } else { Some(self.name("a label or `end`")?) };
            Shape::At(first, label)
        } else {
            if self.is("(") {
                let message = "there are no functions";
                let diagnostic = Diagnostic::new(message, self.span(), "this looks like a call");
                return Err(self.report(diagnostic));
            }
            if self.is("[") {
                return Err(self.dimensions());
            }
            Shape::Place(first)
        };
        self.made(shape, start..self.end())
    }

    /// Reports a second index.
    pub(super) fn dimensions(&mut self) -> Reported {
        let message = "arrays have one dimension";
        let diagnostic = Diagnostic::new(message, self.span(), "a second index")
            .help("use one array, and an index like `row * 4 + column`");
        self.report(diagnostic)
    }

    fn no_expression(&mut self) -> Reported {
        let mut diagnostic = self.expected("an expression");
        if self.is("*") {
            diagnostic = diagnostic.help(
                "`*`, any value, is only possible alone: `x = *;`, `if (*)`, `while (*)` and as an initial value",
            );
        } else if self.is("+") {
            diagnostic = diagnostic.help("there is no `++`: write `x = x + 1;`");
        } else if self.is("=") {
            diagnostic =
                diagnostic.help("compare with `==`, `<=` or `>=`; assign with `x = x + 1;`");
        } else if self.is("{") {
            diagnostic = diagnostic.help("lists are only possible where an array is declared");
        }
        self.report(diagnostic)
    }
}
