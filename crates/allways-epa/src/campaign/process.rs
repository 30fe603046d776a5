//! One run of an instrumented program, in a directory of its own and within limits.
//!
//! A run with a fault may do anything: it may never end, write without end, and ask for all memory. It is killed when it takes too long, or
//! when what it has written takes too much room; memory beyond a limit it does not get. The directory is removed with the [`Run`], so a campaign
//! never needs more room than that of the runs that are under way.

use super::child::{Leash, Stopwatch, is_ending, memory};
use super::limits::{Limits, Used};
use super::outcome::{Ended, Seen};
use allways_epa_format::{DIRECTORY, FAULT, Fault};
use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
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

/// A run that has ended. Its trace is there as long as this is.
#[derive(Debug)]
pub struct Run {
    directory: PathBuf,
    /// What it looked like from outside.
    pub seen: Seen,
    /// How long it took, by the clock.
    pub time: Duration,
    /// What it took, as far as limits count it.
    pub used: Used,
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

/// By how much the file of a thread is made longer ahead of what is written, at most.
const AHEAD: u64 = 2 << 20;

/// How many bytes the files in a directory take. They are made longer ahead of what is written, so where that can be known it is what
/// is on the disk that counts. Some disks say that much later, so a file that is long by more than that counts by its length.
fn size(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        #[cfg(unix)]
        Ok(metadata) => {
            use std::os::unix::fs::MetadataExt;
            metadata.blocks().saturating_mul(512).max(metadata.len().saturating_sub(AHEAD))
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
    let mut run = Run { directory, seen: nothing, time: Duration::ZERO, used: Used::default() };
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
        // A group of its own, with all that it starts. Ctrl-C is for the campaign: a run that it ended would look like a crash.
        use std::os::unix::process::CommandExt;
        command.process_group(0);
    }
    let begin = Instant::now();
    let child = command.spawn();
    let child =
        child.map_err(|error| format!("cannot run {}: {error}", target.executable.display()))?;
    let child = Leash::new(child);
    if let Some(bytes) = limits.memory {
        child.limit_memory(bytes);
    }
    let Some((ended, used)) = wait(child, &run.directory, limits, stop)? else { return Ok(None) };
    if is_ending() {
        return Ok(None);
    }
    run.time = begin.elapsed();
    run.used = Used { bytes: size(&run.directory), ..used };
    run.seen = Seen { ended, output: hash(&run.output())? };
    Ok(Some(run))
}

/// How long to wait before looking at what a run takes.
const LOOK: Duration = Duration::from_millis(20);

/// Waits for a process to end, or ends it.
fn wait(
    mut child: Leash,
    directory: &Path,
    limits: &Limits,
    stop: &AtomicBool,
) -> Result<Option<(Ended, Used)>, String> {
    let mut watch = Stopwatch::start();
    let mut used = Used::default();
    let mut looked = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        let status = child.ended().map_err(|error| format!("cannot wait for a run: {error}"))?;
        if let Some(status) = status {
            // Whoever ends so soon that nobody looked cannot have taken more than that.
            used.time += looked.elapsed().min(LOOK);
            return Ok(Some((ended(status), used)));
        }
        if stop.load(Relaxed) {
            return Ok(None);
        }
        // How much memory is needed has to be known of runs without a fault, also of short ones.
        let is_measured = limits.memory.is_none() && pause < LOOK / 2;
        let is_time = looked.elapsed() >= LOOK;
        if is_measured || is_time {
            let (most, now) = memory(child.id());
            used.memory = used.memory.max(most);
            if limits.memory.is_some_and(|limit| now > limit) {
                return Ok(Some((Ended::TookTooMuch, used)));
            }
        }
        if is_time {
            looked = Instant::now();
            used.time = watch.look(child.id(), LOOK);
            if watch.is_over(limits.time) {
                return Ok(Some((Ended::TimedOut, used)));
            }
            if size(directory) > limits.bytes {
                return Ok(Some((Ended::WroteTooMuch, used)));
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOK / 2);
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

    /// A process that is started by the run and would go on for long after it. It says its number, and is waited for at the end: that
    /// nobody is there any more is what is tested.
    fn is_gone(output: &Path) {
        let text = fs::read_to_string(output).unwrap();
        let id: u32 = text.trim().parse().unwrap();
        let state = || {
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
        };
        // Who was killed may not yet have been removed.
        while let Some(state) = state().filter(|state| *state != 'Z') {
            assert!(state != 'S' || !is_sleeping(id), "{id} was left behind");
        }
    }

    /// Whether a process is still the one that was started, and has not been told to end.
    fn is_sleeping(id: u32) -> bool {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let is_pending = |line: &str| {
            let pending = line.strip_prefix("SigPnd:").or(line.strip_prefix("ShdPnd:"));
            pending.is_some_and(|mask| mask.trim().contains(|digit| digit != '0'))
        };
        status.contains("sleep") && !status.lines().any(is_pending)
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn nobody_is_left_behind() {
        // It ends by itself, and leaves somebody.
        let run = shell("sleep 1000 & echo $!", &Limits::GOLDEN).unwrap();
        assert_eq!(run.seen.ended, Ended::Exited(0));
        is_gone(&run.output());
        // It is killed, with whom it waits for.
        let time = Duration::from_millis(100);
        let run = shell("sleep 1000 & echo $!; wait", &Limits { time, ..Limits::GOLDEN }).unwrap();
        assert_eq!(run.seen.ended, Ended::TimedOut);
        is_gone(&run.output());
    }

    #[test]
    fn whoever_computes_without_end_is_killed() {
        let time = Duration::from_millis(100);
        let run = shell("while :; do :; done", &Limits { time, ..Limits::GOLDEN }).unwrap();
        assert_eq!(run.seen.ended, Ended::TimedOut);
        assert!(run.used.time >= time);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_is_measured_and_limited() {
        let run = shell("sleep 0.1", &Limits::GOLDEN).unwrap();
        assert!(run.used.memory > 0);
        // The limit is there soon after the program begins. Should it never come, the run does not end.
        let limits = Limits { memory: Some(512 << 20), ..Limits::GOLDEN };
        let limits = Limits { time: Duration::from_secs(20), ..limits };
        let script = "while [ \"$(ulimit -d)\" = unlimited ]; do :; done; ulimit -d";
        let run = shell(script, &limits).unwrap();
        assert_eq!(run.seen.ended, Ended::Exited(0));
        assert_eq!(fs::read_to_string(run.output()).unwrap(), "524288\n");
        // What it had before the limit came, or has in ways that the limit does not count, counts as well. A shell that is not content with so
        // little says so and ends.
        let limits = Limits { memory: Some(1 << 20), ..limits };
        let run = shell("while :; do :; done", &limits).unwrap();
        assert!(!matches!(run.seen.ended, Ended::TimedOut | Ended::Exited(0)));
    }

    #[test]
    fn a_long_file_counts_even_if_the_disk_does_not_say_so_yet() {
        let directory = fresh(&std::env::temp_dir()).unwrap();
        File::create(directory.join("thread-0")).unwrap().set_len(100 << 20).unwrap();
        assert_eq!(size(&directory), 98 << 20);
        File::create(directory.join("thread-0")).unwrap().set_len(1 << 20).unwrap();
        assert_eq!(size(&directory), 0);
        fs::remove_dir_all(&directory).unwrap();
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
