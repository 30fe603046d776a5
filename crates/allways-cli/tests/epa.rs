//! `allways epa`, from outside: what it prints, what it leaves behind, and its exit codes.
//!
//! No LLVM is needed: the instrumented program is a script that copies traces which were written beforehand, and does what a real program
//! with such a trace would do.
#![cfg(all(unix, feature = "epa"))]

use allways_epa::campaign::Directory;
use allways_epa::format::{
    ADDRESSES_FILE, Event, Global, INCOMPLETE_FILE, NO_ROOM, Opcode, PROGRAM_FILE, Program,
    RUNNING, Record, Site, ValueKind, stream_name,
};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `allways` in a directory, without what is set around the tests.
fn command(directory: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allways"));
    command.args(args).current_dir(directory);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ALLWAYS_") {
            command.env_remove(name);
        }
    }
    command
}

/// What the binary did: its exit code, and what it printed.
fn ended(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn allways(directory: &Path, args: &[&str]) -> (i32, String, String) {
    ended(&mut command(directory, args))
}

/// A directory of its own for a test.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("epa-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn program() -> Program {
    let site = |opcode, name: &str, line, bytes, has_result, values: &[ValueKind]| Site {
        opcode,
        name: name.into(),
        function: "main".into(),
        file: "sum.c".into(),
        line,
        bytes,
        has_result,
        callee: name.strip_prefix("call-").unwrap_or_default().into(),
        values: values.to_vec(),
    };
    let (int, pointer) = (ValueKind::Int(32), ValueKind::Pointer);
    let sites = vec![
        site(Opcode::Enter, "call-main", 1, 0, false, &[int]),
        site(Opcode::Compute, "add", 5, 0, true, &[int, int, int]),
        site(Opcode::Branch, "br", 6, 0, false, &[ValueKind::Int(1)]),
        site(Opcode::Store, "store", 7, 4, false, &[int, pointer]),
        site(Opcode::Call, "call-malloc", 8, 0, true, &[pointer, ValueKind::Int(64)]),
        site(Opcode::Return, "ret", 9, 0, false, &[int]),
    ];
    let globals = vec![Global { name: "x".into(), bytes: 4, constant: false }];
    Program { name: "sum.c".into(), sites, globals }
}

/// How a trace ends, and whether there is a fault in it.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Golden,
    Faulty,
    CutOff,
}

/// Writes a trace as a program does: memory is where `base` says, so much was asked of `malloc`, and this is the sum.
fn traced(path: &Path, base: u64, bytes: u64, sum: u64, threads: u64, end: End) {
    fs::create_dir_all(path).unwrap();
    fs::write(path.join(PROGRAM_FILE), program().to_bytes()).unwrap();
    fs::write(path.join(ADDRESSES_FILE), base.to_le_bytes()).unwrap();
    let mut stream = Vec::new();
    Event::Begin { thread: 0, parent: None, child: 0, stamp: 1 }.put(&mut stream);
    let put = |stream: &mut Vec<u8>, site, values: &[u64]| {
        Record::Instruction { site, values }.put(stream);
    };
    put(&mut stream, 0, &[1]);
    Event::Allocate { stamp: 2, address: base + 0x1000, bytes }.put(&mut stream);
    if end != End::Golden {
        Event::Injected.put(&mut stream);
    }
    put(&mut stream, 4, &[base + 0x1000, bytes]);
    put(&mut stream, 1, &[sum, 1, 2]);
    put(&mut stream, 2, &[1]);
    for thread in 1..threads {
        Event::Create { stamp: 2 + thread, thread }.put(&mut stream);
        let mut own = Vec::new();
        let begin = Event::Begin { thread, parent: Some(0), child: thread - 1, stamp: 20 + thread };
        begin.put(&mut own);
        put(&mut own, 3, &[sum, base]);
        Event::End { stamp: 30 + thread }.put(&mut own);
        fs::write(path.join(stream_name(thread)), own).unwrap();
    }
    if end != End::CutOff {
        put(&mut stream, 3, &[sum, base]);
        put(&mut stream, 5, &[0]);
        Event::End { stamp: 100 }.put(&mut stream);
    }
    stream.extend([0; 64]); // Written ahead.
    fs::write(path.join(stream_name(0)), stream).unwrap();
}

