//! The outcome for people: what was checked, the verdict, the run that shows it, the numbers, and
//! what to do next.

use crate::text::{bytes, columns, count, one_line};
use crate::{Entry, Kind, Parameters};
use allways::{Bound, Cause, Outcome, PropertyKind, Verdict, Violation, grouped};

/// Everything that a report is made from.
pub(crate) struct Report<'a> {
    pub entry: &'a Entry,
    pub parameters: &'a Parameters,
    pub properties: Vec<(String, PropertyKind)>,
    pub outcome: &'a Outcome,
    /// Whether to show the runs to `sometimes` properties.
    pub witnesses: bool,
}

impl Report<'_> {
    pub fn whole(&self) -> String {
        let mut text = format!("{}\n{}", self.heading(), self.verdict());
        if let Some(violation) = &self.outcome.violation {
            text.push_str(&shown(violation));
        }
        for part in [self.possibilities(), self.statistics(), self.next()] {
            if !part.is_empty() {
                text.push('\n');
                text.push_str(&part);
            }
        }
        text
    }

    fn heading(&self) -> String {
        let set: Vec<String> =
            self.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let set = if set.is_empty() { String::new() } else { format!(" {}", set.join(" ")) };
        format!("{}{set}, engine {}", self.entry.name, self.outcome.engine)
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
                    Cause::Panic => format!("violated: a handler panicked: {name}"),
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

    /// What is known about `sometimes` properties.
    fn possibilities(&self) -> String {
        let mut text = String::new();
        for (name, kind) in &self.properties {
            if *kind != PropertyKind::Sometimes {
                continue;
            }
            match self.outcome.witnesses.iter().find(|witness| witness.property == *name) {
                Some(witness) => {
                    let events = count(witness.run.events.len(), "event");
                    text.push_str(&format!("sometimes `{name}` holds after {events}\n"));
                    if self.witnesses {
                        text.push_str(&witness.run.to_string());
                    }
                }
                None if self.outcome.verdict == Verdict::Inconclusive => {
                    text.push_str(&format!("sometimes `{name}` was not met in what was covered\n"));
                }
                None => {}
            }
        }
        text
    }

    fn statistics(&self) -> String {
        let statistics = &self.outcome.statistics;
        let mut rows = Vec::new();
        let mut row = |what: &str, value: String| rows.push((what.to_owned(), value));
        for (what, number) in [
            ("unique states", statistics.unique_states),
            ("generated states", statistics.generated_states),
            ("transitions", statistics.transitions),
            ("handler executions", statistics.handler_executions),
            ("local states", statistics.local_states),
            ("runs", statistics.runs),
            ("system states", statistics.system_states),
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
        let advice = match self.outcome.verdict {
            Verdict::Inconclusive => self.outcome.bounded_by.map(|bound| after(bound).to_owned()),
            Verdict::Violated => self.after_violation(),
            Verdict::Holds => self.after_holds(),
        };
        advice.map_or_else(String::new, |advice| format!("next: {advice}\n"))
    }

    fn after_violation(&self) -> Option<String> {
        let violation = self.outcome.violation.as_ref()?;
        if let Some(bug) = self.parameters.bug() {
            return Some(format!("leave out bug={bug}, to see that it is to blame"));
        }
        if violation.cause == Cause::NeverReached {
            return Some("see whether the property asks for what the system can do".to_owned());
        }
        let smaller = self.entry.parameters.iter().find_map(|parameter| match parameter.kind {
            Kind::Number { min, .. } => {
                let value = self.parameters.number(parameter.name) as u64;
                (value > min).then(|| format!("--set {}={}", parameter.name, value - 1))
            }
            Kind::Word(_) => None,
        });
        let shortest = (!self.outcome.engine.contains("bfs") && violation.run.events.len() > 1)
            .then(|| "--search bfs, for a shortest run".to_owned());
        let smaller = smaller.map(|smaller| format!("{smaller}, for a smaller system"));
        let advice: Vec<String> = shortest.into_iter().chain(smaller).collect();
        (!advice.is_empty()).then(|| format!("try {}", advice.join("; or ")))
    }

    fn after_holds(&self) -> Option<String> {
        let bug = self.entry.bugs.first().filter(|_| self.parameters.bug().is_none())?;
        Some(format!("--set bug={} brings back a known mistake: {}", bug.name, bug.about))
    }
}

/// What to do about a bound.
fn after(bound: Bound) -> &'static str {
    match bound {
        Bound::Depth => "raise --max-depth",
        Bound::States => "raise --max-states",
        Bound::Seconds => "raise --max-seconds, or make the system smaller with --set",
        Bound::Memory => "raise --max-memory, or make the system smaller with --set",
        Bound::Runs => "raise --runs, or use --engine global, which is complete",
        Bound::Interrupt => "let it run to its end, or bound it with --max-seconds",
    }
}

/// The run that shows a violation, and what the property read at its end.
fn shown(violation: &Violation) -> String {
    if violation.cause == Cause::NeverReached {
        return String::new();
    }
    let mut text = format!("\nthe run, {}:\n", count(violation.run.events.len(), "event"));
    text.push_str(&violation.run.to_string());
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
