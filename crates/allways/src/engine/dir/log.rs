//! What is done, in a file: a check that was interrupted, at whatever moment, goes on where it was.
//!
//! The global explorer is deterministic, and all that takes long is in its [tasks](super::task). So the log has what came of each task, written when it came, and nothing else. A check that goes on
//! repeats what the global explorer does, and takes from the log what came of a task wherever the log has it.
//!
//! **What was learnt.** Who touches what may have to be learnt from runs ([`lessons`]), and what is learnt may change what components are explored by; then all is explored again. So there are records of two
//! kinds. A *lesson* is something that was learnt, for good: lessons add up, in whatever order. What came of a *task* is kept with [what](crate::engine::machine::Machine::learnt) the machine went by that performed it, and is taken
//! only by a check that goes by the same: nothing has to be struck out of the log when something is learnt. When a log is opened, all its lessons are learnt before anything is explored.
//!
//! Why that is right: a task is a function of the trace, of what is gone by, and of nothing else. It remains that what was *seen* in its runs counts, though nobody performs them again. That a first component
//! touches an object changes nothing; that a second one does makes it shared, and who does not know of the first does not notice. Therefore, before the record of a task is written, all lessons are that are not yet in the file, under one lock:
//! those of the task's own runs are among them, since machines tell what they see before they go on. A file is read from its beginning to the first record that is not whole, so whoever reads what came of
//! a task has read what was seen in it. What the global explorer sees itself is seen again, since all that it does is done again.
//!
//! **The file** begins with [`MAGIC`] and a header: the version of the format, what the log is of, and a fingerprint of that. Then come records. Header and records are
//! a length, a checksum and so many bytes each, written with one call: if the process is killed, the bytes are in the file or the last record is torn. Where a record is not whole, or is not what its
//! checksum says, the file is cut off, and written on from there: what is lost is performed again. (Bytes are handed to the operating system, not forced to the disk. After a power failure less may be there, and that
//! is all.)
//!
//! Nothing is taken on trust from a log: see [`task`](super::task). But that it is *complete*, that a component has no more branches than it says, is not checked. So the fingerprint is of the
//! program as a whole (the bytes of the executable file, in which handlers, views and properties are) and of what the system was built from; a log with another one is refused. While a process has a log open, no other
//! can open it.
//!
//! [`lessons`]: crate::engine::machine::Machine::lessons

use super::codec::{Reader, Writer};
use super::task::{Kept, TaskKey};
use crate::error::Error;
use crate::space::hash::ContentHasher;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::hash::Hasher;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a log begins with.
const MAGIC: &[u8; 16] = b"allways dir log\n";

/// The version of what comes after it.
const VERSION: u64 = 2;

/// What a record begins with, by its kind.
const LESSONS: u64 = 0;
const TASK: u64 = 1;

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
    /// What a task has to go by to be taken or kept.
    gone_by: AtomicU64,
    inside: Mutex<Inside>,
}

struct Inside {
    file: File,
    end: u64,
    /// For each task that was done in another process, and what it went by, where its record is.
    known: FxHashMap<(u64, TaskKey), (u64, u32)>,
    /// What was learnt in other processes, as long as it may have to be told from what was learnt in this one.
    lessons: Vec<Vec<u64>>,
    /// How many lessons of this process are in the file.
    told: usize,
}

/// What a record says.
enum Content {
    Lessons(Vec<Vec<u64>>),
    Task(u64, TaskKey, Kept),
}

impl Content {
    /// `None` if it says nothing of the kind.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        match reader.number()? {
            LESSONS => {
                let lessons = reader.list(|reader| reader.list(Reader::number))?;
                reader.is_at_end().then_some(Content::Lessons(lessons))
            }
            TASK => {
                let gone_by = reader.word()?;
                let (task, kept) = Kept::from_bytes(reader.rest())?;
                Some(Content::Task(gone_by, task, kept))
            }
            _ => None,
        }
    }
}

fn lessons_record(lessons: &[Vec<u64>]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.number(LESSONS);
    writer.count(lessons.len());
    for lesson in lessons {
        writer.count(lesson.len());
        lesson.iter().for_each(|&number| writer.number(number));
    }
    record(&writer.bytes)
}

