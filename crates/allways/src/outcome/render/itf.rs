//! A trace in the ITF format of Apalache, which Quint's tools and others read: JSON with a
//! variable for each node, each observer, and what is in flight. Threads have no state that is shown: the variable of each is
//! what it did last, in words.
//!
//! ITF has types, `Debug` has none, so they are guessed from everything that is ever shown at one
//! place. A name that is always the same is that of a struct, which becomes a record or a tuple;
//! names that differ are those of variants. `{}` is a map if a map is ever shown there, otherwise
//! a set. Integers are written as the format asks, as `#bigint`, however small they are.

use super::About;
use super::moments::moments;
use super::words::headline;
use crate::json::{Map, ToJson, Value, json};
use crate::outcome::shown::Shown;
use crate::outcome::story::Story;
use std::collections::{HashMap, HashSet};

/// Variants that are known as such even if the others are never shown.
const VARIANTS: [&str; 4] = ["None", "Some", "Ok", "Err"];

/// The story as one JSON object and a newline.
pub(super) fn render(story: &Story, about: &About) -> String {
    let moments = moments(story);
    let mut types = Types::default();
    for moment in &moments {
        moment.states.iter().for_each(|state| types.learn("node", &Shown::read(state)));
        for (index, state) in moment.observers.iter().enumerate() {
            types.learn(&format!("observer {index}"), &Shown::read(state));
        }
        for timer in moment.timers.iter().flatten() {
            types.learn("timer", &Shown::read(timer));
        }
    }
    for envelope in &story.envelopes {
        types.learn(place_of(envelope.from), &Shown::read(&envelope.what));
    }

    let threads = story.is_of_threads();
    let what = if threads { "thread" } else { "node" };
    let node_names: Vec<String> = (0..story.starts.len()).map(|n| format!("{what}_{n}")).collect();
    let observer_names = (0..story.observer_starts.len()).map(|n| format!("observer_{n}"));
    let observer_names: Vec<String> = observer_names.collect();
    let who = |node: Option<usize>| node.map_or("driver".to_owned(), |n| format!("{what}_{n}"));
    let states = moments.iter().enumerate().map(|(index, moment)| {
        let mut state = Map::new();
        let event = match index.checked_sub(1) {
            None => "the start".to_owned(),
            Some(step) => story.steps[step].event.to_string(),
        };
        state.insert("#meta".to_owned(), json!({ "index": index, "event": event }));
        for (name, text) in node_names.iter().zip(&moment.states) {
            let value = match threads {
                true => text.to_json(),
                false => types.value("node", &Shown::read(text)),
            };
            state.insert(name.clone(), value);
        }
        for (index, (name, text)) in observer_names.iter().zip(&moment.observers).enumerate() {
            let place = format!("observer {index}");
            state.insert(name.clone(), types.value(&place, &Shown::read(text)));
        }
        let in_flight = moment.in_flight.iter().map(|&index| {
            let envelope = &story.envelopes[index];
            let what = types.value(place_of(envelope.from), &Shown::read(&envelope.what));
            json!({ "from": who(envelope.from), "to": who(Some(envelope.to)), "what": what })
        });
        state.insert("in_flight".to_owned(), Value::Array(in_flight.collect()));
        if threads {
            return Value::Object(state);
        }
        let names = node_names.iter().zip(&moment.up);
        let up: Vec<&String> = names.filter(|(_, up)| **up).map(|(name, _)| name).collect();
        state.insert("up".to_owned(), json!({ "#set": up }));
        let timers = node_names.iter().zip(&moment.timers).map(|(name, timers)| {
            let timers = timers.iter().map(|timer| types.value("timer", &Shown::read(timer)));
            json!([name, json!({ "#set": timers.collect::<Vec<_>>() })])
        });
        state.insert("timers".to_owned(), json!({ "#map": timers.collect::<Vec<_>>() }));
        Value::Object(state)
    });
    let states: Vec<Value> = states.collect();
    // Threads have no timers, and are never down.
    let others = ["in_flight", "up", "timers"].into_iter().take(if threads { 1 } else { 3 });
    let others = others.map(str::to_owned);
    let vars: Vec<String> =
        node_names.iter().chain(&observer_names).cloned().chain(others).collect();
    let violated = story.ending.as_ref().is_some_and(|ending| ending.cause.is_some());
    let mut meta = Map::from(
        [
            ("format", "ITF"),
            ("format-description", "https://apalache-mc.org/docs/adr/015adr-trace.html"),
            ("description", &headline(story)),
            ("source", &about.title()),
            ("status", if violated { "violation" } else { "ok" }),
        ]
        .map(|(name, text)| (name.to_owned(), text.to_json())),
    );
    if threads {
        let names = node_names.into_iter().zip(&story.nodes);
        let names = names.map(|(variable, name)| (variable, name.to_json()));
        meta.insert("threads".to_owned(), Value::Object(names.collect()));
    }
    let trace = json!({ "#meta": Value::Object(meta), "vars": vars, "states": states });
    format!("{trace:#}\n")
}

