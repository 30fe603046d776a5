//! The arguments of the commands that take a saved run: `replay`, `show` and `minimise`.

use super::Color;
use super::values::{setting, truth, width};
use allways::{Format, parse_seconds};
use clap::{ArgAction, Args, ValueHint};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) const REPLAY_HELP: &str = "\
Examples:
  allways check paxos --set bug=last-promise --save out
  allways replay out/run.json                   does the code as it is now still violate?
  allways replay out/run.json --set bug=none    does it without the bug?

The system and its parameters are those of the file, but for what is set here.

Exit codes:
  0  no longer violates
  1  still violates
  2  wrong usage or input: no saved run, or one of another system
  3  no longer applies: an event of the run cannot happen any more";

pub(super) const SHOW_HELP: &str = "\
Examples:
  allways check paxos --set bug=last-promise --save out
  allways show out/run.json                     a diagram for the terminal
  allways show out/run.json --html run.html     a page to look through in a browser
  allways show out/run.json --mermaid           for an issue on GitHub
  allways show out/run.json --test tests/it.rs  a test that fails while the bug exists
  allways show out/run.json --svg a.svg --dot a.dot --shiviz a.log

A format without a FILE goes to standard output. The run is carried out against the code as it is
now; where it no longer violates, it is shown all the same, and that is said on standard error.

Exit codes:
  0  shown
  2  wrong usage or input: no saved run, one of another system, or one that no longer applies";

pub(super) const MINIMISE_HELP: &str = "\
Examples:
  allways check zab --set bug=any-log --engine walk --no-minimise --save out
  allways minimise out/run.json                 out/run.min.json is the smaller run
  allways minimise out/run.json -o out/run.json

Fewer events first, then fewer switches between nodes, then smaller choices. Of threads, fewer are
stopped where they could go on, before anything else. What comes out violates the same property.
Ctrl-C stops with what there is by then.

Exit codes:
  0  written, whether it became smaller or not
  2  wrong usage or input: no saved run, one of another system, or one that no longer violates";

#[derive(Args)]
pub(crate) struct ReplayArgs {
    /// The saved run: the run.json that `check --save` wrote.
    #[arg(value_hint = ValueHint::FilePath)]
    pub run: PathBuf,

    /// Set a parameter of the system in place of what the file says; may be given more than once.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, value_delimiter = ',')]
    pub set: Vec<(String, String)>,

    /// Print exactly one JSON object on standard output.
    #[arg(long, env = "ALLWAYS_JSON", action = ArgAction::SetTrue, value_parser = truth)]
    pub json: bool,

    /// Print one line only.
    #[arg(long, short, env = "ALLWAYS_QUIET", action = ArgAction::SetTrue, value_parser = truth)]
    pub quiet: bool,
}

#[derive(Args)]
pub(crate) struct ShowArgs {
    /// The saved run: the run.json that `check --save` wrote.
    #[arg(value_hint = ValueHint::FilePath)]
    pub run: PathBuf,

    /// Set a parameter of the system in place of what the file says; may be given more than once.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, value_delimiter = ',')]
    pub set: Vec<(String, String)>,

    #[command(flatten)]
    formats: Formats,

    /// Colour the text: auto, always or never. Auto is on a terminal, unless NO_COLOR is set.
    #[arg(long, value_name = "WHEN", env = "ALLWAYS_COLOR", default_value = "auto")]
    #[arg(help_heading = "How the text looks")]
    pub color: Color,

    /// How wide the text may be; otherwise as wide as the terminal.
    #[arg(long, value_name = "COLUMNS", value_parser = width, allow_negative_numbers = true)]
    #[arg(help_heading = "How the text looks")]
    pub width: Option<usize>,

    /// Draw with ASCII only.
    #[arg(long, help_heading = "How the text looks")]
    pub ascii: bool,

    /// Say what every step did, also of steps that do not matter for the end.
    #[arg(long, help_heading = "How the text looks")]
    pub all: bool,
}

/// Each with the file that it goes to, if it is given one.
#[derive(Args)]
#[command(next_help_heading = "Formats")]
struct Formats {
    /// A diagram for the terminal; what you get if you ask for nothing else.
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath)]
    text: Option<Option<PathBuf>>,
    /// One page to look through in a browser, without anything from elsewhere.
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath)]
    html: Option<Option<PathBuf>>,
    /// A picture.
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath)]
    svg: Option<Option<PathBuf>>,
    /// A sequence diagram that can be pasted into an issue.
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath)]
    mermaid: Option<Option<PathBuf>>,
    /// A log with vector clocks for ShiViz.
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath)]
    shiviz: Option<Option<PathBuf>>,
    /// A graph for Graphviz.
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath)]
    dot: Option<Option<PathBuf>>,
    /// A trace for the tools of Apalache and Quint.
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath)]
    itf: Option<Option<PathBuf>>,
    /// A Rust test that fails while the bug exists.
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath)]
    test: Option<Option<PathBuf>>,
    /// A failed test, for what shows the results of CI.
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath)]
    junit: Option<Option<PathBuf>>,
    /// Everything, for programs.
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath)]
    json: Option<Option<PathBuf>>,
}

/// What a run can be shown as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShowFormat {
    Text,
    Junit,
    Other(Format),
}

impl ShowArgs {
    /// The formats that are asked for, each with its file; without one, it is standard output.
    pub fn formats(&self) -> Vec<(ShowFormat, Option<&Path>)> {
        let formats = &self.formats;
        let all = [
            (ShowFormat::Text, &formats.text),
            (ShowFormat::Other(Format::Html), &formats.html),
            (ShowFormat::Other(Format::Svg), &formats.svg),
            (ShowFormat::Other(Format::Mermaid), &formats.mermaid),
            (ShowFormat::Other(Format::Shiviz), &formats.shiviz),
            (ShowFormat::Other(Format::Dot), &formats.dot),
            (ShowFormat::Other(Format::Itf), &formats.itf),
            (ShowFormat::Other(Format::Test), &formats.test),
            (ShowFormat::Junit, &formats.junit),
            (ShowFormat::Other(Format::Json), &formats.json),
        ];
        let asked = all.into_iter().filter_map(|(format, file)| {
            let file = file.as_ref()?.as_deref();
            Some((format, file.filter(|path| *path != Path::new("-"))))
        });
        let asked: Vec<_> = asked.collect();
        if asked.is_empty() { vec![(ShowFormat::Text, None)] } else { asked }
    }
}

#[derive(Args)]
pub(crate) struct MinimiseArgs {
    /// The saved run: the run.json that `check --save` wrote.
    #[arg(value_hint = ValueHint::FilePath)]
    pub run: PathBuf,

    /// Where to write the smaller run; otherwise beside the run, as run.min.json.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// No longer than this many seconds.
    #[arg(long, value_name = "S", value_parser = parse_seconds, allow_negative_numbers = true)]
    pub max_seconds: Option<Duration>,
}
