//! What threads do, in words.

use crate::net;
use crate::runtime::awaits::Role;
use crate::runtime::log::Entry;
use crate::runtime::op::{Kind, NONE, Op};
use crate::runtime::rules::Look;
use crate::runtime::{Runtime, Waits};
use crate::task_words;
use allways::{Cause, Trouble};
use std::panic::Location;

/// What is said of a lock that was tried in vain.
pub(crate) const IS_LOCKED: &str = ", which is locked";

/// Said of one who makes another socket, where that is an event.
pub(crate) const COPIES: &str = "copies ";

/// Whether an event was one of several that could have been.
pub(crate) fn chooses(entry: &Entry) -> bool {
    matches!(entry.op.kind, Kind::Choose | Kind::NotifyOne) && entry.succeeded
}

/// A place in the source: the name of the file, and the line.
pub(crate) fn place(at: &Location<'_>) -> String {
    let path = at.file();
    let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
    // Where `std` calls for somebody, nobody knows who.
    let whose =
        if path.starts_with("/rustc/") || path.contains("/library/core/") { "std's " } else { "" };
    format!("{whose}{file}:{}", at.line())
}

/// The value of an atomic before an event.
pub(crate) fn value_before(runtime: &Runtime, entry: &Entry) -> Option<u64> {
    let mut before = entry.before;
    while before != NONE {
        let earlier = &runtime.log.entries[before as usize];
        let writes = match earlier.op.kind {
            Kind::Store | Kind::Swap => true,
            Kind::Exchange => earlier.succeeded,
            _ => false,
        };
        if writes {
            return Some(earlier.value);
        }
        before = earlier.before;
    }
    runtime.population.made.get(entry.op.object as usize)?.initial
}

/// An event in words: who, what, where.
pub(crate) fn event(runtime: &Runtime, event: usize) -> String {
    let entry = &runtime.log.entries[event];
    let (who, what) = (runtime.thread_name(entry.thread), did(runtime, entry));
    format!("{who} {what} at {}", place(entry.op.at))
}

/// Whether an event that was told gives back what this one took, and does nothing else. When it was told, more like it may have been made.
pub(crate) fn tells_unlock(runtime: &Runtime, what: &str, taken: &Entry) -> bool {
    let Some(rest) = told(what, "unlocks ") else { return false };
    let at = format!(" at {}", place(taken.op.at));
    let Some(name) = rest.strip_suffix(&at) else { return false };
    let (only, one_of_many) = runtime.object_names(taken.op.object);
    name == one_of_many || only.is_some_and(|only| name == only)
}

/// Whether an event is the end of a thread, as it was told.
pub(crate) fn is_end(what: &str) -> bool {
    told(what, "ends at ").is_some()
}

/// Whether an event is the beginning of a wait for one who hands over, as it was told.
pub(crate) fn is_await(what: &str) -> bool {
    told(what, "begins to wait for a message ").is_some()
}

/// An event as it was told, without who did it, if that is what the thread is called now.
pub(crate) fn without_name<'a>(runtime: &Runtime, thread: u32, what: &'a str) -> &'a str {
    let rest = what.strip_prefix(&runtime.thread_name(thread));
    rest.and_then(|rest| rest.strip_prefix(' ')).unwrap_or(what)
}

/// What comes after these words in an event as it was told; the thread may have had another name then.
fn told<'a>(what: &'a str, words: &str) -> Option<&'a str> {
    let named = || what.split_once(&format!(" {words}")).map(|(_, rest)| rest);
    what.strip_prefix(words).or_else(named)
}

