//! The threads of a system as a [machine](allways::machine): what a stateless engine explores.
//!
//! A process of the machine is a thread, a step of it is an [access](crate::runtime::op) to something shared, with all that the thread
//! does until the next one. Going back forgets events, and the threads live through the rest of the run anew when they are needed
//! the next time; so a whole exploration starts each run once.

use crate::runtime::log::{Entry, mix};
use crate::runtime::names::{Lesson, Register};
use crate::runtime::op::{Kind, NONE, Op};
use crate::runtime::rules::{Can, Look};
use crate::runtime::{Main, Runtime};
use crate::{story, task_words, words};
use allways::machine::{
    Blockers, Costs, Elsewhere, First, Footprint, Footprints, Machine, Object, Performed, Process,
    Reach, Reading, Shown, Told, Touched, Transition,
};
use allways::{Cause, Error, RunEvent, RunEventKind, Story, Trouble};
use std::sync::Arc;

/// So many events a thread may have in a row before it is the turn of others.
const MOST_IN_A_ROW: usize = 32;

/// So long a run is looked at to find out which threads there are.
const MOST_TO_LEARN: usize = 100_000;

/// Threads, led along a run.
pub struct Threads {
    pub(crate) runtime: Box<Runtime>,
    last: u32,
    /// Runs of more steps are livelocks.
    pub(crate) ends_within: Option<u64>,
    /// What was found when somebody last looked for what may happen: after how many events, who, and how.
    looked: Option<(usize, Process, Can)>,
    /// What the step needs that somebody last asked about.
    needed: Vec<u32>,
    /// What others are told by the event at hand.
    shown: Shown,
}

impl Threads {
    pub(crate) fn new(mains: Arc<[Arc<Main>]>, stack_size: usize, register: Arc<Register>) -> Self {
        Threads {
            runtime: Box::new(Runtime::new(mains, stack_size, register)),
            last: NONE,
            ends_within: None,
            looked: None,
            needed: Vec::new(),
            shown: Shown::default(),
        }
    }

    /// What a thread would do next without some events, one of them or what it is about to do, and what it has come after then.
    fn next_op(&self, thread: u32, without: &[u32]) -> Option<(Op, &[u32])> {
        let log = &self.runtime.log;
        let of_thread = |&&event: &&u32| log.entries[event as usize].thread == thread;
        match without.iter().find(of_thread) {
            Some(&event) => {
                let entry = &log.entries[event as usize];
                Some((entry.op, log.came_after(entry)))
            }
            None => {
                let op = self.runtime.pending(thread)?;
                Some((op, &self.runtime.population.threads[thread as usize].came_after))
            }
        }
    }

    /// Another thread that accesses the same cell, or is about to, where that must not be.
    fn race(&self, thread: u32, op: &Op) -> Option<(u32, Op)> {
        let writes = op.kind.races()?;
        let races = |other: &Op| {
            other.object == op.object && other.kind.races().is_some_and(|other| other || writes)
        };
        let others = self.runtime.present.iter().filter(|&&other| other != thread);
        others.copied().find_map(|other| {
            let inside = self.runtime.population.threads[other as usize].inside.iter();
            let mut all = inside.map(|inside| inside.op).chain(self.runtime.pending(other));
            all.find(races).map(|op| (other, op))
        })
    }

