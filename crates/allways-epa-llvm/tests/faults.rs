//! Values that are made wrong: what happens is what was asked for, and the same each time.

mod common;

use allways_epa_format::{Event, FAULT, Fault, FaultKind, Opcode, Site};
use common::{Record, Trace, build, directory, printed, program, run, source};
use std::process::Command;

fn fault(kind: FaultKind, thread: &str, site: u32, occurrence: u64, detail: u64) -> Fault {
    Fault { kind, thread: thread.to_owned(), site, occurrence, detail }
}

/// The record after the one that says that a fault happens.
fn injected<'t>(trace: &'t Trace, thread: &str) -> Option<(&'t Site, &'t [u64])> {
    let records = &trace.threads[thread];
    let at = records.iter().position(|record| *record == Record::Event(Event::Injected))?;
    match &records[at + 1] {
        Record::Instruction(site, values) => Some((trace.site(*site), values)),
        Record::Event(event) => panic!("{event:?} after the fault"),
    }
}

#[test]
fn a_flipped_bit_arrives_at_the_output_each_time() {
    let executable = build(&program("listing4.c"), &[]);
    let (golden, _) = run(&executable, &[], None);
    let site = golden.find(|site| site.function == "inc" && site.name == "add");
    let flip = fault(FaultKind::BitFlip, "T_0_0", site, 0, 35);
    let (first, output) = run(&executable, &[], Some(&flip));
    // Bit 35 of 32 is bit 3: 4 becomes 12.
    assert_eq!(printed(&output), "Result: 17\n");
    assert_eq!(injected(&first, "T_0_0"), Some((golden.site(site), &[12, 3, 1][..])));
    assert_eq!(first.line("T_0", 24)[0].1[0], 12);
    let (second, _) = run(&executable, &[], Some(&flip));
    assert_eq!(first.essence(), second.essence());
    assert_ne!(first.essence(), golden.essence());

    // The same site is not reached by another thread, nor twice by this one.
    for other in [
        fault(FaultKind::BitFlip, "T_0_1", site, 0, 3),
        fault(FaultKind::BitFlip, "T_0_0", site, 1, 3),
    ] {
        let (trace, output) = run(&executable, &[], Some(&other));
        assert_eq!(printed(&output), "Result: 9\n");
        assert!(trace.threads.keys().all(|thread| injected(&trace, thread).is_none()));
    }
}

#[test]
fn occurrences_are_counted_in_each_thread() {
    let executable = build(&program("racy-counter.c"), &[]);
    let (golden, _) = run(&executable, &["5"], None);
    let site = golden.find(|site| site.function == "count" && site.opcode == Opcode::Branch);
    // The third time that the loop asks whether to go on, it does not: so it has gone round twice.
    let stop = fault(FaultKind::WrongBranch, "T_0_1", site, 2, 0);
    let (trace, output) = run(&executable, &["5"], Some(&stop));
    assert_eq!(injected(&trace, "T_0_1").unwrap().1, [0]);
    assert!(injected(&trace, "T_0_0").is_none());
    let rounds = |thread: &str| {
        let line =
            golden.site(golden.find(|site| site.function == "count" && site.name == "add")).line;
        trace.line(thread, line).len()
    };
    assert!(rounds("T_0_1") < rounds("T_0_0"));
    assert!(output.status.success());
}

#[test]
fn a_fault_works_without_a_trace() {
    let executable = build(&program("listing4.c"), &[]);
    let (golden, _) = run(&executable, &[], None);
    let site = golden.find(|site| site.function == "main" && site.name == "add");
    let stuck = fault(FaultKind::StuckAtZero, "T_0", site, 0, 0);
    let output = Command::new(&executable).env(FAULT, stuck.to_string()).output().unwrap();
    assert_eq!(printed(&output), "Result: 0\n");
}

const MEMORY: &str = r#"#include <stdio.h>
#include <stdlib.h>
static int twice(int x) { return 2 * x; }
int main(int argc, char **argv) {
    char *a = malloc(100);
    char *b = calloc(10, 8);
    FILE *file = fopen(argv[1], "w+");
    printf("%d\n", (int)fwrite("0123456789abcdef0123456789abcdef", 1, 4, file));
    fclose(file);
    printf("%d\n", twice(argc));
    return a == b;
}
"#;

#[test]
fn arguments_and_addresses_are_made_wrong() {
    let executable = build(&source("memory.c", MEMORY), &[]);
    let file = directory().join("file");
    let arguments = [file.to_str().unwrap()];
    let (golden, output) = run(&executable, &arguments, None);
    assert_eq!(printed(&output), "4\n4\n");
    let call = |name: &str| golden.find(|site| site.opcode == Opcode::Call && site.callee == name);
    let wrong = |kind, callee: &str, detail| {
        let fault = fault(kind, "T_0", call(callee), 0, detail);
        let (trace, output) = run(&executable, &arguments, Some(&fault));
        assert!(trace.events("T_0").contains(&Event::Injected));
        (trace, printed(&output))
    };
    let values = |trace: &Trace, callee: &str| {
        let name = format!("call-{callee}");
        let records = trace.threads["T_0"].iter().find_map(|record| match record {
            Record::Instruction(site, values)
                if trace.site(*site).name == name && trace.site(*site).opcode == Opcode::Call =>
            {
                Some(values.clone())
            }
            _ => None,
        });
        records.unwrap()
    };
    let allocated = |trace: &Trace, bytes: u64| {
        trace.events("T_0").into_iter().find_map(|event| match event {
            Event::Allocate { address, bytes: known, .. } if known == bytes => Some(address),
            _ => None,
        })
    };

    let (trace, _) = wrong(FaultKind::MallSize, "malloc", 0);
    assert_eq!(values(&trace, "malloc")[1], 50);
    assert!(allocated(&trace, 50).is_some() && allocated(&trace, 100).is_none());
    let (trace, _) = wrong(FaultKind::MallSize, "calloc", 0);
    assert_eq!(values(&trace, "calloc")[1..], [10, 4]);

    let (trace, _) = wrong(FaultKind::InvalPtr, "malloc", 5);
    assert_eq!(values(&trace, "malloc")[0], allocated(&trace, 100).unwrap() ^ 32);

    let (trace, text) = wrong(FaultKind::FileSize, "fwrite", 2);
    assert_eq!(values(&trace, "fwrite")[3], 7);
    assert_eq!(text, "7\n4\n");

    let (trace, text) = wrong(FaultKind::CallCorr, "twice", 2);
    assert_eq!(values(&trace, "twice"), [12, 6]);
    assert_eq!(text, "4\n12\n");
}

#[test]
fn what_is_no_fault_is_refused() {
    let executable = build(&program("listing4.c"), &[]);
    for text in ["nonsense", "bitflip thread=main site=1 occurrence=0 detail=0"] {
        let output = Command::new(&executable).env(FAULT, text).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.starts_with("allways: `"), "{message}");
    }
}
