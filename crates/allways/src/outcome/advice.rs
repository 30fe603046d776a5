//! What an outcome says besides its verdict: how far a bounded search came, how near it came to
//! goals that it did not reach, and what was never seen to happen.

use super::goal::events;
use super::{Bound, Cause, Outcome, Statistics, grouped};

/// The growth of a search is judged by so many levels.
const LEVELS: usize = 2;

impl Outcome {
    /// What there is to know besides the verdict, as sentences for people: how far a search came
    /// that was stopped by a bound, what piled up in flight, how near it came to `sometimes` properties
    /// that it did not reach, and what was never seen to happen. What belongs to the sentence before it is indented.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(u64);
    /// # impl Node for N { type Msg = (); type Timer = (); type Call = Never; type Output = Never;
    /// #   fn on_start(&mut self, cx: &mut Cx<'_, Self>) { cx.set_timer(()); }
    /// #   fn on_message(&mut self, _: Id, _: (), _: &mut Cx<'_, Self>) {}
    /// #   fn on_timer(&mut self, (): (), cx: &mut Cx<'_, Self>) { self.0 += 1; cx.set_timer(()); } }
    /// let system = System::new([N(0)])
    ///     .always("less than a thousand", view(|n: &N| n.0), |n| n[0] < 1_000);
    /// let options = Options { max_depth: Some(10), ..Options::default() };
    /// let outcome = system.try_check(&options).unwrap();
    /// let advice = "all 11 states within 10 events were checked; 1 waits at depth 10; \
    ///     each level is about as large as the one before";
    /// assert_eq!(outcome.advice(), [advice]);
    /// ```
    pub fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        let unreached = match &self.violation {
            None => true,
            Some(violation) => violation.cause == Cause::NeverReached,
        };
        if !unreached {
            // The search ended where it found something: how far it came says little.
            return advice;
        }
        advice.extend(self.bounded_by.map(|bound| match &*self.engine {
            "dir stateful" => extent_of_points(&self.statistics),
            _ => extent(&self.statistics, bound),
        }));
        advice.extend(self.piles_up.clone());
        // A search that was not stopped by a bound met every state, or enough of them.
        let whole = self.bounded_by.is_none();
        for goal in &self.goals {
            let shortfall = goal.shortfall(whole).into_iter().enumerate();
            advice.extend(shortfall.map(|(at, text)| match at {
                0 => text,
                _ => format!("  {text}"),
            }));
        }
        if let (true, Some(coverage)) = (self.complete, &self.coverage) {
            let never = coverage.never();
            if !never.is_empty() {
                advice.push(format!("not covered: {}", never.join("; ")));
            }
        }
        advice
    }
}

/// How far a walk through the states of components came.
fn extent_of_points(statistics: &Statistics) -> String {
    format!(
        "{} with {} were found, and more are to be found",
        counted(statistics.unique_states.unwrap_or_default(), "point"),
        counted(statistics.local_states.unwrap_or_default(), "configuration")
    )
}

