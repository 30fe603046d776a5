//! A campaign: many runs, each with one fault, and what came of them (section 5.5.4 of the thesis).
//!
//! The golden run is recorded once ([`Golden`]). Faults are chosen at random from what it did ([`Candidates`]). Each is tried in a process
//! of its own ([`run`]), whose trace is compared with the golden one. What came of it ([`Outcome`], [`Finding`]) is appended to
//! a file ([`Journal`]), from which everything else is counted ([`Summary`]) and shown ([`page`]).
//!
//! Coverage is the share of runs whose sanitised trace deviates. It is sound to call that the work of the fault, if the
//! golden run is pseudo-deterministic: then a run without a fault has the same trace always. That crashes and silent data corruption without
//! deviation are counted as *missed*, and are to be none, is the check of the other direction.
//!
//! | file | what |
//! |---|---|
//! | `golden.rs` | the run without a fault, and comparisons with it |
//! | `plan.rs`, `random.rs` | which faults |
//! | `process.rs`, `child.rs`, `limits.rs` | one run, within limits |
//! | `outcome.rs` | what came of it |
//! | `journal.rs` | the file of a campaign |
//! | `rehearse.rs`, `work.rs` | many runs at once, first without faults, then with |
//! | `summary.rs`, `interval.rs` | what a campaign says |
//! | `page/` | all that as a page |

mod child;
mod golden;
mod interval;
mod journal;
mod limits;
mod outcome;
mod page;
mod plan;
mod process;
mod random;
mod rehearse;
mod summary;
mod work;

pub use child::end_all;
pub use golden::{Golden, record, record_within};
pub use interval::Share;
pub use journal::{Entered, Finding, Heading, Journal};
pub use limits::{Limits, Used};
pub use outcome::{Ended, Outcome, Seen};
pub use page::page;
pub use plan::{Candidates, applies};
pub use process::{Run, Target, run};
pub use rehearse::{Rehearsal, rehearse};
pub use summary::{Row, Summary, place};
pub use work::{Judge, Work, at_once};

use allways_epa_format::{Fault, FaultKind, Program};
use rustc_hash::FxHashSet;
use std::path::PathBuf;

/// What a trace of a run with a fault says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Judgement {
    /// Whether the fault happened. If it did not, the run says nothing about it.
    pub injected: bool,
    /// How the trace differs from the golden one; `None` if it does not.
    pub difference: Option<Difference>,
}

/// How a trace differs from the golden one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Difference {
    /// Where first, if that is known.
    pub entered: Option<Entered>,
    /// In which threads.
    pub threads: Vec<String>,
    /// Which objects have other values.
    pub objects: Vec<String>,
    /// Which instructions differ, by their sites, and how often.
    pub sites: Vec<(u32, u64)>,
    /// Whether a thread does something else, or less, or more: not just the same with other values.
    pub control: bool,
}

impl Difference {
    /// Whether anything else differs than the one record in which the fault happened. If the trace cannot be read, it
    /// has to be assumed.
    pub fn is_propagated(&self, fault: &Fault) -> bool {
        let is_own = |thread: &String| *thread == fault.thread;
        let is_once = |(site, count): &(u32, u64)| *site == fault.site && *count <= 1;
        self.control
            || self.entered.is_none()
            || !self.threads.iter().all(is_own)
            || !self.sites.iter().all(is_once)
    }
}

/// The faults of a campaign: so many of each kind.
///
/// Kinds take turns, so that a campaign that is interrupted has about as many runs of each.
pub fn plan(
    candidates: &Candidates,
    program: &Program,
    kinds: &[FaultKind],
    seed: u64,
    runs: u64,
) -> Vec<(u64, Fault)> {
    let mut faults: Vec<(u64, Fault)> = kinds
        .iter()
        .flat_map(|kind| (0..).zip(candidates.choose(program, *kind, seed, runs)))
        .collect();
    faults.sort_by_key(|(number, _)| *number);
    faults
}

/// The directory of a campaign.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Directory(pub PathBuf);

impl Directory {
    /// The file with a line for each run.
    pub fn journal(&self) -> PathBuf {
        self.0.join("faults.txt")
    }

    /// The golden trace.
    pub fn golden(&self) -> PathBuf {
        self.0.join("golden.trace")
    }

    /// Whether there is a campaign.
    pub fn has_campaign(&self) -> bool {
        self.journal().exists()
    }

    /// Keeps others from writing to it at the same time, as long as this is there. The directory itself is locked, so that nothing is left behind,
    /// and that a process which is killed keeps nobody out.
    pub fn lock(&self) -> Result<Lock, String> {
        let name = self.0.display();
        let cannot = |error: std::io::Error| format!("cannot use {name}: {error}");
        let held = match std::fs::File::open(&self.0) {
            Ok(held) => match held.try_lock() {
                Ok(()) => Some(held),
                Err(std::fs::TryLockError::WouldBlock) => {
                    return Err(format!(
                        "another campaign is under way in {name}: wait for its end, or give another --out"
                    ));
                }
                // Some file systems have no locks: then it has to go without.
                Err(std::fs::TryLockError::Error(_)) => None,
            },
            // Not every system opens directories.
            Err(_) if self.0.is_dir() => None,
            Err(error) => return Err(cannot(error)),
        };
        Ok(Lock { directory: self.clone(), _held: held })
    }
}

