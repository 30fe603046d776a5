//! `allways epa inject`: a campaign. Many runs, each with a fault, and what came of them.

use super::judge::judge;
use super::program::prepare;
use super::watch::Counts;
use super::{opened_complete, summary};
use crate::args::InjectArgs;
use crate::console::Console;
use crate::progress::Watch;
use crate::{Exit, files, interrupt};
use allways_epa::campaign::{
    Difference, Directory, Finding, Golden, Heading, Journal, Limits, Lock, Run, Summary, Target,
    Used, Work, at_once, perform, place, plan, rehearse,
};
use allways_epa::format::{Fault, FaultKind};
use allways_epa::trace::Trace;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

pub(super) fn command(args: &InjectArgs, console: &mut Console<'_>) -> Result<Exit, String> {
    let directory = Directory(args.out.clone());
    let lock = begins(args, &directory)?;
    if console.catches_interrupts {
        interrupt::install(&console.stop);
    }
    let prepared = prepare(&args.program, &console.executable)?;
    let target = &prepared.target;
    let Some((run, recorded)) = prepared.record(&golden_limits(args), &console.stop)? else {
        return interrupted(console);
    };
    let recorded_fingerprint = recorded.fingerprint();
    // Who goes on, or repeats, compares with the trace that all others were compared with.
    let is_kept = directory.has_campaign() && (args.resume || args.only.is_some());
    let (trace, other) = match is_kept {
        true => (opened_complete(&directory.golden())?, Some(recorded)),
        false => (recorded, None),
    };
    let heading = heading(args, recorded_fingerprint);
    if is_kept {
        let begun = Journal::read(&directory.journal())?;
        let refuse = |why| format!("cannot go on with {}: {why}", args.out.display());
        // A fault that is repeated says itself all that the seed says, and nothing is added to the campaign.
        let as_begun = Heading {
            seed: begun.said("seed").parse().unwrap_or_default(),
            checked: begun.said("checked") == "yes",
            ..heading.clone()
        };
        begun.is_of(if args.only.is_some() { &as_begun } else { &heading }).map_err(refuse)?;
    }
    if !args.unchecked && other.is_none() {
        let judged = judge(&trace, &args.judge, &console.stop);
        if console.stop.load(Relaxed) {
            return interrupted(console);
        }
        let judged = judged?;
        if !judged.is_pseudo_deterministic() {
            let reasons = judged.reasons(&trace).join("; ");
            return Err(format!(
                "the golden run is not pseudo-deterministic, so deviations could be by chance: {reasons}; \
                 --unchecked does it all the same"
            ));
        }
    }
    let golden = Golden::new(trace).map_err(|error| error.to_string())?;
    if let Some(other) = other {
        let judgement = golden.judgement(&other).map_err(|error| error.to_string())?;
        refuse_difference(args, &golden, judgement.difference, console)?;
    }
    let Some(used) = rehearsed(args, &golden, target, &run, console)? else {
        return interrupted(console);
    };
    let limits = limits(args, used)?;
    let judge = |trace: &Path| golden.judge(trace);
    let stop = std::sync::Arc::clone(&console.stop);
    let work = Work {
        target,
        golden: run.seen,
        limits,
        threads: args.threads,
        stop: &stop,
        judge: &judge,
    };
    let Some(lock) = lock else {
        let line = args.only.as_deref().unwrap_or_default();
        return only(args, &directory, line, &golden.trace, &work, console);
    };
    let candidates = golden.candidates()?;
    let program = &golden.trace.program;
    let planned = plan(&candidates, program, &args.faults, args.seed, args.runs);
    let idle: Vec<FaultKind> =
        args.faults.iter().copied().filter(|kind| candidates.of(program, *kind) == 0).collect();
    if !args.resume {
        golden.trace.save(&directory.golden()).map_err(|error| error.to_string())?;
    }
    let journal = watched(args, &lock, &heading, &planned, &work, console)?;
    let mut findings = journal.findings;
    // A campaign may have been begun with more kinds, or more runs, than are asked for now.
    findings.retain(|(_, f)| args.faults.contains(&f.fault.kind) && f.number < args.runs);
    let done = findings.len() == planned.len();
    let summary = Summary::new(program, &findings);
    let told = summary::Told { args, summary: &summary, idle: &idle, planned: planned.len(), done };
    let text = if args.json { told.json()? } else { told.text(&console.program) };
    console.print(&text)?;
    Ok(match (done, summary.missed()) {
        (false, _) => Exit::Inconclusive,
        (true, 0) => Exit::Holds,
        (true, _) => Exit::Violated,
    })
}

/// Makes sure beforehand that nothing is overwritten, that everything can be written, and that nobody else writes there. Who repeats
/// one fault writes nothing.
fn begins(args: &InjectArgs, directory: &Directory) -> Result<Option<Lock>, String> {
    let name = args.out.display();
    if args.only.is_some() {
        return Ok(None);
    }
    if args.resume && !directory.has_campaign() {
        return Err(format!("there is no campaign in {name} to go on with"));
    }
    files::directory(&args.out)?;
    let lock = directory.lock()?;
    if !args.resume && directory.has_campaign() {
        return Err(format!(
            "there is a campaign in {name} already: --resume goes on with it, --out begins another"
        ));
    }
    Ok(Some(lock))
}

/// Limits of the first run without a fault: those that were given.
fn golden_limits(args: &InjectArgs) -> Limits {
    let time = args.timeout.unwrap_or(Limits::GOLDEN.time);
    Limits { time, memory: args.memory, ..Limits::GOLDEN }
}

