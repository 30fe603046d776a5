//! `allways replay`: a saved run against the code as it is now.

use crate::args::ReplayArgs;
use crate::console::Console;
use crate::files::typed;
use crate::json::{self, EventJson, Values, values, words};
use crate::run_file::RunFile;
use crate::text::{count, next};
use crate::{Entry, Exit};
use allways::Replayed;
use serde::Serialize;

/// What `replay --json` prints.
#[derive(Serialize)]
struct ReplayedJson<'a> {
    system: &'a str,
    parameters: Values<'a>,
    /// `still violates`, `no longer violates` or `no longer applies`.
    verdict: &'static str,
    property: &'a str,
    cause: &'static str,
    /// How many events it takes to the violation; or the event that cannot happen, from one on.
    at: Option<usize>,
    why: Option<&'a str>,
    /// What can happen in place of the event that cannot.
    instead: Option<Vec<EventJson<'a>>>,
    reads: Option<&'a [String]>,
}

pub(crate) fn replay(
    entries: &[Entry],
    args: &ReplayArgs,
    console: &mut Console<'_>,
) -> Result<Exit, String> {
    let file = RunFile::open(entries, &args.run, &args.set)?;
    let replayed = file.system.replay(&file.saved).map_err(|error| error.to_string())?;
    let text = match (args.json, args.quiet) {
        (true, _) => as_json(&file, &replayed)?,
        (_, true) => replayed.to_string().lines().take(1).map(|line| format!("{line}\n")).collect(),
        _ => report(&file, &replayed, args, &console.program),
    };
    console.print(&text)?;
    Ok(match replayed {
        Replayed::StillViolates { .. } => Exit::Violated,
        Replayed::NoLongerViolates { .. } => Exit::Holds,
        Replayed::NoLongerApplies { .. } => Exit::Inconclusive,
    })
}

fn report(file: &RunFile<'_>, replayed: &Replayed, args: &ReplayArgs, program: &str) -> String {
    let saved = &file.saved;
    let events = count(saved.violation.run.events.len(), "event");
    let heading = file.title();
    let mut text = format!("{heading}, a run of {events} by {}\n{replayed}", saved.tool);
    let run = typed(&args.run);
    // A prediction starts in a state that the bug may have made.
    let bug = file.of.as_ref().and_then(|(_, parameters)| parameters.bug());
    let bug = bug.filter(|_| saved.snapshot.is_none());
    let advice = match replayed {
        Replayed::StillViolates { .. } => {
            let blame = bug.map(|_| {
                let fixed = format!("{program} replay {run} --set bug=none");
                (fixed, "to see that the bug is to blame")
            });
            let show = (format!("{program} show {run}"), "to see what happens");
            std::iter::once(show).chain(blame).collect()
        }
        Replayed::NoLongerViolates { .. } => {
            vec![(format!("{program} {}", file.again()), "to see whether other runs violate")]
        }
        Replayed::NoLongerApplies { .. } => {
            vec![(format!("{program} {}", file.again()), "to look for a run of today")]
        }
    };
    text.push_str(&format!("\n{}", next(&advice)));
    text
}

fn as_json(file: &RunFile<'_>, replayed: &Replayed) -> Result<String, String> {
    let violation = &file.saved.violation;
    let mut object = ReplayedJson {
        system: &file.saved.system,
        parameters: Values(match &file.of {
            Some((entry, parameters)) => values(entry, parameters.iter()),
            None => words(&file.saved.parameters),
        }),
        verdict: "no longer applies",
        property: &violation.property,
        cause: json::cause(&violation.cause),
        at: None,
        why: None,
        instead: None,
        reads: None,
    };
    match replayed {
        Replayed::StillViolates { violation } => {
            object.verdict = "still violates";
            object.property = &violation.property;
            object.at = Some(violation.run.events.len());
            object.reads = Some(&violation.reads);
        }
        Replayed::NoLongerViolates { why } => {
            object.verdict = "no longer violates";
            object.why = Some(why);
        }
        Replayed::NoLongerApplies { at, why, instead } => {
            object.at = Some(*at);
            object.why = Some(why);
            object.instead = Some(instead.iter().map(Into::into).collect());
        }
    }
    json::object(&object)
}
