//! [`Rebuilt`]: a node that can be neither cloned nor compared, as most of what ships.
//!
//! The idea: a handler is deterministic, so a node's state is what its events made of it. The
//! wrapper keeps these events, its [`History`], instead of the state. The history can be cloned,
//! compared and hashed, and whoever needs the state itself (a handler, a view) gets it by replay:
//! a new value is made and handles all of the history again. What a replayed handler does is
//! compared with what it did the first time; a difference is [`Error::NonDeterministic`].
//!
//! The values themselves never leave the thread that made them: each thread [keeps](super::kept) many, by
//! their histories, so that going on from such a state costs one handler and no replay. That
//! is also why they need not be `Send`. Where a value can be copied, a replay begins from the nearest one that was kept.

use super::aux::Aux;
use super::erased::Erased;
use super::event::Event;
use super::history::{Handled, History};
use super::kept::{Kept, count_replayed, exactly, forget, keep, nearest};
use super::node::{Chooser, Cx, Effects, Id, Node, Value};
use super::step::guarded;
use crate::error::Error;
use std::cell::RefCell;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A process that need not be `Clone`, `Eq`, `Hash`, `Debug` or `Send`: [`Rebuilt`] makes a
/// [`Node`] of it.
///
/// The handlers are those of [`Node`], and what is said there holds here. They are executed again
/// whenever the state is rebuilt, so they must have no effect but through [`Cx`]: no files, no
/// clocks, nothing that another value of the same type sees.
///
/// ```
/// use allways::prelude::*;
/// use allways::{Rebuild, Rebuilt};
/// use std::{cell::RefCell, rc::Rc};
///
/// /// Adds up what it is told. The sum is shared, so a clone would not be a copy.
/// struct Adder { sum: Rc<RefCell<u32>>, add: Box<dyn FnMut(u32)> }
///
/// impl Adder {
///     fn new() -> Self {
///         let sum = Rc::new(RefCell::new(0));
///         let shared = Rc::clone(&sum);
///         Adder { sum, add: Box::new(move |n| *shared.borrow_mut() += n) }
///     }
/// }
///
/// impl Rebuild for Adder {
///     type Msg = u32;
///     type Timer = Never;
///     type Call = u32;
///     type Output = Never;
///
///     fn on_call(&mut self, n: u32, cx: &mut Cx<'_, Rebuilt<Self>>) {
///         (self.add)(n);
///         cx.broadcast(n);
///     }
///
///     fn on_message(&mut self, _: Id, n: u32, _: &mut Cx<'_, Rebuilt<Self>>) {
///         (self.add)(n);
///     }
/// }
///
/// System::new((0..2).map(|_| Rebuilt::new(Adder::new)))
///     .call(0, 1)
///     .call(1, 2)
///     .never_stuck(
///         "the sums agree",
///         view(|n: &Rebuilt<Adder>| n.with(|adder| *adder.sum.borrow())),
///         |sums| sums.iter().all_equal(),
///     )
///     .check()
///     .assert_holds();
/// ```
pub trait Rebuild: Sized + 'static {
    /// What nodes send each other.
    type Msg: Value;
    /// What tells one timer of a node from another.
    type Timer: Value + Ord;
    /// What the application asks of a node.
    type Call: Value;
    /// What a node tells the world.
    type Output: Value;

    /// The node starts for the first time.
    fn on_start(&mut self, cx: &mut Cx<'_, Rebuilt<Self>>) {
        let _ = cx;
    }

    /// A message is delivered.
    fn on_message(&mut self, from: Id, msg: Self::Msg, cx: &mut Cx<'_, Rebuilt<Self>>);

    /// A timer fires. It is no longer pending unless the handler sets it again.
    fn on_timer(&mut self, timer: Self::Timer, cx: &mut Cx<'_, Rebuilt<Self>>) {
        let _ = (timer, cx);
    }

    /// The application calls.
    fn on_call(&mut self, call: Self::Call, cx: &mut Cx<'_, Rebuilt<Self>>) {
        let _ = (call, cx);
    }

    /// What is left of this node after a crash: what it had persisted. `None`, the default, says
    /// that nothing survives: the node restarts as it was first made.
    ///
    /// The crashed value is taken apart, so that what plays the disk in it can be moved over.
    fn persisted(self) -> Option<Self> {
        None
    }

    /// A copy of this, if one can be made now: what it does must be what this does, for ever, and neither may see what the other does. `None`, the default, says that there is
    /// none: then a state is rebuilt by handling all of its history again, or what came after a copy that was made earlier.
    ///
    /// Some can always be copied. Of others only what they have stored can, so there is a copy only when there is nothing else to them: right after a crash.
    ///
    /// ```
    /// use allways::prelude::*;
    /// use allways::{Rebuild, Rebuilt};
    /// struct Server { log: Vec<u8>, dirty: bool }
    /// impl Rebuild for Server {
    ///     # type Msg = u8; type Timer = Never; type Call = u8; type Output = Never;
    ///     # fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Rebuilt<Self>>) {}
    ///     // …
    ///     fn checkpoint(&self) -> Option<Self> {
    ///         let log = self.log.clone();
    ///         (!self.dirty).then_some(Server { log, dirty: false })
    ///     }
    /// }
    /// # System::new([Rebuilt::new(|| Server { log: vec![], dirty: false })]).call(0, 1).check();
    /// ```
    fn checkpoint(&self) -> Option<Self> {
        None
    }

    /// The node starts again after a crash, as [`Rebuild::persisted`] left it. By default it starts
    /// as it did the first time.
    fn on_restart(&mut self, cx: &mut Cx<'_, Rebuilt<Self>>) {
        self.on_start(cx);
    }
}

