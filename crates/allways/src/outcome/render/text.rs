//! A story as text: a space-time diagram for the terminal.
//!
//! Lanes on the left, one a node; words on the right, aligned, since that is what one reads. A
//! message is drawn where it is handled, as an arrow from its sender's lane, and says at which step
//! it was sent. Where lanes would leave too little room for words, there are no lanes.

use super::ending;
use super::lanes::{Cells, Lanes, mark_of};
use super::measure::{clip, width, wrap};
use super::sentences::{self, Said};
use crate::outcome::past::last_change;
use crate::outcome::story::Story;
use crate::outcome::{RunEventKind, grouped};

/// How to show a story as text.
///
/// ```
/// use allways::TextOptions;
/// let narrow = TextOptions { width: 60, ..TextOptions::default() };
/// assert!(narrow.unicode && !narrow.color);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextOptions {
    /// No line is wider than this many columns.
    pub width: usize,
    /// Whether to colour, for a terminal.
    pub color: bool,
    /// Whether to draw with more than ASCII.
    pub unicode: bool,
    /// Whether to say of steps that do not matter, too, what they did.
    pub all_steps: bool,
    /// How many of the last steps to show; `None` for all of them.
    pub last: Option<usize>,
}

impl Default for TextOptions {
    /// 100 columns, no colours, Unicode, the steps that matter.
    fn default() -> Self {
        TextOptions { width: 100, color: false, unicode: true, all_steps: false, last: None }
    }
}

/// How a piece of text looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    Plain,
    Dim,
    Bold,
    Message,
    Send,
    Timer,
    Call,
    Change,
    Fault,
    Good,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Plain | Style::Change => "",
            Style::Dim => "2",
            Style::Bold => "1",
            Style::Message => "36",
            Style::Send => "34",
            Style::Timer => "33",
            Style::Call => "35",
            Style::Fault => "31",
            Style::Good => "32",
        }
    }
}

/// What the diagram is drawn with.
pub(crate) struct Signs {
    pub lane: char,
    pub down: char,
    pub sent: char,
    pub handled: char,
    pub line: char,
    pub crossing: char,
    pub right: char,
    pub left: char,
    pub turn: char,
    pub timer: char,
    pub call: char,
    pub crash: char,
    pub restart: char,
    pub start: char,
    pub lost: char,
    pub bar: char,
    pub bar_crossing: char,
    pub culprit: char,
    pub to: &'static str,
    pub ellipsis: &'static str,
    ascii: bool,
}

const UNICODE: Signs = Signs {
    lane: '│',
    down: '┊',
    sent: '○',
    handled: '●',
    line: '─',
    crossing: '┼',
    right: '▶',
    left: '◀',
    turn: '╮',
    timer: '◷',
    call: '▼',
    crash: '✖',
    restart: '↻',
    start: '◇',
    lost: '✗',
    bar: '═',
    bar_crossing: '╪',
    culprit: '▸',
    to: "→",
    ellipsis: "…",
    ascii: false,
};

const ASCII: Signs = Signs {
    lane: '|',
    down: ':',
    sent: 'o',
    handled: '*',
    line: '-',
    crossing: '+',
    right: '>',
    left: '<',
    turn: '.',
    timer: 't',
    call: 'v',
    crash: 'X',
    restart: '^',
    start: '#',
    lost: 'x',
    bar: '=',
    bar_crossing: '|',
    culprit: '>',
    to: "->",
    ellipsis: "...",
    ascii: true,
};

impl Signs {
    /// Somebody's text, on one line and with nothing that these signs cannot show.
    pub fn plain(&self, text: &str) -> String {
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        if !self.ascii || text.is_ascii() {
            return text;
        }
        let text = text.replace('→', "->").replace('…', "...");
        // The space that does not break is taken out when the line is written.
        text.chars().map(|c| if c.is_ascii() || c == '\u{a0}' { c } else { '?' }).collect()
    }
}

