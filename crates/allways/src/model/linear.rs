//! Linearizability: a history of operations, and whether some sequential order explains it.
//!
//! The history keeps, for each operation, how many operations each other client had completed
//! when it was invoked. That is all that real-time order says, so two histories with equal entries
//! have the same explanations, and equal histories are one observer state.

use super::node::{Id, Node, Value};
use super::observer::{Observer, Seen, short_type_name};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// A sequential object: what operations on it return when nobody else is around.
///
/// ```
/// use allways::linear::{Register, RegisterOp, RegisterRet, Sequential};
/// let mut register = Register(0);
/// register.apply(&RegisterOp::Write(5));
/// assert_eq!(register.apply(&RegisterOp::Read), RegisterRet::Read(5));
/// ```
pub trait Sequential: Value {
    /// An operation.
    type Op: Value;
    /// What it returns.
    type Ret: Value;
    /// Carries out an operation.
    fn apply(&mut self, op: &Self::Op) -> Self::Ret;
}

/// A register that can be written and read.
///
/// ```
/// use allways::linear::{Register, RegisterOp, RegisterRet, Sequential};
/// let mut register = Register('a');
/// assert_eq!(register.apply(&RegisterOp::Write('b')), RegisterRet::Written);
/// assert_eq!(register, Register('b'));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Register<V>(pub V);

/// An operation on a [`Register`].
///
/// ```
/// use allways::linear::RegisterOp;
/// let ops = [RegisterOp::Write(5), RegisterOp::Read];
/// assert_ne!(ops[0], ops[1]);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RegisterOp<V> {
    /// Writes a value.
    Write(V),
    /// Reads the value.
    Read,
}

/// What an operation on a [`Register`] returns.
///
/// ```
/// use allways::linear::{Register, RegisterOp, RegisterRet, Sequential};
/// assert_eq!(Register(5).apply(&RegisterOp::Read), RegisterRet::Read(5));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RegisterRet<V> {
    /// The value was written.
    Written,
    /// The value that was read.
    Read(V),
}

impl<V: Value> Sequential for Register<V> {
    type Op = RegisterOp<V>;
    type Ret = RegisterRet<V>;

    fn apply(&mut self, op: &RegisterOp<V>) -> RegisterRet<V> {
        match op {
            RegisterOp::Write(value) => {
                self.0 = value.clone();
                RegisterRet::Written
            }
            RegisterOp::Read => RegisterRet::Read(self.0.clone()),
        }
    }
}

/// A first-in, first-out queue.
///
/// ```
/// use allways::linear::{Queue, QueueOp, Sequential};
/// let mut queue = Queue::default();
/// queue.apply(&QueueOp::Push('a'));
/// queue.apply(&QueueOp::Push('b'));
/// assert_eq!(queue.apply(&QueueOp::Pop), Some('a'));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Queue<V>(pub VecDeque<V>);

/// An operation on a [`Queue`].
///
/// ```
/// use allways::linear::{Queue, QueueOp, Sequential};
/// assert_eq!(Queue::<u8>::default().apply(&QueueOp::Pop), None);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum QueueOp<V> {
    /// Appends a value; returns `None`.
    Push(V),
    /// Takes the first value, if there is one.
    Pop,
}

impl<V: Value> Sequential for Queue<V> {
    type Op = QueueOp<V>;
    type Ret = Option<V>;

    fn apply(&mut self, op: &QueueOp<V>) -> Option<V> {
        match op {
            QueueOp::Push(value) => {
                self.0.push_back(value.clone());
                None
            }
            QueueOp::Pop => self.0.pop_front(),
        }
    }
}

/// A map from keys to values.
///
/// ```
/// use allways::linear::{Map, MapOp, Sequential};
/// let mut map = Map([("a", 1)].into());
/// assert_eq!(map.apply(&MapOp::Put("a", 2)), Some(1));
/// assert_eq!(map.apply(&MapOp::Get("a")), Some(2));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Map<K: Ord, V>(pub BTreeMap<K, V>);

/// An operation on a [`Map`]; each returns the value that was there before.
///
/// ```
/// use allways::linear::{Map, MapOp, Sequential};
/// let mut map = Map([("a", 1)].into());
/// assert_eq!(map.apply(&MapOp::Remove("a")), Some(1));
/// assert_eq!(map.apply(&MapOp::Get("a")), None);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum MapOp<K, V> {
    /// Sets the value of a key.
    Put(K, V),
    /// Reads the value of a key.
    Get(K),
    /// Removes a key.
    Remove(K),
}

