//! Writing a saved run: JSON with an event a line, so that differences between two runs read well.

use super::SavedRun;
use crate::json::quoted as text;
use crate::outcome::{Cause, RunEvent};

/// The run as one JSON object and a newline.
pub(super) fn json(saved: &SavedRun) -> String {
    let violation = &saved.violation;
    let run = &violation.run;
    let parameters = saved
        .parameters
        .iter()
        .map(|(name, value)| format!("{{\"name\": {}, \"value\": {}}}", text(name), text(value)));
    let mut fields = vec![
        ("version", SavedRun::VERSION.to_string()),
        ("tool", text(&saved.tool)),
        ("system", text(&saved.system)),
        ("parameters", lines(parameters)),
        ("engine", text(&saved.engine)),
        ("property", text(&violation.property)),
        ("cause", text(cause(&violation.cause))),
        ("start", run.start.to_string()),
        ("start_choices", lines(run.start_choices.iter().map(|choices| numbers(choices)))),
        ("events", lines(run.events.iter().map(event))),
        ("reads", lines(violation.reads.iter().map(|read| text(read)))),
    ];
    fields.extend(saved.snapshot.clone().map(|snapshot| ("snapshot", snapshot)));
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("  \"{name}\": {value}")).collect();
    format!("{{\n{}\n}}\n", fields.join(",\n"))
}

/// The name of a cause in a saved run.
pub(super) fn cause(cause: &Cause) -> &'static str {
    match cause {
        Cause::Always => "always",
        Cause::Stuck => "never stuck",
        Cause::NeverReached => "sometimes",
        Cause::Panic => "panic",
        Cause::Trouble(trouble) => trouble.name(),
    }
}

fn event(event: &RunEvent) -> String {
    let node = |node: Option<usize>| node.map_or_else(|| "null".to_owned(), |n| n.to_string());
    format!(
        "{{\"kind\": {}, \"node\": {}, \"from\": {}, \"what\": {}, \"choices\": {}}}",
        text(&event.kind.to_string()),
        node(event.node),
        node(event.from),
        text(&event.what),
        numbers(&event.choices)
    )
}

fn numbers(numbers: &[u32]) -> String {
    format!("{numbers:?}")
}

fn lines(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.map(|item| format!("    {item}")).collect();
    if items.is_empty() { "[]".to_owned() } else { format!("[\n{}\n  ]", items.join(",\n")) }
}
