//! Why something cannot become a job.

use minutehand_recurrence::shortened;

/// Why something cannot become a job, and what to do about it.
///
/// Both parts are one sentence without its final full stop, and contain no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}; {remedy}")]
pub struct Unsayable {
    /// What cannot be said, and why.
    pub why: String,
    /// What to do.
    pub remedy: String,
}

impl Unsayable {
    /// Creates a reason with its remedy.
    pub(crate) fn new(why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { why: why.into(), remedy: remedy.into() }
    }
}

/// The most characters of a foreign value that a message quotes.
const QUOTED_CHARS_MAX: usize = 80;

/// Quotes a foreign value on one line, shortened.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", shortened(text, QUOTED_CHARS_MAX))
}
