//! Where the words go, and what is known about that place.

use crate::text::one_line;
use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
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
    /// Whether a check may take Ctrl-C over.
    pub catches_interrupts: bool,
    /// Set to true to make a check stop with what it has.
    pub stop: Arc<AtomicBool>,
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
            catches_interrupts: false,
            stop: Arc::default(),
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
pub(crate) fn terminal_width() -> Option<Width> {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let width = || {
        let size = terminal_size::terminal_size_of(std::io::stderr());
        size.map_or(80, |(width, _)| usize::from(width.0))
    };
    (std::io::stderr().is_terminal() && !is_dumb).then_some(width as Width)
}
