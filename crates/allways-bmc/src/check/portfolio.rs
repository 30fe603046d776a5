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
        let mut known: Option<Looked> = None;
        let mut wrong = "internal error: nobody answered".to_owned();
        for looked in receive {
            let looked = match looked {
                Ok(looked) => looked,
                Err(error) => {
                    wrong = error;
                    continue;
                }
            };
            let is_answer = !looked.found.iter().any(|f| matches!(f, Found::Stopped { .. }));
            known = Some(match known {
                // Both were stopped: of each goal, what is known of it by either.
                Some(before) if !is_answer => both(before, looked),
                _ => looked,
            });
            if is_answer {
                enough.store(true, Ordering::Relaxed);
                break;
            }
        }
        known.ok_or(wrong)
    })
}

/// The better answer to each goal.
fn both(mut one: Looked, other: Looked) -> Looked {
    let worth = |found: &Found| match found {
        Found::Run(_) | Found::Never(_) => (2, 0),
        Found::Nothing { depth } => (1, *depth),
        Found::Stopped { depth } => (0, depth.map_or(0, |depth| depth + 1)),
    };
    for (known, found) in one.found.iter_mut().zip(other.found) {
        if worth(&found) > worth(known) {
            *known = found;
        }
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Proof;
    use std::time::Duration;

    #[test]
    fn nothing_that_either_found_is_lost() {
        let looked = |found| Looked {
            found,
            projected: false,
            solving: Duration::ZERO,
            elapsed: Duration::ZERO,
            variables: 0,
            clauses: 0,
        };
        let never = Found::Never(Proof::Ends { depth: 3 });
        let stopped = |depth| Found::Stopped { depth };
        let one = vec![never.clone(), stopped(Some(2)), stopped(None), Found::Nothing { depth: 5 }];
        let other = vec![stopped(Some(9)), never.clone(), stopped(Some(0)), stopped(Some(4))];
        let expected = vec![never.clone(), never, stopped(Some(0)), Found::Nothing { depth: 5 }];
        assert_eq!(both(looked(one.clone()), looked(other.clone())).found, expected);
        assert_eq!(both(looked(other), looked(one)).found, expected);
    }
}
