//! What the tests of several crates share. No binary contains it.
//!
//! [`mod@conformance`] is what a job store has to do, as tests that run against any back end; one
//! other than the embedded is found by [`back_end`].

pub mod back_end;
pub mod conformance;
