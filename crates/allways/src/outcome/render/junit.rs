//! An outcome as JUnit XML, for the reports of continuous integration: one test case for each
//! property, and one for handlers that must not panic. For threads, one for each way in which they can go wrong.

use super::words::escape;
use crate::model::property::PropertyKind;
use crate::outcome::{Cause, Outcome, Trouble, Verdict};
use std::fmt::Write;

impl Outcome {
    /// The outcome as JUnit XML: a test suite of this name with a test case for each of these
    /// properties (see [`Checkable::property_names`](crate::Checkable::property_names)). `details`
    /// is the text of a failure: the run, told as one likes; the outcome's own if it is empty.
    ///
    /// What a search did not settle is skipped, and says why.
    ///
    /// ```
    /// use allways::{prelude::*, Checkable};
    /// # use allways::sample::Cell as N;
    /// let system = System::new([N(0)])
    ///     .call(0, 7)
    ///     .always("stays zero", view(|n: &N| n.0), |views| views[0] == 0);
    /// let report = system.check().junit("counter", &system.property_names(), "");
    /// assert!(report.contains("<failure message=\"violated: always `stays zero`\""));
    /// ```
    pub fn junit(
        &self,
        name: &str,
        properties: &[(String, PropertyKind)],
        details: &str,
    ) -> String {
        let time = self.statistics.elapsed.as_secs_f64();
        let mut cases = String::new();
        let (mut failures, mut skipped) = (0, 0);
        let mut case = |case: &str, fate: Fate| {
            let _ = write!(
                cases,
                "    <testcase classname=\"{}\" name=\"{}\" time=\"0.000\"",
                escape(name),
                escape(case)
            );
            match fate {
                Fate::Passed => cases.push_str("/>\n"),
                Fate::Failed(message) => {
                    failures += 1;
                    let text = if details.is_empty() { &self.to_string() } else { details };
                    let _ = writeln!(
                        cases,
                        ">\n      <failure message=\"{}\" type=\"violated\">{}</failure>\n    \
                         </testcase>",
                        escape(&message),
                        lines(text)
                    );
                }
                Fate::Skipped(message) => {
                    skipped += 1;
                    let _ = writeln!(
                        cases,
                        ">\n      <skipped message=\"{}\"/>\n    </testcase>",
                        escape(&message)
                    );
                }
            }
        };
        for (property, kind) in properties {
            case(&format!("{kind} {property}"), self.fate(property, *kind));
        }
        let causes = self.causes();
        for (name, cause) in &causes {
            let fate = match (&self.violation, self.verdict) {
                (Some(violation), _) if violation.cause == *cause => Fate::Failed(self.message()),
                (Some(_), _) | (_, Verdict::Inconclusive) => Fate::Skipped(self.message()),
                _ => Fate::Passed,
            };
            case(name, fate);
        }
        let counts = format!(
            "name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" \
             time=\"{time:.3}\"",
            escape(name),
            properties.len() + causes.len()
        );
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = write!(out, "<testsuites {counts}>\n  <testsuite {counts}>\n    <properties>\n");
        for (name, value) in self.facts() {
            let value = escape(&value);
            let _ = writeln!(out, "      <property name=\"{name}\" value=\"{value}\"/>");
        }
        let _ = write!(out, "    </properties>\n{cases}  </testsuite>\n</testsuites>\n");
        out
    }

    /// What may go wrong that no property speaks of, and what its test case is called.
    fn causes(&self) -> Vec<(String, Cause)> {
        match self.of_threads {
            true => {
                let troubles = Trouble::ALL.map(|it| (format!("no {it}"), Cause::Trouble(it)));
                let panic = ("no thread panics".to_owned(), Cause::Panic);
                std::iter::once(panic).chain(troubles).collect()
            }
            false => vec![("no handler panics".to_owned(), Cause::Panic)],
        }
    }

    /// What became of a property.
    fn fate(&self, property: &str, kind: PropertyKind) -> Fate {
        let witnessed = self.witnesses.iter().any(|witness| witness.property == property);
        let violates = |cause: &Cause| match cause {
            Cause::Always => kind == PropertyKind::Always,
            Cause::Stuck => kind == PropertyKind::NeverStuck,
            Cause::NeverReached => kind == PropertyKind::Sometimes,
            Cause::Panic | Cause::Trouble(_) => false,
        };
        match &self.violation {
            _ if kind == PropertyKind::Sometimes && witnessed => Fate::Passed,
            Some(violation) if violation.property == property && violates(&violation.cause) => {
                Fate::Failed(self.message())
            }
            None if self.verdict == Verdict::Holds => Fate::Passed,
            _ => Fate::Skipped(self.message()),
        }
    }

