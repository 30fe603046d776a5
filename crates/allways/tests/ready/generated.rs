// violated: always `values are small`
// values nodes=2
//
// 1. node 0 is called: 7
// 2. node 1 receives 7 from node 0

use allways::{SavedRun, System};

/// The system that the run is of: values nodes=2.
/// Fill in your node, and make the system as for the check that found the run.
fn system() -> System<MyNode> {
    my_system()
}

/// Fails while the run violates, and when it can no longer be carried out: then it tests nothing.
#[test]
fn values_are_small_holds_in_this_run() {
    let run = SavedRun::from_json(RUN).expect("the run can be read");
    system().replay(&run).expect("the run is one of this system").assert_no_longer_violates();
}

/// The run.
const RUN: &str = r#"{
  "version": 1,
  "tool": "allways",
  "system": "values",
  "parameters": [
    {"name": "nodes", "value": "2"}
  ],
  "engine": "global bfs",
  "property": "values are small",
  "cause": "always",
  "start": 0,
  "start_choices": [],
  "events": [
    {"kind": "call", "node": 0, "from": null, "what": "7", "choices": []},
    {"kind": "message", "node": 1, "from": 0, "what": "7", "choices": []}
  ],
  "reads": [
    "0",
    "7"
  ]
}"#;
