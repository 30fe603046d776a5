//! Names of threads (algorithm 5 of the thesis).
//!
//! The first thread is `T_0`, and child `i` of a thread is called as its parent with `_i` behind: so a name says who
//! created whom, as how many-th, and nothing about when. Numbers of threads are given in the order of creation, so a parent
//! has a lower number than its children, and one pass over the threads by number names all.
//!
//! A thread can be created in a run that is killed before the thread writes anything. It is named by the creations that its
//! parent wrote.

use crate::trace::{Trace, TraceError};
use allways_epa_format::{Event, Record, Records};
use rustc_hash::{FxHashMap, FxHashSet};

/// The threads of a trace: first those of its streams, in their order.
#[derive(Debug)]
pub(crate) struct Names {
    /// The names; empty if not known yet.
    pub(crate) names: Vec<String>,
    /// The numbers that they had in this run.
    pub(crate) numbers: Vec<u64>,
    /// Who created them.
    pub(crate) parents: Vec<Option<u32>>,
    places: FxHashMap<u64, u32>,
    taken: FxHashSet<String>,
    /// How many each has created.
    created: Vec<u64>,
}

impl Names {
    pub(crate) fn new(trace: &Trace) -> Result<Self, TraceError> {
        let mut names = Names {
            names: Vec::new(),
            numbers: Vec::new(),
            parents: Vec::new(),
            places: FxHashMap::default(),
            taken: FxHashSet::default(),
            created: Vec::new(),
        };
        for stream in &trace.streams {
            let number = stream.thread;
            let first = Records::new(&trace.program, &stream.bytes)
                .next()
                .map_err(|malformed| TraceError::Stream { thread: number, malformed })?
                .map(|record| match record {
                    Record::Event(event) => Some(event),
                    Record::Instruction { .. } => None,
                });
            match first {
                None => names.add(number, None, String::new()),
                Some(Some(Event::Begin { thread, parent, child, .. })) if thread == number => {
                    let place = parent.and_then(|parent| names.places.get(&parent).copied());
                    let name = match (parent, place) {
                        (None, _) => "T_0".to_owned(),
                        (_, Some(place)) if !names.names[place as usize].is_empty() => {
                            format!("{}_{child}", names.names[place as usize])
                        }
                        // What its parent wrote is lost.
                        _ => orphan(number),
                    };
                    if !names.taken.insert(name.clone()) {
                        return Err(TraceError::Twice { name });
                    }
                    names.add(number, place, name)
                }
                Some(_) => return Err(TraceError::NoBegin { thread: number }),
            };
        }
        Ok(names)
    }

    fn add(&mut self, number: u64, parent: Option<u32>, name: String) -> u32 {
        let place = self.names.len() as u32;
        self.names.push(name);
        self.numbers.push(number);
        self.parents.push(parent);
        self.created.push(0);
        self.places.insert(number, place);
        place
    }

    /// The thread with this number, if there is one.
    pub(crate) fn place(&self, number: u64) -> Option<u32> {
        self.places.get(&number).copied()
    }

    /// A thread creates another.
    pub(crate) fn create(&mut self, parent: u32, number: u64) -> u32 {
        let child = self.created[parent as usize];
        self.created[parent as usize] += 1;
        let place = match self.place(number) {
            Some(place) if !self.names[place as usize].is_empty() => return place,
            Some(place) => place,
            None => self.add(number, None, String::new()),
        };
        let name = format!("{}_{child}", self.names[parent as usize]);
        if self.taken.insert(name.clone()) {
            self.names[place as usize] = name;
            self.parents[place as usize] = Some(parent);
        }
        place
    }

    /// Names the threads of which nothing is known but their number.
    pub(crate) fn end(&mut self) {
        for (name, number) in self.names.iter_mut().zip(&self.numbers) {
            if name.is_empty() {
                *name = orphan(*number);
            }
        }
    }
}

/// The name of a thread whose place in the tree is lost.
fn orphan(number: u64) -> String {
    format!("T_?{number}")
}
