//! What is checked: processes, each with threads of its own.

use crate::machine::Threads;
use crate::runtime::Main;
use crate::runtime::log::{digest, mix};
use crate::runtime::names::Register;
use crate::runtime::network::Conditions;
use allways::machine::{self, Machines};
use allways::{
    Checkable, Components, Error, MinimiseOptions, Minimised, Options, Outcome, PropertyKind,
    Replayed, Run, SavedRun, Story, Violation,
};
use std::path::Path;
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
    ends_within: Option<u64>,
    /// The numbers of threads and objects, the same for all who explore.
    register: Arc<Register>,
    conditions: Conditions,
    is_plain: bool,
    components: Components,
}

impl Program {
    /// A program of one process, whose main thread does this.
    ///
    /// ```
    /// use allways_threads::Program;
    /// assert!(Program::new(|| ()).check().complete);
    /// ```
    pub fn new(main: impl Fn() + Send + Sync + 'static) -> Self {
        Program::of_processes().process("main", main)
    }

    /// A program of no process as yet.
    ///
    /// ```
    /// use allways_threads::Program;
    /// let program = Program::of_processes().process("client", || ()).process("server", || ());
    /// assert!(program.check().complete);
    /// ```
    pub fn of_processes() -> Self {
        Program {
            mains: Vec::new(),
            stack_size: STACK_SIZE,
            ends_within: None,
            conditions: Conditions::default(),
            register: Arc::default(),
            is_plain: false,
            components: Components::default(),
        }
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

    /// Says that all runs end within so many steps: one that does not, and in which all threads that can go on have taken turns to the last, is a
    /// livelock. Unless this is said, longer runs are only cut off where [`Options::max_depth`] has it.
    ///
    /// ```
    /// use allways::{Cause, Engine, Options, Trouble};
    /// use allways_threads::sync::{Arc, Mutex};
    /// use allways_threads::{Program, thread};
    ///
    /// // Both are polite for ever.
    /// let program = Program::new(|| {
    ///     let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
    ///     let polite = |first: usize| {
    ///         let locks = Arc::clone(&locks);
    ///         thread::spawn(move || {
    ///             loop {
    ///                 let _first = locks[first].lock();
    ///                 if locks[1 - first].try_lock().is_ok() {
    ///                     break;
    ///                 }
    ///             }
    ///         })
    ///     };
    ///     [0, 1].map(polite).map(|thread| thread.join().unwrap());
    /// })
    /// .ends_within(60);
    /// let options = Options { engine: Engine::Walk, seed: 5, runs: 1_000_000, ..Options::default() };
    /// let outcome = program.try_check(&options).unwrap();
    /// assert_eq!(outcome.violation.unwrap().cause, Cause::Trouble(Trouble::Livelock));
    /// ```
    #[must_use]
    pub fn ends_within(self, steps: u64) -> Self {
        Program { ends_within: Some(steps), ..self }
    }

    /// The options as the program has them.
    fn bounded(&self, options: &Options) -> Options {
        let max_depth = match (options.max_depth, self.ends_within) {
            (Some(asked), Some(own)) => Some(asked.min(own)),
            (asked, own) => asked.or(own),
        };
        Options { max_depth, ..options.clone() }
    }

    /// How often a read from a stream may return less than there is, for each direction of each [stream](crate::net::TcpStream); never unless set.
    ///
    /// Each time it may return any number of bytes, from one to all but one, and all of that is tried. So the runs multiply by about
    /// the number of bytes, for each stream: like all that may go wrong it is to be asked for, and one is enough to find who forgets to read
    /// the rest. `read_exact` and `read_to_end` are not concerned: nobody can tell how often they read.
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// use allways_threads::{Program, thread};
    /// use std::io::{Read, Write};
    ///
    /// let program = Program::new(|| {
    ///     let listener = TcpListener::bind("main:80").unwrap();
    ///     let client = thread::spawn(|| {
    ///         TcpStream::connect("main:80").unwrap().write_all(b"hello").unwrap();
    ///     });
    ///     let mut bytes = [0; 5];
    ///     assert_eq!(listener.accept().unwrap().0.read(&mut bytes).unwrap(), 5);
    ///     client.join().unwrap();
    /// });
    /// program.check().assert_holds();
    /// assert!(program.short_reads(1).check().violation.is_some());
    /// ```
    #[must_use]
    pub fn short_reads(mut self, n: u32) -> Self {
        self.conditions.short_reads = n;
        self
    }

    /// How many [datagrams](crate::net::UdpSocket) may be lost in a run; none unless set.
    ///
    /// ```
    /// use allways_threads::Program;
    /// use allways_threads::net::UdpSocket;
    ///
    /// let program = Program::new(|| {
    ///     let [a, b] = ["main:1", "main:2"].map(|address| UdpSocket::bind(address).unwrap());
    ///     a.send_to(b"x", "main:2").unwrap();
    ///     b.recv(&mut [0]).unwrap();
    /// });
    /// program.check().assert_holds();
    /// assert!(program.lossy_datagrams(1).check().violation.is_some());
    /// ```
    #[must_use]
    pub fn lossy_datagrams(mut self, n: u32) -> Self {
        self.conditions.lost_datagrams = n;
        self
    }

    /// Which processes are one component each in engine `dir`, unless the options say. Of a program with one process it is threads: 0 is the main thread, 1 the first
    /// that it spawns, with all that come of it, and so on. Those that are in none are components of their own.
    ///
    /// ```
    /// use allways::{Components, Engine, Options};
    /// use allways_threads::{Program, sync::{Arc, Mutex}, thread};
    /// let program = Program::new(|| {
    ///     let mutex = Arc::new(Mutex::new(0));
    ///     let threads = [1, 2].map(|n| {
    ///         let mutex = Arc::clone(&mutex);
    ///         thread::spawn(move || *mutex.lock().unwrap() += n)
    ///     });
    ///     threads.map(|thread| thread.join().unwrap());
    /// });
    /// let dir = Options { engine: Engine::Dir, ..Options::default() };
    /// // Who shares a number has to be in one component.
    /// assert!(program.try_check(&dir).is_err());
    /// let program = program.components("1,2".parse().unwrap());
    /// assert_eq!(program.try_check(&dir).unwrap().statistics.covered_traces, Some(2));
    /// ```
    #[must_use]
    pub fn components(self, components: Components) -> Self {
        Program { components, ..self }
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

    /// Lets processes begin in order: what each of them binds before it does anything else is bound when the run begins. Unless this is said,
    /// others may look for it before that, and must try again.
    ///
    /// ```
    /// use allways_threads::Program;
    /// use allways_threads::net::UdpSocket;
    ///
    /// let program = Program::of_processes()
    ///     .process("client", || {
    ///         let socket = UdpSocket::bind("client:1").unwrap();
    ///         socket.send_to(b"x", "server:1").unwrap();
    ///     })
    ///     .process("server", || {
    ///         UdpSocket::bind("server:1").unwrap().recv(&mut [0]).unwrap();
    ///     });
    /// // The datagram vanishes if nobody is there.
    /// assert!(program.check().violation.is_some());
    /// assert_eq!(program.binds_first().check().assert_holds().statistics.runs, Some(1));
    /// ```
    #[must_use]
    pub fn binds_first(mut self) -> Self {
        self.conditions.binds_first = true;
        self
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
        let check = |options: &Options| machine::check(self, &self.bounded(options));
        match self.validate().and_then(|()| machine::check_by_the_environment(check)) {
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
        machine::check(self, &self.bounded(options))
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

    /// Reads a saved run from a file and carries it out: see [`Program::replay`].
    ///
    /// ```no_run
    /// # use allways_threads::Program;
    /// # let program = Program::new(|| ());
    /// // In a test, with the run.json that a check has saved: the bug does not come back.
    /// program.replay_file("tests/run.json").unwrap().assert_no_longer_violates();
    /// ```
    ///
    /// # Errors
    ///
    /// If the file is no saved run, or a thread hides something from the checker.
    pub fn replay_file(&self, path: impl AsRef<Path>) -> Result<Replayed, Error> {
        self.replay(&SavedRun::load(path)?)
    }

    fn validate(&self) -> Result<(), Error> {
        if self.mains.is_empty() {
            return Err(Error::System("the program has no process; give it one".to_owned()));
        }
        let mut names: Vec<&str> = self.mains.iter().map(|main| main.name.as_str()).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => {
                let what = format!("two processes are called `{}`; give each a name", pair[0]);
                Err(Error::System(what))
            }
            None => Ok(()),
        }
    }
}

impl Machines for Program {
    type Machine = Threads;

    fn make(&self) -> Result<Threads, Error> {
        let register = Arc::clone(&self.register);
        let mut threads = Threads::new(self.mains.clone().into(), self.stack_size, register);
        threads.ends_within = self.ends_within;
        threads.runtime.conditions = self.conditions;
        threads.runtime.is_plain = self.is_plain;
        Ok(threads)
    }

    fn components(&self) -> Components {
        self.components.clone()
    }

    fn identity(&self) -> Option<u64> {
        let Conditions { short_reads, lost_datagrams, binds_first } = self.conditions;
        let mut identity = mix(u64::from(short_reads) << 32 | u64::from(lost_datagrams));
        let switches = [binds_first, self.is_plain, self.ends_within.is_some()];
        let switches = switches.map(u64::from).into_iter();
        let numbers = [self.stack_size as u64, self.ends_within.unwrap_or(0)];
        let mains = self
            .mains
            .iter()
            .flat_map(|main| [digest(main.name.as_bytes()), u64::from(main.serves)]);
        for number in switches.chain(numbers).chain(mains) {
            identity = mix(identity ^ number);
        }
        Some(identity)
    }

    fn learn(&self, lesson: &[u64]) -> bool {
        self.register.learn(lesson)
    }
}

impl Checkable for Program {
    fn check_with(&self, options: &Options) -> Result<Outcome, Error> {
        self.try_check(options)
    }

    fn property_names(&self) -> Vec<(String, PropertyKind)> {
        Vec::new()
    }

    fn is_of_threads(&self) -> bool {
        true
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
