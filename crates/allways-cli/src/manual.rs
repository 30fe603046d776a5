//! `allways completions` and `allways man`: what shells and `man` know about the commands.

use crate::args::{Cli, CompletionsArgs, ManArgs, described};
use crate::console::Console;
use crate::{Entry, Exit};
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

pub(crate) fn completions(
    entries: &[Entry],
    args: &CompletionsArgs,
    console: &mut Console<'_>,
) -> Result<Exit, String> {
    let mut script = Vec::new();
    let program = console.program.clone();
    clap_complete::generate(args.shell, &mut described(entries, &program), &program, &mut script);
    if args.shell == Shell::Fish {
        script.extend(fish_systems(entries, &program).into_bytes());
    }
    print(&script, console)
}

/// The names of the systems for fish, which is told about flags and commands only.
fn fish_systems(entries: &[Entry], program: &str) -> String {
    let function = program.replace('-', "_");
    let quoted = |text: &str| text.replace('\\', r"\\").replace('\'', r"\'");
    let complete = |entry: &Entry| {
        format!(
            "complete -c {program} -n \"__fish_{function}_using_subcommand list check\" -f -a '{}' -d '{}'\n",
            quoted(entry.name),
            quoted(entry.about)
        )
    };
    let deployed = entries.iter().filter(|entry| entry.is_deployable());
    let deployed = deployed.map(|entry| complete(entry).replace(" list check\"", " live\""));
    entries.iter().map(complete).chain(deployed).collect()
}

pub(crate) fn man(args: &ManArgs, console: &mut Console<'_>) -> Result<Exit, String> {
    let program = &console.program;
    let mut command = Cli::command().name(program.clone()).bin_name(program);
    command.build();
    if let Some(name) = &args.command {
        let Some(found) = command.find_subcommand(name) else {
            let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
            let names: Vec<&str> = shown.map(clap::Command::get_name).collect();
            return Err(format!("there is no command `{name}`; there is {}", names.join(", ")));
        };
        // `man` knows pages by one word: the page of `allways check` is allways-check(1).
        let found = found.clone().name(format!("{program}-{name}"));
        command = found.version(env!("CARGO_PKG_VERSION"));
    }
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut page = Vec::new();
    let written = Man::new(command.after_help(None::<&str>)).render(&mut page);
    written.map_err(|error| format!("the page could not be written: {error}"))?;
    page.extend(sections(&help).into_bytes());
    print(&page, console)
}

/// What stands below the flags in a help text, as sections of a page: its lines stay as they are.
fn sections(help: &str) -> String {
    let mut page = String::new();
    for block in help.split("\n\n") {
        let lines = match block.split_once(":\n") {
            Some((title, lines)) if !title.contains('\n') => {
                page.push_str(&format!(".SH {}\n", escaped(&title.to_uppercase())));
                lines
            }
            _ => {
                page.push_str(".PP\n");
                block
            }
        };
        page.push_str(".nf\n");
        for line in lines.lines() {
            page.push_str(&format!("{}\n", escaped(line)));
        }
        page.push_str(".fi\n");
    }
    page
}

/// A line of text that `man` shows as it is.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if line.starts_with('.') { format!("\\&{line}") } else { line }
}

fn print(text: &[u8], console: &mut Console<'_>) -> Result<Exit, String> {
    console.print(&String::from_utf8_lossy(text))?;
    Ok(Exit::Holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_keep_their_lines_on_a_page() {
        let page = sections("Examples:\n  a --b   c\n  'd'\n\nA sentence.");
        let expected =
            ".SH EXAMPLES\n.nf\n  a \\-\\-b   c\n  \\(aqd\\(aq\n.fi\n.PP\n.nf\nA sentence.\n.fi\n";
        assert_eq!(page, expected);
        assert_eq!(escaped(".x\\y"), "\\&.x\\ey");
    }
}
