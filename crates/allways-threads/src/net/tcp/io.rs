//! Reading and writing streams.

use super::TcpStream;
use crate::net::stream::{Access, Take};
use crate::net::{Either, place};
use std::io::{self, IoSlice, Read, Write};
use std::panic::Location;

/// Reading and writing, by one who has the socket alone or by one who may not.
macro_rules! reads_and_writes {
    ($type:ty, $self:ident, $access:expr) => {
        impl Read for $type {
            #[track_caller]
            fn read(&mut $self, buf: &mut [u8]) -> io::Result<usize> {
                match &$self.inner {
                    Either::Real(real) => (&*real).read(buf),
                    Either::Led(led) => {
                        led.read(buf, Take::Some, $access, place(Location::caller(), led.at))
                    }
                }
            }

            #[track_caller]
            fn read_exact(&mut $self, buf: &mut [u8]) -> io::Result<()> {
                match &$self.inner {
                    Either::Real(real) => (&*real).read_exact(buf),
                    Either::Led(led) => {
                        led.read_exact(buf, $access, place(Location::caller(), led.at))
                    }
                }
            }

            #[track_caller]
            fn read_to_end(&mut $self, buf: &mut Vec<u8>) -> io::Result<usize> {
                match &$self.inner {
                    Either::Real(real) => (&*real).read_to_end(buf),
                    Either::Led(led) => {
                        led.read_to_end(buf, $access, place(Location::caller(), led.at))
                    }
                }
            }

            #[track_caller]
            fn read_to_string(&mut $self, buf: &mut String) -> io::Result<usize> {
                match &$self.inner {
                    Either::Real(real) => (&*real).read_to_string(buf),
                    Either::Led(led) => {
                        let mut bytes = Vec::new();
                        let at = place(Location::caller(), led.at);
                        let len = led.read_to_end(&mut bytes, $access, at)?;
                        let text = String::from_utf8(bytes).map_err(|_| {
                            let why = "stream did not contain valid UTF-8";
                            io::Error::new(io::ErrorKind::InvalidData, why)
                        })?;
                        buf.push_str(&text);
                        Ok(len)
                    }
                }
            }
        }

        impl Write for $type {
            #[track_caller]
            fn write(&mut $self, buf: &[u8]) -> io::Result<usize> {
                match &$self.inner {
                    Either::Real(real) => (&*real).write(buf),
                    Either::Led(led) => {
                        led.write(buf.to_vec(), $access, place(Location::caller(), led.at))
                    }
                }
            }

            #[track_caller]
            fn write_vectored(&mut $self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                match &$self.inner {
                    Either::Real(real) => (&*real).write_vectored(bufs),
                    Either::Led(led) => {
                        let bytes = bufs.iter().flat_map(|part| part.iter().copied()).collect();
                        led.write(bytes, $access, place(Location::caller(), led.at))
                    }
                }
            }

            #[track_caller]
            fn write_all(&mut $self, buf: &[u8]) -> io::Result<()> {
                match &$self.inner {
                    Either::Real(real) => (&*real).write_all(buf),
                    Either::Led(led) => {
                        let at = place(Location::caller(), led.at);
                        led.write(buf.to_vec(), $access, at).map(drop)
                    }
                }
            }

            fn flush(&mut $self) -> io::Result<()> {
                Ok(())
            }
        }
    };
}

reads_and_writes!(TcpStream, self, Access::Alone);
reads_and_writes!(&TcpStream, self, Access::Together);
