//! Threads, as in `std::thread`.

use crate::runtime::op::NONE;
use crate::runtime::{Waits, current, wait};
use std::any::Any;
use std::cell::RefCell;
use std::io;
use std::panic::Location;
use std::rc::Rc;

/// What a thread ends with: what it returns, or what it panicked with.
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

enum Handle<T> {
    Real(std::thread::JoinHandle<T>),
    Led { thread: u32, result: Packet<T> },
}

/// Where a thread leaves what it returns. All threads of a check run on one thread of the operating system.
type Packet<T> = Shared<Rc<RefCell<Option<T>>>>;

struct Shared<T>(T);
// Safety: what is in it is only used by threads under control, which all run on one thread of the operating system.
unsafe impl<T> Send for Shared<T> {}
// Safety: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T> JoinHandle<T> {
    /// Waits for the thread to end.
    ///
    /// ```
    /// let thread = allways_threads::thread::spawn(|| 7);
    /// assert_eq!(thread.join().unwrap(), 7);
    /// ```
    ///
    /// # Errors
    ///
    /// If it panicked. Under control that is never seen: the run ends there.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.inner {
            Handle::Real(real) => real.join(),
            Handle::Led { thread, result } => {
                if let Some(runtime) = current()
                    && !runtime.join(thread)
                    && wait(Waits::Thread(thread), Location::caller())
                    && let Some(runtime) = current()
                {
                    runtime.join(thread);
                }
                let value = result.0.borrow_mut().take();
                value.ok_or_else(|| Box::new("the thread was given up") as Box<dyn Any + Send>)
            }
        }
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
    match current() {
        None => JoinHandle { inner: Handle::Real(std::thread::spawn(f)) },
        Some(_) => JoinHandle { inner: led(None, f) },
    }
}

fn led<F, T>(name: Option<String>, f: F) -> Handle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let result = Rc::new(RefCell::new(None));
    let packet = Rc::clone(&result);
    let body = Box::new(move || {
        let value = f();
        *packet.borrow_mut() = Some(value);
    });
    let thread = current().map_or(NONE, |runtime| runtime.spawn(name, body));
    Handle::Led { thread, result: Shared(result) }
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

impl Builder {
    /// A thread without a name.
    ///
    /// ```
    /// allways_threads::thread::Builder::new();
    /// ```
    pub fn new() -> Self {
        Builder::default()
    }

    /// Names it.
    ///
    /// ```
    /// allways_threads::thread::Builder::new().name("worker".to_owned());
    /// ```
    #[must_use]
    pub fn name(self, name: String) -> Self {
        Builder { name: Some(name), ..self }
    }

    /// Asks for a stack of this size; under control all threads have stacks of one size.
    ///
    /// ```
    /// allways_threads::thread::Builder::new().stack_size(1 << 20);
    /// ```
    #[must_use]
    pub fn stack_size(self, size: usize) -> Self {
        Builder { stack_size: Some(size), ..self }
    }

    /// Begins the thread.
    ///
    /// ```
    /// allways_threads::thread::Builder::new().spawn(|| ()).unwrap().join().unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// If the operating system cannot make one.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        if current().is_some() {
            return Ok(JoinHandle { inner: led(self.name, f) });
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
