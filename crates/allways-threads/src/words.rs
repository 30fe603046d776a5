//! What threads do, in words.

use crate::runtime::Runtime;
use crate::runtime::log::Entry;
use crate::runtime::op::{Kind, Op};
use crate::runtime::rules::Look;
use allways::{Cause, Story, Trouble};

/// Whether an event was one of several that could have been.
pub(crate) fn chooses(entry: &Entry) -> bool {
    matches!(entry.op.kind, Kind::Choose | Kind::NotifyOne)
}

/// An event in words.
pub(crate) fn event(runtime: &Runtime, event: usize) -> String {
    let entry = &runtime.log.entries[event];
    format!("{:?} {} at {}", entry.op.kind, entry.op.object, entry.op.at)
}

pub(crate) fn race(runtime: &Runtime, a: (u32, &Op), b: (u32, &Op)) -> String {
    format!("{} {} {} {}", runtime.thread_name(a.0), a.1.at, runtime.thread_name(b.0), b.1.at)
}

/// Whether it is wrong that nothing can happen any more.
pub(crate) fn wrong_end(runtime: &mut Runtime) -> Option<(Cause, String)> {
    for index in 0..runtime.present.len() {
        let thread = runtime.present[index];
        let serves = runtime.process(runtime.population.threads[thread as usize].process).serves;
        if serves {
            continue;
        }
        let waits = runtime.population.threads[thread as usize].waits != crate::runtime::Waits::Nothing;
        if waits || matches!(runtime.look(thread), Some(Look::Hindered(_) | Look::Blocked)) {
            return Some((Cause::Trouble(Trouble::Deadlock), "deadlock".to_owned()));
        }
    }
    None
}

pub(crate) fn story(_: &mut Runtime) -> Story {
    Story::default()
}
