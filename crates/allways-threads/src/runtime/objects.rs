//! What is shared: objects that are made, kept and called something.

use super::Runtime;
use super::names::Site;
use super::network::Called;
use std::panic::Location;

/// What is known of an object in this run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Made {
    pub what: &'static str,
    pub at: Option<&'static Location<'static>>,
    pub initial: Option<u64>,
    /// Of a channel: its senders.
    pub senders: Vec<User>,
    /// Those who may receive from it, if there may be several of them.
    pub receivers: Vec<User>,
    pub called: Option<Called>,
}

/// One of several who use a channel: what stands for it, and the events that it took to make it.
///
/// They are in the order of their lines: each after the one that it is a copy of. So as long as one is there, the first that is
/// there stays the same when others are made, and what order others are in says nothing about when they came.
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub own: u32,
    pub made_after: Vec<u32>,
    /// The first of those that it is a copy of, the copy of that, and so on, to itself.
    line: Vec<u32>,
}

/// How something is dropped.
type Free = unsafe fn(*mut ());

/// What a run has made for a lazy value: which, what, and how it is dropped.
pub(super) type Kept = (usize, *mut (), unsafe fn(*mut ()));

impl Runtime {
    /// A new object of the thread that runs.
    #[inline]
    pub fn make(
        &mut self,
        what: &'static str,
        at: &'static Location<'static>,
        initial: Option<u64>,
    ) -> u32 {
        let thread = &mut self.population.threads[self.running as usize];
        let index = thread.objects;
        thread.objects += 1;
        let object = self.population.names.object(self.running, index);
        if object as usize >= self.population.made.len() {
            self.population.made.resize(object as usize + 1, Made::default());
        }
        let made = &mut self.population.made[object as usize];
        made.what = what;
        made.at = Some(at);
        made.initial = initial;
        made.senders.clear();
        made.receivers.clear();
        made.called = None;
        self.made.push(object);
        object
    }

    /// A part of an object of this run that has a name of its own.
    pub fn make_part(&mut self, object: u32, part: u64, what: &'static str) -> u32 {
        let at = self.population.made[object as usize].at;
        let part = self.population.names.part(object, part);
        if part as usize >= self.population.made.len() {
            self.population.made.resize(part as usize + 1, Made::default());
        }
        let made = &mut self.population.made[part as usize];
        (made.what, made.at) = (what, at);
        part
    }

    /// A new sender of a channel, and the one that it is a copy of.
    pub fn add_sender(&mut self, channel: u32, sender: u32, of: Option<u32>) {
        let made_after = self.frontier(self.running);
        add_user(&mut self.population.made[channel as usize].senders, sender, made_after, of);
    }

    /// Another one who may receive from a channel, and the one that it is a copy of.
    pub fn add_receiver(&mut self, channel: u32, receiver: u32, of: Option<u32>) {
        let made_after = self.frontier(self.running);
        add_user(&mut self.population.made[channel as usize].receivers, receiver, made_after, of);
    }

    /// The value of an atomic after the event at hand.
    #[inline]
    pub fn report(&mut self, value: u64) {
        if self.is_cleaning_up() || self.trial.is_some() {
            return;
        }
        if let Some(entry) = self.log.entries.get_mut(self.event as usize) {
            if self.is_repeating && entry.value != value {
                let difference = format!(
                    "once it left {} in an atomic, and {value} when the same run was repeated",
                    entry.value
                );
                self.diverge(difference);
                return;
            }
            entry.value = value;
        }
    }

    /// Another object in place of one that was changed without an event, since nobody else has it.
    pub fn remake(&mut self, object: u32) -> u32 {
        let Made { what, at, .. } = self.population.made[object as usize];
        self.make(what, at.unwrap_or_else(|| Location::caller()), None)
    }

    /// The object that stands for a lazy value that is at a place, and which of all it is that have this object.
    ///
    /// If all of them outlive the run, each has its own. Otherwise they have one in common, since the place says nothing in another run.
    pub fn lazy(&mut self, id: usize, place: usize, at: &'static Location<'static>) -> (u32, u64) {
        let which = self.lazies.iter().position(|&(other, _)| other == id);
        let which = which.unwrap_or_else(|| {
            self.lazies.push((id, place));
            self.lazies.len() - 1
        });
        if let Some(object) = self.population.names.lazies() {
            return (self.made_as(object, "lazy value", at), which as u64);
        }
        // It may have been somewhere else when it was first needed, and others there before it.
        let place = self.lazies[which].1;
        let before = self.lazies[..which].iter().filter(|&&(_, other)| other == place).count();
        (self.made_at(Site::Static(place), "lazy value", at), before as u64)
    }

