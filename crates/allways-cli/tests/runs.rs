//! Saved runs through the command line: saved, replayed, shown in every format, minimised; and
//! everything that can be wrong with a file.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory of this test's own, empty at first.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runs").join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

struct Ran {
    code: i32,
    out: String,
    err: String,
}

/// Runs the binary in a directory.
fn allways(directory: &Path, args: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allways"));
    command.args(args).current_dir(directory);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ALLWAYS_") {
            command.env_remove(name);
        }
    }
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

#[track_caller]
fn wrong(directory: &Path, args: &[&str], sentence: &str) {
    let Ran { code, out, err } = allways(directory, args);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert_eq!(err, format!("allways: {sentence}\n"));
}

/// A directory with the saved run of a bug in `run.json`.
fn saved(name: &str, system: &str, bug: &str) -> PathBuf {
    let directory = directory(name);
    let set = format!("bug={bug}");
    let Ran { code, err, .. } =
        allways(&directory, &["check", system, "--set", &set, "--save", ".", "-q"]);
    assert_eq!((code, err.as_str()), (1, ""));
    directory
}

/// A check by random runs, which find a run with more in it than it takes.
const LONG: [&str; 8] = [
    "check",
    "two-phase-commit",
    "--set",
    "bug=unilateral-abort,rms=4",
    "--engine",
    "walk",
    "--threads",
    "1",
];

/// Writes `impossible.json`: the run with an event that cannot happen.
fn impossible(directory: &Path) {
    let text = read(directory, "run.json").replacen("Write(1)", "Write(7)", 1);
    std::fs::write(directory.join("impossible.json"), text).unwrap();
}

fn read(directory: &Path, file: &str) -> String {
    std::fs::read_to_string(directory.join(file)).unwrap()
}

#[test]
fn save_keeps_the_run_and_a_page_and_says_where() {
    let directory = directory("save");
    let args = ["check", "register", "--set", "bug=return-concurrent", "--save", "new/out"];
    let Ran { code, out, err } = allways(&directory, &args);
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(out.contains("\nsaved: new/out/run.json\nsaved: new/out/report.html\n"), "{out}");
    assert!(out.contains("\nnext: allways replay new/out/run.json  "), "{out}");
    assert!(out.contains("      allways show new/out/run.json --test  "), "{out}");
    let run: Value = serde_json::from_str(&read(&directory, "new/out/run.json")).unwrap();
    assert_eq!(run["system"], "register");
    let page = read(&directory, "new/out/report.html");
    assert!(page.contains("allways replay new/out/run.json"));
    // Nothing half-written is left.
    let mut files: Vec<_> = std::fs::read_dir(directory.join("new/out"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["report.html", "run.json"]);
}

#[test]
fn save_with_witnesses_keeps_a_page_for_each() {
    let directory = directory("witnesses");
    let args = ["check", "tree", "--save", "out", "--witnesses", "--json"];
    let Ran { code, out, .. } = allways(&directory, &args);
    assert_eq!(code, 0);
    let outcome: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(outcome["saved"], serde_json::json!(["out/witness-1-received.html"]));
    assert!(read(&directory, "out/witness-1-received.html").contains("</html>"));
}

#[test]
fn a_check_that_holds_saves_no_run() {
    let directory = directory("holds");
    let Ran { code, out, .. } = allways(&directory, &["check", "tree", "--save", "out"]);
    assert_eq!(code, 0);
    assert!(!out.contains("saved:"), "{out}");
    assert!(!directory.join("out/run.json").exists());
}

#[test]
fn junit_has_a_test_for_each_property() {
    let directory = directory("junit");
    let args = ["check", "register", "--set", "bug=return-concurrent", "--junit", "out.xml"];
    let Ran { code, out, .. } = allways(&directory, &args);
    assert_eq!(code, 1);
    assert!(out.contains("\nsaved: out.xml\n"), "{out}");
    let report = read(&directory, "out.xml");
    assert!(report.contains("name=\"always regular\""), "{report}");
    assert!(report.contains("failures=\"1\"") && report.contains("ReadAck(0) from 2"), "{report}");
}

#[test]
fn coverage_is_shown_if_asked() {
    let directory = directory("coverage");
    let Ran { code, out, .. } = allways(&directory, &["check", "tree", "--coverage"]);
    assert_eq!(code, 0);
    assert!(out.contains("\ncoverage\n") && out.contains("message Forward"), "{out}");
    let Ran { out, .. } = allways(&directory, &["check", "tree"]);
    assert!(!out.contains("\ncoverage\n"), "{out}");
}

#[test]
fn the_environment_saves_too() {
    let directory = directory("environment");
    let mut command = Command::new(env!("CARGO_BIN_EXE_allways"));
    command.args(["check", "register"]).current_dir(&directory);
    command.env("ALLWAYS_SET", "bug=return-concurrent,writes=1").env("ALLWAYS_SAVE", "out");
    let output = command.env("ALLWAYS_NO_MINIMISE", "1").env("ALLWAYS_JSON", "yes").output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcome["minimised"], Value::Null);
    assert_eq!(outcome["saved"], serde_json::json!(["out/run.json", "out/report.html"]));
}

