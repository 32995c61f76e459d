//! Alerts: what the failure action of a collection sends in the format of a receiver, and when.
//!
//! A format is one file here: a pure function from an [`AlertText`] to the body that the receiver accepts.
//! Each one holds the published limits of its receiver, and its tests check them. The rules decide which
//! endings of occurrences are told, and the state of a job that they need is a [`JobAlert`]. What else is
//! told, and follows no attempt of a job, is a [`CollectionAlert`]; an [`AlertLog`] knows which ones were sent.

mod collection_alert;
mod discord;
mod log;
mod markdown;
mod ntfy;
mod rules;
mod slack;
mod state;
mod teams;
mod text;
mod trouble;

use minutehand_recurrence::named;
use serde_json::Value;

pub use collection_alert::{CollectionAlert, Tells};
pub use log::{AlertLog, Hold, NextTry, TestResult, log_uid};
pub(crate) use rules::ALSO_TOLD;
pub use rules::{AlertRules, AlertUse};
pub use state::{AlertDecision, Decided, EndedOccurrence, JobAlert, REMEMBERED_MAX};
pub use text::AlertText;
pub use trouble::{AlertTrouble, LostAlert};

named! {
    /// The format of the body that a failure action sends.
    #[derive(Hash)]
    pub enum AlertFormat {
        /// A `CloudEvents` document: also without a format.
        CloudEvents = "cloudevents",
        /// An incoming webhook of Slack.
        Slack = "slack",
        /// A workflow of Microsoft Teams that posts an Adaptive Card.
        Teams = "teams",
        /// A webhook of Discord.
        Discord = "discord",
        /// A topic of ntfy.
        Ntfy = "ntfy",
        /// A request of one's own, whose body is a template.
        Template = "template",
    }
}

/// The content type of all formats for people.
pub(crate) const CONTENT_TYPE: &str = "application/json; charset=utf-8";

/// A request in a format for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AlertRequest {
    /// The URL to send it to.
    pub(crate) uri: String,
    /// The body, as JSON.
    pub(crate) body: String,
}

impl AlertFormat {
    /// Whether a person reads it. Such a format is sent as a POST to a URL.
    #[must_use]
    pub const fn is_for_people(self) -> bool {
        !matches!(self, Self::CloudEvents | Self::Template)
    }

    /// Says what to use instead if a receiver of this format cannot have this URL.
    pub(crate) fn check_uri(self, uri: &str) -> Result<(), &'static str> {
        if self == Self::Ntfy { ntfy::check_uri(uri) } else { Ok(()) }
    }

    /// The request to a URL; `None` for a format that is not for people.
    pub(crate) fn request(self, uri: &str, text: &AlertText) -> Option<AlertRequest> {
        let body = match self {
            Self::CloudEvents | Self::Template => return None,
            Self::Slack => slack::body(text),
            Self::Teams => teams::body(text),
            Self::Discord => discord::body(text),
            Self::Ntfy => return ntfy::request(uri, text),
        };
        Some(AlertRequest { uri: uri.to_owned(), body: body.to_string() })
    }
}

/// Reads what was stored; `None` for what another version wrote.
fn read_version(stored: &str, version: u64) -> Option<Value> {
    let stored: Value = serde_json::from_str(stored).ok()?;
    (stored.get("v")?.as_u64()? == version).then_some(stored)
}

/// A text of at most so many characters. A longer one ends with an ellipsis.
fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(chars_max.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// The same for a text of which each character is written as `escape` says: no escape is cut in two.
fn cut_escaped(text: &str, chars_max: usize, escape: impl Fn(char, &mut String)) -> String {
    let (mut written, mut chars) = (String::new(), 0);
    let mut one = String::new();
    for c in text.chars() {
        one.clear();
        escape(c, &mut one);
        let more = one.chars().count();
        // Room for the ellipsis stays until the end is known.
        if chars + more >= chars_max {
            written.push('…');
            return written;
        }
        written.push_str(&one);
        chars += more;
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters_and_between_escapes() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äö…");
        let escape = |c: char, text: &mut String| match c {
            '&' => text.push_str("&amp;"),
            c => text.push(c),
        };
        assert_eq!(cut_escaped("a&b", 20, escape), "a&amp;b");
        assert_eq!(cut_escaped("a&b", 6, escape), "a…");
        assert_eq!(cut_escaped("aaaaaa", 4, escape), "aaa…");
    }
}
