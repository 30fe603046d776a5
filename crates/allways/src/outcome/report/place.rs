//! Which test this is, and where its files belong.
//!
//! Nobody tells a test its name, so it is read off what is there: the argument `--exact NAME`, with
//! which `cargo nextest` starts a process for each test; else the name of the thread, which is the
//! test's under `cargo test`; else where the assertion stands in the source. Tests of one name in
//! different packages or binaries must not share a directory, so these are part of its path.

use rustc_hash::FxHasher;
use std::ffi::OsString;
use std::fs;
use std::hash::Hasher;
use std::panic::Location;
use std::path::{Component, Path, PathBuf};

/// Below the target directory, what is saved is in a directory of this name.
const IN_TARGET: &str = "allways";

/// The longest name of a directory, in characters, but for what is added to tell two apart.
const MAX_NAME: usize = 100;

/// Marks a directory as one that can be made again; Cargo puts it into target directories.
const CACHE_TAG: &str = "CACHEDIR.TAG";

/// A test, and where its files belong.
pub(super) struct Place {
    /// The test's name, or where the assertion stands.
    pub test: String,
    /// Where its failures are kept; `None` if there is no good place for that.
    pub kept: Option<Kept>,
    /// Paths below this are shown relative to it: what Cargo starts tests in.
    base: Option<PathBuf>,
}

/// Where the failures of a test are kept.
pub(super) struct Kept {
    /// The directory of all tests.
    pub root: PathBuf,
    /// The directory of the test's first failure, somewhere below that.
    pub first: PathBuf,
}

impl Place {
    /// The test that this thread carries out.
    pub fn here(at: &Location<'_>) -> Self {
        Surroundings::now().place(at.file(), at.line())
    }

    /// A test without a place for its files.
    #[cfg(test)]
    pub fn nowhere() -> Self {
        Place { test: "nowhere".to_owned(), kept: None, base: None }
    }

    /// A path as it works in the test.
    pub fn shown(&self, path: &Path) -> String {
        let below = || {
            let base = fs::canonicalize(self.base.as_ref()?).ok()?;
            let parent = fs::canonicalize(path.parent()?).ok()?;
            let below = parent.strip_prefix(base).ok()?.join(path.file_name()?);
            let parts = below.components().map(|part| part.as_os_str().to_str().map(str::to_owned));
            Some(parts.collect::<Option<Vec<_>>>()?.join("/"))
        };
        below().unwrap_or_else(|| path.display().to_string())
    }
}

/// Whether a path is one where failures of tests are kept, until the test passes.
pub(crate) fn is_kept(path: &Path) -> bool {
    let in_target = |directory: &Path| {
        directory.file_name().is_some_and(|name| name == IN_TARGET)
            && directory.parent().is_some_and(is_target)
    };
    path.ancestors().skip(1).any(in_target)
}

/// Whether a directory looks like one that Cargo builds in.
fn is_target(directory: &Path) -> bool {
    directory.file_name().is_some_and(|name| name == "target") || directory.join(CACHE_TAG).exists()
}

/// Everything that the name and the place are read off.
#[derive(Default)]
struct Surroundings {
    executable: Option<PathBuf>,
    arguments: Vec<String>,
    thread: Option<String>,
    /// `CARGO_PKG_NAME`.
    package: Option<String>,
    /// `CARGO_MANIFEST_DIR`, or else where the process is.
    base: Option<PathBuf>,
    /// `CARGO_TARGET_DIR`.
    target: Option<PathBuf>,
    /// `ALLWAYS_SAVE`.
    save: Option<PathBuf>,
}

