//! Listeners and streams.

mod io;
mod listener;
mod stream;

pub use listener::{Incoming, TcpListener};
pub use stream::TcpStream;
