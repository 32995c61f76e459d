//! What history says of an attempt that failed before its target answered.
//!
//! Clients of the original parse these messages: each names the type of the action and the place
//! that it was sent to. The words are in the file of each action type.

pub use crate::action::{host, request_failed};

use crate::action::Target;

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

/// The message of an attempt that failed before its target answered: `what` is a word that clients
/// know, `why` a sentence without secrets.
#[must_use]
pub fn failed(target: &Target, what: &str, why: &str) -> String {
    target.failure(what, why)
}

#[cfg(test)]
mod tests {
    use super::*;

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
