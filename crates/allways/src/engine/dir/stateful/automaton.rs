//! What a component may be in when others have seen what they have seen: sets of its configurations.
//!
//! After some labels a component is in one of several configurations, depending on what it did in silence. All that matters to others is that
//! set, with all that silent moves lead to from it: two sequences of labels that lead to equal sets have the same future. So the sets are the
//! states of an automaton over labels, made deterministic by the subset construction as far as it is walked.
//!
//! **It may not pay.** Sets may overlap without being equal, and then there are more of them than configurations. So there is another automaton, in
//! which a label leads to several sets, one for each configuration that it leads to, with all that silent moves lead to from that one. These are
//! no more than there are configurations, and [the engine](super) walks through both products side by side.
//!
//! **There may be no end of it.** Where a component can go on in silence for very long, a set takes in what comes first of that, and silent moves that lead
//! out of it are edges like others, with a label that says nothing. All that was said of sets holds of these, too: what they have
//! in them is reachable, and what silent moves lead to is in them or behind such an edge.

use super::configuration::{ConfigurationId, Configurations, LabelId, Move, NONE, SILENT};
use crate::error::Error;
use crate::space::EventId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// A set of configurations, by number.
pub(super) type SubsetId = u32;

/// What a property sees of several configurations of a component: of each, a view for each node.
pub(super) type Views = Rc<[Rc<[u32]>]>;

/// A label, and the set that it leads to.
pub(super) type Edge = (LabelId, SubsetId);

/// A set that has so many configurations takes in no more of them: there may be no end of what a component can do in silence.
const FULL: usize = 1024;

pub(super) struct Automaton<'s> {
    pub configurations: Configurations<'s>,
    subsets: Vec<Rc<[ConfigurationId]>>,
    /// For each set, a bit for each of its configurations; several share one.
    masks: Vec<u64>,
    /// How many configurations all these have together.
    in_sets: usize,
    known: FxHashMap<Rc<[ConfigurationId]>, SubsetId>,
    own: Vec<Option<Rc<[Edge]>>>,
    inputs: FxHashMap<(SubsetId, EventId), Rc<[Edge]>>,
    /// What a property sees of the configurations of a set: tuples of views, one for each node.
    seen: FxHashMap<(SubsetId, usize), u32>,
    views: Vec<Views>,
    known_views: FxHashMap<Views, u32>,
    /// Whether a label leads to one set.
    is_deterministic: bool,
}

impl<'s> Automaton<'s> {
    pub fn new(configurations: Configurations<'s>, is_deterministic: bool) -> Self {
        Automaton {
            configurations,
            subsets: Vec::new(),
            masks: Vec::new(),
            in_sets: 0,
            known: FxHashMap::default(),
            own: Vec::new(),
            inputs: FxHashMap::default(),
            seen: FxHashMap::default(),
            views: Vec::new(),
            known_views: FxHashMap::default(),
            is_deterministic,
        }
    }

    /// The configurations of a set.
    pub fn members(&self, subset: SubsetId) -> Rc<[ConfigurationId]> {
        Rc::clone(&self.subsets[subset as usize])
    }

    /// Whether a set has all that another has.
    pub fn includes(&self, large: SubsetId, small: SubsetId) -> bool {
        if large == small {
            return true;
        }
        let [all, few] = [large, small].map(|it| &*self.subsets[it as usize]);
        let lacks = self.masks[small as usize] & !self.masks[large as usize];
        if few.len() >= all.len() || lacks != 0 {
            return false;
        }
        let mut all = all.iter();
        few.iter().all(|it| all.find(|other| *other >= it) == Some(it))
    }

    /// The set of some configurations and all that silent moves lead to from them, as long as there is room.
    pub fn closed(&mut self, from: &[ConfigurationId]) -> Result<SubsetId, Error> {
        let mut members: FxHashSet<ConfigurationId> = from.iter().copied().collect();
        // In the order in which they were met, the same each time.
        let mut todo: Vec<ConfigurationId> = from.to_vec();
        let mut next = 0;
        while next < todo.len() && members.len() < FULL {
            let configuration = todo[next];
            next += 1;
            for it in &*self.configurations.own(configuration)? {
                if it.label == SILENT && it.to != NONE && members.insert(it.to) {
                    todo.push(it.to);
                }
            }
        }
        let mut members: Vec<ConfigurationId> = members.into_iter().collect();
        members.sort_unstable();
        if let Some(&known) = self.known.get(&members[..]) {
            return Ok(known);
        }
        let (number, members): (_, Rc<[u32]>) = (self.subsets.len() as SubsetId, members.into());
        self.known.insert(Rc::clone(&members), number);
        self.in_sets += members.len();
        self.masks.push(members.iter().fold(0, |mask, member| mask | 1 << (member % 64)));
        self.subsets.push(members);
        self.own.push(None);
        Ok(number)
    }

