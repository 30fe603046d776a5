//! The diagram, to the letter.

use crate::relay::*;
use allways::prelude::*;
use allways::{Faults, Story, TextOptions};

/// A run with everything in it that can happen.
fn everything() -> Story {
    let system = relays(3)
        .network(Network::ordered().drops(1).duplications(1))
        .faults(Faults::none().crashes(1).restarts().partition([vec![0]]))
        .call(0, Do::Tell(7))
        .call(1, Do::Tell(100))
        .call(1, Do::Wait)
        .call(0, Do::Send(0, 50));
    let mut chose = message(0, 0, 50);
    chose.choices = vec![1];
    let events = vec![
        call(0, Do::Tell(7)),
        drops(0, 2, 7),
        duplicate(0, 1, 7),
        partition("[[0]]"),
        call(1, Do::Tell(100)),
        message(1, 2, 100),
        call(1, Do::Wait),
        crash(1),
        message(2, 1, 101),
        heal(),
        restart(1),
        call(0, Do::Send(0, 50)),
        chose,
    ];
    told(&system, events)
}

fn text(story: &Story, width: usize) -> String {
    story.text(&TextOptions { width, ..TextOptions::default() })
}

#[test]
fn everything_that_can_happen_is_drawn() {
    assert_eq!(
        text(&everything(), 72),
        "\
all nodes start as Relay { last: None, received: {} }

node   0   1   2
    1  ▼   │   │   call Tell(7)
       │   │   │     → 1, 2: 7
    2  ○───┼──✗│   7 from 0 to 2 is dropped, sent at 1
    3  ○──▶●   │   7 from 0, sent at 1; a copy stays in flight
       │   │   │     last: None → Some(7)
       │   │   │     received: {} → {7: 1}
    4  ╪═══╪═══╪══ the network parts: 0 | 1, 2 ═════════════════════════
       │   │   │     ✗ 7 from 0 to 1 is lost
    5  │   ▼   │   call Tell(100)
       │   │   │     → 2: 100
       │   │   │     → 0: 100 ✗ lost to the partition
    6  │   ○──▶●   100 from 1, sent at 5
       │   │   │     last: None → Some(100)
       │   │   │     received: {} → {100: 1}
       │   │   │     → 1: 101
       │   │   │     outputs \"hundred\"
    7  │   ▼   │   call Wait
       │   │   │     sets timer \"patience\"
    8  │   ✖   │   crashes
       │   ┊   │     last: Some(7) → None
       │   ┊   │     loses timer \"patience\"
    9  │   ┊✗──○   101 from 2, sent at 6; lost, node 1 is down
   10  ╪═══╪═══╪══ the partition heals ═════════════════════════════════
   11  │   ↻   │   restarts
   12  ▼   │   │   call Send(0, 50)
       │   │   │     → 0: 50
   13  ●◀╮ │   │   50 from 0, sent at 12
       │   │   │     chooses 1
       │   │   │     received: {} → {50: 1}
"
    );
}

#[test]
fn without_unicode_it_is_drawn_in_ascii() {
    let ascii = TextOptions { width: 60, unicode: false, ..TextOptions::default() };
    let text = everything().text(&ascii);
    assert!(text.is_ascii());
    let lines: Vec<&str> = text.lines().skip(2).take(7).collect();
    assert_eq!(
        lines,
        [
            "node   0   1   2",
            "    1  v   |   |   call Tell(7)",
            "       |   |   |     -> 1, 2: 7",
            "    2  o---+--x|   7 from 0 to 2 is dropped, sent at 1",
            "    3  o-->*   |   7 from 0, sent at 1; a copy stays in",
            "       |   |   |       flight",
            "       |   |   |     last: None -> Some(7)"
        ]
    );
}

#[test]
fn where_lanes_do_not_fit_there_is_a_list() {
    let text = text(&everything(), 40);
    let lines: Vec<&str> = text.lines().skip(3).take(8).collect();
    assert_eq!(
        lines,
        [
            "    1  node 0 ▼ call Tell(7)",
            "         → 1, 2: 7",
            "    2  ✗ 7 from 0 to 2 is dropped, sent",
            "           at 1",
            "    3  node 1 ● 7 from 0, sent at 1; a",
            "           copy stays in flight",
            "         last: None → Some(7)",
            "         received: {} → {7: 1}"
        ]
    );
}

