//! The part of a trace that matters when it is asked whether `b` can come without `a` before it: whether there is a beginning of a
//! run that has `b` and not `a`.
//!
//! Take a set of steps, the *past*, such that whatever comes before one of them is one of them, and of each section
//! all or nothing. If there is such a beginning, and neither step is in the past, then there is one that starts with all of the past, in
//! the order of the trace, and goes on with the rest of the beginning in its order: nothing in the rest comes before anything of the
//! past, and sections of both do not overlap, as each is on one side, and those of the past are over. It is simpler with
//! a *future*, a set of steps with all that come after them, and of each section all or nothing, without `b`: a beginning is still one if it is
//! left out. So only what is neither past nor future has to be ordered anew, and if that is not possible, nothing is:
//! the window is no approximation.
//!
//! The past is what comes before `a` in the trace, less sections that are not over there, less what comes after what was
//! left out; and the other way round for the future and `b`. Sections without an end are never in the past.

use super::model::{Before, Model, Role};
use crate::step::Step;

/// For each thread, the first step in the window and the first after it.
pub(super) struct Window {
    pub begin: Vec<u32>,
    pub end: Vec<u32>,
}

/// All order that is known.
pub(super) struct Order<'o> {
    pub model: &'o Model,
    pub extra: &'o Before,
    pub steps: &'o [Step],
}

impl<'o> Order<'o> {
    /// What comes before a step, of other threads.
    pub fn before(&self, step: u32) -> impl Iterator<Item = u32> + 'o {
        let lists = [self.model.before.get(&step), self.extra.get(&step)];
        lists.into_iter().flatten().flatten().copied()
    }

    pub fn thread(&self, step: u32) -> usize {
        self.steps[step as usize].thread as usize
    }
}

impl Window {
    pub fn new(order: &Order<'_>, a: u32, b: u32) -> Self {
        Window { begin: begin(order, a), end: end(order, b) }
    }

    pub fn has(&self, thread: usize, step: u32) -> bool {
        self.begin[thread] <= step && step < self.end[thread]
    }
}

fn begin(order: &Order<'_>, a: u32) -> Vec<u32> {
    let Order { model, .. } = order;
    let mut begin = vec![a; model.threads];
    let last = model.points.partition_point(|point| point.step < a);
    loop {
        for (thread, begin) in begin.iter_mut().enumerate() {
            if let Some((first, _)) = held(model, thread, *begin) {
                *begin = first;
            }
        }
        let first = begin.iter().min().copied().unwrap_or(a);
        let first = model.points.partition_point(|point| point.step < first);
        let mut is_changed = false;
        for point in &model.points[first..last] {
            let is_past = |step: u32| step < begin[order.thread(step)];
            let mut sources = order.before(point.step);
            if is_past(point.step) && sources.any(|source| !is_past(source)) {
                begin[point.thread as usize] = point.step;
                is_changed = true;
            }
        }
        if !is_changed {
            return begin;
        }
    }
}

fn end(order: &Order<'_>, b: u32) -> Vec<u32> {
    let Order { model, .. } = order;
    let mut end = vec![b + 1; model.threads];
    let first = model.points.partition_point(|point| point.step <= b);
    loop {
        for (thread, end) in end.iter_mut().enumerate() {
            if let Some((_, last)) = held(model, thread, *end) {
                *end = last.saturating_add(1);
            }
        }
        let last = end.iter().max().copied().unwrap_or(b);
        let last = model.points.partition_point(|point| point.step < last);
        let mut is_changed = false;
        for point in model.points[first..last].iter().rev() {
            if point.step >= end[point.thread as usize] {
                continue;
            }
            for source in order.before(point.step) {
                let end = &mut end[order.thread(source)];
                if source >= *end {
                    *end = source + 1;
                    is_changed = true;
                }
            }
        }
        if !is_changed {
            return end;
        }
    }
}

/// From where to where a thread holds locks, if it holds one before this step that it does not hold after all of them.
fn held(model: &Model, thread: usize, step: u32) -> Option<(u32, u32)> {
    let holding = &model.holding[thread];
    let place = holding.partition_point(|&(first, _)| first < step).checked_sub(1)?;
    Some(holding[place]).filter(|&(_, last)| step <= last)
}

/// Points in the window and the two steps, as a graph.
pub(super) struct Graph {
    /// Steps, in the order of the trace.
    pub nodes: Vec<u32>,
    pub roles: Vec<Role>,
    /// What comes before and after each.
    pub before: Lists,
    pub after: Lists,
    pub a: u32,
    pub b: u32,
}

impl Graph {
    pub fn new(order: &Order<'_>, window: &Window, a: u32, b: u32) -> Self {
        let Order { model, .. } = order;
        let first = window.begin.iter().min().copied().unwrap_or(a);
        let first = model.points.partition_point(|point| point.step < first);
        let mut found: Vec<(u32, Role)> = model.points[first..]
            .iter()
            .filter(|point| window.has(point.thread as usize, point.step))
            .map(|point| (point.step, point.role))
            .collect();
        for step in [a, b] {
            if let Err(place) = found.binary_search_by_key(&step, |&(step, _)| step) {
                found.insert(place, (step, Role::Other));
            }
        }
        let (nodes, roles): (Vec<u32>, Vec<Role>) = found.into_iter().unzip();
        let mut edges = Vec::new();
        let mut last = vec![None; model.threads];
        for (node, &step) in nodes.iter().enumerate() {
            let node = node as u32;
            let thread = order.thread(step);
            if let Some(previous) = last[thread].replace(node) {
                edges.push((previous, node));
            }
            for source in order.before(step) {
                // Those of the past are before everything here.
                if let Ok(source) = nodes.binary_search(&source) {
                    edges.push((source as u32, node));
                }
            }
        }
        let before = Lists::new(nodes.len(), edges.iter().map(|&(from, to)| (to, from)));
        let after = Lists::new(nodes.len(), edges.iter().copied());
        let mut graph = Graph { nodes, roles, before, after, a: 0, b: 0 };
        graph.a = graph.node(a);
        graph.b = graph.node(b);
        graph
    }

    /// The node of a step that has one.
    pub fn node(&self, step: u32) -> u32 {
        self.nodes.partition_point(|&node| node < step) as u32
    }
}

/// A list for each node, one after the other.
pub(super) struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    fn new(nodes: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0_u32; nodes + 1];
        edges.clone().for_each(|(of, _)| starts[of as usize + 1] += 1);
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut items = vec![0; starts[nodes] as usize];
        let mut next = starts.clone();
        for (of, item) in edges {
            items[next[of as usize] as usize] = item;
            next[of as usize] += 1;
        }
        Lists { starts, items }
    }

    pub fn of(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.items[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}
