//! Partial order reduction inside the stateful search: stubborn sets for message-passing nodes.
//!
//! In a state `s` not all that may happen has to be followed: a set `T` of the events possible there is
//! enough, if whatever else can happen before them commutes with them. What can happen before them is
//! over-approximated by a local fixpoint restarted at `s` ([`fixpoint`]), so the reduction knows what
//! handlers really do, in every state in which they may be asked, and no analysis of code is needed. `T`
//! grows from one event: where an event outside of it does not commute with one of its own, the event of
//! `s` that it derives from is added. If `T` becomes everything, nothing was gained and nothing lost.
//!
//! **Words.** A *run outside `T`* is a sequence of events from `s` none of which is in `T`; all its local
//! states, its events and its views are in the fixpoint `C(T)`. `T` is *valid* if for every
//! run `u` outside `T` and every `t` in `T`: if `u` and then `t` is possible, then so is `t` and then `u`, to
//! the same state. That holds if every `t` commutes with every outside event of its node in every
//! state of that node in `C(T)`: the last event of `u` and `t` can be exchanged, then the one before it. Events of different
//! nodes always commute, unless observers see both; then neither is left out without the other. `t` is a *key* if
//! nothing outside `T` disables it: after any run outside `T` it is still possible. Faults draw on
//! budgets that others may exhaust, so they are never keys.
//!
//! A delivery that changes nothing is not a step, so an event may be disabled by another that leaves it in flight.
//! That is why commuting is tested as "whenever `u·t` is possible", and keys are told apart.
//!
//! **Invariants** ([`Por::Invariant`]). A vector of views is *bad* if an `always` property is false of it, or a
//! `sometimes` property that is still to be witnessed is true of it. If the product of the views in `C(T)` has no
//! bad vector and no handler in it panics, a valid `T` is enough, even if it is empty. For take a run `w` from `s`
//! to a bad state. It is not outside `T`, so `w = u·t·v` with a first `t` of `T`, and `t·u·v` leads to the same bad state;
//! `s·t` is met, and from there a shorter run leads to it. By induction it is met. No condition on cycles is
//! needed, in whatever order states are expanded, by however many threads.
//!
//! **Terminal states** ([`Por::Terminals`]) need a key in `T`: a run outside `T` cannot end in a terminal
//! state, for the key is possible there. Otherwise the argument is the same. The invariants are kept as above, or as below.
//!
//! **All views** ([`Por::Views`]): `T` has a key, and either (A) some key is invisible throughout `C(T)` and
//! cannot be undone, or (B) nothing outside `T` in `C(T)` is visible. Let `w` lead from `s` to a state with views `x`. If `w`
//! is not outside `T`, argue as before. If it is, then under B the views in `s` are `x` already. Under A the key `t` can
//! come first, `s·t·w` has the same views, and the argument goes on at `s·t` with the same `w`. That must not go on
//! forever: it does not, for the step of `t` in `s` leads its node from one strongly connected component of
//! its local graph to another ([`ranks`]); no other node moves, so no sequence of such steps is infinite. This replaces the usual conditions
//! on cycles, which depend on the order of the search.
//!
//! **Symmetry**: what is followed in a representative is valid there, and renaming keeps the length
//! of runs and bad vectors; so the arguments go through for classes of states, but for case A, which is not used then. `Aux` changes nothing: states that differ in it
//! alone are one. With `--exact` the same is followed.
//!
//! What the fixpoint does not cover is followed in full: partitions, more groups of events than a set has
//! bits, fixpoints that explode, user code that fails in a state that may not be reachable; and states in which no
//! fixpoint is computed, since those before were not worth their work ([`credit`]). To follow everything is always
//! right: no run is outside of everything, so each argument above takes its first case, and a shorter run is left.
//! Case A is not used in such a state, so it adds nothing to a sequence of steps that only come first: what is said of
//! ranks holds, whichever states these are.

mod credit;
mod exchange;
mod fixpoint;
mod group;
mod here;
mod product;
pub(crate) mod ranks;
pub(crate) mod sleep;

