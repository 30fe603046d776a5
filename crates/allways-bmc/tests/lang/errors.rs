//! What is said about wrong sources: `‹` and `›` are around the place that is pointed at.

use allways_bmc::lang::{Diagnostic, compile};

/// Sources with their first error: message, and help (empty if there is none).
const ERRORS: &[(&str, &str, &str)] = &[
    ("shared uint<4> x ‹#› 1;", "unexpected character `#`", "comments begin with `//`"),
    (
        "process P { x = ‹\"›a\"; }",
        "unexpected character `\\\"`",
        "there are no texts: only numbers and `true` and `false`",
    ),
    (
        "shared bool ‹é›;",
        "unexpected character `é`",
        "names are made of the letters a to z, digits and `_`",
    ),
    ("const N = ‹99999999999›;", "this number is too large", ""),
    ("const N = ‹12ab›;", "`12ab` is no number", "a name does not begin with a digit"),
    ("const N = ‹0x›;", "`0x` is no number", ""),
    ("shared bool x; ‹/*› never", "this comment is never closed", "close it with `*/`"),
    (
        "shared uint<4> ‹x›\nprocess P { x = 1; }",
        "expected `;`, found `process`",
        "put a `;` behind this",
    ),
    ("shared uint<4> x; process P { x = ‹1› }", "expected `;`, found `}`", "put a `;` behind this"),
    ("shared uint<4> x; process P ‹{› x = 1;", "this `{` is never closed", "close it with `}`"),
    (
        "shared bool x; process P { if (x) ‹{› x = true; process Q { skip; }",
        "this `{` is never closed",
        "close it with `}`",
    ),
    ("process P { skip; } ‹}›", "this `}` closes nothing", ""),
    (
        "‹uint›<4> x;",
        "expected a declaration, found `uint`",
        "variables outside processes are `shared`: write `shared` before the kind",
    ),
    ("‹shred› uint<4> x;", "expected a declaration, found `shred`", "did you mean `shared`?"),
    (
        "shared ‹x›;",
        "expected a kind: `bool`, `int<…>` or `uint<…>`, found `x`",
        "write `shared uint<4> x;`: the kind comes first",
    ),
    (
        "process P { ‹shared› bool x; }",
        "`shared` cannot be inside a process",
        "move it outside, or leave out `shared` for a variable of the process",
    ),
    ("process P { ‹const› N = 3; }", "`const` cannot be inside a process", "move it outside"),
    (
        "shared bool x; process P { if ‹x› { skip; } }",
        "expected `(`, found `x`",
        "put the condition in parentheses",
    ),
    (
        "shared bool x; process P { if (x ‹=› true) { skip; } }",
        "expected `)`, found `=`",
        "compare with `==`",
    ),
    (
        "shared uint<2> x; process P { ‹x›++; }",
        "expected a statement, found `x`",
        "write `x = x + 1;`",
    ),
    (
        "shared uint<2> x; process P { ‹x› += 1; }",
        "expected a statement, found `x`",
        "write `x = x + 1;`",
    ),
    (
        "shared uint<2> x; process P { ‹x› := 1; }",
        "expected a statement, found `x`",
        "assign with `x = …;`",
    ),
    (
        "shared uint<2> x; process P { ‹x› == 1; }",
        "expected a statement, found `x`",
        "assign with `x = …;`",
    ),
    (
        "shared uint<2> x; process P { ‹whlie› (x < 1) { } }",
        "expected a statement, found `whlie`",
        "did you mean `while`?",
    ),
    (
        "shared uint<2> x; process P { ‹;› }",
        "expected a statement, found `;`",
        "a statement that does nothing is `skip;`",
    ),
    (
        "shared uint<2> x; process P { x = 1 + ‹*›; }",
        "expected an expression, found `*`",
        "`*`, any value, is only possible alone: `x = *;`, `if (*)`, `while (*)` and as an initial value",
    ),
    (
        "shared uint<2> x; process P { ‹else› { } }",
        "expected a statement, found `else`",
        "`else` follows the block of an `if`",
    ),
    (
        "shared uint<2> x; process P { await 0 < x ‹<› 3; }",
        "comparisons cannot follow each other",
        "write `a < b && b < c`, or put one of them in parentheses",
    ),
    (
        "shared uint<2> x; always ‹x› < 3;",
        "expected the property's name and `:`, found `x`",
        "give it a name: `always small: x < 4;`",
    ),
    (
        "shared bool ‹lock›;",
        "expected the variable's name, found `lock`",
        "`lock` is a keyword, and no name",
    ),
    (
        "shared bool a[2]; process P { a[0]‹[›1] = true; }",
        "arrays have one dimension",
        "use one array, and an index like `row * 4 + column`",
    ),
    ("process P { ‹f›(1); }", "expected a statement, found `f`", "there are no functions"),
    ("shared bool b; process P { b = f‹(›1); }", "there are no functions", ""),
    ("process P[i ‹0›..3] { skip; }", "expected `in`, found `0`", "a range is `i in 0..4`"),
    (
        "const N = 2; shared bool flag[N]; process P { ‹flga›[0] = true; }",
        "unknown name `flga`",
        "did you mean `flag`?",
    ),
    ("shared bool x; shared uint<2> ‹x›;", "the name `x` is declared twice", "choose another name"),
    ("const x = 1; process ‹x› { skip; }", "the name `x` is declared twice", "choose another name"),
    (
        "shared bool x; process P { bool ‹x›; skip; }",
        "`x` would hide another `x`",
        "choose another name",
    ),
    (
        "process P { bool x; bool ‹x›; skip; }",
        "the name `x` is declared twice",
        "choose another name",
    ),
    (
        "shared bool i; process P[‹i› in 0..2] { skip; }",
        "`i` would hide another `i`",
        "choose another name",
    ),
    (
        "shared bool k; always p: forall ‹k› in 0..2: true;",
        "`k` would hide another `k`",
        "choose another name",
    ),
    (
        "process P[i in 0..2] { int ‹i›; skip; }",
        "`i` would hide another `i`",
        "choose another name",
    ),
    ("shared uint<4> x; process P { x = ‹16›; }", "16 does not fit `uint<4>`", ""),
    ("shared uint<4> x; process P { x = ‹-1›; }", "-1 does not fit `uint<4>`", ""),
    ("shared int<4> x = ‹8›;", "8 does not fit `int<4>`", ""),
    (
        "shared uint<4> x; shared uint<8> y; process P { x = ‹y + 1›; }",
        "expected `uint<4>`, found `uint<8>`",
        "convert it: `(y + 1) as uint<4>`",
    ),
    (
        "shared uint<4> x; shared uint<8> y; process P { x = x + ‹y›; }",
        "`uint<4>` and `uint<8>` cannot be mixed",
        "convert: `x as uint<8>`",
    ),
    (
        "shared uint<4> x; shared int<4> y; process P { await x < ‹y›; }",
        "`uint<4>` and `int<4>` cannot be mixed",
        "convert: `y as uint<4>`",
    ),
    (
        "shared uint<4> x; process P { if (‹x›) { skip; } }",
        "expected `bool`, found `uint<4>`",
        "write `x != 0`",
    ),
    (
        "shared uint<4> x; process P { x = ‹true›; }",
        "expected `uint<4>`, found `bool`",
        "convert it: `true as uint<4>`",
    ),
    (
        "shared bool x; process P { x = ‹1›; }",
        "expected `bool`, found the number 1",
        "write `true`",
    ),
    (
        "shared bool x; process P { x = ‹x› + 1; }",
        "this operator needs numbers, found `bool`",
        "a `bool` as a number is `b as uint<1>`",
    ),
    (
        "shared bool x, y; process P { x = ‹x› & y; }",
        "this operator needs numbers, found `bool`",
        "write `&&`",
    ),
    (
        "shared bool x, y; process P { x = ‹x› < y; }",
        "only numbers are less or greater, found `bool`",
        "",
    ),
    ("shared bool x; process P { x = -‹x›; }", "`-` needs a number, found `bool`", "write `!x`"),
    (
        "shared uint<4> x; process P { x = !‹x›; }",
        "`!` needs a `bool`, found `uint<4>`",
        "write `x == 0`, or `~x` to turn its bits",
    ),
    ("shared uint<‹0›> x;", "a number has 1 to 32 bits, not 0", ""),
    ("shared int<‹33›> x;", "a number has 1 to 32 bits, not 33", ""),
    ("shared bool a[‹0›];", "an array has 1 to 4096 elements, not 0", ""),
    ("shared bool a[‹5000›];", "an array has 1 to 4096 elements, not 5000", ""),
    ("shared bool a[3] = ‹{true, false}›;", "`a` has 3 elements, but the list has 2", ""),
    ("shared bool a = ‹{true, false}›;", "`a` is no array", "declare it as `a[2]`"),
    ("shared uint<2> x; shared bool a[‹x›];", "`x` is no constant", ""),
    (
        "shared uint<2> x; const N = ‹x›;",
        "unknown name `x`",
        "a constant can only use constants that are declared before it",
    ),
    ("const N = ‹M›;", "unknown name `M`", ""),
    ("const N = ‹true›;", "expected a number, found `bool`", ""),
    ("const N = 1 / ‹0›;", "division by zero", ""),
    ("const N = ‹4000000000 * 4000000000›;", "this constant is too large", ""),
    ("shared uint<4> x; process P { x = x % ‹0›; }", "division by zero", ""),
    ("const N = 3; process P { ‹N› = 4; }", "`N` is a constant, and no variable", ""),
    ("process P[i in 0..3] { ‹i› = 2; }", "`i` is a constant, and no variable", ""),
    ("shared bool B[3]; process P { B[‹3›] = true; }", "index 3 is outside of `B`", ""),
    ("shared bool B[3]; always p: B[‹-1›];", "index -1 is outside of `B`", ""),
    ("shared bool B[3]; init { B[‹7›] = true; }", "index 7 is outside of `B`", ""),
    (
        "shared bool B[3], c; process P { B[‹c›] = true; }",
        "expected a number as index, found `bool`",
        "write `c as uint<1>`",
    ),
    (
        "shared bool B[3], C[3]; process P { ‹B› = C; }",
        "`B` is an array, and not one value",
        "take one element at a time: `B[0]`",
    ),
    (
        "shared bool B[3], c; process P { c = ‹B›; }",
        "`B` is an array, and not one value",
        "take one element at a time: `B[0]`",
    ),
    (
        "shared bool c; process P { c‹[0]› = true; }",
        "`c` is no array",
        "write `c` without an index",
    ),
    (
        "process P[i in ‹2..2›] { skip; }",
        "the range 2..2 is empty",
        "the end of a range is not in it: `0..1` is 0",
    ),
    (
        "always p: exists k in ‹3..1›: true;",
        "the range 3..1 is empty",
        "the end of a range is not in it: `0..1` is 0",
    ),
    ("process ‹P›[i in 0..65] { skip; }", "there are more than 64 processes", ""),
    ("shared uint<4> m; process P { lock ‹m›; }", "`m` is no mutex", "declare it with `mutex m;`"),
    (
        "mutex m; process P { ‹m› = 0; }",
        "the mutex `m` cannot be assigned",
        "write `lock m;` or `unlock m;`",
    ),
    ("mutex ‹m› = 0;", "a mutex has no initial value", "it is free at the start"),
    ("mutex m; init { ‹m› = 1; }", "the mutex `m` cannot be assigned", "it is free at the start"),
    (
        "shared uint<2> x; process P { atomic { ‹while (x < 3)› { x = x + 1; } } }",
        "`while` cannot be in an atomic block",
        "repeat its body as often as needed, or put `atomic` inside the loop",
    ),
    (
        "shared uint<2> x; process P { atomic { ‹here›: x = 1; } }",
        "a label cannot be in an atomic block",
        "put it before `atomic`",
    ),
    ("process P { here: skip; ‹here›: skip; }", "the label `here` is there twice", ""),
    (
        "process P { ‹here›: bool x; skip; }",
        "the label `here` is at nothing",
        "put a statement behind it, for example `skip;`",
    ),
    (
        "process P { here: ‹}›",
        "expected a statement, found `}`",
        "behind a label is a statement, for example `skip;`",
    ),
    ("process P { skip; } always p: ‹Q›@end;", "there is no process `Q`", ""),
    (
        "process Producer { skip; } always p: ‹Producr›@end;",
        "there is no process `Producr`",
        "did you mean `Producer`?",
    ),
    ("process P[i in 0..2] { skip; } always p: P[‹2›]@end;", "there is no `P[2]`", ""),
    (
        "process P[i in 0..2] { skip; } always p: ‹P›@end;",
        "there are several `P`: which one?",
        "write `P[0]`, or `forall k in 0..2: …`",
    ),
    ("process P { skip; } always p: P‹[0]›@end;", "there is only one `P`", "write `P`"),
    (
        "process P { critical: skip; } always p: P@‹critcal›;",
        "`P` has no label `critcal`",
        "did you mean `critical`?",
    ),
    ("process P { skip; } always p: P@‹there›;", "`P` has no label `there`", "it has `end`"),
    (
        "process P { bool total; skip; } always p: P.‹totel›;",
        "`P` has no variable `totel`",
        "did you mean `total`?",
    ),
    (
        "process P { skip; } always p: P.‹t›;",
        "`P` has no variable `t`",
        "it has no variables of its own",
    ),
    (
        "process P[i in 0..2] { bool t; skip; } always p: ‹P›.t;",
        "there are several `P`: which one?",
        "write `P[0]`, or `forall k in 0..2: …`",
    ),
    (
        "process P[i in 0..2] { bool t; skip; } always p: ‹t›;",
        "unknown name `t`",
        "the variable of a process is `P[0].t`",
    ),
    (
        "process P { bool t; skip; } process Q { await ‹t›; }",
        "unknown name `t`",
        "`t` is a variable of `P` only",
    ),
    (
        "process P { bool t; skip; } process Q { await ‹P›.t; }",
        "other processes are only visible in properties",
        "use a `shared` variable instead",
    ),
    (
        "process P { skip; } always p: ‹P›;",
        "`P` is a process, and has no value",
        "its variables are `P.x` or `P[0].x`, and where it stands is `P@label`",
    ),
    ("shared bool x; always p: ‹x›.y;", "`x` is no process", ""),
    ("shared bool x; always p: x; never ‹p›: x;", "the property `p` is there twice", ""),
    ("shared uint<4> x; always p: ‹x›;", "expected `bool`, found `uint<4>`", "write `x != 0`"),
    (
        "shared bool b; shared uint<4> x; process P { b = ‹(b ? 1 : 2)› == 1; }",
        "it is not known of which kind this number is",
        "say it: `1 as uint<8>`",
    ),
    (
        "shared uint<4> x; always p: ‹1› << x == 4;",
        "it is not known of which kind this number is",
        "say it: `1 as uint<8>`",
    ),
    ("shared uint<4> x; process P { uint<4> t = ‹x›; skip; }", "`x` is no constant", ""),
    (
        "shared uint<4> x = 1, ‹;› process P { skip; }",
        "expected the variable's name, found `;`",
        "",
    ),
    (
        "init { ‹skip›; }",
        "expected an assignment, found `skip`",
        "an `init` block is made of assignments of constants: `x = 3;`",
    ),
    (
        "shared uint<4> x; process P { await x > ‹2› }",
        "expected `;`, found `}`",
        "put a `;` behind this",
    ),
];

