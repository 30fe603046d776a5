//! The HTML report as somebody uses it: keys, buttons, the mouse, light and dark, and runs that try
//! to be more than text.

use allways::prelude::*;
use allways::{About, Format, Run, RunEvent, RunEventKind, Story};
use allways_browser_tests::Browser;
use serde_json::json;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Where pages are left.
fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("browser");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A browser with this story open; `None` where there is no browser.
fn open(name: &str, story: &Story) -> Option<Browser> {
    let mut browser = Browser::start(&folder().join(format!("{name} profile")))?;
    show(&mut browser, name, story);
    Some(browser)
}

fn show(browser: &mut Browser, name: &str, story: &Story) {
    let about = About::default().system("test").parameter("name", name);
    let page = folder().join(format!("{name}.html"));
    std::fs::write(&page, story.render(Format::Html, &about)).unwrap();
    browser.open(&page);
}

/// The step that is shown.
fn at(browser: &mut Browser) -> i64 {
    let at =
        browser.eval("Number(document.querySelector('#list [aria-selected=true]').dataset.at)");
    at.as_i64().unwrap()
}

/// A run of Paxos in which two values are chosen, without a step too many.
fn minimal() -> &'static Story {
    static STORY: LazyLock<Story> = LazyLock::new(|| paxos(true, 0));
    &STORY
}

fn paxos(minimise: bool, seed: u64) -> Story {
    let entry = allways_catalogue::find("paxos").unwrap();
    let system = entry.build(&[("bug", "last-promise")]).unwrap();
    let engine = Engine::Walk;
    let options = Options { engine, threads: 1, minimise, seed, ..Options::default() };
    system.check_with(&options).unwrap().story.unwrap()
}

/// Passes on whatever it gets.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Ring {
    id: usize,
    seen: usize,
    log: Vec<usize>,
}

impl Node for Ring {
    type Msg = usize;
    type Timer = Never;
    type Call = usize;
    type Output = Never;
    fn on_call(&mut self, call: usize, cx: &mut Cx<'_, Self>) {
        self.on_message(Id::new(self.id), call, cx);
    }
    fn on_message(&mut self, _: Id, left: usize, cx: &mut Cx<'_, Self>) {
        self.seen += 1;
        self.log.push(left);
        if left > 0 {
            cx.send(Id::new((self.id + 1) % cx.nodes()), left - 1);
        }
    }
}

/// A message that goes around.
fn ring(nodes: usize, steps: usize) -> Story {
    let system =
        System::new((0..nodes).map(|id| Ring { id, seen: 0, log: vec![] })).call(0, steps - 1);
    let event = |step: usize| RunEvent {
        kind: if step == 0 { RunEventKind::Call } else { RunEventKind::Message },
        node: Some(step % nodes),
        from: (step > 0).then(|| (step - 1) % nodes),
        what: (steps - 1 - step).to_string(),
        choices: vec![],
    };
    let run = Run { events: (0..steps).map(event).collect(), ..Run::default() };
    system.story(&run).unwrap()
}

/// Shows itself as something that would run if it were taken for more than text.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Hostile(u8);

const HOSTILE: &str = "</script><script>document.title='owned';alert(1)</script>\
    <img src=x onerror=\"document.title='owned'\"><svg onload=alert(1)> javascript:alert(1) '\"&amp;";

impl std::fmt::Debug for Hostile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{HOSTILE}{}", self.0)
    }
}

impl Node for Hostile {
    type Msg = Hostile;
    type Timer = Never;
    type Call = Hostile;
    type Output = Hostile;
    fn on_call(&mut self, call: Hostile, cx: &mut Cx<'_, Self>) {
        cx.output(call.clone());
        cx.broadcast(call);
    }
    fn on_message(&mut self, _: Id, msg: Hostile, _: &mut Cx<'_, Self>) {
        *self = msg;
    }
}

