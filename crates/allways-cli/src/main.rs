//! `allways`: the commands on the catalogue.

use std::process::ExitCode;

fn main() -> ExitCode {
    allways_cli::main(allways_catalogue::entries())
}
