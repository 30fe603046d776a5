//! A component by itself as a task that anybody can perform: what goes in, what comes out, and both as bytes.
//!
//! A [`Task`] says which component is to be explored while the rest repeats a trace. What comes of it, [`Done`], has all that the global explorer wants to know: branches, how the component
//! may look, how it may end, and numbers for the statistics. Nothing else goes in or out, so who performs the task, when, and how often makes no difference: a thread
//! of this process does it, and a machine elsewhere could.
//!
//! **As bytes**, events are keys of processes, which are made of content ([`Machine::process_key`]), and branches and looks are the runs that show them. What else is known of them (labels,
//! pasts, what properties see) is not written. Whoever reads performs the runs, and finds it out again, [`Reviver`] being the way; the names that are written say whether it is the same. So what is read cannot
//! make the checker believe anything that the system does not do, and what cannot be performed, or is called otherwise now, is refused.
//!
//! A branch is written as the run of those events that stay, and the step after it; a look as a run after which the component looks so. That is enough: nothing else of the traces they were met in is
//! used where they are composed with others.

use super::alone::{Limits, Trees};
use super::codec::{Reader, Writer};
use super::counts::Counts;
use super::global::{DEFAULT_DEPTH, own_name};
use super::interface::{Doing, Led, Parts};
use super::nested;
use super::partial::{Branch, End, Explored, Fate, Look, Partial, Seen, look_key, view};
use crate::engine::Found;
use crate::engine::budget::Budget;
use crate::engine::dpor::explore;
use crate::engine::dpor::explore::Explorer;
use crate::engine::machine::{Elsewhere, Machine, Transition};
use crate::engine::options::Reduction;
use crate::error::Error;
use crate::outcome::Bound;
use crate::trace::skeleton::{Event, Name, Trace, mix, signature};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A component that is to be explored while the rest repeats a trace.
pub(super) struct Task {
    pub start: usize,
    pub component: u32,
    /// The signature of its local skeleton in the trace.
    pub local: u64,
    pub told: Arc<Trace<Doing>>,
}

/// What tells tasks apart: the start, the component and its local skeleton.
pub(super) type TaskKey = (u64, u32, u64);

/// What came of a task.
pub(super) struct Done {
    pub found: Explored,
    pub counts: Counts,
    pub bound: Option<Bound>,
    pub violation: Option<Found>,
    /// Whether something was learnt that has everything explored again.
    pub is_stale: bool,
}

impl Task {
    pub fn key(&self) -> TaskKey {
        (self.start as u64, self.component, self.local)
    }

    /// Performs it with a machine, and its trees for these components. What comes of it does not depend on what these have.
    pub fn perform<M: Machine>(
        &self,
        (machine, trees): (&mut M, &mut Trees),
        parts: &Parts,
        budget: &Budget,
        runs: &Arc<AtomicU64>,
    ) -> Result<Done, Error> {
        if parts.rest == Some(self.component) {
            return Ok(nested::repeated());
        }
        if let Some(inner) = &parts.inner[self.component as usize] {
            return nested::explore(self, (machine, trees), (parts, inner), budget, runs);
        }
        if let Some(tree) = trees.of(self.component) {
            let depth = Some(budget.max_depth).filter(|&it| it != u64::MAX);
            let max_depth = usize::try_from(depth.unwrap_or(DEFAULT_DEPTH)).unwrap_or(usize::MAX);
            let limits = Limits { budget, max_depth, runs };
            let walked = tree.explore(machine, parts, self.start, &self.told, &limits)?;
            return Ok(Done {
                counts: Counts::of(&walked.found, walked.transitions, walked.deepest),
                found: walked.found,
                bound: walked.bound,
                violation: walked.violation,
                is_stale: machine.is_stale(),
            });
        }
        let told = Arc::clone(&self.told);
        let partial = Partial::new(machine, parts, self.start, self.component, told);
        let mut explorer = Explorer::new(partial, budget, true);
        explorer.all_runs = Some(runs);
        let explored = explore(&mut explorer, Reduction::Optimal);
        let is_stale = explorer.is_stale;
        // Once something was learnt, things are called otherwise: what goes wrong then says nothing.
        if !is_stale {
            explored?;
        }
        let (findings, partial) = explorer.finish();
        let transitions = findings.statistics.transitions.unwrap_or(0);
        let depth = findings.statistics.depth.unwrap_or(0) as usize;
        Ok(Done {
            counts: Counts::of(&partial.found, transitions, depth),
            found: partial.found,
            bound: findings.bound,
            violation: findings.violation,
            is_stale,
        })
    }

