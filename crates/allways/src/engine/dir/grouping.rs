//! Components that are found out: those go together that are seen to exchange much (section 6.1 of the paper).
//!
//! A few runs are performed, and for each two members it is counted how often an event of the one depends by itself on one of the other: it takes what that gave, or touches what
//! that touched. These would be interface events if the two were apart. Two are put together if that is at least half of what each of them has with anybody: then
//! each shows the others less than half of what it showed before, and what the two may do by themselves is all that there is more to explore. Of several such pairs, the one with the most for its size
//! comes first. No component gets more than half of all members, so there are at least two; and what belongs to no member, such as a network that is cut, is never part of one.
//!
//! Where many components are left, skeletons are what there is too much of. So components are put into components, a few on each level, again those together that exchange the most. Nothing
//! is lost by that: the innermost ones are explored by themselves as before.
//!
//! Whatever comes out, the search is complete: only its cost depends on it. The same system always gets the same components.

use super::interface::{Led, Parts};
use crate::engine::budget::Budget;
use crate::engine::components::{Component, Components};
use crate::engine::machine::{Machine, Transition};
use crate::error::Error;
use crate::trace::skeleton::mix;

/// So many runs are looked at, and no more events of each.
const RUNS: u64 = 8;
const EVENTS: usize = 1_000;

/// More members than this are divided on more than one level.
const ONE_LEVEL: usize = 6;

/// So many components there are on a level then.
const A_LEVEL: usize = 3;

/// For each two members, how often events of them depend on each other.
type Traffic = Vec<Vec<u64>>;

/// The components of a machine with so many members.
pub(super) fn find_out<M: Machine>(
    machine: &mut M,
    members: usize,
    budget: &Budget,
) -> Result<Components, Error> {
    let traffic = observe(machine, members, budget)?;
    Components::nested(group(&traffic)?)
}

/// Performs a few runs that differ, and counts.
fn observe<M: Machine>(machine: &mut M, members: usize, budget: &Budget) -> Result<Traffic, Error> {
    let parts = Parts::new(&[], machine.groups());
    let depth = usize::try_from(budget.max_depth).unwrap_or(EVENTS).min(EVENTS);
    let mut traffic = vec![vec![0; members]; members];
    let mut possible: Vec<Transition> = Vec::new();
    for run in 0..RUNS {
        let start = run as usize % machine.starts();
        let mut led = Led::new(&mut *machine, &parts);
        led.restart(start)?;
        while led.doings.len() < depth {
            led.machine.possible(&mut possible)?;
            // The first run is the one with which the search begins.
            let pick = match run {
                0 => 0,
                _ => mix(mix(run) ^ led.doings.len() as u64) as usize % possible.len().max(1),
            };
            let Some(&next) = possible.get(pick) else { break };
            if led.perform(next)?.failed {
                break;
            }
        }
        let trace = led.trace();
        for event in &trace.events {
            for &other in event.across() {
                let one = event.mark.component as usize;
                let other = trace.events[other as usize].mark.component as usize;
                if one < members && other < members {
                    traffic[one][other] += 1;
                    traffic[other][one] += 1;
                }
            }
        }
    }
    Ok(traffic)
}

/// A component so far, and which members it has.
struct Cluster {
    component: Component,
    members: Vec<usize>,
}

/// What two components have with each other.
fn between(traffic: &Traffic, one: &[usize], other: &[usize]) -> u64 {
    let pairs = one.iter().flat_map(|&a| other.iter().map(move |&b| traffic[a][b]));
    pairs.sum()
}

/// Puts together what belongs together.
fn group(traffic: &Traffic) -> Result<Vec<Component>, Error> {
    let members = traffic.len();
    let most = members.div_ceil(2);
    let single =
        |member| Ok(Cluster { component: Component::of(vec![member])?, members: vec![member] });
    let mut all: Vec<Cluster> = (0..members).map(single).collect::<Result<_, Error>>()?;
    let everybody: Vec<usize> = (0..members).collect();
    let outside = |members: &[usize]| {
        between(traffic, members, &everybody) - between(traffic, members, members)
    };
    let is_close = |one: &Cluster, other: &Cluster| {
        let both = between(traffic, &one.members, &other.members);
        both > 0 && 2 * both >= outside(&one.members).max(outside(&other.members))
    };
    while let Some((one, other)) = closest(traffic, &all, 2, most, is_close) {
        let other = all.remove(other);
        let members = [&all[one].members[..], &other.members].concat();
        all[one] = Cluster { component: Component::of(members.clone())?, members };
    }
    if members > ONE_LEVEL {
        while let Some((one, other)) = closest(traffic, &all, A_LEVEL, most, |_, _| true) {
            let other = all.remove(other);
            let members = [&all[one].members[..], &other.members].concat();
            let component = joined(&all[one].component, other.component)?;
            all[one] = Cluster { component, members };
        }
    }
    Ok(all.into_iter().map(|cluster| cluster.component).collect())
}

