//! TiKV's `raft`, unmodified as it comes from crates.io, in a deployment that is checked every way it can run.
//!
//! [`peer`] and [`disk`] are the deployment: raft with its storage, and the loop around it. [`node`] makes a node of
//! it that Allways can check, [`wire`] is how its messages are told apart. [`fingerprint`] tells states apart, [`properties`] says what must hold, and
//! [`system`] what can be set on the command line.

mod copy;
pub mod disk;
pub mod fingerprint;
pub mod node;
pub mod peer;
pub mod properties;
pub mod system;
pub mod wire;

pub use disk::{Disk, Slot};
pub use fingerprint::Fingerprint;
pub use node::{Bounded, Bounds, Means, Timer};
pub use peer::{Mistake, Peer};
pub use system::{RAFT, Setup};
