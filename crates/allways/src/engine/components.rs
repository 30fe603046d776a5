//! Which nodes of a system, or processes of a program, engine `dir` takes for one component: a forest, written with commas, slashes and parentheses.

use crate::error::Error;
use std::fmt;
use std::str::FromStr;

/// No member has a higher number. What is above is a slip, and ranges up to there would only take memory.
const LAST_MEMBER: usize = 65_535;

/// Components are no deeper in each other than this.
const DEEPEST: usize = 64;

/// A component: some members, which may be divided into components again.
///
/// ```
/// use allways::Component;
/// let pair = Component::of(vec![0, 1]).unwrap();
/// let all = Component::made_of(vec![pair, Component::of(vec![2]).unwrap()]).unwrap();
/// assert_eq!(all.to_string(), "(0,1/2)");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Component {
    members: Vec<usize>,
    parts: Vec<Component>,
}

impl Component {
    /// These members, seen as one.
    ///
    /// ```
    /// assert!(allways::Component::of(vec![]).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// If there is none, one is there twice, or one has a number that is beyond reason.
    pub fn of(mut members: Vec<usize>) -> Result<Self, Error> {
        members.sort_unstable();
        match members.last() {
            None => return Err(wrong("a component has at least one member")),
            Some(&last) if last > LAST_MEMBER => return Err(too_high(last)),
            Some(_) => {}
        }
        match members.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(in_two(pair[0])),
            None => Ok(Component { members, parts: Vec::new() }),
        }
    }

    /// A component that consists of these.
    ///
    /// ```
    /// let one = allways::Component::of(vec![0]).unwrap();
    /// assert!(allways::Component::made_of(vec![one]).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// If there are fewer than two, if they are too deep in each other, or if something is in two of them.
    pub fn made_of(parts: Vec<Component>) -> Result<Self, Error> {
        if parts.len() < 2 {
            return Err(wrong("a component that consists of components has at least two of them"));
        }
        if parts.iter().map(Component::depth).max().unwrap_or(0) >= DEEPEST {
            return Err(too_deep());
        }
        let members = parts.iter().flat_map(|part| part.members.iter().copied()).collect();
        Ok(Component { parts, ..Component::of(members)? })
    }

    /// All members, in order.
    ///
    /// ```
    /// assert_eq!(allways::Component::of(vec![2, 0]).unwrap().members(), [0, 2]);
    /// ```
    pub fn members(&self) -> &[usize] {
        &self.members
    }

    /// The components that it consists of, if it does.
    ///
    /// ```
    /// assert!(allways::Component::of(vec![2, 0]).unwrap().parts().is_empty());
    /// ```
    pub fn parts(&self) -> &[Component] {
        &self.parts
    }

    /// How many levels there are below this one, with this one.
    fn depth(&self) -> usize {
        1 + self.parts.iter().map(Component::depth).max().unwrap_or(0)
    }
}

/// Which nodes of a system, or processes of a program, are one component each in engine `dir`. Those that are in none are components of their own.
///
/// Written, members are separated by commas, `0-3` is `0,1,2,3`, and components are separated by slashes. A component that consists of components is written in parentheses. `each`
/// means that each member is a component, and `auto` that those go together that are seen to exchange much.
///
/// ```
/// use allways::Components;
/// let components: Components = "0,1/2-4".parse().unwrap();
/// assert_eq!(components.groups(), [vec![0, 1], vec![2, 3, 4]]);
/// let nested: Components = "(0,1/2)/3".parse().unwrap();
/// assert_eq!(nested.groups(), [vec![0, 1, 2], vec![3]]);
/// assert_eq!(nested.all()[0].parts().len(), 2);
/// assert!("0,1/1".parse::<Components>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Components {
    all: Vec<Component>,
    how: How,
}

/// How members are put into components.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum How {
    /// As is said; those of whom nothing is said are by themselves, unless somebody else has something to say about them.
    #[default]
    Named,
    Each,
    Auto,
}

