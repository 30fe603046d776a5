//! Threads, as in `std::thread`.

mod local;
mod scoped;

pub use local::{AccessError, LocalKey};
pub use scoped::{Scope, ScopedJoinHandle, scope};

use crate::handle::Handle as Object;
use crate::runtime::fiber::Job;
use crate::runtime::names::Own;
use crate::runtime::op::{Kind, NONE, Op};
use crate::runtime::{Waits, access, current as in_check, round, wait};
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::io;
use std::num::NonZero;
use std::panic::Location;
use std::rc::Rc;
pub use std::thread::panicking;
use std::time::Duration;

/// What a thread ends with: what it returns, or what it panicked with.
///
/// ```
/// let result: allways_threads::thread::Result<u32> = allways_threads::thread::spawn(|| 7).join();
/// assert_eq!(result.unwrap(), 7);
/// ```
pub type Result<T> = std::thread::Result<T>;

/// Lets one wait for a thread.
///
/// ```
/// let thread = allways_threads::thread::spawn(|| 7);
/// assert_eq!(thread.join().unwrap(), 7);
/// ```
pub struct JoinHandle<T> {
    inner: Handle<T>,
}

pub(crate) enum Handle<T> {
    Real(std::thread::JoinHandle<T>),
    Led { thread: u32, result: Packet<T> },
}

/// Where a thread leaves what it returns.
pub(crate) struct Packet<T>(Rc<dyn Holds<T>>);
// Safety: what is in it is only used by threads under control, which all run on one thread of the operating system.
unsafe impl<T> Send for Packet<T> {}
// Safety: as above.
unsafe impl<T> Sync for Packet<T> {}

/// The thread that runs waits for the end of another.
pub(crate) fn wait_for(thread: u32, at: &'static Location<'static>) {
    if let Some(runtime) = in_check()
        && !runtime.join(thread)
        && wait(Waits::Thread(thread), at)
        && let Some(runtime) = in_check()
    {
        runtime.join(thread);
    }
}

/// What a thread returns that returns nothing: whoever waits for it while it cleans up gets that, since destructors like to unwrap it, and to panic there
/// ends the process.
fn nothing<T>() -> Option<T> {
    let is_nothing = size_of::<T>() == 0 && std::any::type_name::<T>() == "()";
    // Safety: it is `()`, of which there is one.
    is_nothing.then(|| unsafe { std::mem::transmute_copy::<(), T>(&()) })
}

impl<T> Handle<T> {
    fn join(self, at: &'static Location<'static>) -> Result<T> {
        match self {
            Handle::Real(real) => real.join(),
            Handle::Led { thread, result } => {
                wait_for(thread, at);
                let value = result.0.take().or_else(nothing);
                value.ok_or_else(|| Box::new("the thread was given up") as Box<dyn Any + Send>)
            }
        }
    }

    fn thread(&self) -> Thread {
        match self {
            Handle::Real(real) => Thread::real(real.thread().clone()),
            Handle::Led { thread, .. } => Thread::led(*thread),
        }
    }

    #[inline(always)]
    fn is_finished(&self, at: &'static Location<'static>) -> bool {
        match self {
            Handle::Real(real) => real.is_finished(),
            Handle::Led { thread, .. } => {
                let Some(runtime) = in_check() else { return true };
                // Whether it has ended matters now, so its end has to be an event.
                runtime.population.names.watch(*thread);
                let object = runtime.population.names.own(*thread, Own::End);
                Object::of(runtime, object).read(Kind::Load, 0, at);
                in_check().is_none_or(|runtime| runtime.has_ended(*thread))
            }
        }
    }
}

#[allow(missing_docs, reason = "each is what it is in std")]
impl<T> JoinHandle<T> {
    /// That the thread panicked is never seen under control: the run ends there.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.inner.join(Location::caller())
    }

    pub fn thread(&self) -> Thread {
        self.inner.thread()
    }

    #[track_caller]
    #[inline(always)]
    pub fn is_finished(&self) -> bool {
        self.inner.is_finished(Location::caller())
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JoinHandle { .. }")
    }
}

