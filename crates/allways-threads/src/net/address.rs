//! Addresses: of processes, of sockets that did not ask for one, and what names stand for.

use crate::runtime::current;
use crate::runtime::network::pair;
use std::cell::Cell;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::{option, slice, vec};

/// The ports that are given to those who do not ask for one.
const FIRST_FRESH: u64 = 49_152;
const LAST_FRESH: u64 = 65_535;

/// The network of the processes.
const PROCESSES: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 0);

/// The address of a process.
pub(super) fn of_process(process: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(PROCESSES.to_bits() + process + 1)
}

/// The process whose address this is.
pub(super) fn process_at(ip: IpAddr, processes: u32) -> Option<u32> {
    let IpAddr::V4(ip) = ip.to_canonical() else { return None };
    let process = ip.to_bits().checked_sub(PROCESSES.to_bits() + 1)?;
    (process < processes).then_some(process)
}

/// One way to write each address. Nobody at all is oneself.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip().to_canonical() {
        ip if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// The address under which the process of the thread that runs is seen by whoever is at another.
pub(super) fn seen_from(target: IpAddr) -> IpAddr {
    let own = current().map_or(Ipv4Addr::LOCALHOST, |runtime| of_process(runtime.own_process()));
    match target {
        ip if ip.is_loopback() => ip,
        ip if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V4(_) => IpAddr::V4(own),
        IpAddr::V6(_) => IpAddr::V6(own.to_ipv6_mapped()),
    }
}

/// A port that nobody else gets. It depends on the thread that runs and how often it has asked, so it is the same whatever
/// others do meanwhile.
pub(super) fn fresh_port() -> u16 {
    crate::thread_local!(static ASKED: Cell<u64> = Cell::new(0));
    let Some(runtime) = current() else { return 0 };
    let (processes, process) = (u64::from(runtime.processes()), u64::from(runtime.own_process()));
    let ordinal = runtime.ordinal();
    let asked = ASKED.try_with(|asked| asked.replace(asked.get() + 1)).unwrap_or(0);
    let each = ((LAST_FRESH - FIRST_FRESH + 1) / processes).max(1);
    (FIRST_FRESH + pair(ordinal, asked) % each * processes + process) as u16
}

/// What stands for addresses, as in `std::net`. In a check the names of processes are names of hosts.
///
/// ```
/// use allways_threads::Program;
/// use allways_threads::net::ToSocketAddrs;
///
/// let program = Program::of_processes().process("client", || {
///     let address = "server:80".to_socket_addrs().unwrap().next().unwrap();
///     assert_eq!(("server", 80).to_socket_addrs().unwrap().next(), Some(address));
///     assert!("nobody:80".to_socket_addrs().is_err());
/// });
/// program.process("server", || ()).check().assert_holds();
/// assert!("127.0.0.1:80".to_socket_addrs().is_ok());
/// ```
pub trait ToSocketAddrs {
    /// Goes through the addresses.
    type Iter: Iterator<Item = SocketAddr>;

    /// The addresses.
    ///
    /// ```
    /// use allways_threads::net::ToSocketAddrs;
    /// assert_eq!("[::1]:80".to_socket_addrs().unwrap().next().unwrap().port(), 80);
    /// ```
    ///
    /// # Errors
    ///
    /// If it is no address, or nobody has this name.
    fn to_socket_addrs(&self) -> io::Result<Self::Iter>;
}

impl ToSocketAddrs for SocketAddr {
    type Iter = option::IntoIter<SocketAddr>;
    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        Ok(Some(*self).into_iter())
    }
}

/// What has an address for itself.
macro_rules! is_address {
    ($($type:ty),*) => {
        $(
            impl ToSocketAddrs for $type {
                type Iter = option::IntoIter<SocketAddr>;
                fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
                    Ok(Some(SocketAddr::from(*self)).into_iter())
                }
            }
        )*
    };
}

is_address!(SocketAddrV4, SocketAddrV6, (IpAddr, u16), (Ipv4Addr, u16), (Ipv6Addr, u16));

impl ToSocketAddrs for (&str, u16) {
    type Iter = vec::IntoIter<SocketAddr>;
    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        match current() {
            None => std::net::ToSocketAddrs::to_socket_addrs(self),
            Some(_) => Ok(vec![SocketAddr::new(host(self.0)?, self.1)].into_iter()),
        }
    }
}

impl ToSocketAddrs for (String, u16) {
    type Iter = vec::IntoIter<SocketAddr>;
    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        (&*self.0, self.1).to_socket_addrs()
    }
}

impl ToSocketAddrs for str {
    type Iter = vec::IntoIter<SocketAddr>;
    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        if current().is_none() {
            return std::net::ToSocketAddrs::to_socket_addrs(self);
        }
        if let Ok(address) = self.parse() {
            return Ok(vec![address].into_iter());
        }
        let wrong = |what| io::Error::new(io::ErrorKind::InvalidInput, what);
        let (host, port) = self.rsplit_once(':').ok_or_else(|| wrong("invalid socket address"))?;
        let port: u16 = port.parse().map_err(|_| wrong("invalid port value"))?;
        (host, port).to_socket_addrs()
    }
}

impl ToSocketAddrs for String {
    type Iter = vec::IntoIter<SocketAddr>;
    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        self.as_str().to_socket_addrs()
    }
}

impl<'a> ToSocketAddrs for &'a [SocketAddr] {
    type Iter = std::iter::Cloned<slice::Iter<'a, SocketAddr>>;
    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        Ok(self.iter().cloned())
    }
}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {
    type Iter = T::Iter;
    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        (**self).to_socket_addrs()
    }
}

/// The host with a name, in a check.
fn host(name: &str) -> io::Result<IpAddr> {
    if let Ok(ip) = name.parse() {
        return Ok(ip);
    }
    let process = current().and_then(|runtime| {
        (0..runtime.processes()).find(|&process| runtime.process(process).name == name)
    });
    match process {
        Some(process) => Ok(IpAddr::V4(of_process(process))),
        None if name == "localhost" => Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        None => {
            let why = format!("no process of the program is called `{name}`");
            Err(io::Error::new(io::ErrorKind::NotFound, why))
        }
    }
}

/// Tries one address after the other.
pub(super) fn each<A: ToSocketAddrs, T>(
    addresses: A,
    mut f: impl FnMut(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut last = None;
    for address in addresses.to_socket_addrs()? {
        match f(address) {
            Ok(it) => return Ok(it),
            Err(error) => last = Some(error),
        }
    }
    let none = || io::Error::new(io::ErrorKind::InvalidInput, "could not resolve to any addresses");
    Err(last.unwrap_or_else(none))
}

/// All addresses, for `std`.
pub(super) fn all<A: ToSocketAddrs>(addresses: A) -> io::Result<Vec<SocketAddr>> {
    Ok(addresses.to_socket_addrs()?.collect())
}
