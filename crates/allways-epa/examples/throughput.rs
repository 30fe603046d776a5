//! Makes a big trace and says how many records a second are gathered, sanitised and compared.
//!
//! `cargo run --release -p allways-epa --example throughput [records]`

use allways_epa::compare::compare;
use allways_epa::format::{Event, Opcode, Program, Record, Site, ValueKind};
use allways_epa::sanitise::{Sanitised, steps};
use allways_epa::trace::{Stream, Trace, TraceError};
use std::time::Instant;

fn site(opcode: Opcode, name: &str, function: &str, bytes: u32, values: &[ValueKind]) -> Site {
    Site {
        opcode,
        name: name.into(),
        function: function.into(),
        file: "big.c".into(),
        line: 1,
        bytes,
        has_result: !matches!(opcode, Opcode::Store | Opcode::Enter | Opcode::Return),
        callee: String::new(),
        values: values.to_vec(),
    }
}

/// What code without optimisation looks like: each call has variables of its own, which are written and read, and in between
/// there is arithmetic and an array on the heap. Each thread has many objects there, and some are given back.
fn big(threads: u64, records: u64, shift: u64, wrong: bool) -> Trace {
    use Opcode::{Alloca, Compute, Enter, Load, Return, Store};
    let (int, word, pointer) = (ValueKind::Int(32), ValueKind::Int(64), ValueKind::Pointer);
    let sites = vec![
        site(Enter, "call-work", "work", 0, &[int, pointer]),
        site(Alloca, "alloca", "work", 0, &[pointer, word]),
        site(Store, "store", "work", 4, &[int, pointer]),
        site(Load, "load", "work", 4, &[int, pointer]),
        site(Compute, "add", "work", 0, &[int, int, int]),
        site(Compute, "getelementptr", "work", 0, &[pointer, pointer, word]),
        site(Return, "ret", "work", 0, &[int]),
    ];
    let program = Program { name: "big.c".into(), sites, globals: Vec::new() };
    let mut trace =
        Trace { program, addresses: Vec::new(), streams: Vec::new(), incomplete: Vec::new() };
    let mut stamp = 0;
    let mut tick = || {
        stamp += 1;
        stamp
    };
    for thread in 0..threads {
        let mut bytes = Vec::new();
        let parent = (thread > 0).then_some(0);
        let child = thread.saturating_sub(1);
        Event::Begin { thread, parent, child, stamp: tick() }.put(&mut bytes);
        trace.streams.push(Stream { thread, bytes });
    }
    let mut written = 0;
    let mut round = 0_u64;
    while written < records {
        for (thread, stream) in (0_u64..).zip(&mut trace.streams) {
            let bytes = &mut stream.bytes;
            let heap = 0x5555_0000_0000 + shift + thread * 0x1000_0000 + round % 10_000 * 272;
            let stack = 0x7f00_0000_0000 + shift + thread * 0x10_0000;
            if round >= 10_000 {
                Event::Free { stamp: tick(), address: heap }.put(bytes);
            }
            Event::Allocate { stamp: tick(), address: heap, bytes: 256 }.put(bytes);
            let mut put = |site, values: &[u64]| {
                Record::Instruction { site, values }.put(bytes);
                written += 1;
            };
            put(0, &[round % 1000, heap]);
            for local in 0..3 {
                put(1, &[stack - local * 8, 8]);
            }
            for element in 0..12 {
                let address = heap + element * 4;
                put(2, &[element, stack]);
                put(3, &[element, stack]);
                put(5, &[address, heap, element]);
                let value = if wrong && thread == 1 && round > 10 { 8 } else { 7 };
                put(3, &[value, address]);
                put(4, &[value + element, value, element]);
                put(2, &[value + element, address]);
                put(2, &[value + element, stack - 8]);
            }
            put(6, &[0]);
        }
        round += 1;
    }
    trace
}

fn main() -> Result<(), TraceError> {
    let records = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5_000_000);
    let golden = big(4, records, 0, false);
    let bytes = golden.streams.iter().map(|stream| stream.bytes.len()).sum::<usize>();
    println!("{records} records in {bytes} bytes");
    let rate = |what: &str, begin: Instant| {
        let seconds = begin.elapsed().as_secs_f64();
        println!("{what}: {:.2} million records a second", records as f64 / seconds / 1e6);
    };
    let begin = Instant::now();
    let mut merged = golden.merged();
    while merged.next()?.is_some() {}
    rate("merged", begin);
    let begin = Instant::now();
    let sanitised = Sanitised::new(&golden)?;
    rate("sanitised", begin);
    println!("{} objects", sanitised.objects.len());
    let same = Sanitised::new(&big(4, records, 0x10_0000_0000, false))?;
    let begin = Instant::now();
    assert!(compare(&sanitised, &same).is_same);
    rate("compared, the same", begin);
    let faulty = Sanitised::new(&big(4, records, 0x10_0000_0000, true))?;
    let begin = Instant::now();
    let comparison = compare(&sanitised, &faulty);
    rate("compared, with an error in one of four threads", begin);
    let reached = comparison.threads.iter().map(|thread| thread.reached).sum::<u64>();
    println!("{reached} records and {} objects reached", comparison.spread.objects());
    let begin = Instant::now();
    let found = steps(&golden)?;
    rate("steps", begin);
    println!("{} steps", found.len());
    Ok(())
}
