//! The status line of `allways live`: rewritten on a terminal, a line for each snapshot elsewhere.

use crate::console::{Console, Width};
use allways::grouped;
use allways_live::{News, Round};

pub(super) struct Status {
    shown: bool,
    terminal: Option<Width>,
    snapshots: u64,
    predicted: u64,
    observed: u64,
}

impl Status {
    pub fn new(shown: bool, terminal: Option<Width>) -> Self {
        Status { shown, terminal, snapshots: 0, predicted: 0, observed: 0 }
    }

    pub fn found(&mut self, is_observed: bool) {
        match is_observed {
            true => self.observed += 1,
            false => self.predicted += 1,
        }
    }

    pub fn hear(&mut self, news: &News, console: &mut Console<'_>) {
        let line = match news {
            News::Checked(round) => {
                self.snapshots += 1;
                self.line(round)
            }
            News::GivenUp(error) => format!("snapshot given up: {error}"),
            News::Restarted(node) => format!("node {node} was killed and started again"),
            News::Predicted(_) | News::Observed(_) => return,
        };
        if !self.shown {
            return;
        }
        match self.terminal {
            Some(width) => {
                let line: String = line.chars().take(width().saturating_sub(1)).collect();
                console.note(&format!("\r\x1b[K{line}"));
            }
            None => console.note(&format!("{line}\n")),
        }
    }

    fn line(&self, round: &Round) -> String {
        let unfinished = match round.unfinished {
            0 => String::new(),
            number => format!(", {number} not finished or not begun"),
        };
        format!(
            "snapshots {}, last: {} checks{unfinished}, {} known, {} states, depth {}; predicted {}, observed {}",
            self.snapshots,
            round.checked,
            round.known,
            grouped(round.states),
            round.depth,
            self.predicted,
            self.observed
        )
    }

    /// Makes room for something else.
    pub fn clear(&self, console: &mut Console<'_>) {
        if self.shown && self.terminal.is_some() {
            console.note("\r\x1b[K");
        }
    }
}
