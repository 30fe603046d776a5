//! The live part of an entry: how the protocol is deployed and checked while it runs.
//!
//! Only with the feature `live`: without it, the catalogue needs no sockets.

#[cfg(feature = "live")]
use crate::{Entry, Parameters};
#[cfg(feature = "live")]
use allways::Error;
#[cfg(feature = "live")]
use allways_live::Deployable;

/// How to make what is deployed.
#[cfg(feature = "live")]
pub(crate) type Make = fn(&Parameters) -> Result<Box<dyn Deployable>, Error>;

/// What an entry knows about being deployed.
#[derive(Clone, Copy)]
pub(crate) struct LivePart {
    #[cfg(feature = "live")]
    pub make: Option<Make>,
    /// Parameters that a deployment has unless they are set: those with which something can happen.
    #[cfg(feature = "live")]
    pub defaults: &'static [(&'static str, &'static str)],
}

impl LivePart {
    /// It cannot be deployed.
    pub const NONE: Self = LivePart {
        #[cfg(feature = "live")]
        make: None,
        #[cfg(feature = "live")]
        defaults: &[],
    };
}

#[cfg(feature = "live")]
impl Entry {
    /// The same protocol, which can also be deployed: with these parameters unless they are set.
    ///
    /// ```
    /// use allways::Checkable;
    /// use allways::prelude::*;
    /// use allways_catalogue::Entry;
    /// use allways_live::{Deployable, Repeated, sample::Account};
    /// fn system() -> System<Account> {
    ///     System::new([Account(5), Account(5)])
    /// }
    /// let entry = Entry::new("bank", "accounts", &[], &[], |_| {
    ///     Ok(Box::new(system()) as Box<dyn Checkable>)
    /// })
    /// .deployed(&[], |_| {
    ///     let repeated = Repeated::new(system());
    ///     repeated.map(|it| Box::new(it) as Box<dyn Deployable>).map_err(|e| allways::Error::System(e.to_string()))
    /// });
    /// assert!(entry.is_deployable());
    /// ```
    pub const fn deployed(
        mut self,
        defaults: &'static [(&'static str, &'static str)],
        make: fn(&Parameters) -> Result<Box<dyn Deployable>, Error>,
    ) -> Self {
        self.live = LivePart { make: Some(make), defaults };
        self
    }

    /// Whether it can be deployed.
    ///
    /// ```
    /// assert!(allways_catalogue::find("paxos").unwrap().is_deployable());
    /// assert!(!allways_catalogue::find("tree").unwrap().is_deployable());
    /// ```
    pub fn is_deployable(&self) -> bool {
        self.live.make.is_some()
    }

    /// The values of all parameters of a deployment when these are set.
    ///
    /// ```
    /// let paxos = allways_catalogue::find("paxos").unwrap();
    /// assert_eq!(paxos.live_parameters(&[]).unwrap().number("proposals"), 2);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Entry::parameters`].
    pub fn live_parameters(&self, set: &[(&str, &str)]) -> Result<Parameters, Error> {
        let mut all = set.to_vec();
        let bug = set.iter().find(|(name, _)| *name == "bug").map(|(_, value)| *value);
        let bug = self.bugs.iter().find(|known| Some(known.name) == bug);
        for (name, value) in self.live.defaults {
            let with_bug = bug.is_some_and(|bug| bug.defaults.iter().any(|(n, _)| n == name));
            if !with_bug && set.iter().all(|(other, _)| other != name) {
                all.push((name, value));
            }
        }
        self.parameters(&all)
    }

    /// What is deployed with these parameters.
    ///
    /// ```
    /// let paxos = allways_catalogue::find("paxos").unwrap();
    /// let parameters = paxos.live_parameters(&[]).unwrap();
    /// assert_eq!(paxos.deploy(&parameters).unwrap().nodes(), 3);
    /// ```
    ///
    /// # Errors
    ///
    /// If it cannot be deployed, or the values do not fit together.
    pub fn deploy(&self, parameters: &Parameters) -> Result<Box<dyn Deployable>, Error> {
        match self.live.make {
            Some(make) => make(parameters),
            None => Err(Error::System(format!("system `{}` cannot be deployed", self.name))),
        }
    }
}

/// The usual live part: the system of the checks, again and again. `configure` gives a state the
/// configuration of a node: which mistakes it makes.
#[cfg(feature = "live")]
pub(crate) fn repeated<N: allways_live::LiveNode>(
    system: Result<allways::System<N>, Error>,
    configure: fn(&mut N, &N),
) -> Result<Box<dyn Deployable>, Error> {
    let repeated = allways_live::Repeated::new(system?);
    repeated
        .map(|repeated| Box::new(repeated.configured(configure)) as Box<dyn Deployable>)
        .map_err(|error| Error::System(error.to_string()))
}

/// The name of a bug in a state: written as text, and read back if there is such a bug.
#[cfg(feature = "live")]
pub(crate) mod bug {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub fn serialize<S: Serializer>(
        bug: &Option<&'static str>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        bug.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<&'static str>, D::Error> {
        let Some(name) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
        let bugs = crate::entries().iter().flat_map(|entry| entry.bugs);
        let known = bugs.map(|bug| bug.name).find(|known| *known == name);
        known.map(Some).ok_or_else(|| D::Error::custom(format!("there is no bug `{name}`")))
    }
}
