//! The dispatch queue on SQS.
//!
//! Sending is a port, [`SqsQueue`]: ten messages go in a request, several requests at once, each
//! message with the delay that it has until it is due. Receiving is Lambda's: it takes messages from
//! the queue and hands them over as an event, a [`Batch`]; what is left undone of it goes back as a
//! [`BatchAnswer`].
//!
//! What a crash leaves:
//!
//! | after | leaves | repaired by |
//! |---|---|---|
//! | a part of the batches is sent | messages whose sender does not know it | the sender sends all again: an attempt is claimed once |
//! | a message is received | it, hidden for as long as the queue's visibility | it comes back by itself |
//! | its visibility is changed | it, hidden for that long | the same |

mod error;
mod receive;
mod send;

pub use receive::{Batch, BatchAnswer, SqsDelivery, SqsReceipt};
pub use send::{IN_FLIGHT_MAX, SqsQueue};
