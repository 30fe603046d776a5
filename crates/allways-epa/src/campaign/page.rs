//! A campaign as a page: one file that needs nothing else, neither a network nor scripts.
//!
//! Names of files, functions, objects and arguments come from the program that was analysed, so everything is escaped.

use super::journal::{Finding, Journal};
use super::outcome::Outcome;
use super::summary::{Row, Summary, place};
use allways_epa_format::Program;
use std::collections::BTreeMap;
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
  max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line);
  vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.wide { width: 40%; min-width: 14rem; }
code { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
.faint { color: var(--faint); }
.wrong { color: var(--crash); font-weight: bold; }
.legend span { margin-right: 1.2rem; white-space: nowrap; }
.legend i { display: inline-block; width: .8rem; height: .8rem; margin-right: .3rem; }
svg { display: block; width: 100%; height: 1.6rem; }
.benign { fill: var(--benign); background: var(--benign); }
.deviation { fill: var(--deviation); background: var(--deviation); }
.sdc { fill: var(--sdc); background: var(--sdc); }
.crash { fill: var(--crash); background: var(--crash); }
.hang { fill: var(--hang); background: var(--hang); }
.interval { stroke: var(--text); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
tr:target { outline: 2px solid var(--deviation); }
";

/// A text in which nothing is taken for a tag.
pub(super) fn escaped(text: &str) -> String {
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
    coverage(&mut page, &summary);
    missed(&mut page, journal, repeat, arguments);
    entries(&mut page, journal, program, &summary);
    spread(&mut page, &summary);
    runs(&mut page, journal, program, repeat, arguments);
    page.push_str("</html>\n");
    page
}

fn coverage(page: &mut String, summary: &Summary) {
    page.push_str(
        "<h2>Coverage</h2>\n<p>The share of runs whose trace deviates from the golden one, by what came of \
         them. The line is the interval in which the true share lies with a probability of 95 %. Propagated are runs in which more \
         deviates than the record in which the fault happened.</p>\n<p class=\"legend\">",
    );
    for outcome in Outcome::ALL {
        let _ =
            write!(page, "<span><i class=\"{}\"></i>{}</span>", outcome.name(), outcome.title());
    }
    page.push_str(
        "</p>\n<table>\n<tr><th>fault<th class=\"number\">runs<th class=\"number\">coverage<th class=\"number\">propagated<th>",
    );
    for outcome in Outcome::ALL {
        let (name, title) = (outcome.name(), outcome.title());
        let _ = write!(page, "<th class=\"number\" title=\"{title}\">{name}");
    }
    page.push_str("<th class=\"number\">missed\n");
    for row in &summary.rows {
        let share = row.coverage();
        let (low, high) = share.interval();
        let _ = write!(
            page,
            "<tr><td>{}<td class=\"number\">{}<td class=\"number\">{}<br><span class=\"faint\">{} – {}</span><td class=\"number\">{}<td class=\"wide\">{}",
            row.kind.name(),
            row.runs(),
            percent(share.value().unwrap_or_default()),
            percent(low),
            percent(high),
            percent(row.propagation().value().unwrap_or_default()),
            bar(row),
        );
        for count in row.outcomes {
            let _ = write!(page, "<td class=\"number\">{count}");
        }
        let class = if row.missed == 0 { "number" } else { "number wrong" };
        let _ = writeln!(page, "<td class=\"{class}\">{}", row.missed);
    }
    page.push_str("</table>\n");
    if summary.idle() > 0 {
        let idle = summary.idle();
        let _ = writeln!(
            page,
            "<p class=\"wrong\">In {idle} of the runs the fault did not happen: they count, but say nothing.</p>"
        );
    }
}

/// A bar of the deviating runs, split by outcome, with the interval.
fn bar(row: &Row) -> String {
    let all = row.runs().max(1) as f64;
    let mut at = 0.0;
    let mut svg =
        "<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" role=\"img\">".to_owned();
    for (outcome, count) in Outcome::ALL.iter().zip(row.deviated) {
        let width = count as f64 / all * 100.0;
        if count > 0 {
            let _ = write!(
                svg,
                "<rect class=\"{}\" x=\"{at:.3}\" y=\"1\" width=\"{width:.3}\" height=\"8\"><title>{}: {count}</title></rect>",
                outcome.name(),
                outcome.title(),
            );
        }
        at += width;
    }
    let (low, high) = row.coverage().interval();
    let (low, high) = (low * 100.0, high * 100.0);
    let _ = write!(
        svg,
        "<path class=\"interval\" d=\"M{low:.3} 5H{high:.3}M{low:.3} 2.5V7.5M{high:.3} 2.5V7.5\" fill=\"none\"/></svg>"
    );
    svg
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
    page.push_str("<table>\n<tr><th>line<th>outcome<th>repeat it\n");
    for (line, finding) in missed.iter().take(MOST_ROWS) {
        let _ = writeln!(
            page,
            "<tr><td><a href=\"#line-{line}\">{line}</a><td>{}<td>{}",
            finding.outcome.title(),
            command(repeat, finding, arguments),
        );
    }
    page.push_str("</table>\n");
}

fn entries(page: &mut String, journal: &Journal, program: &Program, summary: &Summary) {
    page.push_str("<h2>Where errors enter</h2>\n");
    if summary.entered.is_empty() {
        page.push_str("<p>Nowhere: no run deviated.</p>\n");
        return;
    }
    // An example of each, to go on from.
    let mut examples: BTreeMap<String, usize> = BTreeMap::new();
    for (line, finding) in &journal.findings {
        if let Some(site) = finding.entered.as_ref().and_then(|entered| entered.site) {
            examples.entry(place(program, site)).or_insert(*line);
        }
    }
    page.push_str("<table>\n<tr><th>source<th class=\"number\">deviating runs<th>one of them\n");
    for (place, count) in summary.entered.iter().take(MOST_PLACES) {
        let example = examples
            .get(place)
            .map(|line| format!("<a href=\"#line-{line}\">line {line}</a>"))
            .unwrap_or_default();
        let _ = writeln!(
            page,
            "<tr><td><code>{}</code><td class=\"number\">{count}<td>{example}",
            escaped(place)
        );
    }
    page.push_str("</table>\n");
    if let Some(more) = summary.entered.len().checked_sub(MOST_PLACES).filter(|more| *more > 0) {
        let _ = writeln!(page, "<p class=\"faint\">and {more} more places</p>");
    }
}

fn spread(page: &mut String, summary: &Summary) {
    page.push_str("<h2>How far they spread</h2>\n");
    for (what, counts) in [("threads", &summary.threads), ("objects", &summary.objects)] {
        let _ = writeln!(
            page,
            "<table>\n<tr><th class=\"number\">{what} reached<th class=\"number\">runs<th>"
        );
        let most = counts.values().copied().max().unwrap_or(1).max(1) as f64;
        for (number, runs) in counts.iter().take(MOST_PLACES) {
            let width = *runs as f64 / most * 100.0;
            let _ = writeln!(
                page,
                "<tr><td class=\"number\">{number}<td class=\"number\">{runs}<td class=\"wide\">\
                 <svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\"><rect class=\"deviation\" y=\"1\" width=\"{width:.3}\" height=\"8\"/></svg>"
            );
        }
        page.push_str("</table>\n");
    }
    if summary.reached.is_empty() {
        return;
    }
    page.push_str(
        "<table>\n<tr><th>object<th class=\"number\">runs in which an error got into it\n",
    );
    for (object, runs) in summary.reached.iter().take(MOST_PLACES) {
        let _ =
            writeln!(page, "<tr><td><code>{}</code><td class=\"number\">{runs}", escaped(object));
    }
    page.push_str("</table>\n");
}

fn runs(page: &mut String, journal: &Journal, program: &Program, repeat: &str, arguments: &str) {
    let failed = || journal.findings.iter().filter(|(_, f)| f.outcome != Outcome::Benign);
    page.push_str("<h2>Runs in which something happened</h2>\n");
    let more = failed().count().saturating_sub(MOST_ROWS);
    if more > 0 {
        let _ = writeln!(
            page,
            "<p class=\"faint\">The first {MOST_ROWS}; {more} more are in <a href=\"faults.txt\">faults.txt</a>.</p>"
        );
    }
    page.push_str(
        "<table>\n<tr><th class=\"number\">line<th>outcome<th>fault in<th>enters at<th>repeat it\n",
    );
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
            "<tr id=\"line-{line}\"><td class=\"number\">{line}<td>{} <span class=\"faint\">{}</span><td><code>{}</code><td><code>{}</code><td>{}",
            finding.outcome.title(),
            finding.ended,
            escaped(&place(program, finding.fault.site)),
            escaped(&entered),
            command(repeat, finding, arguments),
        );
    }
    page.push_str("</table>\n");
}

#[cfg(test)]
mod tests {
    use super::super::tests::{finding, journal, program};
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
    fn bars_are_as_wide_as_the_share_of_runs_that_deviated() {
        let found = vec![
            finding(0, "benign", false),
            finding(1, "deviation", true),
            finding(2, "crash", true),
            finding(3, "benign", false),
        ];
        let summary = Summary::new(&program(), &journal(found).findings);
        let bar = bar(&summary.rows[0]);
        assert!(bar.contains("class=\"deviation\" x=\"0.000\" y=\"1\" width=\"25.000\""), "{bar}");
        assert!(bar.contains("class=\"crash\" x=\"25.000\" y=\"1\" width=\"25.000\""), "{bar}");
        assert!(!bar.contains("benign"), "{bar}");
    }
}
