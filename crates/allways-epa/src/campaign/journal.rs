//! The file of a campaign: what it is a campaign of, and one line for each run, appended when the run has ended.
//!
//! It is text, so that people can search in it and repeat what they find: the second column of a line is the fault as the instrumented
//! program takes it. Whenever a campaign is interrupted, every line but perhaps the last is whole, and the last is dropped.

use super::outcome::{Ended, Outcome};
use allways_epa_format::{Fault, FaultKind};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// What a campaign is of: it can only go on if all of this is the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Heading {
    /// The program, as it was given.
    pub program: String,
    /// Flags that it was compiled with.
    pub flags: String,
    /// The fingerprint of its table.
    pub fingerprint: u64,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The seed of the faults.
    pub seed: u64,
    /// Whether the golden run was checked, so that no deviation is by chance.
    pub checked: bool,
}

const FIRST: &str = "# allways epa campaign 1";
const CHECKED: &str = "checked";

impl Heading {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let arguments: Vec<String> =
            self.arguments.iter().map(|text| format!("{text:?}")).collect();
        vec![
            ("program", format!("{:?}", self.program)),
            (
                "cflags",
                if self.flags.is_empty() { String::new() } else { format!("{:?}", self.flags) },
            ),
            ("fingerprint", format!("{:016x}", self.fingerprint)),
            ("arguments", arguments.join(" ")),
            ("seed", self.seed.to_string()),
            (CHECKED, if self.checked { "yes" } else { "no" }.to_owned()),
        ]
    }

    fn text(&self) -> String {
        let mut text = format!("{FIRST}\n");
        for (name, value) in self.lines() {
            let _ = writeln!(text, "# {name}: {value}");
        }
        text.push_str("# number\tfault\toutcome\ttrace\tended\tentered\tthreads\tobjects\n");
        text
    }
}

/// Where an error was first seen: the thread, and the site if it was in an instruction. An event has no place in the source: it gets that
/// of the fault, if that is in the same thread, as with memory that is allocated by the call in which the fault happens.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Entered {
    /// The name of the thread.
    pub thread: String,
    /// The number of the site.
    pub site: Option<u32>,
}

/// What came of one fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Which of the faults of its kind, from 0.
    pub number: u64,
    /// The fault.
    pub fault: Fault,
    /// What came of it.
    pub outcome: Outcome,
    /// Whether the trace is another one than that of the golden run.
    pub deviated: bool,
    /// Whether more of it is another one than the record in which the fault happened.
    pub propagated: bool,
    /// Whether the fault happened at all.
    pub injected: bool,
    /// How the process ended.
    pub ended: Ended,
    /// Where the traces differ first.
    pub entered: Option<Entered>,
    /// The threads in which they differ.
    pub threads: Vec<String>,
    /// The objects whose values differ.
    pub objects: Vec<String>,
}

impl Finding {
    /// Whether something went wrong that the trace does not show.
    pub fn is_missed(&self) -> bool {
        !self.deviated && self.outcome.is_failure()
    }

    /// Its line, without the newline.
    pub fn line(&self) -> String {
        let Finding { number, fault, ended, entered, threads, objects, .. } = self;
        let outcome = self.outcome.name();
        let trace = match (self.injected, self.deviated, self.propagated) {
            (false, false, _) => "not-injected",
            (false, true, _) => "not-injected-deviated",
            (true, false, _) => "same",
            (true, true, false) => "contained",
            (true, true, true) => "deviated",
        };
        let entered = match entered {
            Some(Entered { thread, site: Some(site) }) => format!("{thread}@{site}"),
            Some(Entered { thread, site: None }) => thread.clone(),
            None => "-".to_owned(),
        };
        let [threads, objects] = [threads, objects].map(|names| list(names));
        format!("{number}\t{fault}\t{outcome}\t{trace}\t{ended}\t{entered}\t{threads}\t{objects}")
    }

