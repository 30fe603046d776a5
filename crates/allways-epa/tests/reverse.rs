//! Which pairs can be reversed: each kind of order by itself, and together.

mod reverse_support;

use allways_epa::reverse::{Options, Reversibility, Solver, Witness, check, formula};
use allways_epa::step::{Action, Event, Place, Step};
use reverse_support::{Orders, Trace};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const L: u64 = 0x100;
const M: u64 = 0x200;
const CONDITION: u64 = 0x300;
const BARRIER: u64 = 0x400;

/// It can be reversed, with the rule for sections and without it; and how.
fn possible(steps: &[Step]) -> Witness {
    let orders = Orders::new(steps);
    let mut found = None;
    for follow in [true, false] {
        match check(steps, &Options { follow, ..Options::default() }) {
            Ok(Reversibility::Possible(witness)) => {
                assert!(orders.has(&witness.order), "{witness:?}");
                found = Some(witness);
            }
            other => panic!("{other:?}"),
        }
    }
    found.unwrap()
}

/// It cannot be reversed, with the rule for sections and without it; how many pairs, and how many were asked for.
fn never(steps: &[Step]) -> (u64, u64) {
    let mut found = None;
    for follow in [false, true] {
        match check(steps, &Options { follow, ..Options::default() }) {
            Ok(Reversibility::Never { pairs, settled_by_order, asked }) => {
                assert_eq!(pairs, settled_by_order + asked);
                found = Some((pairs, asked));
            }
            other => panic!("{other:?}"),
        }
    }
    found.unwrap()
}

fn two_threads() -> Trace {
    let mut trace = Trace::default();
    trace.begin(0);
    trace.event(0, Event::Barrier { stamp: 0, address: BARRIER, count: 2 });
    trace.create(0, 1);
    trace.create(0, 2);
    trace
}

#[test]
fn a_counter_without_a_lock() {
    let mut trace = two_threads();
    trace.read(1, 0);
    let first = trace.write(1, 0);
    let second = trace.read(2, 0);
    trace.write(2, 0);
    let witness = possible(&trace.steps);
    assert_eq!((witness.first, witness.second), (first, second));
}

#[test]
fn a_queue_with_a_lock() {
    let mut trace = two_threads();
    for thread in [1, 2] {
        trace.lock(thread, L);
        trace.read(thread, 0);
        trace.write(thread, 0);
        trace.unlock(thread, L);
    }
    let witness = possible(&trace.steps);
    // Thread 2 has the lock, and thread 1 has not had it.
    let mut locks = witness
        .order
        .iter()
        .filter(|&&at| matches!(trace.steps[at].action, Action::Event(Event::Lock { .. })));
    assert_eq!(locks.next().map(|&at| trace.steps[at].thread), Some(2));
    assert_eq!(locks.next(), None);
}

#[test]
fn map_and_reduce() {
    let mut trace = Trace::default();
    trace.begin(0);
    trace.write(0, 0);
    for thread in 1..4 {
        trace.create(0, thread);
    }
    for thread in 1..4 {
        trace.read(thread, 0);
        trace.write(thread, thread);
        // Their own: the same lock, for nothing.
        trace.lock(thread, L);
        trace.unlock(thread, L);
    }
    for thread in 1..4 {
        trace.join(0, thread);
        trace.read(0, thread);
    }
    trace.write(0, 0);
    assert_eq!(never(&trace.steps), (9, 0));
}

#[test]
fn a_thread_that_is_not_joined() {
    let mut trace = Trace::default();
    trace.begin(0);
    trace.create(0, 1);
    trace.write(1, 0);
    trace.event(1, Event::End { stamp: 0 });
    trace.read(0, 0);
    possible(&trace.steps);
}

