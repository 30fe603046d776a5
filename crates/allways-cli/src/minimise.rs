//! `allways minimise`: a saved run minimised.

use crate::args::MinimiseArgs;
use crate::console::Console;
use crate::files::{self, typed};
use crate::run_file::RunFile;
use crate::text::next;
use crate::{Entry, Exit, interrupt};
use allways::MinimiseOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) fn minimise(
    entries: &[Entry],
    args: &MinimiseArgs,
    console: &mut Console<'_>,
) -> Result<Exit, String> {
    let target = args.output.clone().unwrap_or_else(|| beside(&args.run));
    let file = RunFile::open(entries, &args.run, &[])?;
    files::will_be_written(&target)?;
    if console.catches_interrupts {
        interrupt::install(&console.stop);
    }
    let mut options =
        MinimiseOptions { stop: Some(Arc::clone(&console.stop)), ..MinimiseOptions::default() };
    options.max_time = args.max_seconds.unwrap_or(options.max_time);
    let (violation, minimised) = file
        .system
        .minimise(&file.saved.violation, &options)
        .map_err(|error| format!("{}: {error}", args.run.display()))?;
    let mut saved = file.saved.clone();
    saved.violation = violation;
    files::write(&target, &saved.to_json())?;
    let heading = file.title();
    let verdict = if minimised.is_smaller() { "minimised" } else { "not minimised further" };
    let to = target.display();
    let show = format!("{} show {}", console.program, typed(&target));
    let next = next(&[(show, "to see what happens")]);
    console.print(&format!("{heading}\n{verdict}: {minimised}\nsaved: {to}\n\n{next}"))?;
    Ok(Exit::Holds)
}

/// `run.min.json` for `run.json`.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".json").unwrap_or(&name);
    path.with_file_name(format!("{stem}.min.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_beside_the_run_and_never_the_run_itself() {
        assert_eq!(beside(Path::new("out/run.json")), Path::new("out/run.min.json"));
        assert_eq!(beside(Path::new("run")), Path::new("run.min.json"));
        assert_eq!(beside(Path::new("run.min.json")), Path::new("run.min.min.json"));
    }
}
