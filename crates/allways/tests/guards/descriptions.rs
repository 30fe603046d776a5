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
    let sentence =
        "property `p` reads an observer with state u64, but no such observer was given before it";
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
