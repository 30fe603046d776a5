//! Sanitised traces: what two runs of the same program have in common even if memory is elsewhere and threads take turns in
//! another way (section 5.4.3 of the thesis, algorithms 4 and 5).
//!
//! Addresses become places in objects. An object is named by the thread that made it and by how many that thread had made
//! before; threads are named by who created them; globals have names of their own. In a run of a program that is
//! pseudo-deterministic each thread makes the same objects and creates the same threads in the same order, whatever the
//! others do: so the names are the same in every run, and what still differs between two runs was changed by a fault.
//!
//! What cannot be named well is said here. Addresses that nobody was seen to allocate (libraries, thread-local memory, the
//! arguments of `main`) are named per thread in the order in which it meets them, so if one is wrong when a thread meets it
//! first, that is not seen until the right one is met. Numbers of 64 bits are taken for addresses if they are in an object or
//! where the thread has seen that stacks and libraries are. A pointer to memory that was given back means what is there now, if that
//! memory was allocated again. Of structures only a hash is in the trace, in which addresses may be: they are
//! left out, and [`Sanitised::hidden`] counts them; their parts are compared wherever they are used.
//!
//! | file | what |
//! |---|---|
//! | `memory.rs` | which object an address belongs to (algorithm 4) |
//! | `scopes.rs` | which functions a thread is in, and what they have on the stack (algorithm 4) |
//! | `threads.rs` | names of threads (algorithm 5) |
//! | `tracker.rs` | the three together, record by record |
//! | `value.rs` | values that mean the same in every run, kept in few bytes |
//! | `text.rs` | for people (listings 6b and 7) |
//! | `identity.rs` | which lock is at an address |
//! | `steps.rs` | accesses to memory and synchronisation, for the check of reversibility |
//! | `effects.rs` | what calls of functions of libraries do to memory |
//! | `guess.rs` | what functions may do to memory of which only the name is known |

mod effects;
mod guess;
mod identity;
mod memory;
mod scopes;
mod steps;
mod text;
mod threads;
mod tracker;
mod value;

pub(crate) use effects::Callees;
pub use effects::Guessed;
pub use memory::{Object, ObjectKind};
pub(crate) use steps::accesses;
pub use steps::{Accesses, accesses_of, steps};
pub use value::{Canonical, Canonicals, ObjectName, Value};

use crate::trace::{Trace, TraceError, fingerprint};
use allways_epa_format::{Event, Opcode, Program, Record, ValueKind, put_number};
use tracker::Tracker;
use value::{Lane, can_be_address, put_value};

/// A trace that can be compared with others of the same program.
///
/// ```
/// use allways_epa::format::{Event, Program};
/// use allways_epa::sanitise::Sanitised;
/// use allways_epa::trace::{Stream, Trace};
/// let stream = |thread, parent, stamp| {
///     let mut bytes = Vec::new();
///     Event::Begin { thread, parent, child: 0, stamp }.put(&mut bytes);
///     Stream { thread, bytes }
/// };
/// let streams = vec![stream(0, None, 1), stream(1, Some(0), 2)];
/// let (program, addresses, incomplete) = (Program::default(), Vec::new(), Vec::new());
/// let trace = Trace { program, addresses, streams, incomplete };
/// let sanitised = Sanitised::new(&trace)?;
/// assert_eq!(sanitised.threads[1].name, "T_0_0");
/// # Ok::<(), allways_epa::trace::TraceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sanitised {
    /// The threads: first those of [`Trace::streams`], in their order, then those that never wrote anything.
    pub threads: Vec<Thread>,
    /// All objects that ever were, in the order of the trace.
    pub objects: Vec<Object>,
    /// How many records the trace has.
    pub records: u64,
    /// How many values are left out, because only a hash of them is known, in which addresses may be.
    pub hidden: u64,
    /// Where the fault was, if it happened: the thread, and the index of the record.
    pub injected: Option<(u32, u64)>,
    /// The thread with which the process exited by itself, and the status.
    pub exit: Option<(u32, u64)>,
    program: Program,
    fingerprint: u64,
}

/// A thread of a sanitised trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Its name in the tree of threads.
    pub name: String,
    /// The number that it had in this run.
    pub number: u64,
    /// Who created it: a place in [`Sanitised::threads`].
    pub parent: Option<u32>,
    /// Whether it ended by itself.
    pub ended: bool,
    pub(crate) lane: Lane,
}

