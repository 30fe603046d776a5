//! A static picture: one self-contained SVG file, light or dark as the reader prefers.
//!
//! On the left the space-time diagram, on the right each step in words with what it changed, at
//! the bottom what the property read.

use super::About;
use super::diagram::{Diagram, lane_width};
use super::words::{
    breaks, changes, clip, ends_badly, escape, headline, plain, reader, reads_heading, wrap,
};
use crate::outcome::RunEventKind;
use crate::outcome::story::Story;
use std::fmt::Write;

/// How wide the words are, and how many characters fit.
const WORDS: f64 = 520.0;
const CHARACTERS: usize = 68;
/// The heights of a line of words and of a row's margin.
const LINE: f64 = 16.0;
const MARGIN: f64 = 20.0;
/// Room for the numbers of the steps.
const NUMBERS: f64 = 40.0;
/// How many lines of a step are shown: of the event, and of what it changed.
const EVENT_LINES: usize = 2;
const CHANGE_LINES: usize = 3;

/// What is written beside a row.
struct Beside {
    event: Vec<String>,
    changes: Vec<String>,
}

impl Beside {
    fn of(story: &Story, step: usize) -> Self {
        let step = &story.steps[step];
        let all = changes(step, CHARACTERS + 4);
        let mut shown: Vec<String> = all.iter().take(CHANGE_LINES).cloned().collect();
        if all.len() > CHANGE_LINES {
            let last = all.len() - CHANGE_LINES + 1;
            shown[CHANGE_LINES - 1] = format!("and {last} more changes");
        }
        // A node stays with its number.
        let event = plain(&step.event.to_string()).replace(" node ", " node\u{a0}");
        // What threads do takes more words.
        let most = EVENT_LINES + usize::from(step.event.kind == RunEventKind::Thread);
        let event = wrap(&event, CHARACTERS, most);
        Beside { event, changes: shown }
    }

    fn height(&self) -> f64 {
        (self.event.len() + self.changes.len()) as f64 * LINE + MARGIN
    }
}

/// The story as an SVG file.
pub(super) fn render(story: &Story, about: &About) -> String {
    let top = if about.line().is_empty() { 62.0 } else { 82.0 };
    let beside: Vec<Beside> = (0..story.steps.len()).map(|step| Beside::of(story, step)).collect();
    let start = top + 24.0;
    let mut y = start + 18.0;
    let mut rows = Vec::new();
    for (step, words) in beside.iter().enumerate() {
        rows.push((step, y + MARGIN));
        y += words.height();
    }
    let lane = lane_width(story);
    let bottom = y + 8.0;
    let diagram = Diagram {
        story,
        rows,
        start,
        top: top + 8.0,
        bottom,
        left: NUMBERS + lane * 0.4,
        lane,
        row: None,
    };
    let words_at = diagram.right() + lane * 0.4;
    let width = words_at + WORDS;

    let mut body = diagram.shapes();
    heads(&mut body, &diagram, top);
    for (&(step, y), words) in diagram.rows.iter().zip(&beside) {
        words_of(&mut body, story, step, (words_at, y), words);
    }
    let height = ending(&mut body, &diagram, width) + 20.0;
    page(story, about, &body, width, height)
}

fn page(story: &Story, about: &About, body: &str, width: f64, height: f64) -> String {
    let mut out = String::new();
    let title = headline(story);
    let bad = story.ending.as_ref().is_some_and(|ending| ending.cause.is_some());
    let bad = if bad { " bad" } else { "" };
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"title\">\n\
         <title id=\"title\">{}</title>\n<style>\n{}</style>\n\
         <rect class=\"paper\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n",
        escape(&title),
        include_str!("svg.css"),
        width - 1.0,
        height - 1.0
    );
    let room = |character: f64| ((width - 40.0) / character) as usize;
    let _ = writeln!(
        out,
        "<text class=\"title{bad}\" x=\"20\" y=\"32\">{}</text>",
        escape(&clip(&title, room(9.0)))
    );
    let line = plain(&about.line());
    if !line.is_empty() {
        let line = escape(&clip(&line, room(7.0)));
        let _ = writeln!(out, "<text class=\"about\" x=\"20\" y=\"52\">{line}</text>");
    }
    out.push_str(body);
    out.push_str("</svg>\n");
    out
}

/// The names of the nodes.
fn heads(out: &mut String, diagram: &Diagram<'_>, y: f64) {
    let room = (diagram.lane / 7.2) as usize;
    for (node, name) in diagram.story.nodes.iter().enumerate() {
        let (x, name) = (diagram.x(node), escape(&clip(&plain(name), room)));
        let _ = writeln!(out, "<text class=\"name\" x=\"{x}\" y=\"{y}\">{name}</text>");
    }
}

fn words_of(out: &mut String, story: &Story, step: usize, (x, y): (f64, f64), words: &Beside) {
    let faint = if story.steps[step].matters { "" } else { " class=\"faint\"" };
    let number = step + 1;
    let _ =
        write!(out, "<g{faint}><text class=\"number\" x=\"28\" y=\"{}\">{number}</text>", y + 4.0);
    let mut line = y + 4.0;
    for text in &words.event {
        let _ = write!(out, "<text x=\"{x}\" y=\"{line}\">{}</text>", escape(text));
        line += LINE;
    }
    let breaking = breaking(story, step);
    let view = story.steps[step].view.as_ref().map(|(_, after)| plain(after));
    // The line that says what the property reads, or all if none does.
    let says = |text: &String| view.as_ref().is_some_and(|view| text.ends_with(view.as_str()));
    let any = words.changes.iter().any(says);
    for text in &words.changes {
        let bad = if breaking && (says(text) || !any) { " bad" } else { "" };
        let _ = write!(
            out,
            "<text class=\"change{bad}\" x=\"{}\" y=\"{line}\">{}</text>",
            x + 12.0,
            escape(text)
        );
        line += LINE;
    }
    out.push_str("</g>\n");
}

