//! Loops that only read: noticed, and held until something that they read has changed.
//!
//! A thread that waits for others by reading over and over would run for ever if it is always let go on. If between two reads at the same
//! place of the source it has written nothing, and its stack and its registers are the same, bit by bit, then it is where it was, and as long as
//! nothing of what it read has changed it will be there again. So it is held: to let it go on earlier adds nothing
//! but more of the same. That it waits for some time on the way changes nothing, unless it looks at its clock. A loop that counts how often it has tried is not the same from round to round, and is not held.
//!
//! What a thread has in the heap, and nobody else sees, is not compared. (What is in variables of the thread itself, [`thread_local!`](crate::thread_local), is, without
//! what that points to.) So it is *tried out* whether a thread that seems to be where it was goes round for ever: nobody else runs, and it goes on with what
//! it reads as it is, so many rounds ([`ROUNDS`]), each of which must find it where it was, with nothing but reads in between. Then the run is made again up to
//! there, since what has happened has not happened; and the thread is held, or it is not. A loop that counts in the heap, or has there what it
//! has read, comes to something else when it is tried out, unless it takes more rounds than that.
//!
//! A stack has words on it that nobody needs any more, and they may be other ones when the same run is made again. What a thread does next
//! must depend on what has happened to it alone, so it is remembered where it was found to be where it was, and where not.

use super::current;
use super::log::Entry;
use super::op::{Kind, NONE, Op};
use super::rules::Look;
use allways::machine::Footprints;
use std::any::Any;
use std::panic::Location;

/// The reads of a thread since it wrote something.
#[derive(Default)]
pub(crate) struct Rounds {
    reads: Vec<Read>,
    /// The clock of the thread when it looked there last.
    clock: u64,
    /// Whether the last of them was not the first of its kind.
    reads_again: bool,
}

struct Read {
    at: &'static Location<'static>,
    object: u32,
    kind: Kind,
    /// Its event, the last time.
    event: u32,
    /// What the stack was like, if it was looked at.
    stack: Option<u64>,
}

/// Whether an access may leave everything as it is.
fn may_only_read(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Load
            | Kind::Exchange
            | Kind::TryLock
            | Kind::TryRead
            | Kind::TryWrite
            | Kind::TrySend
            | Kind::TryReceive
            | Kind::TryAcquire
            | Kind::Acquired
            | Kind::TrySendInTurn
            | Kind::SendQueued
            | Kind::PollReceive
            | Kind::PollClosed
            | Kind::ReceiveOrLate
    )
}

impl Rounds {
    pub fn clear(&mut self) {
        self.reads.clear();
        self.clock = 0;
    }

    /// The thread looks at its clock: if time has passed since it did so before, it is not where it was.
    pub fn look_at_clock(&mut self, clock: u64) {
        if self.clock != clock {
            self.reads.clear();
            self.clock = clock;
        }
    }

    /// The last time that a thread did what it is about to do, if it has written nothing since.
    #[inline]
    fn last(
        &mut self,
        object: u32,
        kind: Kind,
        at: &'static Location<'static>,
    ) -> Option<&mut Read> {
        let is_it = |read: &&mut Read| {
            std::ptr::eq(read.at, at) && read.object == object && read.kind == kind
        };
        self.reads.iter_mut().find(is_it)
    }

    /// A thread has done something; says whether that has left everything as it was.
    #[inline]
    pub fn note(&mut self, event: u32, entry: &Entry, footprints: &Footprints) -> bool {
        if !may_only_read(entry.op.kind) || !footprints.writes(entry.footprint).is_empty() {
            self.reads.clear();
            return false;
        }
        let Op { at, object, kind, .. } = entry.op;
        match self.last(object, kind, at) {
            Some(read) => read.event = event,
            None => self.reads.push(Read { at, object, kind, event, stack: None }),
        }
        true
    }
}

