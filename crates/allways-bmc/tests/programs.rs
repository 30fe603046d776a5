//! All programs in `programs/`: what comes of each of their properties, after how many steps, and what is proved.
//!
//! Every way to look for something says the same, and all states, one by one, say so as well.

use allways::{Checkable, MinimiseOptions, Verdict};
use allways_bmc::check::{Found, Options, Proof};
use allways_bmc::program::{Claim, Origin};
use allways_bmc::run::{End, enumerate};
use allways_bmc::{Model, Projection, lang, litmus};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// What is known of a program.
struct Known {
    /// The name of its file, without its end.
    name: &'static str,
    /// Up to how many steps it is looked at in every way; what comes later, in one way only.
    depth: usize,
    /// Up to how many steps proofs are tried. With 0, none are.
    prove: usize,
    /// The properties in order, and what comes of each.
    properties: &'static [(&'static str, Is)],
}

/// What comes of a property.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Is {
    /// Of the runs to its condition (or, for `always`, to where it does not hold) the shortest has so many steps.
    At(usize),
    /// There are none, and there is a proof.
    Proved(Proof),
    /// There are none of at most so many steps.
    Open,
}

use Is::{At, Open, Proved};

const fn induction(steps: usize) -> Is {
    Proved(Proof::Induction { steps })
}

const fn depends(depth: usize) -> Is {
    Proved(Proof::Depends { depth })
}

const fn ends(depth: usize) -> Is {
    Proved(Proof::Ends { depth })
}

#[rustfmt::skip]
const PROGRAMS: &[Known] = &[
    Known { name: "bakery", depth: 14, prove: 20, properties: &[("both_inside", ends(20)), ("overflow", ends(20)), ("same_number", At(8)), ("first_before_second", At(12))] },
    Known { name: "bakery-mutant", depth: 10, prove: 10, properties: &[("both_inside", At(8)), ("same_number", At(6))] },
    Known { name: "bounded-buffer", depth: 16, prove: 16, properties: &[("overflow", induction(14)), ("taken_from_nowhere", ends(16)), ("full", At(3)), ("second_arrives", At(6))] },
    Known { name: "bounded-buffer-mutant", depth: 18, prove: 18, properties: &[("overflow", At(9)), ("taken_from_nowhere", At(16)), ("full", At(4))] },
    Known { name: "dekker", depth: 12, prove: 20, properties: &[("both_inside", induction(16)), ("second_waits", At(3)), ("second_after_first", At(6))] },
    Known { name: "dekker-mutant", depth: 10, prove: 10, properties: &[("both_inside", At(4)), ("second_after_first", At(5))] },
    Known { name: "dining", depth: 10, prove: 0, properties: &[("neighbours_eat", Open)] },
    Known { name: "dining-mutant", depth: 11, prove: 0, properties: &[("neighbours_eat", At(10))] },
    Known { name: "figure13", depth: 6, prove: 6, properties: &[("untouched", At(2)), ("moved", At(3)), ("overwritten", At(4)), ("other", ends(4))] },
    Known { name: "filesystem", depth: 7, prove: 0, properties: &[("overflow", Open)] },
    Known { name: "filesystem-any", depth: 7, prove: 0, properties: &[("overflow", Open)] },
    Known { name: "indexer", depth: 10, prove: 40, properties: &[("collision", depends(0))] },
    Known { name: "litmus-4", depth: 11, prove: 0, properties: &[("found", At(19)), ("absent", Open)] },
    Known { name: "litmus-5", depth: 14, prove: 0, properties: &[("found", At(14)), ("absent", Open)] },
    Known { name: "litmus-6", depth: 14, prove: 0, properties: &[("found", At(14)), ("absent", Open)] },
    Known { name: "litmus-7", depth: 12, prove: 0, properties: &[("found", At(15)), ("absent", Open)] },
    Known { name: "litmus-8", depth: 14, prove: 0, properties: &[("found", At(10)), ("absent", Open)] },
    Known { name: "peterson", depth: 12, prove: 20, properties: &[("both_inside", induction(20)), ("inside", At(4))] },
    Known { name: "peterson-mutant", depth: 10, prove: 10, properties: &[("both_inside", At(6)), ("inside", At(5))] },
    Known { name: "reader-writer", depth: 12, prove: 17, properties: &[("disturbed", induction(10)), ("together", At(8)), ("written", At(1))] },
    Known { name: "reader-writer-mutant", depth: 12, prove: 0, properties: &[("disturbed", At(11)), ("together", At(8))] },
    Known { name: "ticket-lock", depth: 18, prove: 22, properties: &[("both_inside", ends(22)), ("too_many", ends(22)), ("queue", At(5)), ("around", At(18))] },
    Known { name: "ticket-lock-mutant", depth: 10, prove: 10, properties: &[("both_inside", At(8))] },
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("programs")
}

