//! How frames get from one node to another: UDP, or TCP with a connection for each direction.
//!
//! Both give the node's loop the same three things: to wait until there may be something, to take
//! what is there without waiting, and to hand over what is to be sent without waiting.
//!
//! Over UDP the loop reads the socket itself: a queue in between would cost more than all the rest.
//! Frames that the kernel does not take wait in a bounded queue; beyond that they are dropped, as
//! UDP may.
//!
//! Over TCP there is a task for each connection. Readers push into a bounded queue: a node that does
//! not keep up stops reading, and its peers' frames stay with them. A node does not stop handling
//! messages because it cannot send: two nodes that wait for each other would wait for ever. Instead it
//! takes no more calls while too much waits to be sent ([`Transport::is_backlogged`]), and beyond a
//! hard limit frames are dropped and counted. A connection that breaks is made again at once; what was
//! written to it may be lost. Frames are numbered: one that is not newer than the last is not taken,
//! so between two nodes there is order, and nothing comes twice.

use crate::colour::Place;
use crate::error::cannot;
use crate::wire::{self, Header, Key};
use crate::{Error, Statistics};
use allways::Id;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufWriter, Interest};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The largest frame: what fits into a datagram.
pub(crate) const MAX_FRAME: usize = 65_507;
/// So many datagrams wait for the kernel.
const MAX_WAITING: usize = 1_024;
/// So many frames from all peers wait for the node.
const MAX_INBOUND: usize = 1_024;
/// With so many bytes to send to one peer, no calls are taken.
const BACKLOG: usize = 4 << 20;
/// With so many bytes to send to one peer, frames are dropped.
const MAX_BACKLOG: usize = 64 << 20;
/// A connection that is refused is tried again after this, and less and less often.
const RETRY: Duration = Duration::from_millis(5);
const MAX_RETRY: Duration = Duration::from_millis(500);

/// Which protocol carries messages.
///
/// ```
/// use allways_live::Protocol;
/// assert_eq!("udp".parse(), Ok(Protocol::Udp));
/// assert!("tpc".parse::<Protocol>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Protocol {
    /// Datagrams: lost, reordered, each at most 65,507 bytes.
    #[default]
    Udp,
    /// Streams: in order, and lost only when a node or a connection ends.
    Tcp,
}

impl std::fmt::Display for Protocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Protocol::Udp => "udp",
            Protocol::Tcp => "tcp",
        })
    }
}

impl Protocol {
    /// What a node with this label says that it is.
    ///
    /// ```
    /// let label = allways_live::Protocol::Tcp.labelled("paxos nodes=3");
    /// assert_eq!(label, "paxos nodes=3, over tcp");
    /// ```
    pub fn labelled(self, label: &str) -> String {
        if label.is_empty() { String::new() } else { format!("{label}, over {self}") }
    }
}

impl FromStr for Protocol {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "udp" => Ok(Protocol::Udp),
            "tcp" => Ok(Protocol::Tcp),
            _ => Err(format!("there is no transport `{text}`; choose udp or tcp")),
        }
    }
}

/// A socket that waits to be used.
pub(crate) enum Listening {
    Udp(UdpSocket),
    Tcp(TcpListener),
}

impl Listening {
    pub async fn bind(protocol: Protocol, address: SocketAddr) -> Result<Self, Error> {
        let listen = || format!("listen on {address}");
        match protocol {
            Protocol::Udp => {
                UdpSocket::bind(address).await.map(Listening::Udp).map_err(cannot(listen()))
            }
            Protocol::Tcp => {
                TcpListener::bind(address).await.map(Listening::Tcp).map_err(cannot(listen()))
            }
        }
    }

    pub fn address(&self) -> Result<SocketAddr, Error> {
        let address = match self {
            Listening::Udp(socket) => socket.local_addr(),
            Listening::Tcp(listener) => listener.local_addr(),
        };
        address.map_err(cannot("tell where it listens"))
    }
}

/// Who is speaking, and with whom.
pub(crate) struct Ends {
    pub me: Id,
    pub deployment: u64,
    pub incarnation: u64,
    pub peers: Vec<SocketAddr>,
    pub key: Option<Key>,
}

