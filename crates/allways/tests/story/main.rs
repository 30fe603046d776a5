//! Runs told in full: where envelopes come from and go, what steps do, and how it all reads.

mod diagram;
mod envelopes;
mod relay;
mod steps;
