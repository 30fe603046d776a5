//! The space-time diagram as SVG shapes: one lane a node from top to bottom, one row a step,
//! arrows from where an envelope was sent to where it was handled or lost.
//!
//! Only shapes with classes, no colours: [`svg`](super::svg) and [`html`](super::html) bring
//! their own styles. There is one step in a row, so labels cannot lie on each other; each is put
//! above the middle of its row, on the side from which no arrow comes.

use super::words::{breaks, class, ends_badly, escape, is_lost, short};
use crate::outcome::RunEventKind;
use crate::outcome::story::{Story, StoryEnvelope};
use std::fmt::Write;

/// Where everything is.
pub(super) struct Diagram<'a> {
    pub story: &'a Story,
    /// The steps that are shown, in order, and the height of the middle of each.
    pub rows: Vec<(usize, f64)>,
    /// The height of the start: where nodes stand before the first step.
    pub start: f64,
    /// Where lanes begin and end.
    pub top: f64,
    pub bottom: f64,
    /// The first lane's distance from the left, and the width of each.
    pub left: f64,
    pub lane: f64,
    /// How high a row that can be clicked is; without, there are none.
    pub row: Option<f64>,
}

/// How wide a lane is. The more there are, the narrower they are; but names of threads have room, up to a point.
pub(super) fn lane_width(story: &Story) -> f64 {
    let lane: f64 = match story.nodes.len() {
        0..=3 => 132.0,
        4..=6 => 100.0,
        7..=10 => 88.0,
        _ => 68.0,
    };
    let longest = story.nodes.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    lane.max(longest.min(24) as f64 * NAME)
}

/// How wide a character of a name is.
pub(super) const NAME: f64 = 7.4;
/// How wide a character of a label is.
const CHARACTER: f64 = 6.7;
/// How far an arrow stays away from the middle of a mark.
const GAP: f64 = 6.5;

