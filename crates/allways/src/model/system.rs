//! [`System`]: nodes, network, faults, driver and properties, ready to be checked.

use super::event::{Event, ScriptPosition};
use super::faults::{Cut, Faults};
use super::kinds::Declared;
use super::network::Network;
use super::node::{Id, Node, Value};
use super::observer::{ErasedObserver, Observer};
use super::property::{
    Conjunct, ErasedTest, Property, PropertyKind, Reads, View, of_observer, of_views,
};
use super::rename::{Rename, Renaming};
use super::snapshot::Snapshot;
use crate::error::Error;
use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A system may have this many nodes.
///
/// ```
/// assert_eq!(allways::MAX_NODES, 1_000);
/// ```
pub const MAX_NODES: usize = 1_000;
/// A goal may have this many conjuncts.
const MAX_CONJUNCTS: usize = 64;

/// Everything that is to be checked: nodes, network, faults, driver, observers and properties.
///
/// See [`Node`] for a whole example.
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::Cell;
/// // A node that is called keeps the value and tells the others.
/// System::new([Cell(0), Cell(0)])
///     .network(Network::ordered())
///     .call(0, 7)
///     .always("nothing else", view(|c: &Cell| c.0), |cells| cells.iter().all(|c| [0, 7].contains(c)))
///     .never_stuck("both know", view(|c: &Cell| c.0), |cells| cells == [7, 7])
///     .check()
///     .assert_holds();
/// ```
pub struct System<N: Node> {
    pub(crate) nodes: Vec<N>,
    pub(crate) network: Network,
    pub(crate) faults: Faults,
    /// What both ends of a link get from each other when it heals.
    pub(crate) greeting: Option<N::Msg>,
    pub(crate) scripts: Vec<Vec<(Id, N::Call)>>,
    pub(crate) timer_bound: Option<u32>,
    /// For single nodes, in place of that.
    pub(crate) timer_bounds: BTreeMap<usize, u32>,
    pub(crate) properties: Vec<Property<N>>,
    pub(crate) observers: Vec<Arc<dyn ErasedObserver<N>>>,
    observer_types: Vec<TypeId>,
    pub(crate) groups: Vec<Vec<usize>>,
    pub(crate) renamer: Option<Renamer<N>>,
    pub(crate) declared: Option<Declared<N>>,
    /// The global state to start at, if it is not the initial one.
    pub(crate) snapshot: Option<Arc<Snapshot<N>>>,
    /// The first mistake made while building, reported when the system is checked.
    mistake: Option<String>,
}

/// A test that is true if all of these are.
fn all_of(tests: &[(String, ErasedTest)]) -> ErasedTest {
    let tests: Vec<ErasedTest> = tests.iter().map(|(_, test)| Arc::clone(test)).collect();
    Arc::new(move |reads| tests.iter().all(|test| test(reads)))
}

/// How to rename the parts of a system; known once the user declares a symmetry.
pub(crate) struct Renamer<N: Node> {
    pub node: fn(&N, &Renaming) -> N,
    pub msg: fn(&N::Msg, &Renaming) -> N::Msg,
    pub timer: fn(&N::Timer, &Renaming) -> N::Timer,
    pub call: fn(&N::Call, &Renaming) -> N::Call,
}

impl<N: Node> Clone for Renamer<N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N: Node> Copy for Renamer<N> {}

impl<N: Node> Clone for System<N> {
    fn clone(&self) -> Self {
        System {
            nodes: self.nodes.clone(),
            network: self.network,
            faults: self.faults.clone(),
            greeting: self.greeting.clone(),
            scripts: self.scripts.clone(),
            timer_bound: self.timer_bound,
            timer_bounds: self.timer_bounds.clone(),
            properties: self.properties.clone(),
            observers: self.observers.clone(),
            observer_types: self.observer_types.clone(),
            groups: self.groups.clone(),
            renamer: self.renamer,
            declared: self.declared,
            snapshot: self.snapshot.clone(),
            mistake: self.mistake.clone(),
        }
    }
}

