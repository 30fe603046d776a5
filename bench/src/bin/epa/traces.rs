//! Table 8: are runs without a fault the same when sanitised? Table 10: how long it takes to say so.

use super::{PROGRAMS, Settings, built, median};
use allways_epa::campaign::{Limits, Target, record, run};
use allways_epa::compare::compare;
use allways_epa::reverse::{Options, Reversibility, Solver, check};
use allways_epa::sanitise::{Sanitised, steps};
use allways_epa::trace::Trace;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

pub fn measure(settings: &Settings) -> Result<(), String> {
    println!(
        "{} runs of each program without a fault, threads free, addresses random",
        settings.runs
    );
    println!(
        "(in brackets what the thesis measured: instructions, minutes of the check, seconds of sanitising and comparing)\n"
    );
    println!(
        "{:13} {:>8} {:>8} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10} {:>8} {:>9}",
        "",
        "threads",
        "records",
        "raw",
        "sanitised",
        "check",
        "pairs",
        "sanitise",
        "compare",
        "bytes",
        "slow-down"
    );
    println!(
        "{:13} {:>8} {:>8} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10} {:>8} {:>9}",
        "", "", "", "different", "different", "s", "", "M rec/s", "M rec/s", "a record", ""
    );
    for (name, paper) in PROGRAMS {
        program(settings, name, paper)?;
    }
    Ok(())
}

/// One run without a fault, and how long it took.
fn recorded(target: &Target) -> Result<(Trace, f64), String> {
    let stop = AtomicBool::new(false);
    let (run, trace) = record(target, &stop)?.ok_or("it was stopped")?;
    Ok((trace, run.time.as_secs_f64()))
}

fn program(settings: &Settings, name: &str, paper: [f64; 4]) -> Result<(), String> {
    let (target, plain) = (built(settings, name, false)?, built(settings, name, true)?);
    let (golden, _) = recorded(&target)?;
    let told = |error: allways_epa::trace::TraceError| format!("{name}: {error}");
    let sanitised = Sanitised::new(&golden).map_err(told)?;
    let (mut raw, mut deviations) = (HashSet::from([hash(&golden)]), 0);
    let (mut sanitising, mut comparing) = (Vec::new(), Vec::new());
    let (mut slow, mut quick) = (Vec::new(), Vec::new());
    for _ in 1..settings.runs {
        let (trace, time) = recorded(&target)?;
        slow.push(time);
        let stop = AtomicBool::new(false);
        let plain = run(&plain, None, &Limits::GOLDEN, &stop)?.ok_or("it was stopped")?;
        quick.push(plain.time.as_secs_f64());
        raw.insert(hash(&trace));
        let begin = Instant::now();
        let other = Sanitised::new(&trace).map_err(told)?;
        sanitising.push(begin.elapsed().as_secs_f64());
        let begin = Instant::now();
        let comparison = compare(&sanitised, &other);
        comparing.push(begin.elapsed().as_secs_f64());
        if let Some(first) = &comparison.first {
            deviations += 1;
            eprintln!("{name}: {first}");
        }
    }
    let records = sanitised.records as f64;
    let bytes: usize = golden.streams.iter().map(|stream| stream.bytes.len()).sum();
    let steps = steps(&golden).map_err(told)?;
    let begin = Instant::now();
    let checked = check(&steps, &Options::default())?;
    let checking = begin.elapsed().as_secs_f64();
    let Reversibility::Never { pairs, .. } = checked else {
        return Err(format!("{name} is not pseudo-deterministic"));
    };
    let million = |times: Vec<f64>| records / median(times) / 1e6;
    print!(
        "{name:13} {:>8} {records:>8} {:>5}/{:<3} {deviations:>5}/{:<3} {checking:>9.3} {pairs:>9} {:>10.2} {:>10.2} {:>8.2} {:>9.1}",
        golden.streams.len(),
        raw.len(),
        settings.runs,
        settings.runs,
        million(sanitising),
        million(comparing),
        bytes as f64 / records,
        median(slow) / median(quick),
    );
    println!("   [{:.0} k, {} min, {} s, {} s]", paper[0] / 1e3, paper[1], paper[2], paper[3]);
    if settings.z3 {
        let options = Options {
            solver: Solver::External("z3".into()),
            time: Some(Duration::from_secs(60)),
            ..Options::default()
        };
        let begin = Instant::now();
        let said = match check(&steps, &options) {
            Ok(Reversibility::Never { .. }) => "never".to_owned(),
            Ok(Reversibility::Possible(_)) => return Err(format!("z3 says otherwise of {name}")),
            Err(why) => why,
        };
        println!(
            "{:13} z3: {said} after {:.1} s, {} steps",
            "",
            begin.elapsed().as_secs_f64(),
            steps.len()
        );
    }
    Ok(())
}

fn hash(trace: &Trace) -> u64 {
    let mut hasher = DefaultHasher::new();
    trace.addresses.hash(&mut hasher);
    trace.streams.iter().for_each(|stream| stream.bytes.hash(&mut hasher));
    hasher.finish()
}
