//! The network, as in `std::net`.
//!
//! Outside of a check these are the sockets of `std`. In a check there is no network but this one: it connects the processes of a
//! [`Program`](crate::Program), and the threads of each, with each other.
//!
//! # Addresses
//!
//! Each process is a host of its own: its name resolves to its own address, as in `"server:80"`. All other addresses are
//! common to all processes, also `127.0.0.1` and `localhost`: whoever binds one is found there by everybody. Who binds `0.0.0.0` or `[::]` is
//! found at the address of its process, and at all that nobody has bound; who looks for somebody there finds its own process
//! first, then the others in their order. Port 0 is a port that nobody else gets: which one depends on the thread that asks, and how often it has,
//! and on nothing else. No name is ever looked up outside of the program.
//!
//! # Streams
//!
//! A stream delivers all that was written, in order. A read returns what one write wrote, or a part of that if there is no room for more; that
//! it returns less [is for the program to allow](crate::Program::short_reads). Writing never waits. It takes a listener to connect, but nobody who
//! accepts: whoever is not accepted when the listener goes finds the end of the stream. The end comes when the other side has shut down writing,
//! or when all its sockets are dropped. After that, one write is lost without a word, as it is with Linux; those that follow fail with
//! [`BrokenPipe`](std::io::ErrorKind::BrokenPipe). Nothing is ever reset.
//!
//! # Datagrams
//!
//! They arrive once and in the order in which they were sent to a socket. That they get lost
//! [is for the program to allow](crate::Program::lossy_datagrams). Where nobody is bound, they vanish.
//!
//! # Time
//!
//! A timeout is a choice: it may end any wait that has nothing to wait for yet. Connecting and writing never time out.
//!
//! # What is an event
//!
//! Binding an address and looking for it; connecting, accepting, sending, receiving, and dropping a socket. A socket
//! that is read as `&mut TcpStream` and was never cloned is one thread's own, as the language has it: reading and writing it
//! is one event each, or none if something is left of what was read before. Through `&TcpStream`, or with clones, readers take turns, and
//! so do writers: that is one event more.
//!
//! Which of several threads drops the last `Arc` of a socket is none, and a check cannot know it: give each a socket of its own with `try_clone`, or keep one
//! `Arc` until the others have been joined.
//!
//! ```
//! use allways_threads::net::{TcpListener, TcpStream};
//! use allways_threads::{Program, thread};
//! use std::io::{Read, Write};
//!
//! let outcome = Program::new(|| {
//!     let listener = TcpListener::bind("main:80").unwrap();
//!     let client = thread::spawn(|| {
//!         let mut stream = TcpStream::connect("main:80").unwrap();
//!         stream.write_all(b"hello").unwrap();
//!     });
//!     let (mut stream, _) = listener.accept().unwrap();
//!     let mut text = String::new();
//!     stream.read_to_string(&mut text).unwrap();
//!     assert_eq!(text, "hello");
//!     client.join().unwrap();
//! })
//! .check();
//! outcome.assert_holds();
//! ```

mod address;
mod losses;
mod registry;
mod side;
mod stream;
mod tcp;
mod udp;
pub(crate) mod words;

pub use address::ToSocketAddrs;
pub use std::net::{
    AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, SocketAddrV4, SocketAddrV6,
};
pub use tcp::{Incoming, TcpListener, TcpStream};
pub use udp::UdpSocket;

use std::panic::Location;

/// A socket of `std`, or one of a check.
enum Either<A, B> {
    Real(A),
    Led(B),
}

/// Where something is done: where the caller says; but where the socket was made if that is not the caller's own source: `std` calls it for
/// somebody, or nobody knows who does.
fn place(
    at: &'static Location<'static>,
    made: &'static Location<'static>,
) -> &'static Location<'static> {
    let here = file!().trim_end_matches("mod.rs");
    let file = at.file();
    let is_foreign =
        file.starts_with("/rustc/") || file.starts_with(here) || file.contains("/library/std/src/");
    if is_foreign { made } else { at }
}
