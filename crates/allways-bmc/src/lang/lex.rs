//! From characters to tokens.
//!
//! A token knows its place and nothing else but what it is; its text is the source at its place.

use super::diagnostic::Diagnostic;
use super::limits::{MAX_NAME, MAX_NUMBER};
use crate::program::Span;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tok<'a> {
    /// A name that is no keyword.
    Name(&'a str),
    /// A number.
    Number(i64),
    /// A keyword or a sign: its text.
    Sign(&'static str),
    /// The end of the source.
    End,
}

/// A token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token<'a> {
    /// What it is.
    pub tok: Tok<'a>,
    /// Where it is.
    pub span: Span,
}

/// The words that cannot be names.
pub const KEYWORDS: &[&str] = &[
    "always",
    "as",
    "assert",
    "assume",
    "atomic",
    "await",
    "bool",
    "const",
    "either",
    "else",
    "end",
    "exists",
    "false",
    "forall",
    "if",
    "in",
    "init",
    "int",
    "lock",
    "mutex",
    "never",
    "or",
    "process",
    "reachable",
    "shared",
    "skip",
    "true",
    "uint",
    "unlock",
    "while",
];

/// The signs; of two that begin alike, the longer comes first.
const SIGNS: &[&str] = &[
    "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "..", "+", "-", "*", "/", "%", "&", "|", "^",
    "~", "!", "<", ">", "=", "?", ":", ";", ",", ".", "@", "(", ")", "[", "]", "{", "}",
];

/// The tokens of a source, with one [`Tok::End`] at the end. What is no token is reported and left out.
pub fn lex<'a>(source: &'a str, diagnostics: &mut Vec<Diagnostic>) -> Vec<Token<'a>> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &source[at..];
        let start = at;
        if byte.is_ascii_whitespace() {
            at += 1;
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if let Some(comment) = rest.strip_prefix("/*") {
            match comment.find("*/") {
                Some(length) => at += length + 4,
                None => {
                    let message = "this comment is never closed";
                    let diagnostic = Diagnostic::new(message, at..at + 2, "it begins here");
                    diagnostics.push(diagnostic.help("close it with `*/`"));
                    at = source.len();
                }
            }
        } else if byte.is_ascii_alphabetic() || byte == b'_' {
            at += word(rest);
            let text = &source[start..at];
            let keyword = KEYWORDS.iter().find(|keyword| **keyword == text);
            if text.len() > MAX_NAME {
                let message = format!("a name has at most {MAX_NAME} characters");
                let label = format!("this one has {}", text.len());
                diagnostics.push(Diagnostic::new(message, start..at, label));
            }
            let tok = keyword.map_or(Tok::Name(text), |keyword| Tok::Sign(keyword));
            tokens.push(Token { tok, span: start..at });
        } else if byte.is_ascii_digit() {
            at += word(rest);
            let value = number(&source[start..at], start, diagnostics);
            tokens.push(Token { tok: Tok::Number(value), span: start..at });
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            at += sign.len();
            tokens.push(Token { tok: Tok::Sign(sign), span: start..at });
        } else {
            at += strange(rest, start, diagnostics);
        }
    }
    tokens.push(Token { tok: Tok::End, span: source.len()..source.len() });
    tokens
}

/// How many bytes of letters, digits and `_` there are.
fn word(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}

/// The value of a number.
fn number(text: &str, start: usize, diagnostics: &mut Vec<Diagnostic>) -> i64 {
    let (digits, radix) = match text.get(..2) {
        Some("0x" | "0X") => (&text[2..], 16),
        Some("0b" | "0B") => (&text[2..], 2),
        _ => (text, 10),
    };
    let span = start..start + text.len();
    let mut value = Some(0_u64);
    let mut any = false;
    for digit in digits.chars().filter(|digit| *digit != '_') {
        let Some(digit) = digit.to_digit(radix) else {
            let message = format!("`{}` is no number", shown(text));
            let label = format!("`{digit}` is no digit of base {radix}");
            let help = "a name does not begin with a digit";
            diagnostics.push(Diagnostic::new(message, span, label).help(help));
            return 0;
        };
        any = true;
        value = value
            .map(|value| value * u64::from(radix) + u64::from(digit))
            .filter(|value| *value <= MAX_NUMBER);
    }
    match value {
        Some(value) if any => value as i64,
        Some(_) => {
            let message = format!("`{}` is no number", shown(text));
            diagnostics.push(Diagnostic::new(message, span, "it has no digits"));
            0
        }
        None => {
            let message = "this number is too large";
            let label = format!("the largest is {MAX_NUMBER}");
            diagnostics.push(Diagnostic::new(message, span, label));
            0
        }
    }
}

/// The beginning of a text, short enough for a message.
fn shown(text: &str) -> String {
    if text.len() <= 40 { text.to_owned() } else { format!("{}…", &text[..40]) }
}

/// Reports what is no token, up to something that may be one; says how many bytes it has.
fn strange(rest: &str, start: usize, diagnostics: &mut Vec<Diagnostic>) -> usize {
    let fine = |c: char| c.is_ascii() && !c.is_ascii_control() && !"\"'#$`\\".contains(c);
    let length = rest.find(|c: char| fine(c) || c.is_ascii_whitespace()).unwrap_or(rest.len());
    // The first character is no token; it is strange even if it is the rest of a sign.
    let first = rest.chars().next().expect("there is a character");
    let length = length.max(first.len_utf8());
    let message = if length == first.len_utf8() {
        format!("unexpected character `{}`", first.escape_debug())
    } else {
        "unexpected characters".to_owned()
    };
    let help = match first {
        '"' | '\'' => Some("there are no texts: only numbers and `true` and `false`"),
        '#' => Some("comments begin with `//`"),
        '≤' => Some("write `<=`"),
        '≥' => Some("write `>=`"),
        '≠' => Some("write `!=`"),
        '∧' => Some("write `&&`"),
        '∨' => Some("write `||`"),
        '¬' => Some("write `!`"),
        '–' | '−' => Some("write `-`"),
        '\u{a0}' | '\u{200b}' | '\u{feff}' => Some("it is not visible: delete it"),
        _ if first.is_alphabetic() => Some("names are made of the letters a to z, digits and `_`"),
        _ => None,
    };
    let label = "this is no part of the language";
    let diagnostic = Diagnostic::new(message, start..start + length, label);
    diagnostics.push(diagnostic.maybe_help(help.map(str::to_owned)));
    length
}
