//! What went wrong over AMQP, in the words that the other actions have.

use std::error::Error;

use fe2o3_amqp::connection::{ConnectionStopReason, OpenError};
use fe2o3_amqp::link::{
    DetachError, LinkStateError, SendError, SenderAttachError, SessionStopReason,
};
use fe2o3_amqp::session::BeginError;
use fe2o3_amqp::types::definitions::{Error as Told, ErrorCondition};
use fe2o3_amqp::types::messaging::Outcome;
use fe2o3_amqp::types::primitives::Symbol;
use fe2o3_amqp::types::sasl::SaslCode;

use crate::failure::ActionFailure;

/// The connection was not opened.
pub(super) fn unopened(error: &OpenError, host: &str) -> ActionFailure {
    match error {
        OpenError::SaslError { code: SaslCode::Auth, .. } => ActionFailure::answered(
            "Unauthorized",
            "The broker does not accept the name and the key of the job.",
        ),
        OpenError::RemoteClosedWithError(told) => of_told(told),
        other => ActionFailure::of_io(other as &(dyn Error + 'static), host),
    }
}

/// The session was not begun.
pub(super) fn unbegun(error: &BeginError) -> ActionFailure {
    match error {
        BeginError::RemoteEndedWithError(told) => of_told(told),
        other => broken(&other.to_string()),
    }
}

/// The broker does not give a link to the queue or topic.
pub(super) fn unattached(error: &SenderAttachError) -> ActionFailure {
    match error {
        SenderAttachError::RemoteClosedWithError(told) => of_told(told),
        SenderAttachError::SessionStopped(reason) => {
            told_of_stop(reason).map_or_else(|| broken("The broker ended the session."), of_told)
        }
        other => broken(&other.to_string()),
    }
}

/// Whether a link is as good as before: what is wrong is the message.
pub(super) const fn is_about_the_message(error: &SendError) -> bool {
    matches!(error, SendError::MessageSizeExceeded(_) | SendError::MessageEncodeError)
}

/// The message was not handed over, and so did not arrive.
pub(super) fn unsent(error: &SendError) -> ActionFailure {
    match error {
        SendError::MessageSizeExceeded(size) => {
            ActionFailure::answered("MessageSizeExceeded", format!("{size}."))
        }
        other => told_of_send(other).map_or_else(
            || broken("The broker closed the link before the message was sent."),
            of_told,
        ),
    }
}

/// The message was handed over, and the broker did not say what became of it.
pub(super) fn unconfirmed(error: &SendError, host: &str) -> ActionFailure {
    let why = told_of_send(error).map(|told| format!(": {}", sentence(told)));
    ActionFailure::answered(
        "ConnectionClosed",
        format!(
            "The connection to '{host}' broke before the broker confirmed the message{}. Whether it \
             arrived is not known.",
            why.unwrap_or_default()
        ),
    )
}

/// The broker says that it did not take the message.
pub(super) fn refused(outcome: &Outcome) -> ActionFailure {
    match outcome {
        Outcome::Rejected(rejected) => match &rejected.error {
            Some(told) => of_told(told),
            None => ActionFailure::answered("Rejected", "The broker rejected the message."),
        },
        Outcome::Released(_) => {
            ActionFailure::answered("Released", "The broker has no place for the message.")
        }
        Outcome::Modified(_) => {
            ActionFailure::answered("Modified", "The broker could not take the message.")
        }
        Outcome::Accepted(_) => ActionFailure::answered("Accepted", "The broker took the message."),
    }
}

fn broken(text: &str) -> ActionFailure {
    ActionFailure::answered("ConnectionClosed", text)
}

/// What the broker told, under the last part of its condition's name.
fn of_told(told: &Told) -> ActionFailure {
    ActionFailure::answered(word(&condition(told)), sentence(told))
}

fn condition(told: &Told) -> String {
    let symbol = match &told.condition {
        ErrorCondition::AmqpError(error) => Symbol::from(error),
        ErrorCondition::ConnectionError(error) => Symbol::from(error),
        ErrorCondition::SessionError(error) => Symbol::from(error),
        ErrorCondition::LinkError(error) => Symbol::from(error),
        ErrorCondition::Custom(symbol) => symbol.clone(),
    };
    symbol.0
}

fn sentence(told: &Told) -> String {
    let condition = condition(told);
    match told.description.as_deref() {
        Some(said) if !said.is_empty() => format!("{said} ({condition})"),
        Some(_) | None => condition,
    }
}

/// `NotFound` of `amqp:not-found`, as the other actions write what went wrong.
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

fn told_of_send(error: &SendError) -> Option<&Told> {
    match error {
        SendError::LinkStateError(
            LinkStateError::RemoteDetachedWithError(told)
            | LinkStateError::RemoteClosedWithError(told),
        )
        | SendError::Detached(
            DetachError::RemoteDetachedWithError(told) | DetachError::RemoteClosedWithError(told),
        ) => Some(told),
        SendError::LinkStateError(LinkStateError::SessionStopped(reason))
        | SendError::Detached(DetachError::SessionStopped(reason)) => told_of_stop(reason),
        _ => None,
    }
}

fn told_of_stop(reason: &SessionStopReason) -> Option<&Told> {
    match reason {
        SessionStopReason::RemoteEndedWithError(told)
        | SessionStopReason::ConnectionStopped(ConnectionStopReason::RemoteClosedWithError(told)) => {
            Some(told)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_become_words_like_the_others() {
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
