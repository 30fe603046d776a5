//! The outcome for people: what was checked, the verdict, the run that shows it, the numbers, and
//! what to do next.

use crate::files::typed;
use crate::run_file::title;
use crate::show;
use crate::text::{bytes, columns, count, next, one_line};
use crate::{Entry, Kind, Parameters};
use allways::{
    Bound, Cause, Outcome, PropertyKind, RunEvent, RunEventKind, TextOptions, Verdict, Violation,
    Witness, grouped,
};
use std::path::PathBuf;

/// Everything that a report is made from.
pub(crate) struct Report<'a> {
    pub entry: &'a Entry,
    pub parameters: &'a Parameters,
    pub properties: &'a [(String, PropertyKind)],
    /// The properties that were asked for, if not all are looked at.
    pub only: &'a [String],
    /// Whether threads were checked, and no nodes.
    pub is_of_threads: bool,
    pub outcome: &'a Outcome,
    /// Whether to show the runs to `sometimes` properties.
    pub witnesses: bool,
    /// Whether to show what handlers were seen to do.
    pub coverage: bool,
    /// The files that were written.
    pub saved: &'a [PathBuf],
    /// How to show a story.
    pub text: TextOptions,
    /// What the program is called.
    pub program: &'a str,
}

impl Report<'_> {
    pub fn whole(&self) -> String {
        let heading = title(self.entry, self.parameters);
        let only: Vec<String> = self.only.iter().map(|name| format!(", only `{name}`")).collect();
        let engine = &self.outcome.engine;
        let mut text = format!("{heading}, engine {engine}{}\n{}", only.concat(), self.verdict());
        for other in &self.outcome.beside {
            text.push_str(&format!("beside it, {other}\n"));
        }
        for part in [
            self.violation(),
            self.possibilities(),
            self.remarks(),
            self.statistics(),
            self.covered(),
            self.files(),
            self.next(),
        ] {
            if !part.is_empty() {
                text.push('\n');
                text.push_str(&part);
            }
        }
        text
    }

    /// The verdict, in one line.
    pub fn verdict(&self) -> String {
        let outcome = self.outcome;
        let bound = outcome.bounded_by.map_or("nothing".to_owned(), |bound| bound.to_string());
        let line = match (&outcome.violation, outcome.verdict) {
            (Some(violation), _) => {
                let name = one_line(&violation.property);
                match violation.cause {
                    Cause::Always => format!("violated: always `{name}`"),
                    Cause::Stuck => format!("violated: never stuck `{name}`"),
                    Cause::NeverReached => {
                        format!("violated: sometimes `{name}`: no reachable state satisfies it")
                    }
                    Cause::Panic => format!("violated: a panic: {name}"),
                    Cause::Trouble(trouble) => format!("violated: {trouble}: {name}"),
                }
            }
            (None, Verdict::Holds) if outcome.complete => "holds, complete".to_owned(),
            (None, Verdict::Holds) => "holds; stopped as soon as that was known".to_owned(),
            (None, _) => {
                format!("inconclusive: bounded by {bound}; no violation in what was covered")
            }
        };
        line + "\n"
    }

    /// The run that shows a violation, and what the property read at its end.
    fn violation(&self) -> String {
        let Some(violation) = &self.outcome.violation else { return String::new() };
        let mut text = match &self.outcome.story {
            Some(story) => show::text(story, &self.text),
            None => in_lines(violation),
        };
        if let Some(minimised) = self.outcome.minimised.as_ref().filter(|m| m.is_smaller()) {
            text.push_str(&format!("\nminimised: {minimised}\n"));
        }
        text
    }

    /// The `sometimes` properties that hold.
    fn possibilities(&self) -> String {
        let mut text = String::new();
        for (name, _) in self.properties.iter().filter(|(_, k)| *k == PropertyKind::Sometimes) {
            let witnesses = &self.outcome.witnesses;
            let Some(witness) = witnesses.iter().find(|w| w.property == *name) else { continue };
            let events = count(witness.run.events.len(), "event");
            text.push_str(&format!("sometimes `{name}` holds after {events}\n"));
            if self.witnesses {
                text.push_str(&self.witness(witness));
            }
        }
        text
    }

    fn witness(&self, witness: &Witness) -> String {
        match &witness.story {
            Some(story) => format!("\n{}\n", show::text(story, &self.text)),
            None => witness.run.to_string(),
        }
    }

    /// How far it came, what it came near to, and what makes the outcome say less than it seems to.
    fn remarks(&self) -> String {
        let verdict = self.verdict();
        let advice = self.outcome.advice();
        // The verdict has said that already.
        let advice = advice.iter().filter(|line| !verdict.trim_end().ends_with(line.as_str()));
        let warnings = self.outcome.warnings.iter().map(|warning| format!("warning: {warning}"));
        advice.cloned().chain(warnings).map(|line| line + "\n").collect()
    }

    /// What handlers were seen to do, if that is asked for.
    fn covered(&self) -> String {
        match (&self.outcome.coverage, self.coverage) {
            (_, false) => String::new(),
            (Some(coverage), true) => format!("coverage\n{coverage}"),
            (None, true) if self.is_of_threads => {
                "coverage: threads have no handlers to cover\n".to_owned()
            }
            (None, true) => "coverage: not known with this search\n".to_owned(),
        }
    }

    /// Where what was saved is.
    fn files(&self) -> String {
        self.saved.iter().map(|path| format!("saved: {}\n", path.display())).collect()
    }

    fn statistics(&self) -> String {
        let statistics = &self.outcome.statistics;
        let mut rows = Vec::new();
        let mut row = |what: &str, value: String| rows.push((what.to_owned(), value));
        let is_dir = statistics.covered_traces.is_some();
        if let Some(covered) = statistics.covered_traces {
            if let Some(components) = &statistics.components {
                row("components", components.clone());
            }
            // In the words of the paper on dynamic interface reduction.
            for (what, number) in [
                ("global skeletons", statistics.global_skeletons),
                ("local skeletons", statistics.local_skeletons),
                ("local traces", statistics.runs),
            ] {
                row(what, grouped(number.unwrap_or_default()));
                if let (true, Some(inner)) =
                    (what == "global skeletons", statistics.inner_skeletons)
                {
                    row("inner skeletons", grouped(inner));
                }
            }
            if let Some(resumed) = statistics.resumed_runs {
                row("from the log", grouped(resumed));
            }
            row("traces covered", large(covered));
            if let Some(ratio) = statistics.reduction_ratio() {
                row("reduction ratio", ratio_of(ratio));
            }
            if let Some(ratio) = statistics.run_time_ratio() {
                row("run-time ratio", ratio_of(ratio));
            }
            if let Some(ratio) = statistics.speed_up() {
                row("speed-up", ratio_of(ratio));
            }
        }
        let (states, local) = match self.outcome.engine == "dir stateful" {
            true => ("points", "configurations"),
            false => ("unique states", "local states"),
        };
        for (what, number) in [
            (states, statistics.unique_states),
            ("generated states", statistics.generated_states),
            ("transitions", statistics.transitions),
            ("handler executions", statistics.handler_executions),
            ("handlers replayed", statistics.replayed_handlers.filter(|&replayed| replayed > 0)),
            (local, statistics.local_states),
            ("runs", statistics.runs.filter(|_| !is_dir)),
            (if is_dir { "other runs" } else { "blocked runs" }, statistics.blocked_runs),
            ("joined runs", statistics.joined_runs),
            ("system states", statistics.system_states),
            ("rejected", statistics.rejected),
            ("validity states", statistics.validity_states),
            ("depth", statistics.depth),
        ] {
            if let Some(number) = number {
                row(what, grouped(number));
            }
        }
        // Of the deliveries looked up, how many their thread remembered.
        if let (Some(lookups @ 1..), Some(misses)) =
            (statistics.memo_lookups, statistics.memo_misses)
        {
            let share = 100.0 * lookups.saturating_sub(misses) as f64 / lookups as f64;
            row("memo hits", format!("{share:.2} %"));
        }
        row("elapsed", format!("{:.3} s", statistics.elapsed.as_secs_f64()));
        if let Some(memory) = statistics.peak_memory_bytes {
            row("peak memory", bytes(memory));
        }
        if let Some(probability) = statistics.collision_probability {
            row("collision probability", format!("{probability:.1e}"));
        }
        let width = rows.iter().map(|(_, value)| value.chars().count()).max().unwrap_or_default();
        let rows: Vec<_> =
            rows.into_iter().map(|(what, v)| vec![what, format!("{v:>width$}")]).collect();
        columns(2, &rows)
    }

    /// What to do next, if there is something.
    fn next(&self) -> String {
        match self.outcome.verdict {
            Verdict::Inconclusive => match self.outcome.bounded_by {
                Some(bound) => {
                    let has_log = self.outcome.statistics.resumed_runs.is_some();
                    let after = match bound {
                        Bound::Seconds | Bound::Memory | Bound::Interrupt if has_log => {
                            "the same command goes on from its log"
                        }
                        bound => after(bound, &self.outcome.engine, self.is_of_threads),
                    };
                    next(&[(after, "")])
                }
                None => String::new(),
            },
            Verdict::Violated => self.after_violation(),
            Verdict::Holds => self.after_holds(),
        }
    }

    fn after_violation(&self) -> String {
        let Some(violation) = &self.outcome.violation else { return String::new() };
        if violation.cause == Cause::NeverReached {
            return next(&[("see whether the property asks for what the system can do", "")]);
        }
        let program = self.program;
        let mut advice = Vec::new();
        match self.saved.iter().find(|path| path.ends_with("run.json")) {
            Some(run) => {
                let run = typed(run);
                let changed = "after a change, to see whether it still violates";
                advice.push((format!("{program} replay {run}"), changed));
                advice.push((format!("{program} show {run} --test"), "for a test to keep"));
            }
            None => advice.push((
                "--save DIR".to_owned(),
                "keeps the run, to replay it and to look through it in a browser",
            )),
        }
        if let Some(bug) = self.parameters.bug() {
            // With the parameters that the bug brought with it: others may be another system.
            let others = self.parameters.iter().filter(|(_, value)| *value != bug);
            let set: String =
                others.map(|(name, value)| format!(" --set {name}={value}")).collect();
            let without = format!("{program} check {}{set}", self.entry.name);
            advice.push((without, "to see that the bug is to blame"));
            return next(&advice);
        }
        let is_shortest = self.outcome.minimised.as_ref().is_some_and(|m| m.is_shortest);
        if !is_shortest && !self.outcome.engine.contains("bfs") && !self.is_of_threads {
            advice.push(("--search bfs".to_owned(), "for a shortest run"));
        }
        let smaller = self.entry.parameters.iter().find_map(|parameter| match parameter.kind {
            Kind::Number { min, .. } => {
                let value = self.parameters.number(parameter.name) as u64;
                (value > min).then(|| format!("--set {}={}", parameter.name, value - 1))
            }
            Kind::Word(_) => None,
        });
        let what = if self.is_of_threads { "program" } else { "system" };
        let about = format!("for a smaller {what}, if that still violates");
        advice.extend(smaller.map(|smaller| (smaller, about.as_str())));
        next(&advice)
    }

    fn after_holds(&self) -> String {
        let bug = self.entry.bugs.first().filter(|_| self.parameters.bug().is_none());
        bug.map_or_else(String::new, |bug| {
            let what = format!("--set bug={} brings back a known mistake: {}", bug.name, bug.about);
            next(&[(what, "")])
        })
    }
}

