//! Datagrams that are lost.
//!
//! Whoever sends one chooses whether it gets lost, and then takes one of the losses that the run allows. Those who lose something at the same time do
//! that one after the other, and who comes too late loses nothing. Who knows already that none are left does not choose: datagrams carry
//! along what their senders knew. What somebody knows is what has happened before, so it does not depend on the order of what is independent.

use crate::handle::Handle;
use crate::rand;
use crate::runtime::current;
use crate::runtime::names::Site;
use crate::runtime::op::Kind;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::Location;

/// Losses: who lost something, and how manieth that was.
pub(super) type Losses = BTreeSet<(u32, u32)>;

/// All losses of a run, in the order of the events that took them.
#[derive(Default)]
struct All(Losses);

crate::thread_local!(static KNOWN: RefCell<Losses> = RefCell::new(Losses::new()));

/// How many may be lost in a run.
fn most() -> usize {
    current().map_or(0, |runtime| runtime.conditions.lost_datagrams) as usize
}

/// What the thread that runs knows of losses.
pub(super) fn known() -> Losses {
    if most() == 0 {
        return Losses::new();
    }
    KNOWN.try_with(|known| known.borrow().clone()).unwrap_or_default()
}

/// The thread that runs gets to know of losses.
pub(super) fn learn(more: &Losses) {
    if !more.is_empty() {
        // A thread that is ending needs to know nothing any more.
        let _ = KNOWN.try_with(|known| known.borrow_mut().extend(more));
    }
}

/// Whether a datagram that is sent now gets lost.
pub(super) fn loses(at: &'static Location<'static>) -> bool {
    let most = most();
    if known().len() >= most || rand::chosen(2, at) == 0 {
        return false;
    }
    Handle::placed(Site::Losses, "losses", at).access(Kind::Swap, 0, at);
    let Some(runtime) = current() else { return false };
    let thread = runtime.running();
    let all = &mut runtime.belonging::<All>().0;
    let is_left = all.len() < most;
    if is_left {
        let own = all.range((thread, 0)..=(thread, u32::MAX)).count();
        all.insert((thread, own as u32));
    }
    let all = all.clone();
    learn(&all);
    is_left
}
