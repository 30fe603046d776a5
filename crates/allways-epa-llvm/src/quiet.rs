//! What is added to functions of Rust so that the inside of its standard library is not logged, and what it stands for is.
//!
//! `standard.rs` says which functions are of which kind. A function that is quiet, or that belongs to the program, changes what the thread is
//! and puts it back when it returns. A function in which an exception can arrive makes the thread what it was in that function:
//! those that the exception has left did not.

use crate::hooks::Caller;
use crate::instruction::{About, FunctionPass, operands};
use crate::names::readable;
use crate::standard::{self, Call, Kind, Rule, Standard};
use allways_epa_format::Opcode;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::builder::BuilderError;
use inkwell::intrinsics::Intrinsic;
use inkwell::values::{
    BasicValueEnum, FunctionValue, InstructionOpcode as Code, InstructionValue, IntValue,
    PointerValue,
};

/// What a thread is.
const LOUD: u64 = 0;
const QUIET: u64 = 1;

/// The instructions of a function.
fn instructions<'ctx>(function: FunctionValue<'ctx>) -> Vec<InstructionValue<'ctx>> {
    let blocks = function.get_basic_blocks();
    blocks.into_iter().flat_map(|block| block.get_instructions()).collect()
}

/// The arguments of a function, without the place that the result is written to; and that.
fn arguments<'ctx>(
    function: FunctionValue<'ctx>,
) -> (Vec<BasicValueEnum<'ctx>>, Option<BasicValueEnum<'ctx>>) {
    let mut arguments = function.get_params();
    let kind = Attribute::get_named_enum_kind_id("sret");
    let has_place = function.get_enum_attribute(AttributeLoc::Param(0), kind).is_some();
    let place = (has_place && !arguments.is_empty()).then(|| arguments.remove(0));
    (arguments, place)
}

/// The function that a call calls, by its readable name, if it is known.
fn callee(instruction: InstructionValue) -> Option<String> {
    if !matches!(instruction.get_opcode(), Code::Call | Code::Invoke) {
        return None;
    }
    match operands(instruction).last() {
        Some(BasicValueEnum::PointerValue(callee)) => {
            Some(readable(&callee.get_name().to_string_lossy()))
        }
        _ => None,
    }
}

impl<'ctx> Caller<'_, 'ctx> {
    fn number(&self, number: u64) -> IntValue<'ctx> {
        self.context().i64_type().const_int(number, false)
    }

    /// The bits of an argument; 0 if there is none.
    fn bits(&self, value: Option<BasicValueEnum<'ctx>>) -> Result<IntValue<'ctx>, BuilderError> {
        value.map_or(Ok(self.number(0)), |value| self.values().bits(value))
    }

    /// The word at an address, so many words after it.
    fn word_at(
        &self,
        pointer: Option<BasicValueEnum<'ctx>>,
        words: u64,
    ) -> Result<IntValue<'ctx>, BuilderError> {
        let Some(BasicValueEnum::PointerValue(pointer)) = pointer else {
            return Ok(self.number(0));
        };
        let word = self.context().i64_type();
        let start = self.builder.build_ptr_to_int(pointer, word, "")?;
        let address = self.builder.build_int_add(start, self.number(words * 8), "")?;
        let place = self.builder.build_int_to_ptr(address, pointer.get_type(), "")?;
        Ok(self.builder.build_load(word, place, "")?.into_int_value())
    }
}

/// What a function has been found to be when it was entered.
pub struct Entered<'ctx> {
    before: Option<IntValue<'ctx>>,
    kind: Kind,
}

