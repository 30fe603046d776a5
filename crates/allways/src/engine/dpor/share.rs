//! How one who explores gives work away, takes it, and asks for more of it: see [`team`](super::team).

use super::explore::{Move, broken_promise};
use super::reduced::{Frame, Search};
use super::team::{Node, Passed, Task, Team};
use super::tree::{self, begins};
use crate::engine::machine::{Machine, Transition};
use crate::error::Error;
use std::sync::Arc;

impl<M: Machine> Search<'_, '_, M> {
    /// Gives away what waits at the highest point of the run where something does.
    pub fn give_away(&mut self, team: &Team) {
        let top = self.frames.len() - 1;
        let waits = |&at: &usize| self.frames[at].tree != tree::NONE;
        let Some(at) = (self.root..top).find(waits) else { return };
        self.explorer.forget_guess();
        let footprints = self.explorer.machine.footprints();
        for point in self.root..=at {
            let frame = &mut self.frames[point];
            // What this one explores from here comes before all that is given away.
            frame.sleep.push(self.explorer.steps[point].what);
            let asleep = frame.sleep.iter().map(|&what| Passed::from(what, footprints));
            frame.node = Some(Arc::new(Node::new(asleep.collect())));
            frame.known = frame.sleep.len();
        }
        let mut moves = Vec::new();
        let waiting = std::mem::replace(&mut self.frames[at].tree, tree::NONE);
        self.trees.take_all(waiting, 0, &mut moves);
        let mut tasks = Vec::new();
        let starts: Vec<usize> = (0..moves.len()).filter(|&place| moves[place].0 == 0).collect();
        for (number, &start) in starts.iter().enumerate() {
            let end = starts.get(number + 1).copied().unwrap_or(moves.len());
            tasks.extend(self.task(at, &moves[start..end]));
        }
        self.root = at + 1;
        team.give(tasks);
    }

    /// A task for a branch at a point that belongs to all, with the tree below it. The branch sleeps there from now on. If more sleeps there than
    /// is known here, nothing is done.
    fn task(&mut self, at: usize, moves: &[(usize, Move)]) -> Option<Task> {
        let &(_, branch) = moves.first()?;
        let footprints = self.explorer.machine.footprints();
        let pass = |&(depth, what): &(usize, Move)| (depth, Passed::from(what, footprints));
        let tree = moves.iter().map(pass).collect();
        let passed = Passed::from(branch, footprints);
        let nodes: Vec<Arc<Node>> =
            self.frames[..=at].iter().filter_map(|frame| frame.node.clone()).collect();
        let frame = &mut self.frames[at];
        let node = frame.node.as_ref()?;
        let mut asleep = node.asleep();
        let before = asleep.len();
        if before != frame.known {
            return None;
        }
        node.add(&mut asleep, passed);
        drop(asleep);
        frame.sleep.push(branch);
        frame.known += 1;
        Some(Task { prefix: self.prefix(at), nodes, asleep: before, tree })
    }

    /// How the run gets to a point.
    fn prefix(&self, at: usize) -> Vec<Transition> {
        self.explorer.steps[..at].iter().map(|step| step.what.transition).collect()
    }

    /// Goes where a task is to be done, and begins it.
    pub fn begin(&mut self, task: Task) -> Result<(), Error> {
        self.explorer.restart(0)?;
        self.spare.append(&mut self.frames);
        for &transition in &task.prefix {
            self.explorer.repeat(transition)?;
        }
        for node in &task.nodes {
            let mut frame = self.spare.pop().unwrap_or_default();
            frame.sleep.clear();
            (frame.tree, frame.done, frame.foreign) = (tree::NONE, 0, 0);
            (frame.node, frame.known) = (Some(Arc::clone(node)), 0);
            self.frames.push(frame);
        }
        self.root = task.nodes.len();
        self.analysed = task.prefix.len();
        // What others have found out about these events is not known here.
        self.races.open_all(task.prefix.len());
        let machine = &mut self.explorer.machine;
        if let Some(frame) = self.frames.last_mut() {
            learn(frame, machine, task.asleep);
            frame.foreign = frame.sleep.len();
        }
        let moves: Vec<(usize, Move)> =
            task.tree.iter().map(|(depth, what)| (*depth, what.to(machine))).collect();
        let Some(&(_, branch)) = moves.first() else { return Ok(()) };
        let below = self.trees.put_all(&moves[1..], 1);
        let footprint = self.explorer.perform(branch.transition)?;
        if footprint != branch.footprint && self.explorer.machine.is_exact() {
            return Err(broken_promise(""));
        }
        if !self.explorer.is_over() {
            self.enter(below)?;
        }
        Ok(())
    }

    /// Sees to it that what a race asks for is seen, from a point that belongs to all.
    pub fn ask_for(&mut self, index: usize) {
        let (reversal, sequence) = self.races.found(index);
        let sequence = sequence.to_vec();
        let Some(team) = self.team else { return };
        let Some(node) = self.frames[reversal.at].node.clone() else { return };
        loop {
            let frame = &mut self.frames[reversal.at];
            let known = node.count();
            learn(frame, &mut self.explorer.machine, known);
            let footprints = self.explorer.machine.footprints();
            let sleep = &frame.sleep;
            let wanted = if self.is_optimal {
                let was_seen = |sequence: &[Move]| {
                    sleep.iter().any(|&other| begins(footprints, other, sequence))
                };
                // What comes behind is other in other runs; with the beginning alone, all of it is seen.
                let short = match reversal.event {
                    Some(_) => &sequence[..=reversal.about],
                    None => &sequence[..],
                };
                (!was_seen(short)).then_some(short)
            } else {
                let first = if reversal.may_begin { reversal.about } else { 0 };
                let is_new = !sleep.iter().any(|&other| begins(footprints, other, &sequence));
                is_new.then_some(&sequence[first..=first])
            };
            let Some(wanted) = wanted else { return };
            let moves: Vec<(usize, Move)> = wanted.iter().copied().enumerate().collect();
            // What was looked at may not be all by now: then it is looked at again.
            if let Some(task) = self.task(reversal.at, &moves) {
                return team.give([task]);
            }
        }
    }
}

/// Takes over what sleeps at a point that belongs to all, up to so many.
fn learn<M: Machine>(frame: &mut Frame, machine: &mut M, count: usize) {
    let Some(node) = &frame.node else { return };
    if frame.known < count {
        let asleep = node.asleep();
        frame.sleep.extend(asleep[frame.known..count].iter().map(|what| what.to(machine)));
        frame.known = count;
    }
}
