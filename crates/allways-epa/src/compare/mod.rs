//! Stand-in.
use crate::sanitise::Sanitised;
/// Stand-in.
pub struct Comparison {
    /// Stand-in.
    pub is_same: bool,
}
/// Stand-in.
pub fn compare(golden: &Sanitised, faulty: &Sanitised) -> Comparison {
    Comparison { is_same: golden == faulty }
}
