//! The pings of jobs that expect them.

use serde::Deserialize;

/// Where a job takes pings, and the last ones.
#[derive(Debug, Clone, Deserialize)]
pub struct PingUrlAnswer {
    /// The URL.
    pub url: String,
    /// The last pings, the newest first.
    #[serde(default)]
    pub pings: Vec<PingItem>,
}

/// A ping that came.
#[derive(Debug, Clone, Deserialize)]
pub struct PingItem {
    /// When it came.
    pub at: String,
    /// What it said: `success`, `start`, `fail`, `log`.
    pub kind: String,
    /// The occurrence that it concerned; `None` if nothing owed it.
    pub occurrence: Option<String>,
    /// The beginning of its text.
    #[serde(default)]
    pub text: String,
}
