//! Save, load, replay: for every bug of the catalogue, with the mistake in place and without it.

use allways::{Checkable, Engine, Options, Outcome, Replayed, SavedRun};
use allways_catalogue::{Bug, Entry, entries, find};
use std::path::PathBuf;
use std::sync::LazyLock;

/// A random run to each bug: quickly found, and not the shortest.
fn found(system: &dyn Checkable) -> Outcome {
    let engine = Engine::Walk;
    let runs = 100_000;
    let options = Options { engine, runs, threads: 1, minimise: false, ..Options::default() };
    system.check_with(&options).unwrap()
}

/// The saved run of each bug.
static SAVED: LazyLock<Vec<SavedRun>> =
    LazyLock::new(|| bugs().map(|(entry, bug)| save(entry, bug)).collect());

fn saved(entry: &Entry, bug: &Bug) -> SavedRun {
    let is_it = |(e, b): (&Entry, &Bug)| (e.name, b.name) == (entry.name, bug.name);
    SAVED[bugs().position(is_it).unwrap()].clone()
}

fn save(entry: &Entry, bug: &Bug) -> SavedRun {
    let parameters = entry.parameters(&[("bug", bug.name)]).unwrap();
    let system = entry.build_with(&parameters).unwrap();
    SavedRun::new(entry.name, parameters.iter(), &found(&*system)).unwrap()
}

fn bugs() -> impl Iterator<Item = (&'static Entry, &'static Bug)> {
    entries().iter().flat_map(|entry| entry.bugs.iter().map(move |bug| (entry, bug)))
}

/// The system that a run was saved from.
fn again(saved: &SavedRun) -> Box<dyn Checkable> {
    let set: Vec<_> = saved.parameters.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    find(&saved.system).unwrap().build(&set).unwrap()
}

struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        File(folder.join(format!("{name}-{}.json", std::process::id())))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn every_bug_is_saved_loaded_and_replayed() {
    for (entry, bug) in bugs() {
        let saved = saved(entry, bug);
        let file = File::new(&format!("{}-{}", entry.name, bug.name));
        saved.save(&file.0).unwrap();
        let loaded = SavedRun::load(&file.0).unwrap();
        assert_eq!(loaded, saved);
        assert_eq!(loaded.parameters.last().unwrap(), &("bug".to_owned(), bug.name.to_owned()));
        let violation = loaded.violation.clone();
        let replayed = again(&loaded).replay(&loaded).unwrap();
        assert_eq!(replayed, Replayed::StillViolates { violation }, "{} {}", entry.name, bug.name);
        let events = loaded.violation.run.events.len();
        let property = &loaded.violation.property;
        let quoted = if entry.is_of_threads() { property } else { &format!("`{property}`") };
        let said = format!("{quoted}, after {events} events\n");
        assert!(replayed.to_string().contains(&said), "{replayed}");
    }
}

#[test]
fn an_event_is_a_line() {
    let (entry, bug) = bugs().next().unwrap();
    let saved = saved(entry, bug);
    let lines = saved.to_json();
    let events = lines.lines().filter(|line| line.starts_with("    {\"kind\": ")).count();
    assert_eq!(events, saved.violation.run.events.len());
    assert!(lines.starts_with("{\n  \"version\": 1,\n  \"tool\": \"allways "), "{lines}");
}

#[test]
fn without_the_mistake_no_run_violates() {
    for (entry, bug) in bugs() {
        let saved = saved(entry, bug);
        let correct = entry.build(bug.defaults).unwrap();
        let replayed = correct.replay(&saved).unwrap();
        assert!(!replayed.still_violates(), "{} {}: {replayed}", entry.name, bug.name);
        if let Replayed::NoLongerApplies { at, instead, .. } = &replayed {
            assert!((1..=saved.violation.run.events.len()).contains(at), "{replayed}");
            let here = &saved.violation.run.events[at - 1];
            assert!(instead.iter().all(|event| event != here), "{replayed}");
        }
    }
}

#[test]
fn another_version_is_refused() {
    let (entry, bug) = bugs().next().unwrap();
    let text = saved(entry, bug).to_json().replace("\"version\": 1,", "\"version\": 2,");
    let error = SavedRun::from_json(&text).unwrap_err().to_string();
    assert_eq!(error, "field `version` is 2, but this program reads saved runs of version 1 only");
}

#[test]
fn a_run_of_another_system_is_refused() {
    let entry = find("accumulator").unwrap();
    let mut run = saved(entry, &entry.bugs[0]);
    let other = find("zab").unwrap().build(&[]).unwrap();
    let error = other.replay(&run).unwrap_err().to_string();
    assert_eq!(
        error,
        "the run violates property `no secondary is ahead`, but the system has no such property; it has `one leader an epoch`, `agreement`, `delivered`"
    );
    run.violation.property = "agreement".to_owned();
    let error = find("tree").unwrap().build(&[]).unwrap().replay(&run).unwrap_err().to_string();
    assert!(error.contains("but the system has no such property"), "{error}");
}

#[test]
fn a_run_of_a_larger_system_is_refused() {
    let entry = find("two-phase-commit").unwrap();
    let run = saved(entry, &entry.bugs[0]);
    let small = entry.build(&[("rms", "1")]).unwrap();
    let error = small.replay(&run).unwrap_err().to_string();
    assert!(error.starts_with("field `events["), "{error}");
    assert!(error.ends_with(", but the system has 2 nodes"), "{error}");
}

#[test]
fn a_file_that_is_none_is_refused() {
    let error = SavedRun::load("no/such/run.json").unwrap_err().to_string();
    assert!(error.starts_with("cannot read no/such/run.json: "), "{error}");
    let file = File::new("not-text");
    std::fs::write(&file.0, [0xff, 0xfe, 0x00]).unwrap();
    let error = SavedRun::load(&file.0).unwrap_err().to_string();
    assert!(error.ends_with(": it is not text in UTF-8"), "{error}");
    std::fs::write(&file.0, "{\"version\": 1}").unwrap();
    let error = SavedRun::load(&file.0).unwrap_err().to_string();
    assert!(error.ends_with(".json: field `tool` is missing"), "{error}");
    let error = SavedRun::load(env!("CARGO_MANIFEST_DIR")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read "), "{error}");
}

#[test]
fn where_nothing_is_violated_there_is_no_run_to_save() {
    let outcome = find("tree").unwrap().build(&[]).unwrap().check_with(&Options::default());
    let error = SavedRun::new("tree", [("", ""); 0], &outcome.unwrap()).unwrap_err().to_string();
    assert_eq!(error, "there is no run to save: nothing is violated");
}