#[test]
fn phases_of_a_barrier() {
    let mut trace = two_threads();
    let rounds = |trace: &mut Trace| {
        for round in 0..3 {
            for thread in [1, 2] {
                // What the other one wrote in the round before.
                trace.read(thread, (3 - thread) * 10 + 1 - round % 2);
                trace.write(thread, thread * 10 + round % 2);
                trace.enter(thread, BARRIER);
            }
            // The first who leaves is gone before the other one notices.
            trace.leave(1, BARRIER);
            trace.leave(2, BARRIER);
        }
    };
    rounds(&mut trace);
    assert_eq!(never(&trace.steps).1, 0);
    // Without the barrier nothing is ordered.
    let without = trace.steps.iter().copied().filter(|step| {
        !matches!(
            step.action,
            Action::Event(Event::BarrierEnter { .. } | Event::BarrierLeave { .. })
        )
    });
    possible(&without.collect::<Vec<_>>());
}

#[test]
fn one_is_back_at_the_barrier_before_the_other_has_left() {
    let mut trace = two_threads();
    trace.write(1, 0);
    trace.enter(1, BARRIER);
    trace.enter(2, BARRIER);
    trace.leave(1, BARRIER);
    trace.write(1, 1);
    trace.enter(1, BARRIER);
    trace.leave(2, BARRIER);
    trace.read(2, 0);
    trace.enter(2, BARRIER);
    trace.leave(2, BARRIER);
    trace.read(2, 1);
    trace.leave(1, BARRIER);
    trace.write(1, 0);
    assert_eq!(never(&trace.steps), (3, 0));
}

/// The consumer waits; the producer wakes it. The consumer may ask before whether it has to wait.
fn hand_over(wakes: bool, asks: bool) -> Vec<Step> {
    let mut trace = two_threads();
    trace.lock(1, L);
    if asks {
        trace.read(1, 0);
    }
    trace.wait_begin(1, CONDITION, L);
    trace.lock(2, L);
    trace.write(2, 1);
    trace.write(2, 0);
    if wakes {
        trace.signal(2, CONDITION);
    }
    trace.unlock(2, L);
    trace.wait_end(1, CONDITION, L);
    trace.read(1, 0);
    trace.read(1, 1);
    trace.unlock(1, L);
    trace.steps
}

#[test]
fn a_condition_variable_hands_over() {
    assert_eq!(never(&hand_over(true, false)), (2, 0));
    possible(&hand_over(false, false));
    // If it asks before it waits, the producer could have been first, and it would not wait at all.
    possible(&hand_over(true, true));
}

/// A thread that is created in one section and joined in another orders the two sections, and with them what comes in the first after
/// the other thread was created and in the second after it was joined: nothing but the lock does.
fn ordered_by_a_lock(locked: bool, reads_before: bool) -> Vec<Step> {
    let mut trace = two_threads();
    if locked {
        trace.lock(1, L);
    }
    trace.event(1, Event::Create { stamp: 0, thread: 3 });
    trace.write(1, 0);
    if locked {
        trace.unlock(1, L);
    }
    trace.begin(3);
    trace.event(3, Event::End { stamp: 0 });
    if locked {
        trace.lock(2, L);
    }
    if reads_before {
        trace.read(2, 0);
    }
    trace.event(2, Event::Join { stamp: 0, thread: 3 });
    trace.read(2, 0);
    if locked {
        trace.unlock(2, L);
    }
    trace.steps
}

#[test]
fn a_lock_and_other_order_together() {
    assert_eq!(never(&ordered_by_a_lock(true, false)), (1, 0));
    possible(&ordered_by_a_lock(false, false));
    // Before the join, the second can have the lock first; then it waits for ever, but it has read something else.
    possible(&ordered_by_a_lock(true, true));
    // If it never gives the lock back, it is the same.
    let mut held = ordered_by_a_lock(true, false);
    held.pop();
    assert_eq!(never(&held), (1, 0));
}

/// That one section comes before another is known where it follows from a join, and not where the other begins: what that one
/// does before the join, such as to create a thread, can happen before the first section.
#[test]
fn what_follows_from_a_join_is_not_known_before_it() {
    let mut trace = two_threads();
    let first = trace.write(1, 0);
    trace.lock(1, L);
    trace.event(1, Event::Create { stamp: 0, thread: 3 });
    trace.unlock(1, L);
    trace.begin(3);
    trace.event(3, Event::End { stamp: 0 });
    trace.lock(2, L);
    trace.event(2, Event::Create { stamp: 0, thread: 4 });
    trace.event(2, Event::Join { stamp: 0, thread: 3 });
    trace.unlock(2, L);
    trace.begin(4);
    let second = trace.read(4, 0);
    let witness = possible(&trace.steps);
    assert_eq!((witness.first, witness.second), (first, second));
}

