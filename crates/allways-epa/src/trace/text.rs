//! A trace for people, as listing 5 of the thesis has it: one line a record.

use super::{Trace, TraceError};
use allways_epa_format::{Event, Record, Site, ValueKind};
use std::io::{self, Write};

impl Trace {
    /// Writes one line a record, in the order of [`Trace::merged`]: its index, the thread, the instruction, its result and
    /// operands, and the line of the source. Addresses are hexadecimal.
    pub fn write_text(&self, output: &mut dyn Write) -> io::Result<()> {
        let mut merged = self.merged();
        let mut index = 0_u64;
        while let Some((place, _, record)) = merged.next().map_err(to_io)? {
            write!(output, "{index} {} ", self.streams[place].thread)?;
            match record {
                Record::Event(event) => write_event(output, event)?,
                Record::Instruction { site, values } => {
                    let site = &self.program.sites[site as usize];
                    output.write_all(site.name.as_bytes())?;
                    for (&value, &kind) in values.iter().zip(&site.values) {
                        output.write_all(b" ")?;
                        write_number(output, value, kind)?;
                    }
                    write_source(output, site)?;
                }
            }
            output.write_all(b"\n")?;
            index += 1;
        }
        Ok(())
    }
}

fn to_io(error: TraceError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Writes a value of this kind.
pub(crate) fn write_number(output: &mut dyn Write, value: u64, kind: ValueKind) -> io::Result<()> {
    match kind {
        ValueKind::Int(_) => write!(output, "{value}"),
        ValueKind::Pointer | ValueKind::Other | ValueKind::Wide => write!(output, "{value:x}"),
        ValueKind::Float => write!(output, "{:?}", f32::from_bits(value as u32)),
        ValueKind::Double => write!(output, "{:?}", f64::from_bits(value)),
    }
}

/// Writes the line of the source, if it is known.
pub(crate) fn write_source(output: &mut dyn Write, site: &Site) -> io::Result<()> {
    if site.line == 0 {
        return Ok(());
    }
    write!(output, "  # {}:{}", site.file, site.line)
}

fn write_event(output: &mut dyn Write, event: Event) -> io::Result<()> {
    match event {
        Event::Begin { parent: Some(parent), child, .. } => {
            write!(output, "begin, child {child} of {parent}")
        }
        Event::Begin { parent: None, .. } => write!(output, "begin"),
        Event::End { .. } => write!(output, "end"),
        Event::Create { thread, .. } => write!(output, "create {thread}"),
        Event::Handle { handle, .. } => write!(output, "handle {handle:x}"),
        Event::Join { thread, .. } => write!(output, "join {thread}"),
        Event::Lock { address, .. } => write!(output, "lock {address:x}"),
        Event::LockShared { address, .. } => write!(output, "lock-shared {address:x}"),
        Event::Unlock { address, .. } => write!(output, "unlock {address:x}"),
        Event::WaitBegin { condition, lock, .. } => {
            write!(output, "wait-begin {condition:x} {lock:x}")
        }
        Event::WaitEnd { condition, lock, .. } => write!(output, "wait-end {condition:x} {lock:x}"),
        Event::Signal { condition, .. } => write!(output, "signal {condition:x}"),
        Event::Broadcast { condition, .. } => write!(output, "broadcast {condition:x}"),
        Event::BarrierEnter { address, .. } => write!(output, "barrier-enter {address:x}"),
        Event::BarrierLeave { address, .. } => write!(output, "barrier-leave {address:x}"),
        Event::Allocate { address, bytes, .. } => write!(output, "allocate {address:x} {bytes}"),
        Event::Free { address, .. } => write!(output, "free {address:x}"),
        Event::Barrier { address, count, .. } => write!(output, "barrier {address:x} {count}"),
        Event::Renew { address, .. } => write!(output, "renew {address:x}"),
        Event::Send { channel, .. } => write!(output, "send {channel:x}"),
        Event::Receive { channel, .. } => write!(output, "receive {channel:x}"),
        Event::Release { address, last, .. } => write!(output, "release {address:x} {last}"),
        Event::Library { enters: true } => write!(output, "library-enter"),
        Event::Library { enters: false } => write!(output, "library-leave"),
        Event::Injected => write!(output, "injected"),
        Event::Exit { status } => write!(output, "exit {status}"),
    }
}