pub(crate) enum Transport {
    Udp(Udp),
    Tcp(Tcp),
}

impl Transport {
    pub fn new(listening: Listening, ends: Ends) -> Self {
        match listening {
            Listening::Udp(socket) => Transport::Udp(Udp {
                socket,
                peers: ends.peers,
                waiting: VecDeque::new(),
                buffer: vec![0; MAX_FRAME + 1],
            }),
            Listening::Tcp(listener) => Transport::Tcp(Tcp::new(listener, ends)),
        }
    }

    /// Waits until there may be something to do.
    pub async fn ready(&mut self) {
        match self {
            Transport::Udp(udp) => {
                let interest = match udp.waiting.is_empty() {
                    true => Interest::READABLE,
                    false => Interest::READABLE | Interest::WRITABLE,
                };
                let _ = udp.socket.ready(interest).await;
            }
            Transport::Tcp(tcp) => {
                if tcp.next.is_none() {
                    tcp.next = tcp.inbound.recv().await;
                }
            }
        }
    }

    /// Takes the next frame, if there is one. What cannot be one is counted.
    pub fn take(&mut self, counts: &mut Statistics) -> Option<&[u8]> {
        match self {
            Transport::Udp(udp) => udp.take(counts),
            Transport::Tcp(tcp) => {
                loop {
                    match tcp.next.take().or_else(|| tcp.inbound.try_recv().ok())? {
                        Inbound::Frame(frame) => {
                            tcp.taken = frame;
                            break;
                        }
                        Inbound::Wrong(Wrong::Oversized) => counts.oversized += 1,
                        Inbound::Wrong(Wrong::Refused(refused)) => count(refused, counts),
                    }
                }
                Some(&tcp.taken)
            }
        }
    }

    /// Hands a frame over; `place` is its number.
    pub fn send(&mut self, to: Id, frame: Vec<u8>, sequence: u64, counts: &mut Statistics) {
        counts.sent += 1;
        let taken = match self {
            Transport::Udp(udp) => udp.send(to, frame),
            Transport::Tcp(tcp) => tcp.send(to, frame, sequence),
        };
        if !taken {
            counts.overflowed += 1;
        }
    }

    /// Sends what had to wait.
    pub fn flush(&mut self) {
        if let Transport::Udp(udp) = self {
            udp.flush();
        }
    }

    /// Whether so much waits to be sent that nothing new should be begun.
    pub fn is_backlogged(&self) -> bool {
        match self {
            Transport::Udp(udp) => udp.waiting.len() > MAX_WAITING / 2,
            Transport::Tcp(tcp) => {
                tcp.writers.iter().flatten().any(|writer| writer.bytes.load(Relaxed) > BACKLOG)
            }
        }
    }

    /// Whether frames between two nodes stay in order and are not lost while both live.
    pub fn is_ordered(&self) -> bool {
        matches!(self, Transport::Tcp(_))
    }

