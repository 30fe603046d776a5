//! Online checking: what can happen from where the running system is.
//!
//! Every few seconds a snapshot is taken and a check is started from it, with a budget of time: the
//! LMC paper's section 3.3, after CrystalBall. A check from the initial state of a large system ends in
//! shallow depths; the running system itself leads this one to where it is deep.
//!
//! Every snapshot is judged, too: a violation in a state that the system is in is *observed*, one that a
//! run from there leads to is *predicted*. A prediction is a run of the system that is checked, from the
//! snapshot: it was replayed before it is told, and can be saved and replayed at any time.
//!
//! A state that was explored in full is not explored again, whichever instance is in it. One that is
//! too large for its share of the budget is tried again only when there is nothing new.

use crate::coin::Coin;
use crate::deployable::Case;
use crate::{Circumstances, Controls, Deployable, Deployment, Error, Recorded};
use allways::{Engine, Options, Outcome};
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// So many states are remembered as explored.
const MAX_KNOWN: usize = 1 << 20;
/// A single check gets no more than this part of the budget.
const SHARE: u32 = 4;
/// How long a node that was killed stays down.
const DOWN: Duration = Duration::from_millis(50);
/// How often somebody looks whether it is over.
const GLANCE: Duration = Duration::from_millis(10);

/// How a running system is to be watched.
///
/// ```
/// use allways_live::OnlineOptions;
/// use std::time::Duration;
/// let options = OnlineOptions { every: Duration::from_secs(5), ..OnlineOptions::default() };
/// assert!(options.length.is_none());
/// ```
#[derive(Clone, Debug)]
pub struct OnlineOptions {
    /// From one snapshot to the next.
    pub every: Duration,
    /// How long a check from one snapshot may take.
    pub budget: Duration,
    /// How long to watch; without this, until somebody stops it.
    pub length: Option<Duration>,
    /// From one call of the driver to the next; zero for no calls.
    pub calls_every: Duration,
    /// From one kill of a node to the next; without this, none is killed.
    pub kill_every: Option<Duration>,
    /// Whether to end with the first violation.
    pub first: bool,
    /// What checks: each with one thread, since the system that runs needs the other cores. `Auto` is `lmc`, and where
    /// that comes to no end within half of its time, `global`.
    pub engine: Engine,
    /// What the driver does and who is killed depends on this.
    pub seed: u64,
    /// How the nodes speak with each other.
    pub circumstances: Circumstances,
    /// Set to true to end.
    pub stop: Arc<AtomicBool>,
}

impl Default for OnlineOptions {
    fn default() -> Self {
        OnlineOptions {
            every: Duration::from_secs(2),
            budget: Duration::from_secs(1),
            length: None,
            calls_every: Duration::from_millis(50),
            kill_every: None,
            first: false,
            engine: Engine::Auto,
            seed: 1,
            circumstances: Circumstances::default(),
            stop: Arc::default(),
        }
    }
}

/// What became of one snapshot.
///
/// ```
/// let round = allways_live::Round::default();
/// assert_eq!(round.unfinished, 0);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Round {
    /// The number of the snapshot, counted from one.
    pub number: u64,
    /// How many systems were checked from it.
    pub checked: usize,
    /// How many were not, since they had been explored in full before.
    pub known: usize,
    /// How many were explored in full, or to a violation.
    pub complete: usize,
    /// How many were not, since the budget ran out; some of them were not begun.
    pub unfinished: usize,
    /// How many states were explored: global ones, or local ones if the engine knows no others.
    pub states: u64,
    /// How many events the longest explored run has.
    pub depth: u64,
}

/// A violation that was predicted or observed.
///
/// ```no_run
/// # fn of(finding: allways_live::Finding) {
/// println!("instance {}: {}", finding.instance, finding.outcome);
/// # }
/// ```
pub struct Finding {
    /// The number of the snapshot.
    pub number: u64,
    /// The instance that is concerned.
    pub instance: u64,
    /// Where the run starts: for [`Deployable::continued`].
    pub snapshot: String,
    /// What the check found.
    pub outcome: Outcome,
}

/// What happens while a system is watched.
///
/// ```no_run
/// # fn of(news: allways_live::News) {
/// if let allways_live::News::Predicted(finding) = news {
///     println!("{}", finding.outcome);
/// }
/// # }
/// ```
pub enum News {
    /// A snapshot was taken and checked.
    Checked(Round),
    /// A snapshot was given up.
    GivenUp(Error),
    /// A run from a state that the system is in violates a property.
    Predicted(Finding),
    /// The system is in a state that violates a property.
    Observed(Finding),
    /// This node was killed, and started again.
    Restarted(usize),
}