#[test]
fn only_the_last_steps_are_shown_if_so_asked() {
    let text = everything().text(&TextOptions { last: Some(5), ..TextOptions::default() });
    let lines: Vec<&str> = text.lines().skip(2).take(5).collect();
    let expected = [
        "node   0     1     2",
        "       … 8 steps are left out here",
        "    9  │     ┊✗────○   101 from 2, sent at 6; lost, node 1 is down",
        "   10  ╪═════╪═════╪══ the partition heals ═════════════════════════════════════════════════════════",
        "   11  │     ↻     │   restarts",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn colours_are_escapes_around_the_same_text() {
    let plain = everything().text(&TextOptions::default());
    let coloured = everything().text(&TextOptions { color: true, ..TextOptions::default() });
    let mut without = String::new();
    for (index, piece) in coloured.split('\x1b').enumerate() {
        // Everything up to the first `m` is the escape.
        without.push_str(if index == 0 { piece } else { piece.split_once('m').unwrap().1 });
    }
    assert_ne!(plain, coloured);
    assert_eq!(plain, without);
}

/// Nodes 0 and 1 disagree; what node 2 does is beside the point.
fn disagreement() -> Story {
    let last = view(|r: &Relay| r.last);
    let system = relays(3)
        .call(0, Do::Send(0, 7))
        .call(1, Do::Send(1, 8))
        .call(2, Do::Send(2, 7))
        .always("agreement", last, |last| last.iter().flatten().all_equal());
    let events = vec![
        call(0, Do::Send(0, 7)),
        message(0, 0, 7),
        call(2, Do::Send(2, 7)),
        message(2, 2, 7),
        call(1, Do::Send(1, 8)),
        message(1, 1, 8),
    ];
    violated(&system, "agreement", events)
}

#[test]
fn steps_that_do_not_matter_are_told_in_short() {
    let story = disagreement();
    let short = text(&story, 80);
    let all = story.text(&TextOptions { width: 80, all_steps: true, ..TextOptions::default() });
    assert!(short.contains(" (3) "), "{short}");
    assert!(all.lines().count() > short.lines().count());
    assert_eq!(all.lines().last(), short.lines().last());
}

#[test]
fn the_end_says_who_broke_the_property() {
    let text = text(&disagreement(), 80);
    let (_, ending) = text.split_once("\n\nalways").unwrap();
    assert_eq!(
        ending,
        " `agreement` does not hold:\n▸ node 0 sees Some(7), since step 2\n▸ node 1 sees Some(8), since step 6\n  node 2 sees Some(7)\n"
    );
}

#[test]
fn an_outcome_shows_the_diagram_and_a_violation_the_list() {
    let system = relays(2).call(0, Do::Send(1, 7)).never_stuck(
        "nobody has seven",
        view(|r: &Relay| r.last),
        |last| !last.contains(&Some(7)),
    );
    let outcome = system.check();
    let shown = outcome.to_string();
    let story = outcome.story.as_ref().unwrap();
    let diagram = story.text(&TextOptions::default());
    assert!(shown.starts_with("violated: never stuck `nobody has seven`\n\n"), "{shown}");
    assert!(shown.contains(&diagram), "{shown}");
    assert!(diagram.contains("does not hold: nothing can happen any more, and"), "{diagram}");
    let list = outcome.violation.unwrap().to_string();
    assert_eq!(
        list,
        "violated: never stuck `nobody has seven`\n  \
           1. node 0 is called: Send(1, 7)\n  \
           2. node 1 receives 7 from node 0\n  \
           node 0: None\n  \
           node 1: Some(7)\n"
    );
}

#[test]
fn a_panic_is_shown_at_its_step_and_at_the_end() {
    let text = text(&shortest(&relays(2).call(0, Do::Send(1, 13))), 90);
    assert_eq!(text.matches("panics: thirteen at ").count(), 2, "{text}");
    assert!(text.contains("○────▶✖   13 from 0, sent at 1"), "{text}");
}

#[test]
fn no_line_is_wider_than_it_may_be() {
    for story in [everything(), disagreement()] {
        for width in 1..=130 {
            for unicode in [true, false] {
                let options = TextOptions { width, unicode, ..TextOptions::default() };
                for line in story.text(&options).lines() {
                    assert!(line.chars().count() <= width, "{width}: {line}");
                }
            }
        }
    }
}

#[test]
fn a_story_of_nothing_is_nothing() {
    assert_eq!(Story::default().text(&TextOptions::default()), "");
}

#[test]
fn a_timer_that_changes_nothing_says_so() {
    let system = relays(2).call(0, Do::Wait).call(1, Do::Send(0, 7));
    let events = vec![call(0, Do::Wait), call(1, Do::Send(0, 7)), message(1, 0, 7), timer(0)];
    let text = text(&told(&system, events), 90);
    assert!(text.trim_end().ends_with("  changes nothing"), "{text}");
    assert_eq!(text.matches("changes nothing").count(), 1, "{text}");
}
