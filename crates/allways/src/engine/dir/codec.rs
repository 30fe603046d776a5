//! Numbers as bytes, for what outlives a process or leaves it: small ones are short, and nothing that is read is trusted.

/// Bytes that are being written.
#[derive(Default)]
pub(super) struct Writer {
    pub bytes: Vec<u8>,
}

impl Writer {
    /// A number that is mostly small: seven bits a byte.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// A number of which all bits matter.
    pub fn word(&mut self, word: u64) {
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }

    /// How many there are of something that follows.
    pub fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    pub fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }
}

/// Bytes that are being read. Whatever they are, each method says what is there, or that nothing of the kind is.
pub(super) struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        Reader { rest: bytes }
    }

    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for place in 0..10 {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            let bits = u64::from(byte & 0x7F);
            // The tenth byte has room for one bit.
            if place == 9 && bits > 1 {
                return None;
            }
            number |= bits << (7 * place);
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A number that fits into 32 bits.
    pub fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    pub fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*word))
    }

    /// How many there are of something of which each takes a byte at least: no more than there are bytes.
    pub fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.rest.len()).then_some(count)
    }

    /// So many of something.
    pub fn list<T>(&mut self, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count()?;
        (0..count).map(|_| one(self)).collect()
    }

    pub fn text(&mut self) -> Option<&'b str> {
        let count = self.count()?;
        let (text, rest) = self.rest.split_at(count);
        self.rest = rest;
        std::str::from_utf8(text).ok()
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'b [u8] {
        self.rest
    }

    /// Whether everything was read.
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_written_is_read(
            numbers in prop::collection::vec(any::<u64>(), 0..20),
            shifts in prop::collection::vec(0_u32..64, 20),
            text in ".{0,20}",
        ) {
            let mut writer = Writer::default();
            writer.count(numbers.len());
            for (number, shift) in numbers.iter().zip(&shifts) {
                writer.number(number >> shift);
                writer.word(*number);
            }
            writer.text(&text);
            let mut reader = Reader::new(&writer.bytes);
            prop_assert_eq!(reader.count(), Some(numbers.len()));
            for (number, shift) in numbers.iter().zip(&shifts) {
                prop_assert_eq!(reader.number(), Some(number >> shift));
                prop_assert_eq!(reader.word(), Some(*number));
            }
            prop_assert_eq!(reader.text(), Some(text.as_str()));
            prop_assert!(reader.is_at_end());
        }

        #[test]
        fn whatever_is_read_nothing_is_made_up(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut reader = Reader::new(&bytes);
            while reader.list(|reader| reader.number()).is_some() && !reader.is_at_end() {}
            let mut reader = Reader::new(&bytes);
            while reader.text().is_some() && !reader.is_at_end() {}
            let mut reader = Reader::new(&bytes);
            while reader.word().is_some() && !reader.is_at_end() {}
        }
    }

    #[test]
    fn a_count_is_no_more_than_there_is() {
        let mut writer = Writer::default();
        writer.number(u64::MAX);
        assert_eq!(Reader::new(&writer.bytes).number(), Some(u64::MAX));
        assert_eq!(Reader::new(&writer.bytes).count(), None);
        assert_eq!(Reader::new(&[0xFF; 12]).number(), None);
    }
}