impl Surroundings {
    fn now() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
        let path = |name| variable(name).map(PathBuf::from);
        Surroundings {
            executable: std::env::current_exe().ok(),
            arguments: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
            thread: std::thread::current().name().map(str::to_owned),
            package: variable("CARGO_PKG_NAME").map(|name| name.to_string_lossy().into_owned()),
            base: path("CARGO_MANIFEST_DIR").or_else(|| std::env::current_dir().ok()),
            target: path("CARGO_TARGET_DIR"),
            save: path("ALLWAYS_SAVE"),
        }
    }

    fn place(self, file: &str, line: u32) -> Place {
        let thread = self.thread.as_deref().filter(|name| !name.is_empty() && *name != "main");
        let test = exact(&self.arguments).or(thread).map(str::to_owned);
        let name = match &test {
            Some(test) => file_name(test),
            None => of_characters(&format!("{file}-{line}")),
        };
        let kept = self.root().map(|root| {
            let first = root.join(self.binary(file)).join(name);
            Kept { root, first }
        });
        let test = test.unwrap_or_else(|| format!("{file}:{line}"));
        Place { test, kept, base: self.base }
    }

    /// The directory for the files of all tests.
    fn root(&self) -> Option<PathBuf> {
        if let Some(save) = &self.save {
            return std::path::absolute(save).ok();
        }
        // A relative one is relative to where Cargo was started, which nobody knows here.
        let given = self.target.as_deref().filter(|target| target.is_absolute());
        let found = || self.executable.as_ref()?.ancestors().skip(1).find(|at| is_target(at));
        given.or_else(found).map(|target| target.join(IN_TARGET))
    }

    /// The package and the test binary. The tests of a library are its package's.
    fn binary(&self, file: &str) -> PathBuf {
        let stem = self.executable.as_deref().and_then(Path::file_stem);
        let stem = stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        // Cargo adds a hash, which changes with the options of the compiler.
        let is_hash = |hash: &str| hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit());
        let stem = match stem.rsplit_once('-') {
            Some((name, hash)) if is_hash(hash) => of_characters(name),
            _ => of_characters(&stem),
        };
        let Some(package) = &self.package else { return PathBuf::from(stem) };
        let of_package = package.replace('-', "_") == stem;
        let package = PathBuf::from(of_characters(package));
        match of_package {
            false => package.join(stem),
            // A library, a program and a file of tests can all be called like their package.
            true if Path::new(file).ends_with("src/main.rs") => package.join(stem + "-main"),
            true if has_part(file, "tests") => package.join(stem + "-tests"),
            true => package,
        }
    }
}

fn has_part(path: &str, name: &str) -> bool {
    Path::new(path).components().any(|part| part == Component::Normal(name.as_ref()))
}

/// The one test that the test harness is told to carry out, if it is.
fn exact(arguments: &[String]) -> Option<&str> {
    const WITH_VALUE: &[&str] =
        &["--test-threads", "--skip", "--color", "--format", "--logfile", "--shuffle-seed", "-Z"];
    let mut names = Vec::new();
    let mut is_exact = false;
    let mut rest = arguments.iter().skip(1);
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--exact" => is_exact = true,
            option if WITH_VALUE.contains(&option) => {
                rest.next();
            }
            option if option.starts_with('-') => {}
            name => names.push(name),
        }
    }
    match (is_exact, names.as_slice()) {
        (true, [name]) if !name.is_empty() => Some(*name),
        _ => None,
    }
}

/// A test's name as the name of a directory, different for different tests.
fn file_name(test: &str) -> String {
    let is_identifier = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let name = of_characters(&test.replace("::", "-"));
    let is_telling = test.split("::").all(is_identifier)
        && test.chars().count() <= MAX_NAME
        && !is_device(&name);
    if is_telling {
        return name;
    }
    let mut hasher = FxHasher::default();
    hasher.write(test.as_bytes());
    format!("{name}-{:08x}", hasher.finish() as u32)
}

/// Text with nothing in it that is special in the name of a file.
fn of_characters(text: &str) -> String {
    let fine = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let text = text.chars().take(MAX_NAME).map(|c| if fine(c) { c } else { '-' });
    let text = text.collect::<String>();
    // Neither hidden, nor a way upwards, nor what Windows strips.
    let text = text.trim_matches(['.', '-']);
    if text.is_empty() { "unnamed".to_owned() } else { text.to_owned() }
}

