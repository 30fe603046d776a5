//! A step and the end of a story in words: what stands beside the diagram.

use super::measure::{clip, width};
use super::text::{Signs, Style};
use crate::outcome::RunEventKind;
use crate::outcome::changes::changes;
use crate::outcome::shown::Shown;
use crate::outcome::story::{Change, Story, StoryStep};

/// A line of text and how it looks; it may be too long, and may be cut after so many lines.
pub(crate) struct Said {
    pub text: String,
    pub style: Style,
    pub lines: usize,
}

fn said(text: String, style: Style, lines: usize) -> Said {
    Said { text, style, lines }
}

/// What happens at a step.
pub(crate) fn event(story: &Story, at: usize) -> String {
    let step = &story.steps[at];
    let event = &step.event;
    let what = &event.what;
    let envelope = step.envelope.map(|number| &story.envelopes[number]);
    let sent = match envelope.map(|envelope| envelope.sent_at) {
        None => String::new(),
        Some(None) => ", sent at the start".to_owned(),
        Some(Some(step)) => format!(", sent at {}", step + 1),
    };
    let from = event.from.unwrap_or_default();
    let down = event.kind != RunEventKind::Drop && !step.lost.is_empty();
    match event.kind {
        RunEventKind::Message | RunEventKind::Duplicate => {
            let again = envelope.is_some_and(|e| e.handled_at.first().is_some_and(|&f| f < at));
            let again = if again { ", handled once more" } else { "" };
            let copy = match event.kind {
                RunEventKind::Duplicate => "; a copy stays in flight",
                _ => "",
            };
            let node = event.node.unwrap_or_default();
            let lost = step.envelope.is_some_and(|number| step.lost.contains(&number));
            let lost =
                if lost && down { format!("; lost, node {node} is down") } else { String::new() };
            format!("{what} from {from}{sent}{again}{copy}{lost}")
        }
        RunEventKind::Timer => format!("timer {what}"),
        RunEventKind::Call => format!("call {what}"),
        RunEventKind::Crash => "crashes".to_owned(),
        RunEventKind::Restart => "restarts".to_owned(),
        RunEventKind::Drop => {
            let to = event.node.unwrap_or_default();
            format!("{what} from {from} to {to} is dropped{sent}")
        }
        RunEventKind::Partition => format!("the network parts: {} ", groups(story, what)),
        RunEventKind::Heal => "the partition heals ".to_owned(),
    }
}

/// The groups of a partition: `0 | 1, 2`. Nodes that are in none form one more.
fn groups(story: &Story, what: &str) -> String {
    let Shown::List(groups) = Shown::read(what) else { return what.to_owned() };
    let mut named = Vec::new();
    let mut parts = Vec::new();
    for group in &groups {
        let Shown::List(nodes) = group else { return what.to_owned() };
        let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
        parts.push(nodes.join(", "));
        named.extend(nodes);
    }
    let rest = (0..story.nodes.len()).map(|node| node.to_string());
    let rest: Vec<String> = rest.filter(|node| !named.contains(node)).collect();
    if !rest.is_empty() {
        parts.push(rest.join(", "));
    }
    parts.join(" | ")
}

/// What a step did, besides happening; `room` is how wide a line is.
pub(crate) fn details(story: &Story, step: &StoryStep, signs: &Signs, room: usize) -> Vec<Said> {
    let mut all = Vec::new();
    if !step.event.choices.is_empty() {
        all.push(said(format!("chooses {}", listed(&step.event.choices)), Style::Plain, 2));
    }
    let changed = step.changes.iter().filter(|change| !change.auxiliary);
    all.extend(changed.map(|change| said(fitted(change, signs, room), Style::Change, 2)));
    all.extend(sends(story, &step.sent, step, signs));
    all.extend(timers(&step.timers_set, &step.timers_cancelled, step.event.kind));
    all.extend(outputs(&step.outputs));
    let sent_now = |number: &&usize| step.sent.contains(number) || step.envelope == Some(**number);
    for &number in step.lost.iter().filter(|number| !sent_now(number)) {
        let envelope = &story.envelopes[number];
        let from = envelope.from.unwrap_or_default();
        let text =
            format!("{} {} from {from} to {} is lost", signs.lost, envelope.what, envelope.to);
        all.push(said(text, Style::Fault, 2));
    }
    for observed in &step.observed {
        let name = &story.observers[observed.observer];
        let changes: Vec<String> = changes(&observed.before, &observed.after)
            .iter()
            .map(|change| signs.plain(&change.to_string()))
            .collect();
        let text = format!("{name}: {}", changes.join(", "));
        // A long history says at every step what the steps say anyway.
        if width(&text) <= room {
            all.push(said(text, Style::Dim, 1));
        }
    }
    if let Some(message) = &step.panic {
        all.push(said(format!("panics: {message}"), Style::Fault, 4));
    }
    all
}

