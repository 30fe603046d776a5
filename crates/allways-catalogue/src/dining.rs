//! Dining philosophers: threads that need two locks each.
//!
//! Philosophers sit around a table with a fork between any two neighbours. To eat, one takes both forks beside oneself, one after the
//! other, and puts both back. If all take the one on their left first, each may hold one and wait for ever for the
//! other. So they take the fork with the lower number first: that is the left one for all of them but the last.
//!
//! A fork is a mutex, and a mutex is shared by the threads of one process alone. So each of the `components` is a table of its own: a process
//! with its own philosophers and forks, that has nothing to do with the others.
//!
//! Two philosophers share each fork, and one of them has it first. Each of the 2ⁿ ways to decide that is an execution, but for the two in which
//! everybody waits for a neighbour, all around the table: 2ⁿ − 2. Tables have nothing to do with each other, but whoever does not know that goes
//! through all combinations: (2ⁿ − 2)ᵏ. That is what the paper on dynamic interface reduction is about.
//!
//! The problem is Dijkstra's ("Hierarchical ordering of sequential processes", 1971), and so is the order that solves it.

use crate::together::together;
use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::{Checkable, Error};
use allways_threads::Program;
use allways_threads::sync::Mutex;

pub(crate) const ENTRY: Entry = Entry {
    name: "dining",
    about: "dining philosophers: threads that need two locks each",
    parameters: &[
        Parameter {
            name: "philosophers",
            about: "how many sit at a table",
            kind: Kind::Number { default: 3, min: 2, max: 12 },
        },
        Parameter {
            name: "components",
            about: "how many tables there are, each a process with philosophers and forks of its own",
            kind: Kind::Number { default: 1, min: 1, max: 8 },
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

/// How often it was used to eat.
type Fork = Mutex<u32>;

/// The forks that a philosopher takes, in this order.
fn forks(philosopher: usize, philosophers: usize, same_order: bool) -> (usize, usize) {
    let (left, right) = (philosopher, (philosopher + 1) % philosophers);
    if same_order { (left, right) } else { (left.min(right), left.max(right)) }
}

/// What a process does: everybody at its table eats once.
fn dine(philosophers: usize, same_order: bool) {
    let table: Vec<Fork> = (0..philosophers).map(|_| Mutex::new(0)).collect();
    let names = (0..philosophers).map(|number| format!("philosopher {number}"));
    let (table, _) = together(names, table, move |table, number| {
        let (first, second) = forks(number, table.len(), same_order);
        let mut first = table[first].lock().unwrap();
        let mut second = table[second].lock().unwrap();
        *first += 1;
        *second += 1;
    });
    for fork in table {
        assert_eq!(fork.into_inner().unwrap(), 2, "each fork is used by two");
    }
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let (philosophers, tables) =
        (parameters.number("philosophers"), parameters.number("components"));
    let same_order = parameters.bug() == Some(SAME_ORDER);
    let dine = move || dine(philosophers, same_order);
    let program = match tables {
        1 => Program::new(dine),
        _ => (0..tables).fold(Program::of_processes(), |program, table| {
            program.process(format!("table {table}"), dine)
        }),
    };
    Ok(Box::new(program))
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
    fn tables_multiply() {
        let at = |philosophers, components| {
            executions("dining", &[("philosophers", philosophers), ("components", components)])
        };
        assert_eq!([at("2", "2"), at("2", "3"), at("3", "2")], [4, 8, 36]);
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
        let two_tables = [("bug", "same-order"), ("components", "2")];
        let violation = threads("dining", &two_tables).violation.unwrap();
        assert_eq!(violation.cause, Cause::Trouble(Trouble::Deadlock));
    }
}
