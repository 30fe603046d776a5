//! Steps of different nodes commute: of the two orders in which they lead to a state, one is enough.
//!
//! **The rule.** Every state but an initial one has been met first by one step, `e` of node `i`,
//! from its parent `s`. When it is expanded, a step `f` of a node `j < i` that was possible in `s`
//! already is counted, but not followed. Before the table is asked for anything, this disposes of
//! most of the steps that lead to states that are known.
//!
//! It is the simplest of sleep sets: what sleeps is told by the last step alone, so it costs one
//! [`Mark`] for each state that waits to be expanded and nothing for those that have been.
//! Unlike sleep sets it needs no care where states are matched: who comes first to a state decides
//! what sleeps there, and any choice is right.
//!
//! **Why every state is met.** `e` and `f` are steps of different nodes, each needs only what was
//! there in `s`, and neither takes away what the other needs: so `s·f·e` is possible and is the same
//! state as `s·e·f`. Suppose that some reachable state is never met. Look at all pairs of a
//! state `p` that is met and a step `f` possible there such that `p·f` is not met; there are some.
//! Such an `f` was not followed, so `p` is not initial: it was met first from some `s` by a step `e`
//! of a node `i > j`. Is `s·f` met? If it is not, then `(s, f)` is such a pair, with a step of the same
//! node, and `s` was met before `p`. If it is, then `(s·f, e)` is such a pair, with a step of a higher node.
//! So from any pair one gets to another, and each time the node rises or stays while
//! the way to the state gets shorter. That cannot go on forever: there is no such pair. The argument does
//! not ask in which order states are expanded, nor by how many threads.
//!
//! **Why breadth-first runs stay shortest.** Let `p·f` be one step farther from the start than `p`, which
//! is met as early as it can be. `s` is one step nearer than `p`, hence `s·f` is just as far as `p`, and `e`
//! leads from it to `p·f`. The same argument, for pairs of which the second state is not met as early as it
//! can be, shows that there are none.
//!
//! **What commutes.** A step that handles an event in flight, or one inside a node (a timer, a restart),
//! or the first message of a queue. A node's own steps never commute with each other. Two steps that
//! both feed an observer may not, so such a pair does not count. Faults draw on budgets that all
//! nodes share and are always followed, and so is all that follows a fault. A message that `e` sent was not
//! there in `s`: live events from [`Mark::fresh`] on are new, and so may be what comes through a queue
//! from node `i`. A handler that panics is always followed. Under symmetry a state is not met as
//! itself, so nothing is marked.
//!
//! Beyond a depth bound nothing is followed, so at it everything counts as a step that leads on:
//! what was left out because of the bound is still noticed.

/// Which steps need not be followed in a state, told by the step that led to it first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Mark {
    /// The node whose step it was, and in the highest bit whether that step fed an observer.
    node: u16,
    /// The number of live events that were in flight before it.
    fresh: u16,
}

const FEEDS: u16 = 1 << 15;

impl Mark {
    /// Everything must be followed.
    pub const NONE: Mark = Mark { node: 0, fresh: 0 };

    /// A state met by a step of `node`, after which the first `old` live events were in flight before.
    #[inline]
    pub fn new(node: usize, old: usize, feeds: bool) -> Self {
        // A lower node and fewer old events are always right.
        let node = node.min(usize::from(FEEDS - 1)) as u16;
        let fresh = old.min(usize::from(u16::MAX)) as u16;
        Mark { node: node | u16::from(feeds) << 15, fresh }
    }

    /// The node whose step led here: steps of nodes below it may sleep.
    #[inline]
    pub fn node(self) -> usize {
        usize::from(self.node & !FEEDS)
    }

    /// The place of the first live event that was not in flight before that step.
    #[inline]
    pub fn fresh(self) -> usize {
        usize::from(self.fresh)
    }

    /// Whether that step fed an observer.
    #[inline]
    pub fn feeds(self) -> bool {
        self.node & FEEDS != 0
    }

    /// As two half words.
    pub fn pack(self) -> [u16; 2] {
        [self.node, self.fresh]
    }

    /// The mark that was packed.
    pub fn unpack([node, fresh]: [u16; 2]) -> Self {
        Mark { node, fresh }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_said_is_left_out() {
        let mark = Mark::new(1_000, 70_000, true);
        assert_eq!((mark.node(), mark.fresh(), mark.feeds()), (1_000, 65_535, true));
        assert_eq!(Mark::unpack(mark.pack()), mark);
        assert!(!Mark::new(1 << 15, 3, false).feeds());
    }
}
