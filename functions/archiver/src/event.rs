//! What Lambda hands over: a batch of the table's stream, or the request of an operator.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use minutehand_ports::StoreError;
use minutehand_store_dynamodb::JsonItem;
use serde::Deserialize;
use serde_json::Value;

/// An event: a batch, or a request to write a day again from the table, to sort what is over, to write a
/// backup, or to move the installation.
#[derive(Debug, Deserialize)]
pub struct Event {
    /// The changes of a batch, in the order of the stream.
    #[serde(rename = "Records")]
    pub(crate) records: Option<Vec<StreamRecord>>,
    /// The day to write again, as `2026-11-21`.
    pub(crate) repair: Option<String>,
    /// Whether the days that are over are to be sorted.
    #[serde(default)]
    pub(crate) sort: bool,
    /// Whether a backup is to be written.
    pub(crate) backup: Option<BackupRequest>,
    /// The export that is to be written.
    pub(crate) export: Option<ExportRequest>,
    /// The backup that is to be imported.
    pub(crate) import: Option<ImportRequest>,
    /// Where the answer to the last request ended.
    pub(crate) from: Option<String>,
}

/// A request for a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) enum BackupRequest {
    /// `true`, of an operator: one begins now.
    Now,
    /// `"due"`, of the rule of each hour: an unfinished one goes on, and the one of the day begins.
    IfDue,
}

impl TryFrom<Value> for BackupRequest {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        match &value {
            Value::Bool(true) => Ok(Self::Now),
            Value::String(text) if text == "due" => Ok(Self::IfDue),
            _ => Err("'backup' is neither true, for one now, nor \"due\", for what is due"),
        }
    }
}

/// A request to export.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportRequest {
    /// The key of a file, encrypted with the key of the installation, in base64. Without it, secrets stay
    /// sealed as they are.
    pub(crate) key: Option<String>,
}

/// A request to import.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportRequest {
    /// The name of its folder.
    pub(crate) backup: String,
    /// The key with which the secrets of the export are sealed, as in the request to export.
    pub(crate) key: Option<String>,
    /// Whether the target may have other collections.
    #[serde(default)]
    pub(crate) merge: bool,
    /// How many files are imported: `next` of the last answer.
    #[serde(default)]
    pub(crate) from: usize,
}

/// A change of an item.
#[derive(Debug, Deserialize)]
pub struct StreamRecord {
    #[serde(rename = "dynamodb")]
    change: Change,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Change {
    sequence_number: String,
    /// None of a removal.
    new_image: Option<JsonItem>,
}

impl StreamRecord {
    /// Its place in the stream.
    #[must_use]
    pub fn sequence_number(&self) -> &str {
        &self.change.sequence_number
    }

    /// The item as it is now; `None` if it was removed.
    ///
    /// # Errors
    ///
    /// If bytes in it are damaged.
    pub(crate) fn item(&self) -> Result<Option<HashMap<String, AttributeValue>>, StoreError> {
        self.change.new_image.as_ref().map(JsonItem::item).transpose()
    }

    /// The item as JSON, to be set aside.
    pub(crate) fn json(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&self.change.new_image)
    }
}
