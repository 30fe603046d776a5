//! Instruments programs, runs them and reads their traces.

#![allow(dead_code)]

use allways_epa_format::{
    ADDRESSES_FILE, DIRECTORY, Event, FAULT, Fault, INCOMPLETE_FILE, PROGRAM_FILE, Program,
    RUNNING, Records, Site, stream_name,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The program under test.
pub fn instrument() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_allways-instrument"))
}

/// Puts the runtime beside the program under test, once: `cargo test` by itself makes no such library.
fn make_runtime() {
    static MADE: OnceLock<()> = OnceLock::new();
    MADE.get_or_init(|| {
        let directory = instrument().parent().unwrap();
        let mut command = Command::new(env!("CARGO"));
        command.args(["build", "--package", "allways-epa-runtime", "--target-dir"]);
        command.arg(directory.parent().unwrap());
        if directory.ends_with("release") {
            command.arg("--release");
        }
        command.current_dir(env!("CARGO_MANIFEST_DIR"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    });
}

/// A new directory. Those of the run before are removed, so there are never those of more than one.
pub fn directory() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    static ALL: OnceLock<PathBuf> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let executable = std::env::current_exe().unwrap();
        let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join(executable.file_name().unwrap());
        if all.exists() {
            std::fs::remove_dir_all(&all).unwrap();
        }
        all
    });
    let path = all.join(NEXT.fetch_add(1, Ordering::Relaxed).to_string());
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// One of the programs of this crate.
pub fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name)
}

/// A program of a test.
pub fn source(name: &str, text: &str) -> PathBuf {
    let path = directory().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Instruments a program.
pub fn build(source: &Path, options: &[&str]) -> PathBuf {
    make_runtime();
    let executable = directory().join("program");
    let output = Command::new(instrument())
        .arg(source)
        .arg("-o")
        .arg(&executable)
        .args(options)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    executable
}

/// No record of a test is longer.
const MAX_RECORD: usize = 400;

/// A record.
#[derive(Clone, PartialEq, Debug)]
pub enum Record {
    /// An event.
    Event(Event),
    /// An instruction, of a site.
    Instruction(u32, Vec<u64>),
}

/// A trace.
pub struct Trace {
    /// The table.
    pub program: Program,
    /// Where globals were.
    pub addresses: Vec<u64>,
    /// The records of each thread, by its name.
    pub threads: BTreeMap<String, Vec<Record>>,
    /// What is missing in it: lines.
    pub missing: String,
    /// Whether the process did not say that it exits.
    pub is_running: bool,
}

impl Trace {
    /// Reads it; the streams must be ones that can be read.
    pub fn read(directory: &Path) -> Trace {
        let read = |name: &str| std::fs::read(directory.join(name)).unwrap();
        let program = Program::from_bytes(&read(PROGRAM_FILE)).unwrap();
        let addresses = read(ADDRESSES_FILE);
        let addresses =
            addresses.chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
        let addresses: Vec<u64> = addresses.collect();
        assert_eq!(addresses.len(), program.globals.len());
        let mut names: Vec<String> = Vec::new();
        let mut threads = BTreeMap::new();
        for number in 0.. {
            let Ok(bytes) = std::fs::read(directory.join(stream_name(number))) else { break };
            let mut records = Records::new(&program, &bytes);
            let mut stream = Vec::new();
            let mut end = 0;
            while let Some(record) = records.next().unwrap() {
                stream.push(match record {
                    allways_epa_format::Record::Event(event) => Record::Event(event),
                    allways_epa_format::Record::Instruction { site, values } => {
                        Record::Instruction(site, values.to_vec())
                    }
                });
                end = records.position();
            }
            // Whatever is after the end was written ahead, but for one record that a killed process did not complete: its first byte
            // is written last.
            let rest = &bytes[end..];
            assert!(rest.iter().skip(MAX_RECORD).all(|byte| *byte == 0));
            assert!(rest.first().is_none_or(|byte| *byte == 0));
            // The process may exit before a thread has written anything.
            if stream.is_empty() {
                names.push(String::new());
                continue;
            }
            let Some(Record::Event(Event::Begin { thread, parent, child, .. })) = stream.first()
            else {
                panic!("thread {number} does not begin");
            };
            assert_eq!(*thread, number);
            let name = parent.map_or_else(
                || "T_0".to_owned(),
                |parent| format!("{}_{child}", names[parent as usize]),
            );
            names.push(name.clone());
            assert!(threads.insert(name, stream).is_none(), "two threads have one name");
        }
        let missing = String::from_utf8(read(INCOMPLETE_FILE)).unwrap();
        let is_running = missing.ends_with(char::from(RUNNING));
        let missing = missing.trim_end_matches(['\0', char::from(RUNNING)]).to_owned();
        Trace { program, addresses, threads, missing, is_running }
    }

    /// A site of a record.
    pub fn site(&self, site: u32) -> &Site {
        &self.program.sites[site as usize]
    }

    /// The instructions of a thread in a line of the source, by name and values.
    pub fn line(&self, thread: &str, line: u32) -> Vec<(&str, &[u64])> {
        let records = self.threads[thread].iter().filter_map(|record| match record {
            Record::Instruction(site, values) if self.site(*site).line == line => {
                Some((self.site(*site).name.as_str(), values.as_slice()))
            }
            _ => None,
        });
        records.collect()
    }

    /// The number of the first site for which this holds.
    pub fn find(&self, holds: impl Fn(&Site) -> bool) -> u32 {
        self.program.sites.iter().position(holds).unwrap() as u32
    }

    /// The events of a thread.
    pub fn events(&self, thread: &str) -> Vec<Event> {
        let records = self.threads[thread].iter().filter_map(|record| match record {
            Record::Event(event) => Some(*event),
            Record::Instruction(..) => None,
        });
        records.collect()
    }

    /// What each thread did, without anything that may differ between two runs: sites, and values that are whole numbers.
    pub fn essence(&self) -> BTreeMap<&str, Vec<(u32, Vec<u64>)>> {
        use allways_epa_format::ValueKind;
        let threads = self.threads.iter().map(|(name, records)| {
            let records = records.iter().filter_map(|record| {
                let Record::Instruction(site, values) = record else { return None };
                let kinds = &self.site(*site).values;
                let values = values.iter().zip(kinds);
                // Handles of threads and addresses that are made numbers have 64 bits as well.
                let values =
                    values.filter(|(_, kind)| matches!(kind, ValueKind::Int(bits) if *bits < 64));
                Some((*site, values.map(|(value, _)| *value).collect()))
            });
            (name.as_str(), records.collect())
        });
        threads.collect()
    }
}

/// Runs an instrumented program.
pub fn run(executable: &Path, arguments: &[&str], fault: Option<&Fault>) -> (Trace, Output) {
    let directory = directory();
    let mut command = Command::new(executable);
    command.args(arguments).env(DIRECTORY, &directory);
    if let Some(fault) = fault {
        command.env(FAULT, fault.to_string());
    }
    let output = command.output().unwrap();
    (Trace::read(&directory), output)
}

/// What a program printed.
pub fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
