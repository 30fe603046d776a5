//! Random programs with threads, and runs of them: threads take turns at random, memory is at random places and is used
//! again by anyone.

use super::sketch::{INT, POINTER, Random, Sketch, WORD};
use allways_epa::format::{Event, Opcode, ValueKind};
use allways_epa::trace::Trace;

/// What a thread does next. Numbers of objects count those that the thread has made.
#[derive(Clone, Debug)]
pub enum Op {
    Allocate(u64),
    Free(usize),
    Reallocate(usize, u64),
    Store(usize, u64, u64),
    StorePointer(usize, usize),
    StoreWord(usize, usize),
    Global(u64, u64),
    Unknown(u64),
    Enter(usize),
    Local(u64),
    Return,
    Lock,
    Create(Vec<Op>, usize),
    Join(usize),
}

/// A program: what the first thread does. Each object is given back once, and not used any more.
pub fn program(random: &mut Random, depth: usize) -> Vec<Op> {
    let mut ops = vec![Op::Allocate(64)];
    // The first is shown to other threads, and is never given back.
    let mut live = vec![0];
    let (mut made, mut calls, mut children, mut joined) = (1, 0, 0, 0);
    for _ in 0..random.below(24) {
        let one = random.below(live.len());
        let other = live[random.below(live.len())];
        let offset = random.next() % 2 * 4;
        match random.below(14) {
            0 | 1 => {
                ops.push(Op::Allocate(8 + random.next() % 3 * 16));
                live.push(made);
                made += 1;
            }
            2 if one > 0 => ops.push(Op::Free(live.swap_remove(one))),
            3 if one > 0 => {
                ops.push(Op::Reallocate(live[one], 16));
                live[one] = made;
                made += 1;
            }
            4 => ops.push(Op::StorePointer(live[one], other)),
            5 => ops.push(Op::StoreWord(live[one], other)),
            6 => ops.push(Op::Global(random.next() % 100, offset)),
            7 => ops.push(Op::Unknown(random.next() % 8 * 8)),
            8 => {
                let frees = if one > 0 && random.below(2) == 0 { Some(live[one]) } else { None };
                ops.push(Op::Enter(live[one]));
                ops.push(Op::Local(8));
                made += 1;
                if frees.is_some() {
                    ops.push(Op::Free(live.swap_remove(one)));
                    ops.push(Op::Lock);
                }
                calls += 1;
            }
            9 if calls > 0 => {
                ops.push(Op::Return);
                calls -= 1;
            }
            10 => ops.push(Op::Lock),
            11 | 12 if depth < 2 => {
                ops.push(Op::Create(program(random, depth + 1), 0));
                children += 1;
            }
            13 if joined < children => {
                ops.push(Op::Join(joined));
                joined += 1;
            }
            _ => ops.push(Op::Store(live[one], random.next() % 1000, offset)),
        }
    }
    ops.extend((joined..children).map(Op::Join));
    ops.extend((0..calls).map(|_| Op::Return));
    ops
}

struct Running {
    number: u64,
    ops: Vec<Op>,
    at: usize,
    objects: Vec<u64>,
    sizes: Vec<u64>,
    /// The stack, its top, and the tops of callers with their arguments.
    stack: u64,
    top: u64,
    frames: Vec<(u64, u64)>,
    /// Numbers and handles.
    children: Vec<(u64, u64)>,
    handle: u64,
    /// The thread that is being created, and its argument.
    creating: Option<(usize, u64)>,
    ended: bool,
}

/// The instructions of a function.
struct Sites {
    enter: u32,
    store: u32,
    store_pointer: u32,
    store_word: u32,
    malloc: u32,
    free: u32,
    realloc: u32,
    create: u32,
    join: u32,
    local: u32,
    leave: u32,
    called: u32,
}

