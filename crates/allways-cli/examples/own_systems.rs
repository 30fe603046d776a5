//! A binary of one's own with a system of one's own, and the commands of `allways`:
//!
//! ```text
//! cargo run --release -p allways-cli --example own_systems -- check tokens --progress
//! cargo run --release -p allways-cli --example own_systems -- check tokens --set bug=no-check
//! ```

use allways::prelude::*;
use allways::{Checkable, Error};
use allways_cli::{Bug, Entry, Kind, Parameter, Parameters};

/// Holds some tokens, and gives one away to whomever it chooses when it is asked to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Holder {
    tokens: i8,
    checks: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Token;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Give;

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

fn tokens(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let checks = parameters.bug() != Some("no-check");
    let nodes = parameters.number("nodes");
    let mut system = System::new(vec![Holder { tokens: 1, checks }; nodes])
        .always("no debts", view(|n: &Holder| n.tokens), |tokens| tokens.iter().all(|&t| t >= 0))
        .sometimes("a hoard", view(|n: &Holder| n.tokens), |tokens| tokens.contains(&2));
    for _ in 0..parameters.number("calls") {
        for node in 0..nodes {
            system = system.call(node, Give);
        }
    }
    Ok(Box::new(system))
}

static SYSTEMS: &[Entry] = &[Entry::new(
    "tokens",
    "nodes that give tokens away",
    &[
        Parameter {
            name: "nodes",
            about: "how many nodes",
            kind: Kind::Number { default: 4, min: 1, max: 8 },
        },
        Parameter {
            name: "calls",
            about: "how often each is asked to give",
            kind: Kind::Number { default: 2, min: 0, max: 9 },
        },
    ],
    &[Bug {
        name: "no-check",
        about: "gives away what it does not have",
        defaults: &[("nodes", "1"), ("calls", "2")],
    }],
    tokens,
)];

fn main() -> std::process::ExitCode {
    allways_cli::main(SYSTEMS)
}
