//! `allways live`: a system deployed, driven, and checked from where it is.

mod status;

use crate::args::{LiveArgs, LiveNodeArgs};
use crate::check::build;
use crate::console::Console;
use crate::files::{self, typed};
use crate::json::{self, EventJson, Values, values};
use crate::run_file::{about, owned, title};
use crate::show::text;
use crate::text::{count, next};
use crate::{Entry, Exit, Parameters, interrupt};
use allways::{Cause, Format, SavedRun, TextOptions, grouped};
use allways_live::{
    Circumstances, Controls, Deployable, Deployment, Error, Finding, Key, News, OnlineOptions,
    Place, Totals, online,
};
use serde::Serialize;
use status::Status;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A report shows at most this many steps of a run; `allways show` shows all.
const MAX_SHOWN: usize = 200;

/// What `live --json` prints.
#[derive(Serialize)]
struct LiveJson<'a> {
    system: &'a str,
    parameters: Values<'a>,
    /// `observed`, `predicted` or `none`.
    verdict: &'static str,
    snapshots: u64,
    given_up: u64,
    checks: u64,
    unfinished_checks: u64,
    unique_states: u64,
    depth: u64,
    predicted: u64,
    observed: u64,
    restarted: u64,
    elapsed_ms: f64,
    findings: Vec<FindingJson<'a>>,
}

#[derive(Serialize)]
struct FindingJson<'a> {
    /// `observed` or `predicted`.
    kind: &'static str,
    snapshot: u64,
    instance: u64,
    elapsed_ms: f64,
    property: &'a str,
    run: Vec<EventJson<'a>>,
    reads: &'a [String],
    saved: Option<String>,
}

/// A violation, and what became of it.
struct Found {
    is_observed: bool,
    finding: Finding,
    after: Duration,
    saved: Option<PathBuf>,
}

impl Found {
    /// Whether both are about the same property.
    fn is_like(&self, other: &Found) -> bool {
        let what = |found: &Found| {
            let violation = found.finding.outcome.violation.as_ref();
            violation.map(|violation| (violation.cause.clone(), violation.property.clone()))
        };
        self.is_observed == other.is_observed && what(self) == what(other)
    }
}

pub(crate) fn live(
    entries: &[Entry],
    args: &LiveArgs,
    console: &mut Console<'_>,
) -> Result<Exit, String> {
    let entry = allways_catalogue::find_among(entries, &args.system).map_err(in_words)?;
    if !entry.is_deployable() {
        let names: Vec<&str> =
            entries.iter().filter(|entry| entry.is_deployable()).map(|entry| entry.name).collect();
        let others = match names.is_empty() {
            true => "no system here can".to_owned(),
            false => format!("those that can are {}", names.join(", ")),
        };
        let is_of_threads = entry
            .parameters(&[])
            .is_ok_and(|set| build(entry, &set).is_ok_and(|system| system.is_of_threads()));
        let name = entry.name;
        return Err(match is_of_threads {
            true => format!("`{name}` is a program of threads, which cannot be deployed; {others}"),
            false => format!("system `{name}` cannot be deployed; {others}"),
        });
    }
    let parameters = entry.live_parameters(&args.settings()).map_err(in_words)?;
    let system: Arc<dyn Deployable> = Arc::from(entry.deploy(&parameters).map_err(in_words)?);
    if args.every.is_zero() || args.kill_every.is_some_and(|every| every.is_zero()) {
        let which = if args.every.is_zero() { "every" } else { "kill-every" };
        return Err(format!("`--{which} 0` is no time to wait; try 500ms"));
    }
    let key = args.key.as_deref().map(read_key).transpose()?;
    if let Some(directory) = &args.save {
        files::directory(directory)?;
    }
    if console.catches_interrupts {
        interrupt::install(&console.stop);
    }
    let options = OnlineOptions {
        every: args.every,
        budget: args.budget,
        length: args.length,
        calls_every: args.calls_every,
        kill_every: args.kill_every,
        first: args.first,
        engine: args.engine.unwrap_or(OnlineOptions::default().engine),
        seed: args.seed,
        circumstances: Circumstances { protocol: args.transport, drops: args.drop > 0.0 },
        stop: Arc::clone(&console.stop),
    };
    let mut session = Session {
        entry,
        parameters: &parameters,
        args,
        program: console.program.clone(),
        start: Instant::now(),
        status: Status::new(!args.quiet && !args.json, console.terminal),
        found: Vec::new(),
        unsaved: None,
    };
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| format!("the deployment cannot be started: {error}"))?;
    let text_options = TextOptions {
        last: Some(MAX_SHOWN),
        ..console.text_options(crate::args::Color::Auto, true)
    };
    let totals = runtime.block_on(session.watch(system, key, &options, text_options, console));
    // Nothing that still waits keeps the program.
    runtime.shutdown_background();
    let totals = totals?;
    session.status.clear(console);
    let text = if args.json { session.json(&totals)? } else { session.summary(&totals, console) };
    console.print(&text)?;
    if let Some(complaint) = session.unsaved {
        console.note(&format!("{}: {complaint}\n", console.program.clone()));
    }
    Ok(match session.found.is_empty() {
        // As after any check that came to no end.
        true if totals.complete == 0 => Exit::Inconclusive,
        true => Exit::Holds,
        false => Exit::Violated,
    })
}

