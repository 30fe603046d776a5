//! How large a program may be. Whatever is read ends in a program or in an error, soon and within little memory.

/// Bytes of a source.
pub const MAX_SOURCE: usize = 1 << 20;
/// Characters of a name.
pub const MAX_NAME: usize = 100;
/// The largest number that can be written.
pub const MAX_NUMBER: u64 = u32::MAX as u64;
/// How deep statements, parentheses and operators may be nested.
pub const MAX_NESTING: u32 = 200;
/// How many nodes may be on the way from an expression to its deepest part.
pub const MAX_HEIGHT: u32 = 200;
/// Processes, replicas included.
pub const MAX_PROCESSES: usize = 64;
/// Elements of an array.
pub const MAX_ELEMENTS: i64 = 4_096;
/// Values of all variables together.
pub const MAX_VALUES: usize = 65_536;
/// Instructions of all processes together.
pub const MAX_INSTRUCTIONS: usize = 100_000;
/// Distinct expressions.
pub const MAX_EXPRESSIONS: usize = 1_000_000;
/// Steps of the translation: bounds what `forall` and replicas repeat.
pub const MAX_WORK: usize = 10_000_000;
/// Errors that are reported at once.
pub const MAX_DIAGNOSTICS: usize = 20;
/// Characters of an instruction's text.
pub const MAX_TEXT: usize = 160;
