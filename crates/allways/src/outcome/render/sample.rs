//! Stories made by hand, for the tests of the formats.

use super::About;
use crate::model::property::PropertyKind;
use crate::outcome::story::{
    Change, Observed, Story, StoryEnding, StoryEnvelope, StoryStart, StoryStep,
};
use crate::outcome::{Cause, RunEvent, RunEventKind, Trouble};

/// Makes a story step by step.
struct Teller {
    story: Story,
    states: Vec<String>,
    /// The last step of each node.
    last: Vec<Option<usize>>,
}

impl Teller {
    fn new(states: &[&str]) -> Self {
        let states: Vec<String> = states.iter().map(|state| (*state).to_owned()).collect();
        let story = Story {
            nodes: (0..states.len()).map(|node| format!("node {node}")).collect(),
            starts: (states.iter())
                .map(|state| StoryStart { state: state.clone(), ..StoryStart::default() })
                .collect(),
            ..Story::default()
        };
        let last = vec![None; states.len()];
        Teller { story, states, last }
    }

    /// Something in flight from the start.
    fn envelope(&mut self, from: Option<usize>, to: usize, what: &str) -> usize {
        self.story.envelopes.push(StoryEnvelope {
            from,
            to,
            what: what.to_owned(),
            sent_at: None,
            handled_at: Vec::new(),
            lost_at: None,
        });
        self.story.envelopes.len() - 1
    }

    fn step(&mut self, kind: RunEventKind, node: Option<usize>, what: &str) -> &mut StoryStep {
        let before = node.map_or(String::new(), |node| self.states[node].clone());
        let causes = node.and_then(|node| self.last[node]).into_iter().collect();
        if let Some(node) = node {
            self.last[node] = Some(self.story.steps.len());
        }
        self.story.steps.push(StoryStep {
            event: RunEvent { kind, node, from: None, what: what.to_owned(), choices: vec![] },
            envelope: None,
            sent: Vec::new(),
            lost: Vec::new(),
            outputs: Vec::new(),
            timers_set: Vec::new(),
            timers_cancelled: Vec::new(),
            after: before.clone(),
            before,
            changes: Vec::new(),
            observed: Vec::new(),
            view: None,
            causes,
            matters: true,
            panic: None,
        });
        self.story.steps.last_mut().unwrap()
    }

    /// A step in which an envelope is handled.
    fn handle(&mut self, envelope: usize) -> &mut StoryStep {
        let StoryEnvelope { from, to, what, sent_at, .. } = self.story.envelopes[envelope].clone();
        let place = self.story.steps.len();
        self.story.envelopes[envelope].handled_at.push(place);
        let kind = if from.is_some() { RunEventKind::Message } else { RunEventKind::Call };
        let step = self.step(kind, Some(to), &what);
        step.event.from = from;
        step.envelope = Some(envelope);
        step.causes.extend(sent_at);
        step
    }

    /// The last step leaves its node in this state.
    fn becomes(&mut self, path: &str, before: &str, after: &str, state: &str) {
        let step = self.story.steps.last_mut().unwrap();
        step.after = state.to_owned();
        step.changes.push(Change {
            path: path.to_owned(),
            before: before.to_owned(),
            after: after.to_owned(),
            auxiliary: false,
        });
        self.states[step.event.node.unwrap()] = state.to_owned();
    }

    /// The last step sends this.
    fn sends(&mut self, to: usize, what: &str) -> usize {
        let place = self.story.steps.len() - 1;
        let from = self.story.steps[place].event.node;
        let envelope = self.envelope(from, to, what);
        self.story.envelopes[envelope].sent_at = Some(place);
        self.story.steps[place].sent.push(envelope);
        envelope
    }

    fn loses(&mut self, envelope: usize) {
        let place = self.story.steps.len() - 1;
        self.story.envelopes[envelope].lost_at = Some(place);
        self.story.steps[place].lost.push(envelope);
    }
}

/// What is known of the samples.
pub(super) fn about() -> About {
    About::default()
        .system("paxos")
        .parameter("nodes", "3")
        .parameter("bug", "last-promise")
        .engine("global bfs")
        .version("0.1.0")
        .replay("allways replay run.json")
}

/// Two proposers, with every kind of event.
pub(super) fn paxos() -> Story {
    let fresh = "Paxos { promised: 0, accepted: None, chosen: None, votes: {} }";
    let chosen = "Paxos { promised: 1, accepted: Some(10), chosen: Some(10), votes: {Id(0)} }";
    let other = "Paxos { promised: 2, accepted: Some(20), chosen: Some(20), votes: {} }";
    let mut told = Teller::new(&[fresh, fresh, fresh]);
    let first = told.envelope(None, 0, "Propose(10)");
    let second = told.envelope(None, 2, "Propose(20)");
    told.handle(first);
    let prepare = told.sends(1, "Prepare { ballot: 1 }");
    let lost = told.sends(2, "Prepare { ballot: 1 }");
    told.handle(prepare).timers_set.push("Retry".to_owned());
    let promise = told.sends(0, "Promise { ballot: 1, accepted: None }");
    let own = told.sends(1, "Remember(1)");
    told.handle(promise);
    told.becomes("chosen", "None", "Some(10)", chosen);
    told.story.steps[2].view = Some(("None".to_owned(), "Some(10)".to_owned()));
    told.step(RunEventKind::Partition, None, "[[0, 1], [2]]");
    told.step(RunEventKind::Drop, Some(2), "Prepare { ballot: 1 }").event.from = Some(0);
    told.story.steps[4].envelope = Some(lost);
    told.loses(lost);
    told.handle(own).matters = false;
    told.step(RunEventKind::Crash, Some(1), "").timers_cancelled.push("Retry".to_owned());
    told.step(RunEventKind::Restart, Some(1), "").outputs.push("Back".to_owned());
    told.step(RunEventKind::Heal, None, "");
    told.step(RunEventKind::Timer, Some(1), "Retry").matters = false;
    told.handle(second);
    told.becomes("chosen", "None", "Some(20)", other);
    told.story.steps[10].view = Some(("None".to_owned(), "Some(20)".to_owned()));
    let mut story = told.story;
    story.observers.push("history".to_owned());
    story.observer_starts.push("[]".to_owned());
    let (before, after) = ("[]".to_owned(), "[20]".to_owned());
    story.steps[10].observed.push(Observed { observer: 0, before, after });
    let reads = ["Some(10)", "None", "Some(20)"].map(str::to_owned).to_vec();
    story.ending = Some(StoryEnding {
        property: "agreement".to_owned(),
        kind: Some(PropertyKind::Always),
        cause: Some(Cause::Always),
        reads,
        reads_at_start: vec!["None".to_owned(); 3],
        observer: None,
        culprits: vec![0, 2],
    });
    story
}

