//! The history of a job.

use chrono::{DateTime, Utc};
use minutehand_domain::attempt::Record;
use minutehand_domain::history_name::HistoryName;
use minutehand_ports::store::{
    CollectionRecord, HistoryEntry, JobRecord, Page, PageRequest, PulseRecord,
};

use super::{ExecutionView, JobPlace, LeftOutView, Manage};
use crate::error::{AppError, Result};

impl Manage {
    /// A page of the attempts of a job that have ended: the newest occurrence first, and within it the
    /// newest attempt.
    ///
    /// Attempts that have not ended are left out, and so are those that have expired but are not
    /// removed yet. So a page may have fewer items than were asked for, or none, and not be the last.
    ///
    /// # Errors
    ///
    /// If the collection or the job does not exist.
    pub async fn list_history(
        &self,
        of: JobPlace<'_>,
        page: PageRequest,
    ) -> Result<Page<ExecutionView>> {
        let (collection, job) = self.parent_and_job(of).await?;
        let page = self.ports.history.list(&job.uid, page).await?;
        let since =
            if self.has_archive() { self.archived_until().await? } else { self.history_since() };
        Ok(executions(&collection, &job, page, |record| record.ended_at > since))
    }

    /// Whether there is an archive of what has expired.
    #[must_use]
    pub fn has_archive(&self) -> bool {
        self.ports.history.has_archive()
    }

    /// A page of the attempts of a job that have expired and are in the archive, in the same order. It
    /// may have fewer items than were asked for, or none, and not be the last.
    ///
    /// # Errors
    ///
    /// If the collection or the job does not exist, or the archive does not answer.
    pub async fn list_archived_history(
        &self,
        of: JobPlace<'_>,
        page: PageRequest,
    ) -> Result<Page<ExecutionView>> {
        let (collection, job) = self.parent_and_job(of).await?;
        let until = self.archived_until().await?;
        let page = self.ports.history.list_archived(&job.uid, page, until).await?;
        Ok(executions(&collection, &job, page, |record| record.ended_at <= until))
    }

    /// The body with which a target answered the attempt of this name, which failed.
    ///
    /// # Errors
    ///
    /// [`AppError::NoBody`] if none is kept.
    pub async fn failure_body(&self, job: JobPlace<'_>, of: HistoryName) -> Result<Vec<u8>> {
        let (_, job) = self.browsed_job(job).await?;
        let Some(bodies) = &self.ports.bodies else {
            return Err(AppError::NoBody { of, kept: false });
        };
        let found = bodies.get(&job.uid, of).await?;
        found.ok_or(AppError::NoBody { of, kept: true })
    }

    /// What ended until this instant is answered from the archive, and the rest from the store. The
    /// setting may have been a shorter one, so that less is in the store than it says now.
    async fn archived_until(&self) -> Result<DateTime<Utc>> {
        let PulseRecord { workers, .. } = self.ports.browse.pulses().await?;
        Ok(workers.history.complete_since(self.settings.history, self.ports.clock.now()))
    }

    /// A page of the occurrences of a job that were left out, the newest first. As in
    /// [`list_history`](Self::list_history), a page may have fewer items than were asked for.
    ///
    /// # Errors
    ///
    /// If the collection or the job does not exist.
    pub async fn list_left_out(
        &self,
        of: JobPlace<'_>,
        page: PageRequest,
    ) -> Result<Page<LeftOutView>> {
        let (collection, job) = self.parent_and_job(of).await?;
        let page = self.ports.history.list_left_out(&job.uid, page).await?;
        let since = self.history_since();
        let kept = page.items.into_iter().filter(|left_out| left_out.at > since);
        let views = kept.map(|left_out| LeftOutView {
            place: collection.place.clone(),
            collection: collection.collection.name.clone(),
            job: job.name.clone(),
            left_out,
        });
        Ok(Page { items: views.collect(), next: page.next })
    }
}

/// The attempts of a page that have ended, as far as their records are wanted.
fn executions(
    collection: &CollectionRecord,
    job: &JobRecord,
    page: Page<HistoryEntry>,
    is_wanted: impl Fn(&Record) -> bool,
) -> Page<ExecutionView> {
    let ended = page.items.into_iter().filter_map(|HistoryEntry { attempt, record, .. }| {
        Some((attempt, record.filter(|record| is_wanted(record))?))
    });
    let views = ended.map(|(attempt, record)| ExecutionView {
        place: collection.place.clone(),
        collection: collection.collection.name.clone(),
        job: job.name.clone(),
        attempt,
        record,
    });
    Page { items: views.collect(), next: page.next }
}
