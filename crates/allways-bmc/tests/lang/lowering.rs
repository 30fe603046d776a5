//! What programs become.

use super::dump;
use allways_bmc::lang::compile;
use allways_bmc::program::Program;

pub fn compiled(source: &str) -> Program {
    compile("test", source, &[]).unwrap_or_else(|errors| {
        let text: String =
            errors.iter().map(|error| error.render("test.pbmc", source, false)).collect();
        panic!("{text}")
    })
}

/// Compares texts line by line, whatever the indentation.
#[track_caller]
fn same(found: &str, expected: &str) {
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    };
    assert_eq!(lines(found), lines(expected), "\nfound:\n{found}");
}

#[test]
fn variables_have_kinds_and_initial_values() {
    let program = compiled(
        "const N = 2 + 1; // three
         shared uint<4> x = 0, y;
         shared bool flag[N];
         shared int<8> B[4] = {10, -11, 0xc, 0b1_1};
         shared uint<3> start = *; shared int C[2] = *; shared bool D[3] = {true, *, N == 3};
         mutex m, forks[N];
         init { x = N; B[N - 1] = 7; y = *; }
         process Main { uint<4> t = 2; skip; if (*) { bool b[2]; b[0] = true; } }
         process P[i in 0..N] { uint<i + 1> t = i; skip; }",
    );
    same(
        &dump::variables(&program),
        "Data uint<4> x = 3
         Data uint<4> y = *
         Data bool flag[3] = 0 0 0
         Data int<8> B[4] = 10 -11 7 3
         Data uint<3> start = *
         Data int<32> C[2] = * *
         Data bool D[3] = 1 * 1
         Lock uint<3> m = 0
         Lock uint<3> forks[3] = 0 0 0
         Data uint<4> Main.t = 2
         Data bool Main.b[2] = 0 0
         Data uint<1> P[0].t = 0
         Data uint<2> P[1].t = 1
         Data uint<3> P[2].t = 2",
    );
}

#[test]
fn statements_are_instructions() {
    let program = compiled(
        "shared uint<4> x; shared bool f[2]; mutex m, k[2];
         process A { skip; }
         process P[i in 1..2] {
            uint<4> t;
            x = t /* now */ +
                1;
            f[i] = true; x = *; await x == 0 && f[0]; assert t > 2;
            lock m; unlock m; lock k[i]; atomic {}
         }",
    );
    same(
        &dump::code(&program),
        "A
           0 `skip`; -> 1
         P[1]
           0 `x = t + 1`; x = (P[1].t + 1); -> 1
           1 `f[i] = true`; f[1] = true; -> 2
           2 `x = *`; any uint<4>; x = $0; -> 3
           3 `await x == 0 && f[0]`; when ((x == 0) && f[0]); -> 4
           4 `assert t > 2`; assertion !(2 < P[1].t); -> 5
           5 `lock m`; when (m == 0); m = 2; -> 6
           6 `unlock m`; m = 0; unlocking !(m == 2); -> 7
           7 `lock k[i]`; when (k[1] == 0); k[1] = 2; -> 8
           8 `atomic {}`; -> 9",
    );
}

#[test]
fn branches_and_loops_need_no_jumps() {
    let program = compiled(
        "shared uint<2> x;
         process P {
            while (true) {
                if (x == 0) { x = 1; } else if (x == 1) { } else { while (*) { } }
                either { x = 2; } or { } or { x = 3; skip; }
            }
         }
         process Q { if ((x == 3)) { } while (x < 2) { x = x + 1; } }
         process E { }",
    );
    same(
        &dump::code(&program),
        "P
           0 `if x == 0`; -> 1 if (x == 0), 2
           1 `x = 1`; x = 1; -> 4
           2 `if x == 1`; -> 4 if (x == 1), 3
           3 `while *`; any bool; -> 3 if $0, 4
           4 `either`; any uint<2>; when ($0 < 3); -> 5 if ($0 == 0), 0 if ($0 == 1), 6
           5 `x = 2`; x = 2; -> 0
           6 `x = 3`; x = 3; -> 7
           7 `skip`; -> 0
         Q
           0 `if x == 3`; -> 1 if (x == 3), 1
           1 `while x < 2`; -> 2 if (x < 2), 3
           2 `x = x + 1`; x = (x + 1); -> 1
         E",
    );
}

