//! What is done, in a file: a check that was interrupted, at whatever moment, goes on where it was.
//!
//! The global explorer is deterministic, and all that takes long is in its [tasks](super::task). So the log has what came of each task, written when it came, and nothing else. A check that goes on
//! repeats what the global explorer does, and takes from the log what came of a task wherever the log has it.
//!
//! **The file** begins with [`MAGIC`] and a header: the version of the format, what the log is of, and a fingerprint of that. Then come records, one for each task. Header and records are
//! a length, a checksum and so many bytes each, written with one call: if the process is killed, the bytes are in the file or the last record is torn. Where a record is not whole, or is not what its
//! checksum says, the file is cut off, and written on from there: what is lost is performed again. (Bytes are handed to the operating system, not forced to the disk. After a power failure less may be there, and that
//! is all.)
//!
//! Nothing is taken on trust from a log: see [`task`](super::task). But that it is *complete*, that a component has no more branches than it says, is not checked. So the fingerprint is of the
//! program as a whole (the bytes of the executable file, in which handlers, views and properties are) and of what the system was built from; a log with another one is refused. While a process has a log open, no other
//! can open it.

use super::codec::{Reader, Writer};
use super::task::{Kept, TaskKey};
use crate::error::Error;
use crate::space::hash::ContentHasher;
use rustc_hash::FxHashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::hash::Hasher;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a log begins with.
const MAGIC: &[u8; 16] = b"allways dir log\n";

/// The version of what comes after it.
const VERSION: u64 = 2;

/// The bytes of a record before its content: its length and its checksum.
const HEAD: usize = 12;

/// No record is longer.
const MAX_RECORD: u32 = 1 << 30;

/// What a log is of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Header {
    /// The program and the system.
    pub fingerprint: u64,
    /// What else must be the same, in words.
    pub options: String,
}

/// See the module.
pub(super) struct Log {
    path: PathBuf,
    inside: Mutex<Inside>,
}

struct Inside {
    file: File,
    end: u64,
    /// For each task that was done in another process, where its record is.
    known: FxHashMap<TaskKey, (u64, u32)>,
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut hasher = ContentHasher::new(0x6C6F_6721);
    hasher.write(bytes);
    hasher.finish()
}

/// A record with this content.
fn record(content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + content.len());
    bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&checksum(content).to_le_bytes());
    bytes.extend_from_slice(content);
    bytes
}

impl Header {
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.number(VERSION);
        writer.word(self.fingerprint);
        writer.text(&self.options);
        let mut bytes = MAGIC.to_vec();
        bytes.extend(record(&writer.bytes));
        bytes
    }
}