/// All of it, in the end.
///
/// ```
/// assert_eq!(allways_live::Totals::default().predicted, 0);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Snapshots that were taken.
    pub snapshots: u64,
    /// Snapshots that were given up.
    pub given_up: u64,
    /// Checks that were made.
    pub checked: u64,
    /// Checks that came to their end.
    pub complete: u64,
    /// Checks that the budget ended, and those that it left no time for.
    pub unfinished: u64,
    /// States that were explored: global ones, or local ones if the engine knows no others.
    pub states: u64,
    /// How many events the longest explored run has.
    pub depth: u64,
    /// Violations that were predicted.
    pub predicted: u64,
    /// Violations that were observed.
    pub observed: u64,
    /// Nodes that were killed and started again.
    pub restarted: u64,
}

/// Watches a deployment: drives it, takes snapshots, checks from them, and tells what comes of it.
/// Nodes are killed only in a deployment that is given.
///
/// ```no_run
/// use allways_live::{Deployable, Deployment, News, OnlineOptions, online};
/// use std::sync::Arc;
/// # async fn of(system: Arc<dyn Deployable>, mut deployment: Deployment) -> Result<(), allways_live::Error> {
/// let controls = deployment.controls();
/// let options = OnlineOptions { first: true, ..OnlineOptions::default() };
/// let totals = online(system, controls, Some(&mut deployment), &options, &mut |news| {
///     if let News::Predicted(finding) = news {
///         println!("{}", finding.outcome);
///     }
/// })
/// .await?;
/// println!("{} snapshots", totals.snapshots);
/// deployment.stop().await;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// If the nodes are not those of the system, a check cannot be carried out, or a node of the deployment
/// ends by itself.
pub async fn online(
    system: Arc<dyn Deployable>,
    mut controls: Controls,
    deployment: Option<&mut Deployment>,
    options: &OnlineOptions,
    tell: &mut (dyn FnMut(News) + Send),
) -> Result<Totals, Error> {
    let first = match deployment {
        // A deployment that runs already may have decided much.
        None => system.next_instance(&controls.snapshot().await?)?,
        Some(_) => 0,
    };
    let driver = (!options.calls_every.is_zero()).then(|| {
        let (every, seed) = (options.calls_every, options.seed);
        tokio::spawn(drive(Arc::clone(&system), controls.again(), first, every, seed))
    });
    let mut watch = Watch {
        system,
        options,
        tell,
        end: None,
        known: HashSet::new(),
        tried: HashSet::new(),
        violated: BTreeSet::new(),
        totals: Totals::default(),
    };
    let result = watch.run(&mut controls, deployment).await;
    if let Some(driver) = driver {
        driver.abort();
    }
    result.map(|()| watch.totals)
}

/// Makes the driver's calls, for ever. A node that is down is called in vain.
async fn drive(
    system: Arc<dyn Deployable>,
    mut controls: Controls,
    first: u64,
    every: Duration,
    seed: u64,
) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for instance in first.. {
        let calls = system.calls(instance, seed);
        if calls.is_empty() {
            return;
        }
        for call in calls {
            ticks.tick().await;
            if let Err(error) = controls.drive(&call).await {
                tracing::debug!(%error, node = call.node, "the driver called in vain");
            }
        }
    }
}

struct Watch<'a> {
    system: Arc<dyn Deployable>,
    options: &'a OnlineOptions,
    tell: &'a mut (dyn FnMut(News) + Send),
    /// When to stop, if that was said.
    end: Option<Instant>,
    /// Digests of what was explored in full.
    known: HashSet<[u8; 32]>,
    /// Digests of what was explored in part.
    tried: HashSet<[u8; 32]>,
    /// The instances that a violation was found in.
    violated: BTreeSet<u64>,
    totals: Totals,
}

