use super::*;
use allways::linear::{
    History, Linear, Map, MapOp, Operation, Queue, QueueOp, Register, RegisterOp, RegisterRet,
    Sequential,
};

/// A register on two nodes: writes go to the first, reads to the second.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Replica {
    value: u8,
    /// Whether a write returns only when the other node has it.
    waits: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Sync {
    Store(u8),
    Stored,
}

impl Node for Replica {
    type Msg = Sync;
    type Timer = Never;
    type Call = RegisterOp<u8>;
    type Output = RegisterRet<u8>;

    fn on_call(&mut self, call: RegisterOp<u8>, cx: &mut Cx<'_, Self>) {
        match call {
            RegisterOp::Read => cx.output(RegisterRet::Read(self.value)),
            RegisterOp::Write(value) => {
                self.value = value;
                cx.broadcast(Sync::Store(value));
                if !self.waits {
                    cx.output(RegisterRet::Written);
                }
            }
        }
    }

    fn on_message(&mut self, from: Id, msg: Sync, cx: &mut Cx<'_, Self>) {
        match msg {
            Sync::Store(value) => {
                self.value = value;
                cx.send(from, Sync::Stored);
            }
            Sync::Stored if self.waits => cx.output(RegisterRet::Written),
            Sync::Stored => {}
        }
    }
}

/// Calls are operations, outputs are returns, and each node is one client.
fn operation<N: Node, S: Sequential<Op = N::Call, Ret = N::Output>>(
    seen: &Seen<'_, N>,
) -> Option<(Id, Operation<S>)> {
    match seen {
        Seen::Call { node, call } => Some((*node, Operation::Invoke((*call).clone()))),
        Seen::Output { node, output } => Some((*node, Operation::Return((*output).clone()))),
        _ => None,
    }
}

fn replicas(waits: bool) -> System<Replica> {
    System::new(vec![Replica { value: 0, waits }; 2])
        .call(0, RegisterOp::Write(1))
        .call(1, RegisterOp::Read)
        .observe(Linear::new(Register(0), operation::<Replica, Register<u8>>))
        .always_observed("linearizable", |h: &History<Register<u8>>| h.is_linearizable())
}

#[test]
fn a_read_after_a_write_that_is_not_everywhere_is_stale() {
    for (name, violation) in violations(&replicas(false)) {
        assert_eq!(violation.property, "linearizable", "{name}");
        if name.starts_with("bfs") {
            let run: Vec<_> = violation.run.events.iter().map(ToString::to_string).collect();
            assert_eq!(run, ["node 0 is called: Write(1)", "node 1 is called: Read"]);
        }
    }
    for (name, options) in engines() {
        let outcome = replicas(true).try_check(&options).unwrap();
        assert_ne!(outcome.verdict, Verdict::Violated, "{name}");
        assert_eq!(outcome.complete, !name.starts_with("walk"), "{name}");
    }
}

/// A queue that may be a stack instead.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Shelf {
    items: Vec<u8>,
    last_first: bool,
}

impl Node for Shelf {
    type Msg = Never;
    type Timer = Never;
    type Call = QueueOp<u8>;
    type Output = Option<u8>;

    fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
        match msg {}
    }

    fn on_call(&mut self, call: QueueOp<u8>, cx: &mut Cx<'_, Self>) {
        let output = match call {
            QueueOp::Push(item) => {
                self.items.push(item);
                None
            }
            QueueOp::Pop if self.last_first => self.items.pop(),
            QueueOp::Pop if self.items.is_empty() => None,
            QueueOp::Pop => Some(self.items.remove(0)),
        };
        cx.output(output);
    }
}

#[test]
fn a_stack_is_no_queue() {
    let shelf = |last_first| {
        System::new([Shelf { items: Vec::new(), last_first }])
            .call(0, QueueOp::Push(1))
            .call(0, QueueOp::Push(2))
            .call(0, QueueOp::Pop)
            .observe(Linear::new(Queue::default(), operation::<Shelf, Queue<u8>>))
            .always_observed("linearizable", |h: &History<Queue<u8>>| h.is_linearizable())
    };
    shelf(false).check().assert_holds();
    let outcome = shelf(true).check();
    // Two pushes and a pop.
    assert_eq!(outcome.assert_violated("linearizable").run.events.len(), 3);
}

/// A map that may keep what was removed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Table {
    map: Map<char, u8>,
    forgets: bool,
}

impl Node for Table {
    type Msg = Never;
    type Timer = Never;
    type Call = MapOp<char, u8>;
    type Output = Option<u8>;

    fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
        match msg {}
    }

    fn on_call(&mut self, call: MapOp<char, u8>, cx: &mut Cx<'_, Self>) {
        let output = match call {
            MapOp::Remove(key) if !self.forgets => self.map.apply(&MapOp::Get(key)),
            call => self.map.apply(&call),
        };
        cx.output(output);
    }
}

#[test]
fn a_map_forgets_what_is_removed() {
    let table = |forgets| {
        System::new([Table { map: Map(Default::default()), forgets }])
            .calls_in_sequence([(0, MapOp::Put('k', 1)), (0, MapOp::Remove('k'))])
            .call(0, MapOp::Get('k'))
            .observe(Linear::new(Map(Default::default()), operation::<Table, Map<char, u8>>))
            .always_observed("linearizable", |h: &History<Map<char, u8>>| h.is_linearizable())
    };
    table(true).check().assert_holds();
    let outcome = table(false).check();
    assert_eq!(outcome.assert_violated("linearizable").run.events.len(), 3);
}
