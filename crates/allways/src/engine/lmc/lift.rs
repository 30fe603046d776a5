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
    /// It uses these, which are not counted, more often than they were sent and could be duplicated.
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
    let (mut steps, mut overused) = (Vec::new(), Vec::new());
    // Which of the steps used a mail last.
    let mut used: FxHashMap<MailId, usize> = FxHashMap::default();
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
                // The last one that used it might have left a copy.
                None | Some(0) => overused.push((edge.event, used.get(&mail).copied())),
                Some(_) if keeps && !graphs.is_call(edge.event) => {}
                Some(copies) => *copies -= 1,
            }
            used.insert(mail, steps.len());
        }
        for mail in graphs.sends.values[edge.sends as usize].iter() {
            *flight.entry(*mail).or_default() += 1;
        }
        let (state, _) = graphs.nodes[node].states[places[node] as usize];
        let step = graphs.space.steps(state, edge.event)?[edge.step as usize].clone();
        let panicked = match &step.end {
            StepEnd::Panicked(message) => Some(message.to_string()),
            StepEnd::Next(_) => None,
        };
        steps.push((edge.event, false, step.choices));
        if panicked.is_some() {
            panic = panicked;
            break;
        }
        places[node] = edge.to;
    }
    let could_be_kept =
        |(event, before): &(EventId, Option<usize>)| before.is_some() && !graphs.is_call(*event);
    if overused.len() > usize::from(graphs.duplications) || !overused.iter().all(could_be_kept) {
        let events = overused.into_iter().map(|(event, _)| event);
        let events: Vec<EventId> = events.filter(|event| graphs.cap(*event).is_none()).collect();
        if events.is_empty() {
            let what = "a path uses what is counted more often than it was sent".to_owned();
            return Err(Stop::Error(Error::Internal(what)));
        }
        return Ok(Lifted::Overused(events));
    }
    for before in overused.into_iter().filter_map(|(_, before)| before) {
        steps[before].1 = true;
    }
    let describe = |(event, keep, choices): &(EventId, bool, Box<[u32]>)| {
        graphs.space.describe(Happening::Step { event: *event, keep: *keep, choices })
    };
    let events = steps.iter().map(describe).collect();
    Ok(Lifted::Run(Run { start, events, ..Run::default() }, panic))
}