use super::expand::{Candidate, Expander};
use crate::model::property::PropertyKind;
use crate::space::EventId;
use crate::space::memo::FIRST;
use crate::space::vector::Layout;
use credit::Credit;
use exchange::Commute;
use fixpoint::{CHEAP, DEAR, End, Fixpoint, Watch};
use group::{Group, NO_ROOT, Root, Set};
use here::Here;
use product::Products;
use ranks::Ranks;
use sleep::Follow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A fixpoint did not come to an end.
struct Exploded;

/// What a reduced search preserves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Preserve {
    /// Whether a bad vector of views is reachable.
    Invariant,
    /// That, and all terminal states.
    Terminals,
    /// All vectors of views, and all terminal states.
    Views,
}

/// What all threads of a reduced search share.
pub(crate) struct Plan {
    pub preserve: Preserve,
    pub ranks: Ranks,
    /// Whether `always` properties and panics matter to this search.
    pub always: bool,
    /// Whether events may sleep.
    pub sleeps: bool,
    /// The `sometimes` properties that this search looks for.
    pub wanted: Vec<usize>,
}

/// A state that is expanded.
#[derive(Clone, Copy)]
pub(crate) struct Met<'a> {
    pub vector: &'a [u32],
    /// For each property, whether it was witnessed.
    pub witnessed: &'a [AtomicBool],
    /// What sleeps there.
    pub follow: &'a Follow,
}

/// Chooses what has to be followed in a state. One for each thread.
pub(crate) struct Reducer<'p> {
    plan: &'p Plan,
    fixpoint: Fixpoint,
    products: Products,
    groups: Vec<Group>,
    of: Vec<Root>,
    /// What was left out.
    pub left_out: u64,
    credit: Credit,
    /// Whether a set was looked for.
    tried: bool,
    /// The best set for a state that was found so far.
    best: Option<Chosen>,
    /// What the fixpoints of one state have cost.
    work: u64,
}

/// So many seeds are tried in vain for something better, once there is a set that is enough.
const PATIENCE: u32 = 2;
/// What a set that is enough only because something invisible may come first weighs more: it is a set
/// that leads nowhere.
const AIMLESS: u32 = 3;

/// A set that is enough.
#[derive(Clone, Copy)]
struct Chosen {
    set: Set,
    /// How many candidates it has, and more if it has drawbacks.
    weight: u32,
    /// Whether it is enough only because something invisible may come first.
    aimless: bool,
}

/// How a set grows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grow {
    /// Until it is enough, for whatever reason.
    Any,
    /// Until nothing outside of it is visible.
    Hiding,
    /// From this one that nobody sees and that may come first, as long as it may.
    Unseen,
}

/// How many candidates a set has.
fn size(here: &Here<'_, '_>, set: Set) -> u32 {
    let in_set = here.groups.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
    in_set.map(|(_, group)| group.size).sum()
}

/// Whether a set is enough.
enum Judged {
    Enough,
    /// Only because something invisible may come first.
    Aimless,
    Add(Root),
    /// Nothing is known to help but to follow everything.
    Never,
}

impl<'p> Reducer<'p> {
    pub fn new(plan: &'p Plan, layout: &Layout) -> Self {
        Reducer {
            plan,
            fixpoint: Fixpoint::new(layout, if plan.ranks.exploded() { DEAR } else { CHEAP }),
            products: Products::default(),
            groups: Vec::new(),
            of: Vec::new(),
            left_out: 0,
            credit: Credit::new(plan.ranks.exploded()),
            tried: false,
            best: None,
            work: 0,
        }
    }

