//! Steps of different nodes commute, and of two orders one is followed: everything that might not
//! commute, each against the classic search, which follows everything.

use allways::prelude::*;

/// What a node does with what it gets: enough to make every kind of step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Way {
    /// Remembers what it got.
    Keep,
    /// Sends it on to the next node, one larger.
    Pass,
    /// Tells the world.
    Tell,
    /// Sets a timer that sends to everybody.
    Later,
    /// Keeps it or not.
    Toss,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Worker {
    way: Way,
    seen: Vec<u8>,
}

impl Worker {
    fn take(&mut self, value: u8, cx: &mut Cx<'_, Self>) {
        if value > 4 {
            return;
        }
        match self.way {
            Way::Keep => self.seen.push(value),
            Way::Pass => {
                self.seen.push(value);
                let next = (cx.id().index() + 1) % cx.nodes();
                cx.send(next, value + 1);
            }
            Way::Tell => {
                self.seen.push(value);
                cx.output(value);
            }
            Way::Later => cx.set_timer(value),
            Way::Toss => {
                if cx.choose(2) == 1 {
                    self.seen.push(value);
                }
            }
        }
        self.seen.truncate(3);
    }
}

impl Node for Worker {
    type Msg = u8;
    type Timer = u8;
    type Call = u8;
    type Output = u8;

    fn on_message(&mut self, _: Id, value: u8, cx: &mut Cx<'_, Self>) {
        self.take(value, cx);
    }

    fn on_call(&mut self, value: u8, cx: &mut Cx<'_, Self>) {
        self.take(value, cx);
    }

    fn on_timer(&mut self, value: u8, cx: &mut Cx<'_, Self>) {
        cx.broadcast(value + 2);
    }

    fn persisted(&self) -> Option<Self> {
        Some(Worker { way: self.way, seen: self.seen.iter().copied().take(1).collect() })
    }
}

/// Everything that was told, in order: two tellers never commute.
struct Order;

impl Observer<Worker> for Order {
    type State = Vec<(usize, u8)>;

    fn start(&self) -> Self::State {
        Vec::new()
    }

    fn wants(&self, seen: &Seen<'_, Worker>) -> bool {
        matches!(seen, Seen::Output { .. })
    }

    fn observe(&self, state: &mut Self::State, seen: Seen<'_, Worker>) {
        if let Seen::Output { node, output } = seen {
            state.push((node.index(), *output));
        }
    }
}

fn system(ways: &[Way], calls: &[(usize, u8)]) -> System<Worker> {
    let nodes = ways.iter().map(|&way| Worker { way, seen: Vec::new() });
    let system = System::new(nodes).timers(1);
    calls.iter().fold(system, |system, &(node, value)| system.call(node, value))
}

/// Checks a system in every way and compares the counts; returns how many transitions slept.
fn agree(system: &System<Worker>) -> u64 {
    let check = |search, threads, exact| {
        let options = Options { search, threads, exact, ..Options::default() };
        let outcome = system.try_check(&options).unwrap();
        outcome.assert_holds();
        outcome.statistics
    };
    let classic = check(Search::Classic, 1, false);
    let counts = (classic.unique_states, classic.generated_states);
    let mut asleep = Vec::new();
    for search in [Search::Bfs, Search::Dfs] {
        for (threads, exact) in [(1, false), (3, false), (1, true)] {
            let statistics = check(search, threads, exact);
            let found = (statistics.unique_states, statistics.generated_states);
            assert_eq!(found, counts, "{search:?} {threads} {exact}");
            asleep.push(statistics.asleep.unwrap());
        }
    }
    asleep.into_iter().min().unwrap()
}

const CALLS: [(usize, u8); 4] = [(0, 0), (1, 1), (2, 0), (1, 2)];

#[test]
fn independent_calls_are_followed_in_one_order() {
    let asleep = agree(&system(&[Way::Keep; 3], &CALLS));
    assert!(asleep > 0);
}

#[test]
fn what_a_step_sends_was_not_there_before_it() {
    for network in [Network::unordered(), Network::duplicating(), Network::ordered()] {
        let system = system(&[Way::Pass; 3], &CALLS[..3]).network(network);
        assert!(agree(&system) > 0, "{network:?}");
    }
}

#[test]
fn two_who_tell_an_observer_do_not_commute() {
    let calls = [(0, 0), (1, 1), (2, 2)];
    let system = system(&[Way::Tell; 3], &calls)
        .observe(Order)
        .sometimes_observed("told from the last to the first", |told: &Vec<(usize, u8)>| {
            *told == [(2, 2), (1, 1), (0, 0)]
        });
    let system =
        system.always("few", view(|n: &Worker| n.seen.len()), |s| s.iter().all(|&n| n < 4));
    assert_eq!(agree(&system), 0, "nobody can sleep: all that happens is told");
}

#[test]
fn one_who_tells_commutes_with_one_who_does_not() {
    let system = system(&[Way::Keep, Way::Tell, Way::Keep], &CALLS).observe(Order);
    assert!(agree(&system) > 0);
}

#[test]
fn timers_and_choices_commute_too() {
    let system = system(&[Way::Later, Way::Toss, Way::Later], &CALLS);
    assert!(agree(&system) > 0);
}

#[test]
fn faults_are_followed_in_every_order() {
    let faulty = |network: Network, faults: Faults| {
        system(&[Way::Pass, Way::Keep, Way::Later], &CALLS[..3]).network(network).faults(faults)
    };
    for network in [Network::unordered(), Network::duplicating(), Network::ordered()] {
        agree(&faulty(network, Faults::none().crashes(1)));
        agree(&faulty(network, Faults::none().partition([vec![0], vec![1, 2]]).partitions(1)));
    }
    agree(&faulty(Network::unordered().duplications(1), Faults::none()));
    agree(&faulty(Network::ordered().drops(1), Faults::none()));
}

#[test]
fn a_handler_that_panics_is_met_whoever_stepped_before() {
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Fragile(u8);
    impl Node for Fragile {
        type Msg = Never;
        type Timer = Never;
        type Call = u8;
        type Output = Never;
        fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
            match msg {}
        }
        fn on_call(&mut self, value: u8, _: &mut Cx<'_, Self>) {
            assert!(value < 9, "too much");
            self.0 += value;
        }
    }
    let system = System::new([Fragile(0), Fragile(0), Fragile(0)])
        .call(0, 9)
        .call(1, 1)
        .call(2, 1)
        .calls_in_sequence([(2, 2), (1, 2)]);
    for search in [Search::Bfs, Search::Dfs] {
        let options = Options { search, threads: 1, ..Options::default() };
        let outcome = system.try_check(&options).unwrap();
        assert_eq!(outcome.verdict, Verdict::Violated);
    }
}
