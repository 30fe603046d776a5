//! Tasks on generated systems: what comes of one depends on the task alone, and comes back from bytes.

use super::alone::Trees;
use super::interface::{Doing, Led, Parts};
use super::partial::{Branch, Explored, Part, Seen};
use super::task::{Done, Kept, Reviver, Task};
use crate::engine::budget::Budget;
use crate::engine::components::Component;
use crate::engine::machine::Machine;
use crate::engine::machine::handlers::{Built, Handlers};
use crate::engine::options::Options;
use crate::node::{Record, state};
use crate::plan::{Plan, plan, wide_plan};
use crate::space::local::{LocalSpace, SpaceOptions};
use crate::trace::skeleton::{Trace, signature};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeSet;
use std::sync::Arc;

const NO_OPTIONS: SpaceOptions =
    SpaceOptions { determinism_guard: false, verify_aux: false, symmetry: false, exact: false };

fn cases() -> ProptestConfig {
    let default = ProptestConfig::default();
    let (cases, rng_seed) = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => (default.cases, RngSeed::Random),
        None => (100, RngSeed::Fixed(1)),
    };
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..default }
}

/// With a machine for a system, on a space of its own; nothing if a node panics at the start.
fn with_machine<R>(
    plan: &Plan,
    colours: &[usize],
    then: impl FnOnce(&mut Handlers<'_>, &Parts) -> R,
) -> Option<R> {
    let system = Record::default().of(plan);
    let system = system.sometimes("something", state(), |states: &[u8]| states[0] == 1);
    let system = system.never_stuck("anything may end", state(), |_| true);
    let space = LocalSpace::new(&system, NO_OPTIONS).unwrap();
    let Built::Machine(mut machine) = Handlers::build(&space).unwrap() else {
        return None;
    };
    let nodes = machine.places();
    let group = |colour| (0..nodes).filter(|&it| colours[it] == colour).collect::<Vec<_>>();
    let single = |node: &usize| Component::of(vec![*node]).unwrap();
    // Some consist of components.
    let component = |group: Vec<usize>| match group.len() > 1 && group[0].is_multiple_of(2) {
        true => Component::made_of(group.iter().map(single).collect()).unwrap(),
        false => Component::of(group).unwrap(),
    };
    let groups = (0..6).map(group).filter(|group| !group.is_empty());
    let components: Vec<_> = groups.map(component).collect();
    let parts = Parts::nested(&components, machine.groups());
    Some(then(&mut machine, &parts))
}

/// A run of at most so many events that goes where these choices lead.
fn walk(machine: &mut Handlers<'_>, parts: &Parts, choices: &[usize]) -> Trace<Doing> {
    let mut led = Led::new(machine, parts);
    led.restart(0).unwrap();
    let mut possible = Vec::new();
    for choice in choices {
        led.machine.possible(&mut possible).unwrap();
        if possible.is_empty() {
            break;
        }
        let failed = led.perform(possible[choice % possible.len()]).unwrap().failed;
        if failed {
            led.go_back(led.moves.len() - 1).unwrap();
            break;
        }
    }
    led.trace()
}

fn shown(trace: &Trace<Doing>) -> String {
    format!("{trace:?}")
}

fn tasks(trace: Trace<Doing>, parts: &Parts) -> Vec<Task> {
    let told = Arc::new(trace);
    let task = |component| {
        let local = signature(told.local_skeleton(component));
        Task { start: 0, component, local, told: Arc::clone(&told) }
    };
    (0..parts.len()).map(task).collect()
}

fn perform(task: &Task, machine: &mut Handlers<'_>, parts: &Parts) -> Option<(Done, Kept)> {
    perform_with(task, machine, &mut Trees::new(machine, parts), parts)
}

fn perform_with(
    task: &Task,
    machine: &mut Handlers<'_>,
    trees: &mut Trees,
    parts: &Parts,
) -> Option<(Done, Kept)> {
    let options = Options { max_runs: Some(200), max_depth: Some(30), ..Options::default() };
    let budget = Budget::new(&options);
    let done = task.perform((machine, trees), parts, &budget, &Arc::default()).unwrap();
    let kept = done.kept(task.component, machine)?;
    Some((done, kept))
}

/// All that came of a task but for what the rest does in the runs that show it.
fn but_for_the_rest(task: &Task, done: &Done) -> Vec<String> {
    let own = |(trace, stays): &Part| {
        let events = trace.events.iter().zip(&**stays).filter(|(_, stays)| **stays);
        let own = events.filter(|(event, _)| event.mark.component == task.component);
        own.map(|(event, _)| event.what.clone()).collect::<Vec<_>>()
    };
    let Explored { branches, traces, others, looks, ends } = &done.found;
    let mut all = vec![format!("{traces} {others} {:?}", done.counts)];
    for branch in branches {
        let part = own(&(Arc::clone(&branch.trace), branch.stays.clone()));
        let past: BTreeSet<_> = branch.past.iter().collect();
        all.push(format!("{:?} {:?} {past:?} {part:?}", branch.identity(), branch.step));
    }
    for seen in looks {
        all.push(format!("{} {:?} {:?}", seen.own, seen.look, own(&seen.part)));
    }
    for end in ends {
        all.push(format!("{:?} {:?}", end.fate, own(&end.part)));
    }
    all
}

fn walks() -> impl Strategy<Value = Vec<Vec<usize>>> {
    prop::collection::vec(prop::collection::vec(0..1_000_usize, 12), 3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4 * cases().cases, ..cases() })]

    /// Whatever a machine has met before, and whatever numbers things have there.
    #[test]
    fn names_are_of_content_alone(
        plan in plan(),
        colours in prop::array::uniform8(0..6_usize),
        walks in walks(),
    ) {
        let trace = with_machine(&plan, &colours, |machine, parts| walk(machine, parts, &walks[0]));
        let Some(trace) = trace else { return Ok(()) };
        with_machine(&plan, &colours, |machine, parts| {
            walk(machine, parts, &walks[1]);
            walk(machine, parts, &walks[2]);
            let mut led = Led::new(machine, parts);
            led.restart(0).unwrap();
            for event in &trace.events {
                let transition = event.what.transition(&mut *led.machine).unwrap();
                led.perform(transition).unwrap();
            }
            prop_assert_eq!(shown(&led.trace()), shown(&trace));
            Ok(())
        }).unwrap_or(Ok(()))?;
    }
}

