//! Engine `dir` on the example of the DEMETER paper (figure 1): exact numbers of executions, with and without it; and what components of components save.

use allways::prelude::*;

/// A client that sends one of some sequences of numbers, or a server that adds them up, forwards them if it is the first one, and writes a checkpoint at any
/// time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Accumulator {
    Client { sequences: usize, numbers: u32 },
    Server { sum: u32, checkpoint: Option<u32> },
}

use Accumulator::{Client, Server};

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Checkpoint;

impl Node for Accumulator {
    type Msg = u32;
    type Timer = Checkpoint;
    type Call = ();
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        if let Server { .. } = self {
            cx.set_timer(Checkpoint);
        }
    }

    fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        if let Client { sequences, numbers } = *self {
            let first = cx.choose(sequences) as u32 * 100;
            (0..numbers).for_each(|number| cx.send(1, first + number + 1));
        }
    }

    fn on_message(&mut self, from: Id, number: u32, cx: &mut Cx<'_, Self>) {
        if let Server { sum, .. } = self {
            *sum += number;
            let others = if from == Id::new(0) { 2..cx.nodes() } else { 0..0 };
            others.for_each(|other| cx.send(other, number));
        }
    }

    fn on_timer(&mut self, Checkpoint: Checkpoint, _: &mut Cx<'_, Self>) {
        if let Server { sum, checkpoint } = self {
            *checkpoint = Some(*sum);
        }
    }
}

fn accumulator(sequences: usize, servers: usize, numbers: u32) -> System<Accumulator> {
    let server = Server { sum: 0, checkpoint: None };
    let nodes = std::iter::once(Client { sequences, numbers });
    System::new(nodes.chain(std::iter::repeat_n(server, servers))).call(0, ())
}

/// The executions of engine `dpor` and of engine `dir`, and how many of the former the latter stand for.
fn executions(system: &System<Accumulator>) -> (u64, u64, u128) {
    let check = |engine| {
        let outcome = system.try_check(&Options { engine, ..Options::default() }).unwrap();
        assert!(outcome.complete);
        outcome.statistics
    };
    let (plain, apart) = (check(Engine::Dpor), check(Engine::Dir));
    (plain.runs.unwrap(), apart.runs.unwrap(), apart.covered_traces.unwrap())
}

#[test]
fn figure_1() {
    let system = accumulator(2, 2, 2).network(Network::ordered());
    assert_eq!(executions(&system), (18, 14, 18));
}

#[test]
fn figure_1_where_messages_overtake_each_other() {
    let system = accumulator(2, 2, 2).network(Network::unordered());
    assert_eq!(executions(&system), (72, 26, 72));
}

#[test]
fn one_sequence_of_numbers() {
    // As many servers and numbers as the test may take time for.
    let most = if cfg!(debug_assertions) { 600 } else { 200_000 };
    for servers in 1..=6_u32 {
        for numbers in 1..=6_u32 {
            let system = accumulator(1, servers as usize, numbers).network(Network::ordered());
            let all = u64::from(numbers + 1).pow(servers);
            let apart = u64::from(1 + servers * (numbers + 1));
            if all <= most {
                assert_eq!(executions(&system), (all, apart, u128::from(all)));
            } else {
                let options = Options { engine: Engine::Dir, ..Options::default() };
                let outcome = system.try_check(&options).unwrap();
                assert!(outcome.complete);
                assert_eq!(outcome.statistics.runs, Some(apart));
                assert_eq!(outcome.statistics.covered_traces, Some(u128::from(all)));
            }
        }
    }
}

/// One of a pair: the first says one of three words to the second, which repeats it; the first pair then tells all others.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Talker {
    heard: Option<u32>,
    told: bool,
}

const TOLD: u32 = 9;

impl Node for Talker {
    type Msg = u32;
    type Timer = Never;
    type Call = ();
    type Output = Never;

    fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        let word = cx.choose(3) as u32;
        cx.send(cx.id().index() + 1, word);
    }

    fn on_message(&mut self, from: Id, word: u32, cx: &mut Cx<'_, Self>) {
        if word == TOLD {
            self.told = true;
            return;
        }
        self.heard = Some(word);
        match (from.index(), cx.id().index()) {
            (1, 0) => (1..cx.nodes() / 2).for_each(|pair| cx.send(2 * pair, TOLD)),
            (from, to) if from < to => cx.send(from, word),
            _ => {}
        }
    }
}

fn talkers(pairs: usize) -> System<Talker> {
    let system = System::new((0..2 * pairs).map(|_| Talker::default()));
    (0..pairs).fold(system, |system, pair| system.call(2 * pair, ()))
}

fn talked(pairs: usize, components: &str) -> allways::Statistics {
    let components = components.parse().unwrap();
    let options = Options { engine: Engine::Dir, components, ..Options::default() };
    let outcome = talkers(pairs).try_check(&options).unwrap();
    assert!(outcome.complete);
    outcome.assert_holds();
    outcome.statistics
}

/// Pairs, each a component of two.
fn paired(pairs: usize) -> String {
    let pairs = (0..pairs).map(|pair| format!("({}/{})", 2 * pair, 2 * pair + 1));
    pairs.collect::<Vec<_>>().join("/")
}

