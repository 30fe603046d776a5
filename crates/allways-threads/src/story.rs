//! A run of threads, told in full.

use crate::runtime::Runtime;
use crate::runtime::op::{Kind, NONE};
use crate::words;
use allways::{Change, RunEvent, RunEventKind, Story, StoryEnvelope, StoryStart, StoryStep};

/// Tells the run: threads are its nodes, messages and notifications its envelopes.
pub(crate) fn tell(runtime: &mut Runtime) -> Story {
    let column = |runtime: &Runtime, thread: u32| {
        runtime.present.iter().position(|&other| other == thread).unwrap_or(0)
    };
    let mut story = Story::default();
    story.nodes = runtime.present.iter().map(|&thread| runtime.thread_name(thread)).collect();
    story.starts = vec![StoryStart::default(); story.nodes.len()];
    for event in 0..runtime.log.len() {
        let entry = runtime.log.entries[event];
        let node = column(runtime, entry.thread);
        let choices = if words::chooses(&entry) { vec![entry.alternative] } else { Vec::new() };
        let what = words::event(runtime, event);
        let happens =
            RunEvent { kind: RunEventKind::Thread, node: Some(node), from: None, what, choices };
        let mut step = StoryStep::new(happens);
        step.causes = runtime.log.needs(event).iter().map(|&needed| needed as usize).collect();
        step.causes.extend((entry.step_before != NONE).then_some(entry.step_before as usize));
        step.causes.extend(conflicting(runtime, event));
        step.causes.sort_unstable();
        step.causes.dedup();
        if matches!(entry.op.kind, Kind::Store | Kind::Swap | Kind::Exchange)
            && let Some(before) = words::value_before(runtime, &entry)
            && before != entry.value
        {
            let path = runtime.object_name(entry.op.object);
            step.changes.push(Change::new(path, before.to_string(), entry.value.to_string()));
        }
        let sends = entry.op.kind.sends() && entry.succeeded;
        if sends && let Some(received) = receiver(runtime, event) {
            let to = column(runtime, runtime.log.entries[received].thread);
            let what = format!("message {}", entry.value);
            step.sent.push(story.envelopes.len());
            let mut envelope = StoryEnvelope::new(Some(node), to, what);
            (envelope.sent_at, envelope.handled_at) = (Some(event), vec![received]);
            story.envelopes.push(envelope);
        }
        step.envelope = story.envelopes.iter().position(|e| e.handled_at.contains(&event));
        step.matters = true;
        story.steps.push(step);
    }
    story
}

/// The last event before this one on what it touches that it conflicts with.
fn conflicting(runtime: &Runtime, event: usize) -> Option<usize> {
    let footprints = &runtime.touching.footprints;
    let entries = &runtime.log.entries;
    let footprint = entries[event].footprint;
    (0..event).rev().find(|&earlier| footprints.conflict(entries[earlier].footprint, footprint))
}

/// The event that receives what an event sends.
fn receiver(runtime: &Runtime, sent: usize) -> Option<usize> {
    let entries = &runtime.log.entries;
    let message = &entries[sent];
    (sent + 1..entries.len()).find(|&event| {
        let entry = &entries[event];
        entry.op.kind.receives()
            && entry.succeeded
            && entry.op.object == message.op.object
            && entry.value == message.value
    })
}
