//! What a stateless engine explores, as far as it needs to know.
//!
//! A [`Machine`] stands somewhere along one run. It can start again, go back along the run, say what may
//! happen next and make it happen. What happens is a step of a *process*, which touches *objects*;
//! both are small numbers, and what they stand for is the machine's business. Two steps that are not of
//! one process, of which none created the other, and that touch no object that one of them writes must commute:
//! possible in either order, with the same alternatives, the same footprints and the same result. All that
//! partial-order engines do rests on this promise.
//!
//! Nothing here asks for a copy of a state. A machine may go back by undoing steps, or by starting
//! again and repeating them.
//!
//! [`Handlers`](handlers::Handlers) is the machine for systems of handlers.

pub(crate) mod elsewhere;
pub(crate) mod footprint;
pub(crate) mod handlers;
mod identity;
pub(crate) mod lanes;
mod perform;
mod processes;
mod results;
mod shown;

use crate::engine::components::Components;
use crate::error::Error;
use crate::model::property::PropertyKind;
use crate::model::run_event::RunEvent;
use crate::outcome::Cause;
use crate::outcome::story::Story;
use crate::space::Costs;
use footprint::{Footprint, Footprints};

/// A process, by number. The number means the same in every run: whoever creates the process, and
/// in whatever order independent steps come.
pub type Process = u32;

/// Something that steps touch, by number.
pub type Object = u32;

/// What may happen: the next step of a process, and which of the results that it may have.
///
/// All alternatives of one step have the same footprint, so engines need not look for orders in which
/// only one of them can be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transition {
    /// The process.
    pub process: Process,
    /// Which of its results, from zero.
    pub alternative: u32,
}

/// What has happened.
#[derive(Clone, Copy, Debug)]
pub struct Performed {
    /// What it touched.
    pub footprint: Footprint,
    /// Whether its process could take only this step, with no other alternative.
    pub is_only: bool,
    /// The event without which there would be no such step, by its place in the run.
    pub created_by: Option<usize>,
    /// The place at which some view has changed, if one has.
    pub moved: Option<usize>,
    /// Whether some observer may have moved.
    pub fed: bool,
    /// Whether it is something going wrong, on which the system may not rely to get unstuck.
    pub is_fault: bool,
    /// Whether user code failed: it panicked, or broke a rule of the machine. Nothing can happen after that; the engine goes back.
    pub failed: bool,
}

/// Whether a process could have taken its next step in another state than the present one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elsewhere {
    /// It could, and would have touched this; the event without which there would be no such step, if
    /// there is one.
    Possible(Footprint, Option<usize>),
    /// It could not, and it could in no state with fewer of the events of the run, unless
    /// one of these objects were as it was before some event that wrote it.
    Blocked(Blockers),
    /// It could not, and it could in no state with fewer of the events of the run as long as this event of
    /// the run is among them.
    Hindered(usize),
    /// It could, and would have touched this, but nobody wants to see that. What it would do with fewer of the events that touch the same may be wanted.
    Unwanted(Footprint),
}

/// What may happen next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum First {
    /// This; and whether anything but faults can happen.
    Possible(Transition, bool),
    /// All that may happen is asleep; and whether anything but faults can happen.
    Asleep(bool),
    /// Nothing at all.
    Nothing,
}

/// At most two objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Blockers {
    objects: [Object; 2],
    len: u8,
}

impl Blockers {
    /// These objects.
    pub fn of(objects: &[Object]) -> Self {
        let mut blockers = Blockers::default();
        for &object in objects {
            blockers.objects[usize::from(blockers.len)] = object;
            blockers.len += 1;
        }
        blockers
    }

    /// Which they are.
    pub fn objects(&self) -> &[Object] {
        &self.objects[..usize::from(self.len)]
    }
}

/// What steps of a process may touch, whenever they come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reach {
    /// All that any of its steps touches; `None` if that may be anything.
    pub touches: Option<Footprint>,
    /// The object that all those write who create its steps. Where there is none, its first step needs nobody to create it.
    pub creator: Option<Object>,
}

