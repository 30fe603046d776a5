//! The binary has the commands of `allways`, under its own name.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The exit code, what it prints and what it complains about.
fn own_system(args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_own-system"));
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
fn its_system_is_listed_and_holds() {
    let (code, out, _) = own_system(&["list"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("tokens: nodes that give tokens away\n"), "{out}");
    let (code, out, err) = own_system(&["check", "tokens", "--set", "nodes=2", "-q"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "holds, complete\n", ""));
}

#[test]
fn its_bug_is_found_saved_replayed_shown_and_gone_without_it() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own-system");
    let directory = directory.to_str().unwrap();
    let (code, out, err) =
        own_system(&["check", "tokens", "--set", "bug=no-check", "--save", directory]);
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(out.contains("\nalways `no debts` does not hold:\n"), "{out}");
    assert!(out.contains(&format!("\nnext: own-system replay {directory}/run.json  ")), "{out}");
    let run = format!("{directory}/run.json");
    assert_eq!(own_system(&["replay", &run]).0, 1);
    let (code, out, _) = own_system(&["replay", &run, "--set", "bug=none", "--json"]);
    let replayed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, if replayed["verdict"] == "no longer applies" { 3 } else { 0 });
    assert_ne!(replayed["verdict"], "still violates");
    let (code, out, _) = own_system(&["show", &run, "--mermaid"]);
    assert_eq!(code, 0);
    assert!(out.contains("sequenceDiagram"), "{out}");
}

#[test]
fn it_complains_under_its_own_name() {
    let (code, out, err) = own_system(&["check", "paxos"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with("own-system: there is no system `paxos`"), "{err}");
}

#[test]
fn completions_and_manual_are_its_own() {
    let (_, out, _) = own_system(&["completions", "bash"]);
    assert!(out.contains("own-system") && out.contains("tokens"), "{out}");
    let (_, out, _) = own_system(&["man", "check"]);
    assert!(out.contains(".TH own-system-check 1 "), "{out}");
}
