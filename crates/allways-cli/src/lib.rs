//! The command line of Allways, as a library: a binary of your own with systems of your own gets
//! the same commands.
//!
//! ```no_run
//! use allways::Checkable;
//! use allways::prelude::*;
//! use allways_cli::{Entry, Kind, Parameter};
//! # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct Server;
//! # impl Node for Server { type Msg = (); type Timer = Never; type Call = Never;
//! #   type Output = Never; fn on_message(&mut self, _: Id, _: (), _: &mut Cx<'_, Self>) {} }
//!
//! static SYSTEMS: &[Entry] = &[Entry::new(
//!     "my-server",
//!     "what it is, in one line",
//!     &[Parameter {
//!         name: "nodes",
//!         about: "how many servers",
//!         kind: Kind::Number { default: 3, min: 1, max: 9 },
//!     }],
//!     &[],
//!     |parameters| {
//!         let system = System::new(vec![Server; parameters.number("nodes")]);
//!         Ok(Box::new(system) as Box<dyn Checkable>)
//!     },
//! )];
//!
//! fn main() -> std::process::ExitCode {
//!     allways_cli::main(SYSTEMS)
//! }
//! ```

mod args;
#[cfg(feature = "bmc")]
mod bmc;
mod check;
mod complaint;
mod console;
#[cfg(feature = "epa")]
mod epa;
mod files;
mod interrupt;
mod json;
mod list;
mod live;
mod manual;
mod minimise;
mod progress;
mod replay;
mod report;
mod run_file;
mod save;
mod show;
mod text;

pub use allways_catalogue::{Bug, Entry, Kind, Parameter, Parameters};
use args::{Cli, Command};
use clap::FromArgMatches;
use console::Console;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// What a command ends in: the exit code of the process.
///
/// ```
/// assert_eq!(allways_cli::Exit::Inconclusive as u8, 3);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Every property holds; for a command that checks nothing: it did its job.
    Holds = 0,
    /// A property is violated.
    Violated = 1,
    /// Wrong usage or input.
    Wrong = 2,
    /// A budget ran out before anything could be said.
    Inconclusive = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// The whole program: the arguments of this process, its standard streams, Ctrl-C.
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     allways_cli::main(allways_catalogue::entries()) // this is `allways` itself
/// }
/// ```
pub fn main(entries: &[Entry]) -> ExitCode {
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let mut console = Console::new(&mut out, &mut err);
    console.terminal = console::error_terminal();
    console.out_terminal = console::out_terminal();
    console.catches_interrupts = true;
    dispatch(entries, std::env::args_os(), &mut console).into()
}

/// One command with these arguments, the program's name first as in [`std::env::args_os`].
///
/// Takes neither of the streams for a terminal, and leaves Ctrl-C alone.
///
/// ```
/// use allways_cli::{Exit, run};
/// let (mut out, mut err) = (Vec::new(), Vec::new());
/// let exit = run(allways_catalogue::entries(), ["allways", "check", "tree"], &mut out, &mut err);
/// assert_eq!(exit, Exit::Holds);
/// assert!(String::from_utf8(out).unwrap().contains("holds, complete"));
/// ```
pub fn run<A: Into<OsString> + Clone>(
    entries: &[Entry],
    args: impl IntoIterator<Item = A>,
    out: &mut dyn Write,
    err: &mut (dyn Write + Send),
) -> Exit {
    dispatch(entries, args, &mut Console::new(out, err))
}

fn dispatch<A: Into<OsString> + Clone>(
    entries: &[Entry],
    args: impl IntoIterator<Item = A>,
    console: &mut Console<'_>,
) -> Exit {
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    console.is_called(args.first());
    let parsed = args::called(entries, &console.program).try_get_matches_from(&args);
    let result = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => match cli.command {
            Command::List(list) => list::list(entries, &list, console),
            Command::Check(check) => check::check(entries, &check, console),
            Command::Replay(args) => replay::replay(entries, &args, console),
            Command::Show(args) => show::show(entries, &args, console),
            Command::Minimise(args) => minimise::minimise(entries, &args, console),
            #[cfg(feature = "bmc")]
            Command::Bmc(args) => bmc::bmc(&args, console),
            #[cfg(feature = "epa")]
            Command::Epa(args) => epa::epa(&args, console),
            Command::Live(args) => live::live(entries, &args, console),
            Command::LiveNode(args) => live::live_node(entries, &args),
            Command::Completions(args) => manual::completions(entries, &args, console),
            Command::Man(args) => manual::man(&args, console),
        },
        Err(error) => return complaint::usage(&error, &args, console),
    };
    result.unwrap_or_else(|complaint| {
        console.complain(&complaint);
        Exit::Wrong
    })
}