#[test]
fn a_run_is_made_smaller_unless_asked_not_to() {
    let directory = directory("smaller");
    let length = |args: &[&str]| {
        let args = [&LONG[..], &["--json"], args].concat();
        let outcome: Value = serde_json::from_str(&allways(&directory, &args).out).unwrap();
        let before = outcome["minimised"]["before"]["events"].as_u64();
        (outcome["run"].as_array().unwrap().len() as u64, before)
    };
    let (found, none) = length(&["--no-minimise"]);
    let (smaller, before) = length(&[]);
    assert_eq!((none, before), (None, Some(found)));
    assert!(found > smaller, "{found} {smaller}");
}

#[test]
fn replay_says_what_became_of_the_run() {
    let directory = saved("replay", "register", "return-concurrent");
    let Ran { code, out, err } = allways(&directory, &["replay", "run.json"]);
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(
        out.starts_with("register bases=1 writes=1 history=free bug=return-concurrent, a run ")
    );
    assert!(out.contains("\nstill violates: always `regular`, after 6 events\n"), "{out}");
    assert!(out.contains("\nnext: allways show run.json  "), "{out}");

    let Ran { code, out, .. } =
        allways(&directory, &["replay", "run.json", "--set", "bug=none", "-q"]);
    assert_eq!((code, out.as_str()), (0, "no longer violates: `regular` holds at its end\n"));

    impossible(&directory);
    let Ran { code, out, .. } = allways(&directory, &["replay", "impossible.json"]);
    assert_eq!(code, 3, "{out}");
    assert!(out.contains("\nno longer applies at event 4: node 2 receives Write(7)"), "{out}");
    assert!(
        out.contains("  what can happen there: node 2 receives Write(1) from node 0\n"),
        "{out}"
    );
}

#[test]
fn replay_as_json() {
    let directory = saved("replay_json", "register", "return-concurrent");
    let object = |args: &[&str]| -> Value {
        let args = [&["replay", "--json"], args].concat();
        serde_json::from_str(&allways(&directory, &args).out).unwrap()
    };
    let still = object(&["run.json"]);
    assert_eq!(still["verdict"], "still violates");
    assert_eq!((&still["at"], &still["cause"]), (&6.into(), &"always".into()));
    assert_eq!(still["parameters"]["bug"], "return-concurrent");
    let fixed = object(&["run.json", "--set", "bug=none"]);
    assert_eq!(fixed["verdict"], "no longer violates");
    assert_eq!(fixed["why"], "`regular` holds at its end");
    impossible(&directory);
    let other = object(&["impossible.json"]);
    assert_eq!(other["verdict"], "no longer applies");
    assert_eq!((&other["at"], &other["instead"][0]["what"]), (&4.into(), &"Write(1)".into()));
}

