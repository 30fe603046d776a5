//! What a step did, what it follows from, and what of it matters.

use crate::relay::*;
use allways::prelude::*;
use allways::{Cause, PropertyKind};

fn changes(step: &allways::StoryStep) -> Vec<String> {
    step.changes.iter().filter(|c| !c.auxiliary).map(ToString::to_string).collect()
}

#[test]
fn a_step_says_what_it_changed_and_sent() {
    let system = relays(2).call(0, Do::Send(1, 100));
    let story = told(&system, vec![call(0, Do::Send(1, 100)), message(0, 1, 100)]);
    let step = &story.steps[1];
    assert_eq!(changes(step), ["last: None → Some(100)", "received: {} → {100: 1}"]);
    let auxiliary: Vec<_> = step.changes.iter().filter(|change| change.auxiliary).collect();
    assert_eq!(auxiliary.len(), 1);
    assert_eq!(auxiliary[0].to_string(), "seen: [] → [100]");
    assert_eq!(step.outputs, ["\"hundred\""]);
    let sent = &story.envelopes[step.sent[0]];
    assert_eq!((sent.from, sent.to, sent.what.as_str()), (Some(1), 0, "101"));
    assert_eq!(step.causes, [0]);
    assert!(story.steps.iter().all(|step| step.matters));
    assert_eq!(story.ending, None);
}

#[test]
fn a_timer_that_sets_itself_again_is_set() {
    let system = relays(2).call(0, Do::Wait).call(0, Do::Stop);
    let story = told(&system, vec![call(0, Do::Wait), timer(0), call(0, Do::Stop)]);
    assert_eq!(story.steps[0].timers_set, ["\"patience\""]);
    assert_eq!(story.steps[1].timers_set, ["\"patience\""]);
    assert_eq!(story.steps[1].timers_cancelled, [""; 0]);
    assert_eq!(story.steps[2].timers_cancelled, ["\"patience\""]);
}

#[test]
fn the_choice_that_was_made_is_the_one_that_is_told() {
    let system = relays(2).call(0, Do::Send(1, 50));
    for (choice, last) in [(0, "last: None → Some(50)"), (1, "received: {} → {50: 1}")] {
        let mut received = message(0, 1, 50);
        received.choices = vec![choice];
        let story = told(&system, vec![call(0, Do::Send(1, 50)), received]);
        assert_eq!(changes(&story.steps[1])[0], last);
    }
}

/// Nodes 0 and 1 are told different things by node 2; node 3 is told something, too.
fn disagreement() -> System<Relay> {
    let last = view(|r: &Relay| r.last);
    relays(4).call(2, Do::Send(0, 7)).call(2, Do::Send(1, 8)).call(3, Do::Send(3, 7)).always(
        "agreement",
        last,
        |last| last.iter().flatten().all_equal(),
    )
}

#[test]
fn the_nodes_that_disagree_are_to_blame_and_only_their_past_matters() {
    let events = vec![
        call(2, Do::Send(0, 7)),
        message(2, 0, 7),
        call(3, Do::Send(3, 7)),
        message(3, 3, 7),
        call(2, Do::Send(1, 8)),
        message(2, 1, 8),
    ];
    let story = violated(&disagreement(), "agreement", events);
    let ending = story.ending.as_ref().unwrap();
    assert_eq!(ending.reads, ["Some(7)", "Some(8)", "None", "Some(7)"]);
    assert_eq!(ending.reads_at_start, ["None"; 4]);
    assert_eq!(ending.culprits, [0, 1]);
    assert_eq!((ending.kind, &ending.cause), (Some(PropertyKind::Always), &Some(Cause::Always)));
    let matters: Vec<bool> = story.steps.iter().map(|step| step.matters).collect();
    assert_eq!(matters, [true, true, false, false, true, true]);
    let view = ("None".to_owned(), "Some(8)".to_owned());
    assert_eq!(story.steps[5].view, Some(view));
}

/// A counter: a call sets it, and tells the others if it rises; they set theirs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Counter(u8);

impl Node for Counter {
    type Msg = u8;
    type Timer = Never;
    type Call = u8;
    type Output = Never;
    fn on_message(&mut self, _: Id, msg: u8, _: &mut Cx<'_, Self>) {
        self.0 = msg;
    }
    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        if call > self.0 {
            cx.broadcast(call);
        }
        self.0 = call;
    }
}

/// Node 0 is called; node 1 may not see more than it.
fn not_ahead(system: System<Counter>) -> System<Counter> {
    system.always("not ahead", view(|c: &Counter| c.0), |counts| counts[1] <= counts[0])
}