impl Log {
    /// Opens a log, or begins one if there is no such file.
    pub fn open(path: &Path, header: &Header) -> Result<Self, Error> {
        let fails = |what: &str, error: std::io::Error| {
            Error::Log(format!("the log {} cannot be {what}: {error}", path.display()))
        };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.map_err(|error| fails("opened", error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let why = format!("the log {} is in use by another check", path.display());
                return Err(Error::Log(why));
            }
            // Not all file systems know locks.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(fails("locked", error)),
        }
        let len = file.metadata().map_err(|error| fails("read", error))?.len();
        let begin = header.to_bytes();
        let mut have = vec![0; begin.len().min(usize::try_from(len).unwrap_or(usize::MAX))];
        file.read_exact(&mut have).map_err(|error| fails("read", error))?;
        if have.len() < begin.len() && begin.starts_with(&have) {
            // It is new, or whoever began it was killed at once.
            file.set_len(0).map_err(|error| fails("written", error))?;
            file.rewind().map_err(|error| fails("written", error))?;
            file.write_all(&begin).map_err(|error| fails("written", error))?;
        } else if have != begin {
            file.rewind().map_err(|error| fails("read", error))?;
            return Err(Error::Log(why_not(&mut file, path, header)));
        }
        let mut inside = Inside { file, end: begin.len() as u64, known: FxHashMap::default() };
        inside.read_all().map_err(|error| fails("read", error))?;
        inside.file.set_len(inside.end).map_err(|error| fails("written", error))?;
        Ok(Log { path: path.to_owned(), inside: Mutex::new(inside) })
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down what came of a task.
    pub fn keep(&self, task: TaskKey, kept: &Kept) -> Result<(), Error> {
        let bytes = record(&kept.to_bytes(task));
        if bytes.len() > MAX_RECORD as usize {
            // Too much to be kept: it would be performed again.
            return Ok(());
        }
        let mut inside = self.inside();
        let end = inside.end;
        let written = inside.file.seek(SeekFrom::Start(end));
        let written = written.and_then(|_| inside.file.write_all(&bytes));
        inside.end += bytes.len() as u64;
        written.map_err(|error| {
            let path = self.path.display();
            Error::Log(format!("the log {path} cannot be written: {error}"))
        })
    }

    /// Whether nothing was done in another process.
    pub fn is_new(&self) -> bool {
        self.inside().known.is_empty()
    }

    /// Whether a task was done in another process.
    pub fn has(&self, task: TaskKey) -> bool {
        self.inside().known.contains_key(&task)
    }

    /// What came of a task in another process.
    pub fn read(&self, task: TaskKey) -> Result<Option<Kept>, Error> {
        let mut inside = self.inside();
        let Some(&(at, len)) = inside.known.get(&task) else { return Ok(None) };
        let mut content = vec![0; len as usize];
        let read = inside.file.seek(SeekFrom::Start(at));
        let read = read.and_then(|_| inside.file.read_exact(&mut content));
        let fails = |why: String| {
            Error::Log(format!("the log {} cannot be read: {why}", self.path.display()))
        };
        read.map_err(|error| fails(error.to_string()))?;
        match Kept::from_bytes(&content) {
            Some((known, kept)) if known == task => Ok(Some(kept)),
            _ => Err(fails("it has changed meanwhile".to_owned())),
        }
    }
}

impl Inside {
    /// Reads all records, as far as they are whole.
    fn read_all(&mut self) -> std::io::Result<()> {
        let len = self.file.metadata()?.len();
        self.file.seek(SeekFrom::Start(self.end))?;
        let mut file = std::io::BufReader::with_capacity(1 << 16, &self.file);
        let mut content = Vec::new();
        loop {
            let rest = len.saturating_sub(self.end);
            let mut head = [0; HEAD];
            if rest < HEAD as u64 {
                return Ok(());
            }
            file.read_exact(&mut head)?;
            let (size, sum) = head.split_at(4);
            let size = u32::from_le_bytes(size.try_into().unwrap_or_default());
            if size > MAX_RECORD || u64::from(size) > rest - HEAD as u64 {
                return Ok(());
            }
            content.resize(size as usize, 0);
            file.read_exact(&mut content)?;
            if checksum(&content).to_le_bytes() != sum {
                return Ok(());
            }
            // A record of this version that is whole says what it is of; if not, nothing behind it is to be relied on.
            let Some((task, _)) = Kept::from_bytes(&content) else { return Ok(()) };
            self.known.insert(task, (self.end + HEAD as u64, size));
            self.end += HEAD as u64 + u64::from(size);
        }
    }
}

/// Why a file is not the log of this check.
fn why_not(file: &mut File, path: &Path, wanted: &Header) -> String {
    let path = path.display();
    let read = read_header(file);
    match read {
        Some((VERSION, header)) if header.fingerprint != wanted.fingerprint => format!(
            "the log {path} is of another system, or of another version of the program: begin a new one, with another name"
        ),
        Some((VERSION, header)) if header != *wanted => format!(
            "the log {path} is of a check with other options ({}, and not {}): begin a new one, with another name",
            header.options, wanted.options
        ),
        Some((version, _)) if version != VERSION => format!(
            "the log {path} has format {version}, and this version of Allways writes format {VERSION}: begin a new one, with another name"
        ),
        _ => format!("{path} is no log of a check, or its beginning is damaged"),
    }
}

fn read_header(file: &mut File) -> Option<(u64, Header)> {
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic).ok()?;
    let mut head = [0; HEAD];
    file.read_exact(&mut head).ok()?;
    let (size, sum) = head.split_first_chunk::<4>()?;
    let size = u32::from_le_bytes(*size);
    let mut content = Vec::new();
    file.take(u64::from(size.min(1 << 20))).read_to_end(&mut content).ok()?;
    if magic != *MAGIC || content.len() != size as usize || checksum(&content).to_le_bytes() != sum
    {
        return None;
    }
    let mut reader = Reader::new(&content);
    let version = reader.number()?;
    // What else a header of another version has is not known.
    let of_another = Header { fingerprint: 0, options: String::new() };
    if version != VERSION {
        return Some((version, of_another));
    }
    let fingerprint = reader.word()?;
    let options = reader.text()?.to_owned();
    Some((version, Header { fingerprint, options }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path in a directory of its own, which is removed in the end.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let name = format!("allways-log-{}-{name}", std::process::id());
            let place = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&place).unwrap();
            Place(place)
        }

        fn log(&self) -> PathBuf {
            self.0.join("log")
        }

