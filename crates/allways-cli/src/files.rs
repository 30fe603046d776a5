//! Files that a command writes: whole or not at all, and a sentence where that fails.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Writes a file so that nobody ever sees half of it: under another name first, then renamed.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    let cannot = |error: io::Error| format!("cannot write {}: {error}", path.display());
    if path.is_dir() {
        return Err(format!("cannot write {}: it is a directory", path.display()));
    }
    // What is no regular file (a terminal, a pipe) cannot be replaced by one.
    if path.exists() && !path.is_file() {
        return fs::write(path, text).map_err(cannot);
    }
    let beside = beside(path);
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        cannot(error)
    })
}

/// Makes sure beforehand that a file can be written there: a check may take hours, and what it
/// finds should not be lost in the end.
pub(crate) fn will_be_written(path: &Path) -> Result<(), String> {
    if path.is_dir() {
        return Err(format!("cannot write {}: it is a directory", path.display()));
    }
    if path.exists() && !path.is_file() {
        return Ok(());
    }
    let beside = beside(path);
    let tried = fs::write(&beside, "").and_then(|()| fs::remove_file(&beside));
    tried.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Makes a directory in which files can be written.
pub(crate) fn directory(path: &Path) -> Result<(), String> {
    if path.exists() && !path.is_dir() {
        return Err(format!("cannot save in {}: it is not a directory", path.display()));
    }
    let cannot = |error: io::Error| format!("cannot save in {}: {error}", path.display());
    fs::create_dir_all(path).map_err(cannot)?;
    let probe = beside(&path.join("run.json"));
    fs::write(&probe, "").and_then(|()| fs::remove_file(&probe)).map_err(cannot)
}

/// A new directory for what is not kept, which nobody else can have put anything in.
pub(crate) fn fresh_directory(name: &str) -> Result<PathBuf, String> {
    let base = std::env::temp_dir();
    for number in 0u32.. {
        let path = base.join(format!("{name}-{}-{number}", std::process::id()));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 10_000 => {}
            Err(error) => return Err(format!("cannot make {}: {error}", path.display())),
        }
    }
    Err(format!("cannot make a directory in {}", base.display()))
}

/// A name in the same directory that nobody else uses.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

/// A path as one types it in a shell.
pub(crate) fn typed(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_a_shell_would_take_apart_are_quoted() {
        assert_eq!(typed(Path::new("out/run.json")), "out/run.json");
        assert_eq!(typed(Path::new("my runs/it's")), r"'my runs/it'\''s'");
        assert_eq!(typed(Path::new("")), "''");
    }
}