/// A [`Node`] made of a process that can be neither cloned nor compared: its identity is the
/// history of events that it handled, and its state is rebuilt by replay. See [`Rebuild`] for a
/// whole example.
///
/// Without a fingerprint, two states are the same only if the same events led there in the same
/// order. A check is then no less complete, but it has more states; if events never end, it has
/// infinitely many and needs a bound on depth. Nobody can tell whether an event has changed
/// anything, so every delivery is a step and consumes its message. [`Rebuilt::fingerprint`]
/// merges states.
///
/// Statistics count each event that is handled; handlers that are executed again to
/// rebuild a state are counted by themselves ([`Statistics::replayed_handlers`](crate::Statistics::replayed_handlers)). Rebuilt nodes cannot be declared interchangeable.
///
/// ```
/// use allways::Rebuilt;
/// # use allways::prelude::*;
/// # struct Server { seen: Box<u8> }
/// # impl allways::Rebuild for Server { type Msg = u8; type Timer = Never; type Call = u8; type Output = Never;
/// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Rebuilt<Self>>) {}
/// #   fn on_call(&mut self, call: u8, _: &mut Cx<'_, Rebuilt<Self>>) { *self.seen = call; } }
/// // `Server` is not `Clone`.
/// let server = Rebuilt::new(|| Server { seen: Box::new(0) });
/// let seen = view(|server: &Rebuilt<Server>| server.with(|server| *server.seen));
/// let outcome = System::new([server]).call(0, 7).sometimes("called", seen, |seen| seen[0] == 7).check();
/// assert_eq!(outcome.verdict, Verdict::Holds);
/// ```
pub struct Rebuilt<R: Rebuild> {
    how: Arc<How<R>>,
    /// Counts only where there is no fingerprint.
    history: Aux<History<R>>,
    fingerprint: Option<Erased>,
}

type Make<R> = dyn Fn() -> R + Send + Sync;
type Fingerprint<R> = dyn Fn(&R) -> Erased + Send + Sync;
type Show<R> = dyn Fn(&R, &mut fmt::Formatter<'_>) -> fmt::Result + Send + Sync;

/// How values are made, told apart and shown.
struct How<R: Rebuild> {
    /// Tells one `How` from another.
    number: u64,
    make: Arc<Make<R>>,
    fingerprint: Option<Arc<Fingerprint<R>>>,
    show: Option<Arc<Show<R>>>,
    /// So many values each thread keeps at most.
    keeps: usize,
}

/// Unless said.
const KEEPS: usize = 1024;

impl<R: Rebuild> How<R> {
    fn number() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        NEXT.fetch_add(1, Relaxed)
    }
}

impl<R: Rebuild> Drop for How<R> {
    /// Nobody can ask for these values any more.
    fn drop(&mut self) {
        forget(self.number);
    }
}

