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

mod panics {
    use super::*;

    #[track_caller]
    fn is_violated(at: At, mischief: Mischief, message: &str) {
        let (kind, shortest) = step_of(at);
        for (name, violation) in violations(&rascals(at, mischief)) {
            assert_eq!(violation.cause, Cause::Panic, "{name}");
            let property = &violation.property;
            assert!(property.starts_with(message), "{name}: {property}");
            // It says where.
            assert!(property.contains(".rs:"), "{name}: {property}");
            let events = &violation.run.events;
            assert_eq!(events.last().map(|event| event.kind), kind, "{name}\n{violation}");
            assert!(events.len() >= shortest, "{name}\n{violation}");
            if name.starts_with("bfs") {
                assert_eq!(events.len(), shortest, "{name}\n{violation}");
            }
        }
    }

    #[test]
    fn of_handlers_are_violations_with_a_run() {
        for at in HANDLERS.into_iter().chain([At::Crash]) {
            is_violated(at, Mischief::Panics, &format!("boom at {at:?} at "));
        }
    }

    #[test]
    fn without_text_are_violations_too() {
        is_violated(At::Message, Mischief::PanicsWithoutText, "a value that is not text at ");
    }

    #[test]
    fn choosing_from_nothing_is_one() {
        let message = "choose(0): there is nothing to choose from at ";
        for at in HANDLERS {
            is_violated(at, Mischief::ChoosesNothing, message);
        }
    }

    #[test]
    fn sending_to_nobody_is_one() {
        let message = "to node 2, but the system has 2 nodes at ";
        for at in HANDLERS {
            for (name, violation) in violations(&rascals(at, Mischief::SendsToNobody)) {
                assert_eq!(violation.cause, Cause::Panic, "{name}");
                assert!(violation.property.contains(message), "{name}: {}", violation.property);
            }
        }
    }

    #[test]
    fn after_a_choice_are_found() {
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        struct Gambler;
        impl Node for Gambler {
            type Msg = Never;
            type Timer = Never;
            type Call = ();
            type Output = Never;
            fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
                match msg {}
            }
            fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
                assert!((cx.choose(2), cx.choose(3)) != (1, 2), "lost");
            }
        }
        for (name, violation) in violations(&System::new([Gambler]).call(0, ())) {
            assert_eq!(violation.run.events[0].choices, [1, 2], "{name}");
        }
    }
}

mod choices {
    use super::*;

    #[track_caller]
    fn are_too_many(mischief: Mischief, expected: &str) {
        for at in HANDLERS {
            for (name, error) in errors(&rascals(at, mischief)) {
                let Error::Choices { node, state, event, limit } = &error else {
                    panic!("{name}: {error}");
                };
                assert_eq!(limit, expected, "{name}");
                assert!(state.starts_with("Rascal {"), "{name}: {state}");
                match at {
                    At::Start => assert_eq!(*node, 0),
                    At::Call => assert_eq!((*node, &**event), (0, "call Ping")),
                    At::Message => assert_eq!((*node, &**event), (1, "message Ping from 0")),
                    At::Timer => assert_eq!((*node, &**event), (0, "timer Ping")),
                    _ => assert_eq!(event, "restart"),
                }
                assert!(error.to_string().contains(&format!("node {node} ")), "{error}");
            }
        }
    }

    #[test]
    fn without_end() {
        are_too_many(Mischief::ChoosesForEver, "it chose 1000 times");
    }

    #[test]
    fn with_too_many_results() {
        are_too_many(Mischief::ChoosesAmongTooMany, "its choices have more than 100000 results");
        let error = rascals(At::Call, Mischief::ChoosesTooMuch).try_check(&Options::default());
        assert!(matches!(error, Err(Error::Choices { .. })));
    }
}

mod determinism {
    use super::*;

    /// Engines that execute steps twice: the classic search executes them every time anyway.
    fn guarded(system: &System<Rascal>) -> Vec<(&'static str, Result<Outcome, Error>)> {
        let engines = engines().into_iter().filter(|(name, _)| *name != "classic");
        engines.map(|(name, options)| (name, system.try_check(&options))).collect()
    }

