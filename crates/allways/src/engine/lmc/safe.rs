//! Which steps a search may take at once, without looking at what else could happen instead.
//!
//! Class `d` *does for* class `c` after `R` was sent, if it is in every box that `c` is in, and for each
//! edge of `c`, which needs `f`, sends `T` and leads to `c'`, either
//!
//! - `d` has an edge that needs no more than `f` and sends all of `T` that is not in `R`, to a class that does for `c'`
//!   after `R`; or
//! - all of `T` is in `R`, and `d` itself does for `c'` after `R`.
//!
//! The greatest such relation is computed, by striking out. An edge from `c` to `d` that sends `R` is
//! *safe* if `d` does for `c` after `R`, and it uses up no crash. Since the network only grows, whatever can
//! still happen where such an edge is enabled can happen after it, in as many steps or fewer: other nodes find
//! all the mail that they would have found, and the node itself can do what it could have done, or
//! something that is as good, or has already done it. So an enabled safe edge is taken at once.
//!
//! On a network that consumes, this would be wrong: a step taken early may use up what another
//! step needs.

use super::Stop;
use super::combine::Hit;
use super::components::Successors;
use super::graph::{MailId, Need};
use super::reduce::{ClassEdge, Classes, Reduced};
use crate::engine::budget::Budget;
use rustc_hash::FxHashMap;

/// That the second class does for the first after this was sent.
type Claim = (u32, u32, u32);

/// For each node and each of its edges, whether it is safe. `is_single` tells whether it makes no
/// difference if a mail is sent again. For each node so many claims are looked into; others are taken to be wrong,
/// which does no harm.
pub(super) fn safe_edges(
    reduced: &Reduced,
    hit: Hit,
    max_claims: usize,
    budget: &Budget,
    is_single: impl Fn(MailId) -> bool,
) -> Result<Vec<Vec<bool>>, Stop> {
    let one = |classes: &Classes| {
        let successors =
            Successors::new(classes.labels.len(), classes.edges.iter().map(|edge| edge.from));
        let mut claims = Claims {
            classes,
            sends: &reduced.sends,
            successors: &successors,
            hit,
            index: FxHashMap::default(),
            claims: Vec::new(),
            is_single: &is_single,
            max_claims,
        };
        claims.of_edges(budget)
    };
    reduced.nodes.iter().map(one).collect()
}

/// What a claim rests on: for each edge of the first class, claims of which one must be right.
struct Rests {
    on: Vec<Vec<u32>>,
    is_right: bool,
}

struct Claims<'a> {
    classes: &'a Classes,
    sends: &'a [Vec<MailId>],
    successors: &'a Successors,
    hit: Hit,
    index: FxHashMap<Claim, u32>,
    claims: Vec<(Claim, Rests)>,
    is_single: &'a dyn Fn(MailId) -> bool,
    max_claims: usize,
}

/// A claim that needs no looking into.
const RIGHT: u32 = u32::MAX;

