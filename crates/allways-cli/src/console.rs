//! Where the words go, and what is known about that place.

use crate::args::Color;
use crate::text::one_line;
use allways::TextOptions;
use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Says how wide a terminal is now: whoever watches may make it wider.
pub(crate) type Width = fn() -> usize;

/// The two streams of a command.
pub(crate) struct Console<'a> {
    out: &'a mut dyn Write,
    pub err: &'a mut (dyn Write + Send),
    /// The width of the terminal that `err` is, if it is one.
    pub terminal: Option<Width>,
    /// The width of the terminal that `out` is, if it is one.
    pub out_terminal: Option<Width>,
    /// Whether a check may take Ctrl-C over.
    pub catches_interrupts: bool,
    /// Set to true to make a check stop with what it has.
    pub stop: Arc<AtomicBool>,
    /// The file of this program: a deployment runs it once more for each node.
    pub executable: PathBuf,
    /// What the program is called: whoever is told what to type next has to type that.
    pub program: String,
}

impl<'a> Console<'a> {
    /// Streams that are no terminals, and nothing that interrupts.
    pub fn new(out: &'a mut dyn Write, err: &'a mut (dyn Write + Send)) -> Self {
        Console {
            out,
            err,
            terminal: None,
            out_terminal: None,
            catches_interrupts: false,
            stop: Arc::default(),
            executable: std::env::current_exe().unwrap_or_default(),
            program: "allways".to_owned(),
        }
    }

    /// Takes the program's name from its first argument, as far as that has one.
    pub fn is_called(&mut self, argument: Option<&OsString>) {
        let name = argument.and_then(|path| Path::new(path).file_stem()?.to_str());
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.program = name.to_owned();
        }
    }

    /// Writes a result. Whoever closes a pipe has read enough: that is no error.
    pub fn print(&mut self, text: &str) -> Result<(), String> {
        match self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(format!("the result could not be written: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// How to show a story as text: as the terminal can, if it goes to one.
    pub fn text_options(&self, color: Color, to_out: bool) -> TextOptions {
        let terminal = self.out_terminal.filter(|_| to_out);
        let default = TextOptions::default();
        TextOptions {
            width: terminal.map_or(default.width, |width| width().max(20)),
            color: match color {
                Color::Always => true,
                Color::Never => false,
                Color::Auto => terminal.is_some() && !no_color() && !is_dumb(),
            },
            unicode: terminal.is_none() || shows_unicode(),
            ..default
        }
    }

    /// Says in one sentence what is wrong.
    pub fn complain(&mut self, complaint: &str) {
        self.note(&format!("{}: {}\n", self.program, one_line(complaint)));
    }

    /// Writes beside the result. Where nobody listens there is nobody to tell.
    pub fn note(&mut self, text: &str) {
        let _ = self.err.write_all(text.as_bytes()).and_then(|()| self.err.flush());
    }
}

/// The width of standard error, if it is a terminal on which a line can be rewritten.
pub(crate) fn error_terminal() -> Option<Width> {
    let width = || columns(terminal_size::terminal_size_of(std::io::stderr()));
    (std::io::stderr().is_terminal() && !is_dumb()).then_some(width as Width)
}

/// The width of standard output, if it is a terminal.
pub(crate) fn out_terminal() -> Option<Width> {
    let width = || columns(terminal_size::terminal_size_of(std::io::stdout()));
    std::io::stdout().is_terminal().then_some(width as Width)
}

fn columns(size: Option<(terminal_size::Width, terminal_size::Height)>) -> usize {
    size.map_or(80, |(width, _)| usize::from(width.0))
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Whether the environment asks for no colours: see <https://no-color.org>.
fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Whether the locale says that a terminal shows more than ASCII. One that says nothing does.
fn shows_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}
