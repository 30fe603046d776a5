//! Traces as files and directories, and everything that can be wrong with them.

mod sketch;

use allways_epa::format::{
    ADDRESSES_FILE, Event, INCOMPLETE_FILE, Opcode, PROGRAM_FILE, stream_name,
};
use allways_epa::trace::{Trace, TraceError};
use sketch::{INT, POINTER, Sketch};
use std::fs;
use std::path::{Path, PathBuf};

/// A directory for one test, which is removed after it.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("allways-epa-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn trace() -> Trace {
    let mut s = Sketch::new();
    s.global("arr", 8, 0x60_3d74);
    let store = s.site(Opcode::Store, "store", "main", 3, &[INT, POINTER]);
    for thread in [0, 1, 10] {
        s.begin(thread, thread.checked_sub(1).map(|_| 0), thread);
        s.put(thread, store, &[7, 0]);
    }
    // What is written last are zeros, which must not be lost.
    Event::Exit { status: 0 }.put(s.stream(10));
    s.trace
}

fn write(trace: &Trace, directory: &Path) {
    fs::write(directory.join(PROGRAM_FILE), trace.program.to_bytes()).unwrap();
    let addresses = trace.addresses.iter().flat_map(|address| address.to_le_bytes());
    fs::write(directory.join(ADDRESSES_FILE), addresses.collect::<Vec<_>>()).unwrap();
    for stream in &trace.streams {
        let mut bytes = stream.bytes.clone();
        bytes.extend([0; 100]);
        fs::write(directory.join(stream_name(stream.thread)), bytes).unwrap();
    }
}

#[test]
fn what_is_missing_is_read_and_kept() {
    let directory = Directory::new("missing");
    write(&trace(), &directory.0);
    let path = directory.0.join(INCOMPLETE_FILE);
    fs::write(&path, [0; 100]).unwrap();
    let gathered = Trace::gather(&directory.0).unwrap();
    assert_eq!(gathered.require_complete(), Ok(()));
    // The last line is one of a process that was killed; the first two are of two threads.
    fs::write(&path, b"no room; make some\nno room; make some\nunse\0\0\0").unwrap();
    let gathered = Trace::gather(&directory.0).unwrap();
    assert_eq!(gathered.incomplete, ["no room; make some", "unse"]);
    let saved = directory.0.join("trace");
    gathered.save(&saved).unwrap();
    let opened = Trace::open(&saved).unwrap();
    assert_eq!(
        opened.require_complete().unwrap_err().to_string(),
        "the trace is incomplete: no room; make some; and unse"
    );
    assert_eq!(opened, gathered);
}

#[test]
fn what_was_written_is_read() {
    let directory = Directory::new("read");
    let trace = trace();
    write(&trace, &directory.0);
    fs::write(directory.0.join("thread-01"), "not a stream").unwrap();
    fs::write(directory.0.join("thread-x"), "not a stream").unwrap();
    assert_eq!(Trace::gather(&directory.0), Ok(trace.clone()));
    let path = directory.0.join("trace");
    trace.save(&path).unwrap();
    assert_eq!(Trace::open(&path), Ok(trace));
}

#[test]
fn a_record_that_is_not_complete_is_cut_off() {
    let directory = Directory::new("killed");
    let mut trace = trace();
    write(&trace, &directory.0);
    trace.streams.truncate(1);
    let whole = trace.streams[0].bytes.len();
    let path = directory.0.join(stream_name(0));
    // Of the last record, a store of 7 at 0, the address is missing; a zero behind would be taken for it.
    fs::write(&path, &trace.streams[0].bytes[..whole - 1]).unwrap();
    trace.streams[0].bytes.truncate(whole - 3);
    let gathered = Trace::gather(&directory.0).unwrap();
    assert_eq!(gathered.streams[0], trace.streams[0]);
}

#[test]
fn whatever_is_wrong_is_said_in_one_sentence() {
    let directory = Directory::new("wrong");
    let path = directory.0.join("trace");
    let said = |result: Result<Trace, TraceError>| {
        let said = result.unwrap_err().to_string();
        said.replace(&directory.0.display().to_string(), "D")
    };
    assert_eq!(said(Trace::open(&directory.0)), "`D` is a directory, not the file of a trace");
    assert!(said(Trace::open(&path)).starts_with("`D/trace` cannot be read or written: "));
    assert_eq!(
        said(Trace::gather(&directory.0)),
        "no program has left a trace in `D`: there is no `program`"
    );
    for bytes in ["", "#include <stdio.h>"] {
        fs::write(&path, bytes).unwrap();
        assert_eq!(said(Trace::open(&path)), "`D/trace` is no trace");
    }
    let trace = trace();
    trace.save(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in 1..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let said = said(Trace::open(&path));
        let needs = if length < 32 { 32 } else { whole.len() };
        assert_eq!(
            said,
            format!("the trace `D/trace` is cut off: it has {length} of its {needs} bytes")
        );
    }
    for place in 24..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x10;
        fs::write(&path, bytes).unwrap();
        let expected = "the trace `D/trace` is corrupt: its checksum is wrong";
        assert_eq!(said(Trace::open(&path)), expected);
    }
    write(&trace, &directory.0);
    fs::write(directory.0.join(stream_name(1)), [1, 1, 1, 0, 2, 31]).unwrap();
    assert_eq!(
        said(Trace::gather(&directory.0)),
        "the stream of thread 1 cannot be read: there is no record at byte 5"
    );
    fs::write(directory.0.join(ADDRESSES_FILE), [0; 16]).unwrap();
    assert_eq!(
        said(Trace::gather(&directory.0)),
        "the trace has addresses of 2 globals, but the program has 1"
    );
    fs::write(directory.0.join(PROGRAM_FILE), [0; 16]).unwrap();
    assert_eq!(
        said(Trace::gather(&directory.0)),
        "`D/program` has no table of a program that can be read"
    );
}

#[test]
fn a_fingerprint_tells_programs_apart() {
    let (one, mut other) = (trace(), trace());
    assert_eq!(one.fingerprint(), other.fingerprint());
    other.streams.clear();
    assert_eq!(one.fingerprint(), other.fingerprint());
    other.program.sites[0].line += 1;
    assert_ne!(one.fingerprint(), other.fingerprint());
}