impl<R: Rebuild> Rebuilt<R> {
    /// A node that `make` makes, each time that it is rebuilt.
    ///
    /// ```
    /// use allways::Rebuilt;
    /// # use allways::prelude::*;
    /// # struct Server { rank: usize }
    /// # impl allways::Rebuild for Server { type Msg = u8; type Timer = Never; type Call = Never; type Output = Never;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Rebuilt<Self>>) {} }
    /// let nodes = (0..3).map(|rank| Rebuilt::new(move || Server { rank }));
    /// assert_eq!(nodes.last().unwrap().with(|server| server.rank), 2);
    /// ```
    pub fn new(make: impl Fn() -> R + Send + Sync + 'static) -> Self {
        let make: Arc<Make<R>> = Arc::new(make);
        let number = How::<R>::number();
        let how = How { number, make, fingerprint: None, show: None, keeps: KEEPS };
        Rebuilt { how: Arc::new(how), history: Aux::counted(History::new()), fingerprint: None }
    }

    /// States with equal fingerprints are the same state, whatever led there. A new value is made
    /// at once, for its fingerprint.
    ///
    /// It must contain all that the handlers and the views depend on, as the fields of a [`Node`]
    /// do. Then a check with it finds what a check without it finds, in fewer states. Otherwise
    /// it may miss what it should find: the history is then like an [`Aux`] that matters, and
    /// [`Options::verify_aux`](crate::Options) tries to refute that it does not.
    ///
    /// ```
    /// use allways::Rebuilt;
    /// # use allways::prelude::*;
    /// # struct Last(Box<u8>);
    /// # impl allways::Rebuild for Last { type Msg = u8; type Timer = Never; type Call = u8; type Output = Never;
    /// #   fn on_call(&mut self, n: u8, cx: &mut Cx<'_, Rebuilt<Self>>) { cx.broadcast(n) }
    /// #   fn on_message(&mut self, _: Id, n: u8, _: &mut Cx<'_, Rebuilt<Self>>) { *self.0 = n; } }
    /// let node = Rebuilt::new(|| Last(Box::new(0))); // keeps the last message
    /// let states = |node: Rebuilt<Last>| {
    ///     let system = System::new(vec![node; 2]).call(0, 1).call(0, 2).call(0, 3);
    ///     system.check().statistics.unique_states.unwrap()
    /// };
    /// assert!(states(node.clone().fingerprint(|last| *last.0)) < states(node));
    /// ```
    pub fn fingerprint<F: Value>(self, f: impl Fn(&R) -> F + Send + Sync + 'static) -> Self {
        let first = self.with(|value| Erased::new(f(value)));
        let fingerprint: Arc<Fingerprint<R>> = Arc::new(move |value| Erased::new(f(value)));
        let how = How {
            number: How::<R>::number(),
            make: Arc::clone(&self.how.make),
            fingerprint: Some(fingerprint),
            show: self.how.show.clone(),
            keeps: self.how.keeps,
        };
        Rebuilt { how: Arc::new(how), history: Aux::new(History::new()), fingerprint: Some(first) }
    }

