//! Nodes that can be neither cloned nor compared do what they would do if they could.

use allways::prelude::*;
use allways::{Error, Event, Local, Rebuild, Rebuilt, SavedRun};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// What both kinds of node do, apart from how they are made: they keep the largest of what they are
/// told, once they are woken by a timer; until then they ignore it. What they keep survives
/// a crash.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct State {
    awake: bool,
    largest: u8,
    coins: u8,
}

#[derive(Clone)]
enum Input {
    Start,
    Told(u8),
    Woken,
    Called(u8),
}

enum Act {
    Send(u8),
    Wake,
    Output(u8),
}

impl State {
    fn handle(&mut self, input: Input, choose: &mut dyn FnMut(usize) -> usize) -> Vec<Act> {
        match input {
            Input::Start => vec![Act::Wake],
            Input::Woken => {
                self.awake = true;
                Vec::new()
            }
            Input::Called(value) => {
                let more = choose(2) as u8;
                self.coins += more;
                vec![Act::Send(value + more)]
            }
            Input::Told(value) if self.awake && value > self.largest => {
                self.largest = value;
                vec![Act::Output(value)]
            }
            Input::Told(_) => Vec::new(),
        }
    }

    fn persisted(&self) -> Option<State> {
        (self.largest > 0).then(|| State { largest: self.largest, ..State::default() })
    }
}

type View = (bool, u8, u8);

impl State {
    fn view(&self) -> View {
        (self.awake, self.largest, self.coins)
    }
}

fn carry_out<N: Node<Msg = u8, Timer = (), Output = u8>>(
    cx: &mut Cx<'_, N>,
    handle: impl FnOnce(&mut dyn FnMut(usize) -> usize) -> Vec<Act>,
) {
    for act in handle(&mut |arity| cx.choose(arity)) {
        match act {
            Act::Send(value) => cx.broadcast(value),
            Act::Wake => cx.set_timer(()),
            Act::Output(value) => cx.output(value),
        }
    }
}

impl Node for State {
    type Msg = u8;
    type Timer = ();
    type Call = u8;
    type Output = u8;
    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        carry_out(cx, |choose| self.handle(Input::Start, choose));
    }
    fn on_message(&mut self, _: Id, value: u8, cx: &mut Cx<'_, Self>) {
        carry_out(cx, |choose| self.handle(Input::Told(value), choose));
    }
    fn on_timer(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        carry_out(cx, |choose| self.handle(Input::Woken, choose));
    }
    fn on_call(&mut self, value: u8, cx: &mut Cx<'_, Self>) {
        carry_out(cx, |choose| self.handle(Input::Called(value), choose));
    }
    fn persisted(&self) -> Option<Self> {
        State::persisted(self)
    }
}

type Handle = dyn FnMut(Input, &mut dyn FnMut(usize) -> usize) -> Vec<Act>;

/// The same state where nobody can clone, compare or send it.
struct Opaque {
    state: Rc<RefCell<State>>,
    handle: Box<Handle>,
}

impl Opaque {
    fn new(state: State) -> Self {
        let state = Rc::new(RefCell::new(state));
        let shared = Rc::clone(&state);
        let handle = move |input, choose: &mut dyn FnMut(usize) -> usize| {
            shared.borrow_mut().handle(input, choose)
        };
        Opaque { state, handle: Box::new(handle) }
    }
}

impl Rebuild for Opaque {
    type Msg = u8;
    type Timer = ();
    type Call = u8;
    type Output = u8;
    fn on_start(&mut self, cx: &mut Cx<'_, Rebuilt<Self>>) {
        carry_out(cx, |choose| (self.handle)(Input::Start, choose));
    }
    fn on_message(&mut self, _: Id, value: u8, cx: &mut Cx<'_, Rebuilt<Self>>) {
        carry_out(cx, |choose| (self.handle)(Input::Told(value), choose));
    }
    fn on_timer(&mut self, (): (), cx: &mut Cx<'_, Rebuilt<Self>>) {
        carry_out(cx, |choose| (self.handle)(Input::Woken, choose));
    }
    fn on_call(&mut self, value: u8, cx: &mut Cx<'_, Rebuilt<Self>>) {
        carry_out(cx, |choose| (self.handle)(Input::Called(value), choose));
    }
    fn persisted(self) -> Option<Self> {
        self.state.borrow().persisted().map(Opaque::new)
    }
}

