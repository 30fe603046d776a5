//! What handlers were seen to do, and what the outcome warns of.

use allways::prelude::*;
use allways::{Bound, Coverage, Handler, KindCoverage};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Msg {
    Ping { round: u8 },
    Pong,
    Noise,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Timer {
    Retry,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Call {
    Begin,
    Toss(u8),
}

/// What a node does beyond answering pings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Habits {
    makes_noise: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Peer {
    pongs: u8,
    tossed: Option<usize>,
    habits: Habits,
}

impl Node for Peer {
    type Msg = Msg;
    type Timer = Timer;
    type Call = Call;
    type Output = Never;

    fn on_call(&mut self, call: Call, cx: &mut Cx<'_, Self>) {
        match call {
            Call::Begin => {
                cx.broadcast(Msg::Ping { round: 1 });
                cx.set_timer(Timer::Retry);
            }
            Call::Toss(sides) => {
                let side = cx.choose(sides.into());
                if side > 0 && self.tossed.is_none() {
                    self.tossed = Some(side * 10 + cx.choose(2));
                }
            }
        }
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        match msg {
            Msg::Ping { .. } => {
                cx.send(from, Msg::Pong);
                if self.habits.makes_noise {
                    cx.send(from, Msg::Noise);
                }
            }
            Msg::Pong => self.pongs = 1,
            Msg::Noise => {}
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            Timer::Retry => cx.broadcast(Msg::Ping { round: 2 }),
        }
    }
}

fn peers() -> System<Peer> {
    System::new(vec![Peer::default(); 2]).call(0, Call::Begin).always(
        "one pong",
        view(|n: &Peer| n.pongs),
        |pongs| pongs.iter().all(|&n| n <= 1),
    )
}

fn searches() -> Vec<(&'static str, Options)> {
    let global = |search, threads| Options { search, threads, ..Options::default() };
    let walk = |threads| Options { engine: Engine::Walk, runs: 300, threads, ..Options::default() };
    vec![
        ("bfs", global(Search::Bfs, 1)),
        ("bfs, 3 threads", global(Search::Bfs, 3)),
        ("dfs", global(Search::Dfs, 1)),
        ("dfs, 3 threads", global(Search::Dfs, 3)),
        ("classic", global(Search::Classic, 1)),
        ("walk", walk(1)),
        ("walk, 3 threads", walk(3)),
    ]
}

fn coverages(system: &System<Peer>) -> Vec<(&'static str, Coverage)> {
    let of = |(name, options)| (name, system.try_check(&options).unwrap().coverage.unwrap());
    searches().into_iter().map(of).collect()
}

fn kind<'a>(coverage: &'a Coverage, name: &str) -> Option<&'a KindCoverage> {
    coverage.kinds.iter().find(|kind| kind.kind == name)
}

/// Sent, handled, steps and steps that change something.
fn numbers(coverage: &Coverage, name: &str) -> (u64, u64, u64, u64) {
    kind(coverage, name).map_or_else(Default::default, |k| (k.sent, k.handled, k.steps, k.changed))
}

#[test]
fn every_kind_is_counted_in_local_steps() {
    for (name, coverage) in coverages(&peers()) {
        assert_eq!(numbers(&coverage, "Begin"), (1, 1, 1, 1), "{name}");
        assert_eq!(numbers(&coverage, "Ping"), (2, 2, 2, 2), "{name}");
        // The timer is pending or not when the first pong comes; a second one changes nothing.
        assert_eq!(numbers(&coverage, "Pong"), (1, 1, 3, 2), "{name}");
        assert_eq!(numbers(&coverage, "Retry"), (1, 1, 2, 2), "{name}");
        assert!(kind(&coverage, "Noise").is_none(), "{name}");
        assert_eq!(kind(&coverage, "Pong").unwrap().ignored(), 1, "{name}");
    }
}

#[test]
fn handlers_are_counted_and_those_that_cannot_run_not_expected() {
    for (name, coverage) in coverages(&peers()) {
        let of = |wanted| coverage.handlers.iter().find(|h| h.handler == wanted).unwrap();
        assert_eq!((of(Handler::Start).steps, of(Handler::Start).changed), (2, 0), "{name}");
        assert_eq!(of(Handler::Message).steps, 5, "{name}");
        assert!(of(Handler::Timer).expected && !of(Handler::Crash).expected, "{name}");
        assert_eq!(of(Handler::Restart).steps, 0, "{name}");
    }
    let crashes = peers().faults(Faults::none().crashes(1).restarts());
    for (name, coverage) in coverages(&crashes) {
        for handler in coverage.handlers {
            assert!(handler.expected && handler.steps > 0, "{name}: {handler:?}");
        }
    }
}

