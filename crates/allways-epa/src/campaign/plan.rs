//! Which faults: chosen at random from what the golden run did, so that each of them happens.
//!
//! A kind of fault applies to some instructions only ([`applies`]). Every record of such an instruction in the golden trace is a
//! candidate, and as likely as the others: an instruction in a loop is hit in proportion to how often it is performed, as a fault of the
//! hardware would be. Candidates are kept as counts of (thread, site), so that a trace of any length needs little memory.
//!
//! The faults of one kind are a sequence that depends on the trace, the seed and the kind, and on nothing else: whoever asks for more runs, or for
//! another kind, gets the same faults and more.

use super::random::Random;
use allways_epa_format::{
    Event, Fault, FaultKind, Malformed, Opcode, Program, Record, Records, Site,
};
use rustc_hash::FxHashMap;

/// Whether a kind of fault can happen in an instruction.
///
/// ```
/// use allways_epa::campaign::applies;
/// use allways_epa::format::{FaultKind, Opcode, Site, ValueKind};
/// let site = Site {
///     opcode: Opcode::Call,
///     name: "call-malloc".into(),
///     function: "main".into(),
///     file: "main.c".into(),
///     line: 3,
///     bytes: 0,
///     has_result: true,
///     callee: "malloc".into(),
///     values: vec![ValueKind::Pointer, ValueKind::Int(64)],
/// };
/// assert!(applies(FaultKind::MallSize, &site) && applies(FaultKind::CallCorr, &site));
/// assert!(!applies(FaultKind::FileSize, &site) && !applies(FaultKind::WrongBranch, &site));
/// ```
pub fn applies(kind: FaultKind, site: &Site) -> bool {
    let is_call =
        |names: &[&str]| site.opcode == Opcode::Call && names.contains(&site.callee.as_str());
    let first_argument = usize::from(site.has_result);
    // Which value is made wrong. One that is not kept as it is, but as a hash, never is.
    let place = match kind {
        FaultKind::BitFlip | FaultKind::StuckAtZero => site.has_result.then_some(0),
        FaultKind::WrongBranch => (site.opcode == Opcode::Branch).then_some(0),
        FaultKind::InvalPtr => (is_call(&["malloc", "calloc"]) && site.has_result).then_some(0),
        FaultKind::MallSize => match site.callee.as_str() {
            "malloc" => Some(first_argument),
            "calloc" => Some(first_argument + 1),
            _ => None,
        }
        .filter(|_| site.opcode == Opcode::Call),
        FaultKind::FileSize => is_call(&["fread", "fwrite"]).then_some(first_argument + 2),
        FaultKind::CallCorr => (site.opcode == Opcode::Call).then_some(first_argument),
    };
    let value = place.and_then(|place| site.values.get(place));
    value.is_some_and(|value| value.bits() > 0)
}

/// What a thread is called: by whom it was created, and as which of its children (algorithm 5 of the thesis).
fn name(threads: &FxHashMap<u64, (Option<u64>, u64)>, thread: u64) -> Option<String> {
    let mut path = Vec::new();
    let mut at = thread;
    while let Some(parent) = threads.get(&at)?.0 {
        path.push(threads.get(&at)?.1);
        at = parent;
        // Threads that created each other are in no trace that was written by a program.
        if path.len() > threads.len() {
            return None;
        }
    }
    let children = path.iter().rev().map(|child| format!("_{child}"));
    Some(format!("T_0{}", children.collect::<String>()))
}

/// Where faults can happen: how often each thread performed each instruction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Candidates {
    /// The thread, the site, and how often; sorted.
    counts: Vec<(String, u32, u64)>,
}

impl Candidates {
    /// Counts the records of all streams of a trace.
    pub fn new<'s>(
        program: &Program,
        streams: impl IntoIterator<Item = &'s [u8]>,
    ) -> Result<Self, Malformed> {
        let mut threads = FxHashMap::default();
        let mut counted: Vec<(u64, FxHashMap<u32, u64>)> = Vec::new();
        for (number, stream) in streams.into_iter().enumerate() {
            let mut thread = number as u64;
            let mut counts: FxHashMap<u32, u64> = FxHashMap::default();
            let mut records = Records::new(program, stream);
            while let Some(record) = records.next()? {
                match record {
                    Record::Event(Event::Begin { thread: own, parent, child, .. }) => {
                        thread = own;
                        threads.insert(own, (parent, child));
                    }
                    Record::Event(_) => {}
                    Record::Instruction { site, .. } => *counts.entry(site).or_default() += 1,
                }
            }
            counted.push((thread, counts));
        }
        let mut counts = Vec::new();
        for (thread, of_thread) in counted {
            // Of a thread whose ancestors are not known nobody can say which one it is in another run.
            let Some(name) = name(&threads, thread) else { continue };
            counts.extend(of_thread.into_iter().map(|(site, count)| (name.clone(), site, count)));
        }
        counts.sort();
        Ok(Candidates { counts })
    }

    /// How many records a kind of fault applies to.
    pub fn of(&self, program: &Program, kind: FaultKind) -> u64 {
        self.places(program, kind).map(|(_, _, count)| count).sum()
    }

    fn places<'a>(
        &'a self,
        program: &'a Program,
        kind: FaultKind,
    ) -> impl Iterator<Item = &'a (String, u32, u64)> {
        let applies = move |site: u32| {
            program.sites.get(site as usize).is_some_and(|site| applies(kind, site))
        };
        self.counts.iter().filter(move |(_, site, _)| applies(*site))
    }

    /// The first so many faults of a kind; none if it applies nowhere.
    pub fn choose(&self, program: &Program, kind: FaultKind, seed: u64, runs: u64) -> Vec<Fault> {
        let mut end = 0;
        let places: Vec<(u64, &(String, u32, u64))> = self
            .places(program, kind)
            .map(|place| {
                end += place.2;
                (end, place)
            })
            .collect();
        let mut random = Random::new(seed, kind.name());
        let choose = |_| {
            let at = random.below(end);
            let (end, (thread, site, count)) = places.get(places.partition_point(|p| p.0 <= at))?;
            let detail = match kind {
                FaultKind::BitFlip => random.below(bits(program, *site)),
                FaultKind::StuckAtZero | FaultKind::WrongBranch => 0,
                // Whatever is made of it, 0 might change nothing.
                _ => 1 + random.below(u32::MAX.into()),
            };
            let occurrence = at - (end - count);
            Some(Fault { kind, thread: thread.clone(), site: *site, occurrence, detail })
        };
        (0..runs).map_while(choose).collect()
    }
}