    /// The task as bytes.
    #[cfg_attr(not(test), expect(dead_code, reason = "for those who perform tasks elsewhere"))]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        write_key(&mut writer, self.key());
        let mut runs = Runs::default();
        runs.add(self.told.events.iter());
        runs.write(&mut writer);
        writer.bytes
    }

    /// The task that bytes say; `None` if they say none. The trace is performed by this machine.
    #[cfg_attr(not(test), expect(dead_code, reason = "for those who perform tasks elsewhere"))]
    pub fn from_bytes<M: Machine>(
        bytes: &[u8],
        machine: &mut M,
        parts: &Parts,
    ) -> Result<Option<Self>, Error> {
        let mut reader = Reader::new(bytes);
        let read = |reader: &mut Reader<'_>| Some((read_key(reader)?, read_runs(reader)?));
        let Some(((start, component, local), runs)) = read(&mut reader) else { return Ok(None) };
        let (Ok(start), [run], true) = (usize::try_from(start), &runs[..], reader.is_at_end())
        else {
            return Ok(None);
        };
        if start >= machine.starts() || component >= parts.len() {
            return Ok(None);
        }
        let mut reviver = Reviver::new(machine, parts, start, component)?;
        reviver.stand_after(run)?;
        let told = Arc::new(reviver.led.trace());
        let is_same = signature(told.local_skeleton(component)) == local;
        Ok(is_same.then_some(Task { start, component, local, told }))
    }
}

fn write_key(writer: &mut Writer, (start, component, local): TaskKey) {
    writer.number(start);
    writer.number(u64::from(component));
    writer.word(local);
}

/// The task that a result is of.
fn read_key(reader: &mut Reader<'_>) -> Option<TaskKey> {
    Some((reader.number()?, reader.small()?, reader.word()?))
}

/// Events of a run: the key of the process, and the alternative.
type Plain = Vec<(u64, u32)>;

/// Runs that are written together: each as what it has more than the one before it, with keys of processes as numbers.
#[derive(Default)]
struct Runs {
    all: Vec<Plain>,
    known: FxHashMap<Plain, usize>,
}

impl Runs {
    /// The number of a run.
    fn add<'e>(&mut self, events: impl Iterator<Item = &'e Event<Doing>>) -> usize {
        let run: Plain = events.map(|event| (event.what.process, event.what.alternative)).collect();
        if let Some(&known) = self.known.get(&run) {
            return known;
        }
        self.all.push(run.clone());
        self.known.insert(run, self.all.len() - 1);
        self.all.len() - 1
    }

    fn write(&self, writer: &mut Writer) {
        let mut keys: Vec<u64> = self.all.iter().flatten().map(|&(key, _)| key).collect();
        keys.sort_unstable();
        keys.dedup();
        writer.count(keys.len());
        keys.iter().for_each(|&key| writer.word(key));
        writer.count(self.all.len());
        let mut last: &[(u64, u32)] = &[];
        for run in &self.all {
            let same = common(last, run);
            writer.count(same);
            writer.count(run.len() - same);
            for (key, alternative) in &run[same..] {
                // It is there.
                let number = keys.binary_search(key).unwrap_or(0) as u64;
                writer.number(number << 1 | u64::from(*alternative > 0));
                if *alternative > 0 {
                    writer.number(u64::from(*alternative));
                }
            }
            last = run;
        }
    }
}

/// How many events two runs begin with that are the same.
fn common(a: &[(u64, u32)], b: &[(u64, u32)]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn read_runs(reader: &mut Reader<'_>) -> Option<Vec<Plain>> {
    let keys = reader.list(Reader::word)?;
    let count = reader.count()?;
    let mut runs: Vec<Plain> = Vec::with_capacity(count);
    for _ in 0..count {
        // What it shares with the one before was read, and needs no bytes here.
        let same = usize::try_from(reader.number()?).ok()?;
        let mut run = match runs.last() {
            Some(last) => last.get(..same)?.to_vec(),
            None if same == 0 => Vec::new(),
            None => return None,
        };
        run.extend(reader.list(|reader| {
            let number = reader.number()?;
            let key = *keys.get(usize::try_from(number >> 1).ok()?)?;
            let alternative = if number & 1 == 1 { reader.small()? } else { 0 };
            Some((key, alternative))
        })?);
        runs.push(run);
    }
    Some(runs)
}

/// What came of a task, as it is kept.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Kept {
    pub traces: u128,
    pub counts: Counts,
    /// Whether runs were cut off at the bound on depth.
    pub is_cut: bool,
    runs: Vec<Plain>,
    pub branches: Vec<KeptBranch>,
    pub looks: Vec<KeptLook>,
    pub ends: Vec<KeptEnd>,
}

