//! Looks for the goals of a program in every way, and says how long that takes.
use allways_bmc::check::{Found, Options, look};
use allways_bmc::{Model, Projection, lang};
fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap();
    let depth: usize = args.next().unwrap().parse().unwrap();
    let seconds: u64 = args.next().unwrap().parse().unwrap();
    let constants: Vec<(String, i64)> = args
        .map(|a| {
            let (n, v) = a.split_once('=').unwrap();
            (n.to_owned(), v.parse().unwrap())
        })
        .collect();
    let source = std::fs::read_to_string(&path).unwrap();
    let program = match lang::compile(&path, &source, &constants) {
        Ok(p) => p,
        Err(e) => {
            for d in e {
                eprintln!("{}", d.render(&path, &source, false));
            }
            return;
        }
    };
    let model = Model::new(program);
    let goals: Vec<_> = model.goals().iter().take(1).cloned().collect();
    for at_once in [true, false] {
        for order in [false, true] {
            for projection in [Projection::Off, Projection::Reads, Projection::Live] {
                let options = Options {
                    depth,
                    at_once,
                    order,
                    projection,
                    time: Some(std::time::Duration::from_secs(seconds)),
                    ..Options::default()
                };
                let looked = look(model.program(), &goals, &options, &|_| ()).unwrap();
                let what: Vec<String> = looked
                    .found
                    .iter()
                    .map(|f| match f {
                        Found::Run(w) => format!("run {}", w.run.steps.len()),
                        other => format!("{other:?}"),
                    })
                    .collect();
                println!(
                    "at_once {at_once:5} order {order:5} {projection:?}\t solving {:8.3} total {:8.3} vars {} clauses {} {what:?}",
                    looked.solving.as_secs_f64(),
                    looked.elapsed.as_secs_f64(),
                    looked.variables,
                    looked.clauses
                );
            }
        }
    }
}
