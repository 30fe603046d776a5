//! The pass over a module: every function, every instruction of it, and the table.

use crate::hooks::{Caller, Hooks};
use crate::instruction::FunctionPass;
use crate::options::Language;
use crate::standard::Standard;
use crate::{files, names, table};
use allways_epa_format::Program;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::TargetMachine;
use std::collections::HashSet;

/// Instruments a module, and checks that it is still one.
pub fn instrument(
    module: &Module,
    machine: &TargetMachine,
    name: &str,
    language: Language,
) -> Result<Program, String> {
    // Afterwards, where an invoke goes on is reached from nowhere else: so what is logged there is logged of it alone.
    module
        .run_passes("break-crit-edges", machine, PassBuilderOptions::create())
        .map_err(|error| format!("the edges of {name} cannot be split: {error}"))?;
    let data = machine.get_target_data();
    let text = module.print_to_string().to_string();
    let files = files::of_functions(&text);
    let standard = (language == Language::Rust).then(|| Standard::new(&text));
    let functions: Vec<_> =
        module.get_functions().filter(|function| function.count_basic_blocks() > 0).collect();
    let mut program = Program { name: name.to_owned(), ..Program::default() };
    let (globals, addresses) = table::globals(module, &data);
    program.globals = globals;
    let hooks = Hooks::declare(module);
    let builder = module.get_context().create_builder();
    let defined: HashSet<String> = functions
        .iter()
        .map(|function| names::readable(&function.get_name().to_string_lossy()))
        .collect();
    for function in functions {
        let symbol = function.get_name().to_string_lossy().into_owned();
        let mut pass = FunctionPass {
            module,
            data: &data,
            program: &mut program,
            caller: Caller::new(&hooks, &builder, function),
            name: names::readable(&symbol),
            file: files.get(&symbol).cloned().unwrap_or_default(),
            defined: &defined,
            standard: standard.as_ref(),
        };
        pass.run(function).map_err(|error| format!("{symbol} cannot be instrumented: {error}"))?;
    }
    table::embed(module, &program, &addresses)
        .map_err(|error| format!("the table of {name} cannot be added: {error}"))?;
    module
        .verify()
        .map_err(|error| format!("{name} is not valid once it is instrumented: {error}"))?;
    Ok(program)
}
