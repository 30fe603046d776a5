//! Time: each thread has a clock of its own, which is never behind what has happened before.

use super::Runtime;

impl Runtime {
    /// The time of the thread that runs.
    pub fn time(&self) -> std::time::Duration {
        let nanos = self.population.threads[self.running as usize].clock;
        std::time::Duration::from_nanos(nanos)
    }

    /// Time passes for the thread that runs. What that comes to is not left on the stack of the caller, where it would be different in each round of a loop.
    #[inline(never)]
    pub fn pass(&mut self, duration: std::time::Duration) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.has_time_passed |= nanos > 0;
        let clock = &mut self.running_thread().clock;
        *clock = clock.saturating_add(nanos);
    }

    /// The thread that runs is done with what it has written in the event at hand: whoever sees that is not behind its clock.
    pub fn note_time(&mut self, object: u32) {
        if self.has_time_passed && !self.is_ending {
            let clock = self.running_thread().clock;
            let written = &mut clock_of(&mut self.clocks, object)[0];
            *written = clock.max(*written);
        }
    }

    /// A thread has done something with these objects: its clock is not behind what happened before.
    pub(super) fn tick(&mut self, thread: u32, footprint: allways::machine::Footprint) {
        let Runtime { clocks, touching, population, log, .. } = self;
        let thread = &mut population.threads[thread as usize];
        let footprints = &touching.footprints;
        let mut clock = thread.clock;
        for &event in log.needs(self.event as usize) {
            clock = clock.max(log.entries[event as usize].clock);
        }
        for &object in footprints.writes(footprint) {
            let [written, read] = clock_of(clocks, object);
            clock = clock.max(*written).max(*read);
        }
        for &object in footprints.reads(footprint) {
            clock = clock.max(clock_of(clocks, object)[0]);
        }
        for &object in footprints.writes(footprint) {
            clock_of(clocks, object)[0] = clock;
        }
        for &object in footprints.reads(footprint) {
            let read = &mut clock_of(clocks, object)[1];
            *read = (*read).max(clock);
        }
        thread.clock = clock;
        log.entries[self.event as usize].clock = clock;
    }
}

/// The clocks of an object.
fn clock_of(clocks: &mut Vec<[u64; 2]>, object: u32) -> &mut [u64; 2] {
    let object = object as usize;
    if object >= clocks.len() {
        clocks.resize(object + 1, [0; 2]);
    }
    &mut clocks[object]
}
