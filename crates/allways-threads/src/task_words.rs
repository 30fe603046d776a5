//! What tasks do and wait for, in words.

use crate::runtime::awaits::{ANY_TIME, Role, because};
use crate::runtime::log::Entry;
use crate::runtime::names::Lesson;
use crate::runtime::op::{BLOCKS, Kind, Op};
use crate::runtime::rules::part;
use crate::runtime::{Runtime, Waits};
use crate::words::{is_end, place};
use allways::Trouble;

/// What has happened.
pub(crate) fn did(runtime: &Runtime, entry: &Entry) -> String {
    let object = runtime.object_name(entry.op.object);
    let (value, is_gone) = (entry.value, entry.value == u64::MAX);
    match (entry.op.kind, entry.succeeded) {
        (Kind::Resume, _) => match value {
            because::WOKEN => "was woken".to_owned(),
            because::ABORTED => "was aborted".to_owned(),
            because::ANY_TIME => "has waited long enough".to_owned(),
            event => format!("goes on, with {}", awaited(runtime, event as u32)),
        },
        (Kind::Wake, _) => format!("wakes {object}"),
        (Kind::Abort, _) => format!("aborts {object}"),
        (Kind::Acquire | Kind::TryAcquire | Kind::Acquired, true) => got(runtime, entry),
        (Kind::Acquire, false) => format!("queues for {object}"),
        (Kind::TryAcquire, false) => format!("tries to get {object}, in vain"),
        (Kind::Acquired, false) => format!("still queues for {object}"),
        (Kind::Release, _) => gave(runtime, entry),
        (Kind::ReleaseAll, _) => format!("notifies all who wait for {object}"),
        (Kind::Leave, _) => format!("does not queue for {object} any more"),
        (Kind::SendOrQueue | Kind::TrySendInTurn | Kind::SendQueued, true) => {
            format!("sends message {value} into {object}")
        }
        (Kind::SendOrQueue | Kind::TrySendInTurn | Kind::SendQueued, false) if is_gone => {
            format!("sends into {object}, which has no receiver")
        }
        (Kind::SendOrQueue, false) => format!("queues for room in {object}"),
        (Kind::TrySendInTurn, false) => format!("tries to send into {object}, which is full"),
        (Kind::SendQueued, false) => format!("still queues for room in {object}"),
        (Kind::PollReceive, true) => format!("receives message {value} from {object}"),
        (Kind::PollReceive, false) if is_gone => format!("finds no senders of {object}"),
        (Kind::PollReceive, false) => format!("finds nothing in {object}"),
        (_, true) => format!("finds no receiver of {object}"),
        (_, false) => format!("finds the receiver of {object}"),
    }
}

fn got(runtime: &Runtime, entry: &Entry) -> String {
    let object = runtime.object_name(entry.op.object);
    match runtime.what(entry.op.object) {
        "mutex" => format!("locks {object}"),
        "notification" => format!("is notified by {object}"),
        _ => format!("gets a permit of {object}"),
    }
}

fn gave(runtime: &Runtime, entry: &Entry) -> String {
    let object = runtime.object_name(entry.op.object);
    let what = match runtime.what(entry.op.object) {
        "mutex" => format!("unlocks {object}"),
        "notification" => format!("notifies through {object}"),
        _ => format!("gives a permit of {object} back"),
    };
    let is_it = |other: &&Entry| std::ptr::eq(*other, entry);
    let event = runtime.log.entries.iter().position(|other| is_it(&other));
    let by = |other: &&Entry| event.is_some_and(|event| other.released == event as u32);
    match runtime.log.entries.iter().find(by) {
        Some(next) => format!("{what}, for {}", runtime.thread_name(next.thread)),
        None => what,
    }
}

/// What is awaited by one who registered with an event.
fn awaited(runtime: &Runtime, event: u32) -> String {
    let Some(entry) = runtime.log.entries.get(event as usize) else {
        return "some time".to_owned();
    };
    let object = runtime.object_name(entry.op.object);
    match entry.op.kind {
        Kind::PollReceive => format!("a message from {object}"),
        Kind::SendOrQueue => format!("room in {object}"),
        Kind::PollClosed => format!("the end of the receiver of {object}"),
        _ => object,
    }
}