    /// How a state is shown. Otherwise its fingerprint is, or where there is none, its history.
    ///
    /// ```
    /// use allways::Rebuilt;
    /// # use allways::prelude::*;
    /// # #[derive(Debug)] struct Server { rank: usize }
    /// # impl allways::Rebuild for Server { type Msg = u8; type Timer = Never; type Call = Never; type Output = Never;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Rebuilt<Self>>) {} }
    /// let node = Rebuilt::new(|| Server { rank: 2 });
    /// assert_eq!(format!("{node:?}"), "[]"); // it has handled nothing
    /// let node = node.show(std::fmt::Debug::fmt);
    /// assert_eq!(format!("{node:?}"), "Server { rank: 2 }");
    /// ```
    pub fn show(
        self,
        f: impl Fn(&R, &mut fmt::Formatter<'_>) -> fmt::Result + Send + Sync + 'static,
    ) -> Self {
        let show: Arc<Show<R>> = Arc::new(f);
        let how = How {
            number: How::<R>::number(),
            make: Arc::clone(&self.how.make),
            fingerprint: self.how.fingerprint.clone(),
            show: Some(show),
            keeps: self.how.keeps,
        };
        Rebuilt { how: Arc::new(how), ..self }
    }

    /// How many live values each thread keeps at most, of this node and of others that are rebuilt: 1,024 unless said. More of them take more memory, and save
    /// handlers that are executed again: see [`Statistics::replayed_handlers`](crate::Statistics::replayed_handlers).
    ///
    /// ```
    /// use allways::Rebuilt;
    /// # use allways::prelude::*;
    /// # struct Server;
    /// # impl allways::Rebuild for Server { type Msg = u8; type Timer = Never; type Call = u8; type Output = Never;
    /// #   fn on_call(&mut self, n: u8, cx: &mut Cx<'_, Rebuilt<Self>>) { cx.broadcast(n) }
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Rebuilt<Self>>) {} }
    /// let replayed = |keeps: usize| {
    ///     let node = Rebuilt::new(|| Server).keeps(keeps);
    ///     let system = System::new([node.clone(), node]).call(0, 1).call(0, 2).call(0, 3);
    ///     system.check().statistics.replayed_handlers.unwrap()
    /// };
    /// assert!(replayed(1) > replayed(100));
    /// ```
    #[must_use]
    pub fn keeps(self, values: usize) -> Self {
        let how = How {
            number: How::<R>::number(),
            make: Arc::clone(&self.how.make),
            fingerprint: self.how.fingerprint.clone(),
            show: self.how.show.clone(),
            keeps: values,
        };
        Rebuilt { how: Arc::new(how), ..self }
    }

    /// Reads the state: what views do.
    ///
    /// ```
    /// use allways::Rebuilt;
    /// # use allways::prelude::*;
    /// # struct Server { leader: Option<Id> }
    /// # impl allways::Rebuild for Server { type Msg = u8; type Timer = Never; type Call = Never; type Output = Never;
    /// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Rebuilt<Self>>) {} }
    /// System::new([Rebuilt::new(|| Server { leader: None })])
    ///     .always("no leader", view(|n: &Rebuilt<Server>| n.with(|s| s.leader)), |all| all[0].is_none())
    ///     .check()
    ///     .assert_holds();
    /// ```
    ///
    /// # Panics
    ///
    /// If a handler does not do again what it did the first time. In a check that is an
    /// [`Error::NonDeterministic`].
    pub fn with<T>(&self, f: impl FnOnce(&R) -> T) -> T {
        // A value that is only looked at need not be copied.
        let (kept, is_wanted) =
            exactly(self.how.number, &self.history).unwrap_or_else(|| (self.rebuilt(), false));
        let result = f(&kept.value);
        keep(self.how.number, kept, self.how.keeps, is_wanted);
        result
    }

    /// The state that this node is in, or why there is none.
    fn rebuild(&self) -> Result<Kept<R>, Error> {
        let mut kept = match nearest(self.how.number, &self.history) {
            Some(kept) => kept,
            None => Kept { history: History::new(), value: self.make()?, timers: Vec::new() },
        };
        let missing = self.history.after(kept.history.len());
        // A copy half-way, so that others who come by do not begin where this had to.
        let halfway = missing.len() / 2;
        for (index, history) in missing.into_iter().enumerate() {
            kept = self.replay(kept, history)?;
            if index == halfway
                && index > 0
                && let Some(copy) = kept.copy()
            {
                keep(self.how.number, copy, self.how.keeps, false);
            }
        }
        Ok(kept)
    }

    fn make(&self) -> Result<R, Error> {
        // The first value of all may panic as user code may; those after it must do as it did.
        let Some(last) = self.history.last() else { return Ok((self.how.make)()) };
        guarded(|| (self.how.make)()).map_err(|message| Error::NonDeterministic {
            node: last.id.index(),
            state: "before its start".to_owned(),
            event: "being made".to_owned(),
            difference: format!("it panicked the second time: {message}"),
        })
    }

    /// Handles the last entry of `history` again.
    fn replay(&self, before: Kept<R>, history: History<R>) -> Result<Kept<R>, Error> {
        let Some(entry) = history.last() else { return Ok(before) };
        count_replayed();
        let Kept { value, timers, .. } = before;
        let mut chooser = Replayed { made: &entry.choices, at: 0, differs: false };
        let again =
            guarded(|| act(&entry.handled, (entry.id, entry.nodes), value, timers, &mut chooser));
        let differs = chooser.differs || chooser.at != entry.choices.len();
        let difference = match again {
            _ if differs => "it made other choices the second time".to_owned(),
            Err(message) => format!("it panicked the second time: {message}"),
            Ok(None) => "nothing was persisted the second time".to_owned(),
            Ok(Some((value, effects))) => {
                if digest(&effects, &self.fingerprint_of(&value)) == entry.did {
                    return Ok(Kept { history, value, timers: effects.timers });
                }
                format!(
                    "it led to sends {:?}, outputs {:?}, timers {:?} the second time, and to something else at first",
                    effects.sends, effects.outputs, effects.timers
                )
            }
        };
        Err(Error::NonDeterministic {
            node: entry.id.index(),
            state: format!("{:?}", entry.before()),
            event: entry.handled.to_string(),
            difference,
        })
    }

    /// The state that this node is in. Without one, this panics so that whoever runs user code can
    /// ask [`diverged`] for the reason.
    fn rebuilt(&self) -> Kept<R> {
        self.rebuild().unwrap_or_else(|error| {
            let sentence = error.to_string();
            DIVERGED.replace(Some(error));
            panic!("{sentence}")
        })
    }

    fn fingerprint_of(&self, value: &R) -> Option<Erased> {
        self.how.fingerprint.as_ref().map(|fingerprint| fingerprint(value))
    }

    fn handle(&mut self, handled: Handled<R>, cx: &mut Cx<'_, Self>) {
        let Kept { value, .. } = self.rebuilt();
        let place = (cx.id(), cx.nodes());
        let (effects, chooser) = cx.parts();
        let mut recorder = Recorder { chooser, made: Vec::new() };
        let timers = std::mem::take(&mut effects.timers);
        if let Some((value, done)) = act(&handled, place, value, timers, &mut recorder) {
            self.advance(handled, place, recorder.made, value, &done);
            *effects = done;
        }
    }

    /// Goes on to the state `value`, to which handling this has led.
    fn advance(
        &mut self,
        handled: Handled<R>,
        place: (Id, usize),
        choices: Vec<(u32, u32)>,
        value: R,
        effects: &Effects<Self>,
    ) {
        self.fingerprint = self.fingerprint_of(&value);
        let did = digest(effects, &self.fingerprint);
        *self.history = self.history.and(handled, place, choices, did);
        let history = self.history.clone().into_inner();
        let timers = effects.timers.clone();
        keep(self.how.number, Kept { history, value, timers }, self.how.keeps, false);
    }
}

