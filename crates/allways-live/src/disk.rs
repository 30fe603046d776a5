//! What a node has persisted, on disk.
//!
//! A state is written whole: to another file, which is synced, renamed over the old one, and made
//! to stay by syncing the directory. Whoever looks, however the machine went down, finds the old
//! state or the new one. A checksum tells a file that something else has damaged. While a node uses a
//! directory it holds a lock in it, and what the node is (its label) is written down beside the state: a state is
//! not given to a node of another configuration.

use crate::Error;
use crate::error::cannot;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a node that has just ended may take to leave its directory.
const PATIENCE: Duration = Duration::from_secs(2);

const MARK: &[u8] = b"allways state 1\n";
const CHECKSUM: usize = 32;

/// The file in which one node keeps its state.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    directory: PathBuf,
    /// Locked as long as this is open.
    _lock: Arc<File>,
}

impl Disk {
    /// The file in this directory, which is made if there is none, of a node with this label; an empty label is any.
    pub fn open(directory: &Path, label: &str) -> Result<Self, Error> {
        let shown = directory.display();
        fs::create_dir_all(directory).map_err(cannot(format!("make the directory {shown}")))?;
        let lock = lock(directory)?;
        let known = directory.join("label");
        match fs::read_to_string(&known) {
            _ if label.is_empty() => {}
            Ok(other) if other == label => {}
            Ok(other) => {
                let what =
                    format!("{shown} has the state of a node of `{other}`, not of `{label}`");
                return Err(Error::new(what));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::write(&known, label).map_err(cannot(format!("write {}", known.display())))?;
            }
            Err(error) => return Err(cannot(format!("read {}", known.display()))(error)),
        }
        Ok(Disk { directory: directory.to_owned(), _lock: Arc::new(lock) })
    }

    fn path(&self) -> PathBuf {
        self.directory.join("state")
    }

    /// What was written last, if anything ever was.
    pub fn read(&self) -> Result<Option<Vec<u8>>, Error> {
        let path = self.path();
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot(format!("read {}", path.display()))(error)),
        };
        let state = bytes.strip_prefix(MARK).and_then(|rest| {
            let (checksum, state) = rest.split_at_checked(CHECKSUM)?;
            (Sha256::digest(state).as_slice() == checksum).then(|| state.to_vec())
        });
        state.map(Some).ok_or_else(|| damaged(&path))
    }

    /// Replaces what was written; when this returns, it survives anything.
    pub fn write(&self, state: &[u8]) -> io::Result<()> {
        let beside = self.directory.join("state.new");
        let mut file = File::create(&beside)?;
        file.write_all(MARK)?;
        file.write_all(&Sha256::digest(state))?;
        file.write_all(state)?;
        file.sync_all()?;
        fs::rename(&beside, self.path())?;
        File::open(&self.directory)?.sync_all()
    }

    /// That what was read is not a state of this node.
    pub fn damaged(&self) -> Error {
        damaged(&self.path())
    }
}

/// The lock of a directory.
fn lock(directory: &Path) -> Result<File, Error> {
    let shown = directory.display();
    let file = File::create(directory.join("lock")).map_err(cannot(format!("use {shown}")))?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(fs::TryLockError::WouldBlock) => {
                return Err(Error::new(format!("{shown} is in use by another node")));
            }
            Err(fs::TryLockError::Error(error)) => {
                return Err(cannot(format!("lock {shown}"))(error));
            }
        }
    }
}

fn damaged(path: &Path) -> Error {
    Error::new(format!(
        "{} is damaged: it is not the state that a node of this kind has persisted",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("allways-disk-{name}-{}", std::process::id()))
    }

    #[test]
    fn the_last_state_is_read_back() {
        let directory = scratch("last");
        let disk = Disk::open(&directory.join("deep/er"), "").unwrap();
        assert_eq!(disk.read().unwrap(), None);
        disk.write(b"one").unwrap();
        disk.write(b"").unwrap();
        assert_eq!(disk.read().unwrap(), Some(vec![]));
        disk.write(b"three").unwrap();
        drop(disk);
        let again = Disk::open(&directory.join("deep/er"), "").unwrap();
        assert_eq!(again.read().unwrap().unwrap(), b"three");
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_directory_is_for_one_node_of_one_kind() {
        let directory = scratch("one");
        let disk = Disk::open(&directory, "paxos nodes=3").unwrap();
        let error = Disk::open(&directory, "paxos nodes=3").unwrap_err().to_string();
        assert!(error.ends_with("is in use by another node"), "{error}");
        drop(disk);
        let error = Disk::open(&directory, "paxos nodes=5").unwrap_err().to_string();
        assert!(error.ends_with("of `paxos nodes=3`, not of `paxos nodes=5`"), "{error}");
        assert!(Disk::open(&directory, "paxos nodes=3").is_ok());
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_damaged_file_is_one_sentence() {
        let directory = scratch("damaged");
        let disk = Disk::open(&directory, "").unwrap();
        disk.write(b"state").unwrap();
        let path = directory.join("state");
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            fs::write(&path, &bytes[..at]).unwrap();
            let error = disk.read().unwrap_err().to_string();
            assert!(error.contains("state is damaged: "), "{error}");
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            fs::write(&path, flipped).unwrap();
            assert!(disk.read().is_err(), "byte {at}");
        }
        // What a write that was cut short leaves is not looked at.
        fs::write(&path, &bytes).unwrap();
        fs::write(directory.join("state.new"), "half").unwrap();
        assert_eq!(disk.read().unwrap().unwrap(), b"state");
        fs::remove_dir_all(directory).unwrap();
    }
}
