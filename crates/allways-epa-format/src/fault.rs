//! What is to go wrong in a run.

use std::fmt;
use std::str::FromStr;

/// A kind of fault: those of table 9 of the thesis, and two more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum FaultKind {
    /// One bit of a result is flipped.
    BitFlip,
    /// The number of elements given to `fread` or `fwrite` is larger.
    FileSize,
    /// The size given to `malloc` or `calloc` is smaller.
    MallSize,
    /// The first argument of a call is corrupted.
    CallCorr,
    /// The address that `malloc` or `calloc` returns is corrupted.
    InvalPtr,
    /// A result is 0.
    StuckAtZero,
    /// A branch goes the other way.
    WrongBranch,
}

impl FaultKind {
    /// All of them.
    pub const ALL: [FaultKind; 7] = [
        FaultKind::BitFlip,
        FaultKind::FileSize,
        FaultKind::MallSize,
        FaultKind::CallCorr,
        FaultKind::InvalPtr,
        FaultKind::StuckAtZero,
        FaultKind::WrongBranch,
    ];

    /// Its name: `bitflip`.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::BitFlip => "bitflip",
            FaultKind::FileSize => "filesize",
            FaultKind::MallSize => "mallsize",
            FaultKind::CallCorr => "callcorr",
            FaultKind::InvalPtr => "invalptr",
            FaultKind::StuckAtZero => "stuckatzero",
            FaultKind::WrongBranch => "wrongbranch",
        }
    }
}

/// What is to go wrong, where: in the record number `occurrence` (from 0) of this site in this thread. The same fault happens
/// in every run of the same program with the same input, as far as nothing else changes.
///
/// ```
/// use allways_epa_format::Fault;
/// let text = "bitflip thread=T_0_1 site=17 occurrence=3 detail=5";
/// let fault: Fault = text.parse().unwrap();
/// assert_eq!(fault.to_string(), text);
/// assert!("bitflip thread=T_0".parse::<Fault>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// In which thread, by its name in the tree of threads: `T_0` is the first, `T_0_1` the second that it creates.
    pub thread: String,
    /// At which site.
    pub site: u32,
    /// How often the thread was there before.
    pub occurrence: u64,
    /// Which bit is flipped (taken modulo the width of the value), or what is mixed in.
    pub detail: u64,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { kind, thread, site, occurrence, detail } = self;
        let kind = kind.name();
        write!(f, "{kind} thread={thread} site={site} occurrence={occurrence} detail={detail}")
    }
}

/// A text is no fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotAFault(String);

impl fmt::Display for NotAFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no fault: it has a kind, thread, site, occurrence and detail", self.0)
    }
}

impl std::error::Error for NotAFault {}

impl FromStr for Fault {
    type Err = NotAFault;

    fn from_str(text: &str) -> Result<Self, NotAFault> {
        let parse = || {
            let mut words = text.split_whitespace();
            let kind = words.next()?;
            let kind = FaultKind::ALL.into_iter().find(|known| known.name() == kind)?;
            let mut field = |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=');
            let fault = Fault {
                kind,
                thread: field("thread")?.to_owned(),
                site: field("site")?.parse().ok()?,
                occurrence: field("occurrence")?.parse().ok()?,
                detail: field("detail")?.parse().ok()?,
            };
            words.next().is_none().then_some(fault)
        };
        parse().ok_or_else(|| NotAFault(text.to_owned()))
    }
}
