//! What changed between two states, in as few words as can be.
//!
//! Two trees are compared part by part. Where a part that is small anyway changed, saying it
//! whole is shorter than saying where in it something changed; of the two, the shorter is said.

use super::shown::Shown;
use super::story::Change;

/// The fields that differ between two values, given as their `Debug` shows them.
pub(crate) fn changes(before: &str, after: &str) -> Vec<Change> {
    changes_between((before, &Shown::read(before)), (after, &Shown::read(after)))
}

/// The same, for values that were read already.
pub(crate) fn changes_between(before: (&str, &Shown), after: (&str, &Shown)) -> Vec<Change> {
    let mut found = Vec::new();
    compare("", before.1, after.1, false, &mut found);
    if found.is_empty() && before.0 != after.0 {
        // They read alike, but for how they are written.
        found.push(whole("", before.0, after.0, false));
    }
    found
}

fn whole(path: &str, before: impl ToString, after: impl ToString, auxiliary: bool) -> Change {
    Change {
        path: path.to_owned(),
        before: before.to_string(),
        after: after.to_string(),
        auxiliary,
    }
}

/// Adds what differs between two parts.
fn compare(path: &str, before: &Shown, after: &Shown, auxiliary: bool, found: &mut Vec<Change>) {
    if before == after {
        return;
    }
    if let (Some(before), Some(after)) = (unwrapped(before), unwrapped(after)) {
        return compare(path, before, after, true, found);
    }
    let whole = || whole(path, before, after, auxiliary);
    let mut parts = Vec::new();
    if !compare_parts(path, before, after, auxiliary, &mut parts) {
        return found.push(whole());
    }
    // The fields of the state itself always have their names.
    let is_state = path.is_empty() && matches!(before, Shown::Struct { .. });
    let all_auxiliary = parts.iter().all(|change| change.auxiliary);
    let hides = !auxiliary && parts.iter().any(|change| change.auxiliary) && all_auxiliary;
    let said = parts.iter().map(length).sum::<usize>() + worth(before);
    if !is_state && !hides && length(&whole()) <= said {
        found.push(whole());
    } else {
        found.append(&mut parts);
    }
}

/// How much more one would rather read than a path into such a value.
fn worth(shown: &Shown) -> usize {
    match shown {
        // `accepted.1` says little.
        Shown::Tuple { .. } => 30,
        Shown::List(_) | Shown::Set(_) | Shown::Map(_) => 16,
        Shown::Struct { .. } | Shown::Atom(_) | Shown::Text(_) => 0,
    }
}

/// How much there is to read in a change.
fn length(change: &Change) -> usize {
    let Change { path, before, after, .. } = change;
    [path, before, after].iter().map(|text| text.chars().count() + 2).sum()
}

/// What an [`Aux`](crate::Aux) carries.
fn unwrapped(shown: &Shown) -> Option<&Shown> {
    match shown {
        Shown::Tuple { name, items } if name == "Aux" && items.len() == 1 => items.first(),
        _ => None,
    }
}

/// Compares part by part; false if the two have no parts in common to compare.
fn compare_parts(
    path: &str,
    before: &Shown,
    after: &Shown,
    auxiliary: bool,
    found: &mut Vec<Change>,
) -> bool {
    match (before, after) {
        (Shown::Struct { name: a, fields: before }, Shown::Struct { name: b, fields: after })
            if a == b && before.iter().map(|f| &f.0).eq(after.iter().map(|f| &f.0)) =>
        {
            for ((name, before), (_, after)) in before.iter().zip(after) {
                let dot = if path.is_empty() { "" } else { "." };
                compare(&format!("{path}{dot}{name}"), before, after, auxiliary, found);
            }
            true
        }
        (Shown::Tuple { name: a, items: before }, Shown::Tuple { name: b, items: after })
            if a == b && before.len() == after.len() =>
        {
            if let ([before], [after]) = (before.as_slice(), after.as_slice()) {
                // A wrapper is not worth naming, but a bare `20` says less than `Some(20)`.
                return before.has_parts()
                    && after.has_parts()
                    && compare_parts(path, before, after, auxiliary, found);
            }
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                let dot = if path.is_empty() { "" } else { "." };
                compare(&format!("{path}{dot}{index}"), before, after, auxiliary, found);
            }
            true
        }
        (Shown::List(before), Shown::List(after)) => {
            compare_lists(path, before, after, auxiliary, found);
            true
        }
        (Shown::Set(before), Shown::Set(after)) => {
            let gone = before.iter().filter(|item| !after.contains(item));
            found.extend(gone.map(|item| whole(&format!("{path}{{{item}}}"), item, "", auxiliary)));
            let new = after.iter().filter(|item| !before.contains(item));
            found.extend(new.map(|item| whole(&format!("{path}{{{item}}}"), "", item, auxiliary)));
            // In another order, or one twice: no set after all.
            !found.is_empty()
        }
        (Shown::Map(before), Shown::Map(after)) => {
            compare_maps(path, before, after, auxiliary, found)
        }
        // `{}` is taken for a set; beside a map it is an empty one.
        (Shown::Map(before), Shown::Set(none)) if none.is_empty() => {
            compare_maps(path, before, &[], auxiliary, found)
        }
        (Shown::Set(none), Shown::Map(after)) if none.is_empty() => {
            compare_maps(path, &[], after, auxiliary, found)
        }
        _ => false,
    }
}

