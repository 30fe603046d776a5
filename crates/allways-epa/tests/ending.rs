//! Whoever ends at once ends all runs that are under way, and none of them counts. This is a file of its own, since it ends all runs of its process.
#![cfg(target_os = "linux")]

use allways_epa::campaign::{Limits, Target, end_all, run};
use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[test]
fn nobody_is_left_of_runs_that_are_all_ended() {
    let told = std::env::temp_dir().join(format!("allways-ending-{}", std::process::id()));
    // It starts somebody else, says who that is, and waits for ever.
    let script = "sleep 1000 & echo $! > \"$0.new\"; mv \"$0.new\" \"$0\"; wait";
    let arguments = vec!["-c".into(), script.into(), told.clone().into_os_string()];
    let target = Target { executable: "/bin/sh".into(), arguments };
    let stop = AtomicBool::new(false);
    let started = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&target, None, &Limits::GOLDEN, &stop));
        let started = loop {
            match fs::read_to_string(&told) {
                Ok(text) => break text.trim().to_owned(),
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        end_all();
        assert!(running.join().unwrap().unwrap().is_none());
        started
    });
    fs::remove_file(&told).unwrap();
    // It was killed, and is gone as soon as somebody has removed it. Should it not have been killed, this does not end.
    let is_there = || {
        let stat = fs::read_to_string(format!("/proc/{started}/stat")).unwrap_or_default();
        stat.contains("(sleep)") && !stat.contains(") Z")
    };
    while is_there() {
        std::thread::sleep(Duration::from_millis(1));
    }
}