fn by_history() -> Rebuilt<Opaque> {
    Rebuilt::new(|| Opaque::new(State::default()))
}

fn by_fingerprint() -> Rebuilt<Opaque> {
    by_history()
        .fingerprint(|opaque| opaque.state.borrow().clone())
        .show(|opaque, f| std::fmt::Debug::fmt(&*opaque.state.borrow(), f))
}

fn view_of(node: &Rebuilt<Opaque>) -> View {
    node.with(|opaque| opaque.state.borrow().view())
}

/// A history of the outputs that somebody watches.
struct Outputs;
impl<N: Node<Output = u8>> Observer<N> for Outputs {
    type State = Vec<u8>;
    fn start(&self) -> Vec<u8> {
        Vec::new()
    }
    fn wants(&self, seen: &Seen<'_, N>) -> bool {
        matches!(seen, Seen::Output { .. })
    }
    fn observe(&self, state: &mut Vec<u8>, seen: Seen<'_, N>) {
        if let Seen::Output { output, .. } = seen {
            state.push(*output);
        }
    }
}

fn engines() -> Vec<(&'static str, Options)> {
    let global =
        |search, threads| Options { engine: Engine::Global, search, threads, ..Options::default() };
    let walk = Options { engine: Engine::Walk, runs: 2_000, seed: 1, ..Options::default() };
    vec![
        ("bfs", global(Search::Bfs, 1)),
        ("bfs, 3 threads", global(Search::Bfs, 3)),
        ("bfs, exact", Options { exact: true, ..global(Search::Bfs, 1) }),
        ("dfs", global(Search::Dfs, 1)),
        ("dfs, 3 threads", global(Search::Dfs, 3)),
        ("classic", global(Search::Classic, 1)),
        ("walk", walk),
    ]
}

fn is_walk(name: &str) -> bool {
    name == "walk"
}

fn setting<N>(node: N, network: Network, crashes: u8) -> System<N>
where
    N: Node<Msg = u8, Timer = (), Call = u8, Output = u8>,
{
    System::new(vec![node; 3])
        .network(network)
        .call(0, 1)
        .call(1, 2)
        .faults(Faults::none().crashes(crashes))
        .timers(2)
}

/// The vectors of views that a search meets, and its outcome.
fn met<N: Node>(
    system: System<N>,
    view_of: fn(&N) -> View,
    options: &Options,
) -> (BTreeSet<Vec<View>>, Outcome) {
    let met = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&met);
    let system = system.always("met", view(view_of), move |views| {
        seen.lock().unwrap().insert(views.to_vec());
        true
    });
    let outcome = system.try_check(options).unwrap();
    let met = met.lock().unwrap().clone();
    (met, outcome)
}

#[test]
fn with_a_fingerprint_a_search_meets_the_same_states() {
    for network in [Network::unordered(), Network::duplicating(), Network::ordered()] {
        for crashes in [0, 1] {
            for (name, options) in engines().into_iter().filter(|(name, _)| !is_walk(name)) {
                let plain = setting(State::default(), network, crashes);
                let (views, plain) = met(plain, State::view, &options);
                let rebuilt = setting(by_fingerprint(), network, crashes);
                let (rebuilt_views, rebuilt) = met(rebuilt, view_of, &options);
                let what = format!("{name}, {network:?}, {crashes} crashes");
                assert_eq!(views, rebuilt_views, "{what}");
                assert!(plain.complete && rebuilt.complete, "{what}");
                let [plain, rebuilt] = [plain, rebuilt].map(|outcome| outcome.statistics);
                assert_eq!(plain.unique_states, rebuilt.unique_states, "{what}");
                assert_eq!(plain.generated_states, rebuilt.generated_states, "{what}");
                assert_eq!(plain.local_states, rebuilt.local_states, "{what}");
            }
        }
    }
}

