//! One self-contained page to look through a run in a browser: `html.css` and `html.js` are put
//! into it, nothing is fetched.
//!
//! The list of steps and the lanes are written here, so that they can be read without a script.
//! There are two diagrams: of everything, and of what matters to the end alone. The script shows
//! states, which it gets as JSON, and only ever sets text, never markup.

use super::About;
use super::diagram::{Diagram, lane_width};
use super::moments::moments;
use super::pretty::pretty;
use super::words::{changes, class, clip, ends_badly, escape, headline, plain, plain_lines};
use crate::json::{Value, json};
use crate::outcome::Cause;
use crate::outcome::story::{Story, StoryEnding, StoryEnvelope, StoryStep};
use std::collections::HashMap;
use std::fmt::Write;

/// How high a row is; `html.css` says the same.
const ROW: f64 = 46.0;

/// The story as a page.
pub(super) fn render(story: &Story, about: &About) -> String {
    let title = headline(story);
    let bad = story.ending.as_ref().is_some_and(|ending| ending.cause.is_some());
    let mut out = String::new();
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
        escape(&title),
        include_str!("html.css")
    );
    header(&mut out, &title, about, bad, story.steps.iter().all(|step| step.matters));
    out.push_str("<main>\n");
    diagram(&mut out, story);
    out.push_str(&panel(story));
    let data = data(story).to_string().replace('<', "\\u003c");
    let _ = write!(
        out,
        "</main>\n<div id=\"hint\" aria-hidden=\"true\" hidden></div>\n\
         <script type=\"application/json\" id=\"story\">{data}</script>\n\
         <script>\n{}</script>\n</body>\n</html>\n",
        include_str!("html.js")
    );
    out
}

/// Where the script shows what it knows of the current step and state.
fn panel(story: &Story) -> String {
    let (reads, global, hidden) = match story.is_of_threads() {
        true => ("Where the threads stand", "What each thread did last", "Details"),
        false => ("What the property reads", "Global state", "The states"),
    };
    let of =
        if story.is_of_threads() { "what threads did last" } else { "the global state after it" };
    format!(
        "\
<aside id=\"panel\" tabindex=\"0\" aria-label=\"The current step and {of}\">
<noscript><p>{hidden} are shown by a script, which this browser does not run.</p></noscript>
<section id=\"step\" aria-label=\"Step\"></section>
<section id=\"reads\" aria-label=\"{reads}\"></section>
<section id=\"global\" aria-label=\"{global}\"></section>
</aside>
"
    )
}

fn header(out: &mut String, title: &str, about: &About, bad: bool, all_matter: bool) {
    let class = if bad { " class=\"bad\"" } else { "" };
    let _ = write!(
        out,
        "<header>\n<div class=\"what\">\n<h1{class}>{}</h1>\n<p>{}",
        escape(title),
        escape(&about.line())
    );
    if let Some(replay) = &about.replay {
        let _ = write!(out, " <code>{}</code>", escape(replay));
    }
    let (disabled, why) = match all_matter {
        true => (" disabled", "Every step is in the causal past of the end"),
        false => ("", "Hides the steps that the end does not follow from (m)"),
    };
    let icon = |path: &str| {
        format!(
            "<svg class=\"icon\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path d=\"{path}\"/></svg>"
        )
    };
    let (first, back) = (icon("M3 2v12M13 2L5 8l8 6z"), icon("M12 2L4 8l8 6z"));
    let (forward, last) = (icon("M4 2l8 6-8 6z"), icon("M13 2v12M3 2l8 6-8 6z"));
    let theme = icon("M8 2a6 6 0 1 0 0 12z\"/><path fill=\"none\" d=\"M8 2a6 6 0 1 1 0 12");
    let _ = write!(
        out,
        "</p>\n</div>\n<div class=\"controls\" role=\"toolbar\" aria-label=\"Steps\">\n\
         <button id=\"first\" title=\"Start (Home)\" aria-label=\"To the start\">{first}</button>\n\
         <button id=\"back\" title=\"Back (←, ↑, k)\" aria-label=\"One step back\">{back}</button>\n\
         <output id=\"place\" role=\"status\" aria-live=\"polite\"></output>\n\
         <button id=\"forward\" title=\"Forward (→, ↓, j)\" aria-label=\"One step forward\">{forward}</button>\n\
         <button id=\"last\" title=\"End (End)\" aria-label=\"To the end\">{last}</button>\n\
         <label title=\"{why}\"><input type=\"checkbox\" id=\"past\"{disabled}> only what \
         matters</label>\n\
         <button id=\"theme\" title=\"Light or dark (t)\" aria-label=\"Light or dark\" \
         aria-pressed=\"false\">{theme}</button>\n</div>\n</header>\n"
    );
}

