//! Rebuilds a run from what is remembered of the states along it.
//!
//! Of each state a tag is known: its fingerprint, or some bits of it. From an initial state with
//! the first tag, steps are taken to states with the tags that follow, back and forth where several
//! fit, until the last state has the fingerprint that it must have. The order in which candidates
//! are listed therefore does not matter.
//!
//! Under symmetry, tags are those of representatives, and it is these that are followed, as the
//! search did: another state of the same orbit may have another representative. Beside them goes
//! the real state, and what each of its nodes is called in the representative: a step of the
//! representative, renamed back, is a step of the real state.

use super::worker::Path;
use crate::engine::commute::Mark;
use crate::engine::expand::{Candidate, Expander, Kind, Touches};
use crate::error::Error;
use crate::model::rename::Renaming;
use crate::outcome::Run;
use crate::space::symmetry::{Representative, Symmetry};
use crate::space::{Initial, Space};
use rustc_hash::FxHashSet;

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
        space,
        path,
        expander: Expander::new(space, false),
        symmetry: groups.map(|groups| Symmetry::new(space, groups)),
        dead: FxHashSet::default(),
    };
    for (start, vector) in vectors.into_iter().enumerate() {
        let fingerprint = space.layout().fingerprint(space, &vector);
        let place = rebuild.place(State { vector, fingerprint }, None)?;
        if let Some(steps) = rebuild.from(place)? {
            let mut events = Vec::new();
            for (place, candidate) in &steps {
                let candidate = rebuild.lift(place, candidate)?;
                events.push(rebuild.expander.describe(&place.real.vector, &candidate)?);
            }
            return Ok(Run { start, events, ..Run::default() });
        }
    }
    Err(lost())
}

fn lost() -> Error {
    Error::Internal("the way to a state is lost".to_owned())
}

/// A global state.
#[derive(Clone)]
struct State {
    vector: Vec<u32>,
    fingerprint: u64,
}

/// A global state on the way, and what stands for it.
struct Place {
    real: State,
    stand_in: Option<StandIn>,
}

struct StandIn {
    state: State,
    /// What each node of the real state is called here.
    to: Vec<usize>,
}

impl Place {
    /// The state whose steps are followed.
    fn followed(&self) -> &State {
        self.stand_in.as_ref().map_or(&self.real, |stand_in| &stand_in.state)
    }
}

/// A state on the way, with what may come next and how much of that was tried.
struct Frame {
    place: Place,
    candidates: Vec<Candidate>,
    tried: usize,
}

struct Rebuild<'a> {
    space: &'a dyn Space,
    path: &'a Path,
    expander: Expander<'a>,
    symmetry: Option<Symmetry<'a>>,
    /// Numbers on the way and fingerprints of states from which it did not go on.
    dead: FxHashSet<(usize, u64)>,
}

impl Rebuild<'_> {
    /// The steps from an initial state, if it is the right one.
    fn from(&mut self, start: Place) -> Result<Option<Vec<(Place, Candidate)>>, Error> {
        if !self.fits(&start, 0) {
            return Ok(None);
        }
        let mut frames = vec![self.frame(start)?];
        while !frames.is_empty() {
            let number = frames.len();
            let frame = &mut frames[number - 1];
            let Some(candidate) = frame.candidates.get(frame.tried).copied() else {
                if number == self.path.tags.len() && self.path.panic.is_none() {
                    break;
                }
                self.dead.insert((number, frame.place.followed().fingerprint));
                frames.pop();
                continue;
            };
            frame.tried += 1;
            let place = &frames[number - 1].place;
            if number == self.path.tags.len() {
                // Here the way ends: with this state, or with a panic.
                if self.ends_with(place, &candidate)? {
                    break;
                }
            } else if candidate.touches != Touches::Panic {
                let next = self.after(place, &candidate)?;
                let dead = self.dead.contains(&(number + 1, next.followed().fingerprint));
                if !dead && self.fits(&next, number) {
                    let next = self.frame(next)?;
                    frames.push(next);
                }
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
        let candidates = self.candidates(place.followed())?;
        Ok(Frame { place, candidates, tried: 0 })
    }

    fn candidates(&mut self, state: &State) -> Result<Vec<Candidate>, Error> {
        let mut candidates = Vec::new();
        self.expander.expand(&state.vector, state.fingerprint, Mark::NONE, 0, &mut candidates)?;
        Ok(candidates)
    }

    fn apply(&mut self, state: &State, candidate: &Candidate) -> Result<State, Error> {
        let mut vector = Vec::new();
        let fingerprint =
            self.expander.apply(&state.vector, state.fingerprint, candidate, &mut vector)?;
        Ok(State { vector, fingerprint })
    }

    /// A real state with what stands for it: found from `raw`, a renamed version of it in which
    /// nodes are called as the list says; without that, from itself.
    fn place(&mut self, real: State, raw: Option<(State, Vec<usize>)>) -> Result<Place, Error> {
        let Some(symmetry) = &mut self.symmetry else {
            return Ok(Place { real, stand_in: None });
        };
        let (raw, names) = match raw {
            Some(raw) => raw,
            None => (real.clone(), (0..self.space.layout().nodes).collect()),
        };
        let Representative { vector, fingerprint, to } = symmetry.representative(&raw.vector)?;
        let to = names.into_iter().map(|name| to[name]).collect();
        let stand_in = Some(StandIn { state: State { vector, fingerprint }, to });
        Ok(Place { real, stand_in })
    }

    /// Where a step of the state that is followed leads.
    fn after(&mut self, place: &Place, candidate: &Candidate) -> Result<Place, Error> {
        let next = self.apply(place.followed(), candidate)?;
        match &place.stand_in {
            None => self.place(next, None),
            Some(stand_in) => {
                let lifted = self.lift(place, candidate)?;
                let real = self.apply(&place.real, &lifted)?;
                self.place(real, Some((next, stand_in.to.clone())))
            }
        }
    }

    /// The step of the real state that corresponds to one of the state that is followed.
    fn lift(&mut self, place: &Place, candidate: &Candidate) -> Result<Candidate, Error> {
        let Some(stand_in) = &place.stand_in else { return Ok(*candidate) };
        if matches!(candidate.kind, Kind::Partition | Kind::Heal) {
            return Ok(*candidate);
        }
        let mut back = vec![0; stand_in.to.len()];
        for (node, &name) in stand_in.to.iter().enumerate() {
            back[name] = node;
        }
        let back = Renaming::permutation(back);
        let event = self.space.rename_event(candidate.event, &back)?;
        let number = self.expander.alternative(&stand_in.state.vector, candidate)?;
        for other in self.candidates(&place.real)? {
            if other.kind == candidate.kind
                && other.event == event
                && self.expander.alternative(&place.real.vector, &other)? == number
            {
                return Ok(other);
            }
        }
        Err(lost())
    }

    /// Whether a state can be the one with this number on the way.
    fn fits(&self, place: &Place, number: usize) -> bool {
        let fingerprint = place.followed().fingerprint;
        let last = number + 1 == self.path.tags.len();
        (!last || fingerprint == self.path.end)
            && self.path.tag(fingerprint) == self.path.tags[number]
    }

    /// Whether the run may end at this place, going on with `candidate` if it must panic.
    fn ends_with(&mut self, place: &Place, candidate: &Candidate) -> Result<bool, Error> {
        let Some(message) = &self.path.panic else { return Ok(true) };
        let vector = &place.followed().vector;
        Ok(candidate.touches == Touches::Panic
            && self.expander.panic_message(vector, candidate)? == *message)
    }
}
