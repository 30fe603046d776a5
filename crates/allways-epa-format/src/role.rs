//! What of a value can be made wrong: how instrumented code tells the runtime.
//!
//! Both have to agree, so it is said here once. A hook is given a tag: the first 32 bits are the site, the next eight how many bits
//! the value has, and the others are these.

/// The first value is a result.
pub const RESULT: u64 = 1 << 40;
/// The value is the condition of a branch.
pub const BRANCH: u64 = 1 << 41;
/// The result is the address of memory that was allocated.
pub const ALLOCATION: u64 = 1 << 42;
/// The value is the first argument of a call.
pub const FIRST: u64 = 1 << 43;
/// The value is how many bytes to allocate.
pub const SIZE: u64 = 1 << 44;
/// The value is how many elements to read or write.
pub const COUNT: u64 = 1 << 45;
