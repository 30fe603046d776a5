//! Datagrams.

use super::address::{all, each, seen_from};
use super::losses::{self, Losses};
use super::registry::{self, Carried};
use super::side::Setting;
use super::stream::{late, some_time};
use super::{Either, SocketAddr, ToSocketAddrs, place};
use crate::handle::Handle;
use crate::runtime::current;
use crate::runtime::log::{digest, mix};
use crate::runtime::network::Called;
use crate::runtime::op::Kind;
use crate::sync::mpsc::Channel;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

type At = &'static Location<'static>;

/// What is sent.
struct Datagram {
    bytes: Vec<u8>,
    from: SocketAddr,
    /// What its sender knew of those that were lost.
    losses: Losses,
}

impl Carried for Datagram {
    const DATAGRAMS: bool = true;
    const RECEIVER: &'static str = "datagram socket";
}

#[derive(Clone)]
struct Options {
    peer: Option<SocketAddr>,
    timeout: Option<Duration>,
    write_timeout: Option<Duration>,
    is_nonblocking: bool,
    is_broadcast: bool,
    ttl: u32,
}

/// What the clones of a socket share.
struct Shared {
    channel: Arc<Channel<Datagram>>,
    options: Setting<Options>,
    local: SocketAddr,
    called: Called,
}

/// A socket of a check.
struct Socket {
    shared: Arc<Shared>,
    /// What stands for it.
    own: Handle,
    at: At,
}

impl Socket {
    fn bind(address: SocketAddr, at: At) -> io::Result<Self> {
        let (local, bound) = registry::bind(address, at)?;
        let called = Called::Port(bound.process, local.port());
        let options = Options {
            peer: None,
            timeout: None,
            write_timeout: None,
            is_nonblocking: false,
            is_broadcast: false,
            ttl: 64,
        };
        let options = Setting::new(options, called, at);
        let shared = Shared { channel: bound.channel, options, local, called };
        Ok(Socket::of(Arc::new(shared), None, at))
    }

    /// A socket, and the one that it is a copy of.
    fn of(shared: Arc<Shared>, of: Option<u32>, at: At) -> Self {
        let own = Handle::new("socket", at, None);
        if let Some(runtime) = current() {
            runtime.call(own.object(), shared.called);
            runtime.add_receiver(shared.channel.handle.object(), own.object(), of);
        }
        Socket { shared, own, at }
    }

    fn send_to(&self, bytes: &[u8], target: SocketAddr, at: At) -> usize {
        let local = self.shared.local;
        let from = match local.ip().is_unspecified() {
            true => SocketAddr::new(seen_from(target.ip()), local.port()),
            false => local,
        };
        if let Some(bound) = registry::look::<Datagram>(target, at)
            && !losses::loses(at)
        {
            let losses = losses::known();
            // If nobody is there any more, it vanishes.
            let said = mix(digest(bytes) ^ digest(format!("{from} {losses:?}").as_bytes()));
            let _ = bound.channel.tell(Datagram { bytes: bytes.to_vec(), from, losses }, said, at);
        }
        bytes.len()
    }

    fn recv_from(&self, into: &mut [u8], at: At) -> io::Result<(usize, SocketAddr)> {
        let Shared { channel, options, .. } = &*self.shared;
        let options = options.get(at);
        loop {
            let received = match (options.is_nonblocking, options.timeout) {
                (true, _) => channel.poll(at),
                (false, Some(_)) => channel.receive_or_late(at),
                (false, None) => channel.receive(at),
            };
            let Ok(Datagram { bytes, from, losses }) = received else {
                let after = options.timeout.filter(|_| !options.is_nonblocking);
                return Err(late(after.unwrap_or_default()));
            };
            losses::learn(&losses);
            if options.peer.is_none_or(|peer| peer == from) {
                // What there is no room for is lost.
                let len = bytes.len().min(into.len());
                into[..len].copy_from_slice(&bytes[..len]);
                return Ok((len, from));
            }
        }
    }

    fn peer(&self, at: At) -> io::Result<SocketAddr> {
        let peer = self.shared.options.get(at).peer;
        peer.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Some(runtime) = current()
            && !runtime.skips(self.at)
        {
            self.own.access(Kind::DropSender, 0, self.at);
        }
    }
}

/// Sends and receives datagrams, as in `std::net`.
///
/// ```
/// use allways_threads::net::UdpSocket;
/// let a = UdpSocket::bind("127.0.0.1:0")?;
/// let b = UdpSocket::bind("127.0.0.1:0")?;
/// a.send_to(b"hello", b.local_addr()?)?;
/// let mut bytes = [0; 8];
/// assert_eq!(b.recv_from(&mut bytes)?, (5, a.local_addr()?));
/// assert_eq!(&bytes[..5], b"hello");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct UdpSocket {
    inner: Either<std::net::UdpSocket, Socket>,
}

