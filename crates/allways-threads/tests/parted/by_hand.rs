//! One phenomenon at a time.

use crate::both;
use allways::{Cause, Components, Engine, Error, Options, Outcome, Trouble, Verdict};
use allways_threads::net::{TcpListener, TcpStream, UdpSocket};
use allways_threads::sync::atomic::{AtomicU32, Ordering::SeqCst};
use allways_threads::sync::{Arc, Mutex};
use allways_threads::{Program, rand, thread, time};
use std::io::{Read, Write};

fn covers_all(program: &Program) -> u128 {
    let (plain, parted) = both(program, Components::default());
    plain.assert_holds();
    parted.assert_holds();
    assert!(plain.complete && parted.complete);
    let covered = parted.statistics.covered_traces.unwrap();
    assert_eq!(plain.statistics.runs.map(u128::from), Some(covered));
    covered
}

fn refused(program: &Program) -> String {
    let options = Options { engine: Engine::Dir, ..Options::default() };
    match program.try_check(&options) {
        Err(Error::Options(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// A server with so many threads that add to a number, and answers with it.
fn adders(threads: usize) -> impl Fn() + Clone {
    move || {
        let listener = TcpListener::bind("server:1").unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let sum = Arc::new(Mutex::new(Vec::new()));
        let all: Vec<_> = (0..threads)
            .map(|number| {
                let sum = Arc::clone(&sum);
                thread::spawn(move || sum.lock().unwrap().push(number as u8))
            })
            .collect();
        all.into_iter().for_each(|thread| thread.join().unwrap());
        let order = sum.lock().unwrap().clone();
        stream.write_all(&[u8::from(order == [0, 1, 2])]).unwrap();
    }
}

fn asks(then: impl Fn(u8) + Clone + Send + Sync + 'static) -> impl Fn() + Clone + Send + Sync {
    move || {
        let mut byte = [0];
        TcpStream::connect("server:1").unwrap().read_exact(&mut byte).unwrap();
        then(byte[0]);
    }
}

#[test]
fn what_is_written_into_a_stream_is_what_others_can_tell() {
    let program = Program::of_processes()
        .binds_first()
        .process("server", adders(3))
        .process("client", asks(|_| ()));
    let (plain, parted) = both(&program, Components::default());
    // Six orders, one of which the client can tell from the others.
    assert_eq!(plain.statistics.runs, Some(6));
    assert_eq!(parted.statistics.covered_traces, Some(6));
    assert_eq!(parted.statistics.global_skeletons, Some(2));
    assert_eq!(parted.statistics.runs, Some(6 + 2));
}

#[test]
fn a_panic_in_a_component_comes_with_a_run_of_all() {
    let program = Program::of_processes()
        .binds_first()
        .process("server", adders(3))
        .process("client", asks(|byte| assert_eq!(byte, 0)));
    let (plain, parted) = both(&program, Components::default());
    for outcome in [plain, parted] {
        let violation = outcome.violation.unwrap();
        assert_eq!(violation.cause, Cause::Panic);
        assert!(violation.property.contains("left: 1"), "{}", violation.property);
    }
}

#[test]
fn who_waits_for_ever_is_found_whatever_others_do_meanwhile() {
    let program = Program::of_processes()
        .process("a", || {
            rand::below(3);
        })
        .process("b", || {
            let pair = Arc::new((Mutex::new(()), Mutex::new(())));
            let other = {
                let pair = Arc::clone(&pair);
                thread::spawn(move || {
                    let _b = pair.1.lock().unwrap();
                    let _a = pair.0.lock().unwrap();
                })
            };
            let a = pair.0.lock().unwrap();
            let b = pair.1.lock().unwrap();
            drop((a, b));
            other.join().unwrap();
        });
    let (plain, parted) = both(&program, Components::default());
    for outcome in [plain, parted] {
        assert_eq!(outcome.verdict, Verdict::Violated);
        assert_eq!(outcome.violation.unwrap().cause, Cause::Trouble(Trouble::Deadlock));
    }
}

#[test]
fn those_who_send_datagrams_to_one_share_its_queue() {
    let sender = |byte: u8| {
        move || {
            let socket = UdpSocket::bind(("localhost", 0)).unwrap();
            socket.send_to(&[byte], "receiver:1").unwrap();
        }
    };
    let receiver = || {
        let socket = UdpSocket::bind("receiver:1").unwrap();
        for _ in 0..2 {
            socket.recv(&mut [0]).unwrap();
        }
    };
    let program = Program::of_processes()
        .binds_first()
        .process("receiver", receiver)
        .process("one", sender(1))
        .process("other", sender(2));
    assert_eq!(covers_all(&program), 2);
}

#[test]
fn who_looks_before_there_is_something_can_be_told() {
    let program = Program::of_processes()
        .binds_first()
        .process("server", || {
            let listener = TcpListener::bind("server:1").unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_nonblocking(true).unwrap();
            let mut byte = [0];
            let found = stream.read(&mut byte).is_ok();
            let again = stream.read(&mut byte).is_ok();
            assert!(!found || again || byte[0] == 7);
        })
        .process("client", || {
            let mut stream = TcpStream::connect("server:1").unwrap();
            let _ = stream.write_all(&[7]);
            rand::below(2);
        });
    assert!(covers_all(&program) > 4);
}

#[test]
fn how_many_sockets_there_are_decides_when_a_stream_ends() {
    let program = Program::of_processes()
        .binds_first()
        .process("server", || {
            let listener = TcpListener::bind("server:1").unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            assert!(bytes.len() < 3);
        })
        .process("client", || {
            let mut stream = TcpStream::connect("server:1").unwrap();
            let copy = (rand::below(2) == 1).then(|| stream.try_clone().unwrap());
            let other = thread::spawn(move || {
                if let Some(mut copy) = copy {
                    copy.write_all(&[1]).unwrap();
                }
            });
            stream.write_all(&[2]).unwrap();
            drop(stream);
            other.join().unwrap();
        });
    covers_all(&program);
}

#[test]
fn threads_of_one_process_are_components_where_they_share_empty_mutexes() {
    let program = |threads: usize| {
        Program::new(move || {
            let mutex = Arc::new(Mutex::new(()));
            let all: Vec<_> = (0..threads)
                .map(|_| {
                    let mutex = Arc::clone(&mutex);
                    thread::spawn(move || drop(mutex.lock().unwrap()))
                })
                .collect();
            all.into_iter().for_each(|thread| thread.join().unwrap());
        })
    };
    assert_eq!([2, 3, 4].map(|threads| covers_all(&program(threads))), [2, 6, 24]);
}

#[test]
fn what_cannot_be_told_is_refused() {
    let two = |body: fn(&(AtomicU32, Mutex<u8>))| {
        Program::new(move || {
            let shared = Arc::new((AtomicU32::new(0), Mutex::new(0)));
            let all = [0, 1].map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || body(&shared))
            });
            all.into_iter().for_each(|thread| thread.join().unwrap());
        })
    };
    let atomic = refused(&two(|(atomic, _)| {
        atomic.fetch_add(1, SeqCst);
    }));
    assert!(atomic.starts_with("the atomic of by_hand.rs:"), "{atomic}");
    assert!(atomic.contains("put these threads into one component"), "{atomic}");
    let mutex = refused(&two(|(_, mutex)| *mutex.lock().unwrap() += 1));
    assert!(mutex.starts_with("the mutex of by_hand.rs:"), "{mutex}");
}

#[test]
fn who_was_spawned_after_something_had_happened_belongs_to_who_did() {
    let program = Program::new(|| {
        let mutex = Mutex::new(1);
        *mutex.lock().unwrap() += 1;
        thread::spawn(|| {
            rand::below(2);
        })
        .join()
        .unwrap();
    });
    assert!(refused(&program).starts_with("a thread waits for one of another component"));
    let program = program.components("0,1".parse().unwrap());
    assert_eq!(covers_all(&program), 2);
}

/// What is covered with components that are found out, and which these are.
fn found_out(program: &Program) -> (u128, String) {
    let (plain, parted) = both(program, Components::auto());
    assert_eq!((plain.verdict, parted.verdict), (Verdict::Holds, Verdict::Holds));
    let covered = parted.statistics.covered_traces.unwrap();
    assert_eq!(Some(covered), plain.statistics.runs.map(u128::from));
    (covered, parted.statistics.components.unwrap())
}

#[test]
fn those_who_share_what_cannot_be_told_are_found_to_be_one_component() {
    let program = Program::new(|| {
        let mutex = Arc::new(Mutex::new(()));
        let all = [0, 1].map(|_| {
            let (mutex, atomic) = (Arc::clone(&mutex), Arc::new(AtomicU32::new(0)));
            thread::spawn(move || {
                let other = Arc::clone(&atomic);
                let other = thread::spawn(move || other.fetch_add(1, SeqCst));
                atomic.fetch_add(1, SeqCst);
                drop(mutex.lock().unwrap());
                other.join().unwrap();
            })
        });
        all.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(found_out(&program), (8, "0/1,2".to_owned()));
    let program = Program::new(|| {
        let atomic = Arc::new(AtomicU32::new(0));
        let add = || {
            let atomic = Arc::clone(&atomic);
            thread::spawn(move || atomic.fetch_add(1, SeqCst))
        };
        let other = || thread::spawn(|| rand::below(2));
        let (a, b, c, d) = (add(), other(), add(), other());
        [a, c].into_iter().for_each(|thread| assert!(thread.join().is_ok()));
        [b, d].into_iter().for_each(|thread| assert!(thread.join().is_ok()));
    });
    let (covered, components) = found_out(&program);
    assert_eq!((covered, components.as_str()), (8, "0/1,3/2/4"));
}

#[test]
fn who_was_spawned_after_something_had_happened_is_found_to_belong_to_who_did() {
    let program = Program::new(|| {
        let mutex = Mutex::new(1);
        *mutex.lock().unwrap() += 1;
        thread::spawn(|| {
            rand::below(2);
        })
        .join()
        .unwrap();
    });
    assert_eq!(found_out(&program), (2, "0,1".to_owned()));
}

#[test]
fn a_deadlock_is_found_within_components_of_components() {
    let program = Program::new(|| {
        let forks: Vec<_> = (0..3).map(|_| Arc::new(Mutex::new(()))).collect();
        let all: Vec<_> = (0..3)
            .map(|seat| {
                let (left, right) = (Arc::clone(&forks[seat]), Arc::clone(&forks[(seat + 1) % 3]));
                thread::spawn(move || {
                    let left = left.lock().unwrap();
                    drop(right.lock().unwrap());
                    drop(left);
                })
            })
            .collect();
        all.into_iter().for_each(|thread| thread.join().unwrap());
    });
    for components in ["each", "(1/2)/3", "(1/2/3)", "((1/3)/2)/0", "((0/1)/(2/3))", "auto"] {
        let (plain, parted) = both(&program, components.parse().unwrap());
        assert_eq!((plain.verdict, parted.verdict), (Verdict::Violated, Verdict::Violated));
        let cause = |outcome: &Outcome| outcome.violation.as_ref().unwrap().cause.clone();
        assert_eq!(cause(&plain), cause(&parted), "{components}");
    }
}

#[test]
fn time_is_refused() {
    let program = Program::of_processes()
        .process("a", || {
            thread::sleep(time::Duration::from_secs(1));
            rand::below(2);
        })
        .process("b", || ());
    assert!(refused(&program).contains("clocks"));
}
