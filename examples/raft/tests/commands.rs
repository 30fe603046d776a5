//! The binary has the commands of `allways`.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The exit code, what it prints and what it complains about.
fn check_raft(args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_check-raft"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ALLWAYS_") {
            command.env_remove(name);
        }
    }
    let output = command.args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_only_system_need_not_be_named() {
    let (code, out, err) = check_raft(&["check", "--set", "proposals=0", "-q"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "holds, complete\n", ""));
}

#[test]
fn what_came_of_user_code_is_counted() {
    let (code, out, _) = check_raft(&["check", "raft", "--set", "proposals=0", "--json"]);
    let outcome: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &outcome["verdict"]), (0, &Value::from("holds")));
    assert_eq!(outcome["unique_states"], 5_059);
    assert!(outcome["handler_executions"].as_u64() < Some(1_000), "{out}");
}

#[test]
fn a_forgotten_vote_is_found_saved_and_replayed() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check-raft");
    let directory = directory.to_str().unwrap();
    let args = ["check", "--set", "bug=forgets-vote", "--save", directory];
    let (code, out, err) = check_raft(&args);
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(out.contains("\nalways `one leader a term` does not hold:\n"), "{out}");
    let run = format!("{directory}/run.json");
    assert_eq!(check_raft(&["replay", &run]).0, 1);
    assert_ne!(check_raft(&["replay", &run, "--set", "bug=none"]).0, 1);
}

#[test]
fn drops_where_they_mean_nothing_are_refused() {
    let (code, out, err) = check_raft(&["check", "--set", "drops=1"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("`drops` is for `network=ordered`"), "{err}");
}
