//! The arguments: what there is, what it is called, and the help that a newcomer works from.

#[cfg(feature = "bmc")]
mod bmc;
mod check;
#[cfg(feature = "epa")]
mod epa;
mod live;
mod run_file;
mod values;

use crate::Entry;
#[cfg(feature = "bmc")]
pub(crate) use bmc::{BmcArgs, Emit, constants};
pub(crate) use check::{CheckArgs, Output};
use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
#[cfg(feature = "epa")]
pub(crate) use epa::{
    CheckTraceArgs, CompareArgs, EpaArgs, EpaCommand, InjectArgs, JudgeArgs, ProgramArgs,
    RecordArgs, ReportArgs, ShowTraceArgs,
};
pub(crate) use live::{LiveArgs, LiveNodeArgs};
pub(crate) use run_file::{MinimiseArgs, ReplayArgs, ShowArgs, ShowFormat};
use std::str::FromStr;
use values::truth;

const EXIT_CODES: &str = "\
Exit codes:
  0  every property holds
  1  a property is violated
  2  wrong usage or input: nothing was checked
  3  inconclusive: a bound was reached, and no violation was found until then";

const HELP: &str = "\
Examples:
  allways list                                  what there is to check
  allways check paxos                           check a system as it is
  allways check paxos --set bug=last-promise    bring back a known mistake, and see its run
  allways check zab --max-seconds 60            stop after a minute with what is known by then
  allways check dining                          threads and locks: every order in which they can run
  allways check paxos --set bug=last-promise --save out
  allways show out/run.json --html run.html     look at its run in a browser
  allways replay out/run.json                   does the code as it is now still violate?
  allways bmc peterson.pbmc                     a concurrent program in a file, to a bounded depth
  allways epa inject sum.c --runs 1000          make values wrong, and see how far errors go
  allways live paxos --drop 0.3 --for 60        deploy it, and predict what can go wrong
  allways check --help                          engines, bounds, exit codes
  source <(allways completions bash)            complete commands and names with the tab key
  allways man | man -l -                        all this as a manual page; `allways man check` for check";

/// The examples of what there is here.
fn help() -> String {
    let is_here = |line: &&str| {
        (cfg!(feature = "bmc") || !line.contains(" bmc "))
            && (cfg!(feature = "epa") || !line.contains(" epa "))
    };
    HELP.lines().filter(is_here).collect::<Vec<_>>().join("\n")
}

const LIST_HELP: &str = "\
Examples:
  allways list                                  all systems
  allways list paxos                            one of them
  allways list --json | jq '.systems[].name'

What is listed:
  parameters  with their defaults and ranges; change one with `check SYSTEM --set name=value`
  bugs        known mistakes; bring one back with `check SYSTEM --set bug=NAME`, and the other
              parameters default to the smallest that show it
  properties  `always` holds in every reachable global state, `sometimes` in at least one,
              `never stuck` allows a global state without successors only where it says so; of a
              program of threads, that no thread panics or gets into trouble

Exit codes:
  0  listed
  2  wrong usage or input";

const COMPLETIONS_HELP: &str = "\
Examples:
  source <(allways completions bash)                               for this shell only
  allways completions bash > ~/.local/share/bash-completion/completions/allways
  allways completions zsh > \"${fpath[1]}/_allways\"
  allways completions fish > ~/.config/fish/completions/allways.fish

Exit codes:
  0  printed
  2  wrong usage";

const MAN_HELP: &str = "\
Examples:
  allways man | man -l -                        read it
  allways man check | man -l -                  the page of one command
  allways man > ~/.local/share/man/man1/allways.1

Exit codes:
  0  printed
  2  wrong usage";

/// Checks distributed systems as they are implemented: every order of messages, every crash, every order of threads.
#[derive(Parser)]
#[command(
    name = "allways",
    version,
    after_help = format!("{}\n\n{EXIT_CODES}", help()),
    arg_required_else_help = true,
    subcommand_required = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Shows the systems, their parameters with defaults, their bugs and their properties.
    #[command(after_help = LIST_HELP)]
    List(ListArgs),
    /// Checks a system: runs it every way it can run and says whether its properties hold.
    #[command(after_help = format!("{}\n{EXIT_CODES}", check::HELP))]
    Check(Box<CheckArgs>),
    /// Carries out a saved run against the code as it is now, and says whether it still violates.
    #[command(after_help = run_file::REPLAY_HELP)]
    Replay(ReplayArgs),
    /// Shows a saved run: as text, as a page, as a picture, as a test.
    #[command(after_help = run_file::SHOW_HELP)]
    Show(Box<ShowArgs>),
    /// Makes a saved run smaller: fewer events that violate the same property.
    #[command(after_help = run_file::MINIMISE_HELP)]
    Minimise(MinimiseArgs),
    /// Checks a concurrent program in a file: every run of at most so many steps.
    #[cfg(feature = "bmc")]
    #[command(after_help = format!("{}\n{EXIT_CODES}", bmc::HELP))]
    Bmc(Box<BmcArgs>),
    /// Makes values of a program with threads wrong, and says how far errors go.
    #[cfg(feature = "epa")]
    #[command(after_help = epa::HELP)]
    Epa(EpaArgs),
    /// Deploys a system, and predicts from where it is what can go wrong.
    #[command(after_help = live::HELP)]
    Live(Box<LiveArgs>),
    /// A node of a deployment.
    #[command(hide = true)]
    LiveNode(Box<LiveNodeArgs>),
    /// Prints what a shell needs to complete commands, flags and names of systems.
    #[command(after_help = COMPLETIONS_HELP)]
    Completions(CompletionsArgs),
    /// Prints a manual page.
    #[command(after_help = MAN_HELP)]
    Man(ManArgs),
}

