//! Dining philosophers: threads that need two locks each.
//!
//! Philosophers sit around a table with a fork between any two neighbours. To eat, one takes both forks beside oneself, one after the
//! other, and puts both back. If all take the one on their left first, each may hold one and wait for ever for the
//! other. So they take the fork with the lower number first: that is the left one for all of them but the last.
//!
//! Two philosophers share each fork, and one of them has it first. Each of the 2ⁿ ways to decide that is an execution, but for the two in which
//! everybody waits for a neighbour, all around the table: 2ⁿ − 2.
//!
//! Those who sit side by side can be one component, as the paper on dynamic interface reduction has it (section 6.1): all that others can tell of it are the two forks at its ends,
//! however many there are in between. So there are `components` times so many philosophers at the table, and engine `dir` explores them in as many parts.
//!
//! The problem is Dijkstra's ("Hierarchical ordering of sequential processes", 1971), and so is the order that solves it.

use crate::together::together;
use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::{Checkable, Components, Error};
use allways_threads::Program;
use allways_threads::sync::Mutex;

pub(crate) const ENTRY: Entry = Entry {
    name: "dining",
    about: "dining philosophers: threads that need two locks each",
    parameters: &[
        Parameter {
            name: "philosophers",
            about: "how many sit side by side in each component",
            kind: Kind::Number { default: 3, min: 2, max: 12 },
        },
        Parameter {
            name: "components",
            about: "how many such components sit around the table",
            kind: Kind::Number { default: 1, min: 1, max: 6 },
        },
    ],
    bugs: &[Bug {
        name: SAME_ORDER,
        about: "all take the fork on their left first, and may wait for each other",
        defaults: &[("philosophers", "2"), ("components", "1")],
    }],
    make,
    live: crate::LivePart::NONE,
};

const SAME_ORDER: &str = "same-order";

/// The forks that a philosopher takes, in this order.
fn forks(philosopher: usize, philosophers: usize, same_order: bool) -> (usize, usize) {
    let (left, right) = (philosopher, (philosopher + 1) % philosophers);
    if same_order { (left, right) } else { (left.min(right), left.max(right)) }
}

/// Everybody at the table eats once.
fn dine(philosophers: usize, same_order: bool) {
    let table: Vec<Mutex<()>> = (0..philosophers).map(|_| Mutex::new(())).collect();
    let names = (0..philosophers).map(|number| format!("philosopher {number}"));
    together(names, table, move |table, number| {
        let (first, second) = forks(number, table.len(), same_order);
        let _first = table[first].lock().unwrap();
        let _second = table[second].lock().unwrap();
    });
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let (philosophers, components) =
        (parameters.number("philosophers"), parameters.number("components"));
    let same_order = parameters.bug() == Some(SAME_ORDER);
    let program = Program::new(move || dine(philosophers * components, same_order));
    // The main thread is number 0 of those that may be in a component.
    let side_by_side =
        |component| (0..philosophers).map(move |it| 1 + component * philosophers + it);
    let components = (0..components).map(|component| side_by_side(component).collect());
    Ok(Box::new(program.components(Components::new(components.collect())?)))
}

#[cfg(test)]
mod tests {
    use crate::tests::{executions, threads};
    use allways::{Cause, Trouble};

    #[test]
    fn who_has_each_fork_first_can_be_decided_in_all_but_two_ways() {
        for n in 2..=6 {
            let set = [("philosophers", &*n.to_string())];
            assert_eq!(executions("dining", &set), (1 << n) - 2, "{n}");
        }
    }

    #[test]
    fn components_sit_around_one_table() {
        let at = |philosophers, components| {
            executions("dining", &[("philosophers", philosophers), ("components", components)])
        };
        assert_eq!([at("2", "2"), at("2", "3"), at("3", "2")], [14, 62, 62]);
    }

    #[test]
    fn who_takes_the_left_fork_first_may_wait_for_ever() {
        for philosophers in ["2", "3", "5"] {
            let set = [("bug", "same-order"), ("philosophers", philosophers)];
            let violation = threads("dining", &set).violation.unwrap();
            assert_eq!(violation.cause, Cause::Trouble(Trouble::Deadlock));
            // Each has locked one fork.
            assert_eq!(violation.run.events.len().to_string(), philosophers);
            let waits = violation.reads.iter().filter(|read| read.contains("to lock mutex"));
            assert_eq!(waits.count().to_string(), philosophers);
        }
        let two_components = [("bug", "same-order"), ("components", "2")];
        let violation = threads("dining", &two_components).violation.unwrap();
        assert_eq!(violation.cause, Cause::Trouble(Trouble::Deadlock));
    }
}
