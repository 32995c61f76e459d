//! Errors of AMQP, in the words of the other actions.

use std::error::Error;

use fe2o3_amqp::connection::{ConnectionStopReason, OpenError};
use fe2o3_amqp::link::{
    DetachError, LinkStateError, SendError, SenderAttachError, SessionStopReason,
};
use fe2o3_amqp::session::BeginError;
use fe2o3_amqp::types::definitions::{Error as BrokerError, ErrorCondition};
use fe2o3_amqp::types::messaging::Outcome;
use fe2o3_amqp::types::primitives::Symbol;
use fe2o3_amqp::types::sasl::SaslCode;

use crate::outcome::ActionFailure;

/// The connection could not be opened.
pub(super) fn open_failed(error: &OpenError, host: &str) -> ActionFailure {
    match error {
        OpenError::SaslError { code: SaslCode::Auth, .. } => ActionFailure::rejected(
            "Unauthorized",
            "The broker does not accept the name and the key of the job.",
        ),
        OpenError::RemoteClosedWithError(error) => from_broker(error),
        other => ActionFailure::from_connection_error(other as &(dyn Error + 'static), host),
    }
}

/// The session could not be begun.
pub(super) fn begin_failed(error: &BeginError) -> ActionFailure {
    match error {
        BeginError::RemoteEndedWithError(error) => from_broker(error),
        other => broken(&other.to_string()),
    }
}

/// The link to the queue or topic could not be attached.
pub(super) fn attach_failed(error: &SenderAttachError) -> ActionFailure {
    match error {
        SenderAttachError::RemoteClosedWithError(error) => from_broker(error),
        SenderAttachError::SessionStopped(reason) => broker_error_of_stop(reason)
            .map_or_else(|| broken("The broker ended the session."), from_broker),
        other => broken(&other.to_string()),
    }
}

/// Whether an error concerns only the message, so that the link can be used again.
pub(super) const fn is_about_the_message(error: &SendError) -> bool {
    matches!(error, SendError::MessageSizeExceeded(_) | SendError::MessageEncodeError)
}

/// The message could not be sent, and did not arrive.
pub(super) fn send_failed(error: &SendError) -> ActionFailure {
    match error {
        SendError::MessageSizeExceeded(size) => {
            ActionFailure::rejected("MessageSizeExceeded", format!("{size}."))
        }
        other => broker_error_of_send(other).map_or_else(
            || broken("The broker closed the link before the message was sent."),
            from_broker,
        ),
    }
}

/// The message was sent, but the connection broke before the broker confirmed it.
pub(super) fn not_confirmed(error: &SendError, host: &str) -> ActionFailure {
    let why = broker_error_of_send(error).map(|error| format!(": {}", sentence(error)));
    broken(&format!(
        "The connection to '{host}' broke before the broker confirmed the message{}. Whether it \
         arrived is not known.",
        why.unwrap_or_default()
    ))
}

/// The broker did not accept the message.
pub(super) fn not_accepted(outcome: &Outcome) -> ActionFailure {
    match outcome {
        Outcome::Rejected(rejected) => match &rejected.error {
            Some(error) => from_broker(error),
            None => ActionFailure::rejected("Rejected", "The broker rejected the message."),
        },
        Outcome::Released(_) => {
            ActionFailure::rejected("Released", "The broker cannot store the message.")
        }
        Outcome::Modified(_) => {
            ActionFailure::rejected("Modified", "The broker could not accept the message.")
        }
        Outcome::Accepted(_) => {
            ActionFailure::rejected("Accepted", "The broker accepted the message.")
        }
    }
}

fn broken(text: &str) -> ActionFailure {
    ActionFailure::broken(text)
}

/// An error that the broker reports.
fn from_broker(error: &BrokerError) -> ActionFailure {
    ActionFailure::rejected(word(&condition(error)), sentence(error))
}

fn condition(error: &BrokerError) -> String {
    let symbol = match &error.condition {
        ErrorCondition::AmqpError(error) => Symbol::from(error),
        ErrorCondition::ConnectionError(error) => Symbol::from(error),
        ErrorCondition::SessionError(error) => Symbol::from(error),
        ErrorCondition::LinkError(error) => Symbol::from(error),
        ErrorCondition::Custom(symbol) => symbol.clone(),
    };
    symbol.0
}

fn sentence(error: &BrokerError) -> String {
    let condition = condition(error);
    match error.description.as_deref() {
        Some(text) if !text.is_empty() => format!("{text} ({condition})"),
        Some(_) | None => condition,
    }
}

/// The last part of a condition's name, in the spelling of other failures: `amqp:not-found` becomes
/// `NotFound`.
fn word(condition: &str) -> String {
    let last = condition.rsplit(':').next().unwrap_or(condition);
    let mut is_first = true;
    let mut word = String::with_capacity(last.len());
    for c in last.chars() {
        if c == '-' {
            is_first = true;
        } else {
            word.push(if is_first { c.to_ascii_uppercase() } else { c });
            is_first = false;
        }
    }
    word
}

fn broker_error_of_send(error: &SendError) -> Option<&BrokerError> {
    match error {
        SendError::LinkStateError(
            LinkStateError::RemoteDetachedWithError(error)
            | LinkStateError::RemoteClosedWithError(error),
        )
        | SendError::Detached(
            DetachError::RemoteDetachedWithError(error) | DetachError::RemoteClosedWithError(error),
        ) => Some(error),
        SendError::LinkStateError(LinkStateError::SessionStopped(reason))
        | SendError::Detached(DetachError::SessionStopped(reason)) => broker_error_of_stop(reason),
        _ => None,
    }
}

fn broker_error_of_stop(reason: &SessionStopReason) -> Option<&BrokerError> {
    match reason {
        SessionStopReason::RemoteEndedWithError(error)
        | SessionStopReason::ConnectionStopped(ConnectionStopReason::RemoteClosedWithError(
            error,
        )) => Some(error),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_become_words_in_the_spelling_of_other_failures() {
        for (condition, expected) in [
            ("amqp:not-found", "NotFound"),
            ("amqp:unauthorized-access", "UnauthorizedAccess"),
            ("amqp:link:message-size-exceeded", "MessageSizeExceeded"),
            ("com.microsoft:entity-disabled", "EntityDisabled"),
            ("", ""),
        ] {
            assert_eq!(word(condition), expected);
        }
    }
}
