//! Coverage: what the handlers of a system were seen to do, and what never.

use crate::model::node::Node;
use crate::model::system::System;
pub use crate::model::tally::Handler;
use crate::model::tally::{Count, Tally};
use crate::outcome::grouped;
use std::fmt;

/// Which handlers, kinds of events and results of `choose` were seen, how often, and which never.
///
/// What is counted are distinct local steps: a node handling an event in a state. However often a
/// step is part of a run, it counts once. A step *changes* something if any result of `choose` leads
/// to another state of the node, sends, tells an observer something or panics; otherwise the event
/// is ignored. Random runs also count the steps that they could have taken from where they came by.
/// Under symmetry, what is counted are the steps of the states that stand for others.
///
/// Kinds (of messages, timers and calls: the variants of their types) that never occurred are known
/// only if they are declared: see [`System::expect_kinds`].
///
/// ```
/// use allways::prelude::*;
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N(u8);
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] enum Call { Set(u8) }
/// # impl Node for N { type Msg = (); type Timer = Never; type Call = Call; type Output = Never;
/// #   fn on_message(&mut self, _: Id, _: (), _: &mut Cx<'_, Self>) {}
/// #   fn on_call(&mut self, Call::Set(n): Call, _: &mut Cx<'_, Self>) { self.0 = n; } }
/// let outcome = System::new([N(0)]).call(0, Call::Set(7)).call(0, Call::Set(8)).check();
/// let coverage = outcome.coverage.unwrap();
/// let set = &coverage.kinds[0];
/// assert_eq!((set.kind.as_str(), set.sent, set.handled), ("Set", 2, 2));
/// assert_eq!((set.steps, set.changed), (4, 4)); // 0 to 7, 0 to 8, 7 to 8, 8 to 7
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Coverage {
    /// Every handler.
    pub handlers: Vec<HandlerCoverage>,
    /// Every kind of message, timer and call that occurred or is declared.
    pub kinds: Vec<KindCoverage>,
    /// Every `choose` that was reached.
    pub choices: Vec<ChoiceCoverage>,
}

/// What a handler was seen to do.
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::Cell;
/// let outcome = System::new([Cell(0), Cell(0)]).call(0, 7).check();
/// let coverage = outcome.coverage.unwrap();
/// let calls = coverage.handlers.iter().find(|h| h.handler == allways::Handler::Call).unwrap();
/// assert_eq!((calls.steps, calls.changed), (1, 1));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct HandlerCoverage {
    /// The handler.
    pub handler: Handler,
    /// Whether there could be something for it to do: no node crashes in a system without faults.
    pub expected: bool,
    /// Distinct local steps in which it ran.
    pub steps: u64,
    /// How many of them changed something.
    pub changed: u64,
}

/// What was seen of a kind of message, timer or call.
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::Cell;
/// let outcome = System::new([Cell(0), Cell(0)]).call(0, 7).check();
/// let coverage = outcome.coverage.unwrap();
/// let message = coverage.kinds.iter().find(|k| k.handler == allways::Handler::Message).unwrap();
/// assert_eq!((message.sent, message.handled, message.ignored()), (1, 1, 0));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct KindCoverage {
    /// Who handles it: [`Handler::Message`], [`Handler::Timer`] or [`Handler::Call`].
    pub handler: Handler,
    /// The name of the kind.
    pub kind: String,
    /// Distinct messages sent (by source, destination and content), timers set, calls made.
    pub sent: u64,
    /// How many of those were handled in some state.
    pub handled: u64,
    /// Distinct local steps that handle one.
    pub steps: u64,
    /// How many of them changed something; the others ignored it.
    pub changed: u64,
}

/// What a `choose` was seen to return.
///
/// ```
/// use allways::prelude::*;
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct Coin(bool);
/// # impl Node for Coin { type Msg = Never; type Timer = Never; type Call = (); type Output = Never;
/// #   fn on_message(&mut self, _: Id, _: Never, _: &mut Cx<'_, Self>) {}
/// #   fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) { self.0 = cx.choose(2) == 1; } }
/// let outcome = System::new([Coin(false)]).call(0, ()).check();
/// let choice = &outcome.coverage.unwrap().choices[0];
/// assert_eq!((choice.position, choice.arms.len()), (1, 2));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ChoiceCoverage {
    /// The handler in which it is.
    pub handler: Handler,
    /// The kind of event that is handled; empty for a start or a restart.
    pub kind: String,
    /// Which `choose` of the handler it is, in the order in which they come: from one.
    pub position: usize,
    /// For each result.
    pub arms: Vec<ArmCoverage>,
}

/// How often a `choose` returned one of its results. Counted are executions of the handler: one
/// for each local step and way to choose.
///
/// ```
/// use allways::prelude::*;
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct Coin(bool);
/// # impl Node for Coin { type Msg = Never; type Timer = Never; type Call = (); type Output = Never;
/// #   fn on_message(&mut self, _: Id, _: Never, _: &mut Cx<'_, Self>) {}
/// #   fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) { self.0 = cx.choose(2) == 1; } }
/// let outcome = System::new([Coin(false)]).call(0, ()).check();
/// let choice = &outcome.coverage.unwrap().choices[0];
/// assert_eq!((choice.arms[0].taken, choice.arms[1].taken), (1, 1));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ArmCoverage {
    /// How often it returned this.
    pub taken: u64,
    /// How often something changed then.
    pub changed: u64,
}

