//! Rebuilds a run from the ordinals of its steps.
//!
//! Under symmetry the ordinals belong to representatives. The run is then built on real states
//! beside them: at each step, some step of the real state leads to a state with the same
//! representative.

use super::worker::Path;
use crate::engine::expand::{Candidate, Expander, Touches};
use crate::error::Error;
use crate::model::run_event::RunEvent;
use crate::outcome::Run;
use crate::space::symmetry::Symmetry;
use crate::space::{Initial, Space};

/// The run along a path.
pub(crate) fn run(
    space: &dyn Space,
    path: &Path,
    groups: Option<&[Vec<usize>]>,
) -> Result<Run, Error> {
    let lost = || Error::Internal("the way to a state is lost".to_owned());
    let Initial::Vectors(vectors) = space.initial()? else {
        // The system panics while it starts.
        return Ok(Run::default());
    };
    let mut expander = Expander::new(space, false);
    let real = vectors.into_iter().nth(path.start).ok_or_else(lost)?;
    let mut symmetry = groups.map(|groups| Symmetry::new(space, groups));
    let mut real = Place::at(space, real);
    let mut stand_in = match &mut symmetry {
        Some(symmetry) => {
            let (vector, fingerprint) = symmetry.representative(&real.vector)?;
            Some(Place { vector, fingerprint })
        }
        None => None,
    };
    let mut events: Vec<RunEvent> = Vec::new();
    for &ordinal in &path.ordinals {
        let place = stand_in.as_ref().unwrap_or(&real);
        let candidates = place.candidates(&mut expander)?;
        let candidate = *candidates.get(ordinal as usize).ok_or_else(lost)?;
        match (&mut stand_in, &mut symmetry) {
            (Some(stand_in), Some(symmetry)) => {
                let (candidate, next) =
                    match_step(&mut expander, symmetry, stand_in, &real, &candidate)?
                        .ok_or_else(lost)?;
                events.push(expander.describe(&real.vector, &candidate)?);
                if let Some((next, next_stand_in)) = next {
                    real = next;
                    *stand_in = next_stand_in;
                }
            }
            _ => {
                events.push(expander.describe(&real.vector, &candidate)?);
                if candidate.touches != Touches::Panic {
                    real = real.after(&mut expander, &candidate)?;
                }
            }
        }
    }
    Ok(Run { start: path.start, events })
}

/// A global state.
struct Place {
    vector: Vec<u32>,
    fingerprint: u64,
}

impl Place {
    fn at(space: &dyn Space, vector: Vec<u32>) -> Self {
        let fingerprint = space.layout().fingerprint(space, &vector);
        Place { vector, fingerprint }
    }

    fn candidates(&self, expander: &mut Expander<'_>) -> Result<Vec<Candidate>, Error> {
        let mut candidates = Vec::new();
        expander.expand(&self.vector, self.fingerprint, 0, &mut candidates)?;
        Ok(candidates)
    }

    fn after(&self, expander: &mut Expander<'_>, candidate: &Candidate) -> Result<Place, Error> {
        let mut vector = Vec::new();
        let fingerprint = expander.apply(&self.vector, self.fingerprint, candidate, &mut vector)?;
        Ok(Place { vector, fingerprint })
    }
}

type Matched = (Candidate, Option<(Place, Place)>);

/// A step of `real` that corresponds to `candidate`, a step of its representative; with where it
/// leads, both real and representative, unless it panics.
fn match_step(
    expander: &mut Expander<'_>,
    symmetry: &mut Symmetry<'_>,
    stand_in: &Place,
    real: &Place,
    candidate: &Candidate,
) -> Result<Option<Matched>, Error> {
    let wanted = match candidate.touches {
        Touches::Panic => None,
        _ => {
            let next = stand_in.after(expander, candidate)?;
            Some(symmetry.representative(&next.vector)?)
        }
    };
    for candidate in real.candidates(expander)? {
        match (&wanted, candidate.touches) {
            (None, Touches::Panic) => return Ok(Some((candidate, None))),
            (Some((vector, fingerprint)), Touches::Nothing | Touches::Reads) => {
                let next = real.after(expander, &candidate)?;
                if symmetry.representative(&next.vector)?.1 == *fingerprint {
                    let stand_in = Place { vector: vector.clone(), fingerprint: *fingerprint };
                    return Ok(Some((candidate, Some((next, stand_in)))));
                }
            }
            _ => {}
        }
    }
    Ok(None)
}