fn heading(args: &InjectArgs, fingerprint: u64) -> Heading {
    let arguments = &args.program.arguments;
    Heading {
        program: args.program.program.display().to_string(),
        flags: args.program.cflags.clone().unwrap_or_default(),
        fingerprint,
        arguments: arguments.iter().map(|text| text.to_string_lossy().into_owned()).collect(),
        seed: args.seed,
        checked: !args.unchecked,
    }
}

/// Further runs without a fault, as many as there will be at once: they have to be as the first. What a check of one trace cannot know, such as what
/// libraries do, is noticed here, and how long runs take while others run. Says what they took at most.
fn rehearsed(
    args: &InjectArgs,
    golden: &Golden,
    target: &Target,
    run: &Run,
    console: &mut Console<'_>,
) -> Result<Option<Used>, String> {
    let limits = Limits { time: Limits::GOLDEN.time, ..limits(args, run.used)? };
    let told = rehearse(target, golden, run.seen, &limits, runs_at_once(args), &console.stop)?;
    let Some(told) = told else { return Ok(None) };
    if let Some(seen) = told.seen {
        let (one, other) = (run.seen.ended, seen.ended);
        let differs = match one == other {
            true => "do not print the same".to_owned(),
            false => format!(
                "do not end in the same way ({one}, and {other}; if it had too little memory, --memory gives it more)"
            ),
        };
        if !args.unchecked {
            return Err(format!(
                "two runs without a fault {differs}: nothing can be said about runs with one"
            ));
        }
        console.complain(&format!(
            "two runs without a fault {differs}: silent data corruption and crashes may be by chance"
        ));
    }
    refuse_difference(args, golden, told.difference, console)?;
    Ok(Some(run.used.max(told.used)))
}

/// Runs without a fault have to be the same, or it has to be said that they are not.
fn refuse_difference(
    args: &InjectArgs,
    golden: &Golden,
    difference: Option<Difference>,
    console: &mut Console<'_>,
) -> Result<(), String> {
    let Some(difference) = difference else { return Ok(()) };
    let at = difference.entered.map(|entered| match entered.site {
        Some(site) => format!(", first at {}", place(&golden.trace.program, site)),
        None => format!(", first in an event of {}", entered.thread),
    });
    let at = at.unwrap_or_default();
    let differs = format!("two runs without a fault differ{at}: deviations could be by chance");
    if !args.unchecked {
        return Err(format!("{differs}; --unchecked does it all the same"));
    }
    console.complain(&differs);
    Ok(())
}

/// One fault is repeated alone.
fn runs_at_once(args: &InjectArgs) -> usize {
    if args.only.is_some() { 1 } else { at_once(args.threads) }
}

/// What a run may take, after what those without a fault took.
fn limits(args: &InjectArgs, used: Used) -> Result<Limits, String> {
    let limits = Limits::after(used).in_room(runs_at_once(args), used)?;
    Ok(Limits {
        time: args.timeout.unwrap_or(limits.time),
        memory: args.memory.or(limits.memory),
        ..limits
    })
}

/// Stopped before anything was tried.
fn interrupted(console: &mut Console<'_>) -> Result<Exit, String> {
    console.complain("interrupted before the first run with a fault");
    Ok(Exit::Inconclusive)
}

/// Tries all faults, and shows how far that is.
fn watched(
    args: &InjectArgs,
    lock: &Lock,
    heading: &Heading,
    planned: &[(u64, Fault)],
    work: &Work<'_>,
    console: &mut Console<'_>,
) -> Result<Journal, String> {
    let counts = Counts::default();
    let done = |finding: &Finding| {
        counts.done.fetch_add(1, Relaxed);
        counts.deviated.fetch_add(finding.deviated.into(), Relaxed);
        counts.failed.fetch_add(finding.outcome.is_failure().into(), Relaxed);
    };
    let before = match args.resume {
        true => Journal::read(&Directory(args.out.clone()).journal())?.findings.len(),
        false => 0,
    };
    let all = planned.len().saturating_sub(before) as u64;
    let begin = Instant::now();
    let read = || counts.reading(all, begin.elapsed(), work.stop.load(Relaxed));
    Watch::wanted(args.json, false, console.terminal)
        .during(read, console.err, || perform(lock, heading, planned, args.resume, work, &done))
}

/// Repeats one fault: one that is given as such, or by its line.
fn only(
    args: &InjectArgs,
    directory: &Directory,
    line: &str,
    golden: &Trace,
    work: &Work<'_>,
    console: &mut Console<'_>,
) -> Result<Exit, String> {
    let (number, fault, before) = match line.parse::<usize>() {
        Err(_) => {
            let fault: Fault = line.parse().map_err(|error| format!("--only: {error}"))?;
            (0, fault, None)
        }
        Ok(number) => {
            let journal = Journal::read(&directory.journal())?;
            let found = journal.findings.into_iter().find(|(at, _)| *at == number);
            let (_, found) = found.ok_or_else(|| {
                format!("line {number} of {} has no fault", directory.journal().display())
            })?;
            (found.number, found.fault.clone(), Some(found))
        }
    };
    let Some(finding) = work.try_one(number, &fault)? else { return interrupted(console) };
    let text = match args.json {
        true => summary::finding_json(&finding, golden)?,
        false => summary::finding_text(&finding, before.as_ref(), golden),
    };
    console.print(&text)?;
    Ok(if finding.is_missed() { Exit::Violated } else { Exit::Holds })
}
