//! The check for reversible pairs against all beginnings of runs of small traces, and against SMT solvers.
//!
//! Programs are made at random: threads that are created and joined, locks that are shared or not, nested or interleaved,
//! condition variables with and without somebody who wakes, barriers. A schedule, at random as well, makes a trace of each; if
//! nobody can go on, or somebody has had enough, that is where the trace ends, with whatever locks are held.

mod reverse_support;

use allways_epa::reverse::{Options, Reversibility, Solver, check, formula};
use allways_epa::step::{Action, Event, Place, Step};
use proptest::prelude::*;
use reverse_support::{Orders, Trace, dependent};

/// What a thread does. What makes no sense where it comes is left out.
#[derive(Clone, Copy, Debug)]
enum Op {
    Read(u32),
    Write(u32),
    /// Takes a lock, or gives it back.
    Toggle {
        lock: u64,
        shared: bool,
    },
    /// Waits with the lock 0; by itself, or until it is woken.
    Wait {
        spurious: bool,
    },
    Signal,
    Broadcast,
    /// Meets another thread at the barrier of the two.
    Meet(u32),
    /// Sends over the channel, or receives from it if there is something.
    Send,
    Receive,
    Create(u32),
    Join(u32),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        5 => (0..2_u32).prop_map(Op::Read),
        7 => (0..2_u32).prop_map(Op::Write),
        16 => (0..3_u64, prop::bool::weighted(0.15)).prop_map(|(lock, shared)| Op::Toggle { lock, shared }),
        1 => prop::bool::ANY.prop_map(|spurious| Op::Wait { spurious }),
        2 => Just(Op::Signal),
        1 => Just(Op::Broadcast),
        2 => (0..4_u32).prop_map(Op::Meet),
        1 => Just(Op::Send),
        1 => Just(Op::Receive),
        2 => (1..4_u32).prop_map(Op::Join),
    ]
}

/// Programs: each thread but the first is created by one before it, early on.
fn programs() -> impl Strategy<Value = Vec<Vec<Op>>> {
    let thread = || prop::collection::vec(op(), 2..10);
    let others = prop::collection::vec((thread(), 0..3_usize, 0..4_usize), 1..4);
    (thread(), others).prop_map(|(main, others)| {
        let mut programs = vec![main];
        for (program, parent, create) in others {
            let new = programs.len() as u32;
            let parent = parent % programs.len();
            let create = create.min(programs[parent].len());
            programs[parent].insert(create, Op::Create(new));
            programs.push(program);
        }
        programs
    })
}

/// Programs of nested sections, in which threads take the same locks in different orders, and create and join each other while
/// they have them: many orders of these end in a deadlock, after something was reversed or before.
fn nested() -> impl Strategy<Value = Vec<Vec<Op>>> {
    let toggle = |lock| Op::Toggle { lock, shared: false };
    let access = || prop_oneof![(0..3_u32).prop_map(Op::Read), (0..3_u32).prop_map(Op::Write)];
    let maybe = move || prop::option::weighted(0.4, access());
    let wait = prop::option::weighted(0.15, (1..4_u32).prop_map(Op::Join));
    let ends = prop::bool::weighted(0.9);
    let section =
        (0..3_u64, 1..3_u64, prop::bool::weighted(0.6), maybe(), maybe(), maybe(), wait, ends)
            .prop_map(move |(outer, inner, is_nested, one, two, three, wait, ends)| {
                let mut ops = vec![toggle(outer)];
                ops.extend(one);
                if is_nested {
                    ops.push(toggle((outer + inner) % 3));
                    ops.extend(two.into_iter().chain(wait));
                    ops.push(toggle((outer + inner) % 3));
                }
                ops.extend(three);
                ops.extend(ends.then_some(toggle(outer)));
                ops
            });
    let thread = || prop::collection::vec(section.clone(), 1..3).prop_map(|ops| ops.concat());
    let threads = prop::collection::vec((thread(), 0..9_usize), 3..5);
    threads.prop_map(|threads| {
        let creates = (1..threads.len() as u32).map(Op::Create);
        let places: Vec<usize> = threads.iter().map(|(_, place)| *place).collect();
        let mut programs: Vec<Vec<Op>> = threads.into_iter().map(|(ops, _)| ops).collect();
        for (create, place) in creates.zip(places) {
            let place = place.min(programs[0].len());
            programs[0].insert(place, create);
        }
        programs
    })
}

