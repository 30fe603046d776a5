//! Orders of all steps: made of an order of the points of a window, and checked, step by step, before they are reported.

use super::Witness;
use super::access::access;
use super::model::{Model, Role};
use super::window::{Graph, Order, Window};
use crate::step::Step;

/// All steps: the past as in the trace, the window as its nodes are ordered, the future as in the trace.
///
/// A step that is no node has to do with order only by its thread, so it comes right after the node before it,
/// or first of all if there is none in the window.
pub(super) fn expand(
    order: &Order<'_>,
    window: &Window,
    graph: &Graph,
    nodes: &[u32],
) -> Vec<usize> {
    let steps = order.steps;
    let mut places = vec![0; graph.nodes.len()];
    for (place, &node) in nodes.iter().enumerate() {
        places[node as usize] = place;
    }
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let (mut past, mut first, mut future) = (Vec::new(), Vec::new(), Vec::new());
    let mut last: Vec<Option<usize>> = vec![None; order.model.threads];
    let mut next_node = 0;
    for (at, step) in steps.iter().enumerate() {
        let thread = step.thread as usize;
        if graph.nodes.get(next_node) == Some(&(at as u32)) {
            last[thread] = Some(places[next_node]);
            next_node += 1;
        }
        if (at as u32) < window.begin[thread] {
            past.push(at);
        } else if at as u32 >= window.end[thread] {
            future.push(at);
        } else {
            match last[thread] {
                Some(place) => after[place].push(at),
                None => first.push(at),
            }
        }
    }
    past.extend(first);
    past.extend(after.into_iter().flatten());
    past.extend(future);
    past
}

/// Says what is wrong with a witness, if anything is: an order that has not all steps or not each once, that no run
/// can have, or in which nothing is reversed.
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
    if order.len() != steps.len() {
        return wrong("steps are missing");
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
    if !dependent || first >= second || places[second] >= places[first] {
        return wrong("no steps that depend on each other are reversed");
    }
    let mut last = vec![None; model.threads];
    for (at, step) in steps.iter().enumerate() {
        let last = last[step.thread as usize].replace(at);
        if last.is_some_and(|last: usize| places[last] >= places[at]) {
            return wrong("a thread goes back");
        }
    }
    for (&at, sources) in &model.before {
        if sources.iter().any(|&source| places[source as usize] >= places[at as usize]) {
            return wrong("a thread does not wait");
        }
    }
    let mut points: Vec<_> = model.points.iter().collect();
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
