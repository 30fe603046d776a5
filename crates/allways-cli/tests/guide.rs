//! Every command that the guide and the README print works as printed.
//!
//! The rules, for whoever writes a page:
//!
//! - Every line of a block marked `sh` is a command. A page is read from top to bottom by somebody
//!   who begins in an empty directory.
//! - A command ends with exit code 0, or a comment behind it says `# exit code N`.
//! - If the next block after commands is marked `text`, it is what the last of them prints on
//!   standard output. A line that is only `…` stands for any lines, or none. A `…` within a
//!   line stands for any text within a line. Times, memory and what depends on them need not match.
//! - Commands are carried out with one thread: otherwise which of several shortest runs is found,
//!   and how much was explored by then, may differ.
//! - What begins with `crates/` is a file of the repository, wherever the reader is.
//! - What cannot be run here is in [`NOT_RUN`].

use std::path::{Path, PathBuf};
use std::process::Command;

/// Commands that are not run by [`every_command_works_as_printed`], each with the reason.
const NOT_RUN: &[(&str, &str)] = &[
    ("cargo install --path crates/allways-cli", "installs"),
    ("cargo new --lib replicas", FRESH),
    ("cd replicas", FRESH),
    ("cargo add allways --path ../allways/crates/allways", FRESH),
    ("cargo test", FRESH),
    ("cargo test --workspace", "runs this test, too"),
    ("ALLWAYS_MAX_SECONDS=60 ALLWAYS_THREADS=2 cargo test", "in a crate of the reader's own"),
    ("ALLWAYS_SEARCH=dfs ALLWAYS_MAX_MEMORY=2G cargo test", "in a crate of the reader's own"),
    ("ALLWAYS_ENGINE=walk ALLWAYS_SEED=7 cargo test", "in a crate of the reader's own"),
    ("ALLWAYS_SAVE=/tmp/failures ALLWAYS_THREADS=1 cargo test", "in a crate of the reader's own"),
];
const FRESH: &str = "run by `the_first_five_minutes_work_from_a_fresh_crate`";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The README and every page of the guide: name and text.
fn pages() -> Vec<(String, String)> {
    let mut paths = vec![root().join("README.md")];
    let guide = std::fs::read_dir(root().join("docs/src")).unwrap();
    paths.extend(guide.map(|entry| entry.unwrap().path()));
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    let name = |path: &Path| path.strip_prefix(root()).unwrap().display().to_string();
    paths.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

/// A fenced block: what it is marked as, and its lines.
struct Block<'a> {
    info: &'a str,
    lines: Vec<&'a str>,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(_), true) => inside = false,
            (Some(info), false) => {
                inside = true;
                blocks.push(Block { info, lines: Vec::new() });
            }
            (None, true) => blocks.last_mut().unwrap().lines.push(line),
            (None, false) => {}
        }
    }
    assert!(!inside, "a block is not closed");
    blocks
}

/// A command, without its comment, and the exit code that it should end with.
fn command(line: &str) -> (&str, i32) {
    let (command, comment) = line.split_once(" #").unwrap_or((line, ""));
    let code = comment.trim().strip_prefix("exit code ").map_or(0, |code| code.parse().unwrap());
    (command.trim(), code)
}

/// A command of `allways`: the variables before it, and its arguments.
struct Called<'a> {
    variables: Vec<(&'a str, &'a str)>,
    arguments: Vec<&'a str>,
}

/// What a command of `allways` is called with; `None` for other commands.
fn called(command: &str) -> Option<Called<'_>> {
    let mut words = command.split_whitespace().peekable();
    let mut variables = Vec::new();
    while let Some(variable) = words.peek().and_then(|word| word.split_once('=')) {
        variables.push(variable);
        words.next();
    }
    // What a shell would not take as it is stands in quotes; no word has a space in it.
    let words: Vec<&str> = words.map(|word| word.trim_matches('\'')).collect();
    match words.as_slice() {
        ["allways", arguments @ ..] | ["cargo", "run", "--release", "--", arguments @ ..] => {
            Some(Called { variables, arguments: arguments.to_vec() })
        }
        _ => None,
    }
}

/// Runs a command of `allways`; returns what it prints. `None` for other commands.
fn carry_out(line: &str, directory: &Path) -> Option<String> {
    let (command, code) = command(line);
    let Called { variables, arguments } = called(command)?;
    let mut process = undisturbed(env!("CARGO_BIN_EXE_allways"));
    // Files of the repository are where they are.
    let arguments = arguments.into_iter().map(|argument| match argument.starts_with("crates/") {
        true => root().join(argument).display().to_string(),
        false => argument.to_owned(),
    });
    process.args(arguments).envs(variables).current_dir(directory);
    Some(ends_with(&mut process, code, line))
}

