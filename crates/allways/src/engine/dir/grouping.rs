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
//! **Who has to be together.** Of some machines, such as threads, it cannot be told what each step does to what several touch, or who waits for whom. Those who are seen to have such a thing in common are one component from the beginning, however many
//! these are. What the few runs do not show may turn out while the components are explored: then more is known of who touches what, and the components are found out again.
//!
//! Whatever comes out, the search is complete: only its cost depends on it. The same system always gets the same components.

use super::interface::Parts;
use crate::engine::budget::Budget;
use crate::engine::components::{Component, Components};
use crate::engine::machine::footprint::Footprint;
use crate::engine::machine::{Machine, Shown, Touched, Transition};
use crate::error::Error;
use crate::trace::order::{Order, Touch};
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

/// What was seen of members.
#[derive(Default)]
struct Observed {
    traffic: Traffic,
    /// For each member, another one with which it has to be, or itself.
    with: Vec<usize>,
}

/// The components of a machine, of which some groups are to be in one: as many as are said, or all that are known.
pub(super) fn find_out<M: Machine>(
    machine: &mut M,
    members: Option<usize>,
    budget: &Budget,
) -> Result<Components, Error> {
    loop {
        let observed = observe(machine, members.unwrap_or_else(|| machine.groups()), budget)?;
        // What was learnt changes what depends on what.
        if !machine.is_stale() {
            return Components::nested(group(&observed)?);
        }
    }
}

/// The components of a machine that learns who touches what while it is explored.
pub(super) struct Division<'d> {
    asked: &'d Components,
    /// How many there are, if they were found out.
    found: usize,
}

impl<'d> Division<'d> {
    pub fn new(asked: &'d Components) -> Self {
        Division { asked, found: usize::MAX }
    }

    /// As far as is known now.
    pub fn of<M: Machine>(
        &mut self,
        machine: &mut M,
        budget: &Budget,
    ) -> Result<(Components, Parts), Error> {
        let components = match self.asked.is_auto() {
            true => find_out(machine, None, budget)?,
            false => self.asked.clone(),
        };
        self.found = leaves(components.all());
        let groups = machine.groups();
        let parts = Parts::nested(&components.among(groups)?, groups);
        Ok((components, parts))
    }

    /// Whether more have to be together than was known, which may be why a search with these components went wrong.
    pub fn lags<M: Machine>(&self, machine: &mut M, budget: &Budget) -> Result<bool, Error> {
        let is_auto = self.asked.is_auto();
        Ok(is_auto && leaves(find_out(machine, None, budget)?.all()) < self.found)
    }
}

/// How many components there are that consist of no others.
fn leaves(all: &[Component]) -> usize {
    all.iter().map(|component| leaves(component.parts()).max(1)).sum()
}

/// Performs a few runs that differ, and counts.
fn observe<M: Machine>(
    machine: &mut M,
    members: usize,
    budget: &Budget,
) -> Result<Observed, Error> {
    let depth = usize::try_from(budget.max_depth).unwrap_or(EVENTS).min(EVENTS);
    let traffic = vec![vec![0; members]; members];
    let mut observed = Observed { traffic, with: (0..members).collect() };
    let (mut possible, mut shown): (Vec<Transition>, _) = (Vec::new(), Shown::default());
    for run in 0..RUNS {
        machine.restart(run as usize % machine.starts())?;
        let (mut order, mut direct) = (Order::new(), Vec::new());
        let mut groups: Vec<u32> = Vec::new();
        let mut told: Vec<Told> = Vec::new();
        while groups.len() < depth {
            machine.possible(&mut possible)?;
            // The first run is the one with which the search begins.
            let pick = match run {
                0 => 0,
                _ => mix(mix(run) ^ groups.len() as u64) as usize % possible.len().max(1),
            };
            let Some(&next) = possible.get(pick) else { break };
            machine.shows(next, &[], &mut shown)?;
            let performed = machine.perform(next)?;
            if performed.failed {
                break;
            }
            let own = machine.group(next.process);
            told.push(Told::by(machine, own, performed.footprint, &shown));
            if shown.is_opaque {
                observed.keep_together(own, &told[groups.len()]);
            }
            let footprints = machine.footprints();
            let event = order.push(Touch {
                process: next.process,
                created_by: performed.created_by,
                needs: machine.needs(groups.len()),
                reads: footprints.reads(performed.footprint),
                writes: footprints.writes(performed.footprint),
            });
            groups.push(own);
            order.dependent_before(event, &mut direct);
            for other in direct.iter().map(|&other| other as usize) {
                observed.count(own, groups[other]);
                if !told[other].has(own) {
                    observed.unite(own, groups[other]);
                }
            }
        }
    }
    Ok(observed)
}

