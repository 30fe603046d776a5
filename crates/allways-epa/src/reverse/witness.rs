//! Beginnings of runs: made of an order of points of a window, and checked, step by step, before they are reported.

use super::Witness;
use super::access::access;
use super::model::{Model, Point, Role};
use super::window::{Graph, Order, Window};
use crate::step::Step;

/// The beginning of a run: the past as in the trace, then the window as its nodes are ordered.
///
/// A step that is no node has to do with order only by its thread. So it comes right after the node before it, or first of
/// all if there is none in the window; if there is a node of its thread after it, and not at all otherwise.
pub(super) fn expand(
    order: &Order<'_>,
    window: &Window,
    graph: &Graph,
    nodes: &[u32],
) -> Vec<usize> {
    let steps = order.steps;
    let mut places = vec![None; graph.nodes.len()];
    // Up to where each thread gets.
    let mut end = window.begin.clone();
    for (place, &node) in nodes.iter().enumerate() {
        places[node as usize] = Some(place);
        let step = graph.nodes[node as usize];
        let end = &mut end[order.thread(step)];
        *end = (*end).max(step + 1);
    }
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let (mut past, mut first) = (Vec::new(), Vec::new());
    let mut last: Vec<Option<usize>> = vec![None; order.model.threads];
    let mut next_node = 0;
    for (at, step) in steps.iter().enumerate() {
        let thread = step.thread as usize;
        if graph.nodes.get(next_node) == Some(&(at as u32)) {
            last[thread] = places[next_node];
            next_node += 1;
        }
        if at as u32 >= end[thread] {
            continue;
        } else if (at as u32) < window.begin[thread] {
            past.push(at);
        } else {
            match last[thread] {
                Some(place) => after[place].push(at),
                None => first.push(at),
            }
        }
    }
    past.extend(first);
    past.extend(after.into_iter().flatten());
    past
}

/// Says what is wrong with a witness, if anything is: a step that comes twice, a beginning that no run can have, or one in which nothing
/// is reversed.
pub(super) fn verify(model: &Model, steps: &[Step], witness: &Witness) -> Result<(), String> {
    let &Witness { first, second, ref order } = witness;
    let wrong = |what: &str| Err(format!("an order was found that is none: {what}"));
    let mut places = vec![usize::MAX; steps.len()];
    for (place, &at) in order.iter().enumerate() {
        match places.get_mut(at) {
            Some(known) if *known == usize::MAX => *known = place,
            _ => return wrong("a step comes twice"),
        }
    }
    let dependent = match (access(&steps[first]), access(&steps[second])) {
        (Some((one, one_writes)), Some((other, other_writes))) => {
            let overlap = one.offset < other.offset.saturating_add(other.bytes)
                && other.offset < one.offset.saturating_add(one.bytes);
            let threads = steps[first].thread != steps[second].thread;
            one.object == other.object && overlap && threads && (one_writes || other_writes)
        }
        _ => false,
    };
    let is_last = order.last() == Some(&second);
    if !dependent || first >= second || !is_last || places[first] != usize::MAX {
        return wrong("no steps that depend on each other are reversed");
    }
    let mut last = vec![None; model.threads];
    for (at, step) in steps.iter().enumerate() {
        let last = last[step.thread as usize].replace(at);
        let is_there = places[at] != usize::MAX;
        if is_there && last.is_some_and(|last: usize| places[last] >= places[at]) {
            return wrong("a thread goes back");
        }
    }
    for (&at, sources) in &model.before {
        let place = places[at as usize];
        let is_there = place != usize::MAX;
        if is_there && sources.iter().any(|&source| places[source as usize] >= place) {
            return wrong("a thread does not wait");
        }
    }
    let is_there = |point: &&Point| places[point.step as usize] != usize::MAX;
    let mut points: Vec<_> = model.points.iter().filter(is_there).collect();
    points.sort_unstable_by_key(|point| places[point.step as usize]);
    let mut open: Vec<Vec<u32>> = vec![Vec::new(); model.locks.len()];
    for point in points {
        match point.role {
            Role::Begin(number) => {
                let section = model.sections[number as usize];
                let open = &mut open[section.lock as usize];
                if open.iter().any(|&other| section.excludes(&model.sections[other as usize])) {
                    return wrong("two threads have a lock at once");
                }
                open.push(number);
            }
            Role::End(number) => {
                let lock = model.sections[number as usize].lock;
                open[lock as usize].retain(|&other| other != number);
            }
            Role::Other => {}
        }
    }
    Ok(())
}
