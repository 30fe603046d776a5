//! The command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The languages of programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cpp,
    /// Rust.
    Rust,
}

/// What is to be done.
#[derive(Debug)]
pub struct Options {
    /// The source.
    pub source: PathBuf,
    /// Its language.
    pub language: Language,
    /// The executable.
    pub output: PathBuf,
    /// Whether nothing is logged: for comparison.
    pub plain: bool,
    /// More options for the compiler.
    pub flags: Vec<OsString>,
}

/// How the program is used.
pub const USAGE: &str = "usage: allways-instrument PROGRAM.c|.cc|.cpp|.rs -o EXECUTABLE [--plain] [-- FLAGS OF THE COMPILER]";

impl Options {
    /// From the command line, without the name of the program.
    pub fn from_arguments(arguments: impl Iterator<Item = OsString>) -> Result<Self, String> {
        let (mut source, mut output, mut plain) = (None, None, false);
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            match argument.to_str() {
                Some("--") => break,
                Some("--plain") => plain = true,
                Some("-o") => output = arguments.next(),
                Some(option) if option.starts_with('-') => {
                    return Err(format!("there is no option {option}; {USAGE}"));
                }
                _ if source.is_none() => source = Some(PathBuf::from(argument)),
                _ => return Err(format!("there is one program at a time; {USAGE}")),
            }
        }
        let source = source.ok_or_else(|| format!("there is no program; {USAGE}"))?;
        let output =
            output.ok_or_else(|| format!("there is no name for the executable; {USAGE}"))?;
        let language = language(&source)?;
        Ok(Options { source, language, output: output.into(), plain, flags: arguments.collect() })
    }

    /// What the program is called.
    pub fn name(&self) -> String {
        self.source.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

fn language(source: &Path) -> Result<Language, String> {
    match source.extension().and_then(|extension| extension.to_str()) {
        Some("c") => Ok(Language::C),
        Some("cc" | "cpp" | "cxx") => Ok(Language::Cpp),
        Some("rs") => Ok(Language::Rust),
        _ => Err(format!(
            "{} is no source of C (.c), C++ (.cc, .cpp) or Rust (.rs)",
            source.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, String> {
        Options::from_arguments(text.split_whitespace().map(OsString::from))
    }

    #[test]
    fn options_in_any_order() {
        let options = parse("--plain -o out some/main.cpp -- -O1 -DX").unwrap();
        assert_eq!(options.language, Language::Cpp);
        assert!(options.plain);
        assert_eq!(options.name(), "main.cpp");
        assert_eq!(options.flags, ["-O1", "-DX"]);
    }

    #[test]
    fn what_is_missing_is_said() {
        assert!(parse("-o out").unwrap_err().contains("no program"));
        assert!(parse("main.c").unwrap_err().contains("no name"));
        assert!(parse("main.java -o out").unwrap_err().contains("main.java is no source"));
        assert!(parse("--fast main.c -o out").unwrap_err().contains("--fast"));
        assert!(parse("a.c b.c -o out").unwrap_err().contains("one program"));
    }
}
