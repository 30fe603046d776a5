//! Which combinations of local states violate a property (the paper's figure 9, lines 16 to 19, and its
//! LMC-OPT for any property).
//!
//! A property reads one view of each node, so combinations of distinct views stand for all combinations
//! of local states. Those that violate are covered by *boxes*: a set of views for each node such that
//! every combination of them violates. A box cannot be made larger, and together the boxes are all
//! that violates, so one search that looks for a state in any of the boxes looks for all
//! violations at once. What a search has to know of a local state is then only in which boxes it is:
//! its *label*.
//!
//! Where there are too many combinations to go through them, the label is the view itself, and the
//! property is tested in each state of the search.

use super::Stop;
use super::graph::{Graphs, PANICKED};
use super::share::share;
use crate::engine::budget::Budget;
use crate::model::property::PropertyKind;
use crate::space::Space;
use rustc_hash::FxHashMap;

/// More combinations of views than this are not gone through.
const MAX_COMBINATIONS: usize = 1 << 20;
/// So many boxes are looked for at once.
const MAX_BOXES: usize = 128;

/// The boxes that a local state is in, a bit for each; or its view.
pub(super) type Label = u128;

/// What a search looks for.
pub(super) struct Aim {
    pub what: Sought,
    pub hit: Hit,
    /// For each node and place, its label.
    pub labels: Vec<Vec<Label>>,
}

