//! What must hold, and the parts of the nodes that it reads.

use super::erased::Erased;
use super::node::{Node, Value};
use std::fmt;
use std::sync::Arc;

/// The part of a node that a property reads. Made by [`view`].
///
/// ```
/// use allways::{view, View};
/// let chosen: View<Option<u32>, bool> = view(|n: &Option<u32>| n.is_some());
/// assert!(chosen.of(&Some(1)));
/// ```
pub struct View<N, V> {
    read: Arc<dyn Fn(&N) -> V + Send + Sync>,
}

impl<N, V> View<N, V> {
    /// This part of `node`.
    ///
    /// ```
    /// let sign = allways::view(|n: &i32| n.signum());
    /// assert_eq!(sign.of(&-3), -1);
    /// ```
    pub fn of(&self, node: &N) -> V {
        (self.read)(node)
    }
}

impl<N, V> Clone for View<N, V> {
    fn clone(&self) -> Self {
        View { read: Arc::clone(&self.read) }
    }
}

/// Names the part of each node that a property reads. What neither handlers nor views read need
/// not be told apart, so the smaller the view, the more can be skipped.
///
/// ```
/// use allways::view;
/// let rounded = view(|n: &u32| n / 10);
/// assert_eq!(rounded.of(&42), 4);
/// ```
pub fn view<N, V>(read: impl Fn(&N) -> V + Send + Sync + 'static) -> View<N, V> {
    View { read: Arc::new(read) }
}

/// What kind of claim a property makes.
///
/// ```
/// assert_eq!(allways::PropertyKind::Always.to_string(), "always");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PropertyKind {
    /// Holds in every reachable global state.
    Always,
    /// Holds in some reachable global state.
    Sometimes,
    /// Every terminal global state is one that is allowed.
    NeverStuck,
}

impl fmt::Display for PropertyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PropertyKind::Always => "always",
            PropertyKind::Sometimes => "sometimes",
            PropertyKind::NeverStuck => "never stuck",
        })
    }
}

/// A property of a system of `N`.
pub(crate) struct Property<N: Node> {
    pub name: String,
    pub kind: PropertyKind,
    pub reads: Reads<N>,
    /// What it is the conjunction of, if that is known: names, and tests of what it reads.
    pub conjuncts: Vec<(String, ErasedTest)>,
}

impl<N: Node> Clone for Property<N> {
    fn clone(&self) -> Self {
        Property {
            name: self.name.clone(),
            kind: self.kind,
            reads: self.reads.clone(),
            conjuncts: self.conjuncts.clone(),
        }
    }
}

/// One of several things that must be true at once: see
/// [`System::sometimes_all`](crate::System::sometimes_all). Made by [`conjunct`].
///
/// ```
/// use allways::{Conjunct, conjunct};
/// let many: Conjunct<[u8]> = conjunct("many", |views: &[u8]| views.len() > 2);
/// assert!(many.is_true(&[1, 2, 3]));
/// ```
pub struct Conjunct<T: ?Sized> {
    pub(crate) name: String,
    pub(crate) test: Arc<dyn Fn(&T) -> bool + Send + Sync>,
}

impl<T: ?Sized> Conjunct<T> {
    /// Whether it is true of this.
    ///
    /// ```
    /// let empty = allways::conjunct("empty", |text: &str| text.is_empty());
    /// assert!(empty.is_true(""));
    /// ```
    pub fn is_true(&self, of: &T) -> bool {
        (self.test)(of)
    }
}

/// Names a part of a goal.
///
/// ```
/// use allways::conjunct;
/// let quorum = 2;
/// let enough = conjunct("enough votes", move |votes: &[bool]| {
///     votes.iter().filter(|&&vote| vote).count() >= quorum
/// });
/// assert!(!enough.is_true(&[true, false, false]));
/// ```
pub fn conjunct<T: ?Sized>(
    name: impl Into<String>,
    test: impl Fn(&T) -> bool + Send + Sync + 'static,
) -> Conjunct<T> {
    Conjunct { name: name.into(), test: Arc::new(test) }
}

type ErasedView<N> = Arc<dyn Fn(&N) -> Erased + Send + Sync>;
pub(crate) type ErasedTest = Arc<dyn Fn(&[Erased]) -> bool + Send + Sync>;

/// What a property reads, and the test on it.
pub(crate) enum Reads<N: Node> {
    /// One view of each node.
    Views { view: ErasedView<N>, test: ErasedTest },
    /// The state of the observer with this number.
    Observer { observer: usize, test: ErasedTest },
}

impl<N: Node> Clone for Reads<N> {
    fn clone(&self) -> Self {
        match self {
            Reads::Views { view, test } => {
                Reads::Views { view: Arc::clone(view), test: Arc::clone(test) }
            }
            Reads::Observer { observer, test } => {
                Reads::Observer { observer: *observer, test: Arc::clone(test) }
            }
        }
    }
}

impl<N: Node> Reads<N> {
    pub fn views<V: Value>(
        view: View<N, V>,
        test: impl Fn(&[V]) -> bool + Send + Sync + 'static,
    ) -> Self {
        Reads::tested(view, of_views(test))
    }

    pub fn tested<V: Value>(view: View<N, V>, test: ErasedTest) -> Self {
        Reads::Views { view: Arc::new(move |node| Erased::new(view.of(node))), test }
    }

    pub fn replace_test(&mut self, by: ErasedTest) {
        match self {
            Reads::Views { test, .. } | Reads::Observer { test, .. } => *test = by,
        }
    }

    pub fn observer<S: Value>(
        observer: usize,
        test: impl Fn(&S) -> bool + Send + Sync + 'static,
    ) -> Self {
        Reads::Observer { observer, test: of_observer(test) }
    }
}

/// A test of views, one a node.
pub(crate) fn of_views<V: Value>(
    test: impl Fn(&[V]) -> bool + Send + Sync + 'static,
) -> ErasedTest {
    Arc::new(move |views| {
        let views: Vec<V> = views.iter().filter_map(|v| v.get::<V>()).cloned().collect();
        test(&views)
    })
}

/// A test of an observer's state.
pub(crate) fn of_observer<S: Value>(
    test: impl Fn(&S) -> bool + Send + Sync + 'static,
) -> ErasedTest {
    Arc::new(move |states| states[0].get::<S>().is_none_or(&test))
}

/// Whether all items are equal; `true` for none. Reads well in an agreement property.
///
/// ```
/// use allways::prelude::*;
/// let chosen = [None, Some(3), Some(3)];
/// assert!(chosen.iter().flatten().all_equal());
/// ```
pub trait AllEqual: Iterator {
    /// Consumes the iterator and compares every item with the first.
    fn all_equal(self) -> bool;
}

impl<I: Iterator> AllEqual for I
where
    I::Item: PartialEq,
{
    fn all_equal(mut self) -> bool {
        let first = self.next();
        first.is_none_or(|first| self.all(|item| item == first))
    }
}