impl<K: Value + Ord, V: Value> Sequential for Map<K, V> {
    type Op = MapOp<K, V>;
    type Ret = Option<V>;

    fn apply(&mut self, op: &MapOp<K, V>) -> Option<V> {
        match op {
            MapOp::Put(key, value) => self.0.insert(key.clone(), value.clone()),
            MapOp::Get(key) => self.0.get(key).cloned(),
            MapOp::Remove(key) => self.0.remove(key),
        }
    }
}

/// What a client does: invoke an operation, or see it return.
///
/// ```
/// use allways::linear::{Operation, Register, RegisterOp, RegisterRet};
/// let operations: [Operation<Register<u8>>; 2] =
///     [Operation::Invoke(RegisterOp::Read), Operation::Return(RegisterRet::Read(0))];
/// assert_ne!(operations[0], operations[1]);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Operation<S: Sequential> {
    /// The client invokes an operation; it must have none in flight.
    Invoke(S::Op),
    /// The client's operation returns.
    Return(S::Ret),
}

/// The operations of all clients so far, as a partial order.
///
/// ```
/// use allways::linear::{History, Operation, Register, RegisterOp, RegisterRet};
/// use allways::Id;
/// let (a, b) = (Id::new(0), Id::new(1));
/// let mut history = History::new(Register(0));
/// history.record(a, Operation::Invoke(RegisterOp::Write(1)));
/// history.record(a, Operation::Return(RegisterRet::Written));
/// history.record(b, Operation::Invoke(RegisterOp::Read));
/// assert!(history.is_linearizable());
/// history.record(b, Operation::Return(RegisterRet::Read(0))); // a stale read
/// assert!(!history.is_linearizable());
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct History<S: Sequential> {
    start: S,
    clients: BTreeMap<Id, Client<S>>,
    /// Set by an invocation while one is in flight, or a return of nothing.
    malformed: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Client<S: Sequential> {
    completed: Vec<(Invocation<S>, S::Ret)>,
    in_flight: Option<Invocation<S>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Invocation<S: Sequential> {
    op: S::Op,
    /// How many operations each other client had completed; clients with none are left out.
    after: Vec<(Id, usize)>,
}

impl<S: Sequential> fmt::Debug for History<S> {
    /// The operations client by client: `client 0: Write(1) → Written; client 1: Read …
    /// (begun after the first of client 0)`. An operation in flight has dots for what it returns.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.malformed {
            f.write_str("malformed; ")?;
        }
        if self.clients.is_empty() {
            return write!(f, "no operations on {:?}", self.start);
        }
        for (index, (id, client)) in self.clients.iter().enumerate() {
            write!(f, "{}client {id}: ", if index > 0 { "; " } else { "" })?;
            let completed = client.completed.iter().map(|(op, ret)| (op, Some(ret)));
            let in_flight = client.in_flight.iter().map(|op| (op, None));
            // What it began after says something only where it is more than before.
            let mut before: &[(Id, usize)] = &[];
            for (index, (invocation, ret)) in completed.chain(in_flight).enumerate() {
                write!(f, "{}{:?}", if index > 0 { ", then " } else { "" }, invocation.op)?;
                match ret {
                    Some(ret) => write!(f, " → {ret:?}")?,
                    None => f.write_str(" …")?,
                }
                let new = invocation.after.iter().filter(|after| !before.contains(after));
                for (index, (other, count)) in new.enumerate() {
                    let what = if index > 0 { " and" } else { " (begun after" };
                    let first = if *count == 1 { String::new() } else { format!(" {count}") };
                    write!(f, "{what} the first{first} of client {other}")?;
                }
                if invocation.after.iter().any(|after| !before.contains(after)) {
                    f.write_str(")")?;
                }
                before = &invocation.after;
            }
        }
        Ok(())
    }
}

impl<S: Sequential> History<S> {
    /// No operations yet, on an object in this state.
    ///
    /// ```
    /// use allways::linear::{History, Register};
    /// assert!(History::new(Register(0)).is_linearizable());
    /// ```
    pub fn new(start: S) -> Self {
        History { start, clients: BTreeMap::new(), malformed: false }
    }