    /// Where labels lead that take nothing from outside.
    pub fn own(&mut self, subset: SubsetId) -> Result<Rc<[Edge]>, Error> {
        if let Some(known) = &self.own[subset as usize] {
            return Ok(Rc::clone(known));
        }
        let mut moves = Vec::new();
        let members = self.members(subset);
        let stays_inside = |it: &Move| it.label == SILENT && members.binary_search(&it.to).is_ok();
        for &configuration in &*members {
            let own = self.configurations.own(configuration)?;
            moves.extend(own.iter().filter(|it| !stays_inside(it)).cloned());
        }
        let edges = self.edges(&moves)?;
        self.own[subset as usize] = Some(Rc::clone(&edges));
        Ok(edges)
    }

    /// Where labels lead that take this from outside.
    pub fn input(&mut self, subset: SubsetId, event: EventId) -> Result<Rc<[Edge]>, Error> {
        if let Some(known) = self.inputs.get(&(subset, event)) {
            return Ok(Rc::clone(known));
        }
        let mut moves = Vec::new();
        for &configuration in &*self.members(subset) {
            moves.extend(self.configurations.input(configuration, event)?.iter().cloned());
        }
        let edges = self.edges(&moves)?;
        self.inputs.insert((subset, event), Rc::clone(&edges));
        Ok(edges)
    }

    fn edges(&mut self, moves: &[Move]) -> Result<Rc<[Edge]>, Error> {
        // Panics are no edges.
        let mut to: Vec<(LabelId, ConfigurationId)> =
            moves.iter().filter(|it| it.to != NONE).map(|it| (it.label, it.to)).collect();
        to.sort_unstable();
        to.dedup();
        let mut edges = Vec::new();
        let mut rest = &to[..];
        while let Some(&(label, first)) = rest.first() {
            let len = rest.iter().take_while(|(other, _)| *other == label).count();
            if self.is_deterministic {
                let all: Vec<ConfigurationId> = rest[..len].iter().map(|(_, to)| *to).collect();
                edges.push((label, self.closed(&all)?));
                rest = &rest[len..];
            } else {
                edges.push((label, self.closed(&[first])?));
                rest = &rest[1..];
            }
        }
        edges.sort_unstable();
        edges.dedup();
        Ok(edges.into())
    }

    /// The distinct views that a property has of the configurations of a set, one for each node of the component; and the number of these.
    pub fn views(&mut self, subset: SubsetId, property: usize) -> (u32, Views) {
        if let Some(&known) = self.seen.get(&(subset, property)) {
            return (known, Rc::clone(&self.views[known as usize]));
        }
        let members = self.members(subset);
        let mut all: Vec<Rc<[u32]>> =
            members.iter().map(|&it| self.configurations.views(it, property)).collect();
        all.sort_unstable();
        all.dedup();
        let all: Views = all.into();
        let next = self.views.len() as u32;
        let number = *self.known_views.entry(Rc::clone(&all)).or_insert(next);
        if number == next {
            self.views.push(Rc::clone(&all));
        }
        self.seen.insert((subset, property), number);
        (number, all)
    }

    /// Roughly the bytes in use.
    pub fn bytes(&self) -> u64 {
        let sets = self.in_sets * 4 + self.subsets.len() * 104;
        self.configurations.bytes() + (sets + self.inputs.len() * 64) as u64
    }

    // Back again.

    /// A way in silence from one of some configurations to another: where it begins, and its moves.
    pub fn silent_way(
        &mut self,
        from: &[ConfigurationId],
        to: ConfigurationId,
    ) -> Result<Option<(ConfigurationId, Vec<Move>)>, Error> {
        let mut came: FxHashMap<ConfigurationId, Option<(ConfigurationId, Move)>> =
            from.iter().map(|&first| (first, None)).collect();
        let mut todo: Vec<ConfigurationId> = from.to_vec();
        let mut next = 0;
        while next < todo.len() && !came.contains_key(&to) {
            let configuration = todo[next];
            next += 1;
            for it in &*self.configurations.own(configuration)? {
                if it.label == SILENT && it.to != NONE && !came.contains_key(&it.to) {
                    came.insert(it.to, Some((configuration, it.clone())));
                    todo.push(it.to);
                }
            }
        }
        let mut way = Vec::new();
        let mut at = to;
        loop {
            match came.get(&at) {
                None => return Ok(None),
                Some(None) => break,
                Some(Some((before, it))) => {
                    way.push(it.clone());
                    at = *before;
                }
            }
        }
        way.reverse();
        Ok(Some((at, way)))
    }

    /// All moves with a label from a set to a configuration of another: from where, and how.
    pub fn moves(
        &mut self,
        subset: SubsetId,
        label: LabelId,
        into: SubsetId,
    ) -> Result<Vec<(ConfigurationId, Move)>, Error> {
        let (members, allowed) = (self.members(subset), self.members(into));
        let taken = self.configurations.labels[label as usize].taken;
        let mut all = Vec::new();
        for &configuration in &*members {
            let moves = match taken {
                NONE => self.configurations.own(configuration)?,
                event => self.configurations.input(configuration, event)?,
            };
            let fits = |it: &&Move| it.label == label && allowed.binary_search(&it.to).is_ok();
            all.extend(moves.iter().filter(fits).map(|it| (configuration, it.clone())));
        }
        Ok(all)
    }
}