/// A thread is about to read something: if it is where it was, the event since which it has gone round; otherwise [`NONE`].
///
/// When this is called, all that the caller still needs is on its stack or in registers that are its own. Both are looked at.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[allow(improper_ctypes_definitions, reason = "it is called from here alone")]
pub(crate) extern "sysv64" fn since(
    object: u32,
    kind: Kind,
    at: &'static Location<'static>,
) -> u32 {
    std::arch::naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov rcx, rsp",
        "sub rsp, 8",
        "call {look}",
        "add rsp, 56",
        "ret",
        look = sym look,
    )
}

/// Where nobody knows how to look at registers, no loop is noticed.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn since(_: u32, _: Kind, _: &'static Location<'static>) -> u32 {
    NONE
}

/// Clears what was left below the stack of the caller, so that what it calls next finds the same there in each round; unless what it has read last was
/// read for the first time. (The caller has called what takes more room than this.)
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(crate) extern "sysv64" fn sweep() {
    std::arch::naked_asm!(
        "sub rsp, 8",
        "call {reads_again}",
        "add rsp, 8",
        "test al, al",
        "jz 2f",
        "xor eax, eax",
        "mov ecx, {words}",
        "lea rdi, [rsp - 8 * {words}]",
        "rep stosq",
        "2:",
        "ret",
        reads_again = sym reads_again,
        words = const SWEPT,
    )
}