    #[track_caller]
    fn is_missed_by_none(at: At, mischief: Mischief) {
        for (name, result) in guarded(&rascals(at, mischief)) {
            let error = result.map(|outcome| outcome.to_string()).unwrap_err();
            let Error::NonDeterministic { node, state, event, difference } = &error else {
                panic!("{name}: {error}");
            };
            assert!(state.starts_with("Rascal {"), "{name}: {state}");
            match at {
                At::Call => assert_eq!((*node, &**event), (0, "call Ping"), "{name}"),
                At::Message => assert_eq!((*node, &**event), (1, "message Ping from 0"), "{name}"),
                At::Timer => assert_eq!((*node, &**event), (0, "timer Ping"), "{name}"),
                _ => assert_eq!(event, "restart", "{name}"),
            }
            assert!(difference.contains("the second time"), "{name}: {difference}");
            let sentence = format!("the handler of node {node} is not deterministic: on {event} ");
            assert!(error.to_string().starts_with(&sentence), "{name}: {error}");
        }
    }

    #[test]
    fn a_handler_that_differs_is_named_with_its_state_and_event() {
        for at in [At::Call, At::Message, At::Timer, At::Restart] {
            is_missed_by_none(at, Mischief::Tosses);
        }
    }

    #[test]
    fn a_handler_that_offers_other_choices_is_too() {
        is_missed_by_none(At::Call, Mischief::TossesChoices);
        is_missed_by_none(At::Message, Mischief::TossesChoices);
    }

    #[test]
    fn a_start_that_differs_is_named() {
        for (name, result) in guarded(&rascals(At::Start, Mischief::Tosses)) {
            assert!(matches!(result, Err(Error::NonDeterministic { .. })), "{name}: {result:?}");
        }
    }

    /// The replay of the run starts anew, in a state that the search has never seen.
    #[test]
    fn a_start_that_differs_is_no_internal_error() {
        for (name, options) in engines() {
            let before = COIN.load(Relaxed);
            let later = move |coins: &[u32]| coins[0] > before + 1;
            let system = rascals(At::Start, Mischief::Tosses);
            let system = system.always("later", view(|n: &Rascal| n.coin), later);
            let result = system.try_check(&options);
            assert!(!matches!(result, Err(Error::Internal(_))), "{name}: {result:?}");
        }
    }

    #[test]
    fn the_guard_can_be_turned_off() {
        let options = Options { determinism_guard: false, threads: 1, ..Options::default() };
        let outcome = rascals(At::Call, Mischief::Tosses).try_check(&options).unwrap();
        assert_eq!(outcome.statistics.guard_executions, Some(0));
        let options = Options { determinism_guard: true, ..options };
        let outcome = rascals(At::Crash, Mischief::Tosses).faults(Faults::none());
        let outcome = outcome.try_check(&options).unwrap();
        assert!(outcome.statistics.guard_executions.unwrap() > 0);
    }
}

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

mod descriptions {
    use super::*;

    #[track_caller]
    fn is_wrong<N: Node>(system: &System<N>, sentence: &str) {
        for (name, error) in errors(system) {
            assert_eq!(error, Error::System(sentence.to_owned()), "{name}");
            assert_eq!(error.to_string(), sentence, "{name}");
        }
    }

    #[test]
    fn no_nodes() {
        is_wrong(&sets(0), "the system has no nodes; give System::new at least one");
    }

    #[test]
    fn too_many_nodes() {
        is_wrong(&sets(1_001), "the system has 1001 nodes; at most 1000 are supported");
    }

    #[test]
    fn a_call_to_nobody() {
        let sentence = "the driver calls node 2, but the system has 2 nodes";
        is_wrong(&sets(2).call(2, 1), sentence);
        is_wrong(&sets(2).calls_in_sequence([(0, 1), (2, 1)]), sentence);
    }

    #[test]
    fn two_properties_of_one_name() {
        let system = sets(1).always("p", size(), |_| true).sometimes("p", size(), |_| true);
        is_wrong(&system, "two properties are called `p`");
    }

    #[test]
    fn a_property_of_an_observer_that_is_not_there() {
        let sentence = "property `p` reads an observer with state u64, but no such observer was given before it";
        is_wrong(&sets(1).always_observed("p", |_: &u64| true), sentence);
        is_wrong(&sets(1).sometimes_observed("p", |_: &u64| true), sentence);
        // Too late.
        let system = sets(1).always_observed("p", |_: &u64| true).observe(Outputs::default());
        is_wrong(&system, sentence);
    }

