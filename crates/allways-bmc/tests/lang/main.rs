//! The language: what programs become, what is said about wrong ones, and that nothing panics.

mod atomic;
mod docs;
mod dump;
mod errors;
mod fuzz;
mod lowering;
