//! The process of a run: a group of its own, what it takes, and its end.
//!
//! *Groups.* A run may start processes of its own. They are in its group, and whenever the run ends, however it ends, all that is left of the
//! group is killed. The run itself is still there at that time, as a process that has ended but was not asked how: so its number cannot belong to
//! another group yet. Only who leaves the group on purpose (`setsid`) is left.
//!
//! *Time.* A run that hangs either computes or waits. One that waits for a processor does neither, and there is no telling how long that takes on a busy
//! machine. So every look at a run adds to its time: if one of its threads could run, what the run has had of the processors since the last look;
//! if none could, the time that has passed. If this process itself was late to look, the machine is busy or was asleep, and of such time no more is added
//! than twice what it wanted to wait. So time never runs faster for a run than the clock does, and stands still while others have the processors. Only
//! so that everything ends, whatever the machine does, a run may not take a hundred times its limit by the clock.

use std::collections::BTreeSet;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Groups that run now.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn running() -> MutexGuard<'static, BTreeSet<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Set when all runs are killed: how a run ended says nothing then.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Kills all runs that are under way, with all that they have started, for a process that ends at once. No run counts from then on.
pub fn end_all() {
    ENDING.store(true, Ordering::SeqCst);
    running().iter().for_each(|group| kill_group(*group));
}

/// Whether all runs are being killed.
pub(super) fn is_ending() -> bool {
    ENDING.load(Ordering::SeqCst)
}

fn kill_group(group: u32) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process_group};
        let group = i32::try_from(group).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            // There may be nobody left.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
    #[cfg(not(unix))]
    let _ = group;
}

/// A process that does not outlive whoever waits for it, and neither does its group.
pub(super) struct Leash(Child);

impl Leash {
    pub fn new(child: Child) -> Self {
        running().insert(child.id());
        Leash(child)
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> std::io::Result<Option<ExitStatus>> {
        #[cfg(unix)]
        {
            use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
            let id = i32::try_from(self.id()).ok().and_then(Pid::from_raw);
            let Some(id) = id else { return self.0.try_wait() };
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            match waitid(WaitId::Pid(id), options) {
                Ok(None) | Err(rustix::io::Errno::INTR) => return Ok(None),
                Ok(Some(_)) => self.end_group(),
                // Whatever is wrong, the next one says it.
                Err(_) => {}
            }
        }
        self.0.try_wait()
    }

    /// Ends all that it has started. Its number is its own as long as nobody has asked how it ended.
    fn end_group(&self) {
        let mut running = running();
        if running.remove(&self.id()) {
            kill_group(self.id());
        }
    }

    /// No more memory than that, for the process and for those that it starts from now on.
    pub fn limit_memory(&self, bytes: u64) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            use rustix::process::{Pid, Resource, Rlimit, prlimit};
            if let Some(id) = i32::try_from(self.id()).ok().and_then(Pid::from_raw) {
                // What may be written to, rather than all addresses: these may be kept free without needing memory. If it has ended
                // already, or is another user's, there is nothing to limit.
                let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
                let _ = prlimit(Some(id), Resource::Data, limit);
            }
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let _ = bytes;
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        self.end_group();
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a process is doing at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Doing {
    /// How much it has had of the processors by then.
    pub processors: Duration,
    /// Whether one of its threads could run, or waits for a disk.
    pub can_run: bool,
}

/// What a process is doing, where that can be known.
pub(super) fn doing(id: u32) -> Option<Doing> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // On Linux, a hundred ticks are a second for whoever reads this, whatever they are for the kernel.
    let ticks = |text: &str| text.parse::<u64>().ok();
    // The name, in brackets, may have anything in it.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let (user, system) = (ticks(fields.get(11)?)?, ticks(fields.get(12)?)?);
    let processors = Duration::from_millis(user.saturating_add(system).saturating_mul(10));
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).ok()?;
    let can_run = threads.flatten().any(|thread| {
        let text = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        matches!(state, Some('R' | 'D'))
    });
    Some(Doing { processors, can_run })
}

