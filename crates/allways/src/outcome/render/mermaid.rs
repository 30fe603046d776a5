//! A Mermaid sequence diagram, to paste into an issue between ```` ```mermaid ```` and ```` ``` ````.
//!
//! Mermaid draws messages as level arrows, so each is drawn where it is handled. What does not
//! matter to the end is dashed. Sites refuse diagrams of more than 50,000 characters: a long
//! story loses its notes first, then its steps in the middle.

use super::About;
use super::words::{breaks, changes, clip, headline, plain, reader, wrap};
use crate::outcome::RunEventKind;
use crate::outcome::story::{Story, StoryStep};
use std::fmt::Write;

/// The most characters that Mermaid takes unless told otherwise.
const MOST: usize = 50_000;
/// How long a label may be.
const LABEL: usize = 72;

/// The story as a sequence diagram.
pub(super) fn render(story: &Story, about: &About) -> String {
    let whole = diagram(story, about, true, story.steps.len());
    if whole.chars().count() <= MOST {
        return whole;
    }
    let mut ends = story.steps.len();
    loop {
        let shorter = diagram(story, about, false, ends);
        if shorter.chars().count() <= MOST || ends == 0 {
            return shorter;
        }
        ends = ends * 2 / 3;
    }
}

/// The diagram with or without notes on changes, and with this many steps at most, half of them at
/// the start and half at the end.
fn diagram(story: &Story, about: &About, notes: bool, most: usize) -> String {
    let mut out = String::from("sequenceDiagram\n");
    let title = [about.title(), headline(story)].join(": ");
    let _ = writeln!(out, "  %% {}", escape(title.trim_start_matches(": "), usize::MAX));
    if story.envelopes.iter().any(|envelope| envelope.from.is_none()) {
        out.push_str("  actor driver\n");
    }
    for (node, name) in story.nodes.iter().enumerate() {
        let _ = writeln!(out, "  participant n{node} as {}", escape(name, LABEL));
    }
    if story.nodes.is_empty() {
        out.push_str("  participant nobody\n");
    }
    let left_out = story.steps.len() - most.min(story.steps.len());
    for (index, step) in story.steps.iter().enumerate() {
        if left_out > 0 && index == most / 2 {
            let _ = writeln!(out, "  Note over {}: {left_out} steps are left out", all(story));
        }
        if index < most / 2 || index >= most / 2 + left_out {
            self::step(&mut out, story, index, step, notes);
        }
    }
    ending(&mut out, story);
    out
}

fn step(out: &mut String, story: &Story, index: usize, step: &StoryStep, notes: bool) {
    let event = &step.event;
    let number = index + 1;
    let node = event.node.unwrap_or_default();
    let text = |what: &str| escape(&format!("{number}. {what}"), LABEL);
    let what = |what: &str| if what.trim().is_empty() { text("()") } else { text(what) };
    let dash = if step.matters { "" } else { "-" };
    let from = event.from.unwrap_or_default();
    let _ = match event.kind {
        RunEventKind::Message => {
            writeln!(out, "  n{from}{dash}->>n{node}: {}", what(&event.what))
        }
        RunEventKind::Duplicate => {
            let label = text(&format!("{} (a duplicate stays in flight)", event.what));
            writeln!(out, "  n{from}{dash}->>n{node}: {label}")
        }
        RunEventKind::Call => writeln!(out, "  driver{dash}->>n{node}: {}", what(&event.what)),
        RunEventKind::Drop => writeln!(out, "  n{from}-{dash}xn{node}: {}", what(&event.what)),
        RunEventKind::Timer => {
            let label = text(&format!("timer {} fires", event.what));
            writeln!(out, "  Note over n{node}: {label}")
        }
        RunEventKind::Crash => writeln!(out, "  Note over n{node}: {}", text("crashes")),
        RunEventKind::Restart => writeln!(out, "  Note over n{node}: {}", text("restarts")),
        RunEventKind::Partition => {
            let label = match event.what.starts_with('(') {
                true => text(&format!("the link {} fails", event.what)),
                false => text(&format!("the network parts into {}", event.what)),
            };
            writeln!(out, "  Note over {}: {label}", all(story))
        }
        RunEventKind::Thread => {
            let label = broken(&format!("{number}. {}", story.what(step)));
            match story.sender(step) {
                Some(from) if from != node => writeln!(out, "  n{from}{dash}->>n{node}: {label}"),
                _ => writeln!(out, "  Note over n{node}: {label}"),
            }
        }
        RunEventKind::Heal => {
            writeln!(out, "  Note over {}: {}", all(story), text("the partition heals"))
        }
    };
    let changed = changes(step, LABEL);
    if notes && event.node.is_some() && !changed.is_empty() {
        let lines: Vec<String> = changed.iter().take(4).map(|line| escape(line, LABEL)).collect();
        let _ = writeln!(out, "  Note right of n{node}: {}", lines.join("<br/>"));
    }
}

fn ending(out: &mut String, story: &Story) {
    let Some(ending) = &story.ending else { return };
    let _ = writeln!(out, "  Note over {}: {}", all(story), escape(&headline(story), LABEL * 2));
    for (index, read) in ending.reads.iter().enumerate() {
        if ending.cause.is_some() && !breaks(ending, index) {
            continue;
        }
        let over = if ending.observer.is_some() { all(story) } else { format!("n{index}") };
        let text = match story.is_of_threads() {
            true => broken(read),
            false => escape(&format!("{} reads {read}", reader(story, ending, index)), LABEL),
        };
        let _ = writeln!(out, "  Note over {over}: {text}");
    }
}

