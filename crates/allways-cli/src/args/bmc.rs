//! The arguments of `allways bmc`.

use super::Color;
use super::values::{setting, truth, whole};
use allways::parse_seconds;
use allways_bmc::check::{Options, Solver};
use allways_bmc::{Embedded, Projection, Theory};
use clap::{ArgAction, Args, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

pub(super) const HELP: &str = "\
Examples:
  allways bmc peterson.pbmc                     is there a run of at most 20 steps that violates?
  allways bmc peterson.pbmc --prove             and of any number of steps?
  allways bmc dining.pbmc --set N=7 --depth 12  another value of a constant
  allways bmc dining.pbmc --save out            keep the run; show, replay and minimise take it
  allways bmc dining.pbmc --solver z3           ask another solver, which must be installed
  allways bmc dining.pbmc --emit smt2 > a.smt2  the formula, for any solver

Runs get deeper and deeper, and the first that is found is a shortest one. Projection leaves out runs
that do more than a property needs. Unless it is asked for or not wanted, both ways are tried at
once, and the first answer counts.

Solvers: cadical is compiled in. z3 and cvc5 are given integers, bitwuzla bit vectors. Any other
word is the name of a program that is given a file in SMT-LIB 2 with integers.

The language is described in docs/src/bmc-language.md.
";

#[derive(Args)]
pub(crate) struct BmcArgs {
    /// The program: a file in the language of bmc.
    #[arg(value_hint = ValueHint::FilePath)]
    pub program: PathBuf,

    /// Set a constant of the program; may be given more than once.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, value_delimiter = ',')]
    pub set: Vec<(String, String)>,

    /// Only this property, by its name; may be given more than once.
    #[arg(long, value_name = "NAME")]
    pub property: Vec<String>,

    /// The largest number of steps; FROM..TO takes it for granted that fewer than FROM show nothing, but not with --prove.
    #[arg(long, value_name = "K", default_value = "20", value_parser = depth)]
    #[arg(allow_negative_numbers = true)]
    pub depth: (usize, usize),

    /// Ask for the largest number of steps at once, in place of deeper and deeper; a run that is found need not be a shortest one.
    #[arg(long)]
    pub at_once: bool,

    /// Only runs in which every step is needed for what the property reads.
    #[arg(long)]
    pub project: bool,

    /// All runs.
    #[arg(long, conflicts_with = "project")]
    pub no_project: bool,

    /// What is needed: live, what is read before it is overwritten; reads, what is read at all.
    #[arg(long, value_name = "HOW", default_value = "live", value_parser = projection)]
    pub projection: Projection,

    /// Of steps that do not depend on each other, one order only.
    #[arg(long)]
    pub order: bool,

    /// Prove that longer runs show nothing new, too; by a solver that is compiled in.
    #[arg(long)]
    pub prove: bool,

    /// Who decides: cadical, z3, cvc5, bitwuzla, or a program.
    #[arg(long, value_name = "NAME", default_value_t = Embedded::ALL[0].name().to_owned())]
    pub solver: String,

    /// Write the formula of the first property for the largest number of steps, and do nothing else: smt2, smt2-bv or dimacs.
    #[arg(long, value_name = "FORMAT", value_parser = emit)]
    pub emit: Option<Emit>,

    /// No longer than this many seconds.
    #[arg(long, value_name = "S", env = "ALLWAYS_MAX_SECONDS", value_parser = parse_seconds)]
    #[arg(allow_negative_numbers = true)]
    pub max_seconds: Option<Duration>,

    /// Keep the run of a violation in this directory, as run.json and report.html.
    #[arg(long, value_name = "DIR", env = "ALLWAYS_SAVE", value_hint = ValueHint::DirPath)]
    pub save: Option<PathBuf>,

    /// Print exactly one JSON object on standard output.
    #[arg(long, env = "ALLWAYS_JSON", action = ArgAction::SetTrue, value_parser = truth)]
    pub json: bool,

    /// Print one line only.
    #[arg(long, short, env = "ALLWAYS_QUIET", action = ArgAction::SetTrue, value_parser = truth)]
    pub quiet: bool,

    /// Colour the text: auto, always or never. Auto is on a terminal, unless NO_COLOR is set.
    #[arg(long, value_name = "WHEN", env = "ALLWAYS_COLOR", default_value = "auto")]
    pub color: Color,
}

/// What a formula is written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Emit {
    Smt2(Theory),
    Dimacs,
}

/// More steps than this are no use, and more memory than there is.
const MAX_DEPTH: u64 = 10_000;

fn depth(text: &str) -> Result<(usize, usize), String> {
    let (from, to) = text.split_once("..").unwrap_or(("0", text));
    if from.is_empty() || to.is_empty() {
        return Err(format!("`{text}` has no beginning or no end; write FROM..TO, such as 5..20"));
    }
    let (from, to) = (whole(from)?, whole(to)?);
    if to > MAX_DEPTH {
        return Err(format!("`{to}` is too deep: {MAX_DEPTH} is the largest"));
    }
    if from > to {
        return Err(format!("`{text}` ends before it begins"));
    }
    Ok((from as usize, to as usize))
}

fn projection(text: &str) -> Result<Projection, String> {
    match text {
        "live" => Ok(Projection::Live),
        "reads" => Ok(Projection::Reads),
        _ => Err(format!("there is no projection `{text}`; choose live or reads")),
    }
}

fn emit(text: &str) -> Result<Emit, String> {
    match text {
        "smt2" => Ok(Emit::Smt2(Theory::Integers)),
        "smt2-bv" => Ok(Emit::Smt2(Theory::BitVectors)),
        "dimacs" => Ok(Emit::Dimacs),
        _ => Err(format!("`{text}` is no format of a formula; choose smt2, smt2-bv or dimacs")),
    }
}

impl BmcArgs {
    /// The constants that are set, as numbers.
    pub fn constants(&self) -> Result<Vec<(String, i64)>, String> {
        constants(&self.set)
    }

    pub fn options(&self) -> Options {
        let embedded = Embedded::ALL.iter().find(|embedded| embedded.name() == self.solver);
        let solver = match (embedded, self.solver.as_str()) {
            (Some(embedded), _) => Solver::Embedded(*embedded),
            (None, name) => {
                let is_of_vectors = name.rsplit('/').next() == Some("bitwuzla");
                let theory = if is_of_vectors { Theory::BitVectors } else { Theory::Integers };
                Solver::External { program: name.into(), theory }
            }
        };
        Options {
            depth: self.depth.1,
            from: self.depth.0,
            at_once: self.at_once,
            projection: if self.no_project { Projection::Off } else { self.projection },
            portfolio: !self.project && !self.no_project,
            order: self.order,
            prove: self.prove,
            solver,
            time: self.max_seconds,
            ..Options::default()
        }
    }
}

/// Constants that are set, as numbers.
pub(crate) fn constants(set: &[(String, String)]) -> Result<Vec<(String, i64)>, String> {
    let number = |(name, value): &(String, String)| match value.parse() {
        Ok(number) => Ok((name.clone(), number)),
        Err(_) => Err(format!("constant `{name}` is a whole number, but `{value}` is none")),
    };
    set.iter().map(number).collect()
}
