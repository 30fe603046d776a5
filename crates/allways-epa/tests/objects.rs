//! What is at an address, and when.

mod sketch;

use allways_epa::compare::compare;
use allways_epa::format::{Event, Opcode, ValueKind};
use allways_epa::sanitise::{ObjectKind, steps};
use allways_epa::step::{Action, Place};
use allways_epa::trace::TraceError;
use sketch::{INT, POINTER, Sketch, WORD};

/// A sketch whose first thread has begun, with a store of a pointer, one of a word, and a call of `free`.
fn sketch() -> (Sketch, u32, u32, u32) {
    let mut s = Sketch::new();
    let pointer = s.site(Opcode::Store, "store", "main", 0, &[POINTER, POINTER]);
    let word = s.site(Opcode::Store, "store", "main", 0, &[WORD, POINTER]);
    let free = s.site(Opcode::Call, "call-free", "main", 0, &[POINTER]);
    s.begin(0, None, 0);
    (s, pointer, word, free)
}

const HEAP: u64 = 0x5555_0000_1000;

#[test]
fn an_address_that_is_used_again_is_another_object() {
    let (mut s, pointer, _, free) = sketch();
    s.create(0, 1, 0x7f00_0000_0700);
    s.begin(1, Some(0), 0);
    s.allocate(0, HEAP, 16);
    s.put(0, pointer, &[HEAP, HEAP + 8]);
    s.free(0, HEAP);
    s.put(0, free, &[HEAP]);
    s.allocate(1, HEAP + 8, 16);
    s.put(1, pointer, &[HEAP + 8, HEAP + 16]);
    s.free(1, HEAP + 8);
    s.allocate(0, HEAP, 8);
    s.put(0, pointer, &[HEAP, HEAP]);
    let lines = s.lines();
    let expected = [
        "T_0 allocate T_0.o0 16",
        "T_0 store T_0.o0 T_0.o0+8",
        "T_0 free T_0.o0",
        "T_0 call-free T_0.o0",
        "T_0_0 allocate T_0_0.o0 16",
        "T_0_0 store T_0_0.o0 T_0_0.o0+8",
        "T_0_0 free T_0_0.o0",
        "T_0 allocate T_0.o1 8",
        "T_0 store T_0.o1 T_0.o1",
    ];
    assert_eq!(lines[lines.len() - expected.len()..], expected);
    let objects = s.sanitised().objects;
    assert_eq!((objects[0].from, objects[0].to), (4, 6));
    assert!(objects.iter().all(|object| object.kind == ObjectKind::Heap));
}

#[test]
fn a_new_object_takes_the_place_of_all_that_were_there() {
    let (mut s, pointer, _, free) = sketch();
    s.allocate(0, HEAP, 16);
    s.allocate(0, HEAP + 32, 16);
    s.free(0, HEAP);
    s.put(0, free, &[HEAP]);
    // The second was given back by something that wrote nothing.
    s.allocate(0, HEAP - 8, 64);
    s.put(0, pointer, &[HEAP, HEAP + 32]);
    // This is not the call that gave back what was there first.
    s.put(0, free, &[HEAP]);
    assert_eq!(s.lines()[6..], ["T_0 store T_0.o2+8 T_0.o2+40", "T_0 call-free T_0.o2+8"]);
    let ends = s.sanitised().objects.into_iter().map(|object| (object.from, object.to));
    assert_eq!(ends.collect::<Vec<_>>(), [(1, 3), (2, 5), (5, 7)]);
}

#[test]
fn a_handle_is_that_of_the_thread_which_has_it_now() {
    let (mut s, _, word, _) = sketch();
    let joins = s.site(Opcode::Call, "call-pthread_join", "main", 0, &[INT, WORD]);
    let [one, other] = [0x7f00_0000_0700, 0x7f00_0001_0700];
    s.create(0, 1, one);
    s.create(0, 2, other);
    s.begin(1, Some(0), 0);
    s.begin(2, Some(0), 1);
    s.end(1);
    // The creation begins before the first thread is joined; it has its number before whoever joined that one says so.
    s.event(2, |stamp| Event::Create { stamp, thread: 3 });
    s.event(0, |stamp| Event::Lock { stamp, address: HEAP });
    s.put(0, word, &[one, 0]);
    s.event(2, |stamp| Event::Handle { stamp, handle: one });
    s.put(2, word, &[one, 0]);
    s.join(0, 1);
    s.put(0, joins, &[0, one]);
    s.put(0, word, &[one, 0]);
    s.begin(3, Some(2), 0);
    s.end(3);
    // Nobody joins it. The next thread says what its number is before its creator does.
    s.event(0, |stamp| Event::Create { stamp, thread: 4 });
    s.begin(4, Some(0), 2);
    s.event(4, |stamp| Event::Handle { stamp, handle: one });
    s.put(4, word, &[one, 0]);
    s.event(0, |stamp| Event::Handle { stamp, handle: one });
    s.put(0, word, &[one, 0]);
    s.end(4);
    let lines =
        s.lines().into_iter().filter(|line| line.contains("store") || line.contains("call"));
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [
            "T_0 store T_0_0 0",
            "T_0_1 store T_0_1_0 0",
            "T_0 call-pthread_join 0 T_0_0",
            "T_0 store T_0_1_0 0",
            "T_0_2 store T_0_2 0",
            "T_0 store T_0_2 0",
        ]
    );
}