    #[test]
    fn partitions_that_make_no_sense() {
        let parted = |groups: [Vec<usize>; 2]| sets(2).faults(Faults::none().partition(groups));
        let sentence = "a partition names node 2, but the system has 2 nodes";
        is_wrong(&parted([vec![0], vec![1, 2]]), sentence);
        is_wrong(&parted([vec![0], vec![1, 0]]), "a partition names node 0 twice");
    }

    #[test]
    fn interchangeable_nodes_that_make_no_sense() {
        let sentence = "node 2 is declared interchangeable, but the system has 2 nodes";
        is_wrong(&sets(2).interchangeable([1, 2]), sentence);
        let system = sets(3).interchangeable([0, 1]).interchangeable([1, 2]);
        is_wrong(&system, "a node is declared interchangeable twice");
    }

    #[test]
    fn the_first_mistake_is_reported() {
        let system = sets(1).call(1, 1).call(2, 1);
        is_wrong(&system, "the driver calls node 1, but the system has 1 nodes");
    }
}

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

mod panics_of_what_watches {
    use super::*;

    #[track_caller]
    fn is_named(system: &System<Set>, what: &str, says: &str) {
        for (name, error) in errors(system) {
            let Error::Panicked { what: who, message } = &error else { panic!("{name}: {error}") };
            assert!(who.contains(what), "{name}: {who}");
            assert!(message.starts_with(says), "{name}: {message}");
            assert!(error.to_string().contains(" panicked: boom"), "{name}: {error}");
        }
    }

    #[test]
    fn a_view() {
        let boom = view(|set: &Set| {
            assert!(set.0.is_empty(), "boom in the view");
            0
        });
        let system = sets(2).call(0, 1).always("watched", boom.clone(), |_| true);
        is_named(&system, "`watched`", "boom in the view");
        let system = sets(2).call(0, 1).never_stuck("watched", boom, |_| true);
        is_named(&system, "`watched`", "boom in the view");
    }

    #[test]
    fn a_predicate() {
        let boom = |sizes: &[usize]| {
            assert!(sizes != [1, 1], "boom in the predicate");
            true
        };
        let system = sets(2).call(0, 1).always("watched", size(), boom);
        is_named(&system, "`watched`", "boom in the predicate");
        let system = sets(2).call(0, 1).never_stuck("watched", size(), boom);
        is_named(&system, "`watched`", "boom in the predicate");
        let system = sets(2)
            .call(0, 1)
            .sometimes("watched", size(), |sizes| {
                assert!(sizes != [1, 1], "boom in the predicate");
                false
            })
            .always("fine", size(), |_| true);
        is_named(&system, "`watched`", "boom in the predicate");
    }

    #[test]
    fn an_observer() {
        for at in ["start", "wants", "observe"] {
            let outputs = Outputs { panics_at: Some(at) };
            let system = sets(2).call(0, 1).observe(outputs);
            is_named(&system, "an observer", &format!("boom at {at}"));
        }
    }

    #[test]
    fn a_predicate_on_an_observer() {
        let system = sets(2).call(0, 1).observe(Outputs::default());
        let system = system.always_observed("watched", |n: &u64| {
            assert!(*n == 0, "boom in the predicate");
            true
        });
        is_named(&system, "`watched`", "boom in the predicate");
    }
}

mod symmetry {
    use super::*;

    fn symmetric(search: Search) -> Options {
        Options { symmetry: true, search, ..Options::default() }
    }

    const SEARCHES: [Search; 2] = [Search::Bfs, Search::Dfs];

    #[track_caller]
    fn is_refused(system: &System<Set>, options: &Options, why: &str) {
        match system.try_check(options) {
            Err(Error::Options(sentence)) => assert!(sentence.contains(why), "{sentence}"),
            other => panic!("{other:?}"),
        }
    }

    /// Knows its own number.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Proud(usize);

    impl Node for Proud {
        type Msg = ();
        type Timer = Never;
        type Call = ();
        type Output = Never;

