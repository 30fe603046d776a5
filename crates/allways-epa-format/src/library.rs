//! What functions of libraries do to memory: functions that are not instrumented write no records of their own, so it is said here
//! what each reads and writes.
//!
//! The table (`library/table.rs`) is a text with a line for each function, or for several that do the same. The pass and the
//! analysis both read it. Most sizes follow from the arguments and the result of a call, which are in its record. What does
//! not (how long a text is, where an argument points to that points to an argument, where the standard output is) is
//! asked for when the call has returned, and is in the record as a further value: [`extras`] says which, in which order.
//!
//! It is sound to say too much: an access that there was not can only add a pair of accesses that could be reversed. So
//! wherever it depends on more than is known here, the larger size is said, up to the whole rest of an object.
//!
//! A line is names, a colon, and effects. An effect is a place, `r`, `w` or `u` (for both), `=` and a size, such as `0w=$1*$2`.
//!
//! | place | what |
//! |---|---|
//! | `0` | what the first argument points to |
//! | `2+` | what the third argument and all further ones point to |
//! | `*0` | what is pointed to by what the first argument points to |
//! | `result` | what the result points to |
//! | `out`, `err` | the stream of the standard output, of the standard error |
//! | `@name()` | something that the library has once, of this name |
//! | `@name(0)` | something that the library has once for each value of the first argument |
//!
//! | size | what |
//! |---|---|
//! | `8` | so many bytes |
//! | `$1` | as many as the second argument says |
//! | `result`, `result+1` | as many as the result says, one more; none if it is negative |
//! | `text0` | the text that the first argument points to, with its end |
//! | `text0<2` | the same, but no more bytes than the third argument says |
//! | `rest` | all from there to the end of the object |
//! | `a*b` | a product |
//! | `a\|b` | the lesser of two |

mod table;

/// Which memory an effect is on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// What an argument points to.
    Argument(usize),
    /// What this argument and all that follow point to.
    From(usize),
    /// What is pointed to by what an argument points to.
    Target(usize),
    /// What the result points to.
    Result,
    /// The stream of the standard output (1) or of the standard error (2).
    Standard(u64),
    /// Something that the library has once, or once for each value of an argument.
    State(String, Option<usize>),
}

/// How many bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Size {
    /// So many.
    Bytes(u64),
    /// As an argument says.
    Argument(usize),
    /// As the result says, and so many more; none if it is negative.
    Result(u64),
    /// A text with its end.
    Text(Text),
    /// All to the end of the object.
    Rest,
    /// A product.
    Product(Box<Size>, Box<Size>),
    /// The lesser one.
    Least(Box<Size>, Box<Size>),
}

/// A text that an argument points to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Text {
    /// Which argument.
    pub argument: usize,
    /// The argument that says how many bytes are looked at, at most.
    pub limit: Option<usize>,
}

/// An access of a function that is called.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Effect {
    /// Which memory.
    pub place: Place,
    /// Whether it is read.
    pub reads: bool,
    /// Whether it is written.
    pub writes: bool,
    /// How many bytes.
    pub size: Size,
}

/// A further value of the record of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extra {
    /// How many bytes a text has, with its end.
    Text(Text),
    /// What an argument points to, which is a pointer.
    Target(usize),
    /// Where the stream of the standard output (1) or of the standard error (2) is.
    Standard(u64),
}

/// What C libraries and compilers put before the names of functions.
const PREFIXES: [&str; 4] = ["__isoc99_", "__isoc23_", "__GI_", "__libc_"];

/// Names that begin so are of functions that touch no memory that anybody else could touch: by which threads wait for each other,
/// which are events, and what compilers need.
const HARMLESS: [&str; 10] = [
    "pthread_",
    "sem_",
    "mtx_",
    "cnd_",
    "thrd_",
    "sched_",
    "__cxa_",
    "_Unwind_",
    "operator new",
    "operator delete",
];

