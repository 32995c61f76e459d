//! The journal of a collection: written with every change, and read.

use minutehand_domain::attempt::Occurrence;
use minutehand_domain::collection::CollectionDefinition;
use minutehand_domain::document::write_collection;
use minutehand_domain::journal::{DocumentChange, JournalEntry, JournalRun, Operation, difference};
use minutehand_domain::name::Name;
use minutehand_ports::store::{Page, PageRequest, ResourceGroup};
use serde_json::Value;

use super::Manage;
use crate::definition::properties_of;
use crate::error::{AppError, Result};

/// The sender of a request that changes something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Its name.
    pub who: String,
    /// The id of its request.
    pub request_id: String,
}

/// What the journal says in place of a sender that is not known.
const UNKNOWN_SENDER: &str = "nobody";

impl Default for Author {
    /// The author of changes that no request asks for.
    fn default() -> Self {
        Self { who: UNKNOWN_SENDER.to_owned(), request_id: String::new() }
    }
}

impl Author {
    /// Its name, if it is known.
    pub(super) fn known(&self) -> Option<String> {
        (self.who != UNKNOWN_SENDER).then(|| self.who.clone())
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
    ) -> Result<Page<JournalEntry>> {
        let found = self.browse_collection(place, collection).await?;
        let record = found.ok_or_else(|| AppError::no_collection(place, collection))?;
        let mut page = self.ports.browse.journal(&record.collection.uid, page).await?;
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
        let (before, after) = (before.map(properties_of), after.map(properties_of));
        let entry = self.entry(before.as_ref(), after.as_ref(), writes_secrets);
        JournalEntry { job: Some(name.clone()), ..entry }
    }

    /// Adds the entry of a run that is asked for, before its message is sent: a crash between the two leaves an
    /// entry of a run that did not begin, and its caller no answer.
    pub(super) async fn note_run(
        &self,
        collection_uid: &str,
        name: &Name,
        run: &Occurrence,
    ) -> Result<()> {
        let redrive_of = run.redrive_of();
        let operation = if redrive_of.is_some() { Operation::Redriven } else { Operation::Ran };
        let entry = JournalEntry {
            job: Some(name.clone()),
            run: Some(JournalRun { at: run.nominal_at(), redrive_of }),
            ..self.entry_of(operation, DocumentChange::default())
        };
        Ok(self.ports.jobs.note(collection_uid, &entry).await?)
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
        self.entry_of(operation, difference)
    }

    fn entry_of(&self, operation: Operation, difference: DocumentChange) -> JournalEntry {
        let Author { who, request_id } = self.author.clone();
        let at = self.ports.clock.now();
        JournalEntry { at, who, request_id, operation, job: None, difference, run: None }
    }
}
