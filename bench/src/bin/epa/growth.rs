//! How times grow with the length of the trace: sanitising, the check, comparing, and z3 with the thesis' formula, side by side.
//!
//! Each program is given larger and larger inputs, so that its traces have about ten thousand records, then ten times as many, and so on. How many
//! records an input makes is found by trying: between two sizes it grows about as a power, and the next size is chosen by that.

use super::{PROGRAMS, Settings, built, median};
use allways_epa::campaign::{Target, record};
use allways_epa::compare::compare;
use allways_epa::reverse::{Options, Reversibility, Solver, check};
use allways_epa::sanitise::{Sanitised, steps};
use allways_epa::trace::Trace;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How long z3 may take. Whoever needed longer is not asked about longer traces.
const PATIENCE: Duration = Duration::from_secs(60);

/// The arguments of a program: those that stay, and in the end that by which it grows.
fn arguments(name: &str, size: u64) -> Vec<String> {
    let stay: &[&str] = match name {
        "quicksort" => &["4"],
        "blackscholes" => &["3"],
        "swaptions" => &["4", "4"],
        _ => &["8"],
    };
    stay.iter().map(ToString::to_string).chain([size.to_string()]).collect()
}

/// Two runs of a program with an input of this size, and how many records the first has.
struct Sample {
    size: u64,
    records: u64,
    traces: [Trace; 2],
}

fn sample(target: &Target, name: &str, size: u64) -> Result<Sample, String> {
    let arguments = arguments(name, size).into_iter().map(Into::into).collect();
    let target = Target { arguments, ..target.clone() };
    let stop = AtomicBool::new(false);
    let one = || Ok::<Trace, String>(record(&target, &stop)?.ok_or("it was stopped")?.1);
    let traces = [one()?, one()?];
    let mut records = 0;
    let mut merged = traces[0].merged();
    while merged.next().map_err(|error| error.to_string())?.is_some() {
        records += 1;
    }
    Ok(Sample { size, records, traces })
}

/// A sample of about so many records: within a third of it if a few attempts are enough, otherwise the nearest.
fn of_length(target: &Target, name: &str, records: u64) -> Result<Sample, String> {
    let distance = |sample: &Sample| (sample.records as f64 / records as f64).ln().abs();
    let mut before = sample(target, name, 8)?;
    let mut now = sample(target, name, 16)?;
    for _ in 0..5 {
        if distance(&now) < 0.3 {
            break;
        }
        let grown = (now.records as f64 / before.records as f64).ln();
        let power = (grown / (now.size as f64 / before.size as f64).ln()).clamp(0.3, 4.0);
        // Far away the power is another one: not too far at once.
        let factor = (records as f64 / now.records as f64).powf(1.0 / power).clamp(1e-3, 30.0);
        let size = ((now.size as f64 * factor) as u64).max(2);
        if size == now.size {
            break;
        }
        let next = sample(target, name, size)?;
        before = std::mem::replace(&mut now, next);
    }
    Ok(if distance(&before) < distance(&now) { before } else { now })
}

/// How long something takes, as the median of three: with what it gives back.
fn timed<T>(mut work: impl FnMut() -> Result<T, String>) -> Result<(T, f64), String> {
    let mut one = || {
        let begin = Instant::now();
        work().map(|done| (done, begin.elapsed().as_secs_f64()))
    };
    let (done, first) = one()?;
    // What takes long is not measured again.
    let times = match first < 5.0 {
        true => vec![first, one()?.1, one()?.1],
        false => vec![first],
    };
    Ok((done, median(times)))
}

/// Measures traces of up to so many records.
pub fn measure(settings: &Settings, most: u64) -> Result<(), String> {
    println!("times by length of the trace, in seconds; z3 has {} s\n", PATIENCE.as_secs());
    println!(
        "{:13} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>12}",
        "", "size", "records", "steps", "pairs", "asked", "sanitise", "check", "compare", "z3"
    );
    for (name, _) in PROGRAMS {
        let target = built(settings, name, false)?;
        let mut asks_z3 = true;
        let mut records = 10_000;
        while records <= most {
            asks_z3 = row(name, of_length(&target, name, records)?, asks_z3)?;
            records *= 10;
        }
    }
    Ok(())
}

/// One row; says whether z3 came to an end.
fn row(name: &str, sample: Sample, asks_z3: bool) -> Result<bool, String> {
    let told = |error: allways_epa::trace::TraceError| format!("{name}: {error}");
    let [golden, other] = &sample.traces;
    let (sanitised, sanitising) = timed(|| Sanitised::new(golden).map_err(told))?;
    let other = Sanitised::new(other).map_err(told)?;
    let (comparison, comparing) = timed(|| Ok(compare(&sanitised, &other)))?;
    if let Some(first) = comparison.first {
        return Err(format!("{name}: two runs without a fault differ: {first}"));
    }
    drop((sanitised, other));
    // What the check takes is all that comes after the trace.
    let (steps, stepping) = timed(|| steps(golden).map_err(told))?;
    let (checked, checking) = timed(|| check(&steps, &Options::default()))?;
    let Reversibility::Never { pairs, asked, .. } = checked else {
        return Err(format!("{name} is not pseudo-deterministic"));
    };
    let (z3, ended) = match asks_z3 {
        true => ask_z3(name, &steps)?,
        false => ("not asked".to_owned(), false),
    };
    println!(
        "{name:13} {:>8} {:>9} {:>9} {pairs:>9} {asked:>9} {sanitising:>9.3} {:>9.3} {comparing:>9.3} {z3:>12}",
        sample.size,
        sample.records,
        steps.len(),
        stepping + checking,
    );
    Ok(ended)
}

/// What z3 says to the whole formula, in words, and whether it came to an end.
fn ask_z3(name: &str, steps: &[allways_epa::step::Step]) -> Result<(String, bool), String> {
    let options = Options {
        solver: Solver::External("z3".into()),
        time: Some(PATIENCE),
        ..Options::default()
    };
    let begin = Instant::now();
    match check(steps, &options) {
        Ok(Reversibility::Never { .. }) => {
            Ok((format!("{:.3}", begin.elapsed().as_secs_f64()), true))
        }
        Ok(Reversibility::Possible(_)) => Err(format!("z3 says otherwise of {name}")),
        Err(_) if begin.elapsed() >= PATIENCE => Ok((format!("> {}", PATIENCE.as_secs()), false)),
        Err(why) => {
            eprintln!("{name}: {why}");
            Ok(("failed".to_owned(), false))
        }
    }
}
