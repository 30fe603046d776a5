//! Makes a program log what it does: a pass over LLVM's bitcode, as LLFI did for Trace Sanitizer (thesis, chapter 5).
//!
//! The compiler makes bitcode of the program; each instruction that is logged becomes a site of a table, and a call of the runtime is added
//! to it. The table is compiled into the program. Code is made and linked with the runtime, which writes what is logged, and
//! makes one value wrong if asked to.
//!
//! | file | what |
//! |---|---|
//! | `options.rs` | the command line |
//! | `compile.rs` | bitcode of C, C++ and Rust |
//! | `link.rs` | an executable of it |
//! | `instrument.rs` | the pass over a module |
//! | `instruction.rs`, `calls.rs` | what is logged of each instruction |
//! | `standard.rs`, `quiet.rs` | what functions of Rust's standard library stand for, and which are quiet |
//! | `hooks.rs` | calls of the runtime |
//! | `values.rs` | values as 64 bits |
//! | `unseen.rs` | accesses to memory that no instruction shows |
//! | `table.rs` | what is compiled into the program beside that |
//! | `files.rs`, `names.rs` | where functions are in the source, and how they are called |

mod calls;
mod compile;
mod files;
mod hooks;
mod instruction;
mod instrument;
mod link;
mod names;
mod options;
mod quiet;
mod standard;
mod table;
mod unseen;
mod values;

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine,
};
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|first| first == "--help" || first == "-h") {
        println!("Makes a program log what it does, for `allways epa`.\n\n{}", options::USAGE);
        return ExitCode::SUCCESS;
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("allways-instrument: {reason}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let options = options::Options::from_arguments(std::env::args_os().skip(1))?;
    let work = compile::WorkDirectory::new()?;
    let linker = link::Linker::find(&options)?;
    let bitcode = compile::bitcode(&options, &work)?;
    let context = Context::create();
    let module = Module::parse_bitcode_from_path(&bitcode, &context)
        .map_err(|error| format!("LLVM cannot read the bitcode of {}: {error}", options.name()))?;
    let machine = machine(&module)?;
    let sites = if options.plain {
        0
    } else {
        instrument::instrument(&module, &machine, &options.name(), options.language)?.sites.len()
    };
    let object = work.path().join("program.o");
    machine
        .write_to_file(&module, FileType::Object, &object)
        .map_err(|error| format!("LLVM makes no code of {}: {error}", options.name()))?;
    linker.link(&options, &work, &object)?;
    println!("{}: {sites} sites", options.output.display());
    Ok(())
}

/// Makes code for the platform that the module is for. The instrumented and the plain program are compiled alike.
fn machine(module: &Module) -> Result<TargetMachine, String> {
    Target::initialize_native(&InitializationConfig::default())?;
    let triple = module.get_triple();
    let target = Target::from_triple(&triple).map_err(|error| error.to_string())?;
    target
        .create_target_machine(
            &triple,
            "",
            "",
            OptimizationLevel::Default,
            RelocMode::PIC,
            CodeModel::Default,
        )
        .ok_or_else(|| format!("LLVM makes no code for {triple}"))
}
