//! What the programs here share: how they measure, and how they say whether a target is met.

pub mod measure;
pub mod report;
pub mod threads;
