//! Random programs, explored with and without reduction: what they may see must be the same.

use allways::{Engine, Options, Reduction};
use allways_threads::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use allways_threads::{Program, thread};
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a thread does.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// Through a reference to a socket that all threads have.
    Write,
    Read,
    Peek,
    WriteBack,
    ReadBack,
    Shutdown(Shutdown),
    ShutdownBack(Shutdown),
    SetNonblocking(bool),
    /// With a socket that is a clone of that.
    WriteClone,
    ReadClone,
    DropClone,
    CloneAgain,
    Connect,
    Accept,
    Bind,
    Unbind,
    ConnectLate,
    SendTo,
    SendElsewhere,
    Receive,
    BindDatagrams,
}

const ALL: [Op; 25] = [
    Op::Write,
    Op::Read,
    Op::Peek,
    Op::WriteBack,
    Op::ReadBack,
    Op::Shutdown(Shutdown::Write),
    Op::Shutdown(Shutdown::Read),
    Op::Shutdown(Shutdown::Both),
    Op::ShutdownBack(Shutdown::Write),
    Op::ShutdownBack(Shutdown::Both),
    Op::SetNonblocking(true),
    Op::SetNonblocking(false),
    Op::WriteClone,
    Op::ReadClone,
    Op::DropClone,
    Op::CloneAgain,
    Op::Connect,
    Op::Accept,
    Op::Bind,
    Op::Unbind,
    Op::ConnectLate,
    Op::SendTo,
    Op::SendElsewhere,
    Op::Receive,
    Op::BindDatagrams,
];

/// What all threads have.
struct Common {
    there: TcpStream,
    back: TcpStream,
    listener: TcpListener,
    socket: UdpSocket,
}

/// What a thread has for itself.
struct Own {
    clone: Option<TcpStream>,
    more: Vec<TcpStream>,
    bound: Option<TcpListener>,
    datagrams: Option<UdpSocket>,
}

fn read(mut from: impl Read) -> String {
    let mut bytes = [0; 2];
    match from.read(&mut bytes) {
        Ok(len) => format!("{:?}", &bytes[..len]),
        Err(error) => format!("{:?}", error.kind()),
    }
}

fn told<T>(result: io::Result<T>) -> String {
    format!("{:?}", result.map(|_| ()).map_err(|error| error.kind()))
}

fn perform(op: Op, byte: u8, common: &Common, own: &mut Own) -> String {
    let two = [byte, byte + 100];
    match op {
        Op::Write => told((&common.there).write(&two)),
        Op::Read => read(&common.back),
        Op::Peek => told(common.back.peek(&mut [0])),
        Op::WriteBack => told((&common.back).write(&two)),
        Op::ReadBack => read(&common.there),
        Op::Shutdown(how) => told(common.there.shutdown(how)),
        Op::ShutdownBack(how) => told(common.back.shutdown(how)),
        Op::SetNonblocking(nonblocking) => told(common.back.set_nonblocking(nonblocking)),
        Op::WriteClone => own.clone.as_mut().map_or_else(String::new, |it| told(it.write(&two))),
        Op::ReadClone => own.clone.as_mut().map_or_else(String::new, read),
        Op::DropClone => own.clone.take().map_or_else(String::new, |_| "dropped".to_owned()),
        Op::CloneAgain => {
            own.more.extend(own.clone.as_ref().and_then(|it| it.try_clone().ok()));
            String::new()
        }
        Op::Connect | Op::ConnectLate => {
            let address = if let Op::Connect = op { "main:1" } else { "main:2" };
            let connected = TcpStream::connect(address).map(|mut stream| {
                let _ = stream.write(&two);
                own.more.push(stream);
            });
            told(connected)
        }
        Op::Accept => match common.listener.accept() {
            Ok((mut stream, _)) => {
                stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
                read(&mut stream)
            }
            Err(error) => told::<()>(Err(error)),
        },
        Op::Bind => told(TcpListener::bind("main:2").map(|it| own.bound = Some(it))),
        Op::Unbind => own.bound.take().map_or_else(String::new, |_| "unbound".to_owned()),
        Op::SendTo => told(common.socket.send_to(&two, "main:3")),
        Op::SendElsewhere => told(common.socket.send_to(&two, "main:4")),
        Op::Receive => {
            let socket = own.datagrams.as_ref().unwrap_or(&common.socket);
            let mut bytes = [0; 2];
            format!("{:?}", socket.recv(&mut bytes).map(|_| bytes).map_err(|error| error.kind()))
        }
        Op::BindDatagrams => {
            let bound = UdpSocket::bind("main:4").map(|socket| {
                socket.set_nonblocking(true).unwrap();
                own.datagrams = Some(socket);
            });
            told(bound)
        }
    }
}

