//! What is logged of each instruction.
//!
//! A record comes after its instruction, when the result is known; that of a copy, a branch and a return before. The value that the hook
//! gives back is put in the place of the result wherever the result was used: so a value that is made wrong is wrong for all
//! that follows. Where it was used is asked before the hook is there, which uses the true one.

use crate::calls::Callee;
use crate::hooks::{Caller, tag};
use crate::standard::Standard;
use crate::values::kind;
use allways_epa_format::{Opcode, Program, Site, ValueKind, role};
use inkwell::AtomicOrdering;
use inkwell::builder::BuilderError;
use inkwell::module::Module;
use inkwell::targets::TargetData;
use inkwell::values::{
    AnyValue, AnyValueEnum, BasicValue, BasicValueEnum, FunctionValue, InstructionOpcode as Code,
    InstructionValue,
};
use std::collections::HashSet;

/// The pass over one function.
pub struct FunctionPass<'a, 'ctx> {
    /// The module.
    pub module: &'a Module<'ctx>,
    /// Sizes of types.
    pub data: &'a TargetData,
    /// The table that sites are added to.
    pub program: &'a mut Program,
    /// Calls hooks.
    pub caller: Caller<'a, 'ctx>,
    /// The readable name of the function.
    pub name: String,
    /// The file of its source.
    pub file: String,
    /// The readable names of all functions that are instrumented.
    pub defined: &'a HashSet<String>,
    /// What is known of Rust's standard library; of other languages nothing.
    pub standard: Option<&'a Standard>,
}

/// What a site is, beside where it is.
pub struct About<'n> {
    /// What it does.
    pub opcode: Opcode,
    /// How it is called.
    pub name: &'n str,
    /// Which function it calls.
    pub callee: &'n str,
    /// How many bytes of memory it touches.
    pub bytes: u64,
    /// Whether the first value is a result.
    pub has_result: bool,
}

impl<'n> About<'n> {
    /// Without callee, bytes and result.
    pub fn new(opcode: Opcode, name: &'n str) -> Self {
        About { opcode, name, callee: "", bytes: 0, has_result: false }
    }

    fn with_result(self) -> Self {
        About { has_result: true, ..self }
    }
}

/// The result of an instruction, if it has one that can be logged.
pub fn result(instruction: InstructionValue) -> Option<BasicValueEnum> {
    if instruction.get_type().is_void_type() {
        return None;
    }
    BasicValueEnum::try_from(instruction.as_any_value_enum()).ok()
}

/// The operands of an instruction that are values.
pub fn operands(instruction: InstructionValue) -> Vec<BasicValueEnum> {
    let operands = (0..instruction.get_num_operands()).filter_map(|at| instruction.get_operand(at));
    operands.filter_map(|operand| operand.value()).collect()
}

/// The instructions that use a value.
fn users<'ctx>(value: InstructionValue<'ctx>) -> Vec<InstructionValue<'ctx>> {
    let mut users = Vec::new();
    let mut next = value.get_first_use();
    while let Some(used) = next {
        users.extend(match used.get_user() {
            AnyValueEnum::InstructionValue(user) => Some(user),
            AnyValueEnum::PhiValue(user) => Some(user.as_instruction()),
            user => {
                BasicValueEnum::try_from(user).ok().and_then(|user| user.as_instruction_value())
            }
        });
        next = used.get_next_use();
    }
    users
}

/// Puts another value in the place of one, in these instructions.
fn replace<'ctx>(
    users: &[InstructionValue<'ctx>],
    old: InstructionValue<'ctx>,
    new: BasicValueEnum<'ctx>,
) {
    for user in users {
        for at in 0..user.get_num_operands() {
            let operand = user.get_operand(at).and_then(|operand| operand.value());
            if operand.and_then(|operand| operand.as_instruction_value()) == Some(old) {
                user.set_operand(at, new);
            }
        }
    }
}

