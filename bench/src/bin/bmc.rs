//! Bounded model checking with and without projection: tables 6 and 7 and figure 14 of the thesis, whose own numbers stand beside.
//!
//! ```text
//! bmc                     both tables, at once and at the thesis' depths; two minutes a measurement at most
//! bmc 10                  ten seconds at most
//! bmc 60 z3               the same formulas to z3 too, over integers as the thesis did
//! bmc 20 figure           time over depth for litmus 5 and a property that nothing reaches
//! ```
//!
//! *Solving* is what the solver takes, *total* everything. Each row says which of its ways was stopped by time.

use allways_bmc::check::{Found, Options, Solver, look};
use allways_bmc::program::Goal;
use allways_bmc::{Model, Projection, Theory, lang};
use std::process::ExitCode;
use std::time::Duration;

/// What the thesis measured, in seconds: solving and total without projection, then with it.
type Paper = [f64; 4];

/// A row: its name, the program, a constant, the property, the depth, and the thesis' numbers.
type Row = (&'static str, &'static str, &'static [(&'static str, i64)], &'static str, usize, Paper);

const UNSATISFIABLE: &[Row] = &[
    ("Indexer 2", "indexer", &[("N", 2)], "collision", 10, [19.531, 20.116, 5.088, 5.773]),
    (
        "Indexer 4",
        "indexer",
        &[("N", 4)],
        "collision",
        15,
        [15_979.298, 15_981.531, 5_881.442, 5_884.755],
    ),
    ("FSys 5", "filesystem", &[], "overflow", 30, [37.058, 47.376, 1.825, 58.139]),
    ("FSys 5", "filesystem", &[], "overflow", 60, [206.297, 227.427, 14.879, 227.942]),
    ("FSys 5", "filesystem", &[], "overflow", 70, [627.547, 651.991, 40.469, 325.797]),
    ("FSys 5", "filesystem", &[], "overflow", 90, [949.518, 981.573, 10.478, 467.558]),
];

const SATISFIABLE: &[Row] = &[
    ("DPhil 5", "dining-mutant", &[("N", 5)], "neighbours_eat", 10, [5.921, 8.830, 7.671, 12.665]),
    (
        "DPhil 7",
        "dining-mutant",
        &[("N", 7)],
        "neighbours_eat",
        10,
        [14.391, 19.162, 14.945, 22.585],
    ),
    (
        "DPhil 10",
        "dining-mutant",
        &[("N", 10)],
        "neighbours_eat",
        10,
        [51.229, 59.460, 39.607, 52.139],
    ),
    (
        "DPhil 12",
        "dining-mutant",
        &[("N", 12)],
        "neighbours_eat",
        10,
        [77.121, 88.028, 66.544, 82.618],
    ),
    (
        "DPhil 15",
        "dining-mutant",
        &[("N", 15)],
        "neighbours_eat",
        10,
        [219.824, 235.581, 182.689, 204.752],
    ),
    ("Litmus 4", "litmus-4", &[], "found", 20, [10.649, 11.348, 13.988, 15.819]),
    ("Litmus 5", "litmus-5", &[], "found", 20, [605.336, 606.475, 654.573, 657.102]),
    ("Litmus 6", "litmus-6", &[], "found", 20, [3_888.401, 3_889.363, 908.573, 911.550]),
    ("Litmus 7", "litmus-7", &[], "found", 20, [2_611.024, 2_612.562, 349.708, 353.544]),
    ("Litmus 8", "litmus-8", &[], "found", 20, [7_200.0, 7_200.0, 59.738, 64.031]),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seconds = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(120);
    let time = Duration::from_secs(seconds);
    let z3 = arguments.iter().any(|argument| argument == "z3");
    let done = match arguments.iter().any(|argument| argument == "figure") {
        true => figure(time),
        false => table("unsatisfiable", UNSATISFIABLE, time, z3)
            .and_then(|()| table("satisfiable", SATISFIABLE, time, z3)),
    };
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

fn measure(model: &Model, goal: &Goal, options: Options) -> Result<Measured, String> {
    let looked = look(model.program(), std::slice::from_ref(goal), &options, &|_| ())?;
    let found = looked.found.into_iter().next().ok_or("nothing was looked for")?;
    Ok(Measured {
        solving: looked.solving.as_secs_f64(),
        total: looked.elapsed.as_secs_f64(),
        found,
    })
}

fn goal_of<'a>(model: &'a Model, name: &str) -> Result<&'a Goal, String> {
    let goal = model.goals().iter().find(|goal| goal.name == name);
    goal.ok_or_else(|| format!("there is no property `{name}`"))
}

fn table(title: &str, rows: &[Row], time: Duration, z3: bool) -> Result<(), String> {
    println!("\n{title}; seconds, solving and total; the thesis' in brackets\n");
    println!(
        "{:10} {:>5}  {:^20}  {:^20}  {:^20}  {:>8}{}",
        "",
        "depth",
        "BMC",
        "PBMC",
        "PBMC, one order",
        "saved",
        if z3 { "   z3 BMC             z3 PBMC              ratio" } else { "" }
    );
    let mut ratios: Vec<f64> = Vec::new();
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
        let plain = measure(&model, goal, options(Projection::Off, false))?;
        let projected = measure(&model, goal, options(Projection::Live, false))?;
        let ordered = measure(&model, goal, options(Projection::Live, true))?;
        let verdict = |one: &Measured| matches!(one.found, Found::Run(_));
        let decided: Vec<bool> = [&plain, &projected, &ordered]
            .into_iter()
            .filter(|m| !m.is_stopped())
            .map(verdict)
            .collect();
        if decided.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(format!("{name} to depth {depth}: the ways disagree"));
        }
        let saved = 100.0 * (1.0 - projected.solving / plain.solving);
        print!(
            "{name:10} {depth:>5}  {}  {}  {}  {saved:>6.0} %",
            plain.shown(),
            projected.shown(),
            ordered.shown()
        );
        if z3 {
            let external = |projection| Options {
                solver: Solver::External { program: "z3".into(), theory: Theory::Integers },
                ..options(projection, false)
            };
            let other = measure(&model, goal, external(Projection::Off))?;
            let other_projected = measure(&model, goal, external(Projection::Reads))?;
            let best = other.solving.min(other_projected.solving);
            let ratio = best / plain.solving.min(projected.solving);
            ratios.push(ratio);
            print!("  {}  {}  {ratio:>8.1}", other.shown(), other_projected.shown());
        }
        println!("   [{} {}  {} {}]", paper[0], paper[1], paper[2], paper[3]);
    }
    if !ratios.is_empty() {
        ratios.sort_by(f64::total_cmp);
        println!(
            "\nmedian ratio of the faster of z3's two times to the faster of ours: {:.1}",
            ratios[ratios.len() / 2]
        );
    }
    Ok(())
}

/// Figure 14: time over depth.
fn figure(time: Duration) -> Result<(), String> {
    let model = open("litmus-5", &[])?;
    let goal = goal_of(&model, "absent")?;
    println!("depth  BMC (solving, total)  PBMC (solving, total)");
    for depth in (5..=40).step_by(1) {
        let options = |projection| Options {
            depth,
            at_once: true,
            projection,
            time: Some(time),
            ..Options::default()
        };
        let plain = measure(&model, goal, options(Projection::Off))?;
        let projected = measure(&model, goal, options(Projection::Live))?;
        println!("{depth:>5}  {}  {}", plain.shown(), projected.shown());
        if plain.is_stopped() && projected.is_stopped() {
            break;
        }
    }
    Ok(())
}
