//! Every public item of the crates has an example in its documentation: that it is right is seen by
//! running it, that it is there is seen here.
//!
//! Methods of traits, fields and variants are covered by the example of what they belong to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The crates, by their folders.
const CRATES: [&str; 4] = ["allways", "allways-catalogue", "allways-cli", "allways-live"];

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The words in the `pub use` statements of a file.
fn exported(library: &str) -> BTreeSet<&str> {
    let statements = library.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next());
    statements.flat_map(|statement| statement.split(|c: char| !is_of_word(c))).collect()
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !is_of_word(c)).next().unwrap_or_default()
}

/// The name of what is defined in this line for everybody to see, if something is.
fn public_item(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let rest = ["const fn ", "fn ", "const ", "struct ", "enum ", "trait ", "mod ", "type "]
        .iter()
        .find_map(|kind| rest.strip_prefix(kind))?;
    Some(first_word(rest))
}

/// The type that this line opens an `impl` block of, if it does; not for implementations of traits.
fn implemented(line: &str) -> Option<&str> {
    let mut rest = line.strip_prefix("impl").filter(|rest| !rest.contains(" for "))?;
    if rest.starts_with('<') {
        let mut depth = 0;
        let end = rest.find(|c: char| {
            depth += i32::from(c == '<') - i32::from(c == '>');
            depth == 0
        })?;
        rest = &rest[end + 1..];
    }
    Some(first_word(rest.trim_start()))
}

/// The public items in a file whose documentation has no example.
fn without_example(text: &str, exported: &BTreeSet<&str>, is_library: bool) -> Vec<String> {
    // A type that only the crate sees may share its name with one that everybody does.
    let is_seen = |name: &&str| {
        let kinds = ["(crate) struct", "(crate) enum", "(super) struct", "(super) enum"];
        let hidden = kinds.map(|kind| format!("pub{kind} {name}"));
        exported.contains(name) && !hidden.iter().any(|hidden| text.contains(hidden))
    };
    let mut missing = Vec::new();
    let (mut has_example, mut owner) = (false, None);
    for line in text.lines().take_while(|line| *line != "#[cfg(test)]") {
        let inner = line.strip_prefix("    ");
        let trimmed = line.trim_start();
        if trimmed.starts_with("///") {
            has_example |= trimmed.contains("```");
            continue;
        }
        if trimmed.starts_with("#[") {
            has_example |= trimmed == "#[doc(hidden)]";
            continue;
        }
        match (inner, owner) {
            (None, _) => {
                let name = public_item(line);
                let name = name.filter(|name| is_library || exported.contains(name));
                missing.extend(name.filter(|_| !has_example).map(str::to_owned));
                match implemented(line).filter(is_seen) {
                    Some(name) => owner = Some(name),
                    None if line == "}" => owner = None,
                    None => {}
                }
            }
            (Some(inner), Some(owner)) if !has_example => {
                missing.extend(public_item(inner).map(|name| format!("{owner}::{name}")));
            }
            _ => {}
        }
        has_example = false;
    }
    missing
}

#[test]
fn every_public_item_has_an_example() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut missing = Vec::new();
    for name in CRATES {
        let library = crates.join(name).join("src/lib.rs");
        let text = std::fs::read_to_string(&library).unwrap();
        let exported = exported(&text);
        assert!(exported.len() > 3, "{name}");
        let mut files = Vec::new();
        sources(&crates.join(name).join("src"), &mut files);
        // Those of `allways::machine` have one example for all, in the documentation of the module.
        let own =
            ["engine/machine", "engine/dpor", "engine/schedule", "model/step.rs", "space/mod.rs"];
        files.retain(|file| !own.iter().any(|own| file.to_string_lossy().contains(own)));
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let items = without_example(&text, &exported, file == library);
            missing.extend(items.iter().map(|item| format!("{item} in {}", file.display())));
        }
    }
    assert!(missing.is_empty(), "without an example:\n{}", missing.join("\n"));
}

#[test]
fn an_item_without_an_example_is_noticed() {
    let text = "\
/// With one.
///
/// ```
/// ```
#[derive(Clone)]
pub struct Here;

/// Without.
pub struct There<T>(T);

/// Nobody sees it.
pub struct Inside;

impl<T: Into<u8>> There<T> {
    /// Without.
    pub const fn new() {}

    fn inner() {}
}

impl Clone for There<u8> {
    pub fn clone() {}
}
";
    let exported = exported("pub use a::{Here, There};");
    assert_eq!(without_example(text, &exported, false), ["There", "There::new"]);
}