/// Runs a handler, the first time or again. `None` if a crash leaves nothing.
fn act<R: Rebuild>(
    handled: &Handled<R>,
    (id, nodes): (Id, usize),
    mut value: R,
    timers: Vec<R::Timer>,
    chooser: &mut dyn Chooser,
) -> Option<(R, Effects<Rebuilt<R>>)> {
    let mut effects = Effects { sends: Vec::new(), timers, outputs: Vec::new(), stutter: false };
    if let Handled::Event(Event::Timer(timer)) = handled {
        effects.timers.retain(|pending| pending != timer);
    }
    let mut cx = Cx::new(id, nodes, &mut effects, chooser);
    match handled {
        Handled::Start => value.on_start(&mut cx),
        Handled::Event(Event::Message { from, msg }) => {
            value.on_message(*from, msg.clone(), &mut cx);
        }
        Handled::Event(Event::Timer(timer)) => value.on_timer(timer.clone(), &mut cx),
        Handled::Event(Event::Call { call, .. }) => value.on_call(call.clone(), &mut cx),
        Handled::Event(Event::Crash) => {
            cx.cancel_timers();
            value = value.persisted()?;
        }
        Handled::Event(Event::Restart) => value.on_restart(&mut cx),
    }
    Some((value, effects))
}

/// A hash of what a handler did.
fn digest<R: Rebuild>(effects: &Effects<Rebuilt<R>>, fingerprint: &Option<Erased>) -> u64 {
    let mut hasher = DefaultHasher::new();
    let Effects { sends, timers, outputs, stutter } = effects;
    (sends, timers, outputs, stutter, fingerprint).hash(&mut hasher);
    hasher.finish()
}

