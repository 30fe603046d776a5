//! What a failing test says and leaves behind. The tests start this file's own binary again, to
//! carry out the tests in `inside`, as `cargo test` and `cargo nextest` would; `in_cargo` does it
//! with the real ones.

mod in_cargo;
mod inside;

use std::path::{Path, PathBuf};
use std::process::Command;

/// A test carried out in a process of its own.
struct Done {
    passed: bool,
    said: String,
}

/// How the tests inside are carried out.
struct Setting {
    /// Stands for the target directory.
    target: PathBuf,
    variables: Vec<(&'static str, String)>,
}

/// An empty target directory for each test.
fn setting(name: &str) -> Setting {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report").join(name).join("target");
    let _ = std::fs::remove_dir_all(&target);
    std::fs::create_dir_all(&target).unwrap();
    Setting { target, variables: Vec::new() }
}

impl Setting {
    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Carries out a test of `inside`, with the replicas as named.
    fn carry_out(&self, test: &str, replicas: &str) -> Done {
        self.with_arguments(&["--exact", &format!("inside::{test}"), "--nocapture"], replicas)
    }

    fn with_arguments(&self, arguments: &[&str], replicas: &str) -> Done {
        let mut command = Command::new(std::env::current_exe().unwrap());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ALLWAYS_") {
                command.env_remove(name);
            }
        }
        command
            .arg("--ignored")
            .args(arguments)
            .env("CARGO_PKG_NAME", "allways")
            .env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))
            .env("CARGO_TARGET_DIR", &self.target)
            .env("ALLWAYS_THREADS", "1")
            .env("ALLWAYS_TEST_REPLICAS", replicas)
            .env("COLUMNS", "80")
            .env("RUST_BACKTRACE", "0")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        let output = command.output().unwrap();
        let mut said = String::from_utf8(output.stdout).unwrap();
        said += &String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("running "), "{said}");
        assert!(!said.contains("running 0 tests"), "{said}");
        Done { passed: output.status.success(), said }
    }

    /// All files, relative to the target directory.
    fn files(&self) -> Vec<String> {
        files(&self.target)
    }
}

/// All files below a directory, relative to it.
fn files(directory: &Path) -> Vec<String> {
    fn add(at: &Path, root: &Path, files: &mut Vec<String>) {
        for entry in std::fs::read_dir(at).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => add(&path, root, files),
                false => {
                    let path = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                    files.push(path.replace('\\', "/"));
                }
            }
        }
    }
    let mut files = Vec::new();
    add(directory, directory, &mut files);
    files.sort();
    files
}

/// What stands between two pieces of text.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before:?} in {text}"));
    rest.split_once(after).unwrap_or_else(|| panic!("no {after:?} in {text}")).0
}

/// The files of failures in these directories.
fn both_files(directories: &[&str]) -> Vec<String> {
    let of = |directory: &&str| {
        ["report.html", "run.json"].map(|name| format!("allways/allways/report/{directory}/{name}"))
    };
    let mut files: Vec<String> = directories.iter().flat_map(of).collect();
    files.sort();
    files
}

#[test]
fn a_violation_is_told_whole_and_saved() {
    let setting = setting("told");
    let done = setting.carry_out("agrees", "bug");
    assert!(!done.passed);
    assert_eq!(setting.files(), both_files(&["inside-agrees"]));
    let directory = setting.target.join("allways/allways/report/inside-agrees");
    // The real target directory is not below the package, so paths are absolute.
    let (report, run) = (directory.join("report.html"), directory.join("run.json"));
    let expected = "
violated: never stuck `replicas agree`

both nodes start as Replica(0)

node  0     1
   1  ▼     │   call 10
      │     │     Replica(0) → Replica(10)
      │     │     → 1: 10
   2  │     ▼   call 20
      │     │     Replica(0) → Replica(20)
      │     │     → 0: 20
   3  ○────▶●   10 from 0, sent at 1
      │     │     Replica(20) → Replica(10)
   4  ●◀────○   20 from 1, sent at 2
      │     │     Replica(10) → Replica(20)

never stuck `replicas agree` does not hold: nothing can happen any more, and
  node 0 sees 20
  node 1 sees 10

";
    assert!(done.said.contains(expected), "{}", done.said);
    let rest = between(&done.said, "node 1 sees 10\n\n", "note: ");
    let (statistics, rest) = rest.split_once("\n\n").unwrap();
    let (minimised, statistics) = statistics.split_once('\n').unwrap();
    assert!(minimised.starts_with("minimised: 4 events as before, "), "{minimised}");
    assert!(statistics.starts_with("global bfs, 11 states, 14 generated, "), "{statistics}");
    let expected = format!(
        "\
report: {}
run:    {}
replay: in place of `.check().assert_holds()`, write
        .replay_file({:?}).unwrap().assert_no_longer_violates()
keep:   copy run.json to your tests and replay it from there: the next failure replaces this one,
        and a test that passes removes it
",
        report.display(),
        run.display(),
        run.display().to_string()
    );
    assert_eq!(rest.trim_end(), expected.trim_end());
    let run = std::fs::read_to_string(run).unwrap();
    assert!(run.contains("\"system\": \"inside::agrees\""), "{run}");
    let report = std::fs::read_to_string(report).unwrap();
    assert!(report.contains("replicas agree") && report.contains("inside::agrees"));
    assert!(report.contains("assert_no_longer_violates()"));
}

