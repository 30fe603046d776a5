//! What once went wrong, so that it does not again: deadlocks, states that were lost, bounds that
//! were not looked at.

use allways::prelude::*;
use allways::{Bound, Error, Rename, Renaming};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::time::Duration;

fn global(search: Search, threads: usize) -> Options {
    Options { engine: Engine::Global, search, threads, ..Options::default() }
}

/// What `f` returns, or `None` if it does not return in time (its thread is left behind).
fn within<R: Send + 'static>(
    seconds: u64,
    f: impl FnOnce() -> R + Send + 'static,
) -> Option<std::thread::Result<R>> {
    let (tx, rx) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
        let _ = tx.send(result);
    });
    rx.recv_timeout(Duration::from_secs(seconds)).ok()
}

/// Counts its calls.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Counter(u32);
impl Node for Counter {
    type Msg = Never;
    type Timer = Never;
    type Call = ();
    type Output = Never;
    fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
        match msg {}
    }
    fn on_call(&mut self, (): (), _: &mut Cx<'_, Self>) {
        self.0 += 1;
    }
}
fn counters(nodes: usize, calls: usize) -> System<Counter> {
    (0..nodes).fold(System::new(vec![Counter(0); nodes]), |system, node| {
        system.calls_in_sequence(vec![(node, ()); calls])
    })
}

/// `Worker::leads_on` opens a session while `Depth::expand` holds one.
#[test]
fn dfs_at_the_depth_bound_does_not_deadlock() {
    for round in 0..5 {
        let done = within(120, || {
            counters(12, 7)
                .try_check(&Options { max_depth: Some(6), ..global(Search::Dfs, 2) })
                .unwrap()
        });
        let Some(outcome) = done else { panic!("round {round}: the search hangs") };
        assert_eq!(outcome.unwrap().bounded_by, Some(Bound::Depth));
    }
}

/// `Hash` may be coarser than `Eq`: that is its contract.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Coarse {
    kind: u8,
    value: u32,
}
impl Hash for Coarse {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.kind.hash(hasher);
    }
}
impl Node for Coarse {
    type Msg = Never;
    type Timer = Never;
    type Call = u32;
    type Output = Never;
    fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
        match msg {}
    }
    fn on_call(&mut self, call: u32, _: &mut Cx<'_, Self>) {
        self.value = self.value * 10 + call;
    }
}
#[test]
fn a_hash_that_is_coarser_than_eq_hides_nothing() {
    for only in ["not 12", "not 21"] {
        let bad = if only == "not 12" { 12 } else { 21 };
        let system = System::new([Coarse { kind: 0, value: 0 }]).call(0, 1).call(0, 2).always(
            "bad",
            view(|n: &Coarse| n.value),
            move |v| v[0] != bad,
        );
        assert_eq!(
            system.try_check(&global(Search::Classic, 1)).unwrap().verdict,
            Verdict::Violated
        );
        for search in [Search::Bfs, Search::Dfs] {
            match system.try_check(&global(search, 1)) {
                Err(error) => assert!(error.to_string().contains("same hash"), "{error}"),
                Ok(outcome) => {
                    assert_eq!(outcome.verdict, Verdict::Violated, "{search:?} {bad}: {outcome}")
                }
            }
        }
    }
}

/// User code outside handlers that panics.
#[derive(Clone, PartialEq, Eq, Debug)]
struct BadHash(u32);
impl Hash for BadHash {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        assert!(self.0 < 3, "hash of {}", self.0);
        self.0.hash(hasher);
    }
}
impl Node for BadHash {
    type Msg = Never;
    type Timer = Never;
    type Call = ();
    type Output = Never;
    fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
        match msg {}
    }
    fn on_call(&mut self, (): (), _: &mut Cx<'_, Self>) {
        self.0 += 1;
    }
}
#[test]
fn a_hash_that_panics_hangs_no_search() {
    for (search, threads) in
        [(Search::Bfs, 1), (Search::Bfs, 3), (Search::Dfs, 1), (Search::Dfs, 3)]
    {
        let done = within(10, move || {
            System::new([BadHash(0)])
                .calls_in_sequence(vec![(0, ()); 5])
                .try_check(&global(search, threads))
                .map(|o| o.verdict)
        });
        match done {
            None => panic!("{search:?}, {threads} threads: hangs"),
            Some(Err(_)) => panic!("{search:?}, {threads} threads: the checker panics"),
            Some(Ok(result)) => {
                assert!(matches!(result, Err(Error::Panicked { .. })), "{search:?}, {threads}");
            }
        }
    }
}

