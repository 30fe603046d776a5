//! Reads: that take too long, that do not wait, that are short.

use crate::{executions, violated};
use allways_threads::net::{TcpListener, TcpStream};
use allways_threads::time::Instant;
use allways_threads::{Program, thread};
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

#[test]
fn reading_may_take_too_long() {
    let program = |tries: usize| {
        Program::new(move || {
            let listener = TcpListener::bind("main:7").unwrap();
            let client = thread::spawn(|| {
                let mut stream = TcpStream::connect("main:7").unwrap();
                stream.write_all(b"x").unwrap();
                assert_eq!(stream.read(&mut [0]).unwrap(), 0);
            });
            let (mut stream, _) = listener.accept().unwrap();
            let second = Duration::from_secs(1);
            stream.set_read_timeout(Some(second)).unwrap();
            assert_eq!(stream.read_timeout().unwrap(), Some(second));
            for _ in 0..tries {
                match stream.read(&mut [0]) {
                    Ok(len) => {
                        assert_eq!(len, 1);
                        break;
                    }
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                }
            }
            drop(stream);
            client.join().unwrap();
        })
    };
    // It comes before one of the tries; or after the last, and then before the stream is dropped or after.
    assert_eq!([1, 2, 3].map(|tries| executions(&program(tries))), [3, 4, 5]);
}

#[test]
fn one_who_waits_again_and_again() {
    let program = |read: fn(&mut TcpStream)| {
        Program::new(move || {
            let listener = TcpListener::bind("main:7").unwrap();
            let mut client = TcpStream::connect("main:7").unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
            let writes = thread::spawn(move || {
                client.write_all(b"x").unwrap();
                client
            });
            read(&mut stream);
            writes.join().unwrap();
        })
    };
    // It is held until there is something: to time out once more adds nothing.
    let patient = program(|stream| while stream.read(&mut [0]).is_err() {});
    assert!(executions(&patient) <= 4);
    // One who looks at its clock is not. What is written comes before one of five reads, or after all.
    let punctual = program(|stream| {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(5) && stream.read(&mut [0]).is_err() {}
    });
    assert_eq!(executions(&punctual), 6);
}

#[test]
fn asking_instead_of_waiting() {
    let program = Program::new(|| {
        let listener = TcpListener::bind("main:7").unwrap();
        listener.set_nonblocking(true).unwrap();
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        let client = TcpStream::connect("main:7").unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        (&client).write_all(b"xy").unwrap();
        assert_eq!(stream.peek(&mut [0]).unwrap(), 1);
        assert_eq!(stream.read(&mut [0; 9]).unwrap(), 2);
        drop(client);
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    });
    assert_eq!(executions(&program), 1);
    // One who asks over and over is held until there is something.
    let program = Program::new(|| {
        let listener = TcpListener::bind("main:7").unwrap();
        let client = thread::spawn(|| TcpStream::connect("main:7").unwrap().write_all(b"x"));
        listener.set_nonblocking(true).unwrap();
        let mut stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(_) => thread::yield_now(),
            }
        };
        stream.set_nonblocking(true).unwrap();
        while stream.read(&mut [0]).is_err() {
            thread::yield_now();
        }
        client.join().unwrap().unwrap();
    });
    assert!(executions(&program) <= 16);
}

/// A message with its length in front, by one who reads on until all of it is there, or who does not.
fn message(stream: &mut TcpStream, reads_on: bool) -> Vec<u8> {
    let mut read = |bytes: &mut [u8]| {
        let mut done = stream.read(bytes).unwrap();
        while reads_on && done < bytes.len() {
            done += stream.read(&mut bytes[done..]).unwrap();
        }
    };
    let mut len = [0; 2];
    read(&mut len);
    let mut bytes = vec![0; usize::from(u16::from_be_bytes(len))];
    read(&mut bytes);
    bytes
}

#[test]
fn short_reads_are_all_tried() {
    let program = |reads_on: bool, short_reads: u32| {
        Program::new(move || {
            let listener = TcpListener::bind("main:7").unwrap();
            let client = thread::spawn(|| {
                let mut stream = TcpStream::connect("main:7").unwrap();
                stream.write_all(&[0, 4]).unwrap();
                stream.write_all(b"abcd").unwrap();
            });
            let (mut stream, _) = listener.accept().unwrap();
            assert_eq!(message(&mut stream, reads_on), b"abcd");
            client.join().unwrap();
        })
        .short_reads(short_reads)
    };
    // Who forgets to read on is lucky, unless reads are short.
    assert_eq!(executions(&program(false, 0)), 1);
    let outcome = violated(&program(false, 1));
    assert!(outcome.to_string().contains("reads.rs"), "{outcome}");
    // Nothing is short; or one of two bytes is read first; or one, two or three of four.
    assert_eq!([0, 1].map(|short| executions(&program(true, short))), [1, 5]);
    // Any two cuts: of the five ways with at most one, those in the second part go on with what is left, and the first goes on with the second.
    assert_eq!(executions(&program(true, 2)), 5 + 3 + 2 + 1);
    // All bytes may come alone.
    assert_eq!(executions(&program(true, 4)), 2 * 8);
}

#[test]
fn reading_all_is_not_concerned_by_short_reads() {
    let program = Program::new(|| {
        let listener = TcpListener::bind("main:7").unwrap();
        let client = thread::spawn(|| {
            let mut stream = TcpStream::connect("main:7").unwrap();
            stream.write_all(b"abcd").unwrap();
            stream.write_all(b"efgh").unwrap();
        });
        let (mut stream, _) = listener.accept().unwrap();
        let mut six = [0; 6];
        stream.read_exact(&mut six).unwrap();
        assert_eq!(&six, b"abcdef");
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "gh");
        client.join().unwrap();
    });
    assert_eq!(executions(&program.short_reads(3)), 1);
}
