//! The test that a run is made into: it compiles as it is written once there are a node and a
//! system, fails while the bug exists, passes when it is gone, and says so when the run no longer
//! applies.

use allways::prelude::*;
use allways::{About, Format};
use std::cell::Cell;
use std::panic::catch_unwind;

/// Keeps what it is told.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct MyNode {
    value: u8,
    most: u8,
}

impl Node for MyNode {
    type Msg = u8;
    type Timer = Never;
    type Call = u8;
    type Output = Never;
    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        cx.broadcast(call);
    }
    fn on_message(&mut self, _: Id, value: u8, _: &mut Cx<'_, Self>) {
        self.value = value.min(self.most);
    }
}

thread_local! {
    /// What the code is like at the moment: the largest value that is kept, and the call.
    static CODE: Cell<(u8, u8)> = const { Cell::new(REPAIRED) };
}
const REPAIRED: (u8, u8) = (4, 7);
const BROKEN: (u8, u8) = (99, 7);
const CALLS_ANOTHER: (u8, u8) = (99, 3);

fn my_system() -> System<MyNode> {
    let (most, call) = CODE.get();
    System::new([MyNode { value: 0, most }, MyNode { value: 0, most }]).call(0, call).always(
        "values are small",
        view(|n: &MyNode| n.value),
        |v| v.iter().all(|v| *v < 5),
    )
}

// As it was written, with a test in it that runs against the repaired code.
include!("generated.rs");

/// What the test says of other code; `None` if it passes.
fn complaint(code: (u8, u8)) -> Option<String> {
    CODE.set(code);
    let complaint = catch_unwind(values_are_small_holds_in_this_run).err();
    CODE.set(REPAIRED);
    complaint.map(|complaint| complaint.downcast_ref::<String>().unwrap().clone())
}

#[test]
fn the_test_fails_while_the_bug_exists() {
    let said = complaint(BROKEN).expect("the test fails");
    assert!(said.contains("still violates: always `values are small`"), "{said}");
}

#[test]
fn the_test_passes_when_the_bug_is_gone() {
    assert_eq!(complaint(REPAIRED), None);
}

#[test]
fn the_test_says_when_its_run_no_longer_applies() {
    let said = complaint(CALLS_ANOTHER).expect("the test fails");
    assert!(said.contains("no longer applies at event 1"), "{said}");
    assert!(said.contains("tests nothing any more"), "{said}");
}

#[test]
fn the_test_is_what_the_run_is_rendered_as() {
    CODE.set(BROKEN);
    let outcome = my_system().check();
    CODE.set(REPAIRED);
    let mut saved = SavedRun::new("values", [("nodes", "2")], &outcome).unwrap();
    "allways".clone_into(&mut saved.tool);
    let about = About::default().system("values").parameter("nodes", "2").saved(saved.to_json());
    let written = outcome.story.unwrap().render(Format::Test, &about);
    assert_eq!(written, include_str!("generated.rs"), "\n{written}");
}
