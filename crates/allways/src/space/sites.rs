//! Sites: a node's state together with what is in flight to it, interned.
//!
//! What a node can do next depends on its site alone, so a global state can be a vector of sites,
//! one word a node, and its steps are the steps of its sites, each known once and for all. There
//! are far fewer sites than global states: each node's choices multiply with the others', its sites
//! do not. Where there are not (one node that everything is sent to), a limit keeps them from
//! taking more memory than they save; states beyond it are laid out plainly, see
//! [`Layout`](super::vector::Layout).

use super::{EventId, StateId};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock};

/// So many sites are always allowed.
const FREE: u64 = 1 << 16;
/// Beyond that, one for so many global states.
const STATES_A_SITE: u64 = 16;

/// All sites met so far, numbered for each node from zero.
pub(crate) struct Sites {
    nodes: Vec<RwLock<Store>>,
    count: AtomicU64,
    limit: AtomicU64,
    bytes: AtomicU64,
}

/// The sites of one node: the state, then the events in flight in order.
#[derive(Default)]
struct Store {
    words: Vec<u32>,
    /// Where each site begins in `words`.
    starts: Vec<u32>,
    /// A hash table of numbers, each one more than a site's; at most half full.
    slots: Vec<u32>,
}

impl Sites {
    pub fn new(nodes: usize) -> Self {
        Sites {
            nodes: (0..nodes).map(|_| RwLock::default()).collect(),
            count: AtomicU64::new(0),
            limit: AtomicU64::new(FREE),
            bytes: AtomicU64::new(0),
        }
    }

    /// Tells how many global states there are: the more, the more sites are worth having.
    pub fn allow_for(&self, states: u64) {
        self.limit.store(FREE + states / STATES_A_SITE, Relaxed);
    }

    /// The number of the site with this content (state and sorted events); `None` if it would be
    /// one too many.
    pub fn number(&self, node: usize, content: &[u32]) -> Option<u32> {
        let store = self.nodes[node].read().unwrap_or_else(PoisonError::into_inner);
        if let Some(site) = store.find(content) {
            return Some(site);
        }
        drop(store);
        if self.count.load(Relaxed) >= self.limit.load(Relaxed) {
            return None;
        }
        let mut store = self.nodes[node].write().unwrap_or_else(PoisonError::into_inner);
        if let Some(site) = store.find(content) {
            return Some(site);
        }
        let before = store.bytes();
        let site = store.add(content);
        self.count.fetch_add(1, Relaxed);
        self.bytes.fetch_add(store.bytes() - before, Relaxed);
        Some(site)
    }

    /// Appends the state and the events of a site to `content`.
    pub fn read(&self, node: usize, site: u32, content: &mut Vec<u32>) {
        let store = self.nodes[node].read().unwrap_or_else(PoisonError::into_inner);
        content.extend_from_slice(store.content(site as usize));
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}

impl Store {
    fn content(&self, site: usize) -> &[u32] {
        let start = self.starts[site] as usize;
        let end = self.starts.get(site + 1).map_or(self.words.len(), |&end| end as usize);
        &self.words[start..end]
    }

    fn find(&self, content: &[u32]) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mut at = hash(content) & (self.slots.len() - 1);
        while self.slots[at] != 0 {
            let site = self.slots[at] - 1;
            if self.content(site as usize) == content {
                return Some(site);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        None
    }

    fn add(&mut self, content: &[u32]) -> u32 {
        let site = self.starts.len() as u32;
        self.starts.push(self.words.len() as u32);
        self.words.extend_from_slice(content);
        if self.starts.len() * 2 > self.slots.len() {
            self.slots = vec![0; (self.slots.len() * 2).max(64)];
            for site in 0..=site {
                self.place(site);
            }
        } else {
            self.place(site);
        }
        site
    }

    fn place(&mut self, site: u32) {
        let mut at = hash(self.content(site as usize)) & (self.slots.len() - 1);
        while self.slots[at] != 0 {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = site + 1;
    }

    fn bytes(&self) -> u64 {
        4 * (self.words.capacity() + self.starts.capacity() + self.slots.capacity()) as u64
    }
}

fn hash(content: &[u32]) -> usize {
    let mut hash = content.len() as u64;
    for &word in content {
        hash = (hash.rotate_left(5) ^ u64::from(word)).wrapping_mul(0x517C_C1B7_2722_0A95);
    }
    (hash >> 32) as usize
}

/// Puts an event among sorted ones.
pub(crate) fn insert(content: &mut Vec<u32>, event: EventId) {
    let at = 1 + content[1..].partition_point(|&other| other < event);
    content.insert(at, event);
}

/// Takes one copy of an event from among sorted ones.
pub(crate) fn remove(content: &mut Vec<u32>, event: EventId) {
    if let Ok(at) = content[1..].binary_search(&event) {
        content.remove(1 + at);
    }
}

/// The state of a site.
pub(crate) fn state_of(content: &[u32]) -> StateId {
    content[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_keeps_its_number_and_its_content() {
        let sites = Sites::new(2);
        let content = |n: u32| vec![n % 7, n / 7, n];
        let numbers: Vec<_> = (0..5_000).map(|n| sites.number(1, &content(n)).unwrap()).collect();
        for n in 0..5_000 {
            assert_eq!(sites.number(1, &content(n)), Some(numbers[n as usize]));
            let mut read = Vec::new();
            sites.read(1, numbers[n as usize], &mut read);
            assert_eq!(read, content(n));
        }
        assert_eq!(sites.number(0, &content(3)), Some(0));
    }

    #[test]
    fn there_are_not_more_than_allowed() {
        let sites = Sites::new(1);
        let fits = (0..200_000u32).filter(|n| sites.number(0, &[*n]).is_some()).count();
        assert_eq!(fits as u64, FREE);
        sites.allow_for(16_000);
        let fits = (0..200_000u32).filter(|n| sites.number(0, &[*n]).is_some()).count();
        assert_eq!(fits as u64, FREE + 1_000);
    }

    #[test]
    fn events_stay_sorted() {
        let mut content = vec![9, 1, 4];
        insert(&mut content, 3);
        insert(&mut content, 4);
        assert_eq!(content, [9, 1, 3, 4, 4]);
        remove(&mut content, 4);
        remove(&mut content, 8);
        assert_eq!(content, [9, 1, 3, 4]);
    }
}
