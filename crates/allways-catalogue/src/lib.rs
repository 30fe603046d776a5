//! The catalogue: protocols to check, one file each, with known bugs as parameters.
//!
//! Every protocol is correct by default. A parameter `bug` brings back a known mistake.
//!
//! ```
//! use allways::{Options, Verdict};
//! let entry = allways_catalogue::find("tree").unwrap();
//! let system = entry.build(&[]).unwrap();
//! let outcome = system.check_with(&Options::default()).unwrap();
//! assert_eq!(outcome.verdict, Verdict::Holds);
//! ```

mod history;
mod parameters;
mod paxos_roles;
mod register;
mod tree;
mod zab;

use allways::{Checkable, Error};
pub use parameters::{Bug, Kind, Parameter, Parameters};

/// A protocol of the catalogue.
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
}

impl Entry {
    /// The values of all parameters when these are set: `("nodes", "3")`, `("bug", "last-promise")`.
    ///
    /// # Errors
    ///
    /// If a parameter is unknown, or a value is not one that it can have.
    pub fn parameters(&self, set: &[(&str, &str)]) -> Result<Parameters, Error> {
        Parameters::read(self, set)
    }

    /// The system with these parameters set, the others at their defaults.
    ///
    /// # Errors
    ///
    /// As [`Entry::parameters`], or if the values do not fit together.
    pub fn build(&self, set: &[(&str, &str)]) -> Result<Box<dyn Checkable>, Error> {
        self.build_with(&self.parameters(set)?)
    }

    /// The system with these parameters.
    ///
    /// # Errors
    ///
    /// If the values do not fit together.
    pub fn build_with(&self, parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
        (self.make)(parameters)
    }
}

/// All protocols, by name.
pub fn entries() -> &'static [Entry] {
    static ENTRIES: &[Entry] = &[paxos_roles::ENTRY, register::ENTRY, tree::ENTRY, zab::ENTRY];
    ENTRIES
}

/// The protocol with this name.
///
/// # Errors
///
/// If there is none; the message names the nearest.
pub fn find(name: &str) -> Result<&'static Entry, Error> {
    entries().iter().find(|entry| entry.name == name).ok_or_else(|| {
        let hint = parameters::nearest(name, entries().iter().map(|entry| entry.name)).map_or_else(
            || "`allways list` shows all".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        Error::System(format!("there is no system `{name}`; {hint}"))
    })
}
