//! Reading a saved run: every field is looked at, and what is wrong with one is said in a sentence
//! that names it. Nothing in a file can make this panic; what JSON is read into may take many times the
//! memory of the file, which is why a file must not be large.

use super::{SavedRun, write};
use crate::json::{self, Map, ToJson, Value};
use crate::model::step::MAX_CHOICES;
use crate::model::system::MAX_NODES;
use crate::outcome::{Cause, Run, RunEvent, RunEventKind, Trouble, Violation};

/// A saved run may have this many events.
const MAX_EVENTS: usize = 1_000_000;
/// A saved run may have this many parameters.
const MAX_PARAMETERS: usize = 1_000;

const KINDS: [RunEventKind; 10] = [
    RunEventKind::Message,
    RunEventKind::Duplicate,
    RunEventKind::Timer,
    RunEventKind::Call,
    RunEventKind::Crash,
    RunEventKind::Restart,
    RunEventKind::Drop,
    RunEventKind::Partition,
    RunEventKind::Heal,
    RunEventKind::Thread,
];

/// The causes of a violation that has a run.
const CAUSES: [Cause; 9] = [
    Cause::Always,
    Cause::Stuck,
    Cause::Panic,
    Cause::Trouble(Trouble::Deadlock),
    Cause::Trouble(Trouble::LostWakeUp),
    Cause::Trouble(Trouble::Livelock),
    Cause::Trouble(Trouble::DataRace),
    Cause::Trouble(Trouble::DoubleLock),
    Cause::Trouble(Trouble::LeakedThread),
];

/// What a file that is too large is told.
pub(super) fn too_large() -> String {
    format!("it has more than {} bytes, too much for a saved run", SavedRun::MAX_BYTES)
}

/// The run that a text describes, or what is wrong with it.
pub(super) fn json(text: &str) -> Result<SavedRun, String> {
    if text.len() as u64 > SavedRun::MAX_BYTES {
        return Err(too_large());
    }
    let value = json::parse(text).map_err(|error| format!("this is not JSON: {error}"))?;
    let Value::Object(mut object) = value else {
        return Err(format!("a saved run is a JSON object, but this is {}", kind_of(&value)));
    };
    // The version first: another one may have other fields.
    match object.remove("version") {
        None => return Err("field `version` is missing: this is not a saved run".to_owned()),
        Some(version) if version.as_u64() == Some(SavedRun::VERSION) => {}
        Some(version) => {
            return Err(format!(
                "field `version` is {}, but this program reads saved runs of version {} only",
                short(&version),
                SavedRun::VERSION
            ));
        }
    }
    let snapshot = object.remove("snapshot").map(opaque).transpose()?;
    let mut fields = Fields { object, path: String::new() };
    let saved = SavedRun {
        tool: fields.text("tool")?,
        system: fields.text("system")?,
        parameters: fields.list("parameters", MAX_PARAMETERS, parameter)?,
        engine: fields.text("engine")?,
        violation: Violation {
            property: fields.text("property")?,
            cause: fields.word("cause", &CAUSES, |cause| write::cause(cause).to_owned())?,
            run: Run {
                start: fields.number("start", u64::from(u32::MAX))? as usize,
                start_choices: fields.list("start_choices", MAX_NODES, choices)?,
                events: fields.list("events", MAX_EVENTS, event)?,
            },
            reads: fields.list("reads", MAX_NODES, |value, path| match value {
                Value::String(text) => Ok(text),
                other => Err(wrong(path, "a text", &other)),
            })?,
        },
        snapshot,
    };
    fields.end()?;
    Ok(saved)
}

/// A snapshot as it is kept: JSON that only whoever makes the system understands.
pub(super) fn snapshot(text: &str) -> Result<String, String> {
    let value = json::parse(text).map_err(|error| format!("the snapshot is not JSON: {error}"))?;
    opaque(value)
}

fn opaque(value: Value) -> Result<String, String> {
    match value {
        Value::Object(_) => Ok(value.to_string()),
        other => Err(wrong("snapshot", "an object", &other)),
    }
}

fn parameter(value: Value, path: &str) -> Result<(String, String), String> {
    let mut fields = Fields::of(value, path)?;
    let pair = (fields.text("name")?, fields.text("value")?);
    fields.end()?;
    Ok(pair)
}

fn choices(value: Value, path: &str) -> Result<Vec<u32>, String> {
    list(value, path, MAX_CHOICES, |value, path| number(&value, path, u64::from(u32::MAX)))
        .map(|numbers| numbers.into_iter().map(|n| n as u32).collect())
}