#[derive(PartialEq, Eq, Debug)]
pub(super) struct KeptBranch {
    /// What it is known by: see [`Branch::identity`].
    pub name: Name,
    pub around: u64,
    run: usize,
    step: Option<(u64, u32)>,
}

#[derive(PartialEq, Eq, Debug)]
pub(super) struct KeptLook {
    pub own: u64,
    pub taken: u64,
    pub key: u64,
    run: usize,
}

#[derive(PartialEq, Eq, Debug)]
pub(super) struct KeptEnd {
    key: u64,
    withheld: bool,
    run: usize,
}

impl Done {
    /// What is to be kept of it; nothing if it was not performed to its end, or has found what ends the check.
    pub fn kept<M: Machine>(&self, component: u32, machine: &M) -> Option<Kept> {
        if self.violation.is_some()
            || self.is_stale
            || !matches!(self.bound, None | Some(Bound::Depth))
        {
            return None;
        }
        let Explored { branches, traces, looks, ends, .. } = &self.found;
        let mut runs = Runs::default();
        let branch = |branch: &Arc<Branch>| {
            let (name, around) = branch.identity();
            let events = branch.trace.events.iter().zip(&*branch.stays);
            let run = runs.add(events.filter(|(_, stays)| **stays).map(|(event, _)| event));
            let step = branch.step.as_ref();
            let step = step.map(|(doing, ..)| (doing.process, doing.alternative));
            KeptBranch { name, around, run, step }
        };
        let branches = branches.iter().map(branch).collect();
        let look = |seen: &Arc<Seen>| {
            let (trace, stays) = &seen.part;
            // Without what the component does later, and all that comes of it.
            let is_later = |place: usize, event: &Event<Doing>| {
                event.mark.component == component && !stays[place]
            };
            let events = trace.events.iter().zip(trace.without(is_later));
            let run = runs.add(events.filter(|(_, stays)| *stays).map(|(event, _)| event));
            KeptLook {
                own: seen.own,
                taken: signature(seen.taken.iter().copied()),
                key: seen.key,
                run,
            }
        };
        let looks = looks.iter().map(look).collect();
        let end = |end: &Arc<End>| {
            let End { fate, part } = &**end;
            let run = runs.add(part.0.events.iter());
            KeptEnd { key: look_key(machine, &fate.look), withheld: fate.is_withheld, run }
        };
        let ends = ends.iter().map(end).collect();
        Some(Kept {
            traces: *traces,
            counts: self.counts,
            is_cut: self.bound.is_some(),
            runs: runs.all,
            branches,
            looks,
            ends,
        })
    }
}

impl Kept {
    /// The result of a task as bytes.
    pub fn to_bytes(&self, task: TaskKey) -> Vec<u8> {
        let mut writer = Writer::default();
        write_key(&mut writer, task);
        writer.number((self.traces >> 64) as u64);
        writer.number(self.traces as u64);
        self.counts.to_numbers().into_iter().for_each(|number| writer.number(number));
        writer.number(self.is_cut.into());
        // Runs that follow each other have much in common.
        Runs { all: self.runs.clone(), known: FxHashMap::default() }.write(&mut writer);
        writer.count(self.branches.len());
        for KeptBranch { name, around, run, step } in &self.branches {
            writer.word(*name);
            writer.word(*around);
            writer.count(*run);
            writer.number(step.is_some().into());
            if let Some((process, alternative)) = step {
                writer.word(*process);
                writer.number(u64::from(*alternative));
            }
        }
        writer.count(self.looks.len());
        for KeptLook { own, taken, key, run } in &self.looks {
            writer.word(*own);
            writer.word(*taken);
            writer.word(*key);
            writer.count(*run);
        }
        writer.count(self.ends.len());
        for KeptEnd { key, withheld, run } in &self.ends {
            writer.word(*key);
            writer.count(*run << 1 | usize::from(*withheld));
        }
        writer.bytes
    }