impl Watch<'_> {
    fn is_over(&self) -> bool {
        let found = self.totals.predicted + self.totals.observed > 0;
        let is_late = self.end.is_some_and(|end| Instant::now() >= end);
        is_late || self.options.stop.load(Relaxed) || (self.options.first && found)
    }

    async fn run(
        &mut self,
        controls: &mut Controls,
        mut deployment: Option<&mut Deployment>,
    ) -> Result<(), Error> {
        let start = Instant::now();
        self.end = self.options.length.map(|length| start + length);
        let (mut next, mut next_kill) = (start, self.options.kill_every.map(|every| start + every));
        let mut coin = Coin::new(self.options.seed);
        loop {
            next = (next + self.options.every).max(Instant::now());
            loop {
                if self.is_over() {
                    return Ok(());
                }
                if let (Some(deployment), Some(at)) = (&mut deployment, &mut next_kill)
                    && *at <= Instant::now()
                {
                    *at = Instant::now() + self.options.kill_every.unwrap_or_default();
                    let node = coin.below(self.system.nodes());
                    deployment.kill(node).await?;
                    tokio::time::sleep(DOWN).await;
                    deployment.restart(node).await?;
                    self.totals.restarted += 1;
                    (self.tell)(News::Restarted(node));
                }
                if Instant::now() >= next {
                    break;
                }
                tokio::time::sleep(GLANCE.min(self.options.every)).await;
            }
            match controls.snapshot().await {
                Ok(recorded) => self.round(&recorded).await?,
                Err(error) => {
                    if let Some(deployment) = &mut deployment {
                        deployment.all_run()?;
                    }
                    self.totals.given_up += 1;
                    (self.tell)(News::GivenUp(error));
                }
            }
        }
    }

    /// Checks from one snapshot.
    async fn round(&mut self, recorded: &Recorded) -> Result<(), Error> {
        self.totals.snapshots += 1;
        let mut round = Round { number: recorded.number, ..Round::default() };
        let deadline = Instant::now() + self.options.budget;
        let deadline = self.end.map_or(deadline, |end| end.min(deadline));
        let digest = |case: Case| (<[u8; 32]>::from(Sha256::digest(&case.snapshot)), case);
        let cases = self.system.cases(recorded, self.options.circumstances)?;
        let mut cases: Vec<_> = cases.into_iter().map(digest).collect();
        cases.sort_by_key(|(digest, _)| self.tried.contains(digest));
        for (digest, case) in cases {
            if self.is_over() {
                break;
            }
            if self.violated.contains(&case.instance) {
                continue;
            }
            if self.known.contains(&digest) {
                round.known += 1;
                continue;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                round.unfinished += 1;
                continue;
            }
            let (Case { instance, snapshot, .. }, outcome) =
                self.check(case, left.min(self.options.budget / SHARE)).await?;
            round.checked += 1;
            let statistics = &outcome.statistics;
            round.states += statistics.unique_states.or(statistics.local_states).unwrap_or(0);
            round.depth = round.depth.max(outcome.statistics.depth.unwrap_or(0));
            round.complete += usize::from(outcome.complete || outcome.violation.is_some());
            if let Some(violation) = &outcome.violation {
                self.violated.insert(instance);
                let observed = violation.run.events.is_empty();
                let finding = Finding { number: recorded.number, instance, snapshot, outcome };
                if observed {
                    self.totals.observed += 1;
                    (self.tell)(News::Observed(finding));
                } else {
                    self.totals.predicted += 1;
                    (self.tell)(News::Predicted(finding));
                }
                continue;
            }
            round.unfinished += usize::from(!outcome.complete);
            let met = if outcome.complete { &mut self.known } else { &mut self.tried };
            if met.len() >= MAX_KNOWN {
                met.clear();
            }
            met.insert(digest);
        }
        self.totals.checked += round.checked as u64;
        self.totals.complete += round.complete as u64;
        self.totals.unfinished += round.unfinished as u64;
        self.totals.states += round.states;
        self.totals.depth = self.totals.depth.max(round.depth);
        (self.tell)(News::Checked(round));
        Ok(())
    }

    /// The check of one case.
    async fn check(&self, case: Case, budget: Duration) -> Result<(Case, Outcome), Error> {
        if self.options.engine != Engine::Auto {
            return self.check_by(self.options.engine, case, budget).await;
        }
        let start = Instant::now();
        let (case, outcome) = self.check_by(Engine::Lmc, case, budget / 2).await?;
        let left = budget.saturating_sub(start.elapsed());
        if outcome.bounded_by.is_none() || outcome.violation.is_some() || left.is_zero() {
            return Ok((case, outcome));
        }
        // Local states that no run reaches may have no end, where the global ones are few.
        self.check_by(Engine::Global, case, left).await
    }

    async fn check_by(
        &self,
        engine: Engine,
        case: Case,
        budget: Duration,
    ) -> Result<(Case, Outcome), Error> {
        let options = Options {
            engine,
            threads: 1,
            max_time: Some(budget),
            stop: Some(Arc::clone(&self.options.stop)),
            ..Options::default()
        };
        let checked = tokio::task::spawn_blocking(move || {
            let outcome = case.system.check_with(&options);
            (case, outcome)
        });
        let (case, outcome) = checked.await.map_err(|error| Error::new(error.to_string()))?;
        let outcome = outcome.map_err(|error| Error::new(error.to_string()))?;
        Ok((case, outcome))
    }
}
