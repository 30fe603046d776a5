//! Prints the streams of a trace: `cargo run --example show DIRECTORY`. It reads them as any analysis would.

use allways_epa_format::{PROGRAM_FILE, Program, Record, Records, stream_name};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    match show() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::from(2)
        }
    }
}

fn show() -> Result<(), String> {
    let directory = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: show DIRECTORY")?);
    let table = std::fs::read(directory.join(PROGRAM_FILE)).map_err(|error| error.to_string())?;
    let program = Program::from_bytes(&table).ok_or("the table is none")?;
    for thread in 0.. {
        let Ok(bytes) = std::fs::read(directory.join(stream_name(thread))) else { break };
        let mut records = Records::new(&program, &bytes);
        let mut count = 0_u64;
        while let Some(record) = records.next().map_err(|error| error.to_string())? {
            count += 1;
            match record {
                Record::Event(event) => println!("{thread} {event:?}"),
                Record::Instruction { site, values } => {
                    let known = &program.sites[site as usize];
                    print!("{thread} {site} {}:{} {}", known.function, known.line, known.name);
                    values.iter().for_each(|value| print!(" {value:x}"));
                    println!();
                }
            }
        }
        println!("{thread}: {count} records, {} bytes", records.position());
    }
    Ok(())
}
