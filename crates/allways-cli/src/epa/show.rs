//! `allways epa show`: a trace as text.

use super::opened;
use crate::Exit;
use crate::args::ShowTraceArgs;
use crate::console::Console;
use allways_epa::sanitise::Sanitised;

pub(super) fn command(args: &ShowTraceArgs, console: &mut Console<'_>) -> Result<Exit, String> {
    let trace = opened(&args.trace)?;
    let mut text = Vec::new();
    let written = if args.raw {
        trace.write_text(&mut text)
    } else {
        let sanitised = Sanitised::new(&trace).map_err(|error| error.to_string())?;
        match args.objects {
            true => {
                sanitised.write_objects(&mut text).and_then(|()| sanitised.write_threads(&mut text))
            }
            false => sanitised.write_records(&mut text),
        }
    };
    written.map_err(|error| format!("the trace could not be shown: {error}"))?;
    console.print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Holds)
}
