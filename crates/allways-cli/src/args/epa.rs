//! The arguments of `allways epa`.

use super::values::{at_least_one, span, threads, truth, whole};
use allways::parse_bytes;
use allways_epa::format::{Fault, FaultKind};
use clap::{ArgAction, Args, Subcommand, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const HELP: &str = "\
Examples:
  allways epa record sum.c -- 8                 a run without a fault: golden.trace
  allways epa check golden.trace                does another order of threads change anything?
  allways epa inject sum.c --runs 1000 -- 8     many runs, each with a fault: campaign/
  allways epa report campaign                   what came of them, as a page
  allways epa record sum.c --fault \"bitflip thread=T_0 site=7 occurrence=0 detail=3\" -- 8
  allways epa compare golden.trace faulty.trace --dot spread.dot
  allways epa show golden.trace                 the sanitised trace, as text

A program is the source of one in C, C++ or Rust, which is instrumented first, or an executable that was
instrumented before. The instrumenter, allways-instrument, is a program of its own that needs LLVM. It is
looked for where ALLWAYS_INSTRUMENT says, beside this program, and in PATH.

Exit codes:
  0  done; check: pseudo-deterministic; compare: the same
  1  check: not pseudo-deterministic; compare: they differ; inject: something was missed
  2  wrong usage or input
  3  interrupted";

#[derive(Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct EpaArgs {
    #[command(subcommand)]
    pub command: EpaCommand,
}

#[derive(Subcommand)]
pub(crate) enum EpaCommand {
    /// Instruments a program, runs it once and keeps its trace.
    Record(RecordArgs),
    /// Says whether a trace is pseudo-deterministic: no other order of its threads changes what they do.
    Check(CheckTraceArgs),
    /// Runs a program many times, each time with a fault, and says what came of it.
    Inject(Box<InjectArgs>),
    /// Compares two traces of a program, and says how far an error spread.
    Compare(CompareArgs),
    /// Shows a trace as text.
    Show(ShowTraceArgs),
    /// Makes a page of a campaign.
    Report(ReportArgs),
}

/// A program, and what it is called with.
#[derive(Args)]
pub(crate) struct ProgramArgs {
    /// The program: its source, or an executable that is already instrumented.
    #[arg(value_hint = ValueHint::FilePath)]
    pub program: PathBuf,

    /// Flags for the compiler, in one word: --cflags='-O1 -lm'.
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub cflags: Option<String>,

    /// What the program is called with.
    #[arg(last = true, value_name = "ARGS")]
    pub arguments: Vec<OsString>,
}

#[derive(Args)]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    pub program: ProgramArgs,

    /// Where the trace is kept; unless given, golden.trace, or faulty.trace of a run with a fault.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Make this go wrong: a fault as it is in the file of a campaign.
    #[arg(long, value_name = "FAULT", value_parser = fault)]
    pub fault: Option<Fault>,

    /// Kill it after this time.
    #[arg(long, value_name = "S", default_value = "1h", value_parser = span)]
    pub timeout: Duration,

    /// Give it so much memory, and no more: 512M, 2G.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub memory: Option<u64>,

    /// Print exactly one JSON object on standard output.
    #[arg(long, env = "ALLWAYS_JSON", action = ArgAction::SetTrue, value_parser = truth)]
    pub json: bool,
}

/// How pseudo-determinism is checked.
#[derive(Args)]
pub(crate) struct JudgeArgs {
    /// Who decides: a solver that is compiled in, z3, cvc5, or the path of a program.
    #[arg(long, value_name = "NAME")]
    pub solver: Option<String>,

    /// A function that is called is deterministic and touches no memory that matters, whatever is known of it; may be given more than once.
    #[arg(long, value_name = "NAME")]
    pub allow: Vec<String>,

    /// A function that is called is not deterministic; may be given more than once.
    #[arg(long, value_name = "NAME")]
    pub deny: Vec<String>,
}

#[derive(Args)]
pub(crate) struct CheckTraceArgs {
    /// The trace.
    #[arg(value_hint = ValueHint::FilePath)]
    pub trace: PathBuf,

    #[command(flatten)]
    pub judge: JudgeArgs,

    /// Write the formula, and do nothing else: smt2.
    #[arg(long, value_name = "FORMAT", value_parser = emit)]
    pub emit: Option<()>,

