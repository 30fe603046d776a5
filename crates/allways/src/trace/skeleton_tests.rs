//! The laws of skeletons: names are those of the trace, whatever run it is taken from; a component's part can be put in place of another with the same
//! local skeleton; and what an event would be called elsewhere is what it is called there.

use super::naive::{Plain, cases, closure, runs, swap};
use super::skeleton::{Label, Marks, Name, Trace, pair};
use proptest::prelude::*;
use std::collections::BTreeSet;

const COMPONENTS: u32 = 3;

fn component_of(event: &Plain) -> u32 {
    event.process % COMPONENTS
}

/// Every component has objects of its own, and all touch object zero.
fn divided(mut run: Vec<Plain>) -> Vec<Plain> {
    for event in &mut run {
        let component = component_of(event);
        for object in event.reads.iter_mut().chain(&mut event.writes) {
            if *object > 0 {
                *object = 1 + component + COMPONENTS * (*object % 2);
            }
        }
        // Nobody else could tell what touches nothing.
        event.writes.push(1 + component);
    }
    run
}

fn needed(event: &Plain) -> impl Iterator<Item = usize> + '_ {
    event.created_by.into_iter().chain(event.needs.iter().map(|&needed| needed as usize))
}

/// What each event shows: to those whose events need it, and to all if it touches what they all touch.
fn labels(run: &[Plain]) -> Vec<Label> {
    let component = |event: usize| component_of(&run[event]);
    let label = |(event, plain): (usize, &Plain)| {
        let own = component_of(plain);
        let what = pair(1, u64::from(plain.process));
        let is_shared = plain.reads.contains(&0) || plain.writes.contains(&0);
        let takes = needed(plain).any(|giver| component(giver) != own);
        let gives = |other: u32| {
            let mut takers = run.iter().filter(|taker| component_of(taker) == other);
            is_shared || takers.any(|taker| needed(taker).any(|giver| giver == event))
        };
        let others = (0..COMPONENTS).filter(|&other| other != own && gives(other));
        // In which order a component gives is not told by names, so labels tell what is given apart.
        let step = run[..event].iter().filter(|other| other.process == plain.process).count();
        let to: Vec<(u32, u64)> = others.map(|other| (other, pair(what, step as u64))).collect();
        let is_interface = is_shared || takes || !to.is_empty();
        Label { all: if is_interface { what | 1 } else { 0 }, to: to.into(), is_shared }
    };
    run.iter().enumerate().map(label).collect()
}

fn marks(run: &[Plain]) -> Marks {
    let mut marks = Marks::default();
    for (event, label) in run.iter().zip(labels(run)) {
        marks.push(event.touch(), component_of(event), &label);
    }
    marks
}

fn trace(run: &[Plain]) -> Trace<usize> {
    marks(run).trace(0..run.len())
}

/// All that can be told of a run: by everybody together, and by each component.
fn told(run: &[Plain]) -> Vec<BTreeSet<Name>> {
    let trace = trace(run);
    let locals = (0..COMPONENTS).map(|component| trace.local_skeleton(component).collect());
    std::iter::once(trace.skeleton().collect()).chain(locals).collect()
}

/// The events of a run in another order, or some of them.
fn reordered(run: &[Plain], events: &[usize]) -> Vec<Plain> {
    let place = |needed: usize| events.iter().position(|&event| event == needed);
    let event = |&event: &usize| {
        let plain = &run[event];
        let needs = plain.needs.iter().filter_map(|&needed| place(needed as usize));
        Plain {
            created_by: plain.created_by.and_then(place),
            needs: needs.map(|needed| needed as u32).collect(),
            ..plain.clone()
        }
    };
    events.iter().map(event).collect()
}

