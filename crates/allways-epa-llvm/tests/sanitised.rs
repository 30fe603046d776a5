//! Programs that were instrumented, and what the analysis says of them: runs without a fault are the same when sanitised,
//! and whether that has to be so is found out.

mod common;

use allways_epa::compare::compare;
use allways_epa::determinism::hits;
use allways_epa::format::{DIRECTORY, ValueKind};
use allways_epa::reverse::{Options, Reversibility, check};
use allways_epa::sanitise::{ObjectKind, Sanitised, steps};
use allways_epa::trace::Trace;
use common::{build, directory, program, source};
use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

/// How often each program runs.
const RUNS: usize = 20;

/// A run without a fault.
fn recorded(executable: &Path) -> Trace {
    let directory = directory();
    let status = Command::new(executable).env(DIRECTORY, &directory).output().unwrap().status;
    assert!(status.success(), "{status}");
    Trace::gather(&directory).unwrap()
}

fn checked(trace: &Trace) -> Reversibility {
    check(&steps(trace).unwrap(), &Options::default()).unwrap()
}

/// Table 8: every raw trace differs from every other, and none of the sanitised ones.
fn is_the_same_each_time(name: &str) {
    let executable = build(&program(name), &[]);
    let golden = recorded(&executable);
    assert!(matches!(checked(&golden), Reversibility::Never { .. }), "{name}");
    let sanitised = Sanitised::new(&golden).unwrap();
    let raw = |trace: Trace| -> Vec<Vec<u8>> {
        trace.streams.into_iter().map(|stream| stream.bytes).collect()
    };
    let mut all = HashSet::from([raw(golden)]);
    for _ in 1..RUNS {
        let trace = recorded(&executable);
        let comparison = compare(&sanitised, &Sanitised::new(&trace).unwrap());
        assert!(comparison.is_same, "{name}: {}", comparison.first.unwrap());
        all.insert(raw(trace));
    }
    assert_eq!(all.len(), RUNS, "{name}: two raw traces are the same");
}

#[test]
fn quicksort_is_the_same_each_time() {
    is_the_same_each_time("quicksort.c");
}

#[test]
fn pca_is_the_same_each_time() {
    is_the_same_each_time("pca.c");
}

#[test]
fn kmeans_is_the_same_each_time() {
    is_the_same_each_time("kmeans.c");
}

#[test]
fn blackscholes_is_the_same_each_time() {
    is_the_same_each_time("blackscholes.c");
}

#[test]
fn swaptions_is_the_same_each_time() {
    is_the_same_each_time("swaptions.c");
}

/// Listings 4 to 7: the global, the objects of each thread, and no pair that can be reversed.
#[test]
fn the_example_of_the_thesis_has_its_objects_and_threads() {
    let trace = recorded(&build(&program("listing4.c"), &[]));
    assert!(matches!(checked(&trace), Reversibility::Never { .. }));
    let sanitised = Sanitised::new(&trace).unwrap();
    let mut names: Vec<&str> =
        sanitised.threads.iter().map(|thread| thread.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["T_0", "T_0_0", "T_0_1"]);
    let global = sanitised.objects.iter().find(|object| sanitised.object_name(object) == "arr");
    assert_eq!(global.map(|object| (object.kind, object.bytes)), Some((ObjectKind::Global, 8)));
    let mut text = Vec::new();
    sanitised.write_text(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    for line in ["store 3 arr", "store 6 arr+4", "load 3 arr", "store 4 arr", "store 5 arr+4"] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(text.contains("load T_0_0 T_0.o"), "{text}");
}

/// The line of the source of a step.
fn line(trace: &Trace, steps: &[allways_epa::step::Step], at: usize) -> u32 {
    steps[at].site.map_or(0, |site| trace.program.sites[site as usize].line)
}

#[test]
fn a_race_and_an_order_that_only_a_lock_makes_can_be_reversed() {
    for name in ["racy-counter.c", "reversible-queue.c"] {
        let trace = recorded(&build(&program(name), &[]));
        let steps = steps(&trace).unwrap();
        let Reversibility::Possible(witness) = checked(&trace) else {
            panic!("{name} is not pseudo-deterministic");
        };
        assert_eq!(witness.order.last(), Some(&witness.second), "{name}");
        assert!(!witness.order.contains(&witness.first), "{name}");
        assert_ne!(steps[witness.first].thread, steps[witness.second].thread, "{name}");
        assert!(line(&trace, &steps, witness.first) > 0, "{name}");
    }
}

#[test]
fn functions_that_are_not_deterministic_are_found() {
    let trace = recorded(&build(&program("uses-rand.c"), &[]));
    let hits = hits(&trace, &[], &[]).unwrap();
    assert!(hits.iter().any(|hit| hit.callee == "rand" && hit.count > 1), "{hits:?}");
}

/// Numbers that do not fit into 64 bits are compared, by a hash.
#[test]
fn wide_numbers_differ_where_they_are_different() {
    let text = "#include <stdlib.h>\nint main(int c, char **v) { volatile long double x = atoi(v[1]); \
                volatile __int128 y = x * 3; return y > 1000; }\n";
    let executable = build(&source("wide.c", text), &[]);
    let run = |argument: &str| {
        let directory = directory();
        Command::new(&executable).arg(argument).env(DIRECTORY, &directory).output().unwrap();
        Sanitised::new(&Trace::gather(&directory).unwrap()).unwrap()
    };
    let (one, again, other) = (run("5"), run("5"), run("6"));
    assert!(compare(&one, &again).is_same);
    // The place of the first deviation is the argument; those of wide numbers are among the others.
    let wide = |run: &Sanitised| {
        let mut found = Vec::new();
        let mut records = run.canonicals(0).unwrap();
        while let Some(record) = records.next() {
            let Some(site) = record.site else { continue };
            let kinds = &run.program().sites[site as usize].values;
            let values = kinds.iter().zip(record.values);
            found.extend(values.filter(|(kind, _)| **kind == ValueKind::Wide).map(|(_, v)| *v));
        }
        found
    };
    assert!(wide(&one).len() > 4);
    assert_eq!(wide(&one), wide(&again));
    // All but the constants.
    let (one, other) = (wide(&one), wide(&other));
    assert!(one.iter().zip(&other).filter(|(one, other)| one != other).count() > 4);
}
