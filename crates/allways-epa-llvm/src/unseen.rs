//! Accesses to memory that no instruction shows: structures that are passed by value, what LLVM knows itself and accesses memory, and
//! calls after which nothing of the function can be logged any more.
//!
//! A structure that is passed by value is copied by the call, so it is read there, and the copy is memory on the stack of the function
//! that is called. What LLVM knows itself and is given pointers is logged as a call, unless it is known to access nothing: so the
//! analysis takes all that it is given as read and written. A call that must be the last thing of its function is logged before,
//! without its result, and so is the return.

use crate::calls::Callee;
use crate::instruction::{About, FunctionPass, operands, result};
use crate::names::readable;
use allways_epa_format::library::Extra;
use allways_epa_format::{Opcode, ValueKind};
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::builder::BuilderError;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{
    BasicValueEnum, CallSiteValue, FunctionValue, InstructionOpcode as Code, InstructionValue,
    LLVMTailCallKind,
};

/// What LLVM knows itself, is given pointers, and accesses nothing by them.
const ACCESS_NOTHING: [&str; 24] = [
    "llvm.dbg.",
    "llvm.lifetime.",
    "llvm.invariant.",
    "llvm.launder.",
    "llvm.strip.",
    "llvm.prefetch",
    "llvm.assume",
    "llvm.ptrmask",
    "llvm.objectsize",
    "llvm.va_",
    "llvm.stackrestore",
    "llvm.is.constant",
    "llvm.annotation",
    "llvm.ptr.annotation",
    "llvm.var.annotation",
    "llvm.eh.",
    "llvm.experimental.noalias",
    "llvm.experimental.constrained",
    "llvm.threadlocal.address",
    "llvm.expect",
    "llvm.type.",
    "llvm.localescape",
    "llvm.fake.use",
    "llvm.pseudoprobe",
];

/// Whether an operand has addresses.
fn has_addresses(operand: &BasicValueEnum) -> bool {
    match operand {
        BasicValueEnum::PointerValue(_) => true,
        BasicValueEnum::VectorValue(vector) => {
            vector.get_type().get_element_type().is_pointer_type()
        }
        _ => false,
    }
}

/// Whether a call of what LLVM knows itself may access memory.
pub fn may_access(symbol: &str, instruction: InstructionValue) -> bool {
    let mut operands = operands(instruction);
    operands.pop();
    operands.iter().any(has_addresses)
        && !ACCESS_NOTHING.iter().any(|known| symbol.starts_with(known))
}

/// Whether a return comes right after a call by which the function ends.
pub fn is_after_last_call(instruction: InstructionValue) -> bool {
    let mut before = instruction.get_previous_instruction();
    if let Some(cast) = before
        && cast.get_opcode() == Code::BitCast
    {
        before = cast.get_previous_instruction();
    }
    before.is_some_and(|call| {
        call.get_opcode() == Code::Call
            && call.get_tail_call_kind() == Ok(LLVMTailCallKind::LLVMTailCallKindMustTail)
    })
}

