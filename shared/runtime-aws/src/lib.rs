//! What a function on AWS needs from its system: its settings, the clients of AWS, the log, metrics.
//!
//! It stands beside `runtime`, which the binary on one machine uses alone, so that nothing of AWS is
//! in that. A function starts in these steps, before its first event:
//!
//! 1. [`serve`] reads the environment, and says everything that is wrong with it at once;
//! 2. the clients are made, all on one pool of connections ([`AwsSettings::config`]);
//! 3. services are put on them, and the function asks for events.
//!
//! Nothing is written before an event comes, so a start that fails leaves nothing behind.
//!
//! # Types of errors
//!
//! What a function logs as an error carries an `error_type`, by which alarms and filters know it. The
//! types are [`ErrorType`], and they stay as they are. So do the services below; what of theirs
//! somebody has to know is a metric, too.

mod agent;
mod clients;
mod metrics;
mod start;
mod variables;

pub use agent::brief_agent;
pub use clients::AwsSettings;
pub use metrics::{Metric, NAMESPACE, TABLE_DIMENSION, Tally, print_metrics};
pub use ports::ErrorType;
pub use start::{Started, report, serve};
pub use variables::{PREFIX, Variables};
