//! Who goes on: random schedules, for spaces too large to be explored.
//!
//! A policy is asked at every step of a run, with all that may happen.

use crate::engine::machine::{Process, Transition};
use crate::engine::options::Schedule;
use crate::engine::random::Random;
use rustc_hash::FxHashMap;

/// Chooses what happens next.
pub(super) trait Policy {
    /// A run begins; the longest so far had so many events.
    fn begin(&mut self, random: &mut Random, longest: usize);

    /// One of the things that may happen: there is at least one. All alternatives of a process are side by side.
    fn choose(&mut self, random: &mut Random, at: usize, possible: &[Transition]) -> usize;
}

/// The policy for a schedule.
pub(super) fn policy(schedule: Schedule) -> Box<dyn Policy> {
    match schedule {
        Schedule::Random => Box::new(Uniform),
        Schedule::Pct(depth) => Box::new(Pct { depth, ..Pct::default() }),
    }
}

/// Every process is equally likely, and then every alternative of it.
struct Uniform;

impl Policy for Uniform {
    fn begin(&mut self, _: &mut Random, _: usize) {}

    fn choose(&mut self, random: &mut Random, _: usize, possible: &[Transition]) -> usize {
        let first = |at: &usize| *at == 0 || possible[at - 1].process != possible[*at].process;
        let processes = (0..possible.len()).filter(first).count();
        let chosen = random.below(processes);
        let start = (0..possible.len()).filter(first).nth(chosen).unwrap_or(0);
        within(random, possible, start)
    }
}

/// One of the alternatives of the process that begins here.
fn within(random: &mut Random, possible: &[Transition], start: usize) -> usize {
    let process = possible[start].process;
    let alternatives = possible[start..].iter().take_while(|t| t.process == process).count();
    start + random.below(alternatives.max(1))
}

/// "A randomized scheduler with probabilistic guarantees of finding bugs" (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010): the process with the highest
/// priority goes on. Priorities are drawn when a process is first seen; at `depth - 1` steps, drawn at random among as many as the longest
/// run had, the process that would go on falls behind all others.
#[derive(Default)]
struct Pct {
    depth: u32,
    priorities: FxHashMap<Process, u64>,
    /// The steps at which priorities change.
    changes: Vec<usize>,
    /// How many have fallen behind.
    fallen: u64,
}

/// Priorities that are drawn are above this.
const DRAWN: u64 = 1 << 32;

impl Policy for Pct {
    fn begin(&mut self, random: &mut Random, longest: usize) {
        self.priorities.clear();
        self.fallen = 0;
        let changes = (1..self.depth).map(|_| random.below(longest.max(1)));
        self.changes = changes.collect();
    }

    fn choose(&mut self, random: &mut Random, at: usize, possible: &[Transition]) -> usize {
        for transition in possible {
            self.priorities
                .entry(transition.process)
                .or_insert_with(|| DRAWN + (random.next() >> 32));
        }
        let highest = |priorities: &FxHashMap<Process, u64>| {
            let priority = |at: &usize| {
                let process = possible[*at].process;
                // Equal ones go by number, and the first of the alternatives stands for all.
                (priorities.get(&process).copied(), std::cmp::Reverse((process, *at)))
            };
            (0..possible.len()).max_by_key(priority).unwrap_or(0)
        };
        let mut chosen = highest(&self.priorities);
        for _ in self.changes.iter().filter(|&&change| change == at) {
            self.fallen += 1;
            self.priorities.insert(possible[chosen].process, DRAWN - self.fallen);
            chosen = highest(&self.priorities);
        }
        within(random, possible, chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn possible(processes: &[(u32, u32)]) -> Vec<Transition> {
        let all = |&(process, alternatives): &(u32, u32)| {
            (0..alternatives).map(move |alternative| Transition { process, alternative })
        };
        processes.iter().flat_map(all).collect()
    }

    #[test]
    fn processes_are_equally_likely_whatever_they_choose() {
        let all = possible(&[(3, 1), (5, 9)]);
        let mut random = Random::new(1, 1);
        let times = 10_000;
        let chosen = |_| all[Uniform.choose(&mut random, 0, &all)].process;
        let first = (0..times).map(chosen).filter(|&process| process == 3).count();
        assert!((times * 4 / 10..times * 6 / 10).contains(&first), "{first}");
    }

    #[test]
    fn the_highest_priority_goes_on_until_it_falls() {
        let all = possible(&[(1, 1), (2, 1), (3, 1)]);
        let mut fell = 0;
        for run in 0..100 {
            let mut random = Random::new(7, run);
            let mut pct = Pct { depth: 2, ..Pct::default() };
            pct.begin(&mut random, 10);
            let chosen: Vec<u32> =
                (0..10).map(|at| all[pct.choose(&mut random, at, &all)].process).collect();
            let switches = chosen.windows(2).filter(|pair| pair[0] != pair[1]).count();
            // One change of priorities; at the first step nobody sees it.
            assert!(switches <= 1, "{chosen:?}");
            fell += switches;
        }
        assert!(fell > 50, "{fell}");
    }
}