/// Whether Windows takes a name for a device.
fn is_device(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let numbered = |port: &str| {
        name.strip_prefix(port).is_some_and(|n| n.len() == 1 && n.as_bytes()[0].is_ascii_digit())
    };
    matches!(name.as_str(), "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A test as Cargo starts it, in a directory that does not exist.
    fn in_cargo(executable: &str, package: &str) -> Surroundings {
        Surroundings {
            executable: Some(executable.into()),
            arguments: vec![executable.to_owned()],
            thread: Some("tests::agreement".to_owned()),
            package: Some(package.to_owned()),
            base: Some("/home/shop".into()),
            ..Surroundings::default()
        }
    }

    fn directory(surroundings: Surroundings, file: &str) -> String {
        surroundings.place(file, 7).kept.unwrap().first.display().to_string()
    }

    #[test]
    fn tests_of_one_name_in_different_binaries_have_different_directories() {
        let of = |binary: &str, package: &str, file: &str| {
            let path = format!("/home/shop/target/debug/deps/{binary}-0123456789abcdef");
            directory(in_cargo(&path, package), file)
        };
        let directories = [
            of("the_shop", "the-shop", "src/tests.rs"),
            of("the_shop", "the-shop", "src/main.rs"),
            of("the_shop", "the-shop", "tests/the_shop.rs"),
            of("orders", "the-shop", "tests/orders.rs"),
            of("orders", "stock", "tests/orders.rs"),
        ];
        assert_eq!(
            directories.map(|d| d.replace("/home/shop/target/allways/", "")),
            [
                "the-shop/tests-agreement",
                "the-shop/the_shop-main/tests-agreement",
                "the-shop/the_shop-tests/tests-agreement",
                "the-shop/orders/tests-agreement",
                "stock/orders/tests-agreement"
            ]
        );
    }

    #[test]
    fn the_target_directory_is_where_cargo_builds() {
        let deep =
            "/home/target/shop/target/x86_64-unknown-linux-gnu/debug/deps/a-0123456789abcdef";
        let mut surroundings = in_cargo(deep, "b");
        assert_eq!(
            surroundings.root().unwrap(),
            Path::new("/home/target/shop/target/allways"),
            "the nearest one"
        );
        surroundings.target = Some("elsewhere".into());
        assert_eq!(surroundings.root().unwrap(), Path::new("/home/target/shop/target/allways"));
        let elsewhere = std::env::temp_dir().join("elsewhere");
        surroundings.target = Some(elsewhere.clone());
        assert_eq!(surroundings.root().unwrap(), elsewhere.join("allways"));
        let save = std::env::temp_dir().join("save");
        surroundings.save = Some(save.clone());
        assert_eq!(surroundings.root().unwrap(), save);
        assert_eq!(in_cargo("/usr/bin/shop", "b").root(), None);
    }

    #[test]
    fn the_name_is_the_exact_argument_or_the_threads_or_where_the_assertion_stands() {
        let named = |arguments: &[&str], thread: Option<&str>| {
            let mut surroundings = in_cargo("/home/shop/target/debug/deps/a", "b");
            surroundings.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
            surroundings.thread = thread.map(str::to_owned);
            let place = surroundings.place("tests/a.rs", 7);
            let first = place.kept.unwrap().first;
            (place.test, first.file_name().unwrap().to_str().unwrap().to_owned())
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let nextest = ["--exact", "m::one", "--nocapture"];
        assert_eq!(named(&nextest, Some("main")), pair("m::one", "m-one"));
        let threads = ["--test-threads", "1", "--skip", "two", "--exact", "m::one"];
        assert_eq!(named(&threads, None), pair("m::one", "m-one"));
        assert_eq!(named(&["one", "two", "--exact"], Some("two")), pair("two", "two"));
        assert_eq!(named(&["one"], Some("m::one_and_two")).0, "m::one_and_two");
        let unnamed = pair("tests/a.rs:7", "tests-a.rs-7");
        assert_eq!(named(&[], Some("main")), unnamed);
        assert_eq!(named(&[], None), unnamed);
    }

    #[test]
    fn names_of_directories_are_plain_and_tell_tests_apart() {
        assert_eq!(file_name("orders::it_holds"), "orders-it_holds");
        assert_eq!(file_name("für::größe"), "für-größe");
        for odd in ["a/b", "a-b", "a b", "..", "../../etc", "x::2", "aux", "com1", "a:b|c?", ""] {
            let name = file_name(odd);
            let (plain, hash) = name.rsplit_once('-').unwrap();
            assert_eq!(hash.len(), 8, "{name}");
            assert!(!plain.contains(['/', '\\', ':', '|', '?', ' ']), "{name}");
            assert!(!plain.starts_with('.') && !plain.is_empty(), "{name}");
        }
        assert_ne!(file_name("a/b"), file_name("a b"));
        let long = "long_".repeat(100);
        assert!(file_name(&long).len() < 120);
        assert_ne!(file_name(&long), file_name(&(long.clone() + "er")));
    }

    #[test]
    fn a_run_kept_in_the_target_directory_is_known_as_one() {
        assert!(is_kept(Path::new("target/allways/a/b/run.json")));
        assert!(!is_kept(Path::new("allways/out/run.json")));
    }
}
