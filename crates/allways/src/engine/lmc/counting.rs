//! Which events are counted, so that paths of the local graphs are runs.
//!
//! The network only grows: a path may use a message that was sent as often as it likes. If no path uses
//! one message more often than it was sent, it does not matter that delivery consumes, and paths are runs.
//! Most handlers are such that none does (what comes a second time changes nothing), and most of
//! those that do violate nothing. So at first only calls are counted, which nearly all handlers would take
//! twice. There are then more paths than runs:
//!
//! - If no path leads to a violation, no run does.
//! - If one does, it is looked at. If it uses no message more often than it was sent, it is a run.
//! - If it uses some too often, it is *those* that are counted from then on: how often a message was used becomes
//!   part of the local state, an edge that uses it for the `k`-th time needs `k` copies to have been
//!   sent, and the graphs are made anew. After as many times as there are messages every path is a run.
//!
//! So that there are not infinitely many states, a counted event is used at most as often as its *cap* says: the most
//! copies of it that any paths of the local graphs send. To see that nothing is lost, take a shortest run that
//! uses a counted message more often than its cap allows: up to its last event it is a run of the graphs,
//! so it has sent at most as many copies as the cap says, and all were used before. Caps are computed from
//! graphs that have too many paths, so they may be too high, never too low; when those of new graphs
//! turn out to be, the graphs are made anew once more.
//!
//! Where messages may be duplicated, so many copies more may be used, of all messages together. Since a message that
//! was sent could have been duplicated at any time, a search may add a copy to what was sent whenever it likes, as
//! long as the budget lasts; and so much more a path may use than was sent and still be a run.
//!
//! There is one more reason to count: a node that counts what it is told has no end of local states if it may be told again
//! and again. So what long paths use very often is counted, too, if it is sent a few times only.
//! If it is sent more often than can be counted, another engine has to go on. On a duplicating network nothing but calls is ever counted: what
//! was sent once may be used for ever.
//!
//! A message of which any number of copies may be sent cannot be counted, and one of which very
//! many may be is not. But then the graphs have circles, and perhaps only because something is used again and
//! again on them that is sent a few times: that is counted instead, and the graphs are made anew. If there is no
//! such thing, this engine cannot decide it.

use super::Stop;
use super::components::{Components, Successors};
use super::graph::{Caps, Graphs, Need, NodeGraph};
use crate::model::network::NetworkKind;
use crate::space::EventId;
use rustc_hash::FxHashSet;

/// Counting costs states: a message that may be sent more often than this is not counted.
const MAX_CAP: u32 = 16;
/// What paths use so often is taken to be used without end, at the first look; at each look after that, a
/// quarter: where several things are used again and again in any order, paths are short and many.
const GROWING: u32 = 2 * MAX_CAP;
/// With more mails times edges than this, short paths are not looked at.
const DEAR: usize = 50_000_000;
/// After so many looks, what grows and cannot be counted is left to another engine.
const LATE: u32 = 1;
/// What is said of what cannot be counted.
const TOO_OFTEN: &str = "a message may be sent and used any number of times";
/// More equal calls than this are not counted.
const MAX_CALLS: u32 = 255;

/// The caps that graphs should have had, if they are others than they have.
pub(super) fn higher_caps(graphs: &Graphs<'_>) -> Result<Option<Caps>, Stop> {
    let mut counted: Vec<EventId> = graphs.caps.keys().copied().collect();
    let events = graphs.mails.iter().map(|mail| mail.event);
    counted.extend(events.filter(|&event| graphs.is_call(event)));
    let shapes = Shape::all(graphs);
    let mut caps = graphs.caps.clone();
    let mut is_higher = false;
    for event in counted {
        let cap = cap(graphs, &shapes, event)?;
        let now = graphs.cap(event).unwrap_or_default();
        is_higher |= now < cap;
        // Never lower: caps that go up and down would never come to rest.
        caps.insert(event, cap.max(now));
    }
    Ok(is_higher.then_some(caps))
}

/// Caps with which these events are counted, too; and, if there is no end to how often they may be sent, or all
/// circles are to be counted out, what is used on circles.
pub(super) fn count(
    graphs: &Graphs<'_>,
    events: &[EventId],
    all_circles: bool,
) -> Result<Caps, Stop> {
    let shapes = Shape::all(graphs);
    let mut caps = graphs.caps.clone();
    let mut endless = None;
    for &event in events {
        match cap(graphs, &shapes, event) {
            Ok(cap) => _ = caps.insert(event, cap),
            Err(stop) => endless = Some(stop),
        }
    }
    if endless.is_none() && !all_circles {
        return Ok(caps);
    }
    for event in on_circles(graphs, &shapes) {
        if let Ok(cap) = cap(graphs, &shapes, event) {
            caps.insert(event, cap);
        }
    }
    // Otherwise nothing would be gained by making the graphs anew.
    match endless {
        Some(stop) if caps.len() == graphs.caps.len() => Err(stop),
        _ => Ok(caps),
    }
}

