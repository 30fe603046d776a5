//! Trees that all threads have in common.
//!
//! A [tree](super::alone) is worth the more the more tasks it serves, so there is one for a component, not one for a component and a thread. It has numbers of a machine in it, so each has a machine of its own, and whoever performs a task of the component
//! has both for as long as that takes. The [crew](super::crew) takes care that no two tasks of one component are performed at the same time. What comes of a task does not depend on what the tree has.

use super::alone::Trees;
use super::interface::Parts;
use super::task::{Done, Task};
use crate::engine::budget::Budget;
use crate::engine::machine::Machine;
use crate::error::Error;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Trees, whatever the machines are.
pub(super) trait SharedTrees: Sync {
    /// Whether there is a tree for a component.
    fn has(&self, component: u32) -> bool;

    /// Performs a task of a component that has a tree.
    fn perform(
        &self,
        task: &Task,
        parts: &Parts,
        budget: &Budget,
        runs: &Arc<AtomicU64>,
    ) -> Result<Done, Error>;

    /// Roughly the bytes in use.
    fn bytes(&self) -> u64;
}

/// See the module.
pub(super) struct Pool<'h, M> {
    make: &'h (dyn Fn() -> Result<M, Error> + Sync),
    /// For each component its machine with its tree, once there was a task.
    places: Vec<Mutex<Option<(M, Trees)>>>,
    has_tree: Vec<bool>,
    bytes: Vec<AtomicU64>,
}

impl<'h, M: Machine> Pool<'h, M> {
    /// Empty trees for [those components](Trees::which) that have one.
    pub fn new(make: &'h (dyn Fn() -> Result<M, Error> + Sync), has_tree: Vec<bool>) -> Self {
        Pool {
            make,
            places: has_tree.iter().map(|_| Mutex::new(None)).collect(),
            bytes: has_tree.iter().map(|_| AtomicU64::new(0)).collect(),
            has_tree,
        }
    }
}

impl<M: Machine + Send> SharedTrees for Pool<'_, M> {
    fn has(&self, component: u32) -> bool {
        self.has_tree[component as usize]
    }

    fn perform(
        &self,
        task: &Task,
        parts: &Parts,
        budget: &Budget,
        runs: &Arc<AtomicU64>,
    ) -> Result<Done, Error> {
        let place = task.component as usize;
        // It is not put back if something goes wrong: who knows what is in it then.
        let kept = self.places[place].lock().unwrap_or_else(PoisonError::into_inner).take();
        let (mut machine, mut trees) = match kept {
            Some(kept) => kept,
            None => {
                let machine = (self.make)()?;
                let trees = Trees::new(&machine, parts);
                (machine, trees)
            }
        };
        let done = task.perform((&mut machine, &mut trees), parts, budget, runs)?;
        self.bytes[place].store(trees.bytes() + machine.bytes(), Relaxed);
        let mut place = self.places[place].lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some((machine, trees));
        Ok(done)
    }

    fn bytes(&self) -> u64 {
        self.bytes.iter().map(|bytes| bytes.load(Relaxed)).sum()
    }
}