/// A node of a deployment.
pub(crate) fn live_node(entries: &[Entry], args: &LiveNodeArgs) -> Result<Exit, String> {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env();
    let filter = filter.unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .try_init();
    let entry = allways_catalogue::find_among(entries, &args.system).map_err(in_words)?;
    let set: Vec<(&str, &str)> = args.set.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let parameters = entry.parameters(&set).map_err(in_words)?;
    let system = entry.deploy(&parameters).map_err(in_words)?;
    let place = Place {
        listen: match args.listen[..] {
            [messages, control] => Some((messages, control)),
            _ => None,
        },
        protocol: args.transport,
        directory: args.directory.clone(),
        label: title(entry, &parameters),
        key: args.key.as_deref().map(read_key).transpose()?,
        drop: args.drop,
        seed: args.seed,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| format!("the node cannot be started: {error}"))?;
    let result = runtime.block_on(system.run(args.node, place));
    runtime.shutdown_background();
    result.map(|()| Exit::Holds).map_err(in_words)
}

fn in_words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn read_key(path: &Path) -> Result<Key, String> {
    let bytes = std::fs::read(path)
        .map_err(|error| format!("cannot read the key {}: {error}", path.display()))?;
    Key::new(&bytes).map_err(|error| format!("{}: {error}", path.display()))
}

struct Session<'a> {
    entry: &'a Entry,
    parameters: &'a Parameters,
    args: &'a LiveArgs,
    /// What the program is called.
    program: String,
    start: Instant,
    status: Status,
    found: Vec<Found>,
    /// What could not be written, if something could not.
    unsaved: Option<String>,
}

