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
    /// The collections.
    pub collections: WallCollections,
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
