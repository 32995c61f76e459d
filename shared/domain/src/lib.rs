//! Collections and jobs: what they are, what is allowed, what a change does to them.
//!
//! Pure: no async, no I/O, no clock. Documents in JSON are read into types that cannot hold
//! nonsense, and written from them; see [`document`].

pub mod action;
pub mod arn;
pub mod attempt;
pub mod collection;
pub mod document;
pub mod duration;
pub mod firing;
pub mod ids;
pub mod job;
mod json;
pub mod location;
pub mod message;
pub mod name;
pub mod pricing_tier;
pub mod recently_counted;
pub mod refusal;
pub mod retry;
pub mod secret;
pub mod tick;
pub mod timing;
pub mod work_item;