impl Story {
    /// The story as a space-time diagram: one lane a node, time runs downwards, and beside each
    /// step what it did. At the end, what the run shows.
    ///
    /// ```
    /// use allways::TextOptions;
    /// use allways::prelude::*;
    /// # use allways::sample::told::Cell;
    /// // A node that is called tells the other, which keeps what it is told.
    /// let story = System::new([Cell(0), Cell(0)])
    ///     .call(0, 7)
    ///     .always("stays zero", view(|c: &Cell| c.0), |cells| cells.iter().all(|c| *c == 0))
    ///     .check()
    ///     .story
    ///     .unwrap();
    /// let text = story.text(&TextOptions { unicode: false, ..TextOptions::default() });
    /// assert_eq!(text, "\
    /// both nodes start as Cell(0)
    ///
    /// node  0     1
    ///    1  v     |   call 7
    ///       |     |     -> 1: 7
    /// >  2  o---->*   7 from 0, sent at 1
    ///       |     |     Cell(0) -> Cell(7)
    ///       |     |     outputs 7
    ///
    /// always `stays zero` does not hold:
    ///   node 0 sees 0
    /// > node 1 sees 7, since step 2
    /// ");
    /// ```
    pub fn text(&self, options: &TextOptions) -> String {
        let mut page = Page::new(options);
        let gutter = 6.max(self.steps.len().to_string().len() + 5);
        let mut lanes = Lanes::new(self, gutter, page.width);
        page.starts(self);
        let column = match &lanes {
            Some(lanes) => {
                for header in lanes.header(&self.nodes, page.signs) {
                    page.cells(&header, &[]);
                }
                lanes.text_at()
            }
            None => gutter,
        };
        page.what_starts_do(self, lanes.as_ref(), column);
        let skipped = options.last.map_or(0, |last| self.steps.len().saturating_sub(last));
        if let (Some(lanes), true) = (&mut lanes, skipped > 0) {
            // Who is down at the first step shown is known from those before it.
            for step in &self.steps[..skipped] {
                lanes.step(self, step, page.signs);
            }
        }
        if skipped > 0 {
            let text = format!(
                "{} {} steps are left out here",
                page.signs.ellipsis,
                grouped(skipped as u64)
            );
            page.wrapped(gutter, &Said { text, style: Style::Dim, lines: 2 }, 0);
        }
        for step in skipped..self.steps.len() {
            page.step(self, step, lanes.as_mut(), (gutter, column));
        }
        if let Some(ending) = &self.ending {
            page.blank();
            for said in ending::words(self, ending, page.signs) {
                page.wrapped(0, &said, 4);
            }
        }
        page.text
    }
}

/// Text, line by line, none too wide.
struct Page {
    width: usize,
    color: bool,
    all_steps: bool,
    signs: &'static Signs,
    text: String,
}

impl Page {
    fn new(options: &TextOptions) -> Self {
        let TextOptions { width, color, unicode, all_steps, .. } = *options;
        let signs = if unicode { &UNICODE } else { &ASCII };
        Page { width: width.max(1), color, all_steps, signs, text: String::new() }
    }

