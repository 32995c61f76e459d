//! What history says of an attempt that failed before its target answered.
//!
//! Clients of the original parse these messages: each names the type of the action and the place
//! that it was sent to. The words are in the file of each action type.

pub use crate::action::{host, request_failed};

/// What the original says of every certificate that it does not accept, before the reason.
pub const NO_TRUST: &str = "The underlying connection was closed: Could not establish trust relationship for \
                            the SSL/TLS secure channel.";
/// The most characters of a headline.
const HEADLINE_CHARS_MAX: usize = 200;

/// The beginning of a message on one line, for the log: without the headers and the body of an answer,
/// which can be long.
#[must_use]
pub fn headline(message: &str) -> String {
    let short = message.split(" Response Headers:").next().unwrap_or_default();
    let printable = short.chars().map(|c| if c.is_control() { ' ' } else { c });
    printable.take(HEADLINE_CHARS_MAX).collect()
}

/// What the scheduler knows of a failure whose target did not answer: the sentence in its message, without what
/// clients of the original read before it.
#[must_use]
pub fn explained(message: &str) -> Option<&str> {
    let (_, failure) = message.split_once(" failed: ")?;
    let (_, sentence) = failure.split_once(' ')?;
    let own = sentence.strip_prefix(NO_TRUST).unwrap_or(sentence).trim();
    let own = own.trim_end_matches('.');
    Some(own).filter(|own| !own.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_scheduler_knows_is_the_sentence_of_a_request_that_failed() {
        for (message, expected) in [
            (
                "Http Action - Request to host 'h' failed: RequestCanceled The target is not allowed.",
                Some("The target is not allowed"),
            ),
            (
                &format!(
                    "Http Action - Request to host 'h' failed: TrustFailure {NO_TRUST} It expired."
                ),
                Some("It expired"),
            ),
            ("Http Action - Request to host 'h' failed: Timeout", None),
            ("Http Action - Response from host 'h': 'InternalServerError'", None),
        ] {
            assert_eq!(explained(message), expected, "{message}");
        }
    }

    #[test]
    fn a_headline_is_short_and_without_the_answer() {
        let message = "Http Action - Response from host 'h': 'InternalServerError' Response Headers: \
                       Date: x\r\n Body: secret";
        assert_eq!(
            headline(message),
            "Http Action - Response from host 'h': 'InternalServerError'"
        );
        assert_eq!(headline("a\nb"), "a b");
        assert_eq!(headline(&"ä".repeat(300)).chars().count(), 200);
    }
}
