//! Many instances of one protocol beside each other: a deployment that decides again and again.
//!
//! Most protocols of the catalogue decide once. [`Instances`] makes of such a node one that runs any
//! number of copies of it, by index: a message, a timer or a call carries the index of the copy that it
//! is for, and what a copy does reaches only copies with the same index on other nodes.
//!
//! So an instance is a system of its own, and [`project`] takes it out of a snapshot: the state of
//! each node in that instance, and the envelopes of that instance. This is sound: a handler of one
//! index reads and writes nothing of another, so whatever can happen to one instance can happen
//! whatever the others do, and the cut of the snapshot is consistent for each instance since it is for
//! all. A node that has not heard of an instance yet is in its initial state there; it must start in
//! silence, since nobody has seen it start.
//!
//! Old instances are forgotten, so that a node that runs for long does not grow: a node that meets an
//! index far beyond its oldest drops that. For the dropped instance it is as if the node had crashed
//! for good; it cannot be projected any more.

use crate::{Error, LiveNode};
use allways::{Cx, Handled, Id, Input, Local, Node, Snapshot, handle};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A node keeps this many instances.
const KEPT: u64 = 256;

/// Any number of copies of a node, by index.
///
/// ```
/// use allways::prelude::*;
/// use allways_live::Instances;
/// use allways_live::sample::{Account, Transfer};
/// // Two accounts in each of two currencies.
/// System::new([Instances::new(Account(5)), Instances::new(Account(5))])
///     .call(0, (1, Transfer { to: 1, amount: 2 }))
///     .call(0, (2, Transfer { to: 1, amount: 3 }))
///     .sometimes("both", view(|n: &Instances<Account>| n.clone()), |nodes| {
///         let has = |index| nodes[1].instance(index).map(|account| account.0);
///         (has(1), has(2)) == (Some(7), Some(8))
///     })
///     .check()
///     .assert_holds();
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "N: LiveNode")]
pub struct Instances<N: Node> {
    initial: N,
    /// Instances below this are forgotten.
    floor: u64,
    instances: BTreeMap<u64, Instance<N>>,
}

/// One copy.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "N: LiveNode")]
struct Instance<N: Node> {
    node: N,
    timers: Vec<N::Timer>,
    /// The calls that it has handled, so that a driver knows which are left.
    called: Vec<N::Call>,
}

impl<N: Node> Instances<N> {
    /// No copies yet; each will start as this.
    ///
    /// ```
    /// # use allways_live::{Instances, sample::Account};
    /// assert_eq!(Instances::new(Account(5)).instance(1), None);
    /// ```
    pub fn new(initial: N) -> Self {
        Instances { initial, floor: 0, instances: BTreeMap::new() }
    }

    /// The copy with this index, if there is one.
    ///
    /// ```
    /// # use allways_live::{Instances, sample::Account};
    /// assert!(Instances::new(Account(5)).instance(1).is_none());
    /// ```
    pub fn instance(&self, index: u64) -> Option<&N> {
        self.instances.get(&index).map(|instance| &instance.node)
    }

    fn handle(&mut self, index: u64, input: Input<N>, cx: &mut Cx<'_, Self>) {
        if index < self.floor {
            return;
        }
        if !self.instances.contains_key(&index) {
            self.forget(index, cx);
            let fresh =
                Instance { node: self.initial.clone(), timers: Vec::new(), called: Vec::new() };
            self.instances.insert(index, fresh);
            self.step(index, Input::Start, cx);
        }
        self.step(index, input, cx);
    }

    /// Makes room for this index.
    fn forget(&mut self, index: u64, cx: &mut Cx<'_, Self>) {
        self.floor = self.floor.max(index.saturating_add(1).saturating_sub(KEPT));
        let kept = self.instances.split_off(&self.floor);
        for (index, instance) in std::mem::replace(&mut self.instances, kept) {
            for timer in instance.timers {
                cx.cancel_timer(&(index, timer));
            }
        }
    }