    fn blank(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// One line of pieces; what does not fit is cut.
    fn line(&mut self, pieces: &[(&str, Style)]) {
        let mut room = self.width;
        let last = pieces.iter().rposition(|(text, _)| !text.trim_end().is_empty());
        for (index, (text, style)) in pieces.iter().enumerate() {
            if last.is_none_or(|last| index > last) {
                break;
            }
            let text = if last == Some(index) { text.trim_end() } else { text };
            let text = clip(text, room, self.signs.ellipsis).replace('\u{a0}', " ");
            room = room.saturating_sub(width(&text));
            match style.code() {
                code if self.color && !code.is_empty() && !text.trim().is_empty() => {
                    self.text.push_str(&format!("\x1b[{code}m{text}\x1b[0m"));
                }
                _ => self.text.push_str(&text),
            }
        }
        self.text.push('\n');
    }

    /// A line of the diagram with text beside it.
    fn cells(&mut self, cells: &Cells, beside: &[(&str, Style)]) {
        // Neighbours that look alike are one piece.
        let mut pieces: Vec<(String, Style)> = Vec::new();
        for &(c, style) in cells {
            match pieces.last_mut() {
                Some((text, last)) if *last == style => text.push(c),
                _ => pieces.push((c.to_string(), style)),
            }
        }
        let mut all: Vec<(&str, Style)> = pieces.iter().map(|(t, s)| (t.as_str(), *s)).collect();
        all.extend(beside);
        self.line(&all);
    }

    /// Text from a column on, wrapped.
    fn wrapped(&mut self, column: usize, said: &Said, indent: usize) {
        let text = self.signs.plain(&said.text);
        let room = self.width.saturating_sub(column).max(1);
        for line in wrap(&text, room, indent, said.lines, self.signs.ellipsis) {
            self.line(&[(&" ".repeat(column), Style::Plain), (&line, said.style)]);
        }
    }

    /// The states in which nodes start, equal ones together.
    fn starts(&mut self, story: &Story) {
        let mut states: Vec<(Vec<usize>, String)> = Vec::new();
        for (node, start) in story.starts.iter().enumerate() {
            let state = sentences::relevant(&start.state);
            match states.iter_mut().find(|(_, other)| *other == state) {
                Some((nodes, _)) => nodes.push(node),
                None => states.push((vec![node], state)),
            }
        }
        if states.is_empty() || story.is_of_threads() {
            return;
        }
        let one = states.len() == 1;
        for (nodes, state) in states {
            let who = match nodes.as_slice() {
                [_] if one => "the node starts as".to_owned(),
                [_, _] if one => "both nodes start as".to_owned(),
                _ if one => "all nodes start as".to_owned(),
                [node] => format!("node {node} starts as"),
                nodes => format!("nodes {} start as", ending::named(nodes)),
            };
            let text = format!("{who} {state}");
            self.wrapped(0, &Said { text, style: Style::Plain, lines: 3 }, 2);
        }
        self.blank();
    }

    /// What nodes send, set and output while they start, those that do the same together.
    fn what_starts_do(&mut self, story: &Story, lanes: Option<&Lanes>, column: usize) {
        let mut groups: Vec<(Vec<usize>, Vec<Said>)> = Vec::new();
        for node in 0..story.starts.len() {
            let details = sentences::start(story, node, self.signs);
            match groups.iter_mut().find(|(_, other)| *other == details) {
                _ if details.is_empty() => {}
                Some((nodes, _)) => nodes.push(node),
                None => groups.push((vec![node], details)),
            }
        }
        for (nodes, details) in groups {
            let sign = self.signs.start;
            match (lanes, nodes.as_slice()) {
                (Some(lanes), nodes) => {
                    let cells = lanes.marks(nodes, sign, Style::Call, self.signs);
                    let text = if nodes.len() == 1 { "starts" } else { "start, each" };
                    self.cells(&cells, &[(text, Style::Bold)]);
                }
                (None, [node]) => {
                    let text = format!("node {node} {sign} starts");
                    self.line(&[(&" ".repeat(column), Style::Plain), (&text, Style::Bold)]);
                }
                (None, nodes) => {
                    let text = format!("nodes {} {sign} start, each", ending::named(nodes));
                    self.line(&[(&" ".repeat(column), Style::Plain), (&text, Style::Bold)]);
                }
            }
            self.details(lanes, &details, column, None);
        }
    }

    fn details(
        &mut self,
        lanes: Option<&Lanes>,
        details: &[Said],
        column: usize,
        style: Option<Style>,
    ) {
        let idle = lanes.map(|lanes| lanes.idle(self.signs));
        for Said { text, style: own, lines } in details {
            let style = style.unwrap_or(*own);
            let room = self.width.saturating_sub(column + 2).max(1);
            let text = self.signs.plain(text);
            for line in wrap(&text, room, 4, *lines, self.signs.ellipsis) {
                match &idle {
                    Some(idle) => self.cells(idle, &[("  ", style), (&line, style)]),
                    None => self.line(&[(&" ".repeat(column + 2), style), (&line, style)]),
                }
            }
        }
    }

    fn step(
        &mut self,
        story: &Story,
        at: usize,
        mut lanes: Option<&mut Lanes>,
        (gutter, column): (usize, usize),
    ) {
        let step = &story.steps[at];
        let matters = step.matters || self.all_steps;
        let dimmed = (!step.matters).then_some(Style::Dim);
        let number = if step.matters { format!("{}", at + 1) } else { format!("({})", at + 1) };
        // The steps at which the nodes to blame came to see what they see at the end.
        let to_blame = story.ending.as_ref().is_some_and(|ending| {
            ending.culprits.iter().any(|&node| last_change(story, node) == Some(at))
        });
        let blame = if to_blame { self.signs.culprit } else { ' ' };
        let number = format!("{blame}{number:>room$}", room = gutter - 3);
        let across = matches!(step.event.kind, RunEventKind::Partition | RunEventKind::Heal);
        let (mark, _) = mark_of(step.event.kind, step.panic.is_some(), self.signs);
        let mut text = sentences::event(story, at);
        if lanes.is_none() {
            let node = step.event.node.filter(|_| step.event.kind != RunEventKind::Drop);
            text = match (step.event.kind, node) {
                (RunEventKind::Thread, _) => format!("{mark} {}", step.event),
                (_, Some(node)) => format!("node {node} {mark} {text}"),
                (_, None) => format!("{mark} {text}"),
            };
        }
        let room = self.width.saturating_sub(column).max(1);
        let most = if matters { 3 } else { 1 };
        let mut lines = wrap(&self.signs.plain(&text), room, 4, most, self.signs.ellipsis);
        if across && let Some(last) = lines.last_mut() {
            let bar = self.signs.bar.to_string();
            let more = room.saturating_sub(width(last) + 1);
            *last = format!("{last} {}", bar.repeat(more));
        }
        let style = dimmed.unwrap_or(Style::Bold);
        for (index, line) in lines.iter().enumerate() {
            match lanes.as_deref_mut() {
                Some(lanes) => {
                    let mut cells = match index {
                        0 => lanes.step(story, step, self.signs),
                        _ => lanes.idle(self.signs),
                    };
                    if index == 0 {
                        for (cell, c) in cells.iter_mut().zip(number.chars()) {
                            *cell = (c, style);
                        }
                    }
                    if dimmed.is_some() {
                        cells.iter_mut().for_each(|cell| cell.1 = Style::Dim);
                    }
                    self.cells(&cells, &[(line, style)]);
                }
                None => {
                    let number = if index == 0 { number.as_str() } else { "" };
                    self.line(&[(&format!("{number:<column$}"), style), (line, style)]);
                }
            }
        }
        if matters {
            let details =
                sentences::details(story, step, self.signs, room.saturating_sub(2).max(1));
            self.details(lanes.as_deref(), &details, column, dimmed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::render::sample;

    #[test]
    fn names_that_are_too_long_stand_at_the_beginning_of_their_lanes() {
        let text = sample::threads().text(&TextOptions::default());
        assert_eq!(
            text.trim_start(),
            "\
      main
      │     the first worker
      │     │     <b>
 (1)  │     │     ●   reads 0 from the atomic of a.rs:1 at a.rs:9
   2  ●     │     │   sends message 0 into the channel of a.rs:2 at a.rs:3
   3  ○────▶●     │   receives message 0 from the channel of a.rs:2 at a.rs:4
   4  │     ●     │   locks mutex 0 of a.rs:5 at a.rs:6
   5  ●     │     │   locks mutex 1 of a.rs:5 at a.rs:7

deadlock: main and the first worker wait for ever
▸ main waits at a.rs:8 to lock mutex 0
▸ the first worker waits at a.rs:8 too
"
        );
    }

    #[test]
    fn where_there_is_no_room_for_lanes_threads_have_their_names() {
        let narrow = TextOptions { width: 36, ..TextOptions::default() };
        let text = sample::threads().text(&narrow);
        assert!(text.starts_with(" (1)  ● <b> reads 0 from the atomic"), "{text}");
        assert!(text.contains("\n   4  ● the first worker locks mutex\n"), "{text}");
    }

    #[test]
    fn lanes_without_arrows_may_be_narrow() {
        let mut story = sample::threads();
        story.nodes.extend((0..20).map(|number| format!("thread {number}")));
        story.starts.resize(story.nodes.len(), Default::default());
        let lanes = |story: &Story| {
            let text = story.text(&TextOptions::default());
            text.lines().filter(|line| line.contains("│ │ │ │")).count()
        };
        assert_eq!(lanes(&story), 0, "an arrow needs room");
        story.envelopes.clear();
        story.steps[1].sent.clear();
        story.steps[2].envelope = None;
        assert!(lanes(&story) > 20);
    }
}
