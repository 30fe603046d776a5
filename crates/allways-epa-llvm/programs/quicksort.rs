//! Parallel quicksort: of two parts, one is sorted by a new thread and the other by this one, as long as levels are left.
//! Arguments: how many levels of threads, how many numbers.

fn partition(numbers: &mut [u32]) -> usize {
    let last = numbers.len() - 1;
    numbers.swap(last / 2, last);
    let pivot = numbers[last];
    let mut smaller = 0;
    for at in 0..last {
        if numbers[at] < pivot {
            numbers.swap(at, smaller);
            smaller += 1;
        }
    }
    numbers.swap(smaller, last);
    smaller
}

fn sort(numbers: &mut [u32], levels: u32) {
    if numbers.len() < 2 {
        return;
    }
    let middle = partition(numbers);
    let (left, right) = numbers.split_at_mut(middle);
    let right = &mut right[1..];
    if levels > 0 {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| sort(left, levels - 1));
            sort(right, levels - 1);
            other.join().unwrap();
        });
    } else {
        sort(left, 0);
        sort(right, 0);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().unwrap_or(1));
    let levels = arguments.next().unwrap_or(3);
    let count = arguments.next().unwrap_or(50);
    let mut seed = 12345_u32;
    let mut numbers = Vec::new();
    for _ in 0..count {
        seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12345);
        numbers.push((seed >> 16) % 10000);
    }
    sort(&mut numbers, levels);
    let sorted = numbers.is_sorted();
    let mut sum = 0_u64;
    for (at, number) in numbers.iter().enumerate() {
        sum += u64::from(*number) * (at as u64 + 1);
    }
    println!("sorted: {sorted}, sum: {sum}");
}
