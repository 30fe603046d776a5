//! Renaming nodes: what symmetry reduction needs to know about ids inside states and messages.

use super::aux::Aux;
use super::node::{Id, Never};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{BuildHasher, Hash};

/// A mapping of node ids.
///
/// ```
/// use allways::{Id, Renaming};
/// let swap = Renaming::swap(3, 0, 2);
/// assert_eq!(swap.of(Id::new(0)), Id::new(2));
/// assert_eq!(swap.of(Id::new(1)), Id::new(1));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Renaming {
    to: Vec<Id>,
    /// Set when several ids map to one: then a position says nothing, see [`ByNode`].
    blurred: bool,
}

impl Renaming {
    /// The identity on `nodes` ids.
    ///
    /// ```
    /// use allways::{Id, Renaming};
    /// assert_eq!(Renaming::identity(3).of(Id::new(2)), Id::new(2));
    /// ```
    pub fn identity(nodes: usize) -> Self {
        Renaming { to: (0..nodes).map(Id::new).collect(), blurred: false }
    }

    /// Exchanges two ids.
    ///
    /// ```
    /// use allways::{Id, Renaming};
    /// assert_eq!(Renaming::swap(3, 1, 2).of(Id::new(1)), Id::new(2));
    /// ```
    pub fn swap(nodes: usize, a: usize, b: usize) -> Self {
        let mut renaming = Renaming::identity(nodes);
        renaming.to.swap(a, b);
        renaming
    }

    /// Maps id `i` to `to[i]`, a permutation.
    pub(crate) fn permutation(to: Vec<usize>) -> Self {
        Renaming { to: to.into_iter().map(Id::new).collect(), blurred: false }
    }

    /// Keeps `focus` apart and makes the rest of each group one: what the world looks like to
    /// `focus` when it cannot tell its peers apart.
    pub(crate) fn blur(nodes: usize, groups: &[Vec<usize>], focus: usize) -> Self {
        let mut renaming = Renaming::identity(nodes);
        renaming.blurred = true;
        for (index, group) in groups.iter().enumerate() {
            for &node in group {
                // Ids that no node has.
                let name = if node == focus { nodes } else { nodes + 1 + index };
                renaming.to[node] = Id::new(name);
            }
        }
        renaming
    }

    /// What `id` becomes. An id that is no node's stays as it is.
    ///
    /// ```
    /// use allways::{Id, Renaming};
    /// let renaming = Renaming::swap(2, 0, 1);
    /// assert_eq!(renaming.of(Id::new(0)), Id::new(1));
    /// assert_eq!(renaming.of(Id::new(9)), Id::new(9)); // no node's id
    /// ```
    pub fn of(&self, id: Id) -> Id {
        self.to.get(id.index()).copied().unwrap_or(id)
    }
}

/// A type that may contain node ids, and can say what it becomes when nodes change names.
///
/// `#[derive(Rename)]` (feature `derive`) renames every field. A vector or array that is *indexed*
/// by node must be a [`ByNode`], or its positions would keep their old meaning.
///
/// ```
/// use allways::{Id, Rename, Renaming};
/// let renaming = Renaming::swap(2, 0, 1);
/// assert_eq!((7u8, Some(Id::new(0))).rename(&renaming), (7, Some(Id::new(1))));
/// ```
pub trait Rename: Sized {
    /// This value with every id in it renamed.
    #[must_use]
    fn rename(&self, renaming: &Renaming) -> Self;
}

impl Rename for Id {
    fn rename(&self, renaming: &Renaming) -> Self {
        renaming.of(*self)
    }
}

impl Rename for Never {
    fn rename(&self, _: &Renaming) -> Self {
        *self
    }
}

macro_rules! without_ids {
    ($($type:ty),*) => {$(
        impl Rename for $type {
            fn rename(&self, _: &Renaming) -> Self {
                self.clone()
            }
        }
    )*};
}
without_ids!(
    u8,
    u16,
    u32,
    u64,
    u128,
    usize,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    bool,
    char,
    String,
    ()
);
without_ids!(&'static str);

macro_rules! tuples {
    ($($name:ident $at:tt),*) => {
        impl<$($name: Rename),*> Rename for ($($name,)*) {
            fn rename(&self, renaming: &Renaming) -> Self {
                ($(self.$at.rename(renaming),)*)
            }
        }
    };
}
tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);

