//! What is said of a saved run when the code is another than the one that it was saved from.

use allways::prelude::*;
use allways::{Cause, MinimiseOptions, Replayed, SavedRun};

/// A node that passes a number on to the next node, and keeps the largest; how is up to the version
/// of the code.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Passer {
    most: u8,
    code: Code,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Code {
    /// As it was when the run was saved.
    Saved,
    /// Passes twice the number on.
    Doubles,
    /// Keeps nothing.
    Forgets,
    /// Keeps half the number.
    Halves,
    /// Keeps ten times the number.
    Exaggerates,
    /// Panics on the last number.
    Panics,
    /// Does not choose.
    Decided,
    /// Ignores messages.
    Deaf,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Pass(u8);

impl Node for Passer {
    type Msg = Pass;
    type Timer = Never;
    type Call = u8;
    type Output = Never;

    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        let more = if self.code == Code::Decided { 1 } else { cx.choose(3) as u8 };
        let pass = if self.code == Code::Doubles { 2 * call } else { call };
        cx.send(1, Pass(pass + more));
    }

    fn on_message(&mut self, _: Id, Pass(number): Pass, cx: &mut Cx<'_, Self>) {
        match self.code {
            Code::Deaf => return,
            Code::Forgets => {}
            Code::Halves => self.most = self.most.max(number / 2),
            Code::Exaggerates => self.most = self.most.max(10 * number),
            _ => self.most = self.most.max(number),
        }
        if cx.id().index() == 1 {
            cx.send(2, Pass(number));
        }
        assert!(self.code != Code::Panics || cx.id().index() == 1, "no more numbers");
    }
}

fn system(code: Code) -> System<Passer> {
    System::new(vec![Passer { most: 0, code }; 3])
        .call(0, 5)
        .always("small", view(|n: &Passer| n.most), |most| most[2] < 6)
        .never_stuck("moves", view(|n: &Passer| n.most), |_| true)
}

fn saved() -> SavedRun {
    let saved =
        SavedRun::new("passers", [("code", "saved")], &system(Code::Saved).check()).unwrap();
    assert_eq!(saved.violation.run.events.len(), 3);
    assert_eq!(saved.violation.run.events[0].choices, [1]);
    saved
}

fn said(code: Code) -> String {
    system(code).replay(&saved()).unwrap().to_string()
}

#[test]
fn the_same_code_still_violates() {
    assert_eq!(
        said(Code::Saved),
        "still violates: always `small`, after 3 events\n  node 0: 0\n  node 1: 6\n  node 2: 6\n"
    );
}

#[test]
fn a_property_that_holds_at_the_end_is_no_longer_violated() {
    assert_eq!(said(Code::Halves), "no longer violates: `small` holds at its end\n");
    system(Code::Halves).replay(&saved()).unwrap().assert_no_longer_violates();
}

#[test]
fn an_event_that_reads_otherwise_is_shown_beside_what_can_happen() {
    assert_eq!(
        said(Code::Doubles),
        "no longer applies at event 2: node 1 receives Pass(6) from node 0: it cannot happen\n  what can happen there: node 1 receives Pass(11) from node 0\n"
    );
}

#[test]
fn a_choice_that_is_no_longer_there_is_named() {
    assert_eq!(
        said(Code::Decided),
        "no longer applies at event 1: node 0 is called: 5, choosing [1]: its handler cannot choose this any more\n  what can happen there: node 0 is called: 5\n"
    );
}

#[test]
fn a_delivery_that_changes_nothing_any_more_does_not_end_the_run() {
    // Node 2 ignores what it receives: the fix of many a bug.
    assert_eq!(
        said(Code::Forgets),
        "no longer violates: `small` holds at its end; event 3 changes nothing any more\n"
    );
    system(Code::Forgets).replay(&saved()).unwrap().assert_no_longer_violates();
    // Node 1 ignores it, so there is nothing for node 2 to receive.
    assert_eq!(
        said(Code::Deaf),
        "no longer applies at event 3: node 2 receives Pass(6) from node 1: it cannot happen\n"
    );
}

#[test]
fn a_panic_on_the_way_ends_the_run() {
    let said = said(Code::Panics);
    assert!(
        said.starts_with("no longer applies at event 3: node 2 receives Pass(6) from node 1: its handler panics: no more numbers at "),
        "{said}"
    );
}