impl Aim {
    /// The boxes that there are, each by itself; one that is none if the property has to be asked.
    pub fn boxes(&self) -> Vec<Option<Label>> {
        match self.hit {
            Hit::Test(..) => vec![None],
            Hit::Boxes => {
                let all = self.labels.iter().flatten().fold(0, |all, label| all | label);
                (0..Label::BITS)
                    .map(|bit| 1 << bit)
                    .filter(|bit| all & bit != 0)
                    .map(Some)
                    .collect()
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sought {
    /// A state where the test of this property is this.
    Property(usize, bool),
    /// A handler that panics.
    Panic,
}

/// When a combination of labels is what is sought.
#[derive(Clone, Copy)]
pub(super) enum Hit {
    /// When some box has all of them.
    Boxes,
    /// When the property says so.
    Test(usize, bool),
}

impl Hit {
    /// Whether a state with the second label can do for one with the first.
    pub fn covers(self, first: Label, second: Label) -> bool {
        match self {
            Hit::Boxes => first & !second == 0,
            Hit::Test(..) => first == second,
        }
    }
}

/// The aims of a property, and how many combinations there are that would be what is sought.
pub(super) struct Combined {
    pub aims: Vec<Aim>,
    pub combinations: u64,
}

/// What tests of properties have said.
#[derive(Default)]
pub(super) struct Tested(FxHashMap<(usize, Box<[u32]>), Option<bool>>);

impl Tested {
    /// Whether the test of a property is `sought`, or panics: then, too, it matters whether a run leads
    /// there, and a replay of that run will say what is wrong.
    pub fn is(&mut self, space: &dyn Space, property: usize, views: &[u32], sought: bool) -> bool {
        let known = self.0.entry((property, Box::from(views)));
        let is_true = known.or_insert_with(|| space.test(property, views).ok());
        is_true.is_none_or(|is_true| is_true == sought)
    }
}

/// The view that a property has of each place of each node; panicked ones have none.
fn views(graphs: &Graphs<'_>, property: usize) -> Vec<Vec<Option<u32>>> {
    let of = |(node, graph): (usize, &super::graph::NodeGraph)| {
        let view = |&(state, _): &(u32, u32)| {
            (state != PANICKED).then(|| graphs.space.state(node, state).views[property])
        };
        graph.states.iter().map(view).collect()
    };
    graphs.nodes.iter().enumerate().map(of).collect()
}

/// What to look for so that the test of a property is `sought`.
pub(super) fn property(
    graphs: &Graphs<'_>,
    property: usize,
    sought: bool,
    tested: &mut Tested,
    budget: &Budget,
) -> Result<Combined, Stop> {
    let views = views(graphs, property);
    let distinct: Vec<Vec<u32>> =
        views.iter().map(|views| distinct(views.iter().flatten())).collect();
    let what = Sought::Property(property, sought);
    let product =
        distinct.iter().try_fold(1usize, |product, views| product.checked_mul(views.len()));
    let Some(product) = product.filter(|product| *product <= MAX_COMBINATIONS) else {
        let label = |view: &Option<u32>| view.map_or(0, |view| Label::from(view) + 1);
        let labels = views.iter().map(|views| views.iter().map(label).collect()).collect();
        let aims = vec![Aim { what, hit: Hit::Test(property, sought), labels }];
        return Ok(Combined { aims, combinations: 0 });
    };
    let grid = Grid::new(distinct.iter().map(Vec::len).collect());
    let mut hits = vec![false; product];
    let mut combination = vec![0; distinct.len()];
    for (number, hit) in hits.iter_mut().enumerate() {
        if number.is_multiple_of(4_096)
            && let Some(bound) = budget.reached(graphs.size() as u64, graphs.memory())
        {
            return Err(Stop::Bound(bound));
        }
        for (node, views) in distinct.iter().enumerate() {
            combination[node] = views[grid.coordinate(number, node)];
        }
        *hit = tested.is(graphs.space, property, &combination, sought);
    }
    let combinations = hits.iter().filter(|hit| **hit).count() as u64;
    let boxes = grid.boxes(&hits);
    let mut aims = Vec::new();
    for boxes in boxes.chunks(MAX_BOXES) {
        let labels = views.iter().zip(&distinct).enumerate().map(|(node, (views, distinct))| {
            let of: Vec<Label> = (0..distinct.len())
                .map(|at| {
                    let within = boxes.iter().enumerate().filter(|(_, sides)| sides[node][at]);
                    within.map(|(number, _)| 1 << number).sum()
                })
                .collect();
            let label = |view: &Option<u32>| {
                view.and_then(|view| distinct.binary_search(&view).ok()).map_or(0, |at| of[at])
            };
            views.iter().map(label).collect()
        });
        aims.push(Aim { what, hit: Hit::Boxes, labels: labels.collect() });
    }
    Ok(Combined { aims, combinations })
}

/// What to look for so that a handler panics, where one does in some local state: a box for each node that
/// may.
pub(super) fn panics(graphs: &Graphs<'_>) -> Vec<Aim> {
    let panicked = |node: &usize| graphs.nodes[*node].states.iter().any(|s| s.0 == PANICKED);
    let nodes: Vec<usize> = (0..graphs.nodes.len()).filter(panicked).collect();
    let aim = |nodes: &[usize]| {
        let labels = graphs.nodes.iter().enumerate().map(|(node, graph)| {
            let mine = nodes.iter().position(|&other| other == node).map_or(0, |at| 1 << at);
            let all = Label::MAX >> (MAX_BOXES - nodes.len());
            let label =
                |&(state, _): &(u32, u32)| if state == PANICKED { all } else { all & !mine };
            graph.states.iter().map(label).collect()
        });
        Aim { what: Sought::Panic, hit: Hit::Boxes, labels: labels.collect() }
    };
    nodes.chunks(MAX_BOXES).map(aim).collect()
}

/// What came of going through all combinations of local states.
pub(super) struct All {
    pub system_states: u64,
    pub violating: u64,
}

/// Goes through all combinations of local states (the paper's LMC-GEN), and tests every `always` property
/// in each.
pub(super) fn general(
    graphs: &Graphs<'_>,
    tested: &mut Tested,
    threads: usize,
    budget: &Budget,
) -> Result<All, Stop> {
    // States that differ in what is kept beside them only are one.
    let states: Vec<Vec<u32>> = graphs
        .nodes
        .iter()
        .map(|graph| {
            let mut states: Vec<u32> =
                graph.states.iter().map(|s| s.0).filter(|s| *s != PANICKED).collect();
            states.sort_unstable();
            states.dedup();
            states
        })
        .collect();
    let properties = graphs.space.layout().properties.iter().enumerate();
    let always = properties.filter(|(_, (kind, _))| *kind == PropertyKind::Always);
    let mut tables = Vec::new();
    for (property, _) in always {
        tables.push(Table::new(graphs, property, &states, tested));
    }
    let sizes: Vec<usize> = states.iter().map(Vec::len).collect();
    let with_each = |first: usize| with_first(graphs, &tables, &sizes, first, budget);
    let found = share(threads, sizes[0], with_each)?;
    Ok(All {
        system_states: found.iter().map(|all| all.system_states).sum(),
        violating: found.iter().map(|all| all.violating).sum(),
    })
}

/// What a property says of all combinations, in a form that is quick to look up.
enum Table {
    /// For each node and state its part of a number, and for each sum of them whether it violates.
    Sums(Vec<Vec<usize>>, Vec<bool>),
    /// For each node and state its view.
    Views(usize, Vec<Vec<u32>>),
}

impl Table {
    fn new(graphs: &Graphs<'_>, property: usize, states: &[Vec<u32>], tested: &mut Tested) -> Self {
        let views: Vec<Vec<u32>> = states
            .iter()
            .enumerate()
            .map(|(node, states)| {
                let view = |state: &u32| graphs.space.state(node, *state).views[property];
                states.iter().map(view).collect()
            })
            .collect();
        let distinct: Vec<Vec<u32>> = views.iter().map(|views| distinct(views.iter())).collect();
        let sizes = distinct.iter().map(Vec::len);
        let product = sizes.clone().try_fold(1usize, |product, size| product.checked_mul(size));
        let Some(product) = product.filter(|product| *product <= MAX_COMBINATIONS) else {
            return Table::Views(property, views);
        };
        let grid = Grid::new(sizes.collect());
        let mut violates = Vec::with_capacity(product);
        for number in 0..product {
            let views = distinct.iter().enumerate();
            let views: Vec<u32> =
                views.map(|(node, views)| views[grid.coordinate(number, node)]).collect();
            violates.push(tested.is(graphs.space, property, &views, false));
        }
        let parts = views.iter().zip(&distinct).enumerate().map(|(node, (views, distinct))| {
            let part =
                |view: &u32| distinct.binary_search(view).map_or(0, |at| at * grid.strides[node]);
            views.iter().map(part).collect()
        });
        Table::Sums(parts.collect(), violates)
    }

    fn violates(&self, graphs: &Graphs<'_>, at: &[usize]) -> bool {
        match self {
            Table::Sums(parts, violates) => {
                let sum = parts.iter().zip(at).map(|(parts, at)| parts[*at]).sum::<usize>();
                violates[sum]
            }
            Table::Views(property, views) => {
                let views: Vec<u32> = views.iter().zip(at).map(|(views, at)| views[*at]).collect();
                !graphs.space.test(*property, &views).unwrap_or(false)
            }
        }
    }
}

/// All combinations with this state of the first node.
fn with_first(
    graphs: &Graphs<'_>,
    tables: &[Table],
    sizes: &[usize],
    first: usize,
    budget: &Budget,
) -> Result<All, Stop> {
    let mut all = All { system_states: 0, violating: 0 };
    let mut at = vec![0; sizes.len()];
    at[0] = first;
    loop {
        all.system_states += 1;
        for table in tables {
            all.violating += u64::from(table.violates(graphs, &at));
        }
        if all.system_states.is_multiple_of(65_536)
            && let Some(bound) = budget.reached(graphs.size() as u64, graphs.memory())
        {
            return Err(Stop::Bound(bound));
        }
        let mut node = sizes.len() - 1;
        loop {
            if node == 0 {
                return Ok(all);
            }
            at[node] += 1;
            if at[node] < sizes[node] {
                break;
            }
            at[node] = 0;
            node -= 1;
        }
    }
}

/// Each of these once, sorted.
fn distinct<'v>(all: impl Iterator<Item = &'v u32>) -> Vec<u32> {
    let mut distinct: Vec<u32> = all.copied().collect();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

/// Combinations of so many views of each node, numbered.
struct Grid {
    sizes: Vec<usize>,
    strides: Vec<usize>,
}

/// For each node, which of its views.
type Sides = Vec<Vec<bool>>;

impl Grid {
    fn new(sizes: Vec<usize>) -> Self {
        let mut strides = vec![1; sizes.len()];
        for node in (0..sizes.len().saturating_sub(1)).rev() {
            strides[node] = strides[node + 1] * sizes[node + 1];
        }
        Grid { sizes, strides }
    }

    fn coordinate(&self, number: usize, node: usize) -> usize {
        number / self.strides[node] % self.sizes[node]
    }

    /// Boxes that cannot be made larger and together are all hits.
    fn boxes(&self, hits: &[bool]) -> Vec<Sides> {
        let mut covered = vec![false; hits.len()];
        let mut boxes = Vec::new();
        for number in 0..hits.len() {
            if !hits[number] || covered[number] {
                continue;
            }
            // All combinations in the box so far.
            let mut inside = vec![number];
            let mut sides = Vec::new();
            for node in 0..self.sizes.len() {
                let here = self.coordinate(number, node);
                let mut side = vec![false; self.sizes[node]];
                side[here] = true;
                let base = inside.clone();
                for (view, is_in) in side.iter_mut().enumerate() {
                    let moved =
                        |at: &usize| at + view * self.strides[node] - here * self.strides[node];
                    if !*is_in && base.iter().all(|at| hits[moved(at)]) {
                        *is_in = true;
                        inside.extend(base.iter().map(moved));
                    }
                }
                sides.push(side);
            }
            inside.into_iter().for_each(|at| covered[at] = true);
            boxes.push(sides);
        }
        boxes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_among_three_nodes_has_a_box_for_each_ordered_pair() {
        // Views: nothing, A, B.
        let grid = Grid::new(vec![3, 3, 3]);
        let hits: Vec<bool> = (0..27)
            .map(|number| {
                let all: Vec<usize> = (0..3).map(|node| grid.coordinate(number, node)).collect();
                all.contains(&1) && all.contains(&2)
            })
            .collect();
        let boxes = grid.boxes(&hits);
        assert_eq!(boxes.len(), 6);
        let size = |sides: &Sides| -> usize {
            sides.iter().map(|side| side.iter().filter(|is_in| **is_in).count()).product()
        };
        assert!(boxes.iter().all(|sides| size(sides) == 3));
    }

    #[test]
    fn boxes_cover_the_hits_and_nothing_else() {
        let grid = Grid::new(vec![2, 3, 4]);
        // Some pattern without structure.
        let hits: Vec<bool> =
            (0..24u32).map(|at| at.wrapping_mul(2_654_435_761) >> 30 != 0).collect();
        let mut covered = [false; 24];
        for sides in grid.boxes(&hits) {
            for (number, covered) in covered.iter_mut().enumerate() {
                *covered |= (0..3).all(|node| sides[node][grid.coordinate(number, node)]);
            }
        }
        assert_eq!(hits, covered);
    }
}