/// What the program does with each kind of fault. One that `malloc` returns is never used; that of `callcorr` is not in the trace.
const SCRIPT: &str = r#"#!/bin/sh
here=$(dirname "$0")
golden=golden-$(( $$ % 2 ))
case "$ALLWAYS_FAULT" in
    "bitflip"*"site=1 "*) trace=wrong-sum; says=7 ;;
    "wrongbranch"*) trace=cut-off; says=3; end="kill -SEGV $$" ;;
    "mallsize"*) trace=less-memory; says=3 ;;
    "invalptr"*) trace=cut-off; says=; end="exec sleep 60" ;;
    "callcorr"*) trace=benign; says="wrong" ;;
    "bitflip"*) trace=benign; says=3 ;;
    *) trace=$golden; says=3 ;;
esac
[ -n "$ALLWAYS_TRACE" ] && cp "$here/$trace/"* "$ALLWAYS_TRACE/"
echo "$says $*"
$end
"#;

/// A fake instrumented program in a directory of its own.
fn fake(name: &str) -> PathBuf {
    let path = directory(name);
    traced(&path.join("golden-0"), 0x5000, 8, 3, 1, End::Golden);
    traced(&path.join("golden-1"), 0x7f00_0000, 8, 3, 1, End::Golden);
    traced(&path.join("benign"), 0x6000, 8, 3, 1, End::Faulty);
    traced(&path.join("wrong-sum"), 0x6000, 8, 7, 1, End::Faulty);
    traced(&path.join("less-memory"), 0x6000, 5, 3, 1, End::Faulty);
    traced(&path.join("cut-off"), 0x6000, 8, 3, 1, End::CutOff);
    executable(&path.join("sum"), SCRIPT);
    path
}

