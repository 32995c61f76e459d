//! The dispatch queue on SQS.
//!
//! [`SqsQueue`] implements the port for sending. It sends ten messages in a request and several requests
//! concurrently, and delays each message until it is due. Lambda receives the messages and passes them
//! as an event, a [`Batch`]. The function answers with a [`BatchAnswer`], which names the messages that
//! failed.
//!
//! What a crash leaves:
//!
//! | after | leaves | repaired by |
//! |---|---|---|
//! | some batches are sent | messages that the sender does not know of | the sender, which sends all again: an attempt is claimed once |
//! | a message is received | the message, hidden for its visibility timeout | SQS, which delivers it again |
//! | a message that has to wait is sent on | two messages for the same work | the worker of either: an attempt is claimed once |
//! | its visibility is changed | the message, hidden for that time | the same |

mod error;
mod receive;
mod send;

pub use receive::{Batch, BatchAnswer, SqsDelivery, SqsReceipt};
pub use send::{IN_FLIGHT_MAX, SqsQueue};
