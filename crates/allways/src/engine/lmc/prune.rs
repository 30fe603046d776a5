//! What cannot be on the way to a box is left out of the classes, from both ends, until nothing changes.
//!
//! - *Backwards*: a node in a class from which it can never get into its side of the box keeps the
//!   whole combination out of it for good. So edges to such classes are left out.
//! - *Forwards*: an edge is left out if its mail is sent by no edge that is left (and is not in flight at the
//!   start), or if no path leads to where it starts.
//!
//! This is for one box at a time: what is of no use for one may be the way to another. A side that a node
//! cannot get into at all leaves nothing, and there is no run to the box.

use super::combine::Label;
use super::components::Successors;
use super::graph::{Graphs, MailId, Need};
use super::reduce::{ClassEdge, Classes, Reduced};

/// Leaves out what cannot be on the way to this box; true if anything was.
pub(super) fn prune(graphs: &Graphs<'_>, reduced: &mut Reduced, side: Label) -> bool {
    let before: usize = reduced.nodes.iter().map(|classes| classes.edges.len()).sum();
    for classes in &mut reduced.nodes {
        backwards(classes, side);
    }
    forwards(graphs, reduced);
    let after: usize = reduced.nodes.iter().map(|classes| classes.edges.len()).sum();
    after < before
}

/// Leaves out edges to classes from which no path leads to one with this label.
fn backwards(classes: &mut Classes, side: Label) {
    let count = classes.labels.len();
    let predecessors = Successors::new(count, classes.edges.iter().map(|edge| edge.to));
    let mut leads = vec![false; count];
    let inside = (0..count as u32).filter(|class| classes.labels[*class as usize] & side != 0);
    let mut todo: Vec<u32> = inside.collect();
    todo.iter().for_each(|class| leads[*class as usize] = true);
    while let Some(class) = todo.pop() {
        for &edge in predecessors.of(class) {
            let from = classes.edges[edge as usize].from;
            if !leads[from as usize] {
                leads[from as usize] = true;
                todo.push(from);
            }
        }
    }
    classes.edges.retain(|edge| leads[edge.from as usize] && leads[edge.to as usize]);
}

/// Leaves out edges that no path takes, however often mail is used once it was sent.
fn forwards(graphs: &Graphs<'_>, reduced: &mut Reduced) {
    let nodes = reduced.nodes.len();
    let mut is_sent = vec![false; graphs.mails.len()];
    // Edges that wait for each mail.
    let mut waiting: Vec<Vec<(usize, ClassEdge)>> = vec![Vec::new(); graphs.mails.len()];
    let mut is_reached: Vec<Vec<bool>> =
        reduced.nodes.iter().map(|classes| vec![false; classes.labels.len()]).collect();
    let successors: Vec<Successors> = reduced
        .nodes
        .iter()
        .map(|c| Successors::new(c.labels.len(), c.edges.iter().map(|edge| edge.from)))
        .collect();
    let mut mails: Vec<MailId> = graphs.starts.iter().flat_map(|s| &s.mail).copied().collect();
    let mut reached: Vec<(usize, u32)> = Vec::new();
    for start in &graphs.starts {
        for node in 0..nodes {
            reached.push((node, reduced.nodes[node].of[start.places[node] as usize]));
        }
    }
    loop {
        let mut taken: Vec<(usize, ClassEdge)> = Vec::new();
        if let Some(mail) = mails.pop() {
            if !std::mem::replace(&mut is_sent[mail as usize], true) {
                taken = std::mem::take(&mut waiting[mail as usize]);
            }
        } else if let Some((node, class)) = reached.pop() {
            if !std::mem::replace(&mut is_reached[node][class as usize], true) {
                for &edge in successors[node].of(class) {
                    let edge = reduced.nodes[node].edges[edge as usize];
                    match edge.need {
                        Need::Mail(mail, _) if !is_sent[mail as usize] => {
                            waiting[mail as usize].push((node, edge));
                        }
                        _ => taken.push((node, edge)),
                    }
                }
            }
        } else {
            break;
        }
        for (node, edge) in taken {
            reached.push((node, edge.to));
            mails.extend(&reduced.sends[edge.sends as usize]);
        }
    }
    for (classes, is_reached) in reduced.nodes.iter_mut().zip(&is_reached) {
        classes.edges.retain(|edge| {
            let has_mail = match edge.need {
                Need::Mail(mail, _) => is_sent[mail as usize],
                Need::Nothing | Need::Crash => true,
            };
            is_reached[edge.from as usize] && has_mail
        });
    }
}