/// Threads: a message, locks that two of them take in opposite orders, and a third that has nothing to do with that.
pub(super) fn threads() -> Story {
    let mut told = Teller::new(&["", "", ""]);
    told.story.nodes = ["main", "the first worker", "<b>"].map(str::to_owned).to_vec();
    let mut step = |node: usize, what: &str| {
        let what = format!("{} {what}", told.story.nodes[node]);
        told.step(RunEventKind::Thread, Some(node), &what);
    };
    step(2, "reads 0 from the atomic of a.rs:1 at a.rs:9");
    step(0, "sends message 0 into the channel of a.rs:2 at a.rs:3");
    step(1, "receives message 0 from the channel of a.rs:2 at a.rs:4");
    step(1, "locks mutex 0 of a.rs:5 at a.rs:6");
    step(0, "locks mutex 1 of a.rs:5 at a.rs:7");
    let envelope = told.envelope(Some(0), 1, "message 0");
    let mut story = told.story;
    (story.envelopes[envelope].sent_at, story.envelopes[envelope].handled_at) = (Some(1), vec![2]);
    (story.steps[1].sent, story.steps[2].envelope) = (vec![envelope], Some(envelope));
    story.steps[2].causes = vec![1];
    story.steps[4].causes.push(3);
    story.steps[4].event.choices = vec![7];
    story.steps[0].matters = false;
    story.steps[0].changes.push(Change::new(
        "the atomic".to_owned(),
        "1".to_owned(),
        "0".to_owned(),
    ));
    let reads =
        ["main waits at a.rs:8 to lock mutex 0", "the first worker waits at a.rs:8 too", ""];
    story.ending = Some(StoryEnding {
        property: "main and the first worker wait for ever".to_owned(),
        kind: None,
        cause: Some(Cause::Trouble(Trouble::Deadlock)),
        reads: reads.map(str::to_owned).to_vec(),
        reads_at_start: Vec::new(),
        observer: None,
        culprits: vec![0, 1],
    });
    story
}

/// Texts that try to be more than text, wherever there is one.
pub(super) fn hostile() -> Story {
    let bad = "</script><script>alert(1)</script><img src=x onerror=alert(1)>'\"&;#%%$$\\\n\u{0}\u{1b}[31m\u{202e}{\"a\":1} ]]> --> `";
    let mut told = Teller::new(&[bad, bad]);
    told.story.nodes[1] = bad.to_owned();
    let call = told.envelope(None, 0, bad);
    told.handle(call).outputs.push(bad.to_owned());
    told.becomes(bad, bad, "", bad);
    let sent = told.sends(1, bad);
    told.handle(sent).panic = Some(bad.to_owned());
    told.step(RunEventKind::Timer, Some(0), bad).timers_set.push(bad.to_owned());
    told.step(RunEventKind::Partition, None, bad);
    let mut story = told.story;
    story.ending = Some(StoryEnding {
        property: bad.to_owned(),
        kind: None,
        cause: Some(Cause::Panic),
        reads: vec![bad.to_owned()],
        reads_at_start: vec![bad.to_owned()],
        observer: None,
        culprits: vec![0],
    });
    story
}

/// A message that goes around among so many nodes for so many steps.
pub(super) fn long(nodes: usize, steps: usize) -> Story {
    let state = |node: usize, seen: usize| {
        format!("Ring {{ id: {node}, seen: {seen}, log: [Entry {{ term: 1, value: {seen} }}] }}")
    };
    let states: Vec<String> = (0..nodes).map(|node| state(node, 0)).collect();
    let mut told = Teller::new(&states.iter().map(String::as_str).collect::<Vec<_>>());
    let mut envelope = told.envelope(None, 0, "Go");
    for step in 0..steps {
        told.handle(envelope);
        let node = step % nodes;
        let (before, after) = (step.to_string(), (step + 1).to_string());
        told.becomes("seen", &before, &after, &state(node, step + 1));
        let what = format!("Token {{ round: {}, weight: {step} }}", step / nodes);
        envelope = told.sends((step + 1) % nodes, &what);
    }
    told.story
}

/// All of them.
pub(super) fn all() -> Vec<Story> {
    vec![Story::default(), paxos(), threads(), hostile(), long(5, 40)]
}