#[test]
fn a_violation_that_comes_earlier_is_one() {
    let mut run = saved();
    let again = SavedRun::new("passers", [("", ""); 0], &system(Code::Saved).check()).unwrap();
    // The run goes on after it violates.
    run.violation.run.events.push(again.violation.run.events[2].clone());
    match system(Code::Exaggerates).replay(&run).unwrap() {
        Replayed::StillViolates { violation } => {
            assert_eq!(violation.run.events.len(), 3);
            assert_eq!(violation.reads, ["0", "60", "60"]);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_panic_still_panics_or_does_not() {
    let panicking = system(Code::Panics);
    let outcome = panicking.check();
    assert_eq!(outcome.violation.as_ref().unwrap().cause, Cause::Panic);
    let saved = SavedRun::new("passers", [("", ""); 0], &outcome).unwrap();
    let said = panicking.replay(&saved).unwrap().to_string();
    assert!(said.starts_with("still violates: a panic: no more numbers at "), "{said}");
    let replayed = system(Code::Saved).replay(&saved).unwrap();
    assert_eq!(replayed.to_string(), "no longer violates: no handler panics\n");
}

#[test]
fn an_end_that_is_no_longer_terminal_is_none() {
    let stuck = |calls: usize| {
        let system = System::new([Passer { most: 0, code: Code::Decided }]);
        let call = |system: System<Passer>, _| system.call(0, 0);
        let system = (0..calls).fold(system, call);
        system.never_stuck("goes on", view(|n: &Passer| n.most), |_| false)
    };
    // A single node: what it sends to node 1 cannot be sent, so calls panic; without calls it is stuck.
    let saved = SavedRun::new("stuck", [("", ""); 0], &stuck(0).check()).unwrap();
    assert_eq!(saved.violation.cause, Cause::Stuck);
    assert!(stuck(0).replay(&saved).unwrap().still_violates());
    assert_eq!(
        stuck(1).replay(&saved).unwrap().to_string(),
        "no longer violates: `goes on` forbids its end only if it is terminal, and it is not\n"
    );
}

#[test]
fn a_property_of_another_kind_is_refused() {
    let mut run = saved();
    run.violation.property = "moves".to_owned();
    let error = system(Code::Saved).replay(&run).unwrap_err().to_string();
    assert_eq!(
        error,
        "the run violates `moves` as a property of kind `always`, but the system has it as `never stuck`"
    );
    run.violation.cause = Cause::NeverReached;
    let error = system(Code::Saved).replay(&run).unwrap_err().to_string();
    assert_eq!(error, "a `sometimes` property that is never reached has no run");
}

#[test]
#[should_panic(expected = "the saved run still violates: always `small`, after 3 events")]
fn a_test_of_a_saved_run_fails_while_the_bug_exists() {
    system(Code::Saved).replay(&saved()).unwrap().assert_no_longer_violates();
}

#[test]
#[should_panic(expected = "it tests nothing any more: save a new run or remove it")]
fn a_test_of_a_saved_run_fails_when_the_run_no_longer_applies() {
    system(Code::Doubles).replay(&saved()).unwrap().assert_no_longer_violates();
}

/// Chooses how it starts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Starter {
    chosen: usize,
    ways: usize,
}

impl Node for Starter {
    type Msg = Never;
    type Timer = Never;
    type Call = ();
    type Output = Never;
    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.chosen = cx.choose(self.ways);
    }
    fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
        match msg {}
    }
}

fn starters(ways: [usize; 2]) -> System<Starter> {
    System::new(ways.map(|ways| Starter { chosen: 0, ways })).always(
        "not both",
        view(|n: &Starter| n.chosen),
        |chosen| chosen != [1, 1],
    )
}

#[test]
fn a_start_with_another_number_is_minimised_and_told_as_it_is_now() {
    let saved = SavedRun::new("starters", [("", ""); 0], &starters([2, 2]).check()).unwrap();
    let now = starters([2, 3]);
    let Replayed::StillViolates { violation } = now.replay(&saved).unwrap() else { panic!() };
    assert_eq!(violation.run.start, 4);
    let options = MinimiseOptions::default();
    for violation in [&saved.violation, &violation] {
        let (smaller, _) = now.minimise(violation, &options).unwrap();
        assert_eq!(smaller.run.start_choices, [[1], [1]]);
        let story = now.violation_story(violation).unwrap();
        assert_eq!(story.starts[1].choices, [1]);
    }
    // In the first initial state with its number, both choose nothing of the kind.
    let never = starters([4, 1]);
    for error in [
        never.minimise(&saved.violation, &options).unwrap_err(),
        never.violation_story(&saved.violation).unwrap_err(),
    ] {
        let expected =
            "the run is not one of this system: the nodes cannot choose this while they start";
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn the_start_is_found_by_what_was_chosen_and_not_by_its_number() {
    let saved = SavedRun::new("starters", [("", ""); 0], &starters([2, 2]).check()).unwrap();
    let run = &saved.violation.run;
    assert_eq!((run.start, run.start_choices.clone()), (3, vec![vec![1], vec![1]]));
    // With one way more to start, the initial state has another number.
    let replayed = starters([2, 3]).replay(&saved).unwrap();
    assert_eq!(
        replayed.to_string(),
        "still violates: always `not both`, at the start\n  node 0: 1\n  node 1: 1\n"
    );
    let replayed = starters([2, 1]).replay(&saved).unwrap();
    assert_eq!(
        replayed.to_string(),
        "no longer applies at the start: the nodes cannot choose this while they start\n"
    );
}
