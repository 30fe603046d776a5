//! A sanitised trace for people, as listings 6b and 7 of the thesis have it.

use super::{Canonical, Sanitised, Value};
use crate::trace::{write_number, write_source};
use allways_epa_format::ValueKind;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

impl Sanitised {
    /// Writes the records, then the objects, then the threads, with an empty line between.
    pub fn write_text(&self, output: &mut dyn Write) -> io::Result<()> {
        self.write_records(output)?;
        output.write_all(b"\n")?;
        self.write_objects(output)?;
        output.write_all(b"\n")?;
        self.write_threads(output)
    }

    /// Writes one line a record, in the order of the trace (listing 6b).
    pub fn write_records(&self, output: &mut dyn Write) -> io::Result<()> {
        let lanes = (0..).map_while(|thread| self.canonicals(thread));
        let mut lanes = lanes.collect::<Vec<_>>();
        let mut heap = BinaryHeap::new();
        for (place, lane) in lanes.iter().enumerate() {
            heap.extend(lane.peek().map(|index| Reverse((index, place))));
        }
        while let Some(Reverse((index, place))) = heap.pop() {
            write!(output, "{index} {} ", self.threads[place].name)?;
            if let Some(record) = lanes[place].next() {
                self.write_record(output, &record)?;
            }
            output.write_all(b"\n")?;
            heap.extend(lanes[place].peek().map(|index| Reverse((index, place))));
        }
        Ok(())
    }

    /// Writes a record, without its index and its thread.
    pub(crate) fn write_record(
        &self,
        output: &mut dyn Write,
        record: &Canonical<'_>,
    ) -> io::Result<()> {
        let Some(site) = record.site.and_then(|site| self.program.sites.get(site as usize)) else {
            output.write_all(record.event.as_bytes())?;
            for &value in record.values {
                output.write_all(b" ")?;
                self.write_value(output, value, ValueKind::Int(64))?;
            }
            return Ok(());
        };
        output.write_all(site.name.as_bytes())?;
        for (&value, &kind) in record.values.iter().zip(&site.values) {
            output.write_all(b" ")?;
            self.write_value(output, value, kind)?;
        }
        write_source(output, site)
    }

    fn write_value(&self, output: &mut dyn Write, value: Value, kind: ValueKind) -> io::Result<()> {
        match value {
            Value::Number(number) => write_number(output, number, kind),
            Value::Place { object, offset: 0 } => write!(output, "{}", self.name(object)),
            Value::Place { object, offset } => write!(output, "{}+{offset}", self.name(object)),
            Value::Thread(thread) => match self.threads.get(thread as usize) {
                Some(thread) => write!(output, "{}", thread.name),
                None => write!(output, "T_?"),
            },
            Value::Hidden => write!(output, "?"),
        }
    }

    /// Writes one line an object (listing 7): its first address, the thread that made it, how many that had made before, how
    /// many bytes it has, and the indices of the records with which it begins and ends.
    pub fn write_objects(&self, output: &mut dyn Write) -> io::Result<()> {
        for object in &self.objects {
            let name = self.object_name(object);
            let thread = object.thread.and_then(|thread| self.threads.get(thread as usize));
            let thread = thread.map_or("_", |thread| &thread.name);
            let super::Object { base, bytes, index, from, to, .. } = object;
            writeln!(
                output,
                "{name} := {{ba={base:x}, t={thread}, l_idx={index}, s={bytes}, v=[{from},{to}]}}"
            )?;
        }
        Ok(())
    }

    /// Writes one line a thread (listing 7): the number that it had in this run, and its name.
    pub fn write_threads(&self, output: &mut dyn Write) -> io::Result<()> {
        for thread in &self.threads {
            writeln!(output, "M({}) := {}", thread.number, thread.name)?;
        }
        Ok(())
    }
}
