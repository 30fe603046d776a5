//! What a check is of, as a number: a [log](super::log) is of the same check only if this is the same.

use crate::error::Error;
use crate::model::node::Node;
use crate::model::system::System;
use crate::space::hash::{ContentHasher, key};
use crate::space::local::LocalSpace;
use crate::space::{Initial, Space};
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::Read;
use std::sync::OnceLock;

/// So much of a file is read at once.
const AT_ONCE: u64 = 1 << 20;

/// The program as a whole, and all that a system was built from, as far as it can be told: not what closures have captured. `title` is what the user calls it.
pub(super) fn fingerprint<N: Node>(
    system: &System<N>,
    space: &LocalSpace<'_, N>,
    title: &str,
) -> Result<u64, Error> {
    let mut hasher = ContentHasher::new(0x6964_656E);
    program().hash(&mut hasher);
    title.hash(&mut hasher);
    format!("{:?} {:?} {:?}", system.network, system.faults, system.timer_bound).hash(&mut hasher);
    system.timer_bounds.hash(&mut hasher);
    for (name, kind) in system.properties() {
        (name, format!("{kind:?}")).hash(&mut hasher);
    }
    for script in 0..system.scripts.len() {
        script.hash(&mut hasher);
        for at in 0..system.scripts[script].len() {
            if let Some((node, event)) = system.call_at(script, at) {
                (node, key(0, &event)).hash(&mut hasher);
            }
        }
    }
    if let Initial::Vectors(vectors) = space.initial()? {
        let layout = space.layout();
        let readings = &layout.properties;
        for vector in vectors {
            vector.len().hash(&mut hasher);
            for (node, &state) in vector[layout.node_base..][..layout.nodes].iter().enumerate() {
                let state = space.state(node, state);
                state.key.hash(&mut hasher);
                for (view, (_, observer)) in state.views.iter().zip(readings) {
                    observer.is_none().then(|| space.view_key(*view)).hash(&mut hasher);
                }
            }
            let observers = &vector[layout.observer_base..][..layout.observers];
            for (observer, &state) in observers.iter().enumerate() {
                space.observer_key(observer, state).hash(&mut hasher);
            }
            // In no order, since numbers of events are not of content.
            let flight = layout.flight(&vector).iter().map(|&event| space.event(event).key);
            flight.fold(0, u64::wrapping_add).hash(&mut hasher);
            for &queue in &vector[layout.queue_base..layout.ends_base] {
                for event in space.queues().content(queue) {
                    space.event(event).key.hash(&mut hasher);
                }
            }
        }
    }
    Ok(hasher.finish())
}

/// The program as a whole, and what machines say that they stand for.
pub(super) fn of_machines(identity: u64, title: &str) -> u64 {
    let mut hasher = ContentHasher::new(0x7468_7265);
    program().hash(&mut hasher);
    title.hash(&mut hasher);
    identity.hash(&mut hasher);
    hasher.finish()
}

/// The executable file that runs; nothing if it cannot be read. It may be large, so it is read once.
fn program() -> Option<u64> {
    static PROGRAM: OnceLock<Option<u64>> = OnceLock::new();
    *PROGRAM.get_or_init(read_program)
}

fn read_program() -> Option<u64> {
    let mut file = File::open(std::env::current_exe().ok()?).ok()?;
    let mut hasher = ContentHasher::new(0x6578_6521);
    let mut room = Vec::new();
    loop {
        room.clear();
        if (&mut file).take(AT_ONCE).read_to_end(&mut room).ok()? == 0 {
            return Some(hasher.finish());
        }
        hasher.write(&room);
    }
}
