//! What a user writes: a [`Node`], and the context ([`Cx`]) through which its handlers act.

use std::fmt::{self, Debug, Display};
use std::hash::Hash;

/// The number of a node in its system: nodes are numbered from zero in the order in which they
/// were given to [`System::new`](crate::System::new).
///
/// ```
/// use allways::Id;
/// assert_eq!(Id::new(2).index(), 2);
/// assert_eq!(Id::new(2).to_string(), "2");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Id(u32);

impl Id {
    /// The node with this number.
    ///
    /// ```
    /// assert_eq!(allways::Id::new(2).to_string(), "2");
    /// ```
    pub const fn new(index: usize) -> Self {
        // No system has so many nodes: a number that does not fit must not become one that does.
        Id(if index > u32::MAX as usize { u32::MAX } else { index as u32 })
    }

    /// The number of this node, from zero.
    ///
    /// ```
    /// assert_eq!(allways::Id::new(2).index(), 2);
    /// ```
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl From<usize> for Id {
    fn from(index: usize) -> Self {
        Id::new(index)
    }
}

impl From<Id> for usize {
    fn from(id: Id) -> Self {
        id.index()
    }
}

/// What a value must be able to do so that it can be interned, compared across runs and shown:
/// implemented for every type that fits, never by hand.
///
/// ```
/// fn is_value<T: allways::Value>() {}
/// is_value::<(u8, String)>();
/// ```
pub trait Value: Clone + Eq + Hash + Debug + Send + Sync + 'static {}
impl<T: Clone + Eq + Hash + Debug + Send + Sync + 'static> Value for T {}

/// The type for what a node does not have: no timers, no calls, no outputs.
///
/// ```
/// use allways::Never;
/// let nothing: Option<Never> = None;
/// assert!(nothing.is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Never {}

/// One process of the system under test: its local state and its handlers.
///
/// A handler must be deterministic in the node's state, the event and the results of
/// [`Cx::choose`]: Allways computes each `(state, event)` once and shares the result. A
/// determinism guard re-executes a sample of the steps and reports the first that differs.
///
/// Roles (a client, a server) are variants of one enum that implements `Node`.
///
/// ```
/// use allways::prelude::*;
///
/// /// Counts the pings that it receives, and answers each.
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// struct Counter(u32);
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// enum Msg { Ping, Pong }
///
/// impl Node for Counter {
///     type Msg = Msg;
///     type Timer = Never;
///     type Call = Never;
///     type Output = Never;
///
///     fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
///         cx.broadcast(Msg::Ping);
///     }
///
///     fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
///         if msg == Msg::Ping {
///             self.0 += 1;
///             cx.send(from, Msg::Pong);
///         }
///     }
/// }
///
/// System::new([Counter(0), Counter(0)])
///     .always("each counts at most one", view(|n: &Counter| n.0), |counts| {
///         counts.iter().all(|&c| c <= 1)
///     })
///     .check()
///     .assert_holds();
/// ```
pub trait Node: Value {
    /// What nodes send each other.
    type Msg: Value;
    /// What tells one timer of a node from another. A node's pending timers are a set.
    type Timer: Value + Ord;
    /// What the application (in a check: the driver) asks of a node.
    type Call: Value;
    /// What a node tells the world: replies to calls, and anything else that observers should see.
    type Output: Value;

    /// The node starts for the first time. All nodes start before the first event.
    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        let _ = cx;
    }

    /// A message is delivered.
    fn on_message(&mut self, from: Id, msg: Self::Msg, cx: &mut Cx<'_, Self>);

    /// A timer fires. It is no longer pending unless the handler sets it again.
    fn on_timer(&mut self, timer: Self::Timer, cx: &mut Cx<'_, Self>) {
        let _ = (timer, cx);
    }

    /// The application calls.
    fn on_call(&mut self, call: Self::Call, cx: &mut Cx<'_, Self>) {
        let _ = (call, cx);
    }

    /// What is left of this node after a crash: what it had persisted. `None`, the default, says
    /// that nothing survives: the node restarts as it was given to the system.
    fn persisted(&self) -> Option<Self> {
        None
    }

    /// The node starts again after a crash, as [`Node::persisted`] left it. By default it starts
    /// as it did the first time.
    fn on_restart(&mut self, cx: &mut Cx<'_, Self>) {
        self.on_start(cx);
    }
}

/// What a handler uses to act on the world: sends, timers, outputs and choices.
///
/// Nothing takes effect before the handler returns, and everything does then, at once.
///
/// ```
/// use allways::prelude::*;
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// struct Coin(Option<bool>);
///
/// impl Node for Coin {
///     type Msg = Never;
///     type Timer = Never;
///     type Call = ();
///     type Output = bool;
///
///     fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) { match msg {} }
///
///     fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
///         let heads = cx.choose(2) == 1; // both are explored
///         self.0 = Some(heads);
///         cx.output(heads);
///     }
/// }
///
/// System::new([Coin(None)])
///     .call(0, ())
///     .sometimes("heads", view(|c: &Coin| c.0), |coins| coins[0] == Some(true))
///     .sometimes("tails", view(|c: &Coin| c.0), |coins| coins[0] == Some(false))
///     .check()
///     .assert_holds();
/// ```
pub struct Cx<'a, N: Node> {
    id: Id,
    nodes: usize,
    effects: &'a mut Effects<N>,
    chooser: &'a mut dyn Chooser,
}