/// How many bits the result of an instruction has.
fn bits(program: &Program, site: u32) -> u64 {
    let site = program.sites.get(site as usize);
    site.and_then(|site| site.values.first()).map_or(0, |value| value.bits())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{program, streams};
    use super::*;
    use allways_epa_format::ValueKind;

    fn candidates() -> (Program, Candidates) {
        let program = program();
        let streams = streams();
        let candidates = Candidates::new(&program, streams.iter().map(Vec::as_slice)).unwrap();
        (program, candidates)
    }

    #[test]
    fn threads_are_named_by_who_created_them() {
        let (_, candidates) = candidates();
        let mut names: Vec<&str> =
            candidates.counts.iter().map(|(name, _, _)| name.as_str()).collect();
        names.dedup();
        assert_eq!(names, ["T_0", "T_0_0", "T_0_1"]);
    }

    #[test]
    fn every_fault_hits_a_record_that_its_kind_applies_to() {
        let (program, candidates) = candidates();
        for kind in FaultKind::ALL {
            let faults = candidates.choose(&program, kind, 1, 200);
            assert_eq!(faults.is_empty(), candidates.of(&program, kind) == 0, "{kind:?}");
            for fault in &faults {
                assert!(applies(kind, &program.sites[fault.site as usize]), "{fault}");
                let count = candidates.counts.iter().find_map(|(thread, site, count)| {
                    (*thread == fault.thread && *site == fault.site).then_some(*count)
                });
                assert!(fault.occurrence < count.unwrap(), "{fault}");
            }
        }
        assert_eq!(candidates.of(&program, FaultKind::FileSize), 0);
    }

    /// A fault in a value of which only a hash is in the trace never happens.
    #[test]
    fn values_that_are_wider_than_64_bits_are_left_alone() {
        let wide = |opcode, has_result, values: &[ValueKind]| Site {
            opcode,
            name: "wide".into(),
            function: "main".into(),
            file: String::new(),
            line: 0,
            bytes: 0,
            has_result,
            callee: String::new(),
            values: values.to_vec(),
        };
        let (int, other, number) = (ValueKind::Int(32), ValueKind::Other, ValueKind::Wide);
        for (site, kinds) in [
            (wide(Opcode::Compute, true, &[number, number]), &[][..]),
            (wide(Opcode::Compute, true, &[other, int]), &[]),
            (wide(Opcode::Branch, false, &[other]), &[]),
            (wide(Opcode::Call, true, &[other, int]), &[FaultKind::CallCorr]),
            (
                wide(Opcode::Call, true, &[int, other]),
                &[FaultKind::BitFlip, FaultKind::StuckAtZero],
            ),
            (wide(Opcode::Call, false, &[other]), &[]),
        ] {
            let applicable = FaultKind::ALL.into_iter().filter(|kind| applies(*kind, &site));
            assert_eq!(applicable.collect::<Vec<_>>(), kinds, "{site:?}");
            let program = Program { sites: vec![site], ..Program::default() };
            let counts = vec![("T_0".to_owned(), 0, 10)];
            let candidates = Candidates { counts };
            for kind in FaultKind::ALL {
                let chosen = candidates.choose(&program, kind, 1, 5);
                assert_eq!(chosen.len(), if kinds.contains(&kind) { 5 } else { 0 });
            }
        }
    }

    #[test]
    fn every_candidate_is_chosen_about_as_often() {
        let (program, candidates) = candidates();
        let all = candidates.of(&program, FaultKind::StuckAtZero);
        let mut seen: FxHashMap<String, u64> = FxHashMap::default();
        for fault in candidates.choose(&program, FaultKind::StuckAtZero, 3, 200 * all) {
            *seen.entry(fault.to_string()).or_default() += 1;
        }
        assert_eq!(seen.len() as u64, all);
        assert!(seen.values().all(|count| (120..280).contains(count)), "{seen:?}");
    }

    #[test]
    fn more_runs_are_the_same_faults_and_more() {
        let (program, candidates) = candidates();
        let few = candidates.choose(&program, FaultKind::BitFlip, 1, 10);
        let many = candidates.choose(&program, FaultKind::BitFlip, 1, 100);
        assert_eq!(few, many[..10]);
        assert_ne!(few, candidates.choose(&program, FaultKind::BitFlip, 2, 10));
        // A bit that is not there is never flipped.
        assert!(many.iter().all(|fault| fault.detail < bits(&program, fault.site)));
    }

    #[test]
    fn threads_that_created_each_other_have_no_name() {
        let threads = [(1, (Some(2), 0)), (2, (Some(1), 0))].into_iter().collect();
        assert_eq!(name(&threads, 1), None);
        assert_eq!(name(&threads, 5), None);
    }
}
