use crate::system::{AGREEMENT, ENTRY, KEEPING};
use allways::{Engine, Options};

#[test]
fn what_was_decided_is_taken_back() {
    let set = [("proposals", "1"), ("cuts", "0")];
    let options = Options { engine: Engine::Global, ..Options::default() };
    let outcome = ENTRY.build(&set).unwrap().check_with(&options).unwrap();
    let violation = outcome.assert_violated(KEEPING);
    assert_eq!(violation.run.events.len(), 13);
}

/// The run that was found, as it was saved.
#[test]
fn decided_logs_part() {
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/divergence.json");
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = allways_cli::run(&[ENTRY], ["check-omnipaxos", "replay", run], &mut out, &mut err);
    let out = String::from_utf8(out).unwrap();
    assert_eq!(exit, allways_cli::Exit::Violated, "{out}");
    assert!(out.contains(AGREEMENT), "{out}");
}

/// Too many states without optimisation.
#[test]
#[cfg_attr(debug_assertions, ignore = "too slow unless optimised")]
fn decided_logs_part_and_this_is_found() {
    let system = ENTRY.build(&[("elections", "2")]).unwrap().only(&[AGREEMENT.to_owned()]).unwrap();
    let options = Options { engine: Engine::Global, ..Options::default() };
    let outcome = system.check_with(&options).unwrap();
    let violation = outcome.assert_violated(AGREEMENT);
    assert_eq!(violation.run.events.len(), 15);
}
