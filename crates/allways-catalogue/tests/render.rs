//! The run of every bug of the catalogue in every format: it can be read by what the format is
//! for, and has everything that happened.

use allways::{About, Checkable, Format, Options, Outcome, RunEventKind, Search, Story, Trouble};
use allways_catalogue::entries;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

/// A bug that was found.
struct Found {
    name: String,
    outcome: Outcome,
    story: Story,
    about: About,
    system: Box<dyn Checkable>,
}

/// Every bug, searched for once.
fn bugs() -> &'static [Found] {
    static BUGS: LazyLock<Vec<Found>> = LazyLock::new(search);
    &BUGS
}

fn search() -> Vec<Found> {
    let mut found = Vec::new();
    for entry in entries() {
        for bug in entry.bugs {
            let parameters = entry.parameters(&[("bug", bug.name)]).unwrap();
            let system = entry.build_with(&parameters).unwrap();
            // Depth-first search finds all of them soon; the runs are minimised. Threads have no states to be searched.
            let search = if system.is_of_threads() { Search::Bfs } else { Search::Dfs };
            let options = Options { search, threads: 1, ..Options::default() };
            let outcome = system.check_with(&options).unwrap();
            let mut about = About::default().system(entry.name).engine(&*outcome.engine);
            for (name, value) in parameters.iter() {
                about = about.parameter(name, value);
            }
            let name = format!("{} {}", entry.name, bug.name);
            let story = outcome.story.clone().unwrap_or_else(|| panic!("{name}: {outcome}"));
            found.push(Found { name, outcome, story, about, system });
        }
    }
    assert!(found.len() > 9, "the catalogue has bugs");
    found
}

/// How many steps are of one of these kinds.
fn steps(story: &Story, kinds: &[RunEventKind]) -> usize {
    story.steps.iter().filter(|step| kinds.contains(&step.event.kind)).count()
}

#[test]
fn pictures_are_well_formed_and_have_a_shape_for_every_step() {
    for Found { name, story, about, system, .. } in bugs() {
        let picture = story.render(Format::Svg, about);
        let picture =
            roxmltree::Document::parse(&picture).unwrap_or_else(|e| panic!("{name}: {e}"));
        let with = |class: &str| {
            let is = |node: &roxmltree::Node<'_, '_>| {
                node.attribute("class").is_some_and(|all| all.split(' ').any(|one| one == class))
            };
            picture.descendants().filter(is).count()
        };
        assert_eq!(with("step"), story.steps.len(), "{name}");
        let messages = [RunEventKind::Message, RunEventKind::Duplicate, RunEventKind::Call];
        // Between threads, they are drawn from who sends to who receives.
        if !system.is_of_threads() {
            assert_eq!(with("head"), steps(story, &messages), "{name}");
        }
        assert!(with("end") + with("read") > 0, "{name} says what breaks it");
    }
}

#[test]
fn pages_carry_every_step_and_nothing_from_outside() {
    for Found { name, story, about, .. } in bugs() {
        let page = story.render(Format::Html, about);
        let (_, data) = page.split_once("id=\"story\">").unwrap();
        let data = data.split_once("</script>").unwrap().0;
        let data: Value = serde_json::from_str(data).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(data["steps"].as_array().unwrap().len(), story.steps.len(), "{name}");
        assert_eq!(data["moments"].as_array().unwrap().len(), story.steps.len() + 1, "{name}");
        assert_eq!(page.matches("<li role=\"option\"").count(), story.steps.len() + 1, "{name}");
        assert!(
            !page.contains("src=") && !page.contains("http:") && !page.contains("https:"),
            "{name}"
        );
    }
}

#[test]
fn what_is_shown_of_threads_does_not_speak_of_nodes() {
    let formats =
        [Format::Svg, Format::Html, Format::Mermaid, Format::Dot, Format::Itf, Format::Test];
    for Found { name, story, about, system, .. } in bugs() {
        for format in formats {
            let text = story.render(format, about);
            // Without the style and the script, which are the same for all.
            let text = text.split("<script>").next().unwrap();
            let text = text.split("</style>").last().unwrap();
            let words = ["node 0", "node_0", "nodes start", "every node", "handler"];
            let speaks = words.iter().any(|word| text.contains(word));
            assert!(!speaks || !system.is_of_threads(), "{name} {format:?}\n{text}");
            // A thread that does nothing need not be spoken of.
            let acts = |node: &usize| story.steps.iter().any(|step| step.event.node == Some(*node));
            let acting = (0..story.nodes.len()).filter(acts).map(|node| &story.nodes[node]);
            for thread in acting.filter(|_| system.is_of_threads()) {
                assert!(text.contains(thread.as_str()), "{name} {format:?}: {thread}\n{text}");
            }
        }
    }
}