/// Whether the step moved what breaks the property.
fn breaking(story: &Story, step: usize) -> bool {
    let node = story.steps[step].event.node;
    let moved = story.steps[step].view.is_some();
    let breaks = |node| story.ending.as_ref().is_some_and(|ending| breaks(ending, node));
    (moved && node.is_some_and(breaks))
        || (ends_badly(story, step) && story.steps[step].panic.is_some())
}

/// What the property reads, under the lanes; returns where it ends.
fn ending(out: &mut String, diagram: &Diagram<'_>, width: f64) -> f64 {
    let story = diagram.story;
    let mut y = diagram.bottom;
    let Some(ending) = &story.ending else { return y };
    for node in 0..story.nodes.len() {
        if ending.observer.is_none() && breaks(ending, node) {
            let x = diagram.x(node) - 5.0;
            let _ = writeln!(
                out,
                "<rect class=\"end\" x=\"{x}\" y=\"{y}\" width=\"10\" height=\"10\" rx=\"2\"/>"
            );
        }
    }
    if ending.reads.is_empty() {
        return y + 10.0;
    }
    y += 34.0;
    let _ = writeln!(
        out,
        "<line class=\"rule\" x1=\"20\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\
         <text class=\"heading\" x=\"20\" y=\"{}\">{}</text>",
        y - 8.0,
        width - 20.0,
        y - 8.0,
        y + 12.0,
        reads_heading(ending)
    );
    y += 32.0;
    let names = (0..ending.reads.len()).map(|index| reader(story, ending, index).chars().count());
    let names = names.max().unwrap_or(0).min(24);
    let room = ((width - 40.0) / 7.3) as usize - names - 2;
    let threads = story.is_of_threads();
    for (index, read) in ending.reads.iter().enumerate() {
        // Nothing is to be said of a thread that is not in trouble, and its name was said.
        let read = if threads { story.without_name(index, read) } else { read };
        if threads && read.is_empty() {
            continue;
        }
        let bad = if breaks(ending, index) { " bad" } else { "" };
        let name = escape(&clip(&plain(reader(story, ending, index)), names));
        let at = 20.0 + (names as f64 + 2.0) * 7.3;
        let _ = writeln!(out, "<text class=\"read{bad}\" x=\"20\" y=\"{y}\">{name}</text>");
        for line in wrap(&plain(read), room, 3) {
            let line = escape(&line);
            let _ = writeln!(out, "<text class=\"read{bad}\" x=\"{at}\" y=\"{y}\">{line}</text>");
            y += 18.0;
        }
    }
    y - 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::render::sample;

    #[test]
    fn pictures_are_well_formed_whatever_the_texts() {
        for story in sample::all() {
            roxmltree::Document::parse(&render(&story, &sample::about())).unwrap();
        }
    }

    #[test]
    fn every_envelope_that_was_handled_has_an_arrow_and_a_lost_one_a_cross() {
        let picture = render(&sample::paxos(), &About::default());
        assert_eq!(picture.matches("<g class=\"arrow message").count(), 3);
        assert_eq!(picture.matches("<g class=\"arrow call").count(), 2);
        assert_eq!(picture.matches("<g class=\"arrow lost").count(), 1);
        assert_eq!(picture.matches("class=\"cross\"").count(), 2, "one is the crash");
        assert_eq!(picture.matches("lane down").count(), 1);
    }

    #[test]
    fn what_does_not_matter_is_faint() {
        let picture = render(&sample::paxos(), &About::default());
        assert_eq!(picture.matches("<g class=\"step timer faint\"").count(), 1);
        assert_eq!(picture.matches("<g class=\"step message faint\"").count(), 1);
    }

    #[test]
    fn what_breaks_the_property_is_at_the_bottom() {
        let picture = render(&sample::paxos(), &About::default());
        assert_eq!(picture.matches("class=\"end\"").count(), 2);
        assert!(picture.contains("<text class=\"read bad\" x=\"20\""));
        assert!(picture.contains(">what breaks it, at the end</text>"));
    }

    /// Labels of one row cannot meet; this is about those of different rows.
    #[test]
    fn rows_of_words_do_not_overlap() {
        let picture = render(&sample::paxos(), &About::default());
        let heights = picture
            .lines()
            .filter(|line| line.starts_with("<g><text class=\"number\""))
            .map(|line| {
                let y = line.split("y=\"").nth(1).unwrap().split('"').next().unwrap();
                y.parse::<f64>().unwrap()
            });
        let heights: Vec<f64> = heights.collect();
        assert!(heights.windows(2).all(|pair| pair[1] - pair[0] >= LINE), "{heights:?}");
    }

    #[test]
    fn threads_that_are_in_no_trouble_are_not_among_those_that_are() {
        let picture = render(&sample::threads(), &About::default());
        assert_eq!(picture.matches("<text class=\"read bad\" x=\"20\"").count(), 2, "{picture}");
        assert!(picture.contains(">where they stand, at the end</text>"), "{picture}");
        assert!(picture.contains(">waits at a.rs:8 too</text>"), "{picture}");
        assert!(picture.contains(">the first worker</text>"), "names are whole: {picture}");
    }
}