/// Calls and messages are different types.
fn place_of(from: Option<usize>) -> &'static str {
    if from.is_some() { "message" } else { "call" }
}

/// What was shown at each place: a place is the way from a variable to a part of it.
#[derive(Default)]
struct Types {
    names: HashMap<String, HashSet<String>>,
    maps: HashSet<String>,
}

impl Types {
    /// Learns from a value shown at a place.
    fn learn(&mut self, place: &str, value: &Shown) {
        if let Some(name) = name(value) {
            self.names.entry(place.to_owned()).or_default().insert(name.to_owned());
        }
        if matches!(value, Shown::Map(_)) {
            self.maps.insert(place.to_owned());
        }
        parts(place, value, &mut |place, part| self.learn(place, part));
    }

    /// Whether the name of what is shown there says which variant it is.
    fn is_variant(&self, place: &str, name: &str) -> bool {
        VARIANTS.contains(&name) || self.names.get(place).is_some_and(|names| names.len() > 1)
    }

    /// The value as ITF.
    fn value(&self, place: &str, value: &Shown) -> Value {
        let mut values = Vec::new();
        parts(place, value, &mut |place, part| values.push(self.value(place, part)));
        match value {
            Shown::Text(text) => unescaped(text).to_json(),
            Shown::Atom(text) => match name(value) {
                Some(name) => json!({ "tag": name, "value": nothing() }),
                None => atom(text),
            },
            Shown::Struct { name, fields } => {
                let names = fields.iter().map(|(field, _)| field.clone());
                // A field without a name is the `..` at the end.
                let record = names.zip(values).filter(|(field, _)| !field.is_empty());
                let record = Value::Object(record.collect());
                self.named(place, name, record)
            }
            Shown::Tuple { name, .. } if name.is_empty() => json!({ "#tup": values }),
            Shown::Tuple { name, .. } => {
                let payload = match values.len() {
                    1 => values.remove(0),
                    _ => json!({ "#tup": values }),
                };
                self.named(place, name, payload)
            }
            Shown::List(_) => Value::Array(values),
            Shown::Set(items) if items.is_empty() && self.maps.contains(place) => {
                json!({ "#map": json!([]) })
            }
            Shown::Set(_) => json!({ "#set": values }),
            Shown::Map(_) => {
                let pairs: Vec<&[Value]> = values.chunks(2).collect();
                json!({ "#map": pairs })
            }
        }
    }

    fn named(&self, place: &str, name: &str, payload: Value) -> Value {
        match self.is_variant(place, name) {
            true => json!({ "tag": name, "value": payload }),
            false => payload,
        }
    }
}

/// The name of a struct or variant, if it has one.
fn name(value: &Shown) -> Option<&str> {
    match value {
        Shown::Struct { name, .. } | Shown::Tuple { name, .. } if !name.is_empty() => Some(name),
        Shown::Atom(text) if !matches!(text.as_str(), "true" | "false") => {
            let starts = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
            let goes_on = text.chars().all(|c| c.is_alphanumeric() || c == '_');
            (starts && goes_on && !matches!(text.as_str(), "inf" | "NaN")).then_some(text)
        }
        _ => None,
    }
}

/// Calls `each` with every part of a value and its place, in order; a map's keys and values in turn.
fn parts(place: &str, value: &Shown, each: &mut dyn FnMut(&str, &Shown)) {
    match value {
        Shown::Atom(_) | Shown::Text(_) => {}
        Shown::Struct { name, fields } => {
            for (field, part) in fields {
                each(&format!("{place}/{name}.{field}"), part);
            }
        }
        Shown::Tuple { name, items } => {
            for (index, part) in items.iter().enumerate() {
                each(&format!("{place}/{name}.{index}"), part);
            }
        }
        Shown::List(items) | Shown::Set(items) => {
            items.iter().for_each(|part| each(&format!("{place}/item"), part));
        }
        Shown::Map(entries) => {
            for (key, part) in entries {
                each(&format!("{place}/key"), key);
                each(&format!("{place}/value"), part);
            }
        }
    }
}

/// A tuple of nothing.
fn nothing() -> Value {
    json!({ "#tup": json!([]) })
}

/// Something without parts and without a name.
fn atom(text: &str) -> Value {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return json!({ "#bigint": text });
    }
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "()" => nothing(),
        _ if text.len() > 2 && text.starts_with('\'') => unescaped(text).to_json(),
        _ => text.to_json(),
    }
}