    /// Reads a line.
    pub fn parse(line: &str) -> Option<Self> {
        let parts: Vec<&str> = line.split('\t').collect();
        let [number, fault, outcome, trace, ended, entered, threads, objects] = parts[..] else {
            return None;
        };
        let names = |text: &str| match text {
            "-" => Vec::new(),
            text => text.split(' ').map(str::to_owned).collect(),
        };
        let entered = match (entered, entered.split_once('@')) {
            ("-", _) => None,
            (thread, None) => Some(Entered { thread: thread.to_owned(), site: None }),
            (_, Some((thread, site))) => {
                Some(Entered { thread: thread.to_owned(), site: Some(site.parse().ok()?) })
            }
        };
        let (injected, deviated, propagated) = match trace {
            "not-injected" => (false, false, false),
            "not-injected-deviated" => (false, true, false),
            "same" => (true, false, false),
            "contained" => (true, true, false),
            "deviated" => (true, true, true),
            _ => return None,
        };
        Some(Finding {
            number: number.parse().ok()?,
            fault: fault.parse().ok()?,
            outcome: outcome.parse().ok()?,
            deviated,
            propagated,
            injected,
            ended: ended.parse().ok()?,
            entered,
            threads: names(threads),
            objects: names(objects),
        })
    }
}

/// Names in one column: without what would end it.
fn list(names: &[String]) -> String {
    if names.is_empty() {
        return "-".to_owned();
    }
    let clean = |name: &String| name.replace(char::is_whitespace, "_");
    names.iter().map(clean).collect::<Vec<_>>().join(" ")
}

/// A campaign as it is in its file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Journal {
    heading: Vec<String>,
    /// What was found, in the order in which runs ended, with the number of the line.
    pub findings: Vec<(usize, Finding)>,
}

impl Journal {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let text = fs::read(path).map_err(|error| format!("cannot read {name}: {error}"))?;
        let text = String::from_utf8(text).map_err(|_| format!("{name} is no text in UTF-8"))?;
        Self::parse(&text).map_err(|at| match at {
            0 => format!("{name} is not the file of a campaign"),
            at => format!("line {at} of {name} says nothing about a run: the file was damaged"),
        })
    }

    /// Reads a text; otherwise the number of the line that is wrong, or 0 if all of it is something else.
    fn parse(text: &str) -> Result<Self, usize> {
        // What has no newline was not written to the end.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        if whole.lines().next() != Some(FIRST) {
            return Err(0);
        }
        let mut journal = Journal { heading: Vec::new(), findings: Vec::new() };
        for (at, line) in whole.lines().enumerate() {
            if line.starts_with('#') {
                journal.heading.push(line.to_owned());
            } else {
                journal.findings.push((at + 1, Finding::parse(line).ok_or(at + 1)?));
            }
        }
        Ok(journal)
    }

    /// One with these findings, as if it had been read.
    #[cfg(test)]
    pub(super) fn of(heading: &Heading, findings: Vec<Finding>) -> Self {
        let lines: String = findings.iter().map(|finding| finding.line() + "\n").collect();
        Self::parse(&(heading.text() + &lines)).unwrap()
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.heading
            .iter()
            .find_map(|line| line.strip_prefix("# ")?.strip_prefix(name)?.strip_prefix(": "))
    }

    /// What the heading says of something: `seed`, `program`, `cflags`, `arguments`, `fingerprint`, `checked`.
    pub fn said(&self, name: &str) -> &str {
        self.value(name).unwrap_or_default()
    }

    /// Whether this is a campaign of the same program with the same arguments and the same seed; otherwise what is not the same.
    pub fn is_of(&self, heading: &Heading) -> Result<(), String> {
        for (name, value) in heading.lines() {
            let was = self.said(name);
            // Where the program is does not matter, only what it is. Whether it was checked was not always said.
            if name == "program" || was == value || name == CHECKED && was.is_empty() {
                continue;
            }
            return Err(match name {
                CHECKED if heading.checked => {
                    "it was begun with --unchecked, and not all of it can be checked any more"
                        .to_owned()
                }
                CHECKED => "it was begun without --unchecked".to_owned(),
                "fingerprint" => "the program has changed since".to_owned(),
                _ => format!("it had {name} {}, not {}", shown(was), shown(&value)),
            });
        }
        Ok(())
    }
}

fn shown(text: &str) -> &str {
    if text.is_empty() { "nothing" } else { text }
}

/// Writes lines to the end of a file.
#[derive(Debug)]
pub(super) struct Writer(File);

impl Writer {
    /// Begins a file.
    pub fn begin(path: &Path, heading: &Heading) -> Result<Self, String> {
        let cannot = |error| format!("cannot write {}: {error}", path.display());
        let mut file = File::create(path).map_err(cannot)?;
        file.write_all(heading.text().as_bytes()).map_err(cannot)?;
        Ok(Writer(file))
    }

    /// Goes on with a file, without what was not written to the end.
    pub fn resume(path: &Path) -> Result<Self, String> {
        let cannot = |error| format!("cannot write {}: {error}", path.display());
        let text = fs::read(path).map_err(cannot)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let file = OpenOptions::new().append(true).open(path).map_err(cannot)?;
        file.set_len(whole as u64).map_err(cannot)?;
        Ok(Writer(file))
    }