    /// Whether a client invoked while it waited, or saw a return that it did not wait for: then
    /// the clients were told apart wrongly, and the history says nothing about the object.
    ///
    /// ```
    /// use allways::Id;
    /// use allways::linear::{History, Operation, Register, RegisterOp, RegisterRet};
    /// let mut history = History::new(Register(0));
    /// history.record(Id::new(0), Operation::Invoke(RegisterOp::Read));
    /// assert!(!history.is_malformed());
    /// history.record(Id::new(0), Operation::Invoke(RegisterOp::Read)); // before the first returned
    /// assert!(history.is_malformed());
    /// # history.record(Id::new(0), Operation::Return(RegisterRet::Read(0)));
    /// ```
    pub fn is_malformed(&self) -> bool {
        self.malformed
    }

    /// How many operations were invoked.
    ///
    /// ```
    /// use allways::Id;
    /// use allways::linear::{History, Operation, Register, RegisterOp, RegisterRet};
    /// let mut history = History::new(Register(0));
    /// history.record(Id::new(0), Operation::Invoke(RegisterOp::Read));
    /// history.record(Id::new(0), Operation::Return(RegisterRet::Read(0)));
    /// history.record(Id::new(1), Operation::Invoke(RegisterOp::Write(1)));
    /// assert_eq!(history.len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        self.clients.values().map(|c| c.completed.len() + usize::from(c.in_flight.is_some())).sum()
    }

    /// Whether no operation was invoked.
    ///
    /// ```
    /// use allways::linear::{History, Register};
    /// assert!(History::new(Register(0)).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The completed operations with what they returned, client by client.
    ///
    /// ```
    /// use allways::Id;
    /// use allways::linear::{History, Operation, Register, RegisterOp, RegisterRet};
    /// let mut history = History::new(Register(0));
    /// history.record(Id::new(0), Operation::Invoke(RegisterOp::Read));
    /// history.record(Id::new(0), Operation::Return(RegisterRet::Read(0)));
    /// history.record(Id::new(1), Operation::Invoke(RegisterOp::Write(1))); // in flight
    /// let completed: Vec<_> = history.completed().collect();
    /// assert_eq!(completed, [(Id::new(0), &RegisterOp::Read, &RegisterRet::Read(0))]);
    /// ```
    pub fn completed(&self) -> impl Iterator<Item = (Id, &S::Op, &S::Ret)> {
        let clients = self.clients.iter();
        clients.flat_map(|(id, c)| c.completed.iter().map(|(inv, ret)| (*id, &inv.op, ret)))
    }

    /// Adds what a client does. A client that invokes while it waits, or sees a return that it
    /// does not wait for, makes the history malformed: not linearizable.
    ///
    /// ```
    /// use allways::Id;
    /// use allways::linear::{History, Operation, Register, RegisterOp, RegisterRet};
    /// let mut history = History::new(Register(0));
    /// history.record(Id::new(0), Operation::Invoke(RegisterOp::Write(1)));
    /// history.record(Id::new(0), Operation::Return(RegisterRet::Written));
    /// assert_eq!(history.len(), 1);
    /// ```
    pub fn record(&mut self, client: Id, operation: Operation<S>) {
        let after = || {
            let others =
                self.clients.iter().filter(|(id, c)| **id != client && !c.completed.is_empty());
            others.map(|(id, c)| (*id, c.completed.len())).collect()
        };
        match operation {
            Operation::Invoke(op) => {
                let invocation = Invocation { op, after: after() };
                let entry = self
                    .clients
                    .entry(client)
                    .or_insert(Client { completed: Vec::new(), in_flight: None });
                self.malformed |= entry.in_flight.replace(invocation).is_some();
            }
            Operation::Return(ret) => {
                let entry = self.clients.get_mut(&client);
                match entry.and_then(|c| c.in_flight.take().map(|inv| (c, inv))) {
                    Some((entry, invocation)) => entry.completed.push((invocation, ret)),
                    None => self.malformed = true,
                }
            }
        }
    }

    /// Whether some order of the operations explains every return, keeps each client's order and
    /// puts an operation that completed before another was invoked before it. Operations in flight
    /// may or may not have happened.
    ///
    /// ```
    /// use allways::Id;
    /// use allways::linear::{History, Operation, Register, RegisterOp, RegisterRet};
    /// let mut history = History::new(Register(0));
    /// // A read that is in flight together with a write may see it or not.
    /// history.record(Id::new(0), Operation::Invoke(RegisterOp::Write(1)));
    /// history.record(Id::new(1), Operation::Invoke(RegisterOp::Read));
    /// history.record(Id::new(1), Operation::Return(RegisterRet::Read(1)));
    /// assert!(history.is_linearizable());
    /// ```
    pub fn is_linearizable(&self) -> bool {
        if self.malformed {
            return false;
        }
        let clients: Vec<(Id, &Client<S>)> = self.clients.iter().map(|(id, c)| (*id, c)).collect();
        explain(&clients, &mut vec![0; clients.len()], &self.start)
    }
}

