//! A saved run with the system that it is a run of.

use crate::check::build;
use crate::files::typed;
use crate::{Entry, Parameters};
use allways::{About, Checkable, SavedRun};
use std::path::Path;

/// A run read from a file, and its system as the code is now.
pub(crate) struct RunFile<'a> {
    /// What it is a run of; a program in a file is no entry.
    pub of: Option<(&'a Entry, Parameters)>,
    pub system: Box<dyn Checkable>,
    pub saved: SavedRun,
}

impl<'a> RunFile<'a> {
    /// Reads a run. The system and its parameters are those of the file, but for what is set here.
    pub fn open(
        entries: &'a [Entry],
        path: &Path,
        set: &[(String, String)],
    ) -> Result<Self, String> {
        let mut saved = SavedRun::load(path).map_err(|error| error.to_string())?;
        let wrong = |what: String| format!("{}: {what}", path.display());
        #[cfg(feature = "bmc")]
        if saved.system.ends_with(crate::bmc::ENDING) {
            saved.parameters.retain(|(name, _)| set.iter().all(|(other, _)| other != name));
            saved.parameters.extend(set.iter().cloned());
            let model = crate::bmc::reopen(&saved.system, &saved.parameters).map_err(wrong)?;
            return Ok(RunFile { of: None, system: Box::new(model), saved });
        }
        let Some(entry) = entries.iter().find(|entry| entry.name == saved.system) else {
            let names: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
            return Err(wrong(format!(
                "it is a run of another system, `{}`; the systems here are {} (runs of your own are for `cargo test`, or for a binary of your own with these commands: examples/own-system)",
                saved.system,
                names.join(", ")
            )));
        };
        // Twice the same parameter on the command line is refused, the file's yields.
        let mut all: Vec<(&str, &str)> = saved
            .parameters
            .iter()
            .filter(|(name, _)| set.iter().all(|(other, _)| other != name))
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        all.extend(set.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let parameters = entry.parameters(&all).map_err(|error| match set.is_empty() {
            true => wrong(error.to_string()),
            false => error.to_string(),
        })?;
        let system = match &saved.snapshot {
            None => build(entry, &parameters)?,
            // A prediction of a deployment starts where that was.
            Some(snapshot) => {
                let deployed = entry.deploy(&parameters).map_err(|e| wrong(e.to_string()))?;
                deployed.continued(snapshot).map_err(|e| wrong(e.to_string()))?
            }
        };
        saved.parameters = owned(&parameters);
        Ok(RunFile { of: Some((entry, parameters)), system, saved })
    }

    /// The system with its parameters in one line.
    pub fn title(&self) -> String {
        match &self.of {
            Some((entry, parameters)) => title(entry, parameters),
            None => {
                let set =
                    self.saved.parameters.iter().map(|(name, value)| format!(" {name}={value}"));
                format!("{}{}", self.saved.system, set.collect::<String>())
            }
        }
    }

    /// How to check it again, as one types it after the program's name.
    pub fn again(&self) -> String {
        let parameters = self.saved.parameters.iter();
        let set: String =
            parameters.map(|(name, value)| format!(" --set {name}={value}")).collect();
        match &self.of {
            Some((entry, _)) => format!("check {}{set}", entry.name),
            None => format!("bmc {}{set}", typed(Path::new(&self.saved.system))),
        }
    }

    /// What is known about the run, for those who show it.
    pub fn about(&self, path: &Path, program: &str) -> About {
        about(&self.saved, path, program)
    }
}

/// What is known about a run that is saved in this file.
pub(crate) fn about(saved: &SavedRun, path: &Path, program: &str) -> About {
    let mut about = About::default()
        .system(&saved.system)
        .engine(&saved.engine)
        .version(saved.tool.trim_start_matches("allways "))
        .replay(format!("{program} replay {}", typed(path)))
        .saved(saved.to_json());
    for (name, value) in &saved.parameters {
        about = about.parameter(name, value);
    }
    about
}

/// The parameters as names and values.
pub(crate) fn owned(parameters: &Parameters) -> Vec<(String, String)> {
    parameters.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// A system with its parameters in one line.
pub(crate) fn title(entry: &Entry, parameters: &Parameters) -> String {
    let set = parameters.iter().map(|(name, value)| format!(" {name}={value}"));
    format!("{}{}", entry.name, set.collect::<String>())
}