    /// What bytes say came of which task; `None` if they say nothing of the kind.
    pub fn from_bytes(bytes: &[u8]) -> Option<(TaskKey, Self)> {
        let mut reader = Reader::new(bytes);
        let task = read_key(&mut reader)?;
        let traces = u128::from(reader.number()?) << 64 | u128::from(reader.number()?);
        let mut numbers = [0; Counts::NUMBERS];
        for number in &mut numbers {
            *number = reader.number()?;
        }
        let counts = Counts::from_numbers(numbers);
        let is_cut = reader.number()? == 1;
        let runs = read_runs(&mut reader)?;
        let run = |number: u64| {
            let number = usize::try_from(number).ok()?;
            (number < runs.len()).then_some(number)
        };
        let branches = reader.list(|reader| {
            let (name, around) = (reader.word()?, reader.word()?);
            let run = run(reader.number()?)?;
            let step = match reader.number()? {
                0 => None,
                _ => Some((reader.word()?, reader.small()?)),
            };
            Some(KeptBranch { name, around, run, step })
        })?;
        let looks = reader.list(|reader| {
            let [own, taken, key] = [reader.word()?, reader.word()?, reader.word()?];
            Some(KeptLook { own, taken, key, run: run(reader.number()?)? })
        })?;
        let ends = reader.list(|reader| {
            let (key, number) = (reader.word()?, reader.number()?);
            Some(KeptEnd { key, withheld: number & 1 == 1, run: run(number >> 1)? })
        })?;
        let kept = Kept { traces, counts, is_cut, runs, branches, looks, ends };
        reader.is_at_end().then_some((task, kept))
    }
}

#[cfg(test)]
impl Kept {
    /// Something to be kept, with so many local traces.
    pub fn sample(traces: u64) -> Self {
        let runs = vec![vec![(7, 0), (1 << 40, 3)], vec![(7, 0), (9, 0), (9, 1)]];
        let branches = vec![KeptBranch { name: 5, around: traces, run: 1, step: Some((9, 2)) }];
        let looks = vec![KeptLook { own: 1, taken: 4, key: 2, run: 0 }];
        let ends = vec![KeptEnd { key: 3, withheld: true, run: 1 }];
        let found = Explored { traces: traces.into(), others: 1, ..Explored::default() };
        Kept {
            traces: found.traces,
            counts: Counts::of(&found, 300, 9),
            is_cut: false,
            runs,
            branches,
            looks,
            ends,
        }
    }
}

/// Finds out again what was not written, by performing the runs.
pub(super) struct Reviver<'a, M> {
    led: Led<'a, M>,
    component: u32,
    /// The run after which the machine stands.
    run: Plain,
    alternatives: Vec<u32>,
}

impl<'a, M: Machine> Reviver<'a, M> {
    pub fn new(
        machine: &'a mut M,
        parts: &'a Parts,
        start: usize,
        component: u32,
    ) -> Result<Self, Error> {
        let mut led = Led::new(machine, parts);
        led.restart(start)?;
        Ok(Reviver { led, component, run: Vec::new(), alternatives: Vec::new() })
    }

    /// What something stands for that should be possible here; and what is known of that.
    fn here(
        &mut self,
        (process, alternative): (u64, u32),
    ) -> Result<(Transition, Elsewhere), Error> {
        let machine = &mut *self.led.machine;
        let Some(process) = machine.process_with(process)? else { return Err(unfit()) };
        let found = machine.elsewhere(process, &[], &mut self.alternatives)?;
        let is_possible = matches!(found, Elsewhere::Possible(..));
        match is_possible && self.alternatives.contains(&alternative) {
            true => Ok((Transition { process, alternative }, found)),
            false => Err(unfit()),
        }
    }

    /// Stands after a run.
    fn stand_after(&mut self, run: &[(u64, u32)]) -> Result<(), Error> {
        let same = common(&self.run, run);
        self.led.go_back(same)?;
        self.run.truncate(same);
        for &what in &run[same..] {
            let (transition, _) = self.here(what)?;
            if self.led.perform(transition)?.failed {
                return Err(unfit());
            }
            self.run.push(what);
        }
        Ok(())
    }

