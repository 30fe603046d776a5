//! What everything that looks at a state to reduce it needs to know of it.

use super::group::Group;
use crate::space::memo::{Memo, flag};
use crate::space::vector::Layout;
use crate::space::{EventId, StateId};

/// A state in which something is to be left out, with what is known of steps.
pub(super) struct Here<'h, 's> {
    pub memo: &'h mut Memo<'s>,
    pub layout: &'h Layout,
    pub vector: &'h [u32],
    /// What may happen there; empty where roots mean nothing.
    pub groups: &'h [Group],
}

impl Here<'_, '_> {
    /// The state that a node is in.
    pub fn state(&self, node: u16) -> StateId {
        self.vector[self.layout.node_base + usize::from(node)]
    }

    /// Whether no property sees anything of an event in this state of its node.
    pub fn is_invisible(&mut self, event: EventId, state: StateId) -> bool {
        let Ok(code) = self.memo.code_anywhere(state, event) else { return false };
        (code..code + self.memo.results(code)).all(|code| {
            let step = self.memo.step(code);
            step.flags & (flag::VIEWS | flag::PANIC) == 0 && step.feed == 0
        })
    }
}
