//! The outcome for programs: one JSON object with the same fields whatever the engine.

use crate::{Entry, Kind, Parameters};
use allways::{Outcome, RunEvent};
use serde::{Serialize, Serializer};

/// What `check --json` prints. A number that the engine does not have is null.
#[derive(Serialize)]
struct OutcomeJson<'a> {
    system: &'a str,
    parameters: Values<'a>,
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
    depth: Option<u64>,
    elapsed_ms: f64,
    peak_memory_bytes: Option<u64>,
    collision_probability: Option<f64>,
    run: Option<Vec<EventJson<'a>>>,
}

#[derive(Serialize)]
struct EventJson<'a> {
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

/// The outcome of a check, as one object and a newline.
pub(crate) fn outcome(
    entry: &Entry,
    parameters: &Parameters,
    outcome: &Outcome,
) -> Result<String, String> {
    let statistics = &outcome.statistics;
    let violation = outcome.violation.as_ref();
    object(&OutcomeJson {
        system: entry.name,
        parameters: Values(values(entry, parameters.iter())),
        engine: &outcome.engine,
        verdict: outcome.verdict.to_string(),
        complete: outcome.complete,
        bounded_by: outcome.bounded_by.map(|bound| bound.to_string()),
        property: violation.map(|violation| violation.property.as_str()),
        unique_states: statistics.unique_states,
        generated_states: statistics.generated_states,
        transitions: statistics.transitions,
        handler_executions: statistics.handler_executions,
        local_states: statistics.local_states,
        runs: statistics.runs,
        system_states: statistics.system_states,
        depth: statistics.depth,
        elapsed_ms: statistics.elapsed.as_micros() as f64 / 1000.0,
        peak_memory_bytes: statistics.peak_memory_bytes,
        collision_probability: statistics.collision_probability,
        run: violation.map(|violation| violation.run.events.iter().map(Into::into).collect()),
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
