//! Bounded model checking with and without projection: tables 6 and 7 and figure 14 of the thesis, whose own numbers stand beside.
//!
//! ```text
//! bmc                     both tables, at once and at the thesis' depths; two minutes a measurement at most
//! bmc 10                  ten seconds at most
//! bmc 60 z3               the same formulas to z3 too, over integers as the thesis did
//! bmc 60 harder           a file system that is harder than the thesis'
//! bmc 20 figure out.svg   time over depth for litmus 5 and a property that nothing reaches, as a picture, too
//! ```
//!
//! *Solving* is what the solver takes, *total* everything. What takes less than a second is measured five times, and the
//! median counts. A time with `>` in front was stopped.

mod figure;
mod rows;

use allways_bmc::check::{Found, Options, Solver, look};
use allways_bmc::program::Goal;
use allways_bmc::{Model, Projection, Theory, lang};
use rows::{HARDER, Row, SATISFIABLE, UNSATISFIABLE};
use std::process::ExitCode;
use std::time::Duration;

/// Times below this are not told apart when ratios are made, in seconds.
const LEAST: f64 = 0.001;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seconds = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(120);
    let time = Duration::from_secs(seconds);
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let mut ratios = has("z3").then(Ratios::default);
    let done = if has("figure") {
        figure::figure(time, arguments.iter().find(|argument| argument.ends_with(".svg")))
    } else if has("harder") {
        table("unsatisfiable, harder", HARDER, time, &mut ratios)
    } else {
        table("unsatisfiable", UNSATISFIABLE, time, &mut ratios)
            .and_then(|()| table("satisfiable", SATISFIABLE, time, &mut ratios))
    };
    if let Some(ratios) = ratios.filter(|_| done.is_ok()) {
        ratios.print();
    }
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn open(program: &str, constants: &[(&str, i64)]) -> Result<Model, String> {
    let path =
        format!("{}/../crates/allways-bmc/programs/{program}.pbmc", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let constants: Vec<(String, i64)> =
        constants.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let compiled = lang::compile(program, &source, &constants);
    compiled.map(Model::new).map_err(|diagnostics| {
        diagnostics.iter().map(|d| d.render(&path, &source, false)).collect::<String>()
    })
}

fn goal_of<'a>(model: &'a Model, name: &str) -> Result<&'a Goal, String> {
    let goal = model.goals().iter().find(|goal| goal.name == name);
    goal.ok_or_else(|| format!("there is no property `{name}`"))
}

/// What a way to ask took: solving and total seconds, and what was found.
struct Measured {
    solving: f64,
    total: f64,
    found: Found,
}

impl Measured {
    fn is_stopped(&self) -> bool {
        matches!(self.found, Found::Stopped { .. })
    }

    fn shown(&self) -> String {
        let sign = if self.is_stopped() { ">" } else { " " };
        format!("{sign}{:8.3} {sign}{:8.3}", self.solving, self.total)
    }
}

fn measure(model: &Model, goal: &Goal, options: &Options) -> Result<Measured, String> {
    let mut all: Vec<Measured> = Vec::new();
    while all.len() < 5 && all.first().is_none_or(|first| first.total < 1.0) {
        let looked = look(model.program(), std::slice::from_ref(goal), options, &|_| ())?;
        let found = looked.found.into_iter().next().ok_or("nothing was looked for")?;
        let (solving, total) = (looked.solving.as_secs_f64(), looked.elapsed.as_secs_f64());
        all.push(Measured { solving, total, found });
    }
    all.sort_by(|a, b| a.solving.total_cmp(&b.solving));
    let middle = all.len() / 2;
    Ok(all.swap_remove(middle))
}

fn table(
    title: &str,
    rows: &[Row],
    time: Duration,
    ratios: &mut Option<Ratios>,
) -> Result<(), String> {
    println!("\n{title}; seconds, solving and total; the thesis' in brackets\n");
    println!(
        "{:10} {:>5}  {:^20}  {:^20}  {:^20}  {:>8}{}",
        "",
        "depth",
        "BMC",
        "PBMC",
        "PBMC, one order",
        "saved",
        if ratios.is_some() {
            "  z3 BMC                z3 PBMC                   ratios"
        } else {
            ""
        }
    );
    for (name, program, constants, property, depth, paper) in rows {
        let model = open(program, constants)?;
        let goal = goal_of(&model, property)?;
        let options = |projection, order| Options {
            depth: *depth,
            at_once: true,
            projection,
            order,
            time: Some(time),
            ..Options::default()
        };
        let plain = measure(&model, goal, &options(Projection::Off, false))?;
        let projected = measure(&model, goal, &options(Projection::Live, false))?;
        let ordered = measure(&model, goal, &options(Projection::Live, true))?;
        let saved = 100.0 * (1.0 - projected.solving / plain.solving);
        print!(
            "{name:10} {depth:>5}  {}  {}  {}  {saved:>6.0} %",
            plain.shown(),
            projected.shown(),
            ordered.shown()
        );
        let mut all = vec![&plain, &projected, &ordered];
        let external;
        if let Some(ratios) = ratios {
            let options = |projection| Options {
                solver: Solver::External { program: "z3".into(), theory: Theory::Integers },
                ..options(projection, false)
            };
            external = [
                measure(&model, goal, &options(Projection::Off))?,
                measure(&model, goal, &options(Projection::Reads))?,
            ];
            let [other, other_projected] = &external;
            let ratio = |z3: &Measured, ours: &Measured| z3.solving / ours.solving.max(LEAST);
            let both = [ratio(other, &plain), ratio(other_projected, &projected)];
            print!("  {}  {}", other.shown(), other_projected.shown());
            print!("  {:>8.1} {:>8.1}", both[0], both[1]);
            ratios.0.push(both[0]);
            ratios.1.push(both[1]);
            all.extend(&external);
        }
        match paper {
            Some([a, b, c, d]) => println!("   [{a} {b}  {c} {d}]"),
            None => println!(),
        }
        let decided = all.iter().filter(|one| !one.is_stopped());
        let verdicts: Vec<bool> = decided.map(|one| matches!(one.found, Found::Run(_))).collect();
        if verdicts.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(format!("{name} to depth {depth}: the ways disagree"));
        }
    }
    Ok(())
}

/// How many times as long z3 took, without and with projection, row by row. Where z3 was stopped it is at least that.
#[derive(Default)]
struct Ratios(Vec<f64>, Vec<f64>);

impl Ratios {
    fn print(mut self) {
        for (name, ratios) in [("BMC", &mut self.0), ("PBMC", &mut self.1)] {
            ratios.sort_by(f64::total_cmp);
            let Some(median) = ratios.get(ratios.len() / 2) else { continue };
            println!("{name}: z3 takes {median:.1} times as long, in the median of the rows");
        }
    }
}
