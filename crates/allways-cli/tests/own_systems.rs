//! Systems of one's own through the library, and what user code may do wrong.

use allways::prelude::*;
use allways::{Checkable, Error};
use allways_cli::{Bug, Entry, Exit, Kind, Parameter, Parameters, run};
use serde_json::Value;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A server that takes one call, and does with it what its mood says.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Server {
    mood: String,
    count: u8,
}

static COIN: AtomicU8 = AtomicU8::new(0);

impl Node for Server {
    type Msg = u8;
    type Timer = Never;
    type Call = u8;
    type Output = Never;

    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        match self.mood.as_str() {
            "panics" => assert_eq!(call, 0, "the call was wrong"),
            "tosses" => self.count = COIN.fetch_add(1, Relaxed) % 2,
            "dithers" => while cx.choose(2) < 2 {},
            _ => cx.broadcast(call),
        }
    }

    fn on_message(&mut self, _: Id, msg: u8, cx: &mut Cx<'_, Self>) {
        self.count += msg;
        if self.mood == "chatters" {
            self.count %= 200;
            cx.broadcast(msg);
        }
    }
}

fn servers(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let mood = parameters.word("mood");
    assert!(mood != "sulks", "not today");
    let limit = if parameters.bug() == Some("strict") { 0 } else { u8::MAX };
    let server = Server { mood: mood.to_owned(), count: 0 };
    let nodes = parameters.number("nodes");
    let mut system =
        System::new(vec![server; nodes]).always("few", view(|s: &Server| s.count), move |counts| {
            counts.iter().all(|&count| count <= limit)
        });
    if nodes > 0 {
        system = system.call(0, 1);
    }
    Ok(Box::new(system))
}

static SYSTEMS: &[Entry] = &[Entry::new(
    "servers",
    "servers with moods",
    &[
        Parameter {
            name: "nodes",
            about: "how many servers",
            kind: Kind::Number { default: 2, min: 0, max: 9 },
        },
        Parameter {
            name: "mood",
            about: "what they are like",
            kind: Kind::Word(&["calm", "panics", "tosses", "dithers", "chatters", "sulks"]),
        },
    ],
    &[Bug { name: "strict", about: "allows nothing", defaults: &[("nodes", "3")] }],
    servers,
)];

