//! What a trace says of threads and locks that are not those of POSIX, and what it says if it is not complete.

mod common;

use allways_epa_format::{DIRECTORY, Event};
use common::{Trace, build, directory, printed, run, source};
use std::process::Command;

/// Threads, locks and condition variables of C11 are the same ones by other names.
#[test]
fn threads_of_c11() {
    let text = r#"#include <stdio.h>
#include <threads.h>
mtx_t lock;
cnd_t changed;
int ready, sum;
int work(void *x) {
    mtx_lock(&lock);
    while (!ready)
        cnd_wait(&changed, &lock);
    sum += 3;
    mtx_unlock(&lock);
    if (x)
        thrd_exit(-8);
    return -7;
}
int main(void) {
    thrd_t first, second;
    int one, other;
    mtx_init(&lock, mtx_plain);
    cnd_init(&changed);
    thrd_create(&first, work, 0);
    thrd_create(&second, work, &sum);
    mtx_lock(&lock);
    ready = 1;
    cnd_broadcast(&changed);
    mtx_unlock(&lock);
    if (thrd_join(first, &one) != thrd_success || thrd_join(second, &other) != thrd_success)
        return 1;
    cnd_destroy(&changed);
    mtx_destroy(&lock);
    printf("%d %d %d\n", sum, one, other);
    return 0;
}
"#;
    let executable = build(&source("c11.c", text), &[]);
    let (trace, output) = run(&executable, &[], None);
    assert_eq!(printed(&output), "6 -7 -8\n");
    assert_eq!(trace.missing, "");
    let at = |name: &str| {
        trace.addresses
            [trace.program.globals.iter().position(|global| global.name == name).unwrap()]
    };
    let (lock, condition) = (at("lock"), at("changed"));
    let essence = |thread: &str| {
        let events = trace.events(thread).into_iter();
        let of = |address, text| match address {
            address if address == lock => format!("{text} lock"),
            address if address == condition => format!("{text} condition"),
            _ => format!("{text} something else"),
        };
        let essence = events.filter_map(|event| match event {
            Event::Renew { address, .. } => Some(of(address, "renew")),
            Event::Lock { address, .. } => Some(of(address, "take")),
            Event::Unlock { address, .. } => Some(of(address, "give back")),
            Event::Broadcast { condition, .. } => Some(of(condition, "wake")),
            Event::Create { thread, .. } => Some(format!("create {thread}")),
            Event::Join { thread, .. } => Some(format!("join {thread}")),
            Event::End { .. } => Some("end".to_owned()),
            _ => None,
        });
        essence.collect::<Vec<_>>()
    };
    assert_eq!(
        essence("T_0"),
        [
            "renew lock",
            "renew condition",
            "create 1",
            "create 2",
            "take lock",
            "wake condition",
            "give back lock",
            "join 1",
            "join 2",
            "renew condition",
            "renew lock",
        ]
    );
    for thread in ["T_0_0", "T_0_1"] {
        assert_eq!(essence(thread), ["take lock", "give back lock", "end"]);
        let events = trace.events(thread);
        let waits = |begins: bool| {
            let is = |event: &&Event| match event {
                Event::WaitBegin { condition: at, lock: held, .. } => {
                    begins && (*at, *held) == (condition, lock)
                }
                Event::WaitEnd { condition: at, lock: held, .. } => {
                    !begins && (*at, *held) == (condition, lock)
                }
                _ => false,
            };
            events.iter().filter(is).count()
        };
        assert_eq!(waits(true), waits(false));
    }
}

/// What is made at run time begins and ends; how many threads a barrier waits for is known.
#[test]
fn locks_and_barriers_begin_and_end() {
    let text = r#"#include <pthread.h>
#include <time.h>
pthread_mutex_t mutex, fixed = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond;
pthread_rwlock_t rwlock;
pthread_spinlock_t spin;
pthread_barrier_t barrier;
void *work(void *x) {
    return x;
}
int main(void) {
    struct timespec until;
    pthread_t thread, other;
    pthread_mutex_init(&mutex, 0);
    pthread_cond_init(&cond, 0);
    pthread_rwlock_init(&rwlock, 0);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    pthread_barrier_init(&barrier, 0, 17);
    pthread_barrier_init(&barrier, 0, 0);
    pthread_mutex_lock(&fixed);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 1000;
    pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &until);
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &until);
    pthread_rwlock_unlock(&rwlock);
    pthread_create(&thread, 0, work, 0);
    pthread_create(&other, 0, work, 0);
    pthread_clockjoin_np(thread, 0, CLOCK_MONOTONIC, &until);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1000;
    pthread_timedjoin_np(other, 0, &until);
    pthread_mutex_destroy(&mutex);
    pthread_cond_destroy(&cond);
    pthread_rwlock_destroy(&rwlock);
    pthread_spin_destroy(&spin);
    pthread_barrier_destroy(&barrier);
    return 0;
}
"#;
    let executable = build(&source("renewed.c", text), &["--", "-D_GNU_SOURCE"]);
    let (trace, _) = run(&executable, &[], None);
    let name = |address: u64| {
        let at = trace.addresses.iter().position(|known| *known == address);
        at.map_or("?", |at| trace.program.globals[at].name.as_str())
    };
    let events = trace.events("T_0").into_iter().filter_map(|event| match event {
        Event::Renew { address, .. } => Some(format!("renew {}", name(address))),
        Event::Barrier { address, count, .. } => Some(format!("{} of {count}", name(address))),
        Event::Lock { address, .. } => Some(format!("lock {}", name(address))),
        Event::LockShared { address, .. } => Some(format!("share {}", name(address))),
        Event::Join { thread, .. } => Some(format!("join {thread}")),
        _ => None,
    });
    assert_eq!(
        events.collect::<Vec<_>>(),
        [
            "renew mutex",
            "renew cond",
            "renew rwlock",
            "renew spin",
            "renew barrier",
            "barrier of 17",
            "lock fixed",
            "lock mutex",
            "share rwlock",
            "lock rwlock",
            "join 1",
            "join 2",
            "renew mutex",
            "renew cond",
            "renew rwlock",
            "renew spin",
            "renew barrier",
        ]
    );
}

