//! What has changed last in each collection, for those who look whether something has.

use chrono::{DateTime, Utc};
use minutehand_ports::StoreError;

use crate::sql::jobs as sql;
use crate::store::SqlStore;
use crate::value::{Columns, params};

/// The most collections that are looked at.
const COLLECTIONS_MAX: u32 = 10_000;

/// What has changed last in a collection. Another mark says that something has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectionMark {
    /// When a user changed something, if that is in the journal.
    pub journal_at: Option<DateTime<Utc>>,
}

impl SqlStore {
    /// The marks of collections, by their ids.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn collection_marks(&self) -> Result<Vec<(String, CollectionMark)>, StoreError> {
        let rows =
            self.read(sql::COLLECTION_MARKS, params![Vec::<u8>::new(), COLLECTIONS_MAX]).await?;
        let read = |row| {
            let mut row = Columns::new("marks", row);
            let uid = row.id()?;
            Ok((uid, CollectionMark { journal_at: row.next()? }))
        };
        rows.into_iter().map(read).collect()
    }
}