/// A number that may be larger than anybody reads digit by digit.
fn large(number: u128) -> String {
    u64::try_from(number).map_or_else(|_| format!("{:.3e}", number as f64), grouped)
}

/// How many times fewer.
fn ratio_of(ratio: f64) -> String {
    match ratio {
        0.0..100.0 => format!("{ratio:.2}"),
        100.0..1e18 => grouped(ratio.round() as u64),
        _ => format!("{ratio:.3e}"),
    }
}

/// What to do about a bound that an engine has met.
fn after(bound: Bound, engine: &str, is_of_threads: bool) -> &'static str {
    match bound {
        Bound::Depth => "raise --max-depth",
        Bound::States => "raise --max-states",
        Bound::Seconds => "raise --max-seconds, or make the system smaller with --set",
        Bound::Memory => "raise --max-memory, or make the system smaller with --set",
        Bound::Preemptions => "allow more with --preemptions, or leave that out",
        Bound::Reduction => "use --reduction optimal, which misses nothing",
        Bound::Runs if engine.starts_with("dpor") || engine.starts_with("dir") => {
            "raise --max-runs"
        }
        Bound::Runs if is_of_threads => "raise --runs, or use --engine dpor, which is complete",
        Bound::Runs => "raise --runs, or use --engine global, which is complete",
        Bound::Interrupt => "let it run to its end, or bound it with --max-seconds",
    }
}

/// A run that is too long for a diagram, and what the property read at its end.
fn in_lines(violation: &Violation) -> String {
    if violation.cause == Cause::NeverReached {
        return String::new();
    }
    let mut text = format!("the run, {}:\n", count(violation.run.events.len(), "event"));
    text.push_str(&violation.run.to_string());
    let is_thread = |event: &RunEvent| event.kind == RunEventKind::Thread;
    if violation.run.events.iter().any(is_thread) {
        let said = violation.reads.iter().filter(|read| !read.is_empty());
        text.extend(said.map(|read| format!("  {read}\n")));
        return text;
    }
    match violation.reads.as_slice() {
        [] => {}
        [read] => text.push_str(&format!("at its end, the property reads {read}\n")),
        reads => {
            let rows = reads.iter().enumerate();
            let rows: Vec<_> =
                rows.map(|(node, read)| vec![format!("node {node}"), read.clone()]).collect();
            text.push_str("at its end, the property reads:\n");
            text.push_str(&columns(2, &rows));
        }
    }
    text
}