/// The list of steps, and the lanes beside it.
fn diagram(out: &mut String, story: &Story) {
    let lane = lane_width(story);
    let left = lane * 0.5;
    let width = left * 2.0 + lane * story.nodes.len() as f64;
    let _ = write!(
        out,
        "<div id=\"run\" tabindex=\"-1\">\n<div class=\"heads\">\
         <div class=\"corner\">{} events</div>\
         <div class=\"names\" style=\"width:{width}px;padding:0 {left}px\">",
        story.steps.len()
    );
    for name in &story.nodes {
        let name = escape(name);
        let _ = write!(out, "<div style=\"width:{lane}px\" title=\"{name}\">{name}</div>");
    }
    out.push_str(
        "</div></div>\n<div class=\"body\">\n\
         <ol id=\"list\" role=\"listbox\" tabindex=\"0\" aria-label=\"Steps\">\n",
    );
    let started = match story.is_of_threads() {
        true => "no thread has touched what it shares",
        false => "every node has started",
    };
    let _ = writeln!(
        out,
        "<li role=\"option\" id=\"at-0\" data-at=\"0\"><b>0</b><span class=\"words\">\
         the start</span><span class=\"change\">{started}</span></li>"
    );
    for (index, step) in story.steps.iter().enumerate() {
        row(out, story, index, step);
    }
    out.push_str("</ol>\n");
    let steps = 0..story.steps.len();
    lanes(out, story, "all", steps.clone().collect(), (lane, left, width));
    if story.steps.iter().any(|step| !step.matters) {
        let past = steps.filter(|&step| story.steps[step].matters).collect();
        lanes(out, story, "past", past, (lane, left, width));
    }
    out.push_str("</div>\n</div>\n");
}

fn row(out: &mut String, story: &Story, index: usize, step: &StoryStep) {
    let number = index + 1;
    let faint = if step.matters { "" } else { " faint" };
    let bad = if ends_badly(story, index) { " bad" } else { "" };
    let changed = changes(step, 40).join(", ");
    let alone = if changed.is_empty() { " alone" } else { "" };
    let _ = writeln!(
        out,
        "<li role=\"option\" id=\"at-{number}\" data-at=\"{number}\" class=\"{}{faint}{bad}{alone}\">\
         <b>{number}</b><span class=\"words\">{}</span><span class=\"change\">{}</span></li>",
        class(step.event.kind),
        escape(&step.event.to_string()),
        escape(&clip(&plain(&changed), 200))
    );
}

fn lanes(
    out: &mut String,
    story: &Story,
    class: &str,
    steps: Vec<usize>,
    (lane, left, width): (f64, f64, f64),
) {
    let middle = |place: usize| ROW * (place as f64 + 0.5);
    let height = ROW * (steps.len() as f64 + 1.0);
    let rows = steps.into_iter().enumerate().map(|(place, step)| (step, middle(place + 1)));
    let diagram = Diagram {
        story,
        rows: rows.collect(),
        start: middle(0),
        top: 0.0,
        bottom: height,
        left,
        lane,
        row: Some(ROW),
    };
    let _ = write!(
        out,
        "<svg class=\"{class}\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"Space-time diagram\">\n{}</svg>\n",
        diagram.shapes()
    );
}

/// Every text once: states repeat.
#[derive(Default)]
struct Texts {
    list: Vec<String>,
    places: HashMap<(String, bool), usize>,
}

impl Texts {
    fn place(&mut self, text: &str) -> usize {
        self.place_as(text, false)
    }

    /// A state: broken into its fields even if it is short, so that states can be compared.
    fn state(&mut self, text: &str) -> usize {
        self.place_as(text, true)
    }

    fn place_as(&mut self, text: &str, broken: bool) -> usize {
        let list = &mut self.list;
        *self.places.entry((text.to_owned(), broken)).or_insert_with(|| {
            list.push(plain_lines(&pretty(text, broken)));
            list.len() - 1
        })
    }
}

fn plains(texts: &[impl AsRef<str>]) -> Vec<String> {
    texts.iter().map(|text| plain(text.as_ref())).collect()
}

/// What the script needs. States and messages are places in `texts`.
fn data(story: &Story) -> Value {
    let mut texts = Texts::default();
    let moments: Vec<Value> = moments(story)
        .into_iter()
        .map(|moment| {
            let mut places = |states: &[&str]| -> Vec<usize> {
                states.iter().map(|state| texts.state(state)).collect()
            };
            json!({
                "states": places(&moment.states),
                "observers": places(&moment.observers),
                "timers": moment.timers.iter().map(|timers| plains(timers)).collect::<Vec<_>>(),
                "up": moment.up,
            })
        })
        .collect();
    let steps: Vec<Value> = story.steps.iter().map(|step| step_data(step, &mut texts)).collect();
    let envelopes: Vec<Value> =
        story.envelopes.iter().map(|envelope| envelope_data(envelope, &mut texts)).collect();
    json!({
        "threads": story.is_of_threads(),
        "nodes": plains(&story.nodes),
        "observers": plains(&story.observers),
        "moments": moments,
        "steps": steps,
        "envelopes": envelopes,
        "ending": story.ending.as_ref().map(|ending| ending_data(story, ending, &mut texts)),
        "texts": texts.list,
    })
}

