//! What a campaign says, for people and as JSON.

use crate::args::InjectArgs;
use crate::files::typed;
use crate::json::object;
use crate::text::{columns, count, next};
use allways::grouped;
use allways_epa::campaign::{Finding, Outcome, Row, Summary, place};
use allways_epa::format::FaultKind;
use allways_epa::trace::Trace;
use serde::Serialize;
use std::collections::BTreeMap;

/// A campaign that has ended, or was interrupted.
pub(super) struct Told<'a> {
    pub args: &'a InjectArgs,
    pub summary: &'a Summary,
    /// Kinds that apply nowhere.
    pub idle: &'a [FaultKind],
    pub planned: usize,
    /// Whether all that was planned was tried.
    pub done: bool,
}

/// What `inject --json` prints.
#[derive(Serialize)]
struct Json<'a> {
    program: String,
    out: String,
    seed: u64,
    complete: bool,
    planned: usize,
    runs: u64,
    missed: u64,
    faults: Vec<RowJson>,
    /// Kinds of faults that apply nowhere in this run.
    not_applicable: Vec<&'static str>,
    /// Where errors entered, with the number of runs.
    entered: &'a [(String, u64)],
}

/// What came of one kind of fault.
#[derive(Serialize)]
struct RowJson {
    kind: &'static str,
    runs: u64,
    deviated: u64,
    /// In how many runs more deviated than the record in which the fault happened.
    propagated: u64,
    coverage: Option<f64>,
    /// The interval of Wilson for 95 %.
    interval: (f64, f64),
    outcomes: BTreeMap<&'static str, u64>,
    /// In how many runs the fault did not happen at all.
    not_injected: u64,
    missed: u64,
}

/// What `inject --only --json` prints.
#[derive(Serialize)]
struct FindingJson<'a> {
    fault: String,
    place: String,
    outcome: &'static str,
    injected: bool,
    deviated: bool,
    propagated: bool,
    missed: bool,
    ended: String,
    entered: Option<String>,
    threads: &'a [String],
    objects: &'a [String],
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The table of coverage.
pub(super) fn table(summary: &Summary) -> String {
    let mut rows =
        vec![["fault", "runs", "coverage", "95 %", "propagated"].map(str::to_owned).to_vec()];
    rows[0].extend(Outcome::ALL.map(|outcome| outcome.name().to_owned()));
    // In a program that is pseudo-deterministic every fault happens.
    let has_idle = summary.idle() > 0;
    rows[0].extend(has_idle.then(|| "not reached".to_owned()));
    rows[0].push("missed".to_owned());
    let row = |row: &Row| {
        let share = row.coverage();
        let (low, high) = share.interval();
        let mut cells = vec![
            row.kind.name().to_owned(),
            grouped(row.runs()),
            share.value().map(percent).unwrap_or_default(),
            format!("{} to {}", percent(low), percent(high)),
            row.propagation().value().map(percent).unwrap_or_default(),
        ];
        cells.extend(row.outcomes.iter().map(|count| grouped(*count)));
        cells.extend(has_idle.then(|| grouped(row.idle)));
        cells.push(grouped(row.missed));
        cells
    };
    rows.extend(summary.rows.iter().map(row));
    columns(2, &rows)
}

