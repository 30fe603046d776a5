//! The lanes of a space-time diagram: one column a node, time runs downwards.

use super::measure::width;
use super::text::{Signs, Style};
use crate::outcome::story::{Story, StoryStep};
use crate::outcome::{RunEvent, RunEventKind};

/// Between the lanes and the text beside them.
const GAP: usize = 3;
/// How far apart two lanes are at least, and at most.
const PITCH: std::ops::RangeInclusive<usize> = 4..=6;
/// How far apart they are at least if there are no arrows from one to another, and names need no room.
const NARROW: usize = 2;
/// How wide the text beside the lanes is at least, and how wide it is before lanes are spread out.
const TEXT: [usize; 2] = [32, 60];

/// Where the lanes are.
pub(crate) struct Lanes {
    nodes: usize,
    /// The column of the first.
    first: usize,
    /// From each to the next.
    pitch: usize,
    /// The nodes that are down.
    down: Vec<bool>,
}

/// A line of the diagram: characters and how they look.
pub(crate) type Cells = Vec<(char, Style)>;

impl Lanes {
    /// Lanes for a story in so many columns, if there are any and they leave room for text beside
    /// them.
    pub fn new(story: &Story, gutter: usize, columns: usize) -> Option<Lanes> {
        let nodes = story.nodes.len();
        let after_first = nodes.checked_sub(1)?;
        let taken = |pitch: usize| gutter + after_first * pitch + 1 + GAP;
        let narrow = story.is_of_threads() && story.envelopes.is_empty();
        let least = if narrow { NARROW } else { *PITCH.start() };
        let mut pitches = (least..=*PITCH.end()).rev();
        let mut fits = |text: usize| pitches.find(|&pitch| taken(pitch) + text <= columns);
        let pitch = fits(TEXT[1]).or((taken(least) + TEXT[0] <= columns).then_some(least))?;
        Some(Lanes { nodes, first: gutter, pitch, down: vec![false; nodes] })
    }

    /// Where the text starts.
    pub fn text_at(&self) -> usize {
        self.at(self.nodes.saturating_sub(1)) + 1 + GAP
    }

    fn at(&self, node: usize) -> usize {
        self.first + node * self.pitch
    }

    fn is_lane(&self, column: usize) -> bool {
        (0..self.nodes).any(|node| self.at(node) == column)
    }

    /// The names of the nodes, each over its lane; where they are too long for that, one a line, each at the beginning of its lane.
    pub fn header(&self, names: &[String], signs: &Signs) -> Vec<Cells> {
        let numbered = names.iter().enumerate().all(|(n, name)| *name == format!("node {n}"));
        match numbered || names.iter().all(|name| width(name) < self.pitch) {
            true => vec![self.names(names, numbered)],
            false => (0..names.len()).map(|node| self.name(node, &names[node], signs)).collect(),
        }
    }

    /// The name of a node at the beginning of its lane, beside the lanes before it.
    fn name(&self, node: usize, name: &str, signs: &Signs) -> Cells {
        let mut cells = self.idle(signs);
        cells.truncate(self.at(node));
        cells.extend(signs.plain(name).chars().map(|c| (c, Style::Bold)));
        cells
    }

    /// All names in one line.
    fn names(&self, names: &[String], numbered: bool) -> Cells {
        let mut cells = vec![(' ', Style::Bold); self.text_at()];
        let mut put = |at: usize, text: &str| {
            for (offset, c) in text.chars().enumerate() {
                if let Some(cell) = cells.get_mut(at + offset) {
                    cell.0 = c;
                }
            }
        };
        for (node, name) in names.iter().enumerate() {
            let name = if numbered { node.to_string() } else { name.clone() };
            put(self.at(node).saturating_sub(name.chars().count().saturating_sub(1) / 2), &name);
        }
        if numbered {
            put(0, "node");
        }
        cells
    }

