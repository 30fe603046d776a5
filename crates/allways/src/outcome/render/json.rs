//! A story as JSON: everything that it holds, with an event's sentence beside its parts.

use super::About;
use super::words::headline;
use crate::json::{Value, json};
use crate::outcome::Cause;
use crate::outcome::story::{Story, StoryEnding, StoryEnvelope, StoryStart, StoryStep};

/// The story as one JSON object and a newline.
pub(super) fn render(story: &Story, about: &About) -> String {
    format!("{:#}\n", value(story, about))
}

/// The story as a JSON object.
pub(super) fn value(story: &Story, about: &About) -> Value {
    json!({
        "headline": headline(story),
        "about": about_value(about),
        "nodes": story.nodes,
        "observers": story.observers,
        "starts": story.starts.iter().map(start).collect::<Vec<_>>(),
        "observer_starts": story.observer_starts,
        "steps": story.steps.iter().map(step).collect::<Vec<_>>(),
        "envelopes": story.envelopes.iter().map(envelope).collect::<Vec<_>>(),
        "ending": story.ending.as_ref().map(ending),
    })
}

fn about_value(about: &About) -> Value {
    let parameters = about.parameters.iter().map(|(name, value)| json!([name, value]));
    json!({
        "system": about.system,
        "parameters": parameters.collect::<Vec<_>>(),
        "engine": about.engine,
        "version": about.version,
        "replay": about.replay,
    })
}

fn start(start: &StoryStart) -> Value {
    json!({
        "state": start.state,
        "timers": start.timers,
        "choices": start.choices,
        "sent": start.sent,
        "outputs": start.outputs,
    })
}

fn step(step: &StoryStep) -> Value {
    let changes = step.changes.iter().map(|change| {
        json!({
            "path": change.path,
            "before": change.before,
            "after": change.after,
            "auxiliary": change.auxiliary,
        })
    });
    let observed = step.observed.iter().map(
        |moved| json!({ "observer": moved.observer, "before": moved.before, "after": moved.after }),
    );
    json!({
        "kind": step.event.kind.to_string(),
        "node": step.event.node,
        "from": step.event.from,
        "what": step.event.what,
        "choices": step.event.choices,
        "text": step.event.to_string(),
        "envelope": step.envelope,
        "sent": step.sent,
        "lost": step.lost,
        "outputs": step.outputs,
        "timers_set": step.timers_set,
        "timers_cancelled": step.timers_cancelled,
        "before": step.before,
        "after": step.after,
        "changes": changes.collect::<Vec<_>>(),
        "observed": observed.collect::<Vec<_>>(),
        "view": step.view.as_ref().map(|(before, after)| [before, after]),
        "causes": step.causes,
        "matters": step.matters,
        "panic": step.panic,
    })
}

fn envelope(envelope: &StoryEnvelope) -> Value {
    json!({
        "from": envelope.from,
        "to": envelope.to,
        "what": envelope.what,
        "sent_at": envelope.sent_at,
        "handled_at": envelope.handled_at,
        "lost_at": envelope.lost_at,
    })
}

fn ending(ending: &StoryEnding) -> Value {
    let cause = ending.cause.as_ref().map(|cause| match cause {
        Cause::Always => "always",
        Cause::Stuck => "stuck",
        Cause::NeverReached => "never reached",
        Cause::Panic => "panic",
        Cause::Trouble(trouble) => trouble.name(),
    });
    json!({
        "property": ending.property,
        "kind": ending.kind.map(|kind| kind.to_string()),
        "cause": cause,
        "reads": ending.reads,
        "reads_at_start": ending.reads_at_start,
        "observer": ending.observer,
        "culprits": ending.culprits,
    })
}
