//! Random programs with threads, run under random schedules with memory at random places: what they write differs, and what
//! is left of it when it is sanitised does not. A value that is changed is always found.

mod simulator;
mod sketch;

use allways_epa::compare::{DeviationKind, compare};
use allways_epa::format::{Event, Record, Records, ValueKind};
use allways_epa::sanitise::{Sanitised, steps};
use allways_epa::step::Action;
use allways_epa::trace::Trace;
use proptest::prelude::*;
use simulator::{program, run};
use sketch::Random;

/// Changes one value that is no address, and says in which stream.
fn change(trace: &mut Trace, random: &mut Random) -> Option<u64> {
    let mut places = Vec::new();
    for (place, stream) in trace.streams.iter().enumerate() {
        let mut records = Records::new(&trace.program, &stream.bytes);
        let mut number = 0;
        while let Some(record) = records.next().unwrap() {
            if let Record::Instruction { site, values } = record {
                let kinds = &trace.program.sites[site as usize].values;
                places.extend((0..values.len()).filter_map(|value| {
                    matches!(kinds[value], ValueKind::Int(32)).then_some((place, number, value))
                }));
            }
            number += 1;
        }
    }
    let (place, wanted, value) = *places.get(random.below(places.len().max(1)))?;
    let mut bytes = Vec::new();
    let mut records = Records::new(&trace.program, &trace.streams[place].bytes);
    let mut number = 0;
    while let Some(record) = records.next().unwrap() {
        match record {
            Record::Instruction { site, values } if number == wanted => {
                let mut values = values.to_vec();
                values[value] ^= 1 << random.below(32);
                Event::Injected.put(&mut bytes);
                Record::Instruction { site, values: &values }.put(&mut bytes);
            }
            record => record.put(&mut bytes),
        }
        number += 1;
    }
    trace.streams[place].bytes = bytes;
    Some(trace.streams[place].thread)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn sanitised_runs_of_one_program_are_the_same(seed: u64, one: u64, other: u64) {
        let ops = program(&mut Random(seed), 0);
        let (golden, mut again) = (run(&ops, one), run(&ops, other));
        if one != other {
            prop_assert_ne!(&golden, &again);
        }
        let sanitised = Sanitised::new(&golden).unwrap();
        let comparison = compare(&sanitised, &Sanitised::new(&again).unwrap());
        prop_assert!(comparison.is_same, "{:?}", comparison.first);
        if let Some(thread) = change(&mut again, &mut Random(seed)) {
            let faulty = Sanitised::new(&again).unwrap();
            let comparison = compare(&sanitised, &faulty);
            let first = comparison.first.unwrap();
            prop_assert_eq!(first.kind, DeviationKind::Value);
            let (injected, index) = faulty.injected.unwrap();
            prop_assert_eq!(faulty.threads[injected as usize].number, thread);
            prop_assert_eq!(&faulty.threads[injected as usize].name, &first.thread);
            prop_assert_eq!(index + 1, first.index);
            prop_assert_eq!(comparison.threads.iter().map(|thread| thread.reached).sum::<u64>(), 1);
        }
    }

    /// Whenever a process is killed, what it wrote is read, and what is missing is said.
    #[test]
    fn streams_can_be_cut_off_anywhere(seed: u64, cut: u64) {
        let ops = program(&mut Random(seed), 0);
        let golden = run(&ops, cut);
        let mut killed = golden.clone();
        let mut random = Random(cut);
        for stream in &mut killed.streams {
            stream.bytes.truncate(random.below(stream.bytes.len() + 1));
        }
        let sanitised = Sanitised::new(&golden).unwrap();
        // The beginning of a parent can be lost as well; then nothing is known of its children but a number.
        let comparison = compare(&sanitised, &Sanitised::new(&killed).unwrap());
        prop_assert_eq!(comparison.is_same, golden == killed);
        steps(&killed).unwrap();
        let mut text = Vec::new();
        killed.write_text(&mut text).unwrap();
        Sanitised::new(&killed).unwrap().write_text(&mut text).unwrap();
    }

    /// Whatever is in a stream, it is read or it is said that it cannot be.
    #[test]
    fn streams_can_be_garbage(seed: u64, garbage: u64) {
        let ops = program(&mut Random(seed), 0);
        let golden = run(&ops, garbage);
        let mut corrupt = golden.clone();
        let mut random = Random(garbage);
        for stream in &mut corrupt.streams {
            for _ in 0..random.below(4) {
                let place = random.below(stream.bytes.len());
                stream.bytes[place] = random.next() as u8;
            }
        }
        let sanitised = Sanitised::new(&golden).unwrap();
        match Sanitised::new(&corrupt) {
            Ok(read) => {
                compare(&sanitised, &read);
                compare(&read, &sanitised);
            }
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
        let _ = steps(&corrupt);
        let _ = corrupt.write_text(&mut Vec::new());
    }

    /// Steps name the same object for all threads, and leave out what a thread has for itself on its stack.
    #[test]
    fn steps_are_in_objects(seed: u64, schedule: u64) {
        let ops = program(&mut Random(seed), 0);
        let trace = run(&ops, schedule);
        for step in steps(&trace).unwrap() {
            if let Action::Read(place) | Action::Write(place) = step.action {
                prop_assert!(place.bytes > 0 && place.offset + place.bytes <= 64);
                prop_assert!((step.thread as usize) < trace.streams.len());
            }
        }
    }
}
