//! A trace as one file.
//!
//! The file begins with a magic, the length of what follows, and a checksum of it, in that order: so a file that is no
//! trace, one that is cut off, and one in which bytes have changed are told apart. The checksum guards against accidents,
//! not against people who mean it.

use super::gather::{access, addresses};
use super::{Stream, Trace, TraceError};
use allways_epa_format::{Program, Reader, put_number, put_text};
use std::fs;
use std::path::Path;

/// The first bytes of the file.
const MAGIC: &[u8; 16] = b"allways-trace-1\n";

/// The magic, the length and the checksum.
const HEADER: usize = 32;

impl Trace {
    /// Writes it into a file, which [`Trace::open`] reads.
    pub fn save(&self, path: &Path) -> Result<(), TraceError> {
        if path.is_dir() {
            return Err(TraceError::Directory(path.to_owned()));
        }
        let mut bytes = vec![0; HEADER];
        let program = self.program.to_bytes();
        put_number(&mut bytes, program.len() as u64);
        bytes.extend_from_slice(&program);
        put_number(&mut bytes, self.addresses.len() as u64 * 8);
        self.addresses.iter().for_each(|address| bytes.extend(address.to_le_bytes()));
        put_number(&mut bytes, self.streams.len() as u64);
        for stream in &self.streams {
            put_number(&mut bytes, stream.thread);
            put_number(&mut bytes, stream.bytes.len() as u64);
            bytes.extend_from_slice(&stream.bytes);
        }
        put_number(&mut bytes, self.incomplete.len() as u64);
        self.incomplete.iter().for_each(|reason| put_text(&mut bytes, reason));
        let checksum = hash(&bytes[HEADER..]);
        let length = (bytes.len() - HEADER) as u64;
        bytes[..16].copy_from_slice(MAGIC);
        bytes[16..24].copy_from_slice(&length.to_le_bytes());
        bytes[24..32].copy_from_slice(&checksum.to_le_bytes());
        fs::write(path, bytes).map_err(|error| access(path, &error))
    }

    /// Reads the file that [`Trace::save`] wrote.
    pub fn open(path: &Path) -> Result<Trace, TraceError> {
        if path.is_dir() {
            return Err(TraceError::Directory(path.to_owned()));
        }
        let bytes = fs::read(path).map_err(|error| access(path, &error))?;
        if bytes.is_empty() || !bytes.starts_with(&MAGIC[..bytes.len().min(MAGIC.len())]) {
            return Err(TraceError::NotATrace(path.to_owned()));
        }
        let has = bytes.len() as u64;
        let Some((header, body)) = bytes.split_at_checked(HEADER) else {
            return Err(TraceError::CutOff { path: path.to_owned(), has, needs: HEADER as u64 });
        };
        let word =
            |at: usize| header[at..at + 8].iter().rev().fold(0, |n, b| n << 8 | u64::from(*b));
        let needs = word(16).saturating_add(HEADER as u64);
        if has < needs {
            return Err(TraceError::CutOff { path: path.to_owned(), has, needs });
        }
        if has > needs || hash(body) != word(24) {
            return Err(TraceError::Corrupt(path.to_owned()));
        }
        // The checksum is right, so whatever cannot be read now was written by something else.
        read(body).unwrap_or_else(|| Err(TraceError::NotATrace(path.to_owned())))
    }
}

fn read(body: &[u8]) -> Option<Result<Trace, TraceError>> {
    let mut reader = Reader::new(body);
    let mut part = || {
        let length = usize::try_from(reader.number()?).ok()?;
        reader.take(length)
    };
    let program = Program::from_bytes(part()?)?;
    let addresses = match addresses(part()?, &program) {
        Ok(addresses) => addresses,
        Err(error) => return Some(Err(error)),
    };
    let mut streams = Vec::new();
    for _ in 0..reader.number()? {
        let thread = reader.number()?;
        let length = usize::try_from(reader.number()?).ok()?;
        streams.push(Stream { thread, bytes: reader.take(length)?.to_vec() });
    }
    streams.sort_by_key(|stream| stream.thread);
    // Traces from before there were reasons have none.
    let count = if reader.position() == body.len() { 0 } else { reader.number()? };
    let mut incomplete = Vec::new();
    for _ in 0..count {
        incomplete.push(reader.text()?.to_owned());
    }
    Some(Ok(Trace { program, addresses, streams, incomplete }))
}

/// A hash of 64 bits over all bytes: each word is mixed in by a multiplication with an odd number and a rotation, both of
/// which can be undone, so that a change of one word always changes the hash.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = (bytes.len() as u64).wrapping_mul(ODD);
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    for word in words.iter().chain([&last]) {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(ODD).rotate_left(29);
    }
    (hash ^ hash >> 32).wrapping_mul(ODD)
}
