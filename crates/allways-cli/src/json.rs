//! The outcome for programs: one JSON object with the same fields whatever the engine.

use crate::{Entry, Kind, Parameters};
use allways::{Cause, Coverage, Goal, Minimised, Outcome, PropertyKind, Run, RunEvent, RunSize};
use serde::{Serialize, Serializer};
use std::path::PathBuf;

/// What `check --json` prints. A number that the engine does not have is null.
#[derive(Serialize)]
struct OutcomeJson<'a> {
    system: &'a str,
    parameters: Values<'a>,
    engine: &'a str,
    beside: &'a [String],
    verdict: String,
    complete: bool,
    bounded_by: Option<String>,
    /// Those that were looked at.
    properties: Vec<&'a str>,
    property: Option<&'a str>,
    unique_states: Option<u64>,
    generated_states: Option<u64>,
    transitions: Option<u64>,
    handler_executions: Option<u64>,
    replayed_handlers: Option<u64>,
    user_time_ms: Option<f64>,
    local_states: Option<u64>,
    runs: Option<u64>,
    blocked_runs: Option<u64>,
    joined_runs: Option<u64>,
    resumed_runs: Option<u64>,
    components: Option<String>,
    global_skeletons: Option<u64>,
    inner_skeletons: Option<u64>,
    local_skeletons: Option<u64>,
    covered_traces: Option<Large>,
    /// Covered traces for each run.
    reduction_ratio: Option<f64>,
    /// How long a run takes, divided by how long one takes in plain exploration.
    run_time_ratio: Option<f64>,
    /// The former divided by the latter.
    speed_up: Option<f64>,
    system_states: Option<u64>,
    rejected: Option<u64>,
    validity_states: Option<u64>,
    depth: Option<u64>,
    elapsed_ms: f64,
    peak_memory_bytes: Option<u64>,
    collision_probability: Option<f64>,
    run: Option<Vec<EventJson<'a>>>,
    /// `always`, `stuck`, `never reached` or `panic`, when violated; for threads also `deadlock`, `lost wake-up`, `livelock`, `data race`,
    /// `double lock` or `leaked thread`.
    cause: Option<&'static str>,
    /// What the property reads at the end: a view of each node, or an observer's state. For threads, where each that is in trouble stands.
    reads: Option<&'a [String]>,
    minimised: Option<MinimisedJson>,
    witnesses: Vec<WitnessJson<'a>>,
    goals: Vec<GoalJson<'a>>,
    coverage: Option<CoverageJson<'a>>,
    warnings: &'a [String],
    /// The files that were written.
    saved: Vec<String>,
}

/// A number that may be larger than any of 64 bits. Then it is a string of its digits: what reads JSON would round it.
#[derive(Serialize)]
#[serde(untagged)]
enum Large {
    Number(u64),
    Digits(String),
}

impl From<u128> for Large {
    fn from(number: u128) -> Self {
        u64::try_from(number).map_or_else(|_| Large::Digits(number.to_string()), Large::Number)
    }
}

/// By how much the run of a violation was minimised.
#[derive(Serialize)]
struct MinimisedJson {
    before: SizeJson,
    after: SizeJson,
    is_shortest: bool,
    out_of_time: bool,
}

#[derive(Serialize)]
struct SizeJson {
    events: usize,
    switches: usize,
    choices: u64,
    /// Null but for threads.
    preemptions: Option<u32>,
}

/// Where a `sometimes` property holds.
#[derive(Serialize)]
struct WitnessJson<'a> {
    property: &'a str,
    run: Vec<EventJson<'a>>,
}

/// What came of a `sometimes` property.
#[derive(Serialize)]
struct GoalJson<'a> {
    property: &'a str,
    /// After how many events it holds; null if it was not seen to.
    reached: Option<u64>,
    conjuncts: Vec<ConjunctJson<'a>>,
    nearest: Option<NearestJson<'a>>,
}

#[derive(Serialize)]
struct ConjunctJson<'a> {
    name: &'a str,
    first_true: Option<u64>,
}

#[derive(Serialize)]
struct NearestJson<'a> {
    met: &'a [String],
    missing: &'a [String],
    run: Vec<EventJson<'a>>,
}