impl Told<'_> {
    pub fn text(&self, program: &str) -> String {
        let (args, summary) = (self.args, self.summary);
        let mut out = format!(
            "{}: {}, each with one fault\n\n{}",
            args.program.program.display(),
            count(usize::try_from(summary.runs()).unwrap_or(usize::MAX), "run"),
            table(summary),
        );
        for kind in self.idle {
            let name = kind.name();
            out.push_str(&format!("\n{name} applies nowhere: the golden run has no such record\n"));
        }
        if summary.idle() > 0 {
            let idle = grouped(summary.idle());
            out.push_str(&format!(
                "\nnot reached: in {idle} of the runs the fault did not happen; they say nothing, and count for nothing\n"
            ));
        }
        match summary.missed() {
            0 => {}
            missed => out.push_str(&format!(
                "\nmissed: {} failed without any deviation of the trace\n",
                count(usize::try_from(missed).unwrap_or(usize::MAX), "run")
            )),
        }
        if !summary.entered.is_empty() {
            let rows = summary.entered.iter().take(10);
            let rows = rows.map(|(place, runs)| vec![grouped(*runs), place.clone()]);
            let rows: Vec<Vec<String>> = rows.collect();
            out.push_str(&format!("\nwhere errors enter, by runs:\n{}", columns(2, &rows)));
        }
        let directory = typed(&args.out);
        out.push_str(&format!("\nsaved: {}\n", args.out.display()));
        let report = (format!("{program} epa report {directory}"), "all that as a page");
        let advice = match self.done {
            true => vec![report],
            false => {
                let planned = count(self.planned, "run");
                out.push_str(&format!("\ninterrupted: {} of {planned}\n", grouped(summary.runs())));
                vec![("the same with --resume".to_owned(), "to go on"), report]
            }
        };
        out.push_str(&format!("\n{}", next(&advice)));
        out
    }

    pub fn json(&self) -> Result<String, String> {
        let row = |row: &Row| RowJson {
            kind: row.kind.name(),
            runs: row.runs(),
            deviated: row.coverage().hits,
            propagated: row.propagated,
            coverage: row.coverage().value(),
            interval: row.coverage().interval(),
            outcomes: Outcome::ALL.iter().map(|o| o.name()).zip(row.outcomes).collect(),
            not_injected: row.idle,
            missed: row.missed,
        };
        object(&Json {
            program: self.args.program.program.display().to_string(),
            out: self.args.out.display().to_string(),
            seed: self.args.seed,
            complete: self.done,
            planned: self.planned,
            runs: self.summary.runs(),
            missed: self.summary.missed(),
            faults: self.summary.rows.iter().map(row).collect(),
            not_applicable: self.idle.iter().map(|kind| kind.name()).collect(),
            entered: &self.summary.entered,
        })
    }
}

/// Where an error entered, in words.
fn entered(finding: &Finding, golden: &Trace) -> Option<String> {
    let entered = finding.entered.as_ref()?;
    Some(match entered.site {
        Some(site) => format!("{} of {}", place(&golden.program, site), entered.thread),
        None => format!("an event of {}", entered.thread),
    })
}

/// What came of one fault, and whether that is what came of it before.
pub(super) fn finding_text(finding: &Finding, before: Option<&Finding>, golden: &Trace) -> String {
    let trace = match entered(finding, golden) {
        _ if !finding.injected && finding.deviated => {
            "deviates, by chance: the fault did not happen".to_owned()
        }
        _ if !finding.injected => "the same: the fault did not happen".to_owned(),
        _ if !finding.deviated => "the same".to_owned(),
        Some(place) => format!("deviates, first at {place}"),
        None => "deviates: it cannot be read".to_owned(),
    };
    let mut rows = vec![
        vec!["fault".to_owned(), finding.fault.to_string()],
        vec!["place".to_owned(), place(&golden.program, finding.fault.site)],
        vec!["outcome".to_owned(), format!("{} ({})", finding.outcome.title(), finding.ended)],
        vec!["trace".to_owned(), trace],
    ];
    for (what, names) in [("threads", &finding.threads), ("objects", &finding.objects)] {
        if !names.is_empty() {
            rows.push(vec![what.to_owned(), names.join(", ")]);
        }
    }
    if let Some(before) = before {
        let same = before.outcome == finding.outcome && before.deviated == finding.deviated;
        let before = if same { "the same" } else { before.outcome.title() };
        rows.push(vec!["before".to_owned(), before.to_owned()]);
    }
    columns(0, &rows)
}

/// The same as JSON.
pub(super) fn finding_json(finding: &Finding, golden: &Trace) -> Result<String, String> {
    object(&FindingJson {
        fault: finding.fault.to_string(),
        place: place(&golden.program, finding.fault.site),
        outcome: finding.outcome.name(),
        injected: finding.injected,
        deviated: finding.deviated,
        propagated: finding.propagated,
        missed: finding.is_missed(),
        ended: finding.ended.to_string(),
        entered: entered(finding, golden),
        threads: &finding.threads,
        objects: &finding.objects,
    })
}
