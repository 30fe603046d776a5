//! The rules that envelopes in flight obey.

/// How the network treats messages.
///
/// ```
/// use allways::Network;
/// let lossy = Network::ordered().drops(2);
/// assert_ne!(lossy, Network::ordered());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    pub(crate) kind: NetworkKind,
    pub(crate) drops: u8,
    pub(crate) duplications: u8,
}

/// The three kinds of network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NetworkKind {
    /// A bag: any envelope may come next, and delivery consumes it.
    Unordered,
    /// A set: any envelope may come next, again and again.
    Duplicating,
    /// A queue for each ordered pair of nodes.
    Ordered,
}

impl Network {
    const fn of(kind: NetworkKind) -> Self {
        Network { kind, drops: 0, duplications: 0 }
    }

    /// Any message in flight may be delivered next, once (UDP without duplication). A message
    /// that is never delivered is a message lost, so no event is needed for loss.
    ///
    /// ```
    /// use allways::Network;
    /// let network = Network::unordered().duplications(1);
    /// assert_ne!(network, Network::unordered());
    /// ```
    pub const fn unordered() -> Self {
        Network::of(NetworkKind::Unordered)
    }

    /// Any message ever sent may be delivered, any number of times (TLA+'s growing set).
    ///
    /// ```
    /// use allways::Network;
    /// assert_ne!(Network::duplicating(), Network::unordered());
    /// ```
    pub const fn duplicating() -> Self {
        Network::of(NetworkKind::Duplicating)
    }

    /// First in, first out between each pair of nodes (TCP). Here a delivery that changes nothing
    /// is a step too: it uncovers the message behind it.
    ///
    /// ```
    /// use allways::Network;
    /// let lossy = Network::ordered().drops(1);
    /// assert_ne!(lossy, Network::ordered());
    /// ```
    pub const fn ordered() -> Self {
        Network::of(NetworkKind::Ordered)
    }

    /// At most this many messages may be dropped in a run.
    ///
    /// On unordered and duplicating networks a drop differs from a delay only in what is a
    /// terminal state, so drops are explored there only if the system has a `never_stuck` property.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let system = System::new([Cell(0), Cell(0)])
    ///     .call(0, 7)
    ///     .never_stuck("both know", view(|c: &Cell| c.0), |cells| cells == [7, 7]);
    /// system.check().assert_holds();
    /// system.network(Network::unordered().drops(1)).check().assert_violated("both know");
    /// ```
    #[must_use]
    pub const fn drops(mut self, budget: u8) -> Self {
        self.drops = budget;
        self
    }

    /// At most this many deliveries in a run may leave a copy of their message in flight.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct Counter(u8);
    /// # impl Node for Counter { type Msg = (); type Timer = Never; type Call = (); type Output = Never;
    /// #   fn on_message(&mut self, _: Id, _: (), _: &mut Cx<'_, Self>) { self.0 += 1; }
    /// #   fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) { cx.broadcast(()); } }
    /// let outcome = System::new([Counter(0), Counter(0)])
    ///     .network(Network::unordered().duplications(1))
    ///     .call(0, ())
    ///     .always("counted once", view(|c: &Counter| c.0), |counts| counts[1] <= 1)
    ///     .check();
    /// outcome.assert_violated("counted once");
    /// ```
    #[must_use]
    pub const fn duplications(mut self, budget: u8) -> Self {
        self.duplications = budget;
        self
    }
}