/// The barrier orders the two sections of M, which lie across those of L, and so orders those as well: for what comes
/// after both are taken. Before, a deadlock begins with a read of something else.
#[test]
fn locks_taken_the_other_way_round() {
    never(&across(false));
    possible(&across(true));
    // Without M it is possible.
    let is_m = |step: &Step| {
        matches!(
            step.action,
            Action::Event(Event::Lock { address: M, .. } | Event::Unlock { address: M, .. })
        )
    };
    let without: Vec<Step> = across(false).iter().copied().filter(|step| !is_m(step)).collect();
    possible(&without);
}

fn across(reads_before: bool) -> Vec<Step> {
    let mut trace = two_threads();
    // Thread 1: L, and in it M. Thread 2: M, and in it L, but begun before the one of thread 1.
    trace.lock(2, M);
    trace.enter(2, BARRIER);
    trace.enter(1, BARRIER);
    trace.leave(2, BARRIER);
    trace.lock(2, L);
    trace.write(2, 0);
    trace.unlock(2, L);
    trace.unlock(2, M);
    trace.leave(1, BARRIER);
    trace.lock(1, L);
    if reads_before {
        trace.read(1, 0);
    }
    trace.lock(1, M);
    trace.read(1, 0);
    trace.unlock(1, M);
    trace.unlock(1, L);
    trace.steps
}

#[test]
fn locks_that_are_shared() {
    let reads_and_a_write = |first_shared: bool| {
        let mut trace = two_threads();
        let take = if first_shared { Trace::lock_shared } else { Trace::lock };
        take(&mut trace, 1, L);
        trace.event(1, Event::Create { stamp: 0, thread: 3 });
        trace.write(1, 0);
        trace.unlock(1, L);
        trace.begin(3);
        trace.lock_shared(3, L);
        trace.read(3, 0);
        trace.unlock(3, L);
        trace.steps
    };
    // The creator has the lock alone, so the one it creates has to wait until it is given back.
    never(&reads_and_a_write(false));
    // If both share it, it need not.
    possible(&reads_and_a_write(true));
}

/// Who never gives a lock back, because the process exits, could have had it first: then the other never gets it.
#[test]
fn a_lock_that_is_still_held_at_the_end() {
    let two = |is_given_back: bool| {
        let mut trace = two_threads();
        trace.lock(1, L);
        trace.write(1, 0);
        trace.unlock(1, L);
        trace.lock(2, L);
        trace.read(2, 0);
        if is_given_back {
            trace.unlock(2, L);
        }
        trace.steps
    };
    possible(&two(true));
    possible(&two(false));
    // The other way round it comes first only if the other was created with the lock.
    let mut trace = Trace::default();
    trace.begin(0);
    trace.lock(0, L);
    trace.create(0, 1);
    trace.write(0, 0);
    trace.unlock(0, L);
    trace.lock(1, L);
    trace.read(1, 0);
    assert_eq!(never(&trace.steps), (1, 0));
}

/// At a barrier of which it is not known who meets whom, nobody waits for anybody in particular.
#[test]
fn barriers_order_only_who_meets() {
    let met = |address: u64, counts: &[u64], third: bool| {
        let mut trace = Trace::default();
        trace.begin(0);
        for &count in counts {
            trace.event(0, Event::Barrier { stamp: 0, address, count });
        }
        for thread in 1..4 {
            trace.create(0, thread);
        }
        trace.write(1, 0);
        trace.enter(1, BARRIER);
        trace.enter(2, BARRIER);
        trace.leave(2, BARRIER);
        trace.read(2, 0);
        trace.leave(1, BARRIER);
        if third {
            trace.enter(3, BARRIER);
        }
        check(&trace.steps, &Options::default()).unwrap()
    };
    let is_never = |checked| matches!(checked, Reversibility::Never { .. });
    assert!(is_never(met(BARRIER, &[2], false)));
    assert!(!is_never(met(BARRIER, &[], false)));
    assert!(!is_never(met(BARRIER + 8, &[2], false)));
    // The third could have been one of the two who meet.
    assert!(!is_never(met(BARRIER, &[2], true)));
    // It is not known where, but all barriers are alike, or not.
    assert!(is_never(met(0, &[2, 2], false)));
    assert!(!is_never(met(0, &[2, 3], false)));
}

