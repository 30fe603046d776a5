//! Words and numbers made to be read.

/// Rows as aligned columns, two spaces apart, each line indented. The last column is not padded.
pub(crate) fn columns(indent: usize, rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or_default()).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = " ".repeat(indent);
        for (cell, &width) in row.iter().zip(&widths) {
            // A column that is empty in every row takes no room.
            if width > 0 {
                line.push_str(&format!("{cell:<width$}  "));
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A number of bytes with the unit that fits.
pub(crate) fn bytes(bytes: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} bytes"),
    }
}

/// The lines of a text in one line.
pub(crate) fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(", ")
}

/// What to do next: commands, or what to add to one, each with what it is good for.
pub(crate) fn next<A: AsRef<str>>(advice: &[(A, &str)]) -> String {
    let rows =
        advice.iter().map(|(do_this, what)| vec![do_this.as_ref().to_owned(), (*what).to_owned()]);
    columns(6, &rows.collect::<Vec<_>>()).replacen("      ", "next: ", 1)
}

/// So many of something: `1 event`, `2 events`.
pub(crate) fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{} {what}s", allways::grouped(number as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_do_not_end_in_spaces() {
        let rows = [["a", "", "one"], ["long", "", ""]].map(|r| r.map(str::to_owned).to_vec());
        assert_eq!(columns(2, &rows), "  a     one\n  long\n");
    }

    #[test]
    fn what_to_do_next_is_aligned() {
        let advice = [("a --b", "one"), ("c", "two")];
        assert_eq!(next(&advice), "next: a --b  one\n      c      two\n");
        assert_eq!(next::<&str>(&[]), "");
    }

    #[test]
    fn bytes_have_units() {
        assert_eq!(bytes(12), "12 bytes");
        assert_eq!(bytes(3 << 19), "1.5 MiB");
    }

    #[test]
    fn a_message_of_many_lines_becomes_one_line() {
        assert_eq!(one_line("not equal\n  left: 1\n right: 2"), "not equal, left: 1, right: 2");
    }
}