#[test]
fn memory_can_be_reallocated_where_it_is_or_elsewhere() {
    let run = |new: u64| {
        let (mut s, pointer, ..) = sketch();
        let values = [POINTER, POINTER, WORD];
        let realloc = s.site(Opcode::Call, "call-realloc", "main", 0, &values);
        s.allocate(0, HEAP, 16);
        s.free(0, HEAP);
        s.allocate(0, new, 32);
        s.put(0, realloc, &[new, HEAP, 32]);
        s.put(0, pointer, &[new, new + 24]);
        s
    };
    let (here, elsewhere) = (run(HEAP), run(HEAP + 0x100));
    assert_eq!(
        here.lines()[4..],
        ["T_0 call-realloc T_0.o1 T_0.o0 32", "T_0 store T_0.o1 T_0.o1+24"]
    );
    assert_eq!(here.lines(), elsewhere.lines());
    assert!(compare(&here.sanitised(), &elsewhere.sanitised()).is_same);
}

#[test]
fn pointers_past_an_object_are_its_end_or_unknown() {
    let (mut s, pointer, word, _) = sketch();
    s.allocate(0, HEAP, 16);
    s.allocate(0, HEAP + 32, 16);
    s.put(0, pointer, &[HEAP + 16, HEAP + 48]);
    // Further away nothing is known.
    s.put(0, pointer, &[HEAP + 17, HEAP + 20]);
    // So it is with numbers: iterators end there.
    s.put(0, word, &[HEAP + 15, HEAP]);
    s.put(0, word, &[HEAP + 16, HEAP]);
    s.put(0, word, &[HEAP + 17, HEAP]);
    // Where another begins, it is that one.
    s.allocate(0, HEAP + 16, 8);
    s.put(0, pointer, &[HEAP + 16, HEAP + 24]);
    // Neither are these addresses.
    s.put(0, pointer, &[0, 4095]);
    s.put(0, pointer, &[u64::MAX, 1 << 48]);
    let expected = [
        "T_0 store T_0.o0+16 T_0.o1+16".to_owned(),
        "T_0 store T_0.u0 T_0.u0+3".to_owned(),
        "T_0 store T_0.o0+15 T_0.o0".to_owned(),
        "T_0 store T_0.o0+16 T_0.o0".to_owned(),
        format!("T_0 store {} T_0.o0", HEAP + 17),
        "T_0 allocate T_0.o2 8".to_owned(),
        "T_0 store T_0.o2 T_0.o2+8".to_owned(),
        "T_0 store 0 fff".to_owned(),
        "T_0 store ffffffffffffffff 1000000000000".to_owned(),
    ];
    assert_eq!(s.lines()[3..], expected);
}

#[test]
fn functions_globals_and_handles_are_found_in_data() {
    let (mut s, _, word, _) = sketch();
    s.global("work", 0, 0x5500_0000_1000);
    s.global("table", 24, 0x5500_0000_2000);
    s.create(0, 1, 0x7f00_0000_0700);
    s.put(0, word, &[0x5500_0000_1000, 0x5500_0000_2000]);
    s.put(0, word, &[0x5500_0000_1001, 0x5500_0000_2008]);
    s.put(0, word, &[0x7f00_0000_0700, 0x5500_0000_2010]);
    // In a library, or on a stack.
    s.put(0, word, &[0x7f33_0000_0000, 0x5500_0000_2010]);
    let expected = [
        "T_0 store work table".to_owned(),
        format!("T_0 store {} table+8", 0x5500_0000_1001_u64),
        "T_0 store T_0_0 table+16".to_owned(),
        "T_0 store T_0.u0 table+16".to_owned(),
    ];
    assert_eq!(s.lines()[3..], expected);
}