impl Sites {
    fn new(s: &mut Sketch, function: &str) -> Self {
        use Opcode::{Alloca, Call, Enter, Return, Store};
        let mut site = |opcode, name: &str, values: &[ValueKind]| {
            let line = s.trace.program.sites.len() as u32 + 1;
            s.site(opcode, name, function, line, values)
        };
        Sites {
            enter: site(Enter, &format!("call-{function}"), &[POINTER]),
            store: site(Store, "store", &[INT, POINTER]),
            store_pointer: site(Store, "store", &[POINTER, POINTER]),
            store_word: site(Store, "store", &[WORD, POINTER]),
            malloc: site(Call, "call-malloc", &[POINTER, WORD]),
            free: site(Call, "call-free", &[POINTER]),
            realloc: site(Call, "call-realloc", &[POINTER, POINTER, WORD]),
            create: site(Call, "call-pthread_create", &[INT, POINTER]),
            join: site(Call, "call-pthread_join", &[INT, WORD]),
            local: site(Alloca, "alloca", &[POINTER, WORD]),
            leave: site(Return, "return", &[]),
            called: site(Call, "call-helper", &[POINTER]),
        }
    }
}

/// A run of a program.
pub fn run(ops: &[Op], seed: u64) -> Trace {
    let mut random = Random(seed);
    let mut s = Sketch::new();
    let shift = random.next() % 0x1000 * 0x1_0000;
    let global = 0x5555_0000_0000 + shift;
    s.global("shared", 8, global);
    s.global("lock", 40, global + 8);
    let outer = Sites::new(&mut s, "worker");
    let inner = Sites::new(&mut s, "helper");
    let mut heap = Heap { next: 0x5566_0000_0000 + shift, free: Vec::new() };
    let mut stacks = Heap { next: 0x7f12_0000_0000 + shift, free: Vec::new() };
    let unknown = 0x7f77_0000_0000 + shift;
    let start = |number, ops: Vec<Op>| Running {
        number,
        ops,
        at: 0,
        objects: Vec::new(),
        sizes: Vec::new(),
        stack: 0,
        top: 0,
        frames: Vec::new(),
        children: Vec::new(),
        handle: 0,
        creating: None,
        ended: false,
    };
    let mut threads = vec![start(0, ops.to_vec())];
    threads[0].take_stack(&mut stacks, &mut random);
    // Threads that were created and have not begun, with parent, child and argument.
    let mut waiting = vec![(0_usize, None, 0, 0)];
    while !waiting.is_empty() || threads.iter().any(|thread| !thread.ended) {
        let place = random.below(threads.len());
        if let Some(at) = waiting.iter().position(|(thread, ..)| *thread == place) {
            let (_, parent, child, argument) = waiting.swap_remove(at);
            s.begin(threads[place].number, parent, child);
            s.put(threads[place].number, outer.enter, &[argument]);
            continue;
        }
        if threads[place].ended {
            continue;
        }
        let count = threads.len() as u64;
        let number = threads[place].number;
        let sites = if threads[place].frames.is_empty() { &outer } else { &inner };
        // It has no stack yet: its creator goes on first.
        if threads[place].stack == 0 {
            continue;
        }
        if let Some((created, argument)) = threads[place].creating.take() {
            threads[created].take_stack(&mut stacks, &mut random);
            let handle = threads[created].handle;
            s.event(number, |stamp| Event::Handle { stamp, handle });
            s.put(number, sites.create, &[0, argument]);
            let child = threads[place].children.len() as u64;
            threads[place].children.push((created as u64, handle));
            waiting.push((created, Some(number), child, argument));
            continue;
        }
        let Some(op) = threads[place].ops.get(threads[place].at).cloned() else {
            s.end(number);
            threads[place].ended = true;
            continue;
        };
        if let Op::Join(child) = op {
            let (joined, handle) = threads[place].children[child];
            if threads[joined as usize].ended {
                s.join(number, joined);
                s.put(number, sites.join, &[0, handle]);
                threads[place].at += 1;
                stacks.free.push((threads[joined as usize].stack, 0x1_0000));
            }
            continue;
        }
        threads[place].at += 1;
        if let Op::Create(ops, argument) = op {
            // The stamp is taken before the thread has a stack, which may be that of one that is joined in between.
            s.event(number, |stamp| Event::Create { stamp, thread: count });
            let argument = threads[place].objects[argument];
            threads[place].creating = Some((threads.len(), argument));
            threads.push(start(count, ops));
            continue;
        }
        let sites = [&outer, &inner];
        step(&mut s, sites, &mut threads[place], op, &mut heap, &mut random, (global, unknown));
    }
    s.trace
}

