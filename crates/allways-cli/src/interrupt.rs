//! Ctrl-C, SIGTERM and SIGHUP: the first asks the search to stop with what it has, the second ends
//! the process, whatever it is doing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The exit code of a process that Ctrl-C ended: 128 and the number of the signal, as shells say.
const KILLED: i32 = 130;

/// Takes them over. Where that is not possible, Ctrl-C ends the process as ever.
pub(crate) fn install(stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    let _ = ctrlc::set_handler(move || {
        if stop.swap(true, Relaxed) {
            // They are not in the group of this process: a terminal does not tell them.
            #[cfg(feature = "epa")]
            allways_epa::campaign::end_all();
            std::process::exit(KILLED);
        }
    });
}