#[test]
fn keys_and_buttons_step_through_a_run() {
    let story = minimal();
    let last = story.steps.len() as i64;
    let Some(mut browser) = open("steps", story) else { return };
    assert_eq!(at(&mut browser), 0);
    let ways = [("ArrowRight", 1), ("ArrowDown", 2), ("j", 3), ("ArrowLeft", 2), ("ArrowUp", 1)];
    for (key, expected) in
        ways.into_iter().chain([("k", 0), ("k", 0), ("End", last), ("j", last), ("Home", 0)])
    {
        browser.press(key);
        assert_eq!(at(&mut browser), expected, "after {key}");
    }
    for (button, expected) in
        [("#forward", 1), ("#forward", 2), ("#back", 1), ("#last", last), ("#first", 0)]
    {
        browser.click(button);
        assert_eq!(at(&mut browser), expected, "after {button}");
    }
    // A button that has the focus is pressed with the keyboard.
    browser.eval("document.getElementById('forward').focus()");
    browser.press("Enter");
    assert_eq!(at(&mut browser), 1);
    assert_eq!(browser.text("#place"), format!("step 1 of {last}"));
    assert_eq!(browser.eval("location.hash"), json!("#1"));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_step_shows_its_message_and_the_state_before_and_after() {
    let story = minimal();
    let Some(mut browser) = open("click", story) else { return };
    let index = story.steps.iter().position(|step| step.view.is_some()).unwrap();
    let step = &story.steps[index];
    browser.click(&format!("#at-{}", index + 1));
    let panel = browser.text("#step");
    assert!(panel.contains(&step.event.to_string()), "{panel}");
    assert!(panel.contains("before and after"), "{panel}");
    let marked = |browser: &mut Browser, mark: &str| {
        let lines = format!(
            "[...document.querySelectorAll('#step .{mark}')].map(e => e.innerText).join('')"
        );
        browser.eval(&lines).as_str().unwrap().to_owned()
    };
    assert!(marked(&mut browser, "minus").contains("chosen: None"));
    assert!(marked(&mut browser, "plus").contains("chosen: Some("));

    // A mark in a lane and an arrow lead to the same step.
    browser.press("Home");
    browser.click(&format!(".step[data-at='{}'] .mark", index + 1));
    assert_eq!(at(&mut browser), index as i64 + 1);
    browser.press("Home");
    browser.click(&format!(".arrow[data-at='{}'] .head", index + 1));
    assert_eq!(at(&mut browser), index as i64 + 1);

    // Pointing at an arrow shows the message without going there.
    browser.press("Home");
    browser.point(&format!(".arrow[data-at='{}'] .head", index + 1));
    browser.wait("!document.getElementById('hint').hidden");
    assert!(browser.text("#hint").contains(&step.event.what));
    assert!(browser.text("#hint").contains("before and after"));
    assert_eq!(at(&mut browser), 0);

    // A link leads to where the message was sent.
    browser.press("End");
    let sent = story.envelopes[story.steps.last().unwrap().envelope.unwrap()].sent_at.unwrap();
    browser.click(&format!("#step a[href='#{}']", sent + 1));
    assert_eq!(at(&mut browser), sent as i64 + 1);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn the_global_state_is_that_of_the_moment() {
    let story = minimal();
    let Some(mut browser) = open("global", story) else { return };
    assert!(!browser.text("#global").contains("chosen: Some"));
    browser.press("End");
    let global = browser.text("#global");
    assert!(
        global.contains("chosen: Some('A')") && global.contains("chosen: Some('B')"),
        "{global}"
    );
    let reads = browser.text("#reads");
    assert!(reads.starts_with("What breaks agreement"), "{reads}");
    assert_eq!(browser.eval("document.querySelectorAll('#reads tr.bad').length"), json!(2));
    browser.press("Home");
    assert_eq!(browser.eval("document.querySelectorAll('#reads tr.bad').length"), json!(0));
    // What the reader closes stays closed.
    browser.click("#global summary");
    browser.press("j");
    assert_eq!(browser.eval("document.querySelector('#global details').open"), json!(false));
}

#[test]
fn what_does_not_matter_can_be_hidden() {
    let hidden = |story: &Story| story.steps.iter().filter(|step| !step.matters).count();
    let found = (0..10).map(|seed| paxos(false, seed)).find(|story| hidden(story) > 0);
    let story = found.expect("random runs do more than they must");
    let hidden = hidden(&story);
    let Some(mut browser) = open("past", &story) else { return };
    let shown = "[...document.querySelectorAll('#list li')].filter(e => e.offsetHeight).length";
    assert_eq!(browser.eval(shown), json!(story.steps.len() + 1));
    browser.click("#past");
    assert_eq!(browser.eval(shown), json!(story.steps.len() + 1 - hidden));
    let lanes = "[...document.querySelectorAll('main svg')].filter(e => e.clientHeight).length";
    assert_eq!(browser.eval(lanes), json!(1), "one diagram is seen at a time");
    browser.press("Home");
    for expected in (0..story.steps.len()).filter(|&step| story.steps[step].matters) {
        browser.press("j");
        assert_eq!(at(&mut browser), expected as i64 + 1);
    }
    browser.press("m");
    assert_eq!(browser.eval(shown), json!(story.steps.len() + 1));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn light_and_dark_follow_the_reader_until_told_otherwise() {
    let Some(mut browser) = open("theme", minimal()) else { return };
    let paper = "getComputedStyle(document.body).backgroundColor";
    let (light, dark) = (json!("rgb(255, 255, 255)"), json!("rgb(13, 17, 23)"));
    browser.prefer("light");
    assert_eq!(browser.eval(paper), light);
    browser.prefer("dark");
    assert_eq!(browser.eval(paper), dark);
    browser.click("#theme");
    assert_eq!(browser.eval(paper), light);
    browser.press("t");
    assert_eq!(browser.eval(paper), dark);
    browser.prefer("light");
    assert_eq!(browser.eval(paper), dark, "it was told to be dark");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn hostile_texts_stay_texts() {
    let outcome = System::new([Hostile(0), Hostile(0)])
        .call(0, Hostile(1))
        .always(HOSTILE, view(|n: &Hostile| n.clone()), |views| views[1] == Hostile(0))
        .check();
    let story = outcome.story.unwrap();
    let Some(mut browser) = open("hostile", &story) else { return };
    let title = browser.eval("document.title");
    for selector in [".step .mark", ".arrow .head", "#at-1", "#at-2", "#list"] {
        browser.point(selector);
        browser.click(selector);
        std::thread::sleep(Duration::from_millis(200));
    }
    browser.press("End");
    assert!(browser.text("#step").contains(HOSTILE));
    assert!(browser.text("#global").contains(HOSTILE));
    assert_eq!(browser.eval("document.title"), title);
    assert_eq!(browser.eval("document.querySelectorAll('img').length"), json!(0));
    assert_eq!(browser.eval("document.scripts.length"), json!(2));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn many_nodes_and_steps_stay_usable() {
    let story = ring(20, 500);
    let Some(mut browser) = open("large", &story) else { return };
    let begin = Instant::now();
    for _ in 0..100 {
        browser.press("j");
    }
    let each = begin.elapsed() / 100;
    eprintln!("a step takes {each:?}");
    assert!(each < Duration::from_millis(250), "a step takes {each:?}");
    assert_eq!(at(&mut browser), 100);
    browser.press("End");
    // The current step is in sight, its lane too, and so are the names of the nodes.
    let sight = "(() => { const run = document.getElementById('run').getBoundingClientRect(); \
        const inside = (e) => { const r = e.getBoundingClientRect(); \
          return r.top >= run.top && r.bottom <= run.bottom && r.left >= run.left && r.right <= run.right; }; \
        return [document.querySelector('#list [aria-selected=true]'), \
          document.querySelector('.step[data-at=\"500\"] .mark'), \
          document.querySelectorAll('.names div')[19]].map(inside); })()";
    assert_eq!(browser.eval(sight), json!([true, true, true]));
    browser.press("Home");
    assert_eq!(browser.eval("document.getElementById('run').scrollTop"), json!(0));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_person_who_cannot_see_it_is_told() {
    let Some(mut browser) = open("spoken", minimal()) else { return };
    browser.press("j");
    assert_eq!(
        browser.eval("document.querySelector('#list').getAttribute('aria-activedescendant')"),
        json!("at-1")
    );
    assert_eq!(
        browser.eval("document.querySelector('#place').getAttribute('aria-live')"),
        json!("polite")
    );
    let nameless = "[...document.querySelectorAll('button, [tabindex], input')].filter(e => \
        !e.getAttribute('aria-label') && !e.labels?.length && e.id !== 'run').map(e => e.outerHTML)";
    assert_eq!(browser.eval(nameless), json!([]));
    assert_eq!(browser.eval("document.documentElement.lang"), json!("en"));
    assert_eq!(browser.eval("document.title"), json!("violated: always `agreement`"));
    // The keyboard reaches everything: the buttons, the switch, the list and the panel.
    let mut reached = Vec::new();
    for _ in 0..12 {
        browser.press("Tab");
        reached.push(browser.eval("document.activeElement.id").as_str().unwrap().to_owned());
    }
    for id in ["first", "back", "forward", "last", "theme", "list", "panel"] {
        assert!(reached.iter().any(|reached| reached == id), "{id} in {reached:?}");
    }
}

#[test]
fn every_bug_of_the_catalogue_opens_without_a_complaint() {
    let Some(mut browser) = Browser::start(&folder().join("catalogue profile")) else { return };
    for entry in allways_catalogue::entries() {
        for bug in entry.bugs {
            let system = entry.build(&[("bug", bug.name)]).unwrap();
            // Whatever run there is, the sooner the better.
            let search = if system.is_of_threads() { Search::Bfs } else { Search::Dfs };
            let options = Options { search, threads: 1, minimise: false, ..Options::default() };
            let story = system.check_with(&options).unwrap().story.unwrap();
            show(&mut browser, &format!("{}-{}", entry.name, bug.name), &story);
            browser.press("End");
            assert_eq!(at(&mut browser), story.steps.len() as i64);
            assert_eq!(browser.complaints(), Vec::<String>::new(), "{} {}", entry.name, bug.name);
        }
    }
}