/// Begins a thread.
///
/// ```
/// allways_threads::thread::spawn(|| ()).join().unwrap();
/// ```
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match in_check() {
        None => JoinHandle { inner: Handle::Real(std::thread::spawn(f)) },
        // Safety: it borrows nothing.
        Some(_) => JoinHandle { inner: unsafe { led(None, Location::caller(), f) } },
    }
}

/// A thread under control.
///
/// # Safety
///
/// What it borrows must stay until it has ended.
unsafe fn led<'a, F, T>(name: Option<String>, at: &'static Location<'static>, f: F) -> Handle<T>
where
    F: FnOnce() -> T + Send + 'a,
    T: Send + 'a,
{
    if in_check().is_some_and(|runtime| runtime.trial.is_some()) {
        round::conclude(false);
    }
    let task = Rc::new(Task { f: RefCell::new(Some(f)), result: RefCell::new(None) });
    let result: Rc<dyn Holds<T> + 'a> = Rc::<Task<F, T>>::clone(&task);
    let job: Rc<dyn Job + 'a> = task;
    // Safety: the caller says that it lives long enough.
    let job: Rc<dyn Job + 'static> = unsafe { std::mem::transmute(job) };
    // Safety: as above.
    let result: Rc<dyn Holds<T> + 'static> = unsafe { std::mem::transmute(result) };
    let thread = in_check().map_or(NONE, |runtime| runtime.spawn(name, at, job));
    Handle::Led { thread, result: Packet(result) }
}

/// What a thread does and what comes of it.
struct Task<F, T> {
    f: RefCell<Option<F>>,
    result: RefCell<Option<T>>,
}

/// Something that has what a thread returned.
trait Holds<T> {
    fn take(&self) -> Option<T>;
}

impl<F, T> Holds<T> for Task<F, T> {
    fn take(&self) -> Option<T> {
        self.result.borrow_mut().take()
    }
}

impl<F: FnOnce() -> T, T> Job for Task<F, T> {
    fn run(&self) {
        let f = self.f.borrow_mut().take();
        if let Some(f) = f {
            let value = f();
            *self.result.borrow_mut() = Some(value);
        }
    }
}

/// Makes a thread with a name, as in `std::thread`.
///
/// ```
/// use allways_threads::thread::Builder;
/// let thread = Builder::new().name("worker".to_owned()).spawn(|| 7).unwrap();
/// assert_eq!(thread.join().unwrap(), 7);
/// ```
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

#[allow(missing_docs, reason = "each is what it is in std")]
impl Builder {
    pub fn new() -> Self {
        Builder::default()
    }

    #[must_use]
    pub fn name(self, name: String) -> Self {
        Builder { name: Some(name), ..self }
    }

    /// Under control all threads have stacks of one size: see [`Program::stack_size`](crate::Program::stack_size).
    #[must_use]
    pub fn stack_size(self, size: usize) -> Self {
        Builder { stack_size: Some(size), ..self }
    }

    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        if in_check().is_some() {
            // Safety: it borrows nothing.
            return Ok(JoinHandle { inner: unsafe { led(self.name, Location::caller(), f) } });
        }
        let mut builder = std::thread::Builder::new();
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        Ok(JoinHandle { inner: Handle::Real(builder.spawn(f)?) })
    }
}

/// A thread, as in `std::thread`.
///
/// ```
/// allways_threads::thread::current().unpark();
/// allways_threads::thread::park();
/// ```
#[derive(Clone, Debug)]
pub struct Thread {
    inner: Inner,
}

#[derive(Clone, Debug)]
enum Inner {
    Real(std::thread::Thread),
    Led { thread: u32, name: Option<String> },
}

