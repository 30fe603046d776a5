//! Programs that access memory by functions of libraries, which are not instrumented: what they read and write is found all the same.

mod common;

use allways_epa::compare::compare;
use allways_epa::determinism::hits;
use allways_epa::format::DIRECTORY;
use allways_epa::reverse::{Options, Reversibility, check};
use allways_epa::sanitise::{Accesses, Sanitised, accesses_of};
use allways_epa::trace::Trace;
use common::{build, directory, program, source};
use std::path::Path;
use std::process::Command;

fn recorded(executable: &Path) -> Trace {
    let directory = directory();
    let status = Command::new(executable).env(DIRECTORY, &directory).output().unwrap().status;
    assert!(status.success(), "{status}");
    Trace::gather(&directory).unwrap()
}

/// The lines of two accesses that can come in the other order, and the functions that were only guessed.
fn checked(name: &str, text: &str, fine: &[&str]) -> (Option<[u32; 2]>, Vec<String>) {
    let trace = recorded(&build(&source(name, text), &[]));
    let fine: Vec<String> = fine.iter().map(|name| (*name).to_owned()).collect();
    let Accesses { steps, guessed } = accesses_of(&trace, &fine).unwrap();
    let line = |at: usize| steps[at].site.map_or(0, |site| trace.program.sites[site as usize].line);
    let lines = match check(&steps, &Options::default()).unwrap() {
        Reversibility::Never { .. } => None,
        Reversibility::Possible(witness) => {
            let mut lines = [line(witness.first), line(witness.second)];
            lines.sort_unstable();
            Some(lines)
        }
    };
    let mut guessed: Vec<String> = guessed.into_iter().map(|call| call.function).collect();
    guessed.dedup();
    (lines, guessed)
}

/// Two threads, each of which does this with `own`, which is 0 or 1. It is in line 10.
fn two_threads(globals: &str, body: &str) -> String {
    format!(
        "#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
         #include <math.h>\n#include <time.h>\n#include <unistd.h>\n{globals}\n\
         static void *work(void *argument) {{ long own = (long)argument;\n{body}\n\
         return 0; }}\n\
         int main(void) {{\n pthread_t a, b;\n\
         pthread_create(&a, 0, work, (void *)0);\n JOIN_EARLY\n pthread_create(&b, 0, work, (void *)1);\n\
         JOIN_LATE\n pthread_join(b, 0);\n return 0; }}\n"
    )
}

/// What is shared, what each thread does to it, and what it does to parts of it that are its own.
const CASES: [(&str, &str, &str, &str); 10] = [
    (
        "strcpy",
        "static char all[64];",
        "strcpy(all, own ? \"one\" : \"another\");",
        "strcpy(all + 32 * own, own ? \"one\" : \"another\");",
    ),
    (
        "snprintf",
        "static char all[64];",
        "snprintf(all + 8 * own, 32, \"a text of %d\", 1234);",
        "snprintf(all + 14 * own, 14, \"a text of %d\", 12345678);",
    ),
    (
        "fread",
        "static char all[64];",
        "FILE *file = fopen(\"/dev/zero\", \"r\"); fread(all + 8 * own, 4, 4, file); fclose(file);",
        "FILE *file = fopen(\"/dev/zero\", \"r\"); fread(all + 16 * own, 4, 4, file); fclose(file);",
    ),
    (
        "qsort",
        "static int all[8] = {5, 3, 4, 1, 9, 8, 7, 6}; static int less(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }",
        "qsort(all + 2 * own, 4, sizeof *all, less);",
        "qsort(all + 4 * own, 4, sizeof *all, less);",
    ),
    (
        "memmove",
        "static char all[64]; static void *(*volatile move)(void *, const void *, size_t) = memmove;",
        "char here[16]; move(all + 15 * own, here, 16);",
        "char here[16]; move(all + 16 * own, here, 16);",
    ),
    (
        "localtime_r",
        "static struct tm all[2];",
        "time_t now = 1000; localtime_r(&now, &all[0]);",
        "time_t now = 1000; localtime_r(&now, &all[own]);",
    ),
    ("modf", "static double all[2];", "modf(2.5, &all[0]);", "modf(2.5, &all[own]);"),
    (
        "by value",
        "struct big { long a[8]; }; static struct big all[2]; static long first(struct big b) { return b.a[0]; }",
        "if (own) first(all[0]); else memset(&all[0].a[3], 1, 8);",
        "if (own) first(all[1]); else memset(&all[0].a[3], 1, 8);",
    ),
    (
        "masked",
        "typedef int four __attribute__((ext_vector_type(4))); typedef _Bool mask __attribute__((ext_vector_type(4))); static int all[8];",
        "mask every = {1, 1, 1, 1}; four none = {0}; __builtin_masked_store(every, none, all + own);",
        "mask every = {1, 1, 1, 1}; four none = {0}; __builtin_masked_store(every, none, all + 4 * own);",
    ),
    (
        "assembly",
        "static long all[2]; static long *other = all;",
        "asm volatile(\"\" : : \"r\"(&all[0]) : \"memory\");",
        "long here; asm volatile(\"\" : : \"r\"(&here) : \"memory\");",
    ),
];

