//! A step and the end of a story in words: what stands beside the diagram.

use super::measure::{clip, width, wrap};
use super::text::{Signs, Style};
use crate::outcome::RunEventKind;
use crate::outcome::changes::changes;
use crate::outcome::shown::Shown;
use crate::outcome::story::{Change, Story, StoryStep};

/// A line of text and how it looks; it may be too long, and may be cut after so many lines.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    match event.kind {
        RunEventKind::Message | RunEventKind::Duplicate => {
            let again = envelope.is_some_and(|e| e.handled_at.first().is_some_and(|&f| f < at));
            let again = if again { ", handled once more" } else { "" };
            let copy = match event.kind {
                RunEventKind::Duplicate => "; a copy stays in flight",
                _ => "",
            };
            let node = event.node.unwrap_or_default();
            let lost = match step.envelope.is_some_and(|number| step.lost.contains(&number)) {
                true => format!("; lost, node {node} is down"),
                false => String::new(),
            };
            // Where it came from stays on one line.
            let origin = format!("from {from}{sent}").replace(' ', "\u{a0}");
            format!("{what} {origin}{again}{copy}{lost}")
        }
        RunEventKind::Timer => format!("timer {what}"),
        RunEventKind::Call => format!("call {what}"),
        RunEventKind::Crash => "crashes".to_owned(),
        RunEventKind::Restart => "restarts".to_owned(),
        RunEventKind::Drop => {
            let to = event.node.unwrap_or_default();
            format!("{what} from {from} to {to} is dropped{sent}")
        }
        RunEventKind::Partition => match Shown::read(what) {
            Shown::List(_) => format!("the network parts: {}", groups(story, what)),
            _ => format!("the link {what} fails"),
        },
        RunEventKind::Heal => "the partition heals".to_owned(),
        RunEventKind::Thread => story.what(step).to_owned(),
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
    let panics = |all: &mut Vec<Said>| {
        let panics = step.panic.as_ref().map(|message| format!("panics: {message}"));
        all.extend(panics.map(|text| said(text, Style::Fault, 4)));
    };
    if step.event.kind == RunEventKind::Thread {
        // Its words have said the rest.
        panics(&mut all);
        return all;
    }
    if !step.event.choices.is_empty() {
        all.push(said(format!("chooses {}", listed(&step.event.choices)), Style::Plain, 2));
    }
    let changed = step.changes.iter().filter(|change| !change.auxiliary);
    all.extend(changed.map(|change| said(fitted(change, signs, room, 3), Style::Change, 3)));
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
    panics(&mut all);
    if all.is_empty() && did_nothing(step) {
        all.push(said("changes nothing".to_owned(), Style::Dim, 1));
    }
    all
}

/// Whether a handler ran and left its node as it was; what is only not shown is something.
fn did_nothing(step: &StoryStep) -> bool {
    let handles = match step.event.kind {
        RunEventKind::Timer => true,
        RunEventKind::Message | RunEventKind::Duplicate => step.lost.is_empty(),
        _ => false,
    };
    handles && step.before == step.after && step.sent.is_empty() && step.observed.is_empty()
}

/// A state as it is shown, without what is auxiliary.
pub(crate) fn relevant(state: &str) -> String {
    fn without(shown: Shown) -> Shown {
        let is_aux = |value: &Shown| matches!(value, Shown::Tuple { name, items } if name == "Aux" && items.len() == 1);
        match shown {
            Shown::Struct { name, fields } => {
                let kept = fields.into_iter().filter(|(_, value)| !is_aux(value));
                let fields: Vec<_> = kept.map(|(name, value)| (name, without(value))).collect();
                match fields.is_empty() {
                    true => Shown::Atom(name),
                    false => Shown::Struct { name, fields },
                }
            }
            Shown::Tuple { name, items } => {
                let items = items.into_iter().map(without).collect();
                Shown::Tuple { name, items }
            }
            other => other,
        }
    }
    match state.contains("Aux(") {
        true => without(Shown::read(state)).to_string(),
        false => state.to_owned(),
    }
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

/// A change that is not longer than so many lines, if that can be.
fn fitted(change: &Change, signs: &Signs, room: usize, lines: usize) -> String {
    let fits = |text: &str| wrap(text, room, 4, lines + 1, signs.ellipsis).len() <= lines;
    let mut text = change.to_string();
    let mut rest = lines * room;
    // Lines are not filled to their ends, so how much fits is found by trying.
    while !fits(&signs.plain(&text)) && rest > 8 {
        rest -= 4;
        // What is now matters more than what was.
        let after = width(&change.after).min(rest * 2 / 3);
        let before = width(&change.before).min(rest - after);
        let after = width(&change.after).min(rest - before);
        text = Change {
            path: clip(&change.path, rest, signs.ellipsis),
            before: clip(&change.before, before, signs.ellipsis),
            after: clip(&change.after, after, signs.ellipsis),
            auxiliary: change.auxiliary,
        }
        .to_string();
    }
    text
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
