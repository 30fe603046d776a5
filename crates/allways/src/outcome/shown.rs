//! A value as its `Debug` shows it, read back into a tree.
//!
//! The checker knows nothing of a user's types but how they show themselves. What the derived
//! `Debug` writes can be read back without loss: that is what differences between two states
//! ([`changes`](super::changes)) and structured output are made from. What somebody's own `Debug`
//! writes may be anything; where it cannot be read, it is left as it is, an [`Shown::Atom`].

use std::fmt;

/// Values nested deeper than this are atoms.
const MAX_DEPTH: usize = 64;

/// A value as its `Debug` shows it. Writing it with `Display` gives the text back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    /// Anything without parts that we know of: a number, a unit variant, what cannot be read.
    Atom(String),
    /// A string, as it is written: with its quotes and escapes.
    Text(String),
    /// A struct or variant with named fields. A field without a name is the `..` at its end.
    Struct { name: String, fields: Vec<(String, Shown)> },
    /// A tuple, or a struct or variant with unnamed fields; a plain tuple has no name.
    Tuple { name: String, items: Vec<Shown> },
    /// A list: the order of its items matters.
    List(Vec<Shown>),
    /// A set. What is written `{}` is taken for one, though it may be an empty map.
    Set(Vec<Shown>),
    /// A map, with its keys in the order in which they were written.
    Map(Vec<(Shown, Shown)>),
}

impl Shown {
    /// Reads what a `Debug` has written on one line. Never fails: what it cannot read is an atom.
    pub fn read(text: &str) -> Shown {
        let mut reader = Reader { text: text.trim_end(), at: 0 };
        match reader.value(0, false) {
            Some(value) if reader.rest().trim().is_empty() => value,
            _ => Shown::Atom(text.to_owned()),
        }
    }

    /// Whether it has parts that can be told apart.
    pub fn has_parts(&self) -> bool {
        !matches!(self, Shown::Atom(_) | Shown::Text(_))
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shown::Atom(text) | Shown::Text(text) => f.write_str(text),
            Shown::Struct { name, fields } => {
                write!(f, "{name} {{ ")?;
                between(f, fields, |f, (field, value)| match field.as_str() {
                    "" => write!(f, "{value}"),
                    field => write!(f, "{field}: {value}"),
                })?;
                f.write_str(" }")
            }
            Shown::Tuple { name, items } => {
                write!(f, "{name}(")?;
                between(f, items, |f, item| write!(f, "{item}"))?;
                f.write_str(if name.is_empty() && items.len() == 1 { ",)" } else { ")" })
            }
            Shown::List(items) => {
                f.write_str("[")?;
                between(f, items, |f, item| write!(f, "{item}"))?;
                f.write_str("]")
            }
            Shown::Set(items) => {
                f.write_str("{")?;
                between(f, items, |f, item| write!(f, "{item}"))?;
                f.write_str("}")
            }
            Shown::Map(entries) => {
                f.write_str("{")?;
                between(f, entries, |f, (key, value)| write!(f, "{key}: {value}"))?;
                f.write_str("}")
            }
        }
    }
}

/// Writes items with commas between them.
fn between<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    write: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write(f, item)?;
    }
    Ok(())
}

