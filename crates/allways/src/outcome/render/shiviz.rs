//! A log with vector clocks for ShiViz.
//!
//! The first line is the regular expression that ShiViz asks for, the second, empty, the
//! delimiter of several executions. Every step is two lines: the host with its clock, and the
//! event. The clock comes first, so that no event can be taken for one. A handler's sends belong
//! to its step: an envelope carries the clock of the step that sent it. The driver and the
//! network are hosts of their own.

use super::words::plain;
use crate::json::quoted;
use crate::outcome::RunEventKind;
use crate::outcome::story::Story;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How ShiViz is to read the log.
pub(super) const PARSER: &str = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)";

/// What happened before: of each host, how many events.
type Clock = BTreeMap<usize, u64>;

struct Log {
    hosts: Vec<String>,
    clocks: Vec<Clock>,
    text: String,
}

impl Log {
    /// One more event of a host, after everything in these clocks.
    fn event(&mut self, host: usize, after: &[&Clock], text: &str) -> Clock {
        let clock = &mut self.clocks[host];
        for (&host, &count) in after.iter().copied().flatten() {
            let known = clock.entry(host).or_default();
            *known = (*known).max(count);
        }
        *clock.entry(host).or_default() += 1;
        let parts = clock.iter().map(|(host, count)| {
            let name = quoted(&self.hosts[*host]);
            format!("{name}:{count}")
        });
        let parts = parts.collect::<Vec<_>>().join(", ");
        let _ = writeln!(self.text, "{} {{{parts}}}\n{}", self.hosts[host], plain(text));
        clock.clone()
    }
}

/// The story as a log.
pub(super) fn render(story: &Story) -> String {
    let nodes = story.nodes.len();
    let (driver, network) = (nodes, nodes + 1);
    let names = story.nodes.iter().map(String::as_str).chain(["driver", "network"]);
    let hosts: Vec<String> = names.map(host).collect();
    let clocks = vec![Clock::new(); hosts.len()];
    let mut log = Log { hosts, clocks, text: format!("{PARSER}\n\n") };

    let mut started = Vec::new();
    for (node, start) in story.starts.iter().enumerate().take(nodes) {
        let text = match start.state.as_str() {
            "" => "starts".to_owned(),
            state => format!("starts as {state}"),
        };
        started.push(log.event(node, &[], &text));
    }
    let mut done: Vec<Clock> = Vec::new();
    for step in &story.steps {
        let event = &step.event;
        let envelope = step.envelope.and_then(|index| story.envelopes.get(index));
        let mut after = Clock::new();
        if let Some(envelope) = envelope {
            let sent = match (envelope.sent_at, envelope.from) {
                (Some(step), _) => done.get(step),
                (None, Some(from)) => started.get(from),
                (None, None) => None,
            };
            after = sent.cloned().unwrap_or_default();
        }
        // What threads share orders their steps, not only what they send.
        let shared = step.causes.iter().filter(|_| event.kind == RunEventKind::Thread);
        for (&host, &count) in shared.filter_map(|&cause| done.get(cause)).flatten() {
            let known = after.entry(host).or_default();
            *known = (*known).max(count);
        }
        let by = match event.kind {
            RunEventKind::Drop | RunEventKind::Partition | RunEventKind::Heal => network,
            _ => event.node.filter(|&node| node < nodes).unwrap_or(network),
        };
        if event.kind == RunEventKind::Call {
            let name = &story.nodes.get(by).map_or("", |name| name);
            after = log.event(driver, &[&after], &format!("calls {name}: {}", event.what));
        }
        done.push(log.event(by, &[&after], &event.to_string()));
    }
    log.text
}

/// A name without spaces.
fn host(name: &str) -> String {
    plain(name).split_whitespace().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::render::sample;

    /// The events of a log: host, clock, text.
    fn read(log: &str) -> Vec<(&str, BTreeMap<String, u64>, &str)> {
        let mut lines = log.lines();
        assert_eq!(lines.next(), Some(PARSER));
        assert_eq!(lines.next(), Some(""));
        let lines: Vec<&str> = lines.collect();
        let events = lines.chunks(2).map(|pair| {
            let (host, clock) = pair[0].split_once(' ').unwrap();
            (host, serde_json::from_str::<serde_json::Value>(clock).unwrap(), pair[1])
        });
        let clock = |clock: serde_json::Value| {
            let parts = clock.as_object().unwrap().clone().into_iter();
            parts.map(|(host, count)| (host, count.as_u64().unwrap())).collect()
        };
        events.map(|(host, value, text)| (host, clock(value), text)).collect()
    }

    #[test]
    fn every_host_counts_its_own_events_without_gaps() {
        for story in sample::all() {
            let log = render(&story);
            let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
            for (host, clock, _) in read(&log) {
                let count = counts.entry(host).or_default();
                *count += 1;
                assert_eq!(clock[host], *count, "{host} in {log}");
            }
        }
    }

    #[test]
    fn a_message_is_handled_after_it_was_sent() {
        let log = render(&sample::paxos());
        let events = read(&log);
        let prepare = events.iter().find(|event| event.2.contains("node 1 receives Prepare"));
        assert_eq!(prepare.unwrap().1["node-0"], 2, "it knows that node 0 was called");
    }

    #[test]
    fn an_event_that_looks_like_a_clock_is_not_one() {
        let log = render(&sample::hostile());
        assert!(!log.lines().nth(2).unwrap().contains("script"), "{log}");
        read(&log);
    }

    #[test]
    fn what_threads_share_orders_their_steps() {
        let log = render(&sample::threads());
        let events = read(&log);
        assert_eq!(events[0], ("main", [("main".to_owned(), 1)].into(), "starts"));
        let last = events.last().unwrap();
        assert_eq!(last.1["the-first-worker"], 3, "it locks after the other: {log}");
        assert!(log.contains("\nthe first worker locks mutex 0 of a.rs:5 at a.rs:6\n"), "{log}");
    }
}