/// What has to be a step for an event of a run that was kept to be what this thread does next, if it has to do with tasks: see [`Lesson`].
pub(crate) fn lesson(runtime: &mut Runtime, thread: u32, what: &str) -> Option<Lesson> {
    let pending = runtime.pending(thread);
    let is_pending = |kind| pending.is_some_and(|op| op.kind == kind);
    let task = runtime.population.threads[thread as usize].task;
    let goes_on = ["was woken at ", "was aborted at ", "has waited long enough at ", "goes on, "];
    if goes_on.iter().any(|it| what.starts_with(it)) && !is_pending(Kind::Resume) {
        return task.map(|[task, _]| Lesson::Tried(task));
    }
    if is_end(what) && !is_pending(Kind::Store) {
        return task.map(|[_, end]| Lesson::Tried(end));
    }
    if what.starts_with("looks at ") && !is_pending(Kind::Load) {
        let is_it = |&&object: &&u32| {
            let (only, one_of_many) = runtime.object_names(object);
            let is_named = |name: &str| what.starts_with(&format!("looks at {name} "));
            runtime.what(object) == "notification"
                && (is_named(&one_of_many) || only.is_some_and(|only| is_named(&only)))
        };
        return runtime.made.iter().find(is_it).map(|&object| Lesson::Tried(object));
    }
    let blocks = |op: &Op| {
        matches!(op.kind, Kind::TryAcquire | Kind::TrySendInTurn) && op.argument == BLOCKS
    };
    let op = pending.filter(|op| what.starts_with("queues for ") && blocks(op))?;
    Some(Lesson::Tried(runtime.population.names.part(op.object, part::TAIL)))
}

/// Whether a thread that waits is one that awaits something, and need not come to its end.
pub(crate) fn may_be_dropped(runtime: &Runtime, thread: u32) -> bool {
    let record = &runtime.population.threads[thread as usize];
    let awaits = |op: Op| match op.kind {
        Kind::Resume => true,
        Kind::PollReceive | Kind::PollClosed | Kind::TryAcquire | Kind::TrySendInTurn => {
            op.argument == BLOCKS
        }
        _ => false,
    };
    record.role != Role::Thread
        && (matches!(record.waits, Waits::Task(_)) || runtime.pending(thread).is_some_and(awaits))
}

/// What a task waits for; nothing, if it is not one of the program's.
pub(crate) fn waiting(runtime: &Runtime, thread: u32, op: &Op) -> Option<(Trouble, String)> {
    let at = place(op.at);
    if runtime.population.threads[thread as usize].role == Role::Bell {
        return None;
    }
    let list = runtime.population.awaited.list(op.argument);
    let what: Vec<String> = list.iter().map(|&event| awaited(runtime, event)).collect();
    if !what.is_empty() {
        return Some((Trouble::Deadlock, format!("awaits {} at {at}", what.join(" or "))));
    }
    if !runtime.population.threads[thread as usize].awaiting.can_be_woken() {
        let text = format!("awaits something at {at}, and nobody has kept its waker");
        return Some((Trouble::LostWakeUp, text));
    }
    let mut others = runtime.present.iter().filter(|&&other| other != thread);
    Some(match others.all(|&other| only_waits(runtime, other)) {
        true => {
            let text = format!("awaits something at {at}, and nobody is left to wake it");
            (Trouble::LostWakeUp, text)
        }
        false => (Trouble::Deadlock, format!("awaits something at {at}, and is not woken")),
    })
}

/// Whether a thread has ended, or does nothing but wait for the end of others.
fn only_waits(runtime: &Runtime, thread: u32) -> bool {
    let record = &runtime.population.threads[thread as usize];
    let is_end = |&event: &u32| {
        event != ANY_TIME && runtime.log.entries[event as usize].op.kind == Kind::Load
    };
    let awaits_ends = |op: Op| {
        op.kind == Kind::Resume && {
            let list = runtime.population.awaited.list(op.argument);
            !list.is_empty() && list.iter().all(is_end)
        }
    };
    record.has_ended
        || matches!(record.waits, Waits::Thread(_) | Waits::Task(_))
        || runtime.pending(thread).is_some_and(awaits_ends)
}
