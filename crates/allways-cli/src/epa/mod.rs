//! `allways epa`: error propagation analysis of programs with threads.
//!
//! | file | what |
//! |---|---|
//! | `program.rs` | instruments a program, if that was not yet done |
//! | `record.rs` | one run, and its trace |
//! | `judge.rs`, `check.rs` | is a trace pseudo-deterministic? |
//! | `inject.rs`, `watch.rs`, `summary.rs` | many runs, each with a fault; how far they are, and what came of them |
//! | `compare.rs` | two traces |
//! | `show.rs`, `report.rs` | traces as text, campaigns as pages |

mod check;
mod compare;
mod inject;
mod judge;
mod program;
mod record;
mod report;
mod show;
mod summary;
mod watch;

use crate::Exit;
use crate::args::{EpaArgs, EpaCommand};
use crate::console::Console;
use allways_epa::trace::Trace;
use std::path::Path;

pub(crate) fn epa(args: &EpaArgs, console: &mut Console<'_>) -> Result<Exit, String> {
    match &args.command {
        EpaCommand::Record(args) => record::command(args, console),
        EpaCommand::Check(args) => check::command(args, console),
        EpaCommand::Inject(args) => inject::command(args, console),
        EpaCommand::Compare(args) => compare::command(args, console),
        EpaCommand::Show(args) => show::command(args, console),
        EpaCommand::Report(args) => report::command(args, console),
    }
}

/// The trace in a file, in which nothing is missing: otherwise nothing can be said of all runs.
fn opened_complete(path: &Path) -> Result<Trace, String> {
    let trace = opened(path)?;
    trace
        .require_complete()
        .map_err(|error| format!("of `{}` nothing can be said: {error}", path.display()))?;
    Ok(trace)
}

/// The trace in a file.
fn opened(path: &Path) -> Result<Trace, String> {
    Trace::open(path).map_err(|error| error.to_string())
}
