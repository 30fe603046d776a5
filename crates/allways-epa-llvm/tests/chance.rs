//! Programs that are not the same each time, for reasons beside memory that is plainly shared; and that this is found.

mod common;

use allways_epa::compare::compare;
use allways_epa::determinism::hits;
use allways_epa::format::DIRECTORY;
use allways_epa::reverse::{Options, Reversibility, check};
use allways_epa::sanitise::{Sanitised, steps};
use allways_epa::trace::Trace;
use common::{build, directory, source};
use std::path::Path;
use std::process::Command;

fn recorded(executable: &Path) -> Trace {
    let directory = directory();
    Command::new(executable).env(DIRECTORY, &directory).output().unwrap();
    Trace::gather(&directory).unwrap()
}

fn is_reversible(trace: &Trace) -> bool {
    let checked = check(&steps(trace).unwrap(), &Options::default()).unwrap();
    matches!(checked, Reversibility::Possible(_))
}

/// The functions that nobody can foresee.
fn unforeseen(trace: &Trace) -> Vec<String> {
    hits(trace, &[], &[]).unwrap().into_iter().map(|hit| hit.callee).collect()
}

/// A barrier tells one thread, whichever that is, that it is the one.
const BARRIER: &str = r#"#include <pthread.h>
static pthread_barrier_t barrier;
static int parts[3], sums[3];
static void *work(void *argument) {
    int i = (int)(long)argument;
    parts[i] = i + 1;
    WAIT
    sums[i] = parts[0] + parts[1] + parts[2];
    return 0;
}
int main(void) {
    pthread_t threads[3];
    pthread_barrier_init(&barrier, 0, 3);
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return sums[0] + sums[1] + sums[2];
}
"#;

#[test]
fn who_is_the_last_at_a_barrier_matters_only_if_somebody_asks() {
    let text = BARRIER.replace("WAIT", "pthread_barrier_wait(&barrier);");
    let executable = build(&source("nobody-asks.c", &text), &[]);
    let golden = recorded(&executable);
    assert!(!is_reversible(&golden));
    assert_eq!(unforeseen(&golden), [""; 0]);
    let sanitised = Sanitised::new(&golden).unwrap();
    for _ in 0..20 {
        let again = Sanitised::new(&recorded(&executable)).unwrap();
        let comparison = compare(&sanitised, &again);
        assert!(comparison.is_same, "{}", comparison.first.unwrap());
    }
    let text = BARRIER.replace("WAIT", "if (pthread_barrier_wait(&barrier)) parts[i] = i + 1;");
    let golden = recorded(&build(&source("asks.c", &text), &[]));
    assert_eq!(unforeseen(&golden), ["pthread_barrier_wait"]);
}

/// A thread uses what its creator has on the stack, while the creator may have left the function.
#[test]
fn what_is_on_a_stack_is_given_back_when_its_function_is_left() {
    let text = |joins: bool| {
        let (before, after) =
            if joins { ("pthread_join(thread, 0);", "") } else { ("", "pthread_join(thread, 0);") };
        format!(
            "#include <pthread.h>\nstatic pthread_t thread;\n\
             static void *work(void *x) {{ return (void *)(long)*(int *)x; }}\n\
             static void begin(void) {{ int x = 7; pthread_create(&thread, 0, work, &x); {before} }}\n\
             int main(void) {{ begin(); {after} return 0; }}\n"
        )
    };
    let left = recorded(&build(&source("left.c", &text(false)), &[]));
    assert!(is_reversible(&left));
    let joined = recorded(&build(&source("joined.c", &text(true)), &[]));
    assert!(!is_reversible(&joined));
}

#[test]
fn what_is_initialised_by_who_comes_first_is_reversible() {
    let text = "#include <thread>\nstatic int made;\nstruct Made { Made() { made++; } };\n\
                static void once() { static Made one; }\n\
                int main() { std::thread a(once), b(once); a.join(); b.join(); }\n";
    assert!(is_reversible(&recorded(&build(&source("guard.cpp", text), &[]))));
}

#[test]
fn clocks_of_the_processor_and_random_hashes_are_named() {
    let text = "int main(void) { return __builtin_readcyclecounter() == 1; }\n";
    let trace = recorded(&build(&source("cycles.c", text), &[]));
    assert_eq!(unforeseen(&trace), ["llvm.readcyclecounter"]);
    let text = "fn main() { let mut map = std::collections::HashMap::new(); map.insert(1, 2); \
                println!(\"{}\", map.len()); }\n";
    let trace = recorded(&build(&source("map.rs", text), &[]));
    let found = unforeseen(&trace);
    assert!(found.iter().any(|name| name.contains("hashmap_random_keys")), "{found:?}");
}

#[test]
fn memory_that_nobody_has_written_is_the_same_each_time() {
    let text = "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 9; i++) { \
                long *x = malloc(4000); x[i] ^= (long)x; free(x); } \
                volatile long *y = malloc(4000); return y[3] != 0; }\n";
    let executable = build(&source("unwritten.c", text), &[]);
    let sanitised = Sanitised::new(&recorded(&executable)).unwrap();
    let again = Sanitised::new(&recorded(&executable)).unwrap();
    let comparison = compare(&sanitised, &again);
    assert_eq!(comparison.first.map(|first| first.to_string()), None);
}
