//! `allways bmc`, from outside: what it prints, what it leaves behind, and its exit codes.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the binary did: its exit code, and what it printed.
fn allways(args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allways"));
    command.args(args);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ALLWAYS_") {
            command.env_remove(name);
        }
    }
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A program of the repository.
fn program(name: &str) -> String {
    format!("{}/../allways-bmc/programs/{name}.pbmc", env!("CARGO_MANIFEST_DIR"))
}

/// A directory of its own for a test.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bmc-{name}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// A program written for a test.
fn written(name: &str, source: &str) -> String {
    let path = directory(name).join("program.pbmc");
    std::fs::write(&path, source).unwrap();
    path.display().to_string()
}

const RACE: &str = "\
shared uint<4> x;
process P[i in 0..2] {
    uint<4> t;
    t = x;
    x = t + 1;
}
always both_count: P[0]@end && P[1]@end ? x == 2 : true;
";

#[test]
fn a_violation_is_shown_saved_replayed_and_minimised() {
    let (source, out) = (written("race", RACE), directory("race-out"));
    let out = out.display().to_string();
    let (code, text, _) = allways(&["bmc", &source, "--save", &out]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("violated: `both_count`"), "{text}");
    assert!(text.contains("violated after 4 steps"), "{text}");
    assert!(text.contains("x: 0 → 1"), "{text}");
    let run = format!("{out}/run.json");
    let (code, text, err) = allways(&["replay", &run]);
    assert_eq!(code, 1, "{text}{err}");
    assert!(text.contains("still violates: always `both_count`, after 4 events"), "{text}");
    let (code, text, _) = allways(&["show", &run]);
    assert_eq!(code, 0);
    assert!(text.contains("x = 1"), "{text}");
    let (code, text, _) = allways(&["minimise", &run]);
    assert_eq!(code, 0, "{text}");
    assert!(std::fs::read_to_string(format!("{out}/report.html")).unwrap().contains("both_count"));
    // What was put right is no longer violated, and what is no longer there no longer applies.
    let fixed = RACE.replace("t = x;\n    x = t + 1;", "t = x;\n    x = t + 1 + (x - t);");
    std::fs::write(&source, fixed).unwrap();
    let (code, text, _) = allways(&["replay", &run]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("no longer applies"), "{text}");
    std::fs::remove_file(&source).unwrap();
    let (code, _, err) = allways(&["replay", &run]);
    assert_eq!((code, err.contains("cannot read")), (2, true), "{err}");
}

#[test]
fn what_is_not_decided_is_inconclusive_and_what_is_proved_holds() {
    let peterson =
        "shared uint<2> x; process P { while (true) { x = 1; x = 0; } } never two: x == 2;";
    let source = written("proved", peterson);
    let (code, text, _) = allways(&["bmc", &source, "--depth", "5"]);
    assert_eq!(code, 3);
    assert!(text.contains("unsat to depth 5"), "{text}");
    assert!(text.contains("no violation within 5 steps"), "{text}");
    let (code, text, _) = allways(&["bmc", &source, "--prove"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("holds, complete"), "{text}");
}

#[test]
fn json_is_one_object_with_all_fields_of_a_check() {
    let source = written("json", RACE);
    for (depth, verdict) in [("3", "inconclusive"), ("4", "violated")] {
        let (_, text, _) = allways(&["bmc", &source, "--json", "--depth", depth]);
        let json: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["verdict"], verdict);
        for field in [
            "system",
            "parameters",
            "engine",
            "complete",
            "bounded_by",
            "property",
            "unique_states",
            "generated_states",
            "transitions",
            "handler_executions",
            "local_states",
            "runs",
            "system_states",
            "depth",
            "elapsed_ms",
            "peak_memory_bytes",
            "collision_probability",
            "run",
        ] {
            assert!(json.as_object().unwrap().contains_key(field), "{field}");
        }
        assert_eq!(json["properties"][0]["name"], "both_count");
    }
}

#[test]
fn every_way_to_ask_says_the_same() {
    let source = written("ways", RACE);
    for way in [
        &["--project"][..],
        &["--no-project"],
        &["--order"],
        &["--at-once"],
        &["--project", "--projection", "reads", "--order", "--at-once"],
        &["--depth", "4..4"],
        &["--solver", "cadical"],
    ] {
        let (code, text, err) = allways(&[&["bmc", &source][..], way].concat());
        assert_eq!(code, 1, "{way:?} {text}{err}");
        assert!(text.contains("violated after 4 steps"), "{way:?} {text}");
    }
}

#[test]
fn wrong_input_gets_one_sentence_and_its_place() {
    let source = written("wrong", "shared uint<4> flag;\nprocess P { flga = 1; }\n");
    let (code, out, err) = allways(&["bmc", &source]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("has 1 error"), "{err}");
    assert!(err.contains("flga"), "{err}");
    assert!(err.contains("did you mean `flag`?"), "{err}");
    let good = written("good", RACE);
    for (args, sentence) in [
        (&["bmc", "/nowhere.pbmc"][..], "cannot read /nowhere.pbmc"),
        (&["bmc", &good, "--depth", "x"], "`x` is not a whole number"),
        (&["bmc", &good, "--depth", "5..3"], "`5..3` ends before it begins"),
        (&["bmc", &good, "--depth", "99999"], "too deep"),
        (&["bmc", &good, "--property", "none"], "there is no property `none`, only `both_count`"),
        (&["bmc", &good, "--set", "N=2"], "N"),
        (&["bmc", &good, "--set", "N=x"], "is a whole number, but `x` is none"),
        (&["bmc", &good, "--emit", "tla"], "choose smt2, smt2-bv or dimacs"),
        (&["bmc", &good, "--projection", "all"], "choose live or reads"),
        (&["bmc", &good, "--solver", "/nowhere/solver"], "cannot start the solver /nowhere/solver"),
        (&["bmc", &good, "--project", "--no-project"], "cannot be used with"),
    ] {
        let (code, _, err) = allways(args);
        assert_eq!(code, 2, "{args:?} {err}");
        assert!(err.contains(sentence), "{args:?} {err}");
    }
}

