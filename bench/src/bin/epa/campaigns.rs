//! Figure 17: how many runs with a fault deviate, by program and kind of fault, and what came of them.

use super::{PROGRAMS, Settings, built};
use allways_epa::campaign::{
    Directory, Golden, Heading, Limits, Summary, Work, at_once, perform, plan, record, rehearse,
};
use allways_epa::format::FaultKind;
use std::path::Path;
use std::sync::atomic::AtomicBool;

pub fn measure(settings: &Settings) -> Result<(), String> {
    println!(
        "\n{} runs with a fault for each program and kind; in per cent of the runs, with intervals of 95 %\n",
        settings.runs
    );
    println!(
        "{:13} {:12} {:>5} {:>22} {:>22} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}",
        "",
        "",
        "runs",
        "coverage",
        "propagation",
        "benign",
        "deviat.",
        "SDC",
        "crash",
        "hang",
        "missed"
    );
    for (name, _) in PROGRAMS {
        program(settings, name)?;
    }
    Ok(())
}

fn program(settings: &Settings, name: &str) -> Result<(), String> {
    let target = built(settings, name, false)?;
    let stop = AtomicBool::new(false);
    let (run, trace) = record(&target, &stop)?.ok_or("it was stopped")?;
    let golden = Golden::new(trace).map_err(|error| error.to_string())?;
    let program = &golden.trace.program;
    let planned = plan(&golden.candidates()?, program, &FaultKind::ALL, 1, settings.runs as u64);
    let judge = |trace: &Path| golden.judge(trace);
    // What runs take while others run is what limits are made of.
    let rehearsal = rehearse(&target, &golden, run.seen, &Limits::GOLDEN, at_once(0), &stop)?;
    let used = run.used.max(rehearsal.ok_or("it was stopped")?.used);
    let limits = Limits::after(used).in_room(at_once(0), used)?;
    let work =
        Work { target: &target, golden: run.seen, limits, threads: 0, stop: &stop, judge: &judge };
    let fingerprint = golden.trace.fingerprint();
    let heading = Heading {
        program: name.to_owned(),
        flags: String::new(),
        fingerprint,
        arguments: Vec::new(),
        seed: 1,
        checked: true,
    };
    let directory = settings.directory.join(format!("{name}-campaign"));
    std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let lock = Directory(directory).lock()?;
    let journal = perform(&lock, &heading, &planned, false, &work, &|_| ())?;
    let summary = Summary::new(program, &journal.findings);
    for row in &summary.rows {
        let share = |share: allways_epa::campaign::Share| {
            let (low, high) = share.interval();
            let value = share.value().unwrap_or(0.0);
            format!("{:.1} ({:.1} to {:.1})", 100.0 * value, 100.0 * low, 100.0 * high)
        };
        let [benign, deviation, corruption, crash, hang] = row.outcomes;
        println!(
            "{name:13} {:12} {:>5} {:>22} {:>22} {benign:>7} {deviation:>7} {corruption:>7} {crash:>7} {hang:>7} {:>7}",
            row.kind.name(),
            row.runs(),
            share(row.coverage()),
            share(row.propagation()),
            row.missed
        );
    }
    Ok(())
}