/// Something that a component does by itself, put before an event of a run.
fn with_internal(run: &[Plain], component: u32, at: usize) -> Vec<Plain> {
    let mut more = run.to_vec();
    let shifted = |needed: usize| needed + usize::from(needed >= at);
    for event in &mut more {
        event.created_by = event.created_by.map(shifted);
        event.needs.iter_mut().for_each(|needed| *needed = shifted(*needed as usize) as u32);
    }
    let process = 12 + component;
    let writes = vec![1 + component];
    more.insert(at, Plain { process, created_by: None, needs: vec![], reads: vec![], writes });
    more
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn names_are_those_of_the_trace(
        run in runs(14), swaps in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        prop_assume!(run.len() > 1);
        let run = divided(run);
        let mut other = run.clone();
        let mut room = vec![0; run.len()];
        for at in swaps {
            swap(&mut other, &mut room, at.index(run.len() - 1));
        }
        prop_assert_eq!(told(&run), told(&other));
    }

    #[test]
    fn no_two_events_have_one_name(run in runs(14)) {
        let run = divided(run);
        let trace = trace(&run);
        let all: BTreeSet<Name> = trace.skeleton().collect();
        prop_assert_eq!(all.len(), trace.skeleton().count());
        for component in 0..COMPONENTS {
            let local: BTreeSet<Name> = trace.local_skeleton(component).collect();
            prop_assert_eq!(local.len(), trace.local_skeleton(component).count());
        }
    }

    #[test]
    fn what_is_internal_is_not_told(
        run in runs(12), component in 0..COMPONENTS, at in any::<prop::sample::Index>(),
    ) {
        let run = divided(run);
        let more = with_internal(&run, component, at.index(run.len() + 1));
        prop_assert_eq!(told(&more), told(&run));
    }

    #[test]
    fn a_component_can_be_substituted(
        run in runs(12),
        component in 0..COMPONENTS,
        more in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        swaps in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        // Another run, with the same local skeleton: in another order, and with more that is internal.
        let run = divided(run);
        let mut other = run.clone();
        let mut room = vec![0; run.len() + more.len()];
        for at in swaps {
            if run.len() > 1 {
                swap(&mut other, &mut room, at.index(run.len() - 1));
            }
        }
        for at in more {
            other = with_internal(&other, component, at.index(other.len() + 1));
        }
        // Both runs behind each other, so that each event has a number of its own.
        let (ours, theirs) = (trace(&run), marks(&other).trace(run.len()..run.len() + other.len()));
        let all = |trace: &Trace<usize>| vec![true; trace.events.len()];
        let put_together = ours.with(&all(&ours), component, &theirs, &all(&theirs));
        prop_assert!(put_together.is_some());
        let put_together = put_together.unwrap_or_default();
        // What an event needs across the border is the event of that name on the other side.
        let name = |trace: &Trace<usize>, event: usize| trace.events[event].mark.for_component(component);
        let twin = |event: usize| match event < run.len() {
            true => (0..other.len()).find(|&it| name(&theirs, it) == name(&ours, event)).map(|it| it + run.len()),
            false => (0..run.len()).find(|&it| name(&ours, it) == name(&theirs, event - run.len())),
        };
        let resolve = |from: usize, needed: usize| {
            let needed = if from < run.len() { needed } else { needed + run.len() };
            put_together.iter().position(|&it| it == needed)
                .or_else(|| twin(needed).and_then(|twin| put_together.iter().position(|&it| it == twin)))
        };
        let composed: Vec<Plain> = put_together.iter().map(|&it| {
            let plain = if it < run.len() { &run[it] } else { &other[it - run.len()] };
            let needs = plain.needs.iter().filter_map(|&needed| resolve(it, needed as usize));
            Plain {
                created_by: plain.created_by.and_then(|needed| resolve(it, needed)),
                needs: needs.map(|needed| needed as u32).collect(),
                ..plain.clone()
            }
        }).collect();
        // Whatever an event needs came before it.
        for (place, event) in composed.iter().enumerate() {
            prop_assert!(needed(event).all(|needed| needed < place));
        }
        prop_assert_eq!(told(&composed), told(&run));
    }

    #[test]
    fn what_stays_is_a_beginning(run in runs(14), out in prop::collection::vec(any::<bool>(), 14)) {
        let run = divided(run);
        let before = closure(&run);
        let stays = trace(&run).without(|event, _| out[event]);
        for event in 0..run.len() {
            let lacks = (0..event).any(|other| out[other] && before(other, event));
            prop_assert_eq!(stays[event], !out[event] && !lacks);
        }
    }

    #[test]
    fn elsewhere_an_event_has_the_name_that_it_has_there(run in runs(14), root in any::<prop::sample::Index>()) {
        prop_assume!(!run.is_empty());
        let run = divided(run);
        let (last, before) = (run.len() - 1, closure(&run));
        let root = root.index(run.len());
        let is_out = |event: usize| event == root || before(root, event);
        // Only what needs nothing of that can be there.
        prop_assume!(root < last && needed(&run[last]).all(|needed| !is_out(needed)));
        let labels = labels(&run);
        let mut marks = {
            let mut marks = Marks::default();
            for (event, label) in run[..last].iter().zip(&labels) {
                marks.push(event.touch(), component_of(event), label);
            }
            marks
        };
        let without: Vec<u32> = (0..last).filter(|&event| is_out(event)).map(|it| it as u32).collect();
        let component = component_of(&run[last]);
        let (mark, _) = marks.mark_elsewhere(&run[last].touch(), &without, component, &labels[last]);
        let kept: Vec<usize> = (0..last).filter(|&event| !is_out(event)).chain([last]).collect();
        let there = reordered(&run, &kept);
        let mut marks = Marks::default();
        for (event, &number) in there.iter().zip(&kept) {
            marks.push(event.touch(), component_of(event), &labels[number]);
        }
        prop_assert_eq!(Some(&mark), marks.all.last());
    }
}