/// What a function does to memory; `None` if it is not known.
///
/// ```
/// use allways_epa_format::library::{Effect, Place, Size, effects};
/// let writes = Effect { place: Place::Argument(0), reads: false, writes: true, size: Size::Argument(2) };
/// assert_eq!(effects("memset"), Some(vec![writes]));
/// assert_eq!(effects("sqrt"), Some(Vec::new()));
/// assert_eq!(effects("my_function"), None);
/// ```
pub fn effects(function: &str) -> Option<Vec<Effect>> {
    let plain = PREFIXES.iter().find_map(|prefix| function.strip_prefix(prefix));
    let plain = plain.unwrap_or(function);
    if let Some(words) = line(plain) {
        return words.split_whitespace().map(effect).collect();
    }
    if let Some(known) = atomic(plain) {
        return Some(known);
    }
    // The functions of mathematics have others of other precision.
    let double = plain.strip_suffix(['f', 'l']).unwrap_or(plain);
    let is_harmless = HARMLESS.iter().any(|prefix| plain.starts_with(prefix))
        || table::COMPUTES.split_whitespace().any(|name| name == plain || name == double);
    is_harmless.then(Vec::new)
}

/// Whether a function may keep memory for itself, such as the buffer of a stream, that the thread allocates which comes first.
///
/// ```
/// use allways_epa_format::library::keeps_memory;
/// assert!(keeps_memory("printf") && keeps_memory("std::io::stdio::_print"));
/// assert!(!keeps_memory("strdup"));
/// ```
pub fn keeps_memory(function: &str) -> bool {
    let plain = PREFIXES.iter().find_map(|prefix| function.strip_prefix(prefix));
    let plain = plain.unwrap_or(function);
    table::KEEPS.split_whitespace().any(|name| name == plain)
        || function.contains("std::basic_ostream<")
        || function.contains("std::basic_istream<")
        || function.contains("std::ostream::")
        || function.contains("std::istream::")
}

/// The further values that the record of a call of this function has, in their order.
///
/// ```
/// use allways_epa_format::library::{Extra, Text, extras};
/// let text = |argument| Extra::Text(Text { argument, limit: None });
/// assert_eq!(extras("strcpy"), [text(1)]);
/// assert_eq!(extras("my_function"), []);
/// ```
pub fn extras(function: &str) -> Vec<Extra> {
    let mut extras = Vec::new();
    for effect in effects(function).unwrap_or_default() {
        match effect.place {
            Place::Target(argument) => extras.push(Extra::Target(argument)),
            Place::Standard(stream) => extras.push(Extra::Standard(stream)),
            _ => {}
        }
        texts(&effect.size, &mut extras);
    }
    let mut seen = Vec::new();
    extras.retain(|extra| {
        let is_new = !seen.contains(extra);
        seen.push(*extra);
        is_new
    });
    extras
}

fn texts(size: &Size, extras: &mut Vec<Extra>) {
    match size {
        Size::Text(text) => extras.push(Extra::Text(*text)),
        Size::Product(a, b) | Size::Least(a, b) => {
            texts(a, extras);
            texts(b, extras);
        }
        _ => {}
    }
}

/// The effects of a function, as they are in the table.
fn line(function: &str) -> Option<&'static str> {
    table::TABLE.lines().find_map(|line| {
        // Names of Rust have colons themselves.
        let (names, effects) = line.rsplit_once(':')?;
        names.split_whitespace().any(|name| name == function).then_some(effects)
    })
}

/// The functions for atomic operations that have no instruction, which have a size at their end.
fn atomic(function: &str) -> Option<Vec<Effect>> {
    let (operation, bytes) = function.strip_prefix("__atomic_")?.rsplit_once('_')?;
    let size = Size::Bytes(bytes.parse().ok()?);
    let update = |argument, reads, writes| Effect {
        place: Place::Argument(argument),
        reads,
        writes,
        size: size.clone(),
    };
    Some(match operation {
        "load" => vec![update(0, true, false)],
        "store" => vec![update(0, false, true)],
        "compare_exchange" => vec![update(0, true, true), update(1, true, true)],
        _ => vec![update(0, true, true)],
    })
}