#[test]
fn a_call_or_a_crash_that_takes_a_view_back_matters() {
    let counters = || System::new([Counter(0), Counter(0)]);
    let by_call = not_ahead(counters().calls_in_sequence([(0, 1), (0, 0)]));
    let by_crash = not_ahead(counters().call(0, 1).faults(Faults::none().crashes(1)));
    for (system, back) in [(by_call, "call 0"), (by_crash, "crashes")] {
        let story = system.check().story.expect("a violation");
        assert_eq!(story.ending.as_ref().unwrap().culprits, [0, 1]);
        assert_eq!(story.steps.len(), 3);
        assert!(story.steps.iter().all(|step| step.matters));
        let text = story.text(&allways::TextOptions::default());
        let line = text.lines().position(|line| line.ends_with(back)).expect(&text);
        assert!(text.lines().nth(line).unwrap().starts_with('▸'), "{text}");
        assert!(text.lines().nth(line + 1).unwrap().ends_with("Counter(1) → Counter(0)"), "{text}");
        assert!(text.contains("▸ node 0 sees 0, since step "), "{text}");
    }
}

#[test]
fn a_panic_is_told_up_to_the_handler_that_panics() {
    let system = relays(3).call(0, Do::Send(1, 13)).call(2, Do::Wait);
    let story = shortest(&system);
    assert_eq!(story.steps.len(), 2);
    let step = &story.steps[1];
    assert!(step.panic.as_ref().unwrap().starts_with("thirteen at "), "{:?}", step.panic);
    assert_eq!(step.after, "");
    let ending = story.ending.as_ref().unwrap();
    assert_eq!(Some(&ending.property), step.panic.as_ref());
    assert_eq!((ending.kind, &ending.cause), (None, &Some(Cause::Panic)));
    assert_eq!(ending.culprits, [1]);
}

#[test]
fn a_witness_has_a_story_of_its_own() {
    let system =
        relays(2)
            .call(0, Do::Send(1, 7))
            .sometimes("seven", view(|r: &Relay| r.last), |last| last.contains(&Some(7)));
    let outcome = system.try_check(&Options::default()).unwrap();
    assert_eq!(outcome.story, None);
    let ending = outcome.witnesses[0].story.as_ref().unwrap().ending.clone().unwrap();
    assert_eq!((ending.cause, ending.culprits.as_slice()), (None, [1].as_slice()));
}

/// Counts what is delivered to node 1.
struct Deliveries;

impl Observer<Relay> for Deliveries {
    type State = u32;
    fn start(&self) -> u32 {
        0
    }
    fn wants(&self, seen: &Seen<'_, Relay>) -> bool {
        matches!(seen, Seen::Delivery { node, .. } if node.index() == 1)
    }
    fn observe(&self, state: &mut u32, _: Seen<'_, Relay>) {
        *state += 1;
    }
}

#[test]
fn what_an_observer_saw_matters() {
    let system = relays(3)
        .call(0, Do::Tell(7))
        .observe(Deliveries)
        .always_observed("none", |count: &u32| *count == 0);
    let story = shortest(&system);
    assert_eq!(story.observers, ["Deliveries"]);
    assert_eq!(story.observer_starts, ["0"]);
    let ending = story.ending.as_ref().unwrap();
    assert_eq!((ending.observer, ending.reads.as_slice()), (Some(0), ["1".to_owned()].as_slice()));
    let moved = &story.steps[1].observed[0];
    assert_eq!((moved.observer, &*moved.before, &*moved.after), (0, "0", "1"));
    assert_eq!(story.steps[1].view, Some(("0".to_owned(), "1".to_owned())));
    assert!(story.steps.iter().all(|step| step.matters));
}

#[test]
fn nodes_that_choose_while_they_start_are_told_as_they_chose() {
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Coin(usize);
    impl Node for Coin {
        type Msg = u8;
        type Timer = u8;
        type Call = Never;
        type Output = usize;
        fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
            self.0 = cx.choose(3);
            cx.set_timer(9);
            cx.output(self.0);
            cx.broadcast(5);
        }
        fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) {}
    }
    let outcome = System::new([Coin(0), Coin(0)])
        .always("not (1, 2)", view(|c: &Coin| c.0), |coins| coins != [1, 2])
        .check();
    let story = outcome.story.unwrap();
    let states: Vec<&str> = story.starts.iter().map(|start| start.state.as_str()).collect();
    assert_eq!(states, ["Coin(1)", "Coin(2)"]);
    assert_eq!(story.starts[1].choices, [2]);
    assert_eq!(story.starts[1].timers, ["9"]);
    assert_eq!(story.starts[1].outputs, ["2"]);
    assert_eq!(story.envelopes[story.starts[1].sent[0]].to, 0);
}
