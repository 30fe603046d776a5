//! Envelopes as bytes: what is sent, and what is believed of what comes in.
//!
//! A frame is a fixed mark, the deployment that it belongs to, its sender, the sender's incarnation
//! and sequence number, the sender's colour (see [`crate::colour`]) and the message, all but the mark
//! in postcard's encoding. With a key, the first half of an HMAC-SHA-256 over the destination and all
//! of that follows. This tells who may speak; it neither hides what is said nor keeps a frame from
//! coming twice: the network may do that anyway.
//!
//! Nothing that comes in can make the reader panic: what is wrong with a frame is told by kind, so
//! that it can be counted.

use crate::Error;
use allways::Id;
use hmac::{Hmac, Mac};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::fmt;

/// How every frame begins: the format and its version.
const MARK: [u8; 3] = *b"aw1";
/// The bytes of an authentication.
const TAG: usize = 16;
/// The shortest key that is taken.
const MIN_KEY: usize = 16;

/// A key that all nodes of a deployment share, and those who may control them.
///
/// ```
/// let key = allways_live::Key::new(b"0123456789abcdef").unwrap();
/// assert_eq!(format!("{key:?}"), "Key(…)"); // never shown
/// ```
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

impl Key {
    /// A key of these bytes.
    ///
    /// ```
    /// assert!(allways_live::Key::new(&[7; 32]).is_ok());
    /// ```
    ///
    /// # Errors
    ///
    /// If there are fewer than sixteen.
    pub fn new(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() < MIN_KEY {
            let has = bytes.len();
            return Err(Error::new(format!(
                "a key has at least {MIN_KEY} bytes, but this one has {has}"
            )));
        }
        let mac = Hmac::new_from_slice(bytes).map_err(|error| Error::new(error.to_string()))?;
        Ok(Key(mac))
    }

    fn over(&self, context: &[u8], bytes: &[u8]) -> Hmac<Sha256> {
        self.0.clone().chain_update(context).chain_update(bytes)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Appends the authentication of what is there, if there is a key.
pub(crate) fn seal(key: Option<&Key>, context: &[u8], bytes: &mut Vec<u8>) {
    if let Some(key) = key {
        let tag = key.over(context, bytes).finalize().into_bytes();
        bytes.extend_from_slice(&tag[..TAG]);
    }
}

/// What was sealed, without its authentication.
pub(crate) fn open<'a>(
    key: Option<&Key>,
    context: &[u8],
    bytes: &'a [u8],
) -> Result<&'a [u8], Refused> {
    let Some(key) = key else { return Ok(bytes) };
    let (bytes, tag) = bytes.split_last_chunk::<TAG>().ok_or(Refused::Forged)?;
    match key.over(context, bytes).verify_truncated_left(tag) {
        Ok(()) => Ok(bytes),
        Err(_) => Err(Refused::Forged),
    }
}

/// Who sends a frame, and when in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub deployment: u64,
    pub from: Id,
    /// Grows with every start of the sender.
    pub incarnation: u64,
    /// Grows with every frame to the same destination.
    pub sequence: u64,
    /// How many snapshots the sender has recorded.
    pub colour: u64,
}

/// Why a frame is not believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// It is not a frame, or its message is none.
    Malformed,
    /// It has no authentication, or a wrong one.
    Forged,
    /// It belongs to another deployment.
    Stray,
}

/// A frame to this destination; `room` is how large it probably becomes.
pub(crate) fn encode(
    key: Option<&Key>,
    to: Id,
    header: &Header,
    msg: &impl Serialize,
    room: usize,
) -> Result<Vec<u8>, postcard::Error> {
    let mut bytes = Vec::with_capacity(room);
    bytes.extend(MARK);
    let mut bytes = postcard::to_extend(&(header, msg), bytes)?;
    seal(key, &context(to), &mut bytes);
    Ok(bytes)
}

/// What a frame to `to` says, in a deployment of this number and size.
pub(crate) fn decode<M: DeserializeOwned>(
    key: Option<&Key>,
    to: Id,
    deployment: u64,
    nodes: usize,
    bytes: &[u8],
) -> Result<(Header, M), Refused> {
    let bytes = open(key, &context(to), bytes)?;
    let bytes = bytes.strip_prefix(&MARK).ok_or(Refused::Malformed)?;
    let (header, rest): (Header, _) =
        postcard::take_from_bytes(bytes).map_err(|_| Refused::Malformed)?;
    if header.deployment != deployment {
        return Err(Refused::Stray);
    }
    match postcard::take_from_bytes(rest) {
        Ok((msg, [])) if header.from.index() < nodes => Ok((header, msg)),
        _ => Err(Refused::Malformed),
    }
}

fn context(to: Id) -> [u8; 8] {
    (to.index() as u64).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header { deployment: 7, from: Id::new(1), incarnation: 3, sequence: 300, colour: 2 }
    }

    fn read(key: Option<&Key>, bytes: &[u8]) -> Result<(Header, Vec<u16>), Refused> {
        decode(key, Id::new(0), 7, 3, bytes)
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let key = Key::new(&[1; 32]).unwrap();
        for key in [None, Some(&key)] {
            let bytes = encode(key, Id::new(0), &header(), &vec![1u16, 700], 0).unwrap();
            assert_eq!(read(key, &bytes), Ok((header(), vec![1, 700])));
        }
    }

    #[test]
    fn no_prefix_extension_or_flipped_bit_of_an_authenticated_frame_is_believed() {
        let key = Key::new(&[1; 32]).unwrap();
        let bytes = encode(Some(&key), Id::new(0), &header(), &vec![1u16], 0).unwrap();
        for at in 0..bytes.len() {
            assert_eq!(read(Some(&key), &bytes[..at]), Err(Refused::Forged));
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                assert_eq!(read(Some(&key), &bytes), Err(Refused::Forged));
            }
        }
        let other = Key::new(&[2; 32]).unwrap();
        assert_eq!(read(Some(&other), &bytes), Err(Refused::Forged));
        // What was meant for another node.
        let other = decode::<Vec<u16>>(Some(&key), Id::new(2), 7, 3, &bytes);
        assert_eq!(other, Err(Refused::Forged));
    }

    #[test]
    fn what_is_no_frame_is_malformed_and_never_a_panic() {
        let bytes = encode(None, Id::new(0), &header(), &vec![1u16, 2, 3], 0).unwrap();
        for at in 0..bytes.len() {
            assert_eq!(read(None, &bytes[..at]), Err(Refused::Malformed));
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(read(None, &longer), Err(Refused::Malformed));
        // Any bytes at all, from a fixed seed.
        let mut coin = crate::coin::Coin::new(1);
        for _ in 0..10_000 {
            let length = coin.below(64);
            let mut noise: Vec<u8> = (0..length).map(|_| coin.below(256) as u8).collect();
            let _ = read(None, &noise);
            noise.splice(0..0, MARK);
            let _ = read(None, &noise);
        }
    }

    #[test]
    fn frames_of_other_deployments_and_of_nodes_that_are_none_are_refused() {
        let stray = Header { deployment: 8, ..header() };
        let bytes = encode(None, Id::new(0), &stray, &vec![1u16], 0).unwrap();
        assert_eq!(read(None, &bytes), Err(Refused::Stray));
        let nobody = Header { from: Id::new(3), ..header() };
        let bytes = encode(None, Id::new(0), &nobody, &vec![1u16], 0).unwrap();
        assert_eq!(read(None, &bytes), Err(Refused::Malformed));
    }
}