impl Components {
    /// These are one component each.
    ///
    /// ```
    /// assert!(allways::Components::new(vec![vec![0, 1], vec![2]]).is_ok());
    /// ```
    ///
    /// # Errors
    ///
    /// If something is in two of them, or one is empty.
    pub fn new(groups: Vec<Vec<usize>>) -> Result<Self, Error> {
        Components::nested(groups.into_iter().map(Component::of).collect::<Result<_, _>>()?)
    }

    /// These components, which may consist of components.
    ///
    /// ```
    /// use allways::{Component, Components};
    /// let single = |member| Component::of(vec![member]).unwrap();
    /// let pair = Component::made_of(vec![single(0), single(1)]).unwrap();
    /// let components = Components::nested(vec![pair, single(2)]).unwrap();
    /// assert_eq!(components.to_string(), "(0/1)/2");
    /// ```
    ///
    /// # Errors
    ///
    /// If something is in two of them.
    pub fn nested(all: Vec<Component>) -> Result<Self, Error> {
        let mut members: Vec<usize> =
            all.iter().flat_map(|it| it.members.iter().copied()).collect();
        members.sort_unstable();
        match members.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(in_two(pair[0])),
            None => Ok(Components { all, how: How::Named }),
        }
    }

    /// Those together that are seen to exchange much.
    ///
    /// ```
    /// assert_eq!(allways::Components::auto().to_string(), "auto");
    /// ```
    pub fn auto() -> Self {
        Components { all: Vec::new(), how: How::Auto }
    }

    /// Each by itself, also where a [program](crate::machine::Machines::components) would have others.
    ///
    /// ```
    /// assert_eq!(allways::Components::each().to_string(), "each");
    /// ```
    pub fn each() -> Self {
        Components { all: Vec::new(), how: How::Each }
    }

    /// Whether they are to be found out.
    ///
    /// ```
    /// assert!(!allways::Components::default().is_auto());
    /// ```
    pub fn is_auto(&self) -> bool {
        self.how == How::Auto
    }

    /// The components, as far as they were named.
    ///
    /// ```
    /// assert!(allways::Components::default().all().is_empty());
    /// ```
    pub fn all(&self) -> &[Component] {
        &self.all
    }

    /// The members of each.
    ///
    /// ```
    /// assert!(allways::Components::default().groups().is_empty());
    /// ```
    pub fn groups(&self) -> Vec<Vec<usize>> {
        self.all.iter().map(|component| component.members.clone()).collect()
    }

    /// Whether some component consists of components.
    pub(crate) fn is_nested(&self) -> bool {
        self.all.iter().any(|component| !component.parts.is_empty())
    }

    /// All components, where there are so many to be in one.
    pub(crate) fn among(&self, members: usize) -> Result<Vec<Component>, Error> {
        let mut is_free = vec![true; members];
        for &member in self.all.iter().flat_map(|component| &component.members) {
            match is_free.get_mut(member) {
                Some(free) => *free = false,
                None => {
                    let what = format!(
                        "there is no member {member} of components: there are {members}, numbered from 0"
                    );
                    return Err(Error::Options(what));
                }
            }
        }
        let rest = (0..members).filter(|&member| is_free[member]);
        let rest = rest.map(|member| Component { members: vec![member], parts: Vec::new() });
        Ok(self.all.iter().cloned().chain(rest).collect())
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.parts.is_empty() {
            f.write_str("(")?;
            list(&self.parts, f)?;
            return f.write_str(")");
        }
        // Three in a row are shorter as a range.
        let mut rest = &self.members[..];
        while let Some(&first) = rest.first() {
            let is_next = |(place, &member): (usize, &usize)| member == first + place;
            let row = rest.iter().enumerate().take_while(|&it| is_next(it)).count();
            let taken = match row {
                1 | 2 => write!(f, "{first}").map(|()| 1)?,
                _ => write!(f, "{first}-{}", first + row - 1).map(|()| row)?,
            };
            rest = &rest[taken..];
            if !rest.is_empty() {
                f.write_str(",")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Components {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_auto(), self.all.is_empty()) {
            (true, _) => f.write_str("auto"),
            (false, true) => f.write_str("each"),
            (false, false) => list(&self.all, f),
        }
    }
}

fn list(all: &[Component], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (place, component) in all.iter().enumerate() {
        if place > 0 {
            f.write_str("/")?;
        }
        write!(f, "{component}")?;
    }
    Ok(())
}

impl FromStr for Components {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        match text.trim() {
            "auto" => return Ok(Components::auto()),
            "each" => return Ok(Components::each()),
            _ => {}
        }
        let mut reader = Reader { text, at: 0 };
        let all = reader.forest(0)?;
        match reader.next() {
            None => Components::nested(all),
            Some(')') => Err(unbalanced(text)),
            Some(_) => Err(reader.not_so()),
        }
    }
}

