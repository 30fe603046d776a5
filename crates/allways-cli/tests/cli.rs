//! The binary, from outside: what it prints, where, and its exit codes.

use serde_json::Value;
use std::process::{Command, Stdio};

/// What the binary did.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allways"));
    // Examples write files.
    command.args(args).current_dir(env!("CARGO_TARGET_TMPDIR"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ALLWAYS_") {
            command.env_remove(name);
        }
    }
    command
}

fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn allways(args: &[&str]) -> Ran {
    ran(&mut command(args))
}

/// Asserts that this is wrong, and that one sentence says so.
#[track_caller]
fn wrong(args: &[&str], sentence: &str) {
    let ran = allways(args);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert_eq!(ran.err, format!("allways: {sentence}\n"));
}

#[test]
fn list_shows_systems_and_their_properties() {
    let Ran { code, out, err } = allways(&["list"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("tree: a message sent down a tree"), "{out}");
    assert!(out.contains("always     received only if sent\n"), "{out}");
    assert!(out.contains("sometimes  received\n"), "{out}");
}

#[test]
fn list_shows_one_system_if_asked() {
    let Ran { code, out, .. } = allways(&["list", "tree"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("tree: "), "{out}");
    wrong(&["list", "tre"], "there is no system `tre`; did you mean `tree`?");
}

#[test]
fn help_is_a_command_too() {
    let Ran { code, out, err } = allways(&["help", "check"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out, allways(&["check", "--help"]).out);
}

#[test]
fn list_as_json() {
    let Ran { code, out, .. } = allways(&["list", "--json"]);
    assert_eq!(code, 0);
    let list: Value = serde_json::from_str(&out).unwrap();
    let systems = list["systems"].as_array().unwrap();
    let tree = systems.iter().find(|system| system["name"] == "tree").unwrap();
    assert_eq!(tree["properties"][1]["kind"], "sometimes");
    assert_eq!(tree["parameters"], serde_json::json!([]));
}

#[test]
fn a_system_that_holds() {
    let Ran { code, out, err } = allways(&["check", "tree"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("tree, engine "), "{out}");
    assert_eq!(lines[1], "holds, complete");
    assert!(out.contains("sometimes `received` holds after "), "{out}");
    assert!(!out.contains("node 4 receives"), "{out}");
    let states = lines.iter().find_map(|line| line.strip_prefix("  unique states "));
    assert_eq!(states.map(str::trim), Some("9"), "{out}");
}

#[test]
fn the_run_to_what_is_possible_is_shown_if_asked() {
    let Ran { code, out, .. } = allways(&["check", "tree", "--witnesses"]);
    assert_eq!(code, 0);
    assert!(out.contains("   call Send\n"), "{out}");
    assert!(out.contains("●   Forward from 3, sent at 3\n"), "{out}");
}

#[test]
fn quiet_is_the_verdict_line() {
    let Ran { code, out, err } = allways(&["check", "tree", "-q"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "holds, complete\n", ""));
}

#[test]
fn json_has_exactly_these_fields() {
    let Ran { code, out, err } = allways(&["check", "tree", "--json", "--search", "classic"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let outcome: Value = serde_json::from_str(&out).unwrap();
    let mut fields: Vec<&str> = outcome.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = [
        "system",
        "parameters",
        "engine",
        "verdict",
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
        // Beyond what every version has.
        "properties",
        "replayed_handlers",
        "user_time_ms",
        "beside",
        "blocked_runs",
        "joined_runs",
        "resumed_runs",
        "components",
        "global_skeletons",
        "inner_skeletons",
        "local_skeletons",
        "covered_traces",
        "reduction_ratio",
        "run_time_ratio",
        "speed_up",
        "rejected",
        "validity_states",
        "cause",
        "coverage",
        "goals",
        "minimised",
        "reads",
        "saved",
        "warnings",
        "witnesses",
    ];
    fields.sort_unstable();
    expected.sort_unstable();
    assert_eq!(fields, expected);
    assert_eq!(outcome["system"], "tree");
    assert_eq!(outcome["parameters"], serde_json::json!({}));
    assert_eq!(outcome["engine"], "global classic");
    assert_eq!(outcome["verdict"], "holds");
    assert_eq!(outcome["complete"], true);
    assert_eq!(outcome["unique_states"], 9);
    assert_eq!(outcome["generated_states"], 12);
    assert!(outcome["elapsed_ms"].is_number());
    for none in ["bounded_by", "property", "runs", "system_states", "run"] {
        assert!(outcome[none].is_null(), "{none}");
    }
}

#[test]
fn a_bug_of_the_catalogue_is_exit_code_1_with_its_run() {
    let Ran { code, out, err } = allways(&["check", "register", "--set", "bug=return-concurrent"]);
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(out.starts_with("register bases=1 writes=1 history=free bug=return-concurrent, "));
    assert!(out.contains("\nviolated: always `regular`\n\nnode 0 starts as Register "), "{out}");
    assert!(out.contains("\nnode  0     1     2\n"), "{out}");
    assert!(out.contains("\n   6  │     ●◀────○   ReadAck(0) from 2, sent at 3\n"), "{out}");
    assert!(out.contains("\nalways `regular` does not hold:\n"), "{out}");
    assert!(out.contains("\nnext: --save DIR  "), "{out}");
    assert!(!out.contains('\x1b'), "colours where there is no terminal: {out}");
    for search in ["dfs", "classic"] {
        let set = ["check", "register", "--set", "bug=return-concurrent", "-q"];
        let Ran { code, out, .. } = allways(&[&set[..], &["--search", search]].concat());
        assert_eq!((code, out.as_str()), (1, "violated: always `regular`\n"));
    }
    let walk = ["check", "register", "--set", "bug=return-concurrent", "--engine", "walk"];
    assert_eq!(allways(&walk).code, 1);
}

#[test]
fn a_violated_run_as_json() {
    let set = ["check", "two-phase-commit", "--set", "bug=unilateral-abort", "--json"];
    let Ran { code, out, err } = allways(&set);
    assert_eq!((code, err.as_str()), (1, ""));
    let outcome: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(outcome["system"], "two-phase-commit");
    let parameters = serde_json::json!({ "rms": 2, "bug": "unilateral-abort" });
    assert_eq!(outcome["parameters"], parameters);
    assert_eq!(outcome["engine"], "global bfs");
    assert_eq!(outcome["verdict"], "violated");
    assert_eq!(outcome["complete"], false);
    assert_eq!(outcome["property"], "consistent");
    assert!(outcome["bounded_by"].is_null());
    assert!(outcome["unique_states"].as_u64().unwrap() > 7);
    let run = outcome["run"].as_array().unwrap();
    assert_eq!(run.len(), 7);
    for event in run {
        let mut fields: Vec<&str> = event.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(fields, ["choices", "from", "kind", "node", "text", "what"]);
        assert!(["message", "timer"].contains(&event["kind"].as_str().unwrap()), "{event}");
        assert_eq!(event["from"].is_null(), event["kind"] == "timer", "{event}");
        assert!(event["node"].as_u64().unwrap() <= 2, "{event}");
        assert!(event["text"].as_str().unwrap().starts_with("node "), "{event}");
    }
}

#[test]
fn a_program_of_threads_that_holds() {
    let Ran { code, out, err } = allways(&["check", "dining"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let heading = "dining philosophers=3 components=1, engine dpor optimal\nholds, complete\n";
    assert!(out.starts_with(heading), "{out}");
    let runs = out.lines().find_map(|line| line.strip_prefix("  runs "));
    assert_eq!(runs.map(str::trim), Some("6"), "{out}");
    assert!(!out.contains("states"), "{out}");
    let Ran { code, out, .. } = allways(&["check", "dining", "--coverage"]);
    assert_eq!(code, 0);
    assert!(out.contains("\ncoverage: threads have no handlers to cover\n"), "{out}");
}

#[test]
fn threads_that_wait_for_each_other_as_json() {
    let args = ["check", "dining", "--set", "bug=same-order", "--json"];
    let Ran { code, out, err } = allways(&args);
    assert_eq!((code, err.as_str()), (1, ""));
    let outcome: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&outcome["verdict"], &outcome["cause"]), (&"violated".into(), &"deadlock".into()));
    assert_eq!(outcome["engine"], "dpor optimal");
    assert_eq!(outcome["property"], "main, philosopher 0 and philosopher 1 wait for ever");
    assert!(outcome["runs"].is_number() && outcome["transitions"].is_number());
    assert!(outcome["depth"].is_number() && outcome["blocked_runs"].is_number());
    for none in [
        "unique_states",
        "generated_states",
        "handler_executions",
        "local_states",
        "joined_runs",
        "resumed_runs",
        "run_time_ratio",
        "speed_up",
        "system_states",
        "rejected",
        "validity_states",
        "collision_probability",
        "coverage",
        "bounded_by",
    ] {
        assert!(outcome[none].is_null(), "{none}");
    }
    let run = outcome["run"].as_array().unwrap();
    assert_eq!(run.len(), 2);
    for (number, event) in run.iter().enumerate() {
        assert_eq!((&event["kind"], &event["from"]), (&"thread".into(), &Value::Null));
        let begins = format!("philosopher {number} locks mutex {number} of dining.rs:");
        assert!(event["text"].as_str().unwrap().starts_with(&begins), "{event}");
    }
    let reads = outcome["reads"].as_array().unwrap();
    assert!(reads[1].as_str().unwrap().starts_with("philosopher 0 waits at dining.rs:"), "{out}");
}

#[test]
fn threads_by_preemptions_and_by_schedules() {
    let bug = ["check", "dining", "--set", "bug=same-order"];
    let none = allways(&[&bug[..], &["--preemptions", "0"]].concat());
    assert_eq!(none.code, 3, "{}", none.out);
    assert!(none.out.contains(", engine dpor, at most 0 preemptions\n"), "{}", none.out);
    assert!(none.out.contains("inconclusive: bounded by preemptions; "), "{}", none.out);
    assert!(none.out.contains("next: allow more with --preemptions, or leave that out"));
    let one = ran(command(&bug).env("ALLWAYS_PREEMPTIONS", "1"));
    assert_eq!(one.code, 1, "{}", one.out);
    for schedule in ["random", "pct", "pct:2"] {
        let walk = ["--engine", "walk", "--schedule", schedule];
        assert_eq!(allways(&[&bug[..], &walk].concat()).code, 1, "{schedule}");
    }
    let mut walk = command(&["check", "dining", "--engine", "walk", "--runs", "9"]);
    let walk = ran(walk.env("ALLWAYS_SCHEDULE", "pct"));
    assert_eq!(walk.code, 3);
    assert!(walk.out.contains("\n9 random runs, the longest of 6 events\n"), "{}", walk.out);
    let next = "\nnext: raise --runs, or use --engine dpor, which is complete";
    assert!(walk.out.contains(next), "{}", walk.out);
}

#[test]
fn what_makes_no_sense_for_threads_or_for_nodes_is_wrong_usage() {
    let states =
        "threads are explored run by run: a bound on states (max states) cannot be had with them";
    wrong(&["check", "dining", "--max-states", "9"], states);
    let order =
        "threads are explored run by run: an order of search (search) cannot be had with them";
    wrong(&["check", "dining", "--search", "dfs"], order);
    let engine =
        "threads are explored by engine dpor, dir or walk: there are no states to be remembered";
    wrong(&["check", "dining", "--engine", "global"], engine);
    let random = "a schedule by priorities (pct) is for random runs: use engine walk";
    wrong(&["check", "dining", "--schedule", "pct"], random);
    let nodes = "a bound on preemptions is for programs of threads; this is a system of nodes";
    wrong(&["check", "tree", "--preemptions", "2"], nodes);
    let nodes =
        "a schedule by priorities (pct) is for programs of threads; this is a system of nodes";
    wrong(&["check", "tree", "--engine", "walk", "--schedule", "pct"], nodes);
    let Ran { code, out, err } = allways(&["live", "dining"]);
    assert_eq!((code, out.as_str()), (2, ""));
    let sentence =
        "allways: `dining` is a program of threads, which cannot be deployed; those that can are ";
    assert!(err.starts_with(sentence) && err.lines().count() == 1, "{err}");
}

#[test]
fn list_says_what_is_made_of_threads() {
    let Ran { code, out, .. } = allways(&["list", "dining"]);
    assert_eq!(code, 0);
    assert!(out.ends_with("  properties\n    no thread panics or gets into trouble\n"), "{out}");
    let Ran { out, .. } = allways(&["list", "--json"]);
    let list: Value = serde_json::from_str(&out).unwrap();
    for system in list["systems"].as_array().unwrap() {
        let entry = allways_catalogue::find(system["name"].as_str().unwrap()).unwrap();
        let made_of = if entry.is_of_threads() { "threads" } else { "nodes" };
        assert_eq!(system["made_of"], made_of, "{system}");
    }
}

#[test]
fn progress_of_threads_counts_runs() {
    let set = ["check", "dining", "--set", "philosophers=12,components=2"];
    let bound = ["--max-seconds", "1.5", "--progress"];
    let Ran { code, err, .. } = allways(&[&set[..], &bound].concat());
    assert_eq!(code, 3);
    let line = err.lines().next().unwrap();
    assert!(line.contains(" runs, ") && line.contains("/s, depth "), "{line}");
    assert!(!line.contains("states"), "{line}");
}

#[test]
fn random_runs_as_json() {
    let args = ["check", "paxos", "--engine", "walk", "--runs", "20", "--seed", "4", "--json"];
    let Ran { code, out, err } = allways(&args);
    assert_eq!((code, err.as_str()), (3, ""));
    let outcome: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&outcome["engine"], &outcome["runs"]), (&"walk".into(), &20.into()));
    assert_eq!((&outcome["bounded_by"], &outcome["run"]), (&"runs".into(), &Value::Null));
}

#[test]
fn symmetry_saves_states() {
    let args = ["check", "two-phase-commit", "--symmetry", "--json"];
    let Ran { code, out, .. } = allways(&args);
    let outcome: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &outcome["unique_states"]), (0, &80.into()));
    let sentence = "symmetry cannot be used: the system declares no nodes interchangeable";
    wrong(&["check", "tree", "--symmetry"], sentence);
}

#[test]
fn components_one_by_one() {
    let args = ["check", "accumulator", "--set", "replicas=4,numbers=6", "--engine", "dir"];
    let Ran { code, out, err } = allways(&args);
    assert_eq!((code, err.as_str()), (0, ""));
    let heading = "accumulator replicas=4 numbers=6, engine dir\nholds, complete\n";
    assert!(out.starts_with(heading), "{out}");
    let row = |name: &str| {
        let mut rows = out.lines().filter_map(|line| line.trim_start().strip_prefix(name));
        rows.next().map(str::trim)
    };
    assert_eq!(row("local traces"), Some("58"), "{out}");
    assert_eq!(row("traces covered"), Some("4,802"), "{out}");
    assert_eq!(row("reduction ratio"), Some("82.79"), "{out}");
    assert!(row("run-time ratio").is_some() && row("speed-up").is_some(), "{out}");
    assert_eq!((row("runs"), row("blocked runs")), (None, None), "{out}");
    let Ran { code, out, .. } = allways(&[&args[..], &["--json"]].concat());
    assert_eq!(code, 0);
    let outcome: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&outcome["engine"], &outcome["complete"]), (&"dir".into(), &true.into()));
    assert_eq!((&outcome["runs"], &outcome["covered_traces"]), (&58.into(), &4_802.into()));
    assert_eq!(outcome["global_skeletons"], 2);
    assert_eq!(outcome["local_skeletons"], 10);
    assert_eq!(outcome["reduction_ratio"], 4_802.0 / 58.0);
    let [reduction, run_time, speed_up] = ["reduction_ratio", "run_time_ratio", "speed_up"]
        .map(|ratio| outcome[ratio].as_f64().unwrap());
    assert!(run_time > 0.0 && (speed_up - reduction / run_time).abs() < 1e-6 * speed_up, "{out}");
    let Ran { code, out, .. } = allways(&[&args[..], &["--json", "--no-compare-plain"]].concat());
    assert_eq!(code, 0);
    let alone: Value = serde_json::from_str(&out).unwrap();
    assert!(alone["run_time_ratio"].is_null() && alone["speed_up"].is_null(), "{out}");
    let quiet = ran(command(&args).env("ALLWAYS_COMPARE_PLAIN", "0"));
    assert!(quiet.code == 0 && !quiet.out.contains("run-time ratio"), "{}", quiet.out);
    assert!(outcome["unique_states"].is_null());
    let Ran { code, out, .. } = allways(&[&args[..], &["--stateful", "--json"]].concat());
    assert_eq!(code, 0);
    let outcome: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&outcome["engine"], &outcome["complete"]), (&"dir stateful".into(), &true.into()));
    assert!(outcome["unique_states"].as_u64().unwrap() < 5_000, "{out}");
    let ratios = ["reduction_ratio", "run_time_ratio", "speed_up"];
    for none in ["runs", "covered_traces", "global_skeletons"].into_iter().chain(ratios) {
        assert!(outcome[none].is_null(), "{none}");
    }
    let Ran { out, .. } = ran(command(&args).env("ALLWAYS_STATEFUL", "1"));
    assert!(out.contains("\n  points ") && out.contains("\n  configurations "), "{out}");
    let one = ran(command(&args[..2]).args(&args[4..]).env("ALLWAYS_COMPONENTS", "0,1,2"));
    assert!(one.out.contains("\n  traces covered ") && one.code == 0, "{}", one.out);
}

