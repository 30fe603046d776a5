//! The machine and the targets, in words.

/// The machine: its cores, and how busy it is.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, |cores| cores.get());
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.map_or("", |model| model.trim_start_matches([' ', '\t', ':']));
    format!("{cores} cores {model}{}", load())
}

/// How many processes want to run, on average over the last minute.
pub fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().map_or_else(String::new, |load| format!(", load {load}"))
}

/// The head of the table of targets.
pub fn targets() {
    println!("\n{:<64} {:>9} {:>9}", "target", "wanted", "measured");
}

/// Says whether a number is as large as it should be.
pub fn at_least(what: &str, wanted: f64, measured: f64) {
    target(what, &format!(">= {wanted}"), measured, measured >= wanted);
}

/// Says whether a number is as small as it should be.
pub fn at_most(what: &str, wanted: f64, measured: f64) {
    target(what, &format!("<= {wanted}"), measured, measured <= wanted);
}

/// Says that there is nothing to compare, as a check failed or did not end.
pub fn missed(what: &str) {
    println!("{what:<64} {:>9} {:>9}  MISSED", "", "no end");
}

fn target(what: &str, wanted: &str, measured: f64, met: bool) {
    let verdict = if met { "met" } else { "MISSED" };
    println!("{what:<64} {wanted:>9} {measured:>9.2}  {verdict}");
}