/// What handlers were seen to do. Steps are distinct local steps.
#[derive(Serialize)]
struct CoverageJson<'a> {
    handlers: Vec<HandlerJson>,
    kinds: Vec<KindJson<'a>>,
    choices: Vec<ChoiceJson<'a>>,
    /// What was never seen to happen, in words.
    never: Vec<String>,
}

#[derive(Serialize)]
struct HandlerJson {
    handler: String,
    expected: bool,
    steps: u64,
    changed: u64,
}

#[derive(Serialize)]
struct KindJson<'a> {
    handler: String,
    kind: &'a str,
    sent: u64,
    handled: u64,
    steps: u64,
    changed: u64,
}

#[derive(Serialize)]
struct ChoiceJson<'a> {
    handler: String,
    kind: &'a str,
    position: usize,
    /// How often each result was taken, and how often something changed then.
    taken: Vec<u64>,
    changed: Vec<u64>,
}

#[derive(Serialize)]
pub(crate) struct EventJson<'a> {
    kind: String,
    node: Option<usize>,
    from: Option<usize>,
    what: &'a str,
    choices: &'a [u32],
    text: String,
}

impl<'a> From<&'a RunEvent> for EventJson<'a> {
    fn from(event: &'a RunEvent) -> Self {
        EventJson {
            kind: event.kind.to_string(),
            node: event.node,
            from: event.from,
            what: &event.what,
            choices: &event.choices,
            text: event.to_string(),
        }
    }
}

impl From<&Minimised> for MinimisedJson {
    fn from(minimised: &Minimised) -> Self {
        let size = |size: &RunSize, preemptions: Option<u32>| SizeJson {
            events: size.events,
            switches: size.switches,
            choices: size.choices,
            preemptions,
        };
        let preemptions = minimised.preemptions;
        MinimisedJson {
            before: size(&minimised.before, preemptions.map(|[before, _]| before)),
            after: size(&minimised.after, preemptions.map(|[_, after]| after)),
            is_shortest: minimised.is_shortest,
            out_of_time: minimised.out_of_time,
        }
    }
}

impl<'a> From<&'a Goal> for GoalJson<'a> {
    fn from(goal: &'a Goal) -> Self {
        let conjuncts = goal
            .conjuncts
            .iter()
            .map(|conjunct| ConjunctJson { name: &conjunct.name, first_true: conjunct.first_true });
        let nearest = goal.nearest.as_ref().map(|nearest| NearestJson {
            met: &nearest.met,
            missing: &nearest.missing,
            run: events(&nearest.run),
        });
        GoalJson {
            property: &goal.property,
            reached: goal.reached,
            conjuncts: conjuncts.collect(),
            nearest,
        }
    }
}

impl<'a> From<&'a Coverage> for CoverageJson<'a> {
    fn from(coverage: &'a Coverage) -> Self {
        let handlers = coverage.handlers.iter().map(|handler| HandlerJson {
            handler: handler.handler.to_string(),
            expected: handler.expected,
            steps: handler.steps,
            changed: handler.changed,
        });
        let kinds = coverage.kinds.iter().map(|kind| KindJson {
            handler: kind.handler.to_string(),
            kind: &kind.kind,
            sent: kind.sent,
            handled: kind.handled,
            steps: kind.steps,
            changed: kind.changed,
        });
        let choices = coverage.choices.iter().map(|choice| ChoiceJson {
            handler: choice.handler.to_string(),
            kind: &choice.kind,
            position: choice.position,
            taken: choice.arms.iter().map(|arm| arm.taken).collect(),
            changed: choice.arms.iter().map(|arm| arm.changed).collect(),
        });
        CoverageJson {
            handlers: handlers.collect(),
            kinds: kinds.collect(),
            choices: choices.collect(),
            never: coverage.never(),
        }
    }
}

/// Why something is a violation, in a word or two.
pub(crate) fn cause(cause: &Cause) -> &'static str {
    match cause {
        Cause::Always => "always",
        Cause::Stuck => "stuck",
        Cause::NeverReached => "never reached",
        Cause::Panic => "panic",
        Cause::Trouble(trouble) => trouble.name(),
    }
}

fn events(run: &Run) -> Vec<EventJson<'_>> {
    run.events.iter().map(Into::into).collect()
}