fn did(runtime: &Runtime, entry: &Entry) -> String {
    let object = runtime.object_name(entry.op.object);
    let value = entry.value;
    let what = runtime.what(entry.op.object);
    if let Some(words) = net::words::did(entry.op.kind, entry.succeeded, value, what, &object) {
        return words;
    }
    match (entry.op.kind, entry.succeeded) {
        (Kind::Load, _) if is_atomic(runtime, entry) => format!("reads {value} from {object}"),
        (Kind::Load, _) => format!("looks at {object}"),
        (Kind::Store, _) if is_atomic(runtime, entry) => format!("writes {value} to {object}"),
        (Kind::Store, _) => "ends".to_owned(),
        (Kind::Swap, _) if !is_atomic(runtime, entry) => format!("changes {object}"),
        (Kind::Swap, _) => match value_before(runtime, entry) {
            Some(before) => format!("changes {object} from {before} to {value}"),
            None => format!("changes {object} to {value}"),
        },
        (Kind::Exchange, true) => {
            format!("exchanges {} for {value} in {object}", entry.op.argument)
        }
        (Kind::Exchange, false) => {
            format!("finds {value} in {object} and not {}", entry.op.argument)
        }
        (Kind::RaceRead, _) => format!("reads {object}"),
        (Kind::RaceWrite, _) => format!("writes {object}"),
        (Kind::RaceReadEnd, _) => format!("has read {object}"),
        (Kind::RaceWriteEnd, _) => format!("has written {object}"),
        (Kind::Lock, _) => format!("locks {object}"),
        (Kind::TryLock, true) => format!("tries to lock {object}, and does"),
        (Kind::TryLock, false) => format!("tries to lock {object}{IS_LOCKED}"),
        (Kind::Unlock, _) => format!("unlocks {object}"),
        (Kind::Read, _) => format!("locks {object} to read"),
        (Kind::TryRead, true) => format!("tries to lock {object} to read, and does"),
        (Kind::TryRead, false) => format!("tries to lock {object} to read, which is locked"),
        (Kind::EndRead | Kind::EndWrite, _) => format!("gives {object} back"),
        (Kind::Write, _) => format!("locks {object} to write"),
        (Kind::TryWrite, true) => format!("tries to lock {object} to write, and does"),
        (Kind::TryWrite, false) => format!("tries to lock {object} to write, which is locked"),
        (Kind::Wait, _) => {
            let taken = &runtime.log.entries[entry.op.argument as usize];
            let mutex = runtime.object_name(taken.op.object);
            format!("unlocks {mutex} and waits for {object}")
        }
        (Kind::WokenOrLate, true) => format!("was notified by {object}"),
        (Kind::WokenOrLate, false) => format!("has waited too long for {object}"),
        (Kind::NotifyOne, true) => {
            let waited = runtime.log.entries.get(value as usize);
            let who = waited.map_or(NONE, |waited| waited.thread);
            format!("notifies {} through {object}", runtime.thread_name(who))
        }
        (Kind::NotifyAll, true) => format!("notifies all who wait for {object}"),
        (Kind::NotifyOne | Kind::NotifyAll, false) => {
            format!("notifies {object}, for which nobody waits")
        }
        (Kind::Arrive, _) => format!("arrives at {object}"),
        (Kind::Once, true) => format!("begins to make {object}"),
        (Kind::Once, false) => format!("finds {object} made"),
        (Kind::OnceDone, _) => format!("has made {object}"),
        (Kind::Send | Kind::TrySend, true) => format!("sends message {value} into {object}"),
        (Kind::Send, false) => format!("sends into {object}, which has no receiver"),
        (Kind::TrySend, false) if value == u64::MAX => {
            format!("tries to send into {object}, which has no receiver")
        }
        (Kind::TrySend, false) => format!("tries to send into {object}, which is full"),
        (Kind::Receive | Kind::TryReceive | Kind::ReceiveOrLate, true) => {
            format!("receives message {value} from {object}")
        }
        (Kind::Receive | Kind::TryReceive | Kind::ReceiveOrLate, false) if value == u64::MAX => {
            format!("finds no senders of {object}")
        }
        (Kind::Receive | Kind::TryReceive, false) => format!("finds nothing in {object}"),
        (Kind::ReceiveOrLate, false) => format!("has waited too long for {object}"),
        (Kind::Await, _) => format!("begins to wait for a message from {object}"),
        (Kind::DropSender, _) => format!("drops {object}"),
        (Kind::Copy, _) => format!("{COPIES}{object}"),
        (Kind::LookForReceiver, true) => format!("finds a receiver of {object}"),
        (Kind::LookForReceiver, false) => format!("finds no receiver of {object}"),
        (Kind::DropReceiver, _) => format!("drops the receiver of {object}"),
        (Kind::Park | Kind::ParkOrLate, true) => "was unparked".to_owned(),
        (Kind::Park | Kind::ParkOrLate, false) => "has been parked too long".to_owned(),
        (Kind::Unpark, _) => {
            let who = entry.op.argument as u32;
            format!("unparks {}", runtime.thread_name(who))
        }
        (Kind::Choose, _) => {
            format!("chooses {} of {}", entry.alternative, entry.op.argument)
        }
        (Kind::Spin, _) => "goes round, since something that it reads has changed".to_owned(),
        _ => task_words::did(runtime, entry),
    }
}

