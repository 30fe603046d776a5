//! Running one handler: every choice that it may make, and the panic that it may end in.
//!
//! This is the only place where user handlers run in a check. Everything above, whole worlds and the
//! local space alike, sees [`Effect`]s.

use super::event::{Event, Local};
use super::node::{Chooser, Cx, Effects, Id, Node};
use super::rebuilt::diverged;
use super::system::System;
use crate::error::Error;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Once;

/// A handler may call `choose` this often in one execution.
pub(crate) const MAX_CHOICES: usize = 1_000;
/// The choices of one step may have this many results.
pub(crate) const MAX_EFFECTS: usize = 100_000;

/// What one execution of a handler leads to.
pub(crate) struct Effect<N: Node> {
    /// The results of `choose`, in order.
    pub choices: Vec<u32>,
    pub end: End<N>,
}

/// How an execution ended.
pub(crate) enum End<N: Node> {
    Done(Done<N>),
    /// The handler panicked with this message.
    Panicked(String),
}

/// What a handler that returned has done.
pub(crate) struct Done<N: Node> {
    pub local: Local<N>,
    pub sends: Vec<(Id, N::Msg)>,
    pub outputs: Vec<N::Output>,
    /// The handler asked to be counted even if nothing changed.
    pub stutter: bool,
}

impl<N: Node> PartialEq for Effect<N> {
    fn eq(&self, other: &Self) -> bool {
        self.choices == other.choices
            && match (&self.end, &other.end) {
                (End::Done(a), End::Done(b)) => {
                    a.local == b.local
                        && a.sends == b.sends
                        && a.outputs == b.outputs
                        && a.stutter == b.stutter
                }
                (End::Panicked(a), End::Panicked(b)) => a == b,
                _ => false,
            }
    }
}

impl<N: Node> Effect<N> {
    /// One line that says what was done.
    pub fn describe(&self) -> String {
        match &self.end {
            End::Done(done) => format!(
                "state {:?}, sends {:?}, outputs {:?}",
                done.local.node, done.sends, done.outputs
            ),
            End::Panicked(message) => format!("panic: {message}"),
        }
    }
}

/// All effects of `event` at a node in state `local`, one for each way to choose.
///
/// Empty where the event cannot happen: a node that is down handles only a restart.
pub(crate) fn effects<N: Node>(
    system: &System<N>,
    id: Id,
    local: &Local<N>,
    event: &Event<N>,
) -> Result<Vec<Effect<N>>, Error> {
    if local.up == matches!(event, Event::Restart) {
        return Ok(Vec::new());
    }
    every_choice(
        |script| run(system, id, local, event, script),
        |limit| too_many_choices(id, &local.node, &event.to_string(), limit),
    )
}

/// How two executions of a step differ, if they do.
pub(crate) fn difference<N: Node>(first: &[Effect<N>], second: &[Effect<N>]) -> Option<String> {
    if first.len() != second.len() {
        return Some(format!(
            "it had {} results at first and {} the second time",
            first.len(),
            second.len()
        ));
    }
    let (a, b) = first.iter().zip(second).find(|(a, b)| a != b)?;
    Some(format!("it led to {} at first and to {} the second time", a.describe(), b.describe()))
}

/// The effects of starting a node for the first time. It is started twice, since it costs nothing:
/// both times it must do the same.
pub(crate) fn start<N: Node>(system: &System<N>, id: Id) -> Result<Vec<Effect<N>>, Error> {
    if let Some(effect) = system.start_at_snapshot(id) {
        return Ok(vec![effect]);
    }
    let node = &system.nodes[id.index()];
    let fresh = || Local {
        node: node.clone(),
        timers: Vec::new(),
        fires_left: system.timer_bound_at(id),
        up: true,
    };
    let run = || {
        every_choice(
            |script| handle(system, id, fresh(), script, |node, cx| node.on_start(cx)),
            |limit| too_many_choices(id, node, "its start", limit),
        )
    };
    let (effects, again) = (run()?, run()?);
    match difference(&effects, &again) {
        None => Ok(effects),
        Some(difference) => Err(Error::NonDeterministic {
            node: id.index(),
            state: format!("{node:?}"),
            event: "its start".to_owned(),
            difference,
        }),
    }
}

/// Runs a handler once for each way to choose; `too_many` is the error that a limit was reached.
fn every_choice<N: Node>(
    mut run: impl FnMut(&mut Script) -> Result<Done<N>, Stop>,
    too_many: impl Fn(String) -> Error,
) -> Result<Vec<Effect<N>>, Error> {
    let mut script = Script::default();
    // Most handlers choose nothing.
    let mut effects = Vec::with_capacity(1);
    loop {
        script.at = 0;
        let end = match run(&mut script) {
            Ok(done) => End::Done(done),
            Err(Stop::Panic(message)) => match diverged(&message) {
                Some(error) => return Err(error),
                None => End::Panicked(message),
            },
            Err(Stop::TooManyChoices) => {
                return Err(too_many(format!("it chose {MAX_CHOICES} times")));
            }
        };
        effects.push(Effect { choices: script.results(), end });
        if effects.len() > MAX_EFFECTS {
            return Err(too_many(format!("its choices have more than {MAX_EFFECTS} results")));
        }
        if !script.advance() {
            return Ok(effects);
        }
    }
}

fn too_many_choices<N: Node>(id: Id, node: &N, event: &str, limit: String) -> Error {
    Error::Choices { node: id.index(), state: format!("{node:?}"), event: event.to_string(), limit }
}

enum Stop {
    Panic(String),
    TooManyChoices,
}