    /// What has to be a step for an event of a run that is followed to be what this thread does next; `None` if nothing has to.
    fn lesson(&mut self, thread: u32, event: &RunEvent) -> Option<Lesson> {
        let what = words::without_name(&self.runtime, thread, &event.what);
        if let Some(lesson) = task_words::lesson(&mut self.runtime, thread, what) {
            return Some(lesson);
        }
        let log = &self.runtime.log;
        let pending = self.runtime.pending(thread);
        if words::is_end(what) && pending.is_none_or(|op| op.kind != Kind::Store) {
            return Some(Lesson::Watched(thread));
        }
        if what.starts_with(words::COPIES) && pending.is_none_or(|op| op.kind != Kind::Copy) {
            return Some(Lesson::Copies);
        }
        if words::is_await(what) {
            let receives = |op: &Op| matches!(op.kind, Kind::Receive | Kind::ReceiveOrLate);
            return pending.filter(receives).map(|op| Lesson::Tried(op.object));
        }
        // It finds a mutex locked that was given back, as far as is known.
        if let Some(Op { kind: Kind::TryLock, object, .. }) = pending
            && what.contains(words::IS_LOCKED)
            && !self.runtime.population.names.is_tried(object)
        {
            let takes = |entry: &&Entry| entry.op.object == object && entry.op.kind.takes();
            let last = log.entries.iter().rev().filter(|entry| entry.succeeded).find(takes);
            return last.filter(|entry| entry.released != NONE).map(|_| Lesson::Tried(object));
        }
        // It gave a mutex back since its last event.
        let last = log.last_of(thread);
        let mut taken = log.entries.iter().rev().filter(|entry| {
            entry.thread == thread && entry.released == last && entry.op.kind.takes()
        });
        let is_it = |entry: &&Entry| {
            !self.runtime.population.names.is_tried(entry.op.object)
                && words::tells_unlock(&self.runtime, what, entry)
        };
        taken.find(is_it).map(|entry| Lesson::Tried(entry.op.object))
    }

    /// Where to begin if the thread that has just run has had so many turns in a row that it is the next one's: in a loop that has no end, others
    /// would never have theirs.
    fn others_begin(&self) -> Option<usize> {
        let entries = &self.runtime.log.entries;
        let lately = &entries[entries.len().checked_sub(MOST_IN_A_ROW)?..];
        if !lately.iter().rev().all(|entry| entry.thread == self.last) {
            return None;
        }
        Some(self.runtime.present.iter().position(|&thread| thread == self.last)? + 1)
    }

    /// The threads in the order of their turns, one by one: the one that has just run comes first, unless others begin, since runs that switch rarely
    /// are easier to read.
    fn whose_turn(&self, others_begin: Option<usize>, index: usize) -> Option<Process> {
        let present = &self.runtime.present;
        match (others_begin, index) {
            (Some(_), 0) => None,
            (Some(begin), _) => Some(present[(begin + index - 1) % present.len()]),
            (None, 0) => Some(self.last).filter(|&last| last != NONE),
            (None, _) => Some(present[index - 1]).filter(|&thread| thread != self.last),
        }
    }

    fn internal(what: &str) -> Error {
        Error::Internal(what.to_owned())
    }

    /// How a thread can go on now.
    fn can(&mut self, thread: u32) -> Result<(Op, Can), Error> {
        let op = self.runtime.pending(thread);
        if let (Some(op), Some((len, process, can))) = (op, self.looked.take())
            && (len, process) == (self.runtime.log.len(), thread)
        {
            return Ok((op, can));
        }
        match (op, self.runtime.look(thread)) {
            (Some(op), Some(Look::Can(can))) => Ok((op, can)),
            _ => Err(otherwise()),
        }
    }
}

/// A thread goes on in another way than it should.
pub(crate) fn otherwise() -> Error {
    let why = "a thread cannot do what it could do in an order that should make no difference: does an std Arc (or anything else that threads share unseen) decide who drops a sender, a receiver or a socket, or do threads use a clock or random numbers of their own?";
    Error::System(why.to_owned())
}

fn event(number: u32) -> Option<usize> {
    (number != NONE).then_some(number as usize)
}

impl Machine for Threads {
    fn starts(&self) -> usize {
        1
    }

    fn restart(&mut self, _: usize) -> Result<(), Error> {
        self.runtime.go_back(0);
        (self.last, self.looked) = (NONE, None);
        self.runtime.live()
    }

    fn start_number(&self) -> usize {
        0
    }

    fn len(&self) -> usize {
        self.runtime.log.len()
    }

    fn go_back(&mut self, len: usize) -> Result<(), Error> {
        self.looked = None;
        self.runtime.go_back(len);
        self.last = self.runtime.log.entries.last().map_or(NONE, |entry| entry.thread);
        Ok(())
    }

    fn possible(&mut self, into: &mut Vec<Transition>) -> Result<bool, Error> {
        self.runtime.live()?;
        into.clear();
        if self.runtime.failure.is_some() {
            return Ok(false);
        }
        let begin = self.others_begin();
        for index in 0..=self.runtime.present.len() {
            let Some(process) = self.whose_turn(begin, index) else { continue };
            if let Some(Look::Can(can)) = self.runtime.look(process) {
                let all = 0..can.alternatives;
                into.extend(all.map(|alternative| Transition { process, alternative }));
            }
        }
        Ok(!into.is_empty())
    }

