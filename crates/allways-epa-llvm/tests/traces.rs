//! What instrumented programs log, and that they do the same as before.

mod common;

use allways_epa_format::{Event, Opcode};
use common::{Record, Trace, build, printed, program, run, source};
use std::process::Command;

#[test]
fn listing_4_is_logged_as_in_listing_5() {
    let executable = build(&program("listing4.c"), &[]);
    let (trace, output) = run(&executable, &[], None);
    assert_eq!(printed(&output), "Result: 9\n");
    assert_eq!(trace.threads.keys().collect::<Vec<_>>(), ["T_0", "T_0_0", "T_0_1"]);

    let array = trace.program.globals.iter().position(|global| global.name == "arr").unwrap();
    assert_eq!(trace.program.globals[array].bytes, 8);
    let array = trace.addresses[array];
    assert_eq!(trace.line("T_0", 17), [("store", &[3, array][..])]);
    assert_eq!(trace.line("T_0", 18), [("store", &[6, array + 4][..])]);
    assert_eq!(
        trace.line("T_0_0", 6),
        [("load", &[3, array][..]), ("add", &[4, 3, 1][..]), ("store", &[4, array][..])]
    );
    let less = u64::from(u32::MAX);
    assert_eq!(
        trace.line("T_0_1", 11),
        [("load", &[6, array + 4][..]), ("add", &[5, 6, less][..]), ("store", &[5, array + 4][..])]
    );
    assert_eq!(trace.line("T_0", 25), [("ret", &[0][..])]);
    let enter = &trace.program.sites[trace.find(|site| site.name == "call-main") as usize];
    assert_eq!((enter.opcode, enter.file.as_str()), (Opcode::Enter, "listing4.c"));

    // The function that a thread is created with is one of the globals.
    let calls = trace.line("T_0", 20);
    let function = trace.addresses.iter().position(|address| *address == calls[0].1[3]).unwrap();
    assert_eq!(trace.program.globals[function].name, "inc");
}

#[test]
fn stamps_order_creation_and_join() {
    let executable = build(&program("listing4.c"), &[]);
    let (trace, _) = run(&executable, &[], None);
    let main = trace.events("T_0");
    assert_eq!(main.last(), Some(&Event::Exit { status: 0 }));
    for (thread, name) in [(1, "T_0_0"), (2, "T_0_1")] {
        let stamp = |wanted: &dyn Fn(&Event) -> bool| {
            main.iter().find(|event| wanted(event)).and_then(|event| event.stamp()).unwrap()
        };
        let create = stamp(
            &|event| matches!(event, Event::Create { thread: created, .. } if *created == thread),
        );
        let join = stamp(
            &|event| matches!(event, Event::Join { thread: joined, .. } if *joined == thread),
        );
        let events = trace.events(name);
        let begin = events.first().and_then(|event| event.stamp()).unwrap();
        let Some(Event::End { stamp: end }) = events.last() else { panic!("{name} has no end") };
        assert!(create < begin && begin < *end && *end < join);
    }
    // The handle is what the program joins with.
    let Some(Event::Handle { handle, .. }) =
        main.iter().find(|event| matches!(event, Event::Handle { .. }))
    else {
        panic!("no handle");
    };
    assert_eq!(trace.line("T_0", 22)[1], ("call-pthread_join", &[0, *handle, 0][..]));
}

/// Compares two runs, and says the first instruction of a thread that differs.
fn same_essence(first: &Trace, second: &Trace) {
    let (one, other) = (first.essence(), second.essence());
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (thread, records) in &one {
        let differ = records.iter().zip(&other[thread]).find(|(one, other)| one != other);
        let site = differ.map(|((site, _), _)| first.site(*site));
        assert!(differ.is_none(), "{thread}: {differ:?} at {site:?}");
        assert_eq!(records.len(), other[thread].len(), "{thread}");
    }
}

