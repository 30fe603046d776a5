//! The same body against `std` and against this crate, outside of a check and inside of one.

/// What a program of sockets sees.
macro_rules! body {
    ($name:ident, $net:path, $thread:path) => {
        mod $name {
            use net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
            use std::io::{BufRead, BufReader, Read, Write};
            use std::time::Duration;
            use $net as net;
            use $thread as thread;

            fn handle(stream: TcpStream) {
                let mut reader = BufReader::new(&stream);
                let mut line = String::new();
                while reader.read_line(&mut line).unwrap() > 0 {
                    (&stream).write_all(line.to_uppercase().as_bytes()).unwrap();
                    line.clear();
                }
                stream.shutdown(Shutdown::Write).unwrap();
            }

            fn streams(seen: &mut Vec<String>) {
                let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
                let address = listener.local_addr().unwrap();
                let server = thread::spawn(move || {
                    let all = listener.incoming().take(2).map(Result::unwrap);
                    let all: Vec<_> = all.map(|it| thread::spawn(|| handle(it))).collect();
                    all.into_iter().for_each(|it| it.join().unwrap());
                });
                for name in ["first", "second"] {
                    let mut stream = TcpStream::connect(address.to_string()).unwrap();
                    stream.set_nodelay(true).unwrap();
                    seen.push(format!("{:?}", stream.peer_addr().unwrap() == address));
                    seen.push(format!("{}", stream.nodelay().unwrap()));
                    let mut writer = stream.try_clone().unwrap();
                    let name = name.to_owned();
                    let writes = thread::spawn(move || {
                        writer.write_all(format!("{name}\nline\n").as_bytes()).unwrap();
                        writer.shutdown(Shutdown::Write).unwrap();
                    });
                    let mut text = String::new();
                    stream.read_to_string(&mut text).unwrap();
                    seen.push(text);
                    writes.join().unwrap();
                }
                server.join().unwrap();
                seen.push(format!("{:?}", TcpStream::connect(address).map_err(|e| e.kind()).err()));
            }

            fn timeouts(seen: &mut Vec<String>) {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let address = listener.local_addr().unwrap();
                seen.push(format!("{:?}", TcpListener::bind(address).map_err(|e| e.kind()).err()));
                let client = TcpStream::connect(&[address][..]).unwrap();
                let (mut stream, peer) = listener.accept().unwrap();
                seen.push(format!("{}", peer == client.local_addr().unwrap()));
                let error = stream.set_read_timeout(Some(Duration::ZERO)).unwrap_err();
                seen.push(format!("{:?}", error.kind()));
                stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
                seen.push(format!("{:?}", stream.read_timeout()));
                seen.push(format!("{:?}", stream.read(&mut [0]).map_err(|e| e.kind())));
                stream.set_nonblocking(true).unwrap();
                seen.push(format!("{:?}", stream.read(&mut [0]).map_err(|e| e.kind())));
                stream.set_nonblocking(false).unwrap();
                stream.set_read_timeout(None).unwrap();
                (&client).write_all(b"abc").unwrap();
                seen.push(format!("{:?}", stream.peek(&mut [0; 2]).unwrap()));
                let mut bytes = [0; 2];
                stream.read_exact(&mut bytes).unwrap();
                seen.push(format!("{bytes:?} {:?}", stream.read(&mut [0; 8]).unwrap()));
                client.shutdown(Shutdown::Both).unwrap();
                seen.push(format!("{:?}", (&client).write(b"x").map_err(|e| e.kind())));
                seen.push(format!("{:?}", (&client).read(&mut [0]).map_err(|e| e.kind())));
                seen.push(format!("{:?}", stream.read(&mut [0]).map_err(|e| e.kind())));
                let error = stream.read_exact(&mut [0]).unwrap_err();
                seen.push(format!("{:?} {error}", error.kind()));
                drop(client);
                seen.push(format!("{:?}", stream.take_error().unwrap().is_none()));
            }

            fn datagrams(seen: &mut Vec<String>) {
                let server = UdpSocket::bind("127.0.0.1:0").unwrap();
                let address = server.local_addr().unwrap();
                let serves = thread::spawn(move || {
                    for _ in 0..2 {
                        let mut bytes = [0; 4];
                        let (len, from) = server.recv_from(&mut bytes).unwrap();
                        server.send_to(&bytes[..len], from).unwrap();
                    }
                });
                let client = UdpSocket::bind("127.0.0.1:0").unwrap();
                seen.push(format!("{:?}", client.peer_addr().map_err(|e| e.kind())));
                client.connect(address).unwrap();
                for request in [&b"ab"[..], b"abcdefg"] {
                    client.send(request).unwrap();
                    let mut bytes = [0; 16];
                    let len = client.recv(&mut bytes).unwrap();
                    seen.push(format!("{:?}", &bytes[..len]));
                }
                serves.join().unwrap();
                client.set_nonblocking(true).unwrap();
                seen.push(format!("{:?}", client.recv(&mut [0]).map_err(|e| e.kind())));
            }

            fn addresses(seen: &mut Vec<String>) {
                for text in ["127.0.0.1:80", "[::1]:80", "127.0.0.1", "127.0.0.1:x"] {
                    let first = text.to_socket_addrs().map_err(|e| e.kind());
                    seen.push(format!("{:?}", first.map(|mut all| all.next())));
                }
            }

            pub fn seen() -> Vec<String> {
                let mut seen = Vec::new();
                streams(&mut seen);
                timeouts(&mut seen);
                datagrams(&mut seen);
                addresses(&mut seen);
                seen
            }
        }
    };
}

body!(of_std, std::net, std::thread);
body!(of_this_crate, allways_threads::net, allways_threads::thread);

#[test]
fn outside_of_a_check_nothing_is_different() {
    assert_eq!(of_std::seen(), of_this_crate::seen());
}

#[test]
fn nor_is_it_inside() {
    let expected = of_std::seen();
    let program = allways_threads::Program::new(move || {
        assert_eq!(expected, of_this_crate::seen());
    });
    assert_eq!(crate::executions(&program), 1);
}

#[test]
fn what_threads_may_do_with_sockets() {
    use allways_threads::net::{Incoming, TcpListener, TcpStream, UdpSocket};
    use std::panic::{RefUnwindSafe, UnwindSafe};
    fn as_in_std<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + std::fmt::Debug>() {}
    as_in_std::<TcpListener>();
    as_in_std::<TcpStream>();
    as_in_std::<UdpSocket>();
    as_in_std::<Incoming<'static>>();
}