    fn blocked(&mut self, into: &mut Vec<Process>) -> Result<(), Error> {
        self.runtime.live()?;
        into.clear();
        for index in 0..self.runtime.present.len() {
            let thread = self.runtime.present[index];
            if matches!(self.runtime.look(thread), Some(Look::Hindered(_) | Look::Blocked)) {
                into.push(thread);
            }
        }
        Ok(())
    }

    fn perform(&mut self, transition: Transition) -> Result<Performed, Error> {
        self.runtime.live()?;
        let Transition { process, alternative } = transition;
        let (op, can) = self.can(process)?;
        let race = self.race(process, &op);
        let is_divided = self.runtime.population.names.is_divided();
        if is_divided {
            self.shown.clear();
            self.runtime.shown(process, alternative, &op, &[], &mut self.shown)?;
        }
        self.runtime.perform(process, alternative, &op, &can);
        if is_divided {
            self.runtime.note_touched(&self.shown.passed);
        }
        self.last = process;
        if let Some((other, pending)) = race {
            let message = words::race(&self.runtime, (process, &op), (other, &pending));
            self.runtime.fail(Cause::Trouble(Trouble::DataRace), message);
        }
        if let Some(error) = &self.runtime.error {
            return Err(error.clone());
        }
        Ok(Performed {
            footprint: can.footprint,
            is_only: can.alternatives == 1,
            created_by: None,
            moved: None,
            fed: false,
            is_fault: false,
            failed: self.runtime.failure.is_some(),
        })
    }

    fn needs(&self, event: usize) -> &[u32] {
        self.runtime.log.needs(event)
    }

    fn is_rooted_in(&self, event: usize, other: u32) -> bool {
        let log = &self.runtime.log;
        log.came_after(&log.entries[event]).contains(&other)
    }

    fn first_possible(
        &mut self,
        is_asleep: &mut dyn FnMut(Transition) -> bool,
        _: &mut Vec<Transition>,
    ) -> Result<First, Error> {
        self.runtime.live()?;
        if self.runtime.failure.is_some() {
            return Ok(First::Nothing);
        }
        let mut result = First::Nothing;
        let begin = self.others_begin();
        for index in 0..=self.runtime.present.len() {
            let Some(process) = self.whose_turn(begin, index) else { continue };
            if let Some(Look::Can(can)) = self.runtime.look(process) {
                for alternative in 0..can.alternatives {
                    let transition = Transition { process, alternative };
                    if !is_asleep(transition) {
                        self.looked = Some((self.runtime.log.len(), process, can));
                        return Ok(First::Possible(transition, true));
                    }
                    result = First::Asleep(true);
                }
            }
        }
        Ok(result)
    }

    fn footprints(&self) -> &Footprints {
        &self.runtime.touching.footprints
    }

