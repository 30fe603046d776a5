//! What goes wrong, and how it is told.

use crate::{trouble, violated};
use allways::{SavedRun, Trouble};
use allways_threads::net::{TcpListener, TcpStream, UdpSocket};
use allways_threads::{Program, thread};
use std::io::{Read, Write};

#[test]
fn both_read_first() {
    let program = Program::of_processes()
        .process("server", || {
            let listener = TcpListener::bind("server:7").unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0]).unwrap();
            stream.write_all(b"x").unwrap();
        })
        .process("client", || {
            let Ok(mut stream) = TcpStream::connect("server:7") else { return };
            stream.read_exact(&mut [0]).unwrap();
            stream.write_all(b"x").unwrap();
        });
    let outcome = violated(&program);
    assert_eq!(trouble(&outcome), Some(Trouble::Deadlock));
    let violation = outcome.violation.as_ref().unwrap();
    assert_eq!(
        violation.reads,
        [
            "server waits at trouble.rs:15 to read from the stream from client:49153 to server:7",
            "client waits at trouble.rs:20 to read from the stream from server:7 to client:49153"
        ]
    );
    assert_eq!(violation.property, "server and client wait for ever");
    let saved = SavedRun::new("both read first", [("", "")], &outcome).unwrap();
    assert!(program.replay(&saved).unwrap().still_violates());
}

#[test]
fn nobody_connects() {
    let outcome = violated(&Program::new(|| {
        let listener = TcpListener::bind("0.0.0.0:7").unwrap();
        let _ = listener.accept();
    }));
    assert_eq!(trouble(&outcome), Some(Trouble::Deadlock));
    let reads = &outcome.violation.as_ref().unwrap().reads;
    assert!(reads[0].ends_with("for somebody to connect to listener main:7"), "{reads:?}");
}

#[test]
fn a_datagram_that_is_lost() {
    let program = Program::of_processes()
        .process("server", || {
            let socket = UdpSocket::bind("server:1").unwrap();
            let _ = socket.recv(&mut [0]);
        })
        .process("client", || {
            let socket = UdpSocket::bind("client:2").unwrap();
            socket.send_to(b"x", "server:1").unwrap();
        });
    let outcome = violated(&program.lossy_datagrams(1));
    assert_eq!(trouble(&outcome), Some(Trouble::Deadlock));
    let reads = &outcome.violation.as_ref().unwrap().reads;
    assert!(reads[0].ends_with("for a datagram at datagram socket server:1"), "{reads:?}");
}

#[test]
fn a_run_in_words() {
    let outcome = violated(&Program::new(|| {
        let listener = TcpListener::bind("main:7").unwrap();
        let thread = thread::spawn(|| {
            let mut stream = TcpStream::connect("main:7").unwrap();
            stream.write_all(b"x").unwrap();
        });
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
        thread.join().unwrap();
        panic!("to see the run");
    }));
    let run = &outcome.violation.as_ref().unwrap().run;
    let words: Vec<&str> = run.events.iter().map(|event| event.what.as_str()).collect();
    let words: Vec<&str> = words.iter().map(|what| what.rsplit_once(" at ").unwrap().0).collect();
    let words: Vec<&str> = (words.iter())
        .map(|what| what.strip_prefix("main ").or(what.strip_prefix("thread 1 ")).unwrap())
        .collect();
    let expected = [
        "binds address 10.0.0.1:7",
        "looks at options of the socket main:7",
        "looks who is at address 10.0.0.1:7",
        "connects to listener main:7",
        "accepts from listener main:7",
        "writes part 0 of the stream from main:49154 to main:7",
        "reads part 0 of the stream from main:49154 to main:7",
        "drops the socket from main:49154 to main:7",
        "finds the end of the stream from main:49154 to main:7",
    ];
    let sorted = |words: &[&str]| {
        let mut words = words.to_vec();
        words.sort_unstable();
        words.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(sorted(&words), sorted(&expected));
}
