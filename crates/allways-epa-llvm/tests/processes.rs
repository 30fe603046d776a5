//! An instrumented program has the descriptors, the environment and the children that it has otherwise, and however its process ends
//! nothing is lost.

mod common;

use allways_epa_format::{DIRECTORY, Event, FAULT, stream_name};
use common::{Trace, build, directory, printed, run, source};
use std::process::Command;

/// Threads that open files while others begin: each gets the number that it gets otherwise, and what the program closes is not ours.
#[test]
fn descriptors_are_those_of_the_program() {
    let text = r#"#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
volatile long sum;
volatile int stop;
void *work(void *x) {
    for (int i = 0; i < 500; i++)
        sum += i;
    return 0;
}
void *opener(void *x) {
    long wrong = 0;
    while (!stop) {
        int file = open("/dev/null", O_RDONLY);
        wrong += file != 3;
        close(file);
    }
    return (void *)wrong;
}
int main(void) {
    pthread_t thread, other;
    void *wrong;
    closefrom(3);
    pthread_create(&other, 0, opener, 0);
    for (int i = 0; i < 30; i++) {
        pthread_create(&thread, 0, work, 0);
        pthread_join(thread, 0);
    }
    stop = 1;
    pthread_join(other, &wrong);
    closefrom(3);
    int open = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory))
        open++;
    printf("%ld wrong, %d open\n", (long)wrong, open);
    for (int i = 0; i < 100000; i++)
        sum += i;
    return 0;
}
"#;
    let executable = build(&source("descriptors.c", text), &["--", "-D_GNU_SOURCE"]);
    let (trace, output) = run(&executable, &[], None);
    // The two directories of each directory, three standard streams, and the one that is read.
    assert_eq!(printed(&output), "0 wrong, 6 open\n");
    assert_eq!((trace.missing.as_str(), trace.threads.len()), ("", 32));
    assert_eq!(trace.events("T_0").last(), Some(&Event::Exit { status: 0 }));
    assert_eq!(trace.line("T_0", 41).iter().filter(|record| record.0 == "store").count(), 100_000);
}

/// The program may have as many files open as it is allowed to.
#[test]
fn there_is_a_stream_also_if_no_more_files_can_be_opened() {
    let text = r#"#include <fcntl.h>
#include <pthread.h>
volatile long sum;
void *work(void *x) {
    for (int i = 0; i < 100000; i++)
        sum += i;
    return 0;
}
int main(void) {
    pthread_t thread;
    while (open("/dev/null", O_RDONLY) >= 0) {}
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    return 0;
}
"#;
    let executable = build(&source("full.c", text), &[]);
    let directory = directory();
    let status = Command::new("sh")
        .args(["-c", "ulimit -n 40 && exec \"$0\""])
        .arg(executable)
        .env(DIRECTORY, &directory)
        .status()
        .unwrap();
    assert!(status.success());
    let trace = Trace::read(&directory);
    assert_eq!(trace.missing, "");
    assert_eq!(trace.line("T_0_0", 6).iter().filter(|record| record.0 == "store").count(), 100_000);
}

