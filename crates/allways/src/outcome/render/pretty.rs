//! A value as its `Debug` shows it, over several lines where one would be too long.

use crate::outcome::shown::Shown;

/// How long a line may be before it is broken.
const WIDTH: usize = 52;
/// How far parts are moved to the right of what they are a part of.
const INDENT: usize = 2;

/// The text broken into lines along its parts; as it is if it cannot be read. A struct of several
/// fields is `broken` into them even if it is short.
pub(super) fn pretty(text: &str, broken: bool) -> String {
    let mut out = String::new();
    write(&Shown::read(text), broken, 0, 0, &mut out);
    out
}

/// Writes a value that begins `column` characters into its line; its parts are indented more than
/// `indent`.
fn write(value: &Shown, broken: bool, indent: usize, column: usize, out: &mut String) {
    let line = value.to_string();
    let fits = column + line.chars().count() <= WIDTH;
    let is_struct =
        |value: &Shown| matches!(value, Shown::Struct { fields, .. } if fields.len() > 1);
    // What holds nothing but one thing with parts stays with it on the line.
    if let Shown::Tuple { name, items } = value
        && let [item] = items.as_slice()
        && item.has_parts()
        && (!fits || broken && is_struct(item))
    {
        out.push_str(name);
        out.push('(');
        write(item, broken, indent, column + name.chars().count() + 2, out);
        out.push_str(if name.is_empty() { ",)" } else { ")" });
        return;
    }
    if !value.has_parts() || fits && !(broken && is_struct(value)) {
        out.push_str(&line);
        return;
    }
    let part = |out: &mut String, prefix: &str, value: &Shown| {
        let inner = indent + INDENT;
        out.push_str(&" ".repeat(inner));
        out.push_str(prefix);
        // One more for the comma behind it.
        write(value, false, inner, inner + prefix.chars().count() + 1, out);
        out.push_str(",\n");
    };
    let (open, close) = match value {
        Shown::Struct { name, .. } => (format!("{name} {{\n"), "}"),
        Shown::Tuple { name, .. } => (format!("{name}(\n"), ")"),
        Shown::List(_) => ("[\n".to_owned(), "]"),
        _ => ("{\n".to_owned(), "}"),
    };
    out.push_str(&open);
    match value {
        Shown::Struct { fields, .. } => {
            for (name, value) in fields {
                let prefix = if name.is_empty() { String::new() } else { format!("{name}: ") };
                part(out, &prefix, value);
            }
        }
        Shown::Tuple { items, .. } | Shown::List(items) | Shown::Set(items) => {
            items.iter().for_each(|item| part(out, "", item));
        }
        Shown::Map(entries) => {
            entries.iter().for_each(|(key, value)| part(out, &format!("{key}: "), value));
        }
        Shown::Atom(_) | Shown::Text(_) => {}
    }
    out.push_str(&" ".repeat(indent));
    out.push_str(close);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_on_one_line() {
        assert_eq!(pretty("Node { id: 1, log: [] }", false), "Node { id: 1, log: [] }");
        assert_eq!(pretty("Node { id: 1 }", true), "Node { id: 1 }");
    }

    #[test]
    fn what_does_not_fit_is_broken_along_its_parts() {
        let text = "Replica { term: 3, voted: Some(Id(1)), log: [Entry { term: 1, value: 10 }, \
                    Entry { term: 3, value: 20 }], seen: {Id(0), Id(1)} }";
        let expected = "\
Replica {
  term: 3,
  voted: Some(Id(1)),
  log: [
    Entry { term: 1, value: 10 },
    Entry { term: 3, value: 20 },
  ],
  seen: {Id(0), Id(1)},
}";
        assert_eq!(pretty(text, false), expected);
    }

    #[test]
    fn a_state_is_broken_into_its_fields_even_inside_a_variant() {
        let expected = "Client(Client {\n  waits: Some(6),\n  requests: 2,\n})";
        assert_eq!(pretty("Client(Client { waits: Some(6), requests: 2 })", true), expected);
    }

    #[test]
    fn what_cannot_be_read_is_left_as_it_is() {
        let text = "}{ not [ at all ( what a Debug would write, but long enough to be broken";
        assert_eq!(pretty(text, true), text);
    }
}
