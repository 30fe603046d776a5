//! What came of a bounded check, for people and as JSON.

use crate::args::BmcArgs;
use crate::files::typed;
use crate::json::{EventJson, object};
use crate::show::text;
use crate::text::{columns, count, next};
use allways::{Bound, TextOptions, Verdict, grouped};
use allways_bmc::check::{Found, Options, Proof, Solver};
use allways_bmc::program::{Claim, Goal};
use allways_bmc::{Checked, Judged, Model};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

pub(super) struct Report<'a> {
    pub model: &'a Model,
    pub checked: &'a Checked,
    pub args: &'a BmcArgs,
    pub options: &'a Options,
    pub saved: &'a [PathBuf],
    pub program: &'a str,
}

/// What `bmc --json` prints: what every check prints, and what only this one knows.
#[derive(Serialize)]
struct Json<'a> {
    system: String,
    parameters: BTreeMap<&'a str, &'a str>,
    engine: &'a str,
    verdict: String,
    complete: bool,
    bounded_by: Option<String>,
    property: Option<&'a str>,
    unique_states: Option<u64>,
    generated_states: Option<u64>,
    transitions: Option<u64>,
    handler_executions: Option<u64>,
    local_states: Option<u64>,
    runs: Option<u64>,
    system_states: Option<u64>,
    from: usize,
    depth: usize,
    elapsed_ms: f64,
    peak_memory_bytes: Option<u64>,
    collision_probability: Option<f64>,
    run: Option<Vec<EventJson<'a>>>,
    properties: Vec<PropertyJson<'a>>,
    solver: String,
    projected: bool,
    variables: u64,
    clauses: u64,
    solving_ms: f64,
    saved: Vec<String>,
}

/// What came of one property.
#[derive(Serialize)]
struct PropertyJson<'a> {
    name: &'a str,
    claim: &'static str,
    verdict: &'static str,
    /// How many steps its run has, if there is one.
    steps: Option<usize>,
    /// There is no run of at most so many steps, if there is none.
    none_within: Option<usize>,
    /// Why there is none at all, if that is proved.
    proof: Option<String>,
}

fn claim(claim: Claim) -> &'static str {
    match claim {
        Claim::Always => "always",
        Claim::Never => "never",
        Claim::Reachable => "reachable",
    }
}

fn proof(proof: &Proof) -> String {
    match proof {
        Proof::Ends { depth } => format!("no run has more than {}", count(*depth, "step")),
        Proof::Repeats { depth } => {
            format!("every run of more than {} is in some state twice", count(*depth, "step"))
        }
        Proof::Depends { depth } => {
            format!("no run has more than {} that it can depend on", count(*depth, "step"))
        }
        Proof::Induction { steps } => format!("by induction over {}", count(*steps, "step")),
    }
}