    fn step(&mut self, index: u64, input: Input<N>, cx: &mut Cx<'_, Self>) {
        let Some(instance) = self.instances.get_mut(&index) else { return };
        let before = instance.timers.clone();
        if let Input::Call(call) = &input {
            instance.called.push(call.clone());
        }
        let (id, nodes) = (cx.id(), cx.nodes());
        let Instance { node, timers, .. } = instance;
        let Handled { sends, outputs } =
            handle(node, id, nodes, timers, input, &mut |sides| cx.choose(sides));
        for timer in before.into_iter().filter(|timer| !timers.contains(timer)) {
            cx.cancel_timer(&(index, timer));
        }
        for timer in timers.iter() {
            cx.set_timer((index, timer.clone()));
        }
        for (to, msg) in sends {
            cx.send(to, (index, msg));
        }
        for output in outputs {
            cx.output((index, output));
        }
    }
}

impl<N: Node> Node for Instances<N> {
    type Msg = (u64, N::Msg);
    type Timer = (u64, N::Timer);
    type Call = (u64, N::Call);
    type Output = (u64, N::Output);

    fn on_message(&mut self, from: Id, (index, msg): Self::Msg, cx: &mut Cx<'_, Self>) {
        self.handle(index, Input::Message { from, msg }, cx);
    }

    fn on_timer(&mut self, (index, timer): Self::Timer, cx: &mut Cx<'_, Self>) {
        self.handle(index, Input::Timer(timer), cx);
    }

    fn on_call(&mut self, (index, call): Self::Call, cx: &mut Cx<'_, Self>) {
        self.handle(index, Input::Call(call), cx);
    }

    /// Which instances there are and which calls they handled stays, and of each what it persisted.
    fn persisted(&self) -> Option<Self> {
        let survivor = |instance: &Instance<N>| Instance {
            node: instance.node.persisted().unwrap_or_else(|| self.initial.clone()),
            timers: Vec::new(),
            called: instance.called.clone(),
        };
        let instances = self.instances.iter().map(|(index, one)| (*index, survivor(one))).collect();
        Some(Instances { initial: self.initial.clone(), floor: self.floor, instances })
    }

    fn on_restart(&mut self, cx: &mut Cx<'_, Self>) {
        for index in self.instances.keys().copied().collect::<Vec<_>>() {
            self.step(index, Input::Restart, cx);
        }
    }
}

