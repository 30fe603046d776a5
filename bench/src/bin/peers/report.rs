//! The tables that are printed: line by line as measured, then growth, then targets.

use crate::measure::Measurement;
use allways_bench::report::{at_least, at_most, machine, targets};

/// Both tools on the same search; Stateright may have been left out.
#[derive(Clone)]
pub struct Comparison {
    /// The protocol.
    pub protocol: &'static str,
    /// How many resource managers or clients.
    pub size: u64,
    /// `bfs` or `dfs`.
    pub search: &'static str,
    /// How many threads.
    pub threads: u64,
    /// What Stateright took.
    pub stateright: Option<Measurement>,
    /// What Allways took.
    pub allways: Measurement,
}

/// Everything measured so far.
pub struct Report {
    comparisons: Vec<Comparison>,
    limits: Vec<(&'static str, u64, Measurement)>,
}

/// A target is for searches at least this large: below, starting up is what is measured.
const LARGE: u64 = 1_000_000;

impl Report {
    /// Prints the environment and the head of the table.
    pub fn new() -> Self {
        println!("{}", machine());
        println!(
            "CPU and wall time in seconds; millions of generated states a second of wall time;"
        );
        println!("bytes a distinct state: peak memory less what the process had before it began\n");
        println!("{:48}{:^33} {:^33}", "", "Stateright 0.31", "Allways");
        println!(
            "{:<16} {:>4} {:>4} {:>7} {:>12}  {TOOL} {TOOL} {:>6} {:>6} {:>6}",
            "protocol",
            "size",
            "",
            "threads",
            "states",
            "cpu",
            "wall",
            "bytes",
            TOOL = format_args!("{:>8} {:>8} {:>7} {:>7}", "cpu", "wall", "M/s", "bytes"),
        );
        Report { comparisons: Vec::new(), limits: Vec::new() }
    }

    /// Adds a line.
    pub fn add(&mut self, comparison: Comparison) {
        let Comparison { protocol, size, search, threads, stateright, allways } = &comparison;
        let tool = |measured: &Measurement| {
            let Measurement { cpu, wall, .. } = measured;
            let (rate, bytes) = (measured.rate() / 1e6, measured.bytes_a_state());
            format!("{cpu:>8.3} {wall:>8.3} {rate:>7.2} {bytes:>7.0}")
        };
        let theirs = stateright.as_ref().map_or_else(|| format!("{:>33}", "left out"), tool);
        let ratios = stateright.as_ref().map_or_else(String::new, |theirs| {
            let cpu = theirs.cpu / allways.cpu;
            let wall = theirs.wall / allways.wall;
            let bytes = theirs.bytes_a_state() / allways.bytes_a_state();
            format!("{cpu:>5.1}x {wall:>5.1}x {bytes:>5.1}x")
        });
        println!(
            "{protocol:<16} {size:>4} {search:>4} {threads:>7} {:>12}  {theirs} {} {ratios}",
            allways.unique,
            tool(allways),
        );
        if let Some(theirs) = stateright.filter(|theirs| theirs.generated != allways.generated) {
            let (theirs, ours) = (theirs.generated, allways.generated);
            println!("  generated states differ: Stateright {theirs}, Allways {ours}");
        }
        self.comparisons.push(comparison);
    }

    /// Adds what inserting the fingerprints alone takes.
    pub fn add_limit(&mut self, protocol: &'static str, size: u64, limit: Measurement) {
        println!(
            "{protocol:<16} {size:>4} insert only    {:>12}  {:33} {:>8.3} {:>8.3} {:>7.2} {:>7.0}",
            limit.unique,
            "",
            limit.cpu,
            limit.wall,
            limit.rate() / 1e6,
            limit.bytes_a_state(),
        );
        self.limits.push((protocol, size, limit));
    }

    /// How many states a search of this size generates.
    pub fn generated(&self, protocol: &str, size: u64) -> u64 {
        let mut these = self.comparisons.iter().filter(|c| c.protocol == protocol);
        these.find(|c| c.size == size).map_or(0, |c| c.allways.generated)
    }

    fn get(&self, protocol: &str, size: u64, search: &str, threads: u64) -> Option<&Comparison> {
        self.comparisons.iter().find(|c| {
            (c.protocol, c.size, c.search, c.threads) == (protocol, size, search, threads)
        })
    }

    /// Prints how time grows, and which targets are met.
    pub fn finish(&self) {
        self.growth();
        targets();
        for c in self.comparisons.iter().filter(|c| c.allways.unique >= LARGE) {
            let name = format!("{} {} {}", c.protocol, c.size, c.search);
            if c.threads == 1 {
                self.targets(c, &name);
            } else if let Some(one) = self.get(c.protocol, c.size, c.search, 1) {
                let speedup = one.allways.wall / c.allways.wall;
                at_least(&format!("{name}: {} threads against one", c.threads), 1.7, speedup);
            }
        }
    }

    fn targets(&self, c: &Comparison, name: &str) {
        // Stateright's depth-first search is the faster one on two-phase commit.
        let (wanted, peer) = match (c.protocol, c.search) {
            ("paxos-register", "bfs") => (50.0, Some(c)),
            ("paxos-register", _) => (30.0, Some(c)),
            _ => (10.0, self.get(c.protocol, c.size, "dfs", 1)),
        };
        if let Some((peer, theirs)) = peer.and_then(|p| p.stateright.map(|m| (p.search, m))) {
            let ratio = theirs.cpu / c.allways.cpu;
            at_least(&format!("{name}: less CPU than Stateright's {peer}"), wanted, ratio);
        }
        let bytes = if c.search == "bfs" { 40.0 } else { 24.0 };
        at_most(&format!("{name}: bytes a state"), bytes, c.allways.bytes_a_state());
        let limit = self.limits.iter().find(|l| (l.0, l.1) == (c.protocol, c.size));
        if let Some((.., limit)) = limit {
            at_most(
                &format!("{name}: CPU against inserting alone"),
                4.0,
                c.allways.cpu / limit.cpu,
            );
        }
        if let Some(user) = c.allways.user {
            at_most(&format!("{name}: percent in user code"), 5.0, 100.0 * user / c.allways.cpu);
        }
    }

    fn growth(&self) {
        println!("\nCPU time from one size to the next, one thread, beside how states grow:");
        for pair in self.comparisons.iter().filter(|c| c.threads == 1) {
            let same = |c: &&Comparison| {
                (c.protocol, c.search, c.threads) == (pair.protocol, pair.search, 1)
            };
            let next = self.comparisons.iter().filter(same).find(|c| c.size > pair.size);
            let Some(next) = next else { continue };
            let theirs = match (&pair.stateright, &next.stateright) {
                (Some(a), Some(b)) => format!("{:>6.1}x", b.cpu / a.cpu),
                _ => format!("{:>7}", "-"),
            };
            println!(
                "{:<16} {} to {} {:>4}: states {:>6.1}x, Stateright {theirs}, Allways {:>6.1}x",
                pair.protocol,
                pair.size,
                next.size,
                pair.search,
                next.allways.unique as f64 / pair.allways.unique as f64,
                next.allways.cpu / pair.allways.cpu,
            );
        }
    }
}
