//! Dynamic interface reduction with states.
//!
//! A system is divided into components: some nodes each, one unless the user says otherwise. What a component does that no other can tell of, its timers, its
//! choices, the messages among its own nodes, is explored once for what the others have seen of it, and not once for everything that they may do
//! meanwhile. The paper does so trace by trace; here components have states, and what is remembered is the
//! [set of configurations](automaton) in which a component may be after what others have seen of it. Two such pasts with
//! equal sets have the same future. The [product] of these automata with the network is what is walked through.
//!
//! **Why it is exact.** What may happen in the network depends on what was sent and taken, that is on labels alone. So what a component does in
//! silence restricts nobody else: if a sequence of labels leads to the sets `Q1, ..., Qn` and the network `N`, then for each choice of one configuration from each set
//! there is a run to it, put together from a way of each component to its own ([`retrace`] does so); and each run is such a sequence of labels with silent
//! moves in between. So the reachable global states are those of `Q1 x ... x Qn x {N}`, for all points of the product, and no others. What a component
//! cannot take in some of its configurations, it takes in the others: the set goes on with those.
//!
//! **What is checked where.** A property reads views. At each point, all combinations of views within its sets are
//! tested; views are no labels, so they cost no points. Terminal states are combinations of
//! configurations each of which can do nothing. A handler that panics does so in a configuration.
//!
//! **Where it does not pay.** Without silent moves a point is a global state. Where sets overlap and do not coincide, there may be more of them than
//! configurations; so beside the walk through sets there is one in which each configuration that a label leads to has a set of its own, with what silent moves lead to from it. It has no
//! more points than there are global states, since each is told by one of them. Both go one point at a time, and the first that is through has the fewer.
//!
//! **Points that cover others.** On request, points all of whose sets are parts of another's are [left out](antichain).
//!
//! **What is not silent.** All that draws on what components share: budgets of crashes, and of what the network may do to messages; and what
//! observers see.

mod antichain;
mod automaton;
mod configuration;
mod judge;
mod product;
mod retrace;

use crate::engine::budget::Budget;
use crate::engine::options::Options;
use crate::engine::{Findings, Found, FoundWhat};
use crate::error::Error;
use crate::model::node::Node;
use crate::model::system::System;
use crate::outcome::Run;
use crate::space::local::{LocalSpace, SpaceOptions};
use crate::space::{Initial, Space};
use automaton::Automaton;
use configuration::{Components, Configurations};
use product::Product;
use std::rc::Rc;

/// Runs the search.
pub(crate) fn search<N: Node>(
    system: &System<N>,
    options: &Options,
    budget: &Budget,
) -> Result<Findings, Error> {
    let watch = SpaceOptions {
        determinism_guard: options.determinism_guard,
        verify_aux: false,
        symmetry: false,
        exact: true,
    };
    let space = LocalSpace::new(system, watch)?;
    let vectors = match space.initial()? {
        Initial::Panicked(message) => {
            let violation = Found { what: FoundWhat::Panic(message), run: Run::default() };
            return Ok(Findings { violation: Some(violation), ..Findings::default() });
        }
        Initial::Vectors(vectors) => vectors,
    };
    let faults = &system.faults;
    let may_part = faults.partitions > 0 && !faults.cuts.is_empty();
    let is_faithful = system.network.duplications == 0 && !system.explores_drops() && !may_part;
    let nodes = space.layout().nodes;
    let members = options.components.among(nodes)?;
    let members = members.iter().map(|it| it.members().to_vec()).collect();
    let mut components = Components::new(members, is_faithful);
    for script in &system.scripts {
        components.call(script.iter().map(|(node, _)| node.index()));
    }
    let components = Rc::new(components);
    // Where sets do not pay, the walk with one set for each configuration has fewer points: whichever is through first.
    let walk = |is_deterministic: bool| {
        let automata = (0..components.nodes.len()).map(|component| {
            let configurations = Configurations::new(&space, Rc::clone(&components), component);
            Automaton::new(configurations, is_deterministic)
        });
        let mut product = Product::new(&space, Rc::clone(&components), automata.collect(), budget);
        if options.antichains {
            product = product.with_antichains();
        }
        product.begin(&vectors).map(|()| product)
    };
    let (mut sets, mut single) = (walk(true)?, walk(false)?);
    let mut findings = loop {
        if !sets.step()? {
            break sets.finish();
        }
        if !single.step()? {
            break single.finish();
        }
    };
    let is_said = options.components != crate::engine::components::Components::default();
    findings.statistics.components = is_said.then(|| options.components.to_string());
    findings.tally = Some(space.tally());
    findings.constant = space.constant_reads();
    Ok(findings)
}