/// The outcome of a check, as one object and a newline.
pub(crate) fn outcome(
    entry: &Entry,
    parameters: &Parameters,
    properties: &[(String, PropertyKind)],
    outcome: &Outcome,
    saved: &[PathBuf],
) -> Result<String, String> {
    let statistics = &outcome.statistics;
    let violation = outcome.violation.as_ref();
    object(&OutcomeJson {
        system: entry.name,
        parameters: Values(values(entry, parameters.iter())),
        engine: &outcome.engine,
        beside: &outcome.beside,
        verdict: outcome.verdict.to_string(),
        complete: outcome.complete,
        bounded_by: outcome.bounded_by.map(|bound| bound.to_string()),
        properties: properties.iter().map(|(name, _)| name.as_str()).collect(),
        property: violation.map(|violation| violation.property.as_str()),
        unique_states: statistics.unique_states,
        generated_states: statistics.generated_states,
        transitions: statistics.transitions,
        handler_executions: statistics.handler_executions,
        replayed_handlers: statistics.replayed_handlers,
        user_time_ms: statistics.user_time.map(|time| time.as_secs_f64() * 1e3),
        local_states: statistics.local_states,
        runs: statistics.runs,
        blocked_runs: statistics.blocked_runs,
        joined_runs: statistics.joined_runs,
        resumed_runs: statistics.resumed_runs,
        components: statistics.components.clone(),
        global_skeletons: statistics.global_skeletons,
        inner_skeletons: statistics.inner_skeletons,
        local_skeletons: statistics.local_skeletons,
        covered_traces: statistics.covered_traces.map(Large::from),
        reduction_ratio: statistics.reduction_ratio(),
        run_time_ratio: statistics.run_time_ratio(),
        speed_up: statistics.speed_up(),
        system_states: statistics.system_states,
        rejected: statistics.rejected,
        validity_states: statistics.validity_states,
        depth: statistics.depth,
        elapsed_ms: statistics.elapsed.as_micros() as f64 / 1000.0,
        peak_memory_bytes: statistics.peak_memory_bytes,
        collision_probability: statistics.collision_probability,
        run: violation.map(|violation| events(&violation.run)),
        cause: violation.map(|violation| cause(&violation.cause)),
        reads: violation.map(|violation| violation.reads.as_slice()),
        minimised: outcome.minimised.as_ref().map(Into::into),
        witnesses: outcome
            .witnesses
            .iter()
            .map(|w| WitnessJson { property: &w.property, run: events(&w.run) })
            .collect(),
        goals: outcome.goals.iter().map(Into::into).collect(),
        coverage: outcome.coverage.as_ref().map(Into::into),
        warnings: &outcome.warnings,
        saved: saved.iter().map(|path| path.display().to_string()).collect(),
    })
}

/// Any object, readable, with a newline.
pub(crate) fn object(value: &impl Serialize) -> Result<String, String> {
    match serde_json::to_string_pretty(value) {
        Ok(text) => Ok(text + "\n"),
        Err(error) => Err(format!("the result could not be written as JSON: {error}")),
    }
}

/// Names with values, as an object in the order in which they are given.
pub(crate) struct Values<'a>(pub Vec<(&'a str, Value<'a>)>);

/// The value of a parameter.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Value<'a> {
    Number(u64),
    Word(&'a str),
}

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// The values of parameters of which no more is known.
pub(crate) fn words(pairs: &[(String, String)]) -> Vec<(&str, Value<'_>)> {
    pairs.iter().map(|(name, text)| (name.as_str(), Value::Word(text))).collect()
}

/// The values of parameters, numbers as numbers.
pub(crate) fn values<'a>(
    entry: &Entry,
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<(&'a str, Value<'a>)> {
    let is_number = |name: &str| {
        entry.parameters.iter().any(|p| p.name == name && matches!(p.kind, Kind::Number { .. }))
    };
    let value = |name: &str, text: &'a str| match text.parse() {
        Ok(number) if is_number(name) => Value::Number(number),
        _ => Value::Word(text),
    };
    pairs.map(|(name, text)| (name, value(name, text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_json_would_round_is_written_as_its_digits() {
        let json = |number| serde_json::to_string(&Large::from(number)).unwrap();
        assert_eq!(json(u128::from(u64::MAX)), "18446744073709551615");
        assert_eq!(json(1 << 64), "\"18446744073709551616\"");
    }
}