fn effect(word: &str) -> Option<Effect> {
    let (access, size) = word.split_once('=')?;
    let kind = access.chars().last()?;
    let place = access.strip_suffix(kind)?;
    let (reads, writes) = match kind {
        'r' => (true, false),
        'w' => (false, true),
        'u' => (true, true),
        _ => return None,
    };
    let place = match place {
        "out" => Place::Standard(1),
        "err" => Place::Standard(2),
        "result" => Place::Result,
        _ => match place.split_at_checked(1)? {
            ("@", name) => match name.strip_suffix(')')?.split_once('(')? {
                (name, "") => Place::State(name.to_owned(), None),
                (name, argument) => Place::State(name.to_owned(), Some(argument.parse().ok()?)),
            },
            ("*", argument) => Place::Target(argument.parse().ok()?),
            _ => match place.strip_suffix('+') {
                Some(argument) => Place::From(argument.parse().ok()?),
                None => Place::Argument(place.parse().ok()?),
            },
        },
    };
    Some(Effect { place, reads, writes, size: size_of(size)? })
}

fn size_of(text: &str) -> Option<Size> {
    if let Some((a, b)) = text.split_once('|') {
        return Some(Size::Least(Box::new(size_of(a)?), Box::new(size_of(b)?)));
    }
    if let Some((a, b)) = text.split_once('*') {
        return Some(Size::Product(Box::new(size_of(a)?), Box::new(size_of(b)?)));
    }
    if let Some(argument) = text.strip_prefix('$') {
        return Some(Size::Argument(argument.parse().ok()?));
    }
    if let Some(text) = text.strip_prefix("text") {
        let (argument, limit) = match text.split_once('<') {
            Some((argument, limit)) => (argument, Some(limit.parse().ok()?)),
            None => (text, None),
        };
        return Some(Size::Text(Text { argument: argument.parse().ok()?, limit }));
    }
    Some(match text {
        "rest" => Size::Rest,
        "result" => Size::Result(0),
        "result+1" => Size::Result(1),
        bytes => Size::Bytes(bytes.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_can_be_read_and_no_function_is_there_twice() {
        let mut names = Vec::new();
        for line in table::TABLE.lines() {
            let (functions, _) = line.rsplit_once(':').unwrap();
            for function in functions.split_whitespace() {
                assert!(effects(function).is_some(), "{line}");
                names.push(function);
            }
        }
        names.extend(table::COMPUTES.split_whitespace());
        let count = names.len();
        assert!(count > 300);
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn sizes_and_places_are_as_they_are_written() {
        let only = |function: &str| effects(function).unwrap().remove(0);
        let least = |a, b| Size::Least(Box::new(a), Box::new(b));
        assert_eq!(only("snprintf").size, least(Size::Argument(1), Size::Result(1)));
        let product = Size::Product(Box::new(Size::Argument(1)), Box::new(Size::Result(0)));
        assert_eq!(only("fread").size, product);
        assert_eq!(only("write").place, Place::State("descriptor".into(), Some(0)));
        assert_eq!(only("puts").place, Place::Standard(1));
        assert_eq!(only("__atomic_load_8").size, Size::Bytes(8));
        let text = Text { argument: 1, limit: Some(2) };
        assert!(effects("strncpy").unwrap().iter().any(|effect| effect.size == Size::Text(text)));
        assert_eq!(effects("__isoc99_sscanf"), effects("sscanf"));
        assert_eq!(extras("getline")[0], Extra::Target(0));
        for wrong in ["0w", "0x=8", "w=8", "0w=$", "0w=text", "@a(r=1", "éw=1", "=", ""] {
            assert_eq!(effect(wrong), None, "{wrong}");
        }
    }
}
