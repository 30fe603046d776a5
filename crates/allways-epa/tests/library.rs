//! What functions do to memory that are not instrumented, in traces made by hand.

mod sketch;

use allways_epa::determinism::hits;
use allways_epa::format::{Event, Opcode, ValueKind};
use allways_epa::sanitise::{Accesses, accesses_of};
use allways_epa::step::Action;
use sketch::{INT, POINTER, Sketch, WORD};

/// A call of a function.
fn call(s: &mut Sketch, callee: &str, has_result: bool, values: &[ValueKind]) -> u32 {
    let site = s.site(Opcode::Call, &format!("call-{callee}"), "main", 5, values);
    let known = &mut s.trace.program.sites[site as usize];
    known.callee = callee.to_owned();
    known.has_result = has_result;
    site
}

/// Objects of 100 bytes at 0x10000 and 0x20000, and one that nobody can write at 0x30000.
fn sketch() -> Sketch {
    let mut s = Sketch::new();
    s.global("first", 100, 0x10000);
    s.global("second", 100, 0x20000);
    s.global("text", 100, 0x30000);
    s.trace.program.globals[2].constant = true;
    s.begin(0, None, 0);
    s
}

/// The accesses, as texts: what is done, the global, the first byte and how many.
fn accesses(s: &Sketch) -> Vec<String> {
    let Accesses { steps, .. } = accesses_of(&s.trace, &[]).unwrap();
    let text = |word: &str, place: allways_epa::step::Place| {
        let known = s.trace.program.globals.get(place.object as usize);
        let name = known.map_or("other", |global| global.name.as_str());
        format!("{word} {name}+{} {}", place.offset, place.bytes)
    };
    let texts = steps.iter().filter_map(|step| match step.action {
        Action::Read(place) => Some(text("read", place)),
        Action::Write(place) => Some(text("write", place)),
        Action::Event(_) => None,
    });
    texts.collect()
}

/// The accesses of one call.
fn accessed(callee: &str, has_result: bool, kinds: &[ValueKind], values: &[u64]) -> Vec<String> {
    let mut s = sketch();
    let site = call(&mut s, callee, has_result, kinds);
    s.put(0, site, values);
    accesses(&s)
}

#[test]
fn sizes_are_those_of_arguments_results_and_texts() {
    // The result, the arguments, and how long the second is as a text.
    let kinds = [POINTER, POINTER, POINTER, WORD];
    let found = accessed("strcpy", true, &kinds, &[0x10008, 0x10008, 0x20000, 6]);
    assert_eq!(found, ["write first+8 6", "read second+0 6"]);
    let found =
        accessed("memset", true, &[POINTER, POINTER, INT, WORD], &[0x10000, 0x10000, 7, 20]);
    assert_eq!(found, ["write first+0 20"]);
    let found =
        accessed("qsort", false, &[POINTER, WORD, WORD, POINTER], &[0x10004, 5, 4, 0x99999]);
    assert_eq!(found, ["write first+4 20"]);
    // Of ten elements of four bytes three were read, from a stream that is in no object.
    let kinds = [WORD, POINTER, WORD, WORD, POINTER];
    let found = accessed("fread", true, &kinds, &[3, 0x10000, 4, 10, 0x77770]);
    assert_eq!(found, ["write first+0 12", "write other+0 8"]);
    // Cut off after eight bytes; and nothing at all, as it failed.
    let kinds = [INT, POINTER, WORD, POINTER, WORD];
    let found = accessed("snprintf", true, &kinds, &[50, 0x10000, 8, 0x30000, 3]);
    assert_eq!(found, ["write first+0 8", "read text+0 3"]);
    let found = accessed("snprintf", true, &kinds, &[u64::from(u32::MAX), 0x10000, 8, 0x30000, 3]);
    assert_eq!(found, ["read text+0 3"]);
    // Of further arguments, those that point to something are read to the end; a number is none, whatever it looks like.
    let kinds = [INT, POINTER, POINTER, WORD, POINTER, WORD];
    let found = accessed("sprintf", true, &kinds, &[5, 0x10000, 0x30000, 0x20000, 0x20060, 3]);
    assert_eq!(found, ["write first+0 6", "read text+0 3", "read second+96 4"]);
    assert!(accessed("sqrt", true, &[ValueKind::Double; 2], &[1, 1]).is_empty());
    // Where there is nothing, nothing is accessed.
    let found =
        accessed("strtol", true, &[WORD, POINTER, POINTER, INT, WORD], &[7, 0x10000, 0, 10, 2]);
    assert_eq!(found, ["read first+0 2"]);
}

/// What is read and written is one step, which nothing can come in the middle of.
#[test]
fn two_threads_that_print_to_one_stream_touch_the_same() {
    for (callee, kinds, values) in [
        // The result, the text, where the standard output is, and how long the text is.
        ("puts", &[INT, POINTER, POINTER, WORD][..], &[1, 0x30000, 0x77770, 4][..]),
        ("fputc", &[INT, INT, POINTER][..], &[1, 65, 0x77770][..]),
    ] {
        let found = accessed(callee, true, kinds, values);
        assert_eq!(found[0], "write other+0 8", "{callee}");
    }
    // Of another descriptor it is another place.
    let mut s = sketch();
    let site = call(&mut s, "write", true, &[WORD, INT, POINTER, WORD]);
    for descriptor in [1, 2, 1] {
        s.put(0, site, &[1, descriptor, 0x10000, 1]);
    }
    let steps = accesses_of(&s.trace, &[]).unwrap().steps;
    let places = steps.iter().filter_map(|step| match step.action {
        Action::Write(place) => Some(place.object),
        _ => None,
    });
    let places: Vec<u32> = places.collect();
    assert_eq!(places.len(), 3);
    assert!(places[0] == places[2] && places[0] != places[1]);
}