#[test]
fn functions_of_the_c_library_access_memory() {
    for (name, globals, shared, disjoint) in CASES {
        let text = |body: &str, ordered: bool| {
            let (early, late) = ("pthread_join(a, 0);", "");
            let (early, late) = if ordered { (early, late) } else { (late, early) };
            two_threads(globals, body).replace("JOIN_EARLY", early).replace("JOIN_LATE", late)
        };
        let (lines, _) = checked("shared.c", &text(shared, false), &[]);
        // What is called back by `qsort` has its own line.
        let expected = if name == "qsort" { 8..=10 } else { 10..=10 };
        let lines = lines.unwrap_or_else(|| panic!("{name}: nothing is found"));
        assert!(lines.iter().all(|line| expected.contains(line)), "{name}: {lines:?}");
        let (lines, _) = checked("ordered.c", &text(shared, true), &[]);
        assert_eq!(lines, None, "{name}, one after the other");
        let (lines, guessed) = checked("disjoint.c", &text(disjoint, false), &[]);
        assert_eq!(lines, None, "{name}, each its own");
        let expected: &[&str] = if name == "assembly" { &["asm"] } else { &[] };
        assert_eq!(guessed, expected, "{name}");
    }
}

#[test]
fn functions_that_nobody_knows_are_told_and_can_be_fine() {
    let body = "a64l(all);";
    let text = two_threads("static char all[8] = \"abc\";", body);
    let text = text.replace("JOIN_EARLY", "").replace("JOIN_LATE", "pthread_join(a, 0);");
    assert_eq!(checked("unknown.c", &text, &[]), (Some([10, 10]), vec!["a64l".to_owned()]));
    assert_eq!(checked("unknown.c", &text, &["a64l"]), (None, Vec::new()));
    // A text of the source cannot be written, so there is nothing to reverse.
    let text = text.replace("a64l(all)", "a64l(\"abc\")");
    assert_eq!(checked("unknown.c", &text, &[]), (None, vec!["a64l".to_owned()]));
}

#[test]
fn a_function_that_is_called_through_a_pointer_is_known_by_its_name() {
    let text = "#include <stdlib.h>\nint main(void) {\n int (*volatile f)(void) = rand;\n return f() < 0;\n}\n";
    let trace = recorded(&build(&source("pointer.c", text), &[]));
    let hits = hits(&trace, &[], &[]).unwrap();
    let found: Vec<_> = hits.iter().map(|hit| (hit.callee.as_str(), hit.line)).collect();
    assert_eq!(found, [("rand", 4)]);
}

