//! Values whose type only the user knows: views and observer states.

use super::node::Value;
use std::any::Any;
use std::fmt::{self, Debug};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

trait AnyValue: Any + Send + Sync {
    fn same(&self, other: &dyn AnyValue) -> bool;
    fn feed(&self, hasher: &mut dyn Hasher);
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
    fn as_any(&self) -> &dyn Any;
}

impl<T: Value> AnyValue for T {
    fn same(&self, other: &dyn AnyValue) -> bool {
        other.as_any().downcast_ref::<T>() == Some(self)
    }
    fn feed(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(self, f)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A shared value of a type that is known where it was made.
#[derive(Clone)]
pub(crate) struct Erased(Arc<dyn AnyValue>);

impl Erased {
    pub fn new<T: Value>(value: T) -> Self {
        Erased(Arc::new(value))
    }

    pub fn get<T: Value>(&self) -> Option<&T> {
        // `as_ref` on purpose: an `Arc<dyn AnyValue>` is itself a value of another type.
        self.0.as_ref().as_any().downcast_ref()
    }
}

impl PartialEq for Erased {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_ref().same(other.0.as_ref())
    }
}

impl Eq for Erased {}

impl Hash for Erased {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.as_ref().feed(hasher);
    }
}

impl Debug for Erased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().show(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_only_with_the_same_type_and_value() {
        assert_eq!(Erased::new(1u8), Erased::new(1u8));
        assert_ne!(Erased::new(1u8), Erased::new(2u8));
        assert_ne!(Erased::new(1u8), Erased::new(1u16));
        assert_eq!(Erased::new(1u8).get::<u8>(), Some(&1));
        assert_eq!(Erased::new(1u8).get::<u16>(), None);
    }
}
