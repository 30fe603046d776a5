//! The consistent cuts of skeletons: where properties are looked at.

use super::interface::Doing;
use crate::trace::order::{contains, insert, members, unite};
use crate::trace::skeleton::{Event, Name, Trace, mix, pair};
use rustc_hash::FxHashSet;

/// The consistent cuts of known skeletons, in their order; those in which all local skeletons are the same, once.
#[derive(Default)]
pub(super) struct KnownCuts {
    pub all: Vec<Cut>,
    /// What tells them apart.
    pub met: FxHashSet<u64>,
    /// In how many skeletons cuts were looked for, and how many cuts were looked at early.
    pub skeletons: usize,
    pub looked_at: usize,
}

impl KnownCuts {
    /// Roughly the bytes in use.
    pub fn bytes(&self) -> u64 {
        let one = |cut: &Cut| 8 * (cut.locals.len() + cut.events.len()) + size_of::<Cut>() + 48;
        (self.all.len() * self.all.first().map_or(0, one)) as u64
    }
}

/// A consistent cut of a skeleton.
pub(super) struct Cut {
    pub known: usize,
    /// For each component, the signature of its local skeleton.
    pub locals: Box<[u64]>,
    /// Its interface events, as a set of bits.
    pub events: Vec<u64>,
}

impl Cut {
    /// What tells it apart from others.
    pub fn key(&self) -> u64 {
        self.locals.iter().copied().fold(0, pair)
    }

    /// Its events, of the trace that it is a cut of.
    pub fn interface<'t>(
        &'t self,
        trace: &'t Trace<Doing>,
    ) -> impl Iterator<Item = &'t Event<Doing>> + 't {
        let all = trace.events.iter().filter(|event| event.mark.name != 0).enumerate();
        all.filter(|(number, _)| contains(&self.events, *number)).map(|(_, event)| event)
    }
}

/// The interface events of a trace, by number: of each what it adds to the signatures of local skeletons, and those that happen before it; and those that cuts must not have.
struct Cuts<'c> {
    known: usize,
    events: &'c [&'c [(u32, Name)]],
    pasts: &'c [&'c Vec<u64>],
    forbidden: Vec<u64>,
}

/// Each consistent cut of a skeleton that is not one of its parent's, too, unless a bound is reached: names are told by their pasts, so a cut without any name that the parent has not is a cut of
/// the parent. The others are told apart by the first of the new events that they have. Of so many components, one may do all that it can in each cut: its own events do not tell cuts apart, and have no numbers.
pub(super) fn cuts_of(
    known: usize,
    trace: &Trace<Doing>,
    parent: Option<&[Name]>,
    (components, rest): (usize, Option<u32>),
    is_over: &dyn Fn() -> bool,
    add: &mut dyn FnMut(Cut),
) {
    let is_new = |name| parent.is_none_or(|names| names.binary_search(name).is_err());
    let mut events: Vec<&[(u32, Name)]> = Vec::new();
    let mut new: Vec<usize> = Vec::new();
    let mut pasts: Vec<Vec<u64>> = Vec::new();
    let mut numbers: Vec<Option<usize>> = Vec::new();
    let words = trace.events.len() / 64 + 1;
    for event in &trace.events {
        let mut past = vec![0_u64; words];
        for &before in &event.before {
            let before = before as usize;
            unite(&mut past, &pasts[before]);
            if let Some(number) = numbers[before] {
                insert(&mut past, number);
            }
        }
        pasts.push(past);
        let is_interface = event.mark.name != 0 && Some(event.mark.component) != rest;
        numbers.push(is_interface.then_some(events.len()));
        if is_interface {
            if is_new(&event.mark.name) {
                new.push(events.len());
            }
            events.push(&event.mark.names);
        }
    }
    let pasts: Vec<&Vec<u64>> =
        pasts.iter().zip(&numbers).filter(|(_, it)| it.is_some()).map(|(past, _)| past).collect();
    let forbidden = vec![0; words];
    let mut cuts = Cuts { known, events: &events, pasts: &pasts, forbidden };
    if parent.is_none() {
        cuts.all_from(vec![0; words], components, is_over, add);
        return;
    }
    for first in new {
        let mut cut = pasts[first].clone();
        insert(&mut cut, first);
        if cut.iter().zip(&cuts.forbidden).all(|(cut, forbidden)| cut & forbidden == 0)
            && !cuts.all_from(cut, components, is_over, add)
        {
            return;
        }
        insert(&mut cuts.forbidden, first);
    }
}

impl Cuts<'_> {
    /// Adds a cut, and all larger ones without some events; false if a bound is reached. Events are added in the order of the run, so no cut is met twice.
    fn all_from(
        &self,
        mut cut: Vec<u64>,
        components: usize,
        is_over: &dyn Fn() -> bool,
        add: &mut dyn FnMut(Cut),
    ) -> bool {
        let Cuts { known, events, pasts, forbidden } = self;
        let mut locals = vec![0_u64; components].into_boxed_slice();
        let add_to = |locals: &mut [u64], number: usize| {
            for &(component, name) in events[number] {
                let local = &mut locals[component as usize];
                *local = local.wrapping_add(mix(name));
            }
        };
        members(&cut).for_each(|number| add_to(&mut locals, number));
        let mut added: Vec<usize> = Vec::new();
        let (mut next, mut is_new) = (0, true);
        let mut count = 0_usize;
        loop {
            if is_new {
                add(Cut { known: *known, locals: locals.clone(), events: cut.clone() });
                count += 1;
                if count.is_multiple_of(1 << 10) && is_over() {
                    return false;
                }
            }
            let is_next = |&number: &usize| {
                !contains(&cut, number)
                    && !contains(forbidden, number)
                    && pasts[number].iter().zip(&cut).all(|(past, cut)| past & !cut == 0)
            };
            if let Some(number) = (next..events.len()).find(is_next) {
                insert(&mut cut, number);
                add_to(&mut locals, number);
                added.push(number);
                (next, is_new) = (number + 1, true);
            } else if let Some(number) = added.pop() {
                cut[number / 64] &= !(1 << (number % 64));
                for &(component, name) in events[number] {
                    let local = &mut locals[component as usize];
                    *local = local.wrapping_sub(mix(name));
                }
                (next, is_new) = (number + 1, false);
            } else {
                return true;
            }
        }
    }
}