/// Reads components from left to right.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    /// What comes next, but for blanks.
    fn next(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    /// Whether this comes next; it is taken then.
    fn takes(&mut self, what: char) -> bool {
        let is_it = self.next() == Some(what);
        self.at += if is_it { what.len_utf8() } else { 0 };
        is_it
    }

    fn not_so(&self) -> Error {
        wrong(&format!(
            "`{}` are no components; write members and slashes, as 0,1/2 or 0-7/8-15, with parentheses around a component of components, as (0,1/2)/3, or auto or each",
            self.text
        ))
    }

    fn forest(&mut self, depth: usize) -> Result<Vec<Component>, Error> {
        if depth >= DEEPEST {
            return Err(too_deep());
        }
        let mut all = Vec::new();
        loop {
            all.push(match self.takes('(') {
                true => {
                    let parts = self.forest(depth + 1)?;
                    if !self.takes(')') {
                        return Err(match self.next() {
                            None => unbalanced(self.text),
                            Some(_) => self.not_so(),
                        });
                    }
                    Component::made_of(parts)?
                }
                false => self.members()?,
            });
            if !self.takes('/') {
                return Ok(all);
            }
        }
    }

    fn members(&mut self) -> Result<Component, Error> {
        let is_empty = matches!(self.next(), None | Some('/' | ')'));
        if is_empty && !self.text.trim().is_empty() {
            return Err(wrong(&format!("a component is empty in `{}`", self.text)));
        }
        let mut members = Vec::new();
        loop {
            let first = self.number()?;
            let last = match self.takes('-') {
                true => self.number()?,
                false => first,
            };
            if last < first {
                let what = format!("the range {first}-{last} is empty; write {last}-{first}");
                return Err(wrong(&what));
            }
            members.extend(first..=last);
            if !self.takes(',') {
                return Component::of(members);
            }
        }
    }

    fn number(&mut self) -> Result<usize, Error> {
        self.next();
        let rest = &self.text[self.at..];
        let digits = &rest[..rest.bytes().take_while(u8::is_ascii_digit).count()];
        if digits.is_empty() {
            return Err(self.not_so());
        }
        self.at += digits.len();
        match digits.parse() {
            Ok(number) if number <= LAST_MEMBER => Ok(number),
            _ => Err(too_high(digits)),
        }
    }
}

fn wrong(what: &str) -> Error {
    Error::Options(what.to_owned())
}

fn in_two(member: usize) -> Error {
    wrong(&format!("{member} is in two components, or twice in one"))
}

fn too_high(member: impl fmt::Display) -> Error {
    wrong(&format!("component member {member} is none: no number is above {LAST_MEMBER}"))
}

fn too_deep() -> Error {
    wrong(&format!("components are at most {DEEPEST} deep in each other"))
}

