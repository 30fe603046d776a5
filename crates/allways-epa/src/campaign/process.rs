//! One run of an instrumented program, in a directory of its own and within limits.
//!
//! A run with a fault may do anything: it may never end, and it may write without end. It is killed when it takes too long or
//! when what it has written takes too much room. The directory is removed with the [`Run`], so a campaign never needs more
//! room than that of the runs that are under way.

use super::outcome::{Ended, Seen};
use allways_epa_format::{DIRECTORY, FAULT, Fault};
use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A program to run: the executable that was instrumented, and its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The file.
    pub executable: PathBuf,
    /// What it is called with.
    pub arguments: Vec<OsString>,
}

/// What a run may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How long it may run.
    pub time: Duration,
    /// How many bytes its trace and its output may have.
    pub bytes: u64,
}

impl Limits {
    /// Without a fault nobody knows yet how much is needed: an hour, and 64 GiB.
    pub const GOLDEN: Limits = Limits { time: Duration::from_secs(3600), bytes: 64 << 30 };

    /// Ten times what the golden run took, and some more for those that take next to nothing.
    ///
    /// ```
    /// use allways_epa::campaign::Limits;
    /// use std::time::Duration;
    /// let limits = Limits::after(Duration::from_secs(2), 1000);
    /// assert_eq!(limits, Limits { time: Duration::from_secs(20), bytes: 10_000 + (64 << 20) });
    /// assert_eq!(Limits::after(Duration::ZERO, 0).time, Duration::from_secs(5));
    /// ```
    pub fn after(time: Duration, bytes: u64) -> Self {
        Limits {
            time: time.saturating_mul(10).max(Duration::from_secs(5)),
            bytes: bytes.saturating_mul(10).saturating_add(64 << 20),
        }
    }
}

/// A run that has ended. Its trace is there as long as this is.
#[derive(Debug)]
pub struct Run {
    directory: PathBuf,
    /// What it looked like from outside.
    pub seen: Seen,
    /// How long it took.
    pub time: Duration,
    /// How many bytes its trace and its output take on the disk.
    pub bytes: u64,
}

/// The standard output of a run, beside the directory of its trace.
const OUTPUT: &str = "output";
const TRACE: &str = "trace";

impl Run {
    /// The directory of its trace.
    pub fn trace(&self) -> PathBuf {
        self.directory.join(TRACE)
    }

    /// What it wrote to standard output.
    pub fn output(&self) -> PathBuf {
        self.directory.join(OUTPUT)
    }

    /// The end of what it wrote to standard error, in one line: what people are told when a run without a fault fails.
    pub fn complaint(&self) -> String {
        let bytes = fs::read(self.directory.join("errors")).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(2000)..]);
        text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_owned()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A directory that nobody else has.
fn fresh(under: &Path) -> Result<PathBuf, String> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Relaxed);
        let path = under.join(format!("allways-epa-{}-{number}", std::process::id()));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("cannot make {}: {error}", path.display())),
        }
    }
}

/// How many bytes the files in a directory take. They are made longer ahead of what is written, so where that can be known it is what
/// is on the disk that counts.
fn size(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        #[cfg(unix)]
        Ok(metadata) => {
            use std::os::unix::fs::MetadataExt;
            metadata.blocks().saturating_mul(512)
        }
        #[cfg(not(unix))]
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(of).sum()
}

/// A hash of a file.
fn hash(path: &Path) -> Result<u64, String> {
    let cannot = |error| format!("cannot read {}: {error}", path.display());
    let mut file = File::open(path).map_err(cannot)?;
    let mut hasher = rustc_hash::FxHasher::default();
    let mut block = vec![0; 1 << 16];
    let mut filled = 0;
    let mut length = 0_u64;
    loop {
        let count = file.read(&mut block[filled..]).map_err(cannot)?;
        filled += count;
        length += count as u64;
        // Only full blocks are hashed, as what is hashed must not depend on how much one read returns.
        if filled == block.len() || count == 0 {
            hasher.write(&block[..filled]);
            filled = 0;
        }
        if count == 0 {
            hasher.write_u64(length);
            return Ok(hasher.finish());
        }
    }
}

fn ended(status: ExitStatus) -> Ended {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            return Ended::Killed(signal);
        }
    }
    Ended::Exited(status.code().unwrap_or(-1))
}

/// A child that does not outlive whoever waits for it.
struct Leash(Child);