#[test]
fn a_replay_fails_while_the_run_violates_and_when_it_no_longer_applies() {
    let setting = setting("replayed");
    let failed = setting.carry_out("agrees", "bug");
    let run = between(&failed.said, ".replay_file(\"", "\")");
    let setting = setting.with("ALLWAYS_TEST_RUN", run);
    let done = setting.carry_out("replays", "bug");
    assert!(!done.passed);
    let still = "the saved run still violates: never stuck `replicas agree`, after 4 events\n";
    assert!(done.said.contains(still), "{}", done.said);
    let done = setting.carry_out("replays", "mended");
    assert!(done.passed, "{}", done.said);
    let done = setting.carry_out("replays", "other calls");
    assert!(!done.passed);
    assert!(
        done.said.contains(
            "the saved run no longer applies at event 1: node 0 is called: 10: it cannot happen\n"
        ) && done.said.contains("it tests nothing any more: save a new run or remove it\n"),
        "{}",
        done.said
    );
    // A replay writes nothing and removes nothing; a check that holds does.
    assert_eq!(setting.files(), both_files(&["inside-agrees"]));
    assert!(setting.carry_out("agrees", "mended").passed);
    let done = setting.carry_out("replays", "mended");
    assert!(!done.passed);
    let gone = "a test that passes removes what it saved when it failed";
    assert!(done.said.contains(gone), "{}", done.said);
}

#[test]
fn what_an_earlier_failure_left_is_replaced_and_removed_when_the_test_passes() {
    let setting = setting("stale");
    assert!(!setting.carry_out("agrees", "bug").passed);
    let directory = setting.target.join("allways/allways/report/inside-agrees");
    // As left by a second failure, by a process that was killed, and by a person.
    let second = setting.target.join("allways/allways/report/inside-agrees-2");
    std::fs::create_dir(&second).unwrap();
    std::fs::write(second.join("run.json"), "").unwrap();
    std::fs::write(directory.join(".run.json.17-0.tmp"), "").unwrap();
    std::fs::write(directory.join("run.json"), "").unwrap();
    std::fs::write(directory.join("notes.txt"), "mine").unwrap();

    assert!(!setting.carry_out("agrees", "bug").passed);
    assert!(!second.exists());
    assert_ne!(std::fs::read_to_string(directory.join("run.json")).unwrap(), "");

    assert!(setting.carry_out("agrees", "mended").passed);
    assert_eq!(setting.files(), ["allways/allways/report/inside-agrees/notes.txt"]);
    std::fs::remove_file(directory.join("notes.txt")).unwrap();
    assert!(!setting.carry_out("agrees", "bug").passed);
    assert!(setting.carry_out("agrees", "mended").passed);
    assert!(!setting.target.join("allways/allways").exists(), "empty directories go too");
}

#[test]
fn checks_that_fail_in_one_test_do_not_overwrite_each_other() {
    let setting = setting("twice");
    let done = setting.carry_out("agrees_twice", "bug");
    assert!(!done.passed);
    let expected = both_files(&["inside-agrees_twice", "inside-agrees_twice-2"]);
    assert_eq!(setting.files(), expected);
    for file in expected {
        assert!(done.said.contains(&file), "{}", done.said);
    }
    // The check between the two holds, and leaves the first alone.
    let events = |directory: &str| {
        let run = setting.target.join("allways/allways/report").join(directory).join("run.json");
        std::fs::read_to_string(run).unwrap().matches("\"kind\"").count()
    };
    assert_eq!((events("inside-agrees_twice"), events("inside-agrees_twice-2")), (4, 1));
    assert!(setting.carry_out("agrees_twice", "mended").passed);
    assert_eq!(setting.files(), [""; 0]);
}