impl<'ctx> FunctionPass<'_, 'ctx> {
    /// What the function was passed by value is memory on its stack.
    pub fn passed(
        &mut self,
        function: FunctionValue<'ctx>,
        first: InstructionValue<'ctx>,
    ) -> Result<(), BuilderError> {
        let byval = Attribute::get_named_enum_kind_id("byval");
        for (at, parameter) in (0..).zip(function.get_params()) {
            let attribute = function.get_enum_attribute(AttributeLoc::Param(at), byval);
            let Some(bytes) = self.passed_bytes(attribute) else { continue };
            let bytes = self.module.get_context().i64_type().const_int(bytes, false);
            let about = About::new(Opcode::Alloca, "passed");
            self.record(first, about, &[parameter, bytes.into()], 0)?;
        }
        Ok(())
    }

    /// How many bytes are passed by value, if this is what an attribute says.
    fn passed_bytes(&self, attribute: Option<Attribute>) -> Option<u64> {
        let attribute = attribute?;
        let passed = BasicTypeEnum::try_from(attribute.get_type_value()).ok()?;
        Some(self.data.get_store_size(&passed))
    }

    /// What is passed by value is read by the call: a record for each before it.
    pub fn passes(
        &mut self,
        instruction: InstructionValue<'ctx>,
        arguments: &[BasicValueEnum<'ctx>],
    ) -> Result<(), BuilderError> {
        let call = CallSiteValue::try_from(instruction).ok();
        // Of a call that may throw, only the function tells how it is passed.
        let callee = operands(instruction).pop().and_then(|callee| match callee {
            BasicValueEnum::PointerValue(callee) => {
                self.module.get_function(&callee.get_name().to_string_lossy())
            }
            _ => None,
        });
        let byval = Attribute::get_named_enum_kind_id("byval");
        for (at, argument) in (0..).zip(arguments) {
            let place = AttributeLoc::Param(at);
            let attribute = match (call, callee) {
                (Some(call), _) => call.get_enum_attribute(place, byval),
                (None, Some(callee)) => callee.get_enum_attribute(place, byval),
                (None, None) => None,
            };
            let Some(bytes) = self.passed_bytes(attribute) else { continue };
            self.caller.builder.position_before(&instruction);
            // What is read is not logged: the function that is called loads it from its copy.
            let nothing = self.module.get_context().i64_type().const_zero();
            let about = About { bytes, ..About::new(Opcode::Load, "pass") };
            self.record(instruction, about, &[nothing.into(), *argument], 0)?;
        }
        Ok(())
    }

    /// What LLVM knows itself and accesses memory.
    pub fn intrinsic(
        &mut self,
        instruction: InstructionValue<'ctx>,
        symbol: &str,
    ) -> Result<(), BuilderError> {
        let mut operands = operands(instruction);
        operands.pop();
        let address = operands.iter().copied().find(|operand| operand.is_pointer_value());
        // Parts that are masked are taken as accessed, too.
        if symbol.starts_with("llvm.masked.load.")
            && let (Some(address), Some(result)) = (address, result(instruction))
        {
            let bytes = self.data.get_store_size(&result.get_type());
            let about = About { bytes, ..About::new(Opcode::Load, "load") };
            return self.record_result(instruction, about, &[address]);
        }
        if symbol.starts_with("llvm.masked.store.")
            && let (Some(address), Some(value)) = (address, operands.first())
        {
            let bytes = self.data.get_store_size(&value.get_type());
            let about = About { bytes, ..About::new(Opcode::Store, "store") };
            return self.record_after(instruction, about, &[*value, address]);
        }
        let Some(next) = instruction.get_next_instruction() else { return Ok(()) };
        self.caller.builder.position_before(&next);
        let word = self.module.get_context().i64_type();
        let mut addresses = Vec::new();
        for operand in operands.into_iter().filter(has_addresses) {
            match operand {
                BasicValueEnum::VectorValue(vector) => {
                    for part in 0..vector.get_type().get_size() {
                        let part = word.const_int(part.into(), false);
                        let address =
                            self.caller.builder.build_extract_element(vector, part, "")?;
                        addresses.push(address);
                    }
                }
                operand => addresses.push(operand),
            }
        }
        let name = format!("call-{symbol}");
        let about = About { callee: symbol, ..About::new(Opcode::Call, &name) };
        match result(instruction) {
            Some(_) => self.record_result(instruction, about, &addresses),
            None => self.record(instruction, about, &addresses, 0).map(drop),
        }
    }

    /// A call after which nothing can be logged: of a function by which this one ends, or assembly that jumps.
    pub fn call_before(&mut self, instruction: InstructionValue<'ctx>) -> Result<(), BuilderError> {
        let (mut callee, mut address) = (String::new(), None);
        let is_tail = instruction.get_opcode() != Code::CallBr;
        let mut arguments = operands(instruction);
        let target = arguments.pop();
        match target {
            Some(BasicValueEnum::PointerValue(target)) if is_tail => {
                let symbol = target.get_name().to_string_lossy();
                match self.module.get_function(&symbol) {
                    Some(known) if known.as_global_value().as_pointer_value() == target => {
                        callee = readable(&symbol);
                    }
                    _ => address = Some(BasicValueEnum::from(target)),
                }
            }
            _ => callee = Callee::ASSEMBLY.to_owned(),
        }
        self.passes(instruction, &arguments)?;
        self.caller.builder.position_before(&instruction);
        let mut values = arguments.clone();
        values.extend(address);
        for extra in self.extras(&callee) {
            values.push(self.caller.extra(extra, &arguments)?);
        }
        let name = format!("call-{callee}");
        let name = name.trim_end_matches('-');
        let about = About { callee: &callee, ..About::new(Opcode::Call, name) };
        self.record(instruction, about, &values, 0)?;
        if is_tail {
            self.record(instruction, About::new(Opcode::Return, "ret"), &[], 0)?;
        }
        Ok(())
    }

    /// The kinds of the further values of a call of this function.
    pub fn extra_kinds(&self, callee: &str) -> Vec<ValueKind> {
        let kinds = self.extras(callee).into_iter().map(|extra| match extra {
            Extra::Text(_) => ValueKind::Int(64),
            Extra::Target(_) | Extra::Standard(_) => ValueKind::Pointer,
        });
        kinds.collect()
    }
}
