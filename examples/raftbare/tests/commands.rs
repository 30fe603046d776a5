//! The command line: what is found is saved, replayed, and gone with the repaired version.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The exit code, what it prints and what it complains about.
fn check_raftbare(args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_check-raftbare"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ALLWAYS_") {
            command.env_remove(name);
        }
    }
    let output = command.args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Where what is found is saved.
fn directory(name: &str) -> String {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).to_str().unwrap().to_owned()
}

#[test]
fn what_is_found_is_minimal_and_saved_and_replayed() {
    let directory = directory("raftbare-0.2.2");
    let (code, out, err) = check_raftbare(&["check", "--save", &directory]);
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(out.contains("violated: always `leaders have what is committed`"), "{out}");
    assert!(out.contains("no run is shorter"), "{out}");
    let (code, out, _) = check_raftbare(&["replay", &format!("{directory}/run.json"), "--json"]);
    let replayed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, replayed["verdict"].as_str()), (1, Some("still violates")));
}

/// Not a run of raftbare: noraft leaves it as early as 0.4.0, where a leader heeds requests for
/// votes that raftbare ignores. In what handles events, 0.5.0 differs from 0.4.0 by one line.
#[test]
fn a_run_before_the_repair_no_longer_applies_after_it() {
    let directory = directory("noraft-0.4.0");
    let before = ["check", "--set", "version=noraft-0.4.0", "--save", &directory];
    assert_eq!(check_raftbare(&before).0, 1);
    let run = format!("{directory}/run.json");
    let (_, out, _) = check_raftbare(&["replay", &run, "--set", "version=noraft-0.5.0", "--json"]);
    let replayed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(replayed["verdict"], "no longer applies");
}

#[test]
fn what_its_deployments_get_wrong_is_found() {
    for (bug, property) in [
        ("bug=forgets-vote", "one leader a term"),
        ("bug=forgets-log", "leaders have what is committed"),
    ] {
        let (code, out, _) = check_raftbare(&["check", "--set", bug, "-q"]);
        assert_eq!((code, out), (1, format!("violated: always `{property}`\n")));
    }
}

#[test]
fn parameters_reach_the_deployment() {
    let settings = "version=noraft-0.5.0,nodes=2,network=unordered,proposals=1,crashes=1";
    let (code, out, err) = check_raftbare(&["check", "--set", settings, "--json"]);
    let outcome: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, outcome["complete"].as_bool()), (0, Some(true)), "{out}{err}");
}