    /// Keeps of the candidates of `vector`, those from `first` on, what has to be followed. For each that
    /// is kept, `sleeps` gets what sleeps behind it.
    pub fn reduce(
        &mut self,
        expander: &mut Expander<'_>,
        Met { vector, witnessed, follow }: Met<'_>,
        first: usize,
        candidates: &mut Vec<Candidate>,
        sleeps: &mut Vec<Box<[EventId]>>,
    ) {
        sleeps.truncate(first);
        let layout = expander.layout();
        let mut groups = std::mem::take(&mut self.groups);
        let mut of = std::mem::take(&mut self.of);
        let before = candidates.len();
        if !group::sorted(layout, &candidates[first..], &mut groups, &mut of) {
            sleeps.resize(before, Box::default());
            (self.groups, self.of) = (groups, of);
            return;
        }
        let mut here = Here { memo: &mut expander.memo, layout, vector, groups: &groups };
        let (kept, sleep) = match &follow.only {
            // Met again: what woke up, whatever the set was.
            Some(only) => (self.of_events(&groups, only), true),
            None => {
                let awake = !self.of_events(&groups, &follow.asleep);
                match self.choose_now(&mut here, witnessed) {
                    Some(chosen) if chosen.aimless => (chosen.set, false),
                    Some(chosen) => (chosen.set & awake, true),
                    // Where nothing is tried, nothing is put to sleep: that has its price, too.
                    None => (awake, self.tried),
                }
            }
        };
        let mut end = first;
        for at in first..before {
            let group = of[at - first];
            if kept >> group & 1 == 1 {
                candidates[end] = candidates[at];
                of[end - first] = group;
                end += 1;
            }
        }
        candidates.truncate(end);
        sleeps.resize(end, Box::default());
        if sleep && self.plan.sleeps {
            self.put_to_sleep(&mut here, follow, &of, &mut sleeps[first..]);
        }
        self.left_out += (before - end) as u64;
        self.groups = groups;
        self.of = of;
    }

    fn of_events(&self, groups: &[Group], events: &[EventId]) -> Set {
        let mut set = 0;
        for (at, group) in groups.iter().enumerate() {
            set |= Set::from(events.contains(&group.event)) << at;
        }
        set
    }

    /// What sleeps behind each candidate: what slept before, and what is followed before it, if it commutes
    /// with it here.
    fn put_to_sleep(
        &mut self,
        here: &mut Here<'_, '_>,
        follow: &Follow,
        of: &[Root],
        sleeps: &mut [Box<[EventId]>],
    ) {
        let mut sleepy = follow.asleep.to_vec();
        let mut before = None;
        for at in 0..sleeps.len() {
            let group = &here.groups[usize::from(of[at])];
            // Results of one event, which are side by side, do not sleep behind each other.
            if let Some(done) = before.filter(|done| *done != of[at]) {
                let done: &Group = &here.groups[usize::from(done)];
                if done.is_plain && !sleepy.contains(&done.event) {
                    sleepy.push(done.event);
                }
            }
            before = Some(of[at]);
            if group.is_plain {
                let mut asleep: Vec<EventId> = sleepy
                    .iter()
                    .copied()
                    .filter(|&event| event != group.event)
                    .filter(|&event| exchange::independent(here, event, group.event))
                    .collect();
                asleep.sort_unstable();
                sleeps[at] = asleep.into();
            }
        }
    }

    /// A set that leaves something out, if there is one and there is hope to find it.
    fn choose_now(&mut self, here: &mut Here<'_, '_>, witnessed: &[AtomicBool]) -> Option<Chosen> {
        self.tried = true;
        if here.groups.is_empty() {
            return None;
        }
        let allowed = self.credit.ask();
        self.tried = allowed.is_some();
        let max_work = allowed?;
        self.products.look_for(here.layout, self.plan, |p| !witnessed[p].load(Relaxed));
        self.work = 0;
        self.fixpoint.max_work = max_work.min(fixpoint::MAX_WORK);
        self.best = None;
        let sought = match self.plan.preserve {
            Preserve::Views => self.choose_by_views(here),
            Preserve::Invariant | Preserve::Terminals => self.choose(here, Set::MAX, Grow::Any),
        };
        if sought.is_err() {
            self.credit.given_up(self.fixpoint.max_work);
        }
        match self.best {
            Some(best) => self.credit.gained(size(here, !best.set)),
            None => self.credit.lost(self.work),
        }
        self.best
    }

