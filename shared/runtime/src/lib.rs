//! What every Minutehand process needs from its operating system: the clock, random ids, the log, and
//! counters.
//!
//! The services get the time and new ids through ports and never set up logging. This crate provides
//! the implementations for all programs. Besides `functions/*`, it is the only code that reads the
//! system's clock and source of randomness.

mod certificate;
mod clock;
mod id;
mod log;
mod metrics;

pub use certificate::PfxReader;
pub use clock::{ProcessClock, Rate, RateError, SystemClock, TestClock, system_now};
pub use id::RandomIds;
pub use log::{LOG_LEVELS, LevelFilter, LogFormat, start_log};
pub use metrics::{Counter, Metrics, counter, gauge, head};
pub use minutehand_ports::chain;