impl Diagram<'_> {
    /// The middle of a node's lane.
    pub fn x(&self, node: usize) -> f64 {
        self.left + self.lane * (node as f64 + 0.5)
    }

    /// Where the last lane ends.
    pub fn right(&self) -> f64 {
        self.left + self.lane * self.story.nodes.len() as f64
    }

    /// The height of a step; `None` if it is not shown.
    fn y(&self, step: usize) -> Option<f64> {
        let place = self.rows.binary_search_by_key(&step, |&(step, _)| step).ok()?;
        Some(self.rows[place].1)
    }

    /// All shapes, what is behind first.
    pub fn shapes(&self) -> String {
        let mut out = String::new();
        if let Some(height) = self.row {
            self.row_shapes(&mut out, height);
        }
        out.push_str("<g class=\"lanes\">\n");
        self.lane_shapes(&mut out);
        out.push_str("</g>\n<g class=\"arrows\">\n");
        for (index, envelope) in self.story.envelopes.iter().enumerate() {
            self.arrows(&mut out, index, envelope);
        }
        out.push_str("</g>\n<g class=\"steps\">\n");
        for &(step, y) in &self.rows {
            self.step(&mut out, step, y);
        }
        out.push_str("</g>\n");
        out
    }

    fn row_shapes(&self, out: &mut String, height: f64) {
        out.push_str("<g class=\"rows\">\n");
        let starts = [(0, self.start)].into_iter();
        for (position, y) in starts.chain(self.rows.iter().map(|&(step, y)| (step + 1, y))) {
            let (top, width) = (y - height / 2.0, self.right() + self.left);
            let _ = writeln!(
                out,
                "<rect class=\"row\" data-at=\"{position}\" x=\"0\" y=\"{top}\" width=\"{width}\" \
                 height=\"{height}\"/>"
            );
        }
        out.push_str("</g>\n");
    }

    /// The lanes: solid while the node is up, dashed while it is down.
    fn lane_shapes(&self, out: &mut String) {
        for node in 0..self.story.nodes.len() {
            let x = self.x(node);
            let mut up = true;
            let mut from = self.top;
            let mut segment = |up: bool, from: f64, to: f64| {
                let down = if up { "" } else { " down" };
                let _ = writeln!(
                    out,
                    "<line class=\"lane{down}\" x1=\"{x}\" y1=\"{from}\" x2=\"{x}\" y2=\"{to}\"/>"
                );
            };
            for &(step, y) in &self.rows {
                let event = &self.story.steps[step].event;
                let becomes = match event.kind {
                    RunEventKind::Crash => false,
                    RunEventKind::Restart => true,
                    _ => continue,
                };
                if event.node == Some(node) && becomes != up {
                    segment(up, from, y);
                    (up, from) = (becomes, y);
                }
            }
            segment(up, from, self.bottom);
            let y = self.start;
            let _ = writeln!(out, "<circle class=\"birth\" cx=\"{x}\" cy=\"{y}\" r=\"3\"/>");
        }
    }

    /// Every arrow of an envelope: to where it was handled, to where it was lost, or a stub.
    fn arrows(&self, out: &mut String, index: usize, envelope: &StoryEnvelope) {
        let sent = match envelope.sent_at {
            None => Some(self.start),
            Some(step) => self.y(step),
        };
        let handled: Vec<(usize, f64)> =
            (envelope.handled_at.iter()).filter_map(|&step| Some((step, self.y(step)?))).collect();
        for &(step, y) in &handled {
            let faint = self.faint(step);
            let kind = if envelope.from.is_none() { "call" } else { "message" };
            let _ = write!(
                out,
                "<g class=\"arrow {kind}{faint}\" data-envelope=\"{index}\" data-at=\"{}\">",
                step + 1
            );
            self.arrow_title(out, envelope);
            match (envelope.from, sent) {
                (Some(from), Some(sent)) => self.arrow(out, (from, sent), (envelope.to, y)),
                _ => self.call_arrow(out, envelope.to, y),
            }
            out.push_str("</g>\n");
        }
        let Some((from, sent)) = envelope.from.zip(sent) else { return };
        let lost = envelope.lost_at.and_then(|step| Some((step, self.y(step)?)));
        if let Some((step, y)) = lost {
            let faint = self.faint(step);
            let _ = write!(
                out,
                "<g class=\"arrow lost{faint}\" data-envelope=\"{index}\" data-at=\"{}\">",
                step + 1
            );
            self.arrow_title(out, envelope);
            self.lost_arrow(out, (from, sent), (envelope.to, y));
            out.push_str("</g>\n");
        } else if handled.is_empty() && from != envelope.to {
            let side = if envelope.to > from { 1.0 } else { -1.0 };
            let (x1, y1) = (self.x(from) + side * GAP, sent + 3.0);
            let (x2, y2) = (x1 + side * 13.0, y1 + 6.0);
            let _ = write!(out, "<g class=\"arrow stub\" data-envelope=\"{index}\">");
            self.arrow_title(out, envelope);
            let _ = writeln!(out, "<path class=\"line\" d=\"M{x1} {y1}L{x2} {y2}\"/></g>");
        }
    }

    /// What a reader sees who points at an arrow of a picture. A page has something better.
    fn arrow_title(&self, out: &mut String, envelope: &StoryEnvelope) {
        if self.row.is_some() {
            return;
        }
        let name = |node: usize| self.story.nodes.get(node).map_or("", |name| name);
        let from = envelope.from.map_or("the driver", name);
        let fate = match (envelope.handled_at.is_empty(), envelope.lost_at) {
            (false, _) => "",
            (true, Some(_)) => ", lost",
            (true, None) => ", still in flight at the end",
        };
        let _ = write!(
            out,
            "<title>{} from {} to {}{fate}</title>",
            escape(&envelope.what),
            escape(from),
            escape(name(envelope.to))
        );
    }

    fn arrow(&self, out: &mut String, (from, y1): (usize, f64), (to, y2): (usize, f64)) {
        if from == to {
            // A message to itself swings out to the left of the lane.
            let (x, out_to) = (self.x(to), self.x(to) - self.lane * 0.28);
            let (y1, y2) = (y1 + GAP, y2 - 2.0);
            let path = format!("M{x} {y1}C{out_to:.1} {y1} {out_to:.1} {y2} {:.1} {y2}", x - 8.0);
            let _ = write!(
                out,
                "<path class=\"hit\" d=\"{path}\"/><path class=\"line\" d=\"{path}\"/>"
            );
            head(out, (x - GAP, y2), (1.0, 0.0));
            return;
        }
        let ((x1, y1), (x2, y2), along) = between((self.x(from), y1), (self.x(to), y2), GAP, GAP);
        let path = format!("M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}");
        let _ =
            write!(out, "<path class=\"hit\" d=\"{path}\"/><path class=\"line\" d=\"{path}\"/>");
        head(out, (x2, y2), along);
    }

    /// A call comes from outside: a short arrow from the left.
    fn call_arrow(&self, out: &mut String, node: usize, y: f64) {
        let x = self.x(node) - GAP;
        let _ = write!(out, "<path class=\"line\" d=\"M{} {y}L{x} {y}\"/>", x - 20.0);
        head(out, (x, y), (1.0, 0.0));
    }

    fn lost_arrow(&self, out: &mut String, (from, y1): (usize, f64), (to, y2): (usize, f64)) {
        let goal = if from == to { (self.x(to) - 30.0, y2) } else { (self.x(to), y2) };
        let ((x1, y1), (x2, y2), _) = between((self.x(from), y1), goal, GAP, 18.0);
        let path = format!("M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}");
        let _ =
            write!(out, "<path class=\"hit\" d=\"{path}\"/><path class=\"line\" d=\"{path}\"/>");
        cross(out, x2, y2, 4.0);
    }

    /// The mark of a step and its label.
    fn step(&self, out: &mut String, index: usize, y: f64) {
        let step = &self.story.steps[index];
        let kind = class(step.event.kind);
        let bad = if ends_badly(self.story, index) { " bad" } else { "" };
        let faint = self.faint(index);
        let _ = write!(out, "<g class=\"step {kind}{faint}{bad}\" data-at=\"{}\">", index + 1);
        if self.row.is_none() {
            let text = escape(&step.event.to_string());
            let _ = write!(out, "<title>{}. {text}</title>", index + 1);
        }
        match step.event.kind {
            RunEventKind::Partition | RunEventKind::Heal => self.across(out, index, y),
            _ => self.mark(out, index, y),
        }
        out.push_str("</g>\n");
    }

    /// A step of the whole network: a line across all lanes.
    fn across(&self, out: &mut String, index: usize, y: f64) {
        let event = &self.story.steps[index].event;
        let (x1, x2) = (self.left, self.right());
        let _ =
            write!(out, "<line class=\"across\" x1=\"{x1}\" y1=\"{y}\" x2=\"{x2}\" y2=\"{y}\"/>");
        let text = match event.kind {
            RunEventKind::Heal => "heals".to_owned(),
            _ => format!("parts: {}", event.what),
        };
        let room = ((x2 - x1) / CHARACTER) as usize;
        label(out, (x1 + x2) / 2.0, y - 5.0, "middle", &short(&text, room));
    }

    fn mark(&self, out: &mut String, index: usize, y: f64) {
        let step = &self.story.steps[index];
        let Some(node) = step.event.node else { return };
        let x = self.x(node);
        let reader = self.story.ending.as_ref();
        if step.view.is_some() && reader.is_some_and(|ending| breaks(ending, node)) {
            let _ = write!(out, "<circle class=\"ring\" cx=\"{x}\" cy=\"{y}\" r=\"8\"/>");
        }
        let text = match step.event.kind {
            RunEventKind::Crash => {
                cross(out, x, y, 5.0);
                "crashes".to_owned()
            }
            RunEventKind::Restart => {
                let _ = write!(out, "<circle class=\"mark\" cx=\"{x}\" cy=\"{y}\" r=\"4.5\"/>");
                "restarts".to_owned()
            }
            // The arrow ends in a cross: the node does nothing.
            _ if is_lost(step) => step.event.what.clone(),
            RunEventKind::Timer => {
                let _ = write!(
                    out,
                    "<circle class=\"mark\" cx=\"{x}\" cy=\"{y}\" r=\"5.5\"/>\
                     <path class=\"hands\" d=\"M{x} {}V{y}H{}\"/>",
                    y - 3.5,
                    x + 2.5
                );
                step.event.what.clone()
            }
            _ => {
                let _ = write!(out, "<circle class=\"mark\" cx=\"{x}\" cy=\"{y}\" r=\"4.5\"/>");
                self.story.what(step).to_owned()
            }
        };
        // An arrow comes from the sender's side, so the label goes to the other.
        let from = step.envelope.and_then(|index| self.story.envelopes.get(index)?.from);
        let left = from.is_some_and(|from| from > node);
        let room = (self.lane - 18.0) / CHARACTER;
        let away = if is_lost(step) { 6.0 } else { 10.0 };
        let text = short(&text, room as usize);
        match left {
            true => label(out, x - away, y - 5.0, "end", &text),
            false => label(out, x + away, y - 5.0, "start", &text),
        }
    }

    fn faint(&self, step: usize) -> &'static str {
        if self.story.steps[step].matters { "" } else { " faint" }
    }
}

