//! How wide text is on a terminal; cutting and wrapping it.

/// How many columns a character takes: none if it combines with the one before it, two if it is
/// one of the wide ones of East Asia or a pictograph, otherwise one.
fn columns(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// As much of a text as fits into so many columns.
fn head(text: &str, most: usize) -> &str {
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        taken += columns(c);
        if taken > most {
            return &text[..at];
        }
    }
    text
}

/// The text, or its beginning and an ellipsis.
pub(crate) fn clip(text: &str, most: usize, ellipsis: &str) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    match most.checked_sub(width(ellipsis)) {
        Some(room) => head(text, room).trim_end().to_owned() + ellipsis,
        None => head(text, most).to_owned(),
    }
}

/// The text in lines of at most `most` columns, all but the first of them indented. If there are
/// more than `lines`, the last ends in an ellipsis.
pub(crate) fn wrap(
    text: &str,
    most: usize,
    indent: usize,
    lines: usize,
    ellipsis: &str,
) -> Vec<String> {
    // Where there is no room for an indent, there is none.
    let indent = if indent * 2 < most { " ".repeat(indent) } else { String::new() };
    let mut wrapped: Vec<String> = Vec::new();
    let mut rest = text.trim_end();
    while !rest.is_empty() {
        let before = if wrapped.is_empty() { "" } else { &*indent };
        let room = most - width(before);
        if wrapped.len() + 1 >= lines.max(1) || width(rest) <= room {
            wrapped.push(format!("{before}{}", clip(rest, room, ellipsis)));
            return wrapped;
        }
        let mut taken = head(rest, room);
        // At a space if there is one, though not if that leaves most of the line empty. A field
        // stays with its name, a struct with its brace, and no brace that closes is left alone.
        let breaks = |&at: &usize| {
            rest[at..].starts_with(' ')
                && !rest[at..].starts_with(" }")
                && !rest[at..].starts_with(" {")
                && !rest[..at].ends_with(':')
        };
        // Where there is none, at one that should not be broken at.
        let places = || {
            let from = taken.len() / 3 + 1;
            (from..=taken.len()).rev().filter(|&at| rest.is_char_boundary(at))
        };
        let any = |&at: &usize| rest[at..].starts_with([' ', '\u{a0}']);
        let space = places().find(breaks).or_else(|| places().find(any));
        if let Some(space) = space {
            taken = &taken[..space];
        }
        if taken.is_empty() {
            // Not even one character fits.
            return wrapped;
        }
        wrapped.push(format!("{before}{}", taken.trim_end()));
        // This trims spaces that do not break, too.
        rest = rest[taken.len()..].trim_start();
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_end_in_an_ellipsis() {
        let text = "one two three four five";
        assert_eq!(wrap(text, 9, 2, 9, "…"), ["one two", "  three", "  four", "  five"]);
        assert_eq!(wrap(text, 9, 2, 2, "…"), ["one two", "  three…"]);
        assert_eq!(wrap("unbreakable", 4, 0, 9, "…"), ["unbr", "eaka", "ble"]);
        assert_eq!(wrap("", 4, 0, 9, "…"), [""; 0]);
        assert_eq!(clip("abcdef", 4, "..."), "a...");
        assert_eq!(clip("abcdef", 2, "..."), "ab");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(width("日本 é"), 6);
        assert_eq!(clip("日本語", 5, "…"), "日本…");
        assert_eq!(wrap("日本語", 3, 0, 9, "…"), ["日", "本", "語"]);
    }
}
