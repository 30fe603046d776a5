//! Observers: deterministic automata that are fed with what happens.

use super::erased::Erased;
use super::node::{Id, Node, Value};
use std::fmt;

/// Something that an observer may see.
///
/// Within one step, the event comes first, then the outputs in the order in which the handler
/// made them.
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::Cell;
/// fn is_reply(seen: &Seen<'_, Cell>) -> bool {
///     matches!(seen, Seen::Output { .. })
/// }
/// assert!(is_reply(&Seen::Output { node: Id::new(0), output: &7 }));
/// assert!(!is_reply(&Seen::Crash { node: Id::new(0) }));
/// ```
#[derive(Debug)]
pub enum Seen<'a, N: Node> {
    /// The application calls a node.
    Call {
        /// The node.
        node: Id,
        /// The call.
        call: &'a N::Call,
    },
    /// A node outputs something: a reply, for example.
    Output {
        /// The node.
        node: Id,
        /// What it says.
        output: &'a N::Output,
    },
    /// A message is delivered.
    Delivery {
        /// Who sent it.
        from: Id,
        /// Who handles it.
        node: Id,
        /// What it says.
        msg: &'a N::Msg,
    },
    /// A timer fires.
    Timer {
        /// The node.
        node: Id,
        /// Which timer.
        timer: &'a N::Timer,
    },
    /// A node crashes.
    Crash {
        /// The node.
        node: Id,
    },
    /// A node starts again.
    Restart {
        /// The node.
        node: Id,
    },
}

impl<N: Node> Clone for Seen<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N: Node> Copy for Seen<'_, N> {}

/// A history or monitor: a deterministic automaton whose state is part of the global state.
///
/// ```
/// use allways::prelude::*;
///
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct Echo;
/// # impl Node for Echo { type Msg = Never; type Timer = Never; type Call = u8; type Output = u8;
/// #   fn on_message(&mut self, _: Id, _: Never, _: &mut Cx<'_, Self>) {}
/// #   fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) { cx.output(call); } }
/// /// Counts the outputs.
/// struct Outputs;
///
/// impl Observer<Echo> for Outputs {
///     type State = usize;
///     fn start(&self) -> usize { 0 }
///     fn wants(&self, seen: &Seen<'_, Echo>) -> bool { matches!(seen, Seen::Output { .. }) }
///     fn observe(&self, state: &mut usize, _: Seen<'_, Echo>) { *state += 1; }
/// }
///
/// System::new([Echo])
///     .call(0, 1)
///     .call(0, 2)
///     .observe(Outputs)
///     .always_observed("at most one output a call", |n: &usize| *n <= 2)
///     .check()
///     .assert_holds();
/// ```
pub trait Observer<N: Node>: Send + Sync + 'static {
    /// What it remembers. Counts as part of the global state.
    type State: Value;

    /// Its state before anything happens.
    fn start(&self) -> Self::State;

    /// Whether it wants to see this. Must not depend on anything but its argument. What it does
    /// not want costs nothing.
    fn wants(&self, seen: &Seen<'_, N>) -> bool;

    /// Sees something that it wants.
    fn observe(&self, state: &mut Self::State, seen: Seen<'_, N>);

    /// What it is called where a run is shown: by default as its type is.
    fn name(&self) -> String {
        short_type_name::<Self>()
    }
}

/// The name of a type without the paths in it: `History<Register<char>>`.
pub(crate) fn short_type_name<T: ?Sized>() -> String {
    without_paths(std::any::type_name::<T>())
}

fn without_paths(name: &str) -> String {
    let mut short = String::new();
    let mut start = 0;
    for (at, _) in name.match_indices("::") {
        if at < start {
            continue;
        }
        // What stands before it, back to where the path began, goes.
        let kept = name[start..at].rfind(|c: char| "<>(), &[];+".contains(c));
        short.push_str(kept.map_or("", |kept| &name[start..=start + kept]));
        start = at + 2;
    }
    short.push_str(&name[start..]);
    short
}

/// An observer whose state type is erased.
pub(crate) trait ErasedObserver<N: Node>: Send + Sync {
    fn start(&self) -> Erased;
    fn wants(&self, seen: &Seen<'_, N>) -> bool;
    fn observe(&self, state: &Erased, seen: Seen<'_, N>) -> Erased;
    fn name(&self) -> String;
}

impl<N: Node, O: Observer<N>> ErasedObserver<N> for O {
    fn start(&self) -> Erased {
        Erased::new(Observer::start(self))
    }

    fn wants(&self, seen: &Seen<'_, N>) -> bool {
        Observer::wants(self, seen)
    }

    fn observe(&self, state: &Erased, seen: Seen<'_, N>) -> Erased {
        match state.get::<O::State>() {
            Some(state) => {
                let mut state = state.clone();
                Observer::observe(self, &mut state, seen);
                Erased::new(state)
            }
            // Only this observer's own states are ever given back to it.
            None => state.clone(),
        }
    }

    fn name(&self) -> String {
        Observer::name(self)
    }
}

impl<N: Node> fmt::Debug for dyn ErasedObserver<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("observer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_lose_their_paths() {
        for (name, short) in [
            ("u8", "u8"),
            ("a::b::Outputs", "Outputs"),
            ("a::History<a::b::Register<char>>", "History<Register<char>>"),
            ("(alloc::string::String, &[core::x::Y])", "(String, &[Y])"),
            ("a::Linear<R, a::tests::main::{{closure}}>", "Linear<R, {{closure}}>"),
        ] {
            assert_eq!(without_paths(name), short);
        }
    }
}