impl Coverage {
    pub(crate) fn new<N: Node>(system: &System<N>, mut tally: Tally) -> Self {
        for handler in Handler::ALL {
            for kind in system.expected(handler) {
                tally.kinds.entry((handler, (*kind).to_owned())).or_default();
            }
        }
        let crashes = system.faults.crashes > 0;
        let handlers = Handler::ALL.map(|handler| {
            let Count { seen, changed } = tally.handlers.get(&handler).copied().unwrap_or_default();
            let expected = match handler {
                Handler::Crash => crashes,
                Handler::Restart => crashes && system.faults.restarts,
                Handler::Start => true,
                Handler::Message | Handler::Timer | Handler::Call => {
                    tally.kinds.keys().any(|(of, _)| *of == handler)
                }
            };
            HandlerCoverage { handler, expected, steps: seen, changed }
        });
        let kinds = tally.kinds.into_iter().map(|((handler, kind), tally)| KindCoverage {
            handler,
            kind,
            sent: tally.sent,
            handled: tally.handled,
            steps: tally.steps.seen,
            changed: tally.steps.changed,
        });
        let arm = |count: Count| ArmCoverage { taken: count.seen, changed: count.changed };
        let choices = tally.arms.into_iter().map(|((handler, kind, position), arms)| {
            let arms = arms.into_iter().map(arm).collect();
            ChoiceCoverage { handler, kind, position: position + 1, arms }
        });
        Coverage { handlers: handlers.into(), kinds: kinds.collect(), choices: choices.collect() }
    }

    /// What was never seen to happen, or never to change anything: one sentence each.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// // A single node tells nobody, and a call that it knows the answer to changes nothing.
    /// let outcome = System::new([Cell(7)]).call(0, 7).check();
    /// let never = outcome.coverage.unwrap().never();
    /// assert_eq!(never, ["call `u8` is handled but never changes anything"]);
    /// ```
    pub fn never(&self) -> Vec<String> {
        let handlers = self.handlers.iter().filter(|h| h.expected && h.steps == 0);
        let handlers = handlers.filter_map(|handler| match handler.handler {
            Handler::Crash => Some("no node ever crashes".to_owned()),
            Handler::Restart => Some("no node ever restarts".to_owned()),
            // Said for each kind.
            Handler::Start | Handler::Message | Handler::Timer | Handler::Call => None,
        });
        let kinds = self.kinds.iter().filter_map(KindCoverage::never);
        let choices = self.choices.iter().flat_map(ChoiceCoverage::never);
        handlers.chain(kinds).chain(choices).collect()
    }
}

impl KindCoverage {
    /// What never happened, if something did not.
    fn never(&self) -> Option<String> {
        let (sent, never_handled, handled) = match self.handler {
            Handler::Timer => ("set", "never fires", "fires"),
            Handler::Call => ("made", "never handled", "is handled"),
            _ => ("sent", "never handled", "is handled"),
        };
        let what = match (self.sent, self.steps, self.changed) {
            (0, ..) => format!("is never {sent}"),
            (_, 0, _) => format!("is {sent} but {never_handled}"),
            (.., 0) => format!("{handled} but never changes anything"),
            _ => return None,
        };
        Some(format!("{} `{}` {what}", self.handler.event(), self.kind))
    }

    /// How many of the steps ignored it.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let outcome = System::new([Cell(0), Cell(0)]).call(0, 7).check();
    /// let coverage = outcome.coverage.unwrap();
    /// assert!(coverage.kinds.iter().all(|kind| kind.ignored() == 0));
    /// ```
    pub fn ignored(&self) -> u64 {
        self.steps - self.changed
    }
}

impl ChoiceCoverage {
    /// Where it is, in words.
    fn place(&self) -> String {
        let of = match self.kind.is_empty() {
            true => self.handler.to_string(),
            false => format!("{} `{}`", self.handler, self.kind),
        };
        format!("choose {} of {of}", self.position)
    }

    /// The results that never changed anything. Where none ever did, the event as a whole did not.
    fn never(&self) -> Vec<String> {
        if self.arms.iter().all(|arm| arm.changed == 0) {
            return Vec::new();
        }
        let arms = self.arms.iter().enumerate().filter(|(_, arm)| arm.changed == 0);
        arms.map(|(arm, counts)| match counts.taken {
            0 => format!("{} never returns {arm}", self.place()),
            _ => format!("{} changes nothing when it returns {arm}", self.place()),
        })
        .collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows: Vec<[String; 4]> =
            vec![["", "distinct", "local steps", "changed"].map(Into::into)];
        for kind in &self.kinds {
            let name = format!("{} {}", kind.handler.event(), kind.kind);
            rows.push([name, grouped(kind.sent), grouped(kind.steps), grouped(kind.changed)]);
        }
        for handler in self.handlers.iter().filter(|h| h.expected) {
            let (steps, changed) = (grouped(handler.steps), grouped(handler.changed));
            rows.push([handler.handler.to_string(), String::new(), steps, changed]);
        }
        for choice in &self.choices {
            for (result, arm) in choice.arms.iter().enumerate() {
                let name = format!("{} is {result}", choice.place());
                rows.push([name, String::new(), grouped(arm.taken), grouped(arm.changed)]);
            }
        }
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..4).map(|column| width(column).unwrap_or_default()).collect();
        for [name, sent, steps, changed] in &rows {
            let (a, b, c, d) = (widths[0], widths[1], widths[2], widths[3]);
            writeln!(f, "  {name:<a$}  {sent:>b$}  {steps:>c$}  {changed:>d$}")?;
        }
        for never in self.never() {
            writeln!(f, "  {never}")?;
        }
        Ok(())
    }
}
