//! Where every envelope was sent and what became of it, on each kind of network.

use crate::relay::*;
use allways::{Faults, Network, Story};

/// Sender, receiver, message, and at which steps it was sent, handled and lost.
type Entry = (Option<usize>, usize, String, Option<usize>, Vec<usize>, Option<usize>);

/// Everything but the driver's calls.
fn messages(story: &Story) -> Vec<Entry> {
    let messages = story.envelopes.iter().filter(|envelope| envelope.from.is_some());
    messages
        .map(|e| (e.from, e.to, e.what.clone(), e.sent_at, e.handled_at.clone(), e.lost_at))
        .collect()
}

fn entry(
    (from, to, msg): (usize, usize, u8),
    sent: usize,
    handled: &[usize],
    lost: Option<usize>,
) -> Entry {
    (Some(from), to, msg.to_string(), Some(sent), handled.to_vec(), lost)
}

/// Every step says the same of its envelopes as the envelopes say of their steps.
fn consistent(story: &Story) {
    for (index, envelope) in story.envelopes.iter().enumerate() {
        for &step in &envelope.handled_at {
            assert_eq!(story.steps[step].envelope, Some(index));
            assert!(envelope.sent_at.is_none_or(|sent| sent < step));
        }
        if let Some(step) = envelope.lost_at {
            assert!(story.steps[step].lost.contains(&index));
        }
        if let Some(step) = envelope.sent_at {
            assert!(story.steps[step].sent.contains(&index));
        }
    }
}

#[test]
fn of_equal_envelopes_the_oldest_is_handled_first() {
    let system = relays(2).call(0, Do::Send(1, 7)).call(0, Do::Send(1, 7));
    let send = || call(0, Do::Send(1, 7));
    let story = told(&system, vec![send(), send(), message(0, 1, 7), message(0, 1, 7)]);
    consistent(&story);
    let expected = [entry((0, 1, 7), 0, &[2], None), entry((0, 1, 7), 1, &[3], None)];
    assert_eq!(messages(&story), expected);
}

#[test]
fn messages_that_overtake_each_other_are_not_mixed_up() {
    let system = relays(2).call(0, Do::Send(1, 7)).call(0, Do::Send(1, 8));
    let calls = [call(0, Do::Send(1, 7)), call(0, Do::Send(1, 8))];
    let events = [calls.to_vec(), vec![message(0, 1, 8), message(0, 1, 7)]].concat();
    let story = told(&system, events);
    consistent(&story);
    let expected = [entry((0, 1, 7), 0, &[3], None), entry((0, 1, 8), 1, &[2], None)];
    assert_eq!(messages(&story), expected);
}

#[test]
fn a_duplicate_stays_in_flight() {
    let system = relays(2).network(Network::unordered().duplications(1)).call(0, Do::Send(1, 7));
    let events = vec![call(0, Do::Send(1, 7)), duplicate(0, 1, 7), message(0, 1, 7)];
    let story = told(&system, events);
    consistent(&story);
    assert_eq!(messages(&story), [entry((0, 1, 7), 0, &[1, 2], None)]);
}

#[test]
fn on_a_duplicating_network_an_envelope_is_handled_again_and_again() {
    let system =
        relays(2).network(Network::duplicating()).call(0, Do::Send(1, 7)).call(0, Do::Send(1, 7));
    let send = || call(0, Do::Send(1, 7));
    let story =
        told(&system, vec![send(), message(0, 1, 7), send(), message(0, 1, 7), message(0, 1, 7)]);
    // Sent twice, it is still one envelope.
    assert_eq!(messages(&story), [entry((0, 1, 7), 0, &[1, 3, 4], None)]);
    assert_eq!(story.steps[0].sent, story.steps[2].sent);
}