impl<N: Node> System<N> {
    /// A system of these nodes on an unordered network, without faults, calls or properties.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// assert_eq!(System::new([Cell(0), Cell(1)]).size(), 2);
    /// assert_eq!(System::new((0..5).map(Cell)).size(), 5);
    /// ```
    pub fn new(nodes: impl IntoIterator<Item = N>) -> Self {
        System {
            nodes: nodes.into_iter().collect(),
            network: Network::unordered(),
            faults: Faults::none(),
            greeting: None,
            scripts: Vec::new(),
            timer_bound: None,
            timer_bounds: BTreeMap::new(),
            properties: Vec::new(),
            observers: Vec::new(),
            observer_types: Vec::new(),
            groups: Vec::new(),
            renamer: None,
            declared: None,
            snapshot: None,
            mistake: None,
        }
    }

    /// The rules of the network; without this, [`Network::unordered`].
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let system = System::new([Cell(0), Cell(0)]).network(Network::ordered()).call(0, 7);
    /// system.check().assert_holds();
    /// ```
    #[must_use]
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// What may go wrong; without this, nothing.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let system = System::new([Cell(0), Cell(0)])
    ///     .faults(Faults::none().crashes(1).restarts())
    ///     .call(0, 7)
    ///     .never_stuck("both know", view(|c: &Cell| c.0), |cells| cells == [7, 7]);
    /// // Nothing is persisted: a node that crashes forgets.
    /// system.check().assert_violated("both know");
    /// ```
    #[must_use]
    pub fn faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    /// When a [partition](Faults::partition) or a [link](Faults::link) heals, each node gets this message from each that it was parted from: on an ordered network before anything else
    /// that comes from there. This is how a node learns that a connection is there again, as those are told who use one that can break. Without this, nobody is told. It is a message like others: it may be
    /// lost or duplicated where the network may do so, and it comes from a node that is down as well.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    /// # struct Server { connections: u8 }
    /// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    /// enum Msg { Hello, /* … */ }
    ///
    /// impl Node for Server {
    ///     type Msg = Msg;
    ///     # type Timer = Never; type Call = Never; type Output = Never;
    ///     fn on_message(&mut self, _peer: Id, Msg::Hello: Msg, _: &mut Cx<'_, Self>) {
    ///         self.connections += 1;
    ///     }
    /// }
    ///
    /// System::new(vec![Server { connections: 0 }; 3])
    ///     .network(Network::ordered())
    ///     .faults(Faults::none().link(0, 1))
    ///     .reconnect(Msg::Hello)
    ///     .sometimes("both know", view(|n: &Server| n.connections), |all| all == [1, 1, 0])
    ///     .check()
    ///     .assert_holds();
    /// ```
    #[must_use]
    pub fn reconnect(mut self, msg: N::Msg) -> Self {
        self.greeting = Some(msg);
        self
    }

    /// The driver makes this call once, at any time.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// // The two calls come in either order.
    /// let outcome = System::new([Cell(0)]).call(0, 1).call(0, 2).check();
    /// assert_eq!(outcome.statistics.unique_states, Some(5));
    /// ```
    #[must_use]
    pub fn call(self, node: usize, call: N::Call) -> Self {
        self.calls_in_sequence([(node, call)])
    }

    /// The driver makes these calls one after the other: each at any time after the one before it
    /// was handled.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let outcome = System::new([Cell(0)]).calls_in_sequence([(0, 1), (0, 2)]).check();
    /// assert_eq!(outcome.statistics.unique_states, Some(3));
    /// ```
    #[must_use]
    pub fn calls_in_sequence(mut self, calls: impl IntoIterator<Item = (usize, N::Call)>) -> Self {
        let script: Vec<_> = calls.into_iter().map(|(node, call)| (Id::new(node), call)).collect();
        if let Some((node, _)) = script.iter().find(|(node, _)| node.index() >= self.nodes.len()) {
            self.mistake(format!(
                "the driver calls node {node}, but the system has {} nodes",
                self.nodes.len()
            ));
        } else if !script.is_empty() {
            self.scripts.push(script);
        }
        self
    }

