//! The catalogue: protocols to check, one file each, with known bugs as parameters.
//!
//! Every protocol is correct by default. A parameter `bug` brings back a known mistake. Most are systems of nodes that
//! handle events; some are [programs of threads](allways_threads::Program).
//!
//! ```
//! use allways::{Options, Verdict};
//! let entry = allways_catalogue::find("tree").unwrap();
//! let system = entry.build(&[]).unwrap();
//! let outcome = system.check_with(&Options::default()).unwrap();
//! assert_eq!(outcome.verdict, Verdict::Holds);
//! ```

mod accumulator;
mod accumulator_threads;
mod alphabet;
mod bounded_buffer;
mod chain;
mod chord;
mod dining;
mod filesystem;
mod history;
mod indexer;
mod kv_server;
mod live;
mod lock;
mod mesh;
mod multi_paxos;
mod one_paxos;
mod overlay;
mod pam;
mod parameters;
mod pastry;
mod paxos;
mod paxos_register;
mod paxos_roles;
mod primary_backup;
mod register;
mod replicated_kv;
mod together;
mod tree;
mod two_phase_commit;
mod zab;

use allways::{Checkable, Error};
use live::LivePart;
pub use parameters::{Bug, Kind, Parameter, Parameters};

/// A protocol of the catalogue.
///
/// ```
/// let entry = allways_catalogue::find("paxos").unwrap();
/// assert_eq!(entry.bugs[0].name, "last-promise");
/// ```
pub struct Entry {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// What can be set, `bug` not among them.
    pub parameters: &'static [Parameter],
    /// The mistakes that can be brought back.
    pub bugs: &'static [Bug],
    make: fn(&Parameters) -> Result<Box<dyn Checkable>, Error>,
    #[cfg_attr(not(feature = "live"), expect(dead_code))]
    live: LivePart,
}

impl Entry {
    /// A protocol that is not in the catalogue: one of your own, for the same commands.
    ///
    /// ```
    /// use allways::Checkable;
    /// use allways::prelude::*;
    /// use allways_catalogue::Entry;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct Server;
    /// # impl Node for Server { type Msg = (); type Timer = Never; type Call = Never;
    /// #   type Output = Never; fn on_message(&mut self, _: Id, _: (), _: &mut Cx<'_, Self>) {} }
    /// let entry = Entry::new("my-server", "what it is", &[], &[], |_| {
    ///     Ok(Box::new(System::new([Server, Server])) as Box<dyn Checkable>)
    /// });
    /// assert!(entry.build(&[]).is_ok());
    /// ```
    pub const fn new(
        name: &'static str,
        about: &'static str,
        parameters: &'static [Parameter],
        bugs: &'static [Bug],
        make: fn(&Parameters) -> Result<Box<dyn Checkable>, Error>,
    ) -> Self {
        Entry { name, about, parameters, bugs, make, live: LivePart::NONE }
    }

    /// The values of all parameters when these are set: `("nodes", "3")`, `("bug", "last-promise")`.
    ///
    /// ```
    /// let paxos = allways_catalogue::find("paxos").unwrap();
    /// assert_eq!(paxos.parameters(&[("nodes", "5")]).unwrap().number("nodes"), 5);
    /// let error = paxos.parameters(&[("node", "5")]).err().unwrap();
    /// assert_eq!(error.to_string(), "`paxos` has no parameter `node`; did you mean `nodes`?");
    /// ```
    ///
    /// # Errors
    ///
    /// If a parameter is unknown, or a value is not one that it can have.
    pub fn parameters(&self, set: &[(&str, &str)]) -> Result<Parameters, Error> {
        Parameters::read(self, set)
    }

    /// The system with these parameters set, the others at their defaults.
    ///
    /// ```
    /// use allways::Options;
    /// let system = allways_catalogue::find("paxos").unwrap().build(&[("bug", "last-promise")]).unwrap();
    /// system.check_with(&Options::default()).unwrap().assert_violated("agreement");
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Entry::parameters`], or if the values do not fit together.
    pub fn build(&self, set: &[(&str, &str)]) -> Result<Box<dyn Checkable>, Error> {
        self.build_with(&self.parameters(set)?)
    }

    /// The system with these parameters.
    ///
    /// ```
    /// let paxos = allways_catalogue::find("paxos").unwrap();
    /// let parameters = paxos.parameters(&[]).unwrap();
    /// assert!(!paxos.build_with(&parameters).unwrap().property_names().is_empty());
    /// ```
    ///
    /// # Errors
    ///
    /// If the values do not fit together.
    pub fn build_with(&self, parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
        (self.make)(parameters)
    }

    /// Whether it is a program of threads, and no system of nodes: see [`Checkable::is_of_threads`].
    ///
    /// ```
    /// assert!(allways_catalogue::find("dining").unwrap().is_of_threads());
    /// assert!(!allways_catalogue::find("paxos").unwrap().is_of_threads());
    /// ```
    pub fn is_of_threads(&self) -> bool {
        self.build(&[]).is_ok_and(|system| system.is_of_threads())
    }
}

