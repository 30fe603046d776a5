//! Failing tests of a crate that depends on this one, under the real `cargo test` and the real
//! `cargo nextest`.

use super::{between, files};
use std::path::{Path, PathBuf};
use std::process::Command;

const MANIFEST: &str = r#"
[workspace]
members = ["shop"]
resolver = "3"

[profile.dev]
debug = 0
"#;

const SHOP: &str = r#"
[package]
name = "shop"
version = "0.1.0"
edition = "2024"

[dependencies]
allways = { path = "ALLWAYS" }
"#;

const LIBRARY: &str = r#"
use allways::prelude::*;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Replica(u32);

impl Node for Replica {
    type Msg = u32;
    type Call = u32;
    type Timer = Never;
    type Output = Never;

    fn on_call(&mut self, value: u32, cx: &mut Cx<'_, Self>) {
        self.0 = self.0.max(value);
        cx.broadcast(value);
    }

    fn on_message(&mut self, _from: Id, value: u32, _: &mut Cx<'_, Self>) {
        match std::env::var_os("ALLWAYS_TEST_MENDED") {
            Some(_) => self.0 = self.0.max(value),
            None => self.0 = value,
        }
    }
}

pub fn system() -> System<Replica> {
    let most = std::env::var("ALLWAYS_TEST_CALL").map_or(20, |call| call.parse().unwrap());
    System::new(vec![Replica(0); 2])
        .call(0, 10)
        .call(1, most)
        .never_stuck("replicas agree", view(|r: &Replica| r.0), |values| values.iter().all_equal())
}

#[cfg(test)]
mod tests {
    #[test]
    fn agreement() {
        super::system().check().assert_holds();
    }
}
"#;

const TESTS: &str = r#"
#[test]
fn agreement() {
    shop::system().check().assert_holds();
}
"#;

/// A workspace with one member.
struct Shop {
    root: PathBuf,
    target: PathBuf,
}

/// What a command said, and whether it succeeded.
type Done = (bool, String);

impl Shop {
    fn new() -> Self {
        let below = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report-in-cargo");
        let shop = Shop { root: below.join("workspace"), target: below.join("target") };
        // What was compiled before is kept, what was saved is not.
        let _ = std::fs::remove_dir_all(&shop.root);
        let _ = std::fs::remove_dir_all(shop.target.join("allways"));
        let allways = Path::new(env!("CARGO_MANIFEST_DIR"));
        shop.write("Cargo.toml", MANIFEST);
        let path = allways.display().to_string().replace('\\', "/");
        shop.write("shop/Cargo.toml", &SHOP.replace("ALLWAYS", &path));
        shop.write("shop/src/lib.rs", LIBRARY);
        shop.write("shop/tests/one.rs", TESTS);
        shop.write("shop/tests/two.rs", TESTS);
        // The versions of the dependencies that are there already.
        let lock = std::fs::read_to_string(allways.join("../../Cargo.lock")).unwrap();
        shop.write("Cargo.lock", &lock);
        shop
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn cargo(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Done {
        let mut command = Command::new(env!("CARGO"));
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("ALLWAYS_") || text.starts_with("NEXTEST") {
                command.env_remove(&name);
            }
        }
        let output = command
            .args(arguments)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("RUST_BACKTRACE", "0")
            .envs(variables.iter().copied())
            .current_dir(&self.root)
            .output()
            .unwrap();
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        said += &String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("could not compile"), "{said}");
        (output.status.success(), said)
    }

    /// That the three tests fail, each with its own files, and that they leave nothing when they pass.
    fn three_tests(&self, how: &[&str]) -> String {
        let (passed, said) = self.cargo(how, &[]);
        assert!(!passed, "{said}");
        let expected = ["one/agreement", "tests-agreement", "two/agreement"];
        let expected = expected.iter().flat_map(|directory| {
            ["report.html", "run.json"].map(|name| format!("shop/{directory}/{name}"))
        });
        let expected: Vec<String> = expected.collect();
        assert_eq!(files(&self.target.join("allways")), expected, "{said}");
        for file in expected {
            let path = self.target.join("allways").join(file);
            assert!(said.contains(path.to_str().unwrap()), "{said}");
        }
        let (passed, all) = self.cargo(how, &[("ALLWAYS_TEST_MENDED", "1")]);
        assert!(passed, "{all}");
        assert_eq!(files(&self.target.join("allways")), [""; 0]);
        said
    }
}

#[test]
fn failing_tests_of_another_crate_are_saved_and_replayed_as_they_say() {
    let shop = Shop::new();
    let test = ["test", "--offline", "--quiet", "--no-fail-fast", "--lib", "--tests"];
    shop.three_tests(&test);
    let one_thread = [&test[..], &["--", "--test-threads=1"]].concat();
    shop.three_tests(&one_thread);
    let (has_nextest, _) = shop.cargo(&["nextest", "--version"], &[]);
    match has_nextest {
        true => {
            shop.three_tests(&["nextest", "run", "--offline", "--no-fail-fast"]);
        }
        false => println!("not tested with cargo nextest: it is not installed"),
    }

    // What the report says to write, written.
    let (_, said) = shop.cargo(&["test", "--offline", "--quiet", "--test", "one"], &[]);
    let replay = between(&said, "in place of `.check().assert_holds()`, write\n", "\n").trim();
    shop.write("shop/tests/one.rs", &TESTS.replace(".check().assert_holds()", replay));
    let again = |variables: &[(&str, &str)]| {
        shop.cargo(&["test", "--offline", "--quiet", "--test", "one"], variables)
    };
    let (passed, said) = again(&[]);
    assert!(!passed && said.contains("the saved run still violates: never stuck"), "{said}");
    let (passed, said) = again(&[("ALLWAYS_TEST_MENDED", "1")]);
    assert!(passed, "{said}");
    let (passed, said) = again(&[("ALLWAYS_TEST_CALL", "30")]);
    assert!(!passed && said.contains("the saved run no longer applies at event 2: "), "{said}");
    assert!(said.contains("what can happen there: node 1 is called: 30"), "{said}");
}
