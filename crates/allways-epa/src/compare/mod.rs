//! What differs between two sanitised traces, and how far it spreads (section 5.4.3 of the thesis, trace comparison).
//!
//! Threads are matched by name, and each is compared record by record with itself. In a pseudo-deterministic program
//! every thread does the same in every run, so the first difference is the work of the fault. From there on a record of the
//! same instruction with other values is a deviation of data; where another instruction follows, control has deviated, and
//! all that the thread does from then on is reached by the error, because there is nothing any more to compare it with.
//!
//! | file | what |
//! |---|---|
//! | `deviation.rs` | a difference, in words |
//! | `walk.rs` | a thread in both traces, record by record |
//! | `spread.rs` | what the error reached, as a graph |

mod deviation;
mod spread;
mod walk;

pub use deviation::{Deviation, DeviationKind};
pub use spread::{Edge, Node, NodeKind, Relation, Spread};

use crate::sanitise::Sanitised;
use rustc_hash::FxHashMap;
use spread::Builder;
use walk::{Walk, is_cut_off};

/// What differs between two traces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// Whether nothing differs.
    pub is_same: bool,
    /// The first difference, in the order of the faulty run. What did not happen comes at the end of it.
    pub first: Option<Deviation>,
    /// Each thread: those of the golden run, then those that are only in the faulty one.
    pub threads: Vec<ThreadComparison>,
    /// What the error reached.
    pub spread: Spread,
    /// How many values of the faulty run were not compared, because only a hash of them is known, in which addresses may be.
    pub hidden: u64,
}

/// What differs in a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadComparison {
    /// The name of the thread.
    pub name: String,
    /// How many records it has in the golden run, if it is there.
    pub golden: Option<u64>,
    /// How many records it has in the faulty run, if it is there.
    pub faulty: Option<u64>,
    /// How many records the error reached: those that deviate, and all from the one on where control deviates.
    pub reached: u64,
    /// The first difference.
    pub first: Option<Deviation>,
    /// Where control deviates: the index of the record in the order of the faulty run. Of a thread that stops, how many records that run has.
    pub control: Option<u64>,
}

/// Compares a run without a fault with one in which a fault was injected. Traces of different programs are not compared:
/// then the first deviation says so ([`DeviationKind::OtherProgram`]), and there is nothing else.
///
/// ```
/// use allways_epa::compare::compare;
/// use allways_epa::format::{Event, Program};
/// use allways_epa::sanitise::Sanitised;
/// use allways_epa::trace::{Stream, Trace};
/// let exit = |status| {
///     let mut bytes = Vec::new();
///     Event::Begin { thread: 0, parent: None, child: 0, stamp: 1 }.put(&mut bytes);
///     Event::Exit { status }.put(&mut bytes);
///     let streams = vec![Stream { thread: 0, bytes }];
///     Sanitised::new(&Trace { program: Program::default(), addresses: Vec::new(), streams })
/// };
/// let golden = exit(0)?;
/// assert!(compare(&golden, &exit(0)?).is_same);
/// let first = compare(&golden, &exit(1)?).first.unwrap();
/// assert_eq!(first.to_string(), "T_0 has `exit 1` in place of `exit 0` (record 1)");
/// # Ok::<(), allways_epa::trace::TraceError>(())
/// ```
pub fn compare(golden: &Sanitised, faulty: &Sanitised) -> Comparison {
    if golden.fingerprint() != faulty.fingerprint() {
        let first = Some(Deviation::other_program(golden, faulty));
        let (threads, spread) = (Vec::new(), Spread::default());
        return Comparison { is_same: false, first, threads, spread, hidden: 0 };
    }
    let places = golden.threads.iter().zip(0_u32..);
    let places = places.map(|(thread, place)| (thread.name.as_str(), place));
    let places = places.collect::<FxHashMap<_, _>>();
    // Which thread of the golden run each of the faulty run is.
    let in_golden = faulty.threads.iter().map(|thread| places.get(thread.name.as_str()).copied());
    let in_golden = in_golden.collect::<Vec<_>>();
    let mut in_faulty = vec![None; golden.threads.len()];
    for (faulty, golden) in (0_u32..).zip(&in_golden) {
        if let Some(golden) = golden {
            in_faulty[*golden as usize] = Some(faulty);
        }
    }
    let mut walk = Walk { golden, faulty, in_golden: &in_golden, spread: Builder::default() };
    let mut threads = Vec::new();
    // One that created a thread in one run only, and does not deviate, was cut off in the other before it came to that. Who creates comes
    // before whom it creates.
    let is_fine =
        |threads: &[ThreadComparison], place: u32, run: &Sanitised, there: Option<u32>| {
            threads.get(place as usize).is_some_and(|thread| thread.first.is_none())
                && there.is_none_or(|there| is_cut_off(run, there))
        };
    for (place, &other) in (0_u32..).zip(&in_faulty) {
        let thread = &golden.threads[place as usize];
        threads.push(match other {
            Some(other) => walk.both(place, other),
            None if thread.parent.is_some_and(|parent| {
                is_fine(&threads, parent, faulty, in_faulty[parent as usize])
            }) =>
            {
                Walk::excused(thread, true)
            }
            None => walk.only_golden(place),
        });
    }
    // Where each thread of the faulty run is in the list.
    let mut listed = in_golden.clone();
    for (place, other) in (0_u32..).zip(&in_golden) {
        if other.is_some() {
            continue;
        }
        let thread = &faulty.threads[place as usize];
        let parent =
            thread.parent.and_then(|parent| listed.get(parent as usize).copied().flatten());
        listed[place as usize] = u32::try_from(threads.len()).ok();
        let in_golden = thread.parent.and_then(|parent| in_golden[parent as usize]);
        threads.push(match parent.is_some_and(|at| is_fine(&threads, at, golden, in_golden)) {
            true => Walk::excused(thread, false),
            false => walk.only_faulty(place),
        });
    }
    // Of several that are first, such as when all threads stop because the process was killed, that with the fault counts.
    let injected = faulty.injected.and_then(|(thread, _)| faulty.threads.get(thread as usize));
    let injected = injected.map(|thread| thread.name.as_str());
    let first = threads.iter().filter_map(|thread| thread.first.as_ref());
    let first = first
        .min_by_key(|deviation| (deviation.index, Some(deviation.thread.as_str()) != injected));
    let first = first.cloned();
    let spread = walk.spread.build(faulty);
    Comparison { is_same: first.is_none(), first, threads, spread, hidden: faulty.hidden }
}