/// A component of two; or, as long as there are few on its level, of what the first consists of and the second.
fn joined(one: &Component, other: Component) -> Result<Component, Error> {
    let is_open = (1..A_LEVEL).contains(&one.parts().len()) && other.parts().is_empty();
    let mut parts = if is_open { one.parts().to_vec() } else { vec![one.clone()] };
    parts.push(other);
    Component::made_of(parts)
}

/// The two that have the most with each other, for their sizes, if there are more than so many, and they are not too large together.
fn closest(
    traffic: &Traffic,
    all: &[Cluster],
    fewest: usize,
    most: usize,
    may_be: impl Fn(&Cluster, &Cluster) -> bool,
) -> Option<(usize, usize)> {
    if all.len() <= fewest {
        return None;
    }
    let mut best: Option<(u64, u64, (usize, usize))> = None;
    for other in 0..all.len() {
        for one in 0..other {
            let (a, b) = (&all[one], &all[other]);
            if a.members.len() + b.members.len() > most || !may_be(a, b) {
                continue;
            }
            let both = between(traffic, &a.members, &b.members);
            let size = (a.members.len() * b.members.len()) as u64;
            // More for its size; of equals, the first.
            let is_better = |(most, its, place): (u64, u64, (usize, usize))| {
                let (this, that) =
                    (u128::from(both) * u128::from(its), u128::from(most) * u128::from(size));
                this > that || this == that && (one, other) < place
            };
            if best.is_none_or(is_better) {
                best = Some((both, size, (one, other)));
            }
        }
    }
    best.map(|(_, _, place)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The components of members that have so much with each other.
    fn grouped(members: usize, traffic: &[(usize, usize, u64)]) -> String {
        let mut all = vec![vec![0; members]; members];
        for &(one, other, count) in traffic {
            all[one][other] = count;
            all[other][one] = count;
        }
        Components::nested(group(&all).unwrap()).unwrap().to_string()
    }

    #[test]
    fn those_who_have_little_with_each_other_stay_apart() {
        assert_eq!(grouped(1, &[]), "0");
        assert_eq!(grouped(2, &[(0, 1, 9)]), "0/1");
        assert_eq!(grouped(4, &[]), "0/1/2/3");
        // All with one.
        assert_eq!(grouped(4, &[(0, 1, 5), (0, 2, 5), (0, 3, 5)]), "0/1/2/3");
        // All with all.
        let all = [(0, 1, 5), (0, 2, 5), (0, 3, 5), (1, 2, 5), (1, 3, 5), (2, 3, 5)];
        assert_eq!(grouped(4, &all), "0/1/2/3");
    }

    #[test]
    fn those_who_have_much_with_each_other_go_together() {
        assert_eq!(grouped(3, &[(0, 1, 2), (1, 2, 9)]), "0/1,2");
        assert_eq!(grouped(4, &[(0, 3, 9), (1, 2, 7), (0, 1, 2)]), "0,3/1,2");
        // Not more than half of all.
        let five = [(0, 1, 9), (1, 2, 9), (2, 3, 9), (3, 4, 1)];
        assert_eq!(grouped(5, &five), "0-2/3,4");
    }

    #[test]
    fn many_are_on_several_levels() {
        // A chain, in which each has as much with the one before as with the one after.
        let chain: Vec<_> = (0..7).map(|it| (it, it + 1, 4)).collect();
        let text = grouped(8, &chain);
        assert_eq!(text, "0-3/4-7");
        // Each with each.
        let clique: Vec<_> = (0..9).flat_map(|b| (0..b).map(move |a| (a, b, 4))).collect();
        assert_eq!(grouped(9, &clique), "((0/1/2)/3)/((4/5/6)/7)/8");
        let wheel: Vec<_> = (1..9).map(|it| (0, it, 4)).collect();
        assert_eq!(grouped(9, &wheel), "((0/1/2)/3)/((4/5/6)/7)/8");
    }
}
