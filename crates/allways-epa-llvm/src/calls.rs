//! Calls: of functions, and of what LLVM knows itself.

use crate::hooks::tag;
use crate::instruction::{About, FunctionPass, operands, result};
use crate::names::readable;
use crate::standard::{self, Call};
use crate::values::kind;
use allways_epa_format::library::{Extra, extras, keeps_memory};
use allways_epa_format::{Opcode, role};
use inkwell::builder::BuilderError;
use inkwell::module::Module;
use inkwell::values::{
    AnyValue, BasicValueEnum, InstructionOpcode as Code, InstructionValue, LLVMTailCallKind,
};

/// What a call is.
pub enum Callee {
    /// Nothing that is logged: it is there for the compiler.
    Nothing,
    /// The function ends by this call: nothing may come between it and the return.
    Last,
    /// Bytes are copied.
    Copy,
    /// Bytes are set.
    Set,
    /// LLVM computes something, of this name.
    Compute(String),
    /// LLVM knows it itself, and it accesses memory.
    Access(String),
    /// A function is called.
    Function {
        /// Its readable name; empty if it is not known.
        name: String,
        /// Whether it is assembly, of which operands may have to be constants.
        assembly: bool,
    },
}

/// What LLVM knows itself and returns something, but computes nothing.
const NOT_COMPUTED: [&str; 6] = [
    "llvm.stacksave",
    "llvm.returnaddress",
    "llvm.frameaddress",
    "llvm.dbg",
    "llvm.experimental",
    "llvm.type",
];

/// What LLVM knows itself, and of which nobody can foresee the result: logged as calls, so that the analysis finds them.
const UNFORESEEABLE: [&str; 7] = [
    "llvm.readcyclecounter",
    "llvm.readsteadycounter",
    "llvm.x86.rdtsc",
    "llvm.x86.rdpmc",
    "llvm.x86.rdpid",
    "llvm.x86.rdrand",
    "llvm.x86.rdseed",
];

impl Callee {
    /// What assembly is called.
    pub const ASSEMBLY: &str = "asm";

    /// What a call or an invoke calls.
    pub fn of(module: &Module, instruction: InstructionValue) -> Self {
        if instruction.get_tail_call_kind() == Ok(LLVMTailCallKind::LLVMTailCallKindMustTail) {
            return Callee::Last;
        }
        let last = instruction.get_num_operands().wrapping_sub(1);
        let callee = instruction.get_operand(last).and_then(|operand| operand.value());
        let Some(BasicValueEnum::PointerValue(callee)) = callee else { return Callee::Nothing };
        let symbol = callee.get_name().to_string_lossy();
        let known = module
            .get_function(&symbol)
            .is_some_and(|function| function.as_global_value().as_pointer_value() == callee);
        if !known {
            let assembly = instruction.print_to_string().to_string().contains(" asm ");
            let name = if assembly { Callee::ASSEMBLY } else { "" };
            return Callee::Function { name: name.to_owned(), assembly };
        }
        if !symbol.starts_with("llvm.") {
            return Callee::Function { name: readable(&symbol), assembly: false };
        }
        if symbol.starts_with("llvm.memcpy") || symbol.starts_with("llvm.memmove") {
            return Callee::Copy;
        }
        if symbol.starts_with("llvm.memset") {
            return Callee::Set;
        }
        if UNFORESEEABLE.iter().any(|name| symbol.starts_with(name)) {
            return Callee::Function { name: symbol.into_owned(), assembly: false };
        }
        if crate::unseen::may_access(&symbol, instruction) {
            return Callee::Access(symbol.into_owned());
        }
        let computes = !instruction.get_type().is_void_type()
            && !NOT_COMPUTED.iter().any(|name| symbol.starts_with(name));
        match symbol.split('.').nth(1) {
            Some(name) if computes => Callee::Compute(name.to_owned()),
            _ => Callee::Nothing,
        }
    }
}

/// Which argument of a function can be made wrong, beside the first, and how.
fn special_argument(callee: &str) -> Option<(usize, u64)> {
    Some(match callee {
        "malloc" => (0, role::SIZE),
        "calloc" => (1, role::SIZE),
        "fread" | "fwrite" => (2, role::COUNT),
        _ => return None,
    })
}

