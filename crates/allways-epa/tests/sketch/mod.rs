//! Traces made by hand.
#![allow(dead_code)]

use allways_epa::format::{Event, Global, Opcode, Program, Record, Site, ValueKind};
use allways_epa::sanitise::Sanitised;
use allways_epa::trace::{Stream, Trace};

pub const INT: ValueKind = ValueKind::Int(32);
pub const WORD: ValueKind = ValueKind::Int(64);
pub const POINTER: ValueKind = ValueKind::Pointer;

/// A trace that grows.
#[derive(Clone)]
pub struct Sketch {
    pub trace: Trace,
    pub stamp: u64,
}

impl Sketch {
    pub fn new() -> Self {
        let program = Program { name: "sketch.c".into(), ..Program::default() };
        let trace =
            Trace { program, addresses: Vec::new(), streams: Vec::new(), incomplete: Vec::new() };
        Sketch { trace, stamp: 0 }
    }

    pub fn global(&mut self, name: &str, bytes: u64, address: u64) {
        self.trace.program.globals.push(Global { name: name.into(), bytes, constant: false });
        self.trace.addresses.push(address);
    }

    /// A site of a function; loads and stores have as many bytes as their first value.
    pub fn site(
        &mut self,
        opcode: Opcode,
        name: &str,
        function: &str,
        line: u32,
        values: &[ValueKind],
    ) -> u32 {
        use Opcode::*;
        let bytes = match (opcode, values.first()) {
            (Load | Store | AtomicLoad | AtomicStore | AtomicUpdate, Some(&kind)) => {
                if kind == INT { 4 } else { 8 }
            }
            _ => 0,
        };
        let has_result = match opcode {
            Load | Compute | AtomicLoad | AtomicUpdate | Alloca => true,
            Call => !name.ends_with("free") && !name.ends_with("helper"),
            _ => false,
        };
        let file = if line == 0 { "" } else { "main.c" };
        self.trace.program.sites.push(Site {
            opcode,
            name: name.into(),
            function: function.into(),
            file: file.into(),
            line,
            bytes,
            has_result,
            callee: String::new(),
            values: values.to_vec(),
        });
        self.trace.program.sites.len() as u32 - 1
    }

    pub fn stream(&mut self, thread: u64) -> &mut Vec<u8> {
        let streams = &mut self.trace.streams;
        let place = match streams.binary_search_by_key(&thread, |stream| stream.thread) {
            Ok(place) => place,
            Err(place) => {
                streams.insert(place, Stream { thread, bytes: Vec::new() });
                place
            }
        };
        &mut streams[place].bytes
    }

    /// An event with the next stamp.
    pub fn event(&mut self, thread: u64, event: impl FnOnce(u64) -> Event) {
        self.stamp += 1;
        let event = event(self.stamp);
        event.put(self.stream(thread));
    }

    pub fn begin(&mut self, thread: u64, parent: Option<u64>, child: u64) {
        self.event(thread, |stamp| Event::Begin { thread, parent, child, stamp });
    }

    pub fn end(&mut self, thread: u64) {
        self.event(thread, |stamp| Event::End { stamp });
    }

    pub fn create(&mut self, thread: u64, created: u64, handle: u64) {
        self.event(thread, |stamp| Event::Create { stamp, thread: created });
        self.event(thread, |stamp| Event::Handle { stamp, handle });
    }

    pub fn join(&mut self, thread: u64, joined: u64) {
        self.event(thread, |stamp| Event::Join { stamp, thread: joined });
    }

    pub fn allocate(&mut self, thread: u64, address: u64, bytes: u64) {
        self.event(thread, |stamp| Event::Allocate { stamp, address, bytes });
    }

    pub fn free(&mut self, thread: u64, address: u64) {
        self.event(thread, |stamp| Event::Free { stamp, address });
    }

    pub fn put(&mut self, thread: u64, site: u32, values: &[u64]) {
        assert_eq!(values.len(), self.trace.program.sites[site as usize].values.len());
        Record::Instruction { site, values }.put(self.stream(thread));
    }

    pub fn sanitised(&self) -> Sanitised {
        Sanitised::new(&self.trace).unwrap()
    }

    pub fn text(&self) -> String {
        let mut bytes = Vec::new();
        self.sanitised().write_records(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// The lines of instructions, without index.
    pub fn lines(&self) -> Vec<String> {
        self.text().lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
    }
}

/// Random numbers, the same for the same seed.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}
