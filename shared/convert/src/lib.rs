//! Reads the schedules of other schedulers as jobs.
//!
//! The crate is pure: text goes in, job documents and a report of problems come out. It has no clock
//! and no I/O; the caller passes the current time as a parameter.

pub mod cron;
mod unsayable;

pub use unsayable::Unsayable;
