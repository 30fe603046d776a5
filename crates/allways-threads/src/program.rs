//! What is checked: processes, each with threads of its own.

use crate::machine::Threads;
use crate::runtime::Main;
use allways::machine::{self, Machines};
use allways::{
    Checkable, Error, MinimiseOptions, Minimised, Options, Outcome, PropertyKind, Replayed, Run,
    SavedRun, Story, Violation,
};
use std::sync::Arc;

/// The stack of a thread, unless the program says otherwise.
const STACK_SIZE: usize = 1 << 20;

/// Processes that are run every way they can run.
///
/// ```
/// use allways_threads::{Program, sync::{Arc, Mutex}, thread};
///
/// let outcome = Program::new(|| {
///     let counter = Arc::new(Mutex::new(0));
///     let threads = [1, 2].map(|n| {
///         let counter = Arc::clone(&counter);
///         thread::spawn(move || *counter.lock().unwrap() += n)
///     });
///     threads.map(|thread| thread.join().unwrap());
///     assert_eq!(*counter.lock().unwrap(), 3);
/// })
/// .check();
/// assert!(outcome.assert_holds().complete);
/// assert_eq!(outcome.statistics.runs, Some(2));
/// ```
pub struct Program {
    mains: Vec<Arc<Main>>,
    stack_size: usize,
    is_plain: bool,
}

impl Program {
    /// A program of one process, whose main thread does this.
    ///
    /// ```
    /// use allways_threads::Program;
    /// assert!(Program::new(|| ()).check().complete);
    /// ```
    pub fn new(main: impl Fn() + Send + Sync + 'static) -> Self {
        Program { mains: Vec::new(), stack_size: STACK_SIZE, is_plain: false }.process("main", main)
    }

    /// A program of no process as yet.
    ///
    /// ```
    /// use allways_threads::Program;
    /// let program = Program::of_processes().process("client", || ()).process("server", || ());
    /// assert!(program.check().complete);
    /// ```
    pub fn of_processes() -> Self {
        Program { mains: Vec::new(), stack_size: STACK_SIZE, is_plain: false }
    }

    /// Adds a process: its name, and what its main thread does.
    ///
    /// ```
    /// use allways_threads::Program;
    /// assert!(Program::of_processes().process("client", || ()).check().complete);
    /// ```
    #[must_use]
    pub fn process(
        mut self,
        name: impl Into<String>,
        main: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        self.add(name.into(), Box::new(main), false);
        self
    }

    /// Adds a process that is there for others: its threads may wait for ever, and need not be joined.
    ///
    /// ```
    /// use allways_threads::{Program, thread};
    /// let program = Program::new(|| ()).server("server", thread::park);
    /// assert!(program.check().complete);
    /// ```
    #[must_use]
    pub fn server(
        mut self,
        name: impl Into<String>,
        main: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        self.add(name.into(), Box::new(main), true);
        self
    }

    /// How large the stack of each thread is, in bytes; a mebibyte unless set.
    ///
    /// ```
    /// use allways_threads::Program;
    /// assert!(Program::new(|| ()).stack_size(1 << 16).check().complete);
    /// ```
    #[must_use]
    pub fn stack_size(self, stack_size: usize) -> Self {
        Program { stack_size, ..self }
    }

    /// Says that nobody looks at whether a future is ready: futures are awaited, and otherwise polled only by what is in [`future`](crate::future). Then a
    /// task that awaits something that is not there may as well block as a thread does, and there are as many runs as with threads. Otherwise whether it was
    /// there at once is a difference that somebody may see, and both are tried.
    ///
    /// If it is not so (a `poll_fn`, a hand-written future or another crate's `join!` polls futures of this crate), runs are missed, and
    /// deadlocks may be found that are none.
    ///
    /// ```
    /// use allways_threads::{Program, future::{block_on, spawn}};
    /// let main = || block_on(async {
    ///     let tasks = [1, 2, 3].map(|n| spawn(async move { n }));
    ///     for task in tasks {
    ///         task.await.unwrap();
    ///     }
    /// });
    /// assert_eq!(Program::new(main).check().statistics.runs, Some(8));
    /// assert_eq!(Program::new(main).plain_awaits().check().statistics.runs, Some(1));
    /// ```
    #[must_use]
    pub fn plain_awaits(self) -> Self {
        Program { is_plain: true, ..self }
    }

    fn add(&mut self, name: String, body: Box<dyn Fn() + Send + Sync>, serves: bool) {
        self.mains.push(Arc::new(Main { name, body, serves }));
    }

    /// Checks the program with the default options, as the environment changes them. A check that takes long says so on
    /// standard error.
    ///
    /// ```
    /// use allways_threads::Program;
    /// assert!(Program::new(|| ()).check().complete);
    /// ```
    ///
    /// # Panics
    ///
    /// With one clear sentence if the program cannot be checked. A violation is not a panic: see [`Outcome::assert_holds`].
    #[track_caller]
    pub fn check(&self) -> Outcome {
        match self.validate().and_then(|()| machine::check_by_the_environment(self)) {
            Ok(outcome) => outcome,
            Err(error) => panic!("{error}"),
        }
    }

    /// Checks the program.
    ///
    /// ```
    /// use allways::Options;
    /// use allways_threads::Program;
    /// assert!(Program::new(|| ()).try_check(&Options::default()).unwrap().complete);
    /// ```
    ///
    /// # Errors
    ///
    /// If the options make no sense, or a thread hides something from the checker.
    pub fn try_check(&self, options: &Options) -> Result<Outcome, Error> {
        self.validate()?;
        machine::check(self, options)
    }

    /// Carries a saved run out again, against the program as it is now.
    ///
    /// ```
    /// use allways::SavedRun;
    /// use allways_threads::{Program, rand};
    /// let program = Program::new(|| assert!(rand::below(3) != 1));
    /// let saved = SavedRun::new("dice", [("sides", "3")], &program.check()).unwrap();
    /// assert!(program.replay(&saved).unwrap().still_violates());
    /// ```
    ///
    /// # Errors
    ///
    /// If a thread hides something from the checker.
    pub fn replay(&self, saved: &SavedRun) -> Result<Replayed, Error> {
        self.validate()?;
        machine::replay(self, saved)
    }

    fn validate(&self) -> Result<(), Error> {
        match self.mains.is_empty() {
            true => Err(Error::System("the program has no process; give it one".to_owned())),
            false => Ok(()),
        }
    }
}

impl Machines for Program {
    type Machine = Threads;

    fn make(&self) -> Result<Threads, Error> {
        Ok(Threads::new(self.mains.clone().into(), self.stack_size, self.is_plain))
    }
}

impl Checkable for Program {
    fn check_with(&self, options: &Options) -> Result<Outcome, Error> {
        self.try_check(options)
    }

    fn property_names(&self) -> Vec<(String, PropertyKind)> {
        Vec::new()
    }

    fn replay(&self, saved: &SavedRun) -> Result<Replayed, Error> {
        Program::replay(self, saved)
    }

    fn story(&self, run: &Run) -> Result<Story, Error> {
        machine::story(self, run)
    }

    fn violation_story(&self, violation: &Violation) -> Result<Story, Error> {
        machine::violation_story(self, violation)
    }

    fn minimise(
        &self,
        violation: &Violation,
        options: &MinimiseOptions,
    ) -> Result<(Violation, Minimised), Error> {
        machine::minimise(self, violation, options)
    }
}