impl<'ctx> FunctionPass<'_, 'ctx> {
    /// The call of a function: arguments that can be made wrong before it, a record after it. Gives back what takes the
    /// place of the result.
    pub fn call_function(
        &mut self,
        instruction: InstructionValue<'ctx>,
        callee: &str,
        assembly: bool,
    ) -> Result<Option<BasicValueEnum<'ctx>>, BuilderError> {
        let arguments_of = |instruction| {
            let mut arguments = operands(instruction);
            arguments.pop();
            arguments
        };
        let name = format!("call-{callee}");
        let standard = self.standard.and_then(|_| standard::call(callee));
        // Which thread is the last at a barrier depends on the schedule, and few ask.
        let is_asked = callee != "pthread_barrier_wait" || instruction.get_first_use().is_some();
        let result =
            result(instruction).filter(|_| is_asked && standard != Some(Call::BarrierWait));
        let arguments = arguments_of(instruction);
        let about = About {
            callee,
            has_result: result.is_some(),
            ..About::new(Opcode::Call, name.trim_end_matches('-'))
        };
        // Which function it is, if that is known only now.
        let address = if callee.is_empty() { operands(instruction).pop() } else { None };
        let values = result.iter().chain(&arguments).chain(&address);
        let mut kinds: Vec<_> = values.map(|value| kind(value.get_type())).collect();
        let first = kinds.first().copied();
        kinds.extend(self.extra_kinds(callee));
        self.passes(instruction, &arguments)?;
        let site = self.site(instruction, about, kinds);
        if !assembly {
            self.arguments(instruction, site, callee, &arguments)?;
        }
        let keeps_memory = keeps_memory(callee) && self.is_external(callee);
        if keeps_memory {
            self.caller.builder.position_before(&instruction);
            self.caller.library(true)?;
        }
        if let Some(call) = standard {
            self.caller.builder.position_before(&instruction);
            self.before_call(call, &arguments_of(instruction))?;
        }
        let Some(after) = after(instruction) else { return Ok(None) };
        self.caller.builder.position_before(&after);
        if keeps_memory {
            self.caller.library(false)?;
        }
        // Those that the function was called with: they may be wrong by now.
        let arguments = arguments_of(instruction);
        let mut values: Vec<_> = result.into_iter().chain(arguments.iter().copied()).collect();
        values.extend(address);
        for extra in self.extras(callee) {
            values.push(self.caller.extra(extra, &arguments)?);
        }
        let roles = match result {
            Some(_) if matches!(callee, "malloc" | "calloc") => role::RESULT | role::ALLOCATION,
            Some(_) => role::RESULT,
            None => 0,
        };
        let new = self.record_site(site, first, &values, roles)?;
        if let Some(call) = standard {
            self.after_call(call, &arguments_of(instruction))?;
        }
        Ok(new)
    }

    /// Whether a function is one of a library: it is not instrumented.
    fn is_external(&self, callee: &str) -> bool {
        !self.defined.contains(callee)
    }

    /// The further values of the record of a call of this function, if it is one of a library that is known.
    pub fn extras(&self, callee: &str) -> Vec<Extra> {
        if self.is_external(callee) { extras(callee) } else { Vec::new() }
    }

    fn arguments(
        &mut self,
        instruction: InstructionValue<'ctx>,
        site: usize,
        callee: &str,
        arguments: &[BasicValueEnum<'ctx>],
    ) -> Result<(), BuilderError> {
        let special = special_argument(callee);
        for (at, argument) in arguments.iter().enumerate() {
            let roles = if at == 0 { role::FIRST } else { 0 }
                | special.filter(|special| special.0 == at).map_or(0, |special| special.1);
            let tag = tag(site, Some(kind(argument.get_type())), roles);
            if tag >> 40 != 0 {
                self.caller.builder.position_before(&instruction);
                let bits = self.caller.argument(tag, *argument)?;
                let new = self.caller.values().value(bits, argument.get_type())?;
                instruction.set_operand(at as u32, new);
            }
        }
        Ok(())
    }
}

/// What comes after a call: of an invoke, where it goes on if nothing is thrown.
pub fn after(instruction: InstructionValue) -> Option<InstructionValue> {
    if instruction.get_opcode() != Code::Invoke {
        return instruction.get_next_instruction();
    }
    let mut blocks = (0..instruction.get_num_operands())
        .filter_map(|at| instruction.get_operand(at))
        .filter_map(|operand| operand.block());
    let mut next = blocks.next()?.get_first_instruction();
    while let Some(instruction) = next
        && instruction.get_opcode() == Code::Phi
    {
        next = instruction.get_next_instruction();
    }
    next
}
