//! Values of arguments: what they may be, and one sentence on what they may not.

/// More threads than this help nobody.
const MAX_THREADS: u64 = 1024;

pub(super) fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(format!("`{text}` is not of the form NAME=VALUE")),
    }
}

pub(super) fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| match text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty() {
        true => format!("`{text}` is too large: {} is the largest", u64::MAX),
        false => format!("`{text}` is not a whole number"),
    })
}

pub(super) fn at_least_one(text: &str) -> Result<u64, String> {
    match whole(text)? {
        0 => Err("`0` is too few: it is at least 1".to_owned()),
        number => Ok(number),
    }
}

pub(super) fn threads(text: &str) -> Result<usize, String> {
    match whole(text)? {
        number if number <= MAX_THREADS => Ok(number as usize),
        _ => Err(format!("`{text}` is too many: it is a number from 0 to {MAX_THREADS}")),
    }
}

/// A number of columns in which there is room for anything.
pub(super) fn width(text: &str) -> Result<usize, String> {
    match whole(text)? {
        number @ 20..=10_000 => Ok(number as usize),
        _ => Err(format!("`{text}` is no width: it is a number from 20 to 10000")),
    }
}

pub(super) fn truth(text: &str) -> Result<bool, String> {
    match text {
        "1" | "true" | "yes" | "on" => Ok(true),
        "" | "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(format!("`{text}` is neither true nor false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_need_a_name_and_a_value() {
        assert_eq!(setting("nodes=3"), Ok(("nodes".to_owned(), "3".to_owned())));
        assert!(setting("nodes").is_err() && setting("=3").is_err() && setting("nodes=").is_err());
    }
}