#[test]
fn indices_are_checked_unless_they_cannot_be_outside() {
    let program = compiled(
        "shared uint<4> x; shared int<4> s; shared uint<2> two; shared bool b[4], c[3];
         process P {
            b[x] = true; b[two] = true; b[x % 4] = true; b[x & 3] = b[x >> 2];
            c[two] = b[s];
            c[two] = c[two];
            if (x < 4 && b[x] || s < 0) { }
            assert x > 4 || b[x] ? c[two] : b[0];
            await forall k in 0..3: k + 1 >= 3 || c[k + 1];
         }
         always p: b[x];",
    );
    same(
        &dump::code(&program),
        "P
           0 `b[x] = true`; b[x] = true; index !(x < 4); -> 1
           1 `b[two] = true`; b[two] = true; -> 2
           2 `b[x % 4] = true`; b[(x % 4)] = true; -> 3
           3 `b[x & 3] = b[x >> 2]`; b[(x & 3)] = b[(x >> 2)]; -> 4
           4 `c[two] = b[s]`; c[two] = b[s]; index !(two < 3); index !(!(s < 0) && (s < 4)); -> 5
           5 `c[two] = c[two]`; c[two] = c[two]; index !(two < 3); -> 6
           6 `if x < 4 && b[x] || s < 0`; -> 7 if (((x < 4) && b[x]) || (s < 0)), 7
           7 `assert x > 4 || b[x] ? c[two] : b[0]`; index (!(4 < x) && !(x < 4)); index (((4 < x) || b[x]) && !(two < 3)); assertion !(((4 < x) || b[x]) ? c[two] : b[0]); -> 8
           8 `await forall k in 0..3: k + 1 >= 3 || c[k + 1]`; when (c[1] && c[2]); -> 9",
    );
    same(&dump::properties(&program), "Always p: b[x]");
}

#[test]
fn what_a_replica_never_does_may_be_wrong() {
    let program = compiled(
        "const N = 2; shared bool f[N]; shared uint<1> x;
         process P[i in 0..N] {
            if (i + 1 < N) { f[i + 1] = true; x = i + 1; } else { x = i - 1; }
            x = i > 0 ? i - 1 : x;
            await i == 0 || f[i - 1];
         }
         always p: forall i in 0..N: i == 0 || !P[i - 1]@end;",
    );
    same(
        &dump::code(&program),
        "P[0]
           0 `if i + 1 < N`; -> 1, 3
           1 `f[i + 1] = true`; f[1] = true; -> 2
           2 `x = i + 1`; x = 1; -> 4
           3 `x = i - 1`; x = 1; -> 4
           4 `x = i > 0 ? i - 1 : x`; x = x; -> 5
           5 `await i == 0 || f[i - 1]`; -> 6
         P[1]
           0 `if i + 1 < N`; -> 1 if false, 3
           1 `f[i + 1] = true`; -> 2
           2 `x = i + 1`; x = 0; -> 4
           3 `x = i - 1`; x = 0; -> 4
           4 `x = i > 0 ? i - 1 : x`; x = 0; -> 5
           5 `await i == 0 || f[i - 1]`; when f[0]; -> 6",
    );
    same(&dump::properties(&program), "Always p: !P[0]@6");
}

#[test]
fn atomic_blocks_are_one_instruction() {
    let program = compiled(
        "shared uint<4> x, y; shared uint<2> i, j; shared uint<4> a[4]; mutex m;
         process P {
            atomic { x = x + 1; y = x; }
            atomic { if (x == 0) { y = 1; } }
            atomic { if (x == 0) { y = 1; } else { y = 2; } x = y; }
            atomic { a[i] = 3; x = a[j]; a[i] = 4; }
            atomic { lock m; if (*) { await y > 0; x = 0; assert x == 1; } unlock m; }
            atomic { either { x = 1; } or { x = 2; a[0] = 1; } or { } }
            atomic { atomic { x = *; } { y = x; } }
         }",
    );
    same(
        &dump::code(&program),
        "P
           0 `atomic { x = x + 1; y = x; }`; x = (x + 1); y = (x + 1); -> 1
           1 `atomic { if (x == 0) { y = 1; } }`; y = 1 if (x == 0); -> 2
           2 `atomic { if (x == 0) { y = 1; } else { y = 2; } x = y; }`; x = ((x == 0) ? 1 : 2); y = ((x == 0) ? 1 : 2); -> 3
           3 `atomic { a[i] = 3; x = a[j]; a[i] = 4; }`; x = ((j == i) ? 3 : a[j]); a[i] = 4; -> 4
           4 `atomic { lock m; if (*) { await y > 0; x = 0; assert x == 1; } unlock m; }`; any bool; when ((m == 0) && (!$0 || (0 < y))); x = 0 if $0; m = 0; assertion $0; -> 5
           5 `atomic { either { x = 1; } or { x = 2; a[0] = 1; } or { } }`; any uint<2>; when ($0 < 3); x = (($0 == 0) ? 1 : 2) if (($0 == 0) || ($0 == 1)); a[0] = 1 if (!($0 == 0) && ($0 == 1)); -> 6
           6 `atomic { atomic { x = *; } { y = x; } }`; any uint<4>; x = $0; y = $0; -> 7",
    );
}

