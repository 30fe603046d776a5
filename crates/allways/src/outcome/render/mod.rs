//! Ways to show a story, as text and in the formats that other tools read: one file each. They know
//! the [`Story`](super::story::Story) alone, not the system.

mod about;
mod diagram;
mod dot;
pub(crate) mod ending;
mod format;
mod html;
mod itf;
mod json;
mod junit;
pub(crate) mod lanes;
pub(crate) mod measure;
mod mermaid;
mod moments;
mod pretty;
#[cfg(test)]
mod sample;
pub(crate) mod sentences;
mod shiviz;
mod svg;
mod test;
pub(crate) mod text;
mod words;

pub use about::About;
pub use format::Format;
