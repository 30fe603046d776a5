//! Values that are made wrong: the faults of table 9 of the thesis, and two more.
//!
//! A fault names a thread by its place in the tree of threads, a site, and how often the thread was there before: all three are
//! the same in every run in which nothing else differs, so a fault can be repeated. Threads other than the fault's
//! have no site at which they look any further, and pay one comparison a record.

use crate::thread::{NO_SITE, Thread};
use allways_epa_format::{Event, Fault, FaultKind, role};
use std::sync::OnceLock;

/// The fault of this run.
pub struct Armed {
    fault: Fault,
    /// The numbers in the name of its thread.
    path: Vec<u64>,
}

static ARMED: OnceLock<Armed> = OnceLock::new();

/// The numbers in the name of a thread; `None` if it is no name.
fn path(name: &str) -> Option<Vec<u64>> {
    name.strip_prefix("T_")?.split('_').map(|part| part.parse().ok()).collect()
}

/// Reads the fault of this run. A text that is none is said, since a run without the fault would be taken for one with it.
pub fn arm(text: &str) -> Result<(), String> {
    let fault: Fault = text.parse().map_err(|error| format!("{error}"))?;
    let path = path(&fault.thread)
        .ok_or_else(|| format!("`{}` is no thread: one is T_0_1", fault.thread))?;
    ARMED.get_or_init(|| Armed { fault, path });
    Ok(())
}

/// How much of the name of the fault's thread is matched by the child with this number of a thread of which `parent` is.
pub fn descend(parent: Option<usize>, child: u64) -> Option<usize> {
    let armed = ARMED.get()?;
    let at = parent?;
    (armed.path.get(at) == Some(&child)).then_some(at + 1)
}

/// The site that a thread looks for that matches so much.
pub fn site(matched: Option<usize>) -> u32 {
    match ARMED.get() {
        Some(armed) if matched == Some(armed.path.len()) => armed.fault.site,
        _ => NO_SITE,
    }
}

/// Whether a fault of this kind can happen to such a value.
fn applies(kind: FaultKind, tag: u64) -> bool {
    let role = match kind {
        FaultKind::BitFlip | FaultKind::StuckAtZero => role::RESULT,
        FaultKind::FileSize => role::COUNT,
        FaultKind::MallSize => role::SIZE,
        FaultKind::CallCorr => role::FIRST,
        FaultKind::InvalPtr => role::ALLOCATION,
        FaultKind::WrongBranch => role::BRANCH,
    };
    tag & role != 0
}

/// The value that the program goes on with.
fn wrong(kind: FaultKind, detail: u64, width: u64, value: u64) -> u64 {
    let flipped = value ^ (1 << (detail % width.clamp(1, 64)));
    match kind {
        FaultKind::BitFlip | FaultKind::CallCorr | FaultKind::InvalPtr | FaultKind::WrongBranch => {
            flipped
        }
        FaultKind::StuckAtZero => 0,
        FaultKind::MallSize => value - (value / 2).max(1).min(value),
        FaultKind::FileSize => value.saturating_add(1 + detail % 64),
    }
}

/// The thread is at the site of its fault: is it time? Then the fault is logged, and the value is another one.
#[cold]
pub fn strike(thread: &Thread, tag: u64, value: u64) -> u64 {
    let Some(Armed { fault, .. }) = ARMED.get() else { return value };
    if !thread.alive.get() || !applies(fault.kind, tag) {
        return value;
    }
    let occurrence = thread.occurrence.get();
    thread.occurrence.set(occurrence + 1);
    if occurrence != fault.occurrence {
        return value;
    }
    thread.stream.event(Event::Injected);
    wrong(fault.kind, fault.detail, tag >> 32 & 0xff, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_threads_are_paths() {
        assert_eq!(path("T_0"), Some(vec![0]));
        assert_eq!(path("T_0_12_3"), Some(vec![0, 12, 3]));
        assert_eq!(path("0_1"), None);
        assert_eq!(path("T_0_"), None);
    }

    #[test]
    fn wrong_values_are_others_of_the_same_width() {
        assert_eq!(wrong(FaultKind::BitFlip, 33, 32, 0), 2);
        assert_eq!(wrong(FaultKind::BitFlip, 63, 64, 0), 1 << 63);
        assert_eq!(wrong(FaultKind::WrongBranch, 5, 1, 1), 0);
        assert_eq!(wrong(FaultKind::StuckAtZero, 5, 8, 77), 0);
        assert_eq!(wrong(FaultKind::MallSize, 0, 64, 1), 0);
        assert_eq!(wrong(FaultKind::MallSize, 0, 64, 100), 50);
        assert_eq!(wrong(FaultKind::MallSize, 0, 64, 0), 0);
        assert_eq!(wrong(FaultKind::FileSize, 0, 64, 4), 5);
    }
}