impl<'ctx> FunctionPass<'_, 'ctx> {
    /// Instruments the function.
    pub fn run(&mut self, function: FunctionValue<'ctx>) -> Result<(), BuilderError> {
        if self.run_without_records(function)? {
            return Ok(());
        }
        let instructions: Vec<_> = function
            .get_basic_blocks()
            .into_iter()
            .flat_map(|block| block.get_instructions())
            .collect();
        let Some(first) = instructions.first() else { return Ok(()) };
        self.caller.builder.position_before(first);
        let entered = self.enter_loudly(function)?;
        let name = format!("call-{}", self.name);
        let arguments = function.get_params();
        self.record(*first, About::new(Opcode::Enter, &name), &arguments, 0)?;
        self.passed(function, *first)?;
        instructions.iter().try_for_each(|instruction| self.instruction(*instruction))?;
        self.leave_loudly(&instructions, &entered)
    }

    /// A new site.
    pub fn site(
        &mut self,
        at: InstructionValue<'ctx>,
        about: About,
        values: Vec<ValueKind>,
    ) -> usize {
        self.program.sites.push(Site {
            opcode: about.opcode,
            name: about.name.to_owned(),
            function: self.name.clone(),
            file: self.file.clone(),
            line: at.get_debug_location().map_or(0, |location| location.get_line()),
            bytes: u32::try_from(about.bytes).unwrap_or(u32::MAX),
            has_result: about.has_result,
            callee: about.callee.to_owned(),
            values,
        });
        self.program.sites.len() - 1
    }

    /// A record where the builder stands: gives back what the program is to go on with, if the first value can be made wrong.
    pub fn record(
        &mut self,
        at: InstructionValue<'ctx>,
        about: About,
        values: &[BasicValueEnum<'ctx>],
        roles: u64,
    ) -> Result<Option<BasicValueEnum<'ctx>>, BuilderError> {
        let kinds: Vec<_> = values.iter().map(|value| kind(value.get_type())).collect();
        let first = kinds.first().copied();
        let site = self.site(at, about, kinds);
        self.record_site(site, first, values, roles)
    }

    /// A record of a site that is there already.
    pub fn record_site(
        &mut self,
        site: usize,
        first: Option<ValueKind>,
        values: &[BasicValueEnum<'ctx>],
        roles: u64,
    ) -> Result<Option<BasicValueEnum<'ctx>>, BuilderError> {
        let tag = tag(site, first, roles);
        let bits = self.caller.record(tag, values)?;
        match values.first() {
            Some(value) if tag >> 40 != 0 => {
                self.caller.values().value(bits, value.get_type()).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// A record after an instruction with a result, which is then what the hook gives back.
    pub fn record_result(
        &mut self,
        instruction: InstructionValue<'ctx>,
        about: About,
        others: &[BasicValueEnum<'ctx>],
    ) -> Result<(), BuilderError> {
        let Some(result) = result(instruction) else { return Ok(()) };
        let users = users(instruction);
        let Some(next) = instruction.get_next_instruction() else { return Ok(()) };
        self.caller.builder.position_before(&next);
        let values: Vec<_> = [result].into_iter().chain(others.iter().copied()).collect();
        if let Some(new) = self.record(instruction, about.with_result(), &values, role::RESULT)? {
            replace(&users, instruction, new);
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: InstructionValue<'ctx>) -> Result<(), BuilderError> {
        let code = instruction.get_opcode();
        let name = format!("{code:?}").to_lowercase();
        match code {
            Code::Alloca => self.alloca(instruction),
            Code::Load => {
                let atomic = is_atomic(instruction);
                let opcode = if atomic { Opcode::AtomicLoad } else { Opcode::Load };
                let bytes = result(instruction).map_or(0, |result| self.bytes(result));
                let about = About { bytes, ..About::new(opcode, "load") };
                self.record_result(instruction, about, &operands(instruction))
            }
            Code::Store => {
                let atomic = is_atomic(instruction);
                let opcode = if atomic { Opcode::AtomicStore } else { Opcode::Store };
                let values = operands(instruction);
                let bytes = values.first().map_or(0, |value| self.bytes(*value));
                let about = About { bytes, ..About::new(opcode, "store") };
                self.record_after(instruction, about, &values)
            }
            Code::AtomicRMW => {
                let bytes = result(instruction).map_or(0, |result| self.bytes(result));
                let about = About { bytes, ..About::new(Opcode::AtomicUpdate, &name) };
                self.record_result(instruction, about, &operands(instruction))
            }
            Code::AtomicCmpXchg => self.compare_exchange(instruction),
            Code::Call | Code::Invoke => self.call(instruction),
            Code::LandingPad => {
                self.record_after(instruction, About::new(Opcode::Landing, &name), &[])
            }
            // It was logged before the call by which the function ends.
            Code::Return if crate::unseen::is_after_last_call(instruction) => Ok(()),
            Code::Return => {
                self.caller.builder.position_before(&instruction);
                let values = operands(instruction);
                self.record(instruction, About::new(Opcode::Return, "ret"), &values, 0).map(drop)
            }
            Code::Br | Code::Switch => self.branch(instruction, &name),
            // They have no result, are not instructions in which anything is computed, or are those of other platforms.
            Code::Phi | Code::Fence | Code::Unreachable | Code::Resume | Code::IndirectBr => Ok(()),
            Code::CallBr => self.call_before(instruction),
            Code::CatchPad | Code::CatchRet | Code::CatchSwitch => Ok(()),
            Code::CleanupPad | Code::CleanupRet | Code::UserOp1 | Code::UserOp2 => Ok(()),
            _ => {
                let about = About::new(Opcode::Compute, &name);
                self.record_result(instruction, about, &operands(instruction))
            }
        }
    }

    fn bytes(&self, value: BasicValueEnum) -> u64 {
        self.data.get_store_size(&value.get_type())
    }

    /// A record after an instruction.
    pub fn record_after(
        &mut self,
        instruction: InstructionValue<'ctx>,
        about: About,
        values: &[BasicValueEnum<'ctx>],
    ) -> Result<(), BuilderError> {
        let Some(next) = instruction.get_next_instruction() else { return Ok(()) };
        self.caller.builder.position_before(&next);
        self.record(instruction, about, values, 0).map(drop)
    }

    /// Memory on the stack: makes it 0 if it is to be, and says where it is and how many bytes it has. The builder stands behind it.
    pub fn zero(
        &mut self,
        instruction: InstructionValue<'ctx>,
    ) -> Result<Option<[BasicValueEnum<'ctx>; 2]>, BuilderError> {
        let (Some(address), Ok(element), Some(next)) = (
            result(instruction),
            instruction.get_allocated_type(),
            instruction.get_next_instruction(),
        ) else {
            return Ok(None);
        };
        self.caller.builder.position_before(&next);
        let word = self.module.get_context().i64_type();
        let mut bytes = word.const_int(self.data.get_abi_size(&element), false);
        if let Some(BasicValueEnum::IntValue(count)) = operands(instruction).first() {
            let count = self.caller.builder.build_int_z_extend_or_bit_cast(*count, word, "")?;
            bytes = self.caller.builder.build_int_mul(bytes, count, "")?;
        }
        // What is not yet written would be what happened to be there, and differ each time. Programs read it by mistake, and code
        // of Rust that is not optimised loads what is beside a `None`.
        if let BasicValueEnum::PointerValue(memory) = address {
            let zero = self.module.get_context().i8_type().const_zero();
            self.caller.builder.build_memset(memory, 1, zero, bytes)?;
        }
        Ok(Some([address, bytes.into()]))
    }

    /// The address of memory on the stack is not made wrong: it says where an object is.
    fn alloca(&mut self, instruction: InstructionValue<'ctx>) -> Result<(), BuilderError> {
        let Some(values) = self.zero(instruction)? else { return Ok(()) };
        let about = About::new(Opcode::Alloca, "alloca");
        self.record(instruction, about, &values, 0).map(drop)
    }

    /// A structure of what was there before and whether it was exchanged: the first part is the result.
    fn compare_exchange(
        &mut self,
        instruction: InstructionValue<'ctx>,
    ) -> Result<(), BuilderError> {
        let (Some(BasicValueEnum::StructValue(pair)), Some(next)) =
            (result(instruction), instruction.get_next_instruction())
        else {
            return Ok(());
        };
        let users = users(instruction);
        self.caller.builder.position_before(&next);
        let before = self.caller.builder.build_extract_value(pair, 0, "")?;
        let values: Vec<_> = [before].into_iter().chain(operands(instruction)).collect();
        let bytes = self.bytes(before);
        let about = About { bytes, ..About::new(Opcode::AtomicUpdate, "cmpxchg") }.with_result();
        if let Some(new) = self.record(instruction, about, &values, role::RESULT)? {
            let pair = self.caller.builder.build_insert_value(pair, new, 0, "")?;
            replace(&users, instruction, pair.as_basic_value_enum());
        }
        Ok(())
    }

    fn branch(
        &mut self,
        instruction: InstructionValue<'ctx>,
        name: &str,
    ) -> Result<(), BuilderError> {
        // The first operand of a branch without condition is a block.
        let condition = instruction.get_operand(0).and_then(|operand| operand.value());
        let Some(condition) = condition else { return Ok(()) };
        self.caller.builder.position_before(&instruction);
        let about = About::new(Opcode::Branch, name);
        if let Some(new) = self.record(instruction, about, &[condition], role::BRANCH)? {
            instruction.set_operand(0, new);
        }
        Ok(())
    }

    /// A call, of which [`Callee`] says what kind it is.
    fn call(&mut self, instruction: InstructionValue<'ctx>) -> Result<(), BuilderError> {
        match Callee::of(self.module, instruction) {
            Callee::Nothing => Ok(()),
            Callee::Last => self.call_before(instruction),
            Callee::Access(symbol) => self.intrinsic(instruction, &symbol),
            Callee::Copy => self.memory(instruction, About::new(Opcode::Copy, "copy")),
            Callee::Set => self.memory(instruction, About::new(Opcode::Set, "set")),
            Callee::Compute(name) => {
                let mut operands = operands(instruction);
                operands.pop();
                self.record_result(instruction, About::new(Opcode::Compute, &name), &operands)
            }
            Callee::Function { name, assembly } => {
                let users = users(instruction);
                if let Some(new) = self.call_function(instruction, &name, assembly)? {
                    replace(&users, instruction, new);
                }
                Ok(())
            }
        }
    }

    fn memory(
        &mut self,
        instruction: InstructionValue<'ctx>,
        about: About,
    ) -> Result<(), BuilderError> {
        self.caller.builder.position_before(&instruction);
        let operands = operands(instruction);
        let values = operands.get(..3).unwrap_or(&operands);
        self.record(instruction, about, values, 0).map(drop)
    }
}

fn is_atomic(instruction: InstructionValue) -> bool {
    !matches!(instruction.get_atomic_ordering(), Ok(AtomicOrdering::NotAtomic) | Err(_))
}
