//! A Graphviz graph: a cluster for each node with its steps one after the other, and an edge for
//! each envelope from the step that sent it to those that handled it.

use super::About;
use super::words::{changes, clip, ends_badly, headline, plain, wrap};
use crate::outcome::RunEventKind;
use crate::outcome::story::Story;
use std::fmt::Write;

/// The story as a graph.
pub(super) fn render(story: &Story, about: &About) -> String {
    let mut out = String::from("digraph run {\n  rankdir=TB\n  newrank=true\n");
    let title = [headline(story), about.line()].join("\n");
    let _ = writeln!(
        out,
        "  label={}\n  labelloc=t\n  fontname=\"sans-serif\"\n  \
         node [shape=box style=\"rounded,filled\" fillcolor=white color=\"#4a7bb5\" fontsize=10 \
         fontname=\"monospace\"]\n  edge [fontsize=9 fontname=\"monospace\" color=\"#4a7bb5\"]",
        quote(title.trim_end())
    );
    for (node, name) in story.nodes.iter().enumerate() {
        lane(&mut out, story, node, name);
    }
    for (index, step) in story.steps.iter().enumerate() {
        if own_lane(story, index).is_none() {
            let text = format!("{}. {}", index + 1, step.event);
            let _ = writeln!(
                out,
                "  s{index} [label={} color=\"#b5622c\"{}]",
                quote(&clip(&plain(&text), 60)),
                faint(story, index)
            );
        }
    }
    // Time goes down: one step below the other.
    for index in 1..story.steps.len() {
        let _ = writeln!(out, "  s{} -> s{index} [style=invis]", index - 1);
    }
    envelopes(&mut out, story);
    shared(&mut out, story);
    out.push_str("}\n");
    out
}

/// The node in whose lane a step is; `None` for a step of the network.
fn own_lane(story: &Story, step: usize) -> Option<usize> {
    let event = &story.steps[step].event;
    match event.kind {
        RunEventKind::Drop | RunEventKind::Partition | RunEventKind::Heal => None,
        _ => event.node.filter(|&node| node < story.nodes.len()),
    }
}

fn lane(out: &mut String, story: &Story, node: usize, name: &str) {
    let _ = writeln!(
        out,
        "  subgraph cluster_{node} {{\n    label={}\n    color=\"#c3ccd5\"\n    \
         start{node} [label=\"start\" shape=plaintext]",
        quote(&plain(name))
    );
    let mut last = format!("start{node}");
    for (index, step) in story.steps.iter().enumerate() {
        if own_lane(story, index) != Some(node) {
            continue;
        }
        let what = match step.event.kind {
            RunEventKind::Crash => "crashes".to_owned(),
            RunEventKind::Restart => "restarts".to_owned(),
            RunEventKind::Timer => format!("timer {}", step.event.what),
            _ => story.what(step).to_owned(),
        };
        // What threads do takes more words.
        let most = if step.event.kind == RunEventKind::Thread { 3 } else { 1 };
        let mut lines = wrap(&plain(&format!("{}. {what}", index + 1)), 48, most);
        lines.extend(changes(step, 48).into_iter().take(3));
        let bad = if ends_badly(story, index) { " color=\"#c1272d\" penwidth=2" } else { "" };
        let label = quote(&lines.join("\n"));
        let _ = writeln!(out, "    s{index} [label={label}{bad}{}]", faint(story, index));
        let _ = writeln!(out, "    {last} -> s{index} [color=\"#c3ccd5\" arrowhead=none weight=9]");
        last = format!("s{index}");
    }
    out.push_str("  }\n");
}