/// How far a search came that was stopped by a bound.
fn extent(statistics: &Statistics, bound: Bound) -> String {
    let Statistics { unique_states, frontier, levels, depth, runs, blocked_runs, .. } = statistics;
    let (states, depth) = (unique_states.unwrap_or_default(), depth.unwrap_or_default());
    if let (None, None, Some(local)) = (unique_states, runs, statistics.local_states) {
        let found = counted(local, "local state");
        return match bound {
            Bound::Depth => {
                format!("{found} were found; all runs of at most {} were checked", events(depth))
            }
            _ => format!(
                "{found} were found in {}, and more are to be found",
                counted(depth, "round")
            ),
        };
    }
    if let (Some(runs), Some(skeletons)) = (runs, statistics.global_skeletons) {
        return format!(
            "{} explored for {}, the longest run has {}",
            counted(*runs, "local trace"),
            counted(skeletons, "global skeleton"),
            events(depth)
        );
    }
    if let Some(runs) = runs {
        return match (blocked_runs, bound) {
            (None, _) if unique_states.is_none() => {
                format!("{}, the longest of {}", counted(*runs, "random run"), events(depth))
            }
            (None, _) => format!(
                "{}, the longest of {}, met {}",
                counted(*runs, "random run"),
                events(depth),
                counted(states, "distinct state")
            ),
            (Some(_), Bound::Depth) => {
                format!("{}, some of them cut off after {}", counted(*runs, "run"), events(depth))
            }
            (Some(_), _) => {
                format!("{} to their end, the longest of {}", counted(*runs, "run"), events(depth))
            }
        };
    }
    let Some((last, _)) = levels.split_last() else {
        let waiting = match (frontier, bound) {
            (Some(frontier), _) => format!(", {} expanded", waits(*frontier, "to be")),
            (None, Bound::Depth) => return within(states, depth),
            (None, _) => String::new(),
        };
        // Breadth-first, not even the first level was looked at.
        let hint =
            if statistics.stack_pushes.is_some() { ": search breadth-first for that" } else { "" };
        return format!(
            "{} {} met{waiting}, the longest run has {}; no depth is known to be covered{hint}",
            counted(states, "state"),
            if states == 1 { "was" } else { "were" },
            events(depth)
        );
    };
    let complete = levels.len() as u64 - 1;
    let known: u64 = levels.iter().sum();
    let mut said = within(known, complete);
    let beyond = states.saturating_sub(known);
    if beyond > 0 {
        // Not all of them need have been checked: one that is stuck is found so when it is expanded.
        let were = if beyond == 1 { "was" } else { "were" };
        said += &format!(", and {} more {were} met", grouped(beyond));
    }
    if let Some(waiting @ 1..) = *frontier {
        said += &match beyond {
            0 => format!("; {} depth {complete}", waits(waiting, "at")),
            _ => format!("; {} expanded", waits(waiting, "to be")),
        };
    }
    if let Some(growth) = growth(levels) {
        said += &match growth {
            0.95..1.05 => "; each level is about as large as the one before".to_owned(),
            _ => format!("; each level is about {growth:.1} times as large as the one before"),
        };
        if growth < 0.95 {
            // A geometric series, of which what was found beyond is a part. Levels that shrink
            // mostly shrink faster and faster, so there is hardly more.
            let left = *last as f64 * growth / (1.0 - growth) - beyond as f64;
            let left = counted(left.max(1.0).round() as u64, "state");
            said += &format!(", and at that rate about {left} are left to find");
        }
    }
    said
}

fn within(states: u64, depth: u64) -> String {
    match states {
        1 => format!("the 1 state within {} was checked", events(depth)),
        _ => format!("all {} states within {} were checked", grouped(states), events(depth)),
    }
}

fn waits(states: u64, what: &str) -> String {
    match states {
        1 => format!("1 waits {what}"),
        _ => format!("{} wait {what}", grouped(states)),
    }
}

fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// How many times as large as the level before it a level is, judged by the last few.
fn growth(levels: &[u64]) -> Option<f64> {
    let back = LEVELS.min(levels.len().checked_sub(2)?);
    let (last, first) = (levels[levels.len() - 1], levels[levels.len() - 1 - back]);
    (back > 0 && first > 0).then(|| (last as f64 / first as f64).powf(1.0 / back as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a breadth-first search that was stopped.
    fn stopped(levels: &[u64], states: u64, waiting: u64) -> String {
        let statistics = Statistics {
            unique_states: Some(states),
            frontier: Some(waiting),
            levels: levels.to_vec(),
            ..Statistics::default()
        };
        extent(&statistics, Bound::States)
    }

    #[test]
    fn a_search_stopped_within_a_level_says_what_it_met_beyond() {
        assert_eq!(
            stopped(&[1, 10, 100, 1_000], 3_111, 2_500),
            "all 1,111 states within 3 events were checked, and 2,000 more were met; 2,500 wait to be expanded; each level is about 10.0 times as large as the one before"
        );
    }

    #[test]
    fn a_search_stopped_between_levels_says_what_waits() {
        assert_eq!(
            stopped(&[1, 2], 5, 2),
            "all 3 states within 1 event were checked, and 2 more were met; 2 wait to be expanded"
        );
    }
}