    /// Appends a line, all at once.
    pub fn write(&mut self, finding: &Finding) -> Result<(), String> {
        let line = format!("{}\n", finding.line());
        let written = self.0.write_all(line.as_bytes());
        written.map_err(|error| format!("the result of a run could not be written: {error}"))
    }
}

/// The kinds that are in a list of findings, in the order of [`FaultKind::ALL`].
pub(super) fn kinds(findings: &[(usize, Finding)]) -> Vec<FaultKind> {
    let has = |kind: &FaultKind| findings.iter().any(|(_, finding)| finding.fault.kind == *kind);
    FaultKind::ALL.into_iter().filter(has).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::finding;
    use super::*;

    fn heading() -> Heading {
        Heading {
            program: "a b.c".into(),
            flags: "-O1 -lm".into(),
            fingerprint: 0xfe,
            arguments: vec!["1".into(), "two\nlines".into()],
            seed: 7,
            checked: true,
        }
    }

    #[test]
    fn lines_are_read_as_they_are_written() {
        for (outcome, deviated) in [("benign", false), ("deviation", true)] {
            let found = finding(3, outcome, deviated);
            let idle = Finding { injected: false, propagated: false, ..found };
            assert_eq!(Finding::parse(&idle.line()), Some(idle));
        }
        let mut whole = finding(3, "crash", true);
        assert_eq!(Finding::parse(&whole.line()), Some(whole.clone()));
        whole.entered = Some(Entered { thread: "T_0".into(), site: None });
        whole.objects = Vec::new();
        assert_eq!(Finding::parse(&whole.line()), Some(whole.clone()));
        whole.entered = None;
        whole.propagated = false;
        assert_eq!(Finding::parse(&whole.line()), Some(whole.clone()));
        for end in 0..whole.line().len() - 2 {
            assert_eq!(Finding::parse(&whole.line()[..end]), None, "{end}");
        }
        whole.objects = vec!["a\tb c\n".into()];
        assert_eq!(Finding::parse(&whole.line()).unwrap().objects, ["a_b_c_"]);
    }

    #[test]
    fn what_was_not_written_to_the_end_is_dropped_and_the_rest_is_kept() {
        let path = std::env::temp_dir().join(format!("allways-journal-{}", std::process::id()));
        let mut writer = Writer::begin(&path, &heading()).unwrap();
        writer.write(&finding(0, "benign", false)).unwrap();
        writer.write(&finding(1, "crash", true)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 5]).unwrap();
        assert_eq!(Journal::read(&path).unwrap().findings.len(), 1);
        let mut writer = Writer::resume(&path).unwrap();
        writer.write(&finding(1, "crash", true)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        fs::write(&path, text.replace("crash", "krash")).unwrap();
        let error = Journal::read(&path).unwrap_err();
        assert!(error.contains("line 10 of "), "{error}");
        fs::remove_file(&path).unwrap();
        assert_eq!(Journal::parse("something else\n"), Err(0));
        assert_eq!(Journal::parse(""), Err(0));
    }

    #[test]
    fn another_campaign_is_told_apart_by_what_differs() {
        let journal = Journal::parse(&heading().text()).unwrap();
        assert_eq!(journal.is_of(&heading()), Ok(()));
        let moved = Heading { program: "elsewhere.c".into(), ..heading() };
        assert_eq!(journal.is_of(&moved), Ok(()));
        for (other, sentence) in [
            (Heading { seed: 8, ..heading() }, "it had seed 7, not 8"),
            (
                Heading { flags: String::new(), fingerprint: 1, ..heading() },
                "it had cflags \"-O1 -lm\", not nothing",
            ),
            (Heading { fingerprint: 1, ..heading() }, "the program has changed since"),
            (Heading { checked: false, ..heading() }, "it was begun without --unchecked"),
            (
                Heading { arguments: Vec::new(), ..heading() },
                "it had arguments \"1\" \"two\\nlines\", not nothing",
            ),
        ] {
            assert_eq!(journal.is_of(&other).unwrap_err(), sentence);
        }
        let unchecked = Heading { checked: false, ..heading() };
        let journal = Journal::parse(&unchecked.text()).unwrap();
        assert_eq!(journal.is_of(&unchecked), Ok(()));
        let refused = journal.is_of(&heading()).unwrap_err();
        assert!(refused.starts_with("it was begun with --unchecked"), "{refused}");
    }
}