fn envelopes(out: &mut String, story: &Story) {
    for (index, envelope) in story.envelopes.iter().enumerate() {
        let from = match (envelope.sent_at, envelope.from) {
            (Some(step), Some(_)) => format!("s{step}"),
            (None, Some(from)) => format!("start{from}"),
            // The driver's calls come from nowhere.
            (_, None) => {
                if envelope.handled_at.is_empty() {
                    continue;
                }
                let _ = writeln!(out, "  call{index} [label=\"call\" shape=plaintext]");
                format!("call{index}")
            }
        };
        let label = quote(&clip(&plain(&envelope.what), 32));
        for &step in &envelope.handled_at {
            let faint = faint(story, step);
            let _ = writeln!(out, "  {from} -> s{step} [label={label}{faint} constraint=false]");
        }
        if let Some(step) = envelope.lost_at {
            let _ = writeln!(
                out,
                "  {from} -> s{step} [label={label} style=dashed color=\"#b5622c\" arrowhead=tee \
                 constraint=false]"
            );
        }
    }
}

/// What orders the steps of threads besides what they send: an edge to each from the last step of every other thread that it follows.
fn shared(out: &mut String, story: &Story) {
    for (index, step) in story.steps.iter().enumerate() {
        if step.event.kind != RunEventKind::Thread {
            continue;
        }
        let sent = step.envelope.and_then(|envelope| story.envelopes.get(envelope)?.sent_at);
        let node = |step: usize| story.steps[step].event.node;
        let is_last = |&&cause: &&usize| {
            let later = |other: &usize| node(*other) == node(cause) && *other > cause;
            node(cause) != node(index) && Some(cause) != sent && !step.causes.iter().any(later)
        };
        for cause in step.causes.iter().filter(is_last) {
            let faint = faint(story, index);
            let _ = writeln!(out, "  s{cause} -> s{index} [style=dashed{faint} constraint=false]");
        }
    }
}

fn faint(story: &Story, step: usize) -> &'static str {
    if story.steps[step].matters { "" } else { " fontcolor=gray color=gray" }
}

/// A string of Graphviz: only quotes, backslashes and the ends of lines mean something in it.
fn quote(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::render::sample;

    /// The graph without its strings; a string that does not end is a mistake.
    fn without_strings(graph: &str) -> Result<String, String> {
        let mut rest = String::new();
        let mut characters = graph.chars();
        while let Some(c) = characters.next() {
            if c != '"' {
                rest.push(c);
                continue;
            }
            loop {
                match characters.next() {
                    Some('\\') => drop(characters.next()),
                    Some('"') => break,
                    Some('\n') | None => return Err(format!("a string does not end: {rest}")),
                    Some(_) => {}
                }
            }
        }
        Ok(rest)
    }

    #[test]
    fn strings_and_braces_close() {
        for story in sample::all() {
            let graph = without_strings(&render(&story, &sample::about())).unwrap();
            assert_eq!(graph.matches('{').count(), graph.matches('}').count());
            assert_eq!(graph.matches('[').count(), graph.matches(']').count());
            assert!(!graph.contains("script"), "{graph}");
        }
    }

    #[test]
    fn an_edge_only_joins_what_is_declared() {
        let graph = without_strings(&render(&sample::paxos(), &About::default())).unwrap();
        let declared: Vec<&str> = graph
            .lines()
            .filter(|line| !line.contains("->"))
            .filter_map(|line| line.trim().split(' ').next())
            .collect();
        let edges: Vec<&str> = graph.lines().filter(|line| line.contains("->")).collect();
        assert!(edges.len() > 8, "{graph}");
        for edge in edges {
            let ends = edge.split('[').next().unwrap();
            for end in ends.split("->").map(str::trim) {
                assert!(declared.contains(&end), "{end} in {graph}");
            }
        }
    }

    #[test]
    fn what_threads_share_is_an_edge() {
        let graph = render(&sample::threads(), &About::default());
        assert!(graph.contains("s3 [label=\"4. locks mutex 0 of a.rs:5 at a.rs:6\"]"), "{graph}");
        assert!(graph.contains("  s3 -> s4 [style=dashed constraint=false]\n"), "{graph}");
        // One for the message.
        assert_eq!(graph.matches("constraint=false").count(), 2, "{graph}");
    }
}