impl Thread {
    /// How many records it has, without that which says that the fault happens.
    pub fn records(&self) -> u64 {
        self.lane.records
    }
}

impl Sanitised {
    /// Sanitises a trace, in one pass over its records.
    pub fn new(trace: &Trace) -> Result<Sanitised, TraceError> {
        let mut pass = Pass {
            tracker: Tracker::new(trace)?,
            lanes: vec![Lane::default(); trace.streams.len()],
            ended: vec![false; trace.streams.len()],
            hidden: 0,
            injected: None,
            exit: None,
        };
        let mut merged = trace.merged();
        let mut now = 0;
        while let Some((place, _, record)) = merged.next()? {
            let thread = place as u32;
            pass.tracker.before(thread, record, now)?;
            match record {
                Record::Event(event) => pass.event(thread, event, now)?,
                Record::Instruction { site, values } => {
                    pass.instruction(&trace.program, thread, site, values, now)?;
                }
            }
            pass.tracker.after(thread, record, now);
            now += 1;
        }
        Ok(pass.end(&trace.program, now))
    }

    /// The records of a thread (a place in [`Sanitised::threads`]); none if there is no such thread.
    pub fn canonicals(&self, thread: u32) -> Option<Canonicals<'_>> {
        let lane = &self.threads.get(thread as usize)?.lane;
        Some(Canonicals::new(&self.program, thread, lane))
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The fingerprint of the program, as [`Trace::fingerprint`] gives it.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The name of an object: that of a global, or its thread and a number.
    pub fn object_name(&self, object: &Object) -> String {
        let index = object.index;
        self.name(match object.thread {
            None => ObjectName::Global(index),
            Some(thread) if object.kind == ObjectKind::Unknown => {
                ObjectName::Unknown { thread, index }
            }
            Some(thread) => ObjectName::Made { thread, index },
        })
    }

    /// As text.
    pub fn name(&self, object: ObjectName) -> String {
        let thread = |place: u32| match self.threads.get(place as usize) {
            Some(thread) => thread.name.as_str(),
            None => "T_?",
        };
        match object {
            ObjectName::Global(index) => match self.program.globals.get(index as usize) {
                Some(global) => global.name.clone(),
                None => format!("g{index}"),
            },
            ObjectName::Made { thread: place, index } => format!("{}.o{index}", thread(place)),
            ObjectName::Unknown { thread: place, index } => format!("{}.u{index}", thread(place)),
        }
    }
}

/// The pass over the records.
struct Pass<'a> {
    tracker: Tracker<'a>,
    lanes: Vec<Lane>,
    ended: Vec<bool>,
    hidden: u64,
    injected: Option<(u32, u64)>,
    exit: Option<(u32, u64)>,
}