/// A function that ends by a call of another is left, and what it had on its stack is gone.
#[test]
fn a_call_by_which_a_function_ends_is_the_end_of_it() {
    let text = "#include <string.h>\n#include <stdlib.h>\n\
                static int last(int n) { char here[32]; here[n] = n; return here[n]; }\n\
                static int first(int n) { char here[32]; here[n] = n; __attribute__((musttail)) return last(here[n] + 1); }\n\
                static void *copy(void *to, const void *from, unsigned long n) { __attribute__((musttail)) return memcpy(to, from, n); }\n\
                int main(void) { char a[4] = \"abc\", b[4]; copy(b, a, 4); int sum = 0;\n\
                for (int i = 0; i < 4; i++) sum += first(i); return sum != 10; }\n";
    let executable = build(&source("tail.c", text), &[]);
    let sanitised = Sanitised::new(&recorded(&executable)).unwrap();
    let arrays: Vec<_> = sanitised.objects.iter().filter(|object| object.bytes == 32).collect();
    assert_eq!(arrays.len(), 8);
    // What the first function has is gone before what the last one has is there.
    for pair in arrays.windows(2) {
        assert!(pair[0].to < pair[1].from, "{pair:?}");
    }
    assert!(compare(&sanitised, &Sanitised::new(&recorded(&executable)).unwrap()).is_same);
}

/// Memory on the stack that was never written is the same in every run.
#[test]
fn what_was_never_written_is_the_same_each_time() {
    let text = "#include <stdio.h>\nstatic long mess(void) { volatile long here[64]; for (int i = 0; i < 64; i++) here[i] = (long)&here[i]; return here[5]; }\n\
                static unsigned look(void) { volatile unsigned here[128]; return here[20] ^ here[77]; }\n\
                int main(void) { mess(); return look() != 0; }\n";
    let executable = build(&source("uninitialised.c", text), &[]);
    recorded(&executable);
}

/// What Rust's library does that is not instrumented disturbs nothing.
#[test]
fn a_program_in_rust_is_accepted_and_the_same_each_time() {
    let executable = build(&program("kmeans.rs"), &[]);
    let golden = recorded(&executable);
    let steps = accesses_of(&golden, &[]).unwrap().steps;
    let checked = check(&steps, &Options::default()).unwrap();
    assert!(matches!(checked, Reversibility::Never { .. }), "{checked:?}");
    let golden = Sanitised::new(&golden).unwrap();
    for _ in 1..10 {
        let comparison = compare(&golden, &Sanitised::new(&recorded(&executable)).unwrap());
        assert!(comparison.is_same, "{}", comparison.first.unwrap());
    }
}

const PRINTS_C: &str = "#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
    static void *work(void *argument) { char *here = malloc(8); here[0] = 1; printf(\"%s\\n\", (char *)argument);\n\
    char *there = malloc(8); there[0] = here[0]; free(there); free(here); return 0; }\n\
    int main(void) { pthread_t a, b; pthread_create(&a, 0, work, \"one\"); pthread_create(&b, 0, work, \"two\");\n\
    pthread_join(a, 0); pthread_join(b, 0); return 0; }\n";

const PRINTS_RUST: &str = "fn work(name: &str) -> usize { let here = vec![1, 2]; println!(\"{name} {}\", here[0]);\n\
    let there = vec![here[1]; 3]; there.len() }\n\
    fn main() { std::thread::scope(|scope| { let a = scope.spawn(|| work(\"one\")); let b = scope.spawn(|| work(\"two\"));\n\
    assert_eq!(a.join().unwrap() + b.join().unwrap(), 6); }); }\n";

/// The first thread that prints allocates the buffer of the standard output: whichever that is, objects have the same names.
#[test]
fn threads_that_print_are_the_same_each_time_though_their_order_is_not() {
    for (name, text) in [("prints.c", PRINTS_C), ("prints.rs", PRINTS_RUST)] {
        let executable = build(&source(name, text), &[]);
        let golden = recorded(&executable);
        let steps = accesses_of(&golden, &[]).unwrap().steps;
        let checked = check(&steps, &Options::default()).unwrap();
        assert!(
            matches!(checked, Reversibility::Possible(_)),
            "{name}: what is printed has no order"
        );
        let golden = Sanitised::new(&golden).unwrap();
        for _ in 1..20 {
            let comparison = compare(&golden, &Sanitised::new(&recorded(&executable)).unwrap());
            assert!(comparison.is_same, "{name}: {}", comparison.first.unwrap());
        }
    }
}
