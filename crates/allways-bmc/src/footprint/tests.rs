use super::{Footprints, Part, Seed, Slice, parts, slice};
use crate::lang::compile;
use crate::program::{Claim, Origin, Program};
use crate::solve::Stop;

const DEPTH: usize = 50;

fn program(source: &str) -> Program {
    compile("test", source, &[]).unwrap_or_else(|found| panic!("{found:?}"))
}

/// The texts of the instructions that a property depends on, by process, if it is followed for so many steps.
fn texts_within(source: &str, depth: usize) -> Vec<Vec<String>> {
    let program = program(source);
    let footprints = Footprints::new(&program, depth, &Stop::default()).expect("it is little work");
    let seed = Seed::new(&footprints, Origin::Property(0), program.properties[0].condition);
    let slice: Slice = slice(&footprints, &seed);
    let processes = program.processes.iter().zip(slice);
    let texts = processes.map(|(process, slice)| {
        let code = process.code.iter().zip(slice);
        code.filter(|(_, is_in)| *is_in).map(|(at, _)| at.text.clone()).collect()
    });
    texts.collect()
}

fn texts(source: &str) -> Vec<Vec<String>> {
    texts_within(source, DEPTH)
}

#[test]
fn elements_that_only_one_process_touches_are_nobody_elses() {
    let all = texts(
        "shared uint<4> a[4];
         process P[i in 0..3] { uint<2> k; uint<4> t; k = i; a[k] = 1; k = k + 1; t = a[k - 1]; }
         never met: P[1].t == 5;",
    );
    assert!(all[0].is_empty() && all[2].is_empty(), "{all:?}");
    assert_eq!(all[1].len(), 4);
}

#[test]
fn an_element_that_two_processes_touch_brings_in_what_leads_to_it() {
    let all = texts(
        "shared uint<4> a[4]; shared bool done;
         process P[i in 0..3] { uint<2> k; uint<4> t; k = i / 2; a[k] = a[k] + 1; t = a[k]; done = true; }
         never met: P[0].t == 5;",
    );
    // Process 1 has the same element, process 2 another; what comes after the last write that matters is left out.
    assert_eq!(all[0].len(), 3, "{all:?}");
    assert_eq!(all[1], all[0][..2], "{all:?}");
    assert!(all[2].is_empty(), "{all:?}");
}

#[test]
fn an_index_that_others_write_may_be_any() {
    let all = texts(
        "shared uint<4> a[4]; shared uint<2> k;
         process P { uint<4> t; t = a[k]; }
         process Q { k = 3; a[1] = 7; }
         process R { a[2] = 7; }
         never met: P.t == 7;",
    );
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 1], "{all:?}");
    // Nobody writes it: it is 0.
    let all = texts(
        "shared uint<4> a[4]; shared uint<2> k;
         process P { uint<4> t; t = a[k]; }
         process R { a[2] = 7; }
         never met: P.t == 7;",
    );
    assert!(all[1].is_empty(), "{all:?}");
}

#[test]
fn what_may_happen_or_not_is_not_known_afterwards() {
    let source = |how: &str| {
        format!(
            "shared uint<4> a[4];
             process P {{ uint<2> k; bool c; uint<4> t; {how} t = a[k]; }}
             process Q {{ a[1] = 7; }}
             never met: P.t == 7;"
        )
    };
    assert!(texts(&source("c = false; if (c) { k = 1; }"))[1].is_empty());
    assert_eq!(texts(&source("c = *; if (c) { k = 1; }"))[1].len(), 1);
    assert_eq!(texts(&source("c = *; atomic { if (c) { k = 1; } }"))[1].len(), 1);
    assert_eq!(texts(&source("k = *;"))[1].len(), 1);
}

#[test]
fn what_takes_more_steps_than_there_are_does_not_count() {
    let source = "
        shared uint<4> a;
        process P { uint<4> t; t = a; }
        process Q { uint<4> n; while (n < 5) { n = n + 1; } a = 1; }
        never met: P.t == 1;";
    assert_eq!(texts_within(source, 50)[1].len(), 3);
    assert!(texts_within(source, 11)[1].is_empty());
    assert_eq!(texts_within(source, 12)[1].len(), 3);
}

#[test]
fn a_process_with_too_many_states_is_followed_without_values() {
    let all = texts_within(
        "shared uint<4> a[4];
         process P { uint<4> t; t = a[0]; }
         process Q { uint<32> n; uint<2> k; k = 1; while (true) { n = n + 1; a[k] = 1; } }
         never met: P.t == 1;",
        1_000_000,
    );
    assert_eq!(all[1].len(), 3, "{all:?}");
}

#[test]
fn where_others_stand_is_what_they_do() {
    let all = texts(
        "shared uint<4> a, b;
         process P { uint<4> t; t = 1; }
         process Q { a = 1; here: b = 1; }
         never met: P.t == 1 && Q@here;",
    );
    assert_eq!(all[1].len(), 2, "{all:?}");
}

#[test]
fn a_dependency_against_the_order_of_the_code_is_followed() {
    let all = texts(
        "shared uint<4> a, b, c, d; process P { a = b; b = c; c = 1; d = 1; } process Q { c = 2; d = 2; }
         never met: a == 1;",
    );
    // In which order a process does what it does is not looked at.
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1], "{all:?}");
}

#[test]
fn an_element_with_a_constant_index_is_one_element() {
    let all = texts(
        "shared uint<4> a[4]; process P[i in 0..4] { a[i] = 1; }
         never met: a[2] == 1;",
    );
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [0, 0, 1, 0], "{all:?}");
}

#[test]
fn too_much_work_is_given_up() {
    let branches = "or { skip; } ".repeat(3_000);
    let arrays: String = (0..10).map(|number| format!("shared bool a{number}[4096]; ")).collect();
    let wide = program(&format!(
        "{arrays} process P {{ either {{ skip; }} {branches} }} never met: a0[0];"
    ));
    let footprints = Footprints::new(&wide, DEPTH, &Stop::default());
    assert!(footprints.is_some(), "a process is followed without values where there are too many");
    let long = program(
        "shared uint<32> n; process P {
             while (forall j in 0..100: forall k in 0..100: n != j * 100 + k + 100000000) { n = n + 1; } }
         never met: n == 99;",
    );
    assert!(Footprints::new(&long, usize::MAX, &Stop::default()).is_none());
}

#[test]
fn conditions_of_which_one_must_hold_are_told_apart() {
    let whole = program(
        "shared bool a, b, c; process P { a = true; }
         never one: a || b && c || !(a && (b || c));
         always other: a && (b || c);",
    );
    let count = |place: usize| {
        let property = &whole.properties[place];
        let mut exprs = whole.exprs.clone();
        let target = match property.claim {
            Claim::Always => exprs.not(property.condition),
            _ => property.condition,
        };
        parts(&exprs, target)
    };
    // a, b && c, !a, !(b || c).
    let one: Vec<Part> = count(0);
    assert_eq!(one.iter().filter(|part| part.is_negated).count(), 2, "{one:?}");
    assert_eq!(one.len(), 4, "{one:?}");
    assert_eq!(count(1).len(), 2);
}
