//! What a thread remembers of sites: for each, what its node can do next.

use super::memo::{FIRST, Memo, NOTHING, STUTTER, flag};
use super::prefetch::prefetch;
use super::sites::{self, Sites};
use super::vector::Layout;
use super::{EventId, StateId};
use crate::error::Error;
use crate::model::network::NetworkKind;

/// The number of a site that is not known.
const UNKNOWN: u32 = u32::MAX;
/// Entries of the table of deliveries.
const DELIVERIES: usize = 1 << 15;

/// What the node of a site can do next.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// The node's state.
    pub state: StateId,
    /// Its first entry; [`UNKNOWN`] if it was not yet asked for.
    first: u32,
    len: u16,
    /// Events that change nothing but ask to be counted.
    pub stutters: u16,
}

impl Plan {
    const NONE: Plan = Plan { state: 0, first: UNKNOWN, len: 0, stutters: 0 };

    /// The places of its entries.
    #[inline]
    pub fn entries(&self) -> std::ops::Range<u32> {
        self.first..self.first + u32::from(self.len)
    }
}

/// One thing that a node can do.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// The step, for [`Memo::step`].
    pub code: u32,
    pub event: EventId,
    /// The site of the node after it, what it sends itself left aside.
    next: u32,
}

/// An event that comes to a site, and the site that it makes of it.
#[derive(Clone, Copy)]
struct Delivery {
    site: u32,
    event: EventId,
    next: u32,
}

/// A thread's memory of sites.
pub(crate) struct Plans<'s> {
    sites: &'s Sites,
    layout: &'s Layout,
    plans: Vec<Vec<Plan>>,
    entries: Vec<Entry>,
    /// The last delivery for each hash: misses cost a look-up among all sites.
    deliveries: Vec<Delivery>,
    content: Vec<u32>,
}

impl<'s> Plans<'s> {
    pub fn new(sites: &'s Sites, layout: &'s Layout) -> Self {
        let nothing = Delivery { site: UNKNOWN, event: 0, next: 0 };
        let deliveries = if layout.sites { DELIVERIES } else { 0 };
        Plans {
            sites,
            layout,
            plans: vec![Vec::new(); layout.nodes],
            entries: Vec::new(),
            deliveries: vec![nothing; deliveries],
            content: Vec::new(),
        }
    }

    /// Bytes in use.
    pub fn bytes(&self) -> u64 {
        let plans: usize = self.plans.iter().map(Vec::capacity).sum();
        let bytes = plans * size_of::<Plan>()
            + self.entries.capacity() * size_of::<Entry>()
            + self.deliveries.capacity() * size_of::<Delivery>();
        bytes as u64
    }

    /// Asks for the plan of a site.
    #[inline]
    pub fn prefetch_plan(&self, node: usize, site: u32) {
        prefetch(&self.plans[node], site as usize);
    }

    /// Asks for the entries of a plan.
    #[inline]
    pub fn prefetch_entries(&self, node: usize, site: u32) {
        if let Some(plan) = self.plans[node].get(site as usize) {
            prefetch(&self.entries, plan.first as usize);
        }
    }

    /// What a node can do at a site.
    #[inline]
    pub fn plan(&mut self, memo: &mut Memo<'s>, node: usize, site: u32) -> Result<Plan, Error> {
        match self.plans[node].get(site as usize) {
            Some(plan) if plan.first != UNKNOWN => Ok(*plan),
            _ => self.learn(memo, node, site),
        }
    }

    #[cold]
    fn learn(&mut self, memo: &mut Memo<'s>, node: usize, site: u32) -> Result<Plan, Error> {
        let mut content = std::mem::take(&mut self.content);
        content.clear();
        self.sites.read(node, site, &mut content);
        let state = sites::state_of(&content);
        let first = self.entries.len();
        let mut stutters = 0;
        for place in memo.internal(node, state) {
            let event = memo.internal_event(place);
            self.list(memo, state, event, &mut stutters)?;
        }
        for (at, &event) in content.iter().enumerate().skip(1) {
            if at == 1 || content[at - 1] != event {
                self.list(memo, state, event, &mut stutters)?;
            }
        }
        self.content = content;
        let len = (self.entries.len() - first) as u16;
        let plan = Plan { state, first: first as u32, len, stutters };
        let plans = &mut self.plans[node];
        if plans.len() <= site as usize {
            plans.resize(site as usize + 1, Plan::NONE);
        }
        plans[site as usize] = plan;
        Ok(plan)
    }