/// What a handler has asked for so far. Filled through [`Cx`]; read by whoever runs the handler.
pub(crate) struct Effects<N: Node> {
    pub sends: Vec<(Id, N::Msg)>,
    /// The pending timers, sorted; starts as the node's timers before the step.
    pub timers: Vec<N::Timer>,
    pub outputs: Vec<N::Output>,
    pub stutter: bool,
}

/// Who decides what [`Cx::choose`] returns.
pub(crate) trait Chooser {
    /// A number below `arity`.
    fn choose(&mut self, arity: usize) -> usize;
}

impl<'a, N: Node> Cx<'a, N> {
    pub(crate) fn new(
        id: Id,
        nodes: usize,
        effects: &'a mut Effects<N>,
        chooser: &'a mut dyn Chooser,
    ) -> Self {
        Cx { id, nodes, effects, chooser }
    }

    /// What the handler has asked for so far, and who decides for it.
    pub(crate) fn parts(&mut self) -> (&mut Effects<N>, &mut dyn Chooser) {
        (self.effects, self.chooser)
    }

    /// The node whose handler runs.
    ///
    /// ```
    /// # use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(usize);
    /// # impl Node for N { type Msg = u8; type Timer = u8; type Call = (); type Output = usize;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) {}
    /// fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
    ///     self.0 = cx.id().index();
    /// }
    /// # }
    /// ```
    pub fn id(&self) -> Id {
        self.id
    }

    /// How many nodes the system has.
    ///
    /// ```
    /// # use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(usize);
    /// # impl Node for N { type Msg = u8; type Timer = u8; type Call = (); type Output = usize;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) {}
    /// fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
    ///     let is_last = cx.id().index() + 1 == cx.nodes();
    ///     self.0 = usize::from(is_last);
    /// }
    /// # }
    /// ```
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The smallest number of nodes that is more than half of all of them.
    ///
    /// ```
    /// # use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(usize);
    /// # impl Node for N { type Msg = u8; type Timer = u8; type Call = (); type Output = usize;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) {}
    /// fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
    ///     self.0 += 1;
    ///     if self.0 == cx.majority() {
    ///         cx.output(self.0); // enough votes
    ///     }
    /// }
    /// # }
    /// ```
    pub fn majority(&self) -> usize {
        self.nodes / 2 + 1
    }

    /// All other nodes.
    ///
    /// ```
    /// # use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(usize);
    /// # impl Node for N { type Msg = u8; type Timer = u8; type Call = (); type Output = usize;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) {}
    /// fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
    ///     for (number, peer) in cx.peers().enumerate() {
    ///         cx.send(peer, number as u8); // to each something else
    ///     }
    /// }
    /// # }
    /// ```
    pub fn peers(&self) -> impl Iterator<Item = Id> + use<N> {
        let me = self.id;
        (0..self.nodes).map(Id::new).filter(move |&id| id != me)
    }

    /// Sends a message. A node may send to itself; that too goes through the network.
    ///
    /// ```
    /// # use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(usize);
    /// # impl Node for N { type Msg = u8; type Timer = u8; type Call = (); type Output = usize;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) {}
    /// fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
    ///     cx.send(0, 7); // by number
    ///     cx.send(cx.id(), 7); // by id
    /// }
    /// # }
    /// ```
    #[track_caller]
    pub fn send(&mut self, to: impl Into<Id>, msg: N::Msg) {
        let to = to.into();
        assert!(
            to.index() < self.nodes,
            "node {} sends to node {to}, but the system has {} nodes",
            self.id,
            self.nodes
        );
        self.effects.sends.push((to, msg));
    }

    /// Sends a message to every other node.
    ///
    /// ```
    /// # use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(usize);
    /// # impl Node for N { type Msg = u8; type Timer = u8; type Call = (); type Output = usize;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) {}
    /// fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
    ///     cx.broadcast(7);
    /// }
    /// # }
    /// ```
    pub fn broadcast(&mut self, msg: N::Msg) {
        for to in self.peers() {
            self.effects.sends.push((to, msg.clone()));
        }
    }

