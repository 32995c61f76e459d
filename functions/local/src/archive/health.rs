//! Whether the archive can be written, for `/metrics`, `/healthz` and `minutehand doctor`.

use std::sync::{Arc, Mutex};

use minutehand_archive_objects::ArchiveError;
use minutehand_rest::HealthNote;

use crate::lock;

/// What the last run of the archive met. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ArchiveHealth(Arc<Mutex<Option<HealthNote>>>);

impl ArchiveHealth {
    /// What is wrong, and what to do; `None` if the archive can be written.
    pub(crate) fn trouble(&self) -> Option<HealthNote> {
        lock(&self.0).clone()
    }

    pub(super) fn note(&self, error: Option<&anyhow::Error>) {
        let note = error.map(|error| {
            let (why, remedy) = match error.downcast_ref::<ArchiveError>() {
                Some(error) => error.advice(),
                None => ("a run failed", "see ArchiveFailed in the log for the reason"),
            };
            HealthNote {
                about: "archive",
                says: format!(
                    "it cannot be written: {why}; jobs fire, and the store keeps history"
                ),
                remedy: remedy.to_owned(),
            }
        });
        *lock(&self.0) = note;
    }
}