/// Runs threads as a schedule says.
struct Machine<'p> {
    trace: Trace,
    programs: &'p [Vec<Op>],
    at: Vec<usize>,
    begun: Vec<bool>,
    created: Vec<bool>,
    ended: Vec<bool>,
    held: Vec<[Option<bool>; 3]>,
    /// Waits, and has been woken.
    waits: Vec<Option<bool>>,
    /// How often a thread came to meet another, and how often they met.
    entered: Vec<[u64; 4]>,
    left: Vec<[u64; 4]>,
    /// How much is in the channel.
    sent: u64,
}

/// Where the channel is. To send and to receive are writes to objects of their own.
const CHANNEL: u64 = 8;

impl Machine<'_> {
    fn is_free(&self, thread: usize, lock: usize, shared: bool) -> bool {
        (0..self.held.len())
            .all(|t| t == thread || self.held[t][lock].is_none_or(|theirs| shared && theirs))
    }

    /// Does the next thing of a thread, if it can.
    fn step(&mut self, thread: usize) -> bool {
        let id = thread as u32;
        if !self.begun[thread] {
            if thread > 0 && !self.created[thread] {
                return false;
            }
            self.begun[thread] = true;
            self.trace.begin(id);
            return true;
        }
        let Some(&op) = self.programs[thread].get(self.at[thread]) else {
            if self.ended[thread] {
                return false;
            }
            self.ended[thread] = true;
            self.trace.event(id, Event::End { stamp: 0 });
            return true;
        };
        match op {
            Op::Read(object) => drop(self.trace.read(id, object)),
            Op::Write(object) => drop(self.trace.write(id, object)),
            Op::Toggle { lock, shared } => match self.held[thread][lock as usize].take() {
                Some(_) => drop(self.trace.unlock(id, lock)),
                None if !self.is_free(thread, lock as usize, shared) => return false,
                None => {
                    self.held[thread][lock as usize] = Some(shared);
                    let take = if shared { Trace::lock_shared } else { Trace::lock };
                    take(&mut self.trace, id, lock);
                }
            },
            Op::Wait { spurious } => match self.waits[thread] {
                None if self.held[thread][0] == Some(false) => {
                    self.held[thread][0] = None;
                    self.waits[thread] = Some(spurious);
                    self.trace.wait_begin(id, 9, 0);
                    return true;
                }
                None => {}
                Some(woken) => {
                    if !woken || !self.is_free(thread, 0, false) {
                        return false;
                    }
                    self.waits[thread] = None;
                    self.held[thread][0] = Some(false);
                    self.trace.wait_end(id, 9, 0);
                }
            },
            Op::Signal | Op::Broadcast => {
                let mut woken = self.waits.iter_mut().flatten().filter(|woken| !**woken);
                if matches!(op, Op::Signal) {
                    woken.next().into_iter().for_each(|woken| *woken = true);
                    self.trace.signal(id, 9);
                } else {
                    woken.for_each(|woken| *woken = true);
                    self.trace.event(id, Event::Broadcast { stamp: 0, condition: 9 });
                }
            }
            Op::Meet(other) if other == id || other as usize >= self.programs.len() => {}
            Op::Meet(other) => {
                let address = 10 + u64::from(id.min(other) * 4 + id.max(other));
                let (mine, theirs) = ((thread, other as usize), (other as usize, thread));
                let entered = self.entered[mine.0][mine.1];
                if entered == self.left[mine.0][mine.1] {
                    self.entered[mine.0][mine.1] += 1;
                    self.trace.enter(id, address);
                    return true;
                }
                if self.entered[theirs.0][theirs.1] < entered {
                    return false;
                }
                self.left[mine.0][mine.1] += 1;
                self.trace.leave(id, address);
            }
            Op::Send => {
                self.sent += 1;
                self.trace.write(id, 8);
                self.trace.event(id, Event::Send { stamp: 0, channel: CHANNEL });
            }
            Op::Receive if self.sent == 0 => return false,
            Op::Receive => {
                self.sent -= 1;
                self.trace.event(id, Event::Receive { stamp: 0, channel: CHANNEL });
                self.trace.write(id, 9);
            }
            Op::Create(new) => {
                self.created[new as usize] = true;
                self.trace.event(id, Event::Create { stamp: 0, thread: new.into() });
            }
            Op::Join(ended) if ended == id || ended as usize >= self.programs.len() => {}
            Op::Join(ended) if !self.ended[ended as usize] => return false,
            Op::Join(ended) => {
                self.trace.event(id, Event::Join { stamp: 0, thread: ended.into() });
            }
        }
        self.at[thread] += 1;
        true
    }
}