/// Depth-first over the ways to go on from `done[i]` operations of client `i`.
fn explain<S: Sequential>(clients: &[(Id, &Client<S>)], done: &mut [usize], object: &S) -> bool {
    if clients.iter().zip(&*done).all(|((_, c), &d)| d >= c.completed.len()) {
        return true;
    }
    for at in 0..clients.len() {
        let client = clients[at].1;
        let (invocation, expected) = match client.completed.get(done[at]) {
            Some((invocation, ret)) => (invocation, Some(ret)),
            None if done[at] == client.completed.len() => match &client.in_flight {
                Some(invocation) => (invocation, None),
                None => continue,
            },
            None => continue,
        };
        let ready = invocation.after.iter().all(|(other, count)| {
            let other = clients.iter().position(|(id, _)| id == other);
            other.is_none_or(|other| done[other] >= *count)
        });
        if !ready {
            continue;
        }
        let mut object = object.clone();
        let ret = object.apply(&invocation.op);
        if expected.is_none_or(|expected| *expected == ret) {
            done[at] += 1;
            if explain(clients, done, &object) {
                return true;
            }
            done[at] -= 1;
        }
    }
    false
}

/// An observer that keeps a [`History`]. Which events are operations is the user's to say.
///
/// A client has one operation in flight at a time. If several calls may be under way at one node,
/// the client must be something else than the node: a number in the call, for example. A client
/// whose operation was cut off by a crash and that goes on is another client from then on.
///
/// ```
/// use allways::prelude::*;
/// use allways::linear::{Linear, History, Operation, Register, RegisterOp, RegisterRet};
///
/// /// A register on one node: every call is answered at once.
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// struct Server(u8);
///
/// impl Node for Server {
///     type Msg = Never;
///     type Timer = Never;
///     type Call = RegisterOp<u8>;
///     type Output = RegisterRet<u8>;
///     fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) { match msg {} }
///     fn on_call(&mut self, call: RegisterOp<u8>, cx: &mut Cx<'_, Self>) {
///         match call {
///             RegisterOp::Write(v) => { self.0 = v; cx.output(RegisterRet::Written) }
///             RegisterOp::Read => cx.output(RegisterRet::Read(self.0)),
///         }
///     }
/// }
///
/// System::new([Server(0)])
///     .call(0, RegisterOp::Write(1))
///     .call(0, RegisterOp::Read)
///     .observe(Linear::new(Register(0), |seen: &Seen<'_, Server>| match seen {
///         Seen::Call { node, call } => Some((*node, Operation::Invoke((*call).clone()))),
///         Seen::Output { node, output } => Some((*node, Operation::Return((*output).clone()))),
///         _ => None,
///     }))
///     .always_observed("linearizable", |h: &History<Register<u8>>| h.is_linearizable())
///     .check()
///     .assert_holds();
/// ```
pub struct Linear<S, F> {
    start: S,
    read: F,
}

