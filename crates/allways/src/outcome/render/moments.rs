//! The global state at each moment of a story, put together from its steps.

use super::words::is_lost;
use crate::outcome::RunEventKind;
use crate::outcome::story::Story;

/// The global state at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Moment<'a> {
    /// The state of each node; what each thread did last, which has none that is shown.
    pub states: Vec<&'a str>,
    /// The timers pending at each node.
    pub timers: Vec<Vec<&'a str>>,
    /// Which nodes are up.
    pub up: Vec<bool>,
    /// The state of each observer.
    pub observers: Vec<&'a str>,
    /// What is in flight: sent, not lost, and handled later or never.
    pub in_flight: Vec<usize>,
}

/// The moments of a story: the start, and after each step.
pub(super) fn moments(story: &Story) -> Vec<Moment<'_>> {
    let mut moment = Moment {
        states: story.starts.iter().map(|start| start.state.as_str()).collect(),
        timers: (story.starts.iter())
            .map(|start| start.timers.iter().map(String::as_str).collect())
            .collect(),
        up: vec![true; story.starts.len()],
        observers: story.observer_starts.iter().map(String::as_str).collect(),
        in_flight: in_flight(story, 0),
    };
    let mut moments = vec![moment.clone()];
    for (index, step) in story.steps.iter().enumerate() {
        for moved in &step.observed {
            if let Some(observer) = moment.observers.get_mut(moved.observer) {
                *observer = &moved.after;
            }
        }
        let node = step.event.node.filter(|&node| node < moment.states.len() && !is_lost(step));
        if let Some(node) = node {
            if step.event.kind == RunEventKind::Thread {
                moment.states[node] = story.what(step);
            } else if !step.after.is_empty() {
                moment.states[node] = &step.after;
            }
            match step.event.kind {
                RunEventKind::Crash => moment.up[node] = false,
                RunEventKind::Restart => moment.up[node] = true,
                _ => {}
            }
            let fired = step.event.kind == RunEventKind::Timer;
            let timers = &mut moment.timers[node];
            timers.retain(|timer| {
                let gone = fired && *timer == step.event.what;
                !gone && step.timers_cancelled.iter().all(|cancelled| cancelled != timer)
            });
            timers.extend(step.timers_set.iter().map(String::as_str));
        }
        moment.in_flight = in_flight(story, index + 1);
        moments.push(moment.clone());
    }
    moments
}

/// What is in flight after so many steps.
fn in_flight(story: &Story, steps: usize) -> Vec<usize> {
    let is = |&index: &usize| {
        let envelope = &story.envelopes[index];
        let sent = envelope.sent_at.is_none_or(|step| step < steps);
        let lost = envelope.lost_at.is_some_and(|step| step < steps);
        let done = envelope.handled_at.iter().max().is_some_and(|&step| step < steps);
        sent && !lost && !done
    };
    (0..story.envelopes.len()).filter(is).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::render::sample;

    #[test]
    fn a_moment_has_what_the_steps_before_it_left() {
        let story = sample::paxos();
        let moments = moments(&story);
        assert_eq!(moments.len(), story.steps.len() + 1);
        assert_eq!(moments[0].in_flight, [0, 1], "the driver's calls");
        assert_eq!(moments[1].in_flight, [1, 2, 3], "one call was handled and two messages sent");
        assert_eq!(moments[2].timers[1], ["Retry"]);
        assert_eq!(moments[5].in_flight, [1, 5], "one message was lost");
        assert_eq!(moments[7].up, [true, false, true]);
        assert!(moments[7].timers[1].is_empty(), "lost in the crash");
        assert_eq!(moments[8].up, [true; 3]);
        assert_eq!(moments[11].observers, ["[20]"]);
        assert!(moments[3].states[0].contains("chosen: Some(10)"));
    }
}