/// The directory of a campaign to which nobody else writes.
#[derive(Debug)]
pub struct Lock {
    directory: Directory,
    _held: Option<std::fs::File>,
}

/// Tries all faults of a plan that were not yet tried, and writes what came of them into the directory; returns
/// all that was found, before and now.
pub fn perform(
    lock: &Lock,
    heading: &Heading,
    plan: &[(u64, Fault)],
    resume: bool,
    work: &Work<'_>,
    done: &(dyn Fn(&Finding) + Sync),
) -> Result<Journal, String> {
    let directory = &lock.directory;
    let path = directory.journal();
    let writer = if resume {
        let journal = Journal::read(&path)?;
        let refuse = |why: String| format!("cannot go on with {}: {why}", directory.0.display());
        journal.is_of(heading).map_err(refuse)?;
        journal::Writer::resume(&path)?
    } else {
        journal::Writer::begin(&path, heading)?
    };
    let tried = Journal::read(&path)?;
    let known: FxHashSet<(FaultKind, u64)> =
        tried.findings.iter().map(|(_, finding)| (finding.fault.kind, finding.number)).collect();
    let is_new = |(number, fault): &&(u64, Fault)| !known.contains(&(fault.kind, *number));
    let open: Vec<(u64, Fault)> = plan.iter().filter(is_new).cloned().collect();
    work.try_all(&open, writer, done)?;
    Journal::read(&path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use allways_epa_format::{Event, Global, Opcode, Record, Site, ValueKind};
    #[cfg(unix)]
    use std::path::Path;

    /// A program with an instruction of each kind that matters.
    pub fn program() -> Program {
        let site = |opcode, name: &str, callee: &str, has_result, values: &[ValueKind]| Site {
            opcode,
            name: name.into(),
            function: "main".into(),
            file: "main.c".into(),
            line: 3,
            bytes: 0,
            has_result,
            callee: callee.into(),
            values: values.to_vec(),
        };
        let (int, pointer) = (ValueKind::Int(32), ValueKind::Pointer);
        let sites = vec![
            site(Opcode::Enter, "call-main", "", false, &[int]),
            site(Opcode::Compute, "add", "", true, &[int, int, int]),
            site(Opcode::Branch, "br", "", false, &[ValueKind::Int(1)]),
            site(Opcode::Call, "call-malloc", "malloc", true, &[pointer, ValueKind::Int(64)]),
            site(Opcode::Call, "call-rand", "rand", true, &[int]),
            site(Opcode::Return, "ret", "", false, &[int]),
        ];
        let globals = vec![Global { name: "x".into(), bytes: 4, constant: false }];
        Program { name: "main.c".into(), sites, globals }
    }

    /// Three threads of it.
    pub fn streams() -> Vec<Vec<u8>> {
        let mut streams = Vec::new();
        for (thread, parent, child) in [(0, None, 0), (1, Some(0), 0), (2, Some(0), 1)] {
            let mut bytes = Vec::new();
            Event::Begin { thread, parent, child, stamp: thread + 1 }.put(&mut bytes);
            let mut put =
                |site, values: &[u64]| Record::Instruction { site, values }.put(&mut bytes);
            put(0, &[1]);
            for number in 0..=thread {
                put(1, &[number, number, 0]);
                put(2, &[1]);
            }
            if thread == 0 {
                put(3, &[0x1000, 8]);
                put(4, &[9]);
            }
            put(5, &[0]);
            Event::End { stamp: 100 + thread }.put(&mut bytes);
            streams.push(bytes);
        }
        streams
    }

    /// What came of some fault.
    pub fn finding(number: u64, outcome: &str, deviated: bool) -> Finding {
        Finding {
            number,
            fault: "bitflip thread=T_0_1 site=1 occurrence=0 detail=5".parse().unwrap(),
            outcome: outcome.parse().unwrap(),
            deviated,
            propagated: deviated,
            injected: true,
            ended: Ended::Exited(0),
            entered: Some(Entered { thread: "T_0_1".into(), site: Some(1) }),
            threads: vec!["T_0".into(), "T_0_1".into()],
            objects: vec!["x".into()],
        }
    }

    /// A file with these findings.
    pub fn journal(findings: Vec<Finding>) -> Journal {
        Journal::of(&heading(), findings)
    }

    /// One of a campaign that was begun with `--unchecked`.
    pub fn unchecked() -> Journal {
        Journal::of(&Heading { checked: false, ..heading() }, Vec::new())
    }

    fn heading() -> Heading {
        let arguments = vec!["1".to_owned()];
        Heading {
            program: "main.c".into(),
            flags: String::new(),
            fingerprint: 5,
            arguments,
            seed: 3,
            checked: true,
        }
    }

    fn faults(runs: u64) -> Vec<(u64, Fault)> {
        let (program, streams) = (program(), streams());
        let candidates = Candidates::new(&program, streams.iter().map(Vec::as_slice)).unwrap();
        let kinds = [FaultKind::BitFlip, FaultKind::FileSize, FaultKind::WrongBranch];
        plan(&candidates, &program, &kinds, 1, runs)
    }

    #[test]
    fn what_differs_only_where_the_fault_was_is_contained() {
        let fault = finding(0, "benign", false).fault;
        let entered = Some(Entered { thread: "T_0_1".into(), site: Some(1) });
        let threads = vec!["T_0_1".to_owned()];
        let own = Difference { entered, threads, sites: vec![(1, 1)], ..Difference::default() };
        assert!(!own.is_propagated(&fault));
        let threads = vec!["T_0_1".to_owned(), "T_0".to_owned()];
        for further in [
            Difference { sites: vec![(1, 2)], ..own.clone() },
            Difference { sites: vec![(1, 1), (5, 1)], ..own.clone() },
            Difference { threads, ..own.clone() },
            Difference { control: true, ..own.clone() },
            Difference { entered: None, ..own.clone() },
        ] {
            assert!(further.is_propagated(&fault), "{further:?}");
        }
    }

    #[test]
    fn kinds_take_turns_and_one_that_applies_nowhere_has_no_turn() {
        let planned = faults(3);
        let kinds: Vec<_> = planned.iter().map(|(number, f)| (*number, f.kind.name())).collect();
        let turns = |number| [(number, "bitflip"), (number, "wrongbranch")];
        assert_eq!(kinds, [turns(0), turns(1), turns(2)].concat());
    }

    #[cfg(unix)]
    #[test]
    fn one_campaign_at_a_time_writes_to_a_directory() {
        let path = std::env::temp_dir().join(format!("allways-lock-{}", std::process::id()));
        let directory = Directory(path.clone());
        assert!(directory.lock().unwrap_err().starts_with("cannot use "));
        std::fs::create_dir_all(&path).unwrap();
        let lock = directory.lock().unwrap();
        let refused = directory.lock().unwrap_err();
        assert!(refused.starts_with("another campaign is under way in "), "{refused}");
        drop(lock);
        assert!(directory.lock().is_ok());
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
        std::fs::remove_dir(&path).unwrap();
    }

    /// A campaign of a program that crashes if a branch goes wrong, prints something else if a bit is flipped in the second thread, and
    /// does nothing otherwise.
    #[cfg(unix)]
    #[test]
    fn a_campaign_goes_on_where_it_was_interrupted() {
        use std::sync::Mutex;
        use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
        let directory = std::env::temp_dir().join(format!("allways-work-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let lock = Directory(directory.clone()).lock().unwrap();
        let script = "case \"$ALLWAYS_FAULT\" in wrongbranch*) echo x > \"$ALLWAYS_TRACE/t\"; kill -SEGV $$;; \
            *T_0_0*) echo wrong;; *) echo right;; esac";
        let target =
            Target { executable: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] };
        let stop = AtomicBool::new(false);
        let run = run(&target, None, &Limits::GOLDEN, &stop).unwrap().unwrap();
        let judge = |trace: &Path| Judgement {
            injected: true,
            difference: trace.join("t").exists().then(Difference::default),
        };
        let work = |threads| Work {
            target: &target,
            golden: run.seen,
            limits: Limits::GOLDEN,
            threads,
            stop: &stop,
            judge: &judge,
        };
        let planned = faults(20);
        let seen = AtomicUsize::new(0);
        let count = |_: &Finding| {
            stop.store(seen.fetch_add(1, Relaxed) == 4, Relaxed);
        };
        let few = perform(&lock, &heading(), &planned, false, &work(1), &count).unwrap();
        assert_eq!(few.findings.len(), 5);
        stop.store(false, Relaxed);
        let repeated = Mutex::new(Vec::new());
        let note = |finding: &Finding| repeated.lock().unwrap().push(finding.clone());
        let all = perform(&lock, &heading(), &planned, true, &work(2), &note).unwrap();
        assert_eq!(all.findings.len(), planned.len());
        assert_eq!(all.findings[..5], few.findings);
        assert_eq!(repeated.into_inner().unwrap().len(), planned.len() - 5);
        for (_, finding) in &all.findings {
            assert!(planned.contains(&(finding.number, finding.fault.clone())));
            let expected = match &finding.fault {
                fault if fault.kind == FaultKind::WrongBranch => Outcome::Crash,
                fault if fault.thread == "T_0_0" => Outcome::SilentDataCorruption,
                _ => Outcome::Benign,
            };
            assert_eq!(finding.outcome, expected, "{finding:?}");
            assert_eq!(finding.is_missed(), expected == Outcome::SilentDataCorruption);
        }
        // One of another seed is another campaign, and one that is finished has nothing left.
        let other = Heading { seed: 4, ..heading() };
        let refused = perform(&lock, &other, &planned, true, &work(1), &|_| ()).unwrap_err();
        assert!(refused.ends_with("it had seed 3, not 4"), "{refused}");
        let none = |_: &Finding| panic!("all were tried");
        perform(&lock, &heading(), &planned, true, &work(1), &none).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
