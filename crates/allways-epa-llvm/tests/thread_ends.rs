//! A thread ends when the last code of the program has been performed in it, and not before.

mod common;

use allways_epa_format::Event;
use common::{Record, Trace, build, printed, run, source};

/// The places of a thread's records of these lines, each once, in the order in which the lines come first; then that of its end.
fn ends_after(trace: &Trace, thread: &str, lines: &[u32]) {
    let records = &trace.threads[thread];
    let end = records.iter().position(|record| matches!(record, Record::Event(Event::End { .. })));
    let end = end.unwrap_or_else(|| panic!("{thread} has no end"));
    assert_eq!(end, records.len() - 1, "{thread} goes on after its end");
    let mut after = 0;
    for line in lines {
        let at = records.iter().position(|record| {
            matches!(record, Record::Instruction(site, _) if trace.site(*site).line == *line)
        });
        let at = at.unwrap_or_else(|| panic!("{thread} has nothing of line {line}"));
        assert!(at > after, "{thread}: line {line} is at {at}, after {after}");
        after = at;
    }
    // Nobody joins it before.
    let stamp = records[end].clone();
    let Record::Event(Event::End { stamp }) = stamp else { unreachable!() };
    let Some(Record::Event(Event::Begin { thread: number, .. })) = records.first() else {
        panic!("{thread} does not begin");
    };
    let joined = trace.events("T_0").into_iter().find_map(|event| match event {
        Event::Join { stamp, thread } if thread == *number => Some(stamp),
        _ => None,
    });
    assert!(joined.is_none_or(|joined| joined > stamp));
}

const PROGRAM: &str = r#"#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
volatile int handled, destroyed, rounds;
pthread_key_t key;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
void cleanup(void *x) {
    handled = 1; free(malloc(77));
}
void unlock(void *x) {
    pthread_mutex_unlock(&lock);
}
void destructor(void *x) {
    destroyed = 1;
    if (++rounds < 3)
        pthread_setspecific(key, x);
}
void *sleeper(void *x) {
    for (;;)
        pause();
}
pthread_t other;
void *work(void *how) {
    pthread_setspecific(key, how);
    pthread_cleanup_push(cleanup, 0);
    switch (*(char *)how) {
    case 'e':
        pthread_exit(0);
    case 'c':
        for (;;)
            pause();
    case 'w':
        pthread_mutex_lock(&lock);
        pthread_cleanup_push(unlock, 0);
        for (;;)
            pthread_cond_wait(&never, &lock);
        pthread_cleanup_pop(1);
    case 'j':
        pthread_join(other, 0);
    }
    pthread_cleanup_pop(1);
    return 0;
}
int main(int argc, char **argv) {
    pthread_t thread;
    pthread_key_create(&key, destructor);
    pthread_create(&thread, 0, work, argv[1]);
    if (argv[1][0] == 'j')
        pthread_create(&other, 0, sleeper, 0);
    if (argv[1][0] != 'e' && argv[1][0] != 'r')
        pthread_cancel(thread);
    pthread_join(thread, 0);
    return handled + destroyed + rounds;
}
"#;

#[test]
fn after_cleanup_and_destructors_however_it_ends() {
    let executable = build(&source("ends.c", PROGRAM), &[]);
    for how in ["return", "exit", "cancel", "wait", "join"] {
        let (trace, output) = run(&executable, &[how], None);
        assert_eq!(output.status.code(), Some(5), "{how}");
        ends_after(&trace, "T_0_0", &[9, 15, 16]);
        assert_eq!(trace.missing, "", "{how}");
        // What is allocated while the stack is unwound is the program's again.
        let is = |event: &Event| matches!(event, Event::Allocate { bytes: 77, .. });
        assert!(trace.events("T_0_0").iter().any(is), "{how}");
        if how == "wait" {
            // Whoever is cancelled while it waits has the lock again, and gives it back.
            let events = trace.events("T_0_0");
            let locks = events.iter().filter_map(|event| match event {
                Event::Lock { .. } => Some("lock"),
                Event::WaitBegin { .. } => Some("begin"),
                Event::WaitEnd { .. } => Some("end"),
                Event::Unlock { .. } => Some("unlock"),
                _ => None,
            });
            assert_eq!(locks.collect::<Vec<_>>(), ["lock", "begin", "end", "unlock"]);
        }
    }
}