#[test]
fn without_a_fingerprint_a_search_meets_the_same_views() {
    for network in [Network::unordered(), Network::ordered()] {
        for (name, options) in engines().into_iter().filter(|(name, _)| !is_walk(name)) {
            let plain = setting(State::default(), network, 0);
            let (views, plain) = met(plain, State::view, &options);
            let rebuilt = setting(by_history(), network, 0);
            let (rebuilt_views, rebuilt) = met(rebuilt, view_of, &options);
            assert_eq!(views, rebuilt_views, "{name}, {network:?}");
            assert!(rebuilt.complete, "{name}, {network:?}");
            let [plain, rebuilt] = [plain, rebuilt].map(|o| o.statistics.unique_states.unwrap());
            assert!(plain < rebuilt, "{name}, {network:?}: {plain} and {rebuilt}");
        }
    }
}

/// An engine that makes runs has no use for equal states: there histories cost nothing.
#[test]
fn runs_of_a_partial_order_engine_meet_the_same_views() {
    fn small<N: Node<Msg = u8, Timer = (), Call = u8, Output = u8>>(node: N) -> System<N> {
        System::new(vec![node; 2]).call(0, 1).call(1, 2)
    }
    let options = Options { threads: 1, ..Options::default() };
    let dpor = Options { engine: Engine::Dpor, ..options.clone() };
    let (views, _) = met(small(State::default()), State::view, &options);
    let (plain_views, plain) = met(small(State::default()), State::view, &dpor);
    assert_eq!(views, plain_views);
    for node in [by_history(), by_fingerprint()] {
        let (rebuilt_views, rebuilt) = met(small(node.clone()), view_of, &dpor);
        assert_eq!(views, rebuilt_views);
        assert!(plain.complete && rebuilt.complete);
        // Without a fingerprint, what is ignored is a step too.
        assert!(plain.statistics.runs <= rebuilt.statistics.runs, "{node:?}");
    }
}

/// A node crashes when it had something persisted, and when it had not.
#[test]
fn what_was_persisted_survives_a_crash_and_nothing_else_does() {
    let options = Options { threads: 1, max_depth: Some(7), ..Options::default() };
    let network = Network::unordered;
    let (views, _) = met(setting(State::default(), network(), 1), State::view, &options);
    let (rebuilt_views, _) = met(setting(by_history(), network(), 1), view_of, &options);
    assert!(views.iter().flatten().any(|&(awake, largest, _)| !awake && largest == 2));
    assert_eq!(views, rebuilt_views);
}

#[test]
fn a_violation_is_found_and_its_run_carried_out_again() {
    for node in [by_history(), by_fingerprint()] {
        for (name, options) in engines() {
            let never_two = |views: &[View]| views.iter().all(|view| view.1 < 2);
            let plain = setting(State::default(), Network::unordered(), 0)
                .always("nobody is told two", view(State::view), never_two)
                .try_check(&options)
                .unwrap();
            let system = setting(node.clone(), Network::unordered(), 0).always(
                "nobody is told two",
                view(view_of),
                never_two,
            );
            let outcome = system.try_check(&options).unwrap();
            assert_eq!(outcome.verdict, Verdict::Violated, "{name}");
            let run = |outcome: &Outcome| outcome.violation.clone().unwrap().run;
            assert_eq!(run(&plain).events.len(), run(&outcome).events.len(), "{name}");
            let story = outcome.story.as_ref().unwrap();
            assert_eq!(story.steps.len(), run(&plain).events.len(), "{name}");
            let saved = SavedRun::new("rebuilt", [("", ""); 0], &outcome).unwrap();
            let saved = SavedRun::from_json(&saved.to_json()).unwrap();
            assert!(system.replay(&saved).unwrap().still_violates(), "{name}");
        }
    }
}

