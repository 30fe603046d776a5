//! Kinds: which variant of its type a message, a timer or a call is, and which a user expects.
//!
//! The kind of a value is the name with which its `Debug` begins: `Prepare` of
//! `Prepare { ballot: 1 }`. Kinds that never occur are known only if they are declared.

use super::event::Event;
use super::node::{Id, Never, Node};
use super::step::guarded;
use super::system::System;
use super::tally::Handler;
use std::fmt::{self, Debug, Write};

/// A type whose kinds are known: the variants of an enum, or the one name of a struct. Derive it
/// with `#[derive(Kinds)]` (feature `derive`).
///
/// Types that have no kinds of interest, as numbers, declare none.
///
/// ```
/// use allways::Kinds;
///
/// enum Msg { Ping, Pong(u8) }
///
/// impl Kinds for Msg {
///     const KINDS: &'static [&'static str] = &["Ping", "Pong"];
/// }
///
/// assert_eq!(Msg::KINDS.len(), 2);
/// assert_eq!(Option::<u8>::KINDS, ["None", "Some"]);
/// # let _ = [Msg::Ping, Msg::Pong(1)].map(|msg| msg.kind());
/// ```
pub trait Kinds {
    /// The names of all kinds.
    const KINDS: &'static [&'static str];

    /// The name of this value's kind; `None`, the default, for the name with which its `Debug`
    /// begins.
    fn kind(&self) -> Option<&'static str> {
        None
    }
}

macro_rules! no_kinds {
    ($($type:ty),*) => {
        $(impl Kinds for $type {
            const KINDS: &'static [&'static str] = &[];
        })*
    };
}

no_kinds!(Never, (), char, String, Id);
no_kinds!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);

impl Kinds for bool {
    const KINDS: &'static [&'static str] = &["false", "true"];
}

impl<T> Kinds for Option<T> {
    const KINDS: &'static [&'static str] = &["None", "Some"];
}

impl<T, E> Kinds for Result<T, E> {
    const KINDS: &'static [&'static str] = &["Ok", "Err"];
}

impl<A, B> Kinds for (A, B) {
    const KINDS: &'static [&'static str] = &[];
}

impl<A, B, C> Kinds for (A, B, C) {
    const KINDS: &'static [&'static str] = &[];
}

impl<T> Kinds for Vec<T> {
    const KINDS: &'static [&'static str] = &[];
}

/// The kinds that a user expects, and how to tell them apart.
pub(crate) struct Declared<N: Node> {
    messages: &'static [&'static str],
    timers: &'static [&'static str],
    calls: &'static [&'static str],
    message: fn(&N::Msg) -> Option<&'static str>,
    timer: fn(&N::Timer) -> Option<&'static str>,
    call: fn(&N::Call) -> Option<&'static str>,
}

impl<N: Node> Clone for Declared<N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N: Node> Copy for Declared<N> {}

impl<N: Node> Declared<N> {
    /// What is declared of the events of a handler.
    fn of(&self, handler: Handler) -> &'static [&'static str] {
        match handler {
            Handler::Message => self.messages,
            Handler::Timer => self.timers,
            Handler::Call => self.calls,
            Handler::Start | Handler::Crash | Handler::Restart => &[],
        }
    }
}

impl<N: Node> System<N> {
    /// Declares that every kind of message, timer and call should occur, so that the outcome's
    /// [`Coverage`](crate::Coverage) names those that never did.
    ///
    /// ```
    /// use allways::prelude::*;
    /// use allways::Kinds;
    ///
    /// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    /// enum Msg { Ping, Pong }
    ///
    /// impl Kinds for Msg {
    ///     const KINDS: &'static [&'static str] = &["Ping", "Pong"];
    /// }
    ///
    /// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    /// struct Peer(u8);
    ///
    /// impl Node for Peer {
    ///     type Msg = Msg;
    ///     type Timer = Never;
    ///     type Call = Never;
    ///     type Output = Never;
    ///     fn on_start(&mut self, cx: &mut Cx<'_, Self>) { cx.broadcast(Msg::Ping); }
    ///     fn on_message(&mut self, _: Id, _: Msg, _: &mut Cx<'_, Self>) { self.0 += 1; }
    /// }
    ///
    /// let outcome = System::new([Peer(0), Peer(0)])
    ///     .expect_kinds()
    ///     .always("few", view(|n: &Peer| n.0), |views| views.iter().all(|&n| n < 2))
    ///     .check();
    /// let never = outcome.coverage.unwrap().never();
    /// assert_eq!(never, ["message `Pong` is never sent"]);
    /// ```
    #[must_use]
    pub fn expect_kinds(mut self) -> Self
    where
        N::Msg: Kinds,
        N::Timer: Kinds,
        N::Call: Kinds,
    {
        self.declared = Some(Declared {
            messages: N::Msg::KINDS,
            timers: N::Timer::KINDS,
            calls: N::Call::KINDS,
            message: N::Msg::kind,
            timer: N::Timer::kind,
            call: N::Call::kind,
        });
        self
    }

