//! The figure: for each number of proposals time, states and memory over depth, on a logarithmic scale.

use crate::{Point, Series};
use std::fmt::Write;

const WIDTH: f64 = 260.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 50.0;
const COLOURS: [(&str, &str); 4] =
    [("classic", "#b3261e"), ("global", "#c77700"), ("general", "#1a73e8"), ("views", "#137333")];

/// What a panel shows of a point.
type Shown = (&'static str, fn(&Point) -> f64);

const PANELS: [Shown; 3] = [
    ("CPU seconds", |point| point.seconds),
    ("states (lmc: local states)", |point| point.states as f64),
    ("MiB", |point| point.memory as f64 / (1 << 20) as f64),
];

/// The whole figure as SVG.
pub fn figure(figures: &[(usize, Vec<(&str, Series)>)]) -> String {
    let (step_x, step_y) = (WIDTH + LEFT + 20.0, HEIGHT + 70.0);
    let width = 3.0 * step_x + 10.0;
    let height = TOP + figures.len() as f64 * step_y;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (at, (way, colour)) in COLOURS.iter().enumerate() {
        let x = LEFT + 120.0 * at as f64;
        let name = if ["general", "views"].contains(way) {
            format!("lmc {way}")
        } else {
            (*way).to_owned()
        };
        let _ = writeln!(
            svg,
            "<line x1=\"{x}\" y1=\"16\" x2=\"{}\" y2=\"16\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <text x=\"{}\" y=\"20\">{name}</text>",
            x + 24.0,
            x + 30.0
        );
    }
    for (row, (proposals, all)) in figures.iter().enumerate() {
        for (column, shown) in PANELS.iter().enumerate() {
            let (x, y) = (LEFT + column as f64 * step_x, TOP + row as f64 * step_y);
            panel(&mut svg, (x, y), *shown, *proposals, all);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn panel(
    svg: &mut String,
    (x, y): (f64, f64),
    (title, of): Shown,
    proposals: usize,
    all: &[(&str, Series)],
) {
    let points = || all.iter().flat_map(|(_, series)| series);
    let deepest = points().map(|point| point.depth).max().unwrap_or(1).max(1) as f64;
    let values = points().map(of).filter(|value| *value > 0.0);
    let low = values.clone().fold(f64::MAX, f64::min).log10().floor();
    let high = values.fold(f64::MIN, f64::max).log10().ceil().max(low + 1.0);
    let across = |depth: u64| x + WIDTH * depth as f64 / deepest;
    // What is nothing lies on the axis.
    let up = |value: f64| {
        let height = if value > 0.0 { (value.log10() - low) / (high - low) } else { 0.0 };
        y + HEIGHT * (1.0 - height)
    };
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{}\" font-weight=\"bold\">{title}, proposals: {proposals}</text>\
         <rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"#888\"/>",
        y - 6.0
    );
    for power in low as i32..=high as i32 {
        let at = up(10f64.powi(power));
        let _ = writeln!(
            svg,
            "<line x1=\"{x}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\" stroke=\"#eee\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">1e{power}</text>",
            x + WIDTH,
            x - 4.0,
            at + 4.0
        );
    }
    for depth in (0..=deepest as u64).step_by(if deepest > 20.0 { 6 } else { 4 }) {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{depth}</text>",
            across(depth),
            y + HEIGHT + 14.0
        );
    }
    for (way, series) in all {
        let colour = COLOURS.iter().find(|(name, _)| name == way).map_or("black", |(_, c)| c);
        let line: Vec<String> = series
            .iter()
            .map(|point| format!("{:.1},{:.1}", across(point.depth), up(of(point))))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            line.join(" ")
        );
        // A filled end: everything was covered.
        if let Some(last) = series.last().filter(|point| point.is_complete) {
            let _ = writeln!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\" fill=\"{colour}\"/>",
                across(last.depth),
                up(of(last))
            );
        }
    }
}
