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
        let sentence =
            "property `the second first` tells nodes apart that are declared interchangeable";
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
