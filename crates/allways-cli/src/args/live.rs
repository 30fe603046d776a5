//! The arguments of `allways live`, and of the processes that it starts.

use super::values::{probability, setting, span, truth, whole};
use allways::Engine;
use allways_live::Protocol;
use clap::{ArgAction, Args, ValueHint};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const HELP: &str = "\
What happens:
  Each node of the system runs as a process of its own on this machine. The system's driver calls
  them again and again, each time in a new instance of the protocol. Every few seconds a consistent
  snapshot of all nodes is taken, while they run, and a check starts from it.
  predicted  a run from the state that the system is in violates a property
  observed   the state that the system is in violates a property
  With --save, each is a file that `allways replay`, `show` and `minimise` take.

Examples:
  allways live paxos --for 60                   watch a correct system for a minute
  allways live paxos --set bug=last-promise --drop 0.3 --first --save out
  allways replay out/predicted-1.json           does the prediction hold against the code?
  allways live paxos --drop 0.1 --kill-every 10 --directory /var/tmp/paxos
  allways live paxos --transport tcp --key secret.key
  allways live paxos --attach 127.0.0.1:7001,127.0.0.1:7011,127.0.0.1:7021

Times are in seconds (0.5), or have a unit (500ms, 2s, 5m). Ctrl-C ends everything that was started.

Exit codes:
  0  nothing was predicted or observed
  1  a violation was predicted or observed
  2  wrong usage or input, or the system could not be deployed
  3  no check came to its end";

#[derive(Args)]
pub(crate) struct LiveArgs {
    /// The system to deploy.
    pub system: String,

    /// Set a parameter of the system; may be given more than once, or several with commas.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, value_delimiter = ',')]
    pub set: Vec<(String, String)>,

    /// Drop messages between nodes with this probability.
    #[arg(long, value_name = "P", value_parser = probability, default_value = "0")]
    #[arg(allow_negative_numbers = true)]
    pub drop: f64,

    /// From one snapshot to the next.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "2s")]
    pub every: Duration,

    /// How long the check from one snapshot may take.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "1s")]
    pub budget: Duration,

    /// How long to watch; without this, until Ctrl-C.
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    pub length: Option<Duration>,

    /// From one call of the driver to the next; 0 for none.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "50ms")]
    pub calls_every: Duration,

    /// Kill a node (SIGKILL) and start it again, so often.
    #[arg(long, value_name = "TIME", value_parser = span, conflicts_with = "attach")]
    pub kill_every: Option<Duration>,

    /// What checks from a snapshot: an engine of `allways check`. Otherwise lmc, and global where that comes to no end.
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<Engine>,

    /// End with the first violation.
    #[arg(long)]
    pub first: bool,

    /// What carries messages: udp or tcp.
    #[arg(long, value_name = "PROTOCOL", default_value = "udp")]
    pub transport: Protocol,

    /// Authenticate messages and control with the key in this file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub key: Option<PathBuf>,

    /// Watch nodes that run already: where they are controlled, in the order of their numbers, as `live at` says. The driver
    /// calls these nodes, too, unless `--calls-every 0`.
    #[arg(long, value_name = "ADDRESS,…", value_delimiter = ',')]
    pub attach: Vec<SocketAddr>,

    /// Where nodes keep their states and logs; otherwise in a directory that is removed in the end.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "attach")]
    pub directory: Option<PathBuf>,

    /// What is dropped, what the driver does and who is killed depends on this.
    #[arg(long, value_name = "N", value_parser = whole, default_value = "1")]
    pub seed: u64,

    /// Keep the run of each violation, and a page to look through, in this directory.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub save: Option<PathBuf>,

    /// Print exactly one JSON object on standard output, in the end.
    #[arg(long, env = "ALLWAYS_JSON", action = ArgAction::SetTrue, value_parser = truth)]
    pub json: bool,

    /// Print the last line only, and no status.
    #[arg(long, short, env = "ALLWAYS_QUIET", action = ArgAction::SetTrue, value_parser = truth)]
    pub quiet: bool,
}

impl LiveArgs {
    pub fn settings(&self) -> Vec<(&str, &str)> {
        self.set.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

/// A node of a deployment: started by `allways live`, not by hand.
#[derive(Args)]
pub(crate) struct LiveNodeArgs {
    pub system: String,
    pub node: usize,
    #[arg(long, value_parser = setting)]
    pub set: Vec<(String, String)>,
    #[arg(long, num_args = 2)]
    pub listen: Vec<SocketAddr>,
    #[arg(long, default_value = "udp")]
    pub transport: Protocol,
    #[arg(long)]
    pub directory: Option<PathBuf>,
    #[arg(long)]
    pub key: Option<PathBuf>,
    #[arg(long, value_parser = probability, default_value = "0")]
    pub drop: f64,
    #[arg(long, value_parser = whole)]
    pub seed: Option<u64>,
}
