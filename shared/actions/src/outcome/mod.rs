//! Outcomes: what an attempt's history says about the answer of a target, or about its failure.
//!
//! The history has the words of Azure Scheduler, whose clients parse them. It contains no secret that
//! was sent.

mod failure;
mod kept;
mod message;
mod redact;
mod status;

use minutehand_domain::action::Target;
use minutehand_domain::attempt::Outcome;
use minutehand_domain::message::failed as failed_message;
use minutehand_ports::{ActionOutcome, NotMade};

pub(crate) use failure::ActionFailure;
pub(crate) use kept::{KeptBodies, Room};
pub(crate) use message::{BODY_BYTES_MAX, ReadBody, failure_message, printable, response_message};
pub(crate) use redact::Secrets;
pub(crate) use status::status_name;

/// The maximum number of characters of an error in the history.
const SERVICE_TEXT_CHARS_MAX: usize = 1_024;

/// An attempt that succeeded.
pub(crate) const fn succeeded(message: String) -> ActionOutcome {
    ActionOutcome { outcome: Outcome::Succeeded, message, retry_after: None, body: None }
}

/// An attempt that failed.
pub(crate) const fn failed(message: String) -> ActionOutcome {
    ActionOutcome { outcome: Outcome::Failed, message, retry_after: None, body: None }
}

/// An attempt to send a message to a service that failed, unless it was not made.
pub(crate) fn not_sent(
    target: &Target,
    failure: &ActionFailure,
    secrets: &Secrets,
) -> Result<ActionOutcome, NotMade> {
    let ActionFailure { word, text, out_of } = failure;
    if let Some(out_of) = out_of {
        return Err(NotMade { out_of: out_of.0 });
    }
    let (word, text) = (printable(&secrets.redact(word)), printable(&secrets.redact(text)));
    let text: String = text.chars().take(SERVICE_TEXT_CHARS_MAX).collect();
    Ok(failed(failed_message(target, &word, &text)))
}