/// Who leaves a barrier first may end it before the others have left.
#[test]
fn a_barrier_that_has_ended_before_all_have_left() {
    let mut trace = two_threads();
    trace.write(1, 0);
    trace.enter(1, BARRIER);
    trace.enter(2, BARRIER);
    trace.leave(1, BARRIER);
    trace.event(1, Event::Renew { stamp: 0, address: BARRIER });
    trace.leave(2, BARRIER);
    trace.read(2, 0);
    assert_eq!(never(&trace.steps), (1, 0));
}

#[test]
fn a_barrier_that_is_made_anew_is_another() {
    let mut trace = two_threads();
    trace.event(1, Event::Renew { stamp: 0, address: BARRIER });
    trace.write(1, 0);
    trace.enter(1, BARRIER);
    trace.enter(2, BARRIER);
    trace.leave(2, BARRIER);
    trace.leave(1, BARRIER);
    trace.read(2, 0);
    let checked = check(&trace.steps, &Options::default());
    assert!(matches!(checked, Ok(Reversibility::Possible(_))), "{checked:?}");
}

/// One sends what another receives; two senders can change places.
#[test]
fn channels_hand_over() {
    let send = |trace: &mut Trace, thread| {
        // The end of the channel to which it is added.
        trace.write(thread, 8);
        trace.event(thread, Event::Send { stamp: 0, channel: 0x500 });
    };
    let receive = |trace: &mut Trace, thread| {
        trace.event(thread, Event::Receive { stamp: 0, channel: 0x500 });
        trace.write(thread, 9);
    };
    let mut one = two_threads();
    for object in 0..3 {
        one.write(1, object);
        send(&mut one, 1);
    }
    for object in 0..3 {
        receive(&mut one, 2);
        one.read(2, object);
    }
    assert_eq!(never(&one.steps), (3, 0));
    // What is written after it was sent is not handed over.
    one.write(1, 4);
    one.read(2, 4);
    possible(&one.steps);

    let mut two = two_threads();
    send(&mut two, 1);
    send(&mut two, 2);
    possible(&two.steps);
    // The second sends when it has got what the first sent.
    let mut back = two_threads();
    send(&mut back, 1);
    receive(&mut back, 2);
    send(&mut back, 2);
    assert_eq!(never(&back.steps), (1, 0));
}

#[test]
fn a_lock_that_is_taken_again_by_its_holder() {
    let mut trace = two_threads();
    trace.lock(1, L);
    trace.lock(1, L);
    trace.unlock(1, L);
    trace.event(1, Event::Create { stamp: 0, thread: 3 });
    trace.write(1, 0);
    trace.unlock(1, L);
    trace.begin(3);
    trace.lock(3, L);
    trace.read(3, 0);
    trace.unlock(3, L);
    never(&trace.steps);
}

#[test]
fn a_lock_that_is_made_anew_is_another() {
    let locked = |is_renewed: bool| {
        let mut trace = Trace::default();
        trace.begin(0);
        trace.lock(0, L);
        trace.event(0, Event::Create { stamp: 0, thread: 1 });
        trace.write(0, 0);
        trace.unlock(0, L);
        if is_renewed {
            trace.event(0, Event::Renew { stamp: 0, address: L });
        }
        trace.begin(1);
        trace.lock(1, L);
        trace.read(1, 0);
        trace.unlock(1, L);
        trace.steps
    };
    never(&locked(false));
    // That locks are made anew is nothing that `Orders` knows.
    let checked = check(&locked(true), &Options::default());
    assert!(matches!(checked, Ok(Reversibility::Possible(_))), "{checked:?}");
}

