//! A path of classes made into a run of the system.

use super::Stop;
use super::components::Successors;
use super::graph::{Graphs, MailId, Need};
use super::product::Taken;
use super::reduce::Reduced;
use crate::error::Error;
use crate::model::network::NetworkKind;
use crate::outcome::Run;
use crate::space::{EventId, Happening, StepEnd};
use rustc_hash::FxHashMap;

/// What became of a path.
pub(super) enum Lifted {
    /// It is this run; the message of the panic that it ends in, if it does.
    Run(Run, Option<String>),
    /// It uses these more often than they were sent.
    Overused(Vec<EventId>),
}

/// The run along a path from a start, up to the first panic.
pub(super) fn lift(
    graphs: &Graphs<'_>,
    reduced: &Reduced,
    start: usize,
    path: &[Taken],
) -> Result<Lifted, Stop> {
    let keeps = graphs.space.layout().network == NetworkKind::Duplicating;
    let successors: Vec<Successors> = graphs
        .nodes
        .iter()
        .map(|graph| Successors::new(graph.states.len(), graph.edges.iter().map(|e| e.from)))
        .collect();
    let mut places = graphs.starts[start].places.clone();
    let mut flight: FxHashMap<MailId, u32> = FxHashMap::default();
    for mail in &graphs.starts[start].mail {
        *flight.entry(*mail).or_default() += 1;
    }
    let (mut events, mut overused) = (Vec::new(), Vec::new());
    let mut panic = None;
    for &(node, taken) in path {
        let node = node as usize;
        let classes = &reduced.nodes[node];
        let taken = classes.edges[taken as usize];
        let from = successors[node].of(places[node]).iter();
        let edge = from.map(|&edge| &graphs.nodes[node].edges[edge as usize]).find(|edge| {
            edge.need == taken.need
                && reduced.list_of[edge.sends as usize] == taken.sends
                && classes.of[edge.to as usize] == taken.to
        });
        let Some(edge) = edge else {
            let what = "a step between classes of local states is none between states".to_owned();
            return Err(Stop::Error(Error::Internal(what)));
        };
        if let Need::Mail(mail, _) = edge.need {
            match flight.get_mut(&mail) {
                None | Some(0) => overused.push(edge.event),
                Some(_) if keeps && !graphs.is_call(edge.event) => {}
                Some(copies) => *copies -= 1,
            }
        }
        for mail in graphs.sends.values[edge.sends as usize].iter() {
            *flight.entry(*mail).or_default() += 1;
        }
        let (state, _) = graphs.nodes[node].states[places[node] as usize];
        let steps = graphs.space.steps(state, edge.event)?;
        let step = &steps[edge.step as usize];
        let what = Happening::Step { event: edge.event, keep: false, choices: &step.choices };
        events.push(graphs.space.describe(what));
        if let StepEnd::Panicked(message) = &step.end {
            panic = Some(message.to_string());
            break;
        }
        places[node] = edge.to;
    }
    Ok(match overused.is_empty() {
        true => Lifted::Run(Run { start, events, ..Run::default() }, panic),
        false => Lifted::Overused(overused),
    })
}
