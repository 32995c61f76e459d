//! What the tests of several crates share. No binary contains it.
//!
//! [`mod@conformance`] is what a job store has to do, as tests that run against any back end; one
//! other than the embedded is found by [`back_end`]. [`mod@aws`] stands in for services of AWS
//! where a test is about how they fail, and [`SetClock`] for the time.

pub mod aws;
pub mod back_end;
mod clock;
pub mod conformance;

pub use clock::SetClock;
