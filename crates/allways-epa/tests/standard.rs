//! Channels and owners that are counted: what they access, and where that is in the source.

mod sketch;

use allways_epa::format::{Event, Opcode};
use allways_epa::reverse::{Options, Reversibility, check};
use allways_epa::sanitise::steps;
use allways_epa::step::{Action, Step};
use sketch::{POINTER, Sketch};

const HEAP: u64 = 0x5555_0000_1000;

/// Three threads, of which the first creates the others; and calls of a function in each of two lines, one of them in the library.
fn sketch() -> (Sketch, u32, u32) {
    let mut s = Sketch::new();
    let inside =
        s.site(Opcode::Call, "call-send", "std::sync::mpsc::Sender<T>::send", 0, &[POINTER]);
    let outside = s.site(Opcode::Call, "call-send", "program::main", 0, &[POINTER]);
    s.begin(0, None, 0);
    s.allocate(0, HEAP, 64);
    for thread in [1, 2] {
        s.create(0, thread, 0x7f00_0000_0000 + thread * 0x1000);
        s.begin(thread, Some(0), thread - 1);
    }
    (s, inside, outside)
}

fn accesses(s: &Sketch) -> Vec<Step> {
    let steps = steps(&s.trace).unwrap();
    steps.into_iter().filter(|step| !matches!(step.action, Action::Event(_))).collect()
}

fn is_reversible(s: &Sketch) -> bool {
    let found = check(&steps(&s.trace).unwrap(), &Options::default()).unwrap();
    matches!(found, Reversibility::Possible(_))
}

fn send(s: &mut Sketch, thread: u64) {
    s.event(thread, |stamp| Event::Send { stamp, channel: HEAP });
}

fn receive(s: &mut Sketch, thread: u64) {
    s.event(thread, |stamp| Event::Receive { stamp, channel: HEAP });
}

fn release(s: &mut Sketch, thread: u64, address: u64, last: bool) {
    s.event(thread, |stamp| Event::Release { stamp, address, last });
}

#[test]
fn an_access_is_where_the_program_calls_the_library() {
    let (mut s, inside, outside) = sketch();
    send(&mut s, 1);
    s.put(1, inside, &[HEAP]);
    s.put(1, outside, &[HEAP]);
    receive(&mut s, 2);
    s.put(2, inside, &[HEAP]);
    let accesses = accesses(&s);
    let sites: Vec<_> = accesses.iter().map(|step| (step.thread, step.site)).collect();
    // Whether there is a receiver, the end of the queue; its beginning, which no call was seen to return from.
    assert_eq!(sites, [(1, Some(outside)), (1, Some(outside)), (2, None)]);
    let write = |step: &Step| match step.action {
        Action::Write(place) => Some(place.object),
        _ => None,
    };
    let written: Vec<_> = accesses.iter().filter_map(write).collect();
    assert_eq!(written.len(), 2);
    assert_ne!(written[0], written[1]);
}

#[test]
fn two_who_send_can_change_places_and_two_who_receive() {
    let (mut s, ..) = sketch();
    send(&mut s, 1);
    receive(&mut s, 2);
    send(&mut s, 1);
    receive(&mut s, 2);
    assert!(!is_reversible(&s));
    send(&mut s, 0);
    assert!(is_reversible(&s));
    let (mut s, ..) = sketch();
    send(&mut s, 0);
    send(&mut s, 0);
    receive(&mut s, 1);
    assert!(!is_reversible(&s));
    receive(&mut s, 2);
    assert!(is_reversible(&s));
}

#[test]
fn the_end_of_a_receiver_depends_on_who_sends() {
    let (mut s, ..) = sketch();
    send(&mut s, 1);
    receive(&mut s, 2);
    release(&mut s, 2, HEAP, true);
    assert!(!is_reversible(&s));
    send(&mut s, 1);
    assert!(is_reversible(&s));
}

#[test]
fn only_the_last_owner_must_be_known() {
    let (mut s, ..) = sketch();
    release(&mut s, 1, HEAP, false);
    release(&mut s, 2, HEAP, false);
    assert!(!is_reversible(&s));
    // Another count, in the same object.
    release(&mut s, 0, HEAP + 8, true);
    assert!(!is_reversible(&s));
    release(&mut s, 0, HEAP, true);
    assert!(is_reversible(&s));
    // What is there later is something else.
    let (mut s, ..) = sketch();
    release(&mut s, 1, HEAP, false);
    s.allocate(0, HEAP, 64);
    release(&mut s, 0, HEAP, true);
    assert!(!is_reversible(&s));
}
