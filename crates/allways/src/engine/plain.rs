//! Plain exploration beside engine `dir`: how long a trace takes without components.
//!
//! The paper on dynamic interface reduction (Guo and others, SOSP 2011, table 2) tells what components save by three numbers. The *reduction ratio* is known from the check itself. The *run-time ratio* is how long
//! a local trace takes, all that is done for it included, divided by how long a trace takes in plain exploration; the *speed-up* is the former divided by the latter. So some plain exploration is
//! needed to compare with: engine `dpor` with reduction `optimal`, which performs each trace once, on one thread, on the same system, after the check.
//!
//! It takes a tenth of the time that the check has taken, but no less than [`LEAST`] and no more than [`MOST`], and less if it comes to its end before. If it does not, what is measured is the mean over the traces
//! that come first in the order of the search, which differ in one corner from each other: an estimate. Both times are taken by a clock on the wall; that of the check is
//! the sum over its threads, as long as they had something to do ([`Effort`](super::dir)). What is found on the way is a test of the engine: where `dir` says that all holds, nothing may go wrong.

use super::budget::Budget;
use super::options::{Engine, Options, Reduction};
use super::{Findings, Found, FoundWhat};
use crate::error::Error;
use crate::outcome::{Outcome, Verdict};
use std::time::{Duration, Instant};

/// It takes this long at least, if there is so much to do.
const LEAST: Duration = Duration::from_millis(20);

/// No longer than this.
const MOST: Duration = Duration::from_secs(2);

/// Whether there is something to compare: a check that was performed to its end, in this process.
fn is_comparable(outcome: &Outcome, options: &Options) -> bool {
    options.compare_plain
        && outcome.complete
        && outcome.verdict == Verdict::Holds
        && outcome.statistics.covered_traces.is_some()
        && outcome.statistics.resumed_runs.unwrap_or(0) == 0
}

/// Explores plainly for a while, if that is asked for and says something, and notes how long that took.
pub(crate) fn compare(
    outcome: &mut Outcome,
    options: &Options,
    search: impl FnOnce(&Options, &Budget) -> Result<Findings, Error>,
) -> Result<(), Error> {
    if !is_comparable(outcome, options) {
        return Ok(());
    }
    let options = Options {
        engine: Engine::Dpor,
        reduction: Reduction::Optimal,
        threads: 1,
        max_runs: None,
        max_time: Some((outcome.statistics.elapsed / 10).clamp(LEAST, MOST)),
        compare_plain: false,
        // Who looks at it has seen the end of the check.
        progress: None,
        ..options.clone()
    };
    let began = Instant::now();
    let findings = search(&options, &Budget::new(&options))?;
    let took = began.elapsed();
    if let Some(Found { what, .. }) = findings.violation {
        let what = match what {
            FoundWhat::Always(_) => "a property that does not hold",
            FoundWhat::Stuck(_) => "a state in which nothing can happen any more",
            FoundWhat::Panic(_) => "a panic",
            FoundWhat::Failed(..) => "something that goes wrong",
        };
        let what = format!("engine dir finds that all holds, and plain exploration finds {what}");
        return Err(Error::Internal(what));
    }
    let runs = findings.statistics.runs.filter(|&runs| runs > 0);
    outcome.statistics.plain_runs = runs;
    outcome.statistics.plain_time = runs.map(|_| took);
    Ok(())
}
