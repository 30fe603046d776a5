//! A small node for examples and tests: accounts that transfer money.

use allways::{Cx, Id, Never, Node};
use serde::{Deserialize, Serialize};

/// An account with this much money on it. All of it is persisted.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Account(pub u64);

/// A message: this much is yours now.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Money(pub u64);

/// Transfer this much, if there is so much.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Transfer {
    /// To whom.
    pub to: usize,
    /// How much.
    pub amount: u64,
}

impl Node for Account {
    type Msg = Money;
    type Timer = Never;
    type Call = Transfer;
    /// How much there is now.
    type Output = u64;

    fn on_message(&mut self, _: Id, Money(amount): Money, cx: &mut Cx<'_, Self>) {
        self.0 += amount;
        cx.output(self.0);
    }

    fn on_call(&mut self, Transfer { to, amount }: Transfer, cx: &mut Cx<'_, Self>) {
        if to < cx.nodes() && amount <= self.0 {
            self.0 -= amount;
            cx.send(to, Money(amount));
        }
    }

    fn persisted(&self) -> Option<Self> {
        Some(self.clone())
    }
}
