//! Random sources, in which processes often work on elements of their own, so that much can be left out of what a goal
//! depends on: what is found with projection, and what is proved, is what enumeration of all states says.
//!
//! `SOURCES` sets how many are made, `FIRST` the first number that they are made from.

use allways_bmc::Projection;
use allways_bmc::check::{Found, Options, Proof, look};
use allways_bmc::run::{End, enumerate};

const DEPTH: usize = 8;

/// Pseudo-random numbers: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % end
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// Writes one process.
struct Writer {
    random: Random,
    process: u64,
    labels: Vec<String>,
}

impl Writer {
    /// Often one that is known before: a number, or a variable that only this process writes.
    fn index(&mut self) -> String {
        match self.random.below(6) {
            0 | 1 => self.random.below(3).to_string(),
            2 => (self.process % 3).to_string(),
            3 => "k".to_owned(),
            4 => "(k + 1) % 3".to_owned(),
            _ => self.random.of(&["x", "z", "a[k]"]).to_owned(),
        }
    }

    fn place(&mut self) -> String {
        match self.random.below(8) {
            0 | 1 => "t".to_owned(),
            2 => "k".to_owned(),
            3 => self.random.of(&["x", "y", "z"]).to_owned(),
            4..=6 => format!("a[{}]", self.index()),
            _ => format!("b[{}]", self.index()),
        }
    }

    fn value(&mut self, depth: u32) -> String {
        match self.random.below(if depth == 0 { 3 } else { 6 }) {
            0 => self.random.below(4).to_string(),
            1 | 2 => self.place(),
            3 => format!("({} + {})", self.value(depth - 1), self.place()),
            4 => format!("({} / {})", self.value(depth - 1), self.place()),
            _ => {
                let condition = self.condition(depth - 1);
                format!("({condition} ? {} : {})", self.value(depth - 1), self.value(depth - 1))
            }
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        match self.random.below(if depth == 0 { 4 } else { 6 }) {
            0..=2 => {
                let (left, right) = (self.place(), self.value(0));
                format!("{left} {} {right}", self.random.of(&["==", "!=", "<", "<="]))
            }
            3 => self.random.of(&["f", "!f"]).to_owned(),
            4 => format!("({} && {})", self.condition(depth - 1), self.condition(depth - 1)),
            _ => format!("!({} || {})", self.condition(depth - 1), self.condition(depth - 1)),
        }
    }

    fn block(&mut self, depth: u32, is_atomic: bool) -> String {
        let count = 1 + self.random.below(3);
        (0..count).map(|_| self.statement(depth, is_atomic) + " ").collect()
    }

    fn statement(&mut self, depth: u32, is_atomic: bool) -> String {
        let text = match self.random.below(if depth == 0 { 10 } else { 14 }) {
            0..=4 => format!("{} = {};", self.place(), self.value(1)),
            5 if self.random.below(2) == 0 => format!("{} = *;", self.place()),
            5 => format!("f = {};", self.condition(0)),
            6 => format!("await {};", self.condition(1)),
            7 => format!("assert {};", self.condition(1)),
            8 => "lock m;".to_owned(),
            9 => "unlock m;".to_owned(),
            10 | 11 if !is_atomic => format!("atomic {{ {} }}", self.block(depth - 1, true)),
            12 if !is_atomic => {
                let condition = self.condition(1);
                format!("while ({condition}) {{ {} }}", self.block(depth - 1, false))
            }
            13 => {
                let either = self.block(depth - 1, is_atomic);
                format!("either {{ {either} }} or {{ {} }}", self.block(depth - 1, is_atomic))
            }
            _ => {
                let condition = self.condition(1);
                format!("if ({condition}) {{ {} }}", self.block(depth - 1, is_atomic))
            }
        };
        if is_atomic || self.random.below(4) > 0 {
            return text;
        }
        let label = format!("place{}", self.labels.len());
        self.labels.push(label.clone());
        format!("{label}: {text}")
    }
}

/// A part of a property.
fn atom(random: &mut Random, labels: &[Vec<String>]) -> String {
    let process = random.below(labels.len() as u64) as usize;
    let number = random.below(4);
    match random.below(6) {
        0 => format!("P{process}.t == {number}"),
        1 => format!("P{process}.k == {number}"),
        2 => format!("a[{}] == {number}", random.below(3)),
        3 => format!("a[P{process}.k] == {number}"),
        4 => {
            let labels: Vec<&str> = labels[process].iter().map(String::as_str).collect();
            let label = if labels.is_empty() { "end" } else { random.of(&labels) };
            format!("P{process}@{label}")
        }
        _ => format!("{} == {number}", random.of(&["x", "y", "z", "b[1]"])),
    }
}

fn source(seed: u64) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let some = |random: &mut Random| random.of(&["*", "0", "0", "1", "1", "2", "3"]).to_owned();
    let mut text = format!(
        "shared uint<2> x = {}, y, z = 1; shared bool f; mutex m; shared uint<2> a[3] = {{0, {}, 2}}, b[3];\n",
        some(&mut random),
        some(&mut random)
    );
    let mut labels = Vec::new();
    for process in 0..2 + random.below(3) {
        let (t, k) = (some(&mut random), random.below(3));
        let mut writer = Writer { random, process, labels: Vec::new() };
        let body = writer.block(2, false);
        text += &format!("process P{process} {{ uint<2> t = {t}, k = {k}; {body} }}\n");
        labels.push(writer.labels);
        random = writer.random;
    }
    for property in 0..3 {
        let claim = random.of(&["always", "never", "reachable"]);
        let mut condition = atom(&mut random, &labels);
        for _ in 0..random.below(4) {
            let (operator, not) = (random.of(&["||", "&&"]), random.of(&["", "!"]));
            condition = format!("{not}({condition}) {operator} {}", atom(&mut random, &labels));
        }
        text += &format!("{claim} property{property}: {condition};\n");
    }
    text
}