#[test]
fn sequence_diagrams_have_an_arrow_for_every_delivery() {
    for Found { name, story, about, system, .. } in bugs() {
        let diagram = story.render(Format::Mermaid, about);
        assert!(diagram.starts_with("sequenceDiagram\n"), "{name}");
        let arrows = diagram.lines().filter(|line| line.contains("->>n")).count();
        let messages = [RunEventKind::Message, RunEventKind::Duplicate, RunEventKind::Call];
        if !system.is_of_threads() {
            assert_eq!(arrows, steps(story, &messages), "{name}\n{diagram}");
        }
        let codes = diagram.matches('#').count();
        let ends = diagram.matches(';').count();
        assert_eq!(codes, ends, "{name}: every code of a character ends, nothing else does");
    }
}

#[test]
fn logs_have_clocks_that_grow() {
    for Found { name, story, about, .. } in bugs() {
        let log = story.render(Format::Shiviz, about);
        let lines: Vec<&str> = log.lines().skip(2).collect();
        assert_eq!(lines.len() % 2, 0, "{name}");
        let calls = steps(story, &[RunEventKind::Call]);
        assert_eq!(lines.len() / 2, story.nodes.len() + story.steps.len() + calls, "{name}");
        let mut last: HashMap<&str, u64> = HashMap::new();
        for pair in lines.chunks(2) {
            let (host, clock) = pair[0].split_once(' ').unwrap();
            let clock: Value = serde_json::from_str(clock).unwrap();
            let before = last.insert(host, clock[host].as_u64().unwrap()).unwrap_or(0);
            assert_eq!(last[host], before + 1, "{name}\n{log}");
        }
    }
}

#[test]
fn graphs_have_a_node_for_every_step() {
    for Found { name, story, about, .. } in bugs() {
        let graph = story.render(Format::Dot, about);
        for step in 0..story.steps.len() {
            assert!(graph.contains(&format!(" s{step} [label=")), "{name}\n{graph}");
        }
        assert!(graph.starts_with("digraph run {\n") && graph.ends_with("}\n"), "{name}");
    }
}

#[test]
fn traces_have_a_typed_state_for_every_moment() {
    for Found { name, story, about, system, .. } in bugs() {
        let trace = story.render(Format::Itf, about);
        let trace: Value = serde_json::from_str(&trace).unwrap_or_else(|e| panic!("{name}: {e}"));
        let states = trace["states"].as_array().unwrap();
        assert_eq!(states.len(), story.steps.len() + 1, "{name}");
        for node in 0..story.nodes.len() {
            // One place has one type: records have the same fields in every state.
            let kind = if system.is_of_threads() { "thread" } else { "node" };
            let node = format!("{kind}_{node}");
            let fields = |state: &Value| -> Option<Vec<String>> {
                Some(state[&node].as_object()?.keys().cloned().collect())
            };
            let first = fields(&states[0]);
            let tagged = first.as_ref().is_some_and(|fields| fields.contains(&"tag".to_owned()));
            assert!(tagged || states.iter().all(|state| fields(state) == first), "{name} {node}");
            assert!(!states[0][&node].is_null(), "{name} {node}");
        }
    }
}

#[test]
fn stories_as_json_have_everything() {
    for Found { name, story, about, .. } in bugs() {
        let json: Value = serde_json::from_str(&story.render(Format::Json, about)).unwrap();
        assert_eq!(json["steps"].as_array().unwrap().len(), story.steps.len(), "{name}");
        assert_eq!(json["envelopes"].as_array().unwrap().len(), story.envelopes.len(), "{name}");
        assert_eq!(json["about"]["system"].as_str(), about.system.as_deref(), "{name}");
    }
}

#[test]
fn reports_for_continuous_integration_have_one_failure() {
    for Found { name, outcome, system, .. } in bugs() {
        let properties = system.property_names();
        let report = outcome.junit(name, &properties, "");
        let report = roxmltree::Document::parse(&report).unwrap_or_else(|e| panic!("{name}: {e}"));
        let all =
            |tag: &'static str| report.descendants().filter(move |node| node.has_tag_name(tag));
        // Besides the properties, that no handler panics; of threads, that they neither panic nor get into trouble.
        let more = if system.is_of_threads() { 1 + Trouble::ALL.len() } else { 1 };
        assert_eq!(all("testcase").count(), properties.len() + more, "{name}");
        assert_eq!(all("failure").count(), 1, "{name}");
        let suite = all("testsuite").next().unwrap();
        assert_eq!(suite.attribute("failures"), Some("1"), "{name}");
        // The usual schema: properties first, then the cases; each with a name and a time.
        let children: Vec<&str> =
            suite.children().filter(|n| n.is_element()).map(|n| n.tag_name().name()).collect();
        assert_eq!(children[0], "properties", "{name}");
        assert!(children[1..].iter().all(|child| *child == "testcase"), "{name}");
        for case in all("testcase") {
            for attribute in ["name", "classname", "time"] {
                assert!(case.attribute(attribute).is_some(), "{name} {attribute}");
            }
        }
    }
}
