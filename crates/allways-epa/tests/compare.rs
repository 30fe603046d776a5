//! What differs between two runs, and how far it spreads.

mod sketch;

use allways_epa::compare::{DeviationKind, NodeKind, Relation, compare};
use allways_epa::format::{Event, Opcode};
use sketch::{INT, POINTER, Sketch, WORD};

const A: u64 = 0x5500_0000_1000;
const B: u64 = 0x5500_0000_1004;

/// What happens in a run of a program with a branch: threads 0 and 1 have each a list of records.
#[derive(Clone, Copy)]
enum Do {
    Load(u64, u64),
    Store(u64, u64),
    Branch(u64),
    Other,
    Injected,
    Exit(u64),
    End,
}

fn run(first: &[Do], second: Option<&[Do]>) -> Sketch {
    let mut s = Sketch::new();
    s.global("a", 4, A);
    s.global("b", 4, B);
    let load = s.site(Opcode::Load, "load", "f", 1, &[INT, POINTER]);
    let store = s.site(Opcode::Store, "store", "f", 2, &[INT, POINTER]);
    let branch = s.site(Opcode::Branch, "br", "f", 3, &[INT]);
    let other = s.site(Opcode::Compute, "add", "f", 4, &[INT, INT, INT]);
    s.begin(0, None, 0);
    if second.is_some() {
        s.create(0, 1, 0x7f00_0000_0700);
        s.begin(1, Some(0), 0);
    }
    for (thread, records) in [(0, first), (1, second.unwrap_or(&[]))] {
        for record in records {
            match *record {
                Do::Load(value, address) => s.put(thread, load, &[value, address]),
                Do::Store(value, address) => s.put(thread, store, &[value, address]),
                Do::Branch(value) => s.put(thread, branch, &[value]),
                Do::Other => s.put(thread, other, &[2, 1, 1]),
                Do::Injected => Event::Injected.put(s.stream(thread)),
                Do::Exit(status) => Event::Exit { status }.put(s.stream(thread)),
                Do::End => s.end(thread),
            }
        }
    }
    s
}

use Do::{Branch, End, Exit, Injected, Load, Other, Store};

#[test]
fn an_error_goes_through_memory_into_another_thread_and_into_control() {
    let golden = run(
        &[Store(1, A), Other, End],
        Some(&[Load(1, A), Store(1, B), Branch(0), Other, Other, End]),
    );
    let faulty = run(
        &[Injected, Store(9, A), Other, End],
        Some(&[Load(9, A), Store(9, B), Branch(1), Store(0, A), Other, End]),
    );
    let comparison = compare(&golden.sanitised(), &faulty.sanitised());
    let first = comparison.first.unwrap();
    assert_eq!((first.kind, first.thread.as_str(), first.index), (DeviationKind::Value, "T_0", 4));
    let [main, worker] = &comparison.threads[..] else { panic!("there are two threads") };
    assert_eq!((main.reached, main.control), (1, None));
    // The load, the store and the branch deviate; from there on all is reached: a store, an addition and the end.
    assert_eq!(worker.reached, 6);
    assert_eq!(worker.first.as_ref().unwrap().kind, DeviationKind::Value);
    assert_eq!(worker.control, Some(10));
    let spread = &comparison.spread;
    assert_eq!((spread.threads(), spread.instructions(), spread.objects()), (2, 4, 2));
    let edges = spread.edges.iter().map(|edge| {
        let name = |place: usize| spread.nodes[place].label.split(' ').next().unwrap();
        (name(edge.from), edge.relation, name(edge.to), edge.count)
    });
    let edges = edges.collect::<Vec<_>>();
    assert!(edges.contains(&("T_0", Relation::Creates, "T_0_0", 1)));
    assert!(edges.contains(&("store", Relation::Writes, "a", 2)));
    assert!(edges.contains(&("store", Relation::Writes, "b", 1)));
    assert!(edges.contains(&("a", Relation::IsRead, "load", 1)));
    assert!(edges.contains(&("T_0_0", Relation::Performs, "br", 1)));
    assert_eq!(edges.len(), 9);
    let counted = spread.nodes.iter().find(|node| node.kind == NodeKind::Instruction(1)).unwrap();
    assert_eq!(counted.count, 3);
}