fn ways() -> Vec<Options> {
    let mut ways = Vec::new();
    for projection in [Projection::Off, Projection::Reads, Projection::Live] {
        for order in [false, true] {
            for at_once in [false, true] {
                let options =
                    Options { depth: DEPTH, projection, order, at_once, ..Options::default() };
                ways.push(Options { prove: !at_once, ..options.clone() });
                ways.push(options);
            }
        }
    }
    ways.push(Options { depth: DEPTH, portfolio: true, prove: true, ..Options::default() });
    ways
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn what_is_left_out_makes_no_difference() {
    let (first, count) = (number("FIRST", 1), number("SOURCES", 60));
    let (mut compared, mut depends) = (0, 0);
    for seed in first..first + count {
        let source = source(seed);
        let compiled = allways_bmc::lang::compile("random", &source, &[]);
        let Ok(mut program) = compiled else { panic!("{source}\n{compiled:?}") };
        let goals = program.goals();
        // All states, if there are few.
        let Ok(known) = enumerate(&program, &goals, 1_000, 8_000) else { continue };
        if known.end != End::Exhausted {
            continue;
        }
        compared += 1;
        for options in ways() {
            let looked = look(&program, &goals, &options, &|_| ()).unwrap();
            for ((place, goal), found) in goals.iter().enumerate().zip(&looked.found) {
                let is_right = match (known.steps(place), found) {
                    (Some(steps), Found::Run(witness)) => {
                        let length = witness.run.steps.len();
                        length == steps || options.at_once && length > steps
                    }
                    (steps, Found::Nothing { depth }) => {
                        *depth == DEPTH && steps.is_none_or(|steps| steps > DEPTH)
                    }
                    (None, Found::Never(proof)) => {
                        depends += u32::from(matches!(proof, Proof::Depends { .. }));
                        options.prove
                    }
                    _ => false,
                };
                let (name, steps) = (&goal.name, known.steps(place));
                assert!(
                    is_right,
                    "{seed}: {name} by {options:?}: {found:?}, not {steps:?}\n{source}"
                );
            }
        }
    }
    println!("{compared} of {count} sources, {depends} proofs by what a goal depends on");
    assert!(2 * compared > count, "only {compared} of {count} sources have few states");
    assert!(depends > 0 || count < 50, "nothing is left out");
}
