//! The journal of a collection: written with every change, and read.

use minutehand_domain::collection::CollectionDefinition;
use minutehand_domain::document::write_collection;
use minutehand_domain::journal::{JournalEntry, difference};
use minutehand_domain::name::Name;
use minutehand_ports::store::{Page, PageRequest, ResourceGroup};
use serde_json::Value;

use super::Manage;
use crate::error::AppError;

/// The sender of a request that changes something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Its name.
    pub who: String,
    /// The id of its request.
    pub request_id: String,
}

impl Default for Author {
    /// The author of changes that no request asks for.
    fn default() -> Self {
        Self { who: "nobody".to_owned(), request_id: String::new() }
    }
}

impl Manage {
    /// The same service for the changes of one request.
    #[must_use]
    pub fn on_behalf_of(&self, author: Author) -> Self {
        Self { author, ..self.clone() }
    }

    /// The entries of a collection's journal, the newest first. Expired ones are left out, so a page
    /// may have fewer than were asked for and not be the last.
    ///
    /// # Errors
    ///
    /// If the collection does not exist.
    pub async fn list_journal(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        page: PageRequest,
    ) -> Result<Page<JournalEntry>, AppError> {
        let collection = self.browsed_parent(place, collection).await.map_err(no_collection)?;
        let uid = &collection.collection.uid;
        let mut page = self.ports.browse.journal(uid, page).await?;
        let now = self.ports.clock.now();
        page.items.retain(|entry| entry.expires_at() > now);
        Ok(page)
    }

    /// The entry of a change of a job.
    pub(super) fn job_entry(
        &self,
        name: &Name,
        before: Option<&str>,
        after: Option<&str>,
        writes_secrets: bool,
    ) -> JournalEntry {
        // What cannot be read, as a newer version wrote it, has no properties.
        let read = |document: &str| serde_json::from_str::<Value>(document).unwrap_or_default();
        let (before, after) = (before.map(read), after.map(read));
        let entry = self.entry(before.as_ref(), after.as_ref(), writes_secrets);
        JournalEntry { job: Some(name.clone()), ..entry }
    }

    /// The entry of a change of a collection.
    pub(super) fn collection_entry(
        &self,
        before: Option<&CollectionDefinition>,
        after: Option<&CollectionDefinition>,
        writes_secrets: bool,
    ) -> JournalEntry {
        let (before, after) = (before.map(write_collection), after.map(write_collection));
        self.entry(before.as_ref(), after.as_ref(), writes_secrets)
    }

    fn entry(
        &self,
        before: Option<&Value>,
        after: Option<&Value>,
        writes_secrets: bool,
    ) -> JournalEntry {
        let (operation, difference) = difference(before, after, writes_secrets);
        let Author { who, request_id } = self.author.clone();
        let at = self.ports.clock.now();
        JournalEntry { at, who, request_id, operation, job: None, difference }
    }
}

fn no_collection(error: AppError) -> AppError {
    match error {
        AppError::NoParent { group, name } => AppError::NoCollection { group, name },
        error => error,
    }
}