fn is_atomic(runtime: &Runtime, entry: &Entry) -> bool {
    runtime.what(entry.op.object) == "atomic"
}

/// Two threads that access a cell, or are about to.
pub(crate) fn race(runtime: &Runtime, a: (u32, &Op), b: (u32, &Op)) -> String {
    let does = |op: &Op| if op.kind.races() == Some(true) { "writes" } else { "reads" };
    format!(
        "{} {} it at {} while {} {} it at {}: {}",
        runtime.thread_name(a.0),
        does(a.1),
        place(a.1.at),
        runtime.thread_name(b.0),
        does(b.1),
        place(b.1.at),
        runtime.object_name(a.1.object),
    )
}

/// What a thread waits for, if it does.
pub(crate) fn waiting(runtime: &mut Runtime, thread: u32) -> Option<(Trouble, String)> {
    let record = &runtime.population.threads[thread as usize];
    if record.has_ended {
        return None;
    }
    let at = record.waits_at.map_or_else(String::new, |at| format!(" at {}", place(at)));
    match record.waits {
        Waits::Nothing => {}
        Waits::Thread(other) | Waits::Task(other) => {
            let other = runtime.thread_name(other);
            return Some((Trouble::Deadlock, format!("waits{at} for {other} to end")));
        }
        Waits::Notified(waited) => return Some(not_notified(runtime, waited, &at)),
        Waits::Barrier { object, last } => {
            let arrived = runtime.log.last_on(object);
            let arrived = runtime.log.entries.get(arrived as usize).map_or(0, |entry| entry.value);
            let object = runtime.object_name(object);
            let more = last.saturating_sub(arrived);
            return Some((Trouble::Deadlock, format!("waits{at} for {more} more at {object}")));
        }
        Waits::Received { channel, .. } => {
            let channel = runtime.object_name(channel);
            let text = format!("waits{at} for its message to be received from {channel}");
            return Some((Trouble::Deadlock, text));
        }
    }
    let op = runtime.pending(thread)?;
    let at = place(op.at);
    let look = runtime.look(thread)?;
    let object = runtime.object_name(op.object);
    Some(match (op.kind, look) {
        (_, Look::Can(_)) => return None,
        (Kind::Lock | Kind::Read | Kind::Write, Look::Hindered(by)) => {
            let holder = runtime.log.entries[by as usize];
            let since = place(holder.op.at);
            let how = match op.kind {
                Kind::Read => " to read",
                Kind::Write => " to write",
                _ => "",
            };
            if holder.thread == thread {
                let text =
                    format!("locks {object}{how} at {at}, which it holds since {since} itself");
                return Some((Trouble::DoubleLock, text));
            }
            let name = runtime.thread_name(holder.thread);
            let text =
                format!("waits at {at} to lock {object}{how}, which {name} holds since {since}");
            (Trouble::Deadlock, text)
        }
        (Kind::Once, Look::Hindered(by)) => {
            let maker = runtime.log.entries[by as usize];
            let (name, since) = (runtime.thread_name(maker.thread), place(maker.op.at));
            let text = format!("waits at {at} for {object}, which {name} makes since {since}");
            (Trouble::Deadlock, text)
        }
        (Kind::Spin, _) => {
            let text = format!("reads over and over at {at}, and nothing that it reads changes");
            (Trouble::Livelock, text)
        }
        (Kind::Park, _) => (Trouble::Deadlock, format!("is parked at {at}")),
        (Kind::Resume, _) => return task_words::waiting(runtime, thread, &op),
        (Kind::Receive | Kind::PollReceive, _) => {
            let what = net::words::waits(runtime.what(op.object), &object);
            let what = what.unwrap_or_else(|| format!("for a message from {object}"));
            (Trouble::Deadlock, format!("waits at {at} {what}"))
        }
        (Kind::Send | Kind::TrySendInTurn, _) => {
            (Trouble::Deadlock, format!("waits at {at} for room in {object}"))
        }
        _ => (Trouble::Deadlock, format!("waits at {at} for {object}")),
    })
}