#[derive(Args)]
pub(crate) struct ListArgs {
    /// Only this system.
    pub system: Option<String>,
    /// Print one JSON object.
    #[arg(long, env = "ALLWAYS_JSON", action = ArgAction::SetTrue, value_parser = truth)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// The shell: bash, zsh or fish.
    #[arg(value_parser = shell)]
    pub shell: Shell,
}

#[derive(Args)]
pub(crate) struct ManArgs {
    /// The command that the page is about; without it, the page is about all of them.
    pub command: Option<String>,
}

fn shell(text: &str) -> Result<Shell, String> {
    match text {
        "bash" => Ok(Shell::Bash),
        "zsh" => Ok(Shell::Zsh),
        "fish" => Ok(Shell::Fish),
        _ => Err(format!("there is no shell `{text}` here; choose bash, zsh or fish")),
    }
}

/// When to colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Color {
    /// On a terminal, unless the environment says no.
    #[default]
    Auto,
    Always,
    Never,
}

impl FromStr for Color {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Color::Auto),
            "always" => Ok(Color::Always),
            "never" => Ok(Color::Never),
            _ => Err(format!("`{text}` is no time to colour; choose auto, always or never")),
        }
    }
}

/// The commands of a program with these systems: help speaks of the program by its name, and only of what it can do.
pub(crate) fn called(entries: &[Entry], program: &str) -> clap::Command {
    let command = Cli::command();
    if program == "allways" {
        return command;
    }
    let named = |command: clap::Command| {
        let help = command.get_after_help().map(ToString::to_string);
        match help {
            Some(help) => command.after_help(help.replace("allways ", &format!("{program} "))),
            None => command,
        }
    };
    let names: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let mut command = named(command);
    for name in names {
        let is_idle = name == "live" && !entries.iter().any(Entry::is_deployable);
        command = command.mut_subcommand(&name, |sub| {
            let sub = named(sub);
            if is_idle { sub.hide(true) } else { sub }
        });
    }
    command
}

/// The commands of a program with these systems, with all names that can be known beforehand.
pub(crate) fn described(entries: &[Entry], program: &str) -> clap::Command {
    let names: Vec<&'static str> = entries.iter().map(|entry| entry.name).collect();
    let systems = |command: clap::Command| {
        let names = names.clone();
        command.mut_arg("system", |arg| arg.value_parser(PossibleValuesParser::new(names)))
    };
    let words = |words: &'static [&'static str]| {
        move |arg: clap::Arg| arg.value_parser(PossibleValuesParser::new(words))
    };
    Cli::command()
        .name(program.to_owned())
        .bin_name(program)
        .mut_subcommand("list", systems)
        .mut_subcommand("check", |check| {
            systems(check)
                .mut_arg("engine", words(&["auto", "global", "dpor", "lmc", "dir", "walk"]))
                .mut_arg("search", words(&["bfs", "dfs", "classic"]))
                .mut_arg("schedule", words(&["random", "pct"]))
                .mut_arg("color", words(&["auto", "always", "never"]))
        })
        .mut_subcommand("live", |live| {
            let deployable: Vec<&'static str> =
                entries.iter().filter(|entry| entry.is_deployable()).map(|e| e.name).collect();
            live.mut_arg("system", |arg| arg.value_parser(PossibleValuesParser::new(deployable)))
                .mut_arg("transport", words(&["udp", "tcp"]))
        })
        .mut_subcommand("show", |show| show.mut_arg("color", words(&["auto", "always", "never"])))
        .mut_subcommand("completions", |completions| {
            completions.mut_arg("shell", words(&["bash", "zsh", "fish"]))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_flag_of_a_check_has_a_variable_that_is_named_after_it_and_shown() {
        let mut command = Cli::command();
        let check = command.find_subcommand_mut("check").unwrap();
        // However the lines are broken.
        let help = check.render_help().to_string();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let flags: Vec<_> =
            check.get_arguments().filter_map(|arg| Some((arg, arg.get_long()?))).collect();
        assert!(flags.len() > 15);
        for (arg, flag) in flags.iter().filter(|(arg, flag)| *flag != "help" && !arg.is_hide_set())
        {
            let variable = format!("ALLWAYS_{}", flag.replace('-', "_").to_uppercase());
            let has = arg.get_env().and_then(|name| name.to_str());
            assert_eq!(has, Some(variable.as_str()), "--{flag}");
            assert!(help.contains(&format!("[env: {variable}=")), "{help}");
        }
    }

    #[test]
    fn the_names_of_engines_searches_and_schedules_that_are_completed_exist() {
        let command = described(&[], "allways");
        let check = command.find_subcommand("check").unwrap();
        let values = |name: &str| {
            let arg = check.get_arguments().find(|arg| arg.get_id() == name).unwrap();
            arg.get_possible_values().into_iter().map(|value| value.get_name().to_owned())
        };
        assert!(values("engine").all(|name| name.parse::<allways::Engine>().is_ok()));
        assert!(values("search").all(|name| name.parse::<allways::Search>().is_ok()));
        assert!(values("schedule").all(|name| name.parse::<allways::Schedule>().is_ok()));
    }
}