/// Lengths that are cut to sixteen bits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Flood(bool);
impl Node for Flood {
    type Msg = ();
    type Timer = u32;
    type Call = bool;
    type Output = Never;
    fn on_message(&mut self, _: Id, (): (), _: &mut Cx<'_, Self>) {
        self.0 = true;
    }
    fn on_timer(&mut self, _: u32, _: &mut Cx<'_, Self>) {
        self.0 = true;
    }
    fn on_call(&mut self, timers: bool, cx: &mut Cx<'_, Self>) {
        for n in 0..65_536 {
            if timers { cx.set_timer(n) } else { cx.send(0, ()) }
        }
    }
}
fn flood(timers: bool) {
    let system =
        System::new([Flood(false)]).call(0, timers).always("dry", view(|n: &Flood| n.0), |v| !v[0]);
    match system.try_check(&Options { max_depth: Some(2), ..global(Search::Bfs, 1) }) {
        Err(error) => assert!(error.to_string().contains("more than 60000"), "{error}"),
        Ok(outcome) => {
            outcome.assert_violated("dry");
        }
    }
}
#[test]
fn many_messages_of_one_step_are_all_sent() {
    flood(false);
}
#[test]
fn many_timers_may_all_fire() {
    flood(true);
}

/// Symmetry with a map by id.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Votes(BTreeMap<Id, u8>);
impl Rename for Votes {
    fn rename(&self, renaming: &Renaming) -> Self {
        Votes(self.0.rename(renaming))
    }
}
impl Node for Votes {
    type Msg = u8;
    type Timer = Never;
    type Call = u8;
    type Output = Never;
    fn on_message(&mut self, from: Id, msg: u8, _: &mut Cx<'_, Self>) {
        self.0.entry(from).or_insert(msg);
    }
    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        if self.0.insert(cx.id(), call).is_none() {
            cx.broadcast(call);
        }
    }
}
fn votes(nodes: usize) -> System<Votes> {
    let mut system = System::new(vec![Votes(BTreeMap::new()); nodes]);
    for node in 0..nodes {
        system = system.call(node, 1).call(node, 2);
    }
    system.interchangeable(0..nodes).always(
        "never two full views that hold 1 and 2",
        view(move |n: &Votes| {
            n.0.len() == nodes && n.0.values().any(|&v| v == 1) && n.0.values().any(|&v| v == 2)
        }),
        |views| views.iter().filter(|&&v| v).count() < 2,
    )
}
#[test]
fn symmetry_with_a_map_by_id_finds_the_violation() {
    for nodes in [3, 4] {
        let options = Options { max_states: Some(3_000_000), ..global(Search::Bfs, 1) };
        let plain = votes(nodes).try_check(&options).unwrap();
        let outcome = votes(nodes).try_check(&Options { symmetry: true, ..options });
        println!("{nodes}: plain {:?} {:?}", plain.verdict, plain.statistics.unique_states);
        let outcome = outcome.unwrap_or_else(|error| panic!("{nodes} nodes: {error}"));
        assert_eq!(outcome.verdict, plain.verdict);
    }
}

