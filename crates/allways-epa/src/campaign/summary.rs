//! What a campaign says: how many runs of each kind of fault deviated, what came of them, where errors entered and how far they went.

use super::interval::Share;
use super::journal::{Finding, kinds};
use super::outcome::Outcome;
use allways_epa_format::{FaultKind, Program};
use std::collections::BTreeMap;

/// What came of the faults of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The kind.
    pub kind: FaultKind,
    /// How many runs in which the fault happened, in the order of [`Outcome::ALL`].
    pub outcomes: [u64; 5],
    /// How many of them, in the same order, whose trace deviated.
    pub deviated: [u64; 5],
    /// How many of them, in which more deviated than the record in which the fault happened.
    pub propagated: u64,
    /// How many further runs, in which the fault did not happen at all, because the thread never came to its place. They say nothing about faults,
    /// and there should be none.
    pub idle: u64,
    /// How many of all failed without a trace of it.
    pub missed: u64,
}

impl Row {
    /// How many runs there were.
    pub fn runs(&self) -> u64 {
        self.struck() + self.idle
    }

    /// In how many the fault happened.
    pub fn struck(&self) -> u64 {
        self.outcomes.iter().sum()
    }

    /// The coverage: in how many of the runs with a fault that happened the trace deviated.
    pub fn coverage(&self) -> Share {
        Share { hits: self.deviated.iter().sum(), of: self.struck() }
    }

    /// In how many of them more deviated than the record in which the fault happened.
    pub fn propagation(&self) -> Share {
        Share { hits: self.propagated, of: self.struck() }
    }
}

/// What a campaign says.
///
/// ```
/// use allways_epa::campaign::{Finding, Summary};
/// use allways_epa::format::Program;
/// let line = "0\tbitflip thread=T_0 site=4 occurrence=0 detail=1\tcrash\tdeviated\tsignal-11\tT_0@4\tT_0\tx";
/// let findings = [(7, Finding::parse(line).unwrap())];
/// let summary = Summary::new(&Program::default(), &findings);
/// assert_eq!(summary.rows[0].coverage().value(), Some(1.0));
/// assert_eq!(summary.missed(), 0);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// For each kind of fault of which there was a run.
    pub rows: Vec<Row>,
    /// Where errors entered: a place of the source, and how many runs deviated there first. The most come first.
    pub entered: Vec<(String, u64)>,
    /// In how many threads traces differed, and of how many runs.
    pub threads: BTreeMap<usize, u64>,
    /// How many objects errors got into, and of how many runs.
    pub objects: BTreeMap<usize, u64>,
    /// The objects that errors got into, and in how many runs. The most come first.
    pub reached: Vec<(String, u64)>,
    /// From the thread in which the fault happened into which other one, and in how many runs. The most come first.
    pub crossed: Vec<((String, String), u64)>,
}

/// A place of the source, by the number of a site: `main.c:3 (main)`.
pub fn place(program: &Program, site: u32) -> String {
    match program.sites.get(site as usize) {
        Some(site) if site.line > 0 => format!("{}:{} ({})", site.file, site.line, site.function),
        Some(site) => format!("{} in {}", site.name, site.function),
        None => format!("site {site}"),
    }
}

fn most_first<K>(counts: BTreeMap<K, u64>) -> Vec<(K, u64)> {
    let mut counts: Vec<(K, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

impl Summary {
    /// Of these findings, of this program.
    pub fn new(program: &Program, findings: &[(usize, Finding)]) -> Self {
        let row = |kind: FaultKind| {
            let of_kind = || {
                findings.iter().map(|(_, finding)| finding).filter(move |f| f.fault.kind == kind)
            };
            let count = |deviated_only: bool| {
                Outcome::ALL.map(|outcome| {
                    let counts = |f: &&Finding| {
                        f.injected && f.outcome == outcome && (f.deviated || !deviated_only)
                    };
                    of_kind().filter(counts).count() as u64
                })
            };
            let missed = of_kind().filter(|finding| finding.is_missed()).count() as u64;
            let idle = of_kind().filter(|finding| !finding.injected).count() as u64;
            let propagated = of_kind().filter(|finding| finding.propagated).count() as u64;
            Row { kind, outcomes: count(false), deviated: count(true), propagated, idle, missed }
        };
        let mut entered: BTreeMap<String, u64> = BTreeMap::new();
        let mut reached: BTreeMap<String, u64> = BTreeMap::new();
        let (mut threads, mut objects) = (BTreeMap::new(), BTreeMap::new());
        let mut crossed: BTreeMap<(String, String), u64> = BTreeMap::new();
        for (_, finding) in findings.iter().filter(|(_, f)| f.injected && f.deviated) {
            let at = match &finding.entered {
                Some(entered) => match entered.site {
                    Some(site) => place(program, site),
                    None => format!("an event of thread {}", entered.thread),
                },
                None => "nobody knows: the trace could not be read".to_owned(),
            };
            *entered.entry(at).or_default() += 1;
            *threads.entry(finding.threads.len()).or_default() += 1;
            *objects.entry(finding.objects.len()).or_default() += 1;
            for thread in finding.threads.iter().filter(|thread| **thread != finding.fault.thread) {
                let pair = (finding.fault.thread.clone(), thread.clone());
                *crossed.entry(pair).or_default() += 1;
            }
            for object in &finding.objects {
                *reached.entry(object.clone()).or_default() += 1;
            }
        }
        Summary {
            rows: kinds(findings).into_iter().map(row).collect(),
            entered: most_first(entered),
            threads,
            objects,
            reached: most_first(reached),
            crossed: most_first(crossed),
        }
    }

    /// How many runs failed without a trace of it: there should be none.
    pub fn missed(&self) -> u64 {
        self.rows.iter().map(|row| row.missed).sum()
    }

    /// In how many runs the fault did not happen at all: there should be none.
    pub fn idle(&self) -> u64 {
        self.rows.iter().map(|row| row.idle).sum()
    }

    /// How many runs there were.
    pub fn runs(&self) -> u64 {
        self.rows.iter().map(Row::runs).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{finding, program};
    use super::*;

    #[test]
    fn runs_are_counted_by_kind_and_outcome() {
        let all = [
            finding(0, "benign", false),
            finding(1, "deviation", true),
            finding(2, "crash", true),
            finding(3, "crash", false),
            finding(4, "sdc", true),
            Finding { injected: false, ..finding(5, "benign", false) },
            // What deviates although the fault did not happen does so by chance.
            Finding { injected: false, propagated: false, ..finding(6, "deviation", true) },
        ];
        let findings: Vec<(usize, Finding)> = all.into_iter().enumerate().collect();
        let summary = Summary::new(&program(), &findings);
        let [row] = &summary.rows[..] else { panic!("{summary:?}") };
        assert_eq!((row.outcomes, row.deviated), ([1, 1, 1, 2, 0], [0, 1, 1, 1, 0]));
        assert_eq!(row.coverage(), Share { hits: 3, of: 5 });
        assert_eq!(row.propagation(), Share { hits: 3, of: 5 });
        assert_eq!((summary.missed(), summary.idle(), summary.runs()), (1, 2, 7));
        assert_eq!(summary.entered, [("main.c:3 (main)".to_owned(), 3)]);
        assert_eq!(summary.threads, [(2, 3)].into());
        assert_eq!(summary.reached[0].1, 3);
    }
}
