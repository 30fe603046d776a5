//! Many small systems drawn at random, most of whose steps commute: so much sleeps in them, and some of it
//! wakes up again.

use super::*;
use crate::drawn::{Drawn, drawn};

/// What is met of these bits, and the terminal states.
fn met(seed: u64, mask: u8, options: &Options) -> (Views, Views) {
    let (views, ends) = (Arc::new(Mutex::<Views>::default()), Arc::new(Mutex::<Views>::default()));
    let (all, stuck) = (Arc::clone(&views), Arc::clone(&ends));
    let system = drawn(seed)
        .always("record", view(move |node: &Drawn| node.bits & mask), move |bits| {
            all.lock().unwrap().insert(bits.to_vec());
            true
        })
        .never_stuck("record the end", view(|node: &Drawn| node.bits), move |bits| {
            stuck.lock().unwrap().insert(bits.to_vec());
            true
        });
    assert_eq!(system.try_check(options).unwrap().verdict, Verdict::Holds);
    (views.lock().unwrap().clone(), ends.lock().unwrap().clone())
}

/// Every reduced search with one thread preserves what it has to in this system.
#[track_caller]
fn is_preserved(seed: u64) {
    for mask in [0, 1, 6] {
        let (views, ends) = met(seed, mask, &classic());
        for search in [Search::Bfs, Search::Dfs] {
            for por in [Por::Views, Por::Terminals] {
                let (found, terminal) =
                    met(seed, mask, &Options { search, por: Some(por), ..classic() });
                assert_eq!(terminal, ends, "{seed}, {mask}, {search:?}, {por:?}");
                assert!(por != Por::Views || found == views, "{seed}, {mask}, {search:?}");
            }
            for bad in views.iter().rev().take(2) {
                let never = bad.clone();
                let part = view(move |node: &Drawn| node.bits & mask);
                let system = drawn(seed).always("never", part, move |bits| bits != never);
                let options = Options { search, por: Some(Por::Invariant), ..classic() };
                let verdict = system.try_check(&options).unwrap().verdict;
                assert_eq!(verdict, Verdict::Violated, "{seed}, {mask}, {search:?}, {bad:?}");
            }
        }
    }
}

#[test]
fn reduced_searches_preserve_what_they_have_to() {
    (0..300).for_each(is_preserved);
}