#[test]
fn results_of_choose_are_counted_one_by_one() {
    let system = peers().call(1, Call::Toss(3));
    for (name, coverage) in coverages(&system) {
        let [first, second] = &coverage.choices[..] else { panic!("{name}: {coverage}") };
        assert_eq!((first.handler, &*first.kind, first.position), (Handler::Call, "Toss", 1));
        assert_eq!((second.handler, &*second.kind, second.position), (Handler::Call, "Toss", 2));
        let changed = |choice: &allways::ChoiceCoverage| -> Vec<bool> {
            choice.arms.iter().map(|arm| arm.changed > 0).collect()
        };
        assert_eq!(changed(first), [false, true, true], "{name}");
        assert_eq!(changed(second), [true, true], "{name}");
        assert!(first.arms.iter().all(|arm| arm.taken > 0), "{name}");
        assert_eq!(
            coverage.never(),
            ["choose 1 of on_call `Toss` changes nothing when it returns 0"],
            "{name}"
        );
    }
}

#[test]
fn a_message_that_nobody_is_there_to_handle_is_sent_but_not_handled() {
    // At the start nothing but the call is there to be handled.
    let options = Options { max_depth: Some(0), ..Options::default() };
    let coverage = peers().try_check(&options).unwrap().coverage.unwrap();
    assert_eq!(numbers(&coverage, "Ping"), (1, 0, 0, 0));
    assert_eq!(
        coverage.never(),
        ["message `Ping` is sent but never handled", "timer `Retry` is set but never fires"]
    );
}

#[test]
fn a_timer_that_may_not_fire_is_set_all_the_same() {
    for (name, coverage) in coverages(&peers().timers(0)) {
        assert_eq!(numbers(&coverage, "Retry"), (1, 0, 0, 0), "{name}");
        assert_eq!(coverage.never(), ["timer `Retry` is set but never fires"], "{name}");
    }
}

#[test]
fn coverage_is_a_table() {
    let system = peers().call(1, Call::Toss(2));
    let coverage = system.check().coverage.unwrap().to_string();
    let lines: Vec<&str> = coverage.lines().collect();
    assert!(lines[0].ends_with("distinct  local steps  changed"), "{coverage}");
    assert!(lines.iter().any(|line| line.starts_with("  message Ping ")), "{coverage}");
    assert!(
        lines.iter().any(|line| line.starts_with("  choose 1 of on_call `Toss` is 0 ")),
        "{coverage}"
    );
    assert_eq!(
        lines.last(),
        Some(&"  choose 1 of on_call `Toss` changes nothing when it returns 0")
    );
}

fn warnings(system: &System<Peer>, options: &Options) -> Vec<String> {
    system.try_check(options).unwrap().warnings
}

/// The warnings that each complete search gives.
fn complete() -> impl Iterator<Item = (&'static str, Options)> {
    searches().into_iter().filter(|(name, _)| !name.starts_with("walk"))
}

#[test]
fn what_is_as_it_should_be_is_not_warned_of() {
    for (name, options) in searches() {
        assert_eq!(warnings(&peers(), &options), [""; 0], "{name}");
    }
}

#[test]
fn a_system_without_properties_is_warned_of() {
    let system = System::new(vec![Peer::default(); 2]).call(0, Call::Begin);
    for (name, options) in searches() {
        assert_eq!(
            warnings(&system, &options),
            ["the system has no properties: only panics of handlers were looked for"],
            "{name}"
        );
    }
    let shown = system.check().to_string();
    assert!(shown.contains("warning: the system has no properties"), "{shown}");
}

#[test]
fn a_property_that_reads_what_never_changes_is_warned_of() {
    let system = peers().always("tossed alike", view(|n: &Peer| n.tossed), |t| t[0] == t[1]);
    let warning = "always `tossed alike` reads what is the same in every state: it may hold for that reason alone";
    for (name, options) in complete() {
        assert_eq!(warnings(&system, &options), [warning], "{name}");
    }
    // What was not covered may be different.
    let bounded = Options { max_depth: Some(1), ..Options::default() };
    assert_eq!(warnings(&system, &bounded), [""; 0]);
}

