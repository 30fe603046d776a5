//! Programs in Rust that use its standard library as people do: what is logged of it, that runs are the same, and what can be reversed.

mod common;

use allways_epa::compare::compare;
use allways_epa::determinism::{Chance, Hit, hits};
use allways_epa::format::{DIRECTORY, Event, Opcode};
use allways_epa::reverse::{Options, Reversibility, check};
use allways_epa::sanitise::{Sanitised, steps};
use allways_epa::step::Step;
use allways_epa::trace::Trace;
use common::{build, directory, printed, program, run, source};
use std::path::Path;
use std::process::Command;

/// How often each program runs.
const RUNS: usize = 20;

/// A run without a fault.
fn recorded(executable: &Path) -> Trace {
    let directory = directory();
    let output = Command::new(executable).env(DIRECTORY, &directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Trace::gather(&directory).unwrap()
}

fn recorded_of(name: &str, text: &str) -> Trace {
    recorded(&build(&source(name, text), &[]))
}

fn checked(trace: &Trace) -> Reversibility {
    check(&steps(trace).unwrap(), &Options::default()).unwrap()
}

/// The line of the source of a step, and its file.
fn line(trace: &Trace, step: &Step) -> (String, u32) {
    let site = step.site.map(|site| &trace.program.sites[site as usize]);
    site.map_or((String::new(), 0), |site| (site.file.clone(), site.line))
}

/// What is reversible, as lines of the source; nothing if nothing is.
fn reversible(trace: &Trace) -> Option<[(String, u32); 2]> {
    let steps = steps(trace).unwrap();
    match check(&steps, &Options::default()).unwrap() {
        Reversibility::Possible(witness) => {
            Some([witness.first, witness.second].map(|at| line(trace, &steps[at])))
        }
        _ => None,
    }
}

/// Calls that depend on the schedule.
fn chances(trace: &Trace) -> Vec<Hit> {
    let hits = hits(trace, &[], &[]).unwrap();
    hits.into_iter().filter(|hit| hit.chance == Chance::Schedule).collect()
}

/// All runs are the same when sanitised, and the check says so of the first one.
fn is_the_same_each_time(name: &str) {
    let executable = build(&program(name), &[]);
    let golden = recorded(&executable);
    let sanitised = Sanitised::new(&golden).unwrap();
    for _ in 1..RUNS {
        let trace = recorded(&executable);
        let comparison = compare(&sanitised, &Sanitised::new(&trace).unwrap());
        assert!(comparison.is_same, "{name}: {}", comparison.first.unwrap());
    }
    assert_eq!(chances(&golden), [], "{name}");
    let found = checked(&golden);
    let never = matches!(found, Reversibility::Never { .. });
    assert!(never, "{name}: {found:?} {:?}", reversible(&golden));
}

#[test]
fn quicksort_is_the_same_each_time() {
    is_the_same_each_time("quicksort.rs");
}

#[test]
fn kmeans_is_the_same_each_time() {
    is_the_same_each_time("kmeans.rs");
}

#[test]
fn a_pipeline_is_the_same_each_time() {
    is_the_same_each_time("pipeline.rs");
}

#[test]
fn services_are_the_same_each_time() {
    is_the_same_each_time("services.rs");
}

#[test]
fn two_producers_can_be_reversed() {
    let trace = recorded(&build(&program("two-producers.rs"), &[]));
    let mut lines = reversible(&trace).unwrap();
    lines.sort();
    let file = || "two-producers.rs".to_owned();
    assert_eq!(lines, [(file(), 9), (file(), 12)]);
}

/// The names of the events of a thread without memory and handles.
fn events(trace: &common::Trace, thread: &str) -> Vec<String> {
    let events = trace.events(thread).into_iter().filter(|event| {
        let other = matches!(event, Event::Allocate { .. } | Event::Free { .. });
        !other && !matches!(event, Event::Handle { .. } | Event::Library { .. })
    });
    let name = |event: Event| format!("{event:?}").split(' ').next().unwrap_or_default().to_owned();
    events.map(name).collect()
}

#[test]
fn locks_are_told_with_one_address() {
    let text = r#"
use std::sync::{Condvar, Mutex, RwLock};
struct Guarded { before: u8, lock: RwLock<(u8, u64)>, mutex: Mutex<u16>, changed: Condvar }
fn main() {
    let it = Guarded { before: 1, lock: RwLock::new((1, 2)), mutex: Mutex::new(3), changed: Condvar::new() };
    let mut sum = u64::from(it.before);
    sum += it.lock.read().unwrap().1;
    it.lock.write().unwrap().1 += 1;
    { let one = it.lock.try_read().unwrap(); assert!(it.lock.try_write().is_err()); sum += one.1; }
    { let one = it.lock.try_write().unwrap(); assert!(it.lock.try_read().is_err()); sum += one.1; }
    { let one = it.mutex.try_lock().unwrap(); assert!(it.mutex.try_lock().is_err()); sum += u64::from(*one); }
    let held = it.mutex.lock().unwrap();
    let (held, _) = it.changed.wait_timeout(held, std::time::Duration::from_millis(1)).unwrap();
    it.changed.notify_one();
    it.changed.notify_all();
    println!("{} {}", sum, *held);
}
"#;
    let (trace, output) = run(&build(&source("locks.rs", text), &[]), &[], None);
    assert_eq!(printed(&output), "12 3\n");
    assert_eq!(
        events(&trace, "T_0"),
        [
            "Begin",
            "LockShared",
            "Unlock",
            "Lock",
            "Unlock",
            "LockShared",
            "Unlock",
            "Lock",
            "Unlock",
            "Lock",
            "Unlock",
            "Lock",
            "WaitBegin",
            "WaitEnd",
            "Signal",
            "Broadcast",
            "Unlock",
            "Exit"
        ]
    );
    let mut held = Vec::new();
    for event in trace.events("T_0") {
        match event {
            Event::Lock { address, .. } | Event::LockShared { address, .. } => held.push(address),
            Event::Unlock { address, .. } => assert_eq!(held.pop(), Some(address)),
            Event::WaitBegin { lock, .. } | Event::WaitEnd { lock, .. } => {
                assert_eq!(held.last(), Some(&lock));
            }
            _ => {}
        }
    }
    assert_eq!(held, []);
}

#[test]
fn channels_are_told_with_one_address_and_only_what_was_received() {
    let text = r#"
use std::sync::mpsc::{channel, sync_channel};
fn main() {
    let (many, some) = channel::<String>();
    let more = many.clone();
    many.send("a".to_owned()).unwrap();
    more.send("b".to_owned()).unwrap();
    drop((many, more));
    assert_eq!(some.recv().unwrap() + &some.recv().unwrap(), "ab");
    assert!(some.recv().is_err());
    assert!(some.try_recv().is_err());
    let (one, other) = sync_channel::<u8>(1);
    one.try_send(1).unwrap();
    assert!(one.try_send(2).is_err());
    assert_eq!(other.recv_timeout(std::time::Duration::from_secs(9)), Ok(1));
    let (hand, over) = sync_channel::<[u64; 4]>(0);
    let thread = std::thread::spawn(move || { for at in 0..3 { hand.send([at; 4]).unwrap(); } });
    println!("{}", over.iter().map(|four| four[3]).sum::<u64>());
    thread.join().unwrap();
}
"#;
    let (trace, output) = run(&build(&source("channels.rs", text), &[]), &[], None);
    assert_eq!(printed(&output), "3\n");
    assert_eq!(
        events(&trace, "T_0"),
        [
            "Begin", "Renew", "Send", "Send", "Receive", "Receive", "Renew", "Send", "Receive",
            "Renew", "Create", "Receive", "Receive", "Receive", "Join", "Release", "Release",
            "Release", "Exit"
        ]
    );
    assert_eq!(events(&trace, "T_0_0"), ["Begin", "Send", "Send", "Send", "End"]);
    let mut channels = Vec::new();
    let mut made = Vec::new();
    for thread in ["T_0", "T_0_0"] {
        for event in trace.events(thread) {
            match event {
                Event::Renew { address, .. } => made.push(address),
                Event::Send { channel, .. } | Event::Receive { channel, .. } => {
                    channels.push(channel)
                }
                _ => {}
            }
        }
    }
    let [a, b, c] = made[..] else { panic!("{made:?}") };
    assert_eq!(channels, [a, a, a, a, b, b, c, c, c, c, c, c]);
    // A message is received after it was sent.
    let sent =
        trace.events("T_0_0").into_iter().filter(|event| matches!(event, Event::Send { .. }));
    let received = trace.events("T_0").into_iter();
    let received =
        received.filter(|event| matches!(event, Event::Receive { channel, .. } if *channel == c));
    for (sent, received) in sent.zip(received) {
        assert!(sent.stamp() < received.stamp());
    }
}

#[test]
fn threads_of_a_scope_are_joined_at_its_end() {
    let text = r#"
fn main() {
    let mut numbers = [1, 2, 3, 4];
    let barrier = std::sync::Barrier::new(2);
    let [one, _, two, three] = &mut numbers;
    std::thread::scope(|outer| {
        outer.spawn(|| { *one += 1; barrier.wait(); });
        std::thread::scope(|inner| {
            inner.spawn(|| *two += 1);
            inner.spawn(|| *three += 1).join().unwrap();
        });
        barrier.wait();
    });
    println!("{numbers:?}");
}
"#;
    let (trace, output) = run(&build(&source("scopes.rs", text), &[]), &[], None);
    assert_eq!(printed(&output), "[2, 2, 4, 5]\n");
    let main = trace.events("T_0");
    let joins: Vec<_> = main
        .iter()
        .filter_map(|event| match event {
            Event::Join { thread, stamp } => Some((*thread, *stamp)),
            _ => None,
        })
        .collect();
    // The inner scope ends while the thread of the outer one still waits.
    assert_eq!(joins.iter().map(|join| join.0).collect::<Vec<_>>(), [3, 2, 1]);
    for (thread, joined) in joins {
        let name = format!("T_0_{}", thread - 1);
        let Some(Event::End { stamp }) = trace.events(&name).last().copied() else {
            panic!("{name} has no end");
        };
        assert!(stamp < joined);
    }
    assert!(main.iter().any(|event| matches!(event, Event::Barrier { address: 0, count: 2, .. })));
    assert_eq!(events(&trace, "T_0_0"), ["Begin", "BarrierEnter", "BarrierLeave", "End"]);
}

/// A type that tells when it is dropped, and who counts by itself.
const COUNTED: &str = r#"
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
static COUNT: AtomicU32 = AtomicU32::new(0);
struct Noisy(u32);
impl Drop for Noisy {
    fn drop(&mut self) {
        COUNT.fetch_add(self.0, Ordering::SeqCst);
    }
}
"#;

#[test]
fn what_the_program_does_inside_is_logged_and_what_the_library_does_is_not() {
    let text = format!(
        r#"{COUNTED}
fn main() {{
    let shared = Arc::new(Noisy(3));
    let other = Arc::clone(&shared);
    drop(shared);
    drop(other);
    let (sender, receiver) = std::sync::mpsc::channel();
    sender.send(Noisy(4)).unwrap();
    drop(receiver);
    let once = std::sync::OnceLock::new();
    once.get_or_init(|| COUNT.fetch_add(5, Ordering::SeqCst));
    let lock = std::sync::Mutex::new(());
    let once = std::sync::Once::new();
    let caught = std::panic::catch_unwind(|| {{
        let _held = lock.lock().unwrap();
        once.call_once(|| panic!("on purpose"));
    }});
    assert!(caught.is_err() && lock.is_poisoned());
    // Now the library panics itself.
    assert!(std::panic::catch_unwind(|| once.call_once(|| ())).is_err());
    COUNT.fetch_add(6, Ordering::SeqCst);
    println!("{{}}", COUNT.load(Ordering::SeqCst));
}}
"#
    );
    let (trace, output) = run(&build(&source("inside.rs", &text), &[]), &[], None);
    assert_eq!(printed(&output), "18\n");
    let mut added = Vec::new();
    for record in &trace.threads["T_0"] {
        let common::Record::Instruction(site, values) = record else { continue };
        let site = trace.site(*site);
        for quiet in
            ["std::sync::mpmc::", "std::sys::sync::", "std::sync::once", "std::sync::poison::Flag"]
        {
            assert!(
                !site.function.contains(quiet) || site.function.contains("drop_in_place"),
                "{site:?}"
            );
        }
        if site.opcode == Opcode::AtomicUpdate {
            assert!(
                site.function.starts_with("core::sync::atomic::AtomicU32::fetch_add"),
                "{site:?}"
            );
            added.push(values[2]);
        }
    }
    assert_eq!(added, [3, 4, 5, 6]);
    let releases = trace.events("T_0").into_iter().filter_map(|event| match event {
        Event::Release { last, .. } => Some(last),
        _ => None,
    });
    // Two owners, what counts those who only watch, the receiver.
    assert_eq!(releases.collect::<Vec<_>>(), [false, true, true, true]);
    let locks = trace.events("T_0").into_iter();
    let locks = locks.filter(|event| matches!(event, Event::Lock { .. } | Event::Unlock { .. }));
    assert_eq!(locks.count(), 2);
}

/// Two threads each drop an owner; the first thread may keep one until both have ended.
fn owners(keeps: bool) -> String {
    let keep = if keeps { "let _kept = Arc::clone(&shared);" } else { "" };
    format!(
        r#"
use std::sync::Arc;
fn main() {{
    let shared = Arc::new(7);
    {keep}
    let other = Arc::clone(&shared);
    let one = std::thread::spawn(move || *shared);
    let two = std::thread::spawn(move || *other);
    println!("{{}}", one.join().unwrap() + two.join().unwrap());
}}
"#
    )
}

#[test]
fn which_owner_is_the_last_one_must_be_known() {
    assert_eq!(reversible(&recorded_of("kept.rs", &owners(true))), None);
    assert!(reversible(&recorded_of("last.rs", &owners(false))).is_some());
}

#[test]
fn whether_there_is_a_receiver_must_be_known() {
    let text = |ending: &str| {
        format!(
            "fn main() {{\nlet (sender, receiver) = std::sync::mpsc::channel();\n\
             let thread = std::thread::spawn(move || {{ let _ = sender.send(1); }});\n{ending}\n\
             println!(\"done\");\n}}\n"
        )
    };
    let early = text("drop(receiver);\nthread.join().unwrap();");
    let late = text("thread.join().unwrap();\ndrop(receiver);");
    let received = text("receiver.recv().unwrap();\ndrop(receiver);\nthread.join().unwrap();");
    assert!(reversible(&recorded_of("early.rs", &early)).is_some());
    assert_eq!(reversible(&recorded_of("late.rs", &late)), None);
    assert_eq!(reversible(&recorded_of("received.rs", &received)), None);
}

#[test]
fn calls_that_depend_on_the_schedule_are_told() {
    let text = "fn main() {\nlet lock = std::sync::Mutex::new(1);\nif lock.try_lock().is_ok() { println!(\"1\"); }\n\
         let shared = std::sync::Arc::new(1);\nprintln!(\"{}\", std::sync::Arc::strong_count(&shared));\n}\n";
    let hits = chances(&recorded_of("tries.rs", text));
    let lines: Vec<u32> = hits.iter().map(|hit| hit.line).collect();
    assert_eq!(lines, [3, 5], "{hits:?}");
}
