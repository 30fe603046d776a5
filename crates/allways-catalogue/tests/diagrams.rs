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
fn the_diagram_of_two_phase_commit_shows_who_disagrees_and_why() {
    let text =
        story("two-phase-commit", "majority-commits", Search::Bfs).text(&TextOptions::default());
    assert_eq!(
        text,
        "\
node 0 starts as Transaction { decision: None, prepared: {}, needed: 2 }
nodes 1 to 3 start as Resource { state: Working, unilateral: false }

node  0     1     2     3
      ◇     │     │     │   starts
      │     │     │     │     sets timer Abort
      │     ◇     ◇     ◇   start, each
      │     │     │     │     sets timer Prepare, ChooseAbort
   1  │     ◷     │     │   timer Prepare
      │     │     │     │     state: Working → Prepared
      │     │     │     │     → 0: Prepared
      │     │     │     │     cancels timer ChooseAbort
   2  │     │     ◷     │   timer Prepare
      │     │     │     │     state: Working → Prepared
      │     │     │     │     → 0: Prepared
      │     │     │     │     cancels timer ChooseAbort
▸  3  │     │     │     ◷   timer ChooseAbort
      │     │     │     │     state: Working → Aborted
      │     │     │     │     cancels timer Prepare
   4  ●◀────○     │     │   Prepared from 1, sent at 1
      │     │     │     │     prepared: {} → {1}
   5  ●◀────┼─────○     │   Prepared from 2, sent at 2
      │     │     │     │     prepared: {1} → {1, 2}
      │     │     │     │     sets timer Commit
   6  ◷     │     │     │   timer Commit
      │     │     │     │     decision: None → Some(Commit)
      │     │     │     │     → 1, 2, 3: Decided(Commit)
      │     │     │     │     cancels timer Abort
▸  7  ○────▶●     │     │   Decided(Commit) from 0, sent at 6
      │     │     │     │     state: Prepared → Committed

always `consistent` does not hold:
  node 0 sees None
▸ node 1 sees Some(Committed), since step 7
  node 2 sees Some(Prepared)
▸ node 3 sees Some(Aborted), since step 3
"
    );
}
