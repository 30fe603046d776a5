//! placeholder
use super::{Diagnostic, ast, lex::Token};
use crate::program::Program;
pub fn lower<'a>(
    _name: &str,
    _source: &'a str,
    _tokens: &[Token<'a>],
    _tree: &ast::Source<'a>,
    _constants: &[(String, i64)],
) -> Result<Program, Vec<Diagnostic>> {
    Ok(Program::default())
}
