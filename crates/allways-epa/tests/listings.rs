//! The example of the thesis: listings 4 to 7.

mod sketch;

use allways_epa::compare::compare;
use allways_epa::format::Opcode;
use sketch::{INT, POINTER, Sketch, WORD};

/// Where things are in one of the two runs of listing 5.
struct Layout {
    argv: u64,
    id1: u64,
    id2: u64,
    handles: [u64; 2],
    stacks: [[u64; 2]; 2],
}

const FIRST: Layout = Layout {
    argv: 0x7ffc_fe32_87e8,
    id1: 0x7ffc_fe32_82e8,
    id2: 0x7ffc_fe32_82e0,
    handles: [0x7f0c_cbc5_6700, 0x7f0c_cb45_5700],
    stacks: [[0x7f0c_cbc5_5d58, 0x7f0c_cbc5_5d50], [0x7f0c_cb45_4d58, 0x7f0c_cb45_4d50]],
};

const SECOND: Layout = Layout {
    argv: 0x7ffd_a8e0_e598,
    id1: 0x7ffd_a8e0_e098,
    id2: 0x7ffd_a8e0_e090,
    handles: [0x7fd5_571d_9700, 0x7fd5_569d_8700],
    stacks: [[0x7fd5_571d_8d58, 0x7fd5_571d_8d50], [0x7fd5_569d_7d58, 0x7fd5_569d_7d50]],
};

const ARR: u64 = 0x60_3d74;

/// A run of listing 4. The workers take turns, or one comes after the other.
fn run(layout: &Layout, take_turns: bool) -> Sketch {
    use Opcode::{Alloca, Call, Enter, Load, Store};
    let mut s = Sketch::new();
    s.global("arr", 8, ARR);
    s.global("inc", 0, 0x40_0ae0);
    s.global("dec", 0, 0x40_12c0);
    let main = s.site(Enter, "call-main", "main", 14, &[INT, POINTER]);
    let alloca = s.site(Alloca, "alloca", "main", 16, &[POINTER, WORD]);
    let store = s.site(Store, "store", "main", 17, &[INT, POINTER]);
    let create = [POINTER, POINTER, POINTER, POINTER];
    let create = s.site(Call, "call-pthread_create", "main", 20, &[&[INT], &create[..]].concat());
    let load = s.site(Load, "load", "main", 22, &[WORD, POINTER]);
    let join = s.site(Call, "call-pthread_join", "main", 22, &[INT, WORD, POINTER]);
    let workers = [("inc", 4), ("dec", 9)].map(|(name, line)| {
        [
            s.site(Enter, &format!("call-{name}"), name, line, &[POINTER]),
            s.site(Alloca, "alloca", name, line, &[POINTER, WORD]),
            s.site(Store, "store", name, line, &[POINTER, POINTER]),
            s.site(Load, "load", name, line + 2, &[INT, POINTER]),
            s.site(Store, "store", name, line + 2, &[INT, POINTER]),
        ]
    });
    s.begin(0, None, 0);
    s.put(0, main, &[1, layout.argv]);
    s.put(0, alloca, &[layout.id1, 8]);
    s.put(0, alloca, &[layout.id2, 8]);
    s.put(0, store, &[3, ARR]);
    s.put(0, store, &[6, ARR + 4]);
    s.create(0, 1, layout.handles[0]);
    s.put(0, create, &[0, layout.id1, 0, 0x40_0ae0, 0]);
    s.create(0, 2, layout.handles[1]);
    s.put(0, create, &[0, layout.id2, 0, 0x40_12c0, 0]);
    s.put(0, load, &[layout.handles[0], layout.id1]);
    let work = |s: &mut Sketch, which: usize| {
        let [enter, alloca, pointer, load, store] = workers[which];
        let thread = which as u64 + 1;
        let [before, after] = [[3, 4], [6, 5]][which];
        let stack = layout.stacks[which];
        s.put(thread, enter, &[0]);
        s.put(thread, alloca, &[stack[0], 8]);
        s.put(thread, alloca, &[stack[1], 8]);
        s.put(thread, pointer, &[0, stack[1]]);
        s.put(thread, load, &[before, ARR + 4 * which as u64]);
        s.put(thread, store, &[after, ARR + 4 * which as u64]);
    };
    if take_turns {
        s.begin(2, Some(0), 1);
        s.begin(1, Some(0), 0);
        work(&mut s, 0);
        work(&mut s, 1);
        s.end(1);
        s.end(2);
    } else {
        for which in [0, 1] {
            s.begin(which as u64 + 1, Some(0), which as u64);
            work(&mut s, which);
            s.end(which as u64 + 1);
        }
    }
    for which in [0, 1] {
        s.join(0, which as u64 + 1);
        s.put(0, join, &[0, layout.handles[which], 0]);
        if which == 0 {
            s.put(0, load, &[layout.handles[1], layout.id2]);
        }
    }
    s
}

#[test]
fn two_runs_are_the_same_when_they_are_sanitised() {
    let (first, second) = (run(&FIRST, true), run(&SECOND, false));
    assert_ne!(first.trace, second.trace);
    let comparison = compare(&first.sanitised(), &second.sanitised());
    assert!(comparison.is_same, "{:?}", comparison.first);
    assert!(comparison.spread.nodes.is_empty());
}

