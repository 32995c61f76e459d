//! The history of a job.

use domain::name::Name;
use ports::store::{HistoryEntry, Page, PageRequest, ResourceGroup};

use super::{ExecutionView, LeftOutView, Manage};
use crate::error::AppError;

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
        place: &ResourceGroup,
        collection: &Name,
        name: &Name,
        page: PageRequest,
    ) -> Result<Page<ExecutionView>, AppError> {
        let collection = self.parent(place, collection).await?;
        let job = self.job(&collection, name).await?;
        let page = self.ports.history.list(&job.uid, page).await?;
        let now = self.ports.clock.now();
        let ended =
            page.items.into_iter().filter_map(|HistoryEntry { attempt, record, .. }| {
                let record = record.filter(|record| record.expires_at() > now)?;
                Some((attempt, record))
            });
        let views = ended.map(|(attempt, record)| ExecutionView {
            place: collection.place.clone(),
            collection: collection.collection.name.clone(),
            job: job.name.clone(),
            attempt,
            record,
        });
        Ok(Page { items: views.collect(), next: page.next })
    }

    /// A page of the occurrences of a job that were left out, the newest first. As in
    /// [`list_history`](Self::list_history), a page may have fewer items than were asked for.
    ///
    /// # Errors
    ///
    /// If the collection or the job does not exist.
    pub async fn list_left_out(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        name: &Name,
        page: PageRequest,
    ) -> Result<Page<LeftOutView>, AppError> {
        let collection = self.parent(place, collection).await?;
        let job = self.job(&collection, name).await?;
        let page = self.ports.history.list_left_out(&job.uid, page).await?;
        let now = self.ports.clock.now();
        let kept = page.items.into_iter().filter(|left_out| left_out.expires_at() > now);
        let views = kept.map(|left_out| LeftOutView {
            place: collection.place.clone(),
            collection: collection.collection.name.clone(),
            job: job.name.clone(),
            left_out,
        });
        Ok(Page { items: views.collect(), next: page.next })
    }
}
