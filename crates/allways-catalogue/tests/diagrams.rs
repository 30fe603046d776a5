//! Every bug of the catalogue as a diagram.

use allways::{Options, Search, Story, TextOptions};
use allways_catalogue::{entries, find};

fn story(name: &str, bug: &str, search: Search) -> Story {
    let system = find(name).unwrap().build(&[("bug", bug)]).unwrap();
    // Threads have no states to be searched.
    let search = if system.is_of_threads() { Search::Bfs } else { search };
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
                    let words = words.join(" ");
                    let end = match entry.is_of_threads() {
                        true => words.contains(" panics: ") || words.contains("wait for ever"),
                        false => words.contains("does not hold:"),
                    };
                    assert!(end, "{what}");
                    let of_nodes = ["node ", "nodes ", "starts as"].iter();
                    let says = of_nodes.filter(|word| words.contains(**word)).count();
                    assert_eq!(says == 0, entry.is_of_threads(), "{what}");
                }
            }
        }
    }
}

/// A text without the numbers of lines, which change with every edit.
fn without_lines(text: &str) -> String {
    let mut parts = text.split(".rs:");
    let mut all = parts.next().unwrap().to_owned();
    for part in parts {
        all = all + ".rs" + part.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    all
}

#[test]
fn the_diagram_of_philosophers_shows_who_waits_for_whom() {
    let text = story("dining", "same-order", Search::Bfs).text(&TextOptions::default());
    assert_eq!(
        without_lines(&text).trim_start(),
        "\
      main
      │     philosopher 0
      │     │     philosopher 1
   1  │     ●     │   locks mutex 0 of dining.rs at dining.rs
   2  │     │     ●   locks mutex 1 of dining.rs at dining.rs

deadlock: main, philosopher 0 and philosopher 1 wait for ever
▸ main waits at together.rs for philosopher 0 to end
▸ philosopher 0 waits at dining.rs to lock mutex 1 of dining.rs, which philosopher 1 holds
    since dining.rs
▸ philosopher 1 waits at dining.rs to lock mutex 0 of dining.rs, which philosopher 0 holds
    since dining.rs
"
    );
}

#[test]
fn the_diagram_of_a_buffer_shows_who_came_first_and_who_was_woken() {
    // Wide enough that no line is broken, whatever the numbers.
    let wide = TextOptions { width: 200, ..TextOptions::default() };
    let text = story("bounded-buffer", "if-instead-of-while", Search::Bfs).text(&wide);
    let text = without_lines(&text).replace("bounded_buffer.rs", "it");
    assert_eq!(
        text.trim_start(),
        "\
      main
      │     producer 0
      │     │     consumer 0
      │     │     │     consumer 1
   1  │     │     ●     │   locks the mutex of it at it
   2  │     │     ●     │   unlocks the mutex of it and waits for the condition variable of it at it
   3  │     ●     │     │   locks the mutex of it at it
   4  │     ●     │     │   notifies consumer 0 through the condition variable of it at it
   5  │     ●     │     │   locks the mutex of it at it
   6  │     ●     │     │   unlocks the mutex of it and waits for the condition variable of it at it
   7  │     │     │     ●   locks the mutex of it at it
   8  │     │     │     ●   notifies producer 0 through the condition variable of it at it
   9  │     │     ✖     │   locks the mutex of it at it
      │     │     │     │     panics: an item is taken out where there is none at crates/allways-catalogue/src/it

consumer 0 panics: an item is taken out where there is none at crates/allways-catalogue/src/it
"
    );
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
