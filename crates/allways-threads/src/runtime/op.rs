//! What a thread is about to do, as data.
//!
//! A thread stops before each access to something shared and says what it wants: the kind of access, the
//! object, and where in the source it is. All that the checker decides, it decides from this.

use std::panic::Location;

/// The kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Reads an atomic, or a cell.
    Load,
    /// Writes it, whatever it was.
    Store,
    /// Writes it, and gets what it was.
    Swap,
    /// Writes it if it is what was expected: the argument.
    Exchange,
    /// Reads a cell that nobody may write meanwhile.
    RaceRead,
    /// Writes a cell that nobody may access meanwhile.
    RaceWrite,
    /// Has read such a cell, where others may have come in between.
    RaceReadEnd,
    /// Has written such a cell, where others may have come in between.
    RaceWriteEnd,
    /// Takes a mutex.
    Lock,
    /// Takes a mutex if it is free.
    TryLock,
    /// Gives a mutex back, where that is a step of its own. The argument is the event that took it.
    Unlock,
    /// Takes a lock together with other readers.
    Read,
    /// The same if there is no writer.
    TryRead,
    /// Gives it back. The argument is the event that took it.
    EndRead,
    /// Takes a lock alone.
    Write,
    /// The same if nobody has it.
    TryWrite,
    /// Gives it back. The argument is the event that took it.
    EndWrite,
    /// Begins to wait for a condition, and gives a mutex back: the argument is the event that took it.
    Wait,
    /// Was notified, or has waited long enough. The argument is the event with which it began to wait.
    WokenOrLate,
    /// Wakes one of those who wait.
    NotifyOne,
    /// Wakes all who wait.
    NotifyAll,
    /// Arrives at a barrier. The argument is how many it takes to open it.
    Arrive,
    /// Begins what is done once, or finds it done.
    Once,
    /// Has done what is done once. The argument is the event that began it.
    OnceDone,
    /// Sends into a channel. The argument is its capacity, [`u64::MAX`] if there is none.
    Send,
    /// The same if there is room.
    TrySend,
    /// Receives from a channel.
    Receive,
    /// The same if there is something.
    TryReceive,
    /// The same, or has waited long enough.
    ReceiveOrLate,
    /// Begins to wait for one who hands over, where somebody may try to.
    Await,
    /// One of the senders of a channel is gone.
    DropSender,
    /// Makes another socket for the same stream, where others are told of that.
    Copy,
    /// The receiver of a channel is gone.
    DropReceiver,
    /// Asks whether anybody may receive from a channel.
    LookForReceiver,
    /// Waits for a token.
    Park,
    /// Waits for a token, or long enough.
    ParkOrLate,
    /// Gives a token.
    Unpark,
    /// Chooses one of so many: the argument.
    Choose,
    /// Goes round in a loop in which it only reads; goes on when something of what it read has changed.
    Spin,
    /// A task goes on: it was woken, or something has come that it awaits. The argument is the list of what that is.
    Resume,
    /// Wakes a task.
    Wake,
    /// Wants a task to end.
    Abort,
    /// Takes a permit of a gate, or queues for one. The argument is the event since which permits for all count, if there is one.
    Acquire,
    /// Takes a permit of a gate if there is one; if the argument is [`BLOCKS`], when there is one.
    TryAcquire,
    /// Looks whether it has a permit for which it queued: the argument is the event with which it did.
    Acquired,
    /// Gives a permit to the first who queues, or back.
    Release,
    /// Lets all through who queue.
    ReleaseAll,
    /// Does not queue any more: the argument is the event with which it began to. If it has got a permit, that goes to the next.
    Leave,
    /// Sends into a channel with a gate, or queues for room.
    SendOrQueue,
    /// Sends into a channel with a gate if there is room; if the argument is [`BLOCKS`], when there is.
    TrySendInTurn,
    /// Sends what queued for room: the argument is the event with which it did.
    SendQueued,
    /// Receives from a channel if there is something; if the argument is [`BLOCKS`], when there is. If it has a gate, the first who queues gets the room.
    PollReceive,
    /// Looks whether the receiver of a channel is gone; if the argument is [`BLOCKS`], goes on when it is.
    PollClosed,
}

/// An argument that says that somebody waits who would otherwise find nothing.
pub(crate) const BLOCKS: u64 = 1;

impl Kind {
    /// Whether it takes a mutex, if it succeeds.
    pub fn takes(self) -> bool {
        matches!(self, Kind::Lock | Kind::TryLock)
    }

    /// Whether it reads or writes what an atomic has.
    pub fn is_of_atomic(self) -> bool {
        matches!(self, Kind::Load | Kind::Store | Kind::Swap | Kind::Exchange)
    }

    /// Whether it accesses a cell that others must not access meanwhile, and if so, whether it writes.
    pub fn races(self) -> Option<bool> {
        match self {
            Kind::RaceRead | Kind::RaceReadEnd => Some(false),
            Kind::RaceWrite | Kind::RaceWriteEnd => Some(true),
            _ => None,
        }
    }

    /// Whether it sends a message, if it succeeds.
    pub fn sends(self) -> bool {
        matches!(
            self,
            Kind::Send | Kind::TrySend | Kind::SendOrQueue | Kind::TrySendInTurn | Kind::SendQueued
        )
    }

    /// Whether it receives from a channel, if there is something.
    pub fn receives(self) -> bool {
        matches!(self, Kind::Receive | Kind::TryReceive | Kind::ReceiveOrLate | Kind::PollReceive)
    }

    /// Whether others may wait for it, without having to decide anything.
    pub fn may_wake(self) -> bool {
        matches!(
            self,
            Kind::NotifyOne
                | Kind::NotifyAll
                | Kind::Arrive
                | Kind::Receive
                | Kind::TryReceive
                | Kind::ReceiveOrLate
                | Kind::DropReceiver
        )
    }
}

/// An access that a thread is about to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub kind: Kind,
    pub object: u32,
    pub argument: u64,
    /// What it says to others, if that is known: what is sent, for instance. Zero if nobody knows.
    pub said: u64,
    pub at: &'static Location<'static>,
}

impl Op {
    pub fn is_same(&self, other: &Op) -> bool {
        self.kind == other.kind
            && self.object == other.object
            && self.argument == other.argument
            && self.said == other.said
            && std::ptr::eq(self.at, other.at)
    }
}

/// No event, thread or object.
pub(crate) const NONE: u32 = u32::MAX;