#[test]
fn functions_that_are_left_leave_their_variables() {
    use Opcode::{Alloca, Enter, Landing, Return};
    let (mut s, pointer, ..) = sketch();
    let stack = 0x7ffc_0000_8000;
    let sites = ["outer", "inner"].map(|function| {
        [
            s.site(Enter, &format!("call-{function}"), function, 0, &[]),
            s.site(Alloca, "alloca", function, 0, &[POINTER, WORD]),
            s.site(Return, "ret", function, 0, &[]),
            s.site(Landing, "landingpad", function, 0, &[]),
        ]
    });
    let [outer, inner] = sites;
    s.put(0, outer[0], &[]);
    s.put(0, outer[1], &[stack, 8]);
    for depth in 1..4 {
        s.put(0, inner[0], &[]);
        s.put(0, inner[1], &[stack - depth * 8, 8]);
    }
    s.put(0, inner[2], &[]);
    // The innermost has returned; an exception leaves the other two.
    s.put(0, pointer, &[stack - 16, stack - 24]);
    s.put(0, outer[3], &[]);
    s.put(0, pointer, &[stack, stack - 16]);
    s.put(0, inner[0], &[]);
    s.put(0, inner[1], &[stack - 8, 8]);
    s.put(0, inner[2], &[]);
    s.put(0, outer[2], &[]);
    s.put(0, pointer, &[stack, 0]);
    let lines = s.lines();
    let stores = lines.iter().filter(|line| line.contains("store")).collect::<Vec<_>>();
    assert_eq!(
        stores,
        ["T_0 store T_0.o2 T_0.u0", "T_0 store T_0.o0 T_0.u1", "T_0 store T_0.u2 0"]
    );
    assert!(lines.contains(&"T_0 alloca T_0.o4 8".to_owned()));
    let ends = s.sanitised().objects.into_iter().filter(|object| object.kind == ObjectKind::Stack);
    assert_eq!(ends.map(|object| object.to).collect::<Vec<_>>(), [16, 11, 11, 9, 15]);
}

#[test]
fn unknown_addresses_have_names_of_each_thread() {
    let run = |first: u64, addresses: [u64; 2]| {
        let (mut s, pointer, ..) = sketch();
        s.create(0, 1, 0x7f00_0000_0700);
        s.create(0, 2, 0x7f00_0001_0700);
        for thread in [first, 3 - first] {
            s.begin(thread, Some(0), thread - 1);
            // The first worker meets the one, the second both, in another order.
            let [one, other] = addresses;
            if thread == 1 {
                s.put(thread, pointer, &[one, one + 8]);
            } else {
                s.put(thread, pointer, &[other, one + 4]);
            }
        }
        s
    };
    let one = run(1, [0x7f77_0000_1000, 0x7f77_0000_2000]);
    let other = run(2, [0x7f66_0000_2008, 0x7f66_0000_1000]);
    let comparison = compare(&one.sanitised(), &other.sanitised());
    assert!(comparison.is_same, "{:?}", comparison.first);
    assert!(one.lines().contains(&"T_0_1 store T_0_1.u0 T_0_1.u1".to_owned()));
    // The other address of the two is another object.
    let mixed = run(2, [0x7f66_0000_2000, 0x7f66_0000_2004]);
    assert!(!compare(&one.sanitised(), &mixed.sanitised()).is_same);
}

#[test]
fn threads_are_named_by_who_created_them() {
    let (mut s, ..) = sketch();
    for (parent, thread, child) in [(0, 1, 0), (1, 2, 0), (0, 3, 1), (1, 4, 1), (4, 5, 0)] {
        s.create(parent, thread, thread << 20);
        s.begin(thread, Some(parent), child);
    }
    // One that never wrote anything.
    s.create(0, 6, 6 << 20);
    let names = s.sanitised().threads.into_iter().map(|thread| thread.name).collect::<Vec<_>>();
    assert_eq!(names, ["T_0", "T_0_0", "T_0_0_0", "T_0_1", "T_0_0_1", "T_0_0_1_0", "T_0_2"]);
    s.begin(7, Some(0), 1);
    let error = allways_epa::sanitise::Sanitised::new(&s.trace).unwrap_err();
    assert_eq!(error, TraceError::Twice { name: "T_0_1".into() });
}