#[test]
fn what_is_within_a_component_makes_no_skeletons_outside() {
    let dpor = |pairs| {
        let options = Options { engine: Engine::Dpor, ..Options::default() };
        talkers(pairs).try_check(&options).unwrap().statistics.runs.map(u128::from)
    };
    for pairs in 2..=4 {
        let each = talked(pairs, "each");
        let nested = talked(pairs, &paired(pairs));
        assert_eq!((each.covered_traces, nested.covered_traces), (dpor(pairs), dpor(pairs)));
        // Each has one of three words to choose from; all but the first are told before they say it, or not.
        let all = 3 * 6_u64.pow(pairs as u32 - 1);
        assert_eq!((each.global_skeletons, nested.global_skeletons), (Some(all), Some(1)));
        assert_eq!(
            (each.inner_skeletons, nested.inner_skeletons),
            (None, Some(6 * pairs as u64 - 3))
        );
        assert_eq!((each.runs, nested.runs), (Some(12 * pairs as u64 - 6), each.runs));
    }
}

#[test]
fn forty_nodes_can_be_explored_in_pairs() {
    let nested = talked(20, &paired(20));
    assert_eq!(nested.covered_traces, Some(3_u128.pow(39)));
    assert_eq!((nested.global_skeletons, nested.inner_skeletons), (Some(1), Some(117)));
    assert_eq!(nested.runs, Some(234));
    let auto = talked(20, "auto");
    assert!(auto.global_skeletons < Some(10), "{auto:?}");
    assert!(auto.components.is_some_and(|it| it.contains("(")));
    assert_eq!(auto.covered_traces, nested.covered_traces);
}

/// Says the same again and again; the other one stops listening after some time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Parrot {
    Speaker,
    Listener { heard: bool, rang: bool },
}

impl Node for Parrot {
    type Msg = ();
    type Timer = ();
    type Call = ();
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        match self {
            Parrot::Speaker => cx.send(1, ()),
            Parrot::Listener { .. } => cx.set_timer(()),
        }
    }

    fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        if *self == Parrot::Speaker {
            cx.send(cx.id(), ());
            cx.send(1, ());
        }
    }

    fn on_message(&mut self, _: Id, (): (), _: &mut Cx<'_, Self>) {
        if let Parrot::Listener { heard, .. } = self {
            *heard = true;
        }
    }

    fn on_timer(&mut self, (): (), _: &mut Cx<'_, Self>) {
        if let Parrot::Listener { rang, .. } = self {
            *rang = true;
        }
    }
}

/// Where envelopes stay in flight, what is sent again is nothing that anybody gets: it must not be taken for something that is shown, let alone twice.
#[test]
fn what_is_in_flight_already_is_not_given_again() {
    let listener = || Parrot::Listener { heard: false, rang: false };
    let system = System::new([Parrot::Speaker, listener(), listener()]);
    let system = system.network(Network::duplicating()).call(0, ());
    let system = system.calls_in_sequence([(0, ()), (2, ())]);
    let by = |engine| system.try_check(&Options { engine, ..Options::default() }).unwrap();
    let (dpor, dir) = (by(Engine::Dpor), by(Engine::Dir));
    assert!(dir.complete && dpor.complete);
    assert_eq!(dir.statistics.covered_traces, dpor.statistics.runs.map(u128::from));
    // When it is sent again is the speaker's own business.
    assert_eq!(dir.statistics.global_skeletons, Some(1));
}

/// Who has spoken, in this order.
struct Spoken;

impl Observer<Parrot> for Spoken {
    type State = Vec<usize>;

    fn start(&self) -> Vec<usize> {
        Vec::new()
    }

    fn wants(&self, seen: &Seen<'_, Parrot>) -> bool {
        matches!(seen, Seen::Call { .. })
    }

    fn observe(&self, state: &mut Vec<usize>, seen: Seen<'_, Parrot>) {
        if let Seen::Call { node, .. } = seen {
            state.push(node.index());
        }
    }
}

/// Observers are looked at in all orders of what they see, also if all nodes are one component.
#[test]
fn observers_see_everything_whatever_the_components_are() {
    let system = System::new([Parrot::Speaker, Parrot::Speaker]).call(0, ()).call(1, ());
    let system = system.observe(Spoken);
    for order in [[0, 1], [1, 0]] {
        let seen = move |state: &Vec<usize>| *state == order;
        let system = system.clone().sometimes_observed("one after the other", seen);
        for components in ["each", "0,1", "(0/1)", "auto"] {
            let components = components.parse().unwrap();
            let options = Options { engine: Engine::Dir, components, ..Options::default() };
            system.try_check(&options).unwrap().assert_holds();
        }
    }
}

/// Whoever is called tells the first node, which notes that it was told, and not by whom.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Teller {
    has_told: bool,
    was_told: bool,
}

impl Node for Teller {
    type Msg = ();
    type Timer = Never;
    type Call = ();
    type Output = Never;

    fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        self.has_told = true;
        cx.send(0, ());
    }

    fn on_message(&mut self, _: Id, (): (), _: &mut Cx<'_, Self>) {
        self.was_told = true;
    }
}

/// A component may look the same after it has taken different things. Each of these ways has to be known: here nobody shows anything after it, so what was taken is all that tells them apart.
#[test]
fn whatever_was_taken_to_look_so_counts() {
    let one = Teller { has_told: false, was_told: false };
    let system = System::new(vec![one; 4]).call(1, ()).call(2, ());
    for teller in [1, 2] {
        let seen = view(|node: &Teller| (node.has_told, node.was_told));
        let told_by = move |nodes: &[(bool, bool)]| !nodes[0].1 || nodes[teller].0;
        let system = system.clone().always("told by nobody else", seen, told_by);
        // By itself, the first node is a tree; with another one, or with parts, it is not.
        for components in ["each", "0,3", "(0/3)/1/2", "1,2", "(1/2)/(0/3)"] {
            for threads in [1, 2] {
                let components = components.parse().unwrap();
                let options =
                    Options { engine: Engine::Dir, components, threads, ..Options::default() };
                let outcome = system.try_check(&options).unwrap();
                outcome.assert_violated("told by nobody else");
            }
        }
    }
}
