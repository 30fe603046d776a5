//! `allways epa compare`: what differs between two traces, and how far the error went.

use super::opened;
use crate::args::CompareArgs;
use crate::console::Console;
use crate::json::object;
use crate::text::{columns, count};
use crate::{Exit, files};
use allways::grouped;
use allways_epa::campaign::place;
use allways_epa::compare::{Comparison, NodeKind, compare};
use allways_epa::sanitise::Sanitised;
use allways_epa::trace::Trace;
use serde::Serialize;

/// What `compare --json` prints.
#[derive(Serialize)]
struct Json {
    golden: String,
    faulty: String,
    same: bool,
    first: Option<FirstJson>,
    threads: Vec<ThreadJson>,
    instructions: Vec<String>,
    objects: Vec<String>,
    /// What is missing in one of them, each in a sentence: then a difference may be because of that.
    incomplete: Vec<String>,
}

/// The first difference.
#[derive(Serialize)]
struct FirstJson {
    said: String,
    thread: String,
    record: u64,
    place: Option<String>,
}

/// A thread.
#[derive(Serialize)]
struct ThreadJson {
    name: String,
    golden_records: Option<u64>,
    faulty_records: Option<u64>,
    reached: u64,
}

pub(super) fn command(args: &CompareArgs, console: &mut Console<'_>) -> Result<Exit, String> {
    let (golden, faulty) = (opened(&args.golden)?, opened(&args.faulty)?);
    if golden.fingerprint() != faulty.fingerprint() {
        return Err(format!(
            "{} is a trace of another program than {}: {}, not {}",
            args.faulty.display(),
            args.golden.display(),
            called(&faulty),
            called(&golden),
        ));
    }
    let sanitised = |trace: &Trace| Sanitised::new(trace).map_err(|error| error.to_string());
    let comparison = compare(&sanitised(&golden)?, &sanitised(&faulty)?);
    if let Some(path) = &args.dot {
        files::write(path, &comparison.spread.to_dot())?;
    }
    let incomplete = [(&args.golden, &golden), (&args.faulty, &faulty)]
        .iter()
        .filter_map(|(path, trace)| {
            let error = trace.require_complete().err()?;
            Some(format!("of `{}` not all can be said: {error}", path.display()))
        })
        .collect::<Vec<_>>();
    let text = match args.json {
        true => json(args, &golden, &comparison, incomplete)?,
        false => {
            let mut text = told(args, &golden, &comparison);
            incomplete.iter().for_each(|line| text.push_str(&format!("\n{line}\n")));
            text
        }
    };
    console.print(&text)?;
    Ok(if comparison.is_same { Exit::Holds } else { Exit::Violated })
}

/// The name of the program, and its fingerprint: another version has the same name.
fn called(trace: &Trace) -> String {
    format!("`{}` ({:016x})", trace.program.name, trace.fingerprint())
}

fn names(comparison: &Comparison, is: fn(NodeKind) -> bool) -> Vec<String> {
    let nodes = comparison.spread.nodes.iter().filter(|node| is(node.kind));
    nodes.map(|node| node.label.clone()).collect()
}

fn told(args: &CompareArgs, golden: &Trace, comparison: &Comparison) -> String {
    if comparison.is_same {
        let records = comparison.threads.iter().filter_map(|thread| thread.golden).sum::<u64>();
        let records = count(usize::try_from(records).unwrap_or(usize::MAX), "record");
        return format!("the same: {records} of {}\n", count(comparison.threads.len(), "thread"));
    }
    let mut out = "they differ\n".to_owned();
    if let Some(first) = &comparison.first {
        out.push_str(&format!("\nfirst: {first}\n"));
        if let Some(site) = first.site {
            out.push_str(&format!("       at {}\n", place(&golden.program, site)));
        }
    }
    let number = |number: Option<u64>| number.map_or("-".to_owned(), grouped);
    let mut rows = vec![["thread", "golden", "faulty", "reached"].map(str::to_owned).to_vec()];
    rows.extend(comparison.threads.iter().map(|thread| {
        vec![
            thread.name.clone(),
            number(thread.golden),
            number(thread.faulty),
            grouped(thread.reached),
        ]
    }));
    out.push_str(&format!("\n{}", columns(2, &rows)));
    let objects = names(comparison, |kind| matches!(kind, NodeKind::Object(_)));
    if !objects.is_empty() {
        const SHOWN: usize = 20;
        let more = objects.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let shown = objects.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        out.push_str(&format!("\nobjects: {shown}{more}\n"));
    }
    if let Some(path) = &args.dot {
        out.push_str(&format!("saved: {}\n", path.display()));
    }
    out
}

fn json(
    args: &CompareArgs,
    golden: &Trace,
    comparison: &Comparison,
    incomplete: Vec<String>,
) -> Result<String, String> {
    object(&Json {
        golden: args.golden.display().to_string(),
        faulty: args.faulty.display().to_string(),
        same: comparison.is_same,
        first: comparison.first.as_ref().map(|first| FirstJson {
            said: first.to_string(),
            thread: first.thread.clone(),
            record: first.record,
            place: first.site.map(|site| place(&golden.program, site)),
        }),
        threads: comparison
            .threads
            .iter()
            .map(|thread| ThreadJson {
                name: thread.name.clone(),
                golden_records: thread.golden,
                faulty_records: thread.faulty,
                reached: thread.reached,
            })
            .collect(),
        instructions: names(comparison, |kind| matches!(kind, NodeKind::Instruction(_))),
        objects: names(comparison, |kind| matches!(kind, NodeKind::Object(_))),
        incomplete,
    })
}
