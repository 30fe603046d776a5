//! Where errors enter, and how far they spread: into which threads and objects.

use super::super::journal::Journal;
use super::super::summary::{Summary, place};
use super::{MOST_PLACES, begin_table, end_table, escaped};
use allways_epa_format::Program;
use std::collections::BTreeMap;
use std::fmt::Write as _;

pub(super) fn entries(page: &mut String, journal: &Journal, program: &Program, summary: &Summary) {
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
    begin_table(page, &[("source", false), ("deviating runs", true), ("one of them", false)]);
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
    end_table(page);
    rest(page, summary.entered.len(), "places");
}

pub(super) fn write(page: &mut String, summary: &Summary) {
    page.push_str("<h2>How far they spread</h2>\n");
    for (what, counts) in
        [("threads reached", &summary.threads), ("objects reached", &summary.objects)]
    {
        begin_table(page, &[(what, true), ("runs", true), ("", false)]);
        let counts = grouped(counts);
        let most = counts.iter().map(|(_, runs)| *runs).max().unwrap_or(1).max(1) as f64;
        for (number, runs) in &counts {
            let width = *runs as f64 / most * 100.0;
            let _ = writeln!(
                page,
                "<tr><td class=\"number\">{number}<td class=\"number\">{runs}<td class=\"wide\">\
                 <svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\"><rect class=\"deviation\" y=\"1\" width=\"{width:.3}\" height=\"8\"/></svg>"
            );
        }
        end_table(page);
    }
    if !summary.crossed.is_empty() {
        begin_table(page, &[("fault in thread", false), ("reaches", false), ("runs", true)]);
        for ((from, to), runs) in summary.crossed.iter().take(MOST_PLACES) {
            let _ = writeln!(
                page,
                "<tr><td><code>{}</code><td><code>{}</code><td class=\"number\">{runs}",
                escaped(from),
                escaped(to)
            );
        }
        end_table(page);
        rest(page, summary.crossed.len(), "pairs of threads");
    }
    if !summary.reached.is_empty() {
        begin_table(page, &[("object", false), ("runs in which an error got into it", true)]);
        for (object, runs) in summary.reached.iter().take(MOST_PLACES) {
            let object = escaped(object);
            let _ = writeln!(page, "<tr><td><code>{object}</code><td class=\"number\">{runs}");
        }
        end_table(page);
        rest(page, summary.reached.len(), "objects");
    }
}

/// More rows than this are put together.
const MOST_NUMBERS: usize = 20;

/// How many runs have each number; of many different numbers, those up to the next power of two together.
fn grouped(counts: &BTreeMap<usize, u64>) -> Vec<(String, u64)> {
    if counts.len() <= MOST_NUMBERS {
        return counts.iter().map(|(number, runs)| (number.to_string(), *runs)).collect();
    }
    let mut groups: BTreeMap<usize, u64> = BTreeMap::new();
    for (number, runs) in counts {
        let last =
            if *number == 0 { 0 } else { number.checked_next_power_of_two().unwrap_or(usize::MAX) };
        *groups.entry(last).or_default() += runs;
    }
    let name = |last: usize| match last {
        0..=2 => last.to_string(),
        last => format!("{} – {last}", last / 2 + 1),
    };
    groups.into_iter().map(|(last, runs)| (name(last), runs)).collect()
}

/// How many are not shown.
fn rest(page: &mut String, all: usize, what: &str) {
    if let Some(more) = all.checked_sub(MOST_PLACES).filter(|more| *more > 0) {
        let _ = writeln!(page, "<p class=\"faint\">and {more} more {what}</p>");
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::{finding, journal, program};
    use super::*;

    #[test]
    fn many_different_numbers_are_put_together() {
        let few = BTreeMap::from([(0, 4), (7, 2)]);
        assert_eq!(grouped(&few), [("0".to_owned(), 4), ("7".to_owned(), 2)]);
        let many: BTreeMap<usize, u64> = (0..30).map(|number| (number, 1)).collect();
        let names = [
            ("0", 1),
            ("1", 1),
            ("2", 1),
            ("3 – 4", 2),
            ("5 – 8", 4),
            ("9 – 16", 8),
            ("17 – 32", 13),
        ];
        assert_eq!(grouped(&many), names.map(|(name, runs)| (name.to_owned(), runs)));
    }

    #[test]
    fn errors_go_from_the_thread_of_the_fault_to_others() {
        let mut found: Vec<_> = (0..3).map(|number| finding(number, "crash", true)).collect();
        found[2].threads = (0..70).map(|child| format!("T_0_{child}")).collect();
        let journal = journal(found);
        let summary = Summary::new(&program(), &journal.findings);
        let first = (("T_0_1".to_owned(), "T_0".to_owned()), 2);
        assert_eq!(summary.crossed[0], first);
        let mut page = String::new();
        write(&mut page, &summary);
        let row = "<td><code>T_0_1</code><td><code>T_0</code><td class=\"number\">2";
        assert!(page.contains(row), "{page}");
        // The thread of the fault itself is no other.
        assert_eq!(summary.crossed.len(), 70);
        assert!(page.contains("and 20 more pairs of threads"), "{page}");
        let mut page = String::new();
        entries(&mut page, &journal, &program(), &summary);
        assert!(page.contains("main.c:3 (main)") && page.contains("href=\"#line-"), "{page}");
    }
}
