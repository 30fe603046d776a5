//! Whether a text is well-formed XML, by the part of XML that the formats use.

/// The first mistake, if there is one.
pub(super) fn check(text: &str) -> Result<(), String> {
    let mut rest =
        text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap_or(text);
    let mut open: Vec<&str> = Vec::new();
    let mut roots = 0;
    while !rest.is_empty() {
        let (content, tail) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
        content_check(content)?;
        if open.is_empty() && !content.trim().is_empty() {
            return Err(format!("text outside: {content}"));
        }
        let Some(tail) = tail.strip_prefix('<') else { break };
        let end = tail.find('>').ok_or_else(|| format!("a tag does not end: {tail}"))?;
        let (tag, after) = (&tail[..end], &tail[end + 1..]);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> closes nothing"));
            }
            continue;
        }
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(format!("<{name}> is no name"));
        }
        attributes_check(attributes)?;
        roots += usize::from(open.is_empty());
        if !closed {
            open.push(name);
        }
    }
    match (open.is_empty(), roots) {
        (true, 1) => Ok(()),
        _ => Err(format!("{roots} roots, and {open:?} are open")),
    }
}

fn attributes_check(mut rest: &str) -> Result<(), String> {
    let mut seen = Vec::new();
    while !rest.trim().is_empty() {
        let (name, value) = rest.split_once("=\"").ok_or_else(|| format!("no value: {rest}"))?;
        let (value, after) = value.split_once('"').ok_or_else(|| format!("no end: {rest}"))?;
        if seen.contains(&name.trim()) {
            return Err(format!("{name} twice"));
        }
        seen.push(name.trim());
        content_check(value)?;
        rest = after;
    }
    Ok(())
}

fn content_check(text: &str) -> Result<(), String> {
    if let Some(c) = text.chars().find(|c| c.is_control() && *c != '\n') {
        return Err(format!("a control character {c:?}"));
    }
    for part in text.split('&').skip(1) {
        let name = part.split_once(';').map(|(name, _)| name);
        if !matches!(name, Some("amp" | "lt" | "gt" | "quot" | "#39")) {
            return Err(format!("a bare ampersand: &{part}"));
        }
    }
    if text.contains("]]>") { Err("]]> in text".to_owned()) } else { Ok(()) }
}

#[test]
fn what_is_not_well_formed_is_found() {
    assert_eq!(check("<a b=\"1\"><c/>x &amp; y</a>"), Ok(()));
    for wrong in ["<a>", "<a></b>", "<a/><b/>", "<a b=\"1\" b=\"2\"/>", "<a>&x</a>", "<a>\u{1}</a>"]
    {
        assert!(check(wrong).is_err(), "{wrong}");
    }
}