#[test]
fn control_deviates_where_another_instruction_follows() {
    let golden = run(&[Branch(0), Other, End], None).sanitised();
    let faulty = run(&[Branch(0), Store(1, A), End], None).sanitised();
    let first = compare(&golden, &faulty).first.unwrap();
    assert_eq!(
        first.to_string(),
        "T_0 goes to `store 1 a  # main.c:2` in place of `add 2 1 1  # main.c:4` (record 2)"
    );
    assert_eq!(first.kind, DeviationKind::Control);
}

#[test]
fn threads_that_stop_or_go_on_or_are_not_there_deviate() {
    let kinds = |golden: &Sketch, faulty: &Sketch| {
        let comparison = compare(&golden.sanitised(), &faulty.sanitised());
        let kinds = comparison.threads.iter().map(|thread| thread.first.as_ref().map(|d| d.kind));
        kinds.collect::<Vec<_>>()
    };
    let whole = run(&[Other, End], Some(&[Other, End]));
    let killed = run(&[Other], Some(&[Other]));
    let early = Some(DeviationKind::EndsEarly);
    assert_eq!(kinds(&whole, &killed), [early, early]);
    let on = Some(DeviationKind::GoesOn);
    assert_eq!(kinds(&killed, &whole), [on, on]);
    let alone = run(&[Other, End], None);
    // The first thread does not create the other.
    let control = Some(DeviationKind::Control);
    assert_eq!(kinds(&whole, &alone), [control, Some(DeviationKind::ThreadMissing)]);
    assert_eq!(kinds(&alone, &whole), [control, Some(DeviationKind::ThreadNew)]);
}

#[test]
fn of_a_process_that_was_killed_the_thread_with_the_fault_comes_first() {
    let whole = run(&[Other, End], Some(&[Other, Other, End])).sanitised();
    let killed = run(&[Other], Some(&[Other, Injected])).sanitised();
    let first = compare(&whole, &killed).first.unwrap();
    assert_eq!(first.to_string(), "T_0_0 stops where `add 2 1 1  # main.c:4` should come");
}

#[test]
fn threads_that_an_exit_cuts_off_are_no_deviation() {
    let long = run(&[Other, Exit(0)], Some(&[Other, Other])).sanitised();
    let short = run(&[Other, Exit(0)], Some(&[Other])).sanitised();
    let ended = run(&[Other, Exit(0)], Some(&[Other, End])).sanitised();
    let killed = run(&[Other], Some(&[Other])).sanitised();
    assert!(compare(&long, &short).is_same);
    assert!(compare(&short, &long).is_same);
    // It had come to its end by then, and now it does not although the process exits no earlier.
    let stopped = compare(&ended, &short);
    assert_eq!(stopped.first.map(|first| first.kind), Some(DeviationKind::EndsEarly));
    // The process exits earlier: that is what deviates, and the other thread is not reached.
    let later = run(&[Other, Other, Exit(0)], Some(&[Other, End])).sanitised();
    let sooner = compare(&later, &short);
    let firsts = sooner.threads.iter().map(|thread| thread.first.as_ref().map(|first| first.kind));
    assert_eq!(firsts.collect::<Vec<_>>(), [Some(DeviationKind::Control), None]);
    // It exits later: then there was more time, not less.
    assert!(compare(&short, &later).threads[1].first.is_none());
    assert!(
        compare(&ended, &run(&[Other, Other, Exit(0)], Some(&[Other])).sanitised()).threads[1]
            .first
            .is_some()
    );
    assert!(!compare(&long, &ended).is_same);
    assert!(!compare(&long, &killed).is_same);
    assert!(!compare(&long, &run(&[Other, Exit(1)], Some(&[Other])).sanitised()).is_same);
}