impl Session<'_> {
    async fn watch(
        &mut self,
        system: Arc<dyn Deployable>,
        key: Option<Key>,
        options: &OnlineOptions,
        text_options: TextOptions,
        console: &mut Console<'_>,
    ) -> Result<Totals, String> {
        if !self.args.attach.is_empty() {
            let mut controls = Controls::connect(&self.args.attach, key).await.map_err(in_words)?;
            self.is_the_same(&mut controls).await?;
            let addresses = self.args.attach.clone();
            self.started(&addresses, console)?;
            return self.online(system, controls, None, options, text_options, console).await;
        }
        let directory = match &self.args.directory {
            Some(directory) => directory.clone(),
            None => files::fresh_directory("allways-live")?,
        };
        files::directory(&directory)?;
        let nodes = system.nodes();
        let deployed = self.deploy(&directory, nodes, key, console).await;
        let result = match deployed {
            Err(error) => Err(error.to_string()),
            Ok(mut deployment) => {
                self.started(&deployment.addresses(), console)?;
                let controls = deployment.controls();
                let (some, text) = (Some(&mut deployment), text_options);
                let result = self.online(system, controls, some, options, text, console).await;
                deployment.stop().await;
                result
            }
        };
        match result {
            Err(error) => {
                let said = self.last_words(&directory, nodes);
                Err(format!("{error}{said}; the logs are in {}", directory.display()))
            }
            Ok(totals) => {
                if self.args.directory.is_none() {
                    let _ = std::fs::remove_dir_all(&directory);
                }
                Ok(totals)
            }
        }
    }

    /// That nodes which run already are those of the system that is to be checked.
    async fn is_the_same(&self, controls: &mut Controls) -> Result<(), String> {
        let mine = self.args.transport.labelled(&title(self.entry, self.parameters));
        let labels = controls.labels().await.map_err(in_words)?;
        match labels.iter().enumerate().find(|(_, label)| !label.is_empty() && **label != mine) {
            None => Ok(()),
            Some((node, label)) => Err(format!(
                "node {node} runs `{label}`, not `{mine}`: give --set and --transport as they were given there"
            )),
        }
    }

    /// Why nodes have ended, if they said so.
    fn last_words(&self, directory: &Path, nodes: usize) -> String {
        let mut said = String::new();
        for node in 0..nodes {
            let log = std::fs::read_to_string(directory.join(format!("node-{node}.log")));
            let log = log.unwrap_or_default();
            let last = log.lines().last().unwrap_or_default();
            if let Some(why) = last.strip_prefix(&format!("{}: ", self.program)) {
                said.push_str(&format!("; node {node} says: {why}"));
            }
        }
        said
    }

    async fn deploy(
        &self,
        directory: &Path,
        nodes: usize,
        key: Option<Key>,
        console: &Console<'_>,
    ) -> Result<Deployment, Error> {
        let program = console.executable.clone();
        let mut fixed: Vec<String> = vec![self.entry.name.to_owned()];
        for (name, value) in owned(self.parameters) {
            fixed.extend(["--set".to_owned(), format!("{name}={value}")]);
        }
        fixed.extend(["--drop".to_owned(), self.args.drop.to_string()]);
        fixed.extend(["--seed".to_owned(), self.args.seed.to_string()]);
        fixed.extend(["--transport".to_owned(), self.args.transport.to_string()]);
        let (directory, key_file) = (directory.to_owned(), self.args.key.clone());
        Deployment::start(nodes, key, move |node, listen| {
            let mut command = Command::new(&program);
            command.arg("live-node").args(&fixed).arg(node.to_string());
            command.arg("--directory").arg(directory.join(format!("node-{node}")));
            if let Some(key) = &key_file {
                command.arg("--key").arg(key);
            }
            if let Some((messages, control)) = listen {
                command.args(["--listen", &messages.to_string(), &control.to_string()]);
            }
            // What a node says goes into its log, for all of its lives.
            let log = directory.join(format!("node-{node}.log"));
            let log = std::fs::File::options().create(true).append(true).open(log);
            if let Ok(log) = log {
                command.stderr(log);
            }
            command
        })
        .await
    }

    /// Says where the deployment is, so that others can attach to it.
    fn started(
        &self,
        addresses: &[std::net::SocketAddr],
        console: &mut Console<'_>,
    ) -> Result<(), String> {
        if self.args.json || self.args.quiet {
            return Ok(());
        }
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let heading = title(self.entry, self.parameters);
        console.print(&format!("{heading}, live at {}\n", addresses.join(",")))
    }

    async fn online(
        &mut self,
        system: Arc<dyn Deployable>,
        controls: Controls,
        deployment: Option<&mut Deployment>,
        options: &OnlineOptions,
        text_options: TextOptions,
        console: &mut Console<'_>,
    ) -> Result<Totals, String> {
        let (sender, mut news) = tokio::sync::mpsc::unbounded_channel();
        let mut tell = move |news| {
            let _ = sender.send(news);
        };
        let watched = async {
            let totals = online(system, controls, deployment, options, &mut tell).await;
            drop(tell);
            totals
        };
        let heard = async {
            while let Some(news) = news.recv().await {
                self.hear(news, &text_options, console);
            }
        };
        let (totals, ()) = tokio::join!(watched, heard);
        totals.map_err(in_words)
    }

    fn hear(&mut self, news: News, options: &TextOptions, console: &mut Console<'_>) {
        let (finding, is_observed) = match news {
            News::Predicted(finding) => (finding, false),
            News::Observed(finding) => (finding, true),
            other => return self.status.hear(&other, console),
        };
        self.status.found(is_observed);
        let number = 1 + self.found.iter().filter(|f| f.is_observed == is_observed).count();
        let saved = match self.save(&finding, is_observed, number) {
            Ok(saved) => saved,
            Err(complaint) => {
                self.unsaved.get_or_insert(complaint);
                None
            }
        };
        let found = Found { is_observed, finding, after: self.start.elapsed(), saved };
        if !self.args.json && !self.args.quiet {
            self.status.clear(console);
            // One picture of a mistake is enough, in however many instances it shows.
            let is_new = !self.found.iter().any(|other| other.is_like(&found));
            let _ = console.print(&told(&found, options, is_new));
        }
        self.found.push(found);
    }

    /// Keeps the run of a violation, if that is asked for.
    fn save(
        &self,
        finding: &Finding,
        is_observed: bool,
        number: usize,
    ) -> Result<Option<PathBuf>, String> {
        let Some(directory) = &self.args.save else { return Ok(None) };
        let saved = SavedRun::new(self.entry.name, owned(self.parameters), &finding.outcome)
            .and_then(|saved| saved.starting_at(&finding.snapshot))
            .map_err(in_words)?;
        let path = directory.join(format!("{}-{number}.json", kind(is_observed)));
        files::write(&path, &saved.to_json())?;
        if let Some(story) = &finding.outcome.story {
            let page = story.render(Format::Html, &about(&saved, &path, &self.program));
            files::write(&path.with_extension("html"), &page)?;
        }
        Ok(Some(path))
    }

    fn verdict(&self) -> &'static str {
        match &self.found[..] {
            [] => "none",
            found if found.iter().any(|found| found.is_observed) => "observed",
            _ => "predicted",
        }
    }

    fn summary(&self, totals: &Totals, console: &Console<'_>) -> String {
        let line = match self.found.is_empty() {
            true if totals.checked == 0 => "nothing was checked".to_owned(),
            true if totals.complete == 0 => "no check came to its end".to_owned(),
            true => "nothing predicted, nothing observed".to_owned(),
            false => format!("{} predicted, {} observed", totals.predicted, totals.observed),
        };
        let unfinished = match totals.unfinished {
            0 => String::new(),
            number => format!(", {number} not finished or not begun"),
        };
        let given_up = match totals.given_up {
            0 => String::new(),
            number => format!(" ({number} given up)"),
        };
        let mut text = format!(
            "{line}: {}{given_up} in {:.1} s, {}, {} states, depth {}{unfinished}\n",
            count(totals.snapshots as usize, "snapshot"),
            self.start.elapsed().as_secs_f64(),
            count(totals.checked as usize, "check"),
            grouped(totals.states),
            totals.depth,
        );
        let first = self.found.iter().find_map(|found| found.saved.as_deref());
        if let (Some(path), false) = (first, self.args.quiet) {
            let (program, path) = (&console.program, typed(path));
            text.push_str(&next(&[
                (format!("{program} replay {path}"), "to carry it out again"),
                (format!("{program} show {path} --html run.html"), "to look through it"),
            ]));
        }
        text
    }

    fn json(&self, totals: &Totals) -> Result<String, String> {
        let findings = self.found.iter().filter_map(|found| {
            let violation = found.finding.outcome.violation.as_ref()?;
            Some(FindingJson {
                kind: kind(found.is_observed),
                snapshot: found.finding.number,
                instance: found.finding.instance,
                elapsed_ms: found.after.as_secs_f64() * 1e3,
                property: &violation.property,
                run: violation.run.events.iter().map(Into::into).collect(),
                reads: &violation.reads,
                saved: found.saved.as_ref().map(|path| path.display().to_string()),
            })
        });
        json::object(&LiveJson {
            system: self.entry.name,
            parameters: Values(values(self.entry, self.parameters.iter())),
            verdict: self.verdict(),
            snapshots: totals.snapshots,
            given_up: totals.given_up,
            checks: totals.checked,
            unfinished_checks: totals.unfinished,
            unique_states: totals.states,
            depth: totals.depth,
            predicted: totals.predicted,
            observed: totals.observed,
            restarted: totals.restarted,
            elapsed_ms: self.start.elapsed().as_secs_f64() * 1e3,
            findings: findings.collect(),
        })
    }
}

fn kind(is_observed: bool) -> &'static str {
    if is_observed { "observed" } else { "predicted" }
}

/// A violation for those who read.
fn told(found: &Found, options: &TextOptions, is_new: bool) -> String {
    let Finding { number, instance, outcome, .. } = &found.finding;
    let Some(violation) = &outcome.violation else { return String::new() };
    let steps = match found.is_observed {
        true => "the system is there".to_owned(),
        false => format!("{} away", count(violation.run.events.len(), "event")),
    };
    let what = match violation.cause {
        Cause::Panic => "a handler panics".to_owned(),
        _ => format!("always `{}` is violated", violation.property),
    };
    let kind = kind(found.is_observed);
    let line = format!("{kind}: {what} in instance {instance} of snapshot {number}, {steps}\n");
    let mut told = if is_new { format!("\n{line}") } else { line };
    if let (Some(story), true) = (&outcome.story, is_new) {
        told.push_str(&format!("\n{}", text(story, options)));
    }
    if let Some(path) = &found.saved {
        told.push_str(&format!("saved: {}\n", path.display()));
    }
    told
}