/// Instruments, and compares with the program that is not, and two runs with each other.
fn same_as_plain(name: &str, arguments: &[&str]) {
    let executable = build(&program(name), &[]);
    let plain = build(&program(name), &["--plain"]);
    let expected = Command::new(plain).args(arguments).output().unwrap();
    let (first, output) = run(&executable, arguments, None);
    assert_eq!(printed(&output), printed(&expected));
    assert_eq!(output.status.code(), expected.status.code());
    let (second, _) = run(&executable, arguments, None);
    same_essence(&first, &second);
    // Without a place for the trace, nothing else changes.
    let silent = Command::new(&executable).args(arguments).output().unwrap();
    assert_eq!(printed(&silent), printed(&expected));
    // Every thread that was created has a stream that ends.
    for (thread, records) in &first.threads {
        let last = records.last().unwrap();
        let ended = matches!(last, Record::Event(Event::End { .. } | Event::Exit { .. }));
        assert!(ended, "{thread} ends with {last:?}");
    }
}

#[test]
fn quicksort() {
    same_as_plain("quicksort.c", &["3", "60"]);
}

#[test]
fn pca() {
    same_as_plain("pca.c", &["4", "8"]);
}

#[test]
fn kmeans() {
    same_as_plain("kmeans.c", &["4", "20"]);
}

#[test]
fn blackscholes() {
    same_as_plain("blackscholes.c", &["3", "20"]);
}

#[test]
fn swaptions() {
    same_as_plain("swaptions.c", &["2", "4", "3"]);
}

#[test]
fn quicksort_in_rust() {
    same_as_plain("quicksort.rs", &["2", "30"]);
}

#[test]
fn kmeans_in_rust() {
    same_as_plain("kmeans.rs", &["3", "12"]);
}

#[test]
fn names_of_threads_tell_who_created_them() {
    let executable = build(&program("quicksort.c"), &[]);
    let (trace, _) = run(&executable, &["2", "100"], None);
    // The first thread sorts the right part itself, which it splits again; so does the thread of the left part.
    let names: Vec<&str> = trace.threads.keys().map(String::as_str).collect();
    assert_eq!(names, ["T_0", "T_0_0", "T_0_0_0", "T_0_1"]);
}

/// Locks are taken and given back in turn, and no two threads have one at the same time.
fn locks_alternate(name: &str) {
    let executable = build(&program(name), &[]);
    let (trace, output) = run(&executable, &[], None);
    assert_eq!(printed(&output), "length: 8, sum: 1212\n");
    let mut all = Vec::new();
    for thread in ["T_0_0", "T_0_1"] {
        let events = trace.events(thread).into_iter();
        let locks: Vec<_> = events
            .filter(|event| matches!(event, Event::Lock { .. } | Event::Unlock { .. }))
            .collect();
        assert_eq!(locks.len(), 8);
        all.extend(locks);
    }
    all.sort_by_key(|event| event.stamp());
    for pair in all.chunks(2) {
        let [Event::Lock { address: taken, .. }, Event::Unlock { address: given, .. }] = pair
        else {
            panic!("{pair:?}");
        };
        assert_eq!(taken, given);
    }
}

#[test]
fn locks_of_the_c_library() {
    locks_alternate("reversible-queue.c");
}

#[test]
fn locks_of_rust() {
    locks_alternate("reversible-queue.rs");
}

#[test]
fn memory_is_logged() {
    let text = "#include <stdlib.h>\n#include <string.h>\nint main(void) {\nchar *a = malloc(100);\n\
        a = realloc(a, 5000);\nchar b[64];\nmemset(b, 7, 64);\nmemcpy(a, b, 64);\nfree(a);\nfree(0);\nreturn a == 0;\n}\n";
    let executable = build(&source("memory.c", text), &[]);
    let (trace, _) = run(&executable, &[], None);
    let events = trace.events("T_0");
    let memory = events.iter().filter_map(|event| match event {
        Event::Allocate { address, bytes, .. } => Some((*address, Some(*bytes))),
        Event::Free { address, .. } => Some((*address, None)),
        _ => None,
    });
    let memory: Vec<_> = memory.collect();
    let (first, second) = (memory[0].0, memory[2].0);
    assert_eq!(memory, [(first, Some(100)), (first, None), (second, Some(5000)), (second, None)]);
    let (name, set) = *trace.line("T_0", 7).last().unwrap();
    assert_eq!((name, &set[1..]), ("set", &[7, 64][..]));
    let (name, copied) = *trace.line("T_0", 8).last().unwrap();
    assert_eq!((name, copied), ("copy", &[second, set[0], 64][..]));
}

