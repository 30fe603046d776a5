//! Shows every bug of the catalogue as a diagram: `diagrams [WIDTH] [ascii] [color] [NAME]`.

use allways::{Options, TextOptions};

fn main() {
    let mut text = TextOptions::default();
    let mut only = None;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "ascii" => text.unicode = false,
            "color" => text.color = true,
            "all" => text.all_steps = true,
            other => match other.parse() {
                Ok(width) => text.width = width,
                Err(_) => only = Some(other.to_owned()),
            },
        }
    }
    for entry in allways_catalogue::entries() {
        for bug in entry.bugs {
            if only.as_ref().is_some_and(|only| only != bug.name && only != entry.name) {
                continue;
            }
            let system = entry.build(&[("bug", bug.name)]).unwrap();
            let outcome = system.check_with(&Options::from_env().unwrap()).unwrap();
            println!("== {} bug={}\n", entry.name, bug.name);
            match outcome.story {
                Some(story) => println!("{}", story.text(&text)),
                None => println!("no story: {outcome}"),
            }
        }
    }
}
