//! With and without projection at once: the first answer counts. Which is faster is hard to tell before: projections
//! leave less to look at, and their constraints are more to look through.

use super::{Found, Looked, Options};
use crate::encode::Projection;
use crate::program::{Goal, Program};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

pub(super) fn look(
    program: &Program,
    goals: &[Goal],
    options: &Options,
    told: &(dyn Fn(usize) + Sync),
) -> Result<Looked, String> {
    let with = match options.projection {
        Projection::Off => Projection::default(),
        projection => projection,
    };
    let (send, receive) = mpsc::channel();
    let enough = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        for projection in [with, Projection::Off] {
            let mut options = Options { portfolio: false, projection, ..options.clone() };
            options.stop.push(Arc::clone(&enough));
            let send = send.clone();
            scope.spawn(move || {
                // Nobody listens any more once there is an answer.
                let _ = send.send(super::look(program, goals, &options, told));
            });
        }
        drop(send);
        let mut last = Err("internal error: nobody answered".to_owned());
        for looked in receive {
            let is_answer = match &looked {
                Ok(looked) => !looked.found.iter().any(|f| matches!(f, Found::Stopped { .. })),
                Err(_) => true,
            };
            // Of two that were stopped, the one that was stopped later got further.
            last = looked;
            if is_answer {
                enough.store(true, Ordering::Relaxed);
                break;
            }
        }
        last
    })
}
