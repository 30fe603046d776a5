//! Wilder programs than those of `parted`: they connect and accept as they go, poll listeners and datagram sockets, peek, and lose datagrams.

use allways::{Bound, Components, Engine, Options, Outcome, Verdict};
use allways_threads::net::{TcpListener, TcpStream, UdpSocket};
use allways_threads::sync::{Arc, Mutex};
use allways_threads::{Program, rand, thread};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;

const MAX_RUNS: u64 = if cfg!(debug_assertions) { 200 } else { 3_000 };

#[derive(Clone, Copy, Debug)]
enum Act {
    Connect(usize),
    Accept,
    PollAccept,
    DropListener,
    Send(usize),
    SendTwo(usize),
    Receive(usize),
    Poll(usize),
    Peek(usize),
    Drop(usize),
    Shut(usize, u8),
    Keep(usize),
    Tell(usize),
    Hear,
    PollHear,
    DropSocket,
    Choose,
    Add,
    Assert(u8),
}

#[derive(Clone, Debug)]
struct Process {
    serves: bool,
    main: Vec<Act>,
    other: Option<(bool, Vec<Act>)>,
}

#[derive(Clone, Debug)]
struct Plan {
    binds_first: bool,
    listens: bool,
    datagrams: bool,
    short: u32,
    lost: u32,
    processes: Vec<Process>,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0usize..3).prop_map(Act::Connect),
        5 => Just(Act::Accept),
        1 => Just(Act::PollAccept),
        1 => Just(Act::DropListener),
        4 => (0usize..2).prop_map(Act::Send),
        1 => (0usize..2).prop_map(Act::SendTwo),
        4 => (0usize..2).prop_map(Act::Receive),
        1 => (0usize..2).prop_map(Act::Poll),
        1 => (0usize..2).prop_map(Act::Peek),
        1 => (0usize..2).prop_map(Act::Drop),
        1 => (0usize..2, 0u8..3).prop_map(|(s, h)| Act::Shut(s, h)),
        1 => (0usize..2).prop_map(Act::Keep),
        3 => (0usize..3).prop_map(Act::Tell),
        2 => Just(Act::Hear),
        1 => Just(Act::PollHear),
        1 => Just(Act::DropSocket),
        2 => Just(Act::Choose),
        2 => Just(Act::Add),
        1 => (20u8..60).prop_map(Act::Assert),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let other = prop::option::weighted(0.4, (any::<bool>(), vec(act(), 0..4)));
    let process = (prop::bool::weighted(0.9), vec(act(), 0..6), other)
        .prop_map(|(serves, main, other)| Process { serves, main, other });
    let flags = (
        prop::bool::weighted(0.8),
        prop::bool::weighted(0.8),
        prop::bool::weighted(0.5),
        prop_oneof![4 => Just(0u32), 1 => Just(1)],
        prop_oneof![3 => Just(0u32), 1 => Just(1), 1 => Just(2)],
    );
    (flags, vec(process, 2..4)).prop_map(
        |((binds_first, listens, datagrams, short, lost), processes)| Plan {
            binds_first,
            listens,
            datagrams,
            short,
            lost,
            processes,
        },
    )
}

