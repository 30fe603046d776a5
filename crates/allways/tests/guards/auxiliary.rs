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
        let mut sends: Vec<bool> = results.iter().map(|r| r.contains("sends [(1, 1)]")).collect();
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