#[test]
fn bytes_that_overlap() {
    let touch = |first: (u64, u64), second: (u64, u64)| {
        let mut trace = two_threads();
        let place = |(offset, bytes)| Place { object: 0, offset, bytes };
        trace.add(1, Action::Write(place((100, 1))));
        trace.add(1, Action::Write(place(first)));
        trace.add(2, Action::Read(place(second)));
        trace.steps
    };
    for (first, second) in [((0, 4), (3, 4)), ((3, 4), (0, 4)), ((0, 8), (2, 1)), ((2, 1), (0, 8))]
    {
        possible(&touch(first, second));
    }
    for (first, second) in
        [((0, 4), (4, 4)), ((4, 4), (0, 4)), ((0, 0), (0, 4)), ((u64::MAX, 9), (0, 4))]
    {
        never(&touch(first, second));
    }
}

#[test]
fn steps_that_are_no_trace() {
    let mut held = two_threads();
    held.lock(1, L);
    held.lock(2, L);
    let mut given = two_threads();
    given.unlock(1, L);
    let mut woken = two_threads();
    woken.wait_end(1, CONDITION, L);
    let mut strange = Trace::default();
    strange.read(4_000_000_000, 0);
    let cases = [
        (held, "which thread 1 has"),
        (given, "does not have"),
        (woken, "without"),
        (strange, "cannot be"),
    ];
    for (trace, what) in cases {
        let error = check(&trace.steps, &Options::default()).unwrap_err();
        assert!(error.contains(what), "{error}");
        assert_eq!(formula(&trace.steps), Err(error));
    }
    assert!(matches!(check(&[], &Options::default()), Ok(Reversibility::Never { .. })));
}

#[test]
fn it_can_be_stopped() {
    let steps = hand_over(false, false);
    let stop = vec![Arc::new(AtomicBool::new(true))];
    let flag = Options { stop, ..Options::default() };
    let time = Options { time: Some(Duration::ZERO), ..Options::default() };
    for options in [flag, time] {
        assert!(check(&steps, &options).unwrap_err().contains("stopped"));
    }
}

#[test]
fn a_solver_that_is_not_there() {
    let options =
        Options { solver: Solver::External("/nowhere/solver".into()), ..Options::default() };
    assert!(check(&hand_over(true, false), &options).unwrap_err().contains("cannot start"));
}

#[test]
#[ignore = "needs z3 and cvc5"]
fn other_solvers_agree() {
    for solver in ["z3", "cvc5"] {
        let options = Options { solver: Solver::External(solver.into()), ..Options::default() };
        for (steps, reversed) in [
            (hand_over(true, false), false),
            (hand_over(true, true), true),
            (hand_over(false, false), true),
            (ordered_by_a_lock(true, false), false),
            (ordered_by_a_lock(true, true), true),
            (ordered_by_a_lock(false, false), true),
            (across(false), false),
            (across(true), true),
        ] {
            let checked = check(&steps, &options).unwrap();
            assert_eq!(matches!(checked, Reversibility::Possible(_)), reversed, "{solver}");
        }
    }
}

/// A section that cannot be whole before another, since what it waits for is in that one, need not be whole at all: so this must be held
/// against it only together with why it has to be whole.
#[test]
fn a_cycle_counts_only_if_it_is_needed() {
    let send = |channel| Event::Send { stamp: 0, channel };
    let receive = |channel| Event::Receive { stamp: 0, channel };
    let mut trace = Trace::default();
    trace.begin(0);
    (1..5).for_each(|thread| trace.create(0, thread));
    // What thread 1 waits for while it has the lock.
    trace.lock(2, L);
    trace.event(2, send(0x503));
    let first = trace.write(2, 0);
    trace.unlock(2, L);
    trace.lock(1, L);
    trace.event(1, send(0x501));
    trace.event(1, receive(0x503));
    trace.unlock(1, L);
    trace.lock(3, L);
    trace.event(3, send(0x502));
    trace.unlock(3, L);
    // Threads 1 and 3 have both had the lock. That thread 1 was first makes thread 2 be before it; but thread 3 may be first.
    trace.event(4, receive(0x501));
    trace.event(4, receive(0x502));
    let second = trace.read(4, 0);
    let witness = possible(&trace.steps);
    assert_eq!((witness.first, witness.second), (first, second));
}
