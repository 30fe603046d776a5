//! Nothing panics, whatever the source is; and every error can be shown.

use allways_bmc::lang::{compile, limits};
use allways_bmc::program::Program;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Compiles, shows what is wrong, and looks at what came out.
fn survives(source: &str) {
    match compile("fuzz", source, &[]) {
        Ok(program) => is_well_formed(&program),
        Err(errors) => {
            assert!(!errors.is_empty() && errors.len() <= limits::MAX_DIAGNOSTICS);
            for error in errors {
                if let Some(span) = &error.span {
                    assert!(span.start <= span.end && span.end <= source.len(), "{error:?}");
                    assert!(source.get(span.clone()).is_some(), "{error:?}");
                }
                if let Some((span, _)) = &error.related {
                    assert!(source.get(span.clone()).is_some(), "{error:?}");
                }
                for color in [false, true] {
                    assert!(error.render("fuzz.pbmc", source, color).contains("rror"));
                }
            }
        }
    }
}

fn is_well_formed(program: &Program) {
    for process in &program.processes {
        for instruction in &process.code {
            let (last, _) = instruction.next.last().expect("it goes on somewhere");
            assert_eq!(program.exprs.constant(*last), Some(1));
            for (_, location) in &instruction.next {
                assert!(*location as usize <= process.code.len());
            }
            for update in &instruction.updates {
                let variable = program.variable(update.variable);
                assert_eq!(variable.length.is_some(), update.index.is_some());
                assert_eq!(program.exprs.kind(update.value), variable.kind);
            }
        }
    }
}

const PROGRAM: &str = "
const N = 3; const M = N * 2 - 1;
shared uint<4> x = 0, y; shared bool flag[N]; shared int<8> B[4] = {10, -11, *, 13};
mutex m, forks[N];
init { x = 3; B[2] = 7; }
process Main { uint<4> t = 1; while (t < 9) { t = t + 1; assert t > 0; } }
process P[i in 0..N] {
    uint<4> t = i, u;
    critical: x = t + 1; flag[i] = true; B[t % 4] = 7; x = *;
    if (t == 3) { skip; } else if (t > 4 && B[t] >= 0) { await y == 0; } else { assume *; }
    either { lock m; } or { unlock forks[(i + 1) % N]; } or { x = (t << 1) | ~u; }
    atomic { if (*) { x = x + 1; B[x] = x as int<8>; } either { y = x; } or { lock forks[i]; } }
}
always mutual_exclusion: !(flag[0] && flag[1]);
never overflow: x > 9 ? P[1]@critical : Main@end;
reachable done: P[0].t == 4 && exists k in 0..N: flag[k];
";

/// The program without what is wrong in it, cut into pieces that are mostly tokens.
fn pieces() -> Vec<String> {
    let source = PROGRAM.replace("assume *", "assume t < 9");
    let mut pieces: Vec<String> = Vec::new();
    for c in source.chars() {
        let word = c.is_alphanumeric() || c == '_';
        match pieces.last_mut() {
            Some(last) if word && last.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                last.push(c);
            }
            _ => pieces.push(c.to_string()),
        }
    }
    pieces
}

#[test]
fn the_program_that_is_changed_is_right() {
    compile("fuzz", &pieces().concat(), &[]).expect("it is right");
}