impl Report<'_> {
    fn all(&self) -> impl Iterator<Item = (&Goal, &Found)> {
        self.model.goals().iter().zip(&self.checked.looked.found)
    }

    /// What is checked, and how.
    fn heading(&self) -> String {
        let set: String = self.args.set.iter().map(|(n, v)| format!(" {n}={v}")).collect();
        let is_stopped = self.all().any(|(_, found)| matches!(found, Found::Stopped { .. }));
        let way = match (self.options.portfolio, self.checked.looked.projected) {
            (true, _) if is_stopped => "with and without projection",
            (true, true) => "with projection, which was faster than without",
            (true, false) => "without projection, which was faster than with it",
            (false, true) => "with projection",
            (false, false) => "without projection",
        };
        let depth = count(self.options.depth, "step");
        let solver = self.solver();
        format!("{}{set}, bmc to {depth}: {solver}, {way}\n", self.args.program.display())
    }

    fn solver(&self) -> String {
        match &self.options.solver {
            Solver::Embedded(embedded) => embedded.name().to_owned(),
            Solver::External { program, .. } => program.display().to_string(),
        }
    }

    /// The verdict in one line.
    pub fn verdict(&self) -> String {
        let outcome = &self.checked.outcome;
        match outcome.verdict {
            Verdict::Holds => "holds, complete\n".to_owned(),
            Verdict::Violated => {
                let name = outcome.violation.as_ref().map_or("", |v| v.property.as_str());
                format!("violated: `{name}`\n")
            }
            Verdict::Inconclusive => {
                let open = || {
                    self.all().filter_map(|(goal, found)| match found {
                        Found::Nothing { depth } => Some((goal, Some(*depth))),
                        Found::Stopped { depth } => Some((goal, *depth)),
                        _ => None,
                    })
                };
                let is_claimed = |goal: &Goal| self.model.claim(goal) == Claim::Reachable;
                let what = match open().all(|(goal, _)| is_claimed(goal)) {
                    true => "no run to what should be reachable",
                    false => "no violation",
                };
                let why = match outcome.bounded_by {
                    Some(Bound::Seconds) => "then time ran out",
                    Some(Bound::Interrupt) => "then it was interrupted",
                    _ => "longer runs were not looked at",
                };
                let from = if self.options.prove { 0 } else { self.options.from };
                match open().map(|(_, depth)| depth).min().flatten() {
                    Some(depth) if from > 0 => {
                        let runs = format!("{what} of {from} to {}", count(depth, "step"));
                        format!("inconclusive: {runs}; shorter runs were not looked at, {why}\n")
                    }
                    Some(depth) => {
                        format!("inconclusive: {what} within {}; {why}\n", count(depth, "step"))
                    }
                    None => "inconclusive: stopped before anything could be said\n".to_owned(),
                }
            }
        }
    }

    pub fn whole(&self, options: &TextOptions) -> String {
        let outcome = &self.checked.outcome;
        let mut out = self.heading();
        out.push_str(&self.verdict());
        if let Some(story) = &outcome.story {
            out.push_str(&format!("\n{}", text(story, options)));
        }
        let rows: Vec<Vec<String>> = self
            .all()
            .map(|(goal, found)| {
                let claimed = claim(self.model.claim(goal));
                vec![format!("{claimed} `{}`", goal.name), self.said(goal, found)]
            })
            .collect();
        out.push_str(&format!("\n{}\n", columns(2, &rows)).replace("\n\n\n", "\n\n"));
        for warning in &outcome.warnings {
            out.push_str(&format!("warning: {warning}\n\n"));
        }
        let looked = &self.checked.looked;
        let mut rows = Vec::new();
        if looked.variables > 0 {
            rows.push(vec!["variables".to_owned(), grouped(looked.variables)]);
            rows.push(vec!["clauses".to_owned(), grouped(looked.clauses)]);
        }
        rows.push(vec!["solving".to_owned(), format!("{:.3} s", looked.solving.as_secs_f64())]);
        rows.push(vec!["elapsed".to_owned(), format!("{:.3} s", looked.elapsed.as_secs_f64())]);
        out.push_str(&columns(2, &rows));
        for path in self.saved {
            out.push_str(&format!("saved: {}\n", path.display()));
        }
        let advice = self.advice();
        if !advice.is_empty() {
            out.push_str(&format!("\n{}", next(&advice)));
        }
        out
    }

    /// What came of one goal, in words.
    fn said(&self, goal: &Goal, found: &Found) -> String {
        let is_claimed = self.model.claim(goal) == Claim::Reachable;
        match found {
            Found::Run(witness) if is_claimed => {
                format!("holds after {}", count(witness.run.steps.len(), "step"))
            }
            Found::Run(witness) => {
                format!("violated after {}", count(witness.run.steps.len(), "step"))
            }
            Found::Never(why) if is_claimed => format!("violated: {}", proof(why)),
            Found::Never(why) => format!("holds: {}", proof(why)),
            Found::Nothing { depth } if self.options.from > 0 && !self.options.prove => {
                format!("unsat from {} to {depth} steps", self.options.from)
            }
            Found::Nothing { depth } => format!("unsat to depth {depth}"),
            Found::Stopped { depth: Some(depth) } => {
                format!("unsat to depth {depth}, then stopped")
            }
            Found::Stopped { depth: None } => "stopped".to_owned(),
        }
    }

    fn advice(&self) -> Vec<(String, &'static str)> {
        let source = typed(&self.args.program);
        let mut advice = self.next(source);
        // One run is shown, but there may be more.
        let shown = self.checked.outcome.violation.as_ref().map(|violation| &violation.property);
        let other = self.all().find(|(goal, found)| {
            matches!(found, Found::Run(_))
                && self.model.judge(goal, found) == Judged::Violated
                && shown.is_some_and(|shown| *shown != goal.name)
        });
        if let Some((goal, _)) = other {
            advice.push((format!("--property '{}'", goal.name), "to see the run of this one"));
        }
        advice
    }

    fn next(&self, source: String) -> Vec<(String, &'static str)> {
        match (self.checked.outcome.verdict, self.saved.first()) {
            (Verdict::Violated, Some(run)) => {
                vec![(
                    format!("{} replay {}", self.program, typed(run)),
                    "when the program has changed",
                )]
            }
            (Verdict::Violated, None) if self.checked.outcome.story.is_some() => {
                vec![("--save DIR".to_owned(), "keeps the run, and a page to look through")]
            }
            // It did not get as far as it was to get.
            (Verdict::Inconclusive, _) if self.checked.outcome.bounded_by != Some(Bound::Depth) => {
                Vec::new()
            }
            (Verdict::Inconclusive, _) if !self.args.prove => vec![
                (format!("{} bmc {source} --prove", self.program), "to know of longer runs, too"),
                (format!("--depth {}", 2 * self.options.depth.max(1)), "to look further"),
            ],
            (Verdict::Inconclusive, _) => {
                vec![(format!("--depth {}", 2 * self.options.depth.max(1)), "to look further")]
            }
            _ => Vec::new(),
        }
    }

    pub fn json(&self) -> Result<String, String> {
        let (outcome, looked) = (&self.checked.outcome, &self.checked.looked);
        let milliseconds = |time: std::time::Duration| time.as_secs_f64() * 1000.0;
        let properties = self.all().map(|(goal, found)| PropertyJson {
            name: &goal.name,
            claim: claim(self.model.claim(goal)),
            verdict: match self.model.judge(goal, found) {
                Judged::Holds => "holds",
                Judged::Violated => "violated",
                Judged::Open => "inconclusive",
            },
            steps: match found {
                Found::Run(witness) => Some(witness.run.steps.len()),
                _ => None,
            },
            none_within: match found {
                Found::Nothing { depth } => Some(*depth),
                Found::Stopped { depth } => *depth,
                _ => None,
            },
            proof: match found {
                Found::Never(why) => Some(proof(why)),
                _ => None,
            },
        });
        let violation = outcome.violation.as_ref();
        let set = self.args.set.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        object(&Json {
            system: self.args.program.display().to_string(),
            parameters: set.collect(),
            engine: &outcome.engine,
            verdict: match outcome.verdict {
                Verdict::Holds => "holds",
                Verdict::Violated => "violated",
                Verdict::Inconclusive => "inconclusive",
            }
            .to_owned(),
            complete: outcome.complete,
            bounded_by: outcome.bounded_by.map(|bound| bound.to_string()),
            property: violation.map(|violation| violation.property.as_str()),
            unique_states: None,
            generated_states: None,
            transitions: None,
            handler_executions: None,
            local_states: None,
            runs: None,
            system_states: None,
            from: if self.options.prove { 0 } else { self.options.from },
            depth: self.options.depth,
            elapsed_ms: milliseconds(looked.elapsed),
            peak_memory_bytes: None,
            collision_probability: None,
            run: violation.map(|violation| violation.run.events.iter().map(Into::into).collect()),
            properties: properties.collect(),
            solver: self.solver(),
            projected: looked.projected,
            variables: looked.variables,
            clauses: looked.clauses,
            solving_ms: milliseconds(looked.solving),
            saved: self.saved.iter().map(|path| path.display().to_string()).collect(),
        })
    }
}