    /// Looks for a set under which all views are met.
    ///
    /// Of those outside of which nothing is visible, each has everything that is visible here: so there is one
    /// smallest of them to look for, if anything is. The others have a key that nobody sees and that cannot be undone:
    /// it is known here which events may be that, before any fixpoint.
    fn choose_by_views(&mut self, here: &mut Here<'_, '_>) -> Result<(), Exploded> {
        let (mut visible, mut unseen): (Set, Set) = (0, 0);
        for (at, group) in here.groups.iter().enumerate() {
            if !here.is_invisible(group.event, here.state(group.node)) {
                visible |= 1 << at;
            } else if group.goes_on && self.cannot_be_undone(here, group) {
                unseen |= 1 << at;
            }
        }
        if visible == 0 {
            self.choose(here, Set::MAX, Grow::Hiding)?;
        } else if size(here, visible) == 1 {
            self.grow(here, visible, Grow::Hiding)?;
        }
        self.choose(here, unseen, Grow::Unseen)?;
        if visible != 0 {
            self.grow(here, visible, Grow::Hiding)?;
        }
        Ok(())
    }

    /// Looks for the best set that grows from nothing or from one of these seeds.
    fn choose(&mut self, here: &mut Here<'_, '_>, seeds: Set, how: Grow) -> Result<(), Exploded> {
        let anything = self.plan.preserve == Preserve::Invariant;
        if anything {
            self.grow(here, 0, how)?;
        }
        let mut patience = PATIENCE;
        for (seed, group) in here.groups.iter().enumerate() {
            if seeds >> seed & 1 == 0 || !(anything || group.goes_on) {
                continue;
            }
            if patience == 0 || self.best.is_some_and(|best| best.weight <= 1) {
                break;
            }
            if !self.grow(here, 1 << seed, how)? && self.best.is_some() {
                patience -= 1;
            }
        }
        Ok(())
    }

    /// Adds everything to a set that does not commute with it here and now.
    fn close(&mut self, here: &mut Here<'_, '_>, mut set: Set) -> Set {
        let mut done: Set = 0;
        while set & !done != 0 {
            let at = (set & !done).trailing_zeros() as usize;
            done |= 1 << at;
            let mine = here.groups[at];
            let state = here.state(mine.node);
            self.work += here.groups.len() as u64;
            for (other, group) in here.groups.iter().enumerate() {
                if group.node == mine.node
                    && set >> other & 1 == 0
                    && here.memo.code_anywhere(state, group.event).is_ok_and(|code| code >= FIRST)
                    && matches!(
                        self.fixpoint.commute(here, state, group.event, mine.event),
                        Ok(Commute::Not)
                    )
                {
                    set |= 1 << other;
                }
            }
        }
        set
    }

    /// Grows a set until it is enough; false if it gets no better than the best.
    fn grow(&mut self, here: &mut Here<'_, '_>, mut set: Set, how: Grow) -> Result<bool, Exploded> {
        let limit = self.best.map_or_else(|| size(here, Set::MAX), |best| best.weight);
        self.fixpoint.watch = match how {
            Grow::Any => Watch::Nothing,
            Grow::Hiding => Watch::Visible,
            Grow::Unseen => Watch::Key(set.trailing_zeros() as Root),
        };
        loop {
            set = self.close(here, set);
            let size = size(here, set);
            if size >= limit {
                return Ok(false);
            }
            // User code that fails in a state that may not be reachable says nothing about the system.
            let end = self.fixpoint.compute(here, set);
            self.work += self.fixpoint.work();
            let judged = match end.unwrap_or(End::Explodes) {
                End::Explodes => return Err(Exploded),
                End::Add(root) => Judged::Add(root),
                End::Found => Judged::Never,
                End::Commutes => self.judge(here, set, how),
            };
            let (weight, aimless) = match judged {
                Judged::Enough => (size, false),
                Judged::Aimless if self.plan.preserve == Preserve::Invariant => {
                    (size + AIMLESS, true)
                }
                Judged::Aimless => (size, true),
                Judged::Add(root) if root != NO_ROOT && set >> root & 1 == 0 => {
                    set |= 1 << root;
                    continue;
                }
                Judged::Add(_) | Judged::Never => return Ok(false),
            };
            let better = self.best.is_none_or(|best| weight < best.weight);
            if better {
                self.best = Some(Chosen { set, weight, aimless });
            }
            return Ok(better);
        }
    }