#[test]
fn show_is_a_diagram_that_fits() {
    let directory = saved("show", "register", "minority-read");
    let Ran { code, out, err } = allways(&directory, &["show", "run.json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("\nnode  0     1     2     3     4\n"), "{out}");
    assert!(!out.contains('\x1b') && !out.starts_with('\n'), "{out}");
    assert!(out.lines().any(|line| line.chars().count() > 60), "{out}");
    let Ran { out, .. } = allways(&directory, &["show", "run.json", "--width", "60"]);
    assert!(out.lines().all(|line| line.chars().count() <= 60), "{out}");
    let Ran { out, .. } = allways(&directory, &["show", "run.json", "--ascii"]);
    assert!(out.is_ascii(), "{out}");
    let Ran { out, .. } = allways(&directory, &["show", "run.json", "--color", "always"]);
    assert!(out.contains("\x1b["), "{out}");
}

#[test]
fn a_run_that_no_longer_violates_is_shown_all_the_same() {
    let directory = saved("fixed", "register", "return-concurrent");
    let Ran { code, out, err } = allways(&directory, &["show", "run.json", "--set", "bug=none"]);
    assert_eq!(code, 0);
    assert_eq!(err, "allways: the run no longer violates: `regular` holds at its end\n");
    assert!(out.contains("\nnode  0     1     2\n"), "{out}");
    impossible(&directory);
    let Ran { code, err, .. } = allways(&directory, &["show", "impossible.json"]);
    assert_eq!(code, 2);
    let sentence = "allways: impossible.json: the run no longer applies at event 4: ";
    assert!(err.starts_with(sentence), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
}

#[test]
fn every_format_of_a_bug_of_each_system() {
    for entry in allways_catalogue::entries() {
        let system = entry.name;
        let Some(bug) = entry.bugs.last().map(|bug| bug.name) else { continue };
        let directory = saved(&format!("formats-{system}"), system, bug);
        assert_eq!(allways(&directory, &["replay", "run.json", "-q"]).code, 1, "{system}");
        let who = if entry.is_of_threads() { "●" } else { "node" };
        for (flag, sign) in [
            ("--text", who),
            ("--html", "<!DOCTYPE html>"),
            ("--svg", "<svg "),
            ("--mermaid", "sequenceDiagram"),
            ("--shiviz", "{"),
            ("--dot", "digraph"),
            ("--itf", "#meta"),
            ("--test", "#[test]"),
            ("--junit", "<testsuites "),
            ("--json", "\"steps\""),
        ] {
            let Ran { code, out, err } = allways(&directory, &["show", "run.json", flag]);
            assert_eq!((code, err.as_str()), (0, ""), "{system} {flag}");
            let holds = out.to_lowercase().contains(&sign.to_lowercase());
            assert!(holds && out.ends_with('\n'), "{system} {flag}: {out}");
            if ["--itf", "--json"].contains(&flag) {
                assert!(
                    serde_json::from_str::<Value>(&out).unwrap().is_object(),
                    "{system} {flag}"
                );
            }
            let Ran { code, out: silence, err } =
                allways(&directory, &["show", "run.json", flag, "shown"]);
            assert_eq!((code, silence.as_str(), err.as_str()), (0, "", ""), "{system} {flag}");
            assert_eq!(read(&directory, "shown"), out, "{system} {flag}");
        }
    }
}

#[test]
fn a_run_of_threads_is_replayed_minimised_and_shown() {
    let directory = saved("threads", "dining", "same-order");
    let Ran { code, out, err } = allways(&directory, &["replay", "run.json"]);
    assert_eq!((code, err.as_str()), (1, ""));
    let verdict = "still violates: deadlock: main, philosopher 0 and philosopher 1 wait for ever, after 2 events";
    assert!(out.contains(&format!("\n{verdict}\n  main waits at ")), "{out}");
    assert!(!out.contains("node "), "{out}");
    // Whoever takes forks in the right order waits.
    let fixed = ["replay", "run.json", "--set", "bug=none"];
    let Ran { code, out, .. } = allways(&directory, &fixed);
    assert_eq!(code, 3);
    assert!(
        out.contains("\nno longer applies at event 2: philosopher 1 locks mutex 1 of "),
        "{out}"
    );
    assert!(out.contains(": it cannot happen; philosopher 1 waits at "), "{out}");
    assert!(out.contains("\n  what can happen there: philosopher 0 locks mutex 1 of "), "{out}");
    let Ran { code, out, .. } = allways(&directory, &["minimise", "run.json"]);
    assert_eq!(code, 0);
    assert!(out.contains("\nnot minimised further: 2 events as before; "), "{out}");
    let Ran { code, out, .. } = allways(&directory, &["show", "run.json", "--test"]);
    assert_eq!(code, 0);
    assert!(out.contains("use allways_threads::Program;\n"), "{out}");
    assert!(out.contains("fn no_deadlock_in_this_run() {\n"), "{out}");

    let directory = saved("threads-panic", "bounded-buffer", "if-instead-of-while");
    let fixed = ["replay", "run.json", "--set", "bug=none"];
    let Ran { code, out, .. } = allways(&directory, &fixed);
    assert_eq!(code, 0);
    assert!(
        out.contains("\nno longer violates: nothing is wrong at the end of the run\n"),
        "{out}"
    );
    let run = "check bounded-buffer --set bug=if-instead-of-while --engine walk --no-minimise";
    let walk: Vec<&str> = run.split(' ').chain(["--save", ".", "-q"]).collect();
    assert_eq!(allways(&directory, &walk).code, 1);
    let Ran { code, out, .. } = allways(&directory, &["minimise", "run.json", "-o", "small.json"]);
    assert_eq!(code, 0, "{out}");
    assert_eq!(allways(&directory, &["replay", "small.json"]).code, 1);
}

#[test]
fn runs_of_nodes_are_none_of_threads() {
    let directory = saved("not-threads", "register", "return-concurrent");
    let nodes = read(&directory, "run.json").replacen("\"register\"", "\"dining\"", 1);
    let at = nodes.find("\"parameters\": [").unwrap();
    let end = at + nodes[at..].find(']').unwrap();
    let nodes = format!("{}\"parameters\": [{}", &nodes[..at], &nodes[end..]);
    std::fs::write(directory.join("always.json"), &nodes).unwrap();
    let panics = nodes.replacen("\"cause\": \"always\"", "\"cause\": \"panic\"", 1);
    std::fs::write(directory.join("panic.json"), panics).unwrap();
    for (name, sentence) in [
        ("always.json", "the run violates property `regular`, and threads have no properties"),
        ("panic.json", "the run is none of threads: "),
    ] {
        for command in ["replay", "show"] {
            let Ran { code, out, err } = allways(&directory, &[command, name]);
            assert_eq!((code, out.as_str()), (2, ""), "{command} {name}: {err}");
            assert!(err.contains(sentence) && err.lines().count() == 1, "{command} {name}: {err}");
        }
        assert_eq!(allways(&directory, &["minimise", name]).code, 2);
    }
    let threads = saved("not-nodes", "dining", "same-order");
    let text = read(&threads, "run.json").replacen("\"dining\"", "\"tree\"", 1);
    let at = text.find("\"parameters\": [").unwrap();
    let end = at + text[at..].find(']').unwrap();
    let text = format!("{}\"parameters\": [{}", &text[..at], &text[end..]);
    std::fs::write(threads.join("tree.json"), text).unwrap();
    for command in ["replay", "show", "minimise"] {
        let Ran { code, err, .. } = allways(&threads, &[command, "tree.json"]);
        assert_eq!(code, 2, "{command}: {err}");
        let sentence = "the run ends in a deadlock, and the system has no threads";
        assert!(err.contains(sentence) && err.lines().count() == 1, "{command}: {err}");
    }
}

#[test]
fn several_formats_at_once_need_files() {
    let directory = saved("several", "register", "return-concurrent");
    let Ran { code, out, err } =
        allways(&directory, &["show", "run.json", "--svg", "a.svg", "--dot", "a.dot", "--text"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("node  0"), "{out}");
    assert!(
        read(&directory, "a.svg").contains("<svg") && read(&directory, "a.dot").contains("digraph")
    );
    let sentence = "only one format can go to standard output; give the others a FILE";
    wrong(&directory, &["show", "run.json", "--svg", "--dot"], sentence);
    wrong(&directory, &["show", "run.json", "--svg=-", "--dot"], sentence);
}

#[test]
fn minimise_writes_beside_the_run_and_says_by_how_much() {
    let directory = directory("minimise");
    let save = ["--no-minimise", "--save", ".", "-q"];
    assert_eq!(allways(&directory, &[&LONG[..], &save].concat()).code, 1);
    let before = read(&directory, "run.json");
    let Ran { code, out, err } = allways(&directory, &["minimise", "run.json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("\nminimised: ") && out.contains(" events instead of "), "{out}");
    assert!(out.contains("\nsaved: run.min.json\n"), "{out}");
    assert_eq!(read(&directory, "run.json"), before, "the run itself stays as it was");
    assert_eq!(allways(&directory, &["replay", "run.min.json"]).code, 1);

    let Ran { out, .. } = allways(&directory, &["minimise", "run.min.json", "-o", "run.json"]);
    assert!(out.contains(" events as before") && out.contains("\nsaved: run.json\n"), "{out}");
    assert_ne!(read(&directory, "run.json"), before);
}

#[test]
fn minimise_refuses_what_does_not_violate() {
    let directory = saved("minimise_wrong", "register", "return-concurrent");
    let text = read(&directory, "run.json").replacen("return-concurrent", "minority-read", 1);
    std::fs::write(directory.join("other.json"), text).unwrap();
    let Ran { code, out, err } = allways(&directory, &["minimise", "other.json"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with("allways: other.json: ") && err.lines().count() == 1, "{err}");
    assert!(!directory.join("other.min.json").exists());
}

#[test]
fn files_that_are_no_runs_of_these_systems_are_refused_in_one_sentence() {
    let directory = saved("refused", "register", "return-concurrent");
    let run = read(&directory, "run.json");
    let file = |name: &str, text: &str| std::fs::write(directory.join(name), text).unwrap();
    file("empty.json", "");
    file("half.json", &run[..run.len() / 2]);
    file("binary.json", "\u{0}\u{1}");
    file("list.json", "[]");
    file("newer.json", &run.replacen("\"version\": 1", "\"version\": 99", 1));
    file("elsewhere.json", &run.replacen("\"register\"", "\"my-register\"", 1));
    file("parameters.json", &run.replacen("\"bases\"", "\"bodies\"", 1));
    file("range.json", &run.replacen("\"value\": \"1\"", "\"value\": \"100\"", 1));
    file("property.json", &run.replacen("\"regular\"", "\"irregular\"", 1));
    std::fs::create_dir(directory.join("directory.json")).unwrap();
    std::fs::write(directory.join("latin.json"), [0xff, 0xfe]).unwrap();
    let names = [
        "empty.json",
        "half.json",
        "binary.json",
        "list.json",
        "newer.json",
        "elsewhere.json",
        "parameters.json",
        "range.json",
        "property.json",
        "directory.json",
        "latin.json",
        "missing.json",
    ];
    for name in names {
        assert_ne!(std::fs::read_to_string(directory.join(name)).ok(), Some(run.clone()), "{name}");
        for command in ["replay", "show", "minimise"] {
            let Ran { code, out, err } = allways(&directory, &[command, name]);
            assert_eq!((code, out.as_str()), (2, ""), "{command} {name}: {err}");
            assert!(err.starts_with("allways: ") && err.lines().count() == 1, "{command}: {err}");
            assert!(name == "property.json" || err.contains(name), "{command} {name}: {err}");
        }
    }
    let systems = "accumulator, ";
    let Ran { err, .. } = allways(&directory, &["replay", "elsewhere.json"]);
    let sentence =
        "elsewhere.json: it is a run of another system, `my-register`; the systems here are ";
    assert!(err.starts_with(&format!("allways: {sentence}{systems}")), "{err}");
}

#[test]
fn what_is_set_wrongly_is_refused() {
    let directory = saved("set", "register", "return-concurrent");
    let nodes = "`register` has no parameter `nodes`; did you mean `bases`?";
    let Ran { code, err, .. } = allways(&directory, &["replay", "run.json", "--set", "nodes=3"]);
    assert_eq!(code, 2);
    assert!(
        err == format!("allways: {nodes}\n") || err.contains("has no parameter `nodes`"),
        "{err}"
    );
    let twice = ["replay", "run.json", "--set", "bug=none,bug=none"];
    wrong(&directory, &twice, "parameter `bug` is set twice");
    let color = "--color: `sometimes` is no time to colour; choose auto, always or never";
    wrong(&directory, &["show", "run.json", "--color", "sometimes"], color);
    let width = "--width: `3` is no width: it is a number from 20 to 10000";
    wrong(&directory, &["show", "run.json", "--width", "3"], width);
}

#[test]
fn targets_that_cannot_be_written_are_refused_before_anything_is_checked() {
    let directory = saved("targets", "register", "return-concurrent");
    std::fs::write(directory.join("file"), "").unwrap();
    let check = ["check", "register", "--set", "bug=return-concurrent"];
    let checked = |args: &[&str]| allways(&directory, &[&check[..], args].concat());
    for args in [
        &["--save", "file"][..],
        &["--save", "file/below"],
        &["--junit", "file/below.xml"],
        &["--junit", "."],
        &["--junit", "nowhere/out.xml"],
    ] {
        let Ran { code, out, err } = checked(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        let sentence = err.starts_with("allways: cannot ") && err.lines().count() == 1;
        assert!(sentence && err.contains(args[1]), "{args:?}: {err}");
    }
    wrong(&directory, &["show", "run.json", "--html", "."], "cannot write .: it is a directory");
    for args in [
        &["show", "run.json", "--html", "nowhere/out.html"][..],
        &["minimise", "run.json", "-o", "nowhere/out.json"],
    ] {
        let Ran { code, out, err } = allways(&directory, args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(err.starts_with("allways: cannot write nowhere/out."), "{err}");
    }
}

#[test]
fn a_format_that_swallows_the_run_is_wrong_usage() {
    let directory = saved("swallowed", "register", "return-concurrent");
    let Ran { code, out, err } = allways(&directory, &["show", "--html", "run.json"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("<RUN>") && err.lines().count() == 1, "{err}");
    let run: Result<Value, _> = serde_json::from_str(&read(&directory, "run.json"));
    assert!(run.is_ok(), "the run was not overwritten");
}