#[test]
fn a_view_that_is_a_test_of_its_own_is_not_vacuous() {
    let fine =
        peers().always("few pongs", view(|n: &Peer| n.pongs < 9), |few| few.iter().all(|f| *f));
    let vacuous = peers().always("one winner", view(|n: &Peer| n.pongs > 9), |winners| {
        winners.iter().filter(|w| **w).count() <= 1
    });
    for (name, options) in complete() {
        assert_eq!(warnings(&fine, &options), [""; 0], "{name}");
        assert_eq!(warnings(&vacuous, &options).len(), 1, "{name}");
    }
}

#[test]
fn a_message_that_all_ignore_is_warned_of() {
    let noisy = Peer { habits: Habits { makes_noise: true }, ..Peer::default() };
    let system = System::new([noisy.clone(), noisy]).call(0, Call::Begin).always(
        "one pong",
        view(|n: &Peer| n.pongs),
        |pongs| pongs.iter().all(|&n| n <= 1),
    );
    let warning = "message `Noise` is ignored by every node that it is sent to, in every state";
    for (name, options) in complete() {
        assert_eq!(warnings(&system, &options), [warning], "{name}");
    }
}

#[test]
fn a_driver_without_calls_is_warned_of() {
    let system = System::new(vec![Peer::default(); 2]).sometimes(
        "pong",
        view(|n: &Peer| n.pongs),
        |pongs| pongs.contains(&1),
    );
    for (name, options) in complete() {
        assert_eq!(
            warnings(&system, &options),
            [
                "the driver makes no calls, but nodes take some (`Call`): see System::call",
                "nothing ever happens: no step leads anywhere from the start",
            ],
            "{name}"
        );
    }
}

#[test]
fn being_stuck_with_something_in_flight_is_explained() {
    let noisy = Peer { habits: Habits { makes_noise: true }, ..Peer::default() };
    let system = System::new([noisy.clone(), noisy]).call(0, Call::Begin).never_stuck(
        "goes on",
        view(|n: &Peer| n.pongs),
        |_| false,
    );
    for (name, options) in searches() {
        let outcome = system.try_check(&options).unwrap();
        outcome.assert_violated("goes on");
        let [warning] = &outcome.warnings[..] else { panic!("{name}: {:?}", outcome.warnings) };
        assert!(
            warning.starts_with("the run is stuck though something is in flight")
                && warning.ends_with("its delivery would change nothing, so it is not a step"),
            "{name}: {warning}"
        );
        // What it is, is said once: where the run ends, or, if it was handled before, here.
        let shown = outcome.to_string();
        let is_told = shown.contains("never handled: ");
        assert_eq!(warning.contains(" (message "), !is_told, "{name}: {shown}");
    }
    let ordered = system.network(Network::ordered());
    assert_eq!(ordered.check().warnings, [""; 0]);
}

/// Node 0 asks node 1 again and again, unless it was answered and heeds that.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Asker {
    heeds: bool,
    done: bool,
}

impl Node for Asker {
    type Msg = Msg;
    type Timer = Timer;
    type Call = Never;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        if cx.id() == Id::new(0) {
            cx.send(1, Msg::Ping { round: 1 });
            cx.set_timer(Timer::Retry);
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        cx.send(1, Msg::Ping { round: 1 });
        cx.set_timer(timer);
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        match msg {
            Msg::Ping { .. } => cx.send(from, Msg::Pong),
            _ if self.heeds => {
                self.done = true;
                cx.cancel_timer(&Timer::Retry);
            }
            _ => {}
        }
    }
}

fn askers(heeds: bool) -> System<Asker> {
    System::new(vec![Asker { heeds, done: false }; 2]).never_stuck(
        "done",
        view(|asker: &Asker| asker.done),
        |done| done[0],
    )
}

const UNTESTED: &str = "never stuck `done` was never put to the test: no terminal state was met";