    /// At most this many timers fire at each node in a run; without this, no bound. The bound cuts
    /// runs off: a state in which it keeps a pending timer from firing is not terminal.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct Clock(u32);
    /// # impl Node for Clock { type Msg = Never; type Timer = (); type Call = Never; type Output = Never;
    /// #   fn on_message(&mut self, _: Id, _: Never, _: &mut Cx<'_, Self>) {}
    /// #   fn on_start(&mut self, cx: &mut Cx<'_, Self>) { cx.set_timer(()); }
    /// #   fn on_timer(&mut self, (): (), cx: &mut Cx<'_, Self>) { self.0 += 1; cx.set_timer(()); } }
    /// // A clock that ticks forever has infinitely many states; three ticks have four.
    /// let outcome = System::new([Clock(0)])
    ///     .timers(3)
    ///     .always("not far", view(|c: &Clock| c.0), |ticks| ticks[0] <= 3)
    ///     .check();
    /// assert_eq!(outcome.assert_holds().statistics.unique_states, Some(4));
    /// ```
    #[must_use]
    pub fn timers(mut self, fires_a_node: u32) -> Self {
        self.timer_bound = Some(fires_a_node);
        self
    }

    /// At most this many timers fire at this node in a run, whatever [`System::timers`] says of the others: two elections of one node and none of the rest
    /// are far fewer runs than two of each.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct Clock(u32);
    /// # impl Node for Clock { type Msg = Never; type Timer = (); type Call = Never; type Output = Never;
    /// #   fn on_message(&mut self, _: Id, _: Never, _: &mut Cx<'_, Self>) {}
    /// #   fn on_start(&mut self, cx: &mut Cx<'_, Self>) { cx.set_timer(()); }
    /// #   fn on_timer(&mut self, (): (), cx: &mut Cx<'_, Self>) { self.0 += 1; cx.set_timer(()); } }
    /// let outcome = System::new([Clock(0), Clock(0), Clock(0)]).timers(0).timers_at(1, 3).check();
    /// assert_eq!(outcome.statistics.unique_states, Some(4));
    /// ```
    #[must_use]
    pub fn timers_at(mut self, node: usize, fires: u32) -> Self {
        if node >= self.nodes.len() {
            let nodes = self.nodes.len();
            let what =
                format!("timers are bounded at node {node}, but the system has {nodes} nodes");
            self.mistake.get_or_insert(what);
        }
        self.timer_bounds.insert(node, fires);
        self
    }

    /// How many timers may fire at a node.
    pub(crate) fn timer_bound_at(&self, id: Id) -> Option<u32> {
        self.timer_bounds.get(&id.index()).copied().or(self.timer_bound)
    }

    /// What must hold in every reachable global state, given a view of each node.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let outcome = System::new([Cell(0), Cell(0)])
    ///     .call(0, 7)
    ///     .always("equal", view(|c: &Cell| c.0), |cells| cells.iter().all_equal())
    ///     .check();
    /// // Between the call and the delivery they are not.
    /// assert_eq!(outcome.assert_violated("equal").reads, ["7", "0"]);
    /// ```
    #[must_use]
    pub fn always<V: Value>(
        self,
        name: impl Into<String>,
        view: View<N, V>,
        holds: impl Fn(&[V]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.property(name, PropertyKind::Always, Reads::views(view, holds))
    }

    /// With these properties only, by their names: to see what comes of others than the one that is violated first, or since fewer views take less time. A name that
    /// no property has is a mistake, which is reported when the system is checked.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let system = System::new([Cell(0), Cell(0)])
    ///     .call(0, 7)
    ///     .always("equal", view(|c: &Cell| c.0), |cells| cells.iter().all_equal())
    ///     .always("small", view(|c: &Cell| c.0), |cells| cells.iter().all(|&cell| cell < 9));
    /// system.clone().only(["small"]).check().assert_holds();
    /// system.check().assert_violated("equal");
    /// ```
    #[must_use]
    pub fn only<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        let names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
        let unknown = names.iter().find(|name| self.properties.iter().all(|it| it.name != **name));
        if let Some(name) = unknown {
            self.mistake.get_or_insert(format!("there is no property `{name}` to check only"));
        }
        self.properties.retain(|property| names.contains(&property.name));
        self
    }

