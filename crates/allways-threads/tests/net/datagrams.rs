//! Datagrams: sent, received, and lost.

use crate::{executions, violated};
use allways_threads::net::UdpSocket;
use allways_threads::{Program, thread};
use std::io::ErrorKind;
use std::time::Duration;

/// Answers so many requests.
fn answers(requests: usize) {
    let socket = UdpSocket::bind("0.0.0.0:53").unwrap();
    for _ in 0..requests {
        let mut bytes = [0; 16];
        let (len, from) = socket.recv_from(&mut bytes).unwrap();
        bytes[..len].reverse();
        socket.send_to(&bytes[..len], from).unwrap();
    }
}

#[test]
fn a_request_and_its_reply() {
    let program = |address: &'static str| {
        Program::of_processes()
            .server("client", move || {
                let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
                socket.connect(address).unwrap();
                socket.send(b"abc").unwrap();
                let mut bytes = [0; 16];
                let len = socket.recv(&mut bytes).unwrap();
                assert_eq!(&bytes[..len], b"cba");
            })
            .server("server", || answers(1))
    };
    // The server is bound before the request comes, or it vanishes.
    for address in ["server:53", "127.0.0.1:53"] {
        assert_eq!(executions(&program(address)), 2, "{address}");
    }
}

#[test]
fn a_request_that_is_repeated() {
    let program = |tries: usize| {
        Program::of_processes()
            .process("client", move || {
                let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
                for _ in 0..tries {
                    socket.send_to(b"abc", "server:53").unwrap();
                    match socket.recv_from(&mut [0; 16]) {
                        Ok((len, _)) => return assert_eq!(len, 3),
                        Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                    }
                }
            })
            .server("server", || answers(usize::MAX))
    };
    assert!(executions(&program(1)) >= 3);
    assert!(executions(&program(2)) > executions(&program(1)));
}

#[test]
fn those_who_send_at_the_same_time() {
    let program = |senders: usize, datagrams: usize| {
        Program::new(move || {
            let socket = UdpSocket::bind("main:1").unwrap();
            let sender = |n: usize| {
                thread::spawn(move || {
                    let socket = UdpSocket::bind("main:0").unwrap();
                    for m in 0..datagrams {
                        socket.send_to(&[n as u8, m as u8], "main:1").unwrap();
                    }
                })
            };
            let all: Vec<_> = (0..senders).map(sender).collect();
            let mut next = vec![0; senders];
            for _ in 0..senders * datagrams {
                let mut bytes = [0; 2];
                socket.recv(&mut bytes).unwrap();
                assert_eq!(next[usize::from(bytes[0])], bytes[1]);
                next[usize::from(bytes[0])] += 1;
            }
            all.into_iter().for_each(|thread| thread.join().unwrap());
        })
    };
    // As many as there are orders in which they arrive.
    assert_eq!(executions(&program(1, 3)), 1);
    assert_eq!(executions(&program(2, 1)), 2);
    assert_eq!(executions(&program(2, 2)), 6);
    assert_eq!(executions(&program(3, 1)), 6);
}

#[test]
fn datagrams_get_lost() {
    let program = |sent: usize, expected: usize, lost: u32| {
        Program::new(move || {
            let [a, b] = ["main:1", "main:2"].map(|address| UdpSocket::bind(address).unwrap());
            b.set_nonblocking(true).unwrap();
            (0..sent).for_each(|n| assert_eq!(a.send_to(&[n as u8], "main:2").unwrap(), 1));
            let mut received = 0;
            while b.recv(&mut [0]).is_ok() {
                received += 1;
            }
            assert!(received >= expected);
        })
        .lossy_datagrams(lost)
    };
    // None, one of them, two of them.
    assert_eq!([0, 1, 2].map(|lost| executions(&program(4, 2, lost))), [1, 1 + 4, 1 + 4 + 6]);
    violated(&program(4, 3, 2));
}

#[test]
fn what_is_known_to_be_lost_is_not_lost_again() {
    // Who loses the request has lost all that may be lost; who answers knows whether it was.
    let program = Program::new(|| {
        let client = UdpSocket::bind("main:1").unwrap();
        let server = UdpSocket::bind("main:2").unwrap();
        let serves = thread::spawn(move || {
            let mut bytes = [0];
            let (_, from) = server.recv_from(&mut bytes).unwrap();
            server.send_to(&bytes, from).unwrap();
            // Once more, should it be lost.
            server.send_to(&bytes, from).unwrap();
            server
        });
        // Once more, should it be lost.
        client.send_to(&[7], "main:2").unwrap();
        client.send_to(&[7], "main:2").unwrap();
        client.recv(&mut [0]).unwrap();
        serves.join().unwrap();
    });
    // The first request is lost, and all know that who could lose something after it. Or it arrives, and the second one is sent at the same time as the
    // replies: nothing is lost; or one of the three; or it and one of the two replies are to be lost, in either order.
    assert_eq!(executions(&program.lossy_datagrams(1)), 1 + 1 + 3 + 2 * 2);
}

#[test]
fn from_others_than_the_one_it_is_connected_to() {
    let program = Program::new(|| {
        let [a, b, c] = [1, 2, 3].map(|port| UdpSocket::bind(("main", port)).unwrap());
        a.connect("main:2").unwrap();
        assert_eq!(a.peer_addr().unwrap().port(), 2);
        c.send_to(b"c", "main:1").unwrap();
        b.send_to(b"bb", "main:1").unwrap();
        assert_eq!(a.recv(&mut [0; 8]).unwrap(), 2);
        drop(b);
        a.send(b"gone").unwrap();
        // What there is no room for is lost.
        c.send_to(b"cc", "main:3").unwrap();
        assert_eq!(c.recv(&mut [0]).unwrap(), 1);
        let error = UdpSocket::bind("main:3").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        let clone = c.try_clone().unwrap();
        drop(c);
        assert!(UdpSocket::bind("main:3").is_err());
        drop(clone);
        assert!(UdpSocket::bind("main:3").is_ok());
    });
    assert_eq!(executions(&program), 1);
}
