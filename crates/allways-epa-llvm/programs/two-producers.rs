//! Two producers send over one channel: nothing is lost, but which of them comes first is nowhere said.

use std::sync::mpsc::channel;

fn main() {
    let (sender, receiver) = channel();
    let other = sender.clone();
    let first = std::thread::spawn(move || {
        sender.send(1).unwrap();
    });
    let second = std::thread::spawn(move || {
        other.send(2).unwrap();
    });
    let received: Vec<i32> = receiver.iter().collect();
    first.join().unwrap();
    second.join().unwrap();
    println!("sum: {}", received.iter().sum::<i32>());
}
