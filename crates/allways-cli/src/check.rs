//! `allways check`: builds the system, checks it, and says what came of it.

use crate::args::CheckArgs;
use crate::console::Console;
use crate::progress::Watch;
use crate::report::Report;
use crate::save::Save;
use crate::{Entry, Exit, Parameters, interrupt, json, save};
use allways::{Checkable, Engine, TextOptions, Verdict};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A report shows at most this many steps of a run; `allways show` shows all.
const MAX_SHOWN: usize = 200;

pub(crate) fn check(
    entries: &[Entry],
    args: &CheckArgs,
    console: &mut Console<'_>,
) -> Result<Exit, String> {
    // The flags have read their variables; this is for those that no flag has: misspelt ones.
    allways::Options::from_env().map_err(in_words)?;
    let entry = match (&args.system, entries) {
        (Some(name), _) => allways_catalogue::find_among(entries, name).map_err(in_words)?,
        (None, [only]) => only,
        (None, _) => {
            let which = "say which system to check";
            return Err(format!("{which}: `{} list` shows all", console.program));
        }
    };
    let parameters = entry.parameters(&args.settings()).map_err(in_words)?;
    let mut system = build(entry, &parameters)?;
    if !args.property.is_empty() {
        system = system.only(&args.property).map_err(in_words)?;
    }
    save::prepare(&args.output)?;
    let mut options = args.options();
    if options.engine == Engine::Auto && system.is_of_threads() {
        // That is what it means for them. Said here, progress counts runs.
        options.engine = Engine::Dpor;
    }
    options.title = Some(title(entry, &parameters));
    options.stop = Some(Arc::clone(&console.stop));
    if console.catches_interrupts {
        interrupt::install(&console.stop);
    }
    let watch = Watch::wanted(args.output.quiet, args.output.progress, console.terminal);
    let outcome = watch.check(&options, console.err, || system.check_with(&options));
    let outcome = outcome.map_err(in_words)?;
    let properties = system.property_names();
    let save = Save {
        entry,
        parameters: &parameters,
        properties: &properties,
        outcome: &outcome,
        program: &console.program,
    };
    // What was found is said even if it cannot be saved.
    let (saved, unsaved) = match save.all(&args.output) {
        Ok(saved) => (saved, None),
        Err(complaint) => (Vec::new(), Some(complaint)),
    };
    let text = if args.output.json {
        json::outcome(entry, &parameters, &properties, &outcome, &saved)?
    } else {
        let report = Report {
            entry,
            parameters: &parameters,
            properties: &properties,
            only: &args.property,
            is_of_threads: system.is_of_threads(),
            outcome: &outcome,
            witnesses: args.output.witnesses,
            coverage: args.output.coverage,
            saved: &saved,
            text: TextOptions {
                last: Some(MAX_SHOWN),
                ..console.text_options(args.output.color, true)
            },
            program: &console.program,
        };
        if args.output.quiet { report.verdict() } else { report.whole() }
    };
    console.print(&text)?;
    if let Some(complaint) = unsaved {
        return Err(complaint);
    }
    Ok(match outcome.verdict {
        Verdict::Holds => Exit::Holds,
        Verdict::Violated => Exit::Violated,
        Verdict::Inconclusive => Exit::Inconclusive,
    })
}

/// What a system is called, with all of its parameters.
fn title(entry: &Entry, parameters: &Parameters) -> String {
    let all = parameters.iter().map(|(name, value)| format!(" {name}={value}"));
    format!("{}{}", entry.name, all.collect::<String>())
}

/// Builds a system. Code that panics on what it was given has been given wrong input.
pub(crate) fn build(entry: &Entry, parameters: &Parameters) -> Result<Box<dyn Checkable>, String> {
    match catch_unwind(AssertUnwindSafe(|| entry.build_with(parameters))) {
        Ok(built) => built.map_err(in_words),
        Err(_) => Err(format!("system `{}` panicked while it was built", entry.name)),
    }
}

fn in_words(error: allways::Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, args::Cli};
    use clap::Parser;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn a_check_told_to_stop_is_inconclusive_and_says_what_stopped_it() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut console = Console::new(&mut out, &mut err);
        console.stop.store(true, Relaxed);
        let Command::Check(args) = Cli::parse_from(["allways", "check", "tree"]).command else {
            panic!("another command");
        };
        let exit = check(allways_catalogue::entries(), &args, &mut console);
        assert_eq!(exit, Ok(Exit::Inconclusive));
        let out = String::from_utf8(out).unwrap();
        assert!(out.contains("\ninconclusive: bounded by interrupt"), "{out}");
        assert!(out.contains("unique states"), "{out}");
    }
}
