//! What the network does, in words.

use crate::runtime::op::Kind;

/// What a thread did with an object of the network: what the object is, and what it is called.
pub(crate) fn did(
    kind: Kind,
    succeeded: bool,
    value: u64,
    what: &str,
    object: &str,
) -> Option<String> {
    let is_over = value == u64::MAX;
    Some(match (what, kind, succeeded) {
        ("address", Kind::Load, _) => format!("looks who is at {object}"),
        ("address", Kind::Lock | Kind::Swap, _) => format!("binds {object}"),
        ("listener", Kind::Send, true) => format!("connects to {object}"),
        ("listener", Kind::Send, false) => format!("finds {object} gone"),
        ("listener", Kind::DropReceiver, _) => format!("drops {object}"),
        ("listener", _, true) if kind.receives() => format!("accepts from {object}"),
        ("listener", _, false) if kind.receives() => format!("finds nobody at {object}"),
        ("listener" | "datagram socket", Kind::LookForReceiver, true) => {
            format!("finds {object} in the way")
        }
        ("listener" | "datagram socket", Kind::LookForReceiver, false) => {
            format!("finds {object} gone")
        }
        ("stream", Kind::Send, true) => format!("writes part {value} of {object}"),
        ("stream", Kind::Send, false) => format!("writes to {object}, which nobody reads any more"),
        ("stream", _, true) if kind.receives() => format!("reads part {value} of {object}"),
        ("stream", _, false) if is_over && kind.receives() => format!("finds the end of {object}"),
        ("stream", Kind::TryReceive, false) => format!("finds nothing to read from {object}"),
        ("datagram socket", Kind::Send, true) => format!("sends datagram {value} to {object}"),
        ("datagram socket", Kind::Send, false) => {
            format!("sends a datagram to {object}, which is gone")
        }
        ("datagram socket", _, true) if kind.receives() => {
            format!("receives datagram {value} at {object}")
        }
        ("datagram socket", Kind::TryReceive, false) => format!("finds no datagram at {object}"),
        ("losses", _, _) => "loses a datagram, if one may still be lost".to_owned(),
        _ => return None,
    })
}

/// What a thread waits for that would receive from an object of the network.
pub(crate) fn waits(what: &str, object: &str) -> Option<String> {
    Some(match what {
        "listener" => format!("for somebody to connect to {object}"),
        "stream" => format!("to read from {object}"),
        "datagram socket" => format!("for a datagram at {object}"),
        _ => return None,
    })
}