fn run<N: Node>(
    system: &System<N>,
    id: Id,
    local: &Local<N>,
    event: &Event<N>,
    script: &mut Script,
) -> Result<Done<N>, Stop> {
    let mut next = local.clone();
    match event {
        Event::Message { from, msg } => {
            let (from, msg) = (*from, msg.clone());
            handle(system, id, next, script, |node, cx| node.on_message(from, msg, cx))
        }
        Event::Timer(timer) => {
            if let Ok(at) = next.timers.binary_search(timer) {
                next.timers.remove(at);
            }
            next.fires_left = next.fires_left.map(|left| left.saturating_sub(1));
            let timer = timer.clone();
            let mut done = handle(system, id, next, script, |node, cx| node.on_timer(timer, cx))?;
            // A timer that only sets itself again has done nothing, unless somebody watches: it
            // costs no budget either.
            if system.observers.is_empty()
                && done.sends.is_empty()
                && done.outputs.is_empty()
                && done.local.timers == local.timers
                && done.local.node == local.node
            {
                done.local.fires_left = local.fires_left;
            }
            Ok(done)
        }
        Event::Call { call, .. } => {
            let call = call.clone();
            handle(system, id, next, script, |node, cx| node.on_call(call, cx))
        }
        Event::Crash => {
            let survivor = guarded(|| local.node.persisted()).map_err(Stop::Panic)?;
            let node = survivor.unwrap_or_else(|| system.nodes[id.index()].clone());
            let local = Local { node, timers: Vec::new(), fires_left: local.fires_left, up: false };
            Ok(Done { local, sends: Vec::new(), outputs: Vec::new(), stutter: false })
        }
        Event::Restart => {
            next.up = true;
            handle(system, id, next, script, |node, cx| node.on_restart(cx))
        }
    }
}

fn handle<N: Node>(
    system: &System<N>,
    id: Id,
    mut local: Local<N>,
    script: &mut Script,
    handler: impl FnOnce(&mut N, &mut Cx<'_, N>),
) -> Result<Done<N>, Stop> {
    let mut effects = Effects {
        sends: Vec::new(),
        timers: std::mem::take(&mut local.timers),
        outputs: Vec::new(),
        stutter: false,
    };
    let outcome = guarded(|| {
        let mut cx = Cx::new(id, system.nodes.len(), &mut effects, script);
        handler(&mut local.node, &mut cx);
    });
    if script.exhausted {
        return Err(Stop::TooManyChoices);
    }
    outcome.map_err(Stop::Panic)?;
    local.timers = effects.timers;
    let Effects { sends, outputs, stutter, .. } = effects;
    Ok(Done { local, sends, outputs, stutter })
}

/// The choices of one execution: a prefix that is prescribed, and zeros after it.
#[derive(Default)]
struct Script {
    /// Each choice made: its result and how many there were to choose from.
    made: Vec<(u32, u32)>,
    at: usize,
    exhausted: bool,
}

impl Script {
    fn results(&self) -> Vec<u32> {
        self.made[..self.at].iter().map(|&(result, _)| result).collect()
    }

    /// Moves on to the next sequence of choices in lexicographic order, if there is one.
    fn advance(&mut self) -> bool {
        self.made.truncate(self.at);
        while let Some((result, arity)) = self.made.pop() {
            if result + 1 < arity {
                self.made.push((result + 1, arity));
                return true;
            }
        }
        false
    }
}

impl Chooser for Script {
    fn choose(&mut self, arity: usize) -> usize {
        if self.at == MAX_CHOICES {
            self.exhausted = true;
            panic_any(TooManyChoices);
        }
        let arity = u32::try_from(arity).unwrap_or(u32::MAX);
        if self.at == self.made.len() {
            self.made.push((0, arity));
        }
        // Only a non-deterministic handler offers another number of choices the second time; the
        // determinism guard reports it, so here it is enough not to go out of range.
        let made = &mut self.made[self.at];
        made.1 = arity;
        made.0 = made.0.min(arity - 1);
        self.at += 1;
        made.0 as usize
    }
}

struct TooManyChoices;

thread_local! {
    /// Set while user code runs under [`guarded`] on this thread.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    /// What the last panic under [`guarded`] said, and where.
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Where a file is within its crate, if that crate is a published one: where registries are kept differs from machine to machine, and what is
/// violated should not.
fn within_crate(file: &str) -> &str {
    let published = file.split_once("/registry/src/").and_then(|(_, rest)| rest.split_once('/'));
    let library = || file.split_once("/library/").filter(|(at, _)| at.starts_with("/rustc/"));
    published.or_else(library).map_or(file, |(_, rest)| rest)
}

/// Runs user code; a panic becomes its message and prints nothing.
pub fn guarded<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                return before(info);
            }
            let payload = info.payload();
            let text = payload
                .downcast_ref::<&str>()
                .map(|s| (*s).to_owned())
                .or_else(|| payload.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "a value that is not text".to_owned());
            let place =
                info.location().map(|at| format!(" at {}:{}", within_crate(at.file()), at.line()));
            MESSAGE.replace(Some(text + &place.unwrap_or_default()));
        }));
    });
    let outer = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    GUARDED.set(outer);
    result.map_err(|_| MESSAGE.take().unwrap_or_else(|| "no message".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::within_crate;

    #[test]
    fn places_in_published_crates_are_the_same_on_every_machine() {
        let published =
            "/home/eve/.cargo/registry/src/index-1949cf8c6b5b557f/raft-0.7.0/src/log.rs";
        assert_eq!(within_crate(published), "raft-0.7.0/src/log.rs");
        let library = "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/slice.rs";
        assert_eq!(within_crate(library), "core/src/slice.rs");
        for own in ["src/main.rs", "/home/eve/library/src/lib.rs"] {
            assert_eq!(within_crate(own), own);
        }
    }
}