#[test]
fn exceptions_of_cpp_arrive() {
    let text = r#"
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
struct Early { std::string text = "long enough to be allocated on the heap"; ~Early() { std::cout << text.size() << "\n"; } } early;
std::mutex lock;
std::condition_variable changed;
bool ready;
int half(int x) { if (x % 2) throw std::runtime_error("odd"); return x / 2; }
int main() {
    int sum = 0;
    std::thread other([&] {
        std::unique_lock<std::mutex> held(lock);
        changed.wait(held, [] { return ready; });
        for (int i = 0; i < 4; i++)
            try { sum += half(i); } catch (const std::exception &) { sum += 100; }
    });
    { std::lock_guard<std::mutex> held(lock); ready = true; }
    changed.notify_one();
    other.join();
    long double wide = sum; wide *= 2;
    std::cout << sum << " " << static_cast<double>(wide) << "\n";
    return 3;
}
"#;
    let executable = build(&source("exceptions.cpp", text), &["--", "-std=c++17"]);
    let (trace, output) = run(&executable, &[], None);
    assert_eq!(printed(&output), "201 402\n39\n");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(trace.events("T_0").last(), Some(&Event::Exit { status: 3 }));
    let landings = trace.threads["T_0_0"].iter().filter(|record| {
        matches!(record, Record::Instruction(site, _) if trace.site(*site).opcode == Opcode::Landing)
    });
    assert_eq!(landings.count(), 2);
    assert!(trace.program.sites.iter().any(|site| site.function == "half(int)"));
    let main = trace.events("T_0");
    assert!(main.iter().any(|event| matches!(event, Event::Signal { .. })));
    assert!(main.iter().any(|event| matches!(event, Event::Join { thread: 1, .. })));
}

#[test]
fn calls_with_many_arguments_and_wide_values() {
    let text = "#include <stdio.h>\nstruct wide { long a, b, c; };\n\
        static long add(int a, int b, int c, int d, int e, struct wide f, __int128 g) {\n\
        return a + b + c + d + e + f.a + f.b + f.c + (long)(g >> 70);\n}\nint main(void) {\n\
        struct wide w = { 1, 2, 3 };\nprintf(\"%ld\\n\", add(1, 2, 3, 4, 5, w, (__int128)9 << 70));\nreturn 0;\n}\n";
    let executable = build(&source("many.c", text), &[]);
    let (trace, output) = run(&executable, &[], None);
    assert_eq!(printed(&output), "30\n");
    let (_, values) = *trace.line("T_0", 8).iter().find(|record| record.0 == "call-add").unwrap();
    assert_eq!(values[..6], [30, 1, 2, 3, 4, 5]);
}

#[test]
fn a_fork_leaves_the_streams_alone() {
    let text = "#include <stdio.h>\n#include <sys/wait.h>\n#include <unistd.h>\nint main(void) {\nint status;\n\
        if (fork() == 0) {\nfor (volatile int i = 0; i < 1000; i++) {}\n_exit(5);\n}\nwait(&status);\n\
        for (volatile int i = 0; i < 10; i++) {}\n_exit(WEXITSTATUS(status));\n}\n";
    let executable = build(&source("fork.c", text), &[]);
    let (trace, output) = run(&executable, &[], None);
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(trace.events("T_0").last(), Some(&Event::Exit { status: 5 }));
    assert!(trace.line("T_0", 7).is_empty());
    assert!(!trace.line("T_0", 11).is_empty());
}