#[test]
fn a_function_that_nobody_knows_reads_and_writes_all_that_it_is_given() {
    let mut s = sketch();
    let site = call(&mut s, "mystery", false, &[POINTER, WORD, POINTER, POINTER, POINTER]);
    // The second is a number that looks like an address; the others are constant, in no object, and null.
    s.put(0, site, &[0x10020, 0x20000, 0x30000, 0x55555, 0]);
    assert_eq!(
        accesses(&s),
        ["write first+32 68", "read text+0 100", "write other+5 3", "write other+0 5",]
    );
    let Accesses { steps, guessed } = accesses_of(&s.trace, &["mystery".to_owned()]).unwrap();
    assert!(guessed.is_empty() && steps.iter().all(|step| step.site.is_none()));
    let guessed = accesses_of(&s.trace, &[]).unwrap().guessed;
    let found: Vec<_> = guessed.iter().map(|call| (call.function.as_str(), call.count)).collect();
    assert_eq!(found, [("mystery", 1)]);
    // One that has records of its own is none of these.
    s.site(Opcode::Enter, "call-mystery", "mystery", 1, &[]);
    assert!(accesses(&s).is_empty());
    assert!(accesses_of(&s.trace, &[]).unwrap().guessed.is_empty());
}

#[test]
fn a_call_through_a_pointer_is_of_the_function_at_that_address() {
    let mut s = sketch();
    s.global("bzero", 0, 0x40000);
    s.global("rand", 0, 0x50000);
    let site = call(&mut s, "", false, &[POINTER, WORD, POINTER]);
    s.put(0, site, &[0x10000, 8, 0x40000]);
    assert_eq!(accesses(&s), ["write first+0 8"]);
    // A text of which the length is not in the record is all that is left.
    s.global("strlen", 0, 0x60000);
    let length = call(&mut s, "", true, &[WORD, POINTER, POINTER]);
    s.put(0, length, &[3, 0x20032, 0x60000]);
    assert_eq!(accesses(&s), ["write first+0 8", "read second+50 50"]);
    let random = call(&mut s, "", true, &[INT, POINTER]);
    s.put(0, random, &[3, 0x50000]);
    let found = hits(&s.trace, &[], &[]).unwrap();
    let found: Vec<_> = found.iter().map(|hit| (hit.callee.as_str(), hit.site)).collect();
    assert_eq!(found, [("rand", random)]);
    // Nobody knows what is at another address.
    s.put(0, site, &[0x10000, 8, 0x99990]);
    assert_eq!(accesses_of(&s.trace, &[]).unwrap().guessed.len(), 1);
}

/// A thread that allocates in these ways: in the program, in a library, and in the program when a library calls it.
fn allocates(in_library: bool, leaves: bool) -> Sketch {
    let mut s = Sketch::new();
    let main = s.site(Opcode::Enter, "call-main", "main", 1, &[]);
    let callback = s.site(Opcode::Enter, "call-callback", "callback", 2, &[]);
    let back = s.site(Opcode::Return, "ret", "callback", 3, &[]);
    let load = s.site(Opcode::Load, "load", "main", 4, &[INT, POINTER]);
    s.begin(0, None, 0);
    s.put(0, main, &[]);
    let library = |s: &mut Sketch, enters| Event::Library { enters }.put(s.stream(0));
    library(&mut s, true);
    if in_library {
        s.allocate(0, 0x500000, 1024);
    }
    s.put(0, callback, &[]);
    s.allocate(0, 0x600000, 8);
    s.put(0, back, &[]);
    if in_library {
        s.allocate(0, 0x510000, 1024);
        s.free(0, 0x510000);
    }
    if leaves {
        library(&mut s, false);
    }
    s.put(0, load, &[1, 0x600000]);
    s.allocate(0, 0x700000, 8);
    s.put(0, load, &[2, 0x700004]);
    s.end(0);
    s
}

#[test]
fn what_a_library_keeps_for_itself_is_no_object_of_the_program() {
    let expected = allocates(false, true);
    assert!(
        expected.lines().contains(&"T_0 load 2 T_0.o1+4  # main.c:4".to_owned()),
        "{}",
        expected.text()
    );
    for leaves in [true, false] {
        let other = allocates(true, leaves);
        assert_eq!(other.lines(), expected.lines());
        let (expected, other) = (expected.sanitised(), other.sanitised());
        assert!(allways_epa::compare::compare(&expected, &other).is_same);
    }
}

/// A thread is given memory that it gives back before the call that created it has returned, and another object is put there.
#[test]
fn what_a_new_thread_is_given_is_what_it_was_when_it_was_created() {
    let run = |is_fast: bool| {
        let mut s = Sketch::new();
        let create = call(&mut s, "pthread_create", false, &[POINTER]);
        s.begin(0, None, 0);
        s.allocate(0, 0x500000, 16);
        s.event(0, |stamp| Event::Create { stamp, thread: 1 });
        s.begin(1, Some(0), 0);
        let child = |s: &mut Sketch| {
            s.free(1, 0x500000);
            s.allocate(1, 0x500000, 16);
            s.end(1);
        };
        if is_fast {
            child(&mut s);
        }
        s.event(0, |stamp| Event::Handle { stamp, handle: 0x7000 });
        s.put(0, create, &[0x500000]);
        if !is_fast {
            child(&mut s);
        }
        s.sanitised()
    };
    let comparison = allways_epa::compare::compare(&run(false), &run(true));
    assert!(comparison.is_same, "{:?}", comparison.first);
}
