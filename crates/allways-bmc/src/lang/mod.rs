//! The language for concurrent programs (`*.pbmc`), to the [`Program`] that everything else works on.
//!
//! A source goes through three passes: `lex` makes tokens, `parse` makes a tree, and `lower` gives names and kinds
//! their meaning and makes instructions. A pass reports all that it finds; the next one begins only if it found nothing,
//! so that nobody reads of errors that follow from others. No source makes any of them panic.

mod ast;
mod diagnostic;
mod lex;
pub mod limits;
mod lower;
mod parse;

use crate::program::Program;
pub use diagnostic::Diagnostic;

/// Compiles a source. `constants` take the place of the `const` declarations with their names. `name` is what the
/// program is called.
///
/// # Errors
///
/// What is wrong with the source, the most important first.
pub fn compile(
    name: &str,
    source: &str,
    constants: &[(String, i64)],
) -> Result<Program, Vec<Diagnostic>> {
    if source.len() > limits::MAX_SOURCE {
        let message = format!("the source has more than {} bytes", limits::MAX_SOURCE);
        return Err(vec![Diagnostic::nowhere(message)]);
    }
    let mut diagnostics = Vec::new();
    let tokens = lex::lex(source, &mut diagnostics);
    if diagnostics.is_empty() {
        let tree = parse::parse(tokens.clone(), &mut diagnostics);
        if diagnostics.is_empty() {
            match lower::lower(name, source, &tokens, &tree, constants) {
                Ok(program) => return Ok(program),
                Err(found) => diagnostics = found,
            }
        }
    }
    diagnostics.truncate(limits::MAX_DIAGNOSTICS);
    Err(diagnostics)
}
