//! What the end of a story shows, in words.

use super::sentences::Said;
use super::text::{Signs, Style};
use crate::model::property::PropertyKind;
use crate::outcome::past::last_change;
use crate::outcome::shown::Shown;
use crate::outcome::story::{Story, StoryEnding};
use crate::outcome::{Cause, RunEventKind};

/// The end in words, line by line.
pub(crate) fn words(story: &Story, ending: &StoryEnding, signs: &Signs) -> Vec<Said> {
    let mut all = Vec::new();
    let mut say = |text: String, style, lines| all.push(Said { text, style, lines });
    let name = &ending.property;
    let kind = ending.kind.map_or_else(String::new, |kind| format!("{kind} "));
    let bad = if ending.cause.is_some() { Style::Fault } else { Style::Good };
    match (&ending.cause, ending.culprits.as_slice()) {
        (Some(Cause::Panic), [node, ..]) => {
            let node = story.nodes.get(*node).map_or("a node", String::as_str);
            say(format!("{node} panics: {name}"), bad, 6);
            return all;
        }
        (Some(Cause::Panic), []) => {
            let who = if story.is_of_threads() { "a thread" } else { "a handler" };
            say(format!("{who} panics: {name}"), bad, 6);
            return all;
        }
        (Some(Cause::Trouble(trouble)), _) => {
            say(format!("{trouble}: {name}"), bad, 8);
            for (thread, read) in ending.reads.iter().enumerate().filter(|(_, r)| !r.is_empty()) {
                let culprit = ending.culprits.contains(&thread);
                let mark = if culprit { signs.culprit } else { ' ' };
                let style = if culprit { bad } else { Style::Plain };
                say(format!("{mark} {read}"), style, 6);
            }
            return all;
        }
        (Some(Cause::Stuck), _) => {
            say(format!("{kind}`{name}` does not hold: nothing can happen any more, and"), bad, 8);
        }
        (Some(_), _) => say(format!("{kind}`{name}` does not hold:"), bad, 8),
        (None, _) => say(format!("{kind}`{name}` holds:"), bad, 8),
    }
    if let (Some(observer), Some(read)) = (ending.observer, ending.reads.first()) {
        let observer = story.observers.get(observer).map_or("the observer", String::as_str);
        match Shown::read(read) {
            // What is written for people has parts of its own.
            Shown::Atom(read) if read.contains(' ') => {
                say(format!("  {observer}:"), Style::Plain, 3);
                for part in read.split("; ") {
                    say(format!("    {part}"), Style::Plain, 6);
                }
            }
            _ => say(format!("  {observer}: {read}"), Style::Plain, 8),
        }
        return all;
    }
    for (nodes, text) in seen(story, ending) {
        let culprit = nodes.iter().any(|node| ending.culprits.contains(node));
        let (mark, style) = if culprit { (signs.culprit, bad) } else { (' ', Style::Plain) };
        say(format!("{mark} {text}"), style, 6);
    }
    if ending.kind == Some(PropertyKind::NeverStuck) {
        let left: Vec<String> = story
            .never_handled()
            .map(|e| match e.from {
                Some(from) => format!("{} from {from} to {}", e.what, e.to),
                None => format!("call {} of {}", e.what, e.to),
            })
            .collect();
        if !left.is_empty() {
            say(format!("  never handled: {}", left.join("; ")), Style::Plain, 4);
        }
    }
    all
}

/// What each node sees, and since when if that is known; bystanders that see the same together.
fn seen(story: &Story, ending: &StoryEnding) -> Vec<(Vec<usize>, String)> {
    let mut groups: Vec<(Vec<usize>, String, bool)> = Vec::new();
    for (node, read) in ending.reads.iter().enumerate() {
        let culprit = ending.culprits.contains(&node);
        let mut what = read.clone();
        if let Some(step) = last_change(story, node).filter(|_| culprit) {
            what.push_str(&format!(", since step {}", step + 1));
        }
        let faults = story.steps.iter().filter(|step| step.event.node == Some(node));
        let is_down = faults.fold(false, |down, step| match step.event.kind {
            RunEventKind::Crash => true,
            RunEventKind::Restart => false,
            _ => down,
        });
        if is_down {
            what.push_str(", and is down");
        }
        match groups.iter_mut().find(|(_, other, alone)| *other == what && !alone && !culprit) {
            Some((nodes, ..)) => nodes.push(node),
            None => groups.push((vec![node], what, culprit)),
        }
    }
    let say = |nodes: &[usize], what: &str| match nodes {
        [node] => format!("node {node} sees {what}"),
        nodes => format!("nodes {} see {what}", named(nodes)),
    };
    groups
        .into_iter()
        .map(|(nodes, what, _)| {
            let text = say(&nodes, &what);
            (nodes, text)
        })
        .collect()
}

/// Nodes by their numbers: `0, 1 and 2`, longer rows in short.
pub(crate) fn named(nodes: &[usize]) -> String {
    let mut rows: Vec<(usize, usize)> = Vec::new();
    for &node in nodes {
        match rows.last_mut() {
            Some((_, last)) if *last + 1 == node => *last = node,
            _ => rows.push((node, node)),
        }
    }
    let mut parts = Vec::new();
    for (first, last) in rows {
        match last - first {
            0 => parts.push(first.to_string()),
            1 => parts.extend([first.to_string(), last.to_string()]),
            _ => parts.push(format!("{first} to {last}")),
        }
    }
    match parts.split_last() {
        Some((last, rest @ [_, ..])) => format!("{} and {last}", rest.join(", ")),
        _ => parts.join(""),
    }
}
