//! A campaign as a page: one file that needs nothing else, neither a network nor scripts.
//!
//! Names of files, functions, objects and arguments come from the program that was analysed, so everything is escaped. A table that is wider than the
//! window scrolls by itself, so that nothing of it is cut off and the text around it stays where it is.
//!
//! | file | what |
//! |---|---|
//! | `coverage.rs` | what came of each kind of fault |
//! | `spread.rs` | where errors enter, and how far they spread |

mod coverage;
mod spread;

use super::journal::{Finding, Journal};
use super::outcome::Outcome;
use super::summary::{Summary, place};
use allways_epa_format::Program;
use std::fmt::Write as _;

/// More rows than this nobody reads: the rest is in the file of the campaign.
const MOST_ROWS: usize = 1000;
const MOST_PLACES: usize = 50;

const STYLE: &str = "\
:root { color-scheme: light dark; --back: #fff; --text: #1a1a1a; --faint: #666; --line: #ddd;
  --benign: #b8c4ce; --deviation: #5b9bd5; --sdc: #e0a030; --crash: #c8453c; --hang: #7d4fa3; }
@media (prefers-color-scheme: dark) { :root { --back: #16181c; --text: #e6e6e6; --faint: #9aa0a6;
  --line: #34383e; --benign: #4a5560; } }
body { background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif;
  max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .5rem; border-bottom: 1px solid var(--line);
  vertical-align: top; }
@media (max-width: 60rem) { table { font-size: 13px; } th, td { padding: .3rem; } }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.wide { width: 40%; min-width: 9.5rem; }
td.long { min-width: 16rem; }
code { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
.faint { color: var(--faint); }
td .faint { white-space: nowrap; }
.wrong { color: var(--crash); font-weight: bold; }
.legend span { margin-right: 1.2rem; white-space: nowrap; }
.legend i { display: inline-block; width: .8rem; height: .8rem; margin-right: .3rem; }
svg { display: block; width: 100%; height: 1.4rem; }
.benign { fill: var(--benign); background: var(--benign); }
.deviation { fill: var(--deviation); background: var(--deviation); }
.sdc { fill: var(--sdc); background: var(--sdc); }
.crash { fill: var(--crash); background: var(--crash); }
.hang { fill: var(--hang); background: var(--hang); }
.interval { stroke: var(--text); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
tr:target { outline: 2px solid var(--deviation); }
";

/// A text in which nothing is taken for a tag.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
    out
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The page of a campaign. `repeat` is the command that repeats a run when a fault is put behind it in quotes, then `arguments`.
pub fn page(journal: &Journal, program: &Program, repeat: &str, arguments: &str) -> String {
    let summary = Summary::new(program, &journal.findings);
    let name = escaped(&program.name);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Error propagation in {name}</title>\n<style>\n{STYLE}</style>\n\
         <h1>Error propagation in {name}</h1>\n"
    );
    let _ = writeln!(
        page,
        "<p>{} runs, each with one fault. Arguments: <code>{}</code>. Seed: {}.</p>",
        summary.runs(),
        escaped(match journal.said("arguments") {
            "" => "none",
            arguments => arguments,
        }),
        escaped(journal.said("seed")),
    );
    if journal.said("checked") == "no" {
        page.push_str(
            "<p class=\"wrong\">That the golden run is pseudo-deterministic was not checked: what deviates may do so by chance.</p>\n",
        );
    }
    coverage::write(&mut page, &summary);
    missed(&mut page, journal, repeat, arguments);
    spread::entries(&mut page, journal, program, &summary);
    spread::write(&mut page, &summary);
    runs(&mut page, journal, program, repeat, arguments);
    page.push_str("</html>\n");
    page
}

/// Begins a table with these cells in its first row: each a name, and whether numbers are below it.
fn begin_table(page: &mut String, cells: &[(&str, bool)]) {
    page.push_str("<div class=\"scroll\"><table>\n<tr>");
    for (name, is_number) in cells {
        let class = if *is_number { " class=\"number\"" } else { "" };
        let _ = write!(page, "<th{class}>{name}");
    }
    page.push('\n');
}

fn end_table(page: &mut String) {
    page.push_str("</table></div>\n");
}

fn command(repeat: &str, finding: &Finding, arguments: &str) -> String {
    let fault = &finding.fault;
    format!(
        "<code>{} \"{}\" {}</code>",
        escaped(repeat),
        escaped(&fault.to_string()),
        escaped(arguments)
    )
}

fn missed(page: &mut String, journal: &Journal, repeat: &str, arguments: &str) {
    let missed: Vec<&(usize, Finding)> =
        journal.findings.iter().filter(|(_, finding)| finding.is_missed()).collect();
    page.push_str("<h2>Missed</h2>\n");
    if missed.is_empty() {
        page.push_str("<p>None: whatever went wrong is in the trace.</p>\n");
        return;
    }
    let _ = writeln!(
        page,
        "<p class=\"wrong\">{} failed without any deviation of the trace. Output or status of the program depends on something that is not in its trace.</p>",
        match missed.len() {
            1 => "1 run".to_owned(),
            count => format!("{count} runs"),
        }
    );
    begin_table(page, &[("line", true), ("outcome", false), ("repeat it", false)]);
    for (line, finding) in missed.iter().take(MOST_ROWS) {
        let _ = writeln!(
            page,
            "<tr><td class=\"number\"><a href=\"#line-{line}\">{line}</a><td>{}<td class=\"long\">{}",
            finding.outcome.title(),
            command(repeat, finding, arguments),
        );
    }
    end_table(page);
}

fn runs(page: &mut String, journal: &Journal, program: &Program, repeat: &str, arguments: &str) {
    let failed =
        || journal.findings.iter().filter(|(_, f)| f.outcome != Outcome::Benign || !f.injected);
    page.push_str("<h2>Runs in which something happened</h2>\n");
    let more = failed().count().saturating_sub(MOST_ROWS);
    if more > 0 {
        let _ = writeln!(
            page,
            "<p class=\"faint\">The first {MOST_ROWS}; {more} more are in <a href=\"faults.txt\">faults.txt</a>.</p>"
        );
    }
    let cells = [
        ("line", true),
        ("outcome", false),
        ("fault in", false),
        ("enters at", false),
        ("repeat it", false),
    ];
    begin_table(page, &cells);
    for (line, finding) in failed().take(MOST_ROWS) {
        let entered = match &finding.entered {
            Some(entered) => match entered.site {
                Some(site) => format!("{} of {}", place(program, site), entered.thread),
                None => format!("an event of {}", entered.thread),
            },
            None => String::new(),
        };
        let _ = writeln!(
            page,
            "<tr id=\"line-{line}\"><td class=\"number\">{line}<td>{} <span class=\"faint\">{}</span><td><code>{}</code><td><code>{}</code><td class=\"long\">{}",
            if finding.injected { finding.outcome.title() } else { "not reached" },
            finding.ended,
            escaped(&place(program, finding.fault.site)),
            escaped(&entered),
            command(repeat, finding, arguments),
        );
    }
    end_table(page);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{finding, journal, program, unchecked};
    use super::*;

    #[test]
    fn nothing_of_the_program_is_taken_for_a_tag() {
        let mut program = program();
        program.name = "<script>alert(1)</script>".into();
        for site in &mut program.sites {
            site.file = "\"><img src=x>.c".into();
            site.function = "f<int>".into();
        }
        let mut found = finding(0, "crash", true);
        found.objects = vec!["<b>&".into()];
        found.threads = vec!["<i>".into()];
        found.fault.thread = "<u>".into();
        let page = page(&journal(vec![found]), &program, "allways '<x>'", "-- '<y>'");
        for tag in ["<script", "<img", "<int", "<b>", "<i>T", "<u>", "<x>", "<y>"] {
            assert!(!page.contains(tag), "{tag}");
        }
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        assert!(page.contains("&lt;b&gt;&amp;"));
        // Nothing is fetched from anywhere.
        for fetch in ["http", "<link", "url(", "@import"] {
            assert!(!page.contains(fetch), "{fetch}");
        }
    }

    #[test]
    fn what_was_missed_is_listed_and_can_be_repeated() {
        let found = vec![finding(0, "benign", false), finding(1, "sdc", false)];
        let text = page(&journal(found), &program(), "allways epa record a.c --fault", "-- 1");
        assert!(text.contains("1 run failed without any deviation"), "{text}");
        let command = "allways epa record a.c --fault &quot;bitflip";
        assert!(text.replace("\"bitflip", "&quot;bitflip").contains(command), "{text}");
        let none = page(&journal(vec![finding(0, "sdc", true)]), &program(), "x", "");
        assert!(none.contains("None: whatever went wrong is in the trace."), "{none}");
        assert!(none.contains("id=\"line-") && none.contains("href=\"#line-"), "{none}");
    }

    #[test]
    fn a_campaign_without_runs_is_a_page_too() {
        let text = page(&journal(Vec::new()), &program(), "x", "");
        assert!(text.contains("0 runs") && text.contains("no run deviated"), "{text}");
    }

    #[test]
    fn every_table_scrolls_by_itself() {
        let found = vec![finding(0, "crash", true), finding(1, "sdc", false)];
        let text = page(&journal(found), &program(), "x", "");
        let count = |what: &str| text.matches(what).count();
        assert!(count("<table>") > 5, "{text}");
        assert_eq!(count("<table>"), count("<div class=\"scroll\"><table>"));
        assert_eq!(count("<table>"), count("</table></div>"));
        assert!(text.contains(".scroll { overflow-x: auto;"));
    }

    #[test]
    fn what_was_not_checked_is_told() {
        let text = |journal| page(&journal, &program(), "x", "");
        assert!(!text(journal(Vec::new())).contains("was not checked"));
        assert!(text(unchecked()).contains("was not checked"));
    }
}