/// A line between two points that keeps away from both; its ends and its direction.
fn between(
    (x1, y1): (f64, f64),
    (x2, y2): (f64, f64),
    gap: f64,
    end_gap: f64,
) -> ((f64, f64), (f64, f64), (f64, f64)) {
    let length = (x2 - x1).hypot(y2 - y1).max(1.0);
    let along = ((x2 - x1) / length, (y2 - y1) / length);
    let (gap, end_gap) = (gap.min(length / 3.0), end_gap.min(length / 3.0));
    let begin = (x1 + along.0 * gap, y1 + along.1 * gap);
    (begin, (x2 - along.0 * end_gap, y2 - along.1 * end_gap), along)
}

/// The head of an arrow.
fn head(out: &mut String, (x, y): (f64, f64), (dx, dy): (f64, f64)) {
    let (bx, by) = (x - dx * 8.0, y - dy * 8.0);
    let (px, py) = (-dy * 3.2, dx * 3.2);
    let _ = write!(
        out,
        "<path class=\"head\" d=\"M{x:.1} {y:.1}L{:.1} {:.1}L{:.1} {:.1}Z\"/>",
        bx + px,
        by + py,
        bx - px,
        by - py
    );
}

fn cross(out: &mut String, x: f64, y: f64, r: f64) {
    let (left, right, top, bottom) = (x - r, x + r, y - r, y + r);
    let _ = write!(
        out,
        "<path class=\"cross\" d=\"M{left:.1} {top:.1}L{right:.1} {bottom:.1}M{left:.1} \
         {bottom:.1}L{right:.1} {top:.1}\"/>"
    );
}

fn label(out: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    if !text.is_empty() {
        let text = escape(text);
        let _ = write!(
            out,
            "<text class=\"label\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>"
        );
    }
}
