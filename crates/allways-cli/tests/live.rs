//! Deployments of real processes: what is predicted from them, what survives, and that nothing
//! outlives whoever started it.
#![cfg(unix)]

use allways_live::{Controls, Deployment, Statistics};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn allways(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allways"));
    command.args(args).current_dir(env!("CARGO_TARGET_TMPDIR"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ALLWAYS_") {
            command.env_remove(name);
        }
    }
    command
}

fn ran(args: &[&str]) -> Output {
    allways(args).output().unwrap()
}

fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("live-{name}"));
    let _ = std::fs::remove_dir_all(&path);
    path
}

/// Watches a system under loss for so many seconds at most: the exit code, and what was printed.
fn watched(system: &str, more: &[&str]) -> (i32, Value) {
    let mut args = vec!["live", system, "--json", "--drop", "0.3", "--every", "500ms"];
    args.extend(["--budget", "2s", "--calls-every", "20ms"]);
    args.extend(more);
    let output = ran(&args);
    let text = String::from_utf8(output.stdout).unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let json = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{error}"));
    (output.status.code().unwrap(), json)
}

/// That a bug is predicted from a deployment before the deployment itself shows it; and that the
/// prediction is confirmed by `replay`, is shown and minimised, and needs the bug.
fn predicted(system: &str, bug: &str, transport: &str) {
    let directory = scratch(&format!("{system}-{bug}-{transport}"));
    let save = directory.to_str().unwrap();
    let set = format!("bug={bug}");
    let more = ["--set", &set, "--transport", transport, "--first", "--for", "60s", "--save", save];
    let (code, json) = watched(system, &more);
    assert_eq!((code, &json["verdict"]), (1, &Value::from("predicted")), "{json}");
    assert_eq!((&json["predicted"], &json["observed"]), (&Value::from(1), &Value::from(0)));
    let finding = &json["findings"][0];
    assert_eq!(finding["property"], "agreement");
    assert!(!finding["run"].as_array().unwrap().is_empty());
    let run = directory.join("predicted-1.json");
    let run = run.to_str().unwrap();
    assert_eq!(finding["saved"], run);
    assert_eq!(ran(&["replay", run]).status.code(), Some(1), "the prediction is confirmed");
    let without = ran(&["replay", run, "--set", "bug=none"]).status.code().unwrap();
    // A state that is wrong from the first stays wrong, whatever the code becomes.
    let is_in_the_state = bug == "acceptor-init";
    assert_eq!(without == 1, is_in_the_state, "without the bug: {without}");
    let shown = ran(&["show", run, "--mermaid"]);
    assert_eq!(shown.status.code(), Some(0), "{}", String::from_utf8_lossy(&shown.stderr));
    assert_eq!(ran(&["minimise", run]).status.code(), Some(0));
    let minimised = directory.join("predicted-1.min.json");
    assert_eq!(ran(&["replay", minimised.to_str().unwrap()]).status.code(), Some(1));
    std::fs::remove_dir_all(directory).unwrap();
}

/// That nothing is predicted or observed for a correct system, and nodes that are killed do not
/// change that.
fn holds(system: &str, more: &[&str]) {
    let args = [&["--for", "6s", "--kill-every", "2s"], more].concat();
    let (code, json) = watched(system, &args);
    assert_eq!((code, &json["verdict"]), (0, &Value::from("none")), "{json}");
    let number = |name: &str| json[name].as_u64().unwrap();
    assert!(number("snapshots") >= 3 && number("restarted") >= 1, "{json}");
    assert!(number("checks") > 10 && number("unique_states") > 100, "{json}");
}

#[test]
fn paxos_that_takes_the_last_promise_is_predicted_to_disagree() {
    predicted("paxos", "last-promise", "udp");
}

#[test]
fn over_tcp_too() {
    predicted("paxos", "last-promise", "tcp");
}

#[test]
fn correct_paxos_is_not_predicted_to_disagree() {
    holds("paxos", &[]);
}

#[test]
fn one_paxos_with_the_wrong_acceptor_is_predicted_to_disagree() {
    predicted("one-paxos", "acceptor-init", "udp");
}

#[test]
fn correct_one_paxos_is_not_predicted_to_disagree() {
    holds("one-paxos", &[]);
}

/// A deployment of correct paxos without loss, in this directory.
async fn deployment(directory: &Path, transport: &'static str) -> Deployment {
    let directory = directory.to_owned();
    Deployment::start(3, None, move |node, listen| {
        let mut command = allways(&["live-node", "paxos", "--set", "proposals=3"]);
        command.args([node.to_string(), "--transport".to_owned(), transport.to_owned()]);
        command.arg("--directory").arg(directory.join(node.to_string()));
        if let Some((messages, control)) = listen {
            command.args(["--listen", &messages.to_string(), &control.to_string()]);
        }
        command.stderr(Stdio::null());
        command
    })
    .await
    .unwrap()
}