/// Symmetry with more ties than are broken.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Friend(Option<Id>);
impl Rename for Friend {
    fn rename(&self, renaming: &Renaming) -> Self {
        Friend(self.0.rename(renaming))
    }
}
impl Node for Friend {
    type Msg = ();
    type Timer = Never;
    type Call = Never;
    type Output = Never;
    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        cx.broadcast(());
    }
    fn on_restart(&mut self, _: &mut Cx<'_, Self>) {}
    fn on_message(&mut self, from: Id, (): (), _: &mut Cx<'_, Self>) {
        if self.0.is_none() {
            self.0 = Some(from);
        }
    }
}
#[test]
fn symmetry_with_many_ties_finds_the_violation() {
    let nodes = 7;
    let system = System::new(vec![Friend(None); nodes]).interchangeable(0..nodes).always(
        "no ring",
        view(|n: &Friend| n.0),
        |views| {
            let (mut at, mut count) = (0, 0);
            while let Some(next) = views[at] {
                at = next.index();
                count += 1;
                if at == 0 || count > views.len() {
                    break;
                }
            }
            !(at == 0 && count == views.len())
        },
    );
    let system2 = system.clone();
    let plain = system2.try_check(&global(Search::Bfs, 1)).unwrap();
    assert_eq!(plain.verdict, Verdict::Violated);
    let outcome = within(200, move || {
        system.try_check(&Options { symmetry: true, ..global(Search::Bfs, 2) })
    })
    .expect("slow")
    .unwrap();
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.verdict, Verdict::Violated);
}

/// Only neighbours are exchanged in the check of a step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Client {
    has: bool,
    odd: usize,
}
impl Rename for Client {
    fn rename(&self, _: &Renaming) -> Self {
        self.clone()
    }
}
impl Node for Client {
    type Msg = u8;
    type Timer = Never;
    type Call = Never;
    type Output = Never;
    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        if cx.id() != Id::new(3) {
            cx.send(3, 0);
        }
    }
    fn on_message(&mut self, from: Id, msg: u8, cx: &mut Cx<'_, Self>) {
        match msg {
            // The server gives its token to the first who asks.
            0 if !self.has => {
                self.has = true;
                cx.send(from, 1);
            }
            0 => {}
            1 => cx.send(cx.id(), 2),
            2 => {
                assert!(cx.id().index() != self.odd, "an odd client");
                self.has = true;
            }
            _ => {}
        }
    }
}
#[test]
fn nodes_that_are_not_interchangeable_are_noticed_wherever_they_are() {
    for odd in 0..3 {
        let system = System::new(vec![Client { has: false, odd }; 4]).interchangeable(0..3);
        assert_eq!(system.try_check(&global(Search::Bfs, 1)).unwrap().verdict, Verdict::Violated);
        match system.try_check(&Options { symmetry: true, ..global(Search::Bfs, 1) }) {
            Err(Error::NotInterchangeable { .. }) => {}
            Err(error) => panic!("{odd}: {error}"),
            Ok(outcome) => assert_eq!(outcome.verdict, Verdict::Violated, "odd {odd}: {outcome}"),
        }
    }
}

/// A long chain.
#[test]
fn a_long_chain_is_explored_to_its_end() {
    for search in [Search::Bfs, Search::Dfs] {
        let outcome = counters(1, 20_000).try_check(&global(search, 1)).unwrap();
        assert_eq!(outcome.statistics.unique_states, Some(20_001));
    }
}

/// Bounds are looked at only within a task.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Starts(usize, u32);
impl Node for Starts {
    type Msg = Never;
    type Timer = Never;
    type Call = ();
    type Output = Never;
    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.0 = cx.choose(1_000);
    }
    fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
        match msg {}
    }
    fn on_call(&mut self, (): (), _: &mut Cx<'_, Self>) {
        self.1 += 1;
    }
}
#[test]
fn dfs_looks_at_its_bounds_though_tasks_are_small() {
    let system = System::new([Starts(0, 0)]).calls_in_sequence(vec![(0, ()); 100]);
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    for search in [Search::Bfs, Search::Dfs] {
        let outcome =
            system.try_check(&Options { max_states: Some(2_000), ..global(search, 1) }).unwrap();
        assert_eq!(outcome.bounded_by, Some(Bound::States), "{search:?}: {outcome}");
        let outcome =
            system.try_check(&Options { stop: Some(stop.clone()), ..global(search, 1) }).unwrap();
        assert_eq!(outcome.bounded_by, Some(Bound::Interrupt), "{search:?}: {outcome}");
    }
}

