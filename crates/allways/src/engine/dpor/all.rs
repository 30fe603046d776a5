//! Reduction `none`: all orders of all events, up to the depth bound.
//!
//! It visits every run, and so every state that can be reached within the bound, as often as there are ways to
//! it. What other reductions are compared with.

use super::explore::Explorer;
use crate::engine::machine::{Machine, Transition};
use crate::error::Error;

/// Explores everything from the present start.
pub(super) fn explore<M: Machine>(explorer: &mut Explorer<'_, M>) -> Result<(), Error> {
    // For each point of the run, what is left to do there, last first.
    let mut todo: Vec<Vec<Transition>> = Vec::new();
    let mut spare: Vec<Vec<Transition>> = Vec::new();
    loop {
        let mut possible = spare.pop().unwrap_or_default();
        explorer.possible(&mut possible)?;
        let is_cut = !possible.is_empty() && explorer.is_at_bound();
        if possible.is_empty() || is_cut {
            explorer.end_run(is_cut)?;
            explorer.guard_order()?;
            possible.clear();
        }
        possible.reverse();
        todo.push(possible);
        let next = loop {
            if explorer.is_over() {
                return Ok(());
            }
            let Some(last) = todo.last_mut() else { return Ok(()) };
            match last.pop() {
                Some(next) => break next,
                None => {
                    spare.extend(todo.pop());
                    explorer.go_back(todo.len().saturating_sub(1))?;
                }
            }
        };
        explorer.perform(next)?;
        if explorer.is_over() {
            return Ok(());
        }
    }
}
