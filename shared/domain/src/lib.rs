//! Collections and jobs: what they are, what is allowed, what a change does to them.
//!
//! Pure: no async, no I/O, no clock. Documents in JSON are read into types that cannot hold
//! nonsense, and written from them; see [`document`].

pub mod action;
pub mod arn;
pub mod collection;
pub mod document;
pub mod duration;
pub mod errand;
pub mod execution;
pub mod firing;
pub mod job;
pub mod message;
pub mod name;
pub mod plan;
pub mod refusal;
pub mod retry;
pub mod secret;
pub mod settled;
pub mod tick;
pub mod timing;