/// Waits until nothing happens any more.
async fn quiet(controls: &mut Controls) -> Statistics {
    let mut last = Statistics::default();
    loop {
        tokio::time::sleep(Duration::from_millis(30)).await;
        let now = controls.statistics().await.unwrap();
        if now.handled == last.handled {
            return now;
        }
        last = now;
    }
}

#[test]
fn a_node_that_is_killed_loses_nothing_that_it_had_persisted() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for transport in ["udp", "tcp"] {
        let directory = scratch(&format!("killed-{transport}"));
        runtime.block_on(async {
            let mut deployment = deployment(&directory, transport).await;
            let system = allways_catalogue::find("paxos").unwrap();
            let parameters = system.parameters(&[("proposals", "3")]).unwrap();
            let system = system.deploy(&parameters).unwrap();
            let mut controls = deployment.controls();
            let snapshots = async |controls: &mut Controls| {
                let recorded = controls.snapshot().await.unwrap();
                let cases = system.cases(&recorded, Default::default()).unwrap();
                cases.into_iter().map(|case| (case.instance, case.snapshot)).collect::<Vec<_>>()
            };
            for instance in 0..30 {
                for call in system.calls(instance, 1) {
                    // A node that has just started again may not listen yet.
                    while controls.drive(&call).await.is_err() {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                }
                // In the midst of it all: what a node loses then is what it has not said.
                if instance % 10 == 5 {
                    let node = instance as usize / 10;
                    deployment.kill(node).await.unwrap();
                    deployment.restart(node).await.unwrap();
                }
            }
            quiet(&mut controls).await;
            let before = snapshots(&mut controls).await;
            assert!(before.len() >= 30);
            for node in 0..3 {
                deployment.kill(node).await.unwrap();
            }
            for node in 0..3 {
                deployment.restart(node).await.unwrap();
            }
            while controls.statistics().await.is_err() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let after = snapshots(&mut controls).await;
            assert!(after == before, "{before:?}\n{after:?}");
            deployment.stop().await;
        });
        std::fs::remove_dir_all(directory).unwrap();
    }
}

/// A deployment by the command line that has begun: the process, and where its nodes are.
fn begun(args: &[&str]) -> (Child, String) {
    let mut command = allways(&["live", "paxos", "--every", "200ms"]);
    let mut child =
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    child.stdout = Some(out.into_inner());
    let addresses = line.trim_end().split_once(" live at ").unwrap_or_else(|| panic!("{line}")).1;
    let addresses = addresses.to_owned();
    (child, addresses)
}