/// Passes choices on, and writes them down.
struct Recorder<'a> {
    chooser: &'a mut dyn Chooser,
    made: Vec<(u32, u32)>,
}

impl Chooser for Recorder<'_> {
    fn choose(&mut self, arity: usize) -> usize {
        let result = self.chooser.choose(arity);
        self.made.push((result as u32, u32::try_from(arity).unwrap_or(u32::MAX)));
        result
    }
}

/// Makes the choices that were written down.
struct Replayed<'a> {
    made: &'a [(u32, u32)],
    at: usize,
    /// Whether it was asked for other choices than those.
    differs: bool,
}

impl Chooser for Replayed<'_> {
    fn choose(&mut self, arity: usize) -> usize {
        let made = self.made.get(self.at).filter(|made| made.1 as usize == arity);
        self.differs |= made.is_none();
        self.at += 1;
        // A handler that chooses for ever is one that differs; it must come to an end all the same.
        assert!(self.at <= self.made.len(), "it chose more often");
        made.map_or(0, |made| made.0 as usize)
    }
}

impl<R: Rebuild> Node for Rebuilt<R> {
    type Msg = R::Msg;
    type Timer = R::Timer;
    type Call = R::Call;
    type Output = R::Output;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.handle(Handled::Start, cx);
    }

    fn on_message(&mut self, from: Id, msg: R::Msg, cx: &mut Cx<'_, Self>) {
        self.handle(Handled::Event(Event::Message { from, msg }), cx);
    }

    fn on_timer(&mut self, timer: R::Timer, cx: &mut Cx<'_, Self>) {
        self.handle(Handled::Event(Event::Timer(timer)), cx);
    }

    fn on_call(&mut self, call: R::Call, cx: &mut Cx<'_, Self>) {
        self.handle(Handled::Event(Event::Call { call, next: None }), cx);
    }

    fn persisted(&self) -> Option<Self> {
        // Only what has started can crash.
        let last = self.history.last()?;
        let place = (last.id, last.nodes);
        let handled = Handled::Event(Event::Crash);
        let mut nothing = Replayed { made: &[], at: 0, differs: false };
        let Kept { value, timers, .. } = self.rebuilt();
        let (value, effects) = act(&handled, place, value, timers, &mut nothing)?;
        let mut survivor = self.clone();
        survivor.advance(handled, place, Vec::new(), value, &effects);
        Some(survivor)
    }

    fn on_restart(&mut self, cx: &mut Cx<'_, Self>) {
        self.handle(Handled::Event(Event::Restart), cx);
    }
}

// By hand: derives would ask it of `R`.
impl<R: Rebuild> Clone for Rebuilt<R> {
    fn clone(&self) -> Self {
        Rebuilt {
            how: Arc::clone(&self.how),
            history: self.history.clone(),
            fingerprint: self.fingerprint.clone(),
        }
    }
}

impl<R: Rebuild> PartialEq for Rebuilt<R> {
    fn eq(&self, other: &Self) -> bool {
        self.how.number == other.how.number
            && self.fingerprint == other.fingerprint
            && self.history == other.history
    }
}

impl<R: Rebuild> Eq for Rebuilt<R> {}

impl<R: Rebuild> Hash for Rebuilt<R> {
    /// Without the number of `how`, which depends on what else was made before it.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.fingerprint.hash(hasher);
        self.history.hash(hasher);
    }
}

impl<R: Rebuild> fmt::Debug for Rebuilt<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Who shows a state often does so because something is wrong with it: that it cannot be
        // rebuilt is no reason to show nothing.
        if let Some(show) = &self.how.show
            && let Ok(kept) = self.rebuild()
        {
            let result = show(&kept.value, f);
            keep(self.how.number, kept, self.how.keeps, false);
            return result;
        }
        match &self.fingerprint {
            Some(fingerprint) => fingerprint.fmt(f),
            None => (*self.history).fmt(f),
        }
    }
}

thread_local! {
    /// Why the last panic of [`Rebuilt::rebuilt`] was one.
    static DIVERGED: RefCell<Option<Error>> = const { RefCell::new(None) };
}

/// The error behind a panic with this message, if it is that a state could not be rebuilt.
pub(crate) fn diverged(message: &str) -> Option<Error> {
    DIVERGED.take().filter(|error| message.starts_with(&error.to_string()))
}