/// Whether the thread that runs reads something again.
#[cfg(target_arch = "x86_64")]
extern "sysv64" fn reads_again() -> bool {
    current().is_some_and(|runtime| runtime.running_thread().rounds.reads_again)
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn sweep() {}

/// Counts one more, and says whether that is more than so many. The number is never on the stack, where it would be another one in each round.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn count(times: &mut u32, most: u32) -> bool {
    let is_more: u8;
    // Safety: it changes the number, and nothing else.
    unsafe {
        std::arch::asm!(
            "inc dword ptr [{times}]",
            "cmp dword ptr [{times}], {most:e}",
            "seta {is_more}",
            times = in(reg) times,
            most = in(reg) most,
            is_more = lateout(reg_byte) is_more,
            options(nostack),
        );
    }
    is_more != 0
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn count(times: &mut u32, most: u32) -> bool {
    *times += 1;
    *times > most
}

/// So many words are cleared.
#[cfg(target_arch = "x86_64")]
const SWEPT: usize = 256;

/// `from` is where the registers are, then the address to which the caller returns, then its stack.
#[cfg(target_arch = "x86_64")]
#[allow(improper_ctypes_definitions, reason = "it is called from here alone")]
extern "sysv64" fn look(
    object: u32,
    kind: Kind,
    at: &'static Location<'static>,
    from: *const usize,
) -> u32 {
    let Some(runtime) = current() else { return NONE };
    if runtime.is_cleaning_up() {
        return NONE;
    }
    let known = runtime.next_spin(at);
    let is_tried_out = runtime.trial.is_some();
    let thread = runtime.running_thread();
    let base = thread.stop.base();
    let reads_again = thread.rounds.last(object, kind, at).is_some();
    thread.rounds.reads_again = reads_again;
    let Some(read) = thread.rounds.last(object, kind, at) else { return NONE };
    let event = read.event;
    // Safety: registers and stack are there from `from` to where the fiber of the thread that runs begins.
    let mut now = unsafe { hash(from, base) };
    for (_, local) in &thread.locals {
        now = now.rotate_left(5) ^ hash_local(&**local);
    }
    if is_tried_out {
        try_out((object, kind, at), now);
        return NONE;
    }
    let is_same = read.stack.replace(now) == Some(now);
    // A run that is repeated goes as it went, whatever the stack looks like.
    if let Some(known) = known {
        return known;
    }
    let past = runtime.past();
    match runtime.population.names.known_round(past) {
        Some(true) => event,
        Some(false) => NONE,
        None if runtime.is_spoilt => NONE,
        None if !is_same => {
            runtime.population.names.add_round(past, false);
            NONE
        }
        None => {
            let site = (object, kind, at);
            let (rounds, reads, value, goes_round) = (0, 0, 0, None);
            runtime.trial =
                Some(Trial { past, site, stack: now, rounds, reads, value, goes_round });
            NONE
        }
    }
}

/// What is read, and where.
type Site = (u32, Kind, &'static Location<'static>);

/// So many rounds are tried out.
const ROUNDS: u32 = 128;

/// So many reads are, until there is a round.
const READS: u32 = 64 * ROUNDS;

/// A thread that seems to be where it was is being tried out.
pub(crate) struct Trial {
    /// What has happened to it.
    past: u64,
    /// Where it seems to go round, and what its stack is there.
    site: Site,
    stack: u64,
    rounds: u32,
    reads: u32,
    /// What the last read was about.
    pub value: u64,
    /// Whether it goes round, once that is known.
    pub goes_round: Option<bool>,
}

/// A thread that is tried out is about to read something again.
#[cfg(target_arch = "x86_64")]
fn try_out(site: Site, stack: u64) {
    let Some(trial) = current().and_then(|runtime| runtime.trial.as_mut()) else { return };
    let (object, kind, at) = trial.site;
    if (object, kind) != (site.0, site.1) || !std::ptr::eq(at, site.2) {
        return;
    }
    trial.rounds += 1;
    // Nothing unwinds through here: the access that comes next concludes.
    if trial.stack != stack {
        trial.goes_round = Some(false);
    } else if trial.rounds > ROUNDS {
        trial.goes_round = Some(true);
    }
}

/// A thread that is tried out does something: if that is a read, it has it, and nothing has happened.
pub(crate) fn read_silently(op: &Op) -> Option<(bool, u64)> {
    let runtime = current()?;
    let running = runtime.running();
    let look = runtime.rules(&[]).look(running, op);
    let read = match look {
        Look::Can(can) if may_only_read(op.kind) && can.alternatives == 1 => {
            let writes = runtime.touching.footprints.writes(can.footprint);
            let only_reads = writes.is_empty() && (op.kind == Kind::Load || !can.succeeds);
            only_reads.then_some((can.succeeds, can.value))
        }
        _ => None,
    };
    let trial = runtime.trial.as_mut()?;
    trial.reads += 1;
    if let Some((_, value)) = read {
        trial.value = value;
    }
    read.filter(|_| trial.reads <= READS)
}

/// The thread that runs was tried out: whether it goes round. It goes on in no run.
#[cold]
pub(crate) fn conclude(goes_round: bool) {
    if end_trial(goes_round)
        && let Some(runtime) = current()
    {
        runtime.give_up_here();
    }
}

/// The same for one that has come to its end. Says whether it was tried out.
pub(crate) fn end_trial(goes_round: bool) -> bool {
    let Some(runtime) = current() else { return false };
    let Some(trial) = runtime.trial.take() else { return false };
    runtime.population.names.add_round(trial.past, goes_round);
    runtime.is_spoilt = true;
    true
}

/// A hash of what a thread has for itself, without what that points to.
#[cfg(target_arch = "x86_64")]
fn hash_local(local: &dyn Any) -> u64 {
    let from: *const u8 = std::ptr::from_ref(local).cast();
    let mut hash = 0u64;
    for index in 0..size_of_val(local) {
        // Safety: it is there. It may be anything, so it is not looked at as anything.
        let byte = unsafe { from.add(index).read_volatile() };
        hash = (hash.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    hash
}

/// A hash of words in memory.
///
/// # Safety
///
/// They must be there.
#[cfg(target_arch = "x86_64")]
unsafe fn hash(from: *const usize, base: usize) -> u64 {
    let words = (base - from.addr()) / size_of::<usize>();
    let mut hash = 0u64;
    for index in 0..words {
        // Safety: the caller says that it is there. It may be anything, so it is not looked at as anything.
        let word = unsafe { from.add(index).read_volatile() };
        hash = (hash.rotate_left(5) ^ word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    hash
}