/// The guard samples by the number of executions, which may always be odd.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Toss(u32, u64);
static TOSSES: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
impl Node for Toss {
    type Msg = Never;
    type Timer = Never;
    type Call = ();
    type Output = Never;
    fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
        match msg {}
    }
    fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        self.0 += 1;
        if self.0 > 1 {
            let _ = cx.choose(2);
        }
        if self.0 > 5_000 {
            self.1 = TOSSES.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 3;
        }
    }
}
#[test]
fn the_determinism_guard_goes_on_looking() {
    let system = System::new([Toss(0, 0)]).calls_in_sequence(vec![(0, ()); 8_000]);
    let result = system.try_check(&global(Search::Bfs, 1));
    assert!(
        matches!(result, Err(Error::NonDeterministic { .. })),
        "{:?}",
        result.map(|o| o.to_string())
    );
}

/// Auxiliary fields of messages.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Reader(u8);
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Traced(Aux<u8>);
impl Node for Reader {
    type Msg = Traced;
    type Timer = Never;
    type Call = u8;
    type Output = Never;
    fn on_message(&mut self, _: Id, msg: Traced, _: &mut Cx<'_, Self>) {
        self.0 = *msg.0;
    }
    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        cx.send(1, Traced(Aux::new(call)));
    }
}
#[test]
fn verify_aux_looks_at_messages_too() {
    let system = System::new([Reader(0), Reader(0)]).call(0, 1).call(0, 2).always(
        "never 2",
        view(|n: &Reader| n.0),
        |v| v[1] != 2,
    );
    let result = system.try_check(&Options { verify_aux: true, ..global(Search::Bfs, 1) });
    assert!(
        matches!(result, Err(Error::UnsoundAux { .. }))
            || result.unwrap().verdict == Verdict::Violated
    );
}

/// Generated symmetric systems, with and without symmetry.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sym {
    state: u8,
    friend: Option<Id>,
    seed: u64,
    set: std::collections::BTreeSet<Id>,
}
impl Rename for Sym {
    fn rename(&self, r: &Renaming) -> Self {
        Sym {
            state: self.state,
            friend: self.friend.rename(r),
            seed: self.seed,
            set: self.set.rename(r),
        }
    }
}
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
impl Sym {
    fn act(&mut self, what: u64, from: Id, hops: u8, cx: &mut Cx<'_, Self>) {
        let me = from == cx.id();
        let knows = u64::from(self.friend == Some(from))
            + 2 * u64::from(self.friend.is_some())
            + 4 * u64::from(self.set.contains(&from));
        let mut z = mix(self.seed
            ^ mix(what * 64 + u64::from(self.state) * 8 + knows)
            ^ (u64::from(me) << 40));
        let mut below = |n: u64| {
            z = mix(z);
            z % n
        };
        if below(3) > 0 {
            self.state = below(3) as u8;
        }
        match below(6) {
            0 => self.friend = Some(from),
            1 => self.friend = None,
            2 => {
                self.set.insert(from);
            }
            _ => {}
        }
        let kind = below(2) as u8;
        if hops > 0 {
            match below(5) {
                0 => cx.broadcast((kind, hops - 1)),
                1 => cx.send(from, (kind, hops - 1)),
                2 => {
                    if let Some(f) = self.friend {
                        cx.send(f, (kind, hops - 1))
                    }
                }
                _ => {}
            }
        }
        if below(6) == 0 {
            cx.set_timer(from);
        }
    }
}
impl Node for Sym {
    type Msg = (u8, u8);
    type Timer = Id;
    type Call = u8;
    type Output = Never;
    fn on_message(&mut self, from: Id, (kind, hops): (u8, u8), cx: &mut Cx<'_, Self>) {
        self.act(u64::from(kind), from, hops, cx);
    }
    fn on_timer(&mut self, timer: Id, cx: &mut Cx<'_, Self>) {
        self.act(7, timer, 1, cx);
    }
    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        self.act(8 + u64::from(call), cx.id(), 2, cx);
    }
}
#[test]
fn generated_symmetric_systems_give_the_same_verdict_with_and_without_symmetry() {
    let (mut compared, mut lost, mut wrong) = (0, Vec::new(), Vec::new());
    let cases = if cfg!(debug_assertions) { 250 } else { 2_000 };
    for seed in 0..cases {
        let nodes = 3 + (seed % 2) as usize;
        let node = Sym { state: 0, friend: None, seed: mix(seed), set: Default::default() };
        let network = match seed / 2 % 3 {
            0 => Network::unordered(),
            1 => Network::ordered(),
            _ => Network::duplicating(),
        };
        let bad = mix(seed) % 27;
        let mut system =
            System::new(vec![node; nodes]).network(network).timers(1).interchangeable(0..nodes);
        if seed % 5 == 0 {
            system = system.faults(Faults::none().crashes(1).restarts());
        }
        system = system.call(0, 0).call(1, (seed % 2) as u8);
        // Blind: counts of states.
        let recorded: std::sync::Arc<std::sync::Mutex<std::collections::BTreeSet<Vec<usize>>>> =
            Default::default();
        let record = recorded.clone();
        let system = system.always("counts", view(|n: &Sym| n.state), move |v| {
            let counts: Vec<usize> =
                (0..3).map(|s| v.iter().filter(|&&x| x == s).count()).collect();
            let code = counts[0] as u64 * 9 + counts[1] as u64 * 3 + counts[2] as u64;
            record.lock().unwrap().insert(counts);
            code % 27 != bad
        });
        let limit = Options { max_states: Some(20_000), ..global(Search::Bfs, 1) };
        let plain = system.try_check(&limit).unwrap();
        let seen = std::mem::take(&mut *recorded.lock().unwrap());
        if plain.verdict == Verdict::Inconclusive {
            continue;
        }
        compared += 1;
        for search in [Search::Bfs, Search::Dfs] {
            match system.try_check(&Options { symmetry: true, search, threads: 2, ..limit.clone() })
            {
                Err(error) => lost.push((
                    seed,
                    search,
                    error.to_string().chars().take(200).collect::<String>(),
                )),
                Ok(outcome) if outcome.verdict == Verdict::Inconclusive => {}
                Ok(outcome) => {
                    let met = std::mem::take(&mut *recorded.lock().unwrap());
                    if outcome.verdict != plain.verdict
                        || (plain.verdict == Verdict::Holds && met != seen)
                    {
                        wrong.push((seed, search, outcome.verdict, plain.verdict));
                    }
                }
            }
        }
    }
    assert!(compared > 100, "only {compared} were small enough");
    assert!(wrong.is_empty() && lost.is_empty(), "errors {lost:?}; wrong {wrong:?}");
}