/// Lists mostly grow or shrink somewhere: what they have in common at both ends stays.
fn compare_lists(
    path: &str,
    before: &[Shown],
    after: &[Shown],
    auxiliary: bool,
    found: &mut Vec<Change>,
) {
    let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (before, after) = (&before[same..], &after[same..]);
    let tail = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
    let (before, after) = if before.len() == after.len() {
        (before, after)
    } else {
        (&before[..before.len() - tail], &after[..after.len() - tail])
    };
    for index in 0..before.len().max(after.len()) {
        let path = format!("{path}[{}]", same + index);
        match (before.get(index), after.get(index)) {
            (Some(before), Some(after)) => compare(&path, before, after, auxiliary, found),
            (Some(before), None) => found.push(whole(&path, before, "", auxiliary)),
            (None, Some(after)) => found.push(whole(&path, "", after, auxiliary)),
            (None, None) => {}
        }
    }
}

fn compare_maps(
    path: &str,
    before: &[(Shown, Shown)],
    after: &[(Shown, Shown)],
    auxiliary: bool,
    found: &mut Vec<Change>,
) -> bool {
    let of = |entries: &[(Shown, Shown)], key: &Shown| {
        entries.iter().find(|(other, _)| other == key).map(|(_, value)| value.clone())
    };
    for (key, old) in before {
        let path = format!("{path}{{{key}}}");
        match of(after, key) {
            Some(new) => compare(&path, old, &new, auxiliary, found),
            None => found.push(whole(&path, old, "", auxiliary)),
        }
    }
    for (key, new) in after.iter().filter(|(key, _)| of(before, key).is_none()) {
        found.push(whole(&format!("{path}{{{key}}}"), "", new, auxiliary));
    }
    !found.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(before: &str, after: &str) -> Vec<String> {
        changes(before, after).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_field_is_named_by_its_path() {
        let before = "S { chosen: None, inner: Inner { term: 1, name: \"a\" }, same: [1, 2] }";
        let after = "S { chosen: Some(20), inner: Inner { term: 2, name: \"a\" }, same: [1, 2] }";
        assert_eq!(said(before, after), ["chosen: None → Some(20)", "inner.term: 1 → 2"]);
        assert_eq!(said(before, before), [""; 0]);
    }

    #[test]
    fn what_is_small_is_said_whole() {
        assert_eq!(said("S { a: (1, 'x') }", "S { a: (2, 'x') }"), ["a: (1, 'x') → (2, 'x')"]);
        assert_eq!(said("S { a: {} }", "S { a: {1: {2}} }"), ["a: {} → {1: {2}}"]);
        assert_eq!(said("Replica(0)", "Replica(10)"), ["Replica(0) → Replica(10)"]);
        assert_eq!(said("Idle", "Busy { with: 1 }"), ["Idle → Busy { with: 1 }"]);
        // The fields of a wrapped state have their names.
        assert_eq!(said("Server(S { a: 1, b: 2 })", "Server(S { a: 1, b: 3 })"), ["b: 2 → 3"]);
    }

    #[test]
    fn what_is_large_is_said_where_it_changed() {
        let entries: Vec<String> =
            (0..9).map(|n| format!("Entry {{ term: {n}, ok: true }}")).collect();
        let log = |entries: &[String]| format!("S {{ log: [{}] }}", entries.join(", "));
        let all = log(&entries);
        assert_eq!(said(&log(&entries[..8]), &all), ["+ log[8]: Entry { term: 8, ok: true }"]);
        assert_eq!(said(&all, &log(&entries[1..])), ["- log[0]: Entry { term: 0, ok: true }"]);
        assert_eq!(said(&all, &all.replace("term: 2", "term: 7")), ["log[2].term: 2 → 7"]);

        let set = |numbers: std::ops::Range<u32>| {
            let numbers: Vec<String> = numbers.map(|n| n.to_string()).collect();
            format!("S {{ acks: {{{}}} }}", numbers.join(", "))
        };
        // A set does not shift when its first element goes.
        assert_eq!(said(&set(0..20), &set(1..21)), ["- acks{0}", "+ acks{20}"]);

        let map = |of: &str| {
            format!("S {{ votes: {{1: {{{of}}}, 2: {{10, 11, 12}}, 3: {{20, 21, 22}}}} }}")
        };
        assert_eq!(said(&map("0"), &map("0, 5")), ["votes{1}: {0} → {0, 5}"]);
    }

    #[test]
    fn what_is_auxiliary_is_marked() {
        let changes = changes(
            "S { seen: Aux([1]), role: R { own: 1, log: Aux(None) } }",
            "S { seen: Aux([1, 2]), role: R { own: 2, log: Aux(Some(3)) } }",
        );
        let marked: Vec<(&str, bool)> =
            changes.iter().map(|change| (change.path.as_str(), change.auxiliary)).collect();
        assert_eq!(marked, [("seen", true), ("role.own", false), ("role.log", true)]);
    }

    #[test]
    fn what_cannot_be_read_is_another_as_a_whole() {
        assert_eq!(said("a } b", "a } c"), ["a } b → a } c"]);
    }
}