fn run(programs: &[Vec<Op>], schedule: &[u8]) -> Vec<Step> {
    let count = programs.len();
    let mut machine = Machine {
        trace: Trace::default(),
        programs,
        at: vec![0; count],
        begun: vec![false; count],
        created: vec![false; count],
        ended: vec![false; count],
        held: vec![[None; 3]; count],
        waits: vec![None; count],
        entered: vec![[0; 4]; count],
        left: vec![[0; 4]; count],
        sent: 0,
    };
    // Of some barriers it is known how many meet there, and of one that is not so it is said, too.
    for (address, count) in [(11, 2), (12, 2), (14, 2), (15, 2), (16, 3)] {
        machine.trace.event(0, Event::Barrier { stamp: 0, address, count });
    }
    for &choice in schedule {
        let first = choice as usize % count;
        if !(0..count).any(|next| machine.step((first + next) % count)) {
            break;
        }
    }
    machine.trace.steps
}

/// The same trace, in which only these two accesses touch anything that others do.
fn only(steps: &[Step], first: usize, second: usize) -> Vec<Step> {
    let mut steps = steps.to_vec();
    for (at, step) in steps.iter_mut().enumerate() {
        let own = Place { object: 100 + at as u32, offset: 0, bytes: 4 };
        match &mut step.action {
            Action::Read(place) | Action::Write(place) if at != first && at != second => {
                *place = own;
            }
            _ => {}
        }
    }
    steps
}

/// Compares what the check says with what can be.
fn compare(
    steps: &[Step],
    orders: &Orders,
    reversed: bool,
    options: &Options,
) -> Result<(), TestCaseError> {
    match check(steps, options).map_err(TestCaseError::fail)? {
        Reversibility::Never { .. } => prop_assert!(!reversed, "an order was missed"),
        Reversibility::Possible(witness) => {
            prop_assert!(reversed, "there is no such order: {:?}", witness);
            prop_assert!(orders.has(&witness.order), "no order: {:?}", witness);
            prop_assert_eq!(witness.order.last(), Some(&witness.second));
            prop_assert!(!witness.order.contains(&witness.first));
            prop_assert!(witness.first < witness.second);
            prop_assert!(dependent(&steps[witness.first], &steps[witness.second]));
        }
    }
    Ok(())
}

fn schedules() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0..12_u8, 20..90)
}

/// The whole trace, and each pair of it by itself; also if everything is left to the solver that can be.
fn agrees(steps: &[Step]) -> Result<(), TestCaseError> {
    let orders = Orders::new(steps);
    let pairs = orders.pairs();
    let any = pairs.iter().any(|&(_, _, reversed)| reversed);
    // All that cannot be reversed, at once.
    let mut never = steps.to_vec();
    for &(_, second, _) in pairs.iter().filter(|&&(_, _, reversed)| reversed) {
        let own = Place { object: 100 + second as u32, offset: 0, bytes: 4 };
        never[second].action = Action::Write(own);
    }
    for follow in [true, false] {
        let options = Options { follow, ..Options::default() };
        compare(steps, &orders, any, &options)?;
        for &(first, second, reversed) in &pairs {
            compare(&only(steps, first, second), &orders, reversed, &options)?;
        }
        compare(&never, &orders, false, &options)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_check_agrees_with_all_orders(programs in programs(), schedule in schedules()) {
        agrees(&run(&programs, &schedule))?;
    }

    #[test]
    fn the_check_agrees_where_locks_are_taken_both_ways(programs in nested(), schedule in schedules()) {
        agrees(&run(&programs, &schedule))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "needs z3"]
    fn an_smt_solver_agrees(programs in programs(), schedule in schedules()) {
        let steps = run(&programs, &schedule);
        let orders = Orders::new(&steps);
        let pairs = orders.pairs();
        let options = Options { solver: Solver::External("z3".into()), ..Options::default() };
        let any = pairs.iter().any(|&(_, _, reversed)| reversed);
        compare(&steps, &orders, any, &options)?;
        for &(first, second, reversed) in pairs.iter().take(3) {
            compare(&only(&steps, first, second), &orders, reversed, &options)?;
        }
        prop_assert!(formula(&steps).is_ok());
    }
}