    /// The kinds that are expected of the events of a handler.
    pub(crate) fn expected(&self, handler: Handler) -> &'static [&'static str] {
        self.declared.map_or(&[], |declared| declared.of(handler))
    }

    /// The handler of an event, and its kind (empty for a crash and a restart).
    pub(crate) fn kind(&self, event: &Event<N>) -> (Handler, String) {
        let declared = self.declared.as_ref();
        match event {
            Event::Message { msg, .. } => {
                let name = declared.and_then(|d| (d.message)(msg));
                (Handler::Message, name.map_or_else(|| kind_of(msg), str::to_owned))
            }
            Event::Timer(timer) => {
                let name = declared.and_then(|d| (d.timer)(timer));
                (Handler::Timer, name.map_or_else(|| kind_of(timer), str::to_owned))
            }
            Event::Call { call, .. } => {
                let name = declared.and_then(|d| (d.call)(call));
                (Handler::Call, name.map_or_else(|| kind_of(call), str::to_owned))
            }
            Event::Crash => (Handler::Crash, String::new()),
            Event::Restart => (Handler::Restart, String::new()),
        }
    }
}

/// The name with which the `Debug` of a value begins, or the name of its type if it begins with
/// something else.
fn kind_of<T: Debug>(value: &T) -> String {
    let mut first = FirstWord::default();
    // An error only says that the word has ended. A `Debug` that panics has no name to give.
    let _ = guarded(|| write!(first, "{value:?}"));
    let begins = first.word.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if begins { first.word } else { short_type_name(std::any::type_name::<T>()) }
}

/// Takes what is written up to the end of the first word, and no more.
#[derive(Default)]
struct FirstWord {
    word: String,
}

impl Write for FirstWord {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if !c.is_alphanumeric() && c != '_' {
                return Err(fmt::Error);
            }
            self.word.push(c);
        }
        Ok(())
    }
}

/// The name of a type without the paths to it and to its parameters.
pub(crate) fn short_type_name(name: &str) -> String {
    let mut short = String::new();
    for c in name.chars() {
        short.push(c);
        if short.ends_with("::") {
            let kept = short.trim_end_matches(|c: char| c.is_alphanumeric() || "_:".contains(c));
            short.truncate(kept.len());
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    #[allow(dead_code)]
    enum Msg {
        Prepare { ballot: u32 },
        Accept(u32),
        Stop,
    }

    #[test]
    fn the_kind_is_the_name_of_the_variant() {
        assert_eq!(kind_of(&Msg::Prepare { ballot: 1 }), "Prepare");
        assert_eq!(kind_of(&Msg::Accept(2)), "Accept");
        assert_eq!(kind_of(&Msg::Stop), "Stop");
    }

    #[test]
    fn what_begins_with_no_name_is_called_by_its_type() {
        assert_eq!(kind_of(&7u32), "u32");
        assert_eq!(kind_of(&Id::new(3)), "Id");
        assert_eq!(kind_of(&(1u8, "x".to_owned())), "(u8, String)");
        assert_eq!(kind_of(&vec![Some(1u8)]), "Vec<Option<u8>>");
        assert_eq!(kind_of(&()), "()");
    }

    struct Mute;

    impl Debug for Mute {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("no words")
        }
    }

    #[test]
    fn a_debug_that_panics_does_no_harm() {
        assert_eq!(kind_of(&Mute), "Mute");
    }
}