#[test]
fn a_stream_begins_with_its_thread() {
    let (mut s, pointer, ..) = sketch();
    s.put(1, pointer, &[0, 0]);
    let error = allways_epa::sanitise::Sanitised::new(&s.trace).unwrap_err();
    assert_eq!(error.to_string(), "the stream of thread 1 does not begin with its beginning");
}

#[test]
fn what_is_wider_than_64_bits_is_left_out() {
    let run = |hash: u64, value: u64| {
        let (mut s, ..) = sketch();
        let other = s.site(Opcode::Compute, "add", "main", 0, &[ValueKind::Other, INT]);
        s.put(0, other, &[hash, value]);
        s.sanitised()
    };
    let comparison = compare(&run(1, 1), &run(2, 1));
    assert!(comparison.is_same);
    assert_eq!(comparison.hidden, 1);
    assert!(!compare(&run(1, 1), &run(1, 2)).is_same);
}

#[test]
fn steps_are_accesses_and_synchronisation() {
    let (mut s, ..) = sketch();
    let stack = 0x7ffc_0000_8000;
    let alloca = s.site(Opcode::Alloca, "alloca", "main", 0, &[POINTER, WORD]);
    let load = s.site(Opcode::Load, "load", "main", 0, &[INT, POINTER]);
    let copy = s.site(Opcode::Copy, "memcpy", "main", 0, &[POINTER, POINTER, WORD]);
    let update = s.site(Opcode::AtomicUpdate, "atomicrmw", "main", 0, &[INT, POINTER, INT]);
    s.put(0, alloca, &[stack, 8]);
    s.put(0, alloca, &[stack - 8, 8]);
    // Only one of the two is seen by another thread.
    s.put(0, load, &[0, stack]);
    s.put(0, load, &[0, stack - 8]);
    s.allocate(0, HEAP, 16);
    s.create(0, 1, 0x7f00_0000_0700);
    s.begin(1, Some(0), 0);
    // The copy goes over the end of what was allocated, into eight bytes that both threads share.
    s.put(1, copy, &[HEAP + 12, stack, 8]);
    s.put(1, update, &[0, HEAP + 20, 1]);
    s.free(1, HEAP);
    let found = steps(&s.trace).unwrap();
    let place = |object, offset, bytes| Place { object, offset, bytes };
    let actions = found.iter().map(|step| (step.thread, step.record, step.action));
    let actions =
        actions.filter(|(_, _, action)| !matches!(action, Action::Event(Event::Begin { .. })));
    assert_eq!(
        actions.collect::<Vec<_>>(),
        [
            (0, 3, Action::Read(place(0, 0, 4))),
            (0, 5, Action::Event(Event::Allocate { stamp: 2, address: HEAP, bytes: 16 })),
            (0, 6, Action::Event(Event::Create { stamp: 3, thread: 1 })),
            (1, 1, Action::Read(place(0, 0, 8))),
            (1, 1, Action::Write(place(2, 12, 4))),
            (1, 1, Action::Write(place(3, 0, 4))),
            (1, 2, Action::Write(place(3, 4, 4))),
            // That memory is given back is a write to all of it.
            (1, 3, Action::Write(place(2, 0, 16))),
            (1, 3, Action::Event(Event::Free { stamp: 6, address: HEAP })),
        ]
    );
}

/// Two calls of a function have their locks at the same address, and they are two; a global is one.
#[test]
fn a_lock_on_a_stack_that_is_used_again_is_another_lock() {
    const STACK: u64 = 0x7ffd_0000_1000;
    const GLOBAL: u64 = 0x5555_5555_0000;
    let mut s = Sketch::new();
    s.global("lock", 40, GLOBAL);
    let enter = s.site(Opcode::Enter, "call-f", "f", 0, &[]);
    let alloca = s.site(Opcode::Alloca, "alloca", "f", 0, &[POINTER, WORD]);
    let leave = s.site(Opcode::Return, "ret", "f", 0, &[]);
    s.begin(0, None, 0);
    for _ in 0..2 {
        s.put(0, enter, &[]);
        s.put(0, alloca, &[STACK, 40]);
        for address in [STACK, STACK, GLOBAL] {
            s.event(0, |stamp| Event::Lock { stamp, address });
            s.event(0, |stamp| Event::Unlock { stamp, address });
        }
        s.put(0, leave, &[]);
    }
    let locks = steps(&s.trace).unwrap().into_iter().filter_map(|step| match step.action {
        Action::Event(Event::Lock { address, .. }) => Some(address),
        _ => None,
    });
    let locks: Vec<u64> = locks.collect();
    assert_eq!(locks.len(), 6);
    assert_eq!(locks[0], locks[1]);
    assert_eq!(locks[3], locks[4]);
    assert_ne!(locks[0], locks[3]);
    assert_eq!(locks[2], locks[5]);
}

