//! The commands of `allways` for three servers of omnipaxos 0.2.2, in which decided logs may part:
//!
//! ```text
//! cargo run --release -- check
//! ```
//!
//! All but what the versions of the crate do differently is that of the example beside this one.

#[path = "../../omnipaxos/src/disk.rs"]
mod disk;
#[path = "../../omnipaxos/src/fingerprint.rs"]
mod fingerprint;
#[path = "../../omnipaxos/src/server.rs"]
mod server;
#[path = "../../omnipaxos/src/system.rs"]
mod system;
mod version;

fn main() -> std::process::ExitCode {
    allways_cli::main(&[system::ENTRY])
}

#[cfg(test)]
#[path = "../../omnipaxos/src/identity_tests.rs"]
mod identity_tests;
#[cfg(test)]
mod tests;
