//! Functions whose results nobody can foresee: stand-in.

use crate::args::JudgeArgs;
use allways_epa::trace::Trace;

const KNOWN: [&str; 8] =
    ["rand", "random", "time", "gettimeofday", "clock", "clock_gettime", "getpid", "gettid"];

/// Which of them a program called, in words.
pub(super) fn unforeseen(trace: &Trace, args: &JudgeArgs) -> Vec<String> {
    let mut called: Vec<&str> =
        trace.program.sites.iter().map(|site| site.callee.as_str()).collect();
    called.sort_unstable();
    called.dedup();
    called.retain(|name| {
        let denied = KNOWN.contains(name) || args.deny.iter().any(|denied| denied == name);
        !name.is_empty() && denied && !args.allow.iter().any(|allowed| allowed == name)
    });
    called.iter().map(|name| format!("`{name}` is not deterministic")).collect()
}