/// A thread that waits for a condition that nobody notifies.
fn not_notified(runtime: &Runtime, waited: u32, at: &str) -> (Trouble, String) {
    let entry = &runtime.log.entries[waited as usize];
    let object = runtime.object_name(entry.op.object);
    let mut text = format!("waits{at} for {object} to be notified");
    let mut before = entry.before;
    while before != NONE {
        let earlier = &runtime.log.entries[before as usize];
        if matches!(earlier.op.kind, Kind::NotifyOne | Kind::NotifyAll) && !earlier.succeeded {
            let (name, when) = (runtime.thread_name(earlier.thread), place(earlier.op.at));
            text += &format!(", which {name} did at {when} when nobody waited");
            return (Trouble::LostWakeUp, text);
        }
        before = earlier.before;
    }
    (Trouble::Deadlock, text)
}

/// What each thread of the run has to do with its end, and what trouble they are in.
///
/// A thread of a process that serves others may wait for ever. A task may, too, unless somebody who may not does.
pub(crate) fn ending(runtime: &mut Runtime) -> (Option<Trouble>, Vec<String>) {
    let (mut worst, mut worst_of_tasks) = (None, None);
    let mut reads = Vec::new();
    for index in 0..runtime.present.len() {
        let thread = runtime.present[index];
        let process = runtime.population.threads[thread as usize].process;
        let serves = runtime.process(process).serves;
        let may_be_dropped = task_words::may_be_dropped(runtime, thread);
        let waiting = waiting(runtime, thread);
        if let Some((trouble, _)) = waiting.as_ref().filter(|_| !serves) {
            let worst = if may_be_dropped { &mut worst_of_tasks } else { &mut worst };
            *worst = worst.max_by_key_with(*trouble, rank);
        }
        reads.push(waiting.map_or_else(String::new, |(_, text)| text));
    }
    let worst = worst.map(|worst| match worst_of_tasks {
        Some(other) if rank(other) > rank(worst) => other,
        _ => worst,
    });
    if worst.is_none() {
        reads.iter_mut().for_each(String::clear);
    }
    (worst, reads)
}

/// Which of several troubles is told.
fn rank(trouble: Trouble) -> u32 {
    match trouble {
        Trouble::DoubleLock => 3,
        Trouble::LostWakeUp => 2,
        Trouble::Livelock => 1,
        _ => 0,
    }
}

trait MaxByKey<T> {
    fn max_by_key_with(self, other: T, key: impl Fn(T) -> u32) -> Self;
}

impl<T: Copy> MaxByKey<T> for Option<T> {
    fn max_by_key_with(self, other: T, key: impl Fn(T) -> u32) -> Self {
        match self {
            Some(known) if key(known) >= key(other) => Some(known),
            _ => Some(other),
        }
    }
}

/// Whether it is wrong that nothing can happen any more, and why.
pub(crate) fn wrong_end(runtime: &mut Runtime) -> Option<(Cause, String)> {
    let all_ended = |&thread: &u32| runtime.population.threads[thread as usize].has_ended;
    if runtime.present.iter().all(all_ended) {
        return leaked(runtime);
    }
    let (trouble, reads) = ending(runtime);
    let Some(trouble) = trouble else { return leaked(runtime) };
    let waiting = reads.iter().zip(&runtime.present).filter(|(read, _)| !read.is_empty());
    let names: Vec<String> = waiting.map(|(_, &thread)| runtime.thread_name(thread)).collect();
    let text = match (trouble, &names[..]) {
        (Trouble::DoubleLock, _) => "a thread waits for what it holds itself".to_owned(),
        (Trouble::Livelock, [one]) => format!("{one} goes round for ever"),
        (_, [one]) => format!("{one} waits for ever"),
        (_, [all @ .., last]) => format!("{} and {last} wait for ever", all.join(", ")),
        (_, []) => "nothing can happen any more".to_owned(),
    };
    Some((Cause::Trouble(trouble), text))
}

/// Whether nobody joined a thread, and somebody should have.
pub(crate) fn is_leaked(runtime: &Runtime, number: u32) -> bool {
    let thread = &runtime.population.threads[number as usize];
    thread.parent != NONE
        && thread.role == Role::Thread
        && !thread.is_joined
        && !runtime.process(thread.process).serves
}

/// A thread that nobody joined.
fn leaked(runtime: &Runtime) -> Option<(Cause, String)> {
    let number = *runtime.present.iter().find(|&&number| is_leaked(runtime, number))?;
    let name = runtime.thread_name(number);
    let at = runtime.population.threads[number as usize].spawned_at;
    let at = at.map_or_else(String::new, |at| format!(", spawned at {},", place(at)));
    let text = format!("{name}{at} was not joined: it may be cut off when its process ends");
    Some((Cause::Trouble(Trouble::LeakedThread), text))
}