fn event(value: Value, path: &str) -> Result<RunEvent, String> {
    let mut fields = Fields::of(value, path)?;
    let kind = fields.word("kind", &KINDS, RunEventKind::to_string)?;
    let event = RunEvent {
        kind,
        node: fields.node("node")?,
        from: fields.node("from")?,
        what: fields.text("what")?,
        choices: choices(fields.take("choices")?, &fields.at("choices"))?,
    };
    use RunEventKind::{Crash, Drop, Duplicate, Heal, Message, Partition};
    let has_node = !matches!(kind, Partition | Heal);
    let has_from = matches!(kind, Message | Duplicate | Drop);
    let has_what = !matches!(kind, Crash | RunEventKind::Restart | Heal);
    let chooses = has_node && kind != Drop;
    for (name, there, allowed, needed) in [
        ("node", event.node.is_some(), has_node, has_node),
        ("from", event.from.is_some(), has_from, has_from),
        ("what", !event.what.is_empty(), has_what, false),
        ("choices", !event.choices.is_empty(), chooses, false),
    ] {
        if there && !allowed {
            return Err(format!("field `{}` makes no sense for a {kind}", fields.at(name)));
        }
        if !there && needed {
            return Err(format!("field `{}` must be a node for a {kind}", fields.at(name)));
        }
    }
    fields.end()?;
    Ok(event)
}

/// An object whose fields are taken out one by one, with its place in the whole.
struct Fields {
    object: Map,
    path: String,
}

impl Fields {
    fn of(value: Value, path: &str) -> Result<Self, String> {
        match value {
            Value::Object(object) => Ok(Fields { object, path: path.to_owned() }),
            other => Err(wrong(path, "an object", &other)),
        }
    }

    /// Where a field is, in words.
    fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn take(&mut self, name: &str) -> Result<Value, String> {
        self.object.remove(name).ok_or_else(|| format!("field `{}` is missing", self.at(name)))
    }

    fn text(&mut self, name: &str) -> Result<String, String> {
        match self.take(name)? {
            Value::String(text) => Ok(text),
            other => Err(wrong(&self.at(name), "a text", &other)),
        }
    }

    fn number(&mut self, name: &str, most: u64) -> Result<u64, String> {
        let value = self.take(name)?;
        number(&value, &self.at(name), most)
    }

    fn node(&mut self, name: &str) -> Result<Option<usize>, String> {
        match self.take(name)? {
            Value::Null => Ok(None),
            value => {
                let node = number(&value, &self.at(name), MAX_NODES as u64 - 1)?;
                Ok(Some(node as usize))
            }
        }
    }

    /// One of these, by its name.
    fn word<T: Clone>(
        &mut self,
        name: &str,
        among: &[T],
        name_of: impl Fn(&T) -> String,
    ) -> Result<T, String> {
        let text = self.text(name)?;
        among.iter().find(|item| name_of(item) == text).cloned().ok_or_else(|| {
            let names: Vec<String> = among.iter().map(name_of).collect();
            let (at, text) = (self.at(name), short(&text.to_json()));
            format!("field `{at}` is {text}; it must be one of {}", names.join(", "))
        })
    }

    fn list<T>(
        &mut self,
        name: &str,
        most: usize,
        item: impl Fn(Value, &str) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let value = self.take(name)?;
        list(value, &self.at(name), most, item)
    }

    /// Every field must have been taken.
    fn end(self) -> Result<(), String> {
        match self.object.keys().next() {
            Some(name) => Err(format!("field `{}` is unknown", self.at(&short_text(name)))),
            None => Ok(()),
        }
    }
}

fn list<T>(
    value: Value,
    path: &str,
    most: usize,
    item: impl Fn(Value, &str) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    match value {
        Value::Array(items) if items.len() <= most => {
            let items = items.into_iter().enumerate();
            items.map(|(index, value)| item(value, &format!("{path}[{index}]"))).collect()
        }
        Value::Array(items) => {
            Err(format!("field `{path}` has {} items; at most {most} are allowed", items.len()))
        }
        other => Err(wrong(path, "a list", &other)),
    }
}

fn number(value: &Value, path: &str, most: u64) -> Result<u64, String> {
    match value.as_u64() {
        Some(number) if number <= most => Ok(number),
        _ => Err(wrong(path, &format!("a whole number from 0 to {most}"), value)),
    }
}

fn wrong(path: &str, expected: &str, found: &Value) -> String {
    format!("field `{path}` must be {expected}, but is {}", short(found))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A value, if it is short enough for a sentence; otherwise what kind of value it is.
fn short(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => kind_of(value).to_owned(),
        Value::String(text) => format!("`{}`", short_text(text)),
        _ => short_text(&value.to_string()),
    }
}