#[test]
fn an_ordered_channel_is_first_in_first_out() {
    let system = relays(2).network(Network::ordered().drops(1)).calls_in_sequence([
        (0, Do::Send(1, 7)),
        (0, Do::Send(1, 8)),
        (0, Do::Send(1, 7)),
    ]);
    let calls = [7, 8, 7].map(|value| call(0, Do::Send(1, value)));
    let rest = vec![drops(0, 1, 7), message(0, 1, 8), message(0, 1, 7)];
    let story = told(&system, [calls.to_vec(), rest].concat());
    consistent(&story);
    let expected = [
        entry((0, 1, 7), 0, &[], Some(3)),
        entry((0, 1, 8), 1, &[4], None),
        entry((0, 1, 7), 2, &[5], None),
    ];
    assert_eq!(messages(&story), expected);
    assert_eq!(story.steps[3].envelope, story.steps[3].lost.first().copied());
    // The second message came to the front because the first was dropped.
    assert_eq!(story.steps[4].causes, [1, 3]);
}

#[test]
fn a_script_releases_the_next_call_when_one_is_handled() {
    let system = relays(2).calls_in_sequence([(0, Do::Wait), (1, Do::Stop)]);
    let story = told(&system, vec![call(0, Do::Wait), call(1, Do::Stop)][..1].to_vec());
    let released = &story.envelopes[story.steps[0].sent[0]];
    assert_eq!((released.from, released.to, released.what.as_str()), (None, 1, "Stop"));
    assert_eq!(story.envelopes[0].handled_at, [0]);
    consistent(&story);
}

#[test]
fn a_partition_loses_what_crosses_it() {
    let system = relays(3)
        .faults(Faults::none().partition([vec![0]]))
        .call(0, Do::Tell(7))
        .call(1, Do::Tell(8))
        .call(0, Do::Send(1, 9));
    let events = vec![
        call(0, Do::Tell(7)),
        partition("[[0]]"),
        call(1, Do::Tell(8)),
        message(1, 2, 8),
        heal(),
        call(0, Do::Send(1, 9)),
        message(0, 1, 9),
    ];
    let story = told(&system, events);
    consistent(&story);
    let expected = [
        entry((0, 1, 7), 0, &[], Some(1)),
        entry((0, 2, 7), 0, &[], Some(1)),
        entry((1, 0, 8), 2, &[], Some(2)), // lost at once
        entry((1, 2, 8), 2, &[3], None),
        entry((0, 1, 9), 5, &[6], None),
    ];
    assert_eq!(messages(&story), expected);
    // What was sent after the partition had healed came through because it had.
    assert_eq!(story.steps[6].causes, [2, 4, 5]);
    assert_eq!(story.steps[4].causes, [1]);
}

#[test]
fn on_an_ordered_network_a_message_is_lost_at_the_door_of_a_node_that_is_down() {
    let system = relays(2)
        .network(Network::ordered())
        .faults(Faults::none().crashes(1).restarts())
        .call(0, Do::Send(1, 7));
    let events = vec![call(0, Do::Send(1, 7)), crash(1), message(0, 1, 7), restart(1)];
    let story = told(&system, events);
    consistent(&story);
    assert_eq!(messages(&story), [entry((0, 1, 7), 0, &[], Some(2))]);
    assert_eq!(story.steps[2].before, story.steps[2].after);
}

#[test]
fn on_an_unordered_network_a_message_waits_for_a_node_that_is_down() {
    let system = relays(2)
        .faults(Faults::none().crashes(1).restarts())
        .call(0, Do::Send(1, 7))
        .call(1, Do::Wait);
    let events =
        vec![call(0, Do::Send(1, 7)), call(1, Do::Wait), crash(1), restart(1), message(0, 1, 7)];
    let story = told(&system, events);
    consistent(&story);
    assert_eq!(messages(&story), [entry((0, 1, 7), 0, &[4], None)]);
    assert_eq!(story.steps[2].timers_cancelled, ["\"patience\""]);
}

#[test]
fn a_run_of_another_system_is_refused_with_a_sentence() {
    let run = allways::Run { events: vec![message(0, 1, 7)], ..Default::default() };
    let error = relays(2).story(&run).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the run is not one of this system: event 1 cannot happen: node 1 receives 7 from node 0"
    );
}