impl UdpSocket {
    /// A socket at an address.
    ///
    /// ```
    /// use allways_threads::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// assert!(UdpSocket::bind(socket.local_addr()?).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it is no address, or somebody else has it.
    #[track_caller]
    pub fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<UdpSocket> {
        let at = Location::caller();
        let inner = match current() {
            None => Either::Real(std::net::UdpSocket::bind(&*all(addr)?)?),
            Some(_) => Either::Led(each(addr, |address| Socket::bind(address, at))?),
        };
        Ok(UdpSocket { inner })
    }

    /// Receives a datagram: how long it is, and from whom.
    ///
    /// ```
    /// use allways_threads::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// let own = socket.local_addr()?;
    /// socket.send_to(b"x", own)?;
    /// assert_eq!(socket.recv_from(&mut [0; 8])?, (1, own));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If nothing came in time.
    #[track_caller]
    pub fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match &self.inner {
            Either::Real(real) => real.recv_from(buf),
            Either::Led(led) => led.recv_from(buf, place(Location::caller(), led.at)),
        }
    }

    /// Sends a datagram. In a check it vanishes if nobody is there.
    ///
    /// ```
    /// use allways_threads::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// assert_eq!(socket.send_to(b"x", socket.local_addr()?)?, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it is no address.
    #[track_caller]
    pub fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], addr: A) -> io::Result<usize> {
        match &self.inner {
            Either::Real(real) => real.send_to(buf, &*all(addr)?),
            Either::Led(led) => {
                let at = place(Location::caller(), led.at);
                // `std` sends to the first.
                each(addr, |target| Ok(led.send_to(buf, target, at)))
            }
        }
    }

    /// Receives from one address only, and sends there.
    ///
    /// ```
    /// use allways_threads::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// socket.connect(socket.local_addr()?)?;
    /// socket.send(b"x")?;
    /// assert_eq!(socket.recv(&mut [0; 8])?, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it is no address.
    #[track_caller]
    pub fn connect<A: ToSocketAddrs>(&self, addr: A) -> io::Result<()> {
        match &self.inner {
            Either::Real(real) => real.connect(&*all(addr)?),
            Either::Led(led) => {
                let at = Location::caller();
                let peer = each(addr, |address| Ok(super::address::canonical(address)))?;
                led.shared.options.set(at, |options| options.peer = Some(peer));
                Ok(())
            }
        }
    }

    /// Sends to the address that it is [connected](Self::connect) to.
    ///
    /// ```
    /// use allways_threads::net::UdpSocket;
    /// assert!(UdpSocket::bind("127.0.0.1:0")?.send(b"x").is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it is not connected.
    #[track_caller]
    pub fn send(&self, buf: &[u8]) -> io::Result<usize> {
        match &self.inner {
            Either::Real(real) => real.send(buf),
            Either::Led(led) => {
                let at = place(Location::caller(), led.at);
                Ok(led.send_to(buf, led.peer(at)?, at))
            }
        }
    }

    /// Receives from the address that it is [connected](Self::connect) to.
    ///
    /// ```
    /// use allways_threads::net::UdpSocket;
    /// let [a, b] = [UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?];
    /// a.connect(b.local_addr()?)?;
    /// b.send_to(b"x", a.local_addr()?)?;
    /// assert_eq!(a.recv(&mut [0; 8])?, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If nothing came in time.
    #[track_caller]
    pub fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        match &self.inner {
            Either::Real(real) => real.recv(buf),
            Either::Led(led) => Ok(led.recv_from(buf, place(Location::caller(), led.at))?.0),
        }
    }

    /// Its address.
    ///
    /// ```
    /// use allways_threads::net::UdpSocket;
    /// assert_ne!(UdpSocket::bind("127.0.0.1:0")?.local_addr()?.port(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Never in a check.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.inner {
            Either::Real(real) => real.local_addr(),
            Either::Led(led) => Ok(led.shared.local),
        }
    }

    /// The address that it is [connected](Self::connect) to.
    ///
    /// ```
    /// use allways_threads::net::UdpSocket;
    /// assert!(UdpSocket::bind("127.0.0.1:0")?.peer_addr().is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it is not connected.
    #[track_caller]
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        match &self.inner {
            Either::Real(real) => real.peer_addr(),
            Either::Led(led) => led.peer(Location::caller()),
        }
    }

    /// Another socket at the same address: each datagram goes to one of the two.
    ///
    /// ```
    /// use allways_threads::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// assert_eq!(socket.try_clone()?.local_addr()?, socket.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Never in a check.
    #[track_caller]
    pub fn try_clone(&self) -> io::Result<UdpSocket> {
        let inner = match &self.inner {
            Either::Real(real) => Either::Real(real.try_clone()?),
            Either::Led(led) => {
                let (of, at) = (Some(led.own.object()), Location::caller());
                if current().is_some_and(|runtime| runtime.tells_of_copy(at)) {
                    led.own.access(Kind::Copy, 0, at);
                }
                Either::Led(Socket::of(Arc::clone(&led.shared), of, Location::caller()))
            }
        };
        Ok(UdpSocket { inner })
    }

    /// What went wrong and was not told; in a check, nothing.
    ///
    /// ```
    /// use allways_threads::net::UdpSocket;
    /// assert!(UdpSocket::bind("127.0.0.1:0")?.take_error()?.is_none());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Never in a check.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        match &self.inner {
            Either::Real(real) => real.take_error(),
            Either::Led(_) => Ok(None),
        }
    }
}

