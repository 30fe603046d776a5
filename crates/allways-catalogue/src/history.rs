//! The message history that the protocols of the thesis's chapter 3 carry beside their state.
//!
//! There, the auxiliary part of a state is the message that a process has handled last: good to
//! have in a report, read by no handler and no property. `history=free` carries it as [`Aux`], so
//! that it does not distinguish states; `history=counted` lets it, which is the naive search that
//! the thesis compares with. A message that a node ignores is not noted, so both searches take the
//! same steps.

use crate::{Kind, Parameter, Parameters};
use allways::{Aux, Id, Value};

/// Whether the history distinguishes states.
pub(crate) const PARAMETER: Parameter = Parameter {
    name: "history",
    about: "whether the message that a node has handled last tells states apart (counted) or not",
    kind: Kind::Word(&["free", "counted"]),
};

/// The message that a node has handled last, and its sender.
pub(crate) type History<M> = Aux<Option<(Id, M)>>;

/// The history of a node that has handled nothing yet.
pub(crate) fn new<M: Value>(parameters: &Parameters) -> History<M> {
    match parameters.word(PARAMETER.name) {
        "counted" => Aux::counted(None),
        _ => Aux::new(None),
    }
}
