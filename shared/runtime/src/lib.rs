//! What every process of ours needs from the system it runs on.
//!
//! The services are told the time, take identities from outside and never touch the log's set-up;
//! here is where these come from, once for all binaries. Together with `functions/*` it is the only
//! code that reads the system's clock and its randomness.

mod certificate;
mod clock;
mod id;
mod log;
mod metrics;

pub use certificate::PfxReader;
pub use clock::{Rate, RateError, SystemClock, TestClock, system_now};
pub use id::RandomIds;
pub use log::{LogFormat, LogLevel, chain, start_log};
pub use metrics::{Metrics, gauge};