/// Threads that come into being by other means have no stream: that is noted, once they perform anything of the program.
#[test]
fn threads_that_nobody_saw_begin_are_noted() {
    let text = r#"#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
volatile int done;
void notify(union sigval value) {
    done = 1;
}
int child(void *x) {
    done = 2;
    return 0;
}
int main(int argc, char **argv) {
    char *stack = (char *)malloc(65536) + 65536;
    switch (argv[1][0]) {
    case 't': {
        struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = notify };
        struct itimerspec soon = { .it_value = { .tv_nsec = 1000 } };
        timer_t timer;
        timer_create(CLOCK_MONOTONIC, &event, &timer);
        timer_settime(timer, 0, &soon, 0);
        while (!done) {}
        return done;
    }
    case 'c':
        waitpid(clone(child, stack, CLONE_VM | SIGCHLD, 0), 0, 0);
        return done;
    case 'f':
        waitpid(clone(child, stack, SIGCHLD, 0), 0, 0);
        return done;
    }
    return 0;
}
"#;
    let executable = build(&source("unseen.c", text), &[]);
    for (how, status, said) in [
        ("timer", 1, "a thread of which nobody saw the beginning performed"),
        ("clone", 2, "the program called clone; "),
        ("fork", 0, ""),
        ("none", 0, ""),
    ] {
        let (trace, output) = run(&executable, &[how], None);
        assert_eq!(output.status.code(), Some(status), "{how}");
        let missing = &trace.missing;
        assert!(missing.starts_with(said) && missing.is_empty() == said.is_empty(), "{missing}");
        assert!(missing.lines().count() <= 1, "{missing}");
        assert_eq!(trace.threads.len(), 1);
    }
}

/// When no room is left on the disk, the program goes on, and the trace says that it does not have all.
#[test]
fn a_full_disk_is_noted() {
    let text = "#include <stdio.h>\nvolatile long sum;\nint main(void) {\nfor (long i = 0; i < 400000; i++)\nsum += i;\n\
        printf(\"%ld\\n\", sum);\nreturn 0;\n}\n";
    let executable = build(&source("full.c", text), &[]);
    let directory = directory();
    // A file system of one mebibyte, which is gone with the namespace; what is in it is copied before.
    let script = "mount -t tmpfs -o size=1m none \"$2\" || exit 99\n\
        ALLWAYS_TRACE=\"$2\" \"$1\"; status=$?; cp \"$2\"/* \"$3\"; exit $status";
    let (small, copy) = (directory.join("small"), directory.join("copy"));
    std::fs::create_dir(&small).unwrap();
    std::fs::create_dir(&copy).unwrap();
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script, "sh"])
        .args([&executable, &small, &copy])
        .env_remove(DIRECTORY)
        .output();
    // Not everybody may mount something.
    let Some(output) = output.ok().filter(|output| !matches!(output.status.code(), Some(1 | 99)))
    else {
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(printed(&output), "79999800000\n");
    let trace = Trace::read(&copy);
    assert!(trace.missing.contains("no space is left on the disk"), "{}", trace.missing);
    assert!(trace.line("T_0", 5).len() > 10_000);
}

/// Where the functions are whose place is taken is known from the beginning on: no thread allocates for it.
#[test]
fn to_find_a_function_allocates_nothing_in_threads() {
    let text = r#"#include <pthread.h>
#include <time.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
void *work(void *x) {
    struct timespec past = { 0, 0 };
    pthread_mutex_lock(&lock);
    pthread_cond_clockwait(&never, &lock, CLOCK_MONOTONIC, &past);
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    return 0;
}
"#;
    let executable = build(&source("found.c", text), &["--", "-D_GNU_SOURCE"]);
    let (trace, _) = run(&executable, &[], None);
    let events = trace.events("T_0_0");
    let is = |event: &Event| matches!(event, Event::Allocate { .. } | Event::Free { .. });
    assert!(!events.iter().any(is), "{events:?}");
    assert!(events.iter().any(|event| matches!(event, Event::WaitEnd { .. })), "{events:?}");
}
