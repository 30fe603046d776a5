//! A [`Story`] in the formats that people and other tools read; one file each.

mod about;
mod diagram;
mod dot;
mod format;
mod html;
mod itf;
mod json;
mod junit;
mod mermaid;
mod moments;
mod pretty;
#[cfg(test)]
mod sample;
mod shiviz;
mod svg;
mod test;
mod words;

pub use about::About;
pub use format::Format;
