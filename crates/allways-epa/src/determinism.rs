//! Calls of functions that are not deterministic: the first condition of pseudo-determinism (thesis, definition 5).
//!
//! What a thread does next must follow from what it did and read before. The thesis checks this by hand, and says how it can
//! be automated: by a list of functions that are not deterministic, calls of which are reported. This is that. It is
//! a heuristic, in both directions: a function that is on no list may still depend on chance, and one that is may
//! do no harm, because what it returns is not used; so there can be further names, and names that are fine after all.
//!
//! Functions are told by their names: of C as they are (also those of the C library that stand for others, like
//! `__isoc99_fscanf`), of Rust and C++ by a path in the readable name (`std::time::Instant::now`), however the crate's or
//! the namespace's name is decorated. Mangled names of Rust are recognised by the parts of that path.

use crate::format::{Malformed, Opcode, Record, Records};
use crate::sanitise::Callees;
use crate::trace::Trace;
use rustc_hash::FxHashMap;
use std::fmt;

/// Why a function is not deterministic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Chance {
    /// It tells the time.
    Time,
    /// It is random, or takes its seed from somewhere.
    Random,
    /// It tells which process, thread, user or processor this is, which is another one next time.
    Identity,
    /// It tells what is outside: a file, the network, the environment. The same if that is the same.
    Outside,
    /// What it returns depends on which thread was faster, or it makes threads wait for each other in a way that is not in
    /// the trace.
    Schedule,
    /// It was named by whoever asked.
    Named,
}

impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Chance::Time => "depends on the time",
            Chance::Random => "is random",
            Chance::Identity => "depends on the numbers of processes and threads",
            Chance::Outside => "depends on what is read",
            Chance::Schedule => "depends on which thread is faster, or makes threads wait in a way that is not followed",
            Chance::Named => "is said not to be deterministic",
        })
    }
}

/// Functions of C. Those like `rand_r`, to which the caller gives their state, are deterministic and not here; that of
/// `rand` is shared by all threads.
const FUNCTIONS: [(Chance, &str); 5] = [
    (
        Chance::Time,
        "time gettimeofday clock_gettime clock_getres clock ftime times timespec_get getrusage __rdtsc \
         _rdtsc llvm.readcyclecounter llvm.readsteadycounter llvm.x86.rdtsc llvm.x86.rdtscp llvm.x86.rdpmc \
         alarm ualarm setitimer timer_settime",
    ),
    (
        Chance::Random,
        "rand random drand48 lrand48 mrand48 getrandom getentropy \
         arc4random arc4random_buf arc4random_uniform mkstemp mkdtemp tmpnam tmpfile RAND_bytes llvm.x86.rdrand.16 llvm.x86.rdrand.32 llvm.x86.rdrand.64 llvm.x86.rdseed.16 \
         llvm.x86.rdseed.32 llvm.x86.rdseed.64",
    ),
    (
        Chance::Identity,
        "getpid getppid gettid pthread_self thrd_current getuid geteuid getgid getegid sched_getcpu \
         getcpu get_nprocs gethostname uname llvm.x86.rdpid fork vfork wait waitpid",
    ),
    (
        Chance::Outside,
        "read pread pread64 readv preadv fread fread_unlocked fgets fgetc getc getchar gets getline \
         getdelim scanf fscanf vscanf vfscanf recv recvfrom recvmsg accept accept4 poll ppoll select \
         pselect epoll_wait epoll_pwait getenv secure_getenv stat fstat lstat readdir readlink getcwd \
         sysconf sysinfo getaddrinfo ioctl",
    ),
    (
        Chance::Schedule,
        "pthread_spin_trylock pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock pthread_barrier_wait sem_getvalue kill \
         pthread_sigqueue sigqueue pthread_mutex_trylock pthread_mutex_timedlock pthread_mutex_clocklock pthread_rwlock_tryrdlock \
         pthread_rwlock_trywrlock pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock \
         pthread_cond_timedwait pthread_cond_clockwait pthread_tryjoin_np pthread_timedjoin_np pthread_cancel \
         pthread_kill pthread_once sem_wait sem_trywait sem_timedwait sem_clockwait sem_post call_once \
         thrd_create thrd_join mtx_lock mtx_trylock mtx_timedlock cnd_wait cnd_timedwait cnd_signal cnd_broadcast",
    ),
];

