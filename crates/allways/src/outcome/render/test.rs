//! A Rust test that carries the run out and fails while it violates, to keep the bug from coming
//! back once it is gone.
//!
//! The run is in it as data. How the system is made cannot be told from a run: that is left to
//! whoever takes the test over.

use super::About;
use super::words::{headline, plain};
use crate::outcome::Cause;
use crate::outcome::story::{Story, StoryEnding};
use std::fmt::Write;

/// The story as a Rust file with one test.
pub(super) fn render(story: &Story, about: &About) -> String {
    let mut out = String::new();
    let Some(ending) = story.ending.as_ref().filter(|ending| ending.cause.is_some()) else {
        let _ = writeln!(out, "// There is nothing to test: {}.", comment(&headline(story)));
        return out;
    };
    let _ = writeln!(out, "// {}", comment(&headline(story)));
    let line = about.line();
    if !line.is_empty() {
        let _ = writeln!(out, "// {}", comment(&line));
    }
    out.push_str("//\n");
    let width = story.steps.len().to_string().len();
    for (index, step) in story.steps.iter().enumerate() {
        let text = comment(&step.event.to_string());
        let _ = writeln!(out, "// {:>width$}. {text}", index + 1);
    }
    let title = about.title();
    let title = if title.is_empty() { String::new() } else { format!(": {}", comment(&title)) };
    let (run, data) = match &about.saved {
        Some(saved) => {
            ("from_json(RUN)", format!("\n/// The run.\nconst RUN: &str = {};\n", raw(saved)))
        }
        None => ("load(\"run.json\")", String::new()),
    };
    let threads = story.is_of_threads();
    let what = if threads { "program" } else { "system" };
    out.push_str(match threads {
        true => "\nuse allways::SavedRun;\nuse allways_threads::Program;\n",
        false => "\nuse allways::{SavedRun, System};\n",
    });
    let _ = writeln!(out, "\n/// The {what} that the run is of{title}.");
    out.push_str(match threads {
        true => {
            "\
/// Fill in what its main thread does, as for the check that found the run.
fn program() -> Program {
    Program::new(my_main)
}
"
        }
        false => {
            "\
/// Fill in your node, and make the system as for the check that found the run.
fn system() -> System<MyNode> {
    my_system()
}
"
        }
    });
    let is = format!("{what}().replay(&run).expect(\"the run is one of this {what}\")");
    let (fails, test) = match ending.cause {
        // Who puts that right mostly makes the run impossible.
        _ if threads => (
            "\
/// Fails while the run violates. Once that is put right, it may be that the run cannot be carried out any more: that is
/// no failure.",
            format!("{is}.assert_not_violated();"),
        ),
        _ => (
            "\
/// Fails while the run violates, and when it can no longer be carried out: then it tests nothing.",
            format!("{is}.assert_no_longer_violates();"),
        ),
    };
    let name = name(ending, threads);
    let _ = write!(
        out,
        "
{fails}
#[test]
fn {name}() {{
    let run = SavedRun::{run}.expect(\"the run can be read\");
    {test}
}}
{data}"
    );
    out
}

/// What the test is called.
fn name(ending: &StoryEnding, threads: bool) -> String {
    match &ending.cause {
        Some(Cause::Panic) if threads => return "no_thread_panics_in_this_run".to_owned(),
        Some(Cause::Panic) => return "no_handler_panics_in_this_run".to_owned(),
        Some(Cause::Trouble(trouble)) => {
            let trouble = trouble.name().replace([' ', '-'], "_");
            return format!("no_{trouble}_in_this_run");
        }
        _ => {}
    }
    let mut name = String::new();
    for c in ending.property.chars().take(60) {
        match c {
            c if c.is_ascii_alphanumeric() => name.push(c.to_ascii_lowercase()),
            _ if name.ends_with('_') || name.is_empty() => {}
            _ => name.push('_'),
        }
    }
    let name = name.trim_end_matches('_');
    match name.chars().next() {
        None => "the_property_holds_in_this_run".to_owned(),
        Some(c) if c.is_ascii_digit() => format!("property_{name}_holds_in_this_run"),
        Some(_) => format!("{name}_holds_in_this_run"),
    }
}

/// Text that stays within its comment.
fn comment(text: &str) -> String {
    plain(text)
}

/// A raw string with as many signs around it as it takes.
fn raw(text: &str) -> String {
    let longest =
        text.split('"').skip(1).map(|rest| rest.len() - rest.trim_start_matches('#').len());
    let signs = "#".repeat(longest.max().unwrap_or(0) + 1);
    format!("r{signs}\"{}\"{signs}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::render::sample;

    #[test]
    fn a_property_gives_the_test_its_name() {
        let story = sample::paxos();
        assert_eq!(name(story.ending.as_ref().unwrap(), false), "agreement_holds_in_this_run");
        let mut ending = story.ending.unwrap();
        for (property, expected) in [
            ("At most 2 leaders!", "at_most_2_leaders_holds_in_this_run"),
            ("2 leaders", "property_2_leaders_holds_in_this_run"),
            ("…", "the_property_holds_in_this_run"),
        ] {
            property.clone_into(&mut ending.property);
            assert_eq!(name(&ending, false), expected);
        }
    }

    #[test]
    fn no_text_leaves_its_comment_or_its_string() {
        assert_eq!(raw("a\"#b"), "r##\"a\"#b\"##");
        assert_eq!(raw("{}"), "r#\"{}\"#");
        let file = render(&sample::hostile(), &About::default().saved("{\"what\":\"\\\"#\"}"));
        let code = file.lines().skip_while(|line| line.starts_with("//"));
        assert!(code.clone().all(|line| !line.contains("script")), "{file}");
        assert!(code.count() > 9);
    }

    #[test]
    fn a_run_that_violates_nothing_is_no_test() {
        let file = render(&sample::long(3, 4), &sample::about());
        assert_eq!(file, "// There is nothing to test: a run of 4 events.\n");
    }

    #[test]
    fn a_test_of_threads_is_content_with_a_run_that_is_impossible() {
        let file = render(&sample::threads(), &About::default().saved("{}"));
        assert!(file.contains("use allways_threads::Program;"), "{file}");
        assert!(file.contains("fn no_deadlock_in_this_run() {"), "{file}");
        let call = "    program().replay(&run).expect(\"the run is one of this program\")";
        let assertion = format!("{call}.assert_not_violated();\n");
        assert!(file.contains(&assertion) && !file.contains("MyNode"), "{file}");
        let mut story = sample::threads();
        let ending = story.ending.as_mut().unwrap();
        ending.cause = Some(Cause::Panic);
        let file = render(&story, &About::default().saved("{}"));
        assert!(file.contains("fn no_thread_panics_in_this_run() {"), "{file}");
        assert!(file.contains(&assertion), "{file}");
    }
}
