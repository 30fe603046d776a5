//! Whatever happens to a process, its streams can be read; and what cannot be instrumented is said in a sentence.

mod common;

use allways_epa_format::{DIRECTORY, Event};
use common::{Trace, build, directory, instrument, run, source};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn a_killed_process_leaves_its_streams() {
    let text = "#include <pthread.h>\n#include <stdio.h>\nvolatile long rounds;\n\
        void *work(void *argument) {\nfor (;;) {\nrounds++;\nif (rounds == 300000) {\nputs(\"there\");\n\
        fflush(stdout);\n}\n}\n}\nint main(void) {\npthread_t thread;\npthread_create(&thread, 0, work, 0);\n\
        pthread_join(thread, 0);\n}\n";
    let executable = build(&source("endless.c", text), &[]);
    let directory = directory();
    let mut child =
        Command::new(executable).env(DIRECTORY, &directory).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "there\n");
    child.kill().unwrap();
    child.wait().unwrap();
    let trace = Trace::read(&directory);
    // Every round that was there before the line is in the stream, over several windows of the file.
    let stores = trace.line("T_0_0", 6).into_iter().filter(|record| record.0 == "store");
    for (at, (_, values)) in stores.enumerate() {
        assert_eq!(values[0], at as u64 + 1);
    }
    let count = trace.line("T_0_0", 6).len();
    assert!(count >= 900_000, "{count}");
    assert!(!trace.events("T_0_0").iter().any(|event| matches!(event, Event::End { .. })));
    std::fs::remove_dir_all(directory).unwrap();
}

/// A fault may make a program run forever: the shell's limit for the size of files ends it, and the streams can be read.
#[test]
fn a_limit_ends_a_program_that_does_not_end() {
    let text = "volatile long rounds;\nint main(void) {\nfor (;;) {\nrounds++;\n}\n}\n";
    let executable = build(&source("forever.c", text), &[]);
    let directory = directory();
    let status = Command::new("sh")
        .args(["-c", "ulimit -f 4096 && exec \"$0\""])
        .arg(executable)
        .env(DIRECTORY, &directory)
        .status()
        .unwrap();
    assert_eq!(status.code(), None);
    let trace = Trace::read(&directory);
    assert!(trace.line("T_0", 4).len() > 10_000);
}

#[test]
fn a_crash_leaves_the_stream() {
    let text = "int main(void) {\nint x = 41;\nx++;\n*(volatile int *)8 = x;\nreturn 0;\n}\n";
    let executable = build(&source("crash.c", text), &[]);
    let (trace, output) = run(&executable, &[], None);
    assert_eq!(output.status.code(), None);
    assert_eq!(trace.line("T_0", 3).last().unwrap().1[0], 42);
    // The value was read for the store, which did not happen.
    assert_eq!(trace.line("T_0", 4).iter().map(|record| record.0).collect::<Vec<_>>(), ["load"]);
}

#[test]
fn exit_from_a_thread_is_in_its_stream() {
    let text = "#include <pthread.h>\n#include <stdlib.h>\nvoid *work(void *argument) {\nexit(7);\n}\n\
        int main(void) {\npthread_t thread;\npthread_create(&thread, 0, work, 0);\npthread_join(thread, 0);\n}\n";
    let executable = build(&source("exit.c", text), &[]);
    let (trace, output) = run(&executable, &[], None);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(trace.events("T_0_0").last(), Some(&Event::Exit { status: 7 }));
}

/// What the program says when it refuses something.
fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.starts_with("allways-instrument: "), "{message}");
    message
}

#[test]
fn what_cannot_be_instrumented_is_said() {
    build(&source("fine.c", "int main(void) { return 0; }"), &[]);
    let output = directory().join("out");
    let with = |source: &str| {
        let mut command = Command::new(instrument());
        command.arg(source).arg("-o").arg(&output);
        command
    };
    let broken = source("broken.c", "int main(void) { return nothing; }");
    let message = refused(&mut with(broken.to_str().unwrap()));
    assert!(
        message.contains("compiling broken.c failed") && message.contains("'nothing'"),
        "{message}"
    );
    let broken = source("broken.rs", "fn main() { nothing }");
    let message = refused(&mut with(broken.to_str().unwrap()));
    assert!(
        message.contains("compiling broken.rs failed") && message.contains("E0425"),
        "{message}"
    );
    let unlinked = source("unlinked.c", "int nowhere(void); int main(void) { return nowhere(); }");
    let message = refused(&mut with(unlinked.to_str().unwrap()));
    assert!(message.contains("linking unlinked.c failed"), "{message}");
    assert!(refused(&mut with("missing.c")).contains("missing.c cannot be read"));
    assert!(refused(&mut with("main.java")).contains("main.java is no source"));
    let fine = source("fine.c", "int main(void) { return 0; }");
    let message = refused(with(fine.to_str().unwrap()).env("PATH", "/nowhere"));
    assert!(message.contains("clang-22 is not installed"), "{message}");
    // The program alone, without the runtime beside it.
    let alone = directory().join("alone");
    std::fs::copy(instrument(), &alone).unwrap();
    let message = refused(Command::new(alone).arg(fine).arg("-o").arg(&output));
    assert!(message.contains("liballways_epa_runtime.a is not in"), "{message}");
}