/// With a fingerprint, an ignored message stays in flight. Without one nobody can tell that it was
/// ignored: it is consumed, as it is on an ordered network, and a node that wakes later has missed
/// it.
#[test]
fn a_message_that_is_ignored_is_consumed_where_nobody_can_tell() {
    let told = |views: &[View]| views.iter().filter(|view| view.1 > 0).count() >= 2;
    let verdict = |node: Rebuilt<Opaque>| {
        let system = setting(node, Network::unordered(), 0);
        system.never_stuck("told", view(view_of), told).check().verdict
    };
    let plain = setting(State::default(), Network::unordered(), 0)
        .never_stuck("told", view(State::view), told)
        .check()
        .verdict;
    assert_eq!((plain, verdict(by_fingerprint())), (Verdict::Holds, Verdict::Holds));
    assert_eq!(verdict(by_history()), Verdict::Violated);
    let plain = setting(State::default(), Network::ordered(), 0);
    let plain = plain.never_stuck("told", view(State::view), told).check();
    assert_eq!(plain.verdict, Verdict::Violated);
}

/// The histories of outputs that a search meets.
fn heard<N>(node: N) -> BTreeSet<Vec<u8>>
where
    N: Node<Msg = u8, Timer = (), Call = u8, Output = u8>,
{
    let met = Arc::new(Mutex::new(BTreeSet::new()));
    let heard = Arc::clone(&met);
    let system = setting(node, Network::unordered(), 0);
    let system = system.observe(Outputs).always_observed("heard", move |outputs: &Vec<u8>| {
        heard.lock().unwrap().insert(outputs.clone());
        true
    });
    assert!(system.try_check(&Options::default()).unwrap().complete);
    let met = met.lock().unwrap();
    met.clone()
}

#[test]
fn observers_see_the_same_outputs() {
    let plain = heard(State::default());
    assert!(plain.len() > 10, "{plain:?}");
    assert_eq!(plain, heard(by_fingerprint()));
    assert_eq!(plain, heard(by_history()));
}

/// How often a first call was handled.
static HANDLED: AtomicU32 = AtomicU32::new(0);

/// How a node does something else when its first call is handled again.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mischief {
    Sends,
    Chooses,
    Panics,
    Remembers,
}

struct Fickle {
    mischief: Mischief,
    calls: u32,
    remembered: Cell<u32>,
}

