//! `allways list`: the systems, what can be set, what can go wrong, what must hold.

use crate::args::ListArgs;
use crate::check::build;
use crate::console::Console;
use crate::json::{self, Value, Values, values};
use crate::text::columns;
use crate::{Bug, Entry, Exit, Kind, Parameter};
use allways::PropertyKind;
use serde::Serialize;

/// A system with the properties that it has when every parameter is at its default.
struct Listed<'a> {
    entry: &'a Entry,
    is_of_threads: bool,
    properties: Result<Vec<(String, PropertyKind)>, String>,
}

pub(crate) fn list(
    entries: &[Entry],
    args: &ListArgs,
    console: &mut Console<'_>,
) -> Result<Exit, String> {
    let chosen: Vec<&Entry> = match &args.system {
        Some(name) => {
            vec![allways_catalogue::find_among(entries, name).map_err(|error| error.to_string())?]
        }
        None => entries.iter().collect(),
    };
    let listed: Vec<Listed<'_>> = chosen.into_iter().map(Listed::new).collect();
    let text = match args.json {
        true => json::object(&SystemsJson { systems: listed.iter().map(Into::into).collect() })?,
        false => listed.iter().map(Listed::text).collect::<Vec<_>>().join("\n"),
    };
    console.print(&text)?;
    Ok(Exit::Holds)
}

impl<'a> Listed<'a> {
    fn new(entry: &'a Entry) -> Self {
        let system = entry.parameters(&[]).map_err(|error| error.to_string());
        let system = system.and_then(|parameters| build(entry, &parameters));
        let is_of_threads = system.as_ref().is_ok_and(|system| system.is_of_threads());
        Listed { entry, is_of_threads, properties: system.map(|system| system.property_names()) }
    }

    fn text(&self) -> String {
        let Entry { name, about, parameters, bugs, .. } = self.entry;
        let mut text = format!("{name}: {about}\n");
        let mut part = |title: &str, rows: Vec<Vec<String>>| {
            if !rows.is_empty() {
                text.push_str(&format!("  {title}\n{}", columns(4, &rows)));
            }
        };
        part("parameters", parameters.iter().map(parameter_row).collect());
        part("bugs", bugs.iter().map(bug_row).collect());
        let properties = match &self.properties {
            Ok(_) if self.is_of_threads => {
                vec![vec!["no thread panics or gets into trouble".to_owned()]]
            }
            Ok(properties) => {
                properties.iter().map(|(name, kind)| vec![kind.to_string(), name.clone()]).collect()
            }
            Err(error) => vec![vec![format!("unknown: {error}")]],
        };
        part("properties", properties);
        text
    }
}

fn parameter_row(parameter: &Parameter) -> Vec<String> {
    let name = parameter.name;
    let (default, range) = match &parameter.kind {
        Kind::Number { default, min, max } => {
            (format!("{name}={default}"), format!("{min}..{max}"))
        }
        Kind::Word(words) => (format!("{name}={}", words[0]), words.join("|")),
    };
    vec![default, range, parameter.about.to_owned()]
}

fn bug_row(bug: &Bug) -> Vec<String> {
    let with: Vec<String> = bug.defaults.iter().map(|(name, v)| format!("{name}={v}")).collect();
    vec![bug.name.to_owned(), with.join(" "), bug.about.to_owned()]
}

#[derive(Serialize)]
struct SystemsJson<'a> {
    systems: Vec<SystemJson<'a>>,
}

#[derive(Serialize)]
struct SystemJson<'a> {
    name: &'a str,
    about: &'a str,
    /// `nodes` or `threads`.
    made_of: &'static str,
    parameters: Vec<ParameterJson<'a>>,
    bugs: Vec<BugJson<'a>>,
    /// Null if the system cannot be built with its defaults.
    properties: Option<Vec<PropertyJson<'a>>>,
}

#[derive(Serialize)]
struct ParameterJson<'a> {
    name: &'a str,
    about: &'a str,
    default: Value<'a>,
    #[serde(flatten)]
    range: RangeJson<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum RangeJson<'a> {
    Number { min: u64, max: u64 },
    Word { words: &'a [&'a str] },
}

#[derive(Serialize)]
struct BugJson<'a> {
    name: &'a str,
    about: &'a str,
    /// The other parameters' defaults when this bug is chosen.
    defaults: Values<'a>,
}

#[derive(Serialize)]
struct PropertyJson<'a> {
    name: &'a str,
    kind: String,
}

impl<'a> From<&'a Listed<'a>> for SystemJson<'a> {
    fn from(listed: &'a Listed<'a>) -> Self {
        let entry = listed.entry;
        let bug = |bug: &'a Bug| BugJson {
            name: bug.name,
            about: bug.about,
            defaults: Values(values(entry, bug.defaults.iter().copied())),
        };
        let property = |(name, kind): &'a (String, PropertyKind)| PropertyJson {
            name,
            kind: kind.to_string(),
        };
        SystemJson {
            name: entry.name,
            about: entry.about,
            made_of: if listed.is_of_threads { "threads" } else { "nodes" },
            parameters: entry.parameters.iter().map(Into::into).collect(),
            bugs: entry.bugs.iter().map(bug).collect(),
            properties: listed.properties.as_ref().ok().map(|p| p.iter().map(property).collect()),
        }
    }
}

impl<'a> From<&'a Parameter> for ParameterJson<'a> {
    fn from(parameter: &'a Parameter) -> Self {
        let (default, range) = match &parameter.kind {
            Kind::Number { default, min, max } => {
                (Value::Number(*default), RangeJson::Number { min: *min, max: *max })
            }
            Kind::Word(words) => (Value::Word(words[0]), RangeJson::Word { words }),
        };
        ParameterJson { name: parameter.name, about: parameter.about, default, range }
    }
}