/// Functions of Rust and C++, by the end of their path: the last name, and one before it.
const PATHS: [(Chance, &str); 5] = [
    (
        Chance::Time,
        "Instant::now Instant::elapsed SystemTime::now SystemTime::elapsed steady_clock::now \
         system_clock::now high_resolution_clock::now",
    ),
    (
        Chance::Random,
        "RandomState::new RandomState::default random::hashmap_random_keys random_device::operator() random_device::_M_getval \
         rand::thread_rng rand::rng rand::random OsRng::next_u32 OsRng::next_u64 \
         OsRng::fill_bytes getrandom::getrandom getrandom::fill",
    ),
    (
        Chance::Identity,
        "process::id thread::current this_thread::get_id thread::available_parallelism \
         thread::hardware_concurrency",
    ),
    (
        Chance::Outside,
        "fs::read fs::read_to_string fs::read_dir fs::metadata Read::read Read::read_to_end \
         Read::read_to_string Read::read_exact BufRead::read_line Stdin::read_line env::var env::var_os \
         env::vars env::current_dir istream::read istream::get istream::operator>> istream::_M_extract",
    ),
    (
        Chance::Schedule,
        "Mutex::try_lock RwLock::try_read RwLock::try_write Receiver::try_recv Receiver::recv_timeout \
         Receiver::recv_deadline Receiver::try_iter SyncSender::try_send SyncSender::send_timeout \
         Condvar::wait_timeout Condvar::wait_timeout_ms Condvar::wait_timeout_while \
         BarrierWaitResult::is_leader OnceLock::get OnceLock::set OnceLock::get_or_init \
         OnceLock::get_or_try_init Once::call_once Once::call_once_force Once::is_completed LazyLock::force \
         LazyLock::deref thread::park thread::park_timeout JoinHandle::is_finished ScopedJoinHandle::is_finished Arc::strong_count Arc::weak_count \
         Arc::try_unwrap Arc::get_mut Arc::into_inner Arc::make_mut Arc::unwrap_or_clone Weak::upgrade \
         Weak::strong_count Weak::weak_count",
    ),
];

/// What C libraries and compilers put before the names of functions.
const PREFIXES: [&str; 4] = ["__isoc99_", "__isoc23_", "__GI_", "__libc_"];

/// The names in a path: of `<std::io::Stdin as std::io::Read>::read`, `Stdin`, `Read` and `read` among others.
///
/// Arguments in round brackets are left out; a mangled name has names as well, with their lengths before them.
fn parts(name: &str) -> Vec<&str> {
    if let Some(mangled) = ["_ZN", "_R"].iter().find_map(|prefix| name.strip_prefix(prefix)) {
        return mangled_parts(mangled);
    }
    let is_operator = |at: usize| name[..at].ends_with("operator");
    let end = name.match_indices('(').map(|(at, _)| at).find(|&at| !is_operator(at));
    let name = &name[..end.unwrap_or(name.len())];
    // An operator is one name, whatever it consists of.
    let (path, operator) = match name.find("operator") {
        Some(at) if name[..at].ends_with("::") => (&name[..at], Some(&name[at..])),
        _ => (name, None),
    };
    let separators = |c: char| !(c.is_alphanumeric() || c == '_' || c == '.');
    let names = path.split(separators).filter(|part| !part.is_empty() && !is_hash(part));
    names.chain(operator).collect()
}

