//! What one has anyway: a node, and what must hold. Here, nodes that give tokens away.

use allways::prelude::*;

/// Holds some tokens, and gives one away to whomever it chooses when it is asked to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Holder {
    /// How many it has; fewer than none are debts.
    pub tokens: i8,
    /// Whether it looks at what it has before it gives.
    pub checks: bool,
}

/// What goes from holder to holder.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Token;

/// What the application asks of a holder.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Give;

impl Node for Holder {
    type Msg = Token;
    type Timer = Never;
    type Call = Give;
    type Output = Never;

    fn on_message(&mut self, _: Id, Token: Token, _: &mut Cx<'_, Self>) {
        self.tokens += 1;
    }

    fn on_call(&mut self, Give: Give, cx: &mut Cx<'_, Self>) {
        if self.tokens > 0 || !self.checks {
            self.tokens -= 1;
            let to = cx.choose(cx.nodes());
            cx.send(to, Token);
        }
    }
}

/// So many holders, each asked to give so often.
pub fn system(nodes: usize, calls: usize, checks: bool) -> System<Holder> {
    let mut system = System::new(vec![Holder { tokens: 1, checks }; nodes])
        .always("no debts", view(|n: &Holder| n.tokens), |tokens| tokens.iter().all(|&t| t >= 0))
        .sometimes("a hoard", view(|n: &Holder| n.tokens), |tokens| tokens.contains(&2));
    for _ in 0..calls {
        for node in 0..nodes {
            system = system.call(node, Give);
        }
    }
    system
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_runs_into_debt() {
        system(2, 2, true).check().assert_holds();
    }

    #[test]
    fn whoever_does_not_look_first_runs_into_debt() {
        let outcome = system(1, 2, false).check();
        assert_eq!(outcome.assert_violated("no debts").run.events.len(), 2);
    }
}