#[test]
fn after_what_is_local_to_it_is_destroyed() {
    let text = r#"#include <pthread.h>
#include <thread>
int destroyed;
struct Local { int x = 1; ~Local() {
    destroyed += x;
} };
thread_local Local local;
struct Frame { ~Frame() {
    destroyed += 10;
} };
int main() {
    std::thread([] { Frame frame; local.x = 2; }).join();
    std::thread([] { Frame frame; local.x = 3; pthread_exit(nullptr); }).join();
    return destroyed;
}
"#;
    let executable = build(&source("local.cpp", text), &[]);
    let (trace, output) = run(&executable, &[], None);
    assert_eq!(output.status.code(), Some(25));
    ends_after(&trace, "T_0_0", &[9, 5]);
    ends_after(&trace, "T_0_1", &[9, 5]);
    let text = r#"
use std::cell::Cell;
struct Local(Cell<i32>);
impl Drop for Local { fn drop(&mut self) {
    std::process::exit(self.0.get() + 40);
} }
thread_local! { static LOCAL: Local = Local(Cell::new(1)); }
fn main() { std::thread::spawn(|| LOCAL.with(|local| local.0.set(2))).join().unwrap(); }
"#;
    let executable = build(&source("local.rs", text), &[]);
    let (trace, output) = run(&executable, &[], None);
    assert_eq!(output.status.code(), Some(42));
    assert_eq!(trace.events("T_0_0").last(), Some(&Event::Exit { status: 42 }));
}

/// The first thread may end before the process does. Whoever is the last performs what `exit` does.
#[test]
fn the_first_thread_ends_by_itself() {
    let text = r#"#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
volatile int there, late;
void last(void) {
    late = 1;
}
void *work(void *x) {
    char state = there;
    while (state != 'Z' && !x) {
        FILE *file = fopen("/proc/self/stat", "r");
        if (fscanf(file, "%*d %*s %c", &state) != 1)
            abort();
        fclose(file);
    }
    puts("worked");
    return 0;
}
void destructor(void *x) {
    there = 1;
}
int main(int argc, char **argv) {
    pthread_t thread;
    pthread_key_t key;
    atexit(last);
    pthread_key_create(&key, destructor);
    pthread_setspecific(key, &there);
    pthread_create(&thread, 0, work, argv[1]);
    if (argc > 1)
        pthread_join(thread, 0);
    pthread_exit(0);
}
"#;
    let executable = build(&source("first.c", text), &[]);
    for (arguments, last) in [(&[][..], "T_0_0"), (&["join"], "T_0")] {
        let (trace, output) = run(&executable, arguments, None);
        assert_eq!((output.status.code(), printed(&output).as_str()), (Some(0), "worked\n"));
        assert_eq!(trace.missing, "");
        let ends = |thread: &str| {
            let events = trace.events(thread).into_iter();
            events.filter(|event| matches!(event, Event::End { .. } | Event::Exit { .. })).count()
        };
        assert_eq!((ends("T_0"), ends("T_0_0")), (1, 1), "{last}");
        assert!(!trace.line(last, 7).is_empty() && !trace.is_running, "{last}");
        assert!(!trace.line("T_0", 21).is_empty());
    }
}

/// Data that is set again in every round outlives the end that the runtime can see: that is said.
#[test]
fn a_destructor_that_comes_after_the_end_is_noted() {
    let text = r#"#include <pthread.h>
pthread_key_t key;
volatile int rounds;
void destructor(void *x) {
    rounds++;
    pthread_setspecific(key, x);
}
void *work(void *x) {
    pthread_setspecific(key, &key);
    return 0;
}
int main(void) {
    pthread_t thread;
    pthread_key_create(&key, destructor);
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    return rounds;
}
"#;
    let executable = build(&source("again.c", text), &[]);
    let (trace, output) = run(&executable, &[], None);
    assert_eq!(output.status.code(), Some(4));
    assert!(
        trace.missing.starts_with("a thread performed instructions of the program after its end")
    );
}