/// That soon nobody listens at any of these addresses.
fn gone(addresses: &str) {
    let start = Instant::now();
    for address in addresses.split(',') {
        while std::net::TcpStream::connect(address).is_ok() {
            assert!(start.elapsed() < Duration::from_secs(20), "{address} outlives its deployment");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn an_interrupt_ends_everything_with_a_summary() {
    let (mut child, addresses) = begun(&[]);
    send("-INT", &child);
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    // It may have come before anything was checked.
    let expected = match out.contains("nothing was checked: ") {
        true => (3, true),
        false => (0, out.contains("nothing predicted, nothing observed: ")),
    };
    assert_eq!((child.wait().unwrap().code().unwrap(), true), expected, "{out}");
    gone(&addresses);
}

#[test]
fn nodes_end_even_if_whoever_started_them_is_killed() {
    let (mut child, addresses) = begun(&[]);
    send("-KILL", &child);
    child.wait().unwrap();
    gone(&addresses);
}

#[test]
fn one_can_attach_to_what_runs() {
    let key = scratch("key");
    std::fs::write(&key, "a key that both of them know").unwrap();
    let key = key.to_str().unwrap();
    let bug = ["--set", "bug=last-promise", "--drop", "0.3", "--key", key];
    let slow = [&bug[..], &["--every", "100s", "--calls-every", "20ms"]].concat();
    // Of a flag that is given twice, none would do: this one is begun by hand.
    let mut command = allways(&["live", "paxos"]);
    let mut child =
        command.args(slow).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let addresses = line.trim_end().split_once(" live at ").unwrap().1.to_owned();
    let mut args = vec!["--attach", &addresses, "--first", "--for", "60s", "--calls-every", "0"];
    args.extend(["--set", "bug=last-promise", "--key", key]);
    let output = allways(&["live", "paxos", "--json", "--every", "300ms", "--drop", "0.3"])
        .args(&args)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    // Whoever has no key is told nothing.
    let output = ran(&["live", "paxos", "--attach", &addresses, "--for", "1s"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.starts_with("allways: cannot ask the node at 127.0.0.1:"), "{error}");
    assert!(error.contains("if its key is another"), "{error}");
    // Whoever takes them for others is told so: a check of other nodes would say nothing about these.
    for more in [&["--transport", "udp"][..], &["--set", "bug=last-promise", "--transport", "tcp"]]
    {
        let args = ["live", "paxos", "--attach", &addresses, "--for", "1s", "--key", key];
        let output = ran(&[&args[..], more].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        let runs = "allways: node 0 runs `paxos nodes=3 proposals=2 again=0 roles=together bug=last-promise, over udp`, not ";
        assert!(error.starts_with(runs), "{error}");
    }
    // Whoever attaches ends nothing.
    assert!(addresses.split(',').all(|address| std::net::TcpStream::connect(address).is_ok()));
    send("-INT", &child);
    child.wait().unwrap();
    gone(&addresses);
}

#[test]
fn a_node_that_ends_by_itself_is_told() {
    let directory = scratch("ended");
    let (mut child, addresses) = begun(&["--directory", directory.to_str().unwrap()]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        // Whoever has the control port may end a node. Who deployed it does not know that.
        let all: Vec<_> = addresses.split(',').map(|address| address.parse().unwrap()).collect();
        let mut controls = Controls::connect(&all, None).await.unwrap();
        controls.stop().await;
    });
    assert_eq!(child.wait().unwrap().code(), Some(2));
    gone(&addresses);
    // What it leaves says why.
    let log = std::fs::read_to_string(directory.join("node-0.log")).unwrap();
    assert!(log.contains("the node starts") && log.contains("the node ends"), "{log}");
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_directory_that_is_of_no_use_is_told_by_its_node() {
    let directory = scratch("of-no-use");
    let path = directory.to_str().unwrap();
    let deploy = |more: &[&str]| {
        let args = ["live", "paxos", "--quiet", "--every", "200ms", "--for", "1s", "--directory"];
        let output = ran(&[&args[..], &[path], more].concat());
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_ne!(deploy(&[]).0, 2);
    let (code, error) = deploy(&["--set", "proposals=3"]);
    assert_eq!(code, 2, "{error}");
    // All of them refuse; which have said so by the time that the first one ends is not known.
    let said = (0..3).any(|node| error.contains(&format!("node {node} says: ")));
    assert!(said && error.contains("not of `paxos"), "{error}");
    std::fs::write(directory.join("node-1/state"), "something else").unwrap();
    let (code, error) = deploy(&[]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("node 1 says: ") && error.contains("state is damaged"), "{error}");
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn wrong_input_is_one_sentence() {
    for (args, sentence) in [
        (&["live", "tree"][..], "system `tree` cannot be deployed; those that can are "),
        (&["live", "paxs"], "there is no system `paxs`; did you mean `paxos`?"),
        (&["live", "paxos", "--drop", "2"], "--drop: `2` is no probability"),
        (&["live", "paxos", "--every", "soon"], "--every: `soon` is no time"),
        (&["live", "paxos", "--transport", "tpc"], "--transport: there is no transport `tpc`"),
        (&["live", "paxos", "--key", "/nowhere/key"], "cannot read the key /nowhere/key: "),
        (&["live", "paxos", "--set", "proposals=7"], "`proposals=7` is too many"),
        (&["live", "paxos", "--attach", "127.0.0.1:1"], "cannot reach the node at 127.0.0.1:1: "),
        (&["live", "paxos", "--attach", "here"], "--attach: "),
    ] {
        let output = ran(args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?} {error}");
        assert!(error.starts_with(&format!("allways: {sentence}")), "{args:?} {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_prediction_that_was_tampered_with_is_refused_in_one_sentence() {
    let path = scratch("tampered.json");
    for snapshot in [
        r#"{}"#,
        r#"{"snapshot": {"locals": [], "envelopes": []}, "made": [], "scripts": [], "ordered": null}"#,
    ] {
        let text = format!(
            r#"{{"version": 1, "tool": "allways 0.1.0", "system": "paxos", "parameters": [],
            "engine": "global bfs", "property": "agreement", "cause": "always", "start": 0,
            "start_choices": [], "events": [], "reads": [], "snapshot": {snapshot}}}"#
        );
        std::fs::write(&path, text).unwrap();
        let output = ran(&["replay", path.to_str().unwrap()]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    std::fs::remove_file(path).unwrap();
}
