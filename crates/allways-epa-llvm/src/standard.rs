//! Rust's standard library: which functions of it stand for which event, and which are quiet.
//!
//! Much of it is compiled into the program, and at that not optimised: so locks, channels and counted owners would be logged as
//! the atomic accesses that they consist of. Those depend on the schedule, though what they are for does not. A function here is
//! one of four.
//!
//! - *Quiet*: what synchronises. It has no records, nor has what it calls, and instead there are events as [`Rule`] says.
//!   What a quiet function calls can be called by the program as well (`AtomicUsize::fetch_add`, `Option::map`): so being quiet is a
//!   state of the thread, and not of functions.
//! - *The program's*: it is never quiet, whoever calls it, be it as a closure or to drop a value.
//! - *Bare*: it has no records of its own, but what it calls has.
//! - *Neutral*, which is all the rest: it is as who calls it.
//!
//! That is sound because all that quiet functions write is either the library's own, which only quiet functions read, or belongs to the thread
//! alone (what they return), or is a message, of which the channel's events tell. What the library keeps for itself is
//! allocated and given back quietly as well, since whose turn that is depends on the schedule.
//!
//! Functions are known by their *plain* names: without parameters of types, and of a trait's function, the type's name in place of the
//! trait's. So the same name stands for all instances, whichever way names are mangled.

use crate::names::readable;
use std::collections::HashMap;

/// What a quiet function stands for. Where it says *first*, that is the first argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Nothing.
    Nothing,
    /// The lock that is first has been taken, by this thread alone.
    Lock,
    /// The lock that is first has been taken, which others may hold as well.
    LockShared,
    /// As [`Rule::Lock`], if a guard was made.
    TryLock,
    /// As [`Rule::LockShared`], if a guard was made.
    TryLockShared,
    /// A guard is made.
    Guard,
    /// A lock is given back: its address is in this word of the guard that is first.
    Unlock(u64),
    /// The condition variable that is first is waited for, with the lock that is second.
    Wait,
    /// A channel is made, and both ends are written to where the result goes.
    Channel,
    /// The end of a channel that is first sends.
    Send,
    /// The end of a channel that is first tries to send.
    TrySend,
    /// A message is written into a channel, at the place that is second.
    Write,
    /// The end of a channel that is first receives.
    Receive,
    /// A message is read from a channel, from the place that is second.
    Read,
    /// A message is handed over.
    Handed,
    /// The receiver that is first ends.
    Close,
    /// The messages that are left in a channel are dropped: that is the program's.
    Discard,
    /// An owner, which is first, gives up what it points to; how many owners there are is in the word at this offset.
    Release(u64),
}

/// What kind of function it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// As who calls it.
    Neutral,
    /// One of the program.
    Program,
    /// It makes the thread quiet.
    Quiet(Rule),
    /// It has no records of its own, and what is atomic in it is quiet.
    Bare,
    /// A scope for threads: as [`Kind::Bare`], and at its end its threads have ended.
    Scope,
    /// As [`Kind::Bare`], and a thread is created in the scope that is this argument.
    InScope(usize),
}

/// What a call of a function that is not part of the program stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// A barrier for as many threads as the last argument says.
    Barrier,
    /// The thread waits at the barrier that is first.
    BarrierWait,
    /// One who waits for the condition variable that is first is woken.
    Signal,
    /// All of them.
    Broadcast,
}