        fn on_message(&mut self, _: Id, (): (), _: &mut Cx<'_, Self>) {}

        fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
            self.0 = cx.id().index();
        }
    }

    impl Rename for Proud {
        fn rename(&self, _: &Renaming) -> Self {
            self.clone()
        }
    }

    #[test]
    fn of_nodes_that_are_not_interchangeable() {
        for search in SEARCHES {
            let system = System::new(vec![Proud(9); 3]).call(1, ()).interchangeable([0, 1, 2]);
            let Err(Error::NotInterchangeable { node, state, event }) =
                system.try_check(&symmetric(search))
            else {
                panic!("{search:?} finds nothing wrong");
            };
            assert_eq!((&*state, &*event), ("Proud(9)", "call ()"));
            // Whichever node stands for the one that was called.
            assert!(node < 3);
            // Without symmetry nothing is wrong.
            let options = Options { search, ..Options::default() };
            system.try_check(&options).unwrap().assert_holds();
        }
    }

    #[test]
    fn with_a_property_that_tells_nodes_apart() {
        for search in SEARCHES {
            let system = sets(3).call(1, 1).call(2, 1).interchangeable([1, 2]);
            let system = system.always("the second first", size(), |sizes| sizes[1] >= sizes[2]);
            let error = system.try_check(&symmetric(search)).map(|outcome| outcome.to_string());
            let sentence = "a property tells nodes apart that are declared interchangeable";
            assert_eq!(error, Err(Error::System(sentence.to_owned())), "{search:?}");
        }
    }

    #[test]
    fn saves_states_and_changes_no_verdict() {
        let system = (1..5).fold(sets(5), |system, node| system.call(node, 1));
        let system = system
            .interchangeable(1..5)
            .always("one value", size(), |sizes| sizes.iter().all(|&size| size <= 1))
            .sometimes("everywhere", size(), |sizes| sizes.iter().all(|&size| size == 1));
        for search in SEARCHES {
            let all = system.try_check(&Options { search, ..Options::default() }).unwrap();
            let few = system.try_check(&symmetric(search)).unwrap();
            assert_eq!((few.verdict, few.complete), (all.verdict, all.complete));
            assert_eq!(few.witnesses.len(), 1);
            let states = |outcome: &Outcome| outcome.statistics.unique_states.unwrap();
            assert!(4 * states(&few) < states(&all), "{} {}", states(&few), states(&all));
        }
    }

    #[test]
    fn is_refused_where_it_would_not_be_sound() {
        let system = || sets(2).call(0, 1).interchangeable([0, 1]);
        for search in SEARCHES {
            let options = symmetric(search);
            system().try_check(&options).unwrap().assert_holds();
            is_refused(&sets(2), &options, "declares no nodes interchangeable");
            is_refused(&system().observe(Outputs::default()), &options, "observers");
            let parted = system().faults(Faults::none().partition([vec![0], vec![1]]));
            is_refused(&parted, &options, "partitions");
            let scripted = system().calls_in_sequence([(0, 1), (1, 1)]);
            is_refused(&scripted, &options, "calls in sequence");
        }
        is_refused(&system(), &symmetric(Search::Classic), "classic");
        let walk = Options { engine: Engine::Walk, ..symmetric(Search::Bfs) };
        is_refused(&system(), &walk, "walk");
        let walk = Options { engine: Engine::Walk, exact: true, ..Options::default() };
        is_refused(&system(), &walk, "walk");
    }
}

mod auxiliary {
    use super::*;