    /// What must hold in some reachable global state; the outcome has a run to it as witness.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let outcome = System::new([Cell(0), Cell(0)])
    ///     .call(0, 7)
    ///     .sometimes("both know", view(|c: &Cell| c.0), |cells| cells == [7, 7])
    ///     .check();
    /// assert_eq!(outcome.assert_holds().witnesses[0].run.events.len(), 2);
    /// ```
    #[must_use]
    pub fn sometimes<V: Value>(
        self,
        name: impl Into<String>,
        view: View<N, V>,
        holds: impl Fn(&[V]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.property(name, PropertyKind::Sometimes, Reads::views(view, holds))
    }

    /// What must all hold in one and the same reachable global state. As
    /// [`System::sometimes`], but where no state has all of it, the outcome says of each conjunct
    /// whether it was ever true, and which most were true at once: see
    /// [`Outcome::goals`](crate::Outcome).
    ///
    /// ```
    /// use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct Door(bool);
    /// # impl Node for Door { type Msg = (); type Timer = Never; type Call = (); type Output = Never;
    /// #   fn on_start(&mut self, cx: &mut Cx<'_, Self>) { cx.broadcast(()); }
    /// #   fn on_message(&mut self, _: Id, _: (), _: &mut Cx<'_, Self>) { self.0 = false; }
    /// #   fn on_call(&mut self, (): (), _: &mut Cx<'_, Self>) { self.0 = true; } }
    /// let outcome = System::new([Door(false), Door(false)])
    ///     .call(0, ())
    ///     .sometimes_all("both open", view(|door: &Door| door.0), [
    ///         conjunct("first open", |open: &[bool]| open[0]),
    ///         conjunct("second open", |open: &[bool]| open[1]),
    ///     ])
    ///     .check();
    /// let goal = &outcome.goals[0];
    /// assert_eq!(goal.conjuncts[0].first_true, Some(1)); // after one event
    /// assert_eq!(goal.conjuncts[1].first_true, None); // never
    /// ```
    #[must_use]
    pub fn sometimes_all<V: Value, const C: usize>(
        self,
        name: impl Into<String>,
        view: View<N, V>,
        conjuncts: [Conjunct<[V]>; C],
    ) -> Self {
        let tests = conjuncts.map(|Conjunct { name, test }| (name, of_views(move |v| test(v))));
        self.goal(name, Reads::tested(view, all_of(&tests)), tests.into())
    }

    /// Every terminal global state (nothing can happen but a fault) must be one that is allowed.
    /// A node that is down is seen as its crash left it.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// System::new([Cell(0), Cell(0)])
    ///     .call(0, 7)
    ///     .never_stuck("both know", view(|c: &Cell| c.0), |cells| cells == [7, 7])
    ///     .check()
    ///     .assert_holds();
    /// ```
    #[must_use]
    pub fn never_stuck<V: Value>(
        self,
        name: impl Into<String>,
        view: View<N, V>,
        allowed: impl Fn(&[V]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.property(name, PropertyKind::NeverStuck, Reads::views(view, allowed))
    }

    /// Adds an observer: its state becomes part of the global state.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// /// Counts what nodes output.
    /// struct Outputs;
    /// impl Observer<Cell> for Outputs {
    ///     type State = usize;
    ///     fn start(&self) -> usize { 0 }
    ///     fn wants(&self, seen: &Seen<'_, Cell>) -> bool { matches!(seen, Seen::Output { .. }) }
    ///     fn observe(&self, state: &mut usize, _: Seen<'_, Cell>) { *state += 1; }
    /// }
    ///
    /// System::new([Cell(0), Cell(0)])
    ///     .call(0, 7)
    ///     .observe(Outputs)
    ///     .always_observed("one output", |outputs: &usize| *outputs <= 1)
    ///     .check()
    ///     .assert_holds();
    /// ```
    #[must_use]
    pub fn observe<O: Observer<N>>(mut self, observer: O) -> Self {
        self.observers.push(Arc::new(observer));
        self.observer_types.push(TypeId::of::<O::State>());
        self
    }

    /// What must hold in every reachable state of the observer whose state is an `S`.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// # /// Counts what nodes output.
    /// # struct Outputs;
    /// # impl Observer<Cell> for Outputs {
    /// #     type State = usize;
    /// #     fn start(&self) -> usize { 0 }
    /// #     fn wants(&self, seen: &Seen<'_, Cell>) -> bool { matches!(seen, Seen::Output { .. }) }
    /// #     fn observe(&self, state: &mut usize, _: Seen<'_, Cell>) { *state += 1; }
    /// # }
    /// // `Outputs` counts what nodes output; node 1 outputs what it is told, once.
    /// let outcome = System::new([Cell(0), Cell(0)])
    ///     .call(0, 7)
    ///     .observe(Outputs)
    ///     .always_observed("silence", |outputs: &usize| *outputs == 0)
    ///     .check();
    /// outcome.assert_violated("silence");
    /// ```
    #[must_use]
    pub fn always_observed<S: Value>(
        self,
        name: impl Into<String>,
        holds: impl Fn(&S) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.observed(name, PropertyKind::Always, holds)
    }

    /// What must hold in some reachable state of the observer whose state is an `S`.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// # /// Counts what nodes output.
    /// # struct Outputs;
    /// # impl Observer<Cell> for Outputs {
    /// #     type State = usize;
    /// #     fn start(&self) -> usize { 0 }
    /// #     fn wants(&self, seen: &Seen<'_, Cell>) -> bool { matches!(seen, Seen::Output { .. }) }
    /// #     fn observe(&self, state: &mut usize, _: Seen<'_, Cell>) { *state += 1; }
    /// # }
    /// // `Outputs` counts what nodes output.
    /// System::new([Cell(0), Cell(0)])
    ///     .call(0, 7)
    ///     .observe(Outputs)
    ///     .sometimes_observed("a word", |outputs: &usize| *outputs == 1)
    ///     .check()
    ///     .assert_holds();
    /// ```
    #[must_use]
    pub fn sometimes_observed<S: Value>(
        self,
        name: impl Into<String>,
        holds: impl Fn(&S) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.observed(name, PropertyKind::Sometimes, holds)
    }

    /// What must all hold in one and the same reachable state of the observer whose state is an
    /// `S`: see [`System::sometimes_all`].
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// # /// Counts what nodes output.
    /// # struct Outputs;
    /// # impl Observer<Cell> for Outputs {
    /// #     type State = usize;
    /// #     fn start(&self) -> usize { 0 }
    /// #     fn wants(&self, seen: &Seen<'_, Cell>) -> bool { matches!(seen, Seen::Output { .. }) }
    /// #     fn observe(&self, state: &mut usize, _: Seen<'_, Cell>) { *state += 1; }
    /// # }
    /// // `Outputs` counts what nodes output.
    /// let outcome = System::new([Cell(0), Cell(0)])
    ///     .call(0, 7)
    ///     .observe(Outputs)
    ///     .sometimes_all_observed("two words", [
    ///         conjunct("some", |outputs: &usize| *outputs > 0),
    ///         conjunct("an even number", |outputs: &usize| *outputs % 2 == 0),
    ///     ])
    ///     .check();
    /// let nearest = outcome.goals[0].nearest.as_ref().unwrap();
    /// assert_eq!(nearest.met.len(), 1);
    /// ```
    #[must_use]
    pub fn sometimes_all_observed<S: Value, const C: usize>(
        mut self,
        name: impl Into<String>,
        conjuncts: [Conjunct<S>; C],
    ) -> Self {
        let name = name.into();
        let tests = conjuncts.map(|Conjunct { name, test }| (name, of_observer(move |s| test(s))));
        match self.observer_of::<S>(&name) {
            Some(observer) => {
                let reads = Reads::Observer { observer, test: all_of(&tests) };
                self.goal(name, reads, tests.into())
            }
            None => self,
        }
    }

    fn observed<S: Value>(
        mut self,
        name: impl Into<String>,
        kind: PropertyKind,
        holds: impl Fn(&S) -> bool + Send + Sync + 'static,
    ) -> Self {
        let name = name.into();
        match self.observer_of::<S>(&name) {
            Some(observer) => self.property(name, kind, Reads::observer(observer, holds)),
            None => self,
        }
    }

    /// The observer whose state is an `S`; not to have one is a mistake.
    fn observer_of<S: Value>(&mut self, property: &str) -> Option<usize> {
        let found = self.observer_types.iter().position(|&type_id| type_id == TypeId::of::<S>());
        if found.is_none() {
            self.mistake(format!(
                "property `{property}` reads an observer with state {}, but no such observer was given before it",
                std::any::type_name::<S>()
            ));
        }
        found
    }

    /// Declares nodes interchangeable: exchanging any two of them, in every state and message,
    /// leads from a possible run to a possible run, and no property can tell. With
    /// [`Options::symmetry`](crate::Options), global states that differ only in which of them
    /// is which are explored once.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// // There are no ids in a `Cell`: its `Rename` is a clone.
    /// let system = System::new(vec![Cell(0); 4]).call(0, 7).interchangeable(1..4);
    /// let states = |symmetry| {
    ///     let options = Options { symmetry, ..Options::default() };
    ///     system.try_check(&options).unwrap().statistics.unique_states.unwrap()
    /// };
    /// assert_eq!((states(false), states(true)), (9, 5));
    /// ```
    #[must_use]
    pub fn interchangeable(mut self, nodes: impl IntoIterator<Item = usize>) -> Self
    where
        N: Rename,
        N::Msg: Rename,
        N::Timer: Rename,
        N::Call: Rename,
    {
        let group: Vec<usize> = nodes.into_iter().collect();
        if let Some(&node) = group.iter().find(|&&node| node >= self.nodes.len()) {
            self.mistake(format!(
                "node {node} is declared interchangeable, but the system has {} nodes",
                self.nodes.len()
            ));
        }
        if group.iter().any(|node| self.groups.iter().flatten().any(|other| other == node)) {
            self.mistake("a node is declared interchangeable twice".to_owned());
        }
        self.groups.push(group);
        self.renamer = Some(Renamer {
            node: N::rename,
            msg: <N::Msg as Rename>::rename,
            timer: <N::Timer as Rename>::rename,
            call: <N::Call as Rename>::rename,
        });
        self
    }

    fn property(mut self, name: impl Into<String>, kind: PropertyKind, reads: Reads<N>) -> Self {
        let name = name.into();
        if self.properties.iter().any(|p| p.name == name) {
            self.mistake(format!("two properties are called `{name}`"));
        }
        self.properties.push(Property { name, kind, reads, conjuncts: Vec::new() });
        self
    }

    /// A `sometimes` property that is a conjunction.
    fn goal(
        mut self,
        name: impl Into<String>,
        reads: Reads<N>,
        conjuncts: Vec<(String, ErasedTest)>,
    ) -> Self {
        let name = name.into();
        if conjuncts.is_empty() || conjuncts.len() > MAX_CONJUNCTS {
            self.mistake(format!(
                "property `{name}` has {} conjuncts; it must have between 1 and {MAX_CONJUNCTS}",
                conjuncts.len()
            ));
        }
        for (at, (conjunct, _)) in conjuncts.iter().enumerate() {
            if conjuncts[..at].iter().any(|(other, _)| other == conjunct) {
                self.mistake(format!("two conjuncts of property `{name}` are called `{conjunct}`"));
            }
        }
        let mut system = self.property(name, PropertyKind::Sometimes, reads);
        if let Some(property) = system.properties.last_mut() {
            property.conjuncts = conjuncts;
        }
        system
    }

    fn mistake(&mut self, what: String) {
        self.mistake.get_or_insert(what);
    }

    /// How many nodes the system has.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// assert_eq!(System::new(vec![Cell(0); 3]).size(), 3);
    /// ```
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// The names of the properties with their kinds, in the order in which they were given.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// use allways::PropertyKind;
    /// let system = System::new([Cell(0)]).always("small", view(|c: &Cell| c.0), |cells| cells[0] < 9);
    /// assert!(system.properties().eq([("small", PropertyKind::Always)]));
    /// ```
    pub fn properties(&self) -> impl Iterator<Item = (&str, PropertyKind)> {
        self.properties.iter().map(|p| (p.name.as_str(), p.kind))
    }

    /// Whether the system as described makes sense.
    pub(crate) fn validate(&self) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::System(what));
        if let Some(mistake) = &self.mistake {
            return wrong(mistake.clone());
        }
        let nodes = self.nodes.len();
        if nodes == 0 {
            return wrong("the system has no nodes; give System::new at least one".to_owned());
        }
        if nodes > MAX_NODES {
            return wrong(format!(
                "the system has {nodes} nodes; at most {MAX_NODES} are supported"
            ));
        }
        if let Some(what) = self.wrong_snapshot() {
            return wrong(what);
        }
        if self.faults.cuts.len() > usize::from(u8::MAX) {
            return wrong("at most 255 partitions can be described".to_owned());
        }
        if self.faults.partitions > 0 && self.faults.cuts.is_empty() {
            return wrong(
                "there may be partitions, but none is described; see Faults::partition".to_owned(),
            );
        }
        for cut in &self.faults.cuts {
            let named = cut.named();
            for &node in &named {
                if node >= nodes {
                    return wrong(format!(
                        "a partition names node {node}, but the system has {nodes} nodes"
                    ));
                }
                if named.iter().filter(|&&other| other == node).count() > 1 {
                    return wrong(format!("a partition names node {node} twice"));
                }
            }
        }
        Ok(())
    }

