//! Numbers for threads and objects that mean the same in every run.
//!
//! A thread is the so manieth that its parent has spawned, an object the so manieth that a thread has made: so
//! neither depends on the order of what is independent. Each gets a small number when it is met for
//! the first time, and keeps it for the whole exploration.

/// An object that stands for a thread.
#[derive(Clone, Copy)]
pub(crate) enum Own {
    /// What it waits for when it parks.
    Token,
    /// Its end, if that has to be an event.
    End,
}

/// What is never forgotten.
#[derive(Default)]
pub(crate) struct Names {
    /// For each thread, its children.
    children: Vec<Vec<u32>>,
    /// For each thread, the objects that it makes.
    objects: Vec<Vec<u32>>,
    /// For each object, its parts.
    parts: Vec<Vec<u32>>,
    /// For each object, whether somebody tries to take it.
    tried: Vec<bool>,
    /// For each thread, what stands for itself.
    own: Vec<[u32; 2]>,
    /// For each thread, whether somebody asks if it has ended.
    watched: Vec<bool>,
    /// Objects that have a place of their own.
    placed: Vec<(usize, u32)>,
    roots: Vec<u32>,
    /// Whether something was learnt that changes what is independent.
    is_stale: bool,
}

impl Names {
    fn new_thread(&mut self) -> u32 {
        self.children.push(Vec::new());
        self.objects.push(Vec::new());
        let own = [self.new_object(), self.new_object()];
        self.own.push(own);
        self.watched.push(false);
        self.children.len() as u32 - 1
    }

    fn new_object(&mut self) -> u32 {
        self.parts.push(Vec::new());
        self.tried.push(false);
        self.parts.len() as u32 - 1
    }

    /// How many threads there are in all runs together.
    pub fn threads(&self) -> usize {
        self.children.len()
    }

    /// How many objects there are in all runs together.
    pub fn objects(&self) -> usize {
        self.parts.len()
    }

    /// The main thread of a process.
    pub fn root(&mut self, process: usize) -> u32 {
        while self.roots.len() <= process {
            let thread = self.new_thread();
            self.roots.push(thread);
        }
        self.roots[process]
    }

    /// The so manieth child of a thread.
    pub fn child(&mut self, parent: u32, index: u32) -> u32 {
        while self.children[parent as usize].len() <= index as usize {
            let thread = self.new_thread();
            self.children[parent as usize].push(thread);
        }
        self.children[parent as usize][index as usize]
    }

    /// The so manieth object that a thread makes.
    #[inline]
    pub fn object(&mut self, maker: u32, index: u32) -> u32 {
        while self.objects[maker as usize].len() <= index as usize {
            let object = self.new_object();
            self.objects[maker as usize].push(object);
        }
        self.objects[maker as usize][index as usize]
    }

    /// A part of an object.
    #[inline]
    pub fn part(&mut self, object: u32, part: u64) -> u32 {
        while self.parts[object as usize].len() as u64 <= part {
            let new = self.new_object();
            self.parts[object as usize].push(new);
        }
        self.parts[object as usize][part as usize]
    }

    /// What stands for a thread.
    pub fn own(&self, thread: u32, own: Own) -> u32 {
        self.own[thread as usize][own as usize]
    }

    /// The object at a place that is the same in all runs.
    pub fn placed(&mut self, place: usize) -> u32 {
        match self.placed.iter().find(|(other, _)| *other == place) {
            Some(&(_, object)) => object,
            None => {
                let object = self.new_object();
                self.placed.push((place, object));
                object
            }
        }
    }

    pub fn is_watched(&self, thread: u32) -> bool {
        self.watched[thread as usize]
    }

    /// Somebody asks if a thread has ended.
    pub fn watch(&mut self, thread: u32) {
        if !std::mem::replace(&mut self.watched[thread as usize], true) {
            self.is_stale = true;
        }
    }

    pub fn is_tried(&self, object: u32) -> bool {
        self.tried[object as usize]
    }

    /// Somebody tries to take a mutex.
    pub fn try_to_take(&mut self, object: u32) {
        if !std::mem::replace(&mut self.tried[object as usize], true) {
            self.is_stale = true;
        }
    }

    /// Whether something was learnt since this was last asked.
    pub fn take_stale(&mut self) -> bool {
        std::mem::take(&mut self.is_stale)
    }
}