/// A seed repeats its runs, whatever the number of threads.
#[test]
fn a_walk_has_the_same_witnesses_whatever_the_threads() {
    let outcome = |threads| {
        counters(4, 4)
            .always("not all", view(|n: &Counter| n.0), |v| v[0] < 4 || v.iter().any(|&n| n != 4))
            .sometimes("rare", view(|n: &Counter| n.0), |v| v[0] == 4 && v[1] == 0 && v[2] == 0)
            .try_check(&Options {
                engine: Engine::Walk,
                threads,
                runs: 100_000,
                seed: 3,
                ..Options::default()
            })
            .unwrap()
    };
    let first = outcome(1);
    for _ in 0..20 {
        let other = outcome(4);
        assert_eq!(other.violation, first.violation);
        assert_eq!(other.witnesses.len(), first.witnesses.len());
    }
}

/// Rebuilding where tags do not tell successors apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Wide {
    level: u8,
    choice: u16,
    wanted: bool,
}
impl Node for Wide {
    type Msg = Never;
    type Timer = Never;
    type Call = ();
    type Output = Never;
    fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
        match msg {}
    }
    fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        if self.level == 0 {
            self.wanted = cx.choose(2) == 1;
        }
        self.level += 1;
        self.choice = cx.choose(400) as u16;
    }
}
#[test]
fn a_run_is_rebuilt_though_tags_do_not_tell_successors_apart() {
    let system = System::new([Wide { level: 0, choice: 0, wanted: false }])
        .calls_in_sequence(vec![(0, ()); 5])
        .always("x", view(|n: &Wide| (n.level, n.wanted)), |v| v[0] != (5, true));
    let outcome = system.try_check(&global(Search::Bfs, 1)).unwrap();
    assert_eq!(outcome.assert_violated("x").run.events.len(), 5);
}
