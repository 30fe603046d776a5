//! `allways epa check`: is a trace pseudo-deterministic?

use super::judge::{Judged, judge};
use super::opened_complete;
use crate::args::CheckTraceArgs;
use crate::console::Console;
use crate::json::object;
use crate::text::{columns, next};
use crate::{Exit, interrupt};
use allways::grouped;
use allways_epa::reverse::{Reversibility, formula};
use allways_epa::sanitise::accesses_of;
use allways_epa::trace::Trace;
use serde::Serialize;
use std::time::Instant;

/// What `check --json` prints.
#[derive(Serialize)]
struct Json {
    trace: String,
    pseudo_deterministic: bool,
    /// Why not, each in a sentence.
    reasons: Vec<String>,
    /// What is taken for granted, each in a sentence.
    assumed: Vec<String>,
    /// Functions of which nobody knows what they do to memory, and where they are called.
    unknown: Vec<UnknownJson>,
    cut_off: Vec<String>,
    /// Two accesses that can come in the other order.
    first: Option<StepJson>,
    second: Option<StepJson>,
    /// An order in which they do, in words.
    order: Vec<String>,
    steps: usize,
    pairs: Option<u64>,
    settled_by_order: Option<u64>,
    asked: Option<u64>,
    elapsed_ms: f64,
}

/// Calls of a function of which nobody knows what it does to memory.
#[derive(Serialize)]
struct UnknownJson {
    function: String,
    file: Option<String>,
    line: Option<u32>,
    count: u64,
}

/// One of two accesses.
#[derive(Serialize)]
struct StepJson {
    thread: String,
    record: u64,
    instruction: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    function: Option<String>,
}

pub(super) fn command(args: &CheckTraceArgs, console: &mut Console<'_>) -> Result<Exit, String> {
    let trace = opened_complete(&args.trace)?;
    if args.emit.is_some() {
        let found = accesses_of(&trace, &args.judge.allow).map_err(|error| error.to_string())?;
        console.print(&formula(&found.steps)?)?;
        return Ok(Exit::Holds);
    }
    if console.catches_interrupts {
        interrupt::install(&console.stop);
    }
    let begin = Instant::now();
    let judged = judge(&trace, &args.judge, &console.stop)?;
    let elapsed = begin.elapsed();
    let text = match args.json {
        true => json(args, &trace, &judged, elapsed.as_secs_f64() * 1e3)?,
        false => told(args, &trace, &judged, elapsed.as_secs_f64()),
    };
    console.print(&text)?;
    Ok(match judged.is_pseudo_deterministic() {
        true => Exit::Holds,
        false => Exit::Violated,
    })
}

fn told(args: &CheckTraceArgs, trace: &Trace, judged: &Judged, seconds: f64) -> String {
    let name = args.trace.display();
    let mut out = match judged.is_pseudo_deterministic() {
        true => format!("{name}: pseudo-deterministic\n"),
        false => format!("{name}: not pseudo-deterministic\n"),
    };
    for reason in &judged.unforeseen {
        out.push_str(&format!("\n{reason}\n"));
    }
    if !judged.assumed.is_empty() {
        out.push_str("\ntaken for granted, that what is read is the same in every run:\n");
        judged.assumed.iter().for_each(|call| out.push_str(&format!("  {call}\n")));
    }
    for sentence in [judged.unknown(), judged.unended()].into_iter().flatten() {
        out.push_str(&format!("\n{sentence}\n"));
    }
    if let Reversibility::Possible(witness) = &judged.reversibility {
        let what = judged.touched(trace, witness).map(|name| format!("`{name}`"));
        let what = what.unwrap_or_else(|| "the same memory".to_owned());
        out.push_str(&match judged.is_locked(witness) {
            true => format!("\nthese two accesses to {what} are made with the same lock, but either may have it first:\n"),
            false => format!("\nnothing orders these two accesses to {what}:\n"),
        });
        for at in [witness.first, witness.second] {
            out.push_str(&format!("  {}\n", judged.step(trace, at)));
        }
        out.push_str("\nan order in which the second comes first:\n");
        for (number, line) in judged.order(trace, witness).iter().enumerate() {
            out.push_str(&format!("  {}. {line}\n", number + 1));
        }
    }
    let mut rows = vec![vec!["steps".to_owned(), grouped(judged.steps.len() as u64)]];
    if let Reversibility::Never { pairs, settled_by_order, asked } = &judged.reversibility {
        rows.push(vec!["dependent pairs".to_owned(), grouped(*pairs)]);
        rows.push(vec!["settled by order".to_owned(), grouped(*settled_by_order)]);
        rows.push(vec!["asked a solver".to_owned(), grouped(*asked)]);
    }
    rows.push(vec!["elapsed".to_owned(), format!("{seconds:.3} s")]);
    out.push_str(&format!("\n{}", columns(2, &rows)));
    let mut advice = Vec::new();
    if !judged.unforeseen.is_empty() {
        advice.push(("--allow NAME", "if what a function does is always the same here"));
    }
    if matches!(judged.reversibility, Reversibility::Possible(_)) {
        let order = "in the program: let each thread have results of its own, and put them together when all are joined";
        advice.push(("an order", order));
        advice.push(("--unchecked", "of `inject`, if deviations that come by chance do no harm"));
    }
    if !advice.is_empty() {
        out.push_str(&format!("\n{}", next(&advice)));
    }
    out
}

fn json(
    args: &CheckTraceArgs,
    trace: &Trace,
    judged: &Judged,
    elapsed_ms: f64,
) -> Result<String, String> {
    let step = |at: usize| {
        let step = judged.steps.get(at)?;
        let site = step.site.and_then(|site| trace.program.sites.get(site as usize));
        Some(StepJson {
            thread: judged.thread(step),
            record: step.record,
            instruction: site.map(|site| site.name.clone()),
            file: site.map(|site| site.file.clone()),
            line: site.map(|site| site.line),
            function: site.map(|site| site.function.clone()),
        })
    };
    let unknown = judged.guessed.iter().map(|call| {
        let site = trace.program.sites.get(call.site as usize);
        UnknownJson {
            function: call.function.clone(),
            file: site.map(|site| site.file.clone()),
            line: site.map(|site| site.line),
            count: call.count,
        }
    });
    let (mut pairs, mut settled, mut solved) = (None, None, None);
    let (mut first, mut second, mut order) = (None, None, Vec::new());
    match &judged.reversibility {
        Reversibility::Never { pairs: all, settled_by_order, asked } => {
            (pairs, settled, solved) = (Some(*all), Some(*settled_by_order), Some(*asked));
        }
        Reversibility::Possible(witness) => {
            (first, second) = (step(witness.first), step(witness.second));
            order = judged.order(trace, witness);
        }
    }
    object(&Json {
        trace: args.trace.display().to_string(),
        pseudo_deterministic: judged.is_pseudo_deterministic(),
        reasons: judged.reasons(trace),
        assumed: judged.assumed.clone(),
        unknown: unknown.collect(),
        cut_off: judged.cut_off.clone(),
        first,
        second,
        order,
        steps: judged.steps.len(),
        pairs,
        settled_by_order: settled,
        asked: solved,
        elapsed_ms,
    })
}
