//! A bar on a terminal, drawn by `indicatif`.
//!
//! `indicatif` would write to standard error itself. It is given a terminal that only remembers
//! what was written instead, so that everything goes through the one stream that a command has.

use super::meter::Reading;
use crate::console::Width;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle, TermLike};
use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// How finely the bar is divided.
const WHOLE: u64 = 10_000;
/// Terminals narrower than this have room for the words only, and for a spinner if for anything.
const ROOM_FOR_BAR: usize = 60;
const ROOM_FOR_SPINNER: usize = 10;

/// A bar, and what was drawn but not yet written.
pub(crate) struct Bar {
    bar: ProgressBar,
    drawn: Drawn,
}

impl Bar {
    pub fn new(width: Width) -> Self {
        let drawn = Drawn { text: Arc::default(), width };
        let target = ProgressDrawTarget::term_like(Box::new(drawn.clone()));
        let bar = ProgressBar::with_draw_target(Some(WHOLE), target);
        Bar { bar: bar.with_finish(ProgressFinish::AndClear), drawn }
    }

    pub fn draw(&self, reading: &Reading, err: &mut (dyn Write + Send)) -> io::Result<()> {
        let width = usize::from(self.drawn.width());
        let (template, taken) = match (width, reading.fraction) {
            (0..ROOM_FOR_SPINNER, _) => ("{wide_msg}", 0),
            (ROOM_FOR_BAR.., Some(_)) => ("{spinner} [{bar:10}] {wide_msg}", 15),
            _ => ("{spinner} {wide_msg}", 2),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.tick_chars("|/-\\ ").progress_chars("=> "));
        }
        self.bar.update(|state| {
            state.set_pos((reading.fraction.unwrap_or_default() * WHOLE as f64) as u64);
        });
        self.bar.set_message(reading.fitting(width - taken));
        // Both have drawn what the tick draws again.
        self.drawn.forget();
        self.bar.tick();
        self.drawn.write_to(err)
    }

    /// Removes the bar, if one was drawn.
    pub fn wipe(self, err: &mut (dyn Write + Send)) -> io::Result<()> {
        let Bar { bar, drawn } = self;
        bar.finish_and_clear();
        drop(bar);
        drawn.write_to(err)
    }
}

/// A terminal that remembers what was written to it.
#[derive(Clone)]
struct Drawn {
    text: Arc<Mutex<String>>,
    width: Width,
}

impl Drawn {
    fn add(&self, text: &str) -> io::Result<()> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        Ok(())
    }

    /// Writes what was drawn, all at once, so that a terminal does not flicker.
    fn write_to(&self, err: &mut (dyn Write + Send)) -> io::Result<()> {
        let text = std::mem::take(&mut *self.text.lock().unwrap_or_else(PoisonError::into_inner));
        err.write_all(text.as_bytes())?;
        err.flush()
    }

    fn forget(&self) {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn moved(&self, by: usize, direction: char) -> io::Result<()> {
        if by == 0 { Ok(()) } else { self.add(&format!("\x1b[{by}{direction}")) }
    }
}

impl fmt::Debug for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Drawn")
    }
}

impl TermLike for Drawn {
    fn width(&self) -> u16 {
        // One column less than there is: a terminal may wrap a line that fills it.
        u16::try_from((self.width)()).unwrap_or(u16::MAX).saturating_sub(1).max(1)
    }

    fn move_cursor_up(&self, by: usize) -> io::Result<()> {
        self.moved(by, 'A')
    }

    fn move_cursor_down(&self, by: usize) -> io::Result<()> {
        self.moved(by, 'B')
    }

    fn move_cursor_right(&self, by: usize) -> io::Result<()> {
        self.moved(by, 'C')
    }

    fn move_cursor_left(&self, by: usize) -> io::Result<()> {
        self.moved(by, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.add(text)?;
        self.add("\n")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.add(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.add("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is seen on the line after these readings.
    fn seen(width: Width, readings: &[Reading]) -> String {
        let bar = Bar::new(width);
        let mut err = Vec::new();
        for reading in readings {
            err.clear();
            bar.draw(reading, &mut err).unwrap();
        }
        let text = String::from_utf8(err).unwrap();
        text.rsplit("\x1b[2K").next().unwrap().to_owned()
    }

    fn reading(fraction: Option<f64>) -> Reading {
        let parts = [(8, "5 states"), (6, "1/s"), (4, "depth 3")];
        Reading { parts: parts.map(|(worth, text)| (worth, text.to_owned())).into(), fraction }
    }

    #[test]
    fn a_bar_where_the_end_is_known_and_none_where_it_is_not() {
        let half = seen(|| 80, &[reading(Some(0.5))]);
        assert!(half.contains(" [=====>    ] 5 states, 1/s, depth 3"), "{half:?}");
        let unknown = seen(|| 80, &[reading(None)]);
        assert!(unknown.contains(" 5 states") && !unknown.contains('['), "{unknown:?}");
    }

    #[test]
    fn every_reading_is_seen_at_once() {
        let first = reading(Some(0.1));
        let second = Reading { parts: vec![(8, "6 states".to_owned())], fraction: Some(1.0) };
        let line = seen(|| 80, &[first, second]);
        assert!(line.contains(" [==========] 6 states"), "{line:?}");
        assert!(!line.contains("5 states") && !line.contains('\r'), "{line:?}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for (width, wide) in [(2, (|| 2) as Width), (9, || 9), (30, || 30), (70, || 70)] {
            let line = seen(wide, &[reading(Some(0.5))]);
            assert!(line.chars().count() < width, "{width}: {line:?}");
        }
    }
}