/// Functions with rules, by their plain names.
const RULES: [(&str, Rule); 35] = [
    ("std::sync::poison::mutex::Mutex::lock", Rule::Lock),
    ("std::sync::poison::mutex::Mutex::try_lock", Rule::TryLock),
    ("std::sync::poison::mutex::MutexGuard::new", Rule::Guard),
    ("std::sync::poison::mutex::MutexGuard::new::{{closure}}", Rule::Guard),
    ("std::sync::poison::mutex::MutexGuard::drop", Rule::Unlock(0)),
    ("std::sync::poison::rwlock::RwLock::write", Rule::Lock),
    ("std::sync::poison::rwlock::RwLock::read", Rule::LockShared),
    ("std::sync::poison::rwlock::RwLock::try_write", Rule::TryLock),
    ("std::sync::poison::rwlock::RwLock::try_read", Rule::TryLockShared),
    ("std::sync::poison::rwlock::RwLockWriteGuard::new", Rule::Guard),
    ("std::sync::poison::rwlock::RwLockWriteGuard::new::{{closure}}", Rule::Guard),
    ("std::sync::poison::rwlock::RwLockReadGuard::new", Rule::Guard),
    ("std::sync::poison::rwlock::RwLockReadGuard::new::{{closure}}", Rule::Guard),
    ("std::sync::poison::rwlock::RwLockWriteGuard::drop", Rule::Unlock(0)),
    // It points to what is locked and then to the part of the lock that is not, which is where the lock begins.
    ("std::sync::poison::rwlock::RwLockReadGuard::drop", Rule::Unlock(1)),
    ("std::sync::poison::condvar::Condvar::wait", Rule::Wait),
    ("std::sync::poison::condvar::Condvar::wait_timeout", Rule::Wait),
    ("std::sync::mpmc::channel", Rule::Channel),
    ("std::sync::mpmc::sync_channel", Rule::Channel),
    ("std::sync::mpmc::Sender::send", Rule::Send),
    ("std::sync::mpmc::Sender::try_send", Rule::TrySend),
    ("std::sync::mpmc::Receiver::recv", Rule::Receive),
    ("std::sync::mpmc::Receiver::try_recv", Rule::Receive),
    ("std::sync::mpmc::Receiver::recv_timeout", Rule::Receive),
    ("std::sync::mpmc::Receiver::recv_deadline", Rule::Receive),
    ("std::sync::mpmc::Receiver::drop", Rule::Close),
    ("std::sync::mpmc::list::Channel::discard_all_messages", Rule::Discard),
    ("std::sync::mpmc::array::Channel::discard_all_messages", Rule::Discard),
    ("std::sync::mpmc::list::Channel::drop", Rule::Discard),
    ("std::sync::mpmc::array::Channel::drop", Rule::Discard),
    ("std::sync::mpmc::zero::Packet::wait_ready", Rule::Handed),
    ("alloc::sync::Arc::drop", Rule::Release(0)),
    ("alloc::sync::Weak::drop", Rule::Release(8)),
    ("alloc::sync::Arc::clone", Rule::Nothing),
    ("alloc::sync::Weak::clone", Rule::Nothing),
];

/// Functions that are quiet without a rule, by the beginnings of their plain names.
const QUIET: [&str; 14] = [
    "std::sync::mpmc::",
    "std::sync::once::",
    "std::sync::once_lock::",
    "std::sync::lazy_lock::",
    "std::sync::poison::Flag::",
    "std::sync::poison::map_result",
    "std::sync::poison::condvar::Condvar::notify_",
    "std::sync::barrier::Barrier::wait",
    "std::sys::sync::",
    "alloc::sync::Arc::downgrade",
    "alloc::sync::Arc::is_unique",
    "alloc::sync::Arc::strong_count",
    "alloc::sync::Arc::weak_count",
    "alloc::sync::Weak::upgrade",
];

/// What the library counts the owners of for itself: these types. Which of them is the last depends on the schedule, and is of no
/// importance to the program.
const INTERNAL: [&str; 5] = [
    "std::thread::lifecycle::",
    "std::thread::scoped::",
    "std::thread::spawnhook::",
    "std::thread::thread::Inner",
    "std::sync::mpmc::",
];

/// The crate of the program has this name, whatever it is called otherwise.
pub const CRATE: &str = "program";

/// What is known of the functions of a module that may be the standard library's.
#[derive(Debug, Default)]
pub struct Standard {
    /// How functions are called in debug information, with the types that they are for.
    instances: HashMap<String, String>,
}

impl Standard {
    /// Reads what debug information says in the text of a module.
    pub fn new(module: &str) -> Self {
        let mut functions = Vec::new();
        let mut names = HashMap::new();
        for line in module.lines() {
            if line.starts_with("define ") {
                functions.extend(crate::files::function_name(line).zip(entry(line)));
            } else if let Some((number, rest)) =
                line.strip_prefix('!').and_then(|line| line.split_once(" = "))
                && rest.contains("!DISubprogram(")
                && let Some((_, name)) = rest.split_once("name: \"")
                && let Some((name, _)) = name.split_once('"')
            {
                names.insert(number, name);
            }
        }
        let functions = functions.into_iter().filter_map(|(function, number)| {
            names.get(number).map(|name| (function, (*name).to_owned()))
        });
        Standard { instances: functions.collect() }
    }