    /// Sends a message to every node, this one included.
    ///
    /// ```
    /// # use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(usize);
    /// # impl Node for N { type Msg = u8; type Timer = u8; type Call = (); type Output = usize;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) {}
    /// fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
    ///     cx.broadcast_with_self(7);
    /// }
    /// # }
    /// ```
    pub fn broadcast_with_self(&mut self, msg: N::Msg) {
        for to in 0..self.nodes {
            self.effects.sends.push((Id::new(to), msg.clone()));
        }
    }

    /// Sets a timer: it may fire at any time from now on, once. Setting a pending timer again
    /// changes nothing: the checker has no clock, any duration is possible.
    ///
    /// ```
    /// # use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(usize);
    /// # impl Node for N { type Msg = u8; type Timer = u8; type Call = (); type Output = usize;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) {}
    /// fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
    ///     cx.set_timer(5);
    ///     cx.set_timer(5); // it is pending already
    /// }
    ///
    /// fn on_timer(&mut self, timer: u8, cx: &mut Cx<'_, Self>) {
    ///     cx.set_timer(timer); // once more
    /// }
    /// # }
    /// ```
    pub fn set_timer(&mut self, timer: N::Timer) {
        if let Err(at) = self.effects.timers.binary_search(&timer) {
            self.effects.timers.insert(at, timer);
        }
    }

    /// Cancels a timer, if it is pending.
    ///
    /// ```
    /// # use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(usize);
    /// # impl Node for N { type Msg = u8; type Timer = u8; type Call = (); type Output = usize;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) {}
    /// fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
    ///     cx.set_timer(1);
    ///     cx.set_timer(2);
    ///     cx.cancel_timer(&1); // leaves 2
    /// }
    /// # }
    /// ```
    pub fn cancel_timer(&mut self, timer: &N::Timer) {
        if let Ok(at) = self.effects.timers.binary_search(timer) {
            self.effects.timers.remove(at);
        }
    }

    /// Cancels all pending timers of this node.
    ///
    /// ```
    /// # use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(usize);
    /// # impl Node for N { type Msg = u8; type Timer = u8; type Call = (); type Output = usize;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) {}
    /// fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
    ///     cx.cancel_timers();
    /// }
    /// # }
    /// ```
    pub fn cancel_timers(&mut self) {
        self.effects.timers.clear();
    }

    /// Replies to the application, or tells observers something else that happened.
    ///
    /// ```
    /// # use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(usize);
    /// # impl Node for N { type Msg = u8; type Timer = u8; type Call = (); type Output = usize;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) {}
    /// fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
    ///     cx.output(self.0); // observers see it
    /// }
    /// # }
    /// ```
    pub fn output(&mut self, output: N::Output) {
        self.effects.outputs.push(output);
    }

    /// Tosses a coin with `arity` sides: the checker explores every result, `0..arity`.
    ///
    /// ```
    /// # use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(usize);
    /// # impl Node for N { type Msg = u8; type Timer = u8; type Call = (); type Output = usize;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) { self.0 += 1; }
    /// fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
    ///     self.0 = cx.choose(3);
    /// }
    /// # }
    /// System::new([N(0)])
    ///     .call(0, ())
    ///     .sometimes("one", view(|n: &N| n.0), |values| values[0] == 1)
    ///     .sometimes("two", view(|n: &N| n.0), |values| values[0] == 2)
    ///     .check()
    ///     .assert_holds();
    /// ```
    #[track_caller]
    pub fn choose(&mut self, arity: usize) -> usize {
        // Asked here, so that the panic is where the handler's author can mend it.
        assert!(arity > 0, "choose(0): there is nothing to choose from");
        self.chooser.choose(arity)
    }

    /// Chooses one of the items; every one is explored.
    ///
    /// ```
    /// # use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(usize);
    /// # impl Node for N { type Msg = u8; type Timer = u8; type Call = (); type Output = usize;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) {}
    /// fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
    ///     self.0 = *cx.choose_from(&[10, 20]);
    /// }
    /// # }
    /// ```
    #[track_caller]
    pub fn choose_from<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        &items[self.choose(items.len())]
    }

    /// Says that this event was handled although it may change nothing, so that it counts as a
    /// generated state that leads back to where it started, as a stuttering action of TLA+ does.
    ///
    /// Without it, a delivery that changes nothing is not a step at all.
    ///
    /// ```
    /// # use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(usize);
    /// # impl Node for N { type Msg = u8; type Timer = u8; type Call = (); type Output = usize;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) {}
    /// fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
    ///     cx.stutter();
    /// }
    /// # }
    /// ```
    pub fn stutter(&mut self) {
        self.effects.stutter = true;
    }
}
