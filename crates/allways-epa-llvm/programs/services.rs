//! A thread that answers requests, each over a channel that comes with it, and threads of a scope that create others in the same
//! scope. Who is first is always known. Arguments: how many requests, how many threads.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

struct Request {
    name: String,
    answer: Sender<usize>,
}

fn answered(count: usize) -> Vec<usize> {
    let (ask, asked) = channel::<Request>();
    let server = thread::spawn(move || {
        let mut bytes = 0;
        for Request { name, answer } in asked {
            bytes += name.len();
            answer.send(bytes).unwrap();
        }
        bytes
    });
    let mut answers = Vec::new();
    for number in 0..count {
        let (answer, answered) = channel();
        ask.send(Request { name: format!("request {number}"), answer }).unwrap();
        answers.push(answered.recv().unwrap());
    }
    drop(ask);
    answers.push(server.join().unwrap());
    answers
}

fn filled(threads: usize) -> Vec<u64> {
    let slots: Arc<Vec<Mutex<u64>>> = Arc::new((0..2 * threads).map(|_| Mutex::new(0)).collect());
    thread::scope(|scope| {
        for thread in 0..threads {
            let slots = Arc::clone(&slots);
            scope.spawn(move || {
                *slots[thread].lock().unwrap() += 1;
                scope.spawn(move || *slots[threads + thread].lock().unwrap() += 2);
            });
        }
    });
    slots.iter().map(|slot| *slot.lock().unwrap()).collect()
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().unwrap_or(1));
    let count = arguments.next().unwrap_or(6);
    let threads = arguments.next().unwrap_or(3);
    println!("answers: {:?}, slots: {:?}", answered(count), filled(threads));
}
