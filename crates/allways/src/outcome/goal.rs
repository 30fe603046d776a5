//! Goals: what came of each `sometimes` property, and how near the search came to it.

use super::{Run, grouped};

/// What came of a `sometimes` property.
///
/// Depths are those at which the search saw something first: breadth-first, the least there are.
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::Cell as N;
/// let outcome = System::new([N(0)])
///     .call(0, 7)
///     .sometimes_all("large and even", view(|n: &N| n.0), [
///         conjunct("large", |n: &[u8]| n[0] > 5),
///         conjunct("even", |n: &[u8]| n[0] % 2 == 0),
///     ])
///     .check();
/// let goal = &outcome.goals[0];
/// assert_eq!(goal.reached, None);
/// assert_eq!(goal.conjuncts[0].first_true, Some(1));
/// assert_eq!(goal.conjuncts[1].first_true, Some(0));
/// let nearest = goal.nearest.as_ref().unwrap();
/// assert_eq!((nearest.met.len(), nearest.missing.len()), (1, 1));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Goal {
    /// The property's name.
    pub property: String,
    /// After how many events it holds; `None` if no state was met in which it does.
    pub reached: Option<u64>,
    /// What it is the conjunction of, if it says so
    /// ([`System::sometimes_all`](crate::System::sometimes_all)) and the engine looks at them: `lmc` does not.
    pub conjuncts: Vec<GoalConjunct>,
    /// The global state in which the most conjuncts were true, if the goal was not reached and any
    /// was ever true.
    pub nearest: Option<Nearest>,
    /// Whether what the property reads was ever different from what it was at first.
    pub reads_changed: bool,
}

/// What came of one conjunct of a goal.
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::Cell;
/// let outcome = System::new([Cell(0)])
///     .call(0, 7)
///     .sometimes_all("large and even", view(|c: &Cell| c.0), [
///         conjunct("large", |c: &[u8]| c[0] > 5),
///         conjunct("even", |c: &[u8]| c[0] % 2 == 0),
///     ])
///     .check();
/// let large = &outcome.goals[0].conjuncts[0];
/// assert_eq!((large.name.as_str(), large.first_true), ("large", Some(1)));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct GoalConjunct {
    /// Its name.
    pub name: String,
    /// After how many events it was first seen to be true; `None` if never.
    pub first_true: Option<u64>,
}

/// How near a search came to a goal.
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::Cell;
/// let outcome = System::new([Cell(0)])
///     .call(0, 7)
///     .sometimes_all("large and even", view(|c: &Cell| c.0), [
///         conjunct("large", |c: &[u8]| c[0] > 5),
///         conjunct("even", |c: &[u8]| c[0] % 2 == 0),
///     ])
///     .check();
/// let nearest = outcome.goals[0].nearest.as_ref().unwrap();
/// assert_eq!((nearest.met.as_slice(), nearest.missing.as_slice()), (&["even".to_owned()][..], &["large".to_owned()][..]));
/// assert!(nearest.run.events.is_empty());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Nearest {
    /// The conjuncts that were true at once.
    pub met: Vec<String>,
    /// The others.
    pub missing: Vec<String>,
    /// A run to there.
    pub run: Run,
}

impl Goal {
    /// How near the search came to a goal that it did not reach: one sentence, and one for each
    /// thing that is known besides. Nothing if it was reached.
    pub(crate) fn shortfall(&self, complete: bool) -> Vec<String> {
        if self.reached.is_some() {
            return Vec::new();
        }
        let name = &self.property;
        let mut said = vec![match complete {
            true => format!("sometimes `{name}`: no reachable state satisfies it"),
            false => format!("sometimes `{name}`: no state that was met satisfies it"),
        }];
        if !self.reads_changed {
            said.push("what it reads is the same in every state".to_owned());
        }
        if complete && self.reads_changed && self.conjuncts.is_empty() {
            let hint = "name its parts (`sometimes_all`, `sometimes_all_observed`) to see which is missing";
            said.push(hint.to_owned());
        }
        let never = if complete { "never true" } else { "not yet seen to be true" };
        for GoalConjunct { name, first_true } in &self.conjuncts {
            said.push(match first_true {
                Some(0) => format!("`{name}` is true from the start"),
                Some(depth) => format!("`{name}` is true first after {}", events(*depth)),
                None => format!("`{name}` is {never}"),
            });
        }
        if let (Some(nearest), 2..) = (&self.nearest, self.conjuncts.len()) {
            said.push(nearest.to_string());
        }
        said
    }
}

impl std::fmt::Display for Nearest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all = self.met.len() + self.missing.len();
        write!(
            f,
            "at most {} of {all} are true at once, after {}: {}, without {}",
            self.met.len(),
            events(self.run.events.len() as u64),
            names(&self.met),
            names(&self.missing)
        )
    }
}

fn names(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A number of events.
pub(crate) fn events(number: u64) -> String {
    match number {
        1 => "1 event".to_owned(),
        _ => format!("{} events", grouped(number)),
    }
}