impl<'ctx> FunctionPass<'_, 'ctx> {
    /// Instruments a function that has no records, if it is one. Otherwise it has to be instrumented as others are.
    pub fn run_without_records(
        &mut self,
        function: FunctionValue<'ctx>,
    ) -> Result<bool, BuilderError> {
        let kind = self.standard_kind(function);
        match kind {
            Kind::Quiet(_) | Kind::Bare | Kind::Scope | Kind::InScope(_) => {}
            Kind::Neutral | Kind::Program => return Ok(false),
        }
        let all = instructions(function);
        // By this site, which has no records, the table knows the function as one that is compiled into the program: so nobody has to guess
        // what it does to memory. That is said by events.
        if let Some(first) = all.first() {
            let name = format!("call-{}", self.name);
            self.site(*first, About::new(Opcode::Enter, &name), Vec::new());
        }
        for alloca in all.iter().filter(|instruction| instruction.get_opcode() == Code::Alloca) {
            self.zero(*alloca)?;
        }
        match kind {
            Kind::Quiet(Rule::Release(offset)) => self.release(function, &all, offset)?,
            Kind::Quiet(rule) => self.quiet(function, &all, rule)?,
            _ => self.bare(function, &all, kind)?,
        }
        Ok(true)
    }

    fn standard_kind(&self, function: FunctionValue<'ctx>) -> Kind {
        let symbol = function.get_name().to_string_lossy();
        self.standard.map_or(Kind::Neutral, |standard: &Standard| standard.kind(&symbol))
    }

    /// A function that has records is entered: where the builder stands.
    pub fn enter_loudly(
        &mut self,
        function: FunctionValue<'ctx>,
    ) -> Result<Entered<'ctx>, BuilderError> {
        let kind = self.standard_kind(function);
        let lands = || {
            let mut all = instructions(function).into_iter();
            all.any(|instruction| instruction.get_opcode() == Code::LandingPad)
        };
        let before = match kind {
            Kind::Program => {
                Some(self.caller.hook("__allways_become", &[self.caller.number(LOUD)])?)
            }
            _ if self.standard.is_some() && lands() => {
                Some(self.caller.hook("__allways_state", &[])?)
            }
            _ => None,
        };
        Ok(Entered { before, kind })
    }

    /// The same function, when its records are there: where it returns, and where exceptions arrive.
    pub fn leave_loudly(
        &mut self,
        instructions: &[InstructionValue<'ctx>],
        entered: &Entered<'ctx>,
    ) -> Result<(), BuilderError> {
        let Entered { before, kind } = entered;
        let Some(before) = before else { return Ok(()) };
        let is_return =
            |instruction: &&InstructionValue<'ctx>| instruction.get_opcode() == Code::Return;
        if *kind == Kind::Program {
            for instruction in instructions.iter().filter(is_return) {
                self.caller.builder.position_before(instruction);
                self.caller.hook("__allways_become", &[*before])?;
            }
        }
        let own = if *kind == Kind::Program { self.caller.number(LOUD) } else { *before };
        self.lands_as(instructions, own)
    }

    /// Where an exception arrives, the thread is what the function is.
    fn lands_as(
        &mut self,
        instructions: &[InstructionValue<'ctx>],
        own: IntValue<'ctx>,
    ) -> Result<(), BuilderError> {
        for instruction in instructions {
            if instruction.get_opcode() == Code::LandingPad
                && let Some(next) = instruction.get_next_instruction()
            {
                self.caller.builder.position_before(&next);
                self.caller.hook("__allways_become", &[own])?;
            }
        }
        Ok(())
    }

    fn quiet(
        &mut self,
        function: FunctionValue<'ctx>,
        all: &[InstructionValue<'ctx>],
        rule: Rule,
    ) -> Result<(), BuilderError> {
        let Some(first) = all.first() else { return Ok(()) };
        let (arguments, place) = arguments(function);
        self.caller.builder.position_before(first);
        let caller = &self.caller;
        let one = caller.bits(arguments.first().copied())?;
        let two = caller.bits(arguments.get(1).copied())?;
        let before = match rule {
            Rule::Unlock(word) => {
                let lock = caller.word_at(arguments.first().copied(), word)?;
                Some(("__allways_unlock", vec![lock]))
            }
            Rule::TryLock | Rule::TryLockShared => Some(("__allways_try", vec![])),
            Rule::Guard => Some(("__allways_taken", vec![])),
            Rule::Wait => Some(("__allways_wait_begin", vec![one, two])),
            Rule::Send => Some(("__allways_send", vec![one])),
            Rule::TrySend => Some(("__allways_try_send", vec![one])),
            Rule::Write => Some(("__allways_write", vec![two])),
            Rule::Receive => Some(("__allways_receive", vec![])),
            Rule::Read => Some(("__allways_read", vec![two])),
            Rule::Handed => Some(("__allways_handed", vec![])),
            Rule::Close => Some(("__allways_close", vec![one])),
            _ => None,
        };
        if let Some((hook, values)) = before {
            caller.hook(hook, &values)?;
        }
        let was = caller.hook("__allways_become", &[caller.number(QUIET)])?;
        for instruction in all {
            if rule == Rule::Discard
                && callee(*instruction).is_some_and(|callee| standard::drops_message(&callee))
                && let Some(after) = crate::calls::after(*instruction)
            {
                self.caller.builder.position_before(instruction);
                self.caller.hook("__allways_become", &[self.caller.number(LOUD)])?;
                self.caller.builder.position_before(&after);
                self.caller.hook("__allways_become", &[self.caller.number(QUIET)])?;
            }
            if instruction.get_opcode() != Code::Return {
                continue;
            }
            self.caller.builder.position_before(instruction);
            let caller = &self.caller;
            caller.hook("__allways_become", &[was])?;
            let after = match rule {
                Rule::Lock => Some(("__allways_lock", vec![one])),
                Rule::LockShared => Some(("__allways_lock_shared", vec![one])),
                Rule::TryLock => Some(("__allways_tried", vec![one])),
                Rule::TryLockShared => Some(("__allways_tried_shared", vec![one])),
                Rule::Wait => Some(("__allways_wait_end", vec![one, two])),
                Rule::Channel if place.is_some() => {
                    Some(("__allways_channel", vec![caller.bits(place)?]))
                }
                Rule::TrySend => Some(("__allways_try_send", vec![caller.number(0)])),
                Rule::Receive => Some(("__allways_received", vec![one])),
                _ => None,
            };
            if let Some((hook, values)) = after {
                caller.hook(hook, &values)?;
            }
        }
        let own = self.caller.number(QUIET);
        self.lands_as(all, own)
    }

    /// An owner gives something up. If it was the last one, it synchronises with the others (a fence), and what follows
    /// is the end of the object: that belongs to the program.
    fn release(
        &mut self,
        function: FunctionValue<'ctx>,
        all: &[InstructionValue<'ctx>],
        offset: u64,
    ) -> Result<(), BuilderError> {
        let Some(first) = all.first() else { return Ok(()) };
        self.caller.builder.position_before(first);
        let caller = &self.caller;
        let word = caller.context().i64_type();
        let place: PointerValue = caller.builder.build_alloca(word, "")?;
        let object = caller.word_at(function.get_first_param(), 0)?;
        let address = caller.builder.build_int_add(object, caller.number(offset), "")?;
        let stamp = caller.hook("__allways_release", &[])?;
        caller.builder.build_store(place, stamp)?;
        let was = caller.hook("__allways_become", &[caller.number(QUIET)])?;
        let is_fence = |instruction: &InstructionValue<'ctx>| {
            instruction.get_opcode() == Code::Fence
                || callee(*instruction)
                    .is_some_and(|callee| standard::plain(&callee) == "core::sync::atomic::fence")
        };
        for instruction in all {
            if is_fence(instruction)
                && let Some(after) = crate::calls::after(*instruction)
            {
                self.caller.builder.position_before(&after);
                let caller = &self.caller;
                caller.builder.build_store(place, caller.number(0))?;
                caller.hook("__allways_become", &[was])?;
                caller.hook("__allways_released_last", &[address])?;
            } else if instruction.get_opcode() == Code::Return {
                self.caller.builder.position_before(instruction);
                let caller = &self.caller;
                caller.hook("__allways_become", &[was])?;
                let stamp = caller.builder.build_load(word, place, "")?.into_int_value();
                caller.hook("__allways_released", &[stamp, address])?;
            }
        }
        // Only what ends the object can throw.
        self.lands_as(all, was)
    }

    /// A function without records of its own. If it creates threads in a scope, that is told. If it is a scope for threads, how often it looks whether they have ended is left out;
    /// when they have, that is told.
    fn bare(
        &mut self,
        function: FunctionValue<'ctx>,
        all: &[InstructionValue<'ctx>],
        kind: Kind,
    ) -> Result<(), BuilderError> {
        let Some(first) = all.first() else { return Ok(()) };
        self.caller.builder.position_before(first);
        let was = self.caller.hook("__allways_state", &[])?;
        if let Kind::InScope(argument) = kind {
            let scope = arguments(function).0.get(argument).copied();
            self.caller.hook("__allways_scope", &[self.caller.bits(scope)?])?;
        }
        let pointer = self.caller.context().ptr_type(inkwell::AddressSpace::default());
        let frame = Intrinsic::find("llvm.frameaddress")
            .and_then(|frame| frame.get_declaration(self.module, &[pointer.into()]));
        for instruction in all {
            // Whether the thread knows itself already depends on what it has waited for before.
            let is_quiet = callee(*instruction).is_some_and(|callee| {
                let starts = ["core::sync::atomic::", "std::thread::current::"];
                starts.iter().any(|start| callee.starts_with(start))
            });
            if is_quiet && let Some(after) = crate::calls::after(*instruction) {
                self.caller.builder.position_before(instruction);
                self.caller.hook("__allways_become", &[self.caller.number(QUIET)])?;
                self.caller.builder.position_before(&after);
                self.caller.hook("__allways_become", &[was])?;
            } else if instruction.get_opcode() == Code::Return {
                self.caller.builder.position_before(instruction);
                match (kind, frame) {
                    (Kind::Scope, Some(frame)) => {
                        let level = self.caller.context().i32_type().const_zero();
                        let call = self.caller.builder.build_call(frame, &[level.into()], "")?;
                        let address = self.caller.bits(call.try_as_basic_value().basic())?;
                        self.caller.hook("__allways_scope_ends", &[address])?;
                    }
                    (Kind::InScope(_), _) => {
                        self.caller.hook("__allways_scope", &[self.caller.number(0)])?;
                    }
                    _ => {}
                }
            }
        }
        self.lands_as(all, was)
    }

    /// What is told before a call.
    pub fn before_call(
        &mut self,
        call: Call,
        arguments: &[BasicValueEnum<'ctx>],
    ) -> Result<(), BuilderError> {
        let first = self.caller.bits(arguments.first().copied())?;
        let (hook, value) = match call {
            Call::Barrier => ("__allways_barrier", self.caller.bits(arguments.last().copied())?),
            Call::BarrierWait => ("__allways_barrier_enter", first),
            Call::Signal => ("__allways_signal", first),
            Call::Broadcast => ("__allways_broadcast", first),
        };
        self.caller.hook(hook, &[value]).map(drop)
    }

    /// What is told after it.
    pub fn after_call(
        &mut self,
        call: Call,
        arguments: &[BasicValueEnum<'ctx>],
    ) -> Result<(), BuilderError> {
        if call == Call::BarrierWait {
            let first = self.caller.bits(arguments.first().copied())?;
            self.caller.hook("__allways_barrier_leave", &[first])?;
        }
        Ok(())
    }
}
