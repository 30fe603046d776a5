//! Engine `dir` on the example of the DEMETER paper (figure 1): exact numbers of executions, with and without it.

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