impl Rebuild for Fickle {
    type Msg = u32;
    type Timer = Never;
    type Call = ();
    type Output = Never;
    fn on_message(&mut self, _: Id, _: u32, _: &mut Cx<'_, Rebuilt<Self>>) {}
    fn on_call(&mut self, (): (), cx: &mut Cx<'_, Rebuilt<Self>>) {
        self.calls += 1;
        if self.calls > 1 {
            return;
        }
        let handled = HANDLED.fetch_add(1, Relaxed);
        cx.send(cx.id(), 7);
        match self.mischief {
            Mischief::Sends => cx.send(cx.id(), handled),
            Mischief::Chooses => {
                let chosen: usize = (0..handled.min(9)).map(|_| cx.choose(1)).sum();
                assert_eq!(chosen, 0);
            }
            Mischief::Panics => assert!(handled == 0, "once too often"),
            Mischief::Remembers => self.remembered.set(handled),
        }
    }
}

/// The guard is off: the wrapper notices it by itself.
#[test]
fn a_handler_that_differs_when_it_is_replayed_is_named() {
    for mischief in [Mischief::Sends, Mischief::Chooses, Mischief::Panics, Mischief::Remembers] {
        for search in [Search::Bfs, Search::Dfs, Search::Classic] {
            if mischief == Mischief::Panics && search == Search::Classic {
                continue; // it executes each step twice: there the panic is one of the step itself
            }
            HANDLED.store(0, Relaxed);
            let made = move || Fickle { mischief, calls: 0, remembered: Cell::new(0) };
            let mut node = Rebuilt::new(made);
            if mischief == Mischief::Remembers {
                node = node.fingerprint(|fickle| (fickle.calls, fickle.remembered.get()));
            }
            // After the first call there is another, and a message: one of them needs a replay.
            let system = System::new(vec![node; 2]).calls_in_sequence([(0, ()), (0, ())]);
            let options = Options {
                determinism_guard: false,
                threads: 1,
                search,
                engine: Engine::Global,
                ..Options::default()
            };
            let error = match system.try_check(&options) {
                Err(error) => error,
                Ok(outcome) => panic!("{mischief:?}, {search:?}\n{outcome}"),
            };
            let Error::NonDeterministic { node, event, difference, .. } = &error else {
                panic!("{mischief:?}, {search:?}: {error}");
            };
            assert_eq!((*node, &**event), (0, "call ()"), "{mischief:?}, {search:?}");
            assert!(difference.contains("the second time"), "{error}");
            assert!(error.to_string().contains(r#"in state ["start"], it "#), "{error}");
        }
    }
}

/// A fingerprint that leaves out what matters is an auxiliary field that matters.
#[test]
fn a_fingerprint_that_leaves_out_what_matters_is_refuted() {
    let node = by_history().fingerprint(|opaque| {
        let state = opaque.state.borrow();
        (state.awake, state.coins)
    });
    let options = Options { verify_aux: true, threads: 1, ..Options::default() };
    let error = setting(node, Network::unordered(), 0).try_check(&options).unwrap_err();
    assert!(matches!(error, Error::UnsoundAux { .. }), "{error}");
    let good = setting(by_fingerprint(), Network::unordered(), 0).try_check(&options).unwrap();
    assert!(good.complete);
}

#[test]
fn a_state_is_shown_by_its_user_or_its_fingerprint_or_its_history() {
    let shown = |node: Rebuilt<Opaque>| {
        let system = setting(node, Network::unordered(), 0);
        let system = system.always("asleep", view(view_of), |views| !views[0].0);
        let story = system.check().story.unwrap();
        format!("{story:?}")
    };
    assert!(shown(by_fingerprint()).contains("State { awake: true, largest: 0, coins: 0 }"));
    let by_view = by_history().fingerprint(|opaque| opaque.state.borrow().view());
    assert!(shown(by_view).contains("(true, 0, 0)"));
    assert!(shown(by_history()).contains("timer ()"));
}

/// Values that live in one thread, in nodes that go to several.
#[test]
fn a_node_is_sent_although_its_state_cannot_be() {
    fn is_sent<T: Send + Sync>() {}
    is_sent::<Rebuilt<Opaque>>();
    is_sent::<Local<Rebuilt<Opaque>>>();
    is_sent::<Event<Rebuilt<Opaque>>>();
}

/// How many values of it there are.
struct Counted(Arc<AtomicU32>);
impl Counted {
    fn new(alive: &Arc<AtomicU32>) -> Self {
        alive.fetch_add(1, Relaxed);
        Counted(Arc::clone(alive))
    }
}
impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
impl Rebuild for Counted {
    type Msg = u8;
    type Timer = Never;
    type Call = u8;
    type Output = Never;
    fn on_call(&mut self, value: u8, cx: &mut Cx<'_, Rebuilt<Self>>) {
        cx.broadcast(value);
    }
    fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Rebuilt<Self>>) {}
}

#[test]
fn few_values_are_kept_and_none_after_the_system() {
    let alive = Arc::new(AtomicU32::new(0));
    let most = Arc::new(AtomicU32::new(0));
    let (counter, highest) = (Arc::clone(&alive), Arc::clone(&most));
    let make = move || {
        let counted = Counted::new(&counter);
        highest.fetch_max(counter.load(Relaxed), Relaxed);
        counted
    };
    let node = Rebuilt::new(make).keeps(16);
    let system = System::new(vec![node; 3]).call(0, 1).call(1, 2).call(2, 3);
    let options = Options { threads: 1, ..Options::default() };
    assert!(system.try_check(&options).unwrap().complete);
    assert!(most.load(Relaxed) <= 20, "{most:?} at once");
    drop(system);
    assert_eq!(alive.load(Relaxed), 0);
}

/// A list that can be copied, or can be while it is short, or cannot.
struct List {
    told: Vec<u8>,
    copies: Copies,
}

#[derive(Clone, Copy, PartialEq)]
enum Copies {
    Never,
    WhileShort,
    Always,
}

impl Rebuild for List {
    type Msg = u8;
    type Timer = Never;
    type Call = u8;
    type Output = Never;
    fn on_call(&mut self, value: u8, cx: &mut Cx<'_, Rebuilt<Self>>) {
        cx.broadcast(value);
    }
    fn on_message(&mut self, _: Id, value: u8, _: &mut Cx<'_, Rebuilt<Self>>) {
        self.told.push(value);
    }
    fn checkpoint(&self) -> Option<Self> {
        let can = match self.copies {
            Copies::Never => false,
            Copies::WhileShort => self.told.len() < 3,
            Copies::Always => true,
        };
        can.then(|| List { told: self.told.clone(), copies: self.copies })
    }
}

/// The reachable views and what they have cost.
fn lists(copies: Copies, keeps: usize) -> (BTreeSet<String>, u64) {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let views = Arc::clone(&seen);
    let node = Rebuilt::new(move || List { told: Vec::new(), copies }).keeps(keeps);
    let calls = (0..5).fold(System::new(vec![node; 2]), |system, value| system.call(0, value));
    let system = calls.always(
        "anything",
        view(|n: &Rebuilt<List>| n.with(|list| list.told.clone())),
        move |told| {
            views.lock().unwrap().insert(format!("{told:?}"));
            true
        },
    );
    let options = Options { threads: 1, ..Options::default() };
    let outcome = system.try_check(&options).unwrap();
    assert!(outcome.complete);
    let views = std::mem::take(&mut *seen.lock().unwrap());
    (views, outcome.statistics.replayed_handlers.unwrap())
}

#[test]
fn copies_save_replays_and_change_nothing() {
    let (views, replayed) = lists(Copies::Never, 1000);
    assert!(views.len() > 300, "{}", views.len());
    let (some_views, some) = lists(Copies::WhileShort, 1000);
    let (all_views, none) = lists(Copies::Always, 1000);
    assert!(views == some_views && views == all_views);
    assert!(none < some && some < replayed, "{none} {some} {replayed}");
    assert_eq!(none, 0);
    let (few_views, dear) = lists(Copies::Never, 1);
    assert!(views == few_views && replayed < dear, "{replayed} {dear}");
    let (few_views, cheap) = lists(Copies::Always, 8);
    assert!(views == few_views && cheap < dear, "{cheap} {dear}");
}

#[test]
fn replays_of_one_check_are_not_counted_in_the_next() {
    let replayed = |is_first: bool| {
        std::thread::spawn(move || {
            if !is_first {
                // Its run is minimised and told, which takes replays, too.
                let never = |_: &[(bool, u8, u8)]| false;
                let view = view(|n: &Rebuilt<Opaque>| n.with(|it| it.state.borrow().view()));
                let system = System::new(vec![by_history(); 2]).call(0, 1);
                let violated = system.always("never", view, never).check();
                assert_eq!(violated.verdict, Verdict::Violated);
            }
            let options = Options { threads: 1, ..Options::default() };
            let system = System::new([by_history()]).call(0, 1);
            system.try_check(&options).unwrap().statistics.replayed_handlers
        })
        .join()
        .unwrap()
    };
    assert_eq!(replayed(true), replayed(false));
}

/// Looks at another node when it is dropped, whenever that is.
struct Curious(Rebuilt<List>);

impl Drop for Curious {
    fn drop(&mut self) {
        self.0.with(|list| assert!(list.told.is_empty()));
    }
}

impl Rebuild for Curious {
    type Msg = u8;
    type Timer = Never;
    type Call = u8;
    type Output = Never;
    fn on_call(&mut self, value: u8, cx: &mut Cx<'_, Rebuilt<Self>>) {
        cx.broadcast(value);
    }
    fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Rebuilt<Self>>) {}
}

#[test]
fn a_thread_may_end_before_its_values_do() {
    let other = Rebuilt::new(|| List { told: Vec::new(), copies: Copies::Never });
    let node = Rebuilt::new(move || Curious(other.clone()));
    let system = System::new(vec![node; 2]).call(0, 1).call(1, 2);
    let checked = std::thread::spawn(move || {
        let options = Options { threads: 2, ..Options::default() };
        let complete = system.try_check(&options).unwrap().complete;
        // What this thread keeps outlives the system.
        (system, complete)
    });
    assert!(checked.join().unwrap().1);
}
