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
use minutehand_domain::cause::{Cause, CauseKind};
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
    ActionOutcome {
        outcome: Outcome::Succeeded,
        is_accepted: false,
        cause: None,
        message,
        retry_after: None,
        body: None,
    }
}

/// An attempt that failed.
pub(crate) fn failed(cause: impl Into<Cause>, message: String) -> ActionOutcome {
    let (outcome, cause) = (Outcome::Failed, Some(cause.into()));
    ActionOutcome { outcome, is_accepted: false, cause, message, retry_after: None, body: None }
}

/// An attempt to send a message to a service that failed, unless it was not made.
pub(crate) fn not_sent(
    target: &Target,
    failure: &ActionFailure,
    secrets: &Secrets,
) -> Result<ActionOutcome, NotMade> {
    let ActionFailure { word, text, cause, out_of } = failure;
    if let Some(out_of) = out_of {
        return Err(NotMade { out_of: out_of.0 });
    }
    let (word, text) = (printable(&secrets.redact(word)), printable(&secrets.redact(text)));
    let text: String = text.chars().take(SERVICE_TEXT_CHARS_MAX).collect();
    let cause = match (cause.kind, target) {
        (
            CauseKind::TargetNotFound,
            Target::Sqs(_) | Target::StorageQueue(_) | Target::ServiceBusQueue(_),
        ) => CauseKind::QueueNotFound.into(),
        (CauseKind::ServiceError, _) => Cause::service(&word, ""),
        _ => cause.clone(),
    };
    Ok(failed(cause, target.failure(&word, &text)))
}
