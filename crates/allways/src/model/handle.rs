//! Running one handler outside a check: what a runtime needs to carry a node out for real.
//!
//! A check runs handlers through `step`, which explores every choice and catches panics. A runtime
//! makes each choice once, and what a panic means is for it to decide.

use super::node::{Chooser, Cx, Effects, Id, Node};

/// What happens to a node that runs for real.
///
/// ```
/// use allways::{Id, Input};
/// # use allways::sample::Cell;
/// let input: Input<Cell> = Input::Message { from: Id::new(1), msg: 7 };
/// assert!(matches!(input, Input::Message { msg: 7, .. }));
/// ```
#[derive(Debug)]
pub enum Input<N: Node> {
    /// It starts for the first time.
    Start,
    /// It starts again, as [`Node::persisted`] left it.
    Restart,
    /// A message is delivered.
    Message {
        /// Who sent it.
        from: Id,
        /// What it says.
        msg: N::Msg,
    },
    /// A timer fires.
    Timer(N::Timer),
    /// The application calls.
    Call(N::Call),
}

/// What a handler has asked for: see [`handle`].
///
/// ```
/// use allways::{Id, Input, handle};
/// # use allways::sample::Cell;
/// let handled = handle(&mut Cell(0), Id::new(0), 2, &mut vec![], Input::Call(7), &mut |_| 0);
/// assert!(handled.outputs.is_empty());
/// ```
#[derive(Debug)]
pub struct Handled<N: Node> {
    /// The messages that it sends, each with its destination, in order.
    pub sends: Vec<(Id, N::Msg)>,
    /// What it tells the world, in order.
    pub outputs: Vec<N::Output>,
}

/// Lets the node `id` of `nodes` nodes handle one input, with `choose` to toss its coins: given how
/// many sides there are, it says which side is up. `timers` are the pending timers, sorted; they are
/// kept up to date. A timer that fires is taken out of them first.
///
/// A panic of the handler is the caller's.
///
/// ```
/// use allways::{Id, Input, handle};
/// # use allways::sample::Cell;
/// // A cell that is called keeps the value and tells the others.
/// let (mut cell, mut timers) = (Cell(0), Vec::new());
/// let handled = handle(&mut cell, Id::new(0), 2, &mut timers, Input::Call(7), &mut |_| 0);
/// assert_eq!(cell, Cell(7));
/// assert_eq!(handled.sends, [(Id::new(1), 7)]);
/// ```
pub fn handle<N: Node>(
    node: &mut N,
    id: Id,
    nodes: usize,
    timers: &mut Vec<N::Timer>,
    input: Input<N>,
    choose: &mut dyn FnMut(usize) -> usize,
) -> Handled<N> {
    if let Input::Timer(timer) = &input
        && let Ok(at) = timers.binary_search(timer)
    {
        timers.remove(at);
    }
    let mut effects = Effects {
        sends: Vec::new(),
        timers: std::mem::take(timers),
        outputs: Vec::new(),
        stutter: false,
    };
    let mut chooser = Tossed(choose);
    let mut cx = Cx::new(id, nodes, &mut effects, &mut chooser);
    match input {
        Input::Start => node.on_start(&mut cx),
        Input::Restart => node.on_restart(&mut cx),
        Input::Message { from, msg } => node.on_message(from, msg, &mut cx),
        Input::Timer(timer) => node.on_timer(timer, &mut cx),
        Input::Call(call) => node.on_call(call, &mut cx),
    }
    *timers = effects.timers;
    Handled { sends: effects.sends, outputs: effects.outputs }
}

struct Tossed<'a>(&'a mut dyn FnMut(usize) -> usize);

impl Chooser for Tossed<'_> {
    fn choose(&mut self, arity: usize) -> usize {
        // A side that the coin does not have must not reach a handler.
        (self.0)(arity).min(arity - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Never;

    /// Sets timers, and counts what fired.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Clock(Vec<u8>);

    impl Node for Clock {
        type Msg = ();
        type Timer = u8;
        type Call = Never;
        type Output = usize;

        fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
            cx.set_timer(2);
            cx.set_timer(1);
        }

        fn on_message(&mut self, _: Id, (): (), cx: &mut Cx<'_, Self>) {
            cx.cancel_timers();
            let side = cx.choose(3);
            cx.output(side);
        }

        fn on_timer(&mut self, timer: u8, cx: &mut Cx<'_, Self>) {
            self.0.push(timer);
            if self.0.len() == 1 {
                cx.set_timer(timer);
            }
        }
    }

    fn step(clock: &mut Clock, timers: &mut Vec<u8>, input: Input<Clock>) -> Vec<usize> {
        handle(clock, Id::new(0), 1, timers, input, &mut |arity| arity + 7).outputs
    }

    #[test]
    fn timers_are_set_fired_set_again_and_cancelled() {
        let (mut clock, mut timers) = (Clock(vec![]), vec![]);
        step(&mut clock, &mut timers, Input::Start);
        assert_eq!(timers, [1, 2]);
        step(&mut clock, &mut timers, Input::Timer(2));
        assert_eq!(timers, [1, 2]);
        step(&mut clock, &mut timers, Input::Timer(2));
        assert_eq!((timers.as_slice(), clock.0.as_slice()), (&[1][..], &[2, 2][..]));
        let outputs = step(&mut clock, &mut timers, Input::Message { from: Id::new(0), msg: () });
        assert!(timers.is_empty());
        assert_eq!(outputs, [2], "a side that the coin has");
    }
}
