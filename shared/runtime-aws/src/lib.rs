//! What a Lambda function needs in addition to `runtime`: settings, AWS clients, and metrics.
//!
//! Only the functions on AWS call it. It never knows services. A function starts in these steps, before
//! its first event:
//!
//! 1. [`serve`] reads the environment and reports all invalid settings at once;
//! 2. the AWS clients are created on one connection pool ([`AwsSettings::config`]);
//! 3. the services are built on the clients, and the function asks for events.
//!
//! Nothing is written before the first event, so a failed start leaves nothing behind.
//!
//! # Error types
//!
//! Every error in the log has a field `error_type` for alarms and filters. Its values are those of
//! [`ErrorType`] and never change. Errors that an operator has to act on are metrics, too.

mod agent;
mod batch_answer;
mod clients;
mod connector;
mod dynamodb;
mod metrics;
mod start;
mod throttling;
mod variables;

pub use batch_answer::BatchAnswer;
pub use clients::{AwsSettings, dynamodb_client};
pub use dynamodb::DynamoDb;
pub use metrics::{Metric, NAMESPACE, TABLE_DIMENSION, Tally, print_metrics};
pub use minutehand_ports::ErrorType;
pub use start::{deadline, report, serve};
pub use throttling::counting_throttles;
pub use variables::{PREFIX, Variables};
