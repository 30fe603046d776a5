//! The format of execution traces: what an instrumented program writes, and what error propagation analysis reads.
//!
//! A program is instrumented once; each instruction that is logged is a [`Site`], which says what it is and which values
//! a record of it has. What is known before the program runs is in its [`Program`] table, which is compiled into it. When
//! it runs, each thread writes a *stream* of records into a file of its own ([`stream_name`]): no thread waits
//! for another, and whatever happens to the process, what was written is there.
//!
//! A record is a code and values, all in LEB128. Codes below [`Event::CODES`] are events ([`Event`]), the others instructions:
//! the code less [`Event::CODES`] is the number of the site, which tells how many values follow. A code is never 0, and files are
//! made longer ahead of what is written, with zeros: so a stream ends at the first code that is 0, or where a record is
//! not complete.
//!
//! Events by which threads wait for each other, and allocations, carry a *stamp*: a number from one counter for all
//! threads, taken after what acquires (a lock, the end of a thread that is joined, memory) and before what releases. All
//! records of a thread up to its next stamp belong to its last one. Sorted by stamp, then by thread, then as they
//! are in their stream, the records of all threads are in one order, which is one in which the program could have performed them:
//! what two threads do between stamps and to the same memory is not ordered by anything, and that is what a check
//! for reversible pairs finds.
//!
//! | file | what |
//! |---|---|
//! | `number.rs` | numbers and texts as bytes |
//! | `program.rs` | what is known before the program runs |
//! | `event.rs` | events, and records read from a stream |
//! | `fault.rs` | what is to go wrong in a run |
//! | `library.rs` | what functions of libraries do to memory |
//! | `role.rs` | what of a value can be made wrong |

mod event;
mod fault;
pub mod library;
mod number;
mod program;
pub mod role;

pub use event::{Event, Malformed, Record, Records};
pub use fault::{Fault, FaultKind, NotAFault};
pub use number::{Reader, put_number, put_text};
pub use program::{Global, Opcode, Program, Site, ValueKind};

/// The environment variable with the directory that streams are written to. Without it nothing is written.
pub const DIRECTORY: &str = "ALLWAYS_TRACE";

/// The environment variable with the [`Fault`] of this run, as text. Without it nothing goes wrong.
pub const FAULT: &str = "ALLWAYS_FAULT";

/// The file with the program's table, in the directory of the streams.
pub const PROGRAM_FILE: &str = "program";

/// The file with the addresses of the program's globals in this run, as 8 bytes each, the lowest first, in the order
/// of [`Program::globals`].
pub const ADDRESSES_FILE: &str = "addresses";

/// The file that says what is missing in the trace: a line for each reason, and then zeros. If there is no line, nothing is known to be missing.
/// Its last byte is [`RUNNING`] until the process exits by itself.
pub const INCOMPLETE_FILE: &str = "incomplete";

/// The last byte of [`INCOMPLETE_FILE`] as long as the process has not said that it exits. A process that has exited all the same went on as
/// another program (`exec`), or ended in a way that nobody sees.
pub const RUNNING: u8 = 1;

/// What a line of [`INCOMPLETE_FILE`] ends with if there was no room for the trace: that is no fault of the program.
pub const NO_ROOM: &str = "no space is left on the disk; make room, or set TMPDIR";

/// What the names of streams begin with.
pub const STREAM_PREFIX: &str = "thread-";

/// The file of a thread's stream. The thread that `main` runs in is 0; the others are numbered as they are created.
///
/// ```
/// assert_eq!(allways_epa_format::stream_name(12), "thread-12");
/// ```
pub fn stream_name(thread: u64) -> String {
    format!("{STREAM_PREFIX}{thread}")
}