/// A process with one thread that does not see what is set around the tests.
fn undisturbed(program: &str) -> Command {
    let mut process = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ALLWAYS_") || name == "COLUMNS" {
            process.env_remove(name);
        }
    }
    process.env("ALLWAYS_THREADS", "1");
    process
}

/// Runs a process that must end with this exit code; returns what it prints.
fn ends_with(process: &mut Command, code: i32, line: &str) -> String {
    let output = process.output().unwrap();
    let (out, err) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{line}\n{out}\n{err}");
    out
}

/// A directory that is empty now and gone in the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("guide-{name}"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A line without what differs from one time to the next: times, memory, and the room that columns
/// of numbers take.
fn steady(line: &str) -> String {
    let statistics = ["elapsed", "peak memory", "memo hits", "run-time ratio", "speed-up"];
    if let Some(what) = statistics.iter().find(|what| line.trim_start().starts_with(**what)) {
        return (*what).to_owned();
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    match words.as_slice() {
        // A row of the statistics.
        [.., value] if line.starts_with("  ") && number(value) => words.join(" "),
        // The statistics in one line.
        [.., time, "s"] if number(time) => line.replace(*time, "0.000"),
        _ => line.trim_end().to_owned(),
    }
}

/// Whether a line is what is expected, where `…` stands for any text.
fn line_matches(expected: &str, line: &str) -> bool {
    let parts: Vec<&str> = expected.split('…').collect();
    let [first, middle @ .., last] = parts.as_slice() else { return expected == line };
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Where what is printed departs from what is expected, if it does.
fn departure(expected: &[&str], printed: &str) -> Option<String> {
    let expected: Vec<String> = expected.iter().map(|line| steady(line)).collect();
    let printed: Vec<String> = printed.lines().map(steady).collect();
    let (mut at, mut line, mut best) = (0, 0, 0);
    // The last `…`, and the first line that it does not stand for.
    let mut any: Option<(usize, usize)> = None;
    while line < printed.len() {
        if expected.get(at).is_some_and(|expected| expected == "…") {
            any = Some((at, line));
            at += 1;
        } else if expected.get(at).is_some_and(|expected| line_matches(expected, &printed[line])) {
            (at, line) = (at + 1, line + 1);
            best = best.max(at);
        } else if let Some((dots, from)) = any {
            any = Some((dots, from + 1));
            (at, line) = (dots + 1, from + 1);
        } else {
            break;
        }
    }
    let is_done = expected[at..].iter().all(|line| line == "…") && line == printed.len();
    let missed = expected[best..].iter().find(|line| *line != "…").map_or("the end", |line| line);
    (!is_done).then(|| format!("no match for: {missed}\nprinted:\n{}", printed.join("\n")))
}

#[test]
fn every_command_works_as_printed() {
    for (page, text) in pages() {
        let directory = Directory::new(&page.replace('/', "-"));
        let mut printed = None;
        for block in blocks(&text) {
            match block.info {
                "sh" => {
                    for line in &block.lines {
                        printed = carry_out(line, &directory.0);
                        let is_known = NOT_RUN.iter().any(|(known, _)| *known == command(line).0);
                        assert_ne!(printed.is_some(), is_known, "{page}: {line}");
                    }
                }
                "text" => {
                    if let Some(printed) = printed.take() {
                        let departure = departure(&block.lines, &printed);
                        assert_eq!(departure, None, "{page}:\n{}", departure.as_ref().unwrap());
                    }
                }
                _ => printed = None,
            }
        }
    }
}

#[test]
fn every_command_that_is_not_run_is_printed_somewhere() {
    let pages = pages();
    let printed: Vec<&str> = pages
        .iter()
        .flat_map(|(_, text)| blocks(text))
        .filter(|block| block.info == "sh")
        .flat_map(|block| block.lines)
        .map(|line| command(line).0)
        .collect();
    for (known, why) in NOT_RUN {
        assert!(printed.contains(known), "{known} ({why})");
    }
}

#[test]
fn every_page_is_in_the_summary_and_its_examples_are_tests() {
    let summary = std::fs::read_to_string(root().join("docs/src/SUMMARY.md")).unwrap();
    // What needs sockets or threads is tested where they are.
    let crates = ["allways", "allways-bmc", "allways-epa", "allways-live", "allways-threads"]
        .map(|name| root().join(format!("crates/{name}/src/lib.rs")));
    let tests = crates.map(|path| std::fs::read_to_string(path).unwrap()).concat();
    for (page, _) in pages().iter().filter(|(page, _)| page != "docs/src/SUMMARY.md") {
        assert!(tests.contains(&format!("\"../../../{page}\"")), "{page} is not tested");
        if let Some(page) = page.strip_prefix("docs/src/") {
            assert!(summary.contains(&format!("]({page})")), "{page} is not in the summary");
        }
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    for (page, text) in pages() {
        let from = root().join(&page);
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let to = if path.is_empty() { from.clone() } else { from.with_file_name(path) };
            assert!(to.exists(), "{page}: {link}");
            if !heading.is_empty() {
                let text = std::fs::read_to_string(&to).unwrap();
                let mut headings = text.lines().filter(|line| line.starts_with('#')).map(anchor);
                assert!(headings.any(|anchor| anchor == heading), "{page}: {link}");
            }
        }
    }
}

/// What a heading is called in links.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn the_picture_in_the_readme_is_what_the_tool_draws() {
    let directory = Directory::new("picture");
    let run = |line: &str| carry_out(line, &directory.0).unwrap();
    run("allways check lock --set bug=unpersisted-token --save out # exit code 1");
    let drawn = run("allways show out/run.json --svg");
    let path = root().join("docs/counterexample.svg");
    if std::env::var_os("ALLWAYS_TEST_DRAW").is_some() {
        std::fs::write(&path, &drawn).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(kept == drawn, "with ALLWAYS_TEST_DRAW=1, this test draws {} anew", path.display());
    assert!(kept.len() < 60_000);
}

/// Makes the crate of the page "First check in five minutes" as it is told there, in a copy of
/// the layout that it assumes, and runs its tests before and after the change.
#[cfg(unix)]
#[test]
#[ignore = "builds a crate of its own; .ci/run runs it"]
fn the_first_five_minutes_work_from_a_fresh_crate() {
    let directory = Directory::new("fresh");
    // Where cargo finds no workspace of ours around the new crate.
    let place = std::env::temp_dir().join(format!("allways-fresh-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).unwrap();
    std::os::unix::fs::symlink(root(), place.join("allways")).unwrap();
    let page = std::fs::read_to_string(root().join("docs/src/first-check.md")).unwrap();
    let here = place.join("replicas");
    let file = here.join("src/lib.rs");
    let mut printed = None;
    for block in blocks(&page) {
        match block.info {
            "rust" => std::fs::write(&file, block.lines.join("\n") + "\n").unwrap(),
            "diff" => {
                let text = |sign: char| {
                    let line = block.lines.iter().find_map(|line| line.strip_prefix(sign));
                    line.unwrap().trim_start()
                };
                let before = std::fs::read_to_string(&file).unwrap();
                std::fs::write(&file, before.replace(text('-'), text('+'))).unwrap();
            }
            "sh" => {
                for line in &block.lines {
                    let (command, code) = command(line);
                    let words: Vec<&str> = command.split_whitespace().collect();
                    if !matches!(words[..2], ["cargo", "new" | "add" | "test"]) {
                        continue;
                    }
                    let mut process = undisturbed(words[0]);
                    let beside = if words[1] == "new" { &place } else { &here };
                    // As little as possible is built, and nothing is asked of the network.
                    process
                        .args(&words[1..])
                        .current_dir(beside)
                        .env("CARGO_NET_OFFLINE", "true")
                        .env("CARGO_TARGET_DIR", directory.0.join("target"))
                        .env_remove("RUSTFLAGS");
                    printed = Some(ends_with(&mut process, code, line));
                    if words[1] == "new" {
                        std::fs::copy(root().join("Cargo.lock"), here.join("Cargo.lock")).unwrap();
                    }
                }
            }
            "text" => {
                if let Some(printed) = printed.take() {
                    assert_eq!(departure(&block.lines, &printed), None);
                }
            }
            _ => {}
        }
    }
    std::fs::remove_dir_all(&place).unwrap();
}

#[test]
fn dots_stand_for_lines_or_for_text_within_one() {
    let printed = "one\ntwo\nthree\nfour\n  elapsed   0.123 s\n";
    assert_eq!(departure(&["…", "three", "…"], printed), None);
    assert_eq!(departure(&["one", "t…", "…", "  elapsed  9.000 s"], printed), None);
    assert!(departure(&["two", "…"], printed).is_some());
    assert!(departure(&["…", "three"], printed).is_some());
    assert!(departure(&["one", "…", "five", "…"], printed).is_some());
}