/// A place in a text. Every method either reads something and moves on, or returns `None`.
///
/// It goes by bytes, since all that has a meaning is ASCII, and states are read in unoptimised
/// builds too.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    fn eat(&mut self, what: u8) -> bool {
        let there = self.peek() == Some(what);
        self.at += usize::from(there);
        there
    }

    /// A value: in its grammar if it keeps to it, otherwise as an atom. `key` says that a colon
    /// ends it.
    fn value(&mut self, depth: usize, key: bool) -> Option<Shown> {
        self.spaces();
        let start = self.at;
        if depth < MAX_DEPTH
            && let Some(value) = self.by_grammar(depth)
            && self.is_ended(key)
        {
            return Some(value);
        }
        self.at = start;
        self.atom(key)
    }

    fn is_ended(&self, key: bool) -> bool {
        match self.peek() {
            None | Some(b',' | b')' | b']' | b'}') => true,
            Some(b':') => key,
            // The space before the brace that closes a struct.
            Some(b' ') => self.rest().trim_start().starts_with('}'),
            Some(_) => false,
        }
    }

    fn by_grammar(&mut self, depth: usize) -> Option<Shown> {
        match self.peek()? {
            b'"' => self.text_literal().map(Shown::Text),
            b'[' => self.items(b']', depth).map(Shown::List),
            b'(' => match self.items(b')', depth)? {
                items if items.is_empty() => Some(Shown::Atom("()".to_owned())),
                items => Some(Shown::Tuple { name: String::new(), items }),
            },
            b'{' => self.set_or_map(depth),
            byte if is_in_name(byte) && !byte.is_ascii_digit() => {
                let name = self.name();
                if self.peek() == Some(b'(') {
                    let items = self.items(b')', depth)?;
                    Some(Shown::Tuple { name, items })
                } else if self.rest().starts_with(" {") {
                    self.at += 1;
                    self.fields(depth).map(|fields| Shown::Struct { name, fields })
                } else {
                    Some(Shown::Atom(name))
                }
            }
            _ => self.atom(true),
        }
    }

    /// A name as types, variants and fields have them.
    fn name(&mut self) -> String {
        let start = self.at;
        while self.peek().is_some_and(is_in_name) {
            self.at += 1;
        }
        self.text[start..self.at].to_owned()
    }

    fn items(&mut self, close: u8, depth: usize) -> Option<Vec<Shown>> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.spaces();
            if self.eat(close) {
                return Some(items);
            }
            if !items.is_empty() {
                if !self.eat(b',') {
                    return None;
                }
                self.spaces();
                // `(1,)`
                if self.peek()? == close {
                    continue;
                }
            }
            items.push(self.value(depth + 1, false)?);
        }
    }

    fn fields(&mut self, depth: usize) -> Option<Vec<(String, Shown)>> {
        self.at += 1;
        let mut fields = Vec::new();
        loop {
            self.spaces();
            if self.eat(b'}') {
                return (!fields.is_empty()).then_some(fields);
            }
            if !fields.is_empty() {
                if !self.eat(b',') {
                    return None;
                }
                self.spaces();
            }
            if self.rest().starts_with("..") {
                self.at += 2;
                fields.push((String::new(), Shown::Atom("..".to_owned())));
                continue;
            }
            let name = self.name();
            if name.is_empty() || !self.eat(b':') {
                return None;
            }
            fields.push((name, self.value(depth + 1, false)?));
        }
    }

    fn set_or_map(&mut self, depth: usize) -> Option<Shown> {
        self.at += 1;
        let (mut items, mut entries) = (Vec::new(), Vec::new());
        loop {
            self.spaces();
            if self.eat(b'}') {
                break;
            }
            if !(items.is_empty() && entries.is_empty()) {
                if !self.eat(b',') {
                    return None;
                }
                self.spaces();
            }
            let key = self.value(depth + 1, true)?;
            if self.eat(b':') {
                entries.push((key, self.value(depth + 1, false)?));
            } else {
                items.push(key);
            }
        }
        match (items.is_empty(), entries.is_empty()) {
            (_, true) => Some(Shown::Set(items)),
            (true, false) => Some(Shown::Map(entries)),
            (false, false) => None,
        }
    }

    fn text_literal(&mut self) -> Option<String> {
        let start = self.at;
        let mut at = start + 1;
        loop {
            match self.text.as_bytes().get(at)? {
                b'\\' => at += 2,
                b'"' => break,
                _ => at += 1,
            }
        }
        self.at = at + 1;
        Some(self.text[start..self.at].to_owned())
    }

    /// How long the character literal here is, if there is one.
    fn char_literal(&self) -> Option<usize> {
        let mut chars = self.rest().char_indices().skip(1);
        let (_, first) = chars.next()?;
        if first == '\\' {
            // The escaped character itself may be a quote.
            chars.next()?;
            return chars.find(|&(_, c)| c == '\'').map(|(at, _)| at + 1);
        }
        chars.next().filter(|&(_, c)| c == '\'').map(|(at, _)| at + 1)
    }

    /// Everything up to where a value must end, whatever it is.
    fn atom(&mut self, key: bool) -> Option<Shown> {
        let start = self.at;
        let mut open = 0usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    // A quote that never ends is a character like any other.
                    if self.text_literal().is_none() {
                        self.at += 1;
                    }
                    continue;
                }
                b'\'' => {
                    self.at += self.char_literal().unwrap_or(1);
                    continue;
                }
                b'(' | b'[' | b'{' => open += 1,
                b',' | b')' | b']' | b'}' if open == 0 => break,
                b')' | b']' | b'}' => open -= 1,
                b':' if self.text.as_bytes().get(self.at + 1) == Some(&b':') => self.at += 1,
                b':' if open == 0 && key => break,
                _ => {}
            }
            self.at += 1;
        }
        // The space before the brace that closes a struct is not part of the last value.
        let atom = self.text[start..self.at].trim_end();
        self.at = start + atom.len();
        (!atom.is_empty() && open == 0).then(|| Shown::Atom(atom.to_owned()))
    }
}