    /// The first event of each of the driver's scripts.
    pub(crate) fn first_calls(&self) -> Vec<(Id, Event<N>)> {
        (0..self.scripts.len()).filter_map(|script| self.call_at(script, 0)).collect()
    }

    /// The call at a position of a script.
    pub(crate) fn call_at(&self, script: usize, at: usize) -> Option<(Id, Event<N>)> {
        let (node, call) = self.scripts[script].get(at)?;
        let more = at + 1 < self.scripts[script].len();
        let next = more.then_some(ScriptPosition { script: script as u32, at: at as u32 + 1 });
        Some((*node, Event::Call { call: call.clone(), next }))
    }

    /// For each cut, whether it keeps two nodes apart: for each pair, the first node first.
    pub(crate) fn cut_pairs(&self) -> Vec<Vec<bool>> {
        let nodes = self.nodes.len();
        let pairs = |cut: &Cut| {
            (0..nodes * nodes).map(|pair| cut.parts(pair / nodes, pair % nodes)).collect()
        };
        self.faults.cuts.iter().map(pairs).collect()
    }

    /// What is sent when a cut heals: from whom, to whom, and what.
    pub(crate) fn greetings(&self, cut: usize) -> Vec<(Id, Id, N::Msg)> {
        let (Some(greeting), Some(cut)) = (&self.greeting, self.faults.cuts.get(cut)) else {
            return Vec::new();
        };
        if self.faults.partitions == 0 {
            return Vec::new();
        }
        let nodes = self.nodes.len();
        let pairs = (0..nodes * nodes).map(|pair| (pair / nodes, pair % nodes));
        let parted = pairs.filter(|&(from, to)| cut.parts(from, to));
        parted.map(|(from, to)| (Id::new(from), Id::new(to), greeting.clone())).collect()
    }

    /// Whether drops are worth exploring: see [`Network::drops`].
    pub(crate) fn explores_drops(&self) -> bool {
        self.network.drops > 0
            && (self.network.kind == super::network::NetworkKind::Ordered
                || self.properties.iter().any(|p| p.kind == PropertyKind::NeverStuck))
    }
}
