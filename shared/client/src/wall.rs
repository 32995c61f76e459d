//! What a screen on a wall shows.

use serde::Deserialize;

/// What became of occurrences and what is due, by quarters of an hour.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WallAnswer {
    /// When the first quarter begins.
    pub from: String,
    /// Whether the server counts quarters; otherwise it has computed them.
    pub is_counted: bool,
    /// Whether everything of the past was looked at.
    pub is_past_whole: bool,
    /// The same of what is due.
    pub is_ahead_whole: bool,
    /// The collections.
    pub collections: WallCollections,
    /// How late attempts of the last hour have started, if that is known.
    pub starts: Option<WallStarts>,
    /// What runs, the longest first, where that is known.
    pub running: Option<Vec<WallRunning>>,
}

/// How late 99 of 100 attempts have started: at most so late, or later than the most that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WallStarts {
    /// At most so many milliseconds.
    WithinMs(i64),
    /// More than so many.
    OverMs(i64),
}

/// An attempt that runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WallRunning {
    /// The resource group of its job.
    pub resource_group: String,
    /// The collection.
    pub collection: String,
    /// The job.
    pub job: String,
    /// Since when.
    pub since: String,
    /// How long the action took last, if that is known.
    pub took_ms: Option<i64>,
}

/// The collections of a wall.
#[derive(Debug, Clone, Deserialize)]
pub struct WallCollections {
    /// How many there are.
    pub all: u64,
    /// Some of them, or all.
    pub items: Vec<WallCollection>,
}

/// A collection, with a number for each quarter, or none if all are 0.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WallCollection {
    /// Its resource group.
    pub resource_group: String,
    /// Its name.
    pub collection: String,
    /// Whether its jobs fire: `Enabled`, or why not.
    pub state: String,
    /// The number of its jobs.
    pub jobs: u64,
    /// Occurrences that went well.
    pub ok: Vec<u64>,
    /// Those of which a retry succeeded, where that is counted.
    pub retried: Option<Vec<u64>>,
    /// Those that started late, where that is counted.
    pub late: Option<Vec<u64>>,
    /// Those that failed for good.
    pub failed: Vec<u64>,
    /// Those that were left out.
    pub skipped: Vec<u64>,
    /// Those that are due in the rest of the last quarter and in each one that follows.
    pub due: Vec<u64>,
}