    /// A set with the order in which its elements came, which is nobody's business.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Logged {
        set: BTreeSet<u8>,
        log: Aux<Vec<u8>>,
        indiscreet: bool,
    }

    /// The call that makes an indiscreet node tell what came first.
    const TELL: u8 = 9;

    impl Node for Logged {
        type Msg = u8;
        type Timer = Never;
        type Call = u8;
        type Output = Never;

        fn on_message(&mut self, _: Id, msg: u8, _: &mut Cx<'_, Self>) {
            self.set.insert(msg);
            self.log.push(msg);
        }

        fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
            match self.log.first() {
                Some(&first) if call == TELL && self.indiscreet => cx.broadcast(first),
                _ if call == TELL => cx.broadcast(TELL),
                _ => {
                    self.set.insert(call);
                    self.log.push(call);
                }
            }
        }
    }

    fn logged(log: Aux<Vec<u8>>, indiscreet: bool) -> System<Logged> {
        let node = Logged { set: BTreeSet::new(), log, indiscreet };
        System::new(vec![node; 2]).call(0, 1).call(0, 2).call(0, TELL)
    }

    fn free() -> Aux<Vec<u8>> {
        Aux::new(Vec::new())
    }

    fn verifying() -> Vec<(&'static str, Options)> {
        let engines = engines().into_iter().filter(|(name, _)| *name != "classic");
        engines.map(|(name, options)| (name, Options { verify_aux: true, ..options })).collect()
    }

    #[test]
    fn state_that_matters_to_nobody_passes() {
        let set = view(|n: &Logged| n.set.clone());
        let system = logged(free(), false).always("small", set, |sets| sets[0].len() <= 2);
        for (name, options) in verifying() {
            let outcome = system.try_check(&options).unwrap();
            assert_ne!(outcome.verdict, Verdict::Violated, "{name}");
        }
    }

    #[test]
    fn a_handler_that_reads_it_is_reported() {
        for (name, options) in verifying() {
            let error = logged(free(), true).try_check(&options).unwrap_err();
            let Error::UnsoundAux { node, states, step, results } = &error else {
                panic!("{name}: {error}");
            };
            assert_eq!((*node, &**step), (0, "call 9"), "{name}");
            let mut logs: Vec<bool> = states.iter().map(|s| s.contains("Aux([1, 2])")).collect();
            logs.sort_unstable();
            assert_eq!(logs, [false, true], "{name}: {states:?}");
            assert!(states.iter().any(|s| s.contains("Aux([2, 1])")), "{name}: {states:?}");
            let mut sends: Vec<bool> =
                results.iter().map(|r| r.contains("sends [(1, 1)]")).collect();
            sends.sort_unstable();
            assert_eq!(sends, [false, true], "{name}: {results:?}");
            assert!(error.to_string().contains("an auxiliary field of node 0 matters: on call 9"));
        }
    }

    #[test]
    fn a_view_that_reads_it_is_reported() {
        let first = view(|n: &Logged| n.log.first().copied());
        let system = logged(free(), false).always("first", first, |_| true);
        for (name, options) in verifying() {
            let error = system.try_check(&options).unwrap_err();
            let Error::UnsoundAux { node, states, step, results } = &error else {
                panic!("{name}: {error}");
            };
            assert_eq!((*node, &**step), (0, "reading the view of `first`"), "{name}");
            assert_ne!(states[0], states[1], "{name}");
            let results: BTreeSet<&str> = results.iter().map(String::as_str).collect();
            assert_eq!(results, BTreeSet::from(["Some(1)", "Some(2)"]), "{name}");
        }
    }

    #[test]
    fn without_verification_nobody_notices() {
        for (name, options) in engines() {
            let outcome = logged(free(), true).try_check(&options).unwrap();
            assert_ne!(outcome.verdict, Verdict::Violated, "{name}");
        }
    }

    #[test]
    fn the_classic_search_verifies_or_refuses() {
        let options = Options { search: Search::Classic, verify_aux: true, ..Options::default() };
        assert!(logged(free(), true).try_check(&options).is_err());
    }

    #[test]
    fn counted_state_tells_states_apart_and_is_sound() {
        let states = |log: Aux<Vec<u8>>, options: &Options| {
            let outcome = logged(log, true).try_check(options).unwrap();
            outcome.assert_holds();
            outcome.statistics.unique_states.unwrap()
        };
        for search in [Search::Bfs, Search::Dfs, Search::Classic] {
            let options = Options { search, ..Options::default() };
            let counted = states(Aux::counted(Vec::new()), &options);
            assert!(counted > states(free(), &options), "{search:?}");
            let verified = Options { verify_aux: search != Search::Classic, ..options };
            assert_eq!(states(Aux::counted(Vec::new()), &verified), counted, "{search:?}");
        }
    }
}

mod linearizability {
    use super::*;
    use allways::linear::{
        History, Linear, Map, MapOp, Operation, Queue, QueueOp, Register, RegisterOp, RegisterRet,
        Sequential,
    };