    /// What kind of function it is, by its symbol.
    pub fn kind(&self, symbol: &str) -> Kind {
        let name = readable(symbol);
        if is_of_program(&name) {
            return Kind::Program;
        }
        let plain = plain(&name);
        match plain.as_str() {
            // Threads have numbers and owners, which depend on who was faster.
            "std::thread::functions::spawn"
            | "std::thread::builder::Builder::spawn_unchecked"
            | "std::thread::lifecycle::spawn_unchecked" => return Kind::Bare,
            "std::thread::scoped::scope" => return Kind::Scope,
            "std::thread::scoped::Scope::spawn" => return Kind::InScope(0),
            "std::thread::builder::Builder::spawn_scoped" => return Kind::InScope(1),
            _ => {}
        }
        if let Some(channel) = plain.strip_prefix("std::sync::mpmc::")
            && let Some((_, action)) = channel.split_once("::Channel::")
        {
            match action {
                "read" => return Kind::Quiet(Rule::Read),
                "write" => return Kind::Quiet(Rule::Write),
                _ => {}
            }
        }
        // What checks whether a function may be called as it is: it compares addresses of different objects, which tells nothing.
        // And what ends what the library keeps for a thread.
        if plain.ends_with("::precondition_check")
            || plain.starts_with("std::sys::thread_local::") && self.mentions_channels(symbol)
        {
            return Kind::Quiet(Rule::Nothing);
        }
        match RULES.iter().find(|(name, _)| *name == plain) {
            Some((_, Rule::Release(_))) if self.is_internal(symbol) => Kind::Quiet(Rule::Nothing),
            Some((_, rule)) => Kind::Quiet(*rule),
            None if QUIET.iter().any(|start| plain.starts_with(start)) => {
                Kind::Quiet(Rule::Nothing)
            }
            None => Kind::Neutral,
        }
    }

    /// Whether a function is for what channels keep for each thread.
    fn mentions_channels(&self, symbol: &str) -> bool {
        self.instances.get(symbol).is_some_and(|instance| instance.contains("std::sync::mpmc::"))
    }

    /// Whether an owner is one of something that the library keeps for itself.
    fn is_internal(&self, symbol: &str) -> bool {
        let instance = self.instances.get(symbol).map_or("", String::as_str);
        let Some((_, type_)) = instance.split_once('<') else { return false };
        INTERNAL.iter().any(|start| type_.starts_with(start))
    }
}

/// The number of the entry of debug information at the end of the first line of a function.
fn entry(line: &str) -> Option<&str> {
    let (_, rest) = line.rsplit_once("!dbg !")?;
    Some(rest.split(|character: char| !character.is_ascii_digit()).next().unwrap_or(rest))
}

/// What a call of a function stands for, by its readable name.
pub fn call(callee: &str) -> Option<Call> {
    Some(match plain(callee).as_str() {
        "std::sync::barrier::Barrier::new" => Call::Barrier,
        "std::sync::barrier::Barrier::wait" => Call::BarrierWait,
        "std::sync::poison::condvar::Condvar::notify_one" => Call::Signal,
        "std::sync::poison::condvar::Condvar::notify_all" => Call::Broadcast,
        _ => return None,
    })
}

/// Whether a function is the program's own: one of its functions, or of a type or a trait of it.
fn is_of_program(name: &str) -> bool {
    let name = name.trim_start_matches(|character: char| "<&*([".contains(character));
    let is_own = |path: &str| path.strip_prefix(CRATE).is_some_and(|rest| rest.starts_with("::"));
    let dropped = name.strip_prefix("core::ptr::drop_in_place<");
    is_own(name) || dropped.is_some_and(is_own) || name.split(" as ").skip(1).any(is_own)
}

/// Whether this drops what the program may have sent over a channel, and not a part of the channel.
pub fn drops_message(callee: &str) -> bool {
    callee.starts_with("core::ptr::drop_in_place<") && !callee.contains("std::sync::mpmc::")
}

/// The plain name: `<a::Type<T> as b::Trait<U>>::f::<V>` is `a::Type::f`, and so is `m::<impl a::Type<T>>::f`.
pub fn plain(name: &str) -> String {
    let mut plain = String::new();
    let mut rest = name;
    if let Some(inner) = name.strip_prefix('<')
        && let Some(end) = closing(inner)
    {
        let inside = &inner[..end];
        let type_ = top_level_as(inside).map_or(inside, |at| &inside[..at]);
        plain = self::plain(type_);
        rest = &inner[end + 1..];
    } else if let Some((_, inner)) = name.split_once("::<impl ")
        && let Some(end) = closing(inner)
    {
        let inside = &inner[..end];
        // `impl Trait for Type`.
        plain = self::plain(inside.split_once(" for ").map_or(inside, |(_, type_)| type_));
        rest = &inner[end + 1..];
    }
    let mut depth = 0_u32;
    let mut before = ' ';
    for character in rest.chars() {
        match character {
            '<' => {
                // Parameters of a function have colons of their own before them.
                if depth == 0 && plain.ends_with("::") {
                    plain.truncate(plain.len() - 2);
                }
                depth += 1;
            }
            '>' if before != '-' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(character),
            _ => {}
        }
        before = character;
    }
    plain
}

