//! A stream in a check.
//!
//! Each direction is a channel of what was written, a message for each write. Each side has one or more sockets, which
//! are what sends into the one channel and receives from the other: the end comes when all of them are dropped. What was received and not yet
//! read is kept on the reader's side, where it takes no events as long as there is one reader.

use super::address::seen_from;
use super::registry::Carried;
use super::side::{Setting, Side};
use crate::handle::Handle;
use crate::rand;
use crate::runtime::current;
use crate::runtime::log::{digest, mix};
use crate::runtime::network::Called;
use crate::runtime::op::Kind;
use crate::sync::MutexGuard;
use crate::sync::mpsc::Channel;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

type At = &'static Location<'static>;

/// What the end of a stream says.
const END: u64 = 7;

/// What goes through a stream.
enum Chunk {
    /// What one write wrote.
    Bytes(Vec<u8>),
    /// There will be no more.
    End,
}

/// What has come and was not read, and how to wait for more.
struct Reading {
    rest: Vec<u8>,
    /// Where the rest begins.
    start: usize,
    is_over: bool,
    /// So often a read may still return less than there is.
    short_reads: u32,
    timeout: Option<Duration>,
    is_nonblocking: bool,
}

struct Writing {
    is_shut: bool,
    /// Whether something was written to nobody.
    has_lost: bool,
    timeout: Option<Duration>,
}

/// What makes no difference.
#[derive(Clone)]
pub(super) struct Options {
    pub nodelay: bool,
    pub ttl: u32,
}

/// What the sockets of one side share.
struct Shared {
    incoming: Arc<Channel<Chunk>>,
    outgoing: Arc<Channel<Chunk>>,
    reading: Side<Reading>,
    writing: Side<Writing>,
    options: Setting<Options>,
    /// Whether there has been more than one socket: whoever has one knows that.
    is_cloned: AtomicBool,
    local: SocketAddr,
    peer: SocketAddr,
}

/// A socket.
pub(super) struct Stream {
    shared: Arc<Shared>,
    /// What stands for it.
    own: Handle,
    /// Whether dropping it is something that others may notice.
    is_known: bool,
    /// Where it was connected, accepted or cloned.
    pub at: At,
}

impl Carried for Stream {
    const DATAGRAMS: bool = false;
    const RECEIVER: &'static str = "listener";
}

/// How much a read takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Take {
    /// As much as there is room for, or less.
    Some,
    /// As much as there is room for.
    Most,
    /// The same, and leaves it.
    Nothing,
}

/// How a socket is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// By the only one who has it.
    Alone,
    /// Maybe by others at the same time.
    Together,
}

impl Stream {
    /// Two sockets: of the one who connects, from this port, and of the process that it connects to.
    pub fn pair(port: u16, (process, target): (u32, SocketAddr), at: At) -> (Stream, Stream) {
        let own = current().map_or(0, |runtime| runtime.own_process());
        let client = SocketAddr::new(seen_from(target.ip()), port);
        let server = match target.ip().is_unspecified() {
            true => SocketAddr::new(seen_from(target.ip()), target.port()),
            false => target,
        };
        let there = Called::Between([(own, port), (process, target.port())]);
        let back = Called::Between([(process, target.port()), (own, port)]);
        let [to, from] = [there, back].map(|called| {
            let channel = Arc::new(Channel::new("stream", u64::MAX, at));
            if let Some(runtime) = current() {
                runtime.call(channel.handle.object(), called);
            }
            channel
        });
        let ends = (Arc::clone(&from), Arc::clone(&to));
        let connecting = Shared::new(ends, (client, server), there, at);
        let accepting = Shared::new((to, from), (server, client), back, at);
        let connecting = Stream::of(Arc::new(connecting), there, None, at);
        (connecting, Stream::of(Arc::new(accepting), back, None, at))
    }

    /// A socket, and the one that it is a copy of.
    fn of(shared: Arc<Shared>, called: Called, of: Option<u32>, at: At) -> Stream {
        let own = Handle::new("socket", at, None);
        if let Some(runtime) = current() {
            runtime.call(own.object(), called);
            runtime.add_sender(shared.outgoing.handle.object(), own.object(), of);
            runtime.add_receiver(shared.incoming.handle.object(), own.object(), of);
        }
        Stream { shared, own, is_known: true, at }
    }

    /// Nobody has heard of it.
    pub fn forget(mut self) {
        self.is_known = false;
    }