/// The instances that a snapshot can be projected to, the oldest first.
pub(crate) fn indices<N: Node>(snapshot: &Snapshot<Instances<N>>) -> Vec<u64> {
    let floor = snapshot.locals.iter().map(|local| local.node.floor).max().unwrap_or(0);
    let of_states = snapshot.locals.iter().flat_map(|local| local.node.instances.keys().copied());
    let of_envelopes = snapshot.envelopes.iter().map(|(_, _, (index, _))| *index);
    let mut all: Vec<u64> = of_states.chain(of_envelopes).filter(|index| *index >= floor).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Calls, each with the node that handles it, in order.
pub(crate) type Calls<N> = Vec<(Id, <N as Node>::Call)>;

/// A snapshot of one instance, and the calls that were made there.
pub(crate) fn project<N: Node>(
    snapshot: &Snapshot<Instances<N>>,
    index: u64,
) -> Result<(Snapshot<N>, Calls<N>), Error> {
    let nodes = snapshot.locals.len();
    let (mut locals, mut made) = (Vec::new(), Vec::new());
    for (number, local) in snapshot.locals.iter().enumerate() {
        let id = Id::new(number);
        let (node, timers) = match local.node.instances.get(&index) {
            Some(instance) => {
                made.extend(instance.called.iter().map(|call| (id, call.clone())));
                (instance.node.clone(), instance.timers.clone())
            }
            None => started(&local.node.initial, id, nodes)?,
        };
        locals.push(Local { node, timers, fires_left: None, up: local.up });
    }
    let mut envelopes = Vec::new();
    for (from, to, (of, msg)) in &snapshot.envelopes {
        if *of == index {
            envelopes.push((*from, *to, msg.clone()));
        }
    }
    Ok((Snapshot { locals, envelopes }, made))
}

/// A node as it is when it has started.
fn started<N: Node>(initial: &N, id: Id, nodes: usize) -> Result<(N, Vec<N::Timer>), Error> {
    let (mut node, mut timers) = (initial.clone(), Vec::new());
    let mut chosen = false;
    let mut choose = |_| {
        chosen = true;
        0
    };
    let handled = handle(&mut node, id, nodes, &mut timers, Input::Start, &mut choose);
    match chosen || !handled.sends.is_empty() || !handled.outputs.is_empty() {
        true => Err(Error::new(
            "instances of this node cannot be told apart: it must start without a word or a choice",
        )),
        false => Ok((node, timers)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Account, Money, Transfer};
    use allways::Never;

    type Banks = Instances<Account>;

    fn step(banks: &mut Banks, input: Input<Banks>) -> Vec<(Id, (u64, Money))> {
        handle(banks, Id::new(0), 2, &mut vec![], input, &mut |_| 0).sends
    }

    fn local(node: Banks) -> Local<Banks> {
        Local { node, timers: vec![], fires_left: None, up: true }
    }

    #[test]
    fn instances_do_not_touch_each_other_and_are_projected_one_by_one() {
        let (me, other) = (Id::new(0), Id::new(1));
        let mut banks = Instances::new(Account(5));
        let call = |index, amount| Input::Call((index, Transfer { to: 1, amount }));
        let mut sends = step(&mut banks, call(3, 1));
        sends.extend(step(&mut banks, call(4, 2)));
        assert_eq!(sends, [(other, (3, Money(1))), (other, (4, Money(2)))]);
        let envelopes = sends.into_iter().map(|(to, msg)| (me, to, msg)).collect();
        let locals = vec![local(banks), local(Instances::new(Account(5)))];
        let snapshot = Snapshot { locals, envelopes };
        assert_eq!(indices(&snapshot), [3, 4]);
        let (projected, made) = project(&snapshot, 4).unwrap();
        let states: Vec<_> = projected.locals.iter().map(|local| local.node.0).collect();
        assert_eq!(states, [3, 5]);
        assert_eq!(projected.envelopes, [(me, other, Money(2))]);
        assert_eq!(made, [(me, Transfer { to: 1, amount: 2 })]);
    }

    #[test]
    fn old_instances_are_forgotten_and_what_comes_for_them_is_nothing() {
        let mut banks = Instances::new(Account(5));
        let money = |index| Input::Message { from: Id::new(1), msg: (index, Money(1)) };
        for index in [0, 1, KEPT] {
            step(&mut banks, money(index));
        }
        assert_eq!(banks.instance(0), None);
        assert_eq!(banks.instance(1), Some(&Account(6)));
        step(&mut banks, money(0));
        assert_eq!(banks.instance(0), None);
        let snapshot = Snapshot {
            locals: vec![local(banks), local(Instances::new(Account(5)))],
            envelopes: vec![(Id::new(0), Id::new(1), (0, Money(1)))],
        };
        assert_eq!(indices(&snapshot), [1, KEPT]);
    }

    /// Speaks when it starts, and keeps nothing.
    #[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    struct Loud(u8);

    impl Node for Loud {
        type Msg = ();
        type Timer = Never;
        type Call = ();
        type Output = Never;
        fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
            cx.broadcast(());
        }
        fn on_call(&mut self, (): (), _: &mut Cx<'_, Self>) {
            self.0 += 1;
        }
        fn on_message(&mut self, _: Id, (): (), _: &mut Cx<'_, Self>) {}
    }

    #[test]
    fn a_node_that_does_not_start_in_silence_cannot_be_projected() {
        let loud =
            || Local { node: Instances::new(Loud(0)), timers: vec![], fires_left: None, up: true };
        let snapshot = Snapshot { locals: vec![loud(), loud()], envelopes: vec![] };
        assert!(project(&snapshot, 1).is_err());
    }

    #[test]
    fn after_a_crash_the_calls_that_were_made_are_known() {
        let mut loud = Instances::new(Loud(0));
        handle(&mut loud, Id::new(0), 2, &mut vec![], Input::Call((7, ())), &mut |_| 0);
        assert_eq!(loud.instance(7), Some(&Loud(1)));
        let survivor = loud.persisted().unwrap();
        assert_eq!(survivor.instance(7), Some(&Loud(0)));
        assert_eq!(survivor.instances[&7].called.len(), 1);
        let mut again = survivor;
        let sends =
            handle(&mut again, Id::new(0), 2, &mut vec![], Input::Restart, &mut |_| 0).sends;
        assert_eq!(sends, [(Id::new(1), (7, ()))]);
    }
}
