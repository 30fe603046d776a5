//! Programs drawn at random: processes of one or two threads that talk over streams and by datagrams.

use allways_threads::net::{TcpListener, TcpStream, UdpSocket};
use allways_threads::sync::{Arc, Mutex};
use allways_threads::{Program, rand, thread};
use proptest::collection::vec;
use proptest::prelude::*;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;

/// What a thread does next. Streams are those to other processes, in the order of these.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Writes what it has into a stream.
    Send(usize),
    /// Waits for something from a stream, or its end.
    Receive(usize),
    /// Takes it if it is there.
    Poll(usize),
    Drop(usize),
    Shut(usize),
    /// Has another socket for a stream, for a moment.
    Copy(usize),
    /// Sends a datagram to a process.
    Tell(usize),
    /// Waits for a datagram.
    Hear,
    Choose,
    /// Adds what it has to what its process has, and takes that.
    Add,
    /// Must not have this.
    Assert(u8),
}

#[derive(Clone, Debug)]
pub struct Process {
    pub serves: bool,
    pub main: Vec<Act>,
    /// What another thread does, which has copies of the streams or not.
    pub other: Option<(bool, Vec<Act>)>,
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub binds_first: bool,
    pub streams: bool,
    pub datagrams: bool,
    pub processes: Vec<Process>,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0usize..2).prop_map(Act::Send),
        4 => (0usize..2).prop_map(Act::Receive),
        1 => (0usize..2).prop_map(Act::Poll),
        1 => (0usize..2).prop_map(Act::Drop),
        1 => (0usize..2).prop_map(Act::Shut),
        1 => (0usize..2).prop_map(Act::Copy),
        1 => (0usize..3).prop_map(Act::Tell),
        1 => Just(Act::Hear),
        2 => Just(Act::Choose),
        3 => Just(Act::Add),
        1 => (60u8..80).prop_map(Act::Assert),
    ]
}

pub fn plan() -> impl Strategy<Value = Plan> {
    let other = prop::option::of((any::<bool>(), vec(act(), 0..3)));
    let process = (prop::bool::weighted(0.8), vec(act(), 0..5), other)
        .prop_map(|(serves, main, other)| Process { serves, main, other });
    let flags = (prop::bool::weighted(0.8), prop::bool::weighted(0.9), prop::bool::weighted(0.3));
    (flags, vec(process, 2..4)).prop_map(|((binds_first, streams, datagrams), processes)| Plan {
        binds_first,
        streams,
        datagrams,
        processes,
    })
}

/// What a thread has.
struct Actor {
    streams: Vec<Option<TcpStream>>,
    socket: Option<Arc<UdpSocket>>,
    shared: Arc<Mutex<u8>>,
    has: u8,
}

impl Actor {
    fn stream(&mut self, stream: usize) -> Option<&mut TcpStream> {
        self.streams.get_mut(stream)?.as_mut()
    }

    fn take(&mut self, what: u8) {
        self.has = self.has.wrapping_mul(3).wrapping_add(what);
    }

    fn receive(&mut self, stream: usize) {
        let mut byte = [0];
        let Some(from) = self.stream(stream) else { return };
        match from.read(&mut byte) {
            Ok(0) => self.take(1),
            Ok(_) => self.take(byte[0]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.take(2),
            Err(_) => self.take(3),
        }
    }

    fn act(&mut self, act: Act) {
        let has = self.has;
        match act {
            Act::Send(stream) => {
                let Some(to) = self.stream(stream) else { return };
                let is_lost = to.write_all(&[has]).is_err();
                self.take(u8::from(is_lost));
            }
            Act::Receive(stream) => self.receive(stream),
            Act::Poll(stream) => {
                let Some(from) = self.stream(stream) else { return };
                from.set_nonblocking(true).unwrap();
                self.receive(stream);
                if let Some(from) = self.stream(stream) {
                    from.set_nonblocking(false).unwrap();
                }
            }
            Act::Drop(stream) => drop(self.streams.get_mut(stream).and_then(Option::take)),
            Act::Shut(stream) => {
                if let Some(stream) = self.stream(stream) {
                    stream.shutdown(Shutdown::Write).unwrap();
                }
            }
            Act::Copy(stream) => {
                if let Some(stream) = self.stream(stream) {
                    drop(stream.try_clone().unwrap());
                }
            }
            Act::Tell(process) => {
                if let Some(socket) = &self.socket {
                    // There may be no such process.
                    let _ = socket.send_to(&[has], (&*format!("p{process}"), 9));
                }
            }
            Act::Hear => {
                let mut byte = [0];
                if let Some(socket) = &self.socket {
                    socket.recv(&mut byte).unwrap();
                    self.take(byte[0]);
                }
            }
            Act::Choose => {
                let chosen = rand::below(2) as u8;
                self.take(chosen);
            }
            Act::Add => {
                let mut shared = self.shared.lock().unwrap();
                *shared = shared.wrapping_add(has).wrapping_add(1);
                let all = *shared;
                drop(shared);
                self.take(all);
            }
            Act::Assert(other) => assert_ne!(has, other),
        }
    }
}

impl Plan {
    pub fn program(&self) -> Program {
        let mut program = Program::of_processes();
        if self.binds_first {
            program = program.binds_first();
        }
        for (number, process) in self.processes.iter().enumerate() {
            let (plan, process) = (self.clone(), process.clone());
            let serves = process.serves;
            let body = move || plan.run(number, &process);
            let name = format!("p{number}");
            program = match serves {
                true => program.server(name, body),
                false => program.process(name, body),
            };
        }
        program
    }

    fn run(&self, number: usize, process: &Process) {
        let name = |number: usize| format!("p{number}");
        let port = |from: usize| 100 + from as u16;
        let listeners = (0..number).filter(|_| self.streams);
        let listeners: Vec<TcpListener> = listeners
            .map(|from| TcpListener::bind((&*name(number), port(from))).unwrap())
            .collect();
        let socket = self.datagrams.then(|| UdpSocket::bind((&*name(number), 9)).unwrap());
        let socket = socket.map(Arc::new);
        let others = (number + 1..self.processes.len()).filter(|_| self.streams);
        let connect = |to: usize| TcpStream::connect((&*name(to), port(number))).ok();
        let mut streams: Vec<Option<TcpStream>> = Vec::new();
        let connected: Vec<Option<TcpStream>> = others.map(connect).collect();
        streams.extend(listeners.iter().map(|it| it.accept().ok().map(|(stream, _)| stream)));
        streams.extend(connected);
        let shared = Arc::new(Mutex::new(0));
        let other = process.other.as_ref().map(|(has_copies, acts)| {
            let copy = |stream: &Option<TcpStream>| {
                stream.as_ref().filter(|_| *has_copies).map(|it| it.try_clone().unwrap())
            };
            let streams = streams.iter().map(copy).collect();
            let (socket, shared, acts) = (None, Arc::clone(&shared), acts.clone());
            thread::spawn(move || {
                let mut actor = Actor { streams, socket, shared, has: 5 };
                acts.iter().for_each(|&act| actor.act(act));
            })
        });
        let mut actor = Actor { streams, socket, shared, has: number as u8 };
        process.main.iter().for_each(|&act| actor.act(act));
        if let Some(other) = other {
            other.join().unwrap();
        }
    }
}
