//! What a call does to memory, if the function that is called is not instrumented.
//!
//! An instrumented function writes records of its own, so a call of it accesses nothing more. Of functions of libraries the table
//! says it ([`allways_epa_format::library`]). Of all others it is guessed (`guess.rs`), and whoever asks is told of which.
//! So no access is missed, as long as a function that nobody knows touches nothing but what it is given.
//!
//! A call through a pointer has the address of the function as its last value, by which the function is found among the globals.

use super::guess::{Guess, guess, is_harmless};
use super::tracker::Tracker;
use crate::trace::Trace;
use allways_epa_format::library::{Effect, Extra, Place, Size, effects, extras};
use allways_epa_format::{Opcode, Program, Site, ValueKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// The name of a function that is called through a pointer, and that is none of the program.
pub(crate) const NAMELESS: &str = "a function that is called through a pointer";

/// Which functions have which addresses.
#[derive(Debug)]
pub(crate) struct Callees<'a> {
    program: &'a Program,
    by_address: FxHashMap<u64, u32>,
}

impl<'a> Callees<'a> {
    pub(crate) fn new(trace: &'a Trace) -> Self {
        let program = &trace.program;
        let mut by_address = FxHashMap::default();
        for (place, (global, &address)) in (0..).zip(program.globals.iter().zip(&trace.addresses)) {
            // Functions are what has no bytes; of two names for one place the first is taken, as for all globals.
            if global.bytes == 0 && address != 0 {
                by_address.entry(address).or_insert(place);
            }
        }
        Callees { program, by_address }
    }

    /// The function that a call called.
    pub(crate) fn name(&self, site: &'a Site, values: &[u64]) -> &'a str {
        if !site.callee.is_empty() {
            return &site.callee;
        }
        let address = values.last().filter(|_| site.values.last() == Some(&ValueKind::Pointer));
        let place = address.and_then(|address| self.by_address.get(address));
        place.map_or(NAMELESS, |&place| &self.program.globals[place as usize].name)
    }
}

/// What is known of a function.
#[derive(Clone, Debug)]
enum Known {
    /// It writes records of its own, or is said to touch nothing that matters.
    Nothing,
    /// It is in the table.
    Listed { effects: Vec<Effect>, extras: Vec<Extra> },
    /// It is guessed from its name.
    Guessed,
}

/// An access of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Touch {
    pub(crate) target: Target,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    /// How many bytes; `None` is all to the end of the object.
    pub(crate) bytes: Option<u64>,
}

/// What is accessed by a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// What is at an address.
    Address(u64),
    /// Something that a library has once, by its name, or once for a number.
    State(String, u64),
}

/// Finds out what calls do.
#[derive(Debug)]
pub(crate) struct Effects<'a> {
    callees: Callees<'a>,
    entered: FxHashSet<&'a str>,
    fine: &'a [String],
    known: FxHashMap<&'a str, Known>,
    /// Of each site, whether calls of it access nothing: most are of functions that write records of their own.
    nothing: Vec<bool>,
    /// How often which function was called from which site that was only guessed.
    guessed: FxHashMap<(u32, &'a str), u64>,
}

/// A function of which nobody knows what it does to memory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Guessed {
    /// The function.
    pub function: String,
    /// The site of the call.
    pub site: u32,
    /// How often it was called there.
    pub count: u64,
}

impl<'a> Effects<'a> {
    pub(crate) fn new(trace: &'a Trace, fine: &'a [String]) -> Self {
        let sites = trace.program.sites.iter();
        let entered = sites.filter(|site| site.opcode == Opcode::Enter);
        Effects {
            callees: Callees::new(trace),
            entered: entered.map(|site| site.function.as_str()).collect(),
            fine,
            known: FxHashMap::default(),
            nothing: vec![false; trace.program.sites.len()],
            guessed: FxHashMap::default(),
        }
    }

    /// What a call does to memory.
    pub(crate) fn of(&mut self, number: u32, site: &'a Site, values: &[u64]) -> Vec<Touch> {
        if self.nothing.get(number as usize) == Some(&true) {
            return Vec::new();
        }
        let name = self.callees.name(site, values);
        let known = self.known.entry(name).or_insert_with(|| {
            if self.entered.contains(name) || self.fine.iter().any(|fine| fine == name) {
                return Known::Nothing;
            }
            match effects(name) {
                Some(effects) => Known::Listed { effects, extras: extras(name) },
                None => Known::Guessed,
            }
        });
        let arguments = usize::from(site.has_result);
        match known {
            Known::Nothing => {
                let is_always = !site.callee.is_empty();
                self.nothing
                    .get_mut(number as usize)
                    .into_iter()
                    .for_each(|nothing| *nothing = is_always);
                Vec::new()
            }
            Known::Listed { effects, extras } => {
                // Only calls of functions by their name have further values.
                let extras = if site.callee.is_empty() { &[][..] } else { extras };
                let further = extras.len() + usize::from(site.callee.is_empty());
                let end = values.len().checked_sub(further).filter(|end| *end >= arguments);
                let call = Call {
                    site,
                    values,
                    arguments: arguments..end.unwrap_or(values.len()),
                    extras: if end.is_some() { extras } else { &[] },
                };
                effects.iter().flat_map(|effect| call.touches(effect)).collect()
            }
            // The library's own assembly, by which it keeps the compiler from leaving something out.
            Known::Guessed if name == "asm" && is_harmless(&site.function) => Vec::new(),
            Known::Guessed => {
                let end =
                    values.len() - usize::from(site.callee.is_empty() && values.len() > arguments);
                let call = Call { site, values, arguments: arguments..end, extras: &[] };
                let kinds = site.values.get(arguments..end).unwrap_or_default();
                let Guess { effects, is_known } = guess(name, kinds, site.has_result);
                if !is_known {
                    *self.guessed.entry((number, name)).or_insert(0) += 1;
                }
                effects.iter().flat_map(|effect| call.touches(effect)).collect()
            }
        }
    }

