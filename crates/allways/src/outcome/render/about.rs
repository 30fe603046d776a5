//! What is known of a run besides what happens in it.

/// What is known of a run besides what happens in it; all of it optional.
///
/// ```
/// let about = allways::About::default().system("paxos").parameter("nodes", "3");
/// assert_eq!(about.title(), "paxos nodes=3");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct About {
    /// The system's name.
    pub system: Option<String>,
    /// What the system was made with: names and values.
    pub parameters: Vec<(String, String)>,
    /// The engine that found the run.
    pub engine: Option<String>,
    /// The version of the tool that found it.
    pub version: Option<String>,
    /// The command that carries the run out again.
    pub replay: Option<String>,
    /// The run as it is saved, for the formats that embed it.
    pub saved: Option<String>,
}

impl About {
    /// With the system's name.
    ///
    /// ```
    /// assert_eq!(allways::About::default().system("paxos").title(), "paxos");
    /// ```
    #[must_use]
    pub fn system(mut self, name: impl Into<String>) -> Self {
        self.system = Some(name.into());
        self
    }

    /// With one more parameter.
    ///
    /// ```
    /// assert_eq!(allways::About::default().parameter("nodes", "3").title(), "nodes=3");
    /// ```
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// With the engine that found the run.
    ///
    /// ```
    /// let about = allways::About::default().engine("global bfs");
    /// assert!(about.engine.is_some());
    /// ```
    #[must_use]
    pub fn engine(mut self, name: impl Into<String>) -> Self {
        self.engine = Some(name.into());
        self
    }

    /// With the version of the tool that found the run.
    ///
    /// ```
    /// let about = allways::About::default().version("0.1.0");
    /// assert!(about.version.is_some());
    /// ```
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// With the command that carries the run out again.
    ///
    /// ```
    /// let about = allways::About::default().replay("allways replay run.json");
    /// assert!(about.replay.is_some());
    /// ```
    #[must_use]
    pub fn replay(mut self, command: impl Into<String>) -> Self {
        self.replay = Some(command.into());
        self
    }

    /// With the run as it is saved.
    ///
    /// ```
    /// let about = allways::About::default().saved("{}");
    /// assert!(about.saved.is_some());
    /// ```
    #[must_use]
    pub fn saved(mut self, json: impl Into<String>) -> Self {
        self.saved = Some(json.into());
        self
    }

    /// The system with its parameters in one line; empty if nothing is known.
    ///
    /// ```
    /// let about = allways::About::default().system("paxos").parameter("nodes", "3");
    /// assert_eq!(about.title(), "paxos nodes=3");
    /// ```
    pub fn title(&self) -> String {
        let set = self.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        self.system.iter().cloned().chain(set).collect::<Vec<_>>().join(" ")
    }

    /// Everything but the command, in one line.
    pub(super) fn line(&self) -> String {
        let mut parts = vec![self.title()];
        parts.extend(self.engine.as_ref().map(|engine| format!("engine {engine}")));
        parts.extend(self.version.as_ref().map(|version| format!("Allways {version}")));
        parts.retain(|part| !part.is_empty());
        parts.join(", ")
    }
}
