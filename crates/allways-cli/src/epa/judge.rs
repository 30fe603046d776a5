//! Is a golden trace pseudo-deterministic (definition 5 of the thesis)? Only then is every deviation from it the work of a fault.
//!
//! Two things are asked: whether the program called a function whose result nobody can foresee (local determinism), and whether two accesses
//! that depend on each other could come in the other order (reversibility).

use crate::args::JudgeArgs;
use crate::text::count;
use allways_bmc::Embedded;
use allways_epa::campaign::place;
use allways_epa::determinism::{Chance, Hit, hits};
use allways_epa::format::{Event, Opcode};
use allways_epa::reverse::{Options, Reversibility, Solver, Witness, check};
use allways_epa::sanitise::{Accesses, Guessed, Sanitised, accesses_of};
use allways_epa::step::{Action, Step};
use allways_epa::trace::Trace;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How many functions that are not known are named.
const SHOWN: usize = 10;

/// How many characters of their names are shown.
const LONGEST: usize = 60;

/// What was found out about a trace.
pub(super) struct Judged {
    pub steps: Vec<Step>,
    pub reversibility: Reversibility,
    /// Calls of functions that nobody can foresee, in words.
    pub unforeseen: Vec<String>,
    /// Calls of functions that read something from outside, in words: it is taken for granted that this is always the same.
    pub assumed: Vec<String>,
    /// Calls of functions of which nobody knows what they do to memory.
    pub guessed: Vec<Guessed>,
    /// Threads that had not ended when the process exited.
    pub cut_off: Vec<String>,
    pub names: Vec<String>,
}

impl Judged {
    pub fn is_pseudo_deterministic(&self) -> bool {
        self.unforeseen.is_empty() && matches!(self.reversibility, Reversibility::Never { .. })
    }

    /// Why it is not, each in a sentence; nothing if it is.
    pub fn reasons(&self, trace: &Trace) -> Vec<String> {
        let mut reasons = self.unforeseen.clone();
        if let Reversibility::Possible(witness) = &self.reversibility {
            let [first, second] = [witness.first, witness.second].map(|at| self.step(trace, at));
            reasons.push(match self.is_locked(witness) {
                true => format!(
                    "these two are made with the same lock, but either may have it first: {first}, and {second}"
                ),
                false => format!("nothing orders these two: {first}, and {second}"),
            });
        }
        reasons
    }

    /// The functions of which nobody knows what they do to memory, in a sentence; `None` if there is none.
    pub fn unknown(&self) -> Option<String> {
        let mut names: Vec<&str> = self.guessed.iter().map(|call| call.function.as_str()).collect();
        names.dedup();
        let what = match names.len() {
            0 => return None,
            1 => "1 function is not known, and is taken to read and write what it is given"
                .to_owned(),
            many => format!(
                "{many} functions are not known, and are taken to read and write what they are given"
            ),
        };
        let shown = names.iter().take(SHOWN).map(|name| shortened(name)).collect::<Vec<_>>();
        let shown = shown.join(", ");
        let more = if names.len() > SHOWN { ", …" } else { "" };
        Some(format!("{what}: {shown}{more}"))
    }