struct Actor {
    listener: Option<TcpListener>,
    streams: Vec<Option<TcpStream>>,
    kept: Vec<TcpStream>,
    socket: Option<UdpSocket>,
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
            Act::Connect(to) => match TcpStream::connect((&*format!("p{to}"), 7)) {
                Ok(stream) => self.streams.push(Some(stream)),
                Err(_) => self.take(5),
            },
            Act::Accept => {
                let Some(listener) = self.listener.take() else { return };
                match listener.accept() {
                    Ok((stream, _)) => self.streams.push(Some(stream)),
                    Err(_) => self.take(7),
                }
                self.listener = Some(listener);
            }
            Act::PollAccept => {
                let Some(listener) = self.listener.take() else { return };
                listener.set_nonblocking(true).unwrap();
                match listener.accept() {
                    Ok((stream, _)) => self.streams.push(Some(stream)),
                    Err(_) => self.take(7),
                }
                listener.set_nonblocking(false).unwrap();
                self.listener = Some(listener);
            }
            Act::DropListener => self.listener = None,
            Act::Send(stream) => {
                let Some(to) = self.stream(stream) else { return };
                let is_lost = to.write_all(&[has]).is_err();
                self.take(u8::from(is_lost));
            }
            Act::SendTwo(stream) => {
                let Some(to) = self.stream(stream) else { return };
                let is_lost = to.write_all(&[has, 9]).is_err();
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
            Act::Peek(stream) => {
                let mut byte = [0];
                let Some(from) = self.stream(stream) else { return };
                match from.peek(&mut byte) {
                    Ok(0) => self.take(1),
                    Ok(_) => self.take(byte[0]),
                    Err(_) => self.take(3),
                }
            }
            Act::Drop(stream) => drop(self.streams.get_mut(stream).and_then(Option::take)),
            Act::Shut(stream, how) => {
                if let Some(stream) = self.stream(stream) {
                    let how = [Shutdown::Write, Shutdown::Read, Shutdown::Both][how as usize];
                    let _ = stream.shutdown(how);
                }
            }
            Act::Keep(stream) => {
                if let Some(stream) = self.stream(stream) {
                    let copy = stream.try_clone().unwrap();
                    self.kept.push(copy);
                }
            }
            Act::Tell(process) => {
                if let Some(socket) = &self.socket {
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
            Act::PollHear => {
                let mut byte = [0];
                if let Some(socket) = self.socket.take() {
                    socket.set_nonblocking(true).unwrap();
                    match socket.recv(&mut byte) {
                        Ok(_) => self.take(byte[0]),
                        Err(_) => self.take(2),
                    }
                    socket.set_nonblocking(false).unwrap();
                    self.socket = Some(socket);
                }
            }
            Act::DropSocket => self.socket = None,
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
    fn program(&self) -> Program {
        let mut program = Program::of_processes().short_reads(self.short);
        if self.datagrams {
            program = program.lossy_datagrams(self.lost);
        }
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
        let name = format!("p{number}");
        let listener = self.listens.then(|| TcpListener::bind((&*name, 7)).unwrap());
        let socket = self.datagrams.then(|| UdpSocket::bind((&*name, 9)).unwrap());
        let shared = Arc::new(Mutex::new(0));
        let other = process.other.as_ref().map(|(has_all, acts)| {
            let (listener, socket) = match has_all {
                true => (
                    listener.as_ref().map(|it| it.try_clone().unwrap()),
                    socket.as_ref().map(|it| it.try_clone().unwrap()),
                ),
                false => (None, None),
            };
            let (shared, acts) = (Arc::clone(&shared), acts.clone());
            thread::spawn(move || {
                let mut actor = Actor {
                    listener,
                    streams: Vec::new(),
                    kept: Vec::new(),
                    socket,
                    shared,
                    has: 5,
                };
                acts.iter().for_each(|&act| actor.act(act));
            })
        });
        let mut actor = Actor {
            listener,
            streams: Vec::new(),
            kept: Vec::new(),
            socket,
            shared,
            has: number as u8,
        };
        process.main.iter().for_each(|&act| actor.act(act));
        if let Some(other) = other {
            other.join().unwrap();
        }
    }
}

fn cases() -> ProptestConfig {
    let default = ProptestConfig::default();
    let (cases, rng_seed) = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => (default.cases, RngSeed::Random),
        None => (100, RngSeed::Fixed(1)),
    };
    let failures = FileFailurePersistence::WithSource("regressions");
    ProptestConfig {
        cases,
        rng_seed,
        failure_persistence: Some(Box::new(failures)),
        max_shrink_iters: 5_000,
        max_global_rejects: 1 << 20,
        ..default
    }
}

fn by(engine: Engine) -> Options {
    Options {
        engine,
        threads: 1,
        minimise: false,
        max_runs: Some(MAX_RUNS),
        max_depth: Some(400),
        ..Options::default()
    }
}

fn check(program: &Program, options: &Options) -> Result<Outcome, TestCaseError> {
    program.try_check(options).map_err(|error| TestCaseError::fail(format!("{error:?}")))
}

fn lasting(outcome: &Outcome) -> String {
    let it = &outcome.statistics;
    let counts = (it.runs, it.blocked_runs, it.global_skeletons, it.inner_skeletons);
    let skeletons = (it.local_skeletons, it.covered_traces);
    let violation = outcome.violation.as_ref().map(|it| (&it.property, &it.cause));
    format!("{:?} {:?} {counts:?} {skeletons:?} {violation:?}", outcome.verdict, outcome.complete)
}

fn compare(plan: &Plan, components: Components) -> Result<(), TestCaseError> {
    let program = plan.program();
    let plain = check(&program, &by(Engine::Dpor))?;
    prop_assume!(plain.bounded_by != Some(Bound::Runs));
    let dir = Options { components, max_runs: Some(20 * MAX_RUNS), ..by(Engine::Dir) };
    let parted = check(&program, &dir)?;
    prop_assume!(parted.bounded_by != Some(Bound::Runs));
    prop_assert_eq!(plain.verdict, parted.verdict);
    if plain.verdict == Verdict::Holds {
        let covered = parted.statistics.covered_traces;
        prop_assert_eq!(covered, plain.statistics.runs.map(u128::from));
        prop_assert_eq!(plain.complete, parted.complete);
    }
    Ok(())
}

fn compare_threads(plan: &Plan, components: Components) -> Result<(), TestCaseError> {
    let program = plan.program();
    let dir = Options { components, max_runs: Some(MAX_RUNS), ..by(Engine::Dir) };
    let one = check(&program, &dir)?;
    prop_assume!(one.bounded_by.is_none());
    let two = check(&program, &Options { threads: 3, ..dir.clone() })?;
    prop_assert_eq!(one.verdict, two.verdict);
    if one.verdict == Verdict::Holds {
        prop_assert_eq!(one.statistics.covered_traces, two.statistics.covered_traces);
    }
    let path = std::env::temp_dir().join(format!("allways-wild-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let logged = Options { resume: Some(path.clone()), ..dir };
    let mut first = None;
    for _ in 0..3 {
        let outcome = check(&program, &logged)?;
        prop_assert_eq!(one.verdict, outcome.verdict);
        if one.verdict == Verdict::Holds {
            let now = lasting(&outcome);
            let first = first.get_or_insert(now.clone());
            prop_assert_eq!(&*first, &now);
            prop_assert_eq!(one.statistics.covered_traces, outcome.statistics.covered_traces);
        }
    }
    let _ = std::fs::remove_file(&path);
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn each_by_itself(plan in plan()) {
        compare(&plan, Components::default())?;
    }

    #[test]
    fn in_components(plan in plan(), which in 0..6usize) {
        let components = match plan.processes.len() {
            0 | 1 => "0",
            2 => "(0/1)",
            _ => ["(0/1)/2", "0/(1/2)", "(0/1/2)", "((0/2)/1)", "(0,1/2)", "0,2/1"][which],
        };
        compare(&plan, components.parse().unwrap())?;
    }

    #[test]
    fn whoever_explores(plan in plan(), which in 0..4usize) {
        let components = match plan.processes.len() {
            0 | 1 => "0",
            2 => "0/1",
            _ => ["0/1/2", "0/(1/2)", "0,1/2", "0,2/1"][which],
        };
        compare_threads(&plan, components.parse().unwrap())?;
    }
}

/// Who drops the listener is decided by an `Arc` of `std`, which nobody can see: that is the program's fault, and has to be told, whatever the engine.
#[test]
fn what_is_shared_unseen_is_told_by_all_engines() {
    let idle = || drop(TcpListener::bind("p1:7").unwrap());
    let program = Program::of_processes()
        .process("p0", || {
            let listener = Arc::new(TcpListener::bind("p0:7").unwrap());
            let other = Arc::clone(&listener);
            let other = thread::spawn(move || {
                let _ = TcpStream::connect("p0:7");
                drop(other);
            });
            let _ = TcpStream::connect("p1:7");
            drop(listener);
            other.join().unwrap();
        })
        .process("p1", idle);
    let said = |engine| match program.try_check(&by(engine)) {
        Err(error) => format!("{error:?}"),
        Ok(outcome) => format!("{:?}", outcome.verdict),
    };
    let (plain, parted) = (said(Engine::Dpor), said(Engine::Dir));
    assert!(!parted.starts_with("Internal"), "dpor: {plain}\ndir: {parted}");
}