/// What Rust puts at the end of names to tell them apart.
fn is_hash(part: &str) -> bool {
    let digits = part.strip_prefix('h').filter(|digits| digits.len() == 16);
    digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// The names in a mangled name: wherever there is a length and so many characters of a name after it.
fn mangled_parts(mut text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    while let Some(digit) = text.find(|c: char| c.is_ascii_digit()) {
        text = &text[digit..];
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let length = text[..digits].parse::<usize>().unwrap_or(0);
        text = &text[digits..];
        // What refers back to something, like `B2_7Instant`, looks like a name that begins with `_7`.
        let is_name = |name: &&str| {
            let mut bytes = name.bytes();
            let refers =
                bytes.next() == Some(b'_') && bytes.next().is_some_and(|b| b.is_ascii_digit());
            let is_plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            !name.is_empty() && is_plain && !refers
        };
        if let Some(name) = text.get(..length).filter(is_name) {
            if !is_hash(name) {
                parts.push(name);
            }
            text = &text[length..];
        }
    }
    parts
}

/// Why a function is not deterministic; `None` if it is on no list.
///
/// ```
/// use allways_epa::determinism::{Chance, chance};
/// assert_eq!(chance("clock_gettime"), Some(Chance::Time));
/// assert_eq!(chance("std::time::Instant::now"), Some(Chance::Time));
/// assert_eq!(chance("_ZN3std4time7Instant3now17h0123456789abcdefE"), Some(Chance::Time));
/// assert_eq!(chance("fread"), Some(Chance::Outside));
/// assert_eq!(chance("my_rand"), None);
/// ```
pub fn chance(function: &str) -> Option<Chance> {
    let plain = PREFIXES.iter().find_map(|prefix| function.strip_prefix(prefix));
    let plain = plain.unwrap_or(function);
    let known = FUNCTIONS.iter().find(|(_, names)| names.split(' ').any(|name| name == plain));
    if let Some((chance, _)) = known {
        return Some(*chance);
    }
    let parts = parts(function);
    let (last, before) = parts.split_last()?;
    let known = PATHS.iter().find(|(_, paths)| {
        paths.split(' ').filter_map(|path| path.split_once("::")).any(|(parent, name)| {
            // Templates and traits come between: `basic_istream<char>::read`, `<Stdin as Read>::read`.
            let is_parent =
                |part: &str| part == parent || part.strip_prefix("basic_") == Some(parent);
            *last == name && before.iter().rev().take(8).any(|part| is_parent(part))
        })
    });
    known.map(|(chance, _)| *chance)
}

/// Calls of a function that is not deterministic, at one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hit {
    /// The site of the call.
    pub site: u32,
    /// The function that is called.
    pub callee: String,
    /// Why it is not deterministic.
    pub chance: Chance,
    /// The function that calls it.
    pub function: String,
    /// The file of the source; empty if it is not known.
    pub file: String,
    /// The line of the source; 0 if it is not known.
    pub line: u32,
    /// How often it was called.
    pub count: u64,
}

impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Hit { callee, chance, function, file, line, count, .. } = self;
        let times = if *count == 1 { "once".to_owned() } else { format!("{count} times") };
        write!(f, "`{callee}` {chance}: called {times} by `{function}`")?;
        match (file.as_str(), line) {
            ("", _) => Ok(()),
            (file, 0) => write!(f, " ({file})"),
            (file, line) => write!(f, " ({file}:{line})"),
        }
    }
}