fn model(name: &str, constants: &[(String, i64)]) -> Model {
    let path = folder().join(format!("{name}.pbmc"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{name}: {why}"));
    match lang::compile(name, &source, constants) {
        Ok(program) => Model::new(program),
        Err(found) => {
            let all: Vec<String> =
                found.iter().map(|one| one.render(name, &source, false)).collect();
            panic!("{}", all.join("\n"));
        }
    }
}

/// What came of each property. What instructions check of themselves must hold, as far as it is known.
fn properties(model: &Model, found: &[Found]) -> Vec<(String, Is)> {
    let mut properties = Vec::new();
    for (goal, found) in model.goals().iter().zip(found) {
        let is = match found {
            Found::Run(witness) => At(witness.run.steps.len()),
            Found::Never(proof) => Proved(*proof),
            Found::Nothing { .. } => Open,
            Found::Stopped { .. } => panic!("nobody stopped it"),
        };
        match goal.origin {
            Origin::Property(_) => properties.push((goal.name.clone(), is)),
            Origin::Check(..) => assert!(!matches!(is, At(_)), "`{}` fails", goal.name),
        }
    }
    properties
}

fn known(program: &Known) -> Vec<(String, Is)> {
    program.properties.iter().map(|(name, is)| ((*name).to_owned(), *is)).collect()
}

/// The same without proofs and within fewer steps.
fn known_within(program: &Known, depth: usize) -> Vec<(String, Is)> {
    let within = |is| if matches!(is, At(steps) if steps <= depth) { is } else { Open };
    known(program).into_iter().map(|(name, is)| (name, within(is))).collect()
}

/// Up to how many steps there is something to see.
fn deepest(program: &Known) -> usize {
    let steps = |is: &Is| if let At(steps) = is { *steps } else { 0 };
    program.properties.iter().map(|(_, is)| steps(is)).max().unwrap_or(0)
}

#[test]
fn all_programs_are_known() {
    let mut there: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        there.push(name.strip_suffix(".pbmc").expect("only programs are here").to_owned());
    }
    there.sort();
    let known: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
    assert_eq!(there, known);
    for name in &there {
        assert!(!model(name, &[]).goals().is_empty(), "{name} has nothing to check");
    }
}

/// Projections and orders leave out runs, but of the shortest ones to a goal never all.
#[test]
fn all_ways_agree() {
    for program in PROGRAMS {
        let begin = Instant::now();
        let model = model(program.name, &[]);
        for projection in [Projection::Off, Projection::Reads, Projection::Live] {
            for order in [false, true] {
                let depth = match (projection, order) {
                    (Projection::Live, false) => deepest(program).max(program.depth),
                    _ => program.depth,
                };
                let options = Options { depth, projection, order, ..Options::default() };
                let checked = model.check(&options, &|_| ()).unwrap();
                assert_eq!(
                    properties(&model, &checked.looked.found),
                    known_within(program, depth),
                    "{} with {projection:?} and order: {order}",
                    program.name
                );
                check_violation(&model, program, checked.outcome);
            }
        }
        println!("{} in every way: {:?}", program.name, begin.elapsed());
    }
}

/// The violation is that of the property that is violated first, can be performed again, and cannot be made smaller.
fn check_violation(model: &Model, program: &Known, outcome: allways::Outcome) {
    let shortest =
        model.goals().iter().zip(program.properties).filter_map(|(goal, (_, is))| {
            match (model.claim(goal), is) {
                (Claim::Always | Claim::Never, At(steps)) => Some(*steps),
                _ => None,
            }
        });
    let Some(shortest) = shortest.min() else {
        assert_ne!(outcome.verdict, Verdict::Violated, "{}", program.name);
        return;
    };
    assert_eq!(outcome.verdict, Verdict::Violated, "{}", program.name);
    let violation = outcome.violation.expect("there is a run");
    assert_eq!(violation.run.events.len(), shortest, "{}", program.name);
    let (smaller, _) = model.minimise(&violation, &MinimiseOptions::default()).unwrap();
    assert_eq!(smaller.run.events.len(), shortest, "{}: there is none shorter", program.name);
    model.violation_story(&violation).unwrap();
}

/// No file meets another: that each is done after so many steps is enough, however the others move.
#[test]
fn processes_that_never_meet_are_looked_at_one_by_one() {
    let model = model("filesystem", &[("N".to_owned(), 2)]);
    let options = Options { depth: 20, prove: true, ..Options::default() };
    let checked = model.check(&options, &|_| ()).unwrap();
    assert_eq!(checked.outcome.verdict, Verdict::Holds);
    let found = properties(&model, &checked.looked.found);
    assert_eq!(found, [("overflow".to_owned(), depends(14))]);
}

/// What nobody has finished looking for is not said to be nowhere, in whichever way it is looked for.
#[test]
fn what_is_stopped_is_open() {
    let model = model("filesystem", &[]);
    for projection in [Projection::Off, Projection::Live] {
        for prove in [false, true] {
            let stop = vec![Arc::new(AtomicBool::new(true))];
            let options = Options { depth: 3, projection, prove, stop, ..Options::default() };
            let checked = model.check(&options, &|_| ()).unwrap();
            for (goal, found) in model.goals().iter().zip(checked.looked.found) {
                // What folds away needs no solver.
                let is_right = matches!(found, Found::Stopped { depth: None | Some(0) });
                assert!(is_right, "{}: {found:?}", goal.name);
            }
        }
    }
    let contended = self::model("filesystem-any", &[]);
    let time = Some(std::time::Duration::from_millis(200));
    let options = Options { depth: 60, at_once: true, time, ..Options::default() };
    let checked = contended.check(&options, &|_| ()).unwrap();
    assert_eq!(checked.looked.found[0], Found::Stopped { depth: None });
}

/// What is proved, and how.
#[test]
fn proofs() {
    for program in PROGRAMS.iter().filter(|program| program.prove > 0) {
        let begin = Instant::now();
        let model = model(program.name, &[]);
        let options = Options { depth: program.prove, prove: true, ..Options::default() };
        let checked = model.check(&options, &|_| ()).unwrap();
        println!("{} proved: {:?}", program.name, begin.elapsed());
        let found = properties(&model, &checked.looked.found);
        assert_eq!(found, known(program), "{}", program.name);
        if !program.name.ends_with("-mutant") {
            assert_eq!(checked.outcome.verdict, Verdict::Holds, "{}", program.name);
        }
        check_violation(&model, program, checked.outcome);
    }
}

/// How many states are looked at one by one.
const STATES: usize = 5_000;

/// Enumeration of states, which shares nothing with the solvers, knows of the same shortest runs.
#[test]
fn all_states_agree() {
    for program in PROGRAMS {
        let begin = Instant::now();
        let model = model(program.name, &[]);
        let all = enumerate(model.program(), model.goals(), usize::MAX - 1, STATES).unwrap();
        for (goal, (name, is)) in program.properties.iter().enumerate() {
            let context = || format!("{name} of {}", program.name);
            match (is, all.steps(goal)) {
                (At(known), steps @ Some(_)) => assert_eq!(steps, Some(*known), "{}", context()),
                (At(known), None) => {
                    assert!(all.end == End::Limit && all.depth() <= *known, "{}", context());
                }
                (Proved(_), steps) => assert_eq!(steps, None, "{}", context()),
                (Open, steps) => {
                    assert!(steps.is_none_or(|steps| steps > program.depth), "{}", context());
                }
            }
        }
        println!(
            "{}: {} states within {} steps, {:?}: {:?}",
            program.name,
            all.states(),
            all.depth(),
            all.end,
            begin.elapsed()
        );
    }
}

/// The litmus programs are what is made from their number of processes and the seed 1. With `ALLWAYS_WRITE`, they are
/// written.
#[test]
fn litmus_programs_are_as_generated() {
    for processes in 4..=8 {
        let path = folder().join(format!("litmus-{processes}.pbmc"));
        let made = litmus::source(processes, 1);
        if std::env::var_os("ALLWAYS_WRITE").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), made, "{}", path.display());
    }
}

/// The violation of the philosophers is as deep for any number of them.
#[test]
fn two_philosophers_are_enough() {
    for count in [2, 3, 6] {
        let mut model = model("dining-mutant", &[("N".to_owned(), count)]);
        model.keep(&["neighbours_eat".to_owned()]).unwrap();
        let checked = model.check(&Options::default(), &|_| ()).unwrap();
        assert_eq!(properties(&model, &checked.looked.found)[0].1, At(10), "of {count}");
    }
}