impl Drop for Leash {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a program once. `None` if it was stopped.
pub fn run(
    target: &Target,
    fault: Option<&Fault>,
    limits: &Limits,
    stop: &AtomicBool,
) -> Result<Option<Run>, String> {
    let directory = fresh(&std::env::temp_dir())?;
    // From here on the directory is removed, whatever happens.
    let nothing = Seen { ended: Ended::Exited(0), output: 0 };
    let mut run = Run { directory, seen: nothing, time: Duration::ZERO, bytes: 0 };
    let file = |name: &str| {
        let path = run.directory.join(name);
        File::create(&path).map_err(|error| format!("cannot write {}: {error}", path.display()))
    };
    fs::create_dir(run.trace())
        .map_err(|error| format!("cannot make {}: {error}", run.trace().display()))?;
    let mut command = Command::new(&target.executable);
    command.args(&target.arguments).env(DIRECTORY, run.trace()).env_remove(FAULT);
    command.stdin(Stdio::null()).stdout(file(OUTPUT)?).stderr(file("errors")?);
    if let Some(fault) = fault {
        command.env(FAULT, fault.to_string());
    }
    #[cfg(unix)]
    {
        // Ctrl-C is for the campaign: a run that it ended would look like a crash.
        use std::os::unix::process::CommandExt;
        command.process_group(0);
    }
    let begin = Instant::now();
    let child = command.spawn();
    let child =
        child.map_err(|error| format!("cannot run {}: {error}", target.executable.display()))?;
    let Some(ended) = wait(Leash(child), &run.directory, limits, stop)? else { return Ok(None) };
    run.time = begin.elapsed();
    run.bytes = size(&run.directory);
    run.seen = Seen { ended, output: hash(&run.output())? };
    Ok(Some(run))
}

/// Waits for a process to end, or ends it.
fn wait(
    mut child: Leash,
    directory: &Path,
    limits: &Limits,
    stop: &AtomicBool,
) -> Result<Option<Ended>, String> {
    let begin = Instant::now();
    let mut measured = begin;
    let mut pause = Duration::from_micros(200);
    loop {
        let status = child.0.try_wait();
        if let Some(status) = status.map_err(|error| format!("cannot wait for a run: {error}"))? {
            return Ok(Some(ended(status)));
        }
        if stop.load(Relaxed) {
            return Ok(None);
        }
        if begin.elapsed() >= limits.time {
            return Ok(Some(Ended::TimedOut));
        }
        if measured.elapsed() >= Duration::from_millis(20) {
            if size(directory) > limits.bytes {
                return Ok(Some(Ended::WroteTooMuch));
            }
            measured = Instant::now();
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, limits: &Limits) -> Option<Run> {
        let arguments = ["-c", script].map(OsString::from).into();
        let target = Target { executable: "/bin/sh".into(), arguments };
        let fault = "bitflip thread=T_0 site=1 occurrence=2 detail=3".parse().unwrap();
        run(&target, Some(&fault), limits, &AtomicBool::new(false)).unwrap()
    }

    #[test]
    fn a_run_is_told_its_fault_and_its_directory_and_leaves_nothing_behind() {
        let script = "echo \"$ALLWAYS_FAULT\"; echo trace > \"$ALLWAYS_TRACE/thread-0\"; exit 3";
        let run = shell(script, &Limits::GOLDEN).unwrap();
        assert_eq!(run.seen.ended, Ended::Exited(3));
        let printed = fs::read_to_string(run.output()).unwrap();
        assert_eq!(printed, "bitflip thread=T_0 site=1 occurrence=2 detail=3\n");
        let trace = run.trace();
        assert_eq!(fs::read_to_string(trace.join("thread-0")).unwrap(), "trace\n");
        drop(run);
        assert!(!trace.exists());
    }

    #[test]
    fn what_it_prints_and_how_it_ends_is_seen() {
        let seen = |script: &str| shell(script, &Limits::GOLDEN).unwrap().seen;
        assert_eq!(seen("echo one"), seen("printf 'one\\n'"));
        assert_ne!(seen("echo one").output, seen("echo two").output);
        assert_ne!(seen("printf ''").output, seen("printf '\\0'").output);
        assert_eq!(seen("kill -SEGV $$").ended, Ended::Killed(11));
        let run = shell("echo 'it is broken' >&2; echo; exit 1", &Limits::GOLDEN).unwrap();
        assert_eq!(run.complaint(), "it is broken");
    }

    #[test]
    fn whoever_does_not_end_or_writes_without_end_is_killed() {
        let time = Duration::from_millis(100);
        let run = shell("sleep 60", &Limits { time, ..Limits::GOLDEN }).unwrap();
        assert_eq!(run.seen.ended, Ended::TimedOut);
        // It ends by itself some time, should nobody kill it.
        let script = "i=0; while [ $i -lt 1000 ]; do i=$((i + 1)); sleep 0.01; \
            head -c 100000 /dev/zero >> \"$ALLWAYS_TRACE/thread-0\"; done";
        let run = shell(script, &Limits { bytes: 1 << 20, ..Limits::GOLDEN }).unwrap();
        assert_eq!(run.seen.ended, Ended::WroteTooMuch);
    }

    #[test]
    fn what_is_stopped_is_no_run() {
        let target = Target { executable: "/bin/sleep".into(), arguments: vec!["1000".into()] };
        let stopped = run(&target, None, &Limits::GOLDEN, &AtomicBool::new(true)).unwrap();
        assert!(stopped.is_none());
        let nowhere = Target { executable: "/nowhere/program".into(), arguments: Vec::new() };
        let error = run(&nowhere, None, &Limits::GOLDEN, &AtomicBool::new(false)).unwrap_err();
        assert!(error.starts_with("cannot run /nowhere/program: "), "{error}");
    }
}
