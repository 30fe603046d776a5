//! `#[derive(Kinds)]` on every shape of type, and what coverage makes of it.

use allways::prelude::*;
use allways::{Handler, Kinds};

#[derive(Kinds)]
struct Named {
    #[allow(dead_code)]
    field: u8,
}

#[derive(Kinds)]
struct Unit;

#[derive(Kinds)]
enum Nothing {}

#[derive(Kinds)]
enum Generic<'a, T: ?Sized, const N: usize> {
    Borrowed(&'a T),
    Array { items: [u8; N] },
    r#Type,
}

#[test]
fn a_struct_has_one_kind() {
    assert_eq!(Named::KINDS, ["Named"]);
    assert_eq!(Named { field: 1 }.kind(), Some("Named"));
    assert_eq!((Unit::KINDS, Unit.kind()), (&["Unit"][..], Some("Unit")));
}

#[test]
fn an_enum_has_a_kind_for_each_variant() {
    type Text<'a> = Generic<'a, str, 2>;
    assert_eq!(Text::KINDS, ["Borrowed", "Array", "Type"]);
    assert_eq!(Text::Borrowed("x").kind(), Some("Borrowed"));
    assert_eq!(Text::Array { items: [1, 2] }.kind(), Some("Array"));
    assert_eq!(Text::r#Type.kind(), Some("Type"));
    if let (Text::Borrowed(text), Text::Array { items }) =
        (Text::Borrowed("x"), Text::Array { items: [1, 2] })
    {
        assert_eq!((text, items), ("x", [1, 2]));
    }
}

#[test]
fn an_empty_enum_has_no_kinds() {
    assert_eq!(Nothing::KINDS, [""; 0]);
}

/// A message that shows itself as something else.
#[derive(Clone, PartialEq, Eq, Hash, Kinds)]
enum Msg {
    Ping,
    Pong,
}

impl std::fmt::Debug for Msg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("message")
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
enum Call {
    Begin,
    #[allow(dead_code)]
    End(u8),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Peer(u8);

impl Node for Peer {
    type Msg = Msg;
    type Timer = Never;
    type Call = Call;
    type Output = Never;

    fn on_call(&mut self, _: Call, cx: &mut Cx<'_, Self>) {
        self.0 += 1;
        cx.broadcast(Msg::Ping);
    }

    fn on_message(&mut self, _: Id, msg: Msg, _: &mut Cx<'_, Self>) {
        self.0 += if msg == Msg::Pong { 2 } else { 1 };
    }
}

#[test]
fn kinds_that_are_derived_do_not_depend_on_debug() {
    let outcome = System::new([Peer(0), Peer(0)]).call(0, Call::Begin).expect_kinds().check();
    let coverage = outcome.coverage.unwrap();
    let kinds: Vec<_> =
        coverage.kinds.iter().map(|k| (k.handler, k.kind.as_str(), k.sent, k.steps)).collect();
    assert_eq!(
        kinds,
        [
            (Handler::Message, "Ping", 1, 1),
            (Handler::Message, "Pong", 0, 0),
            (Handler::Call, "Begin", 1, 1),
            (Handler::Call, "End", 0, 0),
        ]
    );
    assert_eq!(coverage.never(), ["message `Pong` is never sent", "call `End` is never made"]);
}