#[test]
fn a_test_that_fails_very_often_keeps_its_first_failures_and_its_last() {
    let setting = setting("often");
    let done = setting.carry_out("agrees_often", "bug");
    assert!(!done.passed);
    let mut directories = vec!["inside-agrees_often".to_owned()];
    directories.extend((2..=10).map(|number| format!("inside-agrees_often-{number}")));
    let directories: Vec<&str> = directories.iter().map(String::as_str).collect();
    assert_eq!(setting.files(), both_files(&directories));
}

#[test]
fn the_threads_name_is_the_tests_without_an_exact_argument() {
    let setting = setting("thread");
    for threads in ["2", "1"] {
        let threads = format!("--test-threads={threads}");
        let done = setting.with_arguments(&["agree", &threads, "--nocapture"], "bug");
        assert!(!done.passed);
        let files = setting.files();
        for directory in ["inside-agrees", "inside-agrees_twice", "inside-agrees_twice-2"] {
            assert!(files.contains(&both_files(&[directory])[1]), "{threads}: {files:?}");
        }
        assert!(setting.with_arguments(&["agree", &threads], "mended").passed);
        assert_eq!(setting.files(), [""; 0]);
    }
}

#[test]
fn an_assertion_in_a_thread_without_a_name_is_known_by_where_it_stands() {
    let setting = setting("unnamed");
    let done = setting.with_arguments(&["in_a_thread_of_its_own", "--nocapture"], "bug");
    assert!(!done.passed);
    let files = setting.files();
    assert_eq!(files.len(), 2, "{files:?}");
    let before = "allways/allways/report/crates-allways-tests-report-inside.rs-";
    let line = between(&files[1], before, "/run.json");
    assert!(line.parse::<u32>().is_ok(), "{line}");
}

#[test]
fn a_directory_can_be_given() {
    let setting = setting("given");
    let given = setting.target.join("given");
    let setting = setting.with("ALLWAYS_SAVE", given.to_str().unwrap());
    let done = setting.carry_out("agrees", "bug");
    assert!(!done.passed);
    let expected = both_files(&["inside-agrees"]);
    let expected: Vec<_> = expected.iter().map(|f| f.replacen("allways", "given", 1)).collect();
    assert_eq!(setting.files(), expected);
    assert!(setting.carry_out("agrees", "mended").passed);
    assert_eq!(setting.files(), [""; 0]);
    assert!(given.is_dir(), "it is not removed, since it may have been there before");
}

#[test]
fn paths_below_the_package_are_relative_to_it() {
    // A directory in the package: the only such place that is sure to be ignored by everybody.
    let setting = setting("relative").with("ALLWAYS_SAVE", "target/tmp-of-report");
    let done = setting.carry_out("agrees", "bug");
    let run = "target/tmp-of-report/allways/report/inside-agrees/run.json";
    assert!(done.said.contains(&format!("\nrun:    {run}\n")), "{}", done.said);
    assert!(done.said.contains(&format!(".replay_file(\"{run}\")")), "{}", done.said);
    let setting = setting.with("ALLWAYS_TEST_RUN", run);
    assert!(setting.carry_out("replays", "bug").said.contains("still violates"));
    assert!(setting.carry_out("agrees", "mended").passed);
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tmp-of-report");
    std::fs::remove_dir(&directory).unwrap();
    let _ = std::fs::remove_dir(directory.parent().unwrap());
}

#[test]
fn the_target_directory_is_found_from_the_test_binary() {
    let setting = setting("found").with("CARGO_TARGET_DIR", "");
    let done = setting.carry_out("agrees", "bug");
    let run = PathBuf::from(between(&done.said, "\nrun:    ", "\n"));
    assert!(run.ends_with("allways/allways/report/inside-agrees/run.json"), "{}", run.display());
    let target = run.ancestors().nth(5).unwrap();
    assert!(std::env::current_exe().unwrap().starts_with(target), "{}", target.display());
    assert!(setting.carry_out("agrees", "mended").passed);
    assert!(!run.exists());
}

