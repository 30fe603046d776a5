//! What each reduction saves: engine `dpor` on systems of the catalogue, engine `global` on those of
//! the thesis's table 5, whose own numbers stand beside.
//!
//! ```text
//! reductions              both tables, in less than ten minutes
//! reductions dpor         the first only
//! reductions global       the second only
//! reductions measure 5 dpor optimal 12 paxos
//! reductions measure 20 global views - paxos-roles learners=2 history=counted
//! ```

mod check;
mod stateful;
mod stateless;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["measure", ref what @ ..] => check::child(what),
        [] => stateless::table().and_then(|()| stateful::table()),
        ["dpor"] => stateless::table(),
        ["global"] => stateful::table(),
        _ => Err(format!("`{}`: write nothing, dpor, global or measure", words.join(" "))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
