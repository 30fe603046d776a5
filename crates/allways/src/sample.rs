//! What the examples in the documentation are made with. Not for others: it may change at any time.
//!
//! All examples that need some node share this one, so that engines are compiled for one type of node
//! and not for each example.

use crate::prelude::*;
use crate::{Rename, Renaming};

/// Keeps what it is told. A node that is called tells the others; one that gets a message outputs it.
///
/// ```
/// use allways::prelude::*;
/// use allways::sample::Cell;
/// System::new([Cell(0), Cell(0)]).call(0, 7).check().assert_holds();
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Cell(pub u8);

impl Node for Cell {
    type Msg = u8;
    type Timer = Never;
    type Call = u8;
    type Output = u8;

    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        self.0 = call;
        cx.broadcast(call);
    }

    fn on_message(&mut self, _: Id, msg: u8, cx: &mut Cx<'_, Self>) {
        self.0 = msg;
        cx.output(msg);
    }
}

impl Rename for Cell {
    /// There are no ids in it.
    fn rename(&self, _: &Renaming) -> Self {
        self.clone()
    }
}

/// The same, but for a node that is called.
pub mod told {
    use crate::prelude::*;

    /// Keeps what it is told. A node that is called only tells the others.
    ///
    /// ```
    /// use allways::prelude::*;
    /// use allways::sample::told::Cell;
    /// System::new([Cell(0), Cell(0)]).call(0, 7).check().assert_holds();
    /// ```
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    pub struct Cell(pub u8);

    impl Node for Cell {
        type Msg = u8;
        type Timer = Never;
        type Call = u8;
        type Output = u8;

        fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
            cx.broadcast(call);
        }

        fn on_message(&mut self, _: Id, msg: u8, cx: &mut Cx<'_, Self>) {
            self.0 = msg;
            cx.output(msg);
        }
    }
}
