//! Assertions about an outcome, for tests. One that fails panics with everything that a person
//! needs to go on: what is violated and the run as a diagram, what the search did, and where the
//! report and the saved run are.
//!
//! Only these assertions write files: the text of an outcome is free of side effects. [`place`]
//! says which test this is and where its files belong; [`files`] writes and removes them. A report
//! never fails: where nothing can be written, it says why and goes without.

mod files;
mod place;

pub(crate) use place::is_kept;

use super::render::text::TextOptions;
use super::render::{About, Format};
use super::saved::SavedRun;
use super::{Bound, Cause, Outcome, Verdict, Violation};
use files::Saved;
use place::Place;
use std::panic::Location;

impl Outcome {
    /// Panics with a readable report unless every property holds: what is violated, the run that
    /// shows it as a diagram ([`Story::text`](crate::Story::text)), and what the search did.
    ///
    /// In a test it also saves the run (`run.json`) and a report to look through in a browser
    /// (`report.html`), and says how to replay the run. They are in
    /// `target/allways/PACKAGE/BINARY/TEST`, or below the directory that the environment variable
    /// `ALLWAYS_SAVE` names. The next time that the test gets here they are replaced, or removed
    /// if everything holds.
    ///
    /// ```should_panic
    /// use allways::prelude::*;
    /// # use allways::sample::Cell as N;
    /// System::new([N(0)])
    ///     .call(0, 7)
    ///     .always("stays zero", view(|n: &N| n.0), |views| views[0] == 0)
    ///     .check()
    ///     .assert_holds();
    /// ```
    ///
    /// If everything holds, warnings are printed to standard error, one a line. A test that passes
    /// shows them with `cargo test -- --nocapture`; [`Outcome::assert_no_warnings`] makes it fail.
    ///
    /// # Panics
    ///
    /// If the verdict is anything but [`Verdict::Holds`].
    #[track_caller]
    pub fn assert_holds(&self) -> &Self {
        match self.verdict {
            Verdict::Holds => {
                passed(Location::caller());
                for warning in &self.warnings {
                    eprintln!("allways: warning: {warning}");
                }
            }
            _ => panic!("\n{}", self.failed("assert_holds()", Location::caller())),
        }
        self
    }

    /// Panics if there are warnings, and lists them: what holds may hold for a reason that nobody
    /// meant.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell as N;
    /// let outcome = System::new([N(0)])
    ///     .call(0, 7)
    ///     .always("small", view(|n: &N| n.0), |views| views[0] < 9)
    ///     .check();
    /// outcome.assert_holds().assert_no_warnings();
    /// ```
    ///
    /// # Panics
    ///
    /// If [`Outcome::warnings`] is not empty.
    #[track_caller]
    pub fn assert_no_warnings(&self) -> &Self {
        if let [first, rest @ ..] = &self.warnings[..] {
            let mut text = format!("warning: {first}");
            for warning in rest {
                text += &format!("\nwarning: {warning}");
            }
            panic!("\n{text}");
        }
        self
    }

    /// Panics like [`Outcome::assert_holds`] if something is violated, but is content with a check
    /// that a bound ended before that. For random runs, which prove nothing, and for budgets that
    /// differ from one machine to the next.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell as N;
    /// let system = System::new([N(0)])
    ///     .call(0, 7)
    ///     .always("small", view(|n: &N| n.0), |views| views[0] < 9);
    /// let random = Options { engine: Engine::Walk, runs: 10, ..Options::default() };
    /// system.try_check(&random).unwrap().assert_not_violated();
    /// ```
    ///
    /// # Panics
    ///
    /// If the verdict is [`Verdict::Violated`].
    #[track_caller]
    pub fn assert_not_violated(&self) -> &Self {
        match self.verdict {
            Verdict::Violated => {
                panic!("\n{}", self.failed("assert_not_violated()", Location::caller()))
            }
            Verdict::Holds | Verdict::Inconclusive => passed(Location::caller()),
        }
        self
    }

    /// Panics unless the property with this name is violated; returns the violation. If another
    /// one is, its run is saved as [`Outcome::assert_holds`] does.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell as N;
    /// let outcome = System::new([N(0)])
    ///     .call(0, 7)
    ///     .always("stays zero", view(|n: &N| n.0), |views| views[0] == 0)
    ///     .check();
    /// assert_eq!(outcome.assert_violated("stays zero").run.events.len(), 1);
    /// ```
    ///
    /// # Panics
    ///
    /// If the verdict is anything but [`Verdict::Violated`], or another property is violated.
    #[track_caller]
    pub fn assert_violated(&self, property: &str) -> &Violation {
        match &self.violation {
            Some(violation) if violation.property == property => {
                passed(Location::caller());
                violation
            }
            _ => {
                let asserted = format!("assert_violated({property:?})");
                let report = self.failed(&asserted, Location::caller());
                let unknown = self.unknown(property);
                panic!("expected `{property}` to be violated{unknown}\n\n{report}")
            }
        }
    }