fn task_record(gone_by: u64, task: TaskKey, kept: &Kept) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.number(TASK);
    writer.word(gone_by);
    writer.bytes.extend(kept.to_bytes(task));
    record(&writer.bytes)
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
        let mut inside = Inside {
            file,
            end: begin.len() as u64,
            known: FxHashMap::default(),
            lessons: Vec::new(),
            told: 0,
        };
        inside.read_all().map_err(|error| fails("read", error))?;
        inside.file.set_len(inside.end).map_err(|error| fails("written", error))?;
        Ok(Log { path: path.to_owned(), gone_by: AtomicU64::new(0), inside: Mutex::new(inside) })
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has everything learnt that was learnt in other processes. `learn` says whether something is a lesson.
    pub fn teach(&self, learn: impl Fn(&[u64]) -> bool) -> Result<(), Error> {
        match self.inside().lessons.iter().all(|lesson| learn(lesson)) {
            true => Ok(()),
            false => Err(Error::Log(format!(
                "the log {} says that something was learnt which cannot be learnt of this program: begin a new one, with another name",
                self.path.display()
            ))),
        }
    }

    /// From now on, tasks are performed that go by this. Nobody performs any just now.
    pub fn go_by(&self, learnt: u64) {
        self.gone_by.store(learnt, Relaxed);
    }

    fn gone_by(&self) -> u64 {
        self.gone_by.load(Relaxed)
    }

    /// Writes down what came of a task, and before that what was learnt, which `lessons_from` adds from the so manieth on. If the machine goes by something else than the task, it has learnt something meanwhile: that is not kept.
    pub fn keep(
        &self,
        task: TaskKey,
        kept: &Kept,
        learnt: u64,
        lessons_from: impl FnOnce(usize, &mut Vec<Vec<u64>>),
    ) -> Result<(), Error> {
        let gone_by = self.gone_by();
        if learnt != gone_by {
            return Ok(());
        }
        let task = task_record(gone_by, task, kept);
        let mut inside = self.inside();
        let mut lessons = Vec::new();
        lessons_from(inside.told, &mut lessons);
        let told = inside.told + lessons.len();
        if inside.told == 0 && !inside.lessons.is_empty() && !lessons.is_empty() {
            // All that is in the file was learnt before anything else.
            let known: FxHashSet<Vec<u64>> =
                std::mem::take(&mut inside.lessons).into_iter().collect();
            lessons.retain(|lesson| !known.contains(lesson));
        }
        let mut bytes = Vec::new();
        if !lessons.is_empty() {
            bytes = lessons_record(&lessons);
        }
        if bytes.len().max(task.len()) > MAX_RECORD as usize {
            // Too much to be kept: it would be performed again.
            return Ok(());
        }
        bytes.extend(task);
        let end = inside.end;
        let written = inside.file.seek(SeekFrom::Start(end));
        let written = written.and_then(|_| inside.file.write_all(&bytes));
        inside.end += bytes.len() as u64;
        inside.told = told;
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
        self.inside().known.contains_key(&(self.gone_by(), task))
    }

    /// What came of a task in another process.
    pub fn read(&self, task: TaskKey) -> Result<Option<Kept>, Error> {
        let mut inside = self.inside();
        let gone_by = self.gone_by();
        let Some(&(at, len)) = inside.known.get(&(gone_by, task)) else { return Ok(None) };
        let mut content = vec![0; len as usize];
        let read = inside.file.seek(SeekFrom::Start(at));
        let read = read.and_then(|_| inside.file.read_exact(&mut content));
        let fails = |why: String| {
            Error::Log(format!("the log {} cannot be read: {why}", self.path.display()))
        };
        read.map_err(|error| fails(error.to_string()))?;
        match Content::from_bytes(&content) {
            Some(Content::Task(by, known, kept)) if (by, known) == (gone_by, task) => {
                Ok(Some(kept))
            }
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
            match Content::from_bytes(&content) {
                Some(Content::Lessons(lessons)) => self.lessons.extend(lessons),
                Some(Content::Task(gone_by, task, _)) => {
                    self.known.insert((gone_by, task), (self.end + HEAD as u64, size));
                }
                None => return Ok(()),
            }
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

        /// A log of three tasks, with a lesson before the first, and two before the last.
        fn filled(&self) -> Vec<u8> {
            let log = opened(&self.log());
            assert!(log.is_new());
            for traces in 1..=3 {
                keep(&log, traces);
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

    /// What is known when so many tasks are done.
    fn lessons(traces: u64) -> &'static [&'static [u64]] {
        let all: &[&[u64]] = &[&[1, u64::MAX], &[], &[7, 0, 300]];
        &all[..if traces < 3 { 1 } else { 3 }]
    }

    const LEARNT: u64 = 1 << 60;

    fn opened(path: &Path) -> Log {
        let log = Log::open(path, &header()).unwrap();
        log.go_by(LEARNT);
        log
    }

    fn keep(log: &Log, traces: u64) {
        let add = |from: usize, into: &mut Vec<Vec<u64>>| {
            into.extend(lessons(traces)[from..].iter().map(|lesson| lesson.to_vec()));
        };
        log.keep(task(traces), &Kept::sample(traces), LEARNT, add).unwrap();
    }

    /// What a log teaches.
    fn taught(log: &Log) -> Vec<Vec<u64>> {
        let all = std::cell::RefCell::new(Vec::new());
        let learn = |lesson: &[u64]| {
            all.borrow_mut().push(lesson.to_vec());
            true
        };
        log.teach(learn).unwrap();
        all.into_inner()
    }

    /// How many of the three tasks a log has; they are as they were, and the last ones are missing.
    fn count(log: &Log) -> u64 {
        let has = |&traces: &u64| log.has(task(traces));
        let count = (1..=3).take_while(has).count() as u64;
        assert!((count + 1..=3).all(|traces| !log.has(task(traces))));
        for traces in 1..=count {
            assert_eq!(log.read(task(traces)).unwrap(), Some(Kept::sample(traces)));
        }
        // Whatever is known of tasks, what was learnt before is known, too.
        let (least, taught) = (if count == 0 { 0 } else { lessons(count).len() }, taught(log));
        assert!(taught.len() >= least && taught == lessons(3)[..taught.len()]);
        count
    }

    #[test]
    fn what_was_kept_is_there_when_it_is_opened_again() {
        let place = Place::new("again");
        place.filled();
        let log = opened(&place.log());
        assert_eq!((count(&log), log.is_new()), (3, false));
        assert_eq!(log.read(task(4)).unwrap(), None);
        // Records that come later are behind those, and what is known is not written again.
        let before = std::fs::metadata(place.log()).unwrap().len();
        keep(&log, 4);
        keep(&log, 5);
        drop(log);
        let records: usize =
            [4, 5].iter().map(|&it| task_record(LEARNT, task(it), &Kept::sample(it)).len()).sum();
        assert_eq!(std::fs::metadata(place.log()).unwrap().len(), before + records as u64);
        let log = opened(&place.log());
        assert_eq!((count(&log), log.has(task(4)), log.has(task(5))), (3, true, true));
    }

    /// What was explored by other rules is none of it.
    #[test]
    fn tasks_are_of_those_who_go_by_the_same() {
        let place = Place::new("by");
        let whole = place.filled();
        let log = opened(&place.log());
        log.go_by(LEARNT + 1);
        assert!((1..=3).all(|traces| !log.has(task(traces))));
        assert_eq!(log.read(task(1)).unwrap(), None);
        // Whoever performed this knew less, or more.
        keep(&log, 1);
        assert_eq!(std::fs::read(place.log()).unwrap(), whole);
        let more = |from: usize, into: &mut Vec<Vec<u64>>| {
            let all = lessons(3).iter().map(|lesson| lesson.to_vec()).chain([vec![9]]);
            into.extend(all.skip(from));
        };
        log.keep(task(1), &Kept::sample(9), LEARNT + 1, more).unwrap();
        drop(log);
        let log = opened(&place.log());
        assert_eq!(log.read(task(1)).unwrap(), Some(Kept::sample(1)));
        log.go_by(LEARNT + 1);
        assert_eq!(log.read(task(1)).unwrap(), Some(Kept::sample(9)));
        assert_eq!(taught(&log)[3..], [vec![9]]);
        let why = log.teach(|lesson| lesson != [9]).unwrap_err().to_string();
        assert!(why.contains("says that something was learnt which cannot be learnt"), "{why}");
    }

    /// Killed at whatever moment: the file is as long as it got.
    #[test]
    fn a_torn_record_is_cut_off_and_written_anew() {
        let place = Place::new("torn");
        let whole = place.filled();
        let mut counts = Vec::new();
        for len in 0..whole.len() {
            std::fs::write(place.log(), &whole[..len]).unwrap();
            let log = opened(&place.log());
            let had = count(&log);
            counts.push(had);
            for traces in had + 1..=3 {
                keep(&log, traces);
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
                        log.go_by(LEARNT);
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
