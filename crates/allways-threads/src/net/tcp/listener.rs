//! Listeners.

use super::TcpStream;
use crate::handle::Handle;
use crate::net::address::{all, each};
use crate::net::side::Setting;
use crate::net::stream::{Stream, late};
use crate::net::{Either, SocketAddr, ToSocketAddrs, place, registry};
use crate::runtime::current;
use crate::runtime::network::Called;
use crate::runtime::op::Kind;
use crate::sync::mpsc::Receiving;
use std::io;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use std::{fmt, iter};

/// Waits for others to connect, as in `std::net`.
///
/// ```
/// use allways_threads::net::{TcpListener, TcpStream};
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let client = TcpStream::connect(listener.local_addr()?)?;
/// let (_stream, peer) = listener.accept()?;
/// assert_eq!(peer, client.local_addr()?);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct TcpListener {
    inner: Either<std::net::TcpListener, Listener>,
}

/// A listener of a check.
struct Listener {
    shared: Arc<Shared>,
    at: &'static Location<'static>,
}

/// What the clones of a listener share. When the last of them goes, it does.
struct Shared {
    queue: Receiving<Stream>,
    options: Setting<Options>,
    local: SocketAddr,
    /// Which of them goes last is a matter of events, once there are several.
    own: Handle,
    is_cloned: AtomicBool,
}

#[derive(Clone)]
struct Options {
    is_nonblocking: bool,
    ttl: u32,
}

impl Listener {
    fn bind(address: SocketAddr, at: &'static Location<'static>) -> io::Result<Self> {
        let (local, bound) = registry::bind(address, at)?;
        let called = Called::Port(bound.process, local.port());
        let options = Options { is_nonblocking: false, ttl: 64 };
        let options = Setting::new(options, called, at);
        let own = Handle::new("listener", at, None);
        let queue = Receiving { channel: bound.channel, is_closed: false };
        let is_cloned = AtomicBool::new(false);
        let shared = Shared { queue, options, local, own, is_cloned };
        Ok(Listener { shared: Arc::new(shared), at })
    }

    fn accept(&self, at: &'static Location<'static>) -> io::Result<(TcpStream, SocketAddr)> {
        let channel = &self.shared.queue.channel;
        let received = match self.shared.options.get(at).is_nonblocking {
            true => channel.poll(at),
            false => channel.receive(at),
        };
        match received {
            Ok(mut stream) => {
                stream.at = at;
                let peer = stream.peer();
                Ok((TcpStream::led(stream), peer))
            }
            Err(_) => Err(late(Duration::ZERO)),
        }
    }

    fn clone(&self, at: &'static Location<'static>) -> Self {
        self.shared.is_cloned.store(true, Relaxed);
        Listener { shared: Arc::clone(&self.shared), at }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(runtime) = current()
            && self.shared.is_cloned.load(Relaxed)
            && !runtime.skips(self.at)
        {
            self.shared.own.access(Kind::Swap, 0, self.at);
        }
    }
}

impl TcpListener {
    /// Listens at an address.
    ///
    /// ```
    /// use allways_threads::net::TcpListener;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// assert!(TcpListener::bind(listener.local_addr()?).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it is no address, or somebody else has it.
    #[track_caller]
    pub fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<TcpListener> {
        let at = Location::caller();
        let inner = match current() {
            None => Either::Real(std::net::TcpListener::bind(&*all(addr)?)?),
            Some(_) => Either::Led(each(addr, |address| Listener::bind(address, at))?),
        };
        Ok(TcpListener { inner })
    }

    /// Its address.
    ///
    /// ```
    /// use allways_threads::net::TcpListener;
    /// assert_ne!(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port(), 0);
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

    /// Another one that listens for the same connections: each of them goes to one of the two.
    ///
    /// ```
    /// use allways_threads::net::TcpListener;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// assert_eq!(listener.try_clone()?.local_addr()?, listener.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Never in a check.
    #[track_caller]
    pub fn try_clone(&self) -> io::Result<TcpListener> {
        let inner = match &self.inner {
            Either::Real(real) => Either::Real(real.try_clone()?),
            Either::Led(led) => Either::Led(led.clone(Location::caller())),
        };
        Ok(TcpListener { inner })
    }

    /// Waits for somebody to connect.
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let _client = TcpStream::connect(listener.local_addr()?)?;
    /// let (stream, peer) = listener.accept()?;
    /// assert_eq!(stream.peer_addr()?, peer);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it does not wait, and nobody is there: [`WouldBlock`](io::ErrorKind::WouldBlock).
    #[track_caller]
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match &self.inner {
            Either::Real(real) => {
                let (stream, peer) = real.accept()?;
                Ok((TcpStream::real(stream), peer))
            }
            Either::Led(led) => led.accept(place(Location::caller(), led.at)),
        }
    }

    /// All who connect, for ever.
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let _client = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(listener.incoming().take(1).count(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming { listener: self }
    }

    /// Whether accepting waits.
    ///
    /// ```
    /// use allways_threads::net::TcpListener;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// listener.set_nonblocking(true)?;
    /// assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
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
                let set = |options: &mut Options| options.is_nonblocking = nonblocking;
                led.shared.options.set(Location::caller(), set);
                Ok(())
            }
        }
    }

    /// How many hops what is sent may make; it makes no difference in a check.
    ///
    /// ```
    /// use allways_threads::net::TcpListener;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// listener.set_ttl(7)?;
    /// assert_eq!(listener.ttl()?, 7);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Never in a check.
    #[track_caller]
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        match &self.inner {
            Either::Real(real) => real.set_ttl(ttl),
            Either::Led(led) => {
                led.shared.options.set(Location::caller(), |options| options.ttl = ttl);
                Ok(())
            }
        }
    }

    /// What was [set](Self::set_ttl).
    ///
    /// ```
    /// use allways_threads::net::TcpListener;
    /// assert!(TcpListener::bind("127.0.0.1:0")?.ttl()? > 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Never in a check.
    #[track_caller]
    pub fn ttl(&self) -> io::Result<u32> {
        match &self.inner {
            Either::Real(real) => real.ttl(),
            Either::Led(led) => Ok(led.shared.options.get(Location::caller()).ttl),
        }
    }

    /// What went wrong and was not told; in a check, nothing.
    ///
    /// ```
    /// use allways_threads::net::TcpListener;
    /// assert!(TcpListener::bind("127.0.0.1:0")?.take_error()?.is_none());
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

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.inner {
            Either::Real(real) => real.fmt(f),
            Either::Led(led) => {
                f.debug_struct("TcpListener").field("addr", &led.shared.local).finish()
            }
        }
    }
}

/// All who connect to a listener, as in `std::net`: see [`TcpListener::incoming`].
///
/// ```
/// use allways_threads::net::{TcpListener, TcpStream};
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let client = TcpStream::connect(listener.local_addr()?)?;
/// let first = listener.incoming().next().unwrap()?;
/// assert_eq!(first.peer_addr()?, client.local_addr()?);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Incoming<'a> {
    listener: &'a TcpListener,
}

impl Iterator for Incoming<'_> {
    type Item = io::Result<TcpStream>;

    #[track_caller]
    fn next(&mut self) -> Option<io::Result<TcpStream>> {
        let at = Location::caller();
        Some(match &self.listener.inner {
            Either::Real(_) => self.listener.accept().map(|(stream, _)| stream),
            Either::Led(led) => led.accept(place(at, led.at)).map(|(stream, _)| stream),
        })
    }
}

impl iter::FusedIterator for Incoming<'_> {}
