//! K-means with threads that each find the nearest centres of points of their own, and return how many have changed.
//! Arguments: how many threads, how many points.

const CENTRES: usize = 3;

fn distance(a: [i32; 2], b: [i32; 2]) -> i64 {
    let x = i64::from(a[0] - b[0]);
    let y = i64::from(a[1] - b[1]);
    x * x + y * y
}

fn assign(points: &[[i32; 2]], nearest: &mut [usize], centres: &[[i32; 2]; CENTRES]) -> usize {
    let mut changed = 0;
    for (point, nearest) in points.iter().zip(nearest) {
        let mut best = 0;
        for centre in 1..CENTRES {
            if distance(*point, centres[centre]) < distance(*point, centres[best]) {
                best = centre;
            }
        }
        if *nearest != best {
            *nearest = best;
            changed += 1;
        }
    }
    changed
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().unwrap_or(1));
    let threads: usize = arguments.next().unwrap_or(4).max(1);
    let count: usize = arguments.next().unwrap_or(30).max(CENTRES);
    let mut seed = 99_u32;
    let mut points = Vec::new();
    for _ in 0..count {
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((seed >> 16) % 1000) as i32
        };
        points.push([next(), next()]);
    }
    let mut centres = [points[0], points[1], points[2]];
    let mut nearest = vec![CENTRES; count];
    let each = count.div_ceil(threads);
    let mut rounds = 0;
    loop {
        rounds += 1;
        let mut changed = 0;
        std::thread::scope(|scope| {
            let mut workers = Vec::new();
            for (points, nearest) in points.chunks(each).zip(nearest.chunks_mut(each)) {
                workers.push(scope.spawn(|| assign(points, nearest, &centres)));
            }
            for worker in workers {
                changed += worker.join().unwrap();
            }
        });
        for centre in 0..CENTRES {
            let (mut members, mut x, mut y) = (0, 0, 0);
            for (point, nearest) in points.iter().zip(&nearest) {
                if *nearest == centre {
                    members += 1;
                    x += point[0];
                    y += point[1];
                }
            }
            if members > 0 {
                centres[centre] = [x / members, y / members];
            }
        }
        if changed == 0 || rounds == 8 {
            break;
        }
    }
    println!("rounds: {rounds}, centres: {centres:?}");
}