    /// The functions that were only guessed, sorted by their names.
    pub(crate) fn guessed(self) -> Vec<Guessed> {
        let guessed = self.guessed.into_iter();
        let guessed = guessed.map(|((site, function), count)| Guessed {
            function: function.to_owned(),
            site,
            count,
        });
        let mut guessed: Vec<Guessed> = guessed.collect();
        guessed.sort_unstable();
        guessed
    }
}

/// The record of a call.
struct Call<'r> {
    site: &'r Site,
    values: &'r [u64],
    arguments: std::ops::Range<usize>,
    extras: &'r [Extra],
}

impl Call<'_> {
    fn argument(&self, at: usize) -> Option<u64> {
        let place = self.arguments.start.checked_add(at)?;
        self.arguments.contains(&place).then(|| self.values.get(place).copied()).flatten()
    }

    /// An argument that is an address.
    fn pointer(&self, at: usize) -> Option<u64> {
        let kind = self.site.values.get(self.arguments.start.checked_add(at)?);
        self.argument(at).filter(|_| kind == Some(&ValueKind::Pointer))
    }

    fn result(&self) -> Option<u64> {
        self.values.first().copied().filter(|_| self.site.has_result)
    }

    fn extra(&self, extra: Extra) -> Option<u64> {
        let place = self.extras.iter().position(|known| *known == extra)?;
        self.values.get(self.values.len() - self.extras.len() + place).copied()
    }

    fn touches(&self, effect: &Effect) -> Vec<Touch> {
        let targets = match &effect.place {
            Place::Argument(at) => self.pointer(*at).map(Target::Address).into_iter().collect(),
            Place::From(at) => {
                let all = *at..self.arguments.len();
                all.filter_map(|at| self.pointer(at)).map(Target::Address).collect()
            }
            Place::Result => self.result().map(Target::Address).into_iter().collect(),
            Place::Target(at) => match self.extra(Extra::Target(*at)) {
                Some(address) => vec![Target::Address(address)],
                None => Vec::new(),
            },
            Place::Standard(which) => match self.extra(Extra::Standard(*which)) {
                Some(address) => vec![Target::Address(address)],
                None => vec![Target::State("standard".to_owned(), *which)],
            },
            Place::State(name, argument) => {
                let key = argument.and_then(|argument| self.argument(argument)).unwrap_or(0);
                vec![Target::State(name.clone(), key)]
            }
        };
        let bytes = self.bytes(&effect.size);
        let Effect { reads, writes, .. } = *effect;
        targets.into_iter().map(|target| Touch { target, reads, writes, bytes }).collect()
    }

    /// How many bytes; `None` is all to the end of the object.
    fn bytes(&self, size: &Size) -> Option<u64> {
        match size {
            Size::Bytes(bytes) => Some(*bytes),
            Size::Argument(at) => self.argument(*at),
            Size::Result(more) => {
                let bits = match self.site.values.first() {
                    Some(ValueKind::Int(bits)) => u32::from(*bits),
                    _ => 64,
                };
                let result = self.result()?;
                let is_negative = result.checked_shr(bits.saturating_sub(1)).unwrap_or(0) & 1 == 1;
                Some(if is_negative { 0 } else { result.saturating_add(*more) })
            }
            Size::Text(text) => self.extra(Extra::Text(*text)),
            Size::Rest => None,
            Size::Product(a, b) => Some(self.bytes(a)?.saturating_mul(self.bytes(b)?)),
            Size::Least(a, b) => match (self.bytes(a), self.bytes(b)) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
        }
    }
}

/// Whether nobody can write an object: a global that is constant.
pub(crate) fn is_constant(program: &Program, tracker: &Tracker<'_>, address: u64) -> bool {
    let Some((object, _)) = tracker.memory.find(address) else { return false };
    let object = &tracker.memory.objects[object as usize];
    object.thread.is_none()
        && object.kind == super::ObjectKind::Global
        && program.globals.get(object.index as usize).is_some_and(|global| global.constant)
}
