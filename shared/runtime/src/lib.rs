//! What every process needs from its system: the clock, random ids, the log, and counters.
//!
//! Programs call it and hand its implementations to the services. It never knows AWS, stores or jobs.
//! Besides `functions/*`, no other code reads the system's clock and source of randomness, except for
//! nonces in `sealer-aes`.

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