/// The time of a run, as it is said at the top.
#[derive(Debug)]
pub(super) struct Stopwatch {
    time: Duration,
    began: Instant,
    looked: Instant,
    processors: Duration,
}

impl Stopwatch {
    pub fn start() -> Self {
        let now = Instant::now();
        Stopwatch { time: Duration::ZERO, began: now, looked: now, processors: Duration::ZERO }
    }

    /// Adds what has passed since the last look. `wanted` is when this look should have been.
    pub fn look(&mut self, id: u32, wanted: Duration) -> Duration {
        let passed = self.looked.elapsed();
        self.looked += passed;
        self.add(passed, wanted, doing(id))
    }

    fn add(&mut self, passed: Duration, wanted: Duration, doing: Option<Doing>) -> Duration {
        let waited = passed.min(wanted.saturating_mul(2));
        self.time += match doing {
            Some(Doing { processors, can_run }) => {
                let had = processors.saturating_sub(self.processors);
                self.processors = processors;
                if can_run { had.min(passed) } else { waited }
            }
            None => waited,
        };
        self.time
    }

    /// Whether a run has taken longer than this.
    pub fn is_over(&self, limit: Duration) -> bool {
        self.time >= limit || self.began.elapsed() >= limit.saturating_mul(100)
    }
}

/// How many bytes of memory a process has had at most, and how many it has now; 0 where that cannot be known.
pub(super) fn memory(id: u32) -> (u64, u64) {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
        kibibytes.checked_mul(1024)
    };
    (bytes("VmPeak:").unwrap_or(0), bytes("VmRSS:").unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stands_still_while_others_have_the_processors() {
        let mut watch = Stopwatch::start();
        let second = Duration::from_secs(1);
        let mut add = |processors: u64, can_run| {
            let processors = Duration::from_millis(processors);
            watch.add(second, second, Some(Doing { processors, can_run })).as_millis()
        };
        // It could run and did not get to it, got a little, and then all of two processors.
        assert_eq!(add(0, true), 0);
        assert_eq!(add(10, true), 10);
        assert_eq!(add(2010, true), 1010);
        // It waits for what never comes.
        assert_eq!(add(2010, false), 2010);
        assert_eq!(add(2010, false), 3010);
        // It goes on, and had nothing yet.
        assert_eq!(add(2010, true), 3010);
        // Where nobody knows what it does, the clock counts.
        assert_eq!(watch.add(second, second, None).as_millis(), 4010);
    }

    #[test]
    fn who_is_late_to_look_adds_no_more_than_it_wanted_to_wait() {
        let mut watch = Stopwatch::start();
        let (late, wanted) = (Duration::from_secs(50), Duration::from_millis(20));
        let waits = Some(Doing { processors: Duration::ZERO, can_run: false });
        assert_eq!(watch.add(late, wanted, waits).as_millis(), 40);
        assert_eq!(watch.add(late, wanted, None).as_millis(), 80);
        // What it has had of the processors is known however late it is.
        let processors = Duration::from_secs(30);
        let computes = Some(Doing { processors, can_run: true });
        assert_eq!(watch.add(late, wanted, computes).as_millis(), 30_080);
    }

    #[test]
    fn everything_ends_some_time() {
        let mut watch = Stopwatch::start();
        let hour = Duration::from_secs(3600);
        assert!(!watch.is_over(hour));
        watch.time = hour;
        assert!(watch.is_over(hour) && !watch.is_over(2 * hour));
        watch.time = Duration::ZERO;
        // A clock that has not gone for so long yet cannot be set back.
        let Some(began) = watch.began.checked_sub(Duration::from_secs(101)) else { return };
        watch.began = began;
        assert!(watch.is_over(Duration::from_secs(1)) && !watch.is_over(Duration::from_secs(2)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_this_process_does_is_known() {
        let id = std::process::id();
        assert!(doing(id).unwrap().can_run);
        let (most, now) = memory(id);
        assert!(most >= now && now > 0);
        assert_eq!((doing(u32::MAX), memory(u32::MAX)), (None, (0, 0)));
    }
}
