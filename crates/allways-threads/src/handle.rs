//! What makes an object one of a check: its number, if it was made by a thread under control.

use crate::runtime::names::Site;
use crate::runtime::op::{Kind, Op};
use crate::runtime::{Granted, Runtime, access, access_since, current, round};
use std::panic::Location;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// The number of an object, and the run that it belongs to. Zero runs mean that it was made outside of a check, where all that is asked of it
/// is this one comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle {
    epoch: u32,
    object: u32,
}

impl Handle {
    /// Of an object that is being made.
    #[inline]
    pub fn new(what: &'static str, at: &'static Location<'static>, initial: Option<u64>) -> Self {
        match current() {
            None => Handle { epoch: 0, object: 0 },
            Some(runtime) => {
                if runtime.trial.is_some() {
                    // Whoever makes something is not where it was.
                    round::conclude(false);
                }
                Handle { epoch: runtime.epoch, object: runtime.make(what, at, initial) }
            }
        }
    }

    /// Of an object that has a place of its own in all runs, in a check.
    pub fn placed(site: Site, what: &'static str, at: &'static Location<'static>) -> Self {
        match current() {
            None => Handle { epoch: 0, object: 0 },
            Some(runtime) => {
                Handle { epoch: runtime.epoch, object: runtime.made_at(site, what, at) }
            }
        }
    }

    /// Of an object that stands for something of the run at hand.
    #[inline]
    pub fn of(runtime: &Runtime, object: u32) -> Self {
        Handle { epoch: runtime.epoch, object }
    }

    /// Somebody who has the object alone has changed it: from now on it is another one, of which nothing is known.
    pub fn renew(&mut self) {
        if let Some(object) = self.controlled()
            && let Some(runtime) = current()
        {
            self.object = runtime.remake(object);
        }
    }

    /// Whether it was made in a check. Where there never was one, nothing else is ever asked, and the code of a check is out of the way.
    #[inline(always)]
    #[track_caller]
    pub fn is_under_control(&self) -> bool {
        if self.epoch != OUTSIDE.load(Relaxed) {
            rarely();
            return self.epoch != 0 || used_from_inside();
        }
        false
    }

    /// The number of an object that was made in a check.
    #[inline]
    pub fn object(&self) -> u32 {
        if let Some(runtime) = current()
            && runtime.epoch != self.epoch
        {
            stale()
        }
        self.object
    }

    /// The number of an object, if it was made in a check.
    #[inline]
    #[track_caller]
    pub fn controlled(&self) -> Option<u32> {
        self.is_under_control().then(|| self.object())
    }

    /// The thread that runs is about to access it.
    #[inline]
    pub fn access(&self, kind: Kind, argument: u64, at: &'static Location<'static>) -> Granted {
        access(Op { kind, object: self.object(), argument, said: 0, at })
    }

    /// The same, and it is known what others are told by that.
    pub fn tell(
        &self,
        kind: Kind,
        argument: u64,
        said: u64,
        at: &'static Location<'static>,
    ) -> Granted {
        access(Op { kind, object: self.object(), argument, said: said | 1, at })
    }
}

impl Handle {
    /// The thread that runs is about to read it, maybe over and over.
    #[inline(always)]
    pub fn read(&self, kind: Kind, argument: u64, at: &'static Location<'static>) -> Granted {
        let since = round::since(self.object, kind, at);
        let granted = self.read_since(kind, argument, at, since);
        round::sweep();
        granted
    }

    #[inline(never)]
    fn read_since(
        &self,
        kind: Kind,
        argument: u64,
        at: &'static Location<'static>,
        since: u32,
    ) -> Granted {
        access_since(Op { kind, object: self.object(), argument, said: 0, at }, since)
    }
}

/// The thread that runs is about to read something that is an object, or a part of one, of this run; maybe over and over.
#[inline(always)]
pub(crate) fn read(op: Op) -> Granted {
    let since = round::since(op.object, op.kind, op.at);
    access_since(op, since)
}
/// The number of runs that objects have which need no second look: zero until a check begins, and none afterwards.
static OUTSIDE: AtomicU32 = AtomicU32::new(0);

/// From now on there may be objects of a check.
pub(crate) fn begin_to_look() {
    OUTSIDE.store(u32::MAX, Relaxed);
}

/// The same for what has no number outside of a check.
#[inline(always)]
#[track_caller]
pub(crate) fn look_out() {
    if OUTSIDE.load(Relaxed) != 0 {
        used_from_inside();
    }
}

/// Something that was made outside of a check is used: not by a thread under control, for nobody would see who comes first.
#[cold]
#[track_caller]
fn used_from_inside() -> bool {
    if let Some(runtime) = current() {
        runtime.refuse(Location::caller());
    }
    false
}

/// What calls this is seldom run, compared to what does not.
#[cold]
#[inline]
fn rarely() {}

#[cold]
fn stale() -> ! {
    panic!(
        "something that was made in one run of a check is used in another; make it inside of the closure that is checked"
    )
}