    /// Print exactly one JSON object on standard output.
    #[arg(long, env = "ALLWAYS_JSON", action = ArgAction::SetTrue, value_parser = truth)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct InjectArgs {
    #[command(flatten)]
    pub program: ProgramArgs,

    /// Kinds of faults: bitflip, filesize, mallsize, callcorr, invalptr, stuckatzero, wrongbranch.
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = kind)]
    #[arg(default_value = "bitflip,filesize,mallsize,callcorr,invalptr")]
    pub faults: Vec<FaultKind>,

    /// How many runs of each kind.
    #[arg(long, value_name = "N", env = "ALLWAYS_RUNS", default_value = "100")]
    #[arg(value_parser = at_least_one)]
    pub runs: u64,

    /// The directory in which everything is kept.
    #[arg(long, value_name = "DIR", default_value = "campaign", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,

    /// Other faults for another number, the same for the same.
    #[arg(long, value_name = "N", env = "ALLWAYS_SEED", default_value = "0", value_parser = whole)]
    pub seed: u64,

    /// A run hangs after this time, also the first one; unless given, after ten times that of a run without a fault, and at least 5 s. Time in which others have the
    /// processors does not count.
    #[arg(long, value_name = "S", value_parser = span)]
    pub timeout: Option<Duration>,

    /// A run gets so much memory: 512M, 2G; unless given, four times that of a run without a fault, and 1 GiB more.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub memory: Option<u64>,

    /// How many runs at once; 0 is one for each core.
    #[arg(long, value_name = "N", env = "ALLWAYS_THREADS", default_value = "0")]
    #[arg(value_parser = threads)]
    pub threads: usize,

    /// Go on with the campaign that is in the directory.
    #[arg(long)]
    pub resume: bool,

    /// Try only this fault, and keep nothing: a fault, or the number of a line of the campaign's faults.txt.
    #[arg(long, value_name = "LINE", conflicts_with = "resume")]
    pub only: Option<String>,

    /// Do it even if the golden run is not pseudo-deterministic: then deviations may be by chance.
    #[arg(long)]
    pub unchecked: bool,

    #[command(flatten)]
    pub judge: JudgeArgs,

    /// Print exactly one JSON object on standard output.
    #[arg(long, env = "ALLWAYS_JSON", action = ArgAction::SetTrue, value_parser = truth)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct CompareArgs {
    /// The trace of the run without a fault.
    #[arg(value_hint = ValueHint::FilePath)]
    pub golden: PathBuf,

    /// The trace of the run with a fault.
    #[arg(value_hint = ValueHint::FilePath)]
    pub faulty: PathBuf,

    /// Draw how the error spread, for Graphviz.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub dot: Option<PathBuf>,

    /// Print exactly one JSON object on standard output.
    #[arg(long, env = "ALLWAYS_JSON", action = ArgAction::SetTrue, value_parser = truth)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct ShowTraceArgs {
    /// The trace.
    #[arg(value_hint = ValueHint::FilePath)]
    pub trace: PathBuf,

    /// As it was recorded, with the addresses and threads of that run.
    #[arg(long, conflicts_with_all = ["sanitised", "objects"])]
    pub raw: bool,

    /// With objects in place of addresses; this is the default.
    #[arg(long, conflicts_with = "objects")]
    pub sanitised: bool,

    /// Only the objects and threads, with what they are called.
    #[arg(long)]
    pub objects: bool,
}

#[derive(Args)]
pub(crate) struct ReportArgs {
    /// The directory of the campaign.
    #[arg(value_hint = ValueHint::DirPath)]
    pub campaign: PathBuf,

    /// Where the page is written; unless given, report.html in that directory.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

fn fault(text: &str) -> Result<Fault, String> {
    text.parse().map_err(|error: allways_epa::format::NotAFault| error.to_string())
}

fn kind(text: &str) -> Result<FaultKind, String> {
    let known = FaultKind::ALL.into_iter().find(|kind| kind.name() == text);
    known.ok_or_else(|| {
        let names = FaultKind::ALL.map(FaultKind::name).join(", ");
        format!("there is no kind of fault `{text}`; there is {names}")
    })
}

fn emit(text: &str) -> Result<(), String> {
    match text {
        "smt2" => Ok(()),
        _ => Err(format!("`{text}` is no format of a formula; choose smt2")),
    }
}