impl<S: Sequential, F> Linear<S, F> {
    /// Observes operations on an object that starts as `start`; `read` says which of the things
    /// seen are operations, and whose.
    ///
    /// ```
    /// use allways::linear::{Linear, Operation, Register, RegisterOp};
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// /// A call writes; nothing is ever told of a return.
    /// let observer = Linear::new(Register(0), |seen: &Seen<'_, Cell>| match seen {
    ///     Seen::Call { node, call } => Some((*node, Operation::Invoke(RegisterOp::Write(**call)))),
    ///     _ => None,
    /// });
    /// System::new([Cell(0)]).call(0, 7).observe(observer).check().assert_holds();
    /// ```
    pub fn new<N: Node>(start: S, read: F) -> Self
    where
        F: Fn(&Seen<'_, N>) -> Option<(Id, Operation<S>)>,
    {
        Linear { start, read }
    }
}

impl<N, S, F> Observer<N> for Linear<S, F>
where
    N: Node,
    S: Sequential,
    F: Fn(&Seen<'_, N>) -> Option<(Id, Operation<S>)> + Send + Sync + 'static,
{
    type State = History<S>;

    fn start(&self) -> History<S> {
        History::new(self.start.clone())
    }

    fn wants(&self, seen: &Seen<'_, N>) -> bool {
        (self.read)(seen).is_some()
    }

    fn name(&self) -> String {
        short_type_name::<History<S>>()
    }

    fn observe(&self, state: &mut History<S>, seen: Seen<'_, N>) {
        if let Some((client, operation)) = (self.read)(&seen) {
            state.record(client, operation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RegisterOp::{Read, Write};

    fn history(events: &[(usize, Operation<Register<u8>>)]) -> History<Register<u8>> {
        let mut history = History::new(Register(0));
        for (client, operation) in events {
            history.record(Id::new(*client), operation.clone());
        }
        history
    }

    fn invoke(op: RegisterOp<u8>) -> Operation<Register<u8>> {
        Operation::Invoke(op)
    }

    fn read(value: u8) -> Operation<Register<u8>> {
        Operation::Return(RegisterRet::Read(value))
    }

    const WRITTEN: Operation<Register<u8>> = Operation::Return(RegisterRet::Written);

    #[test]
    fn a_read_may_see_a_write_in_flight_or_not() {
        for value in [0, 1] {
            let events = [(0, invoke(Write(1))), (1, invoke(Read)), (1, read(value))];
            assert!(history(&events).is_linearizable());
        }
        let events = [(0, invoke(Write(1))), (1, invoke(Read)), (1, read(2))];
        assert!(!history(&events).is_linearizable());
    }

    #[test]
    fn reads_that_follow_each_other_do_not_go_back() {
        let new_then_old = [
            (0, invoke(Write(1))),
            (1, invoke(Read)),
            (1, read(1)),
            (2, invoke(Read)),
            (2, read(0)),
        ];
        assert!(!history(&new_then_old).is_linearizable());
    }

    #[test]
    fn overlapping_reads_may_disagree() {
        let overlapping = [
            (0, invoke(Write(1))),
            (1, invoke(Read)),
            (2, invoke(Read)),
            (1, read(1)),
            (2, read(0)),
        ];
        assert!(history(&overlapping).is_linearizable());
    }

    #[test]
    fn a_return_of_nothing_is_malformed() {
        assert!(!history(&[(0, WRITTEN)]).is_linearizable());
        assert!(!history(&[(0, invoke(Read)), (0, invoke(Read))]).is_linearizable());
    }

    #[test]
    fn a_history_reads_client_by_client() {
        let events = [
            (0, invoke(Write(1))),
            (0, WRITTEN),
            (1, invoke(Read)),
            (1, read(0)),
            (0, invoke(Read)),
        ];
        assert_eq!(format!("{:?}", history(&[])), "no operations on Register(0)");
        assert_eq!(
            format!("{:?}", history(&events)),
            "client 0: Write(1) → Written, then Read … (begun after the first of client 1); \
             client 1: Read → Read(0) (begun after the first of client 0)"
        );
    }

    #[test]
    fn queues_and_maps_are_sequential_objects() {
        let mut queue = Queue::default();
        assert_eq!(queue.apply(&QueueOp::Push(1)), None);
        assert_eq!(queue.apply(&QueueOp::Pop), Some(1));
        assert_eq!(queue.apply(&QueueOp::Pop), None);
        let mut map = Map(BTreeMap::new());
        assert_eq!(map.apply(&MapOp::Put('k', 1)), None);
        assert_eq!(map.apply(&MapOp::Get('k')), Some(1));
        assert_eq!(map.apply(&MapOp::Remove('k')), Some(1));
    }
}