    /// The global that both accesses touch, by its name; nothing if it is no global.
    pub fn touched<'t>(&self, trace: &'t Trace, witness: &Witness) -> Option<&'t str> {
        // Globals are the first objects of a trace.
        let (Action::Read(place) | Action::Write(place)) = self.steps.get(witness.first)?.action
        else {
            return None;
        };
        trace.program.globals.get(place.object as usize).map(|global| global.name.as_str())
    }

    /// Whether both accesses are made with the same lock, which does not say who has it first.
    pub fn is_locked(&self, witness: &Witness) -> bool {
        let held = |at: usize| {
            let mut held = Vec::new();
            let thread = self.steps.get(at).map(|step| step.thread);
            for step in self.steps.iter().take(at).filter(|step| Some(step.thread) == thread) {
                match step.action {
                    Action::Event(
                        Event::Lock { address, .. } | Event::LockShared { address, .. },
                    ) => {
                        held.push(address);
                    }
                    Action::Event(Event::Unlock { address, .. }) => {
                        let place = held.iter().rposition(|lock| *lock == address);
                        place.map(|place| held.remove(place));
                    }
                    Action::Event(Event::WaitBegin { lock, .. }) => held.retain(|l| *l != lock),
                    Action::Event(Event::WaitEnd { lock, .. }) => held.push(lock),
                    _ => {}
                }
            }
            held
        };
        let second = held(witness.second);
        held(witness.first).iter().any(|lock| second.contains(lock))
    }

    /// Which threads did not come to their end, in a sentence; nothing if all did.
    pub fn unended(&self) -> Option<String> {
        if self.cut_off.is_empty() {
            return None;
        }
        let shown = self.cut_off.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        let more = if self.cut_off.len() > SHOWN { ", …" } else { "" };
        Some(format!(
            "{} had not ended when the process exited, so how far each gets may depend on who is faster, \
             and what it would have done is not checked: {shown}{more}",
            count(self.cut_off.len(), "thread")
        ))
    }

    /// The thread of a step, by its name.
    pub fn thread(&self, step: &Step) -> String {
        let name = self.names.get(step.thread as usize).cloned();
        name.unwrap_or_else(|| format!("thread {}", step.thread))
    }

    /// A step in words.
    pub fn step(&self, trace: &Trace, at: usize) -> String {
        let Some(step) = self.steps.get(at) else { return format!("step {at}") };
        let thread = self.thread(step);
        let at = step.site.map(|site| format!(" at {}", place(&trace.program, site)));
        let by = step.site.and_then(|site| trace.program.sites.get(site as usize));
        let by = by.filter(|site| site.opcode == Opcode::Call && !site.callee.is_empty());
        let by = by.map(|site| format!(" by `{}`", shortened(&site.callee))).unwrap_or_default();
        let at = format!("{by}{}", at.unwrap_or_default());
        match step.action {
            Action::Read(_) => format!("{thread} reads{at}"),
            Action::Write(_) if step.site.is_none() => format!("{thread} gives it back"),
            Action::Write(_) => format!("{thread} writes{at}"),
            Action::Event(event) => {
                let text = format!("{event:?}");
                let word = text.split([' ', '{']).next().unwrap_or_default();
                format!("{thread} {}{at}", spaced(word))
            }
        }
    }

    /// The other order in words: what threads do one after the other until the second access has happened, and then the first.
    pub fn order(&self, trace: &Trace, witness: &Witness) -> Vec<String> {
        let before = &witness.order;
        let mut told: Vec<String> = Vec::new();
        let mut at = 0;
        while let Some(&step) = before.get(at) {
            let thread = self.steps.get(step).map(|step| step.thread);
            let same = before[at..]
                .iter()
                .take_while(|&&step| self.steps.get(step).map(|step| step.thread) == thread)
                .count();
            let last = self.step(trace, before[at + same - 1]);
            told.push(match same {
                1 => last,
                same => format!("{}, the last of which is: {last}", self.many(step, same)),
            });
            at += same;
        }
        told.push(format!("only then {}", self.step(trace, witness.first)));
        told
    }

    fn many(&self, step: usize, same: usize) -> String {
        let thread = self.steps.get(step).map(|step| self.thread(step)).unwrap_or_default();
        format!("{thread} does {}", count(same, "step"))
    }
}

/// Names of C++ can be as long as a page.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// `LockShared` as `lock shared`.
fn spaced(word: &str) -> String {
    let mut out = String::new();
    for letter in word.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push(' ');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

/// Judges a trace.
pub(super) fn judge(
    trace: &Trace,
    args: &JudgeArgs,
    stop: &Arc<AtomicBool>,
) -> Result<Judged, String> {
    let told = |error: allways_epa::trace::TraceError| error.to_string();
    let Accesses { steps, guessed } = accesses_of(trace, &args.allow).map_err(told)?;
    let options =
        Options { solver: solver(args), stop: vec![Arc::clone(stop)], ..Options::default() };
    let reversibility = check(&steps, &options)?;
    let Sanitised { threads, exit, .. } = Sanitised::new(trace).map_err(told)?;
    let exits = |at: usize| exit.is_some_and(|(thread, _)| thread as usize == at);
    let cut_off = threads.iter().enumerate().filter(|(at, thread)| !thread.ended && !exits(*at));
    let cut_off = cut_off.map(|(_, thread)| thread.name.clone()).collect();
    let names = threads.into_iter().map(|thread| thread.name).collect();
    // What is read from outside is an input, as arguments are, unless somebody says that it is none.
    let is_assumed = |hit: &Hit| hit.chance == Chance::Outside && !args.deny.contains(&hit.callee);
    let hits = hits(trace, &args.deny, &args.allow).map_err(|error| error.to_string())?;
    let (assumed, unforeseen): (Vec<Hit>, Vec<Hit>) = hits.into_iter().partition(is_assumed);
    let [assumed, unforeseen] =
        [assumed, unforeseen].map(|hits| hits.iter().map(ToString::to_string).collect());
    Ok(Judged { steps, reversibility, unforeseen, assumed, guessed, cut_off, names })
}

fn solver(args: &JudgeArgs) -> Solver {
    let Some(name) = &args.solver else { return Options::default().solver };
    match Embedded::ALL.iter().find(|embedded| embedded.name() == *name) {
        Some(embedded) => Solver::Embedded(*embedded),
        None => Solver::External(PathBuf::from(name)),
    }
}
