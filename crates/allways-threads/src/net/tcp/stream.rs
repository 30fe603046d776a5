//! Streams.

use crate::net::address::{all, each, fresh_port};
use crate::net::stream::{Access, Stream, Take};
use crate::net::{Either, Shutdown, SocketAddr, ToSocketAddrs, place, registry};
use crate::runtime::current;
use crate::sync::mpsc::SendError;
use std::fmt;
use std::io;
use std::panic::Location;
use std::time::Duration;

/// A stream of bytes to and from another socket, as in `std::net`.
///
/// ```
/// use allways_threads::net::{TcpListener, TcpStream};
/// use std::io::{Read, Write};
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let mut client = TcpStream::connect(listener.local_addr()?)?;
/// client.write_all(b"hello")?;
/// let mut bytes = [0; 5];
/// listener.accept()?.0.read_exact(&mut bytes)?;
/// assert_eq!(&bytes, b"hello");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct TcpStream {
    pub(super) inner: Either<std::net::TcpStream, Stream>,
}

/// Connects to somebody who listens, in a check.
fn connect(target: SocketAddr, at: &'static Location<'static>) -> io::Result<Stream> {
    let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
    let listener = registry::look::<Stream>(target, at).ok_or_else(refused)?;
    let (own, theirs) = Stream::pair(fresh_port(), (listener.process, target), at);
    let said = theirs.said();
    match listener.channel.tell(theirs, said, at) {
        Ok(()) => Ok(own),
        Err(SendError(theirs)) => {
            own.forget();
            theirs.forget();
            Err(refused())
        }
    }
}

impl TcpStream {
    pub(super) fn real(stream: std::net::TcpStream) -> Self {
        TcpStream { inner: Either::Real(stream) }
    }

    pub(super) fn led(stream: Stream) -> Self {
        TcpStream { inner: Either::Led(stream) }
    }

    /// Connects to somebody who listens.
    ///
    /// ```
    /// use allways_threads::Program;
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// use std::io::ErrorKind;
    ///
    /// let program = Program::of_processes()
    ///     .process("client", || match TcpStream::connect("server:80") {
    ///         Ok(stream) => assert_eq!(stream.peer_addr().unwrap().port(), 80),
    ///         Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionRefused),
    ///     })
    ///     .server("server", || drop(TcpListener::bind("server:80").unwrap().accept()));
    /// // The client comes too early, or it does not.
    /// assert_eq!(program.check().assert_holds().statistics.runs, Some(2));
    /// ```
    ///
    /// # Errors
    ///
    /// If nobody listens there: [`ConnectionRefused`](io::ErrorKind::ConnectionRefused).
    #[track_caller]
    pub fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<TcpStream> {
        let at = Location::caller();
        match current() {
            None => Ok(TcpStream::real(std::net::TcpStream::connect(&*all(addr)?)?)),
            Some(_) => Ok(TcpStream::led(each(addr, |address| connect(address, at))?)),
        }
    }

    /// Connects to somebody who listens, or gives up. In a check it never takes long.
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let second = std::time::Duration::from_secs(1);
    /// assert!(TcpStream::connect_timeout(&listener.local_addr()?, second).is_ok());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If nobody listens there, or there is no time.
    #[track_caller]
    pub fn connect_timeout(addr: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
        match current() {
            None => Ok(TcpStream::real(std::net::TcpStream::connect_timeout(addr, timeout)?)),
            Some(_) => {
                crate::net::stream::some_time(Some(timeout))?;
                Ok(TcpStream::led(connect(*addr, Location::caller())?))
            }
        }
    }

    /// The address of the other side.
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(stream.peer_addr()?, listener.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Never in a check.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        match &self.inner {
            Either::Real(real) => real.peer_addr(),
            Either::Led(led) => Ok(led.peer()),
        }
    }

    /// The address of this side.
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(listener.accept()?.1, stream.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Never in a check.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.inner {
            Either::Real(real) => real.local_addr(),
            Either::Led(led) => Ok(led.local()),
        }
    }

