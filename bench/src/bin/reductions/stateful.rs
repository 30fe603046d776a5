//! Engine `global` on the systems of the thesis's table 5 (section 3.5), with its own numbers beside:
//! MP-Basset's stateful search, decomposition-based stateful search (DBSS), MP-Basset's partial
//! order reduction (POR), and both.

use crate::check::{Check, Checked};
use allways::grouped;
use allways_bench::report::{at_least, at_most, load, machine, missed, targets};

/// No check takes longer than this, in seconds.
const SECONDS: u64 = 20;

/// What it is about: the protocols of the thesis, and two sizes more.
struct Setting {
    name: &'static str,
    system: &'static str,
    set: &'static [&'static str],
    /// States and time, as the thesis prints them: stateful, DBSS, POR, DBSS + POR.
    thesis: [(&'static str, &'static str); 4],
}

const NOT_MEASURED: (&str, &str) = ("", "");

const PAXOS: &str = "paxos-roles";

const SETTINGS: [Setting; 11] = [
    Setting {
        name: "Paxos (6)",
        system: PAXOS,
        set: &[],
        thesis: [
            ("13,044,613", "22 h 19 min"),
            ("5,606,047", "10 h 22 min"),
            ("191,081", "23 min 43 s"),
            ("117,369", "14 min 22 s"),
        ],
    },
    Setting {
        name: "Paxos, 2 learners",
        system: PAXOS,
        set: &["learners=2"],
        thesis: [NOT_MEASURED; 4],
    },
    Setting {
        name: "Faulty-Paxos (6)",
        system: PAXOS,
        set: &["bug=promiscuous-acceptor", "proposers=2", "acceptors=3"],
        thesis: [
            ("96,802", "10 min 3 s"),
            ("70,543", "8 min 20 s"),
            ("3,050", "36 s"),
            ("2,786", "31 s"),
        ],
    },
    Setting {
        name: "Faulty-Paxos (7)",
        system: PAXOS,
        set: &["bug=last-accepted", "proposers=3", "acceptors=3"],
        thesis: [
            (">71,914,839", ">192 h"),
            (">66,651,310", ">192 h"),
            ("129,533", "21 min 18 s"),
            ("124,976", "19 min 29 s"),
        ],
    },
    Setting {
        name: "Register (5)",
        system: "register",
        set: &["bases=3"],
        thesis: [
            ("89,041", "7 min 31 s"),
            ("59,306", "5 min 39 s"),
            ("10,896", "1 min 5 s"),
            ("8,590", "53 s"),
        ],
    },
    Setting {
        name: "Faulty-Register (5)",
        system: "register",
        set: &["bug=return-concurrent", "bases=3"],
        thesis: [("4,965", "34 s"), ("3,376", "27 s"), ("1,936", "24 s"), ("1,483", "20 s")],
    },
    Setting {
        name: "Register (6)",
        system: "register",
        set: &["bases=4"],
        thesis: [
            ("2,269,797", "5 h 22 min"),
            ("1,475,845", "4 h 8 min"),
            ("96,641", "11 min 1 s"),
            ("57,187", "7 min 26 s"),
        ],
    },
    Setting {
        name: "Faulty-Register (6)",
        system: "register",
        set: &["bug=return-concurrent", "bases=4"],
        thesis: [
            ("94,348", "10 min 49 s"),
            ("56,222", "8 min 14 s"),
            ("4,642", "51 s"),
            ("4,642", "48 s"),
        ],
    },
    Setting {
        name: "Register (7)",
        system: "register",
        set: &["bases=5"],
        thesis: [
            ("51,465,807", ">192 h"),
            ("35,692,316", ">192 h"),
            ("2,986,657", "8 h 21 min"),
            ("1,656,212", "6 h 3 min"),
        ],
    },
    Setting {
        name: "Zab (6)",
        system: "zab",
        set: &["leaders=3", "followers=3"],
        thesis: [("4,580", "54 s"), ("1,876", "26 s"), NOT_MEASURED, NOT_MEASURED],
    },
    Setting {
        name: "Zab (7)",
        system: "zab",
        set: &["leaders=4", "followers=3"],
        thesis: [("8,198", "2 min 4 s"), ("3,132", "38 s"), NOT_MEASURED, NOT_MEASURED],
    },
];

/// A way to search: its name, whether the history is counted, what a reduction preserves, and which
/// column of the thesis it corresponds to.
const SEARCHES: [(&str, bool, &str, Option<usize>); 6] = [
    ("plain", true, "off", Some(0)),
    ("Aux", false, "off", Some(1)),
    ("--por", true, "needed", Some(2)),
    ("Aux + --por", false, "needed", Some(3)),
    ("--por=views", true, "views", None),
    ("Aux + --por=views", false, "views", None),
];

