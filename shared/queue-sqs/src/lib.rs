//! The dispatch queue on SQS.
//!
//! The functions on AWS call it, to send through its port and to read events. It never knows the store,
//! or what work means.
//!
//! [`SqsQueue`] implements the port for sending. It [packs](minutehand_domain::work_item::pack) the attempts of a
//! second into messages, sends ten messages in a request and several requests concurrently, and delays
//! each message until it is due. A message of one collection names it as its group: the queue delivers
//! other messages first while a group has many under way. Lambda receives the messages and passes them
//! as an event, a [`Batch`].
//!
//! What a crash leaves:
//!
//! | after | leaves | repaired by |
//! |---|---|---|
//! | some batches are sent | messages that the sender does not know of | the sender, which sends all again: an attempt is claimed once |
//! | a message is received | the message, hidden for its visibility timeout | SQS, which delivers it again |
//! | work of a message is sent on | two messages for the same work | the worker of either: an attempt is claimed once |
//! | its visibility is changed | the message, hidden for that time | the same |

mod dead_letters;
mod error;
mod receive;
mod send;

pub use dead_letters::SqsDeadLetters;
pub use receive::{Batch, SqsDelivery, SqsReceipt};
pub use send::{IN_FLIGHT_MAX, SqsQueue};
