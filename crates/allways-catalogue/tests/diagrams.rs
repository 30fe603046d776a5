//! Every bug of the catalogue as a diagram.

use allways::{Options, Search, Story, TextOptions};
use allways_catalogue::{entries, find};

fn story(name: &str, bug: &str, search: Search) -> Story {
    let system = find(name).unwrap().build(&[("bug", bug)]).unwrap();
    let options = Options { threads: 1, search, ..Options::default() };
    system.check_with(&options).unwrap().story.expect("the bug shows")
}

#[test]
fn every_bug_has_a_diagram_that_fits() {
    for entry in entries() {
        for bug in entry.bugs {
            // Depth-first search is quick to find something, and its runs are long.
            let story = story(entry.name, bug.name, Search::Dfs);
            for width in [20, 60, 80, 100, 120] {
                for unicode in [true, false] {
                    let options = TextOptions { width, unicode, ..TextOptions::default() };
                    let text = story.text(&options);
                    let what = format!("{} {} {width}\n{text}", entry.name, bug.name);
                    assert!(text.lines().all(|line| line.chars().count() <= width), "{what}");
                    assert!(unicode || text.is_ascii(), "{what}");
                    // Every step is there, and the end.
                    assert!(text.contains(&format!(" {} ", story.steps.len())), "{what}");
                    let words: Vec<&str> = text.split_whitespace().collect();
                    assert!(words.join(" ").contains("does not hold:"), "{what}");
                }
            }
        }
    }
}

#[test]
fn the_diagram_of_an_accumulator_shows_who_is_ahead_and_why() {
    // There is one shortest run.
    let text = story("accumulator", "forward-first", Search::Bfs).text(&TextOptions::default());
    assert_eq!(
        text,
        "\
node 0 starts as Client { numbers: 1, chosen: None }
nodes 1 and 2 start as Server(Server { sum: 0, checkpoint: None, pending: [],
  forward: NumberFirst })

node  0     1     2
      │     ◇     ◇   start, each
      │     │     │     sets timer Checkpoint
   1  ▼     │     │   call Choose
      │     │     │     chooses 0
      │     │     │     chosen: None → Some(0)
      │     │     │     → 1: 1
   2  ○────▶●     │   1 from 0, sent at 1
      │     │     │     pending: [] → [1]
      │     │     │     → 2: 1
      │     │     │     sets timer Add
▸  3  │     ○────▶●   1 from 1, sent at 2
      │     │     │     sum: 0 → 1

always `no secondary is ahead` does not hold:
  node 0 sees None
  node 1 sees Some(0)
▸ node 2 sees Some(1), since step 3
"
    );
}
