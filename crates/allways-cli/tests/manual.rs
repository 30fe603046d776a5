//! Completions and manual pages, from outside: shells and `man` must be able to read them.

use std::io::Write;
use std::process::{Command, Stdio};

fn allways(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_allways")).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn completions_name_commands_flags_and_systems() {
    for shell in ["bash", "zsh", "fish"] {
        let (code, out, err) = allways(&["completions", shell]);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{shell}");
        for word in ["max-seconds", "two-phase-commit", "completions", "classic"] {
            assert!(out.contains(word), "{word} in what {shell} is told");
        }
    }
}

/// Where there is a shell, it must understand what it is told.
#[test]
fn shells_read_their_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let (_, script, _) = allways(&["completions", shell]);
        let mut reader = Command::new(shell);
        reader.arg("-n").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let Ok(mut reader) = reader.spawn() else { continue };
        reader.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        let output = reader.wait_with_output().unwrap();
        assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn another_shell_is_wrong_usage() {
    for args in [&["completions", "tcsh"][..], &["completions", "Bash"]] {
        let (code, out, err) = allways(args);
        assert_eq!((code, out.as_str()), (Some(2), ""));
        let sentence = format!("there is no shell `{}` here; choose bash, zsh or fish", args[1]);
        assert_eq!(err, format!("allways: <SHELL>: {sentence}\n"));
    }
    let (code, _, err) = allways(&["completions"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("<SHELL>") && err.lines().count() == 1, "{err}");
}

#[test]
fn the_manual_page_is_roff_with_everything_that_help_has() {
    let (code, out, err) = allways(&["man"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.contains(".TH allways 1 ") && out.contains(".SH EXIT CODES\n"), "{out}");
    let (code, out, _) = allways(&["man", "check"]);
    assert_eq!(code, Some(0));
    assert!(out.contains(".TH allways-check 1 ") && out.contains(".SH EXAMPLES\n"), "{out}");
    assert!(out.contains("ALLWAYS_MAX_SECONDS"), "{out}");
    assert!(!out.contains("EXTRA"), "{out}");
}

#[test]
fn every_command_has_a_manual_page() {
    let (_, help, _) = allways(&["--help"]);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = commands.take_while(|line| !line.is_empty()).filter_map(|line| {
        // What goes on from the line before is indented further.
        line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty())
    });
    let commands: Vec<&str> = names.collect();
    assert!(commands.len() >= 7, "{help}");
    for command in commands {
        let (code, out, err) = allways(&["man", command]);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{command}");
        assert!(out.contains(&format!(".TH allways-{command} 1 ")), "{out}");
    }
}

#[test]
fn a_manual_page_of_no_command_is_wrong_usage() {
    let (code, out, err) = allways(&["man", "dance"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(
        err.starts_with("allways: there is no command `dance`; there is list, check, "),
        "{err}"
    );
    assert_eq!(err.lines().count(), 1);
}
