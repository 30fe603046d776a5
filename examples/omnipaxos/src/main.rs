//! The commands of `allways` for three servers of omnipaxos 0.2.4:
//!
//! ```text
//! cargo run --release -p check-omnipaxos -- check
//! ```

mod disk;
mod fingerprint;
mod server;
mod system;
mod version;

fn main() -> std::process::ExitCode {
    allways_cli::main(&[system::ENTRY])
}

#[cfg(test)]
mod identity_tests;
#[cfg(test)]
mod tests;
