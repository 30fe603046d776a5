//! The way back: a run to a state of a point.
//!
//! The moves along the way to the point are known by their labels. For each component by itself, and from its end back to its start, a
//! configuration is found from which a move with that label leads into the next, and the silent moves in between are put in. Silent moves
//! of different components have nothing to do with each other, so they come right behind the last move of theirs.

use super::automaton::SubsetId;
use super::configuration::{ConfigurationId, LabelId, Move, NONE};
use super::product::{Product, Way};
use crate::error::Error;
use crate::model::run_event::RunEvent;
use crate::outcome::Run;
use crate::space::{EventId, Happening};

/// A move of a component along the way: which step of it that is, and between which sets.
struct Taken {
    step: usize,
    from: SubsetId,
    label: LabelId,
    to: SubsetId,
}

fn lost() -> Error {
    Error::Internal("the way to a configuration is lost".to_owned())
}

impl Product<'_> {
    /// Something that happens, in words.
    pub fn describe(&self, event: EventId, choices: &[u32], keep: bool) -> RunEvent {
        self.space.describe(Happening::Step { event, keep, choices })
    }

    /// A run to a state of a point, in which each component is in this configuration, if one is wanted.
    pub fn run_to(&mut self, number: u32, aim: &[Option<ConfigurationId>]) -> Result<Run, Error> {
        let mut way = Vec::new();
        let mut at = number;
        let start = loop {
            let (before, _, how) = self.came[at as usize];
            match how {
                Way::Start(start) => break start,
                how => way.push((before, at, how)),
            }
            at = before;
        };
        way.reverse();
        let sets = if self.space.layout().has_faults { 3 } else { 0 };
        // What happens first, and what happens at each step and right behind it.
        let mut first = Vec::new();
        let mut steps: Vec<Vec<Move>> = vec![Vec::new(); way.len()];
        for (component, &aim) in aim.iter().enumerate() {
            let set = |point: u32| self.points[point as usize][sets + component];
            let taken: Vec<Taken> = (way.iter().enumerate())
                .filter_map(|(step, &(from, to, how))| match how {
                    Way::Move { component: other, label, .. } if other == component => {
                        Some(Taken { step, from: set(from), label, to: set(to) })
                    }
                    _ => None,
                })
                .collect();
            let last = set(number);
            let automaton = &mut self.automata[component];
            let mut at = match aim {
                Some(configuration) => configuration,
                None => automaton.members(last).first().copied().ok_or_else(lost)?,
            };
            for Taken { step, from, label, to } in taken.into_iter().rev() {
                let moves = automaton.moves(from, label, to)?;
                let entries: Vec<ConfigurationId> = moves.iter().map(|(_, it)| it.to).collect();
                let (entry, silent) = automaton.silent_way(&entries, at)?.ok_or_else(lost)?;
                let (before, it) =
                    moves.into_iter().find(|(_, it)| it.to == entry).ok_or_else(lost)?;
                steps[step].push(it);
                steps[step].extend(silent);
                at = before;
            }
            let begin = self.starts[start][component];
            let (_, silent) = automaton.silent_way(&[begin], at)?.ok_or_else(lost)?;
            first.extend(silent);
        }
        let mut events: Vec<RunEvent> =
            first.iter().map(|it| self.describe(it.event, &it.choices, false)).collect();
        for ((_, _, how), moves) in way.into_iter().zip(steps) {
            match how {
                Way::Drop(event) => events.push(self.space.describe(Happening::Drop(event))),
                Way::Partition(cut) => events.push(self.space.describe(Happening::Partition(cut))),
                Way::Heal => events.push(self.space.describe(Happening::Heal)),
                Way::Start(_) | Way::Move { .. } => {}
            }
            let keeps = matches!(how, Way::Move { keep: true, .. });
            for (index, it) in moves.iter().enumerate() {
                debug_assert_ne!(it.to, NONE, "a run goes on");
                events.push(self.describe(it.event, &it.choices, keeps && index == 0));
            }
        }
        Ok(Run { start, events, ..Run::default() })
    }
}
