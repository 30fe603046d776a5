//! JSON, as far as runs and their stories need it: a value, how it is written, and how it is read.
//!
//! A crate of its own would do this as well, but whoever depends on this library compiles it in every test build, and
//! JSON by derived traits was a fifth of that time. A number is kept as it was written, so nothing
//! is lost of one that is passed on. Keys are sorted, so that the same value is always the same text.

mod read;

pub(crate) use read::parse;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter, Write};

/// The fields of an object.
pub(crate) type Map = BTreeMap<String, Value>;

/// A JSON value. `{}` writes it in one line, `{:#}` in many.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// As it is written.
    Number(String),
    String(String),
    Array(Vec<Value>),
    Object(Map),
}

impl Value {
    /// The number, if it is a whole one that is not negative and not written as a fraction.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Value::Number(text) => text.parse().ok(),
            _ => None,
        }
    }
}

/// A JSON object or list of expressions; those in it that are objects or lists themselves say `json!` again.
macro_rules! json {
    ({ $($key:literal: $value:expr),* $(,)? }) => {
        $crate::json::Value::Object($crate::json::Map::from([
            $(($key.to_owned(), $crate::json::ToJson::to_json(&$value))),*
        ]))
    };
    ([ $($value:expr),* $(,)? ]) => {
        $crate::json::Value::Array(vec![$($crate::json::ToJson::to_json(&$value)),*])
    };
}
pub(crate) use json;

/// What can be a part of a JSON value.
pub(crate) trait ToJson {
    fn to_json(&self) -> Value;
}

impl<T: ToJson + ?Sized> ToJson for &T {
    fn to_json(&self) -> Value {
        (**self).to_json()
    }
}

impl ToJson for Value {
    fn to_json(&self) -> Value {
        self.clone()
    }
}

impl ToJson for bool {
    fn to_json(&self) -> Value {
        Value::Bool(*self)
    }
}

impl ToJson for str {
    fn to_json(&self) -> Value {
        Value::String(self.to_owned())
    }
}

impl ToJson for String {
    fn to_json(&self) -> Value {
        Value::String(self.clone())
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl ToJson for $number {
            fn to_json(&self) -> Value {
                Value::Number(self.to_string())
            }
        }
    )*};
}
numbers!(u32, u64, usize);

impl<T: ToJson> ToJson for Option<T> {
    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, ToJson::to_json)
    }
}

impl<T: ToJson> ToJson for [T] {
    fn to_json(&self) -> Value {
        Value::Array(self.iter().map(ToJson::to_json).collect())
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn to_json(&self) -> Value {
        self.as_slice().to_json()
    }
}

impl<T: ToJson, const N: usize> ToJson for [T; N] {
    fn to_json(&self) -> Value {
        self.as_slice().to_json()
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write(self, f, f.alternate().then_some(0))
    }
}

/// A text in quotes, with what must not be in them escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(text, &mut out).expect("a text can be written to");
    out
}

/// Writes a value: in one line, or indented so many times.
fn write(value: &Value, out: &mut impl Write, indent: Option<usize>) -> fmt::Result {
    match value {
        Value::Null => out.write_str("null"),
        Value::Bool(value) => write!(out, "{value}"),
        Value::Number(text) => out.write_str(text),
        Value::String(text) => quote(text, out),
        Value::Array(items) => {
            list(out, indent, ['[', ']'], items, |out, item, indent| write(item, out, indent))
        }
        Value::Object(fields) => {
            list(out, indent, ['{', '}'], fields, |out, (key, value), indent| {
                quote(key, out)?;
                out.write_str(if indent.is_some() { ": " } else { ":" })?;
                write(value, out, indent)
            })
        }
    }
}

fn list<W: Write, T>(
    out: &mut W,
    indent: Option<usize>,
    [open, close]: [char; 2],
    items: impl IntoIterator<Item = T>,
    item: impl Fn(&mut W, T, Option<usize>) -> fmt::Result,
) -> fmt::Result {
    let new_line = |out: &mut W, indent: Option<usize>| match indent {
        Some(indent) => write!(out, "\n{:1$}", "", 2 * indent),
        None => Ok(()),
    };
    let inner = indent.map(|indent| indent + 1);
    out.write_char(open)?;
    let mut any = false;
    for next in items {
        if any {
            out.write_char(',')?;
        }
        any = true;
        new_line(out, inner)?;
        item(out, next, inner)?;
    }
    if any {
        new_line(out, indent)?;
    }
    out.write_char(close)
}

fn quote(text: &str, out: &mut impl Write) -> fmt::Result {
    out.write_char('"')?;
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.write_str(&text[plain..at])?;
        plain = at + 1;
        match byte {
            b'"' => out.write_str("\\\"")?,
            b'\\' => out.write_str("\\\\")?,
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            0x08 => out.write_str("\\b")?,
            0x0c => out.write_str("\\f")?,
            other => write!(out, "\\u{other:04x}")?,
        }
    }
    out.write_str(&text[plain..])?;
    out.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<u64>().prop_map(|n| n.to_json()),
            any::<String>().prop_map(|text| text.to_json()),
            "[\u{0}-\u{7f}]{0,9}".prop_map(|text| text.to_json()),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            let fields = prop::collection::btree_map(any::<String>(), inner.clone(), 0..6);
            prop_oneof![
                prop::collection::vec(inner, 0..6).prop_map(Value::Array),
                fields.prop_map(Value::Object),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_others_write_and_is_read_back(value in values()) {
            let theirs: serde_json::Value = serde_json::from_str(&value.to_string()).unwrap();
            prop_assert_eq!(value.to_string(), theirs.to_string());
            prop_assert_eq!(format!("{value:#}"), format!("{theirs:#}"));
            prop_assert_eq!(parse(&value.to_string()), Ok(value.clone()));
            prop_assert_eq!(parse(&format!("{value:#}")), Ok(value));
        }
    }

    #[test]
    fn a_number_is_passed_on_as_it_was_written() {
        for text in ["0", "-0", "18446744073709551616", "1.50", "1e400", "-2E-7"] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        assert_eq!(parse("7").unwrap().as_u64(), Some(7));
        assert_eq!(parse("7.0").unwrap().as_u64(), None);
        assert_eq!(parse("-7").unwrap().as_u64(), None);
    }
}