    /// That there is no property of this name, and which there are; nothing if there is one.
    fn unknown(&self, property: &str) -> String {
        if self.properties.iter().any(|(name, _)| name == property) {
            return String::new();
        }
        let names: Vec<String> =
            self.properties.iter().map(|(name, _)| format!("`{name}`")).collect();
        match names.as_slice() {
            [] => ", but the system has no properties".to_owned(),
            names => {
                format!(", but the system has no such property: it has {}", names.join(", "))
            }
        }
    }

    /// The report of an assertion that failed; saves the run if there is one.
    fn failed(&self, asserted: &str, at: &Location<'_>) -> String {
        let mut text = self.text(&TextOptions { width: columns(), ..TextOptions::default() });
        let place = Place::here(at);
        let has_run = |violation: &Violation| violation.cause != Cause::NeverReached;
        let kept = match self.violation.as_ref().is_some_and(has_run) {
            true => self.keep(&place, asserted),
            false => {
                files::nothing_to_save(&place);
                self.next(asserted)
            }
        };
        if !kept.is_empty() {
            text.push('\n');
            text.push_str(&kept);
        }
        text
    }

    /// Saves the run and the report; says where they are and how to go on.
    fn keep(&self, place: &Place, asserted: &str) -> String {
        let saved = files::directory_for_failure(place).and_then(|directory| {
            let run = directory.join(files::RUN);
            let shown = place.shown(&run);
            // Who puts right what threads do mostly makes the run impossible.
            let of_threads = self.violation.as_ref().is_some_and(Violation::is_of_threads);
            let asserts =
                if of_threads { "assert_not_violated" } else { "assert_no_longer_violates" };
            let replay = format!(".replay_file({shown:?}).unwrap().{asserts}()");
            let saved =
                SavedRun::new(&place.test, [("", ""); 0], self).map_err(|e| e.to_string())?;
            let json = saved.to_json();
            // A run too long to be told is too long to be looked through.
            let page = self.story.as_ref().map(|story| {
                let about = About::default()
                    .system(&place.test)
                    .engine(&self.engine)
                    .version(env!("CARGO_PKG_VERSION"))
                    .replay(&replay)
                    .saved(&json);
                story.render(Format::Html, &about)
            });
            let Saved { run, page } = files::save(&directory, &json, page.as_deref())?;
            let mut text = String::new();
            if let Some(page) = page {
                text += &format!("report: {}\n", place.shown(&page));
            }
            text += &format!("run:    {}\n", place.shown(&run));
            text += &format!("replay: in place of `.check().{asserted}`, write\n");
            text += &format!("        {replay}\n");
            text +=
                "keep:   copy run.json to your tests and replay it from there: the next failure ";
            text += "replaces this one,\n        and a test that passes removes it\n";
            Ok(text)
        });
        saved.unwrap_or_else(|why| format!("the run is not saved: {why}\n"))
    }

    /// What to do where there is no run to look at.
    fn next(&self, asserted: &str) -> String {
        if self.violation.is_some() {
            return "next: see whether the property asks for what the system can do\n".to_owned();
        }
        let more = match self.bounded_by {
            None | Some(Bound::Interrupt) => return String::new(),
            Some(Bound::Depth) => "raise ALLWAYS_MAX_DEPTH, or `max_depth` in its options",
            Some(Bound::States) => "raise ALLWAYS_MAX_STATES, or `max_states` in its options",
            Some(Bound::Seconds) => "raise ALLWAYS_MAX_SECONDS, or `max_time` in its options",
            Some(Bound::Memory) => "raise ALLWAYS_MAX_MEMORY, or `max_memory` in its options",
            Some(Bound::Preemptions) => "allow more preemptions, or check without a bound on them",
            Some(Bound::Reduction) => "check with reduction `optimal`, which misses nothing",
            Some(Bound::Runs) if self.engine.starts_with("dpor") => {
                "raise ALLWAYS_MAX_RUNS, or `max_runs` in its options"
            }
            Some(Bound::Runs) if self.of_threads => {
                "check with engine `dpor`: random runs prove nothing"
            }
            Some(Bound::Runs) => "check with engine `global`: random runs prove nothing",
        };
        match asserted {
            "assert_holds()" => format!(
                "next: {more}; or make it `assert_not_violated()`, which is content with what was covered\n"
            ),
            _ => format!("next: {more}\n"),
        }
    }
}

/// An assertion that holds: what an earlier failure of this test left behind goes.
fn passed(at: &Location<'_>) {
    files::nothing_to_save(&Place::here(at));
}

/// How wide a report is.
fn columns() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.filter(|columns| (40..=400).contains(columns)).unwrap_or(100)
}
