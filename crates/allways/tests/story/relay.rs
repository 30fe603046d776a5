//! A node that does as it is told: calls tell it what to send, and it keeps what it receives.

use allways::prelude::*;
use allways::{Cause, Run, RunEvent, RunEventKind, Story, Violation};
use std::collections::BTreeMap;

/// What a relay has received, most of it kept for the record.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Relay {
    pub last: Option<u8>,
    pub received: BTreeMap<u8, u32>,
    pub seen: Aux<Vec<u8>>,
}

/// What a relay is told to do.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Do {
    /// Send this to everybody else.
    Tell(u8),
    /// Send this to one.
    Send(usize, u8),
    /// Set a timer; when it fires, it is set again and asks for more until the relay has something.
    Wait,
    /// Cancel it.
    Stop,
}

impl Node for Relay {
    type Msg = u8;
    type Timer = &'static str;
    type Call = Do;
    type Output = String;

    fn on_message(&mut self, from: Id, msg: u8, cx: &mut Cx<'_, Self>) {
        assert!(msg != 13, "thirteen");
        self.last = Some(msg);
        *self.received.entry(msg).or_default() += 1;
        self.seen.push(msg);
        match msg {
            // Answered, and told.
            100 => {
                cx.send(from, 101);
                cx.output("hundred".to_owned());
            }
            // Either forgotten or not.
            50 if cx.choose(2) == 1 => self.last = None,
            _ => {}
        }
    }

    fn on_timer(&mut self, timer: &'static str, cx: &mut Cx<'_, Self>) {
        if self.last.is_none() {
            cx.set_timer(timer);
            cx.broadcast(0);
        }
    }

    fn on_call(&mut self, call: Do, cx: &mut Cx<'_, Self>) {
        match call {
            Do::Tell(value) => cx.broadcast(value),
            Do::Send(to, value) => cx.send(to, value),
            Do::Wait => cx.set_timer("patience"),
            Do::Stop => cx.cancel_timer(&"patience"),
        }
    }

    fn persisted(&self) -> Option<Self> {
        Some(Relay { last: None, ..self.clone() })
    }
}

/// A system of so many relays.
pub fn relays(count: usize) -> System<Relay> {
    System::new(vec![Relay::default(); count])
}

/// The story of a shortest run to where the property is violated; the system has one.
pub fn shortest(system: &System<Relay>) -> Story {
    let options = Options { threads: 1, ..Options::default() };
    system.try_check(&options).unwrap().story.expect("a violation")
}

fn event(kind: RunEventKind, node: Option<usize>, from: Option<usize>, what: &str) -> RunEvent {
    RunEvent { kind, node, from, what: what.to_owned(), choices: Vec::new() }
}

pub fn call(node: usize, call: Do) -> RunEvent {
    event(RunEventKind::Call, Some(node), None, &format!("{call:?}"))
}

pub fn message(from: usize, node: usize, msg: u8) -> RunEvent {
    event(RunEventKind::Message, Some(node), Some(from), &msg.to_string())
}

pub fn duplicate(from: usize, node: usize, msg: u8) -> RunEvent {
    event(RunEventKind::Duplicate, Some(node), Some(from), &msg.to_string())
}

pub fn drops(from: usize, node: usize, msg: u8) -> RunEvent {
    event(RunEventKind::Drop, Some(node), Some(from), &msg.to_string())
}

pub fn timer(node: usize) -> RunEvent {
    event(RunEventKind::Timer, Some(node), None, "\"patience\"")
}

pub fn crash(node: usize) -> RunEvent {
    event(RunEventKind::Crash, Some(node), None, "")
}

pub fn restart(node: usize) -> RunEvent {
    event(RunEventKind::Restart, Some(node), None, "")
}

pub fn partition(groups: &str) -> RunEvent {
    event(RunEventKind::Partition, None, None, groups)
}

pub fn heal() -> RunEvent {
    event(RunEventKind::Heal, None, None, "")
}

/// The story of these events.
pub fn told(system: &System<Relay>, events: Vec<RunEvent>) -> Story {
    system.story(&Run { events, ..Run::default() }).unwrap()
}

/// The story of these events, after which an `always` property does not hold.
pub fn violated(system: &System<Relay>, property: &str, events: Vec<RunEvent>) -> Story {
    let run = Run { events, ..Run::default() };
    let (property, reads) = (property.to_owned(), Vec::new());
    system.violation_story(&Violation { property, cause: Cause::Always, run, reads }).unwrap()
}