fn step(
    s: &mut Sketch,
    [outer, inner]: [&Sites; 2],
    thread: &mut Running,
    op: Op,
    heap: &mut Heap,
    random: &mut Random,
    (global, unknown): (u64, u64),
) {
    let number = thread.number;
    let sites = if thread.frames.is_empty() { outer } else { inner };
    match op {
        Op::Allocate(bytes) => {
            let address = heap.take(bytes, random);
            s.allocate(number, address, bytes);
            s.put(number, sites.malloc, &[address, bytes]);
            thread.objects.push(address);
            thread.sizes.push(bytes);
        }
        Op::Free(object) => {
            let address = thread.objects[object];
            s.free(number, address);
            heap.free.push((address, thread.sizes[object]));
            s.put(number, sites.free, &[address]);
        }
        Op::Reallocate(object, bytes) => {
            let old = thread.objects[object];
            s.free(number, old);
            heap.free.push((old, thread.sizes[object]));
            let new = heap.take(bytes, random);
            s.allocate(number, new, bytes);
            s.put(number, sites.realloc, &[new, old, bytes]);
            thread.objects.push(new);
            thread.sizes.push(bytes);
        }
        Op::Store(object, value, offset) => {
            s.put(number, sites.store, &[value, thread.objects[object] + offset]);
        }
        Op::StorePointer(object, other) => {
            // A pointer to the end is a pointer to the object as well.
            let end = thread.objects[other] + thread.sizes[other];
            s.put(number, sites.store_pointer, &[end, thread.objects[object]]);
        }
        Op::StoreWord(object, other) => {
            let word = thread.objects[other];
            s.put(number, sites.store_word, &[word, thread.objects[object]]);
        }
        Op::Global(value, offset) => s.put(number, sites.store, &[value, global + offset]),
        Op::Unknown(offset) => s.put(number, sites.store, &[1, unknown + offset]),
        Op::Enter(argument) => {
            let argument = thread.objects[argument];
            thread.frames.push((thread.top, argument));
            s.put(number, inner.enter, &[argument]);
        }
        Op::Local(bytes) => {
            thread.top -= bytes;
            s.put(number, sites.local, &[thread.top, bytes]);
            thread.objects.push(thread.top);
            thread.sizes.push(bytes);
        }
        Op::Return => {
            let (top, argument) = thread.frames.pop().unwrap();
            thread.top = top;
            s.put(number, inner.leave, &[]);
            let sites = if thread.frames.is_empty() { outer } else { inner };
            s.put(number, sites.called, &[argument]);
        }
        Op::Lock => {
            s.event(number, |stamp| Event::Lock { stamp, address: global + 8 });
            s.event(number, |stamp| Event::Unlock { stamp, address: global + 8 });
        }
        Op::Create(..) | Op::Join(_) => unreachable!(),
    }
}

impl Running {
    fn take_stack(&mut self, stacks: &mut Heap, random: &mut Random) {
        self.stack = stacks.take(0x1_0000, random);
        self.top = self.stack + 0x8000;
        self.handle = self.stack + 0x9000;
    }
}

/// Addresses that are used again, by anyone.
struct Heap {
    next: u64,
    free: Vec<(u64, u64)>,
}

impl Heap {
    fn take(&mut self, bytes: u64, random: &mut Random) -> u64 {
        let fits = self.free.iter().position(|(_, room)| *room >= bytes);
        if let Some(place) = fits
            && random.below(4) > 0
        {
            return self.free.swap_remove(place).0;
        }
        // Memory is never without a gap in between, as each piece has a header.
        let address = self.next;
        self.next += bytes + 16 + random.next() % 2 * 16;
        address
    }
}