fn executable(path: &Path, script: &str) {
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

const KINDS: &str = "bitflip,filesize,mallsize,wrongbranch";

#[test]
fn a_run_is_recorded_checked_shown_and_compared() {
    let here = fake("record");
    let (code, text, err) = allways(&here, &["epa", "record", "sum", "--", "1", "2"]);
    assert_eq!(code, 0, "{err}");
    assert!(text.contains("6 records of 1 thread\nsaved: golden.trace\n"), "{text}");
    let (code, text, err) = allways(&here, &["epa", "check", "golden.trace"]);
    assert_eq!(code, 0, "{text}{err}");
    assert!(text.starts_with("golden.trace: pseudo-deterministic\n"), "{text}");
    for (way, words) in [
        (&[][..], &["T_0 store 3 x", "call-malloc"][..]),
        (&["--sanitised"], &["T_0 store 3 x"]),
        (&["--raw"], &["call-malloc", "store 3 "]),
        (&["--objects"], &["x", "T_0"]),
    ] {
        let (code, text, _) = allways(&here, &[&["epa", "show", "golden.trace"], way].concat());
        assert_eq!(code, 0);
        assert!(words.iter().all(|word| text.contains(word)), "{way:?}: {text}");
    }
    let fault = "bitflip thread=T_0 site=1 occurrence=0 detail=2";
    let (code, text, _) = allways(&here, &["epa", "record", "sum", "--fault", fault]);
    assert_eq!(code, 0);
    assert!(text.contains("saved: faulty.trace"), "{text}");
    let (code, text, _) = allways(&here, &["epa", "record", "sum", "-o", "again.trace"]);
    assert_eq!((code, text.contains("saved: again.trace")), (0, true), "{text}");
    let same = ["epa", "compare", "golden.trace", "again.trace"];
    let (code, text, _) = allways(&here, &same);
    assert_eq!((code, text.starts_with("the same: ")), (0, true), "{text}");
    let differ = ["epa", "compare", "golden.trace", "faulty.trace", "--dot", "spread.dot"];
    let (code, text, _) = allways(&here, &differ);
    assert_eq!(code, 1);
    assert!(text.contains("sum.c:5 (main)") && text.contains("objects: x"), "{text}");
    assert!(fs::read_to_string(here.join("spread.dot")).unwrap().starts_with("digraph"));
}

/// Nothing is said of all runs because of a trace in which something is missing.
#[test]
fn an_incomplete_trace_is_refused() {
    let here = fake("incomplete");
    let (code, _, err) = allways(&here, &["epa", "record", "sum", "-o", "whole.trace"]);
    assert_eq!(code, 0, "{err}");
    for trace in ["golden-0", "golden-1", "benign"] {
        let notes = "the disk was full; make room\n\0\0\0";
        fs::write(here.join(trace).join(INCOMPLETE_FILE), notes).unwrap();
    }
    let refused = |args: &[&str]| {
        let (code, text, err) = allways(&here, args);
        assert_eq!((code, text.as_str()), (2, ""), "{err}");
        assert!(err.contains("the trace is incomplete: the disk was full; make room"), "{err}");
        assert_eq!(err.trim_end().lines().count(), 1, "{err}");
    };
    refused(&["epa", "record", "sum"]);
    assert!(!here.join("golden.trace").exists());
    refused(&["epa", "inject", "sum", "--runs", "1"]);
    // A process that has exited, but never said so, went on as another program.
    for (last, expected) in [(RUNNING, 2), (0, 0)] {
        for trace in ["golden-0", "golden-1"] {
            fs::write(here.join(trace).join(INCOMPLETE_FILE), [0, 0, last]).unwrap();
        }
        let (code, _, err) = allways(&here, &["epa", "record", "sum", "-o", "other.trace"]);
        assert_eq!(code, expected, "{err}");
        assert_eq!(err.contains("executed another program in its place"), expected == 2, "{err}");
    }
    // Of a run with a fault it is said, and so it is when it is compared.
    let fault = "bitflip thread=T_0 site=0 occurrence=0 detail=2";
    let (code, text, _) = allways(&here, &["epa", "record", "sum", "--fault", fault]);
    assert_eq!(code, 0);
    assert!(text.contains("the trace is incomplete: the disk was full; make room\n"), "{text}");
    refused(&["epa", "check", "faulty.trace"]);
    let compare = ["epa", "compare", "whole.trace", "faulty.trace"];
    let (_, text, _) = allways(&here, &compare);
    assert!(text.contains("of `faulty.trace` not all can be said: the trace is incom"), "{text}");
    let (_, text, _) = allways(&here, &[&compare[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["incomplete"].as_array().map(Vec::len), Some(1), "{text}");
}

/// A campaign does not take a trace that was cut off for want of room for the work of a fault.
#[test]
fn a_campaign_without_room_says_so() {
    let here = fake("room");
    let notes = format!("a thread could not write all that it did: {NO_ROOM}\n");
    fs::write(here.join("less-memory").join(INCOMPLETE_FILE), notes).unwrap();
    let args = ["epa", "inject", "sum", "--runs", "1", "--faults"];
    let (code, _, err) = allways(&here, &[&args[..], &["mallsize"]].concat());
    assert_eq!(code, 2, "{err}");
    assert!(err.contains(NO_ROOM), "{err}");
    let (code, _, err) = allways(&here, &[&args[..], &["wrongbranch", "--out", "other"]].concat());
    assert_eq!(code, 0, "{err}");
}

#[test]
fn json_is_one_object() {
    let here = fake("json");
    let json = |args: &[&str], expected: i32| -> Value {
        let (code, text, err) = allways(&here, &[args, &["--json"]].concat());
        assert_eq!(code, expected, "{text}{err}");
        serde_json::from_str(&text).unwrap()
    };
    let recorded = json(&["epa", "record", "sum"], 0);
    assert_eq!((&recorded["records"], &recorded["ended"]), (&6.into(), &"exit-0".into()));
    let checked = json(&["epa", "check", "golden.trace"], 0);
    assert_eq!(checked["pseudo_deterministic"], true);
    json(
        &["epa", "record", "sum", "--fault", "mallsize thread=T_0 site=4 occurrence=0 detail=1"],
        0,
    );
    let compared = json(&["epa", "compare", "golden.trace", "faulty.trace"], 1);
    assert_eq!((&compared["same"], &compared["first"]["thread"]), (&false.into(), &"T_0".into()));
    let injected = json(&["epa", "inject", "sum", "--faults", KINDS, "--runs", "5"], 0);
    assert_eq!((&injected["runs"], &injected["missed"]), (&15.into(), &0.into()));
    assert_eq!(injected["not_applicable"][0], "filesize");
    let only = json(&["epa", "inject", "sum", "--only", "9"], 0);
    assert!(only["outcome"].is_string(), "{only}");
}

#[test]
fn every_outcome_is_found_and_can_be_repeated() {
    let here = fake("inject");
    let inject = ["epa", "inject", "sum", "--faults", KINDS, "--runs", "20", "--out", "out"];
    let (code, text, err) = allways(&here, &[&inject[..], &["--", "a b"]].concat());
    assert_eq!(code, 0, "{text}{err}");
    assert!(text.contains("sum: 60 runs, each with one fault"), "{text}");
    assert!(text.contains("filesize applies nowhere"), "{text}");
    let faults = fs::read_to_string(here.join("out/faults.txt")).unwrap();
    let mut benign = 0;
    for line in faults.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let expected = match columns[1] {
            fault if fault.starts_with("bitflip") && fault.contains("site=1 ") => "sdc",
            fault if fault.starts_with("mallsize") => "deviation",
            fault if fault.starts_with("wrongbranch") => "crash",
            _ => "benign",
        };
        benign += usize::from(expected == "benign");
        assert_eq!(columns[2], expected, "{line}");
        let trace = match expected {
            "benign" => "same",
            "deviation" => "contained",
            _ => "deviated",
        };
        assert_eq!(columns[3], trace, "{line}");
    }
    assert!((1..20).contains(&benign), "both places are hit: {faults}");
    assert!(!text.contains("did not happen"), "{text}");
    // From its line, and from what is on it.
    let at = faults.lines().position(|line| line.contains("\tcrash\t")).unwrap();
    let fault = faults.lines().nth(at).unwrap().split('\t').nth(1).unwrap();
    for only in [(at + 1).to_string().as_str(), fault] {
        let args = ["epa", "inject", "sum", "--out", "out", "--only", only, "--", "a b"];
        let (code, text, err) = allways(&here, &args);
        assert_eq!(code, 0, "{err}");
        assert!(text.contains("crash (signal-11)") && text.contains("sum.c:6 (main)"), "{text}");
    }
    assert_eq!(fs::read_to_string(here.join("out/faults.txt")).unwrap(), faults);
    let (code, text, _) = allways(&here, &["epa", "report", "out"]);
    assert_eq!((code, text.contains("saved: out/report.html")), (0, true), "{text}");
    let page = fs::read_to_string(here.join("out/report.html")).unwrap();
    assert!(page.contains("None: whatever went wrong is in the trace."), "{page}");
    assert!(page.contains("sum.c:5 (main)") && page.contains(&fault.replace('"', "&quot;")));
    assert!(fs::read_dir(&here).unwrap().count() < 20, "something was left behind");
}

#[test]
fn what_the_trace_does_not_show_is_missed_and_what_does_not_end_hangs() {
    let here = fake("missed");
    let inject = ["epa", "inject", "sum", "--runs", "2", "--timeout", "300ms", "--threads", "2"];
    let kinds = ["--faults", "callcorr,invalptr"];
    let (code, text, err) = allways(&here, &[&inject[..], &kinds].concat());
    assert_eq!(code, 1, "{text}{err}");
    assert!(text.contains("missed: 2 runs failed without any deviation"), "{text}");
    let faults = fs::read_to_string(here.join("campaign/faults.txt")).unwrap();
    assert_eq!(faults.matches("\thang\tdeviated\ttimed-out\t").count(), 2, "{faults}");
    assert_eq!(faults.matches("\tsdc\tsame\texit-0\t").count(), 2, "{faults}");
    let (code, _, _) = allways(&here, &["epa", "report", "campaign", "-o", "page.html"]);
    assert_eq!(code, 0);
    let page = fs::read_to_string(here.join("page.html")).unwrap();
    assert!(page.contains("2 runs failed without any deviation"), "{page}");
}

/// What the script does only if it may have 64 MiB, once it is told so, which is soon after it begins.
#[cfg(target_os = "linux")]
#[test]
fn runs_get_no_more_memory_than_they_may_have() {
    let here = fake("memory");
    let limited = "trace=less-memory; says=wrong; while [ \"$(ulimit -d)\" = unlimited ]; do :; done; \
        [ \"$(ulimit -d)\" = 65536 ] && says=3 ;;";
    executable(&here.join("sum"), &SCRIPT.replace("trace=less-memory; says=3 ;;", limited));
    let inject = ["epa", "inject", "sum", "--faults", "mallsize", "--runs", "2"];
    for (memory, outcome) in [("64M", "deviation"), ("65M", "sdc")] {
        let more = ["--memory", memory, "--out", memory];
        let (code, text, err) = allways(&here, &[&inject[..], &more].concat());
        assert_eq!(code, 0, "{text}{err}");
        let faults = fs::read_to_string(here.join(memory).join("faults.txt")).unwrap();
        assert_eq!(faults.matches(&format!("\t{outcome}\t")).count(), 2, "{faults}");
    }
    // Unless it is said, there is a limit all the same: otherwise the script would not end.
    let (code, _, err) = allways(&here, &[&inject[..], &["--timeout", "1h"]].concat());
    assert_eq!(code, 0, "{err}");
}

#[test]
fn faults_that_do_not_happen_are_counted() {
    let here = fake("idle");
    executable(&here.join("sum"), &SCRIPT.replace("trace=benign", "trace=$golden"));
    let inject = ["epa", "inject", "sum", "--faults", "callcorr", "--runs", "3", "--json"];
    let (code, text, err) = allways(&here, &inject);
    assert_eq!(code, 1, "{err}");
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["faults"][0]["not_injected"], 3, "{text}");
    assert_eq!(json["faults"][0]["outcomes"]["sdc"], 0, "{text}");
    let faults = fs::read_to_string(here.join("campaign/faults.txt")).unwrap();
    assert_eq!(faults.matches("\tnot-injected\t").count(), 3, "{faults}");
    // What is not reached is not benign either, and counts for no share.
    executable(
        &here.join("sum"),
        &SCRIPT.replace("trace=benign; says=\"wrong\"", "trace=$golden; says=3"),
    );
    let inject = ["epa", "inject", "sum", "--faults", "callcorr", "--runs", "3", "--out", "out"];
    let (code, text, err) = allways(&here, &inject);
    assert_eq!(code, 0, "{err}");
    let row = text.lines().find(|line| line.contains("callcorr")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words[words.len() - 7..], ["0", "0", "0", "0", "0", "3", "0"], "{text}");
    assert!(text.contains("not reached: in 3 of the runs the fault did not happen"), "{text}");
    assert_eq!(allways(&here, &["epa", "report", "out"]).0, 0);
    let page = fs::read_to_string(here.join("out/report.html")).unwrap();
    assert!(page.contains("not reached"), "{page}");
}

#[test]
fn a_campaign_goes_on_only_if_it_is_the_same() {
    let here = fake("resume");
    let inject = |more: &[&str]| {
        allways(&here, &[&["epa", "inject", "sum", "--faults", "bitflip"], more].concat())
    };
    let (code, _, err) = inject(&["--resume"]);
    assert_eq!((code, err.contains("there is no campaign in campaign to go on with")), (2, true));
    assert_eq!(inject(&["--runs", "4", "--", "1"]).0, 0);
    let path = here.join("campaign/faults.txt");
    let whole = fs::read_to_string(&path).unwrap();
    // Killed while the last line was written.
    fs::write(&path, &whole[..whole.len() - 3]).unwrap();
    for (more, sentence) in [
        (&["--runs", "4", "--", "1"][..], "--resume goes on with it"),
        (&["--resume", "--seed", "5", "--", "1"], "it had seed 0, not 5"),
        (&["--resume", "--", "2"], "it had arguments \"1\", not \"2\""),
        (&["--resume", "--unchecked", "--", "1"], "it was begun without --unchecked"),
    ] {
        let (code, _, err) = inject(more);
        assert_eq!((code, err.lines().count()), (2, 1), "{err}");
        assert!(err.contains(sentence), "{err}");
    }
    // Somebody else goes on with it.
    let lock = Directory(here.join("campaign")).lock().unwrap();
    for more in [&["--runs", "9", "--resume", "--", "1"][..], &["--", "1"]] {
        let (code, _, err) = inject(more);
        assert_eq!((code, err.lines().count()), (2, 1), "{err}");
        assert!(err.contains("another campaign is under way in campaign"), "{err}");
    }
    drop(lock);
    let (code, text, err) = inject(&["--runs", "9", "--resume", "--", "1"]);
    assert_eq!(code, 0, "{err}");
    assert!(text.contains("sum: 9 runs"), "{text}");
    let resumed = fs::read_to_string(&path).unwrap();
    let kept = whole.trim_end().rsplit_once('\n').unwrap().0;
    assert!(resumed.starts_with(kept), "{resumed}");
    let numbers: Vec<&str> = resumed
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').next().unwrap())
        .collect();
    assert_eq!(numbers.len(), 9);
    // Another program is refused.
    let mut other = program();
    other.sites[1].line = 50;
    for golden in ["golden-0", "golden-1"] {
        fs::write(here.join(golden).join(PROGRAM_FILE), other.to_bytes()).unwrap();
    }
    let (code, _, err) = inject(&["--resume", "--", "1"]);
    assert_eq!((code, err.contains("the program has changed since")), (2, true), "{err}");
}

/// Two threads that write the same variable, and nothing that orders them.
#[test]
fn a_race_is_shown_and_refused() {
    let here = fake("race");
    for golden in ["golden-0", "golden-1"] {
        traced(&here.join(golden), 0x5000, 8, 3, 3, End::Golden);
    }
    assert_eq!(allways(&here, &["epa", "record", "sum"]).0, 0);
    let (code, text, err) = allways(&here, &["epa", "check", "golden.trace"]);
    assert_eq!(code, 1, "{text}{err}");
    assert!(text.starts_with("golden.trace: not pseudo-deterministic\n"), "{text}");
    assert_eq!(text.matches("writes at sum.c:7 (main)").count(), 4, "{text}");
    assert!(text.contains("an order in which the second comes first:"), "{text}");
    assert!(text.contains("only then T_0 writes at sum.c:7 (main)"), "{text}");
    let (code, text, _) = allways(&here, &["epa", "check", "golden.trace", "--json"]);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &json["first"]["line"]), (1, &7.into()), "{text}");
    let solver = ["epa", "check", "golden.trace", "--solver", "/nowhere/z3"];
    let (code, _, err) = allways(&here, &solver);
    assert_eq!((code, err.lines().count()), (2, 1), "{err}");
    assert!(err.contains("/nowhere/z3"), "{err}");
    let inject = ["epa", "inject", "sum", "--faults", "bitflip", "--runs", "2"];
    let (code, _, err) = allways(&here, &inject);
    assert_eq!((code, err.lines().count()), (2, 1), "{err}");
    assert!(err.contains("not pseudo-deterministic") && err.contains("sum.c:7"), "{err}");
    let (code, _, err) = allways(&here, &[&inject[..], &["--unchecked"]].concat());
    assert_eq!(code, 0, "{err}");
}