impl Pass<'_> {
    fn event(&mut self, thread: u32, event: Event, now: u64) -> Result<(), TraceError> {
        let in_library = self.tracker.in_library(thread);
        let is_given_back = match event {
            Event::Free { address, .. } => self.tracker.is_given_back(thread, address),
            _ => false,
        };
        let mut pointer = |address| self.tracker.pointer(thread, address, now);
        let (values, count) = match event {
            // It is in one of two runs that are compared, and must not count.
            Event::Injected => {
                self.injected.get_or_insert((thread, now));
                return Ok(());
            }
            // Of the library's own, nothing is the program's.
            Event::Library { .. } => return Ok(()),
            Event::Allocate { .. } if in_library => return Ok(()),
            Event::Free { .. } if !is_given_back => return Ok(()),
            Event::Begin { .. } | Event::Handle { .. } => ([Value::Hidden; 2], 0),
            Event::End { .. } => {
                self.ended[thread as usize] = true;
                ([Value::Hidden; 2], 0)
            }
            Event::Create { thread: other, .. } | Event::Join { thread: other, .. } => {
                let known = self.tracker.names.place(other);
                ([known.map_or(Value::Number(other), Value::Thread), Value::Hidden], 1)
            }
            Event::Lock { address, .. }
            | Event::LockShared { address, .. }
            | Event::Unlock { address, .. }
            | Event::BarrierEnter { address, .. }
            | Event::BarrierLeave { address, .. }
            | Event::Free { address, .. }
            | Event::Signal { condition: address, .. }
            | Event::Broadcast { condition: address, .. }
            | Event::Renew { address, .. }
            | Event::Send { channel: address, .. }
            | Event::Receive { channel: address, .. } => ([pointer(address)?, Value::Hidden], 1),
            Event::Barrier { address, count, .. } => ([pointer(address)?, Value::Number(count)], 2),
            Event::Release { address, last, .. } => {
                ([pointer(address)?, Value::Number(last.into())], 2)
            }
            Event::WaitBegin { condition, lock, .. } | Event::WaitEnd { condition, lock, .. } => {
                ([pointer(condition)?, pointer(lock)?], 2)
            }
            Event::Allocate { address, bytes, .. } => {
                ([pointer(address)?, Value::Number(bytes)], 2)
            }
            Event::Exit { status } => {
                self.exit.get_or_insert((thread, status));
                ([Value::Number(status), Value::Hidden], 1)
            }
        };
        let lane = &mut self.lanes[thread as usize];
        let (code, ..) = event.parts();
        debug_assert_eq!(count, value::event_values(code));
        lane.begin(now, code);
        for value in &values[..count] {
            put_value(&mut lane.bytes, *value, thread);
        }
        Ok(())
    }

    #[inline]
    fn instruction(
        &mut self,
        program: &Program,
        thread: u32,
        site: u32,
        values: &[u64],
        now: u64,
    ) -> Result<(), TraceError> {
        let lane = &mut self.lanes[thread as usize];
        lane.begin(now, u64::from(site) + Event::CODES);
        let known = &program.sites[site as usize];
        let first_argument = usize::from(known.has_result);
        // An address that is made a number, or the other way round, is an address in both forms.
        let is_cast = known.opcode == Opcode::Compute
            && matches!(
                known.values[..],
                [ValueKind::Int(64), ValueKind::Pointer] | [ValueKind::Pointer, ValueKind::Int(64)]
            );
        for (place, (&raw, &kind)) in values.iter().zip(&known.values).enumerate() {
            let value = match kind {
                ValueKind::Other => {
                    self.hidden += 1;
                    Value::Hidden
                }
                kind if !can_be_address(kind) => {
                    put_number(&mut lane.bytes, raw);
                    if known.opcode == Opcode::Enter {
                        self.tracker.argument(thread, raw, Value::Number(raw));
                    }
                    continue;
                }
                _ => {
                    let remembered = match place.checked_sub(first_argument) {
                        Some(argument) if known.opcode == Opcode::Call => {
                            self.tracker.remembered(thread, argument, raw)
                        }
                        _ => None,
                    };
                    match (remembered, kind) {
                        (Some(value), _) => value,
                        (None, _) if is_cast => self.tracker.pointer(thread, raw, now)?,
                        (None, ValueKind::Pointer) => self.tracker.pointer(thread, raw, now)?,
                        (None, _) => self.tracker.word(thread, raw, now)?,
                    }
                }
            };
            put_value(&mut lane.bytes, value, thread);
            if known.opcode == Opcode::Enter {
                self.tracker.argument(thread, raw, value);
            }
        }
        Ok(())
    }

    fn end(mut self, program: &Program, records: u64) -> Sanitised {
        self.tracker.names.end();
        self.tracker.memory.end(records.saturating_sub(1));
        let names = self.tracker.names;
        self.lanes.resize_with(names.names.len(), Lane::default);
        self.ended.resize(names.names.len(), false);
        let threads = names.names.into_iter().zip(names.numbers).zip(names.parents);
        let threads = threads.zip(self.lanes.into_iter().zip(self.ended));
        let threads = threads.map(|(((name, number), parent), (mut lane, ended))| {
            lane.shrink();
            Thread { name, number, parent, ended, lane }
        });
        let threads = threads.collect();
        let mut objects = self.tracker.memory.objects;
        objects.shrink_to_fit();
        Sanitised {
            threads,
            objects,
            records,
            hidden: self.hidden,
            injected: self.injected,
            exit: self.exit,
            program: program.clone(),
            fingerprint: fingerprint(program),
        }
    }
}