#[test]
fn a_bound_on_components_makes_it_inconclusive() {
    let args = ["check", "paxos", "--engine", "dir"];
    let Ran { code, out, .. } = allways(&[&args[..], &["--max-runs", "9"]].concat());
    assert_eq!(code, 3);
    assert!(out.contains("\ninconclusive: bounded by runs; "), "{out}");
    assert!(out.contains(" local trace") && out.contains(" explored for "), "{out}");
    assert!(out.contains("\nnext: raise --max-runs"), "{out}");
    let bound = ["--stateful", "--max-states", "9"];
    let Ran { code, out, .. } = allways(&[&args[..], &bound].concat());
    assert_eq!(code, 3);
    assert!(out.contains(" configurations were found, and more are to be found\n"), "{out}");
}

#[test]
fn components_that_make_no_sense_are_wrong_usage() {
    let dir =
        |flags: &[&'static str]| [&["check", "accumulator", "--engine", "dir"], flags].concat();
    wrong(
        &dir(&["--components", "0,1/1"]),
        "--components: 1 is in two components, or twice in one",
    );
    let none = "--components: `0;1` are no components; write members and slashes, as 0,1/2 or 0-7/8-15, with parentheses around a component of components, as (0,1/2)/3, or auto or each";
    wrong(&dir(&["--components", "0;1"]), none);
    let none = "there is no member 7 of components: there are 3, numbered from 0";
    wrong(&dir(&["--components", "0,7"]), none);
    wrong(&dir(&["--stateful", "--components", "0,7"]), none);
    let other = "a division into components (components) is for engine dir only";
    wrong(&["check", "accumulator", "--components", "0,1"], other);
    wrong(&["check", "accumulator", "--engine", "dpor", "--components", "0,1"], other);
    let other = "remembering states of components (stateful) is for engine dir only";
    wrong(&["check", "accumulator", "--engine", "global", "--stateful"], other);
    wrong(&["check", "dining", "--stateful"], other);
    let threads = "threads have no states that could be remembered: engine dir explores them without (stateful)";
    wrong(&["check", "dining", "--engine", "dir", "--stateful"], threads);
    let preempted = "a bound on preemptions is for engine dpor, not for components one by one";
    wrong(&["check", "dining", "--engine", "dir", "--preemptions", "1"], preempted);
    let states = "engine dir looks at components one by one, not at global states: a bound on states \
                  (max states) cannot be had with it; use engine global, or be stateful";
    wrong(&dir(&["--max-states", "9"]), states);
    let terminal = "engine dir cannot tell with faults which states are terminal unless it is \
                    stateful (`--stateful`, `Options::stateful`); engine dpor can, too";
    wrong(&["check", "lock", "--engine", "dir"], terminal);
}

#[test]
fn progress_of_components_counts_their_runs() {
    let args = ["check", "zab", "--set", "joins=5", "--engine", "dir"];
    let args = [&args[..], &["--max-seconds", "1.5", "--progress"]].concat();
    let Ran { code, err, .. } = allways(&args);
    assert_eq!(code, 3);
    let line = err.lines().next().unwrap();
    assert!(line.contains(" runs of components, ") && !line.contains("states"), "{line}");
}

/// Every example in the help is one that works.
#[test]
fn the_examples_of_the_help_name_systems_and_bugs_that_exist() {
    // Some of them write files, which nobody is to find the next time.
    let place = std::env::temp_dir().join(format!("allways-{}-examples", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    for page in [&["--help"][..], &["check", "--help"], &["list", "--help"]] {
        let Ran { out, .. } = allways(page);
        let examples = out.lines().filter_map(|line| line.trim().strip_prefix("allways check "));
        let examples: Vec<_> = examples.filter(|line| !line.starts_with('-')).collect();
        for example in &examples {
            let words: Vec<&str> = example.split("  ").next().unwrap().split(' ').collect();
            // Engines dpor and dir keep no states, nor do programs of threads.
            let entry = allways_catalogue::find(words[0]).unwrap();
            let bound = match entry.is_of_threads() {
                true => ["--max-seconds", "0"],
                false if words.contains(&"--stateful") => ["--max-states", "1"],
                false if words.contains(&"dpor") || words.contains(&"dir") => ["--max-runs", "1"],
                false => ["--max-states", "1"],
            };
            let args = [&["check"][..], &words, &bound, &["-q"]].concat();
            let Ran { code, err, .. } = ran(command(&args).current_dir(&place));
            // A program of threads may be through before anybody looks at the clock.
            let is_through = entry.is_of_threads() && code < 2;
            assert_eq!((code, err.as_str()), (if is_through { code } else { 3 }, ""), "{example}");
        }
        assert_eq!(examples.is_empty(), page[0] == "list", "{out}");
    }
    std::fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_bound_makes_it_inconclusive() {
    for bound in ["depth", "states"] {
        let flag = format!("--max-{bound}");
        let Ran { code, out, err } = allways(&["check", "tree", &flag, "1"]);
        assert_eq!((code, err.as_str()), (3, ""));
        assert!(out.contains(&format!("\ninconclusive: bounded by {bound}; ")), "{out}");
        assert!(
            out.contains("sometimes `received`: no state that was met satisfies it\n"),
            "{out}"
        );
        assert!(out.contains("1 waits at depth 1"), "{out}");
        assert!(out.contains(&format!("\nnext: raise {flag}")), "{out}");
    }
    let Ran { code, out, .. } = allways(&["check", "tree", "--json", "--max-memory", "1"]);
    assert_eq!(code, 3);
    let outcome: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(outcome["verdict"], "inconclusive");
    assert_eq!(outcome["complete"], false);
    assert_eq!(outcome["bounded_by"], "memory");
}

#[test]
fn flags_by_environment_variable() {
    let Ran { code, .. } = ran(command(&["check", "tree"]).env("ALLWAYS_MAX_STATES", "1"));
    assert_eq!(code, 3);
    let Ran { code, .. } = ran(command(&["check", "tree"]).env("ALLWAYS_EXACT", "1"));
    assert_eq!(code, 0);
    let mut both = command(&["check", "tree", "--max-states", "100"]);
    assert_eq!(ran(both.env("ALLWAYS_MAX_STATES", "1")).code, 0, "the flag wins");
}

/// A test in which the library reads the environment must not trip over what is meant for the
/// command line. That test is this one, started again with all variables that `--help` names.
#[test]
fn the_library_knows_the_variables_of_the_command_line() {
    const AGAIN: &str = "AGAIN_WITH_ALL_VARIABLES";
    if std::env::var_os(AGAIN).is_some() {
        allways::Options::from_env().unwrap();
        return;
    }
    let Ran { out, .. } = allways(&["check", "--help"]);
    let help = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let names: Vec<&str> =
        help.split("[env: ").skip(1).filter_map(|rest| rest.split('=').next()).collect();
    assert!(names.len() > 15, "{names:?}");
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "the_library_knows_the_variables_of_the_command_line"]);
    for name in names {
        again.env(
            name,
            match name {
                "ALLWAYS_ENGINE" => "auto",
                "ALLWAYS_SEARCH" => "bfs",
                "ALLWAYS_REDUCTION" => "optimal",
                "ALLWAYS_COMBINE" => "views",
                "ALLWAYS_SCHEDULE" => "pct:2",
                _ => "1",
            },
        );
    }
    let Ran { code, out, .. } = ran(again.env(AGAIN, "1"));
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("1 passed"), "{out}");
}

#[test]
fn a_variable_that_makes_no_sense_is_named() {
    let Ran { code, out, err } = ran(command(&["check", "tree"]).env("ALLWAYS_THREADS", "two"));
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(err, "allways: ALLWAYS_THREADS: `two` is not a whole number\n");
    let misspelt = ran(command(&["check", "tree"]).env("ALLWAYS_MAX_STATE", "1"));
    assert_eq!(misspelt.code, 2);
    assert!(misspelt.err.contains("did you mean ALLWAYS_MAX_STATES?"), "{}", misspelt.err);
    let Ran { code, err, .. } = ran(command(&["check", "tree"]).env("ALLWAYS_EXACT", "maybe"));
    assert_eq!(code, 2);
    assert_eq!(err, "allways: ALLWAYS_EXACT: `maybe` is neither true nor false\n");
}

#[test]
fn unknown_systems_and_parameters() {
    wrong(&["check", "tre"], "there is no system `tre`; did you mean `tree`?");
    wrong(&["check", "Tree", "--json"], "there is no system `Tree`; did you mean `tree`?");
    wrong(&["check", "PAXOS"], "there is no system `PAXOS`; did you mean `paxos`?");
    wrong(&["check", "elephant"], "there is no system `elephant`; `allways list` shows all");
    wrong(&["check", "tree", "--set", "nodes=3"], "`tree` has no parameter `nodes`; it has bug");
    wrong(
        &["check", "paxos", "--set", "nodes=x"],
        "`nodes=x`: `x` is not a whole number; it is one from 1 to 7",
    );
    wrong(&["check", "tree", "--set", "bug=rot"], "`tree` has no bug `rot`; it has none");
}

#[test]
fn malformed_settings() {
    for set in ["nodes", "=3", "nodes=", ""] {
        let sentence = format!("--set: `{set}` is not of the form NAME=VALUE");
        wrong(&["check", "tree", "--set", set], &sentence);
    }
}

#[test]
fn malformed_numbers() {
    let cases = [
        ("--threads", "two", "`two` is not a whole number"),
        ("--threads", "-1", "`-1` is not a whole number"),
        ("--threads", "99999", "`99999` is too many: it is a number from 0 to 1024"),
        ("--max-depth", "1.5", "`1.5` is not a whole number"),
        ("--runs", "0", "`0` is too few: it is at least 1"),
        ("--max-seconds", "soon", "`soon` is not a number of seconds"),
        ("--max-seconds", "-1", "`-1` is not a number of seconds"),
        ("--max-memory", "2T", "`2T` is not a number of bytes; write 4096, 64K, 512M or 2G"),
        (
            "--engine",
            "steam",
            "there is no engine `steam`; choose auto, global, dpor, lmc, dir or walk",
        ),
        ("--search", "best", "there is no search `best`; choose bfs, dfs or classic"),
        ("--schedule", "fair", "there is no schedule `fair`; choose random, pct or pct:DEPTH"),
        ("--preemptions", "-1", "`-1` is not a whole number"),
    ];
    for (flag, value, what) in cases {
        wrong(&["check", "tree", flag, value], &format!("{flag}: {what}"));
        wrong(&["check", "tree", &format!("{flag}={value}")], &format!("{flag}: {what}"));
    }
}

#[test]
fn wrong_usage_is_one_sentence_too() {
    for args in [&["check"][..], &["dance"], &["check", "tree", "--max-state", "3"]] {
        let Ran { code, out, err } = allways(args);
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.starts_with("allways: ") && err.lines().count() == 1, "{err}");
    }
    let Ran { err, .. } = allways(&["check", "tree", "--max-state", "3"]);
    assert!(err.contains("'--max-states'"), "{err}");
    let Ran { code, out, err } = allways(&[]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("Usage:"), "{err}");
}

#[test]
fn help_says_what_a_newcomer_needs() {
    for args in [&["--help"][..], &["check", "--help"], &["check", "-h"], &["list", "--help"]] {
        let Ran { code, out, err } = allways(args);
        assert_eq!((code, err.as_str()), (0, ""));
        assert!(out.contains("Exit codes:") && out.contains("Examples:"), "{out}");
    }
    let Ran { out, .. } = allways(&["check", "--help"]);
    for word in ["Engines:", "bfs", "classic", "inconclusive", "ALLWAYS_MAX_MEMORY", "Ctrl-C"] {
        assert!(out.contains(word), "{word} in {out}");
    }
    let Ran { code, out, .. } = allways(&["--version"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("allways "), "{out}");
}

#[test]
fn a_closed_pipe_is_no_panic() {
    for (args, code) in [(&["list"][..], 0), (&["check", "tree"], 0), (&["--help"], 0)] {
        let mut child =
            command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    }
}