    /// Ends reading, writing or both, for all clones.
    ///
    /// ```
    /// use allways_threads::net::{Shutdown, TcpListener, TcpStream};
    /// use std::io::Read;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let client = TcpStream::connect(listener.local_addr()?)?;
    /// client.shutdown(Shutdown::Write)?;
    /// assert_eq!(listener.accept()?.0.read(&mut [0; 8])?, 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Never in a check.
    #[track_caller]
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match &self.inner {
            Either::Real(real) => real.shutdown(how),
            Either::Led(led) => {
                led.shutdown(how, place(Location::caller(), led.at));
                Ok(())
            }
        }
    }

    /// Another socket of the same stream. The stream ends when all of them are dropped.
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(stream.try_clone()?.local_addr()?, stream.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Never in a check.
    #[track_caller]
    pub fn try_clone(&self) -> io::Result<TcpStream> {
        match &self.inner {
            Either::Real(real) => Ok(TcpStream::real(real.try_clone()?)),
            Either::Led(led) => Ok(TcpStream::led(led.try_clone(Location::caller()))),
        }
    }

    /// How long a read waits. In a check a read may take too long whenever there is nothing to read.
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// use std::{io::Read, time::Duration};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let mut stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_read_timeout(Some(Duration::from_millis(1)))?;
    /// assert!(stream.read(&mut [0; 8]).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it is no time at all.
    #[track_caller]
    pub fn set_read_timeout(&self, dur: Option<Duration>) -> io::Result<()> {
        match &self.inner {
            Either::Real(real) => real.set_read_timeout(dur),
            Either::Led(led) => led.set_read_timeout(dur, Location::caller()),
        }
    }

    /// How long a write waits. In a check it never does.
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// use std::time::Duration;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert!(stream.set_write_timeout(Some(Duration::ZERO)).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it is no time at all.
    #[track_caller]
    pub fn set_write_timeout(&self, dur: Option<Duration>) -> io::Result<()> {
        match &self.inner {
            Either::Real(real) => real.set_write_timeout(dur),
            Either::Led(led) => led.set_write_timeout(dur, Location::caller()),
        }
    }

    /// What was [set](Self::set_read_timeout).
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// assert_eq!(TcpStream::connect(listener.local_addr()?)?.read_timeout()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Never in a check.
    #[track_caller]
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        match &self.inner {
            Either::Real(real) => real.read_timeout(),
            Either::Led(led) => Ok(led.read_timeout(Location::caller())),
        }
    }

    /// What was [set](Self::set_write_timeout).
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// assert_eq!(TcpStream::connect(listener.local_addr()?)?.write_timeout()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Never in a check.
    #[track_caller]
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        match &self.inner {
            Either::Real(real) => real.write_timeout(),
            Either::Led(led) => Ok(led.write_timeout(Location::caller())),
        }
    }

    /// Reads what the next read will read.
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// use std::io::{Read, Write};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// TcpStream::connect(listener.local_addr()?)?.write_all(b"x")?;
    /// let (mut stream, _) = listener.accept()?;
    /// assert_eq!(stream.peek(&mut [0])?, stream.read(&mut [0])?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for a read.
    #[track_caller]
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        match &self.inner {
            Either::Real(real) => real.peek(buf),
            Either::Led(led) => {
                led.read(buf, Take::Nothing, Access::Together, place(Location::caller(), led.at))
            }
        }
    }

    /// Whether small packets are sent at once; it makes no difference in a check.
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_nodelay(true)?;
    /// assert!(stream.nodelay()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Never in a check.
    #[track_caller]
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        match &self.inner {
            Either::Real(real) => real.set_nodelay(nodelay),
            Either::Led(led) => {
                led.options().set(Location::caller(), |options| options.nodelay = nodelay);
                Ok(())
            }
        }
    }

    /// What was [set](Self::set_nodelay).
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// assert!(!TcpStream::connect(listener.local_addr()?)?.nodelay()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Never in a check.
    #[track_caller]
    pub fn nodelay(&self) -> io::Result<bool> {
        match &self.inner {
            Either::Real(real) => real.nodelay(),
            Either::Led(led) => Ok(led.options().get(Location::caller()).nodelay),
        }
    }

    /// How many hops what is sent may make; it makes no difference in a check.
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_ttl(7)?;
    /// assert_eq!(stream.ttl()?, 7);
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
                led.options().set(Location::caller(), |options| options.ttl = ttl);
                Ok(())
            }
        }
    }

    /// What was [set](Self::set_ttl).
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// assert!(TcpStream::connect(listener.local_addr()?)?.ttl()? > 0);
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
            Either::Led(led) => Ok(led.options().get(Location::caller()).ttl),
        }
    }

    /// Whether a read waits.
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// use std::io::{ErrorKind, Read};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let mut stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_nonblocking(true)?;
    /// assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
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
                led.set_nonblocking(nonblocking, Location::caller());
                Ok(())
            }
        }
    }

    /// What went wrong and was not told; in a check, nothing.
    ///
    /// ```
    /// use allways_threads::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// assert!(TcpStream::connect(listener.local_addr()?)?.take_error()?.is_none());
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

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.inner {
            Either::Real(real) => real.fmt(f),
            Either::Led(led) => f
                .debug_struct("TcpStream")
                .field("addr", &led.local())
                .field("peer", &led.peer())
                .finish(),
        }
    }
}
