//! What a function may do to memory of which only the name is known: whatever it is given, it may read and write, from there to the
//! end of the object. Names tell more: what is constant by the type that a name of C++ has, and what methods of Rust are for.

use allways_epa_format::ValueKind;
use allways_epa_format::library::{Effect, Place, Size};

/// What a function may do.
pub(super) struct Guess {
    pub(super) effects: Vec<Effect>,
    /// Whether the name says enough: then nobody has to be told.
    pub(super) is_known: bool,
}

/// Paths of Rust with which functions begin that touch nothing that another could touch at the same time: they end the program, allocate
/// memory or make threads wait for each other, which are events. Those of threads are given what is theirs.
const HARMLESS: [&str; 23] = [
    "core::panicking::",
    "core::option::unwrap_failed",
    "core::option::expect_failed",
    "core::result::unwrap_failed",
    "core::slice::index::",
    "core::str::slice_error_fail",
    "core::cell::panic",
    "core::intrinsics::",
    "core::hint::",
    "std::panicking::",
    "std::panic::",
    "std::process::",
    "std::rt::",
    "std::sys::thread",
    "std::sys::sync::",
    "std::sys::pal::",
    "std::sys::backtrace::",
    "std::thread::",
    "std::sync::",
    "alloc::alloc::",
    "alloc::raw_vec::handle_error",
    "__rust",
    "rust_eh_personality",
];

/// Methods of Rust that only read what they are given, but for the memory that their result is put into.
const READS: [&str; 19] = [
    "fmt",
    "clone",
    "eq",
    "ne",
    "cmp",
    "partial_cmp",
    "lt",
    "le",
    "gt",
    "ge",
    "hash",
    "len",
    "is_empty",
    "deref",
    "as_ref",
    "borrow",
    "to_string",
    "to_owned",
    "index",
];

/// The types of C++ and Rust whose functions are compiled in the library, and how many bytes their objects have: what follows them is another's.
const CLASSES: [(&str, u64); 4] = [
    ("std::__cxx11::basic_string<char", 32),
    ("alloc::raw_vec::", 24),
    ("alloc::vec::Vec<", 24),
    ("alloc::string::String", 24),
];

/// Paths with which functions begin that touch nothing but what they are given, as is known: nobody has to be told.
const TOUCH_WHAT_THEY_ARE_GIVEN: [&str; 16] = [
    "alloc::raw_vec::",
    "alloc::vec::",
    "alloc::string::",
    "alloc::fmt::",
    "core::fmt::",
    "core::num::",
    "core::str::",
    "std::env::",
    "std::__cxx11::basic_string<char",
    "std::allocator<",
    "std::ios_base::",
    "std::ostream::",
    "std::istream::",
    "std::basic_ostream<",
    "std::basic_istream<",
    "std::operator<<",
];

/// Whether a function touches nothing that another could touch at the same time, by its name.
pub(super) fn is_harmless(name: &str) -> bool {
    // Methods of Rust are `<Type>::method`.
    let path = name.trim_start_matches(['<', '&']);
    HARMLESS.iter().any(|known| path.starts_with(known))
        || name.contains("::__rust_")
        || name.starts_with("std::__throw_")
        || name == "std::terminate()"
}

/// What a function with this name may do to what its arguments of these kinds point to.
pub(super) fn guess(name: &str, kinds: &[ValueKind], has_result: bool) -> Guess {
    if is_harmless(name) {
        return Guess { effects: Vec::new(), is_known: true };
    }
    let reads = read_only(name, kinds, has_result);
    let path = name.trim_start_matches(['<', '&']);
    let own = CLASSES.iter().find(|(class, _)| path.starts_with(class));
    let effects = kinds.iter().zip(&reads).enumerate().filter_map(|(at, (kind, is_read_only))| {
        let size = match own {
            Some((_, bytes)) if at == 0 => Size::Bytes(*bytes),
            _ => Size::Rest,
        };
        (*kind == ValueKind::Pointer).then_some(Effect {
            place: Place::Argument(at),
            reads: true,
            writes: !is_read_only,
            size,
        })
    });
    let is_known =
        is_reader(name) || TOUCH_WHAT_THEY_ARE_GIVEN.iter().any(|known| path.starts_with(known));
    Guess { effects: effects.collect(), is_known }
}

/// Whether this is a method of Rust that only reads.
fn is_reader(name: &str) -> bool {
    let is_rust = ["core::", "alloc::", "std::", "<"].iter().any(|path| name.starts_with(path));
    is_rust
        && !name.contains('(')
        && name.rsplit("::").next().is_some_and(|method| READS.contains(&method))
}