/// All protocols, by name.
///
/// ```
/// assert!(allways_catalogue::entries().iter().any(|entry| entry.name == "paxos"));
/// ```
pub fn entries() -> &'static [Entry] {
    static ENTRIES: &[Entry] = &[
        accumulator::ENTRY,
        accumulator_threads::ENTRY,
        alphabet::ENTRY,
        bounded_buffer::ENTRY,
        chain::ENTRY,
        chord::ENTRY,
        dining::ENTRY,
        filesystem::ENTRY,
        indexer::ENTRY,
        kv_server::ENTRY,
        lock::ENTRY,
        multi_paxos::ENTRY,
        one_paxos::ENTRY,
        overlay::ENTRY,
        pam::ENTRY,
        pastry::ENTRY,
        paxos::ENTRY,
        paxos_register::ENTRY,
        paxos_roles::ENTRY,
        primary_backup::ENTRY,
        register::ENTRY,
        replicated_kv::ENTRY,
        tree::ENTRY,
        two_phase_commit::ENTRY,
        zab::ENTRY,
    ];
    ENTRIES
}

/// The protocol with this name.
///
/// ```
/// let error = allways_catalogue::find("paxo").err().unwrap();
/// assert_eq!(error.to_string(), "there is no system `paxo`; did you mean `paxos`?");
/// ```
///
/// # Errors
///
/// If there is none; the message names the nearest.
pub fn find(name: &str) -> Result<&'static Entry, Error> {
    find_among(entries(), name)
}

/// The protocol with this name among these.
///
/// ```
/// use allways_catalogue::{entries, find_among};
/// assert_eq!(find_among(entries(), "tree").unwrap().name, "tree");
/// assert!(find_among(&[], "tree").is_err());
/// ```
///
/// # Errors
///
/// If there is none; the message names the nearest.
pub fn find_among<'a>(entries: &'a [Entry], name: &str) -> Result<&'a Entry, Error> {
    entries.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let hint = parameters::nearest(name, entries.iter().map(|entry| entry.name)).map_or_else(
            || match entries {
                // Short enough to be said here: somebody's own.
                [_, ..] if entries.len() < 9 => {
                    let names: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
                    format!("there is {}", names.join(", "))
                }
                _ => "`allways list` shows all".to_owned(),
            },
            |near| format!("did you mean `{near}`?"),
        );
        Error::System(format!("there is no system `{name}`; {hint}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use allways::{Cause, Options, Outcome, Search};

    /// The outcome of the classic search.
    pub(crate) fn classic(name: &str, set: &[(&str, &str)]) -> Outcome {
        let options = Options { search: Search::Classic, ..Options::default() };
        find(name).unwrap().build(set).unwrap().check_with(&options).unwrap()
    }

    /// The outcome of a program of threads, with one execution of each trace.
    pub(crate) fn threads(name: &str, set: &[(&str, &str)]) -> Outcome {
        let outcome = find(name).unwrap().build(set).unwrap().check_with(&Options::default());
        let outcome = outcome.unwrap();
        assert_eq!(outcome.engine, "dpor optimal");
        outcome
    }

    /// The number of executions of a program of threads that holds.
    pub(crate) fn executions(name: &str, set: &[(&str, &str)]) -> u64 {
        let outcome = threads(name, set);
        assert!(outcome.assert_holds().complete);
        assert_eq!(outcome.statistics.blocked_runs, Some(0));
        outcome.statistics.runs.unwrap()
    }

    /// The unique and generated states of a system that holds.
    pub(crate) fn counts(name: &str, set: &[(&str, &str)]) -> (u64, u64) {
        let outcome = classic(name, set);
        let statistics = &outcome.assert_holds().statistics;
        (statistics.unique_states.unwrap(), statistics.generated_states.unwrap())
    }

    #[test]
    fn entries_are_sorted_by_name() {
        assert!(entries().is_sorted_by_key(|entry| entry.name));
    }

    /// The smallest and largest value of each parameter, the others at their defaults.
    fn extremes(entry: &Entry) -> Vec<(&str, String)> {
        let of = |parameter: &'static Parameter| match &parameter.kind {
            Kind::Number { min, max, .. } => vec![min.to_string(), max.to_string()],
            Kind::Word(words) => words.iter().map(|word| (*word).to_owned()).collect(),
        };
        entry.parameters.iter().flat_map(|p| of(p).into_iter().map(|v| (p.name, v))).collect()
    }

    #[test]
    fn no_parameter_in_range_makes_a_handler_or_a_thread_panic() {
        let nodes =
            Options { search: Search::Classic, max_states: Some(1_000), ..Options::default() };
        let threads = Options { max_runs: Some(100), ..Options::default() };
        for entry in entries() {
            // A panic is how some bugs of threads show.
            let is_of_threads = entry.is_of_threads();
            let options = if is_of_threads { &threads } else { &nodes };
            let bugs = entry.bugs.iter().filter(|_| !is_of_threads).map(|bug| bug.name);
            let bugs: Vec<&str> = bugs.chain(["none"]).collect();
            for (name, value) in extremes(entry) {
                for bug in &bugs {
                    // Values that do not fit together are refused with a message.
                    let set = [(name, &*value), ("bug", bug)];
                    let Ok(system) = entry.build(&set) else { continue };
                    let violation = system.check_with(options).unwrap().violation;
                    let panicked = violation.filter(|v| v.cause == Cause::Panic);
                    assert_eq!(panicked, None, "{} {set:?}", entry.name);
                }
            }
        }
    }
}
