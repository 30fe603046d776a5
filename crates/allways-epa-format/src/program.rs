//! What is known of a program before it runs.

use crate::number::{Reader, put_number, put_text};

/// What an instruction does. The values of its records, in order, are said with each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Opcode {
    /// A function is entered: its arguments.
    Enter = 0,
    /// A function returns: what it returns, if anything.
    Return = 1,
    /// Memory on the stack: its address, how many bytes.
    Alloca = 2,
    /// A load: what was loaded, the address.
    Load = 3,
    /// A store: what is stored, the address.
    Store = 4,
    /// Anything that computes a value (arithmetic, comparisons, casts, addresses of elements, selections): the
    /// result, the operands.
    Compute = 5,
    /// A call has returned: the result, if there is one ([`Site::has_result`]), the arguments. If it is not known before which function
    /// is called, its address follows; if it is one of a library that is known, what [`crate::library::extras`] says.
    Call = 6,
    /// A branch: the condition, or the value of a switch.
    Branch = 7,
    /// An atomic update: what was there before, the address, the operands.
    AtomicUpdate = 8,
    /// Bytes are copied: to where, from where, how many.
    Copy = 9,
    /// Bytes are set: where, to what, how many.
    Set = 10,
    /// An exception has arrived in a function: functions that were called by it are left.
    Landing = 11,
    /// An atomic load, like [`Opcode::Load`].
    AtomicLoad = 12,
    /// An atomic store, like [`Opcode::Store`].
    AtomicStore = 13,
}

impl Opcode {
    const ALL: [Opcode; 14] = [
        Opcode::Enter,
        Opcode::Return,
        Opcode::Alloca,
        Opcode::Load,
        Opcode::Store,
        Opcode::Compute,
        Opcode::Call,
        Opcode::Branch,
        Opcode::AtomicUpdate,
        Opcode::Copy,
        Opcode::Set,
        Opcode::Landing,
        Opcode::AtomicLoad,
        Opcode::AtomicStore,
    ];
}

/// The kind of a value in a record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ValueKind {
    /// A whole number of so many bits, at most 64, as if it were not negative.
    Int(u8),
    /// An address.
    Pointer,
    /// The bits of an `f32`.
    Float,
    /// The bits of an `f64`.
    Double,
    /// Something in which addresses may be beside other things (a structure, an array, a vector of words): a hash of its bits.
    Other,
    /// A number wider than 64 bits, or a vector of numbers that are not as wide: a hash of its bits.
    Wide,
}

impl ValueKind {
    /// How many bits values of this kind have; 0 if they are not kept as they are, so that they cannot be made wrong.
    pub fn bits(self) -> u64 {
        match self {
            ValueKind::Int(bits) => bits.into(),
            ValueKind::Pointer | ValueKind::Double => 64,
            ValueKind::Float => 32,
            ValueKind::Other | ValueKind::Wide => 0,
        }
    }
}

/// An instruction that is logged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// What it does.
    pub opcode: Opcode,
    /// How it is called in reports: `load`, `add`, `call-malloc`; of [`Opcode::Enter`] the function, `call-main`.
    pub name: String,
    /// The function that it is in, by its readable name.
    pub function: String,
    /// The file of the source, if known; otherwise empty.
    pub file: String,
    /// The line of the source, if known; otherwise 0.
    pub line: u32,
    /// Of loads, stores and atomic updates: how many bytes of memory they touch. Otherwise 0.
    pub bytes: u32,
    /// Whether the first value is a result, which can be made wrong.
    pub has_result: bool,
    /// Of calls: the name of the function that is called; empty if it is not known before.
    pub callee: String,
    /// The kinds of the values of its records.
    pub values: Vec<ValueKind>,
}

/// A global variable or a function: something with an address of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Global {
    /// Its name.
    pub name: String,
    /// How many bytes it has; of a function 0.
    pub bytes: u64,
    /// Whether nobody can write it, such as texts of the source.
    pub constant: bool,
}