#[test]
fn formulas_are_written_out() {
    let source = written("emit", RACE);
    let (code, text, _) = allways(&["bmc", &source, "--emit", "dimacs", "--depth", "4"]);
    assert_eq!(code, 0);
    let header = text.lines().find(|line| line.starts_with("p cnf ")).unwrap();
    let numbers: Vec<usize> = header[6..].split(' ').map(|n| n.parse().unwrap()).collect();
    let clauses: Vec<&str> = text.lines().filter(|line| !line.starts_with(['c', 'p'])).collect();
    assert_eq!(clauses.len(), numbers[1]);
    assert!(clauses.iter().all(|clause| clause.ends_with(" 0") || *clause == "0"));
    for (format, word) in [("smt2", "Int"), ("smt2-bv", "BitVec")] {
        let (code, text, _) = allways(&["bmc", &source, "--emit", format, "--depth", "4"]);
        assert_eq!(code, 0);
        assert!(text.contains(word) && text.trim_end().ends_with("(check-sat)"), "{text}");
        let opened = text.chars().filter(|c| *c == '(').count();
        assert_eq!(opened, text.chars().filter(|c| *c == ')').count());
    }
}

#[test]
fn programs_of_the_repository_are_found_by_their_constants() {
    let (code, text, _) = allways(&["bmc", &program("dining-mutant"), "--set", "N=3", "--quiet"]);
    assert_eq!((code, text.as_str()), (1, "violated: `neighbours_eat`\n"));
}

#[test]
fn what_was_not_looked_at_is_said() {
    let source = written("shorter", RACE);
    let (code, text, _) = allways(&["bmc", &source, "--depth", "2..3"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("no violation of 2 to 3 steps; shorter runs were not"), "{text}");
    let (_, text, _) = allways(&["bmc", &source, "--depth", "2..3", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["from"], 2);
    let open =
        "shared uint<4> x; process P { while (true) { x = x ^ 1; } } reachable five: x == 5;";
    let (code, text, _) = allways(&["bmc", &written("open", open), "--depth", "4"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("no run to what should be reachable within 4 steps"), "{text}");
    let (code, text, _) =
        allways(&["bmc", &program("filesystem-any"), "--max-seconds", "0.2", "--depth", "60"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("then time ran out"), "{text}");
    assert!(text.contains("with and without projection\n"), "{text}");
    assert!(!text.contains("--depth 120"), "{text}");
}

#[test]
fn a_program_without_anything_to_check_is_wrong() {
    let (code, _, err) = allways(&["bmc", &written("nothing", "process P { }")]);
    assert_eq!((code, err.contains("there is nothing to check")), (2, true), "{err}");
    let (code, _, err) = allways(&["bmc", &written("range", RACE), "--depth", "10.."]);
    assert_eq!((code, err.contains("write FROM..TO")), (2, true), "{err}");
}

#[test]
fn a_run_that_is_asked_for_at_once_ends_where_it_violates_and_becomes_a_shortest_one() {
    let source = "shared uint<4> x, y; process P { while (true) { x = x + 1; } } \
                  process Q { while (true) { y = y + 1; } } never three: x == 3; never two: x == 2 && y == 1;";
    let (source, out) = (written("at-once", source), directory("at-once-out"));
    let out = out.display().to_string();
    let args = ["bmc", &source, "--at-once", "--no-project", "--depth", "16", "--save", &out];
    let (code, text, _) = allways(&args);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("never `three`"), "{text}");
    assert!(text.contains("` does not hold:") && !text.contains("always `"), "{text}");
    assert!(text.contains("--property '"), "{text}");
    let (code, text, err) = allways(&["minimise", &format!("{out}/run.json")]);
    assert_eq!(code, 0, "{text}{err}");
    let (_, text, _) = allways(&["replay", &format!("{out}/run.json")]);
    assert!(text.contains("after 3 events"), "{text}");
    // A program that cannot be read any more is told in one sentence.
    std::fs::write(&source, "shared").unwrap();
    let (code, _, err) = allways(&["replay", &format!("{out}/run.json")]);
    assert_eq!((code, err.trim().lines().count()), (2, 1), "{err}");
    assert!(err.contains("tells where"), "{err}");
}

#[test]
fn where_a_process_stands_is_told_in_one_piece() {
    let source = "shared uint<4> n; mutex m; process P { atomic { lock m; n = n + 1; unlock m; } } never stands: n == 0 && !P@end;";
    let (code, text, _) = allways(&["bmc", &written("piece", source)]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("n = n + 1, unlock m"), "{text}");
}
