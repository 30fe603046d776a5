//! Tools on programs small enough for each of them.

use crate::CASES;
use crate::in_allways::Allways;
use crate::in_loom::Loom;
use crate::in_shuttle::Shuttle;
use allways_bench::threads::program::Program;
use allways_bench::threads::tool::Tool;
use allways_bench::threads::{End, explore_once};

/// How an exploration ends, and how many executions there are.
fn explored<T: Tool>(program: Program) -> (End, u64) {
    let measured = explore_once::<T>(program, 100.0).unwrap();
    (measured.end, measured.executions)
}

#[test]
fn a_program_is_found_by_its_name_and_size() {
    for (program, _) in CASES {
        assert_eq!(Program::parse(program.name(), &program.size()), Some(program));
    }
    assert_eq!(Program::parse("counter", "3"), None);
}

#[test]
fn allways_explores_each_execution_once() {
    for (program, executions) in CASES {
        assert_eq!(explored::<Allways>(program), (End::Complete, executions), "{program:?}");
    }
}

#[test]
fn no_other_tool_explores_fewer() {
    for program in [Program::Counter { threads: 2, times: 1 }, Program::Readers(1)] {
        let (_, fewest) = explored::<Allways>(program);
        for (end, executions) in [explored::<Loom>(program), explored::<Shuttle>(program)] {
            assert_eq!(end, End::Complete);
            assert!(executions >= fewest, "{program:?}: {executions} and {fewest}");
        }
    }
}

#[test]
fn all_find_a_deadlock() {
    let deadlock = Program::Deadlock(2);
    assert_eq!(explored::<Allways>(deadlock).0, End::Deadlock);
    assert_eq!(explored::<Loom>(deadlock).0, End::Deadlock);
    assert_eq!(explored::<Shuttle>(deadlock).0, End::Deadlock);
}

#[test]
fn loom_has_at_most_five_threads() {
    assert_eq!(explored::<Loom>(Program::Writers(5)).0, End::TooManyThreads);
}