    pub fn try_clone(&self, at: At) -> Stream {
        self.shared.is_cloned.store(true, Relaxed);
        let own = self.own.object();
        if current().is_some_and(|runtime| runtime.tells_of_copy(at)) {
            self.own.access(Kind::Copy, 0, at);
        }
        let called = current().and_then(|runtime| runtime.population.made[own as usize].called);
        let called = called.unwrap_or(Called::Address(self.shared.local));
        Stream::of(Arc::clone(&self.shared), called, Some(own), at)
    }

    /// What one who is given this socket is told by that.
    pub fn said(&self) -> u64 {
        let Shared { incoming, outgoing, local, peer, .. } = &*self.shared;
        let key = |handle: &Handle| {
            current().map_or(0, |runtime| runtime.population.names.object_key(handle.object()))
        };
        let objects = [&incoming.handle, &outgoing.handle, &self.own].map(key);
        let addresses = digest(format!("{local} {peer}").as_bytes());
        objects.into_iter().fold(addresses, |all, one| mix(all ^ one))
    }

    pub fn local(&self) -> SocketAddr {
        self.shared.local
    }

    pub fn peer(&self) -> SocketAddr {
        self.shared.peer
    }

    pub fn options(&self) -> &Setting<Options> {
        &self.shared.options
    }

    /// A turn with a side, if others might want one.
    fn turn<'a, T>(&self, side: &'a Side<T>, access: Access, at: At) -> Option<MutexGuard<'a, ()>> {
        let is_alone = access == Access::Alone && !self.shared.is_cloned.load(Relaxed);
        (!is_alone).then(|| side.turn(at))
    }

    /// Sees to it that there is something to read; says whether there is, or the stream is over.
    fn fill(&self, at: At) -> io::Result<bool> {
        let Shared { incoming, reading, .. } = &*self.shared;
        enum Wait {
            Has(bool),
            Poll,
            Until(Duration),
            Forever,
        }
        let wait = reading.with(|it| match (it.start < it.rest.len(), it.timeout) {
            (true, _) => Wait::Has(true),
            _ if it.is_over => Wait::Has(false),
            _ if it.is_nonblocking => Wait::Poll,
            (_, Some(timeout)) => Wait::Until(timeout),
            (_, None) => Wait::Forever,
        });
        let received = match wait {
            Wait::Has(something) => return Ok(something),
            Wait::Poll => incoming.poll(at),
            Wait::Until(_) => incoming.receive_or_late(at),
            Wait::Forever => incoming.receive(at),
        };
        match (received, wait) {
            (Ok(Chunk::Bytes(bytes)), _) => {
                reading.with(|it| (it.rest, it.start) = (bytes, 0));
                Ok(true)
            }
            (Ok(Chunk::End), _) => {
                reading.with(|it| it.is_over = true);
                Ok(false)
            }
            (Err(true), _) => Ok(false),
            (Err(false), wait) => Err(late(match wait {
                Wait::Until(timeout) => timeout,
                _ => Duration::ZERO,
            })),
        }
    }

    pub fn read(&self, into: &mut [u8], take: Take, access: Access, at: At) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let reading = &self.shared.reading;
        let _turn = self.turn(reading, access, at);
        if !self.fill(at)? {
            return Ok(0);
        }
        let (most, short_reads) =
            reading.with(|it| (into.len().min(it.rest.len() - it.start), it.short_reads));
        let mut taken = most;
        if take == Take::Some && short_reads > 0 && most > 1 {
            let short = rand::chosen((most as u64).min(rand::MOST), at) as usize;
            taken = if short == 0 { most } else { short };
        }
        reading.with(|it| {
            into[..taken].copy_from_slice(&it.rest[it.start..it.start + taken]);
            if take != Take::Nothing {
                it.start += taken;
                it.short_reads -= u32::from(taken < most);
            }
        });
        Ok(taken)
    }

    /// Reads as much as there is room for. Where it has to read several times nobody can tell how much it read each time.
    pub fn read_exact(&self, into: &mut [u8], access: Access, at: At) -> io::Result<()> {
        let mut done = 0;
        while done < into.len() {
            match self.read(&mut into[done..], Take::Most, access, at)? {
                0 => {
                    let kind = io::ErrorKind::UnexpectedEof;
                    return Err(io::Error::new(kind, "failed to fill whole buffer"));
                }
                more => done += more,
            }
        }
        Ok(())
    }

    pub fn read_to_end(&self, into: &mut Vec<u8>, access: Access, at: At) -> io::Result<usize> {
        let before = into.len();
        let reading = &self.shared.reading;
        loop {
            let _turn = self.turn(reading, access, at);
            if !self.fill(at)? {
                return Ok(into.len() - before);
            }
            reading.with(|it| {
                into.extend_from_slice(&it.rest[it.start..]);
                it.start = it.rest.len();
            });
        }
    }

    pub fn write(&self, bytes: Vec<u8>, access: Access, at: At) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let Shared { outgoing, writing, .. } = &*self.shared;
        let _turn = self.turn(writing, access, at);
        let is_shut = writing.with(|it| it.is_shut);
        let len = bytes.len();
        // What is written first after the others are gone is lost; the answer to it tells that they are.
        let is_lost = is_shut || {
            let said = digest(&bytes);
            outgoing.tell(Chunk::Bytes(bytes), said, at).is_err()
        };
        match is_lost && (is_shut || writing.with(|it| std::mem::replace(&mut it.has_lost, true))) {
            true => Err(io::ErrorKind::BrokenPipe.into()),
            false => Ok(len),
        }
    }

    pub fn shutdown(&self, how: Shutdown, at: At) {
        let Shared { incoming, outgoing, writing, .. } = &*self.shared;
        if how != Shutdown::Read {
            let _turn = writing.turn(at);
            if !writing.with(|it| std::mem::replace(&mut it.is_shut, true)) {
                // If nobody is there, nobody needs to know.
                let _ = outgoing.tell(Chunk::End, END, at);
            }
        }
        if how != Shutdown::Write {
            // Whoever waits to read finds the end.
            let _ = incoming.tell(Chunk::End, END, at);
        }
    }

    pub fn set_nonblocking(&self, is_nonblocking: bool, at: At) {
        self.shared.reading.set(at, |it| it.is_nonblocking = is_nonblocking);
    }

    pub fn set_read_timeout(&self, timeout: Option<Duration>, at: At) -> io::Result<()> {
        let timeout = some_time(timeout)?;
        self.shared.reading.set(at, |it| it.timeout = timeout);
        Ok(())
    }

    pub fn read_timeout(&self, at: At) -> Option<Duration> {
        self.shared.reading.get(at, |it| it.timeout)
    }

    pub fn set_write_timeout(&self, timeout: Option<Duration>, at: At) -> io::Result<()> {
        let timeout = some_time(timeout)?;
        self.shared.writing.set(at, |it| it.timeout = timeout);
        Ok(())
    }

    pub fn write_timeout(&self, at: At) -> Option<Duration> {
        self.shared.writing.get(at, |it| it.timeout)
    }
}