/// What others can tell of a step: see [`Machine::shows`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shown {
    /// What it gives to which group.
    pub to: Vec<(u32, u64)>,
    /// What it does to objects that several groups touch.
    pub shared: u64,
    /// Those of the objects which it touches only to give or to take: they are not shared by that.
    pub passed: Vec<Object>,
    /// Whether `shared` does not tell all that comes of it for others.
    pub is_opaque: bool,
}

impl Shown {
    /// Nothing.
    pub fn clear(&mut self) {
        self.to.clear();
        self.passed.clear();
        (self.shared, self.is_opaque) = (0, false);
    }
}

/// Who touches an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touched<'a> {
    /// Processes of one group; or it does not matter, since nobody writes it.
    Alone,
    /// Processes of this group, and whoever gives something to it.
    By(u32),
    /// Processes of these groups.
    Among(&'a [u32]),
    /// Processes of any group.
    ByAny,
}

/// What a property reads, and what it claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// What is claimed.
    pub kind: PropertyKind,
    /// The observer that it reads; otherwise it reads a view at each place.
    pub observer: Option<usize>,
}

/// What a stateless engine explores. Deterministic: the same transitions from the same start lead to the same
/// run, with the same numbers for everything.
///
/// Methods that return a [`Result`] may run user code; an error ends the check.
#[allow(clippy::len_without_is_empty, reason = "it is the length of the run, not of the machine")]
pub trait Machine {
    /// How many ways to start there are that differ.
    fn starts(&self) -> usize;

    /// Starts again, in this of the ways: the run is empty.
    fn restart(&mut self, start: usize) -> Result<(), Error>;

    /// The number that the present start has among all, for a run to be replayed.
    fn start_number(&self) -> usize;

    /// The number of events of the run.
    fn len(&self) -> usize;

    /// Goes back to the first `len` events of the run.
    fn go_back(&mut self, len: usize) -> Result<(), Error>;

    /// Lists everything that may happen next, in place of what is in `into`: the alternatives of one process side by side, faults
    /// last. Says whether there is anything but faults.
    fn possible(&mut self, into: &mut Vec<Transition>) -> Result<bool, Error>;

    /// Lists, in place of what is in `into`, processes that cannot take a step now: at least all those that could have taken
    /// the step that would be their next, instead of some event of the run.
    fn blocked(&mut self, into: &mut Vec<Process>) -> Result<(), Error>;

    /// Makes something happen that is possible now. It need not have been listed: what was possible in a state that
    /// differs by independent steps is possible here.
    fn perform(&mut self, transition: Transition) -> Result<Performed, Error>;

    /// Further events without which an event of the run would not be, beside the one that created it: one of them released what it
    /// takes, or ended what it has waited for.
    fn needs(&self, event: usize) -> &[u32] {
        let _ = event;
        &[]
    }

    /// Whether the process of an event has no such step, here or elsewhere, without this other event: nobody need look whether it
    /// could have come earlier.
    fn is_rooted_in(&self, event: usize, other: u32) -> bool {
        let _ = (event, other);
        false
    }

    /// One of the things that may happen next, of those that are not asleep; if there is none, whether everything sleeps.
    ///
    /// It may be any of those that [`Machine::possible`] lists, the same each time.
    fn first_possible(
        &mut self,
        is_asleep: &mut dyn FnMut(Transition) -> bool,
        room: &mut Vec<Transition>,
    ) -> Result<First, Error> {
        let goes_on = self.possible(room)?;
        let first = room.iter().copied().find(|&transition| !is_asleep(transition));
        Ok(match first {
            Some(transition) => First::Possible(transition, goes_on),
            None if room.is_empty() => First::Nothing,
            None => First::Asleep(goes_on),
        })
    }

    /// What footprints stand for.
    fn footprints(&self) -> &Footprints;

    /// The footprint of what writes and reads these objects.
    fn intern(&mut self, writes: &[Object], reads: &[Object]) -> Footprint;

    /// Whether what a step touches elsewhere is just what it touches when it is performed there. If it is not then, the machine has broken its promise.
    fn is_exact(&self) -> bool {
        false
    }

    /// What else can be told of an event of the run, whatever order independent events came in: who looks for what a machine does not see compares this, too.
    fn sign(&self, event: usize) -> u64 {
        let _ = event;
        0
    }

