//! Ways to show a story: one file each. They know the [`Story`](super::story::Story) alone, not the
//! system.

pub(crate) mod ending;
pub(crate) mod lanes;
pub(crate) mod measure;
pub(crate) mod text;
pub(crate) mod words;