    fn own_names(&self) -> impl Iterator<Item = Name> + '_ {
        let all = self.led.marks.all.iter();
        let own = all.filter(|mark| mark.component == self.component);
        own.filter_map(|mark| mark.for_component(self.component))
    }

    fn look(&mut self) -> Look {
        let machine = &mut *self.led.machine;
        let (places, readings) = (machine.places() as u32, machine.readings().len());
        let groups = &self.led.parts.groups[self.component as usize];
        let places = groups.iter().filter(|&&group| group < places);
        let all = places.flat_map(|&place| (0..readings).map(move |it| (place, it)));
        all.map(|(place, property)| view(machine, property, place)).collect()
    }

    /// A branch.
    pub fn branch(&mut self, kept: &Kept, branch: &KeptBranch) -> Result<Branch, Error> {
        self.stand_after(&kept.runs[branch.run])?;
        let component = self.component;
        let name =
            |event: u32, led: &Led<'_, M>| led.marks.all[event as usize].for_component(component);
        let (step, past): (_, FxHashSet<Name>) = match branch.step {
            None => {
                let all = 0..self.led.marks.all.len() as u32;
                (None, all.filter_map(|event| name(event, &self.led)).collect())
            }
            Some(step) => {
                let (transition, found) = self.here(step)?;
                let Elsewhere::Possible(footprint, created_by) = found else { return Err(unfit()) };
                let would = self.led.would(transition, footprint, created_by, &[])?;
                let past = would.past.iter().filter_map(|&event| name(event, &self.led)).collect();
                let doing = self.led.parts.doing(&*self.led.machine, would.what);
                (Some((doing, would.label, would.name)), past)
            }
        };
        let trace = Arc::new(self.led.trace());
        let stays = vec![true; trace.events.len()].into();
        let revived = Branch { component, step, past, trace, stays };
        match revived.identity() == (branch.name, branch.around) {
            true => Ok(revived),
            false => Err(unfit()),
        }
    }

    /// How the component may look.
    pub fn seen(&mut self, kept: &Kept, seen: &KeptLook) -> Result<Seen, Error> {
        self.stand_after(&kept.runs[seen.run])?;
        let own = self.own_names().map(mix).fold(0, u64::wrapping_add);
        let look = self.look();
        let key = look_key(&*self.led.machine, &look);
        let trace = Arc::new(self.led.trace());
        let taken = trace.taken_by(self.component, |_| true).ok_or_else(unfit)?;
        if (own, signature(taken.iter().copied()), key) != (seen.own, seen.taken, seen.key) {
            return Err(unfit());
        }
        let own_events = trace.events.iter().map(|event| event.mark.component == self.component);
        let stays = own_events.collect();
        Ok(Seen { own, taken, look, key, part: (trace, stays) })
    }

    /// How it may end.
    pub fn end(&mut self, kept: &Kept, end: &KeptEnd) -> Result<End, Error> {
        self.stand_after(&kept.runs[end.run])?;
        let look = self.look();
        if look_key(&*self.led.machine, &look) != end.key {
            return Err(unfit());
        }
        let trace = Arc::new(self.led.trace());
        let stays = vec![true; trace.events.len()].into();
        let mut fate = Fate { look, is_withheld: end.withheld, trouble: 0 };
        for &group in &self.led.parts.groups[self.component as usize] {
            fate.trouble = fate.trouble.wrapping_add(self.led.machine.ended(group)?);
        }
        Ok(End { fate, part: (trace, stays) })
    }
}

impl Branch {
    /// What it is known by: its name, zero if the component stops, and the signature of what is around it.
    pub fn identity(&self) -> (Name, u64) {
        match &self.step {
            None => (0, signature(self.past.iter().copied())),
            Some((_, _, name)) => (*name, signature(self.around())),
        }
    }

    /// The component's own interface events before it or around it, in their order.
    pub fn around(&self) -> impl Iterator<Item = Name> + '_ {
        let own = |(event, stays): (&_, &bool)| own_name(event, self.component).filter(|_| *stays);
        self.trace.events.iter().zip(&*self.stays).filter_map(own)
    }
}

/// What was kept cannot be performed, or is not what it was.
fn unfit() -> Error {
    let what = "the log has runs that this system does not have: it is of another system, or of another version of it; begin a new one";
    Error::Log(what.to_owned())
}
