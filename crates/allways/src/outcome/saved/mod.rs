//! Saved runs: a violation with everything that it takes to carry it out again later.
//!
//! A saved run is one JSON object in a format of its own version. [`write`] lays it out so that two
//! versions of a run can be compared line by line; [`read`] takes nothing on trust.

mod junit;
mod read;
mod write;

use super::report::is_kept;
use super::{Cause, Outcome, Violation};
use crate::error::Error;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// A run of a violation, as it is kept in a file: with the system, its parameters, the property and
/// the engine that found it.
///
/// ```
/// use allways::prelude::*;
/// use allways::{Replayed, SavedRun};
/// # use allways::sample::Cell as N;
/// let system = System::new([N(0)])
///     .call(0, 7)
///     .always("stays zero", view(|n: &N| n.0), |views| views[0] == 0);
/// let saved = SavedRun::new("my-system", [("nodes", "1")], &system.check()).unwrap();
/// let text = saved.to_json();
/// assert!(text.contains(r#"{"kind": "call", "node": 0, "from": null, "what": "7", "choices": []}"#));
///
/// let loaded = SavedRun::from_json(&text).unwrap();
/// assert_eq!(loaded, saved);
/// assert!(matches!(system.replay(&loaded).unwrap(), Replayed::StillViolates { .. }));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SavedRun {
    /// The program that saved it, with its version.
    pub tool: String,
    /// The name of the system.
    pub system: String,
    /// The parameters of the system: names and values, in order.
    pub parameters: Vec<(String, String)>,
    /// The engine that found it.
    pub engine: String,
    /// What is violated, and the run that shows it.
    pub violation: Violation,
    /// Where the run starts, if not at the initial state: JSON for whoever makes the system, who
    /// gives it to [`System::starting_at`](crate::System::starting_at).
    pub snapshot: Option<String>,
}

impl SavedRun {
    /// The version of the format.
    ///
    /// ```
    /// assert_eq!(allways::SavedRun::VERSION, 1);
    /// ```
    pub const VERSION: u64 = 1;

    /// The largest file that is read, in bytes.
    ///
    /// ```
    /// assert_eq!(allways::SavedRun::MAX_BYTES, 16 * 1024 * 1024);
    /// ```
    pub const MAX_BYTES: u64 = 16 << 20;

    /// The violation of an outcome, ready to be saved.
    ///
    /// ```
    /// use allways::SavedRun;
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let outcome = System::new([Cell(0)])
    ///     .call(0, 7)
    ///     .always("stays zero", view(|c: &Cell| c.0), |cells| cells[0] == 0)
    ///     .check();
    /// let saved = SavedRun::new("cell", [("nodes", "1")], &outcome).unwrap();
    /// assert_eq!(saved.violation.property, "stays zero");
    /// ```
    ///
    /// # Errors
    ///
    /// If nothing is violated, or a `sometimes` property is: that has no run.
    pub fn new<A: Into<String>, B: Into<String>>(
        system: impl Into<String>,
        parameters: impl IntoIterator<Item = (A, B)>,
        outcome: &Outcome,
    ) -> Result<Self, Error> {
        let nothing = |why: &str| Err(Error::Run(format!("there is no run to save: {why}")));
        match &outcome.violation {
            None => nothing("nothing is violated"),
            Some(violation) if violation.cause == Cause::NeverReached => {
                nothing("no run at all reaches what the property asks for")
            }
            Some(violation) => Ok(SavedRun {
                tool: concat!("allways ", env!("CARGO_PKG_VERSION")).to_owned(),
                system: system.into(),
                parameters: parameters.into_iter().map(|(n, v)| (n.into(), v.into())).collect(),
                engine: outcome.engine.clone(),
                violation: violation.clone(),
                snapshot: None,
            }),
        }
    }

