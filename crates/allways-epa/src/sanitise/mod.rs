//! Stand-in.
use crate::step::Step;
use crate::trace::{Trace, TraceError};
use std::io::{self, Write};
/// Stand-in.
#[derive(Clone, Debug, PartialEq)]
pub struct Sanitised(pub Trace);
impl Sanitised {
    /// Stand-in.
    pub fn new(trace: &Trace) -> Result<Self, TraceError> {
        Ok(Sanitised(trace.clone()))
    }
    /// Stand-in.
    pub fn write_text(&self, output: &mut dyn Write) -> io::Result<()> {
        self.0.write_text(output)
    }
}
/// Stand-in.
pub fn steps(_: &Trace) -> Result<Vec<Step>, TraceError> {
    Ok(Vec::new())
}
