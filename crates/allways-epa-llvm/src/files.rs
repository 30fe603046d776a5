//! Which file of the source a function is in.
//!
//! A location in debug information has a line, but of its file only the function knows. That is read from the text of the module: the
//! line with `define` names an entry for the function, which names an entry for its file.

use std::collections::HashMap;

/// The files of functions, by the names that functions have in the module.
pub fn of_functions(module: &str) -> HashMap<String, String> {
    let mut functions = Vec::new();
    let mut programs = HashMap::new();
    let mut files = HashMap::new();
    for line in module.lines() {
        if line.starts_with("define ") {
            functions.extend(function_name(line).zip(entry(line, "!dbg !")));
        } else if let Some((name, rest)) =
            line.strip_prefix('!').and_then(|line| line.split_once(" = "))
        {
            if rest.contains("!DISubprogram(") {
                programs.extend(entry(rest, "file: !").map(|file| (name, file)));
            } else if rest.starts_with("!DIFile(") {
                files.extend(file_name(rest).map(|file| (name, file)));
            }
        }
    }
    let file = |program: &str| files.get(*programs.get(program)?).map(|file| (*file).to_owned());
    functions.into_iter().filter_map(|(name, program)| Some((name, file(program)?))).collect()
}

/// The name after the first `@`, which is in quotes if it has unusual characters.
pub fn function_name(line: &str) -> Option<String> {
    let (_, name) = line.split_once('@')?;
    let name = match name.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?.0,
        None => name.split_once('(')?.0,
    };
    Some(name.to_owned())
}

/// The number after these characters.
fn entry<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(before)?;
    Some(rest.split(|character: char| !character.is_ascii_digit()).next().unwrap_or(rest))
}

/// The name of a file without its directories.
fn file_name(rest: &str) -> Option<&str> {
    let (_, name) = rest.split_once("filename: \"")?;
    let (name, _) = name.split_once('"')?;
    Some(name.rsplit('/').next().unwrap_or(name))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_function_has_the_file_of_its_entry() {
        let module = r#"
define dso_local i32 @main(i32 %0) #0 !dbg !10 {
define void @"odd$name"() !dbg !12 {
define void @none() {
!1 = !DIFile(filename: "some/where/main.c", directory: "/")
!2 = !DIFile(filename: "other.c", directory: "/")
!10 = distinct !DISubprogram(name: "main", scope: !1, file: !1, line: 14)
!12 = distinct !DISubprogram(name: "odd", scope: !1, file: !2, line: 1)
"#;
        let files = super::of_functions(module);
        assert_eq!(files.get("main").map(String::as_str), Some("main.c"));
        assert_eq!(files.get("odd$name").map(String::as_str), Some("other.c"));
        assert_eq!(files.len(), 2);
    }
}
