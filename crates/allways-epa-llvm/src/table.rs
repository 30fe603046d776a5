//! What is compiled into the program beside its hooks: the table of its sites, the addresses of its globals, and a constructor that gives
//! both to the runtime.
//!
//! The constructor is an entry of the section of such entries, with a number before those of C++: so nothing that the module has
//! already for this purpose needs to be changed.

use crate::names::readable;
use allways_epa_format::{Global, Program};
use inkwell::AddressSpace;
use inkwell::builder::BuilderError;
use inkwell::module::{Linkage, Module};
use inkwell::targets::TargetData;
use inkwell::types::{AnyTypeEnum, BasicTypeEnum};
use inkwell::values::{GlobalValue, PointerValue};

/// Names that LLVM gives a meaning to, and those of the runtime.
fn is_reserved(name: &str) -> bool {
    name.starts_with("llvm.") || name.starts_with("__allways_")
}

/// How many bytes a global variable has; 0 if nobody knows here.
fn bytes(global: GlobalValue, data: &TargetData) -> u64 {
    match global.get_value_type() {
        AnyTypeEnum::StructType(known) if known.is_opaque() => 0,
        known => BasicTypeEnum::try_from(known).map_or(0, |known| data.get_abi_size(&known)),
    }
}

/// The global variables and functions of a module, and where they are.
pub fn globals<'ctx>(
    module: &Module<'ctx>,
    data: &TargetData,
) -> (Vec<Global>, Vec<PointerValue<'ctx>>) {
    let mut globals = Vec::new();
    let mut addresses = Vec::new();
    for global in module.get_globals() {
        let name = global.get_name().to_string_lossy();
        // A variable of each thread has no one address.
        if !is_reserved(&name) && !global.is_thread_local() {
            let (bytes, constant) = (bytes(global, data), global.is_constant());
            globals.push(Global { name: readable(&name), bytes, constant });
            addresses.push(global.as_pointer_value());
        }
    }
    for function in module.get_functions() {
        let name = function.get_name().to_string_lossy();
        if !is_reserved(&name) {
            globals.push(Global { name: readable(&name), bytes: 0, constant: true });
            addresses.push(function.as_global_value().as_pointer_value());
        }
    }
    (globals, addresses)
}

/// Compiles the table into the module.
pub fn embed<'ctx>(
    module: &Module<'ctx>,
    program: &Program,
    addresses: &[PointerValue<'ctx>],
) -> Result<(), BuilderError> {
    let context = module.get_context();
    let word = context.i64_type();
    let pointer = context.ptr_type(AddressSpace::default());
    let constant = |name: &str, value: inkwell::values::ArrayValue<'ctx>| {
        let global = module.add_global(value.get_type(), None, name);
        global.set_initializer(&value);
        global.set_constant(true);
        global.set_linkage(Linkage::Internal);
        global.as_pointer_value()
    };
    let table = program.to_bytes();
    let length = word.const_int(table.len() as u64, false);
    let table = constant("__allways_table", context.const_string(&table, false));
    let count = word.const_int(addresses.len() as u64, false);
    let addresses = constant("__allways_addresses", pointer.const_array(addresses));

    let nothing = context.void_type();
    let type_ = nothing.fn_type(&[pointer.into(), word.into(), pointer.into(), word.into()], false);
    let begin = module.add_function("__allways_begin", type_, None);
    let constructor = module.add_function(
        "__allways_constructor",
        nothing.fn_type(&[], false),
        Some(Linkage::Internal),
    );
    let builder = context.create_builder();
    builder.position_at_end(context.append_basic_block(constructor, "entry"));
    builder.build_call(
        begin,
        &[table.into(), length.into(), addresses.into(), count.into()],
        "",
    )?;
    builder.build_return(None)?;

    let entry = module.add_global(pointer, None, "__allways_entry");
    entry.set_initializer(&constructor.as_global_value().as_pointer_value());
    entry.set_section(Some(".init_array.00101"));
    entry.set_linkage(Linkage::Internal);
    Ok(())
}