/// Caps with which that is counted, too, which paths use more and more often though it is sent a few times only: a
/// handler that counts what it is told has no end of local states otherwise. None if there is nothing new.
pub(super) fn count_growing(graphs: &Graphs<'_>, looks: u32) -> Result<Option<Caps>, Stop> {
    let growing = GROWING.checked_shr(2 * looks).unwrap_or_default().max(2);
    // Where delivery does not consume, what is sent once may well be used without end.
    let is_kept = graphs.space.layout().network == NetworkKind::Duplicating;
    // No path is so long.
    let is_short = |growing: u32| graphs.rounds < u64::from(growing);
    if is_kept || is_short(growing) {
        return Ok(None);
    }
    let shapes = Shape::all(graphs);
    let mut is_endless = false;
    let mut caps = graphs.caps.clone();
    for (graph, shape) in graphs.nodes.iter().zip(&shapes) {
        let is_dear = graph.mail.len() * graph.edges.len() > DEAR;
        let growing = if is_dear { GROWING } else { growing };
        if is_short(growing) {
            continue;
        }
        for &mail in &graph.mail {
            let event = graphs.mails[mail as usize].event;
            if graphs.cap(event).is_some() {
                continue;
            }
            let uses = uses(graph, shape, event);
            if uses < growing {
                continue;
            }
            // What is not used more often than it is sent has an end.
            match most_uses(graphs, &shapes, event) {
                Some(most) if uses <= most => {}
                Some(most) if most <= MAX_CAP => _ = caps.insert(event, most as u16),
                Some(_) => is_endless = true,
                // Perhaps because of others; if not, more and more may really be sent.
                None => {}
            }
        }
    }
    match caps.len() > graphs.caps.len() {
        true => Ok(Some(caps)),
        false if is_endless && looks >= LATE => Err(Stop::FallBack(TOO_OFTEN)),
        false => Ok(None),
    }
}

/// How often paths use an event at most, circles left aside.
fn uses(graph: &NodeGraph, shape: &Shape, event: EventId) -> u32 {
    let Shape { successors, components } = shape;
    let mut most = vec![0u32; components.count];
    for &state in &components.order {
        let component = components.of[state as usize];
        for &edge in successors.of(state) {
            let edge = &graph.edges[edge as usize];
            let to = components.of[edge.to as usize];
            if to != component {
                let sum = u32::from(edge.event == event) + most[to as usize];
                most[component as usize] = most[component as usize].max(sum);
            }
        }
    }
    most.into_iter().max().unwrap_or_default()
}

/// The events, not counted, that are used on paths that lead back to where they began.
fn on_circles(graphs: &Graphs<'_>, shapes: &[Shape]) -> FxHashSet<EventId> {
    let nodes = graphs.nodes.iter().zip(shapes);
    let circles = nodes.flat_map(|(graph, Shape { components, .. })| {
        graph.edges.iter().filter(|edge| {
            let is_inside = components.of[edge.from as usize] == components.of[edge.to as usize];
            is_inside && matches!(edge.need, Need::Mail(..)) && graphs.cap(edge.event).is_none()
        })
    });
    circles.map(|edge| edge.event).collect()
}

fn cap(graphs: &Graphs<'_>, shapes: &[Shape], event: EventId) -> Result<u16, Stop> {
    let limit = if graphs.is_call(event) { MAX_CALLS } else { MAX_CAP };
    match most_uses(graphs, shapes, event) {
        Some(most) if most <= limit => Ok(most as u16),
        _ => Err(Stop::FallBack(TOO_OFTEN)),
    }
}

/// How often a run may use an event at most: as often as it is sent and duplicated. `None` if there is no such number.
fn most_uses(graphs: &Graphs<'_>, shapes: &[Shape], event: EventId) -> Option<u32> {
    let duplicated = if graphs.is_call(event) { 0 } else { u32::from(graphs.duplications) };
    Some(copies(graphs, shapes, event)?.max(1).saturating_add(duplicated))
}

struct Shape {
    successors: Successors,
    components: Components,
}

impl Shape {
    fn all(graphs: &Graphs<'_>) -> Vec<Self> {
        graphs.nodes.iter().map(Shape::new).collect()
    }

    fn new(graph: &NodeGraph) -> Self {
        let states = graph.states.len();
        let successors = Successors::new(states, graph.edges.iter().map(|edge| edge.from));
        let to = |edge: u32| graph.edges[edge as usize].to;
        let components = Components::new(states, &successors, to);
        Shape { successors, components }
    }
}

/// The most copies of an event that paths of the graphs send; `None` if there is no such number.
fn copies(graphs: &Graphs<'_>, shapes: &[Shape], event: EventId) -> Option<u32> {
    let is_it = |mail: &&u32| graphs.mails[**mail as usize].event == event;
    let lists = graphs.sends.values.iter();
    let sent: Vec<u32> = lists.map(|list| list.iter().filter(is_it).count() as u32).collect();
    let mut at_start: Vec<u32> =
        graphs.starts.iter().map(|start| start.mail.iter().filter(is_it).count() as u32).collect();
    for (node, (graph, shape)) in graphs.nodes.iter().zip(shapes).enumerate() {
        if graph.edges.iter().all(|edge| sent[edge.sends as usize] == 0) {
            continue;
        }
        let Shape { successors, components } = shape;
        let mut most = vec![0u32; components.count];
        for &state in &components.order {
            let component = components.of[state as usize];
            for &edge in successors.of(state) {
                let edge = &graph.edges[edge as usize];
                let to = components.of[edge.to as usize];
                let sent = sent[edge.sends as usize];
                if to == component {
                    if sent > 0 {
                        return None;
                    }
                } else {
                    let sum = sent.saturating_add(most[to as usize]);
                    most[component as usize] = most[component as usize].max(sum);
                }
            }
        }
        for (sum, start) in at_start.iter_mut().zip(&graphs.starts) {
            let component = components.of[start.places[node] as usize];
            *sum = sum.saturating_add(most[component as usize]);
        }
    }
    at_start.into_iter().max()
}
