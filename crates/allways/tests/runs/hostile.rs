//! Files that nobody wrote: valid runs, mutated. Nothing in them makes reading, replaying or
//! minimising panic.

use allways::prelude::*;
use allways::{MinimiseOptions, SavedRun};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// A node with everything that a run can be about.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Busy(u8);

impl Node for Busy {
    type Msg = String;
    type Timer = u8;
    type Call = u8;
    type Output = u8;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.0 = cx.choose(2) as u8;
        cx.set_timer(1);
    }

    fn on_message(&mut self, from: Id, msg: String, cx: &mut Cx<'_, Self>) {
        self.0 = self.0.saturating_add(1);
        if msg.len() < 4 {
            cx.send(from, msg + "\"");
        }
    }

    fn on_timer(&mut self, timer: u8, cx: &mut Cx<'_, Self>) {
        cx.broadcast("\n".to_owned());
        cx.output(timer);
    }

    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        self.0 = self.0.saturating_add(call * cx.choose(3) as u8);
    }
}

fn system() -> System<Busy> {
    System::new(vec![Busy(0); 3])
        .network(Network::ordered().drops(1))
        .faults(Faults::none().crashes(1).restarts().partition([vec![0], vec![1, 2]]))
        .calls_in_sequence([(0, 1), (1, 2)])
        .timers(2)
        .always("small", view(|n: &Busy| n.0), |views| views.iter().sum::<u8>() < 9)
        .never_stuck("lively", view(|n: &Busy| n.0), |_| true)
}

/// A run with many kinds of events.
static RUN: LazyLock<SavedRun> = LazyLock::new(|| {
    let found = |seed| {
        let options = Options {
            engine: Engine::Walk,
            threads: 1,
            seed,
            minimise: false,
            ..Options::default()
        };
        system().try_check(&options).unwrap()
    };
    let kinds = |outcome: &Outcome| {
        let run = outcome.violation.as_ref().map(|violation| &violation.run);
        let mut kinds: Vec<String> =
            run.iter().flat_map(|run| &run.events).map(|event| event.kind.to_string()).collect();
        kinds.sort();
        kinds.dedup();
        kinds.len()
    };
    let outcome = (0..50).map(found).max_by_key(kinds).unwrap();
    assert!(kinds(&outcome) >= 6);
    SavedRun::new("busy", [("nodes", "3")], &outcome).unwrap()
});

/// Whatever this is, it is dealt with; what can be read can be written and read again.
fn survives(text: &str) -> Result<bool, TestCaseError> {
    let Ok(saved) = SavedRun::from_json(text) else { return Ok(false) };
    let again = SavedRun::from_json(&saved.to_json());
    prop_assert_eq!(again.as_ref(), Ok(&saved));
    for said in [
        system().replay(&saved).map(|replayed| replayed.to_string()),
        system().minimise(&saved.violation, &quick()).map(|(_, summary)| summary.to_string()),
    ] {
        prop_assert!(!said.unwrap_or_else(|error| error.to_string()).is_empty());
    }
    Ok(true)
}

fn quick() -> MinimiseOptions {
    MinimiseOptions { max_candidates: 20, max_states: 20, ..MinimiseOptions::default() }
}

fn cases() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) }
}

/// Every place in a value.
fn places(value: &Value, at: String, all: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, format!("{at}/{index}"), all);
            }
        }
        Value::Object(fields) => {
            for (name, item) in fields {
                places(item, format!("{at}/{name}"), all);
            }
        }
        _ => {}
    }
    all.push(at);
}

/// Values that are wrong almost anywhere.
fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..5u64).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!("always")),
        Just(json!("never stuck")),
        Just(json!("panic")),
        Just(json!("message")),
        Just(json!("partition")),
        Just(json!("\"\\n\"")),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[0], [1], [0]])),
        Just(json!([0, 1, 2])),
    ]
}

#[test]
fn the_run_itself_still_violates() {
    assert!(survives(&RUN.to_json()).unwrap());
    assert!(system().replay(&RUN).unwrap().still_violates());
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn bytes_that_are_flipped(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = RUN.to_json().into_bytes();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        survives(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn text_that_is_cut(from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let text = RUN.to_json();
        let (from, to) = (from.index(text.len()), to.index(text.len()));
        let bytes = text.as_bytes();
        survives(&String::from_utf8_lossy(&bytes[..from]))?;
        let (from, to) = (from.min(to), from.max(to));
        let rest = [&bytes[..from], &bytes[to..]].concat();
        survives(&String::from_utf8_lossy(&rest))?;
    }

    #[test]
    fn values_that_are_swapped_deleted_or_replaced(
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>(), odd(), 0..4u8),
            1..4,
        ),
    ) {
        let mut run: Value = serde_json::from_str(&RUN.to_json()).unwrap();
        for (at, other, value, how) in changes {
            let mut all = Vec::new();
            places(&run, String::new(), &mut all);
            let (at, other) = (&all[at.index(all.len())], &all[other.index(all.len())]);
            match how {
                0 => *run.pointer_mut(at).unwrap() = value,
                1 => {
                    let copy = run.pointer(other).unwrap().clone();
                    *run.pointer_mut(at).unwrap() = copy;
                }
                2 => {
                    let (parent, name) = at.rsplit_once('/').unwrap_or_default();
                    match run.pointer_mut(parent) {
                        Some(Value::Object(fields)) => {
                            fields.remove(name);
                        }
                        Some(Value::Array(items)) => {
                            // The whole may have become a list, and has no place in itself.
                            if let Ok(place) = name.parse::<usize>() {
                                items.remove(place);
                            }
                        }
                        _ => {}
                    }
                }
                // An event out of its place: it parses, and may or may not apply.
                _ => {
                    if let Some(Value::Array(events)) = run.pointer_mut("/events") {
                        let last = events.len().saturating_sub(1);
                        if last > 0 {
                            events.swap(at.len() % last, last);
                        }
                    }
                }
            }
        }
        survives(&run.to_string())?;
    }
}
