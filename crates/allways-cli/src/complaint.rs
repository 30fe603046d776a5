//! Wrong arguments, said in one sentence that names the argument, or the variable it came from.

use crate::Exit;
use crate::console::Console;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error;
use std::ffi::OsString;

/// Prints what the parser of the arguments has to say: help where it was asked for, otherwise
/// what is wrong.
pub(crate) fn usage(error: &clap::Error, args: &[OsString], console: &mut Console<'_>) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            match console.print(&error.render().to_string()) {
                Ok(()) => return Exit::Holds,
                Err(complaint) => console.complain(&complaint),
            }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            console.note(&error.render().to_string());
        }
        ErrorKind::ValueValidation => match (error.source(), place(error, args)) {
            (Some(what), Some(place)) => console.complain(&format!("{place}: {what}")),
            _ => console.complain(&sentence(error)),
        },
        _ => console.complain(&sentence(error)),
    }
    Exit::Wrong
}

/// The flag that has a wrong value, or the variable if it was not given as a flag.
fn place(error: &clap::Error, args: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(arg)) = error.get(ContextKind::InvalidArg) else { return None };
    let flag = arg.split([' ', '[', '=']).next()?;
    let given = args.iter().filter_map(|arg| arg.to_str()).any(|arg| {
        arg.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    });
    let command = crate::args::Cli::command();
    let variable = command
        .get_subcommands()
        .flat_map(clap::Command::get_arguments)
        .find(|arg| arg.get_long().is_some_and(|long| flag.strip_prefix("--") == Some(long)))
        .and_then(|arg| arg.get_env())
        .and_then(|name| name.to_str());
    match variable {
        Some(variable) if !given => Some(variable.to_owned()),
        _ => Some(flag.to_owned()),
    }
}

/// What the parser says, without the usage that it repeats.
fn sentence(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let mut parts = text.strip_prefix("error: ").unwrap_or(&text).split("\n\n");
    let join = |part: &str| {
        part.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let what = join(parts.next().unwrap_or_default());
    // That a value may look like a flag is no help to whoever misspelt a flag.
    let tips = parts.map(join).filter_map(|part| Some(part.strip_prefix("tip: ")?.to_owned()));
    let tips = tips.filter(|tip| !tip.starts_with("to pass"));
    let mut sentence = what;
    for tip in tips {
        sentence = format!("{sentence}; {tip}");
    }
    format!("{sentence}; --help shows what there is")
}