/// What is set, and looked at: what it is for, and for how long or how much.
macro_rules! options {
    ($(
        $(#[$set_doc:meta])*
        $set:ident / $get:ident: $type:ty = $field:ident, $sample:literal, $check:expr;
    )*) => {
        impl UdpSocket {
            $(
                $(#[$set_doc])*
                ///
                /// ```
                /// use allways_threads::net::UdpSocket;
                /// let socket = UdpSocket::bind("127.0.0.1:0")?;
                #[doc = concat!("socket.", stringify!($set), "(", $sample, ")?;")]
                #[doc = concat!("assert_eq!(socket.", stringify!($get), "()?, ", $sample, ");")]
                /// # Ok::<(), std::io::Error>(())
                /// ```
                ///
                /// # Errors
                ///
                /// If it makes no sense.
                #[track_caller]
                pub fn $set(&self, value: $type) -> io::Result<()> {
                    match &self.inner {
                        Either::Real(real) => real.$set(value),
                        Either::Led(led) => {
                            let check: fn($type) -> io::Result<$type> = $check;
                            let value = check(value)?;
                            led.shared.options.set(Location::caller(), |it| it.$field = value);
                            Ok(())
                        }
                    }
                }

                #[doc = concat!("What was [set](Self::", stringify!($set), ").")]
                ///
                /// ```
                /// use allways_threads::net::UdpSocket;
                #[doc = concat!("UdpSocket::bind(\"127.0.0.1:0\")?.", stringify!($get), "()?;")]
                /// # Ok::<(), std::io::Error>(())
                /// ```
                ///
                /// # Errors
                ///
                /// Never in a check.
                #[track_caller]
                pub fn $get(&self) -> io::Result<$type> {
                    match &self.inner {
                        Either::Real(real) => real.$get(),
                        Either::Led(led) => Ok(led.shared.options.get(Location::caller()).$field),
                    }
                }
            )*
        }
    };
}

options! {
    /// How long to wait for a datagram. In a check it may take too long whenever there is none.
    set_read_timeout / read_timeout: Option<Duration> =
        timeout, "Some(std::time::Duration::from_secs(1))", some_time;
    /// How long to wait until a datagram is sent. In a check nobody waits.
    set_write_timeout / write_timeout: Option<Duration> =
        write_timeout, "Some(std::time::Duration::from_secs(1))", some_time;
    /// Whether datagrams may be sent to everybody; in a check there is nobody of that name.
    set_broadcast / broadcast: bool = is_broadcast, "true", Ok;
    /// How many hops a datagram may make; it makes no difference in a check.
    set_ttl / ttl: u32 = ttl, "7", Ok;
}

impl UdpSocket {
    /// Whether receiving waits.
    ///
    /// ```
    /// use allways_threads::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// socket.set_nonblocking(true)?;
    /// assert_eq!(socket.recv(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Never in a check.
    #[track_caller]
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        match &self.inner {
            Either::Real(real) => real.set_nonblocking(nonblocking),
            Either::Led(led) => {
                led.shared.options.set(Location::caller(), |it| it.is_nonblocking = nonblocking);
                Ok(())
            }
        }
    }
}

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.inner {
            Either::Real(real) => real.fmt(f),
            Either::Led(led) => {
                f.debug_struct("UdpSocket").field("addr", &led.shared.local).finish()
            }
        }
    }
}