    /// Waits, not for long, until what was handed over is sent.
    pub async fn drain(&mut self) {
        let drained = async {
            loop {
                self.flush();
                let waits = match self {
                    Transport::Udp(udp) => !udp.waiting.is_empty(),
                    Transport::Tcp(tcp) => {
                        tcp.writers.iter().flatten().any(|writer| writer.bytes.load(Relaxed) > 0)
                    }
                };
                if !waits {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let _ = tokio::time::timeout(MAX_RETRY, drained).await;
    }
}

pub(crate) fn count(refused: wire::Refused, counts: &mut Statistics) {
    match refused {
        wire::Refused::Malformed => counts.malformed += 1,
        wire::Refused::Forged => counts.forged += 1,
        wire::Refused::Stray => counts.stray += 1,
    }
}

pub(crate) struct Udp {
    socket: UdpSocket,
    peers: Vec<SocketAddr>,
    waiting: VecDeque<(Id, Vec<u8>)>,
    buffer: Vec<u8>,
}

impl Udp {
    fn take(&mut self, counts: &mut Statistics) -> Option<&[u8]> {
        loop {
            match self.socket.try_recv_from(&mut self.buffer) {
                // The buffer has room for one byte more than a frame may have.
                Ok((length, _)) if length > MAX_FRAME => counts.oversized += 1,
                Ok((_, from)) if !self.peers.contains(&from) => counts.stray += 1,
                Ok((length, _)) => return Some(&self.buffer[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) => {
                    tracing::debug!(%error, "a datagram could not be received");
                    return None;
                }
            }
        }
    }

    fn send(&mut self, to: Id, frame: Vec<u8>) -> bool {
        if self.waiting.is_empty() && self.is_sent(to, &frame) {
            return true;
        }
        let room = self.waiting.len() < MAX_WAITING;
        if room {
            self.waiting.push_back((to, frame));
        }
        room
    }

    /// Whether the kernel took it, or will never take it.
    fn is_sent(&self, to: Id, frame: &[u8]) -> bool {
        match self.socket.try_send_to(frame, self.peers[to.index()]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(error) => {
                tracing::debug!(%error, %to, "a datagram could not be sent");
                true
            }
            Ok(_) => true,
        }
    }

    fn flush(&mut self) {
        while let Some((to, frame)) = self.waiting.pop_front() {
            if !self.is_sent(to, &frame) {
                self.waiting.push_front((to, frame));
                return;
            }
        }
    }
}

pub(crate) struct Tcp {
    inbound: mpsc::Receiver<Inbound>,
    next: Option<Inbound>,
    taken: Vec<u8>,
    /// One for each peer, none for oneself.
    writers: Vec<Option<Writer>>,
    /// The tasks end with this.
    _tasks: JoinSet<()>,
}

enum Inbound {
    Frame(Vec<u8>),
    Wrong(Wrong),
}

enum Wrong {
    Oversized,
    Refused(wire::Refused),
}

struct Writer {
    queue: mpsc::UnboundedSender<(u64, Vec<u8>)>,
    /// How many bytes wait.
    bytes: Arc<AtomicUsize>,
}

impl Tcp {
    fn new(listener: TcpListener, ends: Ends) -> Self {
        let mut tasks = JoinSet::new();
        let (sender, inbound) = mpsc::channel(MAX_INBOUND);
        let ends = Arc::new(ends);
        let mut writers = Vec::new();
        for (index, &address) in ends.peers.iter().enumerate() {
            if index == ends.me.index() {
                writers.push(None);
                continue;
            }
            let (queue, frames) = mpsc::unbounded_channel();
            let bytes = Arc::new(AtomicUsize::new(0));
            let to = Id::new(index);
            tasks.spawn(write(to, address, Arc::clone(&ends), frames, Arc::clone(&bytes)));
            writers.push(Some(Writer { queue, bytes }));
        }
        tasks.spawn(accept(listener, ends, sender));
        Tcp { inbound, next: None, taken: Vec::new(), writers, _tasks: tasks }
    }

    fn send(&mut self, to: Id, frame: Vec<u8>, sequence: u64) -> bool {
        let Some(writer) = &self.writers[to.index()] else { return false };
        let room = writer.bytes.load(Relaxed) < MAX_BACKLOG;
        if room {
            writer.bytes.fetch_add(frame.len(), Relaxed);
            let _ = writer.queue.send((sequence, frame));
        }
        room
    }
}

/// Accepts connections, each from one peer.
async fn accept(listener: TcpListener, ends: Arc<Ends>, inbound: mpsc::Sender<Inbound>) {
    let mut readers = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                readers.spawn(receive(stream, Arc::clone(&ends), inbound.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "no connection from a peer");
                tokio::time::sleep(RETRY).await;
            }
        }
        while readers.try_join_next().is_some() {}
    }
}

/// Reads frames from a peer: first its greeting, a frame without a message that says up to which
/// number what it has sent came by earlier connections or is lost.
async fn receive(stream: TcpStream, ends: Arc<Ends>, inbound: mpsc::Sender<Inbound>) {
    let mut stream = tokio::io::BufReader::new(stream);
    let mut first = true;
    loop {
        let frame = match read(&mut stream).await {
            Ok(Some(frame)) => frame,
            Ok(None) => {
                let _ = inbound.send(Inbound::Wrong(Wrong::Oversized)).await;
                return;
            }
            Err(_) => return,
        };
        if std::mem::take(&mut first)
            && let Err(refused) = wire::decode::<Option<()>>(
                ends.key.as_ref(),
                ends.me,
                ends.deployment,
                ends.peers.len(),
                &frame,
            )
        {
            // Whoever speaks so is no peer: there is no use in listening on.
            let _ = inbound.send(Inbound::Wrong(Wrong::Refused(refused))).await;
            return;
        }
        if inbound.send(Inbound::Frame(frame)).await.is_err() {
            return;
        }
    }
}

/// A frame; nothing if it is larger than a frame may be.
async fn read(stream: &mut (impl AsyncReadExt + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let length = stream.read_u32().await? as usize;
    if length > MAX_FRAME {
        return Ok(None);
    }
    let mut frame = vec![0; length];
    stream.read_exact(&mut frame).await?;
    Ok(Some(frame))
}

/// Connects to a peer and writes to it, for ever.
async fn write(
    to: Id,
    address: SocketAddr,
    ends: Arc<Ends>,
    mut frames: mpsc::UnboundedReceiver<(u64, Vec<u8>)>,
    bytes: Arc<AtomicUsize>,
) {
    let mut retry = RETRY;
    // The number of the last frame that was written to any connection.
    let mut written = 0;
    loop {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                retry = RETRY;
                let _ = stream.set_nodelay(true);
                let written = &mut written;
                match write_all(stream, to, &ends, &mut frames, &bytes, written).await {
                    Ok(()) => return,
                    Err(error) => tracing::info!(%to, %error, "the connection broke"),
                }
            }
            Err(error) => tracing::debug!(%to, %error, "not connected"),
        }
        tokio::time::sleep(retry).await;
        retry = (retry * 2).min(MAX_RETRY);
    }
}

async fn write_all(
    stream: TcpStream,
    to: Id,
    ends: &Ends,
    frames: &mut mpsc::UnboundedReceiver<(u64, Vec<u8>)>,
    bytes: &AtomicUsize,
    written: &mut u64,
) -> io::Result<()> {
    let (mut back, forth) = stream.into_split();
    let mut forth = BufWriter::new(forth);
    let header = Header {
        deployment: ends.deployment,
        from: ends.me,
        incarnation: ends.incarnation,
        sequence: *written,
        colour: 0,
    };
    let greeting =
        wire::encode(ends.key.as_ref(), to, &header, &None::<()>, 0).map_err(io::Error::other)?;
    write_frame(&mut forth, &greeting).await?;
    forth.flush().await?;
    let mut nothing = [0];
    loop {
        tokio::select! {
            next = frames.recv() => {
                let Some((sequence, frame)) = next else { return Ok(()) };
                let mut batch = 0;
                let result = async {
                    let mut next = Some((sequence, frame));
                    // As many as there are, then one flush.
                    while let Some((sequence, frame)) = next {
                        *written = sequence;
                        batch += frame.len();
                        write_frame(&mut forth, &frame).await?;
                        next = frames.try_recv().ok();
                    }
                    forth.flush().await
                };
                let result = result.await;
                bytes.fetch_sub(batch, Relaxed);
                result?;
            }
            // A peer never writes back: this is the end of the connection.
            _ = back.read(&mut nothing) => return Err(ErrorKind::ConnectionReset.into()),
        }
    }
}

async fn write_frame(stream: &mut (impl AsyncWriteExt + Unpin), frame: &[u8]) -> io::Result<()> {
    stream.write_u32(frame.len() as u32).await?;
    stream.write_all(frame).await
}

/// What was received in order: from each node, the last place.
#[derive(Debug)]
pub(crate) struct InOrder(Vec<Place>);

impl InOrder {
    pub fn new(nodes: usize) -> Self {
        InOrder(vec![(0, 0); nodes])
    }

    /// Whether this is newer than all that came from there; if so, it is the last now.
    pub fn advances(&mut self, header: &Header) -> bool {
        let place = (header.incarnation, header.sequence);
        let last = &mut self.0[header.from.index()];
        let newer = place > *last;
        if newer {
            *last = place;
        }
        newer
    }

    pub fn places(&self) -> &[Place] {
        &self.0
    }
}