/// A label of several lines: what threads do takes more words than fit into one.
fn broken(text: &str) -> String {
    let lines = wrap(&plain(text), LABEL / 2, 5);
    lines.iter().map(|line| escape(line, LABEL)).collect::<Vec<_>>().join("<br/>")
}

/// All participants, for a note over them.
fn all(story: &Story) -> String {
    match story.nodes.len() {
        0 => "nobody".to_owned(),
        1 => "n0".to_owned(),
        nodes => format!("n0,n{}", nodes - 1),
    }
}

/// Text that Mermaid shows as it is. It takes `;` for the end of a line, `#` for the start of a
/// character's code, `%%` for a comment, `$$` for mathematics and the rest for HTML.
fn escape(text: &str, length: usize) -> String {
    let mut escaped = String::new();
    for c in clip(&plain(text), length).chars() {
        match c {
            ';' | '#' | '<' | '>' | '&' | '"' | '%' | '$' | '`' | '\\' => {
                let _ = write!(escaped, "#{};", c as u32);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::render::sample;

    /// What is wrong with a diagram, by the part of Mermaid's grammar that is used.
    fn mistake(diagram: &str) -> Option<String> {
        let participant = |name: &str| {
            name == "driver"
                || name == "nobody"
                || name.strip_prefix('n').is_some_and(|n| n.parse::<usize>().is_ok())
        };
        let text = |text: &str| {
            // What follows a `#` up to the next `;` is the code of a character.
            let mut rest = String::new();
            for (index, part) in text.replace("<br/>", "").split('#').enumerate() {
                let after = match part.split_once(';') {
                    _ if index == 0 => part,
                    Some((code, after)) if code.parse::<u32>().is_ok() => after,
                    _ => return false,
                };
                rest.push_str(after);
            }
            let rest = if text.starts_with('#') { format!("?{rest}") } else { rest };
            !rest.trim().is_empty() && !rest.contains([';', '<', '>', '%', '$'])
        };
        let good = |line: &str| {
            if let Some(note) = line.strip_prefix("Note ") {
                let Some((place, words)) = note.split_once(": ") else { return false };
                let names = place.strip_prefix("over ").or(place.strip_prefix("right of "));
                return names.is_some_and(|names| names.split(',').all(participant)) && text(words);
            }
            if let Some(rest) = line.strip_prefix("participant ") {
                let (name, alias) = rest.split_once(" as ").unwrap_or((rest, "it"));
                return participant(name) && text(alias);
            }
            if line == "actor driver" || line.starts_with("%% ") {
                return true;
            }
            let Some((arrow, words)) = line.split_once(": ") else { return false };
            let arrows = ["-->>", "->>", "--x", "-x"];
            let ends = arrows.iter().find_map(|by| arrow.split_once(by));
            ends.is_some_and(|(from, to)| participant(from) && participant(to)) && text(words)
        };
        let mut lines = diagram.lines();
        if lines.next() != Some("sequenceDiagram") {
            return Some("it does not begin as a sequence diagram".to_owned());
        }
        lines.map(str::trim).find(|line| !good(line)).map(str::to_owned)
    }

    #[test]
    fn a_diagram_is_what_the_grammar_of_mermaid_allows() {
        for story in sample::all() {
            assert_eq!(mistake(&render(&story, &sample::about())), None);
        }
    }

    #[test]
    fn a_message_is_drawn_from_its_sender_to_its_receiver() {
        let diagram = render(&sample::paxos(), &About::default());
        assert!(diagram.contains("  driver->>n0: 1. Propose(10)\n"), "{diagram}");
        assert!(diagram.contains("  n0->>n1: 2. Prepare { ballot: 1 }\n"), "{diagram}");
    }

    #[test]
    fn text_cannot_end_a_line_or_start_a_comment() {
        let escaped = escape("a; b\nparticipant x #35; %%{init}%% $$x$$ <b>", 99);
        assert!(!escaped.contains('\n') && !escaped.contains("%%") && !escaped.contains("$$"));
        assert!(escaped.starts_with("a#59; b participant x #35;35#59; "), "{escaped}");
    }

    #[test]
    fn a_long_story_stays_below_what_sites_accept() {
        let story = sample::long(20, 2_000);
        let diagram = render(&story, &About::default());
        assert!(diagram.chars().count() <= MOST);
        assert!(diagram.contains("steps are left out"));
        assert_eq!(mistake(&diagram), None);
    }

    #[test]
    fn threads_have_notes_and_what_they_send_arrows() {
        let diagram = render(&sample::threads(), &About::default());
        assert!(
            diagram.contains("  Note over n1: 4. locks mutex 0 of a.rs:5 at a.rs:6\n"),
            "{diagram}"
        );
        let message = "  n0->>n1: 3. receives message 0 from the<br/>channel of a.rs:2 at a.rs:4\n";
        assert!(diagram.contains(message), "{diagram}");
        assert!(
            diagram.ends_with("  Note over n1: the first worker waits at a.rs:8 too\n"),
            "{diagram}"
        );
        assert!(!diagram.contains("reads main"), "{diagram}");
    }
}