/// Numbers that look like addresses where no address was met are numbers: an error in them is seen.
#[test]
fn a_number_is_an_address_only_where_the_thread_knows_some() {
    let (low, high) = (0x7f12_3456_7890, 0xff12_3456_7890);
    let stored = |knows: &dyn Fn(&mut Sketch, u32), thread, word: u64| {
        let (mut s, pointer, store, _) = sketch();
        s.create(0, 1, 0x5500_0000_0700);
        s.begin(1, Some(0), 0);
        knows(&mut s, pointer);
        s.put(thread, store, &[word, 0]);
        let line = s.lines().into_iter().rfind(|line| line.contains("store")).unwrap();
        line.split(' ').nth(2).unwrap().to_owned()
    };
    let nothing = |_: &mut Sketch, _| ();
    assert_eq!(stored(&nothing, 0, low), low.to_string());
    assert_eq!(stored(&nothing, 0, high), high.to_string());
    // On a machine with addresses of 47 bits, numbers of 48 bits remain numbers.
    let points = |s: &mut Sketch, pointer| s.put(0, pointer, &[0x7ffc_0000_8000, 0]);
    assert_eq!(stored(&points, 0, low), "T_0.u1");
    assert_eq!(stored(&points, 0, high), high.to_string());
    let points_high = |s: &mut Sketch, pointer| s.put(0, pointer, &[0xffff_f000_8000, 0]);
    assert_eq!(stored(&points_high, 0, high), "T_0.u1");
    assert_eq!(stored(&points_high, 0, low), low.to_string());
    // What another thread has met by then depends on who is faster.
    assert_eq!(stored(&points, 1, low), low.to_string());
    let allocates = |s: &mut Sketch, _| s.allocate(1, 0x7e00_0000_1000, 8);
    assert_eq!(stored(&allocates, 1, low), "T_0_0.u0");
    let (mut s, pointer, store, _) = sketch();
    s.put(0, pointer, &[0x7ffc_0000_8000, 0]);
    s.create(0, 1, 0x5500_0000_0700);
    s.begin(1, Some(0), 0);
    s.put(1, store, &[low, 0]);
    // Who created it knew.
    assert_eq!(s.lines().pop().unwrap(), "T_0_0 store T_0_0.u0 0");
    // The number of a thread is an address, and so are those of globals: all threads know these.
    let handle = |s: &mut Sketch, _| s.create(0, 2, 0x7f00_0000_0700);
    assert_eq!(stored(&handle, 0, low), "T_0.u0");
    let global = |s: &mut Sketch, _| s.global("library", 8, 0x7f00_0000_0700);
    assert_eq!(stored(&global, 0, low), "T_0.u0");
    assert_eq!(stored(&global, 1, low), "T_0_0.u0");
}

/// Memory that was given back stays known, but what is there now is what is meant.
#[test]
fn where_memory_ends_that_is_there_is_not_where_memory_began_that_was() {
    let (mut s, pointer, ..) = sketch();
    s.allocate(0, HEAP + 16, 16);
    s.free(0, HEAP + 16);
    s.put(0, pointer, &[HEAP + 16, HEAP + 20]);
    s.allocate(0, HEAP, 16);
    s.put(0, pointer, &[HEAP + 16, HEAP + 20]);
    let lines = s.lines();
    assert!(lines.contains(&"T_0 store T_0.o0 T_0.o0+4".to_owned()), "{lines:?}");
    assert_eq!(lines.last().unwrap(), "T_0 store T_0.o1+16 T_0.o0+4");
}

/// What nobody saw being allocated is not the program's, nor is it given back twice.
#[test]
fn only_what_is_there_is_given_back() {
    let (mut s, ..) = sketch();
    s.free(0, HEAP + 64);
    s.allocate(0, HEAP, 16);
    s.free(0, HEAP);
    s.free(0, HEAP);
    let lines = s.lines();
    let freed: Vec<_> = lines.iter().filter(|line| line.contains("free")).collect();
    assert_eq!(freed, ["T_0 free T_0.o0"]);
    let writes = steps(&s.trace).unwrap().into_iter();
    let writes = writes.filter(|step| matches!(step.action, Action::Write(_)));
    assert_eq!(writes.count(), 1);
}