    /// Whether a set all of whose events commute with everything outside of it preserves what is asked for.
    fn judge(&mut self, here: &mut Here<'_, '_>, set: Set, how: Grow) -> Judged {
        if let Some(root) = self.seen_on_both_sides(here, set) {
            return Judged::Add(root);
        }
        let bad = match self.plan.preserve {
            Preserve::Views => None,
            _ => Some(self.products.bad(here, &self.fixpoint)),
        };
        if self.plan.preserve == Preserve::Invariant && bad == Some(None) {
            return Judged::Enough;
        }
        // The keys among its groups.
        let mut keys: Set = 0;
        for (at, group) in here.groups.iter().enumerate() {
            if set >> at & 1 == 1 && group.goes_on {
                keys |= 1 << at;
            }
        }
        let mut disabler = None;
        for &(group, root) in &self.fixpoint.disabled {
            keys &= !(1 << group);
            disabler.get_or_insert(root);
        }
        let root = match bad {
            Some(root) => root,
            None => self.fixpoint.visible,
        };
        if keys == 0 {
            let root = if self.plan.preserve == Preserve::Invariant { root } else { disabler };
            return root.map_or(Judged::Never, Judged::Add);
        }
        if bad == Some(None) || self.fixpoint.visible.is_none() {
            return Judged::Enough;
        }
        for (at, group) in here.groups.iter().enumerate() {
            if keys >> at & 1 == 1
                && self.is_invisible(here, group)
                && self.cannot_be_undone(here, group)
            {
                return Judged::Aimless;
            }
        }
        if how == Grow::Unseen {
            return Judged::Never;
        }
        root.map_or(Judged::Never, Judged::Add)
    }

    /// If observers see something of the set and something outside of it, what that derives from.
    fn seen_on_both_sides(&mut self, here: &mut Here<'_, '_>, set: Set) -> Option<Root> {
        let &(_, root) = self.fixpoint.feeds.first()?;
        for (at, group) in here.groups.iter().enumerate() {
            if set >> at & 1 == 1 {
                for place in 0..self.fixpoint.states(usize::from(group.node)).len() {
                    let state = self.fixpoint.states(usize::from(group.node))[place];
                    let Ok(code) = here.memo.code_anywhere(state, group.event) else {
                        return Some(root);
                    };
                    let mut codes = code..code + here.memo.results(code);
                    if codes.any(|code| here.memo.step(code).feed != 0) {
                        return Some(root);
                    }
                }
            }
        }
        None
    }

    /// Whether no property sees anything of an event in any state in which its node may handle it.
    fn is_invisible(&self, here: &mut Here<'_, '_>, group: &Group) -> bool {
        let states = self.fixpoint.states(usize::from(group.node));
        states.iter().all(|&state| here.is_invisible(group.event, state))
    }

    /// Whether a step of an event leads its node to where it never comes back from.
    fn cannot_be_undone(&self, here: &mut Here<'_, '_>, group: &Group) -> bool {
        if self.plan.ranks.is_single(group.event) {
            return true;
        }
        let node = usize::from(group.node);
        let state = here.state(group.node);
        let Ok(code) = here.memo.code_anywhere(state, group.event) else { return false };
        (code..code + here.memo.results(code))
            .all(|code| self.plan.ranks.rise(node, state, here.memo.step(code).next))
    }
}

/// Whether a search with these properties has terminal states to preserve.
pub(crate) fn minds_terminals(layout: &Layout) -> bool {
    layout.properties.iter().any(|(kind, _)| *kind == PropertyKind::NeverStuck)
}
