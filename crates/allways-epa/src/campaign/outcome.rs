//! What comes of a run with a fault: as in figure 17 of the thesis, and two outcomes more that it does not tell apart.
//!
//! What a run looks like from outside (how it ended, what it printed) is compared with the run without a fault, and so
//! is its trace. That an outcome is classified from outside, and deviation from the trace, is what makes it possible to notice what the trace
//! misses: a crash or silent data corruption without any deviation must not be.

use std::fmt;
use std::str::FromStr;

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ended {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// It took longer than it may, and was killed.
    TimedOut,
    /// It wrote more than it may, and was killed.
    WroteTooMuch,
    /// It had more memory than it may, and was killed.
    TookTooMuch,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Exited(status) => write!(f, "exit-{status}"),
            Ended::Killed(signal) => write!(f, "signal-{signal}"),
            Ended::TimedOut => f.write_str("timed-out"),
            Ended::WroteTooMuch => f.write_str("wrote-too-much"),
            Ended::TookTooMuch => f.write_str("took-too-much"),
        }
    }
}

impl FromStr for Ended {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok();
        let parse = || match text.split_once('-')? {
            ("exit", status) => number(status).map(Ended::Exited),
            ("signal", signal) => number(signal).map(Ended::Killed),
            ("timed", "out") => Some(Ended::TimedOut),
            ("wrote", "too-much") => Some(Ended::WroteTooMuch),
            ("took", "too-much") => Some(Ended::TookTooMuch),
            _ => None,
        };
        parse().ok_or_else(|| format!("`{text}` is no way in which a process ends"))
    }
}

/// What a run looks like from outside.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Seen {
    /// How it ended.
    pub ended: Ended,
    /// A hash of everything that it wrote to standard output.
    pub output: u64,
}

/// What came of a run with a fault.
///
/// ```
/// use allways_epa::campaign::{Ended, Outcome, Seen};
/// let golden = Seen { ended: Ended::Exited(0), output: 7 };
/// let wrong = Seen { ended: Ended::Exited(0), output: 8 };
/// assert_eq!(Outcome::new(&golden, &wrong, true), Outcome::SilentDataCorruption);
/// assert_eq!(Outcome::new(&golden, &golden, false), Outcome::Benign);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Outcome {
    /// Nothing was different.
    Benign,
    /// The trace is different, but nobody outside can tell.
    Deviation,
    /// It ended as if nothing were wrong, but what it printed is wrong.
    SilentDataCorruption,
    /// It ended in another way: by a signal, with another status, or because it had more memory than it may.
    Crash,
    /// It did not end, or wrote without end.
    Hang,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 5] = [
        Outcome::Benign,
        Outcome::Deviation,
        Outcome::SilentDataCorruption,
        Outcome::Crash,
        Outcome::Hang,
    ];

    /// What came of a run: seen from outside, and whether its trace deviates from that of the golden run.
    pub fn new(golden: &Seen, run: &Seen, deviated: bool) -> Self {
        match run.ended {
            Ended::TimedOut | Ended::WroteTooMuch => Outcome::Hang,
            ended if ended != golden.ended => Outcome::Crash,
            _ if run.output != golden.output => Outcome::SilentDataCorruption,
            _ if deviated => Outcome::Deviation,
            _ => Outcome::Benign,
        }
    }

    /// Its name in files: `sdc`.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Benign => "benign",
            Outcome::Deviation => "deviation",
            Outcome::SilentDataCorruption => "sdc",
            Outcome::Crash => "crash",
            Outcome::Hang => "hang",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Outcome::SilentDataCorruption => "silent data corruption",
            other => other.name(),
        }
    }

    /// Whether somebody outside can tell that something went wrong: then an error must have been in the trace, too.
    pub fn is_failure(self) -> bool {
        matches!(self, Outcome::SilentDataCorruption | Outcome::Crash | Outcome::Hang)
    }
}

impl FromStr for Outcome {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Outcome::ALL.into_iter().find(|outcome| outcome.name() == text);
        known.ok_or_else(|| format!("`{text}` is no outcome"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_classified_from_outside_first() {
        let golden = Seen { ended: Ended::Exited(3), output: 7 };
        let of = |ended, output, deviated| Outcome::new(&golden, &Seen { ended, output }, deviated);
        assert_eq!(of(Ended::Exited(3), 7, false), Outcome::Benign);
        assert_eq!(of(Ended::Exited(3), 7, true), Outcome::Deviation);
        for deviated in [false, true] {
            assert_eq!(of(Ended::Exited(3), 8, deviated), Outcome::SilentDataCorruption);
            assert_eq!(of(Ended::Exited(0), 7, deviated), Outcome::Crash);
            assert_eq!(of(Ended::Killed(11), 8, deviated), Outcome::Crash);
            assert_eq!(of(Ended::TimedOut, 7, deviated), Outcome::Hang);
            assert_eq!(of(Ended::WroteTooMuch, 7, deviated), Outcome::Hang);
            assert_eq!(of(Ended::TookTooMuch, 7, deviated), Outcome::Crash);
        }
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for outcome in Outcome::ALL {
            assert_eq!(outcome.name().parse(), Ok(outcome));
        }
        for ended in [Ended::Exited(-1), Ended::Killed(11)] {
            assert_eq!(ended.to_string().parse(), Ok(ended));
        }
        for ended in [Ended::TimedOut, Ended::WroteTooMuch, Ended::TookTooMuch] {
            assert_eq!(ended.to_string().parse(), Ok(ended));
        }
        for text in ["", "exit", "exit-", "exit-x", "timed-in"] {
            assert!(text.parse::<Ended>().is_err(), "{text}");
        }
    }
}