#[test]
fn functions_that_nobody_can_foresee_are_named() {
    let here = fake("foresee");
    assert_eq!(allways(&here, &["epa", "record", "sum"]).0, 0);
    let check = ["epa", "check", "golden.trace"];
    let (code, text, _) = allways(&here, &[&check[..], &["--deny", "malloc"]].concat());
    assert_eq!(code, 1);
    assert!(text.contains("`malloc` is said not to be deterministic"), "{text}");
    assert!(text.contains("(sum.c:8)") && text.contains("--allow NAME"), "{text}");
    let inject = ["epa", "inject", "sum", "--runs", "1", "--faults", "bitflip"];
    let (code, _, err) = allways(&here, &[&inject[..], &["--deny", "malloc"]].concat());
    assert_eq!((code, err.contains("`malloc` is said not to be")), (2, true), "{err}");
    for (name, expected) in [("rand", 1), ("fread", 0)] {
        let mut other = program();
        other.sites[4].callee = name.into();
        for golden in ["golden-0", "golden-1"] {
            fs::write(here.join(golden).join(PROGRAM_FILE), other.to_bytes()).unwrap();
        }
        assert_eq!(allways(&here, &["epa", "record", "sum"]).0, 0);
        let (code, text, _) = allways(&here, &check);
        assert_eq!((code, text.contains(&format!("`{name}`"))), (expected, true), "{text}");
        assert_eq!(allways(&here, &[&check[..], &["--allow", name]].concat()).0, 0);
        assert_eq!(allways(&here, &[&check[..], &["--deny", name]].concat()).0, 1);
    }
}