fn short_text(text: &str) -> String {
    const MOST: usize = 40;
    let escaped: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().count() > MOST { escaped + "…" } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn valid() -> Value {
        json!({
            "version": 1,
            "tool": "allways 0.1.0",
            "system": "paxos",
            "parameters": [{"name": "nodes", "value": "3"}],
            "engine": "global bfs",
            "property": "agreement",
            "cause": "always",
            "start": 0,
            "start_choices": [],
            "events": [
                {"kind": "call", "node": 0, "from": null, "what": "Propose(1)", "choices": [0, 1]},
                {"kind": "message", "node": 1, "from": 0, "what": "Prepare", "choices": []},
                {"kind": "heal", "node": null, "from": null, "what": "", "choices": []},
            ],
            "reads": ["None", "Some(1)"],
        })
    }

    /// What is said of a valid run after a change to it.
    fn said(pointer: &str, value: Value) -> String {
        let mut run = valid();
        *run.pointer_mut(pointer).unwrap() = value;
        SavedRun::from_json(&run.to_string()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_is_read_back() {
        let saved = SavedRun::from_json(&valid().to_string()).unwrap();
        let text = saved.to_json();
        assert_eq!(SavedRun::from_json(&text).unwrap(), saved);
        let again: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(again, valid());
        let event =
            r#"    {"kind": "message", "node": 1, "from": 0, "what": "Prepare", "choices": []},"#;
        assert!(text.lines().any(|line| line == event), "{text}");
    }

    #[test]
    fn a_snapshot_is_optional_opaque_and_kept() {
        let mut run = valid();
        run["snapshot"] = json!({"nodes": [{"chosen": null}], "instance": 3});
        let saved = SavedRun::from_json(&run.to_string()).unwrap();
        let again: Value = serde_json::from_str(&saved.to_json()).unwrap();
        assert_eq!(again, run);
        run["snapshot"] = json!(7);
        let error = SavedRun::from_json(&run.to_string()).unwrap_err().to_string();
        assert_eq!(error, "field `snapshot` must be an object, but is 7");
    }

    #[test]
    fn each_mistake_is_said_in_one_sentence_that_names_the_field() {
        for (pointer, value, sentence) in [
            (
                "/version",
                json!(2),
                "field `version` is 2, but this program reads saved runs of version 1 only",
            ),
            ("/tool", json!(1), "field `tool` must be a text, but is 1"),
            ("/parameters/0", json!([]), "field `parameters[0]` must be an object, but is a list"),
            (
                "/cause",
                json!("sometimes"),
                "field `cause` is `sometimes`; it must be one of always, never stuck, panic, deadlock, lost wake-up, livelock, data race, double lock, leaked thread",
            ),
            (
                "/start",
                json!(-1),
                "field `start` must be a whole number from 0 to 4294967295, but is -1",
            ),
            (
                "/start",
                json!(1e300),
                "field `start` must be a whole number from 0 to 4294967295, but is 1e+300",
            ),
            ("/start_choices", json!("x"), "field `start_choices` must be a list, but is `x`"),
            (
                "/events/1/node",
                json!(1000),
                "field `events[1].node` must be a whole number from 0 to 999, but is 1000",
            ),
            ("/events/1/node", json!(null), "field `events[1].node` must be a node for a message"),
            ("/events/0/from", json!(1), "field `events[0].from` makes no sense for a call"),
            (
                "/events/2/choices",
                json!([0]),
                "field `events[2].choices` makes no sense for a heal",
            ),
            (
                "/events/0/choices/1",
                json!(0.5),
                "field `events[0].choices[1]` must be a whole number from 0 to 4294967295, but is 0.5",
            ),
            (
                "/events/0/choices",
                json!(vec![0; 1_001]),
                "field `events[0].choices` has 1001 items; at most 1000 are allowed",
            ),
            ("/reads/0", json!({}), "field `reads[0]` must be a text, but is an object"),
            ("", json!([]), "a saved run is a JSON object, but this is a list"),
        ] {
            assert_eq!(said(pointer, value), sentence);
        }
    }

    #[test]
    fn fields_are_neither_missing_nor_unknown() {
        for name in valid().as_object().unwrap().keys() {
            let mut run = valid();
            run.as_object_mut().unwrap().remove(name);
            let error = SavedRun::from_json(&run.to_string()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("field `{name}` is missing")), "{error}");
        }
        let mut run = valid();
        run["events"][1]["when"] = json!(1);
        let error = SavedRun::from_json(&run.to_string()).unwrap_err().to_string();
        assert_eq!(error, "field `events[1].when` is unknown");
    }

    #[test]
    fn what_is_not_json_is_refused_however_deep_or_long() {
        for text in ["", "\0", "{", "\u{feff}{}", &"[".repeat(1 << 20), &"{\"a\":".repeat(1 << 16)]
        {
            let error = SavedRun::from_json(text).unwrap_err().to_string();
            assert!(error.starts_with("this is not JSON: "), "{error}");
        }
        let error = SavedRun::from_json("{}").unwrap_err().to_string();
        assert_eq!(error, "field `version` is missing: this is not a saved run");
    }
}
