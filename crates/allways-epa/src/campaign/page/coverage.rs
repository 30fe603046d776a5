//! What came of each kind of fault: a table with bars.

use super::super::interval::Share;
use super::super::outcome::Outcome;
use super::super::summary::{Row, Summary};
use super::{begin_table, end_table, percent};
use std::fmt::Write as _;

pub(super) fn write(page: &mut String, summary: &Summary) {
    page.push_str(
        "<h2>Coverage</h2>\n<p>The share of runs whose trace deviates from the golden one, by what came of \
         them. Beside each share, and as a line in the bar, is the interval in which the true share lies with a probability of 95 % (Wilson). Propagated are \
         runs in which more deviates than the record in which the fault happened.</p>\n<p class=\"legend\">",
    );
    for outcome in Outcome::ALL {
        let (name, title) = (outcome.name(), outcome.title());
        let _ = write!(page, "<span><i class=\"{name}\"></i>{title}</span>");
    }
    page.push_str("</p>\n");
    let has_idle = summary.idle() > 0;
    let mut cells = vec![("fault", false), ("runs", true), ("coverage", false)];
    cells.push(("propagated", true));
    cells.extend(Outcome::ALL.map(|outcome| (outcome.name(), true)));
    cells.extend(has_idle.then_some(("not reached", true)));
    cells.push(("missed", true));
    begin_table(page, &cells);
    for row in &summary.rows {
        let _ = write!(
            page,
            "<tr><td>{}<td class=\"number\">{}<td class=\"wide\">{}{}<td class=\"number\">{}",
            row.kind.name(),
            row.runs(),
            share(row.coverage(), " "),
            bar(row),
            share(row.propagation(), "<br>"),
        );
        for count in row.outcomes.into_iter().chain(has_idle.then_some(row.idle)) {
            let _ = write!(page, "<td class=\"number\">{count}");
        }
        let class = if row.missed == 0 { "number" } else { "number wrong" };
        let _ = writeln!(page, "<td class=\"{class}\">{}", row.missed);
    }
    end_table(page);
    if has_idle {
        let idle = summary.idle();
        let _ = writeln!(
            page,
            "<p class=\"wrong\">In {idle} of the runs the fault did not happen, because the thread never came to its place: \
             they are not reached, and count for no share.</p>"
        );
    }
}

/// A share and its interval, with something between them.
fn share(share: Share, between: &str) -> String {
    let (low, high) = share.interval();
    let value = share.value().map_or_else(|| "–".to_owned(), percent);
    format!(
        "{value}{between}<span class=\"faint\">{:.1} – {:.1} %</span>",
        low * 100.0,
        high * 100.0
    )
}

/// A bar of the deviating runs, split by outcome, with the interval.
fn bar(row: &Row) -> String {
    let all = row.struck().max(1) as f64;
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

#[cfg(test)]
mod tests {
    use super::super::super::Finding;
    use super::super::super::tests::{finding, journal, program};
    use super::*;

    #[test]
    fn shares_have_their_intervals_and_what_was_not_reached_has_a_column() {
        let of = |found: Vec<Finding>| {
            let mut page = String::new();
            write(&mut page, &Summary::new(&program(), &journal(found).findings));
            page
        };
        let reached = vec![finding(0, "benign", false), finding(1, "crash", true)];
        let page = of(reached.clone());
        assert!(page.contains("50.0 % <span class=\"faint\">9.5 – 90.5 %"), "{page}");
        assert!(!page.contains("not reached"), "{page}");
        let idle = Finding { injected: false, ..finding(2, "benign", false) };
        let page = of(reached.into_iter().chain([idle]).collect());
        assert!(page.contains("50.0 %<br>"), "what is not reached counts for no share: {page}");
        assert!(page.contains("<th class=\"number\">not reached"), "{page}");
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