fn step_data(step: &StoryStep, texts: &mut Texts) -> Value {
    let mut state = |state: &String| (!state.is_empty()).then(|| texts.state(state));
    let (before, after) = (state(&step.before), state(&step.after));
    let observed: Vec<[usize; 3]> = (step.observed.iter())
        .map(|moved| [moved.observer, texts.state(&moved.before), texts.state(&moved.after)])
        .collect();
    json!({
        "kind": class(step.event.kind),
        "node": step.event.node,
        "what": plain(&step.event.what),
        "text": plain(&step.event.to_string()),
        "envelope": step.envelope,
        "sent": step.sent,
        "lost": step.lost,
        "outputs": plains(&step.outputs),
        "timers_set": plains(&step.timers_set),
        "timers_cancelled": plains(&step.timers_cancelled),
        "before": before,
        "after": after,
        "observed": observed,
        "view": step.view.as_ref().map(|(_, after)| texts.place(after)),
        "causes": step.causes,
        "matters": step.matters,
        "panic": step.panic.as_deref().map(plain),
    })
}

fn envelope_data(envelope: &StoryEnvelope, texts: &mut Texts) -> Value {
    json!({
        "from": envelope.from,
        "to": envelope.to,
        "what": texts.place(&envelope.what),
        "line": plain(&envelope.what),
        "sent_at": envelope.sent_at,
        "handled_at": envelope.handled_at,
        "lost_at": envelope.lost_at,
    })
}

/// What is read of a node; of a thread, without its name.
fn said_of<'a>(story: &Story, node: usize, read: &'a str) -> &'a str {
    if story.is_of_threads() { story.without_name(node, read) } else { read }
}

fn ending_data(story: &Story, ending: &StoryEnding, texts: &mut Texts) -> Value {
    let mut places = |reads: &[String]| -> Vec<usize> {
        let reads = reads.iter().enumerate();
        reads.map(|(node, read)| texts.place(said_of(story, node, read))).collect()
    };
    json!({
        "property": plain(&ending.property),
        "violated": ending.cause.is_some(),
        "trouble": match ending.cause {
            Some(Cause::Trouble(trouble)) => Some(trouble.name()),
            _ => None,
        },
        "kind": ending.kind.map(|kind| kind.to_string()),
        "reads": places(&ending.reads),
        "reads_at_start": places(&ending.reads_at_start),
        "observer": ending.observer,
        "culprits": ending.culprits,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::render::sample;
    use serde_json::Value;

    /// The data that the page carries.
    fn embedded(page: &str) -> Value {
        let (_, rest) = page.split_once("id=\"story\">").unwrap();
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
    }

    #[test]
    fn nothing_of_a_run_becomes_markup() {
        let page = render(&sample::hostile(), &About::default().system("</title><b>"));
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(!page.contains("<img"));
        assert!(!page.contains("</title><b>"));
        let what = &embedded(&page)["steps"][0]["what"];
        assert!(what.as_str().unwrap().starts_with("</script><script>"), "it is there as text");
    }

    #[test]
    fn a_page_needs_nothing_but_itself() {
        let page = render(&sample::paxos(), &sample::about());
        for outside in ["http:", "https:", "src=", "@import", "url(", "<link"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn a_state_that_repeats_is_there_once() {
        let story = sample::paxos();
        let data = embedded(&render(&story, &About::default()));
        let texts = data["texts"].as_array().unwrap();
        let fresh = pretty(&story.starts[0].state, true);
        assert_eq!(texts.iter().filter(|text| text.as_str() == Some(&fresh)).count(), 1);
        let place = data["steps"][2]["after"].as_u64().unwrap() as usize;
        assert!(texts[place].as_str().unwrap().contains("chosen: Some(10)"));
    }

    #[test]
    fn only_a_story_with_steps_that_do_not_matter_has_two_diagrams() {
        let diagrams =
            |story| render(&story, &About::default()).matches("aria-label=\"Space-time").count();
        assert_eq!(diagrams(sample::paxos()), 2);
        assert_eq!(diagrams(sample::long(3, 9)), 1);
    }

    #[test]
    fn rows_are_as_high_as_the_style_says() {
        assert!(include_str!("html.css").contains(&format!("height: {ROW}px")));
    }

    #[test]
    fn what_a_thread_did_last_stands_for_its_state() {
        let story = sample::threads();
        let data = embedded(&render(&story, &About::default()));
        assert_eq!(
            (&data["threads"], &data["ending"]["trouble"]),
            (&true.into(), &"deadlock".into())
        );
        let text =
            |place: &Value| data["texts"][place.as_u64().unwrap() as usize].as_str().unwrap();
        let states = data["moments"][4]["states"].as_array().unwrap();
        assert_eq!(text(&states[1]), "locks mutex 0 of a.rs:5 at a.rs:6");
        assert_eq!(text(&data["ending"]["reads"][1]), "waits at a.rs:8 too");
        let nodes = embedded(&render(&sample::paxos(), &About::default()));
        assert_eq!(nodes["threads"], false);
    }
}
