//! What history says of an attempt that failed before its target answered.
//!
//! Clients of the original parse these messages: each names the type of the action and the place
//! that it was sent to. The words are in the file of each action type.

pub use crate::action::{host, request_failed};

use crate::action::Target;

/// The message of an attempt that failed before its target answered: `what` is a word that clients
/// know, `why` a sentence without secrets.
#[must_use]
pub fn failed(target: &Target, what: &str, why: &str) -> String {
    target.failure(what, why)
}
