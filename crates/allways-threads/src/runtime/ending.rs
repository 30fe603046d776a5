//! How threads end: with what they were to do, with the run, or with the check, since one of them does what cannot be checked.
//!
//! A thread of a run that is over is told so at its next access, and unwinds. So does one that panics, and meanwhile nothing that it touches is an event: threads do
//! not switch while one of them panics. If it catches that and goes on, what it touched was not seen, and the check says so.

use super::access::{Granted, access, stop};
use super::names::Own;
use super::op::{Kind, NONE, Op};
use super::{MAX_CAUGHT, MAX_IDLED, Runtime, current, round};
use allways::Error;
use std::panic::{Location, resume_unwind};

/// Why a thread ends that has not come to its end.
pub(super) struct Ending;

/// The thread that runs has done what it was to do.
pub(super) fn say_end() {
    if let Some(runtime) = current() {
        runtime.refuse_to_go_on();
    }
    // What is dropped may use what was not yet.
    while let Some(local) = current().and_then(|runtime| runtime.running_thread().take_local()) {
        drop(local);
    }
    let Some(runtime) = current() else { return };
    runtime.running_thread().has_lost_locals = true;
    if runtime.population.names.is_watched(runtime.running) {
        let object = runtime.population.names.own(runtime.running, Own::End);
        let at = Location::caller();
        access(Op { kind: Kind::Store, object, argument: 0, said: 0, at });
    }
}

impl Runtime {
    /// An access of a thread that is to end, panics, or has caught a panic during which it did what is no event.
    #[cold]
    pub(super) fn access_at_the_end(&mut self, at: &'static Location<'static>) -> Granted {
        if !self.skips(at) {
            self.refuse_to_go_on();
        }
        let thread = self.running_thread();
        // It was stopped, or has caught what ends it. If it is another one that panics, it cannot be seen whether this one has; so it is told once.
        if !std::thread::panicking() || thread.ends_inside && thread.told_to_end == 0 {
            self.end_running();
        }
        Granted(Granted::SUCCEEDED | Granted::ENDING | u64::from(NONE))
    }

    /// The thread that runs stops here for good: it ends with the run.
    pub fn give_up_here(&mut self) {
        let its = self.running_thread().stop;
        stop(its);
        if let Some(runtime) = current() {
            runtime.end_running();
        }
    }

    /// The thread that runs ends here. If it does not want to, it stops for ever.
    #[cold]
    pub(super) fn end_running(&mut self) -> ! {
        let thread = self.running_thread();
        thread.told_to_end += 1;
        if thread.told_to_end > MAX_CAUGHT {
            let here = thread.stop;
            loop {
                stop(here);
            }
        }
        resume_unwind(Box::new(Ending));
    }

    /// Whether what others can see is touched without an event, since threads are ending, or the one that runs panics. If it catches that, the check
    /// cannot go on: threads do not switch while one of them panics, so nobody could have come in between.
    pub fn skips(&mut self, at: &'static Location<'static>) -> bool {
        if self.is_ending {
            return true;
        }
        if !std::thread::panicking() {
            return false;
        }
        self.skipped.get_or_insert(at);
        true
    }

    /// The same for what an event took, where giving it back is an event.
    pub fn skips_release(&mut self, taken: u32) -> bool {
        match self.log.entries.get(taken as usize) {
            Some(entry) if !self.is_ending => self.skips(entry.op.at),
            _ => self.is_cleaning_up(),
        }
    }

    /// The thread that runs has caught a panic during which it touched what others can see: the check ends here.
    #[cold]
    pub(super) fn refuse_to_go_on(&mut self) {
        if self.skipped.is_some() && self.trial.is_some() {
            round::conclude(false);
        }
        if let Some(at) = self.skipped.filter(|_| !self.is_ending) {
            let name = self.thread_name(self.running);
            self.error.get_or_insert(Error::System(format!(
                "{at}: thread `{name}` went on after a panic during which it touched what others can see (it dropped a guard, a sender or the like), and that cannot be checked"
            )));
            self.end_running();
        }
    }

    /// The thread that runs lets others run. Who does that for ever, and nothing else, waits for what never comes.
    pub fn idle(&mut self, at: &'static Location<'static>) {
        if round::count(&mut self.idled, MAX_IDLED) {
            self.refuse_to_idle(at);
        }
    }

    #[cold]
    pub(super) fn refuse_to_idle(&mut self, at: &'static Location<'static>) {
        self.idled = 0;
        if std::thread::panicking() {
            return;
        }
        if self.trial.is_some() {
            round::conclude(false);
        }
        if !self.is_ending {
            let name = self.thread_name(self.running);
            self.error.get_or_insert(Error::System(format!(
                "{at}: thread `{name}` goes round and round without touching anything that a check can see: time passes only where somebody waits or sleeps, and how many share an Arc of std is not seen"
            )));
        }
        self.end_running();
    }

    /// The thread that runs uses something that was made outside of the check: the check ends here.
    #[cold]
    pub fn refuse(&mut self, at: &'static Location<'static>) {
        if self.is_cleaning_up() {
            return;
        }
        if self.trial.is_some() {
            round::conclude(false);
        }
        let name = self.thread_name(self.running);
        self.error.get_or_insert(Error::System(format!(
            "{at}: thread `{name}` uses something of allways_threads that was made outside of the check, where nobody sees who comes first; make it inside of the closure that is checked"
        )));
        self.end_running();
    }

    /// Whether threads are ending, or the one that runs panics.
    pub fn is_cleaning_up(&self) -> bool {
        self.is_ending || std::thread::panicking()
    }
}
