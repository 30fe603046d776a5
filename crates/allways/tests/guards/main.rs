//! What user code may do wrong, and what the checker says then: a violation, or one clear error,
//! never a panic of its own and never a verdict that is not true.

use allways::prelude::*;
use allways::{Bound, Cause, Error, Rename, Renaming, RunEventKind, Violation};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

fn engines() -> Vec<(&'static str, Options)> {
    let global =
        |search, threads| Options { engine: Engine::Global, search, threads, ..Options::default() };
    let walk = |threads| Options {
        engine: Engine::Walk,
        threads,
        runs: 500,
        seed: 1,
        ..Options::default()
    };
    vec![
        ("bfs", global(Search::Bfs, 1)),
        ("bfs, 3 threads", global(Search::Bfs, 3)),
        ("bfs, exact", Options { exact: true, ..global(Search::Bfs, 1) }),
        ("dfs", global(Search::Dfs, 1)),
        ("dfs, 3 threads", global(Search::Dfs, 3)),
        ("classic", global(Search::Classic, 1)),
        ("walk", walk(1)),
        ("walk, 3 threads", walk(3)),
    ]
}

/// The error that every engine ends in.
#[track_caller]
fn errors<N: Node>(system: &System<N>) -> Vec<(&'static str, Error)> {
    let error = |(name, options)| match system.try_check(&options) {
        Err(error) => (name, error),
        Ok(outcome) => panic!("{name} finds nothing wrong\n{outcome}"),
    };
    engines().into_iter().map(error).collect()
}

/// The violation that every engine ends in.
#[track_caller]
fn violations<N: Node>(system: &System<N>) -> Vec<(&'static str, Violation)> {
    let violation = |(name, options): (&'static str, Options)| {
        let outcome = system.try_check(&options).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(outcome.verdict, Verdict::Violated, "{name}\n{outcome}");
        assert!(!outcome.complete, "{name}\n{outcome}");
        (name, outcome.violation.unwrap())
    };
    engines().into_iter().map(violation).collect()
}

/// Where a node misbehaves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Start,
    Call,
    Message,
    Timer,
    Crash,
    Restart,
}

const HANDLERS: [At; 5] = [At::Start, At::Call, At::Message, At::Timer, At::Restart];

/// How it misbehaves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Mischief {
    Panics,
    PanicsWithoutText,
    ChoosesForEver,
    ChoosesTooMuch,
    ChoosesAmongTooMany,
    ChoosesNothing,
    SendsToNobody,
    /// Ends in a state that it has never had.
    Tosses,
    /// Makes a choice every other time.
    TossesChoices,
}

/// Never the same twice.
static COIN: AtomicU32 = AtomicU32::new(0);
/// Used by one test only, so that every other time is every other time.
static CHOICES: AtomicU32 = AtomicU32::new(0);

/// Sets a timer and pings its peer when it is called.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Rascal {
    at: At,
    mischief: Mischief,
    coin: u32,
}

impl Rascal {
    fn here(&mut self, at: At, cx: &mut Cx<'_, Self>) {
        if at != self.at {
            return;
        }
        match self.mischief {
            Mischief::Panics => panic!("boom at {at:?}"),
            Mischief::PanicsWithoutText => std::panic::panic_any(7),
            Mischief::ChoosesForEver => while cx.choose(2) < 2 {},
            Mischief::ChoosesTooMuch => {
                for _ in 0..17 {
                    cx.choose(2);
                }
            }
            Mischief::ChoosesAmongTooMany => {
                cx.choose(100_001);
            }
            Mischief::ChoosesNothing => {
                cx.choose(0);
            }
            Mischief::SendsToNobody => cx.send(2, Ping),
            Mischief::Tosses => self.coin = 1 + COIN.fetch_add(1, Relaxed),
            Mischief::TossesChoices => {
                if CHOICES.fetch_add(1, Relaxed).is_multiple_of(2) {
                    cx.choose(1);
                }
            }
        }
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Ping;

impl Node for Rascal {
    type Msg = Ping;
    type Timer = Ping;
    type Call = Ping;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.here(At::Start, cx);
    }

    fn on_call(&mut self, Ping: Ping, cx: &mut Cx<'_, Self>) {
        cx.broadcast(Ping);
        cx.set_timer(Ping);
        self.here(At::Call, cx);
    }

    fn on_message(&mut self, _: Id, Ping: Ping, cx: &mut Cx<'_, Self>) {
        self.here(At::Message, cx);
    }

    fn on_timer(&mut self, Ping: Ping, cx: &mut Cx<'_, Self>) {
        self.here(At::Timer, cx);
    }

    fn persisted(&self) -> Option<Self> {
        assert!(self.at != At::Crash, "boom at {:?}", self.at);
        None
    }

    fn on_restart(&mut self, cx: &mut Cx<'_, Self>) {
        self.here(At::Restart, cx);
    }
}

fn rascals(at: At, mischief: Mischief) -> System<Rascal> {
    let system = System::new(vec![Rascal { at, mischief, coin: 0 }; 2]).call(0, Ping);
    match at {
        At::Crash | At::Restart => system.faults(Faults::none().crashes(1).restarts()),
        _ => system,
    }
}

/// Node and event of the step at which a rascal misbehaves.
fn step_of(at: At) -> (Option<RunEventKind>, usize) {
    match at {
        At::Start => (None, 0),
        At::Call => (Some(RunEventKind::Call), 1),
        At::Message => (Some(RunEventKind::Message), 2),
        At::Timer => (Some(RunEventKind::Timer), 2),
        At::Crash => (Some(RunEventKind::Crash), 1),
        At::Restart => (Some(RunEventKind::Restart), 2),
    }
}

mod panics;

mod choices;

mod determinism;

/// Remembers the calls that it has handled, and tells them to its peers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Set(BTreeSet<u8>);

impl Node for Set {
    type Msg = u8;
    type Timer = Never;
    type Call = u8;
    type Output = u8;

    fn on_message(&mut self, _: Id, msg: u8, _: &mut Cx<'_, Self>) {
        self.0.insert(msg);
    }

    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        self.0.insert(call);
        cx.broadcast(call);
        cx.output(call);
    }
}

impl Rename for Set {
    fn rename(&self, _: &Renaming) -> Self {
        self.clone()
    }
}

fn sets(nodes: usize) -> System<Set> {
    System::new(vec![Set::default(); nodes])
}

fn size() -> allways::View<Set, usize> {
    view(|set: &Set| set.0.len())
}

mod descriptions;

/// Counts outputs; panics where it is told to.
#[derive(Default)]
struct Outputs {
    panics_at: Option<&'static str>,
}

impl Outputs {
    fn here(&self, at: &str) {
        assert!(self.panics_at != Some(at), "boom at {at}");
    }
}

impl Observer<Set> for Outputs {
    type State = u64;

    fn start(&self) -> u64 {
        self.here("start");
        0
    }

    fn wants(&self, seen: &Seen<'_, Set>) -> bool {
        self.here("wants");
        matches!(seen, Seen::Output { .. })
    }

    fn observe(&self, state: &mut u64, _: Seen<'_, Set>) {
        self.here("observe");
        *state += 1;
    }
}

mod panics_of_what_watches;

mod symmetry;

mod auxiliary;

mod linearizability;

mod statistics;