    /// Lists the steps of one event.
    fn list(
        &mut self,
        memo: &mut Memo<'s>,
        state: StateId,
        event: EventId,
        stutters: &mut u16,
    ) -> Result<(), Error> {
        let mut code = memo.code_in(state, event)?;
        match code {
            NOTHING => return Ok(()),
            STUTTER => {
                *stutters += 1;
                return Ok(());
            }
            _ => debug_assert!(code >= FIRST),
        }
        loop {
            let step = memo.step(code);
            if step.flags & flag::TRIVIAL != 0 && step.feed == 0 {
                *stutters += u16::from(step.flags & flag::STUTTER != 0);
            } else {
                self.entries.push(Entry { code, event, next: UNKNOWN });
            }
            if step.flags & flag::LAST != 0 {
                return Ok(());
            }
            code += 1;
        }
    }

    /// The entry at this place.
    #[inline]
    pub fn entry(&self, place: u32) -> Entry {
        self.entries[place as usize]
    }

    /// The site of a node after the entry at this place was carried out at `site`, what it sends
    /// left aside; `None` if there are too many sites.
    #[inline]
    pub fn after(&mut self, memo: &mut Memo<'s>, place: u32, site: u32) -> Option<u32> {
        match self.entries[place as usize].next {
            UNKNOWN => self.learn_after(memo, place, site),
            next => Some(next),
        }
    }

    fn learn_after(&mut self, memo: &mut Memo<'s>, place: u32, site: u32) -> Option<u32> {
        let Entry { code, event, .. } = self.entries[place as usize];
        let node = self.layout.event_node(event);
        self.content.clear();
        self.sites.read(node, site, &mut self.content);
        if memo.event(event).is_consumed(self.layout.network) {
            sites::remove(&mut self.content, event);
        }
        self.content[0] = memo.step(code).next;
        let next = self.sites.number(node, &self.content)?;
        self.entries[place as usize].next = next;
        Some(next)
    }

    /// The site that an event makes of a site of its node; `None` if there are too many.
    #[inline]
    pub fn deliver(&mut self, memo: &mut Memo<'s>, site: u32, event: EventId) -> Option<u32> {
        let hash = (u64::from(site) << 32 | u64::from(event)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let at = (hash >> 49) as usize % DELIVERIES;
        let known = self.deliveries[at];
        if (known.site, known.event) == (site, event) {
            return Some(known.next);
        }
        let next = self.look_up_delivery(memo, site, event)?;
        self.deliveries[at] = Delivery { site, event, next };
        Some(next)
    }

    fn look_up_delivery(&mut self, memo: &mut Memo<'s>, site: u32, event: EventId) -> Option<u32> {
        let node = self.layout.event_node(event);
        self.content.clear();
        self.sites.read(node, site, &mut self.content);
        let as_set =
            self.layout.network == NetworkKind::Duplicating && memo.event(event).is_message();
        if as_set && self.content[1..].binary_search(&event).is_ok() {
            return Some(site);
        }
        sites::insert(&mut self.content, event);
        self.sites.number(node, &self.content)
    }

    /// Whether an event is in flight at a site of its node.
    pub fn holds(&mut self, site: u32, event: EventId) -> bool {
        let node = self.layout.event_node(event);
        self.content.clear();
        self.sites.read(node, site, &mut self.content);
        self.content[1..].binary_search(&event).is_ok()
    }

    /// A plain vector as one of sites; `None` if there are too many.
    pub fn sites_of(&mut self, plain: &[u32]) -> Option<Vec<u32>> {
        let layout = self.layout;
        let mut vector = plain[..layout.queue_base].to_vec();
        for node in 0..layout.nodes {
            self.content.clear();
            self.content.push(plain[layout.node_base + node]);
            let flight = plain[layout.flight_base..].iter();
            self.content.extend(flight.filter(|&&event| layout.event_node(event) == node));
            self.content[1..].sort_unstable();
            vector[layout.node_base + node] = self.sites.number(node, &self.content)?;
        }
        layout.set_in_sites(&mut vector, true);
        Some(vector)
    }

    /// A vector of sites as a plain one.
    pub fn plainly(&mut self, vector: &[u32], plain: &mut Vec<u32>) {
        let layout = self.layout;
        plain.clear();
        plain.extend_from_slice(vector);
        layout.set_in_sites(plain, false);
        for node in 0..layout.nodes {
            self.content.clear();
            self.sites.read(node, vector[layout.node_base + node], &mut self.content);
            plain[layout.node_base + node] = sites::state_of(&self.content);
            plain.extend_from_slice(&self.content[1..]);
        }
    }
}
