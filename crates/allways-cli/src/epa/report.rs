//! `allways epa report`: a campaign as a page.

use super::opened;
use crate::args::ReportArgs;
use crate::console::Console;
use crate::{Exit, files};
use allways_epa::campaign::{Directory, Journal, Summary, page};

pub(super) fn command(args: &ReportArgs, console: &mut Console<'_>) -> Result<Exit, String> {
    let directory = Directory(args.campaign.clone());
    if !directory.has_campaign() {
        let name = args.campaign.display();
        return Err(format!("there is no campaign in {name}: `epa inject --out {name}` makes one"));
    }
    let journal = Journal::read(&directory.journal())?;
    let trace = opened(&directory.golden())?;
    let path = args.output.clone().unwrap_or_else(|| args.campaign.join("report.html"));
    // As the heading has them: in quotes that a shell understands, too.
    let flags = match journal.said("cflags") {
        "" => String::new(),
        flags => format!("--cflags={flags} "),
    };
    let (name, program) = (&console.program, journal.said("program"));
    let repeat = format!("{name} epa record {program} {flags}--fault");
    let arguments = match journal.said("arguments") {
        "" => String::new(),
        arguments => format!("-- {arguments}"),
    };
    files::write(&path, &page(&journal, &trace.program, &repeat, &arguments))?;
    let summary = Summary::new(&trace.program, &journal.findings);
    let text = format!("{}saved: {}\n", super::summary::table(&summary), path.display());
    console.print(&text)?;
    Ok(Exit::Holds)
}