proptest! {
    #![proptest_config(cases())]

    /// Whoever performs a task, and after whatever others: the same comes of it, to the last bit.
    #[test]
    fn what_comes_of_a_task_depends_on_the_task_alone(
        plan in prop_oneof![plan(), wide_plan()],
        colours in prop::array::uniform8(0..6_usize),
        walks in walks(),
    ) {
        let first = with_machine(&plan, &colours, |machine, parts| {
            let tasks = tasks(walk(machine, parts, &walks[0]), parts);
            let results: Vec<_> = tasks.iter().map(|task| {
                perform(task, machine, parts).map(|(_, kept)| kept.to_bytes(task.key()))
            }).collect();
            (tasks, results)
        });
        let Some((tasks, results)) = first else { return Ok(()) };
        with_machine(&plan, &colours, |machine, parts| {
            for task in self::tasks(walk(machine, parts, &walks[1]), parts) {
                perform(&task, machine, parts);
            }
            for (task, expected) in tasks.iter().zip(&results).rev() {
                let bytes = task.to_bytes();
                let task = Task::from_bytes(&bytes, machine, parts).unwrap().unwrap();
                let result = perform(&task, machine, parts);
                let result = result.map(|(_, kept)| kept.to_bytes(task.key()));
                prop_assert_eq!(&result, expected);
            }
            Ok(())
        }).unwrap_or(Ok(()))?;
    }

    /// Whatever a machine remembers of what components did.
    #[test]
    fn what_comes_of_a_task_does_not_depend_on_trees(
        plan in plan(),
        colours in prop::array::uniform8(0..6_usize),
        walks in walks(),
    ) {
        with_machine(&plan, &colours, |machine, parts| {
            let mut trees = Trees::new(machine, parts);
            for choices in walks[1..].iter().chain(&walks) {
                for task in tasks(walk(machine, parts, choices), parts) {
                    let fresh = perform(&task, machine, parts);
                    let again = perform_with(&task, machine, &mut trees, parts);
                    let both = [fresh, again].map(|done| {
                        done.map(|(done, _)| but_for_the_rest(&task, &done))
                    });
                    prop_assert_eq!(&both[0], &both[1]);
                }
            }
            Ok(())
        }).unwrap_or(Ok(()))?;
    }

    /// Branches and looks are found out again from what is kept of them.
    #[test]
    fn what_is_kept_comes_back(
        plan in plan(),
        colours in prop::array::uniform8(0..6_usize),
        walks in walks(),
    ) {
        let done = with_machine(&plan, &colours, |machine, parts| {
            let tasks = tasks(walk(machine, parts, &walks[0]), parts);
            let all = tasks.into_iter().map(|task| (perform(&task, machine, parts), task));
            all.filter_map(|(done, task)| Some((done?, task))).collect::<Vec<_>>()
        });
        let Some(done) = done else { return Ok(()) };
        with_machine(&plan, &colours, |machine, parts| {
            walk(machine, parts, &walks[1]);
            for ((done, kept), task) in done {
                let bytes = kept.to_bytes(task.key());
                let (key, read) = Kept::from_bytes(&bytes).unwrap();
                prop_assert_eq!((key, &read), (task.key(), &kept));
                let mut reviver = Reviver::new(&mut *machine, parts, 0, task.component).unwrap();
                for (branch, kept) in done.found.branches.iter().zip(&read.branches) {
                    let revived = reviver.branch(&read, kept).unwrap();
                    let told = |it: &Branch| format!("{:?} {:?}", it.step, it.identity());
                    prop_assert_eq!(told(&revived), told(branch));
                    prop_assert_eq!(&revived.past, &branch.past);
                }
                for (seen, kept) in done.found.looks.iter().zip(&read.looks) {
                    let revived = reviver.seen(&read, kept).unwrap();
                    let own = |it: &Seen| {
                        let events = it.part.0.events.iter().zip(&*it.part.1);
                        let own = events.filter(|(_, stays)| **stays);
                        own.map(|(event, _)| event.what.clone()).collect::<Vec<_>>()
                    };
                    prop_assert_eq!(own(&revived), own(seen));
                }
                for kept in &read.ends {
                    prop_assert!(reviver.end(&read, kept).is_ok());
                }
            }
            Ok(())
        }).unwrap_or(Ok(()))?;
    }

    /// Bytes that were not written so are refused, or performed and found to be otherwise, or are as good: nothing panics.
    #[test]
    fn nothing_is_taken_on_trust(
        plan in plan(),
        walks in walks(),
        at in any::<prop::sample::Index>(),
        flip in 1_u8..=255,
    ) {
        with_machine(&plan, &[0, 1, 2, 3, 4, 5, 5, 5], |machine, parts| {
            for task in tasks(walk(machine, parts, &walks[0]), parts) {
                let Some((_, kept)) = perform(&task, machine, parts) else { continue };
                let mut bytes = kept.to_bytes(task.key());
                let at = at.index(bytes.len());
                bytes[at] ^= flip;
                let Some((_, read)) = Kept::from_bytes(&bytes) else { continue };
                let mut reviver = Reviver::new(&mut *machine, parts, 0, task.component).unwrap();
                for kept in &read.branches {
                    let _ = reviver.branch(&read, kept);
                }
                for kept in &read.looks {
                    let _ = reviver.seen(&read, kept);
                }
                let mut bytes = task.to_bytes();
                let at = at % bytes.len();
                bytes[at] ^= flip;
                let _ = Task::from_bytes(&bytes, machine, parts);
            }
        });
    }
}
