//! Words that several formats share, and text made safe to put into them.

use super::measure;
use crate::outcome::story::{Change, Story, StoryEnding, StoryStep};
use crate::outcome::{Cause, RunEventKind};

/// Text in one line without characters that a format or a terminal could take for commands:
/// control characters, and those that change the direction of what follows.
pub(super) fn plain(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\n' | '\t' | '\r' => Some(' '),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => None,
            c if c.is_control() => None,
            c => Some(c),
        })
        .collect()
}

/// As [`plain`], but lines stay lines.
pub(super) fn plain_lines(text: &str) -> String {
    text.split('\n').map(plain).collect::<Vec<_>>().join("\n")
}

/// Text as the content or an attribute of XML or HTML, without control characters.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// At most this many columns, the last an ellipsis if something is left out.
pub(super) fn clip(text: &str, length: usize) -> String {
    measure::clip(text, length, "…")
}

/// The text in lines of at most this many columns; what does not fit into `lines` lines is left out.
pub(super) fn wrap(text: &str, length: usize, lines: usize) -> Vec<String> {
    measure::wrap(text, length, 0, lines, "…")
}

/// What something is called where there is room for `length` characters: all of it if it fits,
/// otherwise the name of its variant.
pub(super) fn short(what: &str, length: usize) -> String {
    let what = plain(what);
    let what = what.trim();
    if what.chars().count() <= length {
        return what.to_owned();
    }
    let name: String = what.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    clip(if name.is_empty() { what } else { &name }, length)
}

/// What the run shows, in one line.
pub(super) fn headline(story: &Story) -> String {
    let Some(ending) = &story.ending else {
        return match story.steps.len() {
            1 => "a run of 1 event".to_owned(),
            events => format!("a run of {events} events"),
        };
    };
    let name = plain(&ending.property);
    match ending.cause {
        Some(Cause::Panic) => format!("violated: a panic: {name}"),
        Some(Cause::Trouble(trouble)) => format!("violated: {trouble}: {name}"),
        Some(Cause::NeverReached) => {
            format!("violated: sometimes `{name}`: no reachable state satisfies it")
        }
        Some(_) => match ending.kind {
            Some(kind) => format!("violated: {kind} `{name}`"),
            None => format!("violated: `{name}`"),
        },
        None => match ending.kind {
            Some(kind) => format!("{kind} `{name}` holds at the end"),
            None => format!("`{name}` holds at the end"),
        },
    }
}

/// What the run ends with, as a heading for what the property reads there.
pub(super) fn reads_heading(ending: &StoryEnding) -> &'static str {
    match (&ending.cause, ending.reads.is_empty()) {
        (_, true) => "",
        (Some(Cause::Trouble(_) | Cause::Panic), _) => "where they stand, at the end",
        (Some(_), _) => "what breaks it, at the end",
        (None, _) => "what it reads at the end",
    }
}

/// Who each of [`StoryEnding::reads`] is of.
pub(super) fn reader<'a>(story: &'a Story, ending: &StoryEnding, index: usize) -> &'a str {
    let names = if ending.observer.is_some() { &story.observers } else { &story.nodes };
    names.get(ending.observer.unwrap_or(index)).map_or("", |name| name)
}

/// Whether what is read there breaks the property.
pub(super) fn breaks(ending: &StoryEnding, index: usize) -> bool {
    ending.cause.is_some() && (ending.observer.is_some() || ending.culprits.contains(&index))
}

/// Whether the run ends in a violation with this step.
pub(super) fn ends_badly(story: &Story, step: usize) -> bool {
    step + 1 == story.steps.len() && story.ending.as_ref().is_some_and(|end| end.cause.is_some())
}

/// What the step changed, one line each of at most this many characters, auxiliary fields left out.
pub(super) fn changes(step: &StoryStep, length: usize) -> Vec<String> {
    // What a thread changes it says itself.
    let told = step.event.kind == RunEventKind::Thread;
    let mut lines: Vec<String> = (step.changes.iter())
        .filter(|change| !change.auxiliary && !told)
        .map(|change| change_line(change, length))
        .collect();
    let mut more = |what: &str, texts: &[String]| {
        lines.extend(texts.iter().map(|text| clip(&format!("{what} {}", plain(text)), length)));
    };
    more("tells the world", &step.outputs);
    more("sets timer", &step.timers_set);
    more("cancels timer", &step.timers_cancelled);
    more("panics:", step.panic.as_slice());
    lines
}

/// A change in one line; if it is too long, something of both what was and what is.
fn change_line(change: &Change, length: usize) -> String {
    let line = plain(&change.to_string());
    let (before, after) = (plain(&change.before), plain(&change.after));
    let whole = line.chars().count();
    if whole <= length || before.is_empty() || after.is_empty() {
        return clip(&line, length);
    }
    let path = if change.path.is_empty() { String::new() } else { plain(&change.path) + ": " };
    let path = clip(&path, length / 2);
    let room = length.saturating_sub(path.chars().count() + 3);
    let (long, short) = (before.chars().count(), after.chars().count());
    // What one does not need is the other's.
    let for_before = long.min((room / 2).max(room.saturating_sub(short)));
    let before = clip(&before, for_before);
    let after = clip(&after, room.saturating_sub(before.chars().count()));
    format!("{path}{before} → {after}")
}

/// Whether the step is the loss of what would have been handled.
pub(super) fn is_lost(step: &StoryStep) -> bool {
    step.event.kind == RunEventKind::Drop
        || step.envelope.is_some_and(|envelope| step.lost.contains(&envelope))
}

/// The class of a kind of event in SVG and HTML.
pub(super) fn class(kind: RunEventKind) -> &'static str {
    match kind {
        RunEventKind::Message | RunEventKind::Duplicate => "message",
        RunEventKind::Timer => "timer",
        RunEventKind::Call => "call",
        RunEventKind::Crash => "crash",
        RunEventKind::Restart => "restart",
        RunEventKind::Drop => "drop",
        RunEventKind::Partition => "partition",
        RunEventKind::Heal => "heal",
        RunEventKind::Thread => "call",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_markup_do_not_survive() {
        assert_eq!(
            escape("a<b>&\"'\u{0}\u{1b}[31m\u{202e}\nz"),
            "a&lt;b&gt;&amp;&quot;&#39;[31m z"
        );
    }

    #[test]
    fn a_long_change_shows_something_of_both_sides() {
        let change = |before: &str, after: &str| Change {
            path: "role".to_owned(),
            before: before.to_owned(),
            after: after.to_owned(),
            auxiliary: false,
        };
        let line = change_line(&change("Idle", "Preparing { value: 1 }"), 24);
        assert_eq!(line, "role: Idle → Preparing…");
        let line = change_line(&change("Preparing { value: 1 }", "Idle"), 24);
        assert_eq!(line, "role: Preparing… → Idle");
        let line = change_line(&change("Preparing { value: 1 }", "Proposing { value: 1 }"), 29);
        assert_eq!(line, "role: Preparing… → Proposing…");
    }

    #[test]
    fn what_does_not_fit_is_called_by_its_variant() {
        assert_eq!(short("Accept { value: 10 }", 9), "Accept");
        assert_eq!(short("Ack(1)", 9), "Ack(1)");
        assert_eq!(short("(1, 2, 3, 4)", 5), "(1,…");
    }
}
