//! Real signals to the real binary: the first ends a check with what was covered, the second ends
//! the process.
#![cfg(unix)]

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A check that takes longer than anybody waits, and that has begun: its progress was seen.
fn begun(args: &[&str], out: impl Into<Stdio>) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allways"));
    command.args(["check", "two-phase-commit", "--set", "rms=16", "--threads", "1", "--progress"]);
    // No test waits for ever, whatever is broken.
    command.args(["--max-seconds", "100"]).args(args).stdout(out).stderr(Stdio::piped());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ALLWAYS_") {
            command.env_remove(name);
        }
    }
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    err.read_line(&mut line).unwrap();
    assert!(line.contains("/s, "), "{line}");
    child.stderr = Some(err.into_inner());
    child
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// The exit code and the result of a check that is sent one signal.
fn interrupted(args: &[&str], signal: &str) -> (Option<i32>, String) {
    let mut child = begun(args, Stdio::piped());
    send(signal, &child);
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    (child.wait().unwrap().code(), out)
}

const WAYS: [&[&str]; 4] = [
    &["--search", "bfs"],
    &["--search", "dfs"],
    &["--search", "classic"],
    &["--engine", "walk", "--runs", "1000000000"],
];

#[test]
fn an_interrupted_check_says_what_was_covered() {
    for way in WAYS {
        let (code, out) = interrupted(way, "-INT");
        assert_eq!(code, Some(3), "{out}");
        assert!(out.contains("\ninconclusive: bounded by interrupt; no violation in "), "{out}");
        assert!(out.contains("\n  elapsed "), "{out}");
        let number = if way[0] == "--engine" { "\n  runs " } else { "\n  unique states " };
        assert!(out.contains(number), "{out}");
    }
}

#[test]
fn an_interrupted_check_is_one_json_object() {
    for way in WAYS {
        let (code, out) = interrupted(&[way, &["--json"]].concat(), "-INT");
        assert_eq!(code, Some(3), "{out}");
        let outcome: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(outcome["verdict"], "inconclusive");
        assert_eq!(outcome["complete"], false);
        assert_eq!(outcome["bounded_by"], "interrupt");
        let number = if way[0] == "--engine" { "runs" } else { "unique_states" };
        assert!(outcome[number].as_u64().unwrap() > 0, "{out}");
    }
}

#[test]
fn whoever_asks_the_process_to_terminate_is_told_what_was_covered_too() {
    let (code, out) = interrupted(&[], "-TERM");
    assert_eq!(code, Some(3), "{out}");
    assert!(out.contains("\ninconclusive: bounded by interrupt; no violation in "), "{out}");
}

#[test]
fn a_second_signal_ends_the_process_whatever_it_is_doing() {
    for (first, second) in [("-INT", "-INT"), ("-TERM", "-INT")] {
        // A pipe that is full and that nobody reads: the check cannot get rid of its result.
        let (reader, mut writer) = std::io::pipe().unwrap();
        let out = writer.try_clone().unwrap();
        let filler = std::thread::spawn(move || writer.write_all(&[0; 1 << 20]));
        let mut child = begun(&[], out);
        send(first, &child);
        let given_up = Instant::now() + Duration::from_secs(60);
        let code = loop {
            std::thread::sleep(Duration::from_millis(200));
            match child.try_wait().unwrap() {
                Some(status) => break status.code(),
                None => send(second, &child),
            }
            assert!(Instant::now() < given_up, "it does not end");
        };
        assert_eq!(code, Some(130));
        drop(reader);
        assert!(filler.join().unwrap().is_err(), "the pipe was not full");
    }
}