impl<T: Rename> Rename for Option<T> {
    fn rename(&self, renaming: &Renaming) -> Self {
        self.as_ref().map(|value| value.rename(renaming))
    }
}

impl<T: Rename, E: Rename> Rename for Result<T, E> {
    fn rename(&self, renaming: &Renaming) -> Self {
        match self {
            Ok(value) => Ok(value.rename(renaming)),
            Err(error) => Err(error.rename(renaming)),
        }
    }
}

impl<T: Rename> Rename for Box<T> {
    fn rename(&self, renaming: &Renaming) -> Self {
        Box::new((**self).rename(renaming))
    }
}

impl<T: Rename> Rename for Vec<T> {
    fn rename(&self, renaming: &Renaming) -> Self {
        self.iter().map(|item| item.rename(renaming)).collect()
    }
}

impl<T: Rename, const L: usize> Rename for [T; L] {
    fn rename(&self, renaming: &Renaming) -> Self {
        std::array::from_fn(|at| self[at].rename(renaming))
    }
}

impl<T: Rename> Rename for VecDeque<T> {
    fn rename(&self, renaming: &Renaming) -> Self {
        self.iter().map(|item| item.rename(renaming)).collect()
    }
}

impl<T: Rename + Ord> Rename for BTreeSet<T> {
    fn rename(&self, renaming: &Renaming) -> Self {
        self.iter().map(|item| item.rename(renaming)).collect()
    }
}

impl<K: Rename + Ord, V: Rename> Rename for BTreeMap<K, V> {
    fn rename(&self, renaming: &Renaming) -> Self {
        self.iter().map(|(k, v)| (k.rename(renaming), v.rename(renaming))).collect()
    }
}

impl<T: Rename + Clone> Rename for Aux<T> {
    fn rename(&self, renaming: &Renaming) -> Self {
        let mut renamed = self.clone();
        *renamed = (**self).rename(renaming);
        renamed
    }
}

/// A vector with one entry a node: renaming moves the entries with their nodes.
///
/// ```
/// use allways::{ByNode, Rename, Renaming};
/// let votes = ByNode::from(vec!['a', 'b', 'c']);
/// assert_eq!(votes[0], 'a');
/// assert_eq!(votes.rename(&Renaming::swap(3, 0, 2)), ByNode::from(vec!['c', 'b', 'a']));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Default)]
pub struct ByNode<T>(Vec<T>);

impl<T> From<Vec<T>> for ByNode<T> {
    fn from(entries: Vec<T>) -> Self {
        ByNode(entries)
    }
}

impl<T> std::ops::Deref for ByNode<T> {
    type Target = Vec<T>;
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> std::ops::DerefMut for ByNode<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T: Rename + Clone + Hash> Rename for ByNode<T> {
    fn rename(&self, renaming: &Renaming) -> Self {
        let entries = self.0.iter().map(|entry| entry.rename(renaming)).enumerate();
        let to = |at: usize| renaming.of(Id::new(at)).index();
        if renaming.blurred {
            // Positions of blurred nodes mean nothing: order them by what they hold.
            let state = rustc_hash::FxBuildHasher;
            let mut entries: Vec<_> =
                entries.map(|(at, entry)| (to(at), state.hash_one(&entry), entry)).collect();
            entries.sort_by_key(|(to, hash, _)| (*to, *hash));
            return ByNode(entries.into_iter().map(|(.., entry)| entry).collect());
        }
        let mut entries: Vec<_> = entries.map(|(at, entry)| (to(at), entry)).collect();
        entries.sort_by_key(|(to, _)| *to);
        ByNode(entries.into_iter().map(|(_, entry)| entry).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blur_forgets_who_is_who_but_not_how_many() {
        let of =
            |entries: Vec<u8>| ByNode::from(entries).rename(&Renaming::blur(3, &[vec![1, 2]], 0));
        assert_eq!(of(vec![9, 1, 2]), of(vec![9, 2, 1]));
        assert_ne!(of(vec![9, 1, 2]), of(vec![9, 2, 2]));
    }
}
