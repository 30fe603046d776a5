//! Parameters of a protocol: what can be set, to what, and what it is otherwise.

use crate::Entry;
use allways::Error;

/// Something that can be set.
///
/// ```
/// use allways_catalogue::{Kind, Parameter};
/// let nodes = Parameter {
///     name: "nodes",
///     about: "how many servers",
///     kind: Kind::Number { default: 3, min: 1, max: 9 },
/// };
/// assert_eq!(nodes.name, "nodes");
/// ```
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it means, in one line.
    pub about: &'static str,
    /// What values it can have.
    pub kind: Kind,
}

/// The values that a parameter can have.
///
/// ```
/// use allways_catalogue::Kind;
/// let (number, word) = (Kind::Number { default: 3, min: 1, max: 9 }, Kind::Word(&["free", "counted"]));
/// assert!(matches!(number, Kind::Number { default: 3, .. }));
/// assert!(matches!(word, Kind::Word(words) if words[0] == "free"));
/// ```
pub enum Kind {
    /// A whole number.
    Number {
        /// The value unless set.
        default: u64,
        /// The smallest that makes sense.
        min: u64,
        /// The largest that is supported.
        max: u64,
    },
    /// One of these words; the first unless set.
    Word(&'static [&'static str]),
}

/// A mistake that can be brought back with `bug=NAME`.
///
/// ```
/// use allways_catalogue::Bug;
/// let bug = Bug { name: "no-check", about: "gives what it has not", defaults: &[("nodes", "1")] };
/// assert_eq!(bug.defaults[0], ("nodes", "1"));
/// ```
pub struct Bug {
    /// Its name.
    pub name: &'static str,
    /// What goes wrong, in one line.
    pub about: &'static str,
    /// The smallest other parameters that show it: the defaults when this bug is chosen.
    pub defaults: &'static [(&'static str, &'static str)],
}

/// The values of all parameters of one protocol.
///
/// ```
/// let paxos = allways_catalogue::find("paxos").unwrap();
/// let parameters = paxos.parameters(&[("bug", "last-promise")]).unwrap();
/// assert_eq!((parameters.number("nodes"), parameters.bug()), (3, Some("last-promise")));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameters {
    values: Vec<(&'static str, String)>,
    bug: Option<&'static str>,
}

impl Parameters {
    pub(crate) fn read(entry: &Entry, set: &[(&str, &str)]) -> Result<Self, Error> {
        let wrong = |what: String| Err(Error::System(what));
        for (index, (name, _)) in set.iter().enumerate() {
            if set[..index].iter().any(|(other, _)| other == name) {
                return wrong(format!("parameter `{name}` is set twice"));
            }
            if *name != "bug" && entry.parameters.iter().all(|p| p.name != *name) {
                let names = entry.parameters.iter().map(|p| p.name).chain(["bug"]);
                let hint = nearest(name, names.clone()).map_or_else(
                    || format!("it has {}", names.collect::<Vec<_>>().join(", ")),
                    |near| format!("did you mean `{near}`?"),
                );
                return wrong(format!("`{}` has no parameter `{name}`; {hint}", entry.name));
            }
        }
        let value = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
        let bug = match value("bug") {
            None | Some("none") => None,
            Some(name) => match entry.bugs.iter().find(|bug| bug.name == name) {
                Some(bug) => Some(bug),
                None => {
                    let names: Vec<_> = entry.bugs.iter().map(|bug| bug.name).collect();
                    let known = match names.is_empty() {
                        true => "it has none".to_owned(),
                        false => format!("it has {}", names.join(", ")),
                    };
                    return wrong(format!("`{}` has no bug `{name}`; {known}", entry.name));
                }
            },
        };
        let mut values = Vec::new();
        for parameter in entry.parameters {
            let name = parameter.name;
            let with_bug =
                bug.and_then(|bug| bug.defaults.iter().find(|(n, _)| *n == name)).map(|(_, v)| *v);
            let text = value(name).or(with_bug);
            let text = match &parameter.kind {
                Kind::Number { default, min, max } => match text {
                    None => default.to_string(),
                    Some(text) => match text.parse::<u64>() {
                        Ok(number) if (*min..=*max).contains(&number) => number.to_string(),
                        _ if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) => {
                            return wrong(format!(
                                "`{name}={text}`: `{text}` is not a whole number; it is one from {min} to {max}"
                            ));
                        }
                        _ => {
                            return wrong(format!(
                                "`{name}={text}` is out of range: it is a number from {min} to {max}"
                            ));
                        }
                    },
                },
                Kind::Word(words) => match text {
                    None => words[0].to_owned(),
                    Some(text) if words.contains(&text) => text.to_owned(),
                    Some(text) => {
                        return wrong(format!(
                            "`{name}={text}` makes no sense: it is one of {}",
                            words.join(", ")
                        ));
                    }
                },
            };
            values.push((name, text));
        }
        Ok(Parameters { values, bug: bug.map(|bug| bug.name) })
    }

    /// The value of a number; zero for a parameter that the protocol does not have.
    ///
    /// ```
    /// let paxos = allways_catalogue::find("paxos").unwrap();
    /// assert_eq!(paxos.parameters(&[("nodes", "5")]).unwrap().number("nodes"), 5);
    /// ```
    pub fn number(&self, name: &str) -> usize {
        self.word(name).parse().unwrap_or_default()
    }

    /// The value of a parameter as text; empty for one that the protocol does not have.
    ///
    /// ```
    /// let zab = allways_catalogue::find("zab").unwrap();
    /// assert_eq!(zab.parameters(&[("history", "counted")]).unwrap().word("history"), "counted");
    /// ```
    pub fn word(&self, name: &str) -> &str {
        self.values.iter().find(|(n, _)| *n == name).map_or("", |(_, value)| value)
    }

    /// The bug that was chosen.
    ///
    /// ```
    /// let paxos = allways_catalogue::find("paxos").unwrap();
    /// assert_eq!(paxos.parameters(&[]).unwrap().bug(), None);
    /// ```
    pub fn bug(&self) -> Option<&'static str> {
        self.bug
    }

    /// All parameters and their values, the bug last if there is one.
    ///
    /// ```
    /// let chain = allways_catalogue::find("chain").unwrap();
    /// let parameters = chain.parameters(&[("nodes", "4")]).unwrap();
    /// assert!(parameters.iter().eq([("nodes", "4"), ("messages", "3")]));
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let values = self.values.iter().map(|(name, value)| (*name, value.as_str()));
        values.chain(self.bug.map(|bug| ("bug", bug)))
    }
}

/// The word nearest to a misspelt one, if one is near; how it is capitalised does not matter.
pub(crate) fn nearest<'a>(word: &str, among: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = |&(d, other): &(usize, &str)| d <= 3 && 2 * d <= other.chars().count();
    let word = word.to_lowercase();
    among
        .map(|other| (distance(&word, &other.to_lowercase()), other))
        .filter(near)
        .min()
        .map(|(_, w)| w)
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_and_near_words() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(nearest("paxs", ["paxos", "zab"].into_iter()), Some("paxos"));
        assert_eq!(nearest("foo", ["paxos", "zab"].into_iter()), None);
        assert_eq!(nearest("something", ["paxos", "zab"].into_iter()), None);
    }
}
