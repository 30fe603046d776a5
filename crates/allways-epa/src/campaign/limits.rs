//! What a run may take: time, room on the disk, memory.
//!
//! All three come from what runs without a fault took, with so much to spare that no such run ever comes near. A run with a fault may
//! do anything: never end, write without end, ask for all memory of the machine. None of that may harm other runs or other people, and none
//! of it may be taken for harmless: a run that is ended by a limit has failed.

use std::path::Path;
use std::time::Duration;

/// What a run took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Used {
    /// For how long, without the time in which the machine had no time for it: see [`Limits::time`].
    pub time: Duration,
    /// How many bytes its trace and its output take on the disk.
    pub bytes: u64,
    /// How many bytes of memory it had at most, as far as anybody looked; 0 if that is not known.
    pub memory: u64,
}

impl Used {
    /// The larger one of each.
    #[must_use]
    pub fn max(self, other: Used) -> Used {
        Used {
            time: self.time.max(other.time),
            bytes: self.bytes.max(other.bytes),
            memory: self.memory.max(other.memory),
        }
    }
}

/// What a run may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// For how long it may run. While it could run but others have the processors, its time stands still: so a run never fails
    /// because the machine is busy.
    pub time: Duration,
    /// How many bytes its trace and its output may have.
    pub bytes: u64,
    /// How many bytes of memory it may have. Whoever asks for more gets none, as on a machine that has no more.
    pub memory: Option<u64>,
}

/// What a run may have of each at least, however little the golden run took.
const LEAST: Used = Used { time: Duration::from_secs(5), bytes: 64 << 20, memory: 1 << 30 };

impl Limits {
    /// Without a fault nobody knows yet how much is needed: an hour, 64 GiB of the disk, and any memory.
    pub const GOLDEN: Limits =
        Limits { time: Duration::from_secs(3600), bytes: 64 << 30, memory: None };

    /// From what runs without a fault took at most: ten times the time and the room on the disk, four times the memory, and some more
    /// for those that take next to nothing.
    ///
    /// ```
    /// use allways_epa::campaign::{Limits, Used};
    /// use std::time::Duration;
    /// let used = Used { time: Duration::from_secs(2), bytes: 1000, memory: 50 };
    /// let limits = Limits::after(used);
    /// assert_eq!((limits.time, limits.bytes), (Duration::from_secs(20), 10_000 + (64 << 20)));
    /// assert_eq!(limits.memory, Some(200 + (1 << 30)));
    /// assert_eq!(Limits::after(Used::default()).time, Duration::from_secs(5));
    /// ```
    pub fn after(used: Used) -> Self {
        Limits {
            time: used.time.saturating_mul(10).max(LEAST.time),
            bytes: used.bytes.saturating_mul(10).saturating_add(LEAST.bytes),
            memory: Some(used.memory.saturating_mul(4).saturating_add(LEAST.memory)),
        }
    }

    /// Such that so many runs at once never fill more than half of what is free now on the disk on which they write. If a run without a fault
    /// needs more than that, this says so.
    pub fn in_room(self, threads: usize, used: Used) -> Result<Limits, String> {
        let directory = std::env::temp_dir();
        let Some(free) = free(&directory) else { return Ok(self) };
        let shared = self.shared(free, threads, used.bytes);
        shared.ok_or_else(|| {
            format!(
                "there is too little room in {}: {free} bytes are free, and each of {threads} runs at once takes {}; \
                 --threads gives fewer at once",
                directory.display(),
                used.bytes
            )
        })
    }

    /// `None` if there is not even room for runs without a fault.
    fn shared(self, free: u64, threads: usize, needed: u64) -> Option<Limits> {
        let each = free / 2 / threads.max(1) as u64;
        (each > needed).then(|| Limits { bytes: self.bytes.min(each), ..self })
    }
}

/// How many bytes are free on the disk of a directory, if that can be known.
fn free(directory: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let disk = rustix::fs::statvfs(directory).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = directory;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_at_once_share_what_is_free() {
        let limits = Limits { bytes: 1000, ..Limits::GOLDEN };
        assert_eq!(limits.shared(1 << 30, 4, 50), Some(limits));
        assert_eq!(limits.shared(4000, 4, 50), Some(Limits { bytes: 500, ..limits }));
        assert_eq!(limits.shared(4000, 4, 500), None);
        assert_eq!(limits.shared(0, 1, 0), None);
        let refused = limits.in_room(usize::MAX, Used::default()).unwrap_err();
        assert!(refused.contains("too little room"), "{refused}");
    }
}
