//! An executable of the program's code and the runtime.
//!
//! What a program in Rust is linked with only its compiler knows: so it links the program once by itself, with a linker that is
//! this program's own script, and that puts the other code in the place of the crate's.

use crate::compile::{WorkDirectory, clang, run, rustc};
use crate::options::{Language, Options};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The file of the runtime.
const RUNTIME: &str = "liballways_epa_runtime.a";

/// Links programs.
pub struct Linker {
    /// The runtime; a plain program has none.
    runtime: Option<PathBuf>,
}

impl Linker {
    /// Finds the runtime: beside this program.
    pub fn find(options: &Options) -> Result<Self, String> {
        if options.plain {
            return Ok(Linker { runtime: None });
        }
        let program = std::env::current_exe()
            .map_err(|error| format!("this program does not know where it is: {error}"))?;
        let directory = program.parent().unwrap_or(Path::new("."));
        let runtime = directory.join(RUNTIME);
        if !runtime.is_file() {
            return Err(format!(
                "the runtime {RUNTIME} is not in {}, beside this program: `cargo build --release --workspace` in crates/allways-epa-llvm makes both",
                directory.display()
            ));
        }
        Ok(Linker { runtime: Some(runtime) })
    }

    /// Makes the executable.
    pub fn link(
        &self,
        options: &Options,
        work: &WorkDirectory,
        object: &Path,
    ) -> Result<(), String> {
        match options.language {
            Language::C | Language::Cpp => self.link_c(options, object),
            Language::Rust => self.link_rust(options, work, object),
        }
    }

    fn link_c(&self, options: &Options, object: &Path) -> Result<(), String> {
        let mut command = Command::new(clang(options.language));
        command.arg(object).args(&self.runtime).arg("-o").arg(&options.output);
        command.args(options.flags.iter().filter(|flag| is_for_linker(flag)));
        command.args(["-lpthread", "-lm", "-ldl"]);
        run(&mut command, &format!("linking {}", options.name())).map(drop)
    }

    fn link_rust(
        &self,
        options: &Options,
        work: &WorkDirectory,
        object: &Path,
    ) -> Result<(), String> {
        let mut command = rustc(options);
        let option = |name: &str, path: &Path| {
            let mut option = OsString::from(name);
            option.push(path);
            option
        };
        command
            .arg(option("-Clinker=", &script(work, object, self.runtime.as_deref())?))
            .arg("-Clinker-flavor=gcc");
        command.arg(option("-Clink-arg=", object));
        command.args(self.runtime.iter().map(|runtime| option("-Clink-arg=", runtime)));
        command.arg("-o").arg(&options.output);
        run(&mut command, &format!("linking {}", options.name())).map(drop)
    }
}

fn is_for_linker(flag: &OsString) -> bool {
    let flag = flag.to_string_lossy();
    ["-l", "-L", "-Wl,", "-pthread", "-fopenmp"].iter().any(|start| flag.starts_with(start))
}

/// A linker that leaves out the code that the compiler made of the crate, and puts the instrumented code and the runtime first.
fn script(work: &WorkDirectory, object: &Path, runtime: Option<&Path>) -> Result<PathBuf, String> {
    let path = work.path().join("linker");
    // Of a symbol that a library has already, an archive that comes later is not asked: so the runtime, whose functions take the
    // place of those of the C library, comes before all libraries.
    let text = r#"#!/bin/sh
# The code of the crate itself is left out, and the instrumented code and the runtime come before all libraries.
before=yes
for argument in "$@"; do
    shift
    case "$argument" in
        *.program.*-cgu.*.rcgu.o | OBJECT | RUNTIME) continue ;;
        -l*) [ $before = no ] || set -- "$@" OBJECT RUNTIME; before=no ;;
    esac
    set -- "$@" "$argument"
done
[ $before = no ] || set -- "$@" OBJECT RUNTIME
exec clang-22 "$@"
"#;
    let failed = |error| format!("{} cannot be written: {error}", path.display());
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let runtime = runtime.map(quoted).unwrap_or_default();
    let text = match runtime.as_str() {
        "" => text.replace(" | RUNTIME", "").replace(" RUNTIME", ""),
        runtime => text.replace("RUNTIME", runtime),
    };
    std::fs::write(&path, text.replace("OBJECT", &quoted(object))).map_err(failed)?;
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
    Ok(path)
}