fn allways(args: &[&str]) -> (Exit, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = run(SYSTEMS, [&["own"], args].concat(), &mut out, &mut err);
    (exit, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

#[track_caller]
fn wrong(args: &[&str], sentence: &str) {
    let (exit, out, err) = allways(args);
    assert_eq!((exit, out.as_str()), (Exit::Wrong, ""));
    assert_eq!(err, format!("own: {sentence}\n"));
}

#[test]
fn own_systems_are_listed() {
    let (exit, out, err) = allways(&["list"]);
    assert_eq!((exit, err.as_str()), (Exit::Holds, ""));
    let expected = "\
servers: servers with moods
  parameters
    nodes=2    0..9                                       how many servers
    mood=calm  calm|panics|tosses|dithers|chatters|sulks  what they are like
  bugs
    strict  nodes=3  allows nothing
  properties
    always  few
";
    assert_eq!(out, expected);
}

#[test]
fn own_systems_are_listed_as_json() {
    let (_, out, _) = allways(&["list", "--json"]);
    let list: Value = serde_json::from_str(&out).unwrap();
    let system = &list["systems"][0];
    assert_eq!(
        system["parameters"][0],
        serde_json::json!({
            "name": "nodes", "about": "how many servers", "default": 2, "min": 0, "max": 9
        })
    );
    assert_eq!(system["parameters"][1]["default"], "calm");
    assert_eq!(system["parameters"][1]["words"][1], "panics");
    assert_eq!(system["bugs"][0]["defaults"], serde_json::json!({ "nodes": 3 }));
}

#[test]
fn what_holds_points_at_a_bug_to_try() {
    let (exit, out, _) = allways(&["check", "servers"]);
    assert_eq!(exit, Exit::Holds);
    assert!(out.starts_with("servers nodes=2 mood=calm, engine "), "{out}");
    assert!(out.ends_with("next: --set bug=strict brings back a known mistake: allows nothing\n"));
}

#[test]
fn a_violation_is_shown_with_its_run() {
    let (exit, out, err) = allways(&["check", "servers", "--set", "bug=strict"]);
    assert_eq!((exit, err.as_str()), (Exit::Violated, ""));
    let diagram = "
violated: always `few`

all nodes start as Server { mood: \"calm\", count: 0 }

node  0     1     2
   1  ▼     │     │   call 1
      │     │     │     → 1, 2: 1
▸  2  ○────▶●     │   1 from 0, sent at 1
      │     │     │     count: 0 → 1

always `few` does not hold:
";
    assert!(out.contains(diagram), "{out}");
}

#[test]
fn a_violation_as_json_has_its_events() {
    let (exit, out, _) = allways(&["check", "servers", "--set", "bug=strict", "--json"]);
    assert_eq!(exit, Exit::Violated);
    let outcome: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        outcome["parameters"],
        serde_json::json!({ "nodes": 3, "mood": "calm", "bug": "strict" })
    );
    assert_eq!(outcome["verdict"], "violated");
    assert_eq!(outcome["property"], "few");
    assert_eq!(
        outcome["run"][1],
        serde_json::json!({
            "kind": "message", "node": 1, "from": 0, "what": "1", "choices": [],
            "text": "node 1 receives 1 from node 0"
        })
    );
    assert!(outcome["run"][0]["from"].is_null());
}

#[test]
fn a_panicking_handler_is_a_violation() {
    let (exit, out, err) = allways(&["check", "servers", "--set", "mood=panics"]);
    assert_eq!((exit, err.as_str()), (Exit::Violated, ""));
    let verdict = out.lines().nth(1).unwrap();
    assert!(verdict.starts_with("violated: a panic: "), "{out}");
    assert!(verdict.contains("the call was wrong, left: 1, right: 0 at "), "{out}");
    assert!(out.contains("\n   1  ✖     │   call 1\n"), "{out}");
    assert!(out.contains("panics: assertion `left == right` failed: the call was wrong"), "{out}");
}

#[test]
fn a_panicking_handler_leaves_no_noise() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_panicking_handler_is_a_violation", "--nocapture"])
        .env("RUST_BACKTRACE", "1")
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains("1 passed"));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn a_handler_that_is_not_deterministic_is_wrong() {
    let (exit, out, err) = allways(&["check", "servers", "--set", "mood=tosses"]);
    assert_eq!((exit, out.as_str()), (Exit::Wrong, ""));
    assert!(err.starts_with("own: the handler of node 0 is not deterministic: "), "{err}");
}

#[test]
fn a_handler_that_never_stops_choosing_is_wrong() {
    let (exit, out, err) = allways(&["check", "servers", "--set", "mood=dithers", "--json"]);
    assert_eq!((exit, out.as_str()), (Exit::Wrong, ""));
    assert!(err.starts_with("own: the handler of node 0 never stops choosing: "), "{err}");
    assert_eq!(err.lines().count(), 1);
}

#[test]
fn no_nodes_is_wrong() {
    let sentence = "the system has no nodes; give System::new at least one";
    wrong(&["check", "servers", "--set", "nodes=0"], sentence);
}

#[test]
fn parameters_out_of_range_are_wrong() {
    let sentence = "`nodes=10` is out of range: it is a number from 0 to 9";
    wrong(&["check", "servers", "--set", "nodes=10"], sentence);
    let sentence = "`servers` has no parameter `node`; did you mean `nodes`?";
    wrong(&["check", "servers", "--set", "node=1", "--json"], sentence);
    wrong(
        &["check", "servers", "--set", "nodes=1", "--set", "nodes=2"],
        "parameter `nodes` is set twice",
    );
}

#[test]
fn a_system_that_panics_while_it_is_built_is_wrong() {
    let sentence = "system `servers` panicked while it was built";
    wrong(&["check", "servers", "--set", "mood=sulks"], sentence);
}

#[test]
fn bounds_end_what_has_no_end() {
    for (flag, value, bound) in [
        ("--max-memory", "4K", "memory"),
        ("--max-states", "50", "states"),
        ("--max-seconds", "0.2", "seconds"),
    ] {
        let args = ["check", "servers", "--set", "mood=chatters", "--set", "nodes=9", flag, value];
        let (exit, out, err) = allways(&args);
        assert_eq!((exit, err.as_str()), (Exit::Inconclusive, ""), "{out}");
        assert!(out.contains(&format!("\ninconclusive: bounded by {bound}; ")), "{out}");
    }
}

#[test]
fn progress_is_plain_lines_where_it_is_asked_for() {
    let mut args = vec!["check", "servers", "--set", "mood=chatters", "--set", "nodes=9"];
    args.extend(["--search", "classic", "--max-seconds", "2.5", "--progress"]);
    let (exit, _, err) = allways(&args);
    assert_eq!(exit, Exit::Inconclusive);
    let line = err.lines().next().unwrap();
    assert!(line.contains(" states, ") && line.contains("/s, "), "{err}");
    assert!(line.ends_with(" s left") && line.contains(" % of --max-seconds, at most "), "{err}");
    assert!(!err.contains(['\r', '\x1b']), "{err:?}");
}
