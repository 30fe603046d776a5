//! `allways bmc`: bounded model checking of a concurrent program in a file.

mod report;

use crate::args::{BmcArgs, Emit, constants};
use crate::console::Console;
use crate::progress::{Reading, Watch, stopping};
use crate::{Exit, files, interrupt};
use allways::{Format, SavedRun, Verdict, grouped};
use allways_bmc::{Model, check, lang};
use report::Report;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

/// How a file's name ends that is such a program.
pub(crate) const ENDING: &str = ".pbmc";

/// The program in a file, with some constants set.
pub(crate) fn open(path: &Path, set: &[(String, i64)], color: bool) -> Result<Model, String> {
    let name = path.display().to_string();
    let source = fs::read(path).map_err(|error| format!("cannot read {name}: {error}"))?;
    let source = String::from_utf8(source).map_err(|_| format!("{name} is no text in UTF-8"))?;
    lang::compile(&name, &source, set).map(Model::new).map_err(|diagnostics| {
        let told: Vec<String> = diagnostics
            .iter()
            .map(|diagnostic| diagnostic.render(&name, &source, color).trim_end().to_owned())
            .collect();
        let errors = crate::text::count(diagnostics.len(), "error");
        format!("{name} has {errors}\n{}", told.join("\n"))
    })
}

/// The program of a saved run, with its constants.
pub(crate) fn reopen(system: &str, parameters: &[(String, String)]) -> Result<Model, String> {
    let model = open(Path::new(system), &constants(parameters)?, false);
    // What is wrong with a program takes several lines, and there is a command that tells.
    model.map_err(|told| match told.split_once('\n') {
        Some((first, _)) => format!("{first}; `allways bmc {system}` tells where"),
        None => told,
    })
}

pub(crate) fn bmc(args: &BmcArgs, console: &mut Console<'_>) -> Result<Exit, String> {
    let text = console.text_options(args.color, true);
    let mut model = match open(&args.program, &args.constants()?, text.color) {
        Ok(model) => model,
        Err(complaint) => {
            // The place in the source takes several lines.
            console.note(&format!("{}: {complaint}\n", console.program));
            return Ok(Exit::Wrong);
        }
    };
    model.keep(&args.property)?;
    if model.goals().is_empty() {
        let what = "there is nothing to check in this program: no property, no assertion";
        return Err(format!("{what}, no index that could be out of range"));
    }
    if let Some(format) = args.emit {
        return emit(&model, format, args, console);
    }
    if let Some(directory) = &args.save {
        files::directory(directory)?;
    }
    let mut options = args.options();
    options.stop.push(Arc::clone(&console.stop));
    if console.catches_interrupts {
        interrupt::install(&console.stop);
    }
    let checked = watched(&model, &options, args, console)?;
    let saved = match &args.save {
        Some(directory) => save(&checked, args, directory, &console.program)?,
        None => Vec::new(),
    };
    let report = Report {
        model: &model,
        checked: &checked,
        args,
        options: &options,
        saved: &saved,
        program: &console.program,
    };
    let text = match (args.json, args.quiet) {
        (true, _) => report.json()?,
        (_, true) => report.verdict(),
        _ => report.whole(&text),
    };
    console.print(&text)?;
    Ok(match checked.outcome.verdict {
        Verdict::Holds => Exit::Holds,
        Verdict::Violated => Exit::Violated,
        Verdict::Inconclusive => Exit::Inconclusive,
    })
}

/// Checks, and says on a terminal how deep it is.
fn watched(
    model: &Model,
    options: &check::Options,
    args: &BmcArgs,
    console: &mut Console<'_>,
) -> Result<allways_bmc::Checked, String> {
    let (reached, begin, most) = (AtomicUsize::new(0), Instant::now(), options.depth);
    let stop = Arc::clone(&console.stop);
    let read =
        || reading(reached.load(Relaxed), most, begin.elapsed().as_secs(), stop.load(Relaxed));
    Watch::wanted(args.quiet || args.json, false, console.terminal).during(
        read,
        console.err,
        || {
            model.check(options, &|depth| {
                reached.fetch_max(depth, Relaxed);
            })
        },
    )
}

/// How deep it is. How long a step takes nobody knows, so there is no bar that would say so.
fn reading(depth: usize, most: usize, seconds: u64, is_stopping: bool) -> Reading {
    let steps = (8, format!("{} of {} steps", grouped(depth as u64), grouped(most as u64)));
    let parts = stopping(is_stopping).into_iter().chain([steps, (5, format!("{seconds} s"))]);
    Reading { parts: parts.collect(), fraction: None }
}

/// Writes a formula, and what it takes to solve it.
fn emit(
    model: &Model,
    format: Emit,
    args: &BmcArgs,
    console: &mut Console<'_>,
) -> Result<Exit, String> {
    let goal = match model.goals() {
        [goal] => goal,
        [goal, ..] if args.property.is_empty() => goal,
        _ => return Err("a formula is for one property: give --property once".to_owned()),
    };
    let options = args.options();
    let text = match format {
        Emit::Smt2(theory) => check::smt2(model.program(), goal, &options, theory),
        Emit::Dimacs => check::dimacs(model.program(), goal, &options),
    };
    console.print(&text)?;
    Ok(Exit::Holds)
}

/// Keeps the run of a violation, and a page to look through.
fn save(
    checked: &allways_bmc::Checked,
    args: &BmcArgs,
    directory: &Path,
    program: &str,
) -> Result<Vec<PathBuf>, String> {
    let outcome = &checked.outcome;
    let Some(story) = &outcome.story else { return Ok(Vec::new()) };
    // Whoever replays it may stand somewhere else.
    let source = fs::canonicalize(&args.program).unwrap_or_else(|_| args.program.clone());
    let saved = SavedRun::new(source.display().to_string(), args.set.clone(), outcome);
    let saved = saved.map_err(|error| error.to_string())?;
    let run = directory.join("run.json");
    files::write(&run, &saved.to_json())?;
    let page = directory.join("report.html");
    let about = crate::run_file::about(&saved, &run, program);
    files::write(&page, &story.render(Format::Html, &about))?;
    Ok(vec![run, page])
}
