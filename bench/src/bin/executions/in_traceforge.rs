//! A protocol for TraceForge: a thread for each process, which receives messages in a loop.
//!
//! The first process is the main thread. A thread ends when it knows that no more messages come,
//! or none that it wants: TraceForge is faster then. An execution in which a thread waits in vain is
//! what TraceForge calls a blocked one; here it is one like any other.
//! Views are kept on a board beside the threads, so that testing the property costs no events.

use crate::actor::{Actor, Transport, World};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use traceforge::thread::{ThreadId, construct_thread_id, spawn};
use traceforge::{
    Config, ConsType, Nondet, recv_msg_block, recv_tagged_msg_block, send_msg, send_tagged_msg,
};

/// Explores all executions of these processes: how many there are, or `None` if in one of them the
/// property does not hold.
pub fn explore<A: Actor>(processes: &[A], transport: Transport) -> Option<u64> {
    let order = match transport {
        Transport::Ordered => ConsType::FIFO,
        Transport::Selective | Transport::Any => ConsType::Bag,
    };
    // Otherwise it prints how far it has come.
    let silent = Config::builder().with_progress_report(usize::MAX);
    let config = silent.with_cons_type(order).build();
    let processes = processes.to_vec();
    let explored = catch_unwind(AssertUnwindSafe(|| {
        traceforge::verify(config, move || {
            let board = Arc::new(Mutex::new(vec![A::View::default(); processes.len()]));
            for (number, actor) in processes.iter().cloned().enumerate().skip(1) {
                let board = Arc::clone(&board);
                let handle = spawn(move || live(number, actor, transport, &board));
                assert_eq!(handle.thread().id(), thread(number));
            }
            live(0, processes[0].clone(), transport, &board);
        })
    }));
    explored.ok().map(|stats| (stats.execs + stats.block) as u64)
}

/// Threads are numbered in the order in which they are created. The main thread, which goes first
/// whenever it can, creates all others.
fn thread(process: usize) -> ThreadId {
    construct_thread_id(process as u32)
}

/// The life of a process.
fn live<A: Actor>(number: usize, mut actor: A, transport: Transport, board: &Mutex<Vec<A::View>>) {
    let mut world = Threads::<A> { number, transport, actor: PhantomData };
    let mut shown = A::View::default();
    actor.start(&mut world);
    for _ in 0..actor.most() {
        let (from, msg): (usize, A::Msg) = match transport {
            Transport::Selective if actor.done() => return,
            Transport::Selective => {
                let receiver = actor.clone();
                recv_tagged_msg_block(move |_, tag| tag.is_some_and(|tag| receiver.wants(tag)))
            }
            Transport::Any | Transport::Ordered => recv_msg_block(),
        };
        if !actor.wants(A::tag(msg)) {
            continue;
        }
        actor.receive(from, msg, &mut world);
        if actor.view() != shown {
            shown = actor.view();
            let mut views = board.lock().unwrap_or_else(PoisonError::into_inner);
            views[number] = shown.clone();
            assert!(A::holds(&views), "the property does not hold");
        }
    }
}

/// How a thread acts on the world.
struct Threads<A> {
    number: usize,
    transport: Transport,
    actor: PhantomData<A>,
}

impl<A: Actor> World<A::Msg> for Threads<A> {
    fn send(&mut self, to: usize, msg: A::Msg) {
        let content = (self.number, msg);
        match self.transport {
            Transport::Selective => send_tagged_msg(thread(to), A::tag(msg), content),
            Transport::Any | Transport::Ordered => send_msg(thread(to), content),
        }
    }

    fn choose(&mut self, arity: usize) -> usize {
        (0..arity).nondet()
    }
}