fn unbalanced(text: &str) -> Error {
    wrong(&format!("parentheses do not match in `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_is_read() {
        let read = |text: &str| text.parse::<Components>().unwrap().to_string();
        for same in
            ["0", "0,1/2", "0-7/8-15", "0,1,3-5", "(0,1/2)/3", "((0/1)/(2/3-5))/6", "auto", "each"]
        {
            assert_eq!(read(same), same);
        }
        assert_eq!(read(" ( 1 , 0 / 2 - 4 ) / 5"), "(0,1/2-4)/5");
        assert_eq!(read("3,2,1"), "1-3");
    }

    #[test]
    fn wrong_input_gets_a_sentence() {
        let error = |text: &str| text.parse::<Components>().unwrap_err().to_string();
        let how = "are no components; write members and slashes, as 0,1/2 or 0-7/8-15, with parentheses around a component of components, as (0,1/2)/3, or auto or each";
        for (text, why) in [
            ("(0/1", "parentheses do not match in `(0/1`"),
            ("0/1)", "parentheses do not match in `0/1)`"),
            ("(0/1))", "parentheses do not match in `(0/1))`"),
            ("0,1/1", "1 is in two components, or twice in one"),
            ("(0/1)/1", "1 is in two components, or twice in one"),
            ("0,0", "0 is in two components, or twice in one"),
            ("0-2/2", "2 is in two components, or twice in one"),
            ("0//1", "a component is empty in `0//1`"),
            ("0/", "a component is empty in `0/`"),
            ("()", "a component is empty in `()`"),
            ("(0)", "a component that consists of components has at least two of them"),
            ("((0/1))/2", "a component that consists of components has at least two of them"),
            ("3-1", "the range 3-1 is empty; write 1-3"),
            (
                "0-99999999999999999999",
                "component member 99999999999999999999 is none: no number is above 65535",
            ),
            ("70000", "component member 70000 is none: no number is above 65535"),
        ] {
            assert_eq!(error(text), why);
        }
        for text in ["", "a", "0;1", "0,", "-1", "0-", "(0/1)2", "0(1/2)", "é", "0 1", "(0/1),2"] {
            assert_eq!(error(text), format!("`{text}` {how}"));
        }
        let deep = "(".repeat(100_000);
        assert_eq!(error(&deep), "components are at most 64 deep in each other");
        let other = "3".parse::<Components>().unwrap().among(2).unwrap_err();
        assert_eq!(
            other.to_string(),
            "there is no member 3 of components: there are 2, numbered from 0"
        );
    }

    /// Members 0 to so many, divided at random.
    fn components() -> impl Strategy<Value = Components> {
        (1..12usize, prop::collection::vec(any::<u8>(), 40)).prop_map(|(members, bytes)| {
            fn divide(members: &[usize], bytes: &mut std::vec::IntoIter<u8>) -> Component {
                let byte = usize::from(bytes.next().unwrap_or(0));
                if members.len() < 2 || byte % 3 == 0 {
                    return Component::of(members.to_vec()).unwrap();
                }
                let (left, right) = members.split_at(1 + byte / 3 % (members.len() - 1));
                Component::made_of(vec![divide(left, bytes), divide(right, bytes)]).unwrap()
            }
            let mut bytes = bytes.into_iter();
            let all: Vec<usize> = (0..members).collect();
            let (left, right) = all.split_at(members / 2);
            let both = [left, right].into_iter().filter(|it| !it.is_empty());
            Components::nested(both.map(|it| divide(it, &mut bytes)).collect()).unwrap()
        })
    }

    proptest! {
        #[test]
        fn all_components_can_be_written(components in components()) {
            prop_assert_eq!(components.to_string().parse::<Components>().unwrap(), components);
        }

        #[test]
        fn whatever_is_written_is_read_or_refused(text in "[0-9,/() a-]{0,20}") {
            if let Ok(components) = text.parse::<Components>() {
                prop_assert_eq!(components.to_string().parse::<Components>().unwrap(), components);
            }
        }
    }
}