fn body(threads: &[Vec<Op>]) -> Vec<Vec<String>> {
    let listener = TcpListener::bind("main:1").unwrap();
    let there = TcpStream::connect("main:1").unwrap();
    let (back, _) = listener.accept().unwrap();
    listener.set_nonblocking(true).unwrap();
    let second = Some(Duration::from_secs(1));
    there.set_read_timeout(second).unwrap();
    back.set_read_timeout(second).unwrap();
    let socket = UdpSocket::bind("main:3").unwrap();
    socket.set_nonblocking(true).unwrap();
    let common = Common { there, back, listener, socket };
    thread::scope(|scope| {
        let spawn = |(number, ops): (usize, &Vec<Op>)| {
            let clones = ops.iter().any(|op| {
                matches!(op, Op::WriteClone | Op::ReadClone | Op::DropClone | Op::CloneAgain)
            });
            let clone = clones.then(|| common.there.try_clone().unwrap());
            let mut own = Own { clone, more: Vec::new(), bound: None, datagrams: None };
            let (ops, common) = (ops.clone(), &common);
            scope.spawn(move || {
                let each = ops.iter().enumerate();
                let byte = |n: usize| (10 * number + n) as u8;
                each.map(|(n, &op)| perform(op, byte(n), common, &mut own)).collect()
            })
        };
        let all: Vec<_> = threads.iter().enumerate().map(spawn).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// What threads may see, all together, and the number of executions; `None` if it takes too long to tell.
fn seen(
    threads: &[Vec<Op>],
    faults: [u32; 2],
    reduction: Reduction,
) -> Option<(BTreeSet<Vec<Vec<String>>>, u64)> {
    let all = Arc::new(Mutex::new(BTreeSet::new()));
    let (into, ops) = (Arc::clone(&all), threads.to_vec());
    let program = Program::new(move || {
        let seen = body(&ops);
        into.lock().unwrap().insert(seen);
    });
    let program = program.short_reads(faults[0]).lossy_datagrams(faults[1]);
    let max_runs = Some(10_000);
    let options =
        Options { engine: Engine::Dpor, reduction, max_runs, threads: 1, ..Options::default() };
    let outcome = program.try_check(&options).unwrap();
    if outcome.complete {
        outcome.assert_holds();
        let blocked = outcome.statistics.blocked_runs;
        assert!(reduction != Reduction::Optimal || blocked == Some(0), "{threads:?} {faults:?}");
        let seen = std::mem::take(&mut *all.lock().unwrap());
        return Some((seen, outcome.statistics.runs.unwrap()));
    }
    assert!(outcome.violation.is_none(), "{outcome}");
    None
}

#[test]
fn reduction_hides_nothing() {
    let mut state = 1u64;
    let mut random = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % n
    };
    let programs: usize =
        std::env::var("ALLWAYS_TEST_PROGRAMS").map_or(60, |it| it.parse().unwrap());
    let (mut compared, mut most) = (0, 0);
    for _ in 0..programs {
        // Those who do much the same have more to do with each other.
        let some: Vec<Op> = (0..1 + random(5)).map(|_| ALL[random(ALL.len())]).collect();
        let shapes: [&[usize]; 6] = [&[1, 1, 1], &[2, 1], &[3, 1], &[2, 2], &[3, 2], &[2, 1, 1]];
        let shape = shapes[random(shapes.len())].iter();
        let mut ops = |&len: &usize| (0..len).map(|_| some[random(some.len())]).collect();
        let threads: Vec<Vec<Op>> = shape.map(&mut ops).collect();
        let faults = [random(2) as u32, random(2) as u32];
        let Some((all, _)) = seen(&threads, faults, Reduction::None) else { continue };
        let (source, _) = seen(&threads, faults, Reduction::Source).unwrap();
        let (optimal, runs) = seen(&threads, faults, Reduction::Optimal).unwrap();
        assert_eq!(all, source, "{threads:?} {faults:?}");
        assert_eq!(all, optimal, "{threads:?} {faults:?}");
        compared += 1;
        most = most.max(runs);
    }
    println!("{compared} programs, at most {most} executions");
    assert!(compared > programs / 2, "{compared}");
}
