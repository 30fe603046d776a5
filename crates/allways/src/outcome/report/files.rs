//! What a failing test leaves behind: written whole or not at all, each failure in a directory of
//! its own, and gone when the test passes.
//!
//! A test process carries out each test once. So the first assertion of a test finds what an
//! earlier process left, and clears it away; later ones find what this process left, and leave it.
//! Only files that are written here are ever removed, and directories only when they are empty:
//! `ALLWAYS_SAVE` may name a directory with other things in it.

use super::place::{Kept, Place};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The saved run.
pub(super) const RUN: &str = "run.json";

/// The report to look through in a browser.
const PAGE: &str = "report.html";

/// A test that fails more often, because it makes its system smaller and smaller, say, keeps its
/// first failures and its last.
const MAX_FAILURES: usize = 10;

/// How often each test that has asserted something has failed so far in this process.
static FAILURES: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

/// What was written.
pub(super) struct Saved {
    pub run: PathBuf,
    pub page: Option<PathBuf>,
}

/// An assertion of this test had nothing to save.
pub(super) fn nothing_to_save(place: &Place) {
    if let Some(kept) = &place.kept
        && count(&kept.first, 0) == (0, true)
    {
        kept.clear_from(1);
    }
}

/// Where to save the next failure of this test.
pub(super) fn directory_for_failure(place: &Place) -> Result<PathBuf, String> {
    let Some(kept) = &place.kept else {
        return Err("there is no target directory here; ALLWAYS_SAVE=DIR saves it in DIR".into());
    };
    let (failures, is_first) = count(&kept.first, 1);
    if is_first {
        // The first directory is about to be written: nobody shall find it missing.
        kept.clear_from(2);
    }
    let directory = kept.numbered(failures.min(MAX_FAILURES));
    let made = fs::create_dir_all(&directory);
    made.map_err(|error| format!("cannot make {}: {error}", directory.display()))?;
    Ok(directory)
}

/// Writes the files of a failure.
pub(super) fn save(directory: &Path, run: &str, page: Option<&str>) -> Result<Saved, String> {
    let write = |name: &str, text: &str| {
        let path = directory.join(name);
        match write_whole(&path, text) {
            Ok(()) => Ok(path),
            Err(error) => Err(format!("cannot write {}: {error}", path.display())),
        }
    };
    let run = write(RUN, run)?;
    let page = match page {
        Some(page) => Some(write(PAGE, page)?),
        None => {
            let _ = fs::remove_file(directory.join(PAGE));
            None
        }
    };
    Ok(Saved { run, page })
}

/// Adds to the failures of a test; how many there are now, and whether it had asserted nothing
/// before.
fn count(directory: &Path, more: usize) -> (usize, bool) {
    let mut failures = FAILURES.lock().unwrap_or_else(PoisonError::into_inner);
    let is_first = !failures.contains_key(directory);
    let failures = failures.entry(directory.to_owned()).or_default();
    *failures += more;
    (*failures, is_first)
}

impl Kept {
    /// The directory of a failure, counted from one.
    fn numbered(&self, number: usize) -> PathBuf {
        match (number, self.first.file_name()) {
            (2.., Some(name)) => {
                let mut name = name.to_owned();
                name.push(format!("-{number}"));
                self.first.with_file_name(name)
            }
            _ => self.first.clone(),
        }
    }

    /// Removes what failures with this number and above left behind.
    fn clear_from(&self, number: usize) {
        for number in number..=MAX_FAILURES {
            let directory = self.numbered(number);
            if directory.is_dir() {
                self.clear(&directory);
            }
        }
    }

    /// Removes what a failure left behind, and directories that are empty then.
    fn clear(&self, directory: &Path) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if is_ours(&entry.file_name().to_string_lossy()) {
                let _ = fs::remove_file(entry.path());
            }
        }
        // The test's, its binary's and its package's.
        for directory in directory.ancestors().take_while(|at| **at != self.root) {
            if fs::remove_dir(directory).is_err() {
                break;
            }
        }
    }
}

/// Whether a file has a name that is written here.
fn is_ours(name: &str) -> bool {
    // A process that is killed leaves half a file under another name.
    let is_half = |file: &str| name.starts_with(&format!(".{file}.")) && name.ends_with(".tmp");
    [RUN, PAGE].iter().any(|file| name == *file || is_half(file))
}

/// Writes a file so that nobody ever sees half of it: under another name first, then renamed.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    static WRITTEN: AtomicUsize = AtomicUsize::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}-{number}.tmp", std::process::id()));
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_place_nothing_is_saved_and_a_sentence_says_why() {
        let place = Place::nowhere();
        nothing_to_save(&place);
        assert_eq!(
            directory_for_failure(&place).unwrap_err(),
            "there is no target directory here; ALLWAYS_SAVE=DIR saves it in DIR"
        );
    }

    #[test]
    fn only_what_is_written_here_is_ever_removed() {
        for ours in ["run.json", "report.html", ".run.json.17-3.tmp"] {
            assert!(is_ours(ours), "{ours}");
        }
        for other in ["run.json.bak", "my-run.json", ".run.json.swp", "notes.tmp", "index.html"] {
            assert!(!is_ours(other), "{other}");
        }
    }
}
