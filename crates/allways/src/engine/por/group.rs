//! What may happen in a state, sorted by event: a reduction follows all of a group or nothing.

use crate::engine::expand::{Candidate, Kind};
use crate::space::EventId;
use crate::space::vector::Layout;

/// No more groups than a set has bits.
pub(super) const MAX_GROUPS: usize = 128;

/// A set of groups.
pub(super) type Set = u128;

/// The number of a group; [`NO_ROOT`] for what was there at the start.
pub(super) type Root = u8;
pub(super) const NO_ROOT: Root = u8::MAX;

/// All that may happen with one event in the state where a fixpoint starts: a message delivered, with a
/// copy kept or not, or lost; every result of a handler that chooses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub event: EventId,
    pub node: u16,
    /// Whether it is more than a fault.
    pub goes_on: bool,
    /// Whether it is nothing but a node handling something, without any fault.
    pub is_plain: bool,
    /// How many candidates it has.
    pub size: u32,
}

/// Sorts candidates into groups; nothing if there are too many, or if something happens that concerns
/// all nodes at once.
pub(super) fn sorted(
    layout: &Layout,
    candidates: &[Candidate],
    groups: &mut Vec<Group>,
    of: &mut Vec<Root>,
) -> bool {
    groups.clear();
    of.clear();
    for candidate in candidates {
        if matches!(candidate.kind, Kind::Partition | Kind::Heal) {
            return false;
        }
        let at = match groups.iter().position(|group| group.event == candidate.event) {
            Some(at) => at,
            None => {
                let node = layout.event_node(candidate.event) as u16;
                let event = candidate.event;
                groups.push(Group { event, node, goes_on: false, is_plain: true, size: 0 });
                groups.len() - 1
            }
        };
        groups[at].size += 1;
        let is_plain = matches!(candidate.kind, Kind::Flight | Kind::Queue | Kind::Inside);
        groups[at].goes_on |= is_plain;
        groups[at].is_plain &= is_plain;
        of.push(at.min(usize::from(NO_ROOT)) as Root);
    }
    groups.len() <= MAX_GROUPS
}
