//! What nodes of several threads have in common: a stream to every other node, a thread that receives from each, and queues.
//!
//! Nodes share nothing but these streams. Each is for one direction and has one writer at a time and one reader, and each pair of nodes has a port of its own,
//! so that who connects first makes no difference.

use crate::together::spawn;
use allways_threads::net::{TcpListener, TcpStream};
use allways_threads::sync::{Condvar, Mutex};
use allways_threads::thread::JoinHandle;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};

const PORT: u16 = 7_000;

/// A message on its way: all have the same size, so each is one write and one read.
pub(crate) type Frame = [u8; 8];

/// The name of a node, and of its process.
pub(crate) fn name(node: usize) -> String {
    // Not "node 0": what is told of threads speaks of processes.
    format!("server {node}")
}

/// Where a node hears from another.
fn address(node: usize, from: usize) -> (String, u16) {
    (name(node), PORT + from as u16)
}

/// The others of so many nodes.
fn others(node: usize, nodes: usize) -> impl Iterator<Item = usize> {
    (0..nodes).filter(move |other| *other != node)
}

/// Where a node will hear from the others. This comes before anything else that a node does.
pub(crate) struct Ears(Vec<(usize, TcpListener)>);

impl Ears {
    pub(crate) fn of(node: usize, nodes: usize) -> Self {
        let listen = |from| {
            let (host, port) = address(node, from);
            (from, TcpListener::bind((&*host, port)).expect("the address is its own"))
        };
        Ears(others(node, nodes).map(listen).collect())
    }

    /// A thread for each other node, which hands on what comes from there, until that is over.
    pub(crate) fn hear(
        self,
        hand_on: impl Fn(usize, Frame) + Clone + Send + 'static,
    ) -> Vec<JoinHandle<()>> {
        let thread = |(from, listener): (usize, TcpListener)| {
            let hand_on = hand_on.clone();
            spawn(format!("receiver {from}"), move || {
                let (mut stream, _) = listener.accept().expect("everybody connects");
                while let Some(frame) = receive(&mut stream) {
                    hand_on(from, frame);
                }
            })
        };
        self.0.into_iter().map(thread).collect()
    }
}

/// The next message, if there is one.
fn receive(stream: &mut TcpStream) -> Option<Frame> {
    let mut frame = Frame::default();
    match stream.read_exact(&mut frame) {
        Ok(()) => Some(frame),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => None,
        Err(error) => panic!("a message does not arrive: {error}"),
    }
}

/// The streams of a node to the others. They are closed when this is dropped.
pub(crate) struct Mouth(Vec<(usize, TcpStream)>);

impl Mouth {
    /// Everybody listens already.
    pub(crate) fn of(node: usize, nodes: usize) -> Self {
        let connect = |to| {
            let (host, port) = address(to, node);
            (to, TcpStream::connect((&*host, port)).expect("everybody listens"))
        };
        Mouth(others(node, nodes).map(connect).collect())
    }

    pub(crate) fn tell(&mut self, node: usize, frame: Frame) {
        let (_, stream) = self.0.iter_mut().find(|(to, _)| *to == node).expect("it is another");
        stream.write_all(&frame).expect("everybody listens to the end");
    }

    pub(crate) fn tell_all(&mut self, frame: Frame) {
        for (_, stream) in &mut self.0 {
            stream.write_all(&frame).expect("everybody listens to the end");
        }
    }

    /// Nothing more will be said.
    pub(crate) fn close(&mut self) {
        self.0.clear();
    }
}

/// A queue of messages, each with the node that it comes from, under a lock.
pub(crate) struct Queue<M> {
    messages: Mutex<VecDeque<(usize, M)>>,
    came: Condvar,
}

impl<M> Queue<M> {
    pub(crate) fn new() -> Self {
        Queue { messages: Mutex::new(VecDeque::new()), came: Condvar::new() }
    }

    #[track_caller]
    pub(crate) fn push(&self, from: usize, message: M) {
        let mut messages = self.messages.lock().expect("nobody panics");
        messages.push_back((from, message));
        self.came.notify_one();
    }

    /// The next message, once there is one.
    #[track_caller]
    pub(crate) fn pop(&self) -> (usize, M) {
        let mut messages = self.messages.lock().expect("nobody panics");
        loop {
            match messages.pop_front() {
                Some(next) => return next,
                None => messages = self.came.wait(messages).expect("nobody panics"),
            }
        }
    }

    #[track_caller]
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.lock().expect("nobody panics").is_empty()
    }
}