        /// A log of three tasks.
        fn filled(&self) -> Vec<u8> {
            let log = Log::open(&self.log(), &header()).unwrap();
            assert!(log.is_new());
            for traces in 1..=3 {
                log.keep(task(traces), &Kept::sample(traces)).unwrap();
            }
            drop(log);
            std::fs::read(self.log()).unwrap()
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn header() -> Header {
        Header { fingerprint: 77, options: "each by itself".to_owned() }
    }

    fn task(traces: u64) -> TaskKey {
        (0, 1, 1_000 + traces)
    }

    /// How many of the three tasks a log has; they are as they were, and the last ones are missing.
    fn count(log: &Log) -> u64 {
        let has = |&traces: &u64| log.has(task(traces));
        let count = (1..=3).take_while(has).count() as u64;
        assert!((count + 1..=3).all(|traces| !log.has(task(traces))));
        for traces in 1..=count {
            assert_eq!(log.read(task(traces)).unwrap(), Some(Kept::sample(traces)));
        }
        count
    }

    #[test]
    fn what_was_kept_is_there_when_it_is_opened_again() {
        let place = Place::new("again");
        place.filled();
        let log = Log::open(&place.log(), &header()).unwrap();
        assert_eq!((count(&log), log.is_new()), (3, false));
        assert_eq!(log.read(task(4)).unwrap(), None);
        // Records that come later are behind those.
        log.keep(task(4), &Kept::sample(4)).unwrap();
        drop(log);
        let log = Log::open(&place.log(), &header()).unwrap();
        assert_eq!((count(&log), log.has(task(4))), (3, true));
    }

    /// Killed at whatever moment: the file is as long as it got.
    #[test]
    fn a_torn_record_is_cut_off_and_written_anew() {
        let place = Place::new("torn");
        let whole = place.filled();
        let mut counts = Vec::new();
        for len in 0..whole.len() {
            std::fs::write(place.log(), &whole[..len]).unwrap();
            let log = Log::open(&place.log(), &header()).unwrap();
            let had = count(&log);
            counts.push(had);
            for traces in had + 1..=3 {
                log.keep(task(traces), &Kept::sample(traces)).unwrap();
            }
            drop(log);
            assert_eq!(std::fs::read(place.log()).unwrap(), whole, "cut off after {len} bytes");
        }
        assert!(counts.is_sorted());
        assert_eq!((counts.first(), counts.last()), (Some(&0), Some(&2)));
    }

    #[test]
    fn a_damaged_log_is_refused_or_cut_off() {
        let place = Place::new("damaged");
        let whole = place.filled();
        let begin = header().to_bytes().len();
        for at in 0..whole.len() {
            for flip in [1, 0x80, 0xFF] {
                let mut bytes = whole.clone();
                bytes[at] ^= flip;
                std::fs::write(place.log(), &bytes).unwrap();
                match Log::open(&place.log(), &header()) {
                    Ok(log) => {
                        assert!(at >= begin, "byte {at}");
                        assert!(count(&log) < 3, "byte {at}");
                    }
                    Err(error) => {
                        assert!(at < begin, "byte {at}: {error}");
                        // It is not touched.
                        assert_eq!(std::fs::read(place.log()).unwrap(), bytes);
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_no_log_of_this_check_is_refused_and_left_as_it_is() {
        let place = Place::new("other");
        let whole = place.filled();
        let why = |header: &Header| match Log::open(&place.log(), header) {
            Ok(_) => panic!("it was opened"),
            Err(error) => error.to_string().replace(place.0.to_str().unwrap(), ""),
        };
        assert_eq!(
            why(&Header { fingerprint: 78, ..header() }),
            "the log /log is of another system, or of another version of the program: begin a new one, with another name"
        );
        assert_eq!(
            why(&Header { options: "all in one".to_owned(), ..header() }),
            "the log /log is of a check with other options (each by itself, and not all in one): begin a new one, with another name"
        );
        assert_eq!(std::fs::read(place.log()).unwrap(), whole);
        let mut newer = Writer::default();
        newer.number(VERSION + 1);
        newer.text("something");
        std::fs::write(place.log(), [&MAGIC[..], &record(&newer.bytes)].concat()).unwrap();
        assert_eq!(
            why(&header()),
            "the log /log has format 3, and this version of Allways writes format 2: begin a new one, with another name"
        );
        for text in
            ["x", "something else, and longer than the beginning of a log: a shopping list\n"]
        {
            std::fs::write(place.log(), text).unwrap();
            assert_eq!(why(&header()), "/log is no log of a check, or its beginning is damaged");
            assert_eq!(std::fs::read_to_string(place.log()).unwrap(), text);
        }
        let nowhere = place.0.join("none/log");
        let error = Log::open(&nowhere, &header()).err().unwrap().to_string();
        assert!(error.contains("none/log cannot be opened: "), "{error}");
    }

    #[test]
    fn a_log_is_for_one_at_a_time() {
        let place = Place::new("one");
        let log = Log::open(&place.log(), &header()).unwrap();
        let error = Log::open(&place.log(), &header()).err().unwrap().to_string();
        assert!(error.ends_with("log is in use by another check"), "{error}");
        drop(log);
        assert!(Log::open(&place.log(), &header()).is_ok());
    }
}