    /// The lanes where nothing happens.
    pub fn idle(&self, signs: &Signs) -> Cells {
        let mut cells = vec![(' ', Style::Dim); self.text_at()];
        for node in 0..self.nodes {
            cells[self.at(node)].0 = if self.down[node] { signs.down } else { signs.lane };
        }
        cells
    }

    /// A mark in some lanes.
    pub fn marks(&self, nodes: &[usize], mark: char, style: Style, signs: &Signs) -> Cells {
        let mut cells = self.idle(signs);
        for &node in nodes {
            cells[self.at(node)] = (mark, style);
        }
        cells
    }

    /// What happens at a step; afterwards the lanes are as it leaves them.
    pub fn step(&mut self, story: &Story, step: &StoryStep, signs: &Signs) -> Cells {
        let RunEvent { kind, node, .. } = step.event;
        let from = story.sender(step);
        let Some(node) = node else { return self.across(kind, signs) };
        let lost = step.envelope.is_some_and(|envelope| step.lost.contains(&envelope));
        let (mark, style) = mark_of(kind, step.panic.is_some(), signs);
        let cells = match (from, lost) {
            (Some(from), true) => self.arrow(from, node, signs.lost, None, signs),
            (Some(from), false) => {
                let head = if from < node { signs.right } else { signs.left };
                self.arrow(from, node, head, Some((mark, style)), signs)
            }
            (None, _) => self.marks(&[node], mark, style, signs),
        };
        match kind {
            RunEventKind::Crash => self.down[node] = true,
            RunEventKind::Restart => self.down[node] = false,
            _ => {}
        }
        cells
    }

    /// A message from lane to lane; `end` is what stands in the lane that it reaches.
    fn arrow(
        &self,
        from: usize,
        to: usize,
        head: char,
        end: Option<(char, Style)>,
        signs: &Signs,
    ) -> Cells {
        let mut cells = self.idle(signs);
        let (a, b) = (self.at(from), self.at(to));
        let style = if end.is_some() { Style::Message } else { Style::Fault };
        if let Some(end) = end {
            cells[b] = end;
        }
        if from == to {
            // A message to oneself leaves the lane and comes back.
            cells[b + 1] = (if end.is_some() { signs.left } else { signs.lost }, style);
            cells[b + 2] = (signs.turn, style);
            return cells;
        }
        let between = cells.iter_mut().enumerate().take(a.max(b)).skip(a.min(b) + 1);
        for (at, cell) in between {
            *cell = (if self.is_lane(at) { signs.crossing } else { signs.line }, style);
        }
        cells[a] = (signs.sent, style);
        cells[if a < b { b - 1 } else { b + 1 }] = (head, style);
        cells
    }

    /// Something that concerns all nodes.
    fn across(&self, kind: RunEventKind, signs: &Signs) -> Cells {
        let style = if kind == RunEventKind::Heal { Style::Plain } else { Style::Fault };
        let mut cells = self.idle(signs);
        for (at, cell) in cells.iter_mut().enumerate().skip(self.first) {
            *cell = match (self.is_lane(at), at + 1 < self.text_at()) {
                (true, _) => (signs.bar_crossing, style),
                (false, true) => (signs.bar, style),
                (false, false) => (' ', style),
            };
        }
        cells
    }
}

/// What an event looks like in its lane.
pub(crate) fn mark_of(kind: RunEventKind, panics: bool, signs: &Signs) -> (char, Style) {
    match kind {
        _ if panics => (signs.crash, Style::Fault),
        RunEventKind::Message | RunEventKind::Duplicate => (signs.handled, Style::Message),
        RunEventKind::Timer => (signs.timer, Style::Timer),
        RunEventKind::Call => (signs.call, Style::Call),
        RunEventKind::Crash => (signs.crash, Style::Fault),
        RunEventKind::Restart => (signs.restart, Style::Call),
        RunEventKind::Drop => (signs.lost, Style::Fault),
        RunEventKind::Partition => (signs.bar, Style::Fault),
        RunEventKind::Heal => (signs.bar, Style::Plain),
        RunEventKind::Thread => (signs.handled, Style::Plain),
    }
}
