//! `allways show`: a saved run as text, or in a format that others read.

use crate::args::{ShowArgs, ShowFormat};
use crate::console::Console;
use crate::files;
use crate::run_file::RunFile;
use crate::{Entry, Exit};
use allways::{Replayed, SavedRun, Story, TextOptions};

pub(crate) fn show(
    entries: &[Entry],
    args: &ShowArgs,
    console: &mut Console<'_>,
) -> Result<Exit, String> {
    let wanted = args.formats();
    if wanted.iter().filter(|(_, file)| file.is_none()).count() > 1 {
        return Err("only one format can go to standard output; give the others a FILE".to_owned());
    }
    let file = RunFile::open(entries, &args.run, &args.set)?;
    let (story, saved) = told(&file, args, console)?;
    let about = file.about(&args.run, &console.program);
    for (format, path) in wanted {
        let mut options = console.text_options(args.color, path.is_none());
        options.width = args.width.unwrap_or(options.width);
        options.unicode &= !args.ascii;
        options.all_steps = args.all;
        let text = match format {
            ShowFormat::Text => text(&story, &options),
            ShowFormat::Junit => {
                let plain = TextOptions { color: false, ..options };
                saved.junit(&text(&story, &plain))
            }
            ShowFormat::Other(format) => {
                let text = story.render(format, &about);
                if text.ends_with('\n') { text } else { text + "\n" }
            }
        };
        match path {
            Some(path) => files::write(path, &text)?,
            None => console.print(&text)?,
        }
    }
    Ok(Exit::Holds)
}

/// The run as the code carries it out now, with what its end shows if it still shows that; and what
/// is violated as it is now.
fn told(
    file: &RunFile<'_>,
    args: &ShowArgs,
    console: &mut Console<'_>,
) -> Result<(Story, SavedRun), String> {
    let in_words = |error: allways::Error| error.to_string();
    let mut saved = file.saved.clone();
    let story = match file.system.replay(&saved).map_err(in_words)? {
        Replayed::StillViolates { violation } => {
            saved.violation = violation;
            file.system.violation_story(&saved.violation).map_err(in_words)?
        }
        Replayed::NoLongerViolates { why } => {
            let note = format!("{}: the run no longer violates: {why}\n", console.program);
            console.note(&note);
            file.system.story(&saved.violation.run).map_err(in_words)?
        }
        applies @ Replayed::NoLongerApplies { .. } => {
            let what = applies.to_string();
            let what = what.lines().next().unwrap_or_default();
            return Err(format!("{}: the run {what}", args.run.display()));
        }
    };
    Ok((story, saved))
}

/// A story as text, without empty lines around it.
pub(crate) fn text(story: &Story, options: &TextOptions) -> String {
    format!("{}\n", story.text(options).trim_matches('\n'))
}