/// Which groups are told of a step: its own, and others.
enum Told {
    All,
    Some(Vec<u32>),
}

impl Told {
    fn by<M: Machine>(machine: &M, own: u32, footprint: Footprint, shown: &Shown) -> Self {
        let mut told = vec![own];
        told.extend(shown.to.iter().map(|&(group, _)| group));
        let footprints = machine.footprints();
        let objects = footprints.writes(footprint).iter().chain(footprints.reads(footprint));
        for &object in objects.filter(|object| !shown.passed.contains(object)) {
            match machine.touched(object) {
                Touched::Alone => {}
                Touched::By(group) if group == own => {}
                Touched::By(_) | Touched::ByAny => return Told::All,
                Touched::Among(groups) => told.extend(groups),
            }
        }
        Told::Some(told)
    }

    fn has(&self, group: u32) -> bool {
        match self {
            Told::All => true,
            Told::Some(groups) => groups.contains(&group),
        }
    }
}

impl Observed {
    fn count(&mut self, one: u32, other: u32) {
        let (one, other) = (one as usize, other as usize);
        if one != other && one.max(other) < self.with.len() {
            self.traffic[one][other] += 1;
            self.traffic[other][one] += 1;
        }
    }

    /// Notes that a group has to be together with those who are told of its step, since it cannot be told what that does.
    fn keep_together(&mut self, own: u32, told: &Told) {
        let all = 0..self.with.len() as u32;
        all.filter(|&other| told.has(other)).for_each(|other| self.unite(own, other));
    }

    fn unite(&mut self, one: u32, other: u32) {
        let (one, other) = (one as usize, other as usize);
        if one.max(other) < self.with.len() {
            let (one, other) = (self.first_with(one), self.first_with(other));
            self.with[one.max(other)] = one.min(other);
        }
    }

    /// The first of those that have to be together with a member.
    fn first_with(&self, mut member: usize) -> usize {
        while self.with[member] != member {
            member = self.with[member];
        }
        member
    }

    /// The members, those as one that have to be.
    fn singles(&self) -> Vec<Vec<usize>> {
        let all = 0..self.with.len();
        let its = |first: usize| all.clone().filter(move |&it| self.first_with(it) == first);
        all.clone().map(|first| its(first).collect()).filter(|it: &Vec<_>| !it.is_empty()).collect()
    }
}

/// What two sets of members have with each other.
fn between(traffic: &Traffic, one: &[usize], other: &[usize]) -> u64 {
    let pairs = one.iter().flat_map(|&a| other.iter().map(move |&b| traffic[a][b]));
    pairs.sum()
}

/// Puts together what belongs together.
fn group(observed: &Observed) -> Result<Vec<Component>, Error> {
    let traffic = &observed.traffic;
    let members = traffic.len();
    let most = members.div_ceil(2);
    let everybody: Vec<usize> = (0..members).collect();
    let outside =
        |some: &[usize]| between(traffic, some, &everybody) - between(traffic, some, some);
    let mut all = observed.singles();
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
        let observed = Observed { traffic: all, with: (0..members).collect() };
        Components::nested(group(&observed).unwrap()).unwrap().to_string()
    }

    #[test]
    fn those_who_have_to_be_together_are() {
        let mut observed = Observed { traffic: vec![vec![0; 5]; 5], with: (0..5).collect() };
        for (one, other) in [(3, 1), (4, 3), (7, 0)] {
            observed.unite(one, other);
        }
        let all = Components::nested(group(&observed).unwrap()).unwrap();
        assert_eq!(all.to_string(), "0/1,3,4/2");
        assert_eq!(leaves("(0/(1,2/3))/4".parse::<Components>().unwrap().all()), 4);
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