#[test]
fn a_property_of_terminal_states_is_warned_of_where_every_state_goes_on() {
    let system = askers(false).network(Network::duplicating());
    let ignored = "message `Pong` is ignored by every node that it is sent to, in every state";
    for (name, options) in complete() {
        let outcome = system.try_check(&options).unwrap();
        assert_eq!(outcome.warnings, [ignored, UNTESTED], "{name}");
    }
    let walk = Options { engine: Engine::Walk, runs: 3, max_depth: Some(50), ..Options::default() };
    assert_eq!(system.try_check(&walk).unwrap().warnings, [UNTESTED]);
    // Where somebody stops asking, that is judged.
    let system = askers(true).timers(2);
    for (name, options) in complete() {
        assert_eq!(system.try_check(&options).unwrap().warnings, [""; 0], "{name}");
    }
}

#[test]
fn states_not_judged_because_of_the_bound_on_timers_are_counted() {
    let system = askers(false).timers(2);
    let not_judged = "1 state was not judged: only the bound on timers (System::timers) keeps a timer from firing there";
    for (name, options) in complete() {
        let outcome = system.try_check(&options).unwrap();
        assert_eq!(outcome.warnings[1..], [UNTESTED, not_judged], "{name}");
    }
    let walk = Options { engine: Engine::Walk, runs: 20, ..Options::default() };
    assert_eq!(system.try_check(&walk).unwrap().warnings, [UNTESTED, not_judged]);
}

#[test]
fn a_search_that_a_bound_stopped_is_not_expected_to_meet_terminal_states() {
    let bounded = Options { max_depth: Some(1), ..Options::default() };
    assert_eq!(askers(true).try_check(&bounded).unwrap().warnings, [""; 0]);
}

#[test]
fn copies_that_pile_up_are_named_where_a_bound_stops_the_search() {
    let piles = "copies of message `Ping` pile up in flight, without end: timer `Retry` sends one each time it fires, and is set again; bound the timers (System::timers), or use Network::duplicating(), where a message in flight counts once";
    for (name, options) in complete() {
        let bounded = Options { max_states: Some(500), ..options };
        let outcome = askers(true).try_check(&bounded).unwrap();
        assert_eq!(outcome.bounded_by, Some(Bound::States), "{name}");
        assert_eq!(outcome.advice().last().map(String::as_str), Some(piles), "{name}");
    }
    // Whoever does as advised is not told again.
    let few = Options { max_depth: Some(1), ..Options::default() };
    for system in [askers(true).timers(5), askers(true).network(Network::duplicating())] {
        let outcome = system.try_check(&few).unwrap();
        assert_eq!(outcome.bounded_by, Some(Bound::Depth));
        assert!(!outcome.to_string().contains("pile up"), "{outcome}");
    }
    // Timers that are not set again by their own handlers do not pile anything up.
    let outcome = peers().try_check(&few).unwrap();
    assert!(outcome.bounded_by.is_some() && !outcome.to_string().contains("pile up"), "{outcome}");
}

/// Counts for ever.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Clock(u32);

impl Node for Clock {
    type Msg = ();
    type Timer = Timer;
    type Call = Never;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        cx.set_timer(Timer::Retry);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        self.0 += 1;
        cx.set_timer(timer);
    }

    fn on_message(&mut self, _: Id, (): (), _: &mut Cx<'_, Self>) {}
}

#[test]
fn a_random_run_looks_at_bounds_on_its_way() {
    let system = System::new([Clock(0)]);
    let walk = Options { engine: Engine::Walk, runs: 1, threads: 1, ..Options::default() };
    let bounded = Options { max_states: Some(100), ..walk };
    let outcome = system.try_check(&bounded).unwrap();
    assert_eq!(outcome.bounded_by, Some(Bound::States));
    assert_eq!(outcome.statistics.depth, Some(128), "looked at every 64 steps");
}

/// Makes the mistake that it is called for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Mistaken;

impl Node for Mistaken {
    type Msg = ();
    type Timer = Never;
    type Call = u8;
    type Output = Never;

    fn on_call(&mut self, mistake: u8, cx: &mut Cx<'_, Self>) {
        match mistake {
            0 => cx.send(7, ()),
            1 => assert_eq!(cx.choose(0), 0),
            _ => *cx.choose_from(&[]),
        }
    }

    fn on_message(&mut self, _: Id, (): (), _: &mut Cx<'_, Self>) {}
}

#[test]
fn what_a_handler_asks_wrongly_is_blamed_on_its_own_line() {
    for mistake in 0..3 {
        let outcome = System::new([Mistaken]).call(0, mistake).check();
        let message = outcome.violation.unwrap().property;
        assert!(message.contains(" at ") && message.contains("coverage.rs:"), "{message}");
    }
}