/// What a string or character literal stands for.
fn unescaped(literal: &str) -> String {
    let mut inner = literal.chars();
    inner.next();
    inner.next_back();
    let mut text = String::new();
    while let Some(c) = inner.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match inner.next() {
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('0') => text.push('\0'),
            Some('u') => {
                let code: String = inner.by_ref().take_while(|c| *c != '}').skip(1).collect();
                text.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
            }
            Some(c) => text.push(c),
            None => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::render::sample;
    use serde_json::{Value, json};

    /// A value, typed by itself and others that were shown at its place.
    fn typed(value: &str, others: &[&str]) -> Value {
        let mut types = Types::default();
        for text in others.iter().chain([&value]) {
            types.learn("x", &Shown::read(text));
        }
        serde_json::from_str(&types.value("x", &Shown::read(value)).to_string()).unwrap()
    }

    fn none() -> Value {
        json!({ "tag": "None", "value": { "#tup": [] } })
    }

    #[test]
    fn an_empty_set_is_a_set_and_an_empty_map_a_map() {
        assert_eq!(typed("{}", &[]), json!({ "#set": [] }));
        assert_eq!(typed("{}", &["{1}"]), json!({ "#set": [] }));
        assert_eq!(typed("{}", &["{1: 2}"]), json!({ "#map": [] }));
        let states = ["S { acks: {}, logs: {3: [4]} }"];
        let expected = json!({ "acks": { "#set": [] }, "logs": { "#map": [] } });
        assert_eq!(typed("S { acks: {}, logs: {} }", &states), expected);
    }

    #[test]
    fn integers_of_any_size_are_exact() {
        let large = "340282366920938463463374607431768211455";
        assert_eq!(typed(large, &[]), json!({ "#bigint": large }));
        assert_eq!(typed("-1", &[]), json!({ "#bigint": "-1" }));
        assert_eq!(typed("1.5", &[]), json!("1.5"));
        assert_eq!(typed("-", &[]), json!("-"));
    }

    #[test]
    fn names_that_differ_are_variants_and_one_alone_is_a_struct() {
        assert_eq!(typed("Id(3)", &["Id(4)"]), json!({ "#bigint": "3" }));
        assert_eq!(typed("A(true, true)", &["A(true, true)"]), json!({ "#tup": [true, true] }));
        assert_eq!(typed("A { ok: true }", &["B"]), json!({ "tag": "A", "value": { "ok": true } }));
        assert_eq!(typed("None", &[]), none());
        assert_eq!(typed("Some(true)", &[]), json!({ "tag": "Some", "value": true }));
    }

    #[test]
    fn tuples_maps_lists_and_strings_are_what_they_were() {
        assert_eq!(typed("(true, [false])", &[]), json!({ "#tup": [true, [false]] }));
        assert_eq!(typed("{\"a\\n\": 'b'}", &[]), json!({ "#map": [["a\n", "b"]] }));
        assert_eq!(typed("\"\\u{7f}\\\"\"", &[]), json!("\u{7f}\""));
    }

    #[test]
    fn every_state_has_every_variable() {
        for story in sample::all() {
            let trace: Value = serde_json::from_str(&render(&story, &sample::about())).unwrap();
            let vars = trace["vars"].as_array().unwrap();
            let states = trace["states"].as_array().unwrap();
            assert_eq!(states.len(), story.steps.len() + 1);
            for state in states {
                let state = state.as_object().unwrap();
                assert_eq!(state.len(), vars.len() + 1, "and the meta data");
                assert!(vars.iter().all(|var| state.contains_key(var.as_str().unwrap())));
            }
        }
    }

    #[test]
    fn a_state_says_what_a_node_has_become() {
        let trace: Value =
            serde_json::from_str(&render(&sample::paxos(), &sample::about())).unwrap();
        let chosen = |state: usize| &trace["states"][state]["node_0"]["chosen"];
        assert_eq!(*chosen(2), none());
        assert_eq!(*chosen(3), json!({ "tag": "Some", "value": { "#bigint": "10" } }));
        assert_eq!(trace["states"][0]["node_0"]["votes"], json!({ "#set": [] }));
        assert_eq!(trace["states"][7]["up"], json!({ "#set": ["node_0", "node_2"] }));
        assert_eq!(trace["#meta"]["status"], json!("violation"));
    }

    #[test]
    fn threads_are_what_they_did_last() {
        let trace: Value =
            serde_json::from_str(&render(&sample::threads(), &About::default())).unwrap();
        assert_eq!(trace["vars"], json!(["thread_0", "thread_1", "thread_2", "in_flight"]));
        assert_eq!(trace["#meta"]["threads"]["thread_1"], "the first worker");
        assert_eq!(trace["states"][0]["thread_1"], "");
        assert_eq!(trace["states"][4]["thread_1"], "locks mutex 0 of a.rs:5 at a.rs:6");
        assert_eq!(trace["states"][2]["in_flight"][0]["from"], "thread_0");
    }
}
