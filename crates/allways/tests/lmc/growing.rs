//! Handlers to which each delivery is news: what is in flight once makes local states without end, unless it is
//! counted, and what is counted wrongly hides what can happen.

use allways::prelude::*;
use std::time::Duration;

/// What has no end would take all of this time.
fn lmc() -> Options {
    Options { max_time: Some(Duration::from_secs(60)), ..super::lmc() }
}

/// Keeps what it is told, in the order in which it is told, up to some length.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Log {
    kept: Vec<u8>,
    at_most: usize,
    /// What it tells the other at the start.
    says: Vec<u8>,
}

impl Node for Log {
    type Msg = u8;
    type Timer = Never;
    type Call = Never;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        std::mem::take(&mut self.says).into_iter().for_each(|msg| cx.send(1, msg));
    }

    fn on_message(&mut self, _: Id, msg: u8, _: &mut Cx<'_, Self>) {
        if self.kept.len() < self.at_most {
            self.kept.push(msg);
        }
    }
}

fn logs(says: &[u8], at_most: usize) -> System<Log> {
    let says = Log { says: says.to_vec(), ..Log::default() };
    System::new([says, Log { at_most, ..Log::default() }])
}

#[test]
fn what_is_not_consumed_is_used_more_often_than_it_was_sent() {
    // Long enough that it looks as if there were no end.
    let system = logs(&[7], 2_500).network(Network::duplicating()).always(
        "few",
        view(|log: &Log| log.kept.len()),
        |kept| kept[1] < 2_500,
    );
    let outcome = system.try_check(&lmc()).unwrap();
    assert_eq!(outcome.engine, "lmc views");
    outcome.assert_violated("few");
}

#[test]
fn the_order_of_a_few_messages_is_not_kept_without_end() {
    // Paths that use each of them again and again are short, but very many. Nothing violates, so that no
    // path is looked at.
    let system = logs(&[0, 1, 2, 3], usize::MAX)
        .always("quiet", view(|log: &Log| log.kept.len()), |kept| kept[0] == 0)
        .sometimes("all", view(|log: &Log| log.kept.clone()), |kept| kept[1] == [3, 1, 0, 2]);
    let outcome = system.try_check(&lmc()).unwrap();
    assert_eq!((&*outcome.engine, outcome.bounded_by), ("lmc views", None));
    assert!(outcome.assert_holds().complete);
}

#[test]
fn more_copies_than_are_counted_are_left_to_another_engine() {
    let system =
        logs(&[0; 20], usize::MAX)
            .always("quiet", view(|log: &Log| log.kept.len()), |kept| kept[0] == 0);
    let outcome = system.try_check(&lmc()).unwrap();
    assert_eq!(outcome.bounded_by, None);
    assert!(outcome.engine.starts_with("global bfs, since lmc cannot decide it"));
    outcome.assert_holds();
}

/// Says something sixty times, and means it at most twice; counts how often it is meant.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Sayer {
    said: u8,
    meant: u8,
}

impl Node for Sayer {
    type Msg = bool;
    type Timer = ();
    type Call = Never;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        if cx.id().index() == 0 {
            cx.set_timer(());
        }
    }

    fn on_timer(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        let means = self.meant < 2 && cx.choose(2) == 1;
        self.said += 1;
        self.meant += u8::from(means);
        cx.send(1, means);
        if self.said < 60 {
            cx.set_timer(());
        }
    }

    fn on_message(&mut self, _: Id, means: bool, _: &mut Cx<'_, Self>) {
        self.said += 1;
        self.meant += u8::from(means);
    }
}

#[test]
fn copies_at_different_places_of_a_channel_are_one_each() {
    // One of any of sixty places may be meant, but few of them are: it is counted.
    let system = System::new(vec![Sayer::default(); 2]).network(Network::ordered()).always(
        "once",
        view(|sayer: &Sayer| sayer.meant),
        |meant| meant[1] < 2,
    );
    let outcome = system.try_check(&lmc()).unwrap();
    assert_eq!(outcome.engine, "lmc views");
    outcome.assert_violated("once");
}

/// Says it at the start and again when a timer fires; counts what it is told.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Again {
    told: u32,
    at_most: u32,
    turns: bool,
}

impl Node for Again {
    type Msg = ();
    type Timer = ();
    type Call = Never;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        if cx.id().index() == 0 {
            cx.send(1, ());
            cx.set_timer(());
        }
    }

    fn on_timer(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        self.turns = !self.turns;
        cx.send(1, ());
        cx.set_timer(());
    }

    fn on_message(&mut self, _: Id, (): (), _: &mut Cx<'_, Self>) {
        self.told = self.at_most.min(self.told + 1);
    }
}

#[test]
fn a_copy_sent_after_counting_began_counts() {
    // The timer waits until nothing else is left to do, which is only when the first copy is counted.
    let system = System::new(vec![Again { at_most: u32::MAX, ..Again::default() }; 2])
        .timers(1)
        .always("once", view(|again: &Again| again.told), |told| told[1] < 2);
    let outcome = system.try_check(&lmc()).unwrap();
    assert_eq!(outcome.engine, "lmc views");
    outcome.assert_violated("once");
}

#[test]
fn what_is_sent_on_a_circle_is_sent_more_than_once() {
    // The timer sets itself again, and its node comes back to where it was.
    let system = System::new(vec![Again { at_most: 5, ..Again::default() }; 2]).always(
        "few",
        view(|again: &Again| again.told),
        |told| told[1] < 5,
    );
    system.try_check(&lmc()).unwrap().assert_violated("few");
}

/// Whoever is called asks the first node for a seat; that one gives out each number once, unless it crashes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Seats {
    next: u32,
    mine: Vec<u32>,
    forgets: bool,
}

impl Node for Seats {
    type Msg = Option<u32>;
    type Timer = Never;
    type Call = ();
    type Output = Never;

    fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        cx.send(0, None);
    }

    fn on_message(&mut self, from: Id, seat: Option<u32>, cx: &mut Cx<'_, Self>) {
        match seat {
            Some(seat) => self.mine.push(seat),
            None => {
                cx.send(from, Some(self.next));
                self.next += 1;
            }
        }
    }

    fn persisted(&self) -> Option<Self> {
        let next = if self.forgets { 0 } else { self.next };
        Some(Seats { next, ..self.clone() })
    }
}

#[test]
fn a_number_that_is_given_out_with_every_answer_does_not_grow_without_end() {
    for forgets in [false, true] {
        let system = System::new(vec![Seats { forgets, ..Seats::default() }; 3])
            .call(1, ())
            .call(2, ())
            .faults(Faults::none().crashes(1).restarts())
            .always("each once", view(|node: &Seats| node.mine.clone()), |mine| {
                mine[1].iter().all(|seat| !mine[2].contains(seat))
            });
        let outcome = system.try_check(&lmc()).unwrap();
        assert_eq!((&*outcome.engine, outcome.bounded_by), ("lmc views", None));
        assert_eq!(outcome.verdict == Verdict::Violated, forgets);
    }
}
