//! What everything that looks at a state to reduce it needs to know of it.

use super::group::Group;
use crate::space::memo::Memo;
use crate::space::vector::Layout;

/// A state in which something is to be left out, with what is known of steps.
pub(super) struct Here<'h, 's> {
    pub memo: &'h mut Memo<'s>,
    pub layout: &'h Layout,
    pub vector: &'h [u32],
    /// What may happen there; empty where roots mean nothing.
    pub groups: &'h [Group],
}
