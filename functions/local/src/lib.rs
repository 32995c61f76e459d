//! What the binary `minutehand` is made of; `main` only wires it to the process.

pub mod backup;
pub mod preview;
pub mod serve;
