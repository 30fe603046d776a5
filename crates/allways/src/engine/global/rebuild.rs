//! Rebuilds a run from what is remembered of the states along it.
//!
//! Of each state a tag is known: its fingerprint, or some bits of it. From an initial state with
//! the first tag, steps are taken to states with the tags that follow, back and forth where several
//! fit, until the last state has the fingerprint that it must have. The order in which candidates
//! are listed therefore does not matter, nor how states are laid out; under symmetry, tags are those
//! of representatives, and the run is one of real states.

use super::worker::Path;
use crate::engine::expand::{Candidate, Expander, Touches};
use crate::error::Error;
use crate::outcome::Run;
use crate::space::symmetry::Symmetry;
use crate::space::{Initial, Space};

/// The run along a path.
pub(crate) fn run(
    space: &dyn Space,
    path: &Path,
    groups: Option<&[Vec<usize>]>,
) -> Result<Run, Error> {
    let Initial::Vectors(vectors) = space.initial()? else {
        // The system panics while it starts.
        return Ok(Run::default());
    };
    let mut rebuild = Rebuild {
        path,
        expander: Expander::new(space, false),
        symmetry: groups.map(|groups| Symmetry::new(space, groups)),
    };
    for (start, vector) in vectors.into_iter().enumerate() {
        let fingerprint = space.layout().fingerprint(space, &vector);
        if let Some(steps) = rebuild.from(Place { vector, fingerprint })? {
            let events = steps
                .iter()
                .map(|(place, candidate)| rebuild.expander.describe(&place.vector, candidate));
            let events = events.collect::<Result<_, _>>()?;
            return Ok(Run { start, events, ..Run::default() });
        }
    }
    Err(Error::Internal("the way to a state is lost".to_owned()))
}

/// A global state.
struct Place {
    vector: Vec<u32>,
    fingerprint: u64,
}

/// A state on the way, with what may come next and how much of that was tried.
struct Frame {
    place: Place,
    candidates: Vec<Candidate>,
    tried: usize,
}

struct Rebuild<'a> {
    path: &'a Path,
    expander: Expander<'a>,
    symmetry: Option<Symmetry<'a>>,
}

impl Rebuild<'_> {
    /// The steps from an initial state, if it is the right one.
    fn from(&mut self, start: Place) -> Result<Option<Vec<(Place, Candidate)>>, Error> {
        if !self.fits(&start, 0)? {
            return Ok(None);
        }
        let mut frames = vec![self.frame(start)?];
        while let Some(frame) = frames.last_mut() {
            let Some(candidate) = frame.candidates.get(frame.tried).copied() else {
                if frames.len() == self.path.tags.len() && self.path.panic.is_none() {
                    break;
                }
                frames.pop();
                continue;
            };
            frame.tried += 1;
            if frames.len() == self.path.tags.len() {
                // Here the way ends: with this state, or with a panic.
                if self.ends_with(&frames, &candidate)? {
                    break;
                }
                continue;
            }
            if candidate.touches == Touches::Panic {
                continue;
            }
            let place = &frames[frames.len() - 1].place;
            let mut vector = Vec::new();
            let fingerprint =
                self.expander.apply(&place.vector, place.fingerprint, &candidate, &mut vector)?;
            let next = Place { vector, fingerprint };
            if self.fits(&next, frames.len())? {
                let next = self.frame(next)?;
                frames.push(next);
            }
        }
        if frames.is_empty() {
            return Ok(None);
        }
        let mut steps: Vec<(Place, Candidate)> = Vec::new();
        let last = frames.len() - 1;
        for (index, frame) in frames.into_iter().enumerate() {
            if index < last || self.path.panic.is_some() {
                let candidate = frame.candidates[frame.tried - 1];
                steps.push((frame.place, candidate));
            }
        }
        Ok(Some(steps))
    }

    fn frame(&mut self, place: Place) -> Result<Frame, Error> {
        let mut candidates = Vec::new();
        self.expander.expand(&place.vector, place.fingerprint, 0, &mut candidates)?;
        Ok(Frame { place, candidates, tried: 0 })
    }

    /// Whether a state can be the one with this number on the way.
    fn fits(&mut self, place: &Place, number: usize) -> Result<bool, Error> {
        let fingerprint = match &mut self.symmetry {
            Some(symmetry) => symmetry.representative(&place.vector)?.1,
            None => place.fingerprint,
        };
        let last = number + 1 == self.path.tags.len();
        let whole = !last || fingerprint == self.path.end;
        Ok(whole && self.path.tag(fingerprint) == self.path.tags[number])
    }

    /// Whether the run may end where `frames` end, going on with `candidate` if it must panic.
    fn ends_with(&mut self, frames: &[Frame], candidate: &Candidate) -> Result<bool, Error> {
        let Some(message) = &self.path.panic else { return Ok(true) };
        let vector = &frames[frames.len() - 1].place.vector;
        Ok(candidate.touches == Touches::Panic
            && self.expander.panic_message(vector, candidate)? == *message)
    }
}
