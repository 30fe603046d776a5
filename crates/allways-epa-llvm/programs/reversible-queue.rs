//! Two producers push to one queue under a lock: nothing is lost, but which of them comes first is nowhere said.

use std::sync::Mutex;

fn main() {
    let queue = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let mut producers = Vec::new();
        for first in [100, 200] {
            let queue = &queue;
            producers.push(scope.spawn(move || {
                for at in 0..4 {
                    queue.lock().unwrap().push(first + at);
                }
            }));
        }
        producers.into_iter().for_each(|producer| producer.join().unwrap());
    });
    let queue = queue.lock().unwrap();
    let sum: i32 = queue.iter().sum();
    println!("length: {}, sum: {sum}", queue.len());
}
