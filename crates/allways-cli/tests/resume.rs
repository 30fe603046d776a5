//! `--resume`: a check that is killed, at whatever moment, goes on where it was.
#![cfg(unix)]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// So often the process is killed.
const KILLS: u32 = 20;

/// So long one that was killed may take to go on.
const A_WHILE: Duration = Duration::from_secs(30);

/// Takes some seconds, and ends.
const SYSTEM: &[&str] = if cfg!(debug_assertions) {
    &["pam", "--set", "nodes=2", "--set", "self=network"]
} else {
    &["chord", "--set", "fingers=1"]
};

/// The same of threads.
const PROGRAM: &[&str] = if cfg!(debug_assertions) {
    &["multi-paxos", "--set", "nodes=2"]
} else {
    &["replicated-kv", "--set", "nodes=3"]
};

/// A directory of its own, which is removed in the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let place = std::env::temp_dir().join(format!("allways-{}-{name}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        Place(place)
    }

    fn log(&self) -> PathBuf {
        self.0.join("log")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn check(args: &[&str], log: Option<&Path>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allways"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ALLWAYS_") {
            command.env_remove(name);
        }
    }
    command.arg("check").args(args).stdin(Stdio::null());
    // No test waits for ever, whatever is broken.
    command.args(["--threads", "2", "--max-seconds", "100"]);
    if let Some(log) = log {
        command.arg("--resume").arg(log);
    }
    command
}

fn dir(system: &[&str], log: Option<&Path>) -> Command {
    check(&[system, &["--engine", "dir", "--json"]].concat(), log)
}

fn outcome(command: &mut Command) -> Value {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let err = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(0), "{err}");
    serde_json::from_slice(&stdout).unwrap()
}

/// What must be the same, whatever happened on the way.
fn lasting(outcome: &Value) -> Value {
    let mut outcome = outcome.clone();
    let all = outcome.as_object_mut().unwrap();
    // How long it took, what user code did in the last process alone, and what is known from that.
    let passing = [
        "elapsed_ms",
        "peak_memory_bytes",
        "resumed_runs",
        "handler_executions",
        "replayed_handlers",
        "user_time_ms",
        "local_states",
        "coverage",
        "warnings",
        "run_time_ratio",
        "speed_up",
    ];
    passing.iter().for_each(|what| assert!(all.remove(*what).is_some(), "{what}"));
    outcome
}

/// Where the records of a log end, the beginning first, as far as they are whole.
fn ends(log: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 16;
    while let Some(head) = log.get(at..at + 12) {
        let len = u32::from_le_bytes(head[..4].try_into().unwrap()) as usize;
        at += 12 + len;
        if at > log.len() {
            break;
        }
        ends.push(at);
    }
    ends
}

/// What the records of a log are of, as bytes: for each task, what it went by and which it is. Lessons are left out.
fn tasks(log: &[u8]) -> Vec<&[u8]> {
    let ends = ends(log);
    let records = ends.windows(2).map(|pair| &log[pair[0] + 12..pair[1]]);
    // What it goes by is eight bytes; the start and the component, a byte each here; and the local skeleton, eight.
    records.filter(|record| record[0] == 1).map(|record| &record[1..19]).collect()
}

/// How many tasks have gone by what the last one goes by.
fn tasks_of_last(log: &[u8]) -> u64 {
    let all = tasks(log);
    all.iter().filter(|task| task[..8] == all[all.len() - 1][..8]).count() as u64
}

fn kill(child: &mut Child) {
    // SIGKILL: nobody gets to tidy up.
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Checks a system, and kills that again and again.
fn killed_at_random_moments(name: &str, system: &[&str]) {
    let place = Place::new(name);
    let began = Instant::now();
    let expected = outcome(&mut dir(system, None));
    let whole = began.elapsed();
    assert_eq!(expected["complete"], true);
    assert_eq!(expected["resumed_runs"], Value::Null);
    let mut random = 0x9E37_79B9_u64;
    let mut log = Vec::new();
    let mut grown = 0;
    for _ in 0..KILLS {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut child = dir(system, Some(&place.log())).stdout(Stdio::null()).spawn().unwrap();
        // To take in what is in the log may take longer than to go on from there.
        let began = Instant::now();
        let is_longer = || fs::metadata(place.log()).is_ok_and(|it| it.len() > log.len() as u64);
        while !is_longer() && began.elapsed() < A_WHILE && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        // All of them together take about as long as the check does.
        let share = (random >> 40) as f64 / (1_u64 << 24) as f64;
        std::thread::sleep(whole.mul_f64(2.0 * share / f64::from(KILLS)));
        kill(&mut child);
        let next = fs::read(place.log()).unwrap_or_default();
        // What was there is there, and only what was torn was written again.
        let kept = ends(&log).last().copied().unwrap_or(0);
        assert!(next.starts_with(&log[..kept]));
        grown += u32::from(ends(&next).len() > ends(&log).len());
        log = next;
    }
    assert!(grown >= 3, "it was killed in the midst of things {grown} times");
    let records = tasks_of_last(&log);
    let copy = place.0.join("copy");
    fs::copy(place.log(), &copy).unwrap();
    let last = outcome(&mut dir(system, Some(&place.log())));
    assert_eq!(lasting(&last), lasting(&expected));
    // Each component was explored by itself once for each of its local skeletons, in whatever process.
    let log = fs::read(place.log()).unwrap();
    let all = tasks_of_last(&log);
    assert_eq!(Value::from(all), expected["local_skeletons"]);
    assert!(0 < records && records <= all);
    let mut once = tasks(&log);
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), tasks(&log).len());
    let resumed = last["resumed_runs"].as_u64().unwrap();
    assert!(resumed > 0 && resumed <= last["runs"].as_u64().unwrap());
    // Going on twice from one log is the same, and from that of a check that has ended nothing is explored.
    let again = outcome(&mut dir(system, Some(&copy)));
    assert_eq!(
        (lasting(&again), &again["resumed_runs"]),
        (lasting(&expected), &last["resumed_runs"])
    );
    let ended = outcome(&mut dir(system, Some(&place.log())));
    assert_eq!((lasting(&ended), &ended["resumed_runs"]), (lasting(&expected), &expected["runs"]));
    assert_eq!(fs::read(place.log()).unwrap(), log);
}