/// What tells threads apart.
///
/// ```
/// let own = allways_threads::thread::current().id();
/// assert_eq!(own, allways_threads::thread::current().id());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadId(Id);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Id {
    Real(std::thread::ThreadId),
    Led(u32),
}

#[allow(missing_docs, reason = "each is what it is in std")]
impl Thread {
    pub(crate) fn real(thread: std::thread::Thread) -> Self {
        Thread { inner: Inner::Real(thread) }
    }

    fn led(thread: u32) -> Self {
        let name = in_check().and_then(|runtime| {
            runtime.population.threads.get(thread as usize).and_then(|thread| thread.name.clone())
        });
        Thread { inner: Inner::Led { thread, name } }
    }

    pub fn id(&self) -> ThreadId {
        ThreadId(match &self.inner {
            Inner::Real(real) => Id::Real(real.id()),
            Inner::Led { thread, .. } => Id::Led(*thread),
        })
    }

    pub fn name(&self) -> Option<&str> {
        match &self.inner {
            Inner::Real(real) => real.name(),
            Inner::Led { name, .. } => name.as_deref(),
        }
    }

    #[track_caller]
    pub fn unpark(&self) {
        match &self.inner {
            Inner::Real(real) => real.unpark(),
            Inner::Led { thread, .. } => {
                let Some(runtime) = in_check() else { return };
                let object = runtime.population.names.own(*thread, Own::Token);
                let at = Location::caller();
                let argument = u64::from(*thread);
                access(Op { kind: Kind::Unpark, object, argument, said: 0, at });
            }
        }
    }
}

/// The thread that runs.
///
/// ```
/// allways_threads::thread::current();
/// ```
pub fn current() -> Thread {
    match in_check() {
        None => Thread::real(std::thread::current()),
        Some(runtime) => Thread::led(runtime.running()),
    }
}

/// Waits for a token: see [`Thread::unpark`].
///
/// ```
/// allways_threads::thread::current().unpark();
/// allways_threads::thread::park();
/// ```
#[track_caller]
pub fn park() {
    let Some(runtime) = in_check() else { return std::thread::park() };
    let object = runtime.population.names.own(runtime.running(), Own::Token);
    access(Op { kind: Kind::Park, object, argument: 0, said: 0, at: Location::caller() });
}

/// Waits for a token, or until that takes too long, which is a choice in a check.
///
/// ```
/// allways_threads::thread::park_timeout(std::time::Duration::from_millis(1));
/// ```
#[track_caller]
pub fn park_timeout(duration: Duration) {
    let Some(runtime) = in_check() else { return std::thread::park_timeout(duration) };
    let object = runtime.population.names.own(runtime.running(), Own::Token);
    let at = Location::caller();
    let op = Op { kind: Kind::ParkOrLate, object, argument: 0, said: 0, at };
    if !access(op).succeeded()
        && let Some(runtime) = in_check()
    {
        runtime.pass(duration);
    }
}

/// Waits for some time. In a check nobody waits: others may do anything meanwhile, or nothing.
///
/// ```
/// allways_threads::thread::sleep(std::time::Duration::from_millis(1));
/// ```
pub fn sleep(duration: Duration) {
    match in_check() {
        None => std::thread::sleep(duration),
        Some(runtime) => runtime.pass(duration),
    }
}

/// Lets others run. In a check they may run anyway.
///
/// ```
/// allways_threads::thread::yield_now();
/// ```
#[track_caller]
pub fn yield_now() {
    match in_check() {
        Some(runtime) => runtime.idle(Location::caller()),
        None => std::thread::yield_now(),
    }
}

/// How many threads make sense; two in a check.
///
/// ```
/// assert!(allways_threads::thread::available_parallelism().unwrap().get() > 0);
/// ```
///
/// # Errors
///
/// If the operating system does not tell.
pub fn available_parallelism() -> io::Result<NonZero<usize>> {
    match (in_check(), NonZero::new(2)) {
        (Some(_), Some(two)) => Ok(two),
        _ => std::thread::available_parallelism(),
    }
}
