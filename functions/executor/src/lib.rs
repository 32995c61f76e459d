//! The executor: handles batches of messages, each message with an outcome of its own.
//!
//! All messages of a batch are handled concurrently, so a slow target delays no other message, and
//! their requests to the store are grouped. `app::fire` decides what becomes of each message; this
//! function tells Lambda and the queue:
//!
//! | disposition | what the function does |
//! |---|---|
//! | delete | leaves the message out of the answer; Lambda deletes it |
//! | retry after a time | changes the visibility of the message to that time, and reports it as failed |
//! | retry at the visibility timeout | reports the message as failed |
//! | bury | makes the message visible at once, and reports it as failed: SQS moves it to the dead letters after its last delivery |
//!
//! `app::fire` says what a crash leaves in the store. In the queue it leaves all messages of the
//! batch. They are delivered again at their visibility timeout, and find in the store how far their
//! work came.

mod batch;
mod settings;

pub use batch::{ExecutorClients, Function};
pub use settings::ExecutorSettings;