#[test]
fn properties_see_processes() {
    let program = compiled(
        "const N = 2; shared bool flag[N];
         process Main { done: skip; }
         process P[i in 0..N] { uint<4> t; skip; critical: flag[i] = true; }
         always mutual_exclusion: !(flag[0] && flag[1]);
         never both: P[0]@critical && P[1]@critical;
         reachable done: P[0].t == 4 && Main@end && !Main@done;
         always everyone: forall k in 0..N: flag[k] || exists j in 0..N: P[j].t >= k;",
    );
    same(
        &dump::properties(&program),
        "Always mutual_exclusion: !(flag[0] && flag[1])
         Never both: (P[0]@1 && P[1]@1)
         Reachable done: (((P[0].t == 4) && Main@1) && !Main@0)
         Always everyone: ((flag[0] || (!(P[0].t < 0) || !(P[1].t < 0))) && (flag[1] || (!(P[0].t < 1) || !(P[1].t < 1))))",
    );
}

#[test]
fn operators_bind_as_in_rust() {
    let program = compiled(
        "shared uint<8> a, b, c; shared bool p, q, r; shared int<4> s;
         process P {
            a = a + b * c - 1;
            a = a | b ^ c & 3 << b + 1;
            p = p || q && !r;
            p = (a & 1 == 0) == false ? q : r;
            a = ~0 - (s as uint<8>) + (p as uint<8>);
            p = s as bool; a = (p ? 1 : 2) << c; s = -s / 2 % -3;
            p = (p ? 1 : 2) == a; p = 1 << 2 > 3;
         }",
    );
    same(
        &dump::code(&program),
        "P
           0 `a = a + b * c - 1`; a = ((a + (b * c)) - 1); -> 1
           1 `a = a | b ^ c & 3 << b + 1`; a = (a | (b ^ (c & (3 << (b + 1))))); -> 2
           2 `p = p || q && !r`; p = (p || (q && !r)); -> 3
           3 `p = (a & 1 == 0) == false ? q : r`; p = ((((a & 1) == 0) == false) ? q : r); -> 4
           4 `a = ~0 - (s as uint<8>) + (p as uint<8>)`; a = ((255 - uint<8>(s)) + uint<8>(p)); -> 5
           5 `p = s as bool`; p = bool(s); -> 6
           6 `a = (p ? 1 : 2) << c`; a = ((p ? 1 : 2) << c); -> 7
           7 `s = -s / 2 % -3`; s = ((-s / 2) % -3); -> 8
           8 `p = (p ? 1 : 2) == a`; p = ((p ? 1 : 2) == a); -> 9
           9 `p = 1 << 2 > 3`; p = true; -> 10",
    );
}

#[test]
fn constants_can_be_overridden() {
    let source = "const N = 2; const M = N * 2; shared bool f[M]; process P { skip; }";
    let program = compile("test", source, &[("N".to_owned(), 5)]).expect("it is right");
    assert_eq!(program.variables[0].length, Some(10));
    let errors = compile("test", source, &[("K".to_owned(), 5)]).expect_err("there is no K");
    assert_eq!((errors[0].message.as_str(), &errors[0].span), ("there is no constant `K`", &None));
    let errors = compile("test", source, &[("N".to_owned(), -5)]).expect_err("it is too small");
    assert!(errors[0].message.contains("not -10"), "{errors:?}");
}