#[test]
fn killed_at_random_moments_nothing_is_lost() {
    killed_at_random_moments("killed", SYSTEM);
}

#[test]
fn killed_at_random_moments_nothing_is_lost_of_threads() {
    killed_at_random_moments("killed-threads", PROGRAM);
}

/// Who touches what is learnt on the way. Wherever the log is cut off, what is left of it is enough to learn the rest.
#[test]
fn what_threads_touch_is_learnt_from_whatever_is_left_of_a_log() {
    let programs: [(&str, &[&str]); 2] = [
        ("dining", &["dining", "--set", "philosophers=4,components=2"]),
        ("replicated-kv", &["replicated-kv", "--set", "nodes=2,workers=1"]),
    ];
    for (name, program) in programs {
        let place = Place::new(name);
        let expected = outcome(&mut dir(program, None));
        let first = outcome(&mut dir(program, Some(&place.log())));
        assert_eq!((lasting(&first), &first["resumed_runs"]), (lasting(&expected), &0.into()));
        let whole = fs::read(place.log()).unwrap();
        assert!(tasks(&whole).len() < ends(&whole).len() - 1, "{name} teaches something");
        let ends = ends(&whole);
        let cuts = ends.iter().flat_map(|&end| [end, end + 30]);
        // Not all of many: to begin takes long, since all of the program is read.
        for cut in cuts.step_by(ends.len() / 2) {
            fs::write(place.log(), &whole[..cut.min(whole.len())]).unwrap();
            let again = outcome(&mut dir(program, Some(&place.log())));
            assert_eq!(lasting(&again), lasting(&expected), "{name}, {cut}");
            let ended = outcome(&mut dir(program, Some(&place.log())));
            assert_eq!(lasting(&ended), lasting(&expected), "{name}, {cut}");
            assert_eq!(ended["resumed_runs"], expected["runs"], "{name}, {cut}");
        }
    }
}

/// The sentence that a check is refused with.
fn refused(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let err = String::from_utf8(stderr).unwrap();
    assert_eq!((status.code(), stdout.is_empty()), (Some(2), true), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    err
}

#[test]
fn a_log_is_of_one_check() {
    let place = Place::new("refused");
    let log = place.log();
    let small = ["accumulator", "--engine", "dir"];
    assert!(check(&small, Some(&log)).output().unwrap().status.success());
    let whole = fs::read(&log).unwrap();
    let other = |args: &[&str]| refused(&mut check(&[&small, args].concat(), Some(&log)));
    assert!(other(&["--set", "numbers=3"]).contains("is of another system"));
    assert!(other(&["--components", "0,1"]).contains("is of a check with other options"));
    assert!(other(&["--max-depth", "9"]).contains("is of a check with other options"));
    assert!(other(&["--stateful"]).contains("if it is stateful"));
    for engine in ["global", "dpor", "lmc", "walk", "auto"] {
        let why = refused(&mut check(&["accumulator", "--engine", engine], Some(&log)));
        assert!(why.contains("going on from a log (resume) is for engine dir only"), "{why}");
    }
    assert_eq!(fs::read(&log).unwrap(), whole);
    fs::write(&log, "a shopping list: bread, cheese, and a model checker").unwrap();
    assert!(refused(&mut check(&small, Some(&log))).contains("is no log of a check"));
    let nowhere = place.0.join("none").join("log");
    assert!(refused(&mut check(&small, Some(&nowhere))).contains("cannot be opened"));
    fs::remove_file(&log).unwrap();
    let threads = ["dining", "--engine", "dir"];
    assert!(check(&threads, Some(&log)).output().unwrap().status.success());
    let other = |args: &[&str]| refused(&mut check(&[&threads, args].concat(), Some(&log)));
    assert!(other(&["--set", "philosophers=4"]).contains("is of another system"));
    assert!(other(&["--components", "0,1,2,3"]).contains("is of a check with other options"));
    assert!(other(&["--max-depth", "99"]).contains("is of a check with other options"));
    assert!(refused(&mut check(&small, Some(&log))).contains("is of another system"));
}

#[test]
fn a_log_is_for_one_process_at_a_time() {
    let place = Place::new("locked");
    let endless = ["chord", "--set", "nodes=5", "--engine", "dir"];
    let mut child = check(&endless, Some(&place.log())).stdout(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while fs::metadata(place.log()).map_or(0, |it| it.len()) < 200 {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(10));
    }
    let why = refused(&mut check(&endless, Some(&place.log())));
    kill(&mut child);
    assert!(why.contains("is in use by another check"), "{why}");
}
