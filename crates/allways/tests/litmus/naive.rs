//! All runs of a litmus system, one after the other, from its plain data alone, and the traces among them,
//! by definition. It shares no code with the engines, and with the node only what is taken.

use super::program::{Program, Send, Wire, takes};
use std::collections::BTreeSet;

/// What there is to know of a litmus system.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Known {
    /// Runs that cannot go on.
    pub runs: u64,
    /// Traces of these runs.
    pub traces: u64,
    /// Reachable global states.
    pub states: u64,
    /// What the nodes have taken in each of these.
    pub logs: BTreeSet<Vec<Vec<u8>>>,
}

/// Explores a litmus system, unless it turns out to have more runs than this.
pub fn explore(program: &Program, max_runs: u64) -> Known {
    let mut found = Found { max_runs, ..Found::default() };
    let mut start = Global { logs: vec![vec![]; program.takes.len()], ..Global::default() };
    start.calls.clone_from(&program.calls);
    for &(from, send) in &program.starts {
        start.send(program, from, send);
    }
    found.go_on(program, &start, &mut vec![]);
    Known {
        runs: found.runs,
        traces: found.traces.len() as u64,
        logs: found.states.iter().map(|state| state.logs.clone()).collect(),
        states: found.states.len() as u64,
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Global {
    logs: Vec<Vec<u8>>,
    calls: Vec<Send>,
    /// Source, destination and message: channel by channel in the order of sending if the network is
    /// ordered, else sorted.
    flight: Vec<(usize, usize, u8)>,
}

/// A node took or was given a message, and chose one of the alternatives.
#[derive(Clone, Copy)]
struct Step {
    node: usize,
    msg: u8,
    chosen: usize,
}

/// An event whatever the run: its message, how often that came before, and what was chosen.
type Name = (u8, usize, usize);

/// The events by name, each with those that happen before it.
type Trace = BTreeSet<(Name, BTreeSet<Name>)>;

#[derive(Default)]
struct Found {
    max_runs: u64,
    runs: u64,
    traces: BTreeSet<Trace>,
    states: BTreeSet<Global>,
}

impl Found {
    fn go_on(&mut self, program: &Program, global: &Global, run: &mut Vec<Step>) {
        self.states.insert(global.clone());
        let next = global.steps(program);
        if next.is_empty() {
            self.runs += 1;
            self.traces.insert(trace(program, run));
        }
        for (step, after) in next {
            if self.runs > self.max_runs {
                return;
            }
            run.push(step);
            self.go_on(program, &after, run);
            run.pop();
        }
    }
}

impl Global {
    fn send(&mut self, program: &Program, from: usize, (to, msg): Send) {
        let envelope = (from, to, msg);
        if program.wire == Wire::Duplicating && self.flight.contains(&envelope) {
            return;
        }
        self.flight.push(envelope);
        match program.wire {
            Wire::Ordered => self.flight.sort_by_key(|&(from, to, _)| (from, to)),
            _ => self.flight.sort_unstable(),
        }
    }

    /// Everything that can happen next.
    fn steps(&self, program: &Program) -> Vec<(Step, Global)> {
        let mut steps = Vec::new();
        for (index, &(node, msg)) in self.calls.iter().enumerate() {
            if takes(program.takes[node], &self.logs[node], msg) {
                let mut before = self.clone();
                before.calls.remove(index);
                before.handle(program, node, msg, &mut steps);
            }
        }
        for (index, &(from, to, msg)) in self.flight.iter().enumerate() {
            let earlier = &self.flight[..index];
            let is_next = match program.wire {
                Wire::Ordered => !earlier.iter().any(|other| (other.0, other.1) == (from, to)),
                _ => {
                    !earlier.contains(&(from, to, msg))
                        && takes(program.takes[to], &self.logs[to], msg)
                }
            };
            if is_next {
                let mut before = self.clone();
                if program.wire != Wire::Duplicating {
                    before.flight.remove(index);
                }
                before.handle(program, to, msg, &mut steps);
            }
        }
        steps
    }

    fn handle(&self, program: &Program, node: usize, msg: u8, steps: &mut Vec<(Step, Global)>) {
        if !takes(program.takes[node], &self.logs[node], msg) {
            steps.push((Step { node, msg, chosen: 0 }, self.clone()));
            return;
        }
        for (chosen, sends) in program.alternatives(msg).into_iter().enumerate() {
            let mut after = self.clone();
            after.logs[node].push(msg);
            for send in sends {
                after.send(program, node, send);
            }
            steps.push((Step { node, msg, chosen }, after));
        }
    }
}

/// The trace of a run: an event happens after the earlier ones at its node, after the one that sent its
/// message, and after all that these happen after.
fn trace(program: &Program, run: &[Step]) -> Trace {
    let mut events: Vec<(Name, BTreeSet<Name>)> = Vec::new();
    for (index, step) in run.iter().enumerate() {
        let copies =
            run[..index].iter().filter(|other| (other.node, other.msg) == (step.node, step.msg));
        let name = (step.msg, copies.count(), step.chosen);
        let sends = |other: &Step| {
            program.alternatives(other.msg)[other.chosen].contains(&(step.node, step.msg))
        };
        // On a duplicating network, what is in flight already is not sent again.
        let sender = run[..index].iter().position(sends);
        let mut past = BTreeSet::new();
        for (other, (name, its_past)) in events.iter().enumerate() {
            if run[other].node == step.node || sender == Some(other) {
                past.insert(*name);
                past.extend(its_past);
            }
        }
        events.push((name, past));
    }
    events.into_iter().collect()
}