/// Which arguments are only read.
fn read_only(name: &str, kinds: &[ValueKind], has_result: bool) -> Vec<bool> {
    if is_reader(name) {
        // If nothing is returned, the first of several is where the result is put; and a formatter and a hasher are written.
        let method = name.rsplit("::").next().unwrap_or_default();
        let writes_last = matches!(method, "fmt" | "hash");
        let returns_there = !has_result && kinds.len() > 1 && !writes_last;
        let mut reads = vec![true; kinds.len()];
        if let Some(first) = reads.first_mut() {
            *first = !returns_there;
        }
        if let [_, .., last] = &mut reads[..] {
            *last = !writes_last;
        }
        return reads;
    }
    let mut reads = vec![false; kinds.len()];
    let Some(parameters) = parameters(name) else { return reads };
    // What comes before the parameters is the object of a member, or where the result is put.
    let Some(before) = kinds.len().checked_sub(parameters.len()) else { return reads };
    let is_pointer = |parameter: &str| parameter.ends_with(['*', '&']);
    let fits = parameters
        .iter()
        .zip(&kinds[before..])
        .all(|(parameter, kind)| !is_pointer(parameter) || *kind == ValueKind::Pointer);
    // A structure may be passed in two parts, and then nothing is where it seems to be.
    if !fits || before > 1 {
        return reads;
    }
    for (at, parameter) in parameters.iter().enumerate() {
        let points_to = parameter.trim_end_matches(['*', '&']).trim_end();
        let is_one = parameter.len() - points_to.len() == 1;
        reads[before + at] = is_one && points_to.ends_with(" const");
    }
    if before == 1 && name.ends_with(" const") {
        reads[0] = true;
    }
    reads
}

/// The types of the parameters in a readable name of C++.
fn parameters(name: &str) -> Option<Vec<&str>> {
    let end = name.trim_end_matches(" const").strip_suffix(')')?;
    let mut depth = 0;
    let mut starts = Vec::new();
    for (at, character) in end.char_indices().rev() {
        match character {
            ')' | '>' => depth += 1,
            '(' | '<' if depth > 0 => depth -= 1,
            ',' if depth == 0 => starts.push(at + 1),
            '(' => {
                starts.push(at + 1);
                starts.reverse();
                let ends = starts.iter().skip(1).map(|start| start - 1).chain([end.len()]);
                let parts = starts.iter().zip(ends).map(|(&start, end)| name[start..end].trim());
                return Some(parts.filter(|part| !part.is_empty()).collect());
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTER: ValueKind = ValueKind::Pointer;
    const WORD: ValueKind = ValueKind::Int(64);

    fn writes(name: &str, kinds: &[ValueKind], has_result: bool) -> Vec<usize> {
        let effects = guess(name, kinds, has_result).effects;
        let writes = effects.iter().filter(|effect| effect.writes);
        writes.map(|effect| if let Place::Argument(at) = effect.place { at } else { 99 }).collect()
    }

    #[test]
    fn names_tell_what_is_only_read() {
        assert_eq!(writes("mystery", &[POINTER, WORD, POINTER], true), [0, 2]);
        let name = "std::vector<int, std::allocator<int> >::find(int const&) const";
        assert!(writes(name, &[POINTER, POINTER], true).is_empty());
        assert_eq!(writes("f(int*, int const*)", &[POINTER, POINTER], false), [0]);
        assert_eq!(writes("f(int const**)", &[POINTER], false), [0]);
        assert_eq!(writes("f(std::pair<int const*, int>&)", &[POINTER], false), [0]);
        // The text is passed in two parts: what is last is not what it seems to be.
        let name = "f(int const&, int*, std::basic_string_view<char>)";
        assert_eq!(writes(name, &[POINTER, POINTER, WORD, POINTER], false), [0, 1, 3]);
        let clone = "<alloc::string::String as core::clone::Clone>::clone";
        assert_eq!(writes(clone, &[POINTER, POINTER], false), [0]);
        assert_eq!(writes("<i32 as core::fmt::Display>::fmt", &[POINTER, POINTER], true), [1]);
        assert!(guess("core::panicking::panic_fmt", &[POINTER], false).effects.is_empty());
        assert!(!guess("mystery", &[], false).is_known);
        assert!(guess("core::fmt::fmt", &[], false).effects.is_empty());
    }

    #[test]
    fn an_object_of_a_class_ends_before_the_next() {
        let name = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::clear()";
        assert_eq!(guess(name, &[POINTER], false).effects[0].size, Size::Bytes(32));
        assert_eq!(guess("mystery", &[POINTER], false).effects[0].size, Size::Rest);
    }
}
