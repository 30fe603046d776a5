//! Links that fail and are there again: whoever explores, both ends are told.

use allways::prelude::*;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Peer(u8);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Hello;

impl Node for Peer {
    type Msg = Hello;
    type Timer = Never;
    type Call = Never;
    type Output = Never;

    fn on_message(&mut self, _: Id, Hello: Hello, _: &mut Cx<'_, Self>) {
        self.0 = 1;
    }
}

#[test]
fn every_engine_tells_both_ends_of_a_link() {
    let by = |engine| Options { engine, ..Options::default() };
    let reductions = [Reduction::None, Reduction::Source, Reduction::Optimal, Reduction::Cached];
    let dpor = reductions.map(|reduction| Options { reduction, ..by(Engine::Dpor) });
    let searches = [Search::Bfs, Search::Dfs, Search::Classic];
    let global = searches.map(|search| Options { search, ..by(Engine::Global) });
    let dir = [Options { stateful: true, ..by(Engine::Dir) }];
    for network in [Network::ordered(), Network::unordered(), Network::duplicating()] {
        let system = System::new(vec![Peer::default(); 3])
            .network(network)
            .faults(Faults::none().link(0, 2))
            .reconnect(Hello)
            .always("only these two", view(|n: &Peer| n.0), |told| told[1] == 0)
            .sometimes("both know", view(|n: &Peer| n.0), |told| told == [1, 0, 1]);
        for options in global.iter().chain(&dpor).chain(&dir) {
            let outcome = system.try_check(options).unwrap();
            assert_eq!(outcome.verdict, Verdict::Holds, "{network:?}: {outcome}");
        }
    }
}
