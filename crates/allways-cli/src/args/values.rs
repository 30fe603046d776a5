//! Values of arguments: what they may be, and one sentence on what they may not.

use std::time::Duration;

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

pub(super) fn preemptions(text: &str) -> Result<u32, String> {
    let most = u32::MAX;
    u32::try_from(whole(text)?).map_err(|_| format!("`{text}` is too large: {most} is the largest"))
}

/// A number of columns in which there is room for anything.
pub(super) fn width(text: &str) -> Result<usize, String> {
    match whole(text)? {
        number @ 20..=10_000 => Ok(number as usize),
        _ => Err(format!("`{text}` is no width: it is a number from 20 to 10000")),
    }
}

/// A probability.
pub(super) fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&number) => Ok(number),
        _ => Err(format!("`{text}` is no probability: it is a number from 0 to 1")),
    }
}

/// A time: a number of seconds, or one with a unit.
pub(super) fn span(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3_600.0)];
    let unit = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)));
    let (number, unit) = unit.unwrap_or((text, 1.0));
    let seconds = number.parse::<f64>().ok().map(|number| number * unit);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("`{text}` is no time; write 0.5, 500ms, 2s or 5m"))
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
    fn times_have_units_or_are_seconds() {
        let times = [("2", 2_000), ("0.5", 500), ("500ms", 500), ("2s", 2_000), ("1.5m", 90_000)];
        for (text, millis) in times {
            assert_eq!(span(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "soon", "-1", "1e300h", "NaN", "2 s"] {
            assert!(span(text).is_err(), "{text}");
        }
        assert!(probability("0.3").is_ok() && probability("1").is_ok());
        assert!(probability("1.1").is_err() && probability("NaN").is_err());
    }

    #[test]
    fn settings_need_a_name_and_a_value() {
        assert_eq!(setting("nodes=3"), Ok(("nodes".to_owned(), "3".to_owned())));
        assert!(setting("nodes").is_err() && setting("=3").is_err() && setting("nodes=").is_err());
    }
}