#[test]
fn the_text_is_that_of_listing_5() {
    let mut bytes = Vec::new();
    run(&FIRST, false).trace.write_text(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let expected = "\
0 0 begin
1 0 call-main 1 7ffcfe3287e8  # main.c:14
2 0 alloca 7ffcfe3282e8 8  # main.c:16
3 0 alloca 7ffcfe3282e0 8  # main.c:16
4 0 store 3 603d74  # main.c:17
5 0 store 6 603d78  # main.c:17
6 0 create 1
7 0 handle 7f0ccbc56700
8 0 call-pthread_create 0 7ffcfe3282e8 0 400ae0 0  # main.c:20
";
    assert_eq!(&text[..expected.len()], expected);
}

#[test]
fn the_sanitised_text_is_that_of_listings_6b_and_7() {
    let mut bytes = Vec::new();
    run(&FIRST, false).sanitised().write_text(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let expected = "\
0 T_0 begin
1 T_0 call-main 1 T_0.u0  # main.c:14
2 T_0 alloca T_0.o0 8  # main.c:16
3 T_0 alloca T_0.o1 8  # main.c:16
4 T_0 store 3 arr  # main.c:17
5 T_0 store 6 arr+4  # main.c:17
6 T_0 create T_0_0
7 T_0 handle
8 T_0 call-pthread_create 0 T_0.o0 0 inc 0  # main.c:20
9 T_0 create T_0_1
10 T_0 handle
11 T_0 call-pthread_create 0 T_0.o1 0 dec 0  # main.c:20
12 T_0 load T_0_0 T_0.o0  # main.c:22
13 T_0_0 begin
14 T_0_0 call-inc 0  # main.c:4
15 T_0_0 alloca T_0_0.o0 8  # main.c:4
16 T_0_0 alloca T_0_0.o1 8  # main.c:4
17 T_0_0 store 0 T_0_0.o1  # main.c:4
18 T_0_0 load 3 arr  # main.c:6
19 T_0_0 store 4 arr  # main.c:6
20 T_0_0 end
21 T_0_1 begin
22 T_0_1 call-dec 0  # main.c:9
23 T_0_1 alloca T_0_1.o0 8  # main.c:9
24 T_0_1 alloca T_0_1.o1 8  # main.c:9
25 T_0_1 store 0 T_0_1.o1  # main.c:9
26 T_0_1 load 6 arr+4  # main.c:11
27 T_0_1 store 5 arr+4  # main.c:11
28 T_0_1 end
29 T_0 join T_0_0
30 T_0 call-pthread_join 0 T_0_0 0  # main.c:22
31 T_0 load T_0_1 T_0.o1  # main.c:22
32 T_0 join T_0_1
33 T_0 call-pthread_join 0 T_0_1 0  # main.c:22

arr := {ba=603d74, t=_, l_idx=0, s=8, v=[0,33]}
inc := {ba=400ae0, t=_, l_idx=1, s=0, v=[0,33]}
dec := {ba=4012c0, t=_, l_idx=2, s=0, v=[0,33]}
T_0.u0 := {ba=7ffcfe3287e8, t=T_0, l_idx=0, s=8, v=[1,33]}
T_0.o0 := {ba=7ffcfe3282e8, t=T_0, l_idx=0, s=8, v=[2,33]}
T_0.o1 := {ba=7ffcfe3282e0, t=T_0, l_idx=1, s=8, v=[3,33]}
T_0_0.o0 := {ba=7f0ccbc55d58, t=T_0_0, l_idx=0, s=8, v=[15,20]}
T_0_0.o1 := {ba=7f0ccbc55d50, t=T_0_0, l_idx=1, s=8, v=[16,20]}
T_0_1.o0 := {ba=7f0ccb454d58, t=T_0_1, l_idx=0, s=8, v=[23,28]}
T_0_1.o1 := {ba=7f0ccb454d50, t=T_0_1, l_idx=1, s=8, v=[24,28]}

M(0) := T_0
M(1) := T_0_0
M(2) := T_0_1
";
    assert_eq!(text, expected);
}

#[test]
fn a_wrong_value_is_found_where_it_is() {
    let golden = run(&FIRST, true).sanitised();
    let mut faulty = run(&SECOND, false);
    // The store of thread 1 is the last record before its end: a 4, and the address.
    let stream = faulty.stream(1);
    let place = stream.windows(4).rposition(|bytes| bytes == [4, 0xf4, 0xfa, 0x80]).unwrap();
    stream[place] = 5;
    let comparison = compare(&golden, &faulty.sanitised());
    assert!(!comparison.is_same);
    let first = comparison.first.unwrap();
    assert_eq!(
        first.to_string(),
        "T_0_0 has `store 5 arr  # main.c:6` in place of `store 4 arr  # main.c:6` (record 19)"
    );
    let labels = comparison.spread.nodes.iter().map(|node| node.label.as_str());
    assert_eq!(labels.collect::<Vec<_>>(), ["T_0_0", "store main.c:6 (inc)", "arr"]);
    assert_eq!(comparison.spread.edges.len(), 2);
    assert!(comparison.spread.to_dot().contains("n1 -> n2 [style=solid, label=\"1\"];"));
}