/// Prints the table, then the targets.
///
/// # Errors
///
/// If checks fail, or if two that have ended differ in their verdicts.
pub fn table() -> Result<(), String> {
    println!("{}", machine());
    println!(
        "engine global, depth-first, one thread; at most {SECONDS} s each; the thesis's numbers"
    );
    println!("in its own implementation of the protocols; saved: against plain, with a history of");
    println!("the same kind: how many times fewer states, how many times less CPU time\n");
    println!(
        "{:<19} {:<18} {:>12} {:>12} {:>14} {:>9} {:>8} {:>8}",
        "setting", "search", "thesis", "", "states", "cpu s", "states", "time"
    );
    let mut measured = Vec::new();
    for setting in &SETTINGS {
        let checked = rows(setting)?;
        measured.push((setting, checked));
    }
    println!("{}", load().trim_start_matches([',', ' ']));
    targets();
    for (setting, checked) in &measured {
        judge(setting, checked);
    }
    match measured.iter().flat_map(|(_, checked)| checked).filter(|c| c.is_none()).count() {
        0 => Ok(()),
        failed => Err(format!("{failed} checks have failed")),
    }
}

/// Measures and prints all searches of a setting.
fn rows(setting: &Setting) -> Result<Vec<Option<Checked>>, String> {
    let mut all: Vec<Option<Checked>> = Vec::new();
    for (search, counted, reduction, column) in SEARCHES {
        let history = if counted { "history=counted" } else { "history=free" };
        let set = [setting.set, &[history]].concat();
        let check = Check {
            engine: "global",
            reduction,
            depth: None,
            seconds: SECONDS,
            system: setting.system,
            set: &set,
        };
        let (thesis_states, thesis_time) = column.map_or(NOT_MEASURED, |at| setting.thesis[at]);
        print!("{:<19} {search:<18} {thesis_states:>12} {thesis_time:>12} ", setting.name);
        let checked = match check.run() {
            Ok(checked) => checked,
            Err(error) => {
                println!("{}", error.lines().next().unwrap_or_default());
                all.push(None);
                continue;
            }
        };
        let mut ended = all.iter().flatten().filter(|other| other.ended && checked.ended);
        if let Some(other) = ended.find(|other| other.verdict != checked.verdict) {
            return Err(format!("{} {search}: {checked:?}, but {other:?}", setting.name));
        }
        let base = all.get(usize::from(!counted)).and_then(Option::as_ref);
        println!(
            "{:>14} {:>9.3} {}",
            states(&checked),
            checked.cpu,
            base.map_or_else(String::new, |base| saved(base, &checked)),
        );
        all.push(Some(checked));
    }
    println!();
    Ok(all)
}

fn states(checked: &Checked) -> String {
    let more = if checked.ended { "" } else { ">" };
    format!("{more}{}", grouped(checked.states.unwrap_or_default()))
}

/// By how much a reduction is better than no reduction: in states and in time.
fn ratios(base: &Checked, checked: &Checked) -> (f64, f64) {
    let states = |checked: &Checked| checked.states.unwrap_or_default().max(1) as f64;
    (states(base) / states(checked), base.cpu / checked.cpu)
}

/// The same in words; if only the search without a reduction did not end, it is more than that.
fn saved(base: &Checked, checked: &Checked) -> String {
    let (states, time) = ratios(base, checked);
    let more = if base.ended { "" } else { ">" };
    match checked.ended {
        true => format!("{:>8} {:>8}", format!("{more}{states:.1}x"), format!("{more}{time:.1}x")),
        false => String::new(),
    }
}

/// Says which targets are met by the measurements of a setting. A check that has failed or did not
/// end meets none.
fn judge(setting: &Setting, checked: &[Option<Checked>]) {
    let name = setting.name;
    // A search for a bug ends where it finds it: that says nothing about the reduction.
    if checked.iter().flatten().any(|checked| checked.verdict == "violated") {
        return;
    }
    for ((search, counted, reduction, _), reduced) in SEARCHES.into_iter().zip(checked) {
        let Some(reduced) = reduced.as_ref().filter(|reduced| reduced.ended) else {
            missed(&format!("{name} {search}"));
            continue;
        };
        if matches!(name, "Paxos (6)" | "Register (6)" | "Register (7)") {
            at_most(&format!("{name} {search}: seconds"), 60.0, reduced.cpu);
        }
        let base = checked[usize::from(!counted)].as_ref();
        let Some(base) = base.filter(|_| reduction != "off") else { continue };
        let (states, time) = ratios(base, reduced);
        let wanted = match (name, reduction) {
            ("Paxos (6)", "needed") => Some(40.0),
            ("Paxos, 2 learners", "needed") => Some(500.0),
            ("Register (6)", "views") => Some(12.0),
            _ => None,
        };
        if let Some(wanted) = wanted {
            at_least(&format!("{name} {search}: times fewer states"), wanted, states);
        }
        if base.states.is_some_and(|states| states >= 100_000) {
            at_least(&format!("{name} {search}: times less CPU"), 1.0, time);
        }
    }
}