/// Children that are instrumented write nothing over the streams of their parent, and the environment is otherwise as it was.
#[test]
fn children_know_nothing_of_the_trace() {
    let text = r#"#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv, char **variables) {
    int status = 0, count = 0;
    char line[100];
    if (argc > 1) {
        printf("child %s\n", argv[1]);
        return 3;
    }
    for (char **at = environ; *at; at++)
        count += !strncmp(*at, "ALLWAYS", 7);
    printf("%d %d %s %s\n", count, environ == variables, environ[0], environ[1]);
    fflush(stdout);
    char *child[] = { argv[0], "spawned", 0 }, command[1000];
    pid_t process;
    posix_spawn(&process, argv[0], 0, 0, child, environ);
    waitpid(process, &status, 0);
    snprintf(command, sizeof command, "%s by-system", argv[0]);
    status += system(command);
    snprintf(command, sizeof command, "%s by-popen", argv[0]);
    FILE *file = popen(command, "r");
    if (fgets(line, sizeof line, file))
        fputs(line, stdout);
    status += pclose(file);
    fflush(stdout);
    if (vfork() == 0) {
        execl("/nowhere", "nothing", (char *)0);
        _exit(3);
    }
    wait(&process);
    status += process;
    if (_Fork() == 0) {
        for (volatile int i = 0; i < 1000; i++) {}
        _exit(3);
    }
    wait(&process);
    status += process;
    if (wait(&process) >= 0)
        abort();
    return WEXITSTATUS(status);
}
"#;
    let executable = build(&source("children.c", text), &[]);
    let directory = directory();
    let output = Command::new(&executable)
        .env_clear()
        .env("AAA", "1")
        .env(DIRECTORY, &directory)
        .env("ZZZ", "2")
        .env(FAULT, "bitflip thread=T_9 site=0 occurrence=0 detail=0")
        .output()
        .unwrap();
    let expected = "0 1 AAA=1 ZZZ=2\nchild spawned\nchild by-system\nchild by-popen\n";
    assert_eq!(printed(&output), expected);
    assert_eq!(output.status.code(), Some(15));
    let trace = Trace::read(&directory);
    assert_eq!((trace.missing.as_str(), trace.threads.len()), ("", 1));
    assert_eq!(trace.events("T_0").last(), Some(&Event::Exit { status: 15 }));
    assert!(trace.line("T_0", 13).is_empty() && trace.line("T_0", 41).is_empty());
    // Streams of another run are never written over.
    let length = || std::fs::metadata(directory.join(stream_name(0))).unwrap().len();
    let before = length();
    let output = Command::new(&executable).env(DIRECTORY, &directory).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.starts_with("allways: nothing can be written to "), "{message}");
    assert_eq!(length(), before);
}

/// Destructors of the program come after `on_exit`, and `quick_exit` and `abort` ask nobody.
#[test]
fn nothing_is_lost_however_the_process_ends() {
    let text = r#"#include <pthread.h>
#include <stdlib.h>
volatile int late;
__attribute__((destructor)) static void destructor(void) {
    late += 1;
}
void quick(void) {
    late += 2;
}
volatile int there;
void *endless(void *x) {
    for (;;)
        there++;
}
int main(int argc, char **argv) {
    pthread_t thread;
    at_quick_exit(quick);
    pthread_create(&thread, 0, endless, 0);
    while (!there) {}
    switch (argv[1][0]) {
    case 'e': exit(4);
    case 'q': quick_exit(5);
    case 'a': abort();
    }
    return 6;
}
"#;
    let executable = build(&source("ways.c", text), &[]);
    for (how, status, line) in
        [("exit", Some(4), 5), ("quick", Some(5), 8), ("abort", None, 21), ("return", Some(6), 5)]
    {
        let (trace, output) = run(&executable, &[how], None);
        assert_eq!(output.status.code(), status, "{how}");
        assert_eq!(trace.missing, "", "{how}");
        let events = trace.events("T_0");
        let exit = status.map(|status| Event::Exit { status: status as u64 });
        match exit {
            Some(exit) => assert_eq!(events.last(), Some(&exit), "{how}"),
            None => assert!(!events.iter().any(|event| matches!(event, Event::Exit { .. }))),
        }
        assert!(status.is_none() || !trace.line("T_0", line).is_empty(), "{how}");
        assert!(!trace.line("T_0_0", 13).is_empty(), "{how}");
        assert_eq!(trace.is_running, status.is_none(), "{how}");
    }
}

/// A process that goes on as another program never said that it exits.
#[test]
fn a_process_that_goes_on_as_another_program_is_told_apart() {
    let text = "#include <unistd.h>\nint main(void) {\nif (vfork() == 0)\n_exit(1);\n\
        execl(\"/bin/echo\", \"echo\", \"other\", (char *)0);\nreturn 3;\n}\n";
    let executable = build(&source("other.c", text), &[]);
    let (trace, output) = run(&executable, &[], None);
    assert_eq!((output.status.code(), printed(&output).as_str()), (Some(0), "other\n"));
    assert!(trace.is_running);
}