    /// A number for a process that is made of what it is, and not of when it was met: the same to all machines that are made for a system,
    /// in whatever order they explore, also in another process of the operating system.
    fn process_key(&self, process: Process) -> u64 {
        u64::from(process)
    }

    /// The process with this [key](Machine::process_key), if it can take a step now.
    fn process_with(&mut self, key: u64) -> Result<Option<Process>, Error> {
        Ok(Process::try_from(key).ok())
    }

    /// A number of the same kind for an object that processes of several groups touch.
    fn object_key(&self, object: Object) -> u64 {
        u64::from(object)
    }

    /// How many groups there are that processes belong to: nodes, for instance. Components are made of groups.
    fn groups(&self) -> usize {
        1
    }

    /// The group that a process belongs to.
    fn group(&self, process: Process) -> u32 {
        let _ = process;
        0
    }

    /// Whether no two steps of a group are independent: they write one object, say.
    fn is_ordered(&self, group: u32) -> bool {
        let _ = group;
        false
    }

    /// The machine is to be divided into components: from now on it finds out who touches what. Where it has to learn that from runs, [what was
    /// explored](Machine::is_stale) before it did is explored again.
    fn divide(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Who touches an object, as far as is known.
    fn touched(&self, object: Object) -> Touched<'_> {
        let _ = object;
        Touched::Alone
    }

    /// Why nobody can be told what a step does to an object that several groups touch: one sentence that says what to do.
    fn cannot_be_parted(&self, object: Option<Object>) -> Error {
        let _ = object;
        Error::Internal(
            "a step of a component depends on one of another that shows nothing".to_owned(),
        )
    }

    /// The events without which there would be no such step, of the step that [`Machine::elsewhere`] was last asked about, where these
    /// may be several.
    fn needed(&self) -> &[u32] {
        &[]
    }

    /// What there is to say about how a group has come to its end, where nothing can happen any more: zero if there is nothing that might be
    /// [wrong](Machine::wrong_end).
    fn ended(&mut self, group: u32) -> Result<u64, Error> {
        let _ = group;
        Ok(0)
    }

    /// What other groups can tell of a step that is possible in the state to which the run leads without some of its events, in place of what is in `into`: the same numbers whenever
    /// all that comes of it for them is the same.
    fn shows(
        &mut self,
        transition: Transition,
        without: &[u32],
        into: &mut Shown,
    ) -> Result<(), Error> {
        let _ = (transition, without);
        into.clear();
        Ok(())
    }

    /// Whether only a bound on timers, or the like, keeps something from happening in a group.
    fn withholds(&mut self, group: u32) -> bool {
        let _ = group;
        self.is_withheld()
    }

    /// Whether a step that is possible in a system is one that nobody wants to see here, which is noted then: see engine `dir`.
    fn refuses(&mut self, transition: Transition) -> Result<bool, Error> {
        let _ = transition;
        Ok(false)
    }

    /// Whether numbers of processes and objects mean the same to all machines that are made for a system.
    fn shares_numbers(&self) -> bool {
        false
    }

    /// Whether a process could take its next step in the state to which the run leads without some of its
    /// events, and with which alternatives, which are put in place of what is in `into`.
    ///
    /// `without` is in the order of the run. With each event it has all that happen after it, and no step of
    /// the process but the one that is asked about, if that has happened.
    fn elsewhere(
        &mut self,
        process: Process,
        without: &[u32],
        into: &mut Vec<u32>,
    ) -> Result<Elsewhere, Error>;

    /// Whether something was learnt since this was last asked that changes footprints: what was explored so far has to be
    /// explored again.
    fn is_stale(&mut self) -> bool {
        false
    }

    /// A number for all that the machine goes by of what was learnt from runs, made of content: machines for which it is the same explore the same, also in another process of the operating system. It
    /// changes only when [`Machine::is_stale`] is asked.
    fn learnt(&self) -> u64 {
        0
    }

    /// Adds what all machines of the system have learnt from runs, one lesson after the other in the order in which they were learnt, from this one on. Each is numbers, made of content, for
    /// [`Machines::learn`]; whatever the machine itself has seen is among them, also if nothing has come of it yet.
    fn lessons(&self, from: usize, into: &mut Vec<Vec<u64>>) {
        let _ = (from, into);
    }