#[test]
fn functions_that_nobody_knows_are_listed() {
    let here = fake("unknown");
    let mut other = program();
    other.sites[4].callee = "mystery".into();
    for golden in ["golden-0", "golden-1"] {
        fs::write(here.join(golden).join(PROGRAM_FILE), other.to_bytes()).unwrap();
    }
    assert_eq!(allways(&here, &["epa", "record", "sum"]).0, 0);
    let check = ["epa", "check", "golden.trace"];
    let (code, text, _) = allways(&here, &check);
    let told =
        "1 function is not known, and is taken to read and write what it is given: mystery\n";
    assert_eq!((code, text.contains(told)), (0, true), "{text}");
    let (_, text, _) = allways(&here, &[&check[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&text).unwrap();
    let unknown = &json["unknown"][0];
    assert_eq!((&unknown["function"], &unknown["line"]), (&"mystery".into(), &8.into()), "{text}");
    let (code, text, _) = allways(&here, &[&check[..], &["--allow", "mystery"]].concat());
    assert_eq!((code, text.contains("mystery")), (0, false), "{text}");
}

#[test]
fn threads_that_did_not_end_are_told() {
    let here = fake("unended");
    let check = ["epa", "check", "golden.trace"];
    for golden in ["golden-0", "golden-1"] {
        traced(&here.join(golden), 0x5000, 8, 3, 1, End::CutOff);
    }
    assert_eq!(allways(&here, &["epa", "record", "sum"]).0, 0);
    let (code, text, _) = allways(&here, &check);
    let told = "1 thread had not ended when the process exited";
    assert_eq!((code, text.contains(told)), (0, true), "{text}");
    let (_, text, _) = allways(&here, &[&check[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["cut_off"][0], "T_0", "{text}");
}

#[test]
fn two_runs_without_a_fault_must_be_the_same() {
    let here = fake("differ");
    // Each run is another one.
    let count = "n=$(cat n 2>/dev/null); echo x >> n; n=$(wc -l < n)\n";
    let script = SCRIPT.replace("case \"$A", &format!("{count}case \"$A"));
    executable(
        &here.join("sum"),
        &script.replace("*) trace=$golden; says=3", "*) trace=$golden; says=$n"),
    );
    let inject = ["epa", "inject", "sum", "--faults", "bitflip", "--runs", "2"];
    let (code, _, err) = allways(&here, &inject);
    assert_eq!((code, err.contains("do not print the same")), (2, true), "{err}");
    // Who wants it all the same is told what it is worth.
    let (_, _, err) = allways(&here, &[&inject[..], &["--unchecked", "--out", "all"]].concat());
    assert!(err.contains("silent data corruption and crashes may be by chance"), "{err}");
    traced(&here.join("golden-0"), 0x5000, 8, 3, 1, End::Golden);
    traced(&here.join("golden-1"), 0x5000, 9, 3, 1, End::Golden);
    executable(
        &here.join("sum"),
        &script.replace("$$ % 2", "$(wc -l < n) % 2").replace("golden=", "touch n; golden="),
    );
    let (code, _, err) = allways(&here, &inject);
    assert_eq!(
        (code, err.contains("two runs without a fault differ, first in an event of T_0")),
        (2, true),
        "{err}"
    );
}

#[test]
fn wrong_input_gets_one_sentence() {
    let here = fake("wrong");
    assert_eq!(allways(&here, &["epa", "record", "sum"]).0, 0);
    let golden = fs::read(here.join("golden.trace")).unwrap();
    fs::write(here.join("short.trace"), &golden[..golden.len() - 9]).unwrap();
    let mut changed = golden.clone();
    *changed.last_mut().unwrap() ^= 1;
    fs::write(here.join("changed.trace"), changed).unwrap();
    let mut other = program();
    other.name = "other.c".into();
    for golden in ["golden-0", "golden-1"] {
        fs::write(here.join(golden).join(PROGRAM_FILE), other.to_bytes()).unwrap();
    }
    assert_eq!(allways(&here, &["epa", "record", "sum", "-o", "other.trace"]).0, 0);
    executable(&here.join("plain"), "#!/bin/sh\necho hello\n");
    executable(&here.join("endless"), "#!/bin/sh\nexec sleep 1000\n");
    executable(&here.join("broken"), "#!/bin/sh\necho 'it broke' >&2\nkill -ABRT $$\n");
    fs::write(here.join("no-program"), "text").unwrap();
    for (args, sentence) in [
        (&["epa", "check", "none.trace"][..], "none.trace"),
        (&["epa", "check", "short.trace"], "cut off"),
        (&["epa", "show", "changed.trace"], "corrupt"),
        (&["epa", "show", "sum"], "`sum` is no trace"),
        (&["epa", "compare", "golden.trace", "short.trace"], "cut off"),
        (
            &["epa", "compare", "golden.trace", "other.trace"],
            "other.trace is a trace of another program than golden.trace: `other.c`",
        ),
        (&["epa", "check", "golden.trace", "--emit", "tla"], "choose smt2"),
        (&["epa", "record", "nowhere"], "cannot run nowhere: there is no such file"),
        (&["epa", "record", "golden-0"], "it is a directory"),
        (&["epa", "record", "no-program"], "cannot run "),
        (&["epa", "record", "plain"], "left no trace: it is not instrumented"),
        (
            &["epa", "record", "broken"],
            "ended by signal 6 although nothing was made wrong: it broke",
        ),
        (&["epa", "record", "endless", "--timeout", "200ms"], "does not end within 0.2 s"),
        (&["epa", "inject", "endless", "--timeout", "200ms"], "does not end within 0.2 s"),
        (&["epa", "inject", "sum", "--memory", "much"], "`much`"),
        (&["epa", "record", "sum", "--fault", "bitflip"], "`bitflip` is no fault"),
        (&["epa", "record", "sum", "-o", "nowhere/a.trace"], "cannot write nowhere/a.trace"),
        (&["epa", "record", "sum", "--cflags", "-lm"], "--cflags is for sources"),
        (&["epa", "inject", "sum", "--faults", "bitflop"], "there is no kind of fault `bitflop`"),
        (&["epa", "inject", "sum", "--runs", "0"], "it is at least 1"),
        (&["epa", "inject", "sum", "--only", "99"], "faults.txt"),
        (&["epa", "report", "."], "there is no campaign in ."),
    ] {
        let (code, out, err) = allways(&here, args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?} {err}");
        assert_eq!(err.lines().count(), 1, "{args:?} {err}");
        assert!(err.contains(sentence), "{args:?} {err}");
    }
}

/// A fake instrumenter: it copies the fake program, or says what a real one says.
#[test]
fn sources_are_instrumented_first() {
    let here = fake("instrument");
    fs::write(here.join("sum.c"), "int main() { return 0; }").unwrap();
    fs::write(here.join("bad.c"), "int main( {").unwrap();
    let script = "#!/bin/sh\n\
        [ \"$1\" = bad.c ] && { printf 'allways-instrument: compiling bad.c failed:\\nbad.c:1:11: error: expected a parameter\\n  1 | int\\nbad.c:1:12: error: more\\n' >&2; exit 2; }\n\
        [ \"$1\" = lib.c ] && { echo 'error while loading shared libraries: libLLVM.so' >&2; exit 127; }\n\
        echo \"$@\" > flags\nhere=$(dirname \"$0\")\n\
        printf '#!/bin/sh\\nexec %s/../sum \"$@\"\\n' \"$here\" > \"$3\"; chmod +x \"$3\"\n";
    fs::create_dir(here.join("tools")).unwrap();
    let instrument = here.join("tools/allways-instrument");
    executable(&instrument, script);
    let path = format!("{}:{}", here.join("tools").display(), std::env::var("PATH").unwrap());
    let by = |args: &[&str], name: &str, value: &str| ended(command(&here, args).env(name, value));
    let named = instrument.display().to_string();
    for (name, value) in [("PATH", path.as_str()), ("ALLWAYS_INSTRUMENT", &named)] {
        let args = ["epa", "record", "sum.c", "--cflags", "-O1 -lm", "--", "8"];
        let (code, _, err) = by(&args, name, value);
        assert_eq!(code, 0, "{err}");
        let flags = fs::read_to_string(here.join("flags")).unwrap();
        assert!(flags.starts_with("sum.c -o ") && flags.ends_with(" -- -O1 -lm\n"), "{flags}");
        fs::remove_file(here.join("golden.trace")).unwrap();
    }
    let (code, _, err) = by(&["epa", "record", "bad.c"], "PATH", &path);
    assert_eq!(
        (code, err.as_str()),
        (2, "allways: compiling bad.c failed: bad.c:1:11: error: expected a parameter\n")
    );
    fs::write(here.join("lib.c"), "").unwrap();
    let (code, _, err) = by(&["epa", "record", "lib.c"], "PATH", &path);
    assert_eq!(
        (code, err.contains("libLLVM.so") && err.contains("llvm-22-dev")),
        (2, true),
        "{err}"
    );
    let (code, _, err) = by(&["epa", "record", "sum.c"], "ALLWAYS_INSTRUMENT", "/nowhere/i");
    assert_eq!((code, err.contains("ALLWAYS_INSTRUMENT names /nowhere/i")), (2, true), "{err}");
    let (code, _, err) = by(&["epa", "record", "sum.c"], "PATH", "/nowhere");
    assert_eq!((code, err.lines().count()), (2, 1), "{err}");
    for word in ["allways-instrument", "cargo build", "llvm-22-dev clang-22 libpolly-22-dev"] {
        assert!(err.contains(word), "{err}");
    }
}

#[test]
fn formulas_are_written_out() {
    let here = fake("emit");
    assert_eq!(allways(&here, &["epa", "record", "sum"]).0, 0);
    let (code, text, _) = allways(&here, &["epa", "check", "golden.trace", "--emit", "smt2"]);
    assert_eq!(code, 0);
    assert!(text.trim_end().ends_with("(check-sat)"), "{text}");
}

#[test]
fn ctrl_c_keeps_what_was_found() {
    let here = fake("interrupt");
    let args =
        ["epa", "inject", "sum", "--faults", "bitflip", "--runs", "1000000", "--threads", "1"];
    let mut command = command(&here, &args);
    command.stdout(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    let journal = here.join("campaign/faults.txt");
    let lines = || fs::read_to_string(&journal).unwrap_or_default().lines().count();
    while lines() < 10 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("interrupted: ") && text.contains("--resume"), "{text}");
    let faults = fs::read_to_string(&journal).unwrap();
    assert!(faults.ends_with('\n') && !faults.contains("signal"), "{faults}");
}