/// A signal handler may run while its thread waits for another. One that never lets a record be completed is noted: nothing
/// is written after it.
#[test]
fn signal_handlers_of_those_who_wait_are_logged() {
    let text = r#"#include <pthread.h>
#include <signal.h>
#include <unistd.h>
volatile int handled;
pthread_t first;
void handler(int signal) {
    handled = 7;
}
void *work(void *x) {
    while (!handled) {
        pthread_kill(first, SIGUSR1);
        usleep(1000);
    }
    return 0;
}
int main(void) {
    pthread_t thread;
    first = pthread_self();
    signal(SIGUSR1, handler);
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    return handled;
}
"#;
    let executable = build(&source("waiting.c", text), &[]);
    let (trace, output) = run(&executable, &[], None);
    assert_eq!((output.status.code(), trace.missing.as_str()), (Some(7), ""));
    assert_eq!(trace.line("T_0", 7)[0].1[0], 7);
    let text = r#"#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>
volatile long count, jumps;
sigjmp_buf back;
void handler(int signal) {
    siglongjmp(back, 1);
}
int main(void) {
    struct itimerval often = { { 0, 500 }, { 0, 500 } };
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &often, 0);
    sigsetjmp(back, 1);
    if (++jumps < 2000)
        for (;;)
            count++;
    setitimer(ITIMER_REAL, &(struct itimerval){}, 0);
    return 0;
}
"#;
    let executable = build(&source("jumping.c", text), &[]);
    let (trace, output) = run(&executable, &[], None);
    assert_eq!(output.status.code(), Some(0));
    // It takes some luck not to hit a record once in so many times; then all is there.
    let is_whole = trace.events("T_0").last() == Some(&Event::Exit { status: 0 });
    let said = trace.missing.starts_with("a signal handler or a cancellation ended the writing");
    assert!(said != is_whole, "{}", trace.missing);
}

/// A handler may be asked for as soon as a thread is there, and until it has been joined.
#[test]
fn signal_handlers_of_threads_that_begin_and_end_are_logged() {
    let text = r#"#include <pthread.h>
#include <signal.h>
volatile int handled;
void handler(int signal) {
    handled++;
}
void *work(void *x) {
    return 0;
}
int main(void) {
    signal(SIGUSR1, handler);
    for (int i = 0; i < 60; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, work, 0);
        for (int j = 0; j < 1 + i * 20; j++)
            pthread_kill(thread, SIGUSR1);
        pthread_join(thread, 0);
    }
    return handled == 0;
}
"#;
    let executable = build(&source("storm.c", text), &[]);
    let (trace, output) = run(&executable, &[], None);
    assert_eq!((output.status.code(), trace.missing.as_str()), (Some(0), ""));
    let of = |thread: &String| !trace.line(thread, 5).is_empty();
    assert!(trace.threads.keys().filter(|thread| of(thread)).count() > 10);
}

/// A signal handler that runs between two records is logged in its place, also on a stack of its own, and may end the process.
#[test]
fn signal_handlers_are_logged() {
    let text = r#"#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
volatile int handled;
void handler(int signal) {
    handled = 7;
}
void crashed(int signal) {
    _exit(handled);
}
int main(void) {
    stack_t stack = { .ss_sp = malloc(SIGSTKSZ), .ss_size = SIGSTKSZ };
    sigaltstack(&stack, 0);
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
    sigaction(SIGUSR1, &action, 0);
    action.sa_handler = crashed;
    sigaction(SIGSEGV, &action, 0);
    raise(SIGUSR1);
    *(volatile int *)8 = 1;
}
"#;
    let executable = build(&source("signals.c", text), &[]);
    let (trace, output) = run(&executable, &[], None);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(trace.line("T_0", 6)[0].1[0], 7);
    assert_eq!(trace.line("T_0", 9).first().map(|record| record.0), Some("load"));
    assert_eq!(trace.events("T_0").last(), Some(&Event::Exit { status: 7 }));
    assert_eq!(trace.missing, "");
}
