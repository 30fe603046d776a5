//! What is wrong with a source, where, and what could be done about it.

use ariadne::{CharSet, Config, IndexType, Label, Report, ReportKind, Source};
use std::ops::Range;

/// Lines with more bytes are not shown: nobody reads them, and drawing them takes long.
const LONGEST_LINE: usize = 1_000;

/// Something that is wrong with a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// What is wrong, in one sentence.
    pub message: String,
    /// From which byte to which; `None` if it is nowhere in the source.
    pub span: Option<Range<usize>>,
    /// What is to be said at that place.
    pub label: String,
    /// Another place that has to do with it, and what is to be said there.
    pub related: Option<(Range<usize>, String)>,
    /// What could be done about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// One at a place.
    pub fn new(message: impl Into<String>, span: Range<usize>, label: impl Into<String>) -> Self {
        let (message, label) = (message.into(), label.into());
        Diagnostic { message, span: Some(span), label, related: None, help: None }
    }

    /// One that has no place in the source.
    pub fn nowhere(message: impl Into<String>) -> Self {
        let (message, label) = (message.into(), String::new());
        Diagnostic { message, span: None, label, related: None, help: None }
    }

    /// With what could be done about it.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With help, if there is some.
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }

    /// With another place that has to do with it.
    pub fn related(mut self, span: Range<usize>, label: impl Into<String>) -> Self {
        self.related = Some((span, label.into()));
        self
    }

    /// As a person reads it: the lines of the source, with a mark below the place. `name` is what the source is called.
    pub fn render(&self, name: &str, source: &str, color: bool) -> String {
        let Some(span) = &self.span else {
            let help = self.help.iter().map(|help| format!("  help: {help}\n"));
            return format!("Error: {}\n{}", self.message, help.collect::<String>());
        };
        let spans = [Some(span), self.related.as_ref().map(|(span, _)| span)];
        if spans.into_iter().flatten().any(|span| line(source, span).len() > LONGEST_LINE) {
            return self.plain(name, source, span);
        }
        let config = Config::default()
            .with_color(color)
            .with_index_type(IndexType::Byte)
            .with_char_set(if color { CharSet::Unicode } else { CharSet::Ascii });
        let place = |span: &Range<usize>| (name, within(source, span));
        let mut report = Report::build(ReportKind::Error, place(span))
            .with_config(config)
            .with_message(&self.message);
        // Labels without a word are not drawn by `ariadne`, and the place must be.
        let word = if self.label.is_empty() { "here" } else { &self.label };
        let mut label = Label::new(place(span)).with_message(word);
        if color {
            label = label.with_color(ariadne::Color::Red);
        }
        report.add_label(label);
        if let Some((span, text)) = &self.related {
            report.add_label(Label::new(place(span)).with_message(text));
        }
        if let Some(help) = &self.help {
            report.set_help(help);
        }
        let mut text = Vec::new();
        match report.finish().write((name, Source::from(source)), &mut text) {
            Ok(()) => String::from_utf8_lossy(&text).into_owned(),
            Err(_) => self.plain(name, source, span),
        }
    }

    /// Without the lines of the source.
    fn plain(&self, name: &str, source: &str, span: &Range<usize>) -> String {
        let start = within(source, span).start;
        let number = source[..start].matches('\n').count() + 1;
        let column = source[..start].chars().rev().take_while(|c| *c != '\n').count() + 1;
        let help = self.help.iter().map(|help| format!("  help: {help}\n")).collect::<String>();
        format!("Error: {}\n  {name}:{number}:{column}: {}\n{help}", self.message, self.label)
    }
}

/// The lines that a span is in.
fn line<'s>(source: &'s str, span: &Range<usize>) -> &'s str {
    let Range { start, end } = within(source, span);
    let from = source[..start].rfind('\n').map_or(0, |at| at + 1);
    let to = source[end..].find('\n').map_or(source.len(), |at| end + at);
    &source[from..to]
}

/// A span, within the source and between characters.
fn within(source: &str, span: &Range<usize>) -> Range<usize> {
    let mut start = span.start.min(source.len());
    while !source.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = span.end.clamp(start, source.len());
    while !source.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

/// The candidate that was most likely meant: one that differs in few letters.
pub(crate) fn nearest<'a>(name: &str, all: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = 1 + name.len() / 4;
    all.into_iter()
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= allowed && *candidate != name)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, candidate)| {
            *distance <= allowed && *distance < candidate.len().min(name.len())
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// `did you mean …?`, if something similar is there.
pub(crate) fn did_you_mean<'a>(
    name: &str,
    all: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(name, all).map(|nearest| format!("did you mean `{nearest}`?"))
}

/// How many letters must be added, dropped, changed or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase().into_bytes(), b.to_lowercase().into_bytes());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let change = rows[i][j] + usize::from(x != y);
            let mut best = change.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
