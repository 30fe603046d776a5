//! What the [network](crate::net) needs of the threads of a run: who they are, what belongs to all of them, and what its objects are called.

use super::Runtime;
use super::op::NONE;
use std::net::SocketAddr;

/// What the network may do to the processes, beside what it always may, and how they begin.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Conditions {
    /// Reads that return less than there is, for each direction of a stream.
    pub short_reads: u32,
    /// Datagrams that are lost, in a run.
    pub lost_datagrams: u32,
    /// Whether those are found who have bound an address before they did anything else.
    pub binds_first: bool,
}

/// What an object of the network is called.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Called {
    Address(SocketAddr),
    /// At a port of a process.
    Port(u32, u16),
    /// From a port of a process to another.
    Between([(u32, u16); 2]),
}

impl Runtime {
    /// How many processes there are.
    pub fn processes(&self) -> u32 {
        self.mains.len() as u32
    }

    /// The process of the thread that runs.
    pub fn own_process(&self) -> u32 {
        self.population.threads[self.running as usize].process
    }

    /// Whether the thread that runs binds addresses before anything happens. Of a process it is the main thread: between others, it matters who comes first.
    pub fn binds_without_event(&self) -> bool {
        let parent = self.population.threads[self.running as usize].parent;
        self.conditions.binds_first && self.event == NONE && parent == NONE
    }

    /// Gives an object a name of its own.
    pub fn call(&mut self, object: u32, called: Called) {
        self.population.made[object as usize].called = Some(called);
    }

    /// A number of the thread that runs among those of its process, which says nothing about when it was spawned.
    pub fn ordinal(&self) -> u64 {
        let mut path = Vec::new();
        let mut thread = self.running;
        loop {
            let parent = self.population.threads[thread as usize].parent;
            if parent == NONE {
                break;
            }
            path.push(self.population.names.index(parent, thread));
            thread = parent;
        }
        path.iter().rev().fold(0, |ordinal, &index| pair(ordinal, u64::from(index)) + 1)
    }

    /// What belongs to the run as a whole, and is made when it is first asked for.
    pub fn belonging<T: Default + 'static>(&mut self) -> &mut T {
        let place = match self.belongings.iter().position(|it| it.is::<T>()) {
            Some(place) => place,
            None => {
                self.belongings.push(Box::new(T::default()));
                self.belongings.len() - 1
            }
        };
        match self.belongings[place].downcast_mut() {
            Some(it) => it,
            None => unreachable!("it is what was looked for"),
        }
    }

    /// What an object is.
    pub fn what(&self, object: u32) -> &'static str {
        self.population.made.get(object as usize).map_or("", |made| made.what)
    }

    /// An object with a name of its own, in words.
    pub(super) fn called(&self, what: &str, called: &Called) -> String {
        let port = |process: u32, port: u16| format!("{}:{port}", self.process(process).name);
        match *called {
            Called::Address(at) => format!("{what} {at}"),
            Called::Port(process, at) => format!("{what} {}", port(process, at)),
            Called::Between([from, to]) => {
                format!("the {what} from {} to {}", port(from.0, from.1), port(to.0, to.1))
            }
        }
    }
}

/// A number for two numbers: small if they are, and different if they are.
pub(crate) fn pair(a: u64, b: u64) -> u64 {
    let sum = a.saturating_add(b);
    (sum.saturating_mul(sum.saturating_add(1)) / 2).saturating_add(a)
}