#[test]
fn where_nothing_can_be_written_the_report_says_so_and_is_whole() {
    let setting = setting("unwritable");
    let file = setting.target.join("a file");
    std::fs::write(&file, "").unwrap();
    let setting = setting.with("ALLWAYS_SAVE", file.to_str().unwrap());
    let done = setting.carry_out("agrees", "bug");
    assert!(!done.passed);
    assert!(done.said.contains("\nnever stuck `replicas agree` does not hold"), "{}", done.said);
    assert!(done.said.contains("\nthe run is not saved: cannot make "), "{}", done.said);
    assert_eq!(done.said.matches("panicked at").count(), 1, "{}", done.said);
    assert_eq!(setting.files(), ["a file"]);
}

#[test]
fn a_goal_that_is_never_reached_has_advice_and_no_files() {
    let setting = setting("never");
    let done = setting.carry_out("reaches_a_hundred", "bug");
    assert!(!done.passed);
    assert!(
        done.said.contains("\nviolated: sometimes `a hundred`: no reachable state satisfies it\n"),
        "{}",
        done.said
    );
    assert!(
        done.said.contains("\nnext: see whether the property asks for what the system can do\n"),
        "{}",
        done.said
    );
    assert_eq!(setting.files(), [""; 0]);
}

#[test]
fn a_bound_is_told_and_how_to_raise_it_unless_that_is_enough() {
    let setting = setting("bounded").with("ALLWAYS_MAX_DEPTH", "1");
    let done = setting.carry_out("agrees", "bug");
    assert!(!done.passed);
    for part in [
        "\ninconclusive: bounded by depth; no violation in what was covered\n",
        "\nall 3 states within 1 event were checked",
        "\nnext: raise ALLWAYS_MAX_DEPTH, or `max_depth` in its options; or make it \
         `assert_not_violated()`, which is content with what was covered\n",
    ] {
        assert!(done.said.contains(part), "{}", done.said);
    }
    assert_eq!(setting.files(), [""; 0]);
    assert!(setting.carry_out("never_disagrees", "bug").passed);
    let unbounded = self::setting("unbounded");
    let done = unbounded.carry_out("never_disagrees", "bug");
    assert!(!done.passed);
    assert!(done.said.contains("in place of `.check().assert_not_violated()`"), "{}", done.said);
    assert_eq!(unbounded.files(), both_files(&["inside-never_disagrees"]));
}

#[test]
fn another_violation_than_the_expected_one_is_saved() {
    let setting = setting("another");
    let done = setting.carry_out("expects_another", "bug");
    assert!(!done.passed);
    let expected = "expected `another` to be violated, but the system has no such property: it has `replicas agree`";
    let said = format!("\n{expected}\n\nviolated: never stuck `replicas agree`\n");
    assert!(done.said.contains(&said), "{}", done.said);
    assert!(done.said.contains("in place of `.check().assert_violated(\"another\")`, write"));
    assert_eq!(setting.files(), both_files(&["inside-expects_another"]));
    let done = setting.carry_out("expects_another", "mended");
    assert!(!done.passed);
    let said = format!("\n{expected}\n\nholds, complete\n");
    assert!(done.said.contains(&said), "{}", done.said);
    assert_eq!(setting.files(), [""; 0]);
}

#[test]
fn warnings_of_a_check_that_holds_are_printed_and_can_be_made_to_fail() {
    let setting = setting("warnings");
    let warnings = [
        "warning: the system has no properties: only panics of handlers were looked for",
        "warning: the driver makes no calls, but nodes take some (`u32`): see System::call",
    ];
    let done = setting.carry_out("agrees_without_properties", "mended");
    assert!(done.passed, "{}", done.said);
    for warning in warnings {
        assert!(done.said.contains(&format!("\nallways: {warning}\n")), "{}", done.said);
    }
    let done = setting.carry_out("agrees_without_properties", "strict");
    assert!(!done.passed);
    for warning in warnings {
        assert!(done.said.contains(&format!("\n{warning}\n")), "{}", done.said);
    }
    assert!(done.said.contains("inside.rs"), "{}", done.said);
    // What has no warnings prints none.
    let done = setting.carry_out("agrees", "mended");
    assert!(done.passed && !done.said.contains("warning"), "{}", done.said);
}