/// Whether a name may have this byte: letters that are not ASCII have more than one.
fn is_in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'#' | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[derive(Debug)]
    #[allow(dead_code)]
    struct Everything {
        number: i32,
        real: f64,
        unit: (),
        letter: char,
        text: String,
        option: Option<(u8, char)>,
        list: Vec<Option<u8>>,
        set: BTreeSet<char>,
        map: BTreeMap<String, Vec<u8>>,
        nested: Box<Result<Inner, Empty>>,
        one: (u8,),
        nothing: Vec<u8>,
    }

    #[derive(Debug)]
    #[allow(dead_code)]
    enum Inner {
        Braces { r#type: u8 },
    }

    #[derive(Debug)]
    struct Empty {}

    fn everything() -> Everything {
        Everything {
            number: -1,
            real: 1e-7,
            unit: (),
            letter: '\'',
            text: "a \"quote\", a { brace and a \\".to_owned(),
            option: Some((1, ',')),
            list: vec![None, Some(2)],
            set: BTreeSet::from(['}', ':']),
            map: BTreeMap::from([("k: v".to_owned(), vec![1, 2])]),
            nested: Box::new(Ok(Inner::Braces { r#type: 3 })),
            one: (1,),
            nothing: vec![],
        }
    }

    #[test]
    fn what_a_derived_debug_writes_is_read_back_whole() {
        let text = format!("{:?}", everything());
        let shown = Shown::read(&text);
        assert_eq!(shown.to_string(), text);
        let Shown::Struct { name, fields } = shown else { panic!("{shown:?}") };
        assert_eq!(name, "Everything");
        let kinds: Vec<&str> = fields
            .iter()
            .map(|(_, value)| match value {
                Shown::Atom(_) => "atom",
                Shown::Text(_) => "text",
                Shown::Struct { .. } => "struct",
                Shown::Tuple { .. } => "tuple",
                Shown::List(_) => "list",
                Shown::Set(_) => "set",
                Shown::Map(_) => "map",
            })
            .collect();
        let expected = [
            "atom", "atom", "atom", "atom", "text", "tuple", "list", "set", "map", "tuple",
            "tuple", "list",
        ];
        assert_eq!(kinds, expected);
        assert_eq!(fields[4].1, Shown::Text(format!("{:?}", everything().text)));
        let Shown::Tuple { items, .. } = &fields[9].1 else { panic!() };
        assert!(matches!(&items[0], Shown::Struct { fields, .. } if fields[0].0 == "type"));
    }

    #[test]
    fn what_cannot_be_read_is_an_atom() {
        for text in ["", "client 3: write(A)", "Open(", "\"never closed", "a } b", "{1: 2, 3}"] {
            assert_eq!(Shown::read(text), Shown::Atom(text.to_owned()), "{text}");
        }
        // A field that is written by hand does no harm to the others, unless it has a comma.
        let text = "S { own: <a b>, std: 1.5s, .. }";
        assert!(matches!(Shown::read(text), Shown::Struct { fields, .. } if fields.len() == 3));
        assert_eq!(Shown::read(text).to_string(), text);
    }

    #[test]
    fn values_nested_without_end_are_atoms() {
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        assert_eq!(Shown::read(&deep).to_string(), deep);
        let open = "Some(".repeat(10_000);
        assert_eq!(Shown::read(&open), Shown::Atom(open));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn reading_anything_ends(text in "[\\[\\](){}:, \"'\\\\a.#é]{0,40}") {
            let shown = Shown::read(&text);
            // Written again, it is read as the same.
            prop_assert_eq!(Shown::read(&shown.to_string()), shown);
        }
    }
}