    /// A register on two nodes: writes go to the first, reads to the second.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Replica {
        value: u8,
        /// Whether a write returns only when the other node has it.
        waits: bool,
    }

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    enum Sync {
        Store(u8),
        Stored,
    }

    impl Node for Replica {
        type Msg = Sync;
        type Timer = Never;
        type Call = RegisterOp<u8>;
        type Output = RegisterRet<u8>;

        fn on_call(&mut self, call: RegisterOp<u8>, cx: &mut Cx<'_, Self>) {
            match call {
                RegisterOp::Read => cx.output(RegisterRet::Read(self.value)),
                RegisterOp::Write(value) => {
                    self.value = value;
                    cx.broadcast(Sync::Store(value));
                    if !self.waits {
                        cx.output(RegisterRet::Written);
                    }
                }
            }
        }

        fn on_message(&mut self, from: Id, msg: Sync, cx: &mut Cx<'_, Self>) {
            match msg {
                Sync::Store(value) => {
                    self.value = value;
                    cx.send(from, Sync::Stored);
                }
                Sync::Stored if self.waits => cx.output(RegisterRet::Written),
                Sync::Stored => {}
            }
        }
    }

    /// Calls are operations, outputs are returns, and each node is one client.
    fn operation<N: Node, S: Sequential<Op = N::Call, Ret = N::Output>>(
        seen: &Seen<'_, N>,
    ) -> Option<(Id, Operation<S>)> {
        match seen {
            Seen::Call { node, call } => Some((*node, Operation::Invoke((*call).clone()))),
            Seen::Output { node, output } => Some((*node, Operation::Return((*output).clone()))),
            _ => None,
        }
    }

    fn replicas(waits: bool) -> System<Replica> {
        System::new(vec![Replica { value: 0, waits }; 2])
            .call(0, RegisterOp::Write(1))
            .call(1, RegisterOp::Read)
            .observe(Linear::new(Register(0), operation::<Replica, Register<u8>>))
            .always_observed("linearizable", |h: &History<Register<u8>>| h.is_linearizable())
    }

    #[test]
    fn a_read_after_a_write_that_is_not_everywhere_is_stale() {
        for (name, violation) in violations(&replicas(false)) {
            assert_eq!(violation.property, "linearizable", "{name}");
            if name.starts_with("bfs") {
                let run: Vec<_> = violation.run.events.iter().map(ToString::to_string).collect();
                assert_eq!(run, ["node 0 is called: Write(1)", "node 1 is called: Read"]);
            }
        }
        for (name, options) in engines() {
            let outcome = replicas(true).try_check(&options).unwrap();
            assert_ne!(outcome.verdict, Verdict::Violated, "{name}");
            assert_eq!(outcome.complete, !name.starts_with("walk"), "{name}");
        }
    }

    /// A queue that may be a stack instead.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Shelf {
        items: Vec<u8>,
        last_first: bool,
    }

    impl Node for Shelf {
        type Msg = Never;
        type Timer = Never;
        type Call = QueueOp<u8>;
        type Output = Option<u8>;

        fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
            match msg {}
        }

        fn on_call(&mut self, call: QueueOp<u8>, cx: &mut Cx<'_, Self>) {
            let output = match call {
                QueueOp::Push(item) => {
                    self.items.push(item);
                    None
                }
                QueueOp::Pop if self.last_first => self.items.pop(),
                QueueOp::Pop if self.items.is_empty() => None,
                QueueOp::Pop => Some(self.items.remove(0)),
            };
            cx.output(output);
        }
    }

    #[test]
    fn a_stack_is_no_queue() {
        let shelf = |last_first| {
            System::new([Shelf { items: Vec::new(), last_first }])
                .call(0, QueueOp::Push(1))
                .call(0, QueueOp::Push(2))
                .call(0, QueueOp::Pop)
                .observe(Linear::new(Queue::default(), operation::<Shelf, Queue<u8>>))
                .always_observed("linearizable", |h: &History<Queue<u8>>| h.is_linearizable())
        };
        shelf(false).check().assert_holds();
        let outcome = shelf(true).check();
        // Two pushes and a pop.
        assert_eq!(outcome.assert_violated("linearizable").run.events.len(), 3);
    }

    /// A map that may keep what was removed.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Table {
        map: Map<char, u8>,
        forgets: bool,
    }

    impl Node for Table {
        type Msg = Never;
        type Timer = Never;
        type Call = MapOp<char, u8>;
        type Output = Option<u8>;

        fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
            match msg {}
        }

        fn on_call(&mut self, call: MapOp<char, u8>, cx: &mut Cx<'_, Self>) {
            let output = match call {
                MapOp::Remove(key) if !self.forgets => self.map.apply(&MapOp::Get(key)),
                call => self.map.apply(&call),
            };
            cx.output(output);
        }
    }

    #[test]
    fn a_map_forgets_what_is_removed() {
        let table = |forgets| {
            System::new([Table { map: Map(Default::default()), forgets }])
                .calls_in_sequence([(0, MapOp::Put('k', 1)), (0, MapOp::Remove('k'))])
                .call(0, MapOp::Get('k'))
                .observe(Linear::new(Map(Default::default()), operation::<Table, Map<char, u8>>))
                .always_observed("linearizable", |h: &History<Map<char, u8>>| h.is_linearizable())
        };
        table(true).check().assert_holds();
        let outcome = table(false).check();
        assert_eq!(outcome.assert_violated("linearizable").run.events.len(), 3);
    }
}

