//! The page about the language shows programs that are right.

use super::lowering::compiled;

const PAGE: &str = include_str!("../../../../docs/src/bmc-language.md");

/// The text between the fences of each example.
fn examples() -> Vec<&'static str> {
    PAGE.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_first_example_is_a_program() {
    let program = compiled(examples()[0]);
    assert_eq!((program.processes.len(), program.properties.len()), (2, 2));
}

#[test]
fn declarations_and_properties_of_the_page_are_right() {
    let find = |start: &str| {
        let found = examples().into_iter().find(|example| example.starts_with(start));
        found.unwrap_or_else(|| panic!("no example starts with {start}"))
    };
    let constants = find("const N = 4");
    let variables = find("shared uint<4> x");
    let properties = find("always mutual_exclusion");
    compiled(&format!(
        "{constants}{variables}{properties}
         process Main {{ skip; }} process P[i in 0..N] {{ uint<4> t; skip; }}"
    ));
    let block = find("atomic {");
    compiled(&format!(
        "{constants} shared uint<4> count; shared uint<4> item; shared uint<4> B[N];
         process P {{ {block} }}"
    ));
}

#[test]
fn statements_of_the_page_are_right() {
    let table = PAGE.split("| statement | what it does |").nth(1).expect("there is a table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let code: Vec<_> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert!(code.len() > 15, "{code:?}");
    let code = code.join("\n").replace('…', "skip;").replace("atomic {skip;}", "atomic { x = 1; }");
    compiled(&format!(
        "const N = 3; shared uint<4> x; shared int<8> B[4]; shared bool c, d; mutex m, forks[N];
         process P[i in 0..N] {{ {code} }}"
    ));
}