const WORDS: &[&str] = &[
    "const",
    "shared",
    "mutex",
    "init",
    "process",
    "always",
    "never",
    "reachable",
    "if",
    "else",
    "while",
    "either",
    "or",
    "await",
    "assert",
    "lock",
    "unlock",
    "skip",
    "atomic",
    "forall",
    "exists",
    "in",
    "as",
    "int",
    "uint",
    "bool",
    "true",
    "false",
    "end",
    "x",
    "y",
    "P",
    "N",
    "a",
    "0",
    "1",
    "4",
    "4294967295",
    "0x",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    ">>",
    "<=",
    "==",
    "=",
    ";",
    ";",
    ":",
    ",",
    ".",
    "..",
    "@",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "~",
    "&&",
    "||",
    "?",
    "/*",
    "//",
    "\n",
    "é",
    "\"",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        survives(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_text(text in "\\PC{0,200}") {
        survives(&text);
    }

    #[test]
    fn random_tokens(words in prop::collection::vec(select(WORDS), 0..120)) {
        survives(&words.join(" "));
    }

    #[test]
    fn tokens_in_a_process(words in prop::collection::vec(select(WORDS), 0..60)) {
        let source = format!("const N = 2; shared uint<4> x, y; shared bool a[N]; process P {{ {} }}", words.join(" "));
        survives(&source);
    }

    #[test]
    fn changed_programs(
        changes in prop::collection::vec((0..4, any::<Index>(), any::<Index>(), select(WORDS)), 1..4),
    ) {
        let mut pieces = pieces();
        for (change, first, second, word) in changes {
            let (a, b) = (first.index(pieces.len()), second.index(pieces.len()));
            match change {
                0 => { pieces.remove(a); }
                1 => { let piece = pieces[a].clone(); pieces.insert(b, piece); }
                2 => pieces.swap(a, b),
                _ => pieces[a] = (*word).to_owned(),
            }
        }
        survives(&pieces.concat());
    }
}

/// A source that repeats something very often.
fn often(before: &str, piece: &str, times: usize, after: &str) -> String {
    format!("{before}{}{after}", piece.repeat(times))
}

#[test]
fn deep_and_long_sources_end() {
    let code = "shared uint<4> x; shared bool b; process P { ";
    let property = "shared bool b; process P { skip; } always p: ";
    for (before, piece) in [
        (code, "{"),
        (code, "if (b) {"),
        (code, "if (b) {} else "),
        (code, "atomic {"),
        (code, "while (*) {"),
        (code, "either {} or {"),
        (code, "l: "),
        (code, "x = x; "),
        (code, "x = ("),
        (code, "bool q; "),
        ("", "process P { } "),
        ("", "const N = 1; "),
        ("", "{"),
        ("", "}"),
        ("", "é"),
        ("shared uint<", "("),
        (property, "("),
        (property, "!"),
        (property, "b && "),
        (property, "b ? b : "),
        (property, "b ? "),
        (property, "-"),
        (property, "b as uint<1> as "),
        (property, "b || b && b == b | b ^ b & b << b + b * ("),
        (property, "forall k in 0..64: "),
        (property, "x["),
        (property, "P[P["),
    ] {
        for times in [150, 5_000, 100_000] {
            let source = often(before, piece, times, "");
            survives(&source);
            survives(&(source + " b; }"));
        }
    }
    survives(&often("", "a", 2_000_000, ""));
    let sum = often("shared uint<4> x; process P { x = x", " + x", 50_000, "; }");
    compile("long", &sum, &[]).expect("a long sum is not deep");
}

#[test]
fn what_is_repeated_is_bounded() {
    let quantifiers = "forall a in 0..4000: forall b in 0..4000: forall c in 0..4000: ";
    survives(&format!("process P {{ skip; }} always p: {quantifiers} a + b < c;"));
    survives(&format!("shared bool f[4096]; always p: {quantifiers} f[a] || f[b];"));
    survives("process P[i in 0..4000000000] { skip; } mutex m;");
    survives("process P[i in -4000000000..4000000000] { skip; }");
    let writes = often("", "a[x] = a[y]; x = x + 1; y = a[x];", 3_000, "");
    survives(&format!(
        "shared uint<8> x, y; shared uint<8> a[256]; process P[i in 0..64] {{ atomic {{ {writes} }} }}"
    ));
    let branches = often("", "if (x == y) { x = y; } else { a[x] = a[y]; }", 4_000, "");
    survives(&format!(
        "shared uint<8> x, y; shared uint<8> a[256]; process P {{ atomic {{ {branches} }} }}"
    ));
}