/// What the statistics say they are.
mod statistics {
    use super::*;

    /// Chooses how it starts.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Undecided(usize);

    impl Node for Undecided {
        type Msg = Never;
        type Timer = Never;
        type Call = ();
        type Output = Never;

        fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
            self.0 = cx.choose(3);
        }

        fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
            match msg {}
        }

        fn on_call(&mut self, (): (), _: &mut Cx<'_, Self>) {
            self.0 += 10;
        }
    }

    #[test]
    fn there_is_an_initial_state_for_each_way_to_start() {
        let system = System::new([Undecided(0)]).call(0, ());
        for (name, options) in engines() {
            let outcome = system.try_check(&options).unwrap();
            assert_eq!(outcome.statistics.unique_states, Some(6), "{name}");
            if !name.starts_with("walk") {
                assert_eq!(outcome.statistics.generated_states, Some(6), "{name}");
            }
        }
        let system = system.always("not 12", view(|n: &Undecided| n.0), |views| views[0] != 12);
        for (name, violation) in violations(&system) {
            assert_eq!((violation.run.start, violation.run.events.len()), (2, 1), "{name}");
        }
    }

    #[test]
    fn generated_states_are_the_initial_ones_and_one_for_each_transition() {
        let system = System::new([Undecided(0)]).call(0, ());
        for (name, options) in engines().into_iter().filter(|(name, _)| !name.starts_with("walk")) {
            let outcome = system.try_check(&options).unwrap();
            assert_eq!(outcome.statistics.transitions, Some(3), "{name}");
        }
    }

    #[test]
    fn no_run_is_longer_than_the_depth() {
        let system = sets(2).call(0, 1).always("empty", size(), |sizes| sizes == [0, 0]);
        for (name, options) in engines() {
            let outcome = system.try_check(&options).unwrap();
            assert_eq!(outcome.assert_violated("empty").run.events.len(), 1, "{name}");
            assert_eq!(outcome.statistics.depth, Some(1), "{name}");
        }
    }

    #[test]
    fn with_nothing_left_to_find_a_search_holds() {
        let system = sets(2).call(0, 1).sometimes("called", size(), |sizes| sizes[0] == 1);
        for (name, options) in engines() {
            let outcome = system.try_check(&options).unwrap();
            assert_eq!(outcome.verdict, Verdict::Holds, "{name}");
            assert!(!outcome.complete && outcome.bounded_by.is_none(), "{name}");
        }
    }

    #[test]
    fn random_runs_that_find_nothing_are_bounded_by_their_number() {
        let system = sets(2).call(0, 1).always("small", size(), |sizes| sizes[0] <= 1);
        let options = Options { engine: Engine::Walk, runs: 9, ..Options::default() };
        let outcome = system.try_check(&options).unwrap();
        assert_eq!(outcome.verdict, Verdict::Inconclusive);
        assert_eq!(outcome.bounded_by, Some(Bound::Runs));
    }
}
