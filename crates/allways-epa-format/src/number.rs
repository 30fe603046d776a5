//! Numbers and texts as bytes.

/// Appends a number in LEB128: seven bits a byte, the lowest first.
///
/// ```
/// let mut bytes = Vec::new();
/// allways_epa_format::put_number(&mut bytes, 300);
/// assert_eq!(bytes, [0xac, 0x02]);
/// ```
pub fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a text: its length, and its bytes.
pub fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_number(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

/// Reads what was appended.
///
/// ```
/// use allways_epa_format::{Reader, put_number, put_text};
/// let mut bytes = Vec::new();
/// put_number(&mut bytes, u64::MAX);
/// put_text(&mut bytes, "main");
/// let mut reader = Reader::new(&bytes);
/// assert_eq!(reader.number(), Some(u64::MAX));
/// assert_eq!(reader.text(), Some("main"));
/// assert_eq!(reader.number(), None);
/// ```
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the first byte on.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next number; `None` if there is no whole one, or one of more than 64 bits.
    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        let mut shift = 0;
        let mut at = self.at;
        loop {
            let byte = *self.bytes.get(at)?;
            at += 1;
            if shift == 63 && byte > 1 {
                return None;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                self.at = at;
                return Some(number);
            }
            shift += 7;
            if shift > 63 {
                return None;
            }
        }
    }

    /// Whether a number begins here that is cut off by the end of the bytes. Otherwise, if there is no number, it is too long.
    pub fn is_cut(&self) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        rest.len() < 10 && rest.iter().all(|byte| byte & 0x80 != 0)
    }

    /// The next so many bytes.
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// The next text.
    pub fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        std::str::from_utf8(self.take(length)?).ok()
    }
}
