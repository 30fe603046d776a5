//! Components that are found out: those go together that are seen to exchange much (section 6.1 of the paper).
//!
//! A few runs are performed, and for each two members it is counted how often an event of the one depends by itself on one of the other: it takes what that gave, or touches what
//! that touched. These would be interface events if the two were apart. Two are put together if that is at least half of what each of them has with anybody: then
//! each shows the others less than half of what it showed before, and what the two may do by themselves is all that there is more to explore. Of several such pairs, the one with the most for its size
//! comes first. None that is put together so gets more than half of all members, so there are at least two; and what belongs to no member, such as a network that is cut, is never part of one.
//!
//! Where many components are left, skeletons are what there is too much of. So components are put into components, at most three on each level, again those together that exchange the most. (How many members each then has is not evened out.) Nothing
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

/// What two sets of members have with each other.
fn between(traffic: &Traffic, one: &[usize], other: &[usize]) -> u64 {
    let pairs = one.iter().flat_map(|&a| other.iter().map(move |&b| traffic[a][b]));
    pairs.sum()
}

/// Puts together what belongs together.
fn group(traffic: &Traffic) -> Result<Vec<Component>, Error> {
    let members = traffic.len();
    let most = members.div_ceil(2);
    let everybody: Vec<usize> = (0..members).collect();
    let outside =
        |some: &[usize]| between(traffic, some, &everybody) - between(traffic, some, some);
    let mut all: Vec<Vec<usize>> = (0..members).map(|member| vec![member]).collect();
    while all.len() > 2 {
        let is_close = |one: &Vec<usize>, other: &Vec<usize>| {
            let both = between(traffic, one, other);
            let is_much = 2 * both >= outside(one).max(outside(other));
            both > 0 && is_much && one.len() + other.len() <= most
        };
        let Some((one, other)) = closest(traffic, &all, Vec::as_slice, is_close) else { break };
        let other = all.remove(other);
        all[one].extend(other);
    }
    let all = all.into_iter().map(Component::of).collect::<Result<Vec<_>, _>>()?;
    match members > ONE_LEVEL {
        true => raise(traffic, all),
        false => Ok(all),
    }
}

/// Puts components into components, level by level, until there are few.
fn raise(traffic: &Traffic, mut all: Vec<Component>) -> Result<Vec<Component>, Error> {
    while all.len() > A_LEVEL {
        let fewest = all.len().div_ceil(A_LEVEL).max(2);
        // What goes together, with all its members.
        let single = |it: Component| (it.members().to_vec(), vec![it]);
        let mut groups: Vec<(Vec<usize>, Vec<Component>)> = all.into_iter().map(single).collect();
        while groups.len() > fewest {
            let fits = |one: &(_, Vec<Component>), other: &(_, Vec<Component>)| {
                one.1.len() + other.1.len() <= A_LEVEL
            };
            let Some((one, other)) = closest(traffic, &groups, |it| &it.0[..], fits) else { break };
            let (members, parts) = groups.remove(other);
            groups[one].0.extend(members);
            groups[one].1.extend(parts);
        }
        let join = |(_, mut parts): (Vec<usize>, Vec<Component>)| match parts.len() {
            1 => Ok(parts.remove(0)),
            _ => Component::made_of(parts),
        };
        all = groups.into_iter().map(join).collect::<Result<_, Error>>()?;
    }
    Ok(all)
}

/// The two that have the most with each other, for their sizes, of those that may be one. Of equals, the smallest, and the first of these.
fn closest<T>(
    traffic: &Traffic,
    all: &[T],
    members: impl Fn(&T) -> &[usize],
    may_be_one: impl Fn(&T, &T) -> bool,
) -> Option<(usize, usize)> {
    let mut best: Option<(u128, u128, usize, (usize, usize))> = None;
    for one in 0..all.len() {
        for other in one + 1..all.len() {
            if !may_be_one(&all[one], &all[other]) {
                continue;
            }
            let (a, b) = (members(&all[one]), members(&all[other]));
            let both = u128::from(between(traffic, a, b));
            let (pairs, size) = ((a.len() * b.len()) as u128, a.len() + b.len());
            let is_better = |(most, its_pairs, its_size, _)| {
                let (this, that): (u128, u128) = (both * its_pairs, most * pairs);
                this > that || this == that && size < its_size
            };
            if best.is_none_or(is_better) {
                best = Some((both, pairs, size, (one, other)));
            }
        }
    }
    best.map(|(_, _, _, place)| place)
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
        assert_eq!(grouped(5, &five), "0,1/2,3/4");
    }

    #[test]
    fn many_are_on_several_levels() {
        // A chain, in which each has as much with the one before as with the one after.
        let chain: Vec<_> = (0..7).map(|it| (it, it + 1, 4)).collect();
        let text = grouped(8, &chain);
        assert_eq!(text, "0-3/4-7");
        // Each with each.
        let clique: Vec<_> = (0..9).flat_map(|b| (0..b).map(move |a| (a, b, 4))).collect();
        assert_eq!(grouped(9, &clique), "((0/1/8)/(6/7))/((2/3)/(4/5))");
        let wheel: Vec<_> = (1..9).map(|it| (0, it, 4)).collect();
        assert_eq!(grouped(9, &wheel), "((0/1/2)/(3/4)/(5/6))/(7/8)");
    }
}
