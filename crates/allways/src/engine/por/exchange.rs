//! Whether two events can be exchanged: both orders are possible, and lead to the same.

use super::here::Here;
use crate::error::Error;
use crate::model::network::NetworkKind;
use crate::space::memo::{Memo, MemoStep, flag};
use crate::space::{EventId, StateId};

/// Whether observers see anything of an event with this code.
pub(super) fn feeds(memo: &Memo<'_>, code: u32) -> bool {
    (code..code + memo.results(code)).any(|code| memo.step(code).feed != 0)
}

/// How an event outside a set and one of the set go together in a state of their node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Commute {
    /// Both orders are possible and lead to the same.
    Always,
    /// After the event outside, the one of the set is not possible any more, or not in every way.
    /// Whatever is possible of it leads to the same in both orders.
    Disables,
    Not,
}

/// Whether an event `a` and an event `t` of one node, handled in `state`, commute: whenever `a` and then
/// `t` can be handled, so can `t` and then `a`, to the same state, each sending and feeding the same.
pub(super) fn commute(
    here: &mut Here<'_, '_>,
    state: StateId,
    a: EventId,
    t: EventId,
) -> Result<Commute, Error> {
    let first_a = here.memo.code_anywhere(state, a)?;
    let first_t = here.memo.code_anywhere(state, t)?;
    let mut result = Commute::Always;
    let (count_a, count_t) = (here.memo.results(first_a), here.memo.results(first_t));
    for i in 0..count_a {
        let after_a = *here.memo.step(first_a + i);
        if after_a.flags & flag::PANIC != 0 {
            return Ok(Commute::Not);
        }
        let then_t = here.memo.code_anywhere(after_a.next, t)?;
        let count = here.memo.results(then_t);
        if count > count_t {
            return Ok(Commute::Not);
        }
        if count < count_t {
            result = Commute::Disables;
        }
        for k in 0..count {
            let (early_t, late_t) = (*here.memo.step(first_t + k), *here.memo.step(then_t + k));
            if (early_t.flags | late_t.flags) & flag::PANIC != 0 || early_t.feed != late_t.feed {
                return Ok(Commute::Not);
            }
            let then_a = here.memo.code_anywhere(early_t.next, a)?;
            if here.memo.results(then_a) <= i {
                return Ok(Commute::Not);
            }
            let late_a = *here.memo.step(then_a + i);
            // A step that only an observer could tell from none is one in some states of the observer. But the
            // first of a queue is taken away, whatever comes of it.
            for (event, one, other) in [(a, &late_a, &after_a), (t, &early_t, &late_t)] {
                let trivial = (one.flags ^ other.flags) & flag::TRIVIAL != 0;
                let queued = here.layout.network == NetworkKind::Ordered
                    && here.memo.event(event).is_message();
                if trivial && !queued {
                    return Ok(Commute::Not);
                }
            }
            if late_a.flags & flag::PANIC != 0
                || late_a.next != late_t.next
                || late_a.feed != after_a.feed
                || (late_a.feed != 0 && early_t.feed != 0)
                || here.memo.sends(&late_a) != here.memo.sends(&after_a)
                || here.memo.sends(&early_t) != here.memo.sends(&late_t)
                || share_a_queue(here, &early_t, &after_a)
            {
                return Ok(Commute::Not);
            }
        }
    }
    // A handler that panics ends the run: the other order does not have to be possible, but the panic
    // itself must not get lost.
    for k in 0..count_t {
        if here.memo.step(first_t + k).flags & flag::PANIC != 0 {
            return Ok(Commute::Not);
        }
    }
    Ok(result)
}

/// Whether two events that may both happen now, here, can happen in both
/// orders, to the same state.
pub(super) fn independent(here: &mut Here<'_, '_>, one: EventId, other: EventId) -> bool {
    let states = &here.vector[here.layout.node_base..][..here.layout.nodes];
    let (node, other_node) = (here.layout.event_node(one), here.layout.event_node(other));
    let (Ok(code), Ok(other_code)) = (
        here.memo.code_anywhere(states[node], one),
        here.memo.code_anywhere(states[other_node], other),
    ) else {
        return false;
    };
    if node != other_node {
        return !(feeds(here.memo, code) && feeds(here.memo, other_code));
    }
    let mut both = [(one, other), (other, one)].into_iter();
    both.all(|(a, t)| matches!(commute(here, states[node], a, t), Ok(Commute::Always)))
}

/// Whether two steps of one node put messages into the same queue: then their order can be told.
fn share_a_queue(here: &mut Here<'_, '_>, one: &MemoStep, other: &MemoStep) -> bool {
    if here.layout.network != NetworkKind::Ordered || !one.has_sends() || !other.has_sends() {
        return false;
    }
    let mut to: u128 = 0;
    let mut shares = false;
    for (step, first) in [(one, true), (other, false)] {
        for index in 0..here.memo.sends(step).len() {
            let event = here.memo.sends(step)[index];
            if here.memo.event(event).is_message() {
                let bit = 1 << here.layout.event_node(event).min(127);
                shares |= !first && to & bit != 0;
                to |= if first { bit } else { 0 };
            }
        }
    }
    shares
}