    /// The verdict in one line.
    fn message(&self) -> String {
        self.to_string().lines().next().unwrap_or_default().to_owned()
    }

    /// What is known of the search, by name.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let statistics = &self.statistics;
        let mut facts = vec![
            ("engine", self.engine.clone()),
            ("verdict", self.verdict.to_string()),
            ("complete", self.complete.to_string()),
        ];
        facts.extend(self.bounded_by.map(|bound| ("bounded_by", bound.to_string())));
        let numbers = [
            ("unique_states", statistics.unique_states),
            ("generated_states", statistics.generated_states),
            ("transitions", statistics.transitions),
            ("handler_executions", statistics.handler_executions),
            ("local_states", statistics.local_states),
            ("runs", statistics.runs),
            ("system_states", statistics.system_states),
            ("depth", statistics.depth),
            ("peak_memory_bytes", statistics.peak_memory_bytes),
        ];
        let known = numbers.into_iter().filter_map(|(name, number)| Some((name, number?)));
        facts.extend(known.map(|(name, number)| (name, number.to_string())));
        let chance = statistics.collision_probability;
        facts.extend(chance.map(|chance| ("collision_probability", format!("{chance:e}"))));
        facts
    }
}

enum Fate {
    Passed,
    Failed(String),
    Skipped(String),
}

/// Text of several lines, each made safe.
fn lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::{Checkable, Options};

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Last(u8);

    impl Node for Last {
        type Msg = Never;
        type Timer = Never;
        type Call = u8;
        type Output = Never;
        fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
            match msg {}
        }
        fn on_call(&mut self, call: u8, _: &mut Cx<'_, Self>) {
            assert!(call < 9, "<nine> & more");
            self.0 = call;
        }
    }

    fn system(call: u8) -> System<Last> {
        let value = || view(|n: &Last| n.0);
        System::new([Last(0)])
            .call(0, call)
            .always("below <7>", value(), |views| views[0] < 7)
            .always("below 200", value(), |views| views[0] < 200)
            .sometimes("moves", value(), |views| views[0] > 0)
    }

    /// The report, and how many cases, failures and skipped ones it has.
    fn report(system: &System<Last>, options: &Options) -> (String, [usize; 3]) {
        let outcome = system.try_check(options).unwrap();
        let report = outcome.junit("last", &system.property_names(), "");
        roxmltree::Document::parse(&report).unwrap();
        let counts =
            ["<testcase ", "<failure ", "<skipped "].map(|tag| report.matches(tag).count());
        let [tests, failures, skipped] = counts;
        let said =
            format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\"");
        assert_eq!(report.matches(&said).count(), 2, "{report}");
        (report, counts)
    }

    #[test]
    fn every_property_that_holds_is_a_case_that_passes() {
        let (report, counts) = report(&system(3), &Options::default());
        assert_eq!(counts, [4, 0, 0], "{report}");
        assert!(report.contains("<property name=\"unique_states\" value=\"2\"/>"), "{report}");
    }

    #[test]
    fn a_violation_is_one_failure_and_what_it_left_open_is_skipped() {
        let (report, counts) = report(&system(8), &Options::default());
        assert_eq!(counts[..2], [4, 1], "{report}");
        assert!(report.contains("message=\"violated: always `below &lt;7&gt;`\""), "{report}");
        assert!(report.contains("call 8"), "the run is told: {report}");
    }

    #[test]
    fn a_panic_is_the_failure_of_no_property() {
        let (report, counts) = report(&system(9), &Options::default());
        assert_eq!(counts[1], 1);
        let case = report.split("<testcase ").find(|case| case.contains("<failure ")).unwrap();
        assert!(case.contains("no handler panics"), "{report}");
        assert!(case.contains("&lt;nine&gt; &amp; more"), "{report}");
    }

    #[test]
    fn what_a_bound_left_open_is_skipped() {
        let options = Options { max_depth: Some(0), ..Options::default() };
        let (report, counts) = report(&system(3), &options);
        assert_eq!(counts[1], 0, "{report}");
        assert!(counts[2] > 0, "{report}");
        assert!(report.contains("inconclusive: bounded by depth"), "{report}");
    }

    #[test]
    fn threads_have_a_case_for_each_way_in_which_they_can_go_wrong() {
        let mut outcome = system(3).check();
        (outcome.of_threads, outcome.properties) = (true, Vec::new());
        let report = outcome.junit("threads", &[], "");
        roxmltree::Document::parse(&report).unwrap();
        assert_eq!(report.matches("<testcase ").count(), 7, "{report}");
        assert!(report.contains("name=\"no thread panics\""), "{report}");
        assert!(report.contains("name=\"no lost wake-up\""), "{report}");
        assert!(!report.contains("handler panics") && report.contains("tests=\"7\""), "{report}");
    }
}