    /// A lazy value does not outlive the run: what was kept for it, if it was made, and what drops that.
    pub fn drop_lazy(&mut self, id: usize) -> Option<(*mut (), Free)> {
        self.lazies.iter().find(|&&(other, _)| other == id)?;
        self.population.names.move_lazies();
        let kept = self.kept.iter().position(|(other, ..)| *other == id)?;
        let (_, value, free) = self.kept.swap_remove(kept);
        let is_broken = self.is_ending && (self.failure.is_some() || self.error.is_some());
        (!is_broken).then_some((value, free))
    }

    /// The object at a place that outlives the run.
    pub fn made_at(
        &mut self,
        site: Site,
        what: &'static str,
        at: &'static Location<'static>,
    ) -> u32 {
        let object = self.population.names.placed(site);
        self.made_as(object, what, at)
    }

    pub(super) fn made_as(
        &mut self,
        object: u32,
        what: &'static str,
        at: &'static Location<'static>,
    ) -> u32 {
        if object as usize >= self.population.made.len() {
            self.population.made.resize(object as usize + 1, Made::default());
        }
        let made = &mut self.population.made[object as usize];
        made.what = what;
        made.at.get_or_insert(at);
        object
    }

    /// Keeps what was made for a lazy value until the run is over.
    ///
    /// # Safety
    ///
    /// `free` must be able to drop it.
    pub unsafe fn keep(&mut self, id: usize, value: *mut (), free: unsafe fn(*mut ())) {
        self.kept.push((id, value, free));
    }

    /// What was kept for a lazy value.
    pub fn kept(&self, id: usize) -> Option<*mut ()> {
        self.kept.iter().find(|(other, ..)| *other == id).map(|(_, value, _)| *value)
    }

    pub(super) fn free_kept(&mut self, is_broken: bool) {
        self.belongings.clear();
        for (_, value, free) in std::mem::take(&mut self.kept) {
            if !is_broken {
                // Safety: whoever kept it said so.
                unsafe { free(value) };
            }
        }
    }

    /// Where an object was made.
    pub fn made_where(&self, object: u32) -> &'static Location<'static> {
        let made = self.population.made.get(object as usize).and_then(|made| made.at);
        made.unwrap_or_else(|| Location::caller())
    }

    /// What an object is called: what it is, and where it was made; which one, if several were made there.
    pub fn object_name(&self, object: u32) -> String {
        let (only, one_of_many) = self.object_names(object);
        let alone = only.filter(|_| self.alike(object).nth(1).is_none());
        alone.unwrap_or(one_of_many)
    }

    /// What an object is called if it is the only one that was made there, if it was the first, and what it is called otherwise.
    pub fn object_names(&self, object: u32) -> (Option<String>, String) {
        let made = self.population.made.get(object as usize);
        if let Some(Made { what, called: Some(called), .. }) = made {
            return (None, self.called(what, called));
        }
        let Some(Made { what, at: Some(at), .. }) = made else {
            return (None, format!("object {object}"));
        };
        let place = crate::words::place(at);
        let only = format!("the {what} of {place}");
        match self.alike(object).position(|other| other == object) {
            None => (None, only),
            Some(which) => ((which == 0).then_some(only), format!("{what} {which} of {place}")),
        }
    }

    /// What is made where an object is made, in the order in which it was.
    pub(super) fn alike(&self, object: u32) -> impl Iterator<Item = u32> + '_ {
        let made = &self.population.made;
        let it = made.get(object as usize).and_then(|made| Some((made.what, made.at?)));
        let is_alike = move |&other: &u32| {
            it.is_some_and(|(what, at)| {
                let other = &made[other as usize];
                let here = |it: &Location<'_>| (it.file(), it.line()) == (at.file(), at.line());
                other.at.is_some_and(here) && other.what == what
            })
        };
        self.made.iter().copied().filter(is_alike)
    }
}

fn add_user(users: &mut Vec<User>, own: u32, made_after: Vec<u32>, of: Option<u32>) {
    let original = users.iter().find(|user| Some(user.own) == of);
    let mut line = original.map_or_else(Vec::new, |user| user.line.clone());
    line.push(own);
    let place = users.partition_point(|user| user.line < line);
    users.insert(place, User { own, made_after, line });
}