/// Where the bracket is closed that was opened before this text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1_u32;
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        match character {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
        before = character;
    }
    None
}

/// Where ` as ` is that is in no brackets.
fn top_level_as(text: &str) -> Option<usize> {
    let depth = |at: usize| {
        let opened = text[..at].matches('<').count();
        opened == text[..at].replace("->", "").matches('>').count()
    };
    text.match_indices(" as ").map(|(at, _)| at).find(|at| depth(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names() {
        for (name, expected) in [
            ("main", "main"),
            ("std::sync::poison::mutex::Mutex<T>::lock", "std::sync::poison::mutex::Mutex::lock"),
            ("<std::sync::barrier::Barrier>::wait", "std::sync::barrier::Barrier::wait"),
            ("<alloc::sync::Arc<T,A> as core::ops::drop::Drop>::drop", "alloc::sync::Arc::drop"),
            (
                "<a::B<<c::D as e::F>::G> as h::I<fn() -> u8>>::j::{{closure}}",
                "a::B::j::{{closure}}",
            ),
            ("std::thread::functions::spawn::<program::f, ()>", "std::thread::functions::spawn"),
            (
                "std::thread::scoped::<impl std::thread::builder::Builder>::spawn_scoped",
                "std::thread::builder::Builder::spawn_scoped",
            ),
            ("<", ""),
            ("a::<impl ", "a"),
        ] {
            assert_eq!(plain(name), expected, "{name}");
        }
    }

    #[test]
    fn kinds_of_functions() {
        let standard = Standard::default();
        for (name, expected) in [
            ("program::main", Kind::Program),
            ("program::main::{{closure}}", Kind::Program),
            ("<program::Noisy as core::ops::drop::Drop>::drop", Kind::Program),
            ("<&program::Noisy as core::fmt::Debug>::fmt", Kind::Program),
            ("<u32 as program::Twice>::twice", Kind::Program),
            ("core::ptr::drop_in_place<program::Noisy>", Kind::Program),
            ("core::ptr::drop_in_place<alloc::sync::Arc<program::Noisy>>", Kind::Neutral),
            ("programs::main", Kind::Neutral),
            ("core::sync::atomic::AtomicUsize::fetch_add", Kind::Neutral),
            ("alloc::sync::Arc<T>::new", Kind::Neutral),
            ("std::sync::mpsc::Receiver<T>::recv", Kind::Neutral),
            ("std::sync::mpmc::Receiver<T>::recv", Kind::Quiet(Rule::Receive)),
            ("std::sync::mpmc::list::Channel<T>::read", Kind::Quiet(Rule::Read)),
            ("std::sync::mpmc::waker::SyncWaker::notify", Kind::Quiet(Rule::Nothing)),
            ("std::sync::poison::mutex::Mutex<T>::new", Kind::Neutral),
            (
                "<alloc::sync::Weak<T,A> as core::ops::drop::Drop>::drop",
                Kind::Quiet(Rule::Release(8)),
            ),
            ("core::ptr::copy_nonoverlapping::precondition_check", Kind::Quiet(Rule::Nothing)),
            ("std::thread::scoped::scope", Kind::Scope),
            ("std::thread::lifecycle::spawn_unchecked", Kind::Bare),
            ("std::thread::lifecycle::spawn_unchecked::{{closure}}", Kind::Neutral),
        ] {
            assert_eq!(standard.kind(name), expected, "{name}");
        }
    }

    #[test]
    fn owners_of_what_the_library_keeps_are_not_told() {
        let symbol = "_ZN71_$LT$alloc..sync..Arc$LT$T$C$A$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17h20776f1f8f598cd6E";
        let text = |type_: &str| {
            format!(
                "define internal void @\"{symbol}\"(ptr %self) #1 !dbg !12 {{\n\
                 !12 = distinct !DISubprogram(name: \"drop<{type_}, alloc::alloc::Global>\", line: 1)\n"
            )
        };
        let kind = |type_| Standard::new(&text(type_)).kind(symbol);
        assert_eq!(kind("u64"), Kind::Quiet(Rule::Release(0)));
        assert_eq!(kind("std::thread::lifecycle::Packet<()>"), Kind::Quiet(Rule::Nothing));
    }
}