impl Shared {
    fn new(
        (incoming, outgoing): (Arc<Channel<Chunk>>, Arc<Channel<Chunk>>),
        (local, peer): (SocketAddr, SocketAddr),
        called: Called,
        at: At,
    ) -> Self {
        let reading = Reading {
            rest: Vec::new(),
            start: 0,
            is_over: false,
            short_reads: current().map_or(0, |runtime| runtime.conditions.short_reads),
            timeout: None,
            is_nonblocking: false,
        };
        let writing = Writing { is_shut: false, has_lost: false, timeout: None };
        Shared {
            incoming,
            outgoing,
            reading: Side::new("reading side of the socket", reading, called, at),
            writing: Side::new("writing side of the socket", writing, called, at),
            options: Setting::new(Options { nodelay: false, ttl: 64 }, called, at),
            is_cloned: AtomicBool::new(false),
            local,
            peer,
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(runtime) = current()
            && self.is_known
            && !runtime.skips(self.at)
        {
            self.own.access(Kind::DropSender, 0, self.at);
        }
    }
}

/// There was nothing in time.
pub(super) fn late(after: Duration) -> io::Error {
    if let Some(runtime) = current() {
        runtime.pass(after);
    }
    match cfg!(windows) && !after.is_zero() {
        true => io::ErrorKind::TimedOut.into(),
        false => io::ErrorKind::WouldBlock.into(),
    }
}

/// A timeout that is one.
pub(super) fn some_time(timeout: Option<Duration>) -> io::Result<Option<Duration>> {
    match timeout {
        Some(Duration::ZERO) => {
            let why = "cannot set a 0 duration timeout";
            Err(io::Error::new(io::ErrorKind::InvalidInput, why))
        }
        timeout => Ok(timeout),
    }
}
