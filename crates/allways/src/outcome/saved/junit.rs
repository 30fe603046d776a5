//! A saved run as a failed test, for CI.

use super::SavedRun;
use crate::model::property::PropertyKind;
use crate::outcome::{Cause, Outcome, Statistics, Verdict};

impl SavedRun {
    /// The run as JUnit XML: what it violates as a failed test, with these details.
    ///
    /// ```
    /// use allways::SavedRun;
    /// use allways::prelude::*;
    /// # use allways::sample::Cell as N;
    /// let outcome = System::new([N(0)])
    ///     .call(0, 7)
    ///     .always("stays zero", view(|n: &N| n.0), |views| views[0] == 0)
    ///     .check();
    /// let saved = SavedRun::new("counter", [("nodes", "1")], &outcome).unwrap();
    /// assert!(saved.junit("what happens").contains("what happens</failure>"));
    /// ```
    pub fn junit(&self, details: &str) -> String {
        let property = self.violation.property.clone();
        let properties = match self.violation.cause {
            Cause::Always => vec![(property, PropertyKind::Always)],
            Cause::Stuck => vec![(property, PropertyKind::NeverStuck)],
            Cause::NeverReached => vec![(property, PropertyKind::Sometimes)],
            Cause::Panic | Cause::Trouble(_) => Vec::new(),
        };
        let outcome = Outcome {
            verdict: Verdict::Violated,
            complete: false,
            bounded_by: None,
            engine: self.engine.clone(),
            beside: Vec::new(),
            properties: properties.clone(),
            violation: Some(self.violation.clone()),
            minimised: None,
            story: None,
            witnesses: Vec::new(),
            goals: Vec::new(),
            piles_up: None,
            of_threads: self.violation.is_of_threads(),
            coverage: None,
            warnings: Vec::new(),
            statistics: Statistics::default(),
        };
        outcome.junit(&self.system, &properties, details)
    }
}
