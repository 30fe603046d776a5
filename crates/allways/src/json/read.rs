//! Reading JSON (RFC 8259): one value and nothing after it, or what is wrong and where.
//!
//! It goes down by recursion, so how deep a value may be is bounded.

use super::{Map, Value};

/// Lists and objects may be in each other this often.
const MAX_DEPTH: usize = 128;

/// The value that a text is.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    let mut reader = Reader { text, at: 0 };
    let whole = reader.value(0).and_then(|value| {
        reader.space();
        match reader.peek() {
            None => Ok(value),
            Some(_) => Err("something follows after the end"),
        }
    });
    whole.map_err(|what| {
        let before = &text.as_bytes()[..reader.at];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
        format!("{what} at line {line}, column {column}")
    })
}

struct Reader<'a> {
    text: &'a str,
    /// The byte that comes next; where something went wrong, the one that is wrong.
    at: usize,
}

type Read<T> = Result<T, &'static str>;

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Whether this byte comes next, which is then taken.
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self, depth: usize) -> Read<Value> {
        if depth > MAX_DEPTH {
            return Err("too many lists and objects in each other");
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'n') => self.word("null", Value::Null),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(_) => Err("no value"),
            None => Err("the text ends too early"),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Read<Value> {
        if !self.text[self.at..].starts_with(word) {
            return Err("no value");
        }
        self.at += word.len();
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Read<Value> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.takes(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            if self.takes(b']') {
                return Ok(Value::Array(items));
            }
            if !self.takes(b',') {
                return Err("no comma or end of a list");
            }
        }
    }

    fn object(&mut self, depth: usize) -> Read<Value> {
        self.at += 1;
        let mut fields = Map::new();
        self.space();
        if self.takes(b'}') {
            return Ok(Value::Object(fields));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err("no name of a field");
            }
            let name = self.string()?;
            self.space();
            if !self.takes(b':') {
                return Err("no colon after the name of a field");
            }
            let value = self.value(depth + 1)?;
            fields.insert(name, value);
            self.space();
            if self.takes(b'}') {
                return Ok(Value::Object(fields));
            }
            if !self.takes(b',') {
                return Err("no comma or end of an object");
            }
        }
    }

    fn digits(&mut self) -> Read<()> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err("no digit");
        }
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Read<Value> {
        let begin = self.at;
        self.takes(b'-');
        if !self.takes(b'0') {
            self.digits()?;
        } else if let Some(b'0'..=b'9') = self.peek() {
            return Err("a number that begins with zero");
        }
        if self.takes(b'.') {
            self.digits()?;
        }
        if self.takes(b'e') || self.takes(b'E') {
            let _ = self.takes(b'+') || self.takes(b'-');
            self.digits()?;
        }
        Ok(Value::Number(self.text[begin..self.at].to_owned()))
    }

    fn string(&mut self) -> Read<String> {
        self.at += 1;
        let mut out = String::new();
        let mut plain = self.at;
        loop {
            match self.peek() {
                Some(b'"') => {
                    out.push_str(&self.text[plain..self.at]);
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    out.push_str(&self.text[plain..self.at]);
                    self.at += 1;
                    out.push(self.escaped()?);
                    plain = self.at;
                }
                Some(0..=0x1f) => return Err("a control character in a text"),
                Some(_) => self.at += 1,
                None => return Err("the text ends too early"),
            }
        }
    }

    /// What follows a backslash.
    fn escaped(&mut self) -> Read<char> {
        let byte = self.peek().ok_or("the text ends too early")?;
        let plain = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err("no such escape"),
        };
        self.at += 1;
        Ok(plain)
    }

    /// The character of four hexadecimal digits, or of two times four: a surrogate pair.
    fn unicode(&mut self) -> Read<char> {
        let high = self.hex()?;
        let code = match high {
            0xd800..=0xdbff => {
                if !(self.takes(b'\\') && self.takes(b'u')) {
                    return Err("half a surrogate pair");
                }
                let low = self.hex()?;
                if !(0xdc00..=0xdfff).contains(&low) {
                    return Err("half a surrogate pair");
                }
                0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
            }
            code => code,
        };
        char::from_u32(code).ok_or("half a surrogate pair")
    }

    fn hex(&mut self) -> Read<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            code = 16 * code + digit.ok_or("no hexadecimal digit")?;
            self.at += 1;
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_others_read_is_read_and_what_they_refuse_is_refused(
            text in "[\\[\\]{},:\"\\\\ntrulefasb/dDc8-9eE.+\\-0 \n\u{1}é😀]{0,14}"
        ) {
            compare(&text)?;
        }

        #[test]
        fn so_it_is_of_nearly_valid_texts(at in 0_usize..200, byte in any::<u8>()) {
            let mut bytes = br#"{"a":[1,-0.5e+7,true,null,{}],"\u00e9\ud83d\ude00\n":"x\"\\/","b":{"c":[[]]}}"#.to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(text) = String::from_utf8(bytes) {
                compare(&text)?;
            }
        }
    }

    fn compare(text: &str) -> Result<(), TestCaseError> {
        let theirs = serde_json::from_str::<serde_json::Value>(text);
        // What they cannot represent we need not: a number is kept as it is written.
        if theirs.as_ref().is_err_and(|error| error.to_string().contains("out of range")) {
            return Ok(());
        }
        match (parse(text), theirs) {
            (Ok(ours), Ok(theirs)) => {
                let again: serde_json::Value = serde_json::from_str(&ours.to_string()).unwrap();
                prop_assert_eq!(again, theirs);
            }
            (ours, theirs) => {
                prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?}", ours, theirs)
            }
        }
        Ok(())
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, sentence) in [
            ("", "the text ends too early at line 1, column 1"),
            ("[1,\n 2,]", "no value at line 2, column 4"),
            ("{\"a\" 1}", "no colon after the name of a field at line 1, column 6"),
            ("{} {}", "something follows after the end at line 1, column 4"),
            ("\"\\ud800\"", "half a surrogate pair at line 1, column 8"),
        ] {
            assert_eq!(parse(text).unwrap_err(), sentence);
        }
        assert!(parse(&"[".repeat(128)).unwrap_err().starts_with("the text ends"));
        assert!(parse(&"[".repeat(1 << 20)).unwrap_err().starts_with("too many"));
    }
}