    /// Writes down the present state, in place of what is in `into`. Where two runs from one start have led to equal keys, the same can
    /// happen, and lead to equal keys again.
    fn key(&mut self, into: &mut Vec<u32>);

    /// What a process may touch.
    fn reach(&self, process: Process) -> Reach;

    /// Whether only a bound on timers, or the like, keeps something from happening.
    fn is_withheld(&mut self) -> bool;

    /// The properties.
    fn readings(&self) -> &[Reading];

    /// How many places there are that have views.
    fn places(&self) -> usize;

    /// What a property sees at a place now.
    fn view(&mut self, property: usize, place: usize) -> u32;

    /// A number for a view that is made of its content: see [`Machine::process_key`].
    fn view_key(&self, view: u32) -> u64 {
        u64::from(view)
    }

    /// The state that an observer is in now.
    fn observed(&self, observer: usize) -> u32;

    /// Whether the test of a property is true of these views, one for each place, or of this one state of its observer.
    fn test(&mut self, property: usize, reads: &[u32]) -> Result<bool, Error>;

    /// For each property, how many conjuncts it is known to be made of.
    fn conjunct_counts(&self) -> Vec<usize>;

    /// Which conjuncts of a property are true of what it reads: a bit for each.
    fn conjuncts(&mut self, property: usize, reads: &[u32]) -> Result<u64, Error>;

    /// An event of the run in words.
    fn describe(&mut self, event: usize) -> Result<RunEvent, Error>;

    /// What went wrong on the last event, which [failed](Performed::failed).
    fn failure(&mut self) -> Result<(Cause, String), Error>;

    /// Whether it is wrong by itself that nothing can happen now, and why.
    fn wrong_end(&mut self) -> Result<Option<(Cause, String)>, Error> {
        Ok(None)
    }

    /// The run is cut off here, at the bound on depth: whether it is wrong by itself that it has come to no end.
    fn endless(&mut self) -> Result<Option<(Cause, String)>, Error> {
        Ok(None)
    }

    /// What user code has cost so far, if that is known.
    fn costs(&self) -> Option<Costs>;

    /// Roughly the bytes in use.
    fn bytes(&self) -> u64;
}

/// A machine whose runs are told to people.
pub trait Told: Machine {
    /// What an event of a run that was kept stands for now, if that can happen.
    fn transition(&mut self, event: &RunEvent) -> Result<Option<Transition>, Error>;

    /// A run is to be followed: what was learnt of what is a step is forgotten, since the run says so itself.
    fn forget(&mut self) {}

    /// Whether what a process does next in the run that is followed shows that something is a step that was not known to be one: the
    /// run has to be followed from its start again.
    fn teach(&mut self, next: &RunEvent) -> Result<bool, Error> {
        let _ = next;
        Ok(false)
    }

    /// The run in full, without what its end shows.
    fn story(&mut self) -> Result<Story, Error>;

    /// What each process has to do with what went wrong at the end of the run, in the order of [`Story::nodes`]: empty for
    /// those that have nothing to do with it.
    fn reads(&mut self) -> Result<Vec<String>, Error>;
}

/// What makes machines that are all the same: one for each thread that explores.
pub trait Machines: Send + Sync {
    /// The machine.
    type Machine: Told;

    /// Makes one.
    fn make(&self) -> Result<Self::Machine, Error>;

    /// Which groups are one component each, unless the options say.
    fn components(&self) -> Components {
        Components::default()
    }

    /// A number for what they stand for, made of content, as far as it can be told beside the program itself. `None` if machines cannot tell what they have [learnt](Machine::lessons), or name processes
    /// otherwise in another process of the operating system: then no check goes on from a log.
    fn identity(&self) -> Option<u64> {
        None
    }

    /// Has all machines that are made from now on know what was [learnt](Machine::lessons) in another process of the operating system. To learn something twice, or in another order, makes no
    /// difference. Says whether it is a lesson at all.
    fn learn(&self, lesson: &[u64]) -> bool {
        let _ = lesson;
        false
    }
}
