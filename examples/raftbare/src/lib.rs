//! The crate `raftbare` as it ships, checked; and the same code after its repair, under its later name
//! `noraft`. See the `README.md` beside this crate for what was found.

pub mod deployment;
pub mod disk;
pub mod properties;
pub mod raft;
pub mod replica;
mod versions;

pub use deployment::{Deployment, Required, Version};
pub use disk::Broken;
