//! How many runs there will be, from those that there were: for engines that go through a tree of
//! runs and remember none of it but the branch on which they stand.
//!
//! The weighted backtrack estimator of Kilby, Slaney, Thiébaux and Walsh ("Estimating search tree
//! size", AAAI 2006), which is Knuth's (1975) for a search that is not random: the whole tree has
//! the weight one, and each node's weight is shared out equally among its branches. If the runs
//! that were completed have together the weight w, then there are about 1/w times as many. Here
//! the branches of a node are those that are *known*: an engine that finds reasons for new ones as it
//! goes shares the weight out again when it has, so the estimate is too low at first where such
//! branches are found late. In the end all branches are known and done, the weight of what was
//! explored is one, and the estimate is the number of runs.

/// The branches of a node of the tree on the way to where the engine stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Branches {
    /// So many were explored, without the one on which the engine stands.
    pub done: usize,
    /// So many are known: those, the one on which the engine stands, and those that wait.
    pub known: usize,
}

/// How much of the tree was explored, from zero to one, when the engine has just completed a run. The
/// nodes on the way there, the last first; none if everything was explored.
pub(crate) fn explored(way_back: impl IntoIterator<Item = Branches>) -> f64 {
    way_back.into_iter().fold(1.0, |below, Branches { done, known }| {
        // An engine may find out only at the end of a branch that it is one more than was known.
        (done as f64 + below) / known.max(done + 1) as f64
    })
}

/// About how many runs there will be, if so many had been completed when so much was explored.
pub(crate) fn estimated_runs(runs: u64, explored: f64) -> u64 {
    // Sums of fractions may miss one by a little, and a number of runs may be beyond all bounds.
    let estimate = runs as f64 / explored.clamp(f64::MIN_POSITIVE, 1.0);
    (estimate.round() as u64).max(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree by the number of branches of each node: of the node to which these lead.
    type Tree = fn(&[usize]) -> usize;

    /// The estimate after each run of a search through the whole tree, the last after all of it. A
    /// search that `looks ahead` knows all branches of a node at once, another one only those up to the next.
    fn estimates(tree: Tree, looks_ahead: bool) -> Vec<u64> {
        let mut way: Vec<usize> = Vec::new();
        let mut estimates = Vec::new();
        let mut runs = 0;
        loop {
            while tree(&way) > 0 {
                way.push(0);
            }
            runs += 1;
            let nodes = (0..way.len()).rev().map(|at| {
                let all = tree(&way[..at]);
                let done = way[at];
                Branches { done, known: if looks_ahead { all } else { all.min(done + 2) } }
            });
            estimates.push(estimated_runs(runs, explored(nodes)));
            while let Some(last) = way.pop() {
                if last + 1 < tree(&way) {
                    way.push(last + 1);
                    break;
                }
            }
            if way.is_empty() {
                estimates.push(estimated_runs(runs, explored([])));
                return estimates;
            }
        }
    }

    #[test]
    fn of_a_regular_tree_it_is_exact_from_the_first_run() {
        let five_deep: Tree = |way| if way.len() < 5 { 3 } else { 0 };
        assert_eq!(estimates(five_deep, true), [243; 244]);
        // All orders of six events.
        let orders: Tree = |way| 6 - way.len();
        assert_eq!(estimates(orders, true), [720; 721]);
        let alone: Tree = |_| 0;
        assert_eq!(estimates(alone, true), [1, 1]);
    }

    #[test]
    fn of_any_tree_it_is_exact_in_the_end() {
        let trees: [Tree; 3] = [
            // Not as deep to the right.
            |way| if way.iter().sum::<usize>() + way.len() < 9 { 2 } else { 0 },
            // A comb.
            |way| if way.len() < 8 && way.last() != Some(&1) { 2 } else { 0 },
            // Fewer branches to the right.
            |way| 7usize.saturating_sub(way.len() + way.first().unwrap_or(&0)),
        ];
        for tree in trees {
            for looks_ahead in [true, false] {
                let estimates = estimates(tree, looks_ahead);
                let runs = estimates.len() as u64 - 1;
                assert_eq!(estimates.last(), Some(&runs));
            }
        }
    }

    #[test]
    fn of_a_tree_that_is_nearly_regular_it_is_near_from_the_first_run() {
        // Two or three branches, by turns.
        let tree: Tree =
            |way| if way.len() < 8 { 2 + (way.iter().sum::<usize>() + way.len()) % 2 } else { 0 };
        let estimates = estimates(tree, true);
        let runs = estimates.len() as u64 - 1;
        let within = |factor: u64| move |&e: &u64| e <= runs * factor && e * factor >= runs;
        assert!(estimates.iter().all(within(4)), "{runs}: {estimates:?}");
        assert!(estimates[estimates.len() / 2..].iter().all(within(2)), "{runs}: {estimates:?}");
    }

    #[test]
    fn branches_that_are_found_late_make_it_too_low_and_never_less_than_what_was_done() {
        let tree: Tree = |way| if way.len() < 5 { 3 } else { 0 };
        let estimates = estimates(tree, false);
        for (at, &estimate) in estimates.iter().enumerate() {
            assert!((at as u64 + 1).min(243) <= estimate && estimate <= 243, "{at}: {estimate}");
        }
        assert_eq!(estimates[0], 32);
    }
}