/// A source without the marks, and the place between them.
fn marked(source: &str) -> (String, Option<std::ops::Range<usize>>) {
    let (Some(start), Some(end)) = (source.find('‹'), source.find('›')) else {
        return (source.to_owned(), None);
    };
    let end = end - '‹'.len_utf8();
    (source.replace(['‹', '›'], ""), Some(start..end))
}

fn errors(source: &str) -> Vec<Diagnostic> {
    match compile("test", source, &[]) {
        Ok(_) => panic!("nothing is wrong with {source}"),
        Err(errors) => errors,
    }
}

#[test]
fn errors_say_what_is_wrong_where_and_what_to_do() {
    for (source, message, help) in ERRORS {
        let (plain, span) = marked(source);
        let found = &errors(&plain)[0];
        let found = (found.message.as_str(), found.help.as_deref().unwrap_or(""), &found.span);
        assert_eq!(found, (*message, *help, &span), "{source}");
    }
}

#[test]
fn several_errors_are_found_at_once() {
    let all = |source: &str| -> Vec<String> {
        errors(source).into_iter().map(|error| error.message).collect()
    };
    let syntax = "shared uint<4> x\nprocess P { x = ; if x { skip; } x = 1; y + 1; }\nalways x;";
    assert_eq!(
        all(syntax),
        [
            "expected `;`, found `process`",
            "expected an expression, found `;`",
            "expected `(`, found `x`",
            "expected a statement, found `y`",
            "expected the property's name and `:`, found `x`",
        ]
    );
    let names = "shared uint<40> z; shared uint<4> x; process P[i in 0..3] { z = 1; y = 1; x = 16; \
                 atomic { x = true; if (q) { x = 20; } } }";
    assert_eq!(
        all(names),
        [
            "a number has 1 to 32 bits, not 40",
            "unknown name `y`",
            "16 does not fit `uint<4>`",
            "expected `uint<4>`, found `bool`",
            "unknown name `q`",
            "20 does not fit `uint<4>`",
        ]
    );
}

#[test]
fn an_error_is_shown_with_its_line() {
    let source = "shared bool flag;\nprocess P {\n    flga = true;\n}\n";
    let shown = errors(source)[0].render("dekker.pbmc", source, false);
    let expected = "\
Error: unknown name `flga`
   ,-[ dekker.pbmc:3:5 ]
   |
 3 |     flga = true;
   |     ^^|^
   |       `--- nothing is called so here
   |
   | Help: did you mean `flag`?
---'
";
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.trim_end().to_owned()).collect()
    };
    assert_eq!(lines(&shown), lines(expected), "\n{shown}");
    assert!(errors(source)[0].render("dekker.pbmc", source, true).contains('\u{1b}'));
}
