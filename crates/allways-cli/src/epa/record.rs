//! `allways epa record`: one run, and its trace.

use super::program::prepare;
use crate::args::RecordArgs;
use crate::console::Console;
use crate::files::typed;
use crate::json::object;
use crate::text::{count, next};
use crate::{Exit, files, interrupt};
use allways_epa::campaign::{Ended, Limits, Run, run};
use allways_epa::format::{Event, Record, Records};
use allways_epa::trace::Trace;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What `record --json` prints.
#[derive(Serialize)]
struct Json {
    program: String,
    trace: String,
    fingerprint: String,
    fault: Option<String>,
    /// Whether the fault happened.
    injected: bool,
    threads: usize,
    records: u64,
    ended: String,
    elapsed_ms: f64,
}

pub(super) fn command(args: &RecordArgs, console: &mut Console<'_>) -> Result<Exit, String> {
    let default = if args.fault.is_some() { "faulty.trace" } else { "golden.trace" };
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(default));
    files::will_be_written(&path)?;
    if console.catches_interrupts {
        interrupt::install(&console.stop);
    }
    let prepared = prepare(&args.program, &console.executable)?;
    let limits = Limits { time: args.timeout, memory: args.memory, ..Limits::GOLDEN };
    let recorded = match &args.fault {
        None => prepared.record(&limits, &console.stop)?,
        Some(fault) => match run(&prepared.target, Some(fault), &limits, &console.stop)? {
            Some(run) => {
                let trace = Trace::gather(&run.trace()).map_err(|error| error.to_string())?;
                Some((run, trace))
            }
            None => None,
        },
    };
    let Some((run, trace)) = recorded else { return Ok(Exit::Inconclusive) };
    let (records, injected) = counted(&trace)?;
    trace.save(&path).map_err(|error| error.to_string())?;
    let text = match args.json {
        true => object(&Json {
            program: args.program.program.display().to_string(),
            trace: path.display().to_string(),
            fingerprint: format!("{:016x}", trace.fingerprint()),
            fault: args.fault.as_ref().map(ToString::to_string),
            injected,
            threads: trace.streams.len(),
            records,
            ended: run.seen.ended.to_string(),
            elapsed_ms: run.time.as_secs_f64() * 1e3,
        })?,
        false => told(args, &path, &run, (&trace, records, injected), &console.program),
    };
    console.print(&text)?;
    Ok(Exit::Holds)
}

/// For people.
fn told(
    args: &RecordArgs,
    path: &Path,
    run: &Run,
    (trace, records, injected): (&Trace, u64, bool),
    program: &str,
) -> String {
    let ended = match run.seen.ended {
        Ended::Exited(0) => String::new(),
        Ended::Exited(status) => format!(", and exited with status {status}"),
        Ended::Killed(signal) => format!(", and was ended by signal {signal}"),
        Ended::TimedOut => ", and was killed, since it did not end".to_owned(),
        Ended::WroteTooMuch => ", and was killed, since it wrote without end".to_owned(),
        Ended::TookTooMuch => ", and was killed, since it took too much memory".to_owned(),
    };
    let mut text = format!(
        "{} ran for {:.3} s{ended}: {} of {}\nsaved: {}\n",
        args.program.program.display(),
        run.time.as_secs_f64(),
        count(usize::try_from(records).unwrap_or(usize::MAX), "record"),
        count(trace.streams.len(), "thread"),
        path.display(),
    );
    let file = typed(path);
    let advice = match &args.fault {
        None => vec![
            (format!("{program} epa check {file}"), "could another order of threads change it?"),
            (format!("{program} epa show {file}"), "to look at it"),
        ],
        Some(_) => {
            if !injected {
                text.push_str("the fault did not happen: the thread never came to its place\n");
            }
            if let Err(error) = trace.require_complete() {
                text.push_str(&format!("{error}\n"));
            }
            vec![(format!("{program} epa compare golden.trace {file}"), "what is different")]
        }
    };
    text.push_str(&format!("\n{}", next(&advice)));
    text
}

/// How many instructions a trace has, and whether there is a fault in it.
fn counted(trace: &Trace) -> Result<(u64, bool), String> {
    let (mut instructions, mut injected) = (0, false);
    for stream in &trace.streams {
        let mut records = Records::new(&trace.program, &stream.bytes);
        while let Some(record) = records.next().map_err(|error| error.to_string())? {
            match record {
                Record::Instruction { .. } => instructions += 1,
                Record::Event(event) => injected |= event == Event::Injected,
            }
        }
    }
    Ok((instructions, injected))
}