/// A thread that is cut off may have been about to create another.
#[test]
fn threads_that_were_not_created_yet_are_no_deviation() {
    let run_until = |creates: bool, deviates: bool, ends: bool| {
        let mut s = Sketch::new();
        let add = s.site(Opcode::Compute, "add", "f", 4, &[INT, INT, INT]);
        s.begin(0, None, 0);
        s.create(0, 1, 0x7f00_0000_0700);
        s.begin(1, Some(0), 0);
        s.put(1, add, &[2 + u64::from(deviates), 1, 1]);
        if creates {
            for (parent, child) in [(1, 2), (2, 3)] {
                s.create(parent, child, 0x7f00_0000_0700 + (child << 12));
                s.begin(child, Some(parent), 0);
                s.put(child, add, &[2, 1, 1]);
            }
        }
        s.put(0, add, &[2, 1, 1]);
        if ends {
            s.end(0);
        } else {
            Event::Exit { status: 0 }.put(s.stream(0));
        }
        s.sanitised()
    };
    let run = |creates, deviates| run_until(creates, deviates, false);
    for (golden, faulty) in [(true, false), (false, true)] {
        let comparison = compare(&run(golden, false), &run(faulty, false));
        assert!(comparison.is_same, "{:?}", comparison.first);
        assert_eq!(comparison.threads.len(), 4);
        assert!(comparison.spread.nodes.is_empty());
    }
    // A process that does not exit cuts nobody off.
    assert!(!compare(&run_until(true, false, true), &run_until(false, false, true)).is_same);
    // If the one that should have created them deviates, that may be why.
    let comparison = compare(&run(true, false), &run(false, true));
    let kinds = comparison.threads.iter().map(|thread| thread.first.as_ref().map(|d| d.kind));
    let missing = Some(DeviationKind::ThreadMissing);
    let expected = [None, Some(DeviationKind::Value), missing, missing];
    assert_eq!(kinds.collect::<Vec<_>>(), expected);
}

#[test]
fn a_thread_that_deviates_and_then_stops_deviates_in_control() {
    let golden = run(&[Store(1, A), Other, End], None).sanitised();
    let killed = run(&[Store(2, A)], None).sanitised();
    let comparison = compare(&golden, &killed);
    assert_eq!(comparison.first.unwrap().kind, DeviationKind::Value);
    assert_eq!(comparison.threads[0].control, Some(killed.records));
}

#[test]
fn different_programs_are_not_compared() {
    let one = run(&[Other, End], None);
    let mut other = one.clone();
    other.trace.program.name = "other.c".into();
    let comparison = compare(&one.sanitised(), &other.sanitised());
    assert!(!comparison.is_same);
    let first = comparison.first.unwrap();
    assert_eq!(first.kind, DeviationKind::OtherProgram);
    let expected = "the traces are of different programs (`sketch.c` and `other.c`)";
    assert_eq!(first.to_string(), expected);
    assert!(comparison.threads.is_empty());
}

#[test]
fn the_same_object_at_another_place_is_another_value() {
    let golden = run(&[Store(1, A), End], None).sanitised();
    let faulty = run(&[Store(1, A + 1), End], None).sanitised();
    assert!(!compare(&golden, &faulty).is_same);
}

#[test]
fn threads_are_matched_by_name_whatever_their_numbers() {
    // Threads 1 to 4 are created by thread 0, but for one, which 1 creates; thread 4 keeps the handle of thread 2.
    let run = |by_first: u64| {
        let mut s = Sketch::new();
        let store = s.site(Opcode::Store, "store", "f", 0, &[WORD, POINTER]);
        s.begin(0, None, 0);
        let mut children = 0;
        for thread in 1..5 {
            let is_nested = thread == by_first;
            let parent = u64::from(is_nested);
            s.create(parent, thread, thread << 32);
            s.begin(thread, Some(parent), if is_nested { 0 } else { children });
            children += u64::from(!is_nested);
        }
        s.put(4, store, &[2 << 32, 0]);
        s
    };
    let (golden, faulty) = (run(2).sanitised(), run(3).sanitised());
    assert_eq!([&golden, &faulty].map(|run| run.threads[2].name.as_str()), ["T_0_0_0", "T_0_1"]);
    let comparison = compare(&golden, &faulty);
    let first = comparison.first.unwrap();
    assert_eq!((first.kind, first.thread.as_str()), (DeviationKind::Value, "T_0_2"));
    assert_eq!(
        first.to_string(),
        "T_0_2 has `store T_0_1 0` in place of `store T_0_0_0 0` (record 13)"
    );
    assert_eq!(comparison.threads.iter().filter(|thread| thread.first.is_some()).count(), 1);
}