/// What a node does while it starts, besides starting.
pub(crate) fn start(story: &Story, node: usize, signs: &Signs) -> Vec<Said> {
    let start = &story.starts[node];
    let mut all = Vec::new();
    if !start.choices.is_empty() {
        all.push(said(format!("chooses {}", listed(&start.choices)), Style::Plain, 2));
    }
    let sends = grouped_sends(story, &start.sent).into_iter();
    all.extend(sends.map(|(to, what)| said(sent_to(&to, &what, signs), Style::Send, 3)));
    all.extend(timers(&start.timers, &[], RunEventKind::Restart));
    all.extend(outputs(&start.outputs));
    all
}

fn listed(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A change that is not longer than two lines, if that can be.
fn fitted(change: &Change, signs: &Signs, room: usize) -> String {
    let most = (2 * room).saturating_sub(6);
    let (before, after) = (width(&change.before), width(&change.after));
    let rest = most.saturating_sub(width(&change.path) + 5);
    if before + after <= rest {
        return change.to_string();
    }
    // What is now matters more than what was.
    let before = before.min((rest / 3).max(rest.saturating_sub(after)));
    let after = after.min(rest.saturating_sub(before));
    Change {
        path: change.path.clone(),
        before: clip(&change.before, before.max(1), signs.ellipsis),
        after: clip(&change.after, after.max(1), signs.ellipsis),
        auxiliary: change.auxiliary,
    }
    .to_string()
}

/// What was sent, equal messages together: for each the receivers and the message.
fn grouped_sends(story: &Story, sent: &[usize]) -> Vec<(Vec<usize>, String)> {
    let mut groups: Vec<(Vec<usize>, String)> = Vec::new();
    for envelope in sent.iter().map(|&number| &story.envelopes[number]) {
        if envelope.from.is_none() {
            continue;
        }
        match groups.iter_mut().find(|(_, what)| *what == envelope.what) {
            Some((to, _)) => to.push(envelope.to),
            None => groups.push((vec![envelope.to], envelope.what.clone())),
        }
    }
    groups
}

fn sent_to(to: &[usize], what: &str, signs: &Signs) -> String {
    format!("{} {}: {what}", signs.to, listed(to))
}

fn sends(story: &Story, sent: &[usize], step: &StoryStep, signs: &Signs) -> Vec<Said> {
    let (lost, kept): (Vec<usize>, Vec<usize>) =
        sent.iter().partition(|number| step.lost.contains(number));
    let mut all = Vec::new();
    for (to, what) in grouped_sends(story, &kept) {
        all.push(said(sent_to(&to, &what, signs), Style::Send, 3));
    }
    for (to, what) in grouped_sends(story, &lost) {
        let text = format!("{} {}", sent_to(&to, &what, signs), signs.lost);
        all.push(said(format!("{text} lost to the partition"), Style::Fault, 3));
    }
    all
}

fn timers(set: &[String], cancelled: &[String], kind: RunEventKind) -> Vec<Said> {
    let cancels = if kind == RunEventKind::Crash { "loses timer" } else { "cancels timer" };
    [("sets timer", set), (cancels, cancelled)]
        .into_iter()
        .filter(|(_, timers)| !timers.is_empty())
        .map(|(what, timers)| said(format!("{what} {}", timers.join(", ")), Style::Timer, 2))
        .collect()
}

fn outputs(outputs: &[String]) -> Vec<Said> {
    outputs.iter().map(|output| said(format!("outputs {output}"), Style::Call, 3)).collect()
}