impl Claims<'_> {
    fn of_edges(&mut self, budget: &Budget) -> Result<Vec<bool>, Stop> {
        let edges = &self.classes.edges;
        let asked: Vec<Option<u32>> = edges
            .iter()
            .map(|edge| match edge.need {
                Need::Crash => None,
                _ => self.claim((edge.from, edge.to, edge.sends)),
            })
            .collect();
        let mut at = 0;
        while at < self.claims.len() {
            if at.is_multiple_of(4_096)
                && let Some(bound) = budget.reached(0, 0)
            {
                return Err(Stop::Bound(bound));
            }
            self.look_into(at);
            at += 1;
        }
        self.strike_out();
        let is_safe = |claim| match claim {
            None => false,
            Some(RIGHT) => true,
            Some(claim) => self.claims[claim as usize].1.is_right,
        };
        Ok(asked.into_iter().map(is_safe).collect())
    }

    /// The number of a claim; none if it is known to be wrong.
    fn claim(&mut self, claim: Claim) -> Option<u32> {
        let (first, second, _) = claim;
        if first == second {
            return Some(RIGHT);
        }
        let labels = &self.classes.labels;
        if !self.hit.covers(labels[first as usize], labels[second as usize]) {
            return None;
        }
        if let Some(number) = self.index.get(&claim) {
            return Some(*number);
        }
        if self.claims.len() >= self.max_claims {
            return None;
        }
        let number = self.claims.len() as u32;
        self.index.insert(claim, number);
        self.claims.push((claim, Rests { on: Vec::new(), is_right: true }));
        Some(number)
    }

    fn look_into(&mut self, at: usize) {
        let (first, second, sent) = self.claims[at].0;
        let (classes, successors) = (self.classes, self.successors);
        let edges =
            |class: u32| successors.of(class).iter().map(move |&edge| classes.edges[edge as usize]);
        let mut on = Vec::new();
        for edge in edges(first) {
            let mut ways = Vec::new();
            let mut is_right = false;
            if self.is_sent(edge.sends, None, sent) {
                match self.claim((edge.to, second, sent)) {
                    Some(RIGHT) => is_right = true,
                    way => ways.extend(way),
                }
            }
            for other in edges(second).filter(|other| suffices(edge, *other)) {
                if is_right {
                    break;
                }
                if self.is_sent(edge.sends, Some(other.sends), sent) {
                    match self.claim((edge.to, other.to, sent)) {
                        Some(RIGHT) => is_right = true,
                        way => ways.extend(way),
                    }
                }
            }
            if is_right {
                continue;
            }
            if ways.is_empty() {
                self.claims[at].1.is_right = false;
                return;
            }
            on.push(ways);
        }
        self.claims[at].1.on = on;
    }

    /// Whether all of a list was sent: with another list, or before.
    fn is_sent(&self, list: u32, with: Option<u32>, before: u32) -> bool {
        let list = &self.sends[list as usize];
        let with = with.map_or(&[][..], |with| &self.sends[with as usize]);
        let before = &self.sends[before as usize];
        let times = |in_list: &[MailId], mail| in_list.iter().filter(|&&m| m == mail).count();
        list.iter().all(|&mail| match (self.is_single)(mail) {
            true => with.contains(&mail) || before.contains(&mail),
            false => times(list, mail) <= times(with, mail),
        })
    }

    /// Claims that rest on wrong ones are wrong.
    fn strike_out(&mut self) {
        let mut rests_on_it: Vec<Vec<u32>> = vec![Vec::new(); self.claims.len()];
        for (number, (_, rests)) in self.claims.iter().enumerate() {
            for &other in rests.on.iter().flatten() {
                rests_on_it[other as usize].push(number as u32);
            }
        }
        let wrong = self.claims.iter().enumerate().filter(|(_, (_, rests))| !rests.is_right);
        let mut wrong: Vec<u32> = wrong.map(|(number, _)| number as u32).collect();
        while let Some(number) = wrong.pop() {
            for &other in &rests_on_it[number as usize] {
                if !self.claims[other as usize].1.is_right {
                    continue;
                }
                let rests = &self.claims[other as usize].1;
                let is_wrong = |&way: &u32| !self.claims[way as usize].1.is_right;
                if rests.on.iter().any(|ways| ways.iter().all(is_wrong)) {
                    self.claims[other as usize].1.is_right = false;
                    wrong.push(other);
                }
            }
        }
    }
}

/// Whether the second edge is enabled wherever the first is, and uses up no more crashes.
fn suffices(first: ClassEdge, second: ClassEdge) -> bool {
    match (first.need, second.need) {
        (_, Need::Nothing) | (Need::Crash, Need::Crash) => true,
        (Need::Mail(mail, copies), Need::Mail(other, others)) => mail == other && others <= copies,
        _ => false,
    }
}
