//! Figure 14: time over depth, as numbers and as a picture.

use super::{Measured, goal_of, measure, open};
use allways_bmc::Projection;
use allways_bmc::check::Options;
use std::fmt::Write;
use std::time::Duration;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const MARGIN: f64 = 60.0;

/// A depth, and the time that both ways took.
type Point = (usize, f64, f64);

pub fn figure(time: Duration, picture: Option<&String>) -> Result<(), String> {
    let model = open("litmus-5", &[])?;
    let goal = goal_of(&model, "absent")?;
    println!("depth  BMC (solving, total)  PBMC (solving, total)");
    let mut points: Vec<Point> = Vec::new();
    for depth in 5..=40 {
        let options = |projection| Options {
            depth,
            at_once: true,
            projection,
            time: Some(time),
            ..Options::default()
        };
        let plain: Measured = measure(&model, goal, &options(Projection::Off))?;
        let projected = measure(&model, goal, &options(Projection::Live))?;
        println!("{depth:>5}  {}  {}", plain.shown(), projected.shown());
        points.push((depth, plain.total, projected.total));
        if plain.is_stopped() && projected.is_stopped() {
            break;
        }
    }
    match picture {
        Some(path) => std::fs::write(path, drawn(&points)).map_err(|why| format!("{path}: {why}")),
        None => Ok(()),
    }
}

/// The curves, with seconds on a logarithmic scale.
fn drawn(points: &[Point]) -> String {
    let times = || points.iter().flat_map(|(_, a, b)| [*a, *b]).map(|time| time.max(1e-5).log10());
    let least = times().fold(f64::INFINITY, f64::min).floor();
    let most = times().fold(f64::NEG_INFINITY, f64::max).ceil().max(least + 1.0);
    let (first, last) = (points[0].0 as f64, points[points.len() - 1].0 as f64);
    let x =
        |depth: f64| MARGIN + (depth - first) / (last - first).max(1.0) * (WIDTH - 2.0 * MARGIN);
    let y =
        |power: f64| HEIGHT - MARGIN - (power - least) / (most - least) * (HEIGHT - 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{MARGIN}\" y=\"24\" font-size=\"14\">Litmus 5, a property that nothing reaches: total time over depth</text>\n"
    );
    for power in least as i32..=most as i32 {
        let at = y(f64::from(power));
        let _ = writeln!(
            svg,
            "<line x1=\"{MARGIN}\" x2=\"{}\" y1=\"{at}\" y2=\"{at}\" stroke=\"#ddd\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{} s</text>",
            WIDTH - MARGIN,
            MARGIN - 6.0,
            at + 4.0,
            10_f64.powi(power)
        );
    }
    for (depth, _, _) in points.iter().filter(|(depth, _, _)| depth % 5 == 0) {
        let (at, down) = (x(*depth as f64), HEIGHT - MARGIN + 18.0);
        let _ =
            writeln!(svg, "<text x=\"{at}\" y=\"{down}\" text-anchor=\"middle\">{depth}</text>");
    }
    let time_of: [fn(&Point) -> f64; 2] = [|point| point.1, |point| point.2];
    let curves = [("BMC", "#c0392b"), ("PBMC", "#2471a3")];
    for (place, (name, colour)) in curves.into_iter().enumerate() {
        let time = time_of[place];
        let points: Vec<String> = points
            .iter()
            .map(|point| {
                format!("{:.1},{:.1}", x(point.0 as f64), y(time(point).max(1e-5).log10()))
            })
            .collect();
        let down = 50 + 18 * place;
        let _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>\
             <text x=\"{}\" y=\"{down}\" fill=\"{colour}\">{name}</text>",
            points.join(" "),
            MARGIN + 20.0
        );
    }
    svg.push_str("</svg>\n");
    svg
}
