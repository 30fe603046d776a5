//! The commands of `allways` for raft:
//!
//! ```text
//! cargo run --release -p check-raft -- check
//! cargo run --release -p check-raft -- check --set bug=forgets-vote --save out
//! cargo run --release -p check-raft -- replay out/run.json
//! ```

fn main() -> std::process::ExitCode {
    allways_cli::main(std::slice::from_ref(&check_raft::RAFT))
}