/// Which calls of a run were of functions that are not deterministic: those on the lists and `more`, less those that
/// are `fine`. Names are as in [`crate::format::Site::callee`], or those of globals, if a function is called through a pointer.
/// Hits are sorted by why, then by site.
///
/// ```
/// use allways_epa::determinism::{Chance, hits};
/// use allways_epa::format::{Opcode, Program, Record, Site};
/// use allways_epa::trace::{Stream, Trace};
/// let call = |callee: &str| Site {
///     opcode: Opcode::Call,
///     name: format!("call-{callee}"),
///     function: "main".into(),
///     file: "main.c".into(),
///     line: 7,
///     bytes: 0,
///     has_result: true,
///     callee: callee.into(),
///     values: Vec::new(),
/// };
/// let sites = vec![call("rand"), call("puts"), call("time")];
/// let program = Program { sites, ..Program::default() };
/// let mut bytes = Vec::new();
/// for site in [0, 1, 0, 2] {
///     Record::Instruction { site, values: &[] }.put(&mut bytes);
/// }
/// let streams = vec![Stream { thread: 0, bytes }];
/// let trace = Trace { program, addresses: Vec::new(), streams, incomplete: Vec::new() };
/// let hits = hits(&trace, &[], &["time".to_owned()])?;
/// assert_eq!(hits.len(), 1);
/// assert_eq!(hits[0].to_string(), "`rand` is random: called 2 times by `main` (main.c:7)");
/// # Ok::<(), allways_epa::format::Malformed>(())
/// ```
///
/// # Errors
///
/// If the trace is none of its program.
pub fn hits(trace: &Trace, more: &[String], fine: &[String]) -> Result<Vec<Hit>, Malformed> {
    let callees = Callees::new(trace);
    let mut counts = FxHashMap::<(u32, &str), u64>::default();
    for stream in &trace.streams {
        let mut records = Records::new(&trace.program, &stream.bytes);
        while let Some(record) = records.next()? {
            let Record::Instruction { site: number, values } = record else { continue };
            let site = &trace.program.sites[number as usize];
            if site.opcode == Opcode::Call {
                *counts.entry((number, callees.name(site, values))).or_insert(0) += 1;
            }
        }
    }
    let is_named = |names: &[String], callee: &str| names.iter().any(|name| name == callee);
    let hits = counts.into_iter().filter_map(|((number, callee), count)| {
        if is_named(fine, callee) {
            return None;
        }
        let named = is_named(more, callee).then_some(Chance::Named);
        let chance = chance(callee).or(named)?;
        let site = &trace.program.sites[number as usize];
        // Who is the last at a barrier depends on the schedule; but here nobody asks.
        if callee == "pthread_barrier_wait" && !site.has_result {
            return named.map(|_| (number, callee, Chance::Named, count));
        }
        // How large stacks are to be, which Rust's library reads from the environment before it creates its first thread.
        if chance == Chance::Outside && site.function.starts_with("std::thread::") {
            return named.map(|_| (number, callee, Chance::Named, count));
        }
        Some((number, callee, chance, count))
    });
    let hits = hits.map(|(number, callee, chance, count)| {
        let site = &trace.program.sites[number as usize];
        Hit {
            site: number,
            callee: callee.to_owned(),
            chance,
            function: site.function.clone(),
            file: site.file.clone(),
            line: site.line,
            count,
        }
    });
    let mut hits: Vec<Hit> = hits.collect();
    hits.sort_by(|a, b| (a.chance, a.site, &a.callee).cmp(&(b.chance, b.site, &b.callee)));
    Ok(hits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_languages_are_known() {
        for (name, expected) in [
            ("rand", Some(Chance::Random)),
            ("__isoc99_fscanf", Some(Chance::Outside)),
            ("getpid", Some(Chance::Identity)),
            ("std::time::SystemTime::now", Some(Chance::Time)),
            ("std::time::Instant::now::h0123456789abcdef", Some(Chance::Time)),
            (
                "<std::hash::random::RandomState as core::default::Default>::default",
                Some(Chance::Random),
            ),
            ("std::collections::hash_map::RandomState::new", Some(Chance::Random)),
            ("<std::fs::File as std::io::Read>::read", Some(Chance::Outside)),
            ("std::chrono::_V2::steady_clock::now()", Some(Chance::Time)),
            ("std::random_device::operator()()", Some(Chance::Random)),
            (
                "std::basic_istream<char, std::char_traits<char> >::read(char*, long)",
                Some(Chance::Outside),
            ),
            ("_ZNSt6chrono3_V212steady_clock3nowEv", Some(Chance::Time)),
            ("_ZN3std4time10SystemTime3now17habcdef0123456789E", Some(Chance::Time)),
            ("_RNvMNtCs1234_3std4timeNtB2_7Instant3now", Some(Chance::Time)),
            ("std::sync::poison::mutex::Mutex<T>::try_lock", Some(Chance::Schedule)),
            ("std::sync::poison::mutex::Mutex<T>::lock", None),
            ("std::sync::mpsc::Receiver<T>::recv_timeout", Some(Chance::Schedule)),
            ("std::sync::mpsc::Receiver<T>::recv", None),
            ("alloc::sync::Arc<T,A>::strong_count", Some(Chance::Schedule)),
            ("<alloc::sync::Arc<T,A> as core::clone::Clone>::clone", None),
            (
                "<std::sync::lazy_lock::LazyLock<T,F> as core::ops::deref::Deref>::deref",
                Some(Chance::Schedule),
            ),
            ("std::sync::once_lock::OnceLock<T>::get_or_init", Some(Chance::Schedule)),
            ("std::sync::once::Once::call_once", Some(Chance::Schedule)),
            ("core::ops::function::FnOnce::call_once", None),
            ("std::thread::functions::park", Some(Chance::Schedule)),
            ("std::thread::join_handle::JoinHandle<T>::is_finished", Some(Chance::Schedule)),
            ("<std::sync::barrier::BarrierWaitResult>::is_leader", Some(Chance::Schedule)),
            ("", None),
            ("malloc", None),
            ("brand", None),
            ("my::Instant::then", None),
            ("now", None),
            ("_ZN", None),
            ("_ZN99999999999999999999999x", None),
            ("_RNé3é", None),
            ("strand::time", None),
        ] {
            assert_eq!(chance(name), expected, "{name}");
        }
    }
}
