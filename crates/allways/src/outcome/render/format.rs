//! The formats by name.

use super::{About, dot, html, itf, json, mermaid, shiviz, svg, test};
use crate::outcome::story::Story;
use std::fmt;
use std::str::FromStr;

/// A format in which a [`Story`] can be written.
///
/// ```
/// use allways::Format;
/// assert_eq!("mermaid".parse(), Ok(Format::Mermaid));
/// assert_eq!(Format::Html.extension(), "html");
/// assert!("pdf".parse::<Format>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Format {
    /// One page to look through in a browser.
    Html,
    /// A picture.
    Svg,
    /// A sequence diagram that can be pasted into an issue.
    Mermaid,
    /// A log with vector clocks for ShiViz.
    Shiviz,
    /// A graph for Graphviz.
    Dot,
    /// A trace for the tools of Apalache and Quint.
    Itf,
    /// A Rust test that fails while the bug exists.
    Test,
    /// Everything, for programs.
    Json,
}

impl Format {
    /// Every format.
    ///
    /// ```
    /// assert!(allways::Format::ALL.contains(&allways::Format::Svg));
    /// ```
    pub const ALL: [Format; 8] = [
        Format::Html,
        Format::Svg,
        Format::Mermaid,
        Format::Shiviz,
        Format::Dot,
        Format::Itf,
        Format::Test,
        Format::Json,
    ];

    /// What it is called on the command line.
    ///
    /// ```
    /// assert_eq!(allways::Format::Mermaid.name(), "mermaid");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Format::Html => "html",
            Format::Svg => "svg",
            Format::Mermaid => "mermaid",
            Format::Shiviz => "shiviz",
            Format::Dot => "dot",
            Format::Itf => "itf",
            Format::Test => "test",
            Format::Json => "json",
        }
    }

    /// How the names of its files end.
    ///
    /// ```
    /// assert_eq!(allways::Format::Mermaid.extension(), "mmd");
    /// ```
    pub fn extension(self) -> &'static str {
        match self {
            Format::Html => "html",
            Format::Svg => "svg",
            Format::Mermaid => "mmd",
            Format::Shiviz => "shiviz.log",
            Format::Dot => "dot",
            Format::Itf => "itf.json",
            Format::Test => "rs",
            Format::Json => "json",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Format::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
            let names = Format::ALL.map(Format::name).join(", ");
            format!("there is no format `{name}`; it is one of {names}")
        })
    }
}

impl Story {
    /// The story in a format.
    ///
    /// ```
    /// use allways::{About, Format, Story};
    /// let picture = Story::default().render(Format::Svg, &About::default());
    /// assert!(picture.starts_with("<svg "));
    /// ```
    pub fn render(&self, format: Format, about: &About) -> String {
        match format {
            Format::Html => html::render(self, about),
            Format::Svg => svg::render(self, about),
            Format::Mermaid => mermaid::render(self, about),
            Format::Shiviz => shiviz::render(self),
            Format::Dot => dot::render(self, about),
            Format::Itf => itf::render(self, about),
            Format::Test => test::render(self, about),
            Format::Json => json::render(self, about),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::render::sample;

    #[test]
    fn every_format_is_found_by_its_name() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
    }

    #[test]
    fn a_story_of_nothing_can_be_shown_in_every_format() {
        for format in Format::ALL {
            assert!(!Story::default().render(format, &About::default()).is_empty(), "{format}");
        }
    }

    #[test]
    fn the_same_story_always_looks_the_same() {
        for format in Format::ALL {
            let render = || sample::paxos().render(format, &sample::about());
            assert_eq!(render(), render(), "{format}");
        }
    }
}