/// What is known of a program before it runs.
///
/// ```
/// use allways_epa_format::{Global, Opcode, Program, Site, ValueKind};
/// let site = Site {
///     opcode: Opcode::Load,
///     name: "load".into(),
///     function: "main".into(),
///     file: "main.c".into(),
///     line: 3,
///     bytes: 4,
///     has_result: true,
///     callee: String::new(),
///     values: vec![ValueKind::Int(32), ValueKind::Pointer],
/// };
/// let globals = vec![Global { name: "counter".into(), bytes: 4, constant: false }];
/// let program = Program { name: "main.c".into(), sites: vec![site], globals };
/// assert_eq!(Program::from_bytes(&program.to_bytes()), Some(program));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// What it is called.
    pub name: String,
    /// The instructions that are logged.
    pub sites: Vec<Site>,
    /// Global variables and functions.
    pub globals: Vec<Global>,
}

/// The first bytes of a table.
const MAGIC: &[u8] = b"allways-program-2";

impl Program {
    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        put_text(&mut bytes, &self.name);
        put_number(&mut bytes, self.sites.len() as u64);
        for site in &self.sites {
            bytes.push(site.opcode as u8);
            for text in [&site.name, &site.function, &site.file, &site.callee] {
                put_text(&mut bytes, text);
            }
            put_number(&mut bytes, site.line.into());
            put_number(&mut bytes, site.bytes.into());
            put_number(&mut bytes, site.has_result.into());
            put_number(&mut bytes, site.values.len() as u64);
            for kind in &site.values {
                bytes.push(match kind {
                    ValueKind::Int(bits) => *bits,
                    ValueKind::Pointer => 65,
                    ValueKind::Float => 66,
                    ValueKind::Double => 67,
                    ValueKind::Other => 68,
                    ValueKind::Wide => 69,
                });
            }
        }
        put_number(&mut bytes, self.globals.len() as u64);
        for global in &self.globals {
            put_text(&mut bytes, &global.name);
            put_number(&mut bytes, global.bytes);
            put_number(&mut bytes, global.constant.into());
        }
        bytes
    }

    /// From bytes; `None` if they are no table.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        if reader.take(MAGIC.len())? != MAGIC {
            return None;
        }
        let mut program = Program { name: reader.text()?.to_owned(), ..Program::default() };
        for _ in 0..reader.number()? {
            let opcode = *Opcode::ALL.get(usize::from(reader.take(1)?[0]))?;
            let mut text = || reader.text().map(str::to_owned);
            let (name, function, file, callee) = (text()?, text()?, text()?, text()?);
            let line = u32::try_from(reader.number()?).ok()?;
            let bytes = u32::try_from(reader.number()?).ok()?;
            let has_result = reader.number()? != 0;
            let count = usize::try_from(reader.number()?).ok()?;
            let values = reader.take(count)?.iter().map(|kind| {
                Some(match kind {
                    1..=64 => ValueKind::Int(*kind),
                    65 => ValueKind::Pointer,
                    66 => ValueKind::Float,
                    67 => ValueKind::Double,
                    68 => ValueKind::Other,
                    69 => ValueKind::Wide,
                    _ => return None,
                })
            });
            let values = values.collect::<Option<Vec<ValueKind>>>()?;
            let site =
                Site { opcode, name, function, file, line, bytes, has_result, callee, values };
            program.sites.push(site);
        }
        for _ in 0..reader.number()? {
            let name = reader.text()?.to_owned();
            let (bytes, constant) = (reader.number()?, reader.number()? != 0);
            program.globals.push(Global { name, bytes, constant });
        }
        // What follows a table is of somebody who means something else.
        (reader.position() == bytes.len()).then_some(program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_ends_where_its_bytes_end() {
        let globals = vec![Global { name: "text".into(), bytes: 5, constant: true }];
        let program = Program { name: "main.c".into(), globals, ..Program::default() };
        let mut bytes = program.to_bytes();
        assert_eq!(Program::from_bytes(&bytes), Some(program));
        for length in 0..bytes.len() {
            assert_eq!(Program::from_bytes(&bytes[..length]), None, "{length}");
        }
        bytes.push(0);
        assert_eq!(Program::from_bytes(&bytes), None);
    }
}