    /// Says that the run does not start at the initial state, but at what this JSON describes.
    ///
    /// ```
    /// use allways::prelude::*;
    /// use allways::SavedRun;
    /// # use allways::sample::Cell;
    /// let outcome = System::new([Cell(0)])
    ///     .call(0, 7)
    ///     .always("stays zero", view(|c: &Cell| c.0), |cells| cells[0] == 0)
    ///     .check();
    /// let saved = SavedRun::new("cell", [("nodes", "1")], &outcome).unwrap();
    /// let saved = saved.starting_at(r#"{"nodes": [0]}"#).unwrap();
    /// let loaded = SavedRun::from_json(&saved.to_json()).unwrap();
    /// assert_eq!(loaded.snapshot.as_deref(), Some(r#"{"nodes":[0]}"#));
    /// ```
    ///
    /// # Errors
    ///
    /// If it is not JSON, or nothing at all.
    pub fn starting_at(mut self, snapshot: &str) -> Result<Self, Error> {
        // As it is read back: without what does not matter.
        self.snapshot = Some(read::snapshot(snapshot).map_err(Error::Run)?);
        Ok(self)
    }

    /// The run as JSON: fields in a fixed order, an event a line.
    ///
    /// ```
    /// use allways::SavedRun;
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let outcome = System::new([Cell(0)])
    ///     .call(0, 7)
    ///     .always("stays zero", view(|c: &Cell| c.0), |cells| cells[0] == 0)
    ///     .check();
    /// let saved = SavedRun::new("cell", [("nodes", "1")], &outcome).unwrap();
    /// assert!(saved.to_json().starts_with("{\n"));
    /// ```
    pub fn to_json(&self) -> String {
        write::json(self)
    }

    /// Reads what [`SavedRun::to_json`] wrote.
    ///
    /// ```
    /// use allways::SavedRun;
    /// let error = SavedRun::from_json("{}").unwrap_err();
    /// assert_eq!(error.to_string(), "field `version` is missing: this is not a saved run");
    /// ```
    ///
    /// # Errors
    ///
    /// One sentence that names the field that is wrong.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        read::json(text).map_err(Error::Run)
    }

    /// Writes the run to a file.
    ///
    /// ```
    /// use allways::SavedRun;
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let outcome = System::new([Cell(0)])
    ///     .call(0, 7)
    ///     .always("stays zero", view(|c: &Cell| c.0), |cells| cells[0] == 0)
    ///     .check();
    /// let saved = SavedRun::new("cell", [("nodes", "1")], &outcome).unwrap();
    /// let path = std::env::temp_dir().join(format!("allways-save-{}.json", std::process::id()));
    /// saved.save(&path).unwrap();
    /// assert_eq!(SavedRun::load(&path).unwrap(), saved);
    /// # std::fs::remove_file(path).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        std::fs::write(path, self.to_json()).map_err(|error| {
            Error::Run(format!("the run cannot be saved as {}: {error}", path.display()))
        })
    }

    /// Reads a run from a file.
    ///
    /// ```
    /// let error = allways::SavedRun::load("no-such-run.json").unwrap_err();
    /// assert!(error.to_string().starts_with("cannot read no-such-run.json"));
    /// ```
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is not a saved run.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let cannot = |why: String| Error::Run(format!("cannot read {}: {why}", path.display()));
        let file = std::fs::File::open(path).map_err(|error| {
            let removed = error.kind() == ErrorKind::NotFound && is_kept(path);
            let hint = if removed {
                "; a test that passes removes what it saved when it failed"
            } else {
                ""
            };
            cannot(format!("{error}{hint}"))
        })?;
        let mut bytes = Vec::new();
        // One byte more than allowed: enough to know that there is too much.
        let size = file.take(Self::MAX_BYTES + 1).read_to_end(&mut bytes);
        match size.map_err(|error| cannot(error.to_string()))? {
            size if size as u64 > Self::MAX_BYTES => Err(cannot(read::too_large())),
            _ => match String::from_utf8(bytes) {
                Ok(text) => read::json(&text)
                    .map_err(|why| Error::Run(format!("{}: {why}", path.display()))),
                Err(_) => Err(cannot("it is not text in UTF-8".to_owned())),
            },
        }
    }
}