    fn intern(&mut self, writes: &[Object], reads: &[Object]) -> Footprint {
        self.runtime.touching.footprints.intern(writes, reads)
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn sign(&self, event: usize) -> u64 {
        let Entry { op, value, .. } = self.runtime.log.entries[event];
        // What is in an atomic is the same in all orders; most other numbers are places in the run.
        let value = if op.kind.is_of_atomic() { value } else { 0 };
        mix(mix(u64::from(op.object) << 8 | op.kind as u64) ^ value)
    }

    fn shares_numbers(&self) -> bool {
        true
    }

    fn elsewhere(
        &mut self,
        process: Process,
        without: &[u32],
        into: &mut Vec<u32>,
    ) -> Result<Elsewhere, Error> {
        self.runtime.live()?;
        into.clear();
        let mut needed = std::mem::take(&mut self.needed);
        needed.clear();
        let Some((op, came_after)) = self.next_op(process, without) else {
            return Ok(Elsewhere::Blocked(Blockers::of(&[])));
        };
        if came_after.iter().any(|event| without.binary_search(event).is_ok()) {
            return Ok(Elsewhere::Blocked(Blockers::of(&[])));
        }
        needed.extend_from_slice(came_after);
        let look = self.runtime.rules(without).look(process, &op);
        let found = match look {
            Look::Can(can) => {
                into.extend(0..can.alternatives);
                needed.extend(can.needs.into_iter().filter(|&event| event != NONE));
                if let Some(taken) = event(can.taken) {
                    let log = &self.runtime.log;
                    needed.extend_from_slice(log.released_more(&log.entries[taken]));
                }
                Elsewhere::Possible(can.footprint, needed.iter().max().map(|&last| last as usize))
            }
            Look::Hindered(by) => Elsewhere::Hindered(by as usize),
            Look::Blocked => Elsewhere::Blocked(Blockers::of(&[])),
        };
        self.needed = needed;
        Ok(found)
    }

    fn needed(&self) -> &[u32] {
        &self.needed
    }

    fn divide(&mut self) -> Result<(), Error> {
        let is_single = self.runtime.processes() == 1;
        self.runtime.population.names.divide(is_single);
        if !is_single {
            return Ok(());
        }
        // Which threads there are is known from a run.
        self.restart(0)?;
        let mut possible = Vec::new();
        while self.len() < MOST_TO_LEARN && self.possible(&mut possible)? {
            if self.perform(possible[0])?.failed {
                break;
            }
        }
        self.is_stale();
        Ok(())
    }

    fn process_key(&self, process: Process) -> u64 {
        self.runtime.population.names.thread_key(process)
    }

    fn process_with(&mut self, key: u64) -> Result<Option<Process>, Error> {
        self.runtime.live()?;
        let mut present = self.runtime.present.iter().copied();
        Ok(present.find(|&thread| self.runtime.population.names.thread_key(thread) == key))
    }

    fn object_key(&self, object: Object) -> u64 {
        self.runtime.population.names.object_key(object)
    }

    fn groups(&self) -> usize {
        self.runtime.groups()
    }

    fn group(&self, process: Process) -> u32 {
        self.runtime.group(process)
    }

    fn touched(&self, object: Object) -> Touched<'_> {
        match self.runtime.sharers(object) {
            [] => Touched::Alone,
            groups => Touched::Among(groups),
        }
    }

    fn shows(
        &mut self,
        transition: Transition,
        without: &[u32],
        into: &mut Shown,
    ) -> Result<(), Error> {
        self.runtime.live()?;
        into.clear();
        let Transition { process, alternative } = transition;
        let Some((op, _)) = self.next_op(process, without) else {
            return Err(otherwise());
        };
        self.runtime.shown(process, alternative, &op, without, into)
    }

    fn cannot_be_parted(&self, object: Option<Object>) -> Error {
        let what = match object {
            Some(object) => format!("{} is shared by several components", self.runtime.object_name(object)),
            None => "a thread waits for one of another component, or was spawned by one that had done something before".to_owned(),
        };
        Error::Options(format!(
            "{what}, and engine dir cannot tell them what happens there: it knows that of streams, datagrams and mutexes that have nothing in them; put these threads into one component (`--components`, `Options::components`), or use engine dpor"
        ))
    }

    fn ended(&mut self, group: u32) -> Result<u64, Error> {
        self.runtime.live()?;
        Ok(self.runtime.ended(group))
    }

    fn is_stale(&mut self) -> bool {
        self.runtime.population.names.take_stale()
    }

    fn learnt(&self) -> u64 {
        self.runtime.population.names.learnt()
    }

    fn lessons(&self, from: usize, into: &mut Vec<Vec<u64>>) {
        self.runtime.population.names.lessons(from, into);
    }

    fn key(&mut self, into: &mut Vec<u32>) {
        into.clear();
    }

    fn reach(&self, _: Process) -> Reach {
        Reach { touches: None, creator: None }
    }

    fn is_withheld(&mut self) -> bool {
        false
    }

    fn readings(&self) -> &[Reading] {
        &[]
    }

    fn places(&self) -> usize {
        0
    }

    fn view(&mut self, _: usize, _: usize) -> u32 {
        0
    }

    fn observed(&self, _: usize) -> u32 {
        0
    }

    fn test(&mut self, _: usize, _: &[u32]) -> Result<bool, Error> {
        Ok(true)
    }

    fn conjunct_counts(&self) -> Vec<usize> {
        Vec::new()
    }

