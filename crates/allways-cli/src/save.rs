//! `--save DIR` and `--junit FILE`: what a check leaves behind.

use crate::args::Output;
use crate::files;
use crate::run_file::{about, owned};
use crate::show::text;
use crate::{Entry, Parameters};
use allways::{About, Cause, Format, Outcome, PropertyKind, SavedRun, TextOptions};
use std::path::{Path, PathBuf};

/// What can be saved of a check.
pub(crate) struct Save<'a> {
    pub entry: &'a Entry,
    pub parameters: &'a Parameters,
    pub properties: &'a [(String, PropertyKind)],
    pub outcome: &'a Outcome,
    /// What the program is called.
    pub program: &'a str,
}

/// Makes sure beforehand that everything can be written.
pub(crate) fn prepare(output: &Output) -> Result<(), String> {
    if let Some(directory) = &output.save {
        files::directory(directory)?;
    }
    output.junit.as_deref().map_or(Ok(()), files::will_be_written)
}

impl Save<'_> {
    /// Writes what is asked for; returns where it is.
    pub fn all(&self, output: &Output) -> Result<Vec<PathBuf>, String> {
        let mut written = Vec::new();
        if let Some(directory) = &output.save {
            self.violation(directory, &mut written)?;
            if output.witnesses {
                self.witnesses(directory, &mut written)?;
            }
        }
        if let Some(path) = &output.junit {
            files::write(path, &self.junit())?;
            written.push(path.clone());
        }
        Ok(written)
    }

    /// The run of a violation, and a page to look through.
    fn violation(&self, directory: &Path, written: &mut Vec<PathBuf>) -> Result<(), String> {
        let has_run = |cause: &Cause| *cause != Cause::NeverReached;
        if !self.outcome.violation.as_ref().is_some_and(|violation| has_run(&violation.cause)) {
            return Ok(());
        }
        let saved = SavedRun::new(self.entry.name, owned(self.parameters), self.outcome)
            .map_err(|error| error.to_string())?;
        let path = directory.join("run.json");
        files::write(&path, &saved.to_json())?;
        written.push(path.clone());
        // A run too long to be told is too long to be looked through.
        if let Some(story) = &self.outcome.story {
            let page = story.render(Format::Html, &about(&saved, &path, self.program));
            let path = directory.join("report.html");
            files::write(&path, &page)?;
            written.push(path);
        }
        Ok(())
    }

    /// A page for each `sometimes` property that holds.
    fn witnesses(&self, directory: &Path, written: &mut Vec<PathBuf>) -> Result<(), String> {
        for (number, witness) in self.outcome.witnesses.iter().enumerate() {
            let Some(story) = &witness.story else { continue };
            let mut about = About::default()
                .system(self.entry.name)
                .engine(&self.outcome.engine)
                .version(env!("CARGO_PKG_VERSION"));
            for (name, value) in self.parameters.iter() {
                about = about.parameter(name, value);
            }
            let name = file_name(&witness.property);
            let path = directory.join(format!("witness-{}{name}.html", number + 1));
            files::write(&path, &story.render(Format::Html, &about))?;
            written.push(path);
        }
        Ok(())
    }

    fn junit(&self) -> String {
        let details = match &self.outcome.story {
            Some(story) => text(story, &TextOptions::default()),
            None => self.outcome.to_string(),
        };
        self.outcome.junit(self.entry.name, self.properties, &details)
    }
}

/// What a property is called in the name of a file: `-` and its words, or nothing.
fn file_name(property: &str) -> String {
    let mut name = String::new();
    for c in property.chars().take(40) {
        match c {
            c if c.is_ascii_alphanumeric() => name.push(c.to_ascii_lowercase()),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    match name.trim_matches('-') {
        "" => String::new(),
        name => format!("-{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_properties_make_names_of_files() {
        assert_eq!(file_name("a leader / elected!"), "-a-leader-elected");
        assert_eq!(file_name("../…"), "");
    }
}