    fn conjuncts(&mut self, _: usize, _: &[u32]) -> Result<u64, Error> {
        Ok(0)
    }

    fn describe(&mut self, event: usize) -> Result<RunEvent, Error> {
        self.runtime.live()?;
        let entry = self.runtime.log.entries[event];
        let node = self.runtime.present.iter().position(|&thread| thread == entry.thread);
        let choices = if words::chooses(&entry) { vec![entry.alternative] } else { Vec::new() };
        let what = words::event(&self.runtime, event);
        Ok(RunEvent { kind: RunEventKind::Thread, node, from: None, what, choices })
    }

    fn failure(&mut self) -> Result<(Cause, String), Error> {
        let nothing = || Self::internal("a step that went wrong did not");
        self.runtime.failure.clone().ok_or_else(nothing)
    }

    fn wrong_end(&mut self) -> Result<Option<(Cause, String)>, Error> {
        if self.runtime.failure.is_some() {
            return Ok(self.runtime.failure.clone());
        }
        Ok(words::wrong_end(&mut self.runtime))
    }

    fn endless(&mut self) -> Result<Option<(Cause, String)>, Error> {
        let len = self.runtime.log.len();
        if self.ends_within.is_none_or(|most| (len as u64) < most) {
            return Ok(None);
        }
        // If somebody could go on and did not, it may be his turn that is missing.
        let mut possible = Vec::new();
        self.possible(&mut possible)?;
        let lately = &self.runtime.log.entries[len - len / 4..];
        let takes_turns =
            |thread: Process| lately.iter().filter(|entry| entry.thread == thread).count() >= 2;
        let all = possible.iter().all(|transition| takes_turns(transition.process));
        if !all || possible.is_empty() {
            return Ok(None);
        }
        let text = format!("threads take turns, and have not come to an end after {len} steps");
        Ok(Some((Cause::Trouble(Trouble::Livelock), text)))
    }

    fn costs(&self) -> Option<Costs> {
        None
    }

    fn bytes(&self) -> u64 {
        self.runtime.touching.footprints.bytes() + (self.runtime.log.entries.capacity() * 96) as u64
    }
}

impl Told for Threads {
    fn transition(&mut self, event: &RunEvent) -> Result<Option<Transition>, Error> {
        self.runtime.live()?;
        let Some(&process) = event.node.and_then(|node| self.runtime.present.get(node)) else {
            return Ok(None);
        };
        let alternative = event.choices.first().copied().unwrap_or(0);
        let can = match self.runtime.look(process) {
            Some(Look::Can(can)) => alternative < can.alternatives,
            _ => false,
        };
        Ok(can.then_some(Transition { process, alternative }))
    }

    fn forget(&mut self) {
        self.runtime.population.names.forget();
    }

    fn teach(&mut self, next: &RunEvent) -> Result<bool, Error> {
        self.runtime.live()?;
        let process = next.node.and_then(|node| self.runtime.present.get(node)).copied();
        let lesson = process.and_then(|process| self.lesson(process, next));
        let is_new = lesson.is_some_and(|lesson| self.runtime.population.names.be_taught(lesson));
        if is_new {
            self.runtime.give_up();
        }
        Ok(is_new)
    }

    fn reads(&mut self) -> Result<Vec<String>, Error> {
        self.runtime.live()?;
        let mut reads = words::ending(&mut self.runtime).1;
        match &self.runtime.failure {
            Some((Cause::Panic, message)) => {
                reads.iter_mut().for_each(String::clear);
                let failed = self.runtime.failed;
                let failed = self.runtime.present.iter().position(|&thread| thread == failed);
                if let Some(read) = failed.and_then(|failed| reads.get_mut(failed)) {
                    *read = format!("panics: {message}");
                }
            }
            Some(_) => reads.iter_mut().for_each(String::clear),
            None => {}
        }
        let threads = reads.iter_mut().zip(&self.runtime.present);
        for (read, &thread) in threads.filter(|(read, _)| !read.is_empty()) {
            *read = format!("{} {read}", self.runtime.thread_name(thread));
        }
        Ok(reads)
    }

    fn story(&mut self) -> Result<Story, Error> {
        self.runtime.live()?;
        Ok(story::tell(&mut self.runtime))
    }
}
